"""What a problem asks of a plan beside its objective: floors and money per useful work."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planner.case import Case
from planner.optimizer import purchase
from planner.optimizer.objective import million_tokens, useful_hours
from planner.optimizer.operate import Run

TIE_TOLERANCE = 1e-6
FLOOR_TOLERANCE = 9e-8


def floors(case: Case, tolerance: float = FLOOR_TOLERANCE) -> Callable[[Run], bool]:
    """Return what says whether an operation reaches every floor and ratio of a case."""
    limits, mfu, pflops = case.limits, case.job.mfu or 0.0, case.useful_pflops_floor()

    def meets(operation: Run) -> bool:
        checks = (
            (limits["min_goodput"], operation.goodput),
            (limits["min_useful_gpus"], operation.useful_gpus),
            (pflops, operation.useful_pflops(mfu)),
            *_ratios(case, operation),
        )
        return all(f is None or value >= f * (1 - tolerance) for f, value in checks)

    return meets


def _ratios(case: Case, operation: Run) -> Iterator[tuple[float, float]]:
    """Yield (TCO, what the useful work of the term may cost) for each ratio that is limited."""
    limits = case.limits
    if limits["per_useful_gpu_hour"] is not None:
        worth = limits["per_useful_gpu_hour"] * useful_hours(case, operation)
        yield purchase.bill(case, operation.units, operation.ways)["tco_usd"], worth
    if limits["per_million_tokens"] is not None:
        worth = limits["per_million_tokens"] * million_tokens(case, operation)
        yield purchase.bill(case, operation.units, operation.ways)["tco_usd"], worth
