"""A feasible plan to begin with: one GPU type, one storage family, the relaxation rounded.

It proves nothing; it lets the search rule out early what cannot be better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping

from planner.case import Case, System, Way
from planner.case.model import Mode, Offer, Storage, by_item
from planner.optimizer import operate, purchase
from planner.optimizer.master import Master
from planner.optimizer.model import Variable
from planner.optimizer.operate import Run
from planner.optimizer.solver import Outcome

MOST_PAIRS = 3
SOLVER_NOISE = 1e-6
Solve = Callable[[], Outcome]


def guesses(master: Master, relaxed: Mapping[str, float], solve: Solve) -> Iterator[Run]:
    """Yield feasible operations near the relaxation, for the likeliest types and families.

    Args:
        master: the model; flags are narrowed for a moment.
        solve: solves the relaxation as it stands.
    """
    build = master.build
    types, families = (
        _likeliest(master, build.type_used, relaxed),
        _likeliest(master, build.serves, relaxed),
    )
    pairs = [(t, f) for t in types for f in families]
    for type_id, family in pairs[:MOST_PAIRS]:
        flags = [(flag, key == type_id) for key, flag in build.type_used.items()]
        flags += [(flag, key == family) for key, flag in build.serves.items()]
        outcome = _solve_with(master, flags, solve)
        if outcome is None or not outcome.values:
            continue
        yield from _rounded(build.case, build.mode, outcome.values, master)


def _likeliest(
    master: Master, flags: Mapping[str, Variable], relaxed: Mapping[str, float]
) -> list[str]:
    allowed = [key for key, flag in flags.items() if master.original(flag)[1] > 0.5]
    return sorted(allowed, key=lambda key: (-relaxed[flags[key].name], key))[:2]


def _solve_with(master: Master, flags: list[tuple[Variable, bool]], solve: Solve) -> Outcome | None:
    """Return the relaxation with flags set, or None where a flag cannot be set so."""
    for flag, value in flags:
        low, high = master.original(flag)
        if not low <= float(value) <= high:
            return None
    for flag, value in flags:
        master.session.bounds(flag, float(value), float(value))
    outcome = solve()
    for flag, _ in flags:
        master.session.bounds(flag, *master.original(flag))
    return outcome


def _rounded(case: Case, mode: Mode, values: Mapping[str, float], master: Master) -> Iterator[Run]:
    """Yield the best use of the relaxation's purchase in whole units, in each way of its type."""
    counts = by_item((key, values[v.name]) for key, v in master.build.counts.items())
    units = {offer.id: _whole(offer, counts[offer.id]) for offer in case.offers()}
    types = [system for system in case.systems if values[f"type__{system.id}"] > 0.5]
    if len(types) != 1:
        return
    for way in types[0].ways:
        if master.original(master.build.way_used[way.id])[1] > 0.5:
            found = _in_way(case, mode, units, types[0], way)
            if found is not None:
                yield found


def _in_way(
    case: Case, mode: Mode, units: Mapping[str, int], system: System, way: Way
) -> Run | None:
    """Return the best use in one way of at most so many units, as many as limits allow."""
    units = dict(units)
    for each in case.systems:
        if units[each.id] == 0 or each.low > 0:
            continue
        most = _most(case, units, each.id, {way.id})
        if most is None:
            return None
        units[each.id] = most
    if not orderly(case, units) or purchase.broken_rows(case, units, {way.id}):
        return None
    gpus = operate.most_allowed(case, way, units[system.id])
    if gpus <= 0:
        return None
    start = {system.id: way.systems_for(gpus)}
    there = operate.operate(case, mode, units, start, gpus, {way.id})
    if there is not None and mode == "local":  # the k that is best there will do for a guess
        case = next(one for one in case.by_every if _every(one) == there.every)
    return operate.best(case, mode, units, start, gpus, lambda o: o.useful_gpus, {way.id})


def _every(case: Case) -> int:
    assert case.job.levels is not None
    return case.job.levels.every[0]


def _whole(offer: Offer, count: float) -> int:
    whole = math.ceil(count - SOLVER_NOISE)
    if not whole:
        return offer.low
    first = offer.segments[0].low if isinstance(offer, Storage) and offer.segments else 0
    return max(whole, offer.min_units, offer.low, first)


def orderly(case: Case, units: Mapping[str, int]) -> bool:
    """Say whether the counts are such as may be ordered, whatever they cost and take."""
    if any(units[offer.id] < offer.low for offer in case.demanded):
        return False
    for offer, count in case.there(units):
        if count < offer.min_units or (offer.high is not None and count > offer.high):
            return False
        if isinstance(offer, Storage) and offer.segments:
            if not offer.segments[0].low <= count <= offer.segments[-1].high:
                return False
    return _families_fit(case, units)


def _families_fit(case: Case, units: Mapping[str, int]) -> bool:
    """Say whether the storage families in use are as many, and as large, as they may be."""
    serving: dict[str, int] = {}
    for item in case.bought(units):
        serving[item.family] = serving.get(item.family, 0) + units[item.id]
    if len(serving) > case.max_families and case.exact_families is None:
        return False
    if case.exact_families is not None and len(serving) != case.exact_families:
        return False
    return all(
        family.max_units is None or serving.get(family.id, 0) <= family.max_units
        for family in case.families
    )


def _most(case: Case, units: Mapping[str, int], item_id: str, ways: Collection[str]) -> int | None:
    """Return the most units of an item, up to those given, that no limit refuses."""

    def fits(count: int) -> bool:
        return not purchase.broken_rows(case, {**units, item_id: count}, ways)

    high = units[item_id]
    if fits(high):
        return high
    low, width = high, 1
    while low > 0 and not fits(low):
        high, low, width = low, max(0, low - width), width * 2
    if low == 0:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
