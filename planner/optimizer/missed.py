"""What an operation reaches of each limit, and by what it misses those that are elastic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from planner.case import Case
from planner.case.model import Elastic
from planner.limits import BY_NAME, LIMITS
from planner.optimizer import purchase

if TYPE_CHECKING:
    from planner.optimizer.operate import Operation

FLOORS = frozenset(limit.name for limit in LIMITS if limit.sense == ">=")
LOGARITHMIC = frozenset(limit.name for limit in LIMITS if limit.elastic == "log")
"""Limits whose change counts as the logarithm of its factor."""
OF_INTERVAL = LOGARITHMIC - {"restore_time"}
"""Limits whose amounts depend on the interval."""


def missed_by(case: Case, operation: Operation) -> float:
    """Return the weighted sum of what an operation misses each elastic limit by."""
    return sum(limit.weight * _share(case, operation, limit) for limit in case.elastic)


def _share(case: Case, operation: Operation, limit: Elastic) -> float:
    other = "blocking" if operation.mode == "async" else "overlap"
    if limit.name == other:
        return 0.0
    value = amount(case, operation, limit.name)
    if limit.name in LOGARITHMIC:
        if value <= 0.0:  # no progress at all
            return math.inf
        ratio = math.log(value / limit.value)
        return max(0.0, -ratio if limit.name in FLOORS else ratio)
    over = limit.value - value if limit.name in FLOORS else value - limit.value
    return max(0.0, over / limit.scale)


def amount(case: Case, operation: Operation, name: str) -> float:
    """Return what an operation reaches in the unit of a limit."""
    limit = BY_NAME[name]
    if limit.group == "supply":
        return purchase.bill(case, operation.units)[limit.figure]
    job, run = case.job, operation
    pflops = run.useful_pflops(job.mfu or 0.0)
    drain_s = job.checkpoint_gb / run.safe_write_gb_per_s
    amounts: dict[str, Callable[[], float]] = {
        "min_gpus": lambda: float(run.gpus),
        "gpus_min": lambda: float(run.gpus),
        "gpus_max": lambda: float(run.gpus),
        "capacity": lambda: sum(i.usable_tb * run.units[i.id] for i in case.storage),
        "restore_time": lambda: run.fan_out * job.checkpoint_gb / run.safe_read_gb_per_s,
        "overlap": lambda: drain_s / run.interval_s,
        "blocking": lambda: drain_s / run.interval_s,
        "interval_max": lambda: run.interval_s,
        "interval_min": lambda: run.interval_s,
        "min_goodput": lambda: run.goodput,
        "min_useful_gpus": lambda: run.useful_gpus,
        "min_useful_pflops": lambda: pflops,
        "max_days_to_train": lambda: case.days_at_one_pflops() / pflops,
    }
    return amounts[name]()
