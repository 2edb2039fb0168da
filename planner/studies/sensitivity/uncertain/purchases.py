"""Plans bought and kept: how each is best run, which limits it breaks, how much it is regretted."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.case import Case, System
from planner.case.model import Mode
from planner.figures import FIGURES
from planner.limits import BY_NAME
from planner.optimizer import operate, purchase
from planner.optimizer.goals import floors
from planner.optimizer.kernel import Kernel
from planner.optimizer.objective import measure, natural
from planner.optimizer.operate import Run, passed_by
from planner.optimizer.operations import WORTH, Operation, covers, stored, ways_to_save
from planner.schema.plan import Plan
from planner.schema.sensitivity import BreakRate, CandidatePlan
from planner.sizing.goodput import mtti_s
from planner.studies.sensitivity.solve import Answer
from planner.studies.sensitivity.uncertain.distributions import Numbers

Passed = float | None
"""By what share of itself a limit is passed; None where that is no matter of more or less."""

_NUMBERED = re.compile(r"(stock|require_vendor|split)_(.+)")


def limits_passed(case: Case, units: Mapping[str, int], ways: Collection[str]) -> dict[str, Passed]:
    """Return the limits that a purchase passes however it is run."""
    found: dict[str, Passed] = {}
    for row in purchase.broken_rows(case, units, ways):
        found[_name(row)] = _over(case, units, ways, row)
    return found


def _name(row: str) -> str:
    """Return the name that a plan's limits have for a row of the model."""
    numbered = _NUMBERED.fullmatch(row)
    if numbered is None:
        return row
    kind, rest = numbered.groups()
    return f"{kind}.{rest.partition('_')[0] if kind == 'split' else rest}"


def _over(case: Case, units: Mapping[str, int], ways: Collection[str], row: str) -> Passed:
    if row == "capacity":
        usable_tb = sum(item.usable_tb * units[item.id] for item in case.storage)
        return 1.0 - usable_tb / case.job.capacity_needed_tb
    supply = BY_NAME.get(row)
    if supply is None or supply.group != "supply":
        return None
    limit = case.limits[supply.field]
    used = purchase.bill(case, units, ways)[supply.figure]
    return used / limit - 1.0 if limit else None


PARTS = 16
"""Into how many steps the GPUs that could be in use are divided where nothing near them works."""

Order = Callable[[Run], float]
Use = tuple[int, dict[str, int]]
"""GPUs in use, and their systems by type."""


@dataclass(frozen=True)
class Tried:
    """A purchase in a scenario: its operation, None without any, and the limits it breaks."""

    run: Run | None
    broken: Mapping[str, Passed]


def operated(case: Case, run: Run) -> Run | None:
    """Return a purchase run at its best under a case; None where it breaks a limit.

    Args:
        run: the purchase, as it is run in another scenario.
    """
    units = _units(case, run)
    if units is None or not purchase.orderly(case, units):
        return None
    if purchase.broken_rows(case, units, run.ways):
        return None
    return _best(case, replace(run, units=units))


def worth(case: Case, run: Run) -> float:
    """Return what an operation is worth in the problem's objective, in its own unit."""
    return natural(case.objective, measure(case, case.objective)(run))


def worths(case: Case, runs: Sequence[Run]) -> Numbers:
    """Return what purchases are worth under a case at their best, nan where one breaks a limit.

    Args:
        runs: the purchases, as they are run in other scenarios.
    """
    if not _known_as_arrays(case):
        best = [operated(case, run) for run in runs]
        return np.array([np.nan if run is None else worth(case, run) for run in best], dtype=float)
    found = np.full(len(runs), np.nan)
    had = [(place, _available_counts(case, run)) for place, run in enumerate(runs)]
    places = np.array([place for place, units in had if units is not None], dtype=np.int64)
    if not len(places):
        return found
    rows = [[units[o.id] for o in case.offers()] for _, units in had if units is not None]
    counts, numbers = np.array(rows).T, {way.id: n for n, way in enumerate(case.ways)}
    used = [case.in_use(runs[place].used, runs[place].ways)[0][1].id for place in places]
    ways = np.array([numbers[name] for name in used])
    fits = Kernel(case).within_limits(counts, ways)
    places, counts, ways = places[fits], counts[:, fits], ways[fits]
    owners = np.array([n for n, system in enumerate(case.systems) for _ in system.ways])
    systems, first = counts[owners[ways], np.arange(len(ways))], len(case.systems)
    stores, _ = stored(case, counts[first : first + len(case.storage)])
    score = np.full(len(places), -np.inf)
    for one in ways_to_save(case):
        operation, most = Operation(*one), np.zeros(len(places), dtype=np.int64)
        for way in np.unique(ways).tolist():
            most[ways == way] = operation.most_gpus(way, systems[ways == way])
        score = np.maximum(score, operation.best(ways, systems, most, stores)[0])
    runs_at_all = np.isfinite(score)
    values = [natural(case.objective, one) for one in score[runs_at_all].tolist()]
    found[places[runs_at_all]] = values
    return found


def _known_as_arrays(case: Case) -> bool:
    """Say whether what a use is worth follows from useful work, of one type at its own rate."""
    ratios = (case.limits["per_useful_gpu_hour"], case.limits["per_million_tokens"])
    return (
        case.objective in WORTH
        and case.job.max_types == 1
        and all(ratio is None for ratio in ratios)
        and all(covers(case, mode) for mode in case.job.modes)
    )


def _available_counts(case: Case, run: Run) -> dict[str, int] | None:
    """Return the counts of a purchase, None where the case does not allow them."""
    units = _units(case, run)
    if units is None or not purchase.orderly(case, units) or purchase.broken_by_counts(case, units):
        return None
    return units


def try_purchase(case: Case, run: Run) -> Tried:
    """Return how a purchase does under a case, whatever it breaks.

    Where no way to run it meets every limit it is run for the most useful work, and what that
    misses counts as broken.
    """
    units = _units(case, run)
    if units is None:
        return Tried(None, {"products": None})
    broken: dict[str, Passed] = {} if purchase.orderly(case, units) else {"orders": None}
    broken |= limits_passed(case, units, run.ways)
    if "fabric" in broken:
        return Tried(None, broken)
    run = replace(run, units=units)
    found = _best(case, run)
    if found is None:
        found = _run_despite_limits(case, run)
        broken |= {"running": None} if found is None else passed_by(case, found)
    return Tried(found, broken)


def _units(case: Case, run: Run) -> dict[str, int] | None:
    """Return the counts of everything on offer, None where something bought is not."""
    ids = {offer.id for offer in case.offers()}
    if any(count and name not in ids for name, count in run.units.items()):
        return None
    return {offer.id: run.units.get(offer.id, 0) for offer in case.offers()}


def _best(case: Case, run: Run) -> Run | None:
    """Return the best way to run a purchase within the limits of a case, None where none is."""
    if len(run.used) > case.job.max_types:
        return None
    order, meets = _order(case), floors(case)
    found = [each for mode in case.job.modes for each in _runs(case, mode, run, order)]
    return max((each for each in found if meets(each)), key=order, default=None)


def _order(case: Case) -> Order:
    """Return how ways to run a purchase are ordered: by useful work, or by GPUs if those count."""
    meets, floor = floors(case), case.limits["min_goodput"] or 0.0

    def order_by_regret(run: Run) -> float:
        if run.goodput < floor:
            return run.goodput - 1.0
        return 1e9 + run.gpus if case.objective == "gpus" and meets(run) else run.useful_gpus

    return order_by_regret


def _runs(case: Case, mode: Mode, run: Run, order: Order) -> Iterator[Run]:
    """Yield the best uses near the planned one and near all GPUs; else near any number of them."""
    near = False
    for place, (gpus, used) in enumerate(_starts(case, run)):
        if near and place > 1 and len(run.used) == 1:
            return  # with one type the rest is found from there
        found = operate.best(case, mode, run.units, used, gpus, order, run.ways)
        if found is not None:
            near = True
            yield found if len(used) == 1 else _local_search(case, found, order)


def _local_search(case: Case, run: Run, order: Order) -> Run:
    """Return the best use of several types that single systems more or fewer lead to."""
    types = [system for system in case.systems if run.used.get(system.id)]
    better: Run | None = run
    while better is not None:
        run = better
        steps = ({**run.used, each.id: run.used[each.id] + by} for each in types for by in (1, -1))
        found = [
            operate.operate(case, run.mode, run.units, used, _gpus(case, run, used), run.ways)
            for used in steps
            if min(used.values()) > 0
        ]
        beyond = [each for each in found if each is not None and order(each) > order(run)]
        better = max(beyond, key=order, default=None)
    return run


def _gpus(case: Case, run: Run, used: Mapping[str, int]) -> int:
    """Return the most GPUs that the job can use of the systems in use."""
    return sum(way.most_gpus(used[system.id]) for system, way in case.in_use(used, run.ways))


def _starts(case: Case, run: Run) -> Iterator[Use]:
    """Yield GPUs in use with their systems: as planned, then from the most that could be on down.

    Where several types are planned, each is tried alone, too. Parts of a few systems round down
    to none of them, which is no use of them.
    """
    yield run.gpus, dict(run.used)
    types = [system for system in case.systems if run.used.get(system.id)]
    parts = range(PARTS, 0, -1)
    if len(types) > 1:
        yield from (use for part in parts if (use := _parts_of_types(case, run, types, part))[0])
    for system in types:
        yield from (use for part in parts if (use := _parts_of_type(case, run, system, part))[0])


def _parts_of_types(case: Case, run: Run, types: Sequence[System], part: int) -> Use:
    """Return the use of a part, in ``PARTS``, of the usable systems of several types."""
    most = {each.id: operate.most_in_use(case, run.units[each.id]) for each in types}
    used = {name: count * part // PARTS for name, count in most.items()}
    ways = {each.id: each.way(run.ways) for each in types}
    gpus = {each.id: ways[each.id].most_gpus(used[each.id]) for each in types}
    fewest = {each.id: ways[each.id].systems_for(gpus[each.id]) for each in types}
    return sum(gpus.values()), {name: count for name, count in fewest.items() if count}


def _parts_of_type(case: Case, run: Run, system: System, part: int) -> Use:
    """Return the use of a part, in ``PARTS``, of the usable GPUs of one type, in whole steps."""
    way = system.way(run.ways)
    gpus = operate.most_allowed(case, way, run.units[system.id])
    gpus = gpus * part // PARTS // way.step_gpus * way.step_gpus
    return gpus, {system.id: way.systems_for(gpus)}


def _run_despite_limits(case: Case, run: Run) -> Run | None:
    """Return a purchase run for the most useful work, whatever limits that breaks."""
    job = replace(case.job, max_restore_s=None, ingest_per_gpu_gb_per_s=0.0, gpus_max=None)
    patient = replace(case, job=job).of_any_size()
    hasty = replace(patient, job=replace(patient.job, max_overlap=1.0, max_blocking=0.99))
    found: list[Run | None] = []
    for mode in case.job.modes:
        for loose in (patient, hasty):
            found.append(max(_runs(loose, mode, run, _useful), key=_useful, default=None))
        if not any(found):
            found.append(_at_longest(case, mode, run))
    return next((each for each in found if each is not None), None)


def _useful(run: Run) -> float:
    return run.useful_gpus


def _at_longest(case: Case, mode: Mode, run: Run) -> Run | None:
    """Return a purchase run as planned, with the longest interval that there may be."""
    rule = case.job.interval
    rates = [way.failures_per_gpu_day for _, way in case.in_use(run.used, run.ways)]
    interval_s = rule.high_s
    if rule.policy == "lost_work":
        interval_s = rule.kappa * mtti_s(max(rates), run.gpus)
    return operate.run_at(case, mode, run.units, run.used, run.gpus, interval_s, run.ways)


MOST = 40
"""Candidates that are compared, at most."""

Key = tuple[tuple[str, int], ...]


def candidates(
    case: Case, planned: Run | None, answers: Sequence[Answer], most: int = MOST
) -> list[Run]:
    """Return different purchases, the planned one first.

    All are taken where they fit in. Else the most cautious are taken, which draw and cost least,
    then those that were found most often; of those found equally often as many as there is room
    for, evenly spread from the one that draws least to the one that draws most.

    Args:
        planned: its plan, None where it has none.
    """
    chosen: dict[Key, Run] = {} if planned is None else {purchase_of(planned): planned}
    found: dict[Key, Run] = {}
    times: dict[Key, int] = {}
    for answer in answers:
        if answer.operation is not None:
            key = purchase_of(answer.operation)
            found.setdefault(key, answer.operation)
            times[key] = times.get(key, 0) + 1
    sizes = {key: _size(case, run) for key, run in found.items()}
    for place in (0, 1):
        cautious = min(found, key=lambda key: (sizes[key][place], key), default=None)
        if cautious is not None:
            chosen.setdefault(cautious, found[cautious])
    for number in sorted(set(times.values()), reverse=True):
        group = [key for key in found if times[key] == number and key not in chosen]
        group.sort(key=lambda key: (sizes[key], key))
        for key in _spread(group, most - len(chosen)):
            chosen[key] = found[key]
    return list(chosen.values())


def purchase_of(run: Run) -> Key:
    """Return what tells one purchase from another: the units of everything bought."""
    return tuple(sorted((name, count) for name, count in run.units.items() if count))


def _size(case: Case, run: Run) -> tuple[float, float]:
    """Return what a purchase draws, kW, and costs, USD, with inputs as they stand."""
    units = {offer.id: run.units.get(offer.id, 0) for offer in case.offers()}
    try:
        spent = purchase.bill(case, units, run.ways)
    except ValueError:  # no fabric is large enough for it
        return math.inf, math.inf
    return spent["it_power_kw"], spent["capex_usd"]


def _spread(keys: list[Key], room: int) -> list[Key]:
    if len(keys) <= room:
        return keys
    places = np.unique(np.linspace(0, len(keys) - 1, max(room, 0)).round().astype(int))
    return [keys[place] for place in places]


_CALLED = {
    "products": "products that can still be planned",
    "orders": "counts that can be ordered",
    "fabric": "fabrics that can be built",
    "running": "progress of the job at all",
    "gpus_min": "least GPUs in use",
    "overlap": FIGURES["overlap"].label,
    "blocking": FIGURES["blocking"].label,
    "drain_fits": "stall and drain within the interval",
    "endurance": "write endurance",
    "ingest": "ingest",
}
"""Limits that a plan need not have, or only in another mode."""


def break_rates(plan: Plan, bought: Sequence[Tried]) -> tuple[BreakRate, ...]:
    """Return every limit of a plan and any other that was broken, with how often that was.

    Args:
        plan: the plan that was bought.
        bought: what became of it in each scenario.
    """
    called = {limit.name: limit.label for limit in plan.limits}
    others = sorted({name for each in bought for name in each.broken} - called.keys())
    called |= {name: _CALLED.get(name, name.replace("_", " ")) for name in others}
    each = [tried.broken for tried in bought]
    return tuple(_rate(name, label, each) for name, label in called.items())


def _rate(name: str, label: str, broken: Sequence[Mapping[str, Passed]]) -> BreakRate:
    times = [each[name] for each in broken if name in each]
    return BreakRate(
        limit=name,
        label=label,
        breaks=len(times),
        share=len(times) / len(broken) if broken else 0.0,
        worst=max((by for by in times if by is not None), default=None),
    )


BROKEN = 1.0
"""The regret of a plan that breaks a limit, and the largest that any plan can have."""


def best_known(answered: Numbers, worths: Numbers, *, maximise: bool) -> Numbers:
    """Return the value of the best plan that is known for each scenario.

    Args:
        answered: the value of the plan that each scenario's own search found.
        worths: the value of each candidate (column) in each scenario (row); nan where it breaks a
            limit there.
    """
    pick = np.fmax if maximise else np.fmin
    return np.asarray(pick.reduce(np.column_stack([answered, worths]), axis=1), dtype=float)


def regrets(worths: Numbers, best: Numbers, *, maximise: bool) -> Numbers:
    """Return how far each candidate stays behind, as a share of the best plan known.

    Args:
        worths: the value of each candidate (column) in each scenario (row); nan where it breaks a
            limit there.
        best: the value of the best plan known, by scenario.
    """
    whole = np.abs(best)[:, None]
    behind = best[:, None] - worths if maximise else worths - best[:, None]
    shares = np.full(worths.shape, BROKEN)
    np.divide(behind, whole, out=shares, where=whole > 0.0)
    shares[(behind <= 0.0) & (whole == 0.0)] = 0.0
    return np.where(np.isnan(worths), BROKEN, np.clip(shares, 0.0, BROKEN))


def order_by_regret(matrix: Numbers, *, first: bool) -> list[int]:
    """Return the places of the candidates by regret, in the worst scenario, then on average.

    Args:
        first: whether the first one stays first.
    """
    worst, mean = matrix.max(axis=0), matrix.mean(axis=0)
    places = range(int(first), matrix.shape[1])
    ordered = sorted(places, key=lambda place: (worst[place], mean[place], place))
    return [*range(int(first)), *ordered]


def compared(
    runs: Sequence[Run],
    worths: Numbers,
    matrix: Numbers,
    *,
    planned: bool,
    gap: float,
    maximise: bool,
) -> tuple[CandidatePlan, ...]:
    """Return the candidates with what their columns say.

    Args:
        worths: their value (column) in each scenario (row), nan where they break a limit.
        planned: whether the first is the plan of the problem as it stands.
        gap: a plan is among the best where none is known to be better by more than this share.
    """
    return tuple(
        _compared(run, place, worths[:, place], matrix[:, place], planned, gap, maximise)
        for place, run in enumerate(runs)
    )


def _compared(
    run: Run,
    place: int,
    worths: Numbers,
    behind: Numbers,
    planned: bool,
    gap: float,
    maximise: bool,
) -> CandidatePlan:
    within: NDArray[np.bool_] = ~np.isnan(worths)
    worst = None
    if within.all():
        worst = float(worths.min() if maximise else worths.max())
    nominal = planned and place == 0
    return CandidatePlan(
        name="nominal" if nominal else f"plan {place + (0 if planned else 1)}",
        counts={name: count for name, count in run.units.items() if count},
        nominal=nominal,
        best_in=int((within & (behind <= gap)).sum()),
        feasible=float(within.mean()),
        mean=float(worths[within].mean()) if within.any() else None,
        worst=worst,
        mean_regret=float(behind.mean()),
        most_regret=float(behind.max()),
    )


def least_regret(plans: Sequence[CandidatePlan]) -> int | None:
    """Return the place of the plan of least regret in its worst scenario, then on average."""
    order = [(plan.most_regret, plan.mean_regret, place) for place, plan in enumerate(plans)]
    return min(order)[2] if order else None


def best_worst_case(plans: Sequence[CandidatePlan], *, maximise: bool) -> int | None:
    """Return the place of the plan of the best worst case, None where none is always possible."""
    sign = -1.0 if maximise else 1.0
    order = [
        (sign * plan.worst, plan.mean_regret, place)
        for place, plan in enumerate(plans)
        if plan.worst is not None
    ]
    return min(order)[2] if order else None
