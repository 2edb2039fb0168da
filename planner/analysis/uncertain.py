"""Uncertain inputs drawn: the best plans, their outcomes, and the regret of purchases."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from planner.analysis.distributions import Unknown, unknowns
from planner.analysis.request import Request, SweepOptions, head_of
from planner.analysis.variants import Answer, Numbers, Scenario, answers, operation_of, value_of
from planner.api import Options, solve_with
from planner.case import Case, resolve
from planner.figures import FIGURES, OBJECTIVES
from planner.inputs import Inputs, applied
from planner.optimizer import bill as bills
from planner.optimizer.operate import Run
from planner.optimizer.optimise import Question
from planner.optimizer.search import Effort
from planner.schema.analysis import (
    PLANNED,
    CandidatePlan,
    Index,
    Percentiles,
    Uncertain,
    UncertainInput,
)
from planner.schema.plan import Plan, Status
from planner.terminal import Progress, ignore

Figures = dict[str, float]
GAP = 1e-6
MOST_CANDIDATES = 16
BROKEN = 1.0
"""Regret of a purchase that breaks a limit, and the largest regret."""
SAMPLES_ALONE = 1_000
"""Below this number of draws other processes cost more than they save."""
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
        InputError: a distribution cannot be.
    """
    unsure, case = unknowns(inputs, dists), resolve(inputs)
    planned = operation_of(case, plan)
    drawn = drawn_values(unsure, points(len(unsure), draw.samples, draw.seed))
    design = np.empty((0, len(unsure)))
    if draw.indices:
        design = index_points(len(unsure), draw.samples, draw.seed)
    whole = draw.samples + len(design)
    scenarios = drawn_scenarios(unsure, drawn)
    found = ask(inputs, scenarios, options, lambda done, _: progress(done, whole))
    runs = candidates(planned, [a.operation for a in found if a.operation is not None])
    seen = []
    for answer in found:
        if answer.operation is not None and answer.status in PLANNED:
            there = resolve(applied(inputs, answer.scenario.changes))
            outcomes = outcomes_of(there, answer.operation)
            seen.append(Evaluated(outcomes, tuple(values_of(there, runs))))
    known: dict[str, Any] = {}
    if draw.indices:
        more = drawn_scenarios(unsure, drawn_values(unsure, design))
        solved = ask(inputs, more, options, lambda done, _: progress(len(found) + done, whole))
        values = [math.nan if each.value is None else each.value for each in solved]
        made, note = indices(unsure, np.array(values))
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


def run(
    request: Request, *, dist: Sequence[str], samples: int, seed: int, indices: bool
) -> Uncertain:
    """Study of a problem file; see ``study`` and ``Draw``.

    Raises:
        InputError: the problem, a distribution or an option is wrong.
    """
    inputs, options = request.inputs, request.each()
    if not options.jobs and options.dask is None and samples < SAMPLES_ALONE:
        options = replace(options, jobs=1)
    unknowns(inputs, dist)  # refused before anything is solved
    plan = solve_with(inputs, Options(time_limit_s=request.time_limit_s, explain=False))
    draw = Draw(samples, seed, indices)
    return study(inputs, dist, options, draw, plan=plan, progress=request.progress)


def _status(found: Sequence[Answer]) -> Status:
    ended = {answer.status for answer in found}
    if ended & set(PLANNED):
        return "optimal" if ended <= {"optimal", "infeasible", "invalid"} else "feasible"
    if "unbounded" in ended:
        return "unbounded"
    return "infeasible" if ended == {"infeasible"} else "no_solution"


def _input(each: Unknown, drawn: Numbers) -> UncertainInput:
    whole = each.field.slot.whole and not each.field.several
    ends = (float(f(drawn)) for f in (np.min, np.median, np.max))
    low, median, high = (float(round(end)) if whole else end for end in ends)
    return UncertainInput(
        path=each.field.path,
        label=each.label,
        unit=each.field.unit,
        distribution=each.words,
        low=low,
        median=median,
        high=high,
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


# Scenarios


def points(inputs: int, samples: int, seed: int) -> Numbers:
    """Latin hypercube: a point of the unit cube for each sample (row), a column for each input."""
    from scipy.stats import qmc

    made = qmc.LatinHypercube(inputs, rng=np.random.default_rng(seed)).random(samples)
    return np.asarray(np.clip(made, EDGE, 1.0 - EDGE))


def drawn_values(unsure: Sequence[Unknown], shares: Numbers) -> Numbers:
    """Values of the inputs at points of the unit cube."""
    return np.column_stack([u.distribution.ppf(shares[:, at]) for at, u in enumerate(unsure)])


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
    job, bill = case.job, bills.bill(case, run.units, run.ways)
    known = job.mfu is not None and run.tflops_per_gpu > 0
    pflops = run.useful_pflops(job.mfu or 0.0) if known else None
    trains = pflops and job.tokens is not None and job.active_parameters is not None
    found = {
        "objective": value_of(case, run),
        "useful_gpus": run.useful_gpus,
        "useful_pflops": pflops,
        "goodput": run.goodput,
        "capex_usd": bill["capex_usd"],
        "tco_usd": bill["tco_usd"] if case.rates.years else None,
        "facility_power_kw": bill["facility_power_kw"],
        "gpus_in_use": float(run.gpus),
        "write_gb_per_s": run.delivered_write_gb_per_s,
        "interval_s": run.interval_s,
        "days_to_train": case.days_at_one_pflops() / pflops if pflops and trains else None,
    }
    return {name: value for name, value in found.items() if value is not None}


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
    """A scenario with a plan: outcomes of its best, and values of the candidates.

    A value is nan where the candidate breaks a limit.
    """

    outcomes: Figures
    values: tuple[float, ...]


def values_of(case: Case, runs: Sequence[Run]) -> list[float]:
    """Values of purchases under a case, each run at its best; nan where one breaks a limit."""
    ask, offered = Question(case, GAP, Effort(), ties=False), {offer.id for offer in case.offers()}
    found = []
    for run in runs:
        gone = any(count and name not in offered for name, count in run.units.items())
        modes = () if gone else tuple(replace(run, mode=space.mode) for space in ask.spaces)
        values = [value_of(case, ask.run_of(point)) for point in ask.points(modes)]
        pick = max if case.maximise else min
        found.append(pick(values, default=math.nan))
    return found


def candidates(planned: Run | None, runs: Sequence[Run]) -> list[Run]:
    """Different purchases, at most ``MOST_CANDIDATES``: the planned one, then others spread evenly
    by the GPUs in use.

    Args:
        planned: the plan of the problem itself, None where it has none.
        runs: the best plans of scenarios.
    """

    def key_of(run: Run) -> tuple[tuple[str, int], ...]:
        return tuple(sorted((name, count) for name, count in run.units.items() if count))

    first = [] if planned is None else [planned]
    others = {key_of(run): run for run in sorted(runs, key=lambda run: run.gpus)}
    others = {key: run for key, run in others.items() if key not in map(key_of, first)}
    room = min(MOST_CANDIDATES - len(first), len(others))
    spread = np.linspace(0, len(others) - 1, room).round().astype(int).tolist()
    return [*first, *(list(others.values())[place] for place in spread)]


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
    order = sorted(range(len(runs)), key=lambda n: (not planned or n > 0, worst[n], mean[n], n))
    plans = []
    for place, n in enumerate(order):
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


def index_points(inputs: int, samples: int, seed: int) -> Numbers:
    """Saltelli's design: A, B, then A with each column of B, n points each.

    n is the largest power of two in ``samples``.
    """
    from scipy.stats import qmc

    both = qmc.Sobol(2 * inputs, rng=np.random.default_rng(seed))
    points = np.clip(both.random_base2(samples.bit_length() - 1), EDGE, 1.0 - EDGE)
    a, b = points[:, :inputs], points[:, inputs:]
    mixed = [np.where(np.arange(inputs) == place, b, a) for place in range(inputs)]
    return np.vstack([a, b, *mixed])


def indices(unsure: Sequence[Unknown], values: Numbers) -> tuple[tuple[Index, ...], str]:
    """Sobol indices of each input (`scipy.stats.sobol_indices`), and a note.

    Args:
        values: the objective at each point of ``index_points``; nan where there is no plan.
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
    a, b, *mixed = filled.reshape(len(unsure) + 2, 1, n)
    found = sobol_indices(func={"f_A": a, "f_B": b, "f_AB": np.array(mixed)}, n=n)
    note = f"From {len(values):,} scenarios of their own (Saltelli's design)."
    if without.any():
        note += f" {of}; their objective counts as the mean."
    orders = zip(unsure, np.ravel(found.first_order), np.ravel(found.total_order), strict=True)
    return tuple(
        Index(path=each.field.path, label=each.label, first=float(first), total=float(total))
        for each, first, total in orders
    ), note
