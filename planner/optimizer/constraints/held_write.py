"""The write bandwidth of the storage bought, held for a question about the problem.

    eta * sum_k nameplate_k >= least;   eta * sum_k nameplate_k <= most

What clients can move is no part of it. There is no unit of it to have one more of.
"""

from __future__ import annotations

from planner.optimizer.context import Build
from planner.optimizer.objective import bought_write


def add(build: Build) -> None:
    """Add the rows that are asked for."""
    limits = build.case.limits
    least, most = limits.least_write_gb_per_s, limits.most_write_gb_per_s
    if least is not None:
        build.model.row("least_write", bought_write(build), ">=", least)
    if most is not None:
        build.model.row("most_write", bought_write(build), "<=", most)
