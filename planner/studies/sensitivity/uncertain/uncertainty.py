"""The uncertainty study: draw, solve, compare what was planned with what would have been best."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from planner.api import Inputs, Options, solve_with
from planner.case import Case, resolve
from planner.case.resolve import with_companions
from planner.errors import InputError
from planner.figures import FIGURES, OBJECTIVES, Figure
from planner.inputs import Change
from planner.loader.vary.apply import applied
from planner.optimizer import purchase
from planner.optimizer.operate import Run
from planner.optimizer.purchase import given
from planner.processes import Progress, ignore
from planner.schema.plan import Plan, Status
from planner.schema.sensitivity import PLANNED, Index, Percentiles, Uncertain, UncertainInput
from planner.studies.reassembly import operation_of
from planner.studies.request import Found, Request, SweepOptions, head_of
from planner.studies.sensitivity.scenarios import Scenario
from planner.studies.sensitivity.solve import Answer
from planner.studies.sensitivity.uncertain import purchases as regret
from planner.studies.sensitivity.uncertain.distributions import Numbers, Unknown
from planner.studies.sensitivity.uncertain.draw import (
    EDGE,
    Draw,
    Method,
    points,
    power_of_two,
    unknowns,
)
from planner.studies.sensitivity.uncertain.purchases import (
    Tried,
    break_rates,
    candidates,
    try_purchase,
    worth,
)
from planner.studies.sensitivity.workers import answers

Figures = Mapping[str, float]
"""Figures of a plan by name; those that are not known are left out."""

QUANTILES = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}


@dataclass(frozen=True)
class Outcome:
    """A figure reported of scenarios: its name in the record, its label, how it is computed."""

    name: str
    figure: Figure
    of: Callable[[Case, Run], float | None]


def _useful_pflops(case: Case, run: Run) -> float | None:
    known = case.job.mfu is not None and run.tflops_per_gpu > 0
    return run.useful_pflops(case.job.mfu or 0.0) if known else None


def _days_to_train(case: Case, run: Run) -> float | None:
    pflops = _useful_pflops(case, run)
    if not pflops or case.job.tokens is None or case.job.active_parameters is None:
        return None
    return case.days_at_one_pflops() / pflops


def _tco_usd(case: Case, run: Run) -> float | None:
    return purchase.bill(case, run.units, run.ways)["tco_usd"] if case.rates.years else None


OUTCOMES = (
    Outcome("useful_gpus", FIGURES["useful_gpus"], lambda case, run: run.useful_gpus),
    Outcome("useful_pflops", FIGURES["useful_pflops"], _useful_pflops),
    Outcome("goodput", FIGURES["goodput"], lambda case, run: run.goodput),
    Outcome("capex_usd", FIGURES["capex_usd"],
            lambda case, run: purchase.bill(case, run.units, run.ways)["capex_usd"]),
    Outcome("tco_usd", FIGURES["tco_usd"], _tco_usd),
    Outcome("facility_power_kw", FIGURES["facility_power_kw"],
            lambda case, run: purchase.bill(case, run.units, run.ways)["facility_power_kw"]),
    Outcome("gpus_in_use", FIGURES["gpus_used"], lambda case, run: float(run.gpus)),
    Outcome("write_gb_per_s", FIGURES["delivered_write_gb_per_s"],
            lambda case, run: run.write_gb_per_s),
    Outcome("interval_s", FIGURES["interval_s"], lambda case, run: run.interval_s),
    Outcome("days_to_train", FIGURES["days_to_train"], _days_to_train),
)  # fmt: skip
"""What is followed beside the objective."""


def figures(case: Case, run: Run) -> Figures:
    """Return what an operation gives under a case, the objective included."""
    found = {"objective": worth(case, run)}
    for outcome in OUTCOMES:
        value = outcome.of(case, run)
        if value is not None:
            found[outcome.name] = value
    return found


def percentiles(case: Case, runs: Sequence[Figures]) -> tuple[Percentiles, ...]:
    """Return how each figure is spread over scenarios; that of the objective is told once.

    Args:
        case: the problem as it stands, for what its objective is.
        runs: the figures of each scenario that has them.
    """
    name = case.objective
    first = Outcome("objective", OBJECTIVES[name].figure, worth)
    rest = (outcome for outcome in OUTCOMES if outcome.figure != first.figure)
    return tuple(
        _spread(outcome, [run[outcome.name] for run in runs if outcome.name in run])
        for outcome in (first, *rest)
        if any(outcome.name in run for run in runs)
    )


def _spread(outcome: Outcome, values: Sequence[float]) -> Percentiles:
    several = np.asarray(values, dtype=float)
    at = np.quantile(several, list(QUANTILES.values()))
    return Percentiles(
        name=outcome.name,
        label=outcome.figure.label,
        unit=outcome.figure.unit,
        count=len(several),
        mean=float(several.mean()),
        least=float(several.min()),
        most=float(several.max()),
        **dict(zip(QUANTILES, at.tolist(), strict=True)),
    )


MOST_WITHOUT = 0.05
"""The largest share of scenarios without a plan with which indices still mean something."""
STILL = 1e-9
"""A relative spread of the objective below which there is nothing to explain."""


def design(unknowns: tuple[Unknown, ...], samples: int, seed: int) -> Numbers:
    """Return N (D + 2) points of the unit cube, N the largest power of two in ``samples``."""
    from SALib.sample import sobol

    made: Numbers = sobol.sample(
        _described(unknowns), power_of_two(samples), calc_second_order=False, seed=seed
    )
    return np.clip(made, EDGE, 1.0 - EDGE)


def indices(
    unknowns: tuple[Unknown, ...], worths: Numbers, seed: int
) -> tuple[tuple[Index, ...], str]:
    """Return the indices of each input, and what there is to say about them.

    Args:
        worths: the objective at each point of the design; nan where there is no plan.
        seed: of the resampling that the confidence comes from.
    """
    from SALib.analyze import sobol

    without = np.isnan(worths)
    count, share = int(without.sum()), float(without.mean())
    of = f"{count:,} of the {len(worths):,} scenarios drawn for the indices"
    if share > MOST_WITHOUT:
        return (), (
            f"No indices: {of} have no plan, more than {MOST_WITHOUT:.0%}, and an objective that "
            "is missing so often cannot be explained. Narrow the distributions."
        )
    mean = float(worths[~without].mean())
    filled = np.where(without, mean, worths)
    if filled.std() <= STILL * max(abs(mean), STILL):
        return (), "No indices: the objective is the same in every scenario."
    found = sobol.analyze(
        _described(unknowns), filled, calc_second_order=False, conf_level=0.95, seed=seed + 1
    )
    note = f"From {len(worths):,} scenarios of their own (Saltelli's design)."
    if count:
        note += f" {of[0].upper()}{of[1:]} have no plan; their objective counts as the mean."
    return tuple(
        Index(
            path=unknown.path,
            label=unknown.label,
            first=float(found["S1"][place]),
            first_confidence=float(found["S1_conf"][place]),
            total=float(found["ST"][place]),
            total_confidence=float(found["ST_conf"][place]),
        )
        for place, unknown in enumerate(unknowns)
    ), note


def _described(unknowns: tuple[Unknown, ...]) -> dict[str, object]:
    """Return the inputs as SALib takes them: shares, since distributions are applied here."""
    names = [unknown.path for unknown in unknowns]
    return {"num_vars": len(names), "names": names, "bounds": [[0.0, 1.0]] * len(names)}


ROOM = 4
"""Fabrics are worked out for so many times the limits: for purchases made under other ones."""
_REFUSED = frozenset({"invalid", "failed"})


@dataclass(frozen=True)
class View:
    """What is seen in a scenario by itself.

    ``best`` are the figures of its best plan, empty where there is none. ``bought`` is what becomes
    of the planned purchase, None where none was planned or the scenario's input was refused.
    """

    best: Figures
    bought: Tried | None
    bought_figures: Figures


@dataclass(frozen=True)
class Scene:
    """What a scenario brings: ``worths`` is what each candidate is worth in it (nan where it
    breaks a limit), empty where there is no plan."""

    answer: Answer
    seen: View
    worths: tuple[float, ...]


def scenarios(unknowns: Sequence[Unknown], values: Numbers) -> list[Scenario]:
    """Return a scenario for each row of values, a column for each input."""
    return [_scenario(unknowns, index, row) for index, row in enumerate(values.tolist())]


def _scenario(unknowns: Sequence[Unknown], index: int, row: Sequence[float]) -> Scenario:
    changes: list[Change] = []
    refused = []
    for unknown, number in zip(unknowns, row, strict=True):
        made, fault = unknown.draw(number)
        changes += made
        refused += [fault] if fault else []
    return Scenario(index, tuple(changes), refused="; ".join(refused))


def values(unknowns: Sequence[Unknown], points: Numbers) -> Numbers:
    """Return points of the unit cube as values of the inputs."""
    columns = [unknown.shape.at(points[:, place]) for place, unknown in enumerate(unknowns)]
    return np.column_stack(columns)


def scenes(
    inputs: Inputs,
    answers: Sequence[Answer],
    planned: Run | None,
    candidates: Sequence[Run],
) -> Iterator[Scene]:
    """Yield the results of each scenario.

    Args:
        planned: the plan of the problem as it stands, None where it has none.
    """
    for answer in answers:
        case = None if answer.status in _REFUSED else answer.case() or _case(inputs, answer)
        if case is None:
            yield Scene(answer, View({}, None, {}), ())
            continue
        seen = answer.seen if isinstance(answer.seen, View) else view(planned, case, answer)
        if seen.bought is not None and "fabric" in seen.bought.broken and answer.numbers:
            case = _case(inputs, answer) or case  # what was bought has passed a limit by far
            seen = view(planned, case, answer)
        worths = regret.worths(case, candidates).tolist() if seen.best else ()
        yield Scene(answer, seen, tuple(worths))


def view(planned: Run | None, case: Case, answer: Answer) -> View:
    """Return the results of a scenario: its best plan, and how the planned purchase does in it."""
    bought = None if planned is None else try_purchase(case, planned)
    run = None if bought is None else bought.run
    there = answer.operation is not None and answer.status in PLANNED
    best = figures(case, answer.operation) if there and answer.operation is not None else {}
    return View(best, bought, {} if run is None else figures(case, run))


def _case(inputs: Inputs, answer: Answer) -> Case | None:
    """Return a scenario in numbers, with room for any purchase; None where its input is refused."""
    try:
        there = applied(inputs, answer.scenario.changes)
        case = resolve(there)
        return replace(case, companions=with_companions(there, _with_room(case)).companions)
    except InputError:
        return None


def _with_room(case: Case) -> Case:
    """Return a case with limits loose enough for the fabrics of a purchase for another case."""
    supplies = given(case.limits)
    wide = {each.field: ROOM * case.limits.given(each.field) for each in supplies}
    return replace(case, limits=case.limits.with_values(**wide))


Ask = Callable[[Inputs, Sequence[Scenario], SweepOptions, Progress], Sequence[Answer]]
"""What answers scenarios."""


def study(
    inputs: Inputs,
    dists: Sequence[str],
    options: SweepOptions,
    draw: Draw | None = None,
    *,
    plan: Plan | None = None,
    progress: Progress = ignore,
    ask: Ask = answers,
) -> Uncertain:
    """Return what a problem's answer becomes where inputs are not known exactly.

    Regret is measured from the best plan known in each scenario, the candidates included: what no
    plan passes is better than that by no more than the gap.

    Args:
        dists: ``PATH=DISTRIBUTION`` of each input; none for what is usually not known.
        options: how exactly to solve each scenario.
        plan: the best plan of the problem as it stands, where it is known.
        progress: is called with how many scenarios of how many are solved.
        ask: what answers scenarios.

    Raises:
        InputError: a distribution or the way to draw cannot be.
        VerificationError: the plan does not agree with its independent re-computation.
    """
    draw = draw or Draw()
    unsure = unknowns(inputs, dists, draw)
    case = resolve(inputs)
    if plan is None:
        plan = solve_with(inputs, Options(time_limit_s=options.time_limit_s, explain=False))
    drawn = values(unsure, points(draw.method, len(unsure), draw.samples, draw.seed))
    planned = operation_of(case, plan)
    looking = replace(options, look=partial(view, planned))
    whole = draw.scenarios(len(unsure))
    found = ask(inputs, scenarios(unsure, drawn), looking, lambda done, _: progress(done, whole))
    runs = candidates(case, planned, found)
    seen = list(scenes(inputs, found, planned, runs))
    known = {}
    if draw.indices:
        known = _indices(
            inputs, unsure, options, draw, ask, lambda done, _: progress(len(found) + done, whole)
        )
    return Uncertain(
        **head_of(inputs, options.gap),
        base=plan.objective.value,
        base_bound=plan.objective.bound,
        method=draw.method,
        seed=draw.seed,
        samples=draw.samples,
        status=_status(found),
        statuses=dict(sorted(Counter(answer.status for answer in found).items())),
        inputs=tuple(_input(each, drawn[:, place]) for place, each in enumerate(unsure)),
        outcomes=percentiles(case, [each.seen.best for each in seen if each.seen.best]),
        nominal_outcomes=percentiles(
            case, [each.seen.bought_figures for each in seen if each.seen.bought_figures]
        ),
        breaks=break_rates(
            plan, [each.seen.bought for each in seen if each.seen.bought is not None]
        ),
        largest_gap=max((answer.gap for answer in found if answer.gap is not None), default=None),
        **_compared(case, options, seen, runs, planned is not None),
        **known,
        message=_message(plan, found),
    )


def _status(found: Sequence[Answer]) -> Status:
    """Return how the study ended: where there are plans, whether all that was asked is proven."""
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


def _compared(
    case: Case, options: SweepOptions, seen: Sequence[Scene], runs: Sequence[Run],
    planned: bool,
) -> dict[str, object]:  # fmt: skip
    """Return the candidates, the one of least regret and the one of the best worst case."""
    there = [each for each in seen if each.worths]
    if not there:
        return {"candidates": ()}
    worths = np.array([each.worths for each in there])
    answered = np.array([each.seen.best["objective"] for each in there])
    best = regret.best_known(answered, worths, maximise=case.maximise)
    matrix = regret.regrets(worths, best, maximise=case.maximise)
    order = regret.order_by_regret(matrix, first=planned)
    runs, worths, matrix = [runs[place] for place in order], worths[:, order], matrix[:, order]
    plans = regret.compared(
        runs, worths, matrix, planned=planned, gap=options.gap, maximise=case.maximise
    )
    return {
        "candidates": plans,
        "least_regret": regret.least_regret(plans),
        "best_worst_case": regret.best_worst_case(plans, maximise=case.maximise),
    }


def _indices(
    inputs: Inputs, unsure: tuple[Unknown, ...], options: SweepOptions, draw: Draw, ask: Ask,
    progress: Progress,
) -> dict[str, object]:  # fmt: skip
    """Return the indices, from scenarios of their own."""
    drawn = values(unsure, design(unsure, draw.samples, draw.seed))
    found = ask(inputs, scenarios(unsure, drawn), options, progress)
    there = [each.value if each.status in PLANNED else None for each in found]
    worths = np.array([math.nan if value is None else value for value in there])
    made, note = indices(unsure, worths, draw.seed)
    return {"indices": made, "indices_note": note}


def _message(plan: Plan, found: Sequence[Answer]) -> str | None:
    """Return what must be said about scenarios that have no plan."""
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
    """Tell what becomes of a problem's plan where inputs are not known exactly.

    Args:
        dist: ``PATH=DISTRIBUTION`` of each input; none for what is usually not known.
        method: how they are drawn.
        seed: the same one draws the same.
        indices: whether to explain the spread by inputs, which takes more scenarios.

    Raises:
        InputError: the problem, a distribution or an option is wrong.
    """
    inputs, draw = request.inputs, Draw(method, samples, seed, indices)
    unknowns(inputs, dist, draw)  # refuses what is wrong before anything is solved
    plan = request.plan()
    found = study(
        inputs,
        dist,
        request.each(),
        draw,
        plan=plan,
        progress=request.progress,
    )
    ended = "failed" if found.statuses.get("failed") else found.status
    return Found((found,), (ended,), plan=lambda: plan)
