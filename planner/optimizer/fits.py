"""Whether a plan in hand is one of another problem, too: found by arithmetic, without a solver."""

from __future__ import annotations

from dataclasses import replace

from planner.case import Case
from planner.optimizer import operate, purchase
from planner.optimizer.guess import orderly
from planner.optimizer.joint import floors
from planner.optimizer.operate import Operation


def fitted(case: Case, run: Operation) -> Operation | None:
    """Return an operation at its best under a case; None where that refuses its purchase or use.

    Args:
        case: the problem in numbers.
        run: an operation of another case with the same products.
    """
    ids = {offer.id for offer in case.offers()}
    if any(count and name not in ids for name, count in run.units.items()):
        return None
    units = {name: run.units.get(name, 0) for name in ids}
    if not orderly(case, units) or purchase.broken_rows(case, units):
        return None
    if len(run.used) > case.job.max_types or run.mode not in case.job.modes:
        return None
    found = operate.operate(case, run.mode, units, run.used, run.gpus)
    if found is None or not floors(case)(found):
        return None
    return replace(found, units=units)
