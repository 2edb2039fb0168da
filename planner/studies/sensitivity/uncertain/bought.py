"""A plan that is bought and cannot be changed any more: how it is best run, and what it breaks.

Only what can still be decided afterwards is decided again in each scenario: the interval, the GPUs
in use and, where the problem leaves it open, the mode of checkpoints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from planner.case import Case, System
from planner.case.model import Mode
from planner.optimizer import operate, purchase
from planner.optimizer.guess import orderly
from planner.optimizer.joint import floors
from planner.optimizer.operate import Operation
from planner.sizing.reliability import mtti_s
from planner.studies.sensitivity.uncertain.reach import Passed, passed_by, spent_over

PARTS = 16
"""Into how many steps the GPUs that could be in use are divided where nothing near them works."""

Order = Callable[[Operation], float]
Use = tuple[int, dict[str, int]]
"""GPUs in use, and their systems by type."""


@dataclass(frozen=True)
class Tried:
    """A purchase in a scenario: how it runs, None where it cannot at all, and what it breaks."""

    run: Operation | None
    broken: Mapping[str, Passed]


def operated(case: Case, run: Operation) -> Operation | None:
    """Return a purchase run at its best under a case; None where it breaks a limit.

    Args:
        case: a scenario in numbers.
        run: the purchase, as it is run in another scenario.
    """
    units = _units(case, run)
    if units is None or not orderly(case, units) or purchase.broken_rows(case, units):
        return None
    return _best(case, replace(run, units=units))


def tried(case: Case, run: Operation) -> Tried:
    """Return how a purchase does under a case, whatever it breaks.

    Where no way to run it meets every limit it is run for the most useful work, and what that
    misses counts as broken.
    """
    units = _units(case, run)
    if units is None:
        return Tried(None, {"products": None})
    broken: dict[str, Passed] = {} if orderly(case, units) else {"orders": None}
    broken |= spent_over(case, units)
    if "fabric" in broken:
        return Tried(None, broken)
    run = replace(run, units=units)
    found = _best(case, run)
    if found is None:
        found = _at_all(case, run)
        broken |= {"running": None} if found is None else passed_by(case, found)
    return Tried(found, broken)


def _units(case: Case, run: Operation) -> dict[str, int] | None:
    """Return the counts of everything on offer, None where something bought is not."""
    ids = {offer.id for offer in case.offers()}
    if any(count and name not in ids for name, count in run.units.items()):
        return None
    return {offer.id: run.units.get(offer.id, 0) for offer in case.offers()}


def _best(case: Case, run: Operation) -> Operation | None:
    """Return the best way to run a purchase within the limits of a case, None where none is."""
    if len(run.used) > case.job.max_types:
        return None
    order, meets = _order(case), floors(case)
    found = [each for mode in case.job.modes for each in _runs(case, mode, run, order)]
    return max((each for each in found if meets(each)), key=order, default=None)


def _order(case: Case) -> Order:
    """Return how ways to run a purchase are ordered: by useful work, or by GPUs if those count."""
    meets, floor = floors(case), case.limits.min_goodput or 0.0

    def order(run: Operation) -> float:
        if run.goodput < floor:
            return run.goodput - 1.0
        return 1e9 + run.gpus if case.objective == "gpus" and meets(run) else run.useful_gpus

    return order


def _runs(case: Case, mode: Mode, run: Operation, order: Order) -> Iterator[Operation]:
    """Yield the best uses near the planned one and near all GPUs; else near any number of them."""
    near = False
    for place, (gpus, used) in enumerate(_starts(case, run)):
        if near and place > 1 and len(run.used) == 1:
            return  # with one type the rest is found from there
        found = operate.best(case, mode, run.units, used, gpus, order)
        if found is not None:
            near = True
            yield found if len(used) == 1 else _climbed(case, found, order)


def _climbed(case: Case, run: Operation, order: Order) -> Operation:
    """Return the best use of several types that one system more or less at a time leads to."""
    types = [system for system in case.systems if run.used.get(system.id)]
    better: Operation | None = run
    while better is not None:
        run = better
        steps = ({**run.used, each.id: run.used[each.id] + by} for each in types for by in (1, -1))
        found = [
            operate.operate(case, run.mode, run.units, used, _gpus(case, types, used))
            for used in steps
            if min(used.values()) > 0
        ]
        beyond = [each for each in found if each is not None and order(each) > order(run)]
        better = max(beyond, key=order, default=None)
    return run


def _gpus(case: Case, types: Sequence[System], used: Mapping[str, int]) -> int:
    """Return the most GPUs that the job can use of the systems in use."""
    return sum(case.job.most_gpus(system, used[system.id]) for system in types)


def _starts(case: Case, run: Operation) -> Iterator[Use]:
    """Yield GPUs in use with their systems: as planned, then from the most that could be on down.

    Where several types are planned, each is tried alone, too.
    """
    yield run.gpus, dict(run.used)
    types = [system for system in case.systems if run.used.get(system.id)]
    if len(types) > 1:
        yield from (_together(case, run, types, part) for part in range(PARTS, 0, -1))
    for system in types:
        yield from (_one(case, run, system, part) for part in range(PARTS, 0, -1))


def _together(case: Case, run: Operation, types: Sequence[System], part: int) -> Use:
    """Return so many parts of the systems of several types that could be in use."""
    most = {each.id: operate.most_in_use(case, run.units[each.id]) for each in types}
    used = {name: count * part // PARTS for name, count in most.items()}
    gpus = {each.id: case.job.most_gpus(each, used[each.id]) for each in types}
    fewest = {each.id: math.ceil(gpus[each.id] / each.usable_gpus) for each in types}
    return sum(gpus.values()), {name: count for name, count in fewest.items() if count}


def _one(case: Case, run: Operation, system: System, part: int) -> Use:
    """Return so many parts of the GPUs of a type that could be in use, in whole steps."""
    gpus = case.job.most_gpus(system, operate.most_in_use(case, run.units[system.id]))
    if case.job.gpus_max is not None:
        gpus = min(gpus, case.job.gpus_max)
    step = case.job.step(system)
    gpus = gpus * part // PARTS // step * step
    return gpus, {system.id: math.ceil(gpus / system.usable_gpus)}


def _at_all(case: Case, run: Operation) -> Operation | None:
    """Return a purchase run for the most useful work, whatever limits that breaks."""
    job = replace(
        case.job, max_restore_s=None, ingest_per_gpu_gb_per_s=0.0, gpus_min=1, gpus_max=None
    )
    patient = replace(case, job=job)
    hasty = replace(case, job=replace(job, max_overlap=1.0, max_blocking=0.99))
    found: list[Operation | None] = []
    for mode in case.job.modes:
        for loose in (patient, hasty):
            found.append(max(_runs(loose, mode, run, _useful), key=_useful, default=None))
        if not any(found):
            found.append(_at_longest(case, mode, run))
    return next((each for each in found if each is not None), None)


def _useful(run: Operation) -> float:
    return run.useful_gpus


def _at_longest(case: Case, mode: Mode, run: Operation) -> Operation | None:
    """Return a purchase run as planned, with the longest interval that there may be."""
    rule = case.job.interval
    rates = [each.failures_per_gpu_day for each in case.systems if run.used.get(each.id)]
    interval_s = rule.high_s
    if rule.policy == "lost_work":
        interval_s = rule.kappa * mtti_s(max(rates), run.gpus)
    return operate.run_at(case, mode, run.units, run.used, run.gpus, interval_s)
