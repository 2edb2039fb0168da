"""Uncertain inputs drawn: the best plans, how often the planned purchase breaks limits, regret."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from planner.analysis.distributions import Numbers, Unknown, unknowns
from planner.analysis.pool import Progress, all_results, ignore
from planner.analysis.request import Found, Request, SweepOptions, head_of
from planner.analysis.variants import (
    Answer,
    Scenario,
    answers,
    figures_of,
    operation_of,
    value_of,
)
from planner.case import Case, Storage, System, resolve
from planner.case.model import Limits, Policy
from planner.case.resolve import with_companions
from planner.errors import Finding, InputError
from planner.figures import FIGURES, OBJECTIVES
from planner.inputs import Inputs, applied
from planner.limits import BY_NAME
from planner.optimizer import bill as bills
from planner.optimizer.checks import broken_by_counts, broken_limits, is_orderly
from planner.optimizer.gpus_in_use import BestUse
from planner.optimizer.objective import natural
from planner.optimizer.operate import Run, exceeded_limits
from planner.optimizer.optimise import optimise
from planner.optimizer.stores import stored
from planner.optimizer.work import WORK_OBJECTIVES, modes_of
from planner.schema.plan import Plan, Status
from planner.schema.sensitivity import (
    PLANNED,
    BreakRate,
    CandidatePlan,
    Index,
    Percentiles,
    Uncertain,
    UncertainInput,
)

OfferT = TypeVar("OfferT", System, Storage)

Method = Literal["lhs", "sobol"]
Figures = dict[str, float]
LEAST, MOST = 2, 1_000_000
GAP = 1e-6
MOST_CANDIDATES = 40
BROKEN = 1.0
"""Regret of a purchase that breaks a limit, and the largest regret."""
SAMPLES_ALONE = 1_000
"""Below this number of draws other processes cost more than they save."""
TOGETHER = 16
"""Scenarios judged in one task."""
EDGE = 1e-9
"""Least distance of points to 0 and 1, where some distributions have no end."""


class Draw(NamedTuple):
    """How scenarios are drawn, how many, from which seed; ``indices`` takes further ones."""

    method: Method = "lhs"
    samples: int = 256
    seed: int = 1
    indices: bool = False


# Drawing


def points(method: Method, inputs: int, samples: int, seed: int) -> Numbers:
    """A point of the unit cube for each sample (row), a coordinate for each input."""
    from scipy.stats import qmc

    draw = np.random.default_rng(seed)
    if method == "lhs":
        made = qmc.LatinHypercube(inputs, rng=draw).random(samples)
    else:
        made = qmc.Sobol(inputs, rng=draw).random_base2(samples.bit_length() - 1)
    return np.asarray(np.clip(made, EDGE, 1.0 - EDGE))


def refuse_draw(draw: Draw) -> None:
    """Refuse impossible numbers of samples and seeds.

    Raises:
        InputError: with the reason.
    """
    if not LEAST <= draw.samples <= MOST:
        message = f"{draw.samples:,} samples are not between {LEAST} and {MOST:,}"
        raise InputError(Finding("samples", message, "--samples", fix="write for example 256"))
    if draw.seed < 0:
        raise InputError(Finding("seed", f"{draw.seed} is negative", "--seed", fix="write 1"))
    low = _power_of_two(draw.samples)
    if draw.method == "sobol" and draw.samples != low:
        message = f"a Sobol sequence takes a power of two of samples, not {draw.samples:,}"
        raise InputError(Finding("samples", message, "--samples", fix=f"write {low} or {2 * low}"))


def _power_of_two(samples: int) -> int:
    return 1 << (samples.bit_length() - 1)


def drawn_values(unsure: Sequence[Unknown], shares: Numbers) -> Numbers:
    """Values of the inputs at points of the unit cube."""
    columns = [unknown.quantiles(shares[:, place]) for place, unknown in enumerate(unsure)]
    return np.column_stack(columns)


def drawn_scenarios(unsure: Sequence[Unknown], values: Numbers) -> list[Scenario]:
    """A scenario for each row of values, a column for each input."""
    found = []
    for index, row in enumerate(values.tolist()):
        made = [unknown.draw(number) for unknown, number in zip(unsure, row, strict=True)]
        changes = tuple(change for some, _ in made for change in some)
        refused = "; ".join(fault for _, fault in made if fault)
        found.append(Scenario(index, changes, refused=refused))
    return found


# Outcomes

QUANTILES = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}
OUTCOMES: Mapping[str, str] = {
    "useful_gpus": "useful_gpus",
    "useful_pflops": "useful_pflops",
    "goodput": "goodput",
    "capex_usd": "capex_usd",
    "tco_usd": "tco_usd",
    "facility_power_kw": "facility_power_kw",
    "gpus_in_use": "gpus_used",
    "write_gb_per_s": "delivered_write_gb_per_s",
    "interval_s": "interval_s",
    "days_to_train": "days_to_train",
}
"""Outcomes recorded beside the objective, with the names of their figures."""


def outcomes_of(case: Case, run: Run) -> Figures:
    """Known outcomes of an operation under a case, the objective included."""
    found = figures_of(case, run) | {
        "objective": value_of(case, run),
        "gpus_in_use": float(run.gpus),
        "write_gb_per_s": run.write_gb_per_s,
        "interval_s": run.interval_s,
    }
    return {
        name: value
        for name, value in found.items()
        if value is not None and name in ("objective", *OUTCOMES)
    }


def percentiles(case: Case, runs: Sequence[Figures]) -> tuple[Percentiles, ...]:
    """Spread of each outcome over the scenarios that have it."""
    first = OBJECTIVES[case.objective].figure
    named = {name: FIGURES[figure] for name, figure in OUTCOMES.items()}
    asked = {"objective": first} | {name: f for name, f in named.items() if f != first}
    found = []
    for name, figure in asked.items():
        values = np.array([run[name] for run in runs if name in run], dtype=float)
        if len(values):
            at = np.quantile(values, list(QUANTILES.values()))
            one = Percentiles(
                name=name,
                label=figure.label,
                unit=figure.unit,
                count=len(values),
                mean=float(values.mean()),
                least=float(values.min()),
                most=float(values.max()),
                **dict(zip(QUANTILES, at.tolist(), strict=True)),
            )
            found.append(one)
    return tuple(found)


# Purchases kept in each scenario


class Kept(NamedTuple):
    """A purchase in a scenario: its operation, None without any, and the limits it breaks.

    ``broken``: excess over a limit as a share of it, None where it is no matter of more or less.
    """

    run: Run | None
    broken: Mapping[str, float | None]


class Judged(NamedTuple):
    """A scenario: outcomes of its best plan and of the planned purchase, values of the candidates.

    ``values`` are empty where there is no plan, nan where a candidate breaks a limit.
    """

    best: Figures
    bought: Kept | None = None
    bought_outcomes: Figures | None = None
    values: tuple[float, ...] = ()


ROOM = 4
"""Multiple of the limits up to which fabrics are derived for purchases far beyond them."""
_NUMBERED = re.compile(r"(stock|require_vendor|split)_([^_]+)(_.*)?")


def _judged_all(
    inputs: Inputs, planned: Run | None, runs: Sequence[Run], some: Sequence[Answer]
) -> list[Judged]:
    return [_judged(inputs, planned, runs, answer) for answer in some]


def _judged(inputs: Inputs, planned: Run | None, runs: Sequence[Run], answer: Answer) -> Judged:
    if answer.status in ("invalid", "failed"):
        return Judged({})
    try:
        there = applied(inputs, answer.scenario.changes)
        case = resolve(there)
    except InputError:
        return Judged({})
    bought = None if planned is None else kept_purchase(case, planned)
    if bought is not None and planned is not None and "fabric" in bought.broken:
        supplies = bills.limited(case.limits)
        wide = {each.field: ROOM * case.limits.given(each.field) for each in supplies}
        roomy = replace(case, limits=case.limits.with_values(**wide))
        case = replace(case, companions=with_companions(there, roomy).companions)
        bought = kept_purchase(case, planned)
    run = None if bought is None else bought.run
    best: Figures = {}
    if answer.operation is not None and answer.status in PLANNED:
        best = outcomes_of(case, answer.operation)
    values = tuple(values_of(case, runs).tolist()) if best else ()
    return Judged(best, bought, None if run is None else outcomes_of(case, run), values)


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
        kind, first, rest = numbered.groups() if numbered else ("", "", "")
        name = f"{kind}.{first}{'' if kind == 'split' else rest or ''}" if kind else row
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
    for each in (job, replace(job, max_overlap=1.0, max_blocking=0.99)):
        loose = replace(free, job=each).billed_as(case)
        found = _operated(loose, loose, units, run)
        if found is not None:
            return found
    return None


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


def candidates(case: Case, planned: Run | None, runs: Sequence[Run]) -> list[Run]:
    """Different purchases, at most ``MOST_CANDIDATES``: the planned one, those of least power and
    of least capex, then those found most often.

    Args:
        case: the problem itself.
        planned: its plan, None where it has none.
        runs: the best plans of scenarios.
    """

    def key_of(run: Run) -> tuple[tuple[str, int], ...]:
        return tuple(sorted((name, count) for name, count in run.units.items() if count))

    def size_of(run: Run) -> tuple[float, float]:
        units = {offer.id: run.units.get(offer.id, 0) for offer in case.offers()}
        try:
            spent = bills.bill(case, units, run.ways)
        except ValueError:  # no fabric is large enough
            return math.inf, math.inf
        return spent["it_power_kw"], spent["capex_usd"]

    times = Counter(map(key_of, runs))
    found = {key_of(run): run for run in reversed(runs)}
    sizes = {key: size_of(run) for key, run in found.items()}
    chosen = {} if planned is None else {key_of(planned): planned}
    cautious = [min(found, key=lambda key: (sizes[key][place], key)) for place in (0, 1) if found]
    for key in (*cautious, *sorted(found, key=lambda key: (-times[key], sizes[key], key))):
        if len(chosen) < MOST_CANDIDATES:
            chosen.setdefault(key, found[key])
    return list(chosen.values())


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


_LABELS = {
    "products": "products that can still be planned",
    "orders": "counts that can be ordered",
    "fabric": "fabrics that can be built",
    "running": "progress of the job at all",
    "gpus_min": "minimum GPUs in use",
    "overlap": FIGURES["overlap"].label,
    "blocking": FIGURES["blocking"].label,
    "drain_fits": "stall and drain within the interval",
    "endurance": "write endurance",
    "ingest": "ingest",
}
"""Limits that a plan has only in another mode, or never."""


def break_rates(plan: Plan, bought: Sequence[Kept]) -> tuple[BreakRate, ...]:
    """Frequency with which the planned purchase breaks each limit, over scenarios."""
    named = {limit.name: limit.label for limit in plan.limits}
    others = sorted({name for each in bought for name in each.broken} - named.keys())
    named |= {name: _LABELS.get(name, name.replace("_", " ")) for name in others}
    found = []
    for name, label in named.items():
        times = [each.broken[name] for each in bought if name in each.broken]
        share = len(times) / len(bought) if bought else 0.0
        worst = max((by for by in times if by is not None), default=None)
        found.append(
            BreakRate(limit=name, label=label, breaks=len(times), share=share, worst=worst)
        )
    return tuple(found)


def compared(
    runs: Sequence[Run], seen: Sequence[Judged], *, planned: bool, gap: float, maximise: bool
) -> dict[str, Any]:
    """Candidates by regret, the minimax-regret one and the one of best worst case.

    Args:
        planned: whether the first is the plan of the problem itself, and stays first.
        gap: a plan is among the best where none is better by more than this share.
    """
    there = [each for each in seen if each.values]
    if not there:
        return {"candidates": ()}
    values = np.array([each.values for each in there])
    answered = np.array([each.best["objective"] for each in there])
    behind = regrets(values, answered, maximise=maximise)
    worst, mean = behind.max(axis=0), behind.mean(axis=0)
    first = [0] if planned else []
    rest = sorted(range(len(first), len(runs)), key=lambda n: (worst[n], mean[n], n))
    plans = []
    for place, n in enumerate([*first, *rest]):
        own, within = values[:, n], ~np.isnan(values[:, n])
        nominal = planned and place == 0
        one = CandidatePlan(
            name="nominal" if nominal else f"plan {place + (0 if planned else 1)}",
            counts={name: count for name, count in runs[n].units.items() if count},
            nominal=nominal,
            best_in=int((within & (behind[:, n] <= gap)).sum()),
            feasible=float(within.mean()),
            mean=float(own[within].mean()) if within.any() else None,
            worst=float(own.min() if maximise else own.max()) if within.all() else None,
            mean_regret=float(mean[n]),
            most_regret=float(worst[n]),
        )
        plans.append(one)
    sign = -1.0 if maximise else 1.0
    always = [
        (sign * plan.worst, plan.mean_regret, n)
        for n, plan in enumerate(plans)
        if plan.worst is not None
    ]
    return {
        "candidates": tuple(plans),
        "least_regret": min(
            range(len(plans)), key=lambda n: (plans[n].most_regret, plans[n].mean_regret, n)
        ),
        "best_worst_case": min(always)[2] if always else None,
    }


# Sobol indices

MOST_WITHOUT = 0.05
"""Largest share of scenarios without a plan with which indices are computed."""
STILL = 1e-9
"""Relative spread of the objective below which there is nothing to explain."""
RESAMPLES = 200


def index_points(inputs: int, samples: int, seed: int) -> Numbers:
    """Saltelli's design: A, B, then A with each column of B, n points each.

    n is the largest power of two in ``samples``.
    """
    n = _power_of_two(samples)
    both = points("sobol", 2 * inputs, n, seed)
    a, b = both[:, :inputs], both[:, inputs:]
    mixed = []
    for place in range(inputs):
        one = a.copy()
        one[:, place] = b[:, place]
        mixed.append(one)
    return np.vstack([a, b, *mixed])


def indices(unsure: Sequence[Unknown], values: Numbers, seed: int) -> tuple[tuple[Index, ...], str]:
    """Sobol indices of each input (`scipy.stats.sobol_indices`), and a note.

    Args:
        values: the objective at each point of ``index_points``; nan where there is no plan.
        seed: of the resampling for the confidence.
    """
    from scipy.stats import sobol_indices

    without = np.isnan(values)
    count, share = int(without.sum()), float(without.mean())
    of = f"{count:,} of the {len(values):,} scenarios drawn for the indices"
    if share > MOST_WITHOUT:
        return (), (
            f"No indices: {of} have no plan, more than {MOST_WITHOUT:.0%}, and an objective that "
            "is missing so often cannot be explained. Narrow the distributions."
        )
    mean = float(values[~without].mean())
    filled = np.where(without, mean, values)
    if filled.std() <= STILL * max(abs(mean), STILL):
        return (), "No indices: the objective is the same in every scenario."
    n = len(values) // (len(unsure) + 2)
    blocks = filled.reshape(len(unsure) + 2, 1, n)

    def at(places: Any) -> Numbers:
        some = blocks[:, :, places]
        parts = {"f_A": some[0], "f_B": some[1], "f_AB": some[2:]}
        found = sobol_indices(func=parts, n=n)
        return np.array([found.first_order.ravel(), found.total_order.ravel()])

    draw = np.random.default_rng(seed)
    first, total = at(slice(None))
    again = np.array([at(draw.integers(n, size=n)) for _ in range(RESAMPLES)])
    first_room, total_room = 1.96 * again.std(axis=0, ddof=1)
    note = f"From {len(values):,} scenarios of their own (Saltelli's design)."
    if count:
        note += f" {of[0].upper()}{of[1:]} have no plan; their objective counts as the mean."
    return tuple(
        Index(
            path=unknown.path,
            label=unknown.label,
            first=float(first[place]),
            first_confidence=float(first_room[place]),
            total=float(total[place]),
            total_confidence=float(total_room[place]),
        )
        for place, unknown in enumerate(unsure)
    ), note


# The study

Ask = Callable[[Inputs, Sequence[Scenario], SweepOptions, Progress], Sequence[Answer]]


def study(
    inputs: Inputs,
    dists: Sequence[str],
    options: SweepOptions,
    draw: Draw,
    *,
    plan: Plan,
    progress: Progress = ignore,
    ask: Ask = answers,
) -> Uncertain:
    """Best plans and the regret of purchases where inputs are uncertain.

    Regret is measured from the best plan known in each scenario, candidates included.

    Args:
        dists: ``PATH=DISTRIBUTION`` of each input; without any those usually uncertain.
        options: how exactly to solve each scenario.
        plan: the best plan of the problem itself.
        progress: called with the numbers of scenarios solved and of all.
        ask: solves scenarios.

    Raises:
        InputError: a distribution or the draw cannot be.
    """
    refuse_draw(draw)
    unsure, case = unknowns(inputs, dists), resolve(inputs)
    planned = operation_of(case, plan)
    options = options if planned is None else replace(options, known=(planned,))
    drawn = drawn_values(unsure, points(draw.method, len(unsure), draw.samples, draw.seed))
    more = (len(unsure) + 2) * _power_of_two(draw.samples) if draw.indices else 0
    whole = draw.samples + more
    found = ask(
        inputs, drawn_scenarios(unsure, drawn), options, lambda done, _: progress(done, whole)
    )
    runs = candidates(case, planned, [a.operation for a in found if a.operation is not None])
    parts: dict[Hashable, Sequence[Answer]] = {
        n: found[n : n + TOGETHER] for n in range(0, len(found), TOGETHER)
    }
    judge = partial(_judged_all, inputs, planned, runs)
    judged = all_results(judge, parts, jobs=options.jobs, dask=options.dask)
    seen = [each for n in parts for each in judged[n]]
    known: dict[str, Any] = {}
    if draw.indices:
        design = drawn_values(unsure, index_points(len(unsure), draw.samples, draw.seed))
        before = len(found)
        answered = ask(
            inputs,
            drawn_scenarios(unsure, design),
            options,
            lambda done, _: progress(before + done, whole),
        )
        values = [math.nan if each.value is None else each.value for each in answered]
        made, note = indices(unsure, np.array(values), draw.seed)
        known = {"indices": made, "indices_note": note}
    return Uncertain(
        **head_of(inputs, options.gap),
        base=plan.objective.best,
        base_bound=plan.objective.bound,
        method=draw.method,
        seed=draw.seed,
        samples=draw.samples,
        status=_status(found),
        statuses=dict(sorted(Counter(answer.status for answer in found).items())),
        inputs=tuple(_input(each, drawn[:, place]) for place, each in enumerate(unsure)),
        outcomes=percentiles(case, [each.best for each in seen if each.best]),
        nominal_outcomes=percentiles(
            case, [each.bought_outcomes for each in seen if each.bought_outcomes]
        ),
        breaks=break_rates(plan, [each.bought for each in seen if each.bought is not None]),
        largest_gap=max((answer.gap for answer in found if answer.gap is not None), default=None),
        **compared(
            runs, seen, planned=planned is not None, gap=options.gap, maximise=case.maximise
        ),
        **known,
        message=_message(plan, found),
    )


def _status(found: Sequence[Answer]) -> Status:
    ended = {answer.status for answer in found}
    if ended & set(PLANNED):
        return "optimal" if ended <= {"optimal", "infeasible", "invalid"} else "feasible"
    if "unbounded" in ended:
        return "unbounded"
    return "infeasible" if ended == {"infeasible"} else "no_solution"


def _input(each: Unknown, drawn: Numbers) -> UncertainInput:
    return UncertainInput(
        path=each.path,
        label=each.label,
        unit=each.unit,
        distribution=each.words,
        low=each.recorded(float(drawn.min())),
        median=each.recorded(float(np.median(drawn))),
        high=each.recorded(float(drawn.max())),
    )


def _message(plan: Plan, found: Sequence[Answer]) -> str | None:
    """Note on scenarios without a plan."""
    texts = []
    if not plan.jobs:
        texts.append(f"The problem as it stands has no plan: {plan.message}.")
    without = sum(answer.status not in PLANNED for answer in found)
    if without == len(found):
        texts.append("No scenario has a plan.")
    elif without:
        texts.append(
            f"{without:,} of {len(found):,} scenarios have no plan; outcomes of the best plans and "
            "regret leave them out."
        )
    refused = [answer for answer in found if answer.status in ("invalid", "failed")]
    if refused:
        count = f"{len(refused):,} could not be asked"
        texts.append(f"{count}, the first because: {refused[0].reason}.")
    return " ".join(texts) or None


def run(
    request: Request,
    *,
    dist: Sequence[str],
    samples: int,
    method: Method,
    seed: int,
    indices: bool,
) -> Found:
    """Draw the uncertain inputs of a problem.

    Args:
        dist: ``PATH=DISTRIBUTION`` of each input; without any those usually uncertain.
        method: how they are drawn.
        seed: the same one draws the same.
        indices: whether to explain the spread by inputs, which takes further scenarios.

    Raises:
        InputError: the problem, a distribution or an option is wrong.
    """
    inputs, draw = request.inputs, Draw(method, samples, seed, indices)
    refuse_draw(draw)
    unknowns(inputs, dist)  # refuses what is wrong before anything is solved
    plan = request.plan()
    options = request.each()
    if not options.jobs and options.dask is None and samples < SAMPLES_ALONE:
        options = replace(options, jobs=1)
    found = study(inputs, dist, options, draw, plan=plan, progress=request.progress)
    ended = "failed" if found.statuses.get("failed") else found.status
    return Found((found,), (ended,), plan=lambda: plan)
