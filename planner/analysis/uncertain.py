"""Uncertain inputs drawn: the best plans, how often the planned purchase breaks limits, regret."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from planner.analysis.distributions import Numbers, Unknown, unknowns
from planner.analysis.pool import Progress, all_results, ignore
from planner.analysis.purchases import (
    Kept,
    candidates,
    figures_of,
    kept_purchase,
    operation_of,
    regrets,
    value_of,
    values_of,
)
from planner.analysis.request import Found, Request, SweepOptions, head_of
from planner.analysis.variants import Answer, Scenario, answers
from planner.case import Case, resolve
from planner.case.resolve import with_companions
from planner.errors import Finding, InputError
from planner.figures import FIGURES, OBJECTIVES
from planner.inputs import Inputs, applied
from planner.optimizer.bill import limited
from planner.optimizer.operate import Run
from planner.schema.analysis import (
    PLANNED,
    BreakRate,
    CandidatePlan,
    Index,
    Percentiles,
    Uncertain,
    UncertainInput,
)
from planner.schema.plan import Plan, Status

Method = Literal["lhs", "sobol"]
Figures = dict[str, float]
LEAST, MOST = 2, 1_000_000
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


# Each scenario judged


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
        wide = {each.field: ROOM * case.limits.given(each.field) for each in limited(case.limits)}
        roomy = replace(case, limits=case.limits.with_values(**wide))
        case = replace(case, companions=with_companions(there, roomy).companions)
        bought = kept_purchase(case, planned)
    run = None if bought is None else bought.run
    best: Figures = {}
    if answer.operation is not None and answer.status in PLANNED:
        best = outcomes_of(case, answer.operation)
    return Judged(
        best,
        bought,
        None if run is None else outcomes_of(case, run),
        tuple(values_of(case, runs).tolist()) if best else (),
    )


# Broken limits and candidates

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
