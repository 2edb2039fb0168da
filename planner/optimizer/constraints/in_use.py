"""What the plan must hold, so that one can ask how good a plan with it can be.

    x_k >= max(1, least order), z_f(k) = 1    (storage)
    u_k >= 1, type_k = 1                      (GPU systems: in use, not only bought)

A limit of a question, not of the problem: there is no unit of it to have one more of.
"""

from __future__ import annotations

from planner.optimizer.context import Build


def add(build: Build) -> None:
    """Add the rows."""
    for system in build.case.systems:
        if system.id in build.case.must_use:
            build.model.row(f"in_use_{system.id}", build.type_used[system.id] + 0, ">=", 1.0)
    for item in build.case.storage:
        if item.id in build.case.must_use:
            least = float(max(1, item.min_units))
            build.model.row(f"some_{item.id}", build.units[item.id], ">=", least)
            build.model.row(f"serving_{item.id}", build.serves[item.family] + 0, ">=", 1.0)
