"""Uncertain inputs drawn: the best plans, their outcomes, and the regret of purchases."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from planner.analysis.distributions import Numbers, Unknown, unknowns
from planner.analysis.pool import Progress, all_results, ignore
from planner.analysis.request import Request, SweepOptions, head_of
from planner.analysis.variants import (
    Answer,
    Scenario,
    answers,
    figures_of,
    operation_of,
    value_of,
)
from planner.api import Options, solve_with
from planner.case import Case, Storage, System, resolve
from planner.errors import Finding, InputError
from planner.figures import FIGURES, OBJECTIVES
from planner.inputs import Inputs, applied
from planner.optimizer import bill as bills
from planner.optimizer.checks import broken_by_counts, broken_limits, is_orderly
from planner.optimizer.gpus_in_use import BestUse
from planner.optimizer.objective import natural
from planner.optimizer.operate import Run
from planner.optimizer.optimise import optimise
from planner.optimizer.stores import stored
from planner.optimizer.work import WORK_OBJECTIVES, modes_of
from planner.schema.analysis import (
    PLANNED,
    CandidatePlan,
    Index,
    Percentiles,
    Uncertain,
    UncertainInput,
)
from planner.schema.plan import Plan, Status

OfferT = TypeVar("OfferT", System, Storage)
Figures = dict[str, float]
LEAST, MOST = 2, 1_000_000
GAP = 1e-6
MOST_CANDIDATES = 40
BROKEN = 1.0
"""Regret of a purchase that breaks a limit, and the largest regret."""
SAMPLES_ALONE = 1_000
"""Below this number of draws other processes cost more than they save."""
TOGETHER = 16
"""Scenarios evaluated in one task."""
EDGE = 1e-9
"""Least distance of points to 0 and 1, where some distributions have no end."""


class Draw(NamedTuple):
    """Number of scenarios, seed of all draws; ``indices`` takes further ones."""

    samples: int = 256
    seed: int = 1
    indices: bool = False


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
    drawn = drawn_values(unsure, points(len(unsure), draw.samples, draw.seed))
    design = np.empty((0, len(unsure)))
    if draw.indices:
        design = index_points(len(unsure), draw.samples, draw.seed)
    whole = draw.samples + len(design)
    scenarios = drawn_scenarios(unsure, drawn)
    found = ask(inputs, scenarios, options, lambda done, _: progress(done, whole))
    runs = candidates(case, planned, [a.operation for a in found if a.operation is not None])
    parts: dict[Hashable, Sequence[Answer]] = {
        n: found[n : n + TOGETHER] for n in range(0, len(found), TOGETHER)
    }
    evaluate = partial(_evaluated, inputs, runs)
    evaluated = all_results(evaluate, parts, jobs=options.jobs, dask=options.dask)
    seen = [each for n in parts for each in evaluated[n] if each.outcomes]
    known: dict[str, Any] = {}
    if draw.indices:
        more = drawn_scenarios(unsure, drawn_values(unsure, design))
        solved = ask(inputs, more, options, lambda done, _: progress(len(found) + done, whole))
        values = [math.nan if each.value is None else each.value for each in solved]
        made, note = indices(unsure, np.array(values), draw.seed)
        known = {"indices": made, "indices_note": note}
    if seen:
        known |= _compared(runs, seen, planned is not None, options.gap, case.maximise)
    return Uncertain(
        **head_of(inputs, options.gap),
        base=plan.objective.best,
        base_bound=plan.objective.bound,
        seed=draw.seed,
        samples=draw.samples,
        status=_status(found),
        statuses=dict(sorted(Counter(answer.status for answer in found).items())),
        inputs=tuple(_input(each, drawn[:, place]) for place, each in enumerate(unsure)),
        outcomes=percentiles(case, [each.outcomes for each in seen]),
        largest_gap=max((answer.gap for answer in found if answer.gap is not None), default=None),
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
    low, median, high = (float(f(drawn)) for f in (np.min, np.median, np.max))
    return UncertainInput(
        path=each.path,
        label=each.label,
        unit=each.unit,
        distribution=each.words,
        low=each.recorded(low),
        median=each.recorded(median),
        high=each.recorded(high),
    )


def _message(plan: Plan, found: Sequence[Answer]) -> str | None:
    """Note on scenarios without a plan."""
    texts = []
    if not plan.jobs:
        texts.append(f"The problem as it stands has no plan: {plan.message}.")
    without = sum(answer.status not in PLANNED for answer in found)
    if without:
        texts.append(f"{without:,} of {len(found):,} scenarios have no plan and are left out.")
    refused = [answer for answer in found if answer.status in ("invalid", "failed")]
    if refused:
        texts.append(f"{len(refused):,} were refused, the first because: {refused[0].reason}.")
    return " ".join(texts) or None


def run(
    request: Request, *, dist: Sequence[str], samples: int, seed: int, indices: bool
) -> Uncertain:
    """Draw the uncertain inputs of a problem.

    Args:
        dist: ``PATH=DISTRIBUTION`` of each input; without any those usually uncertain.
        seed: the same one draws the same.
        indices: whether to explain the spread by inputs, which takes further scenarios.

    Raises:
        InputError: the problem, a distribution or an option is wrong.
    """
    inputs, draw = request.inputs, Draw(samples, seed, indices)
    refuse_draw(draw)
    unknowns(inputs, dist)  # refuses what is wrong before anything is solved
    plan = solve_with(inputs, Options(time_limit_s=request.time_limit_s, explain=False))
    options = request.each()
    if not options.jobs and options.dask is None and samples < SAMPLES_ALONE:
        options = replace(options, jobs=1)
    return study(inputs, dist, options, draw, plan=plan, progress=request.progress)


# Drawing


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


def points(inputs: int, samples: int, seed: int) -> Numbers:
    """Latin hypercube: a point of the unit cube for each sample (row), a column for each input."""
    from scipy.stats import qmc

    made = qmc.LatinHypercube(inputs, rng=np.random.default_rng(seed)).random(samples)
    return np.asarray(np.clip(made, EDGE, 1.0 - EDGE))


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
        "write_gb_per_s": run.delivered_write_gb_per_s,
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


class Evaluated(NamedTuple):
    """A scenario: outcomes of its best plan, and values of the candidates.

    Both are empty where there is no plan; a value is nan where the candidate breaks a limit.
    """

    outcomes: Figures
    values: tuple[float, ...] = ()


def _evaluated(inputs: Inputs, runs: Sequence[Run], some: Sequence[Answer]) -> list[Evaluated]:
    found = []
    for answer in some:
        one = Evaluated({})
        if answer.operation is not None and answer.status in PLANNED:
            case = resolve(applied(inputs, answer.scenario.changes))
            values = tuple(values_of(case, runs).tolist())
            one = Evaluated(outcomes_of(case, answer.operation), values)
        found.append(one)
    return found


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


def _compared(
    runs: Sequence[Run], seen: Sequence[Evaluated], planned: bool, gap: float, maximise: bool
) -> dict[str, Any]:
    """Candidates by regret, and the minimax-regret one.

    Args:
        planned: whether the first is the plan of the problem itself, and stays first.
        gap: a plan is among the best where none is better by more than this share.
    """
    values = np.array([each.values for each in seen])
    answered = np.array([each.outcomes["objective"] for each in seen])
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
    regret = [(plan.most_regret, plan.mean_regret, n) for n, plan in enumerate(plans)]
    return {"candidates": tuple(plans), "least_regret": min(regret)[2]}


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
    from scipy.stats import qmc

    exponent = samples.bit_length() - 1
    both = qmc.Sobol(2 * inputs, rng=np.random.default_rng(seed)).random_base2(exponent)
    both = np.clip(both, EDGE, 1.0 - EDGE)
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
    of = f"{int(without.sum()):,} of {len(values):,} scenarios of their own have no plan"
    if without.mean() > MOST_WITHOUT:
        return (), f"No indices: {of}, more than {MOST_WITHOUT:.0%}. Narrow the distributions."
    if len(unsure) == 1:
        return (), "No indices: one input alone varies."
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
        return np.array([np.ravel(found.first_order), np.ravel(found.total_order)])

    draw = np.random.default_rng(seed)
    first, total = at(slice(None))
    again = np.array([at(draw.integers(n, size=n)) for _ in range(RESAMPLES)])
    first_room, total_room = 1.96 * again.std(axis=0, ddof=1)
    note = f"From {len(values):,} scenarios of their own (Saltelli's design)."
    if without.any():
        note += f" {of}; their objective counts as the mean."
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
