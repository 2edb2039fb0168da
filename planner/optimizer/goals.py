"""What a problem asks for as a goal of a search: its objective, floors, which use is preferred."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from planner.case import Case
from planner.case.bounds import UNLIMITED_UNITS, cap, unlimited
from planner.figures import RATIOS
from planner.optimizer import purchase
from planner.optimizer.branch import Goal
from planner.optimizer.model import Linear
from planner.optimizer.objective import LOGARITHMIC, measure, million_tokens, useful_hours
from planner.optimizer.operate import Run

TIE_TOLERANCE = 1e-6
FLOOR_TOLERANCE = 9e-8
COUNTS_GPUS = frozenset({"useful_gpus", "usd_per_useful_gpu_hour"})
"""Objectives that count useful GPUs, whatever each of them does."""


def goal_of(case: Case, expression: Linear, gap: float) -> Goal:
    """Return the objective of a case as a goal, to be proven to a gap."""
    allowed = floors(case)
    return Goal(
        name=case.objective,
        expression=expression,
        maximise=case.maximise,
        value=measure(case, case.objective),
        allowed=allowed,
        prefer=_preference(case, allowed),
        gap=gap,
        relative=case.objective not in LOGARITHMIC,
    )


def width_of(name: str, value: float, tolerance: float) -> float:
    """Return a relative tolerance on an objective as a width at ``value``, in its own scale."""
    if name in RATIOS:  # a share of the objective itself
        return math.log1p(tolerance)
    if name in LOGARITHMIC:
        return -math.log1p(-tolerance)
    return tolerance * max(abs(value), 1e-9)


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


def without_end(case: Case, operation: Run | None) -> bool:
    """Say whether a plan holds as much of something as the model allows where nothing limits it."""
    if operation is None:
        return False
    many = (offer for offer in case.offers() if operation.units[offer.id] >= UNLIMITED_UNITS)
    return any(
        operation.units[offer.id] >= unlimited(case, offer) > (offer.high or 0)
        and cap(case, offer) == unlimited(case, offer)
        for offer in many
    )


def _ratios(case: Case, operation: Run) -> Iterator[tuple[float, float]]:
    """Yield (TCO, what the useful work of the term may cost) for each ratio that is limited."""
    limits = case.limits
    if limits["per_useful_gpu_hour"] is not None:
        worth = limits["per_useful_gpu_hour"] * useful_hours(case, operation)
        yield purchase.bill(case, operation.units, operation.ways)["tco_usd"], worth
    if limits["per_million_tokens"] is not None:
        worth = limits["per_million_tokens"] * million_tokens(case, operation)
        yield purchase.bill(case, operation.units, operation.ways)["tco_usd"], worth


def _preference(case: Case, meets_floors: Callable[[Run], bool]) -> Callable[[Run], float]:
    """Return how uses of one purchase are ordered: by useful work, or by GPUs if those count."""
    if case.objective == "overrun":
        missed = measure(case, "overrun")
        return lambda o: -missed(o)
    if case.objective == "gpus":
        return lambda o: (1e6 if meets_floors(o) else 0.0) + o.gpus
    if case.objective in RATIOS and len(case.ways) > len(case.systems):
        ratio = measure(case, case.objective)  # a set point changes what the same purchase costs
        return lambda o: -ratio(o) if meets_floors(o) else o.goodput - 1e6
    if case.job.scale is not None and _counts_work(case):
        floor, mfu = case.limits["min_goodput"] or 0.0, case.job.mfu or 0.0

        def by_work(run: Run) -> float:
            if case.objective in COUNTS_GPUS and meets_floors(run):  # more of them do less each
                return 1e6 + run.useful_gpus
            return run.useful_pflops(mfu) if run.goodput >= floor else run.goodput - 1.0

        return by_work
    if case.limits["min_goodput"] is not None and case.objective not in LOGARITHMIC:
        floor = case.limits["min_goodput"]
        return lambda o: o.useful_gpus if o.goodput >= floor else o.goodput - 1.0
    if case.limits["min_goodput"] is not None:
        return lambda o: o.useful_gpus if meets_floors(o) else o.goodput - 1.0
    return lambda o: o.useful_gpus


def _counts_work(case: Case) -> bool:
    """Say whether useful PFLOP/s decide: more GPUs in use may be more of them at a lower rate."""
    floor, ratio = case.useful_pflops_floor(), case.limits["per_million_tokens"]
    asked = case.objective in ("goodput", "usd_per_million_tokens")
    return asked or floor is not None or ratio is not None
