"""Floors: goodput, useful GPUs, useful PFLOP/s (days to train), each linear in the logarithms.

    n + log E >= log U;   log f + n + log E >= log F;   log E >= log E_min

One unit less of a floor is one more plan that may be chosen. The floor on GPUs in use is a bound
of N itself.
"""

from __future__ import annotations

import math

from planner.optimizer.context import Build
from planner.optimizer.objective import log_useful_gpus, log_useful_pflops


def add(build: Build) -> None:
    """Add a row for each floor the problem gives."""
    limits = build.case.limits
    if build.goodput is None:
        return
    if limits.min_goodput is not None:
        floor = math.log(limits.min_goodput)
        build.model.row("min_goodput", build.goodput, ">=", floor)
    if limits.min_useful_gpus is not None:
        left, floor = log_useful_gpus(build), math.log(limits.min_useful_gpus)
        build.model.row("min_useful_gpus", left, ">=", floor)
    pflops = build.case.useful_pflops_floor()
    if pflops is not None:
        left, floor = log_useful_pflops(build), math.log(pflops)
        build.model.row("min_useful_pflops", left, ">=", floor)
