"""Purchases kept as they are in another scenario: operation, broken limits, value, regret."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from planner.case import Case, Storage, System
from planner.case.model import Limits, Mode, Policy
from planner.case.ways import ways_in_plan
from planner.limits import BY_NAME
from planner.optimizer import bill as bills
from planner.optimizer.checks import broken_by_counts, broken_limits, is_orderly
from planner.optimizer.gpus_in_use import BestUse
from planner.optimizer.objective import measure, natural
from planner.optimizer.operate import Run, exceeded_limits, run_at
from planner.optimizer.optimise import optimise
from planner.optimizer.stores import stored
from planner.optimizer.work import WORK_OBJECTIVES, modes_of
from planner.schema.plan import Plan

Numbers = NDArray[np.float64]
OfferT = TypeVar("OfferT", System, Storage)

GAP = 1e-6
MOST = 40
"""Candidates compared, at most."""
BROKEN = 1.0
"""Regret of a purchase that breaks a limit, and the largest regret."""
_NUMBERED = re.compile(r"(stock|require_vendor|split)_(.+)")


def operation_of(case: Case, plan: Plan) -> Run | None:
    """Operation that a plan describes; None where there is none."""
    if not plan.jobs:
        return None
    job = plan.jobs[0]
    bought = {line.sku: line.working for line in plan.lines if line.parent is None}
    units = {offer.id: bought.get(offer.id, 0) for offer in case.offers()}
    use = job.systems_by_type, job.gpus_used, job.interval_s, ways_in_plan(case, plan)
    if job.local is not None:
        return run_at(case, "local", units, *use, job.local.every)
    return run_at(case, job.mode, units, *use)


def value_of(case: Case, run: Run) -> float:
    """Value of an operation in the problem's objective, in its own unit."""
    return natural(case.objective, measure(case, case.objective)(run))


def figures_of(case: Case, run: Run) -> dict[str, float | None]:
    """Figures of an operation; None where the problem does not state what one needs."""
    job, bill = case.job, bills.bill(case, run.units, run.ways)
    pflops = run.useful_pflops(job.mfu) if job.mfu is not None and run.tflops_per_gpu > 0 else None
    trains = pflops and job.tokens is not None and job.active_parameters is not None
    return {
        "useful_gpus": run.useful_gpus,
        "useful_pflops": pflops,
        "goodput": run.goodput,
        "capex_usd": bill["capex_usd"],
        "tco_usd": bill["tco_usd"] if case.rates.years else None,
        "it_power_kw": bill["it_power_kw"],
        "facility_power_kw": bill["facility_power_kw"],
        "days_to_train": case.days_at_one_pflops() / pflops if pflops and trains else None,
    }


# A purchase in another scenario


class Kept(NamedTuple):
    """A purchase in a scenario: its operation, None without any, and the limits it breaks.

    ``broken``: excess over a limit as a share of it, None where it is no matter of more or less.
    """

    run: Run | None
    broken: Mapping[str, float | None]


def best_operation(case: Case, run: Run) -> Run | None:
    """Best operation of a purchase under a case; None where it breaks a limit.

    Args:
        run: the purchase, as it is run in another scenario.
    """
    units = _units(case, run)
    if units is None or not is_orderly(case, units):
        return None
    if len(run.used) > case.job.max_types or broken_limits(case, units, run.ways):
        return None
    return _operated(case, case, units, run)


def kept_purchase(case: Case, run: Run) -> Kept:
    """A purchase under a case with the limits it breaks.

    Where no operation meets every limit it runs for most useful work, and the limits on running
    that this misses count as broken.
    """
    units = _units(case, run)
    if units is None:
        return Kept(None, {"products": None})
    broken: dict[str, float | None] = {} if is_orderly(case, units) else {"orders": None}
    for row in broken_limits(case, units, run.ways):
        numbered = _NUMBERED.fullmatch(row)
        kind, rest = numbered.groups() if numbered else ("", "")
        name = f"{kind}.{rest.partition('_')[0] if kind == 'split' else rest}" if kind else row
        broken[name] = _excess(case, units, run, row)
    if "fabric" in broken:
        return Kept(None, broken)
    found = None if broken else best_operation(case, run)
    if found is None:
        found = _most_work(case, units, run)
        broken |= {"running": None} if found is None else exceeded_limits(case, found)
    return Kept(found, broken)


def _units(case: Case, run: Run) -> dict[str, int] | None:
    """Units of everything on offer; None where a bought product no longer is."""
    ids = {offer.id for offer in case.offers()}
    if any(count and name not in ids for name, count in run.units.items()):
        return None
    return {offer.id: run.units.get(offer.id, 0) for offer in case.offers()}


def _operated(case: Case, whole: Case, units: Mapping[str, int], run: Run) -> Run | None:
    """Best operation of one purchase, in the configurations that it was bought for."""

    def held(offer: OfferT) -> OfferT:
        return replace(offer, low=units[offer.id], high=units[offer.id])

    systems = tuple(replace(held(each), ways=(each.way(run.ways),)) for each in case.systems)
    fixed = replace(case, systems=systems, storage=tuple(held(each) for each in case.storage))
    found = optimise(fixed.billed_as(whole), gap=GAP, ties=False).operation
    return None if found is None else replace(found, units=dict(units))


def _excess(case: Case, units: Mapping[str, int], run: Run, row: str) -> float | None:
    if row == "capacity":
        usable_tb = sum(item.usable_tb * units[item.id] for item in case.storage)
        return 1.0 - usable_tb / case.job.capacity_needed_tb
    supply = BY_NAME.get(row)
    if supply is None or supply.group != "supply":
        return None
    limit = case.limits[supply.field]
    return bills.bill(case, units, run.ways)[supply.figure] / limit - 1.0 if limit else None


def _most_work(case: Case, units: Mapping[str, int], run: Run) -> Run | None:
    """Operation of most useful work of a purchase, whatever limits that breaks."""
    job = replace(
        case.job,
        max_restore_s=None,
        ingest_per_gpu_gb_per_s=0.0,
        gpus_max=None,
        capacity_needed_tb=0.0,
        gpus_min=1,
    )
    free = replace(
        case.under(Limits.from_values({})).of_any_size(),
        objective="useful_gpus",
        policy=Policy(),
        indifference=0.0,
    )
    patient = replace(free, job=job)
    hasty = replace(free, job=replace(job, max_overlap=1.0, max_blocking=0.99))
    for loose in (patient, hasty):
        found = _operated(loose.billed_as(case), loose.billed_as(case), units, run)
        if found is not None:
            return found
    each = (_at_longest(case, mode, units, run) for mode in case.job.modes)
    return next((found for found in each if found is not None), None)


def _at_longest(case: Case, mode: Mode, units: Mapping[str, int], run: Run) -> Run | None:
    """A purchase run as planned, with the longest interval allowed."""
    rule = case.job.interval
    return run_at(case, mode, units, run.used, run.gpus, rule.high_s, run.ways)


# Values of many purchases


def values_of(case: Case, runs: Sequence[Run]) -> Numbers:
    """Values of purchases at their best under a case; nan where one breaks a limit."""
    found = np.full(len(runs), np.nan)
    if not _known_as_arrays(case):
        for place, run in enumerate(runs):
            best = best_operation(case, run)
            found[place] = math.nan if best is None else value_of(case, best)
        return found
    there: dict[int, dict[str, int]] = {}
    for place, run in enumerate(runs):
        units = _units(case, run)
        if units and is_orderly(case, units) and not broken_by_counts(case, units):
            there[place] = units
    if not there:
        return found
    places = np.array(list(there))
    counts = np.array([[units[o.id] for o in case.offers()] for units in there.values()]).T
    numbers = {way.id: n for n, way in enumerate(case.ways)}
    used = (case.in_use(runs[place].used, runs[place].ways)[0][1].id for place in there)
    ways = np.array([numbers[name] for name in used])
    fits = bills.Kernel(case).within_limits(counts, ways)
    places, counts, ways = places[fits], counts[:, fits], ways[fits]
    score = _scores(case, counts, ways)
    runs_at_all = np.isfinite(score)
    found[places[runs_at_all]] = [natural(case.objective, s) for s in score[runs_at_all].tolist()]
    return found


def _known_as_arrays(case: Case) -> bool:
    """Whether a value follows from useful work of one type, with no limit on ratios."""
    return (
        case.objective in WORK_OBJECTIVES
        and case.job.max_types == 1
        and case.limits["per_useful_gpu_hour"] is None
        and case.limits["per_million_tokens"] is None
    )


def _scores(case: Case, counts: NDArray[np.int64], ways: NDArray[np.int64]) -> Numbers:
    """Score of each purchase (column) in its configuration."""
    owners = np.array([n for n, system in enumerate(case.systems) for _ in system.ways])
    systems, first = counts[owners[ways], np.arange(len(ways))], len(case.systems)
    stores = stored(case, counts[first : first + len(case.storage)])
    score = np.full(len(ways), -np.inf)
    for one in modes_of(case):
        operation, most = BestUse(*one), np.zeros(len(ways), dtype=np.int64)
        for way in np.unique(ways).tolist():
            most[ways == way] = operation.most_gpus(way, systems[ways == way])
        score = np.maximum(score, operation.best(ways, systems, most, stores)[0])
    return score


# Candidates and regret


def purchase_of(run: Run) -> tuple[tuple[str, int], ...]:
    """Units of everything bought, which tell purchases apart."""
    return tuple(sorted((name, count) for name, count in run.units.items() if count))


def candidates(case: Case, planned: Run | None, runs: Sequence[Run], most: int = MOST) -> list[Run]:
    """Different purchases, the planned one first.

    Where there are more than ``most``: the ones of least power and least capex, then those found
    most often, of equals evenly spread by power.

    Args:
        case: the problem itself.
        planned: its plan, None where it has none.
        runs: the best plans of scenarios.
    """
    chosen = {} if planned is None else {purchase_of(planned): planned}
    found = {purchase_of(run): run for run in reversed(runs)}
    times = Counter(map(purchase_of, runs))
    sizes = {key: _size(case, run) for key, run in found.items()}
    for place in (0, 1):
        if found:
            cautious = min(found, key=lambda key: (sizes[key][place], key))
            chosen.setdefault(cautious, found[cautious])
    for number in sorted(set(times.values()), reverse=True):
        group = [key for key in found if times[key] == number and key not in chosen]
        group.sort(key=lambda key: (sizes[key], key))
        room = max(most - len(chosen), 0)
        if len(group) > room:
            spread = np.unique(np.linspace(0, len(group) - 1, room).round()).astype(int)
            group = [group[n] for n in spread]
        chosen |= {key: found[key] for key in group}
    return list(chosen.values())


def _size(case: Case, run: Run) -> tuple[float, float]:
    """Power, kW, and capex, USD, of a purchase in the problem itself."""
    units = {offer.id: run.units.get(offer.id, 0) for offer in case.offers()}
    try:
        spent = bills.bill(case, units, run.ways)
    except ValueError:  # no fabric is large enough
        return math.inf, math.inf
    return spent["it_power_kw"], spent["capex_usd"]


def regrets(values: Numbers, answered: Numbers, *, maximise: bool) -> Numbers:
    """Regret of each candidate (column) in each scenario (row), as a share of the best.

    Args:
        values: nan where a candidate breaks a limit.
        answered: value of each scenario's own best plan; a candidate may be better within the gap.
    """
    pick = np.fmax if maximise else np.fmin
    best = pick.reduce(np.column_stack([answered, values]), axis=1)
    whole = np.abs(best)[:, None]
    behind = best[:, None] - values if maximise else values - best[:, None]
    shares = np.full(values.shape, BROKEN)
    np.divide(behind, whole, out=shares, where=whole > 0.0)
    shares[(behind <= 0.0) & (whole == 0.0)] = 0.0
    return np.where(np.isnan(values), BROKEN, np.clip(shares, 0.0, BROKEN))
