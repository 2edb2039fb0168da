"""Caps on counts: never below what a plan can hold, and no looser than the limits themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.case import resolve
from planner.case.figures import cap, cap_in_use
from planner.case.items import Offer, Storage, System
from planner.case.model import Case, Companions, Steps
from planner.optimizer.stores import broken_limits
from tests.optimizer.cases import resolved
from tests.oracle.enumerate import best
from tests.world.random_cases import inputs_of, random_case
from tests.world.requests import Request

# Energy of the 10 kW system: 10 * 1.25 * 8760 * 0.1 = 10,950 USD a year; support is 1,000.


def most(case: Case, offer: Offer) -> int:
    """Return the most units that a plan needs; idle ones of a policy aside."""
    return cap_in_use(case, offer) if isinstance(offer, System) else cap(case, offer)


def test_what_the_job_need_not_use_may_be_more_than_it_can() -> None:
    request = Request(maximize="gpus")
    request.job["gpus"] = {"max": 20}
    case = resolve(inputs_of(request.case()))
    assert cap(case, case.systems[0]) == 5  # by its 50 kW
    assert cap_in_use(case, case.systems[0]) == 3


COUNTED = {
    "it_power", "facility_power", "heat_air", "heat_liquid", "racks", "capex", "opex", "tco",
}  # fmt: skip
PAID = {
    "capex_usd", "opex_usd_per_year", "tco_usd",
}  # fmt: skip


def limited(case: Case) -> set[str]:
    """Return the names of the limits a case has."""
    return {name for name, limit in case.limits.items() if limit is not None}


def alone(case: Case) -> Case:
    """Return a case in which nothing comes with the systems but the racks they stand in."""
    ids = {f"racks.{offer.id}" for offer in case.offers()}
    quantities = tuple(
        q for q in case.companions.quantities if not isinstance(q, Steps) and q.name in ids
    )
    racks = tuple(term for term in case.companions.racks if term[1] in ids)
    return replace(case, companions=Companions(quantities=quantities, racks=racks))


def within(case: Case, offer: Offer, units: int) -> bool:
    """Say whether so many units, and nothing else, keep every limit that counts units."""
    counts = {other.id: 0 for other in case.offers()} | {offer.id: units}
    broken = {name for name in broken_limits(alone(case), counts, ()) if name in COUNTED}
    if isinstance(offer, Storage) and offer.segments and units > offer.segments[-1].high:
        return False
    if isinstance(offer, System) and case.job.gpus_max is not None:
        needed = -(-case.job.gpus_max // offer.way().usable_gpus)
        if units > max(needed + case.job.hot(needed), offer.low, offer.min_units):
            return False
    return not broken and (offer.high is None or units <= offer.high)


def test_caps_are_as_tight_as_the_limits() -> None:
    attained = 0
    for seed in range(200, 280):
        case = resolved(seed)
        if any(other.installed for other in case.offers()):
            continue  # what is owned and idle takes its part of the limits, which caps leave out
        for offer in case.offers():
            highest = most(case, offer)
            if not offer.sold_plainly and PAID & limited(case):
                continue  # what is installed, and spares and packs, make caps looser, not tighter
            assert within(case, offer, highest), (seed, offer.id)
            assert not within(case, offer, highest + 1), (seed, offer.id)
            attained += 1
    assert attained > 100


@pytest.mark.exhaustive(keep=0)
def test_no_best_plan_is_above_its_caps() -> None:
    for seed in range(60):
        drawn = random_case(seed)
        truth = best(drawn.problem, drawn.items, drawn.families, drawn.prices, drawn.discounts)
        if truth is None:
            continue
        case = resolve(inputs_of(drawn))
        for offer in case.offers():
            assert truth.counts.get(offer.id, 0) <= max(cap(case, offer), offer.low)
