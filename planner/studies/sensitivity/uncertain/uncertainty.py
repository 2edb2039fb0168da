"""The uncertainty study: draw, solve, compare what was planned with what would have been best."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from planner.api import Inputs, Options, solve_with
from planner.case import Case, resolve
from planner.figures import OBJECTIVES
from planner.optimizer import operate
from planner.optimizer.operate import Operation
from planner.schema.plan import Plan, Status
from planner.schema.sensitivity import PLANNED, Uncertain, UncertainInput
from planner.studies.sensitivity.scenario import Scenario
from planner.studies.sensitivity.solve import Answer, SweepOptions, answers
from planner.studies.sensitivity.uncertain import indices as sobol
from planner.studies.sensitivity.uncertain import regret
from planner.studies.sensitivity.uncertain.breaks import break_rates
from planner.studies.sensitivity.uncertain.candidates import candidates
from planner.studies.sensitivity.uncertain.draw import Draw, unknowns
from planner.studies.sensitivity.uncertain.outcomes import percentiles
from planner.studies.sensitivity.uncertain.sample import points
from planner.studies.sensitivity.uncertain.scenes import Scene, scenarios, scenes, values
from planner.studies.sensitivity.uncertain.shapes import Numbers
from planner.studies.sensitivity.uncertain.unknown import Unknown

Told = Callable[[int], None]
Ask = Callable[[Inputs, Sequence[Scenario], SweepOptions, Told | None], Sequence[Answer]]
"""What answers scenarios."""


def study(
    inputs: Inputs,
    dists: Sequence[str],
    options: SweepOptions,
    draw: Draw | None = None,
    *,
    plan: Plan | None = None,
    told: Told | None = None,
    ask: Ask = answers,
) -> Uncertain:
    """Return what a problem's answer becomes where inputs are not known exactly.

    Regret is measured from the best plan known in each scenario, the candidates included: what no
    plan passes is better than that by no more than the gap.

    Args:
        inputs: the problem, catalogs and prices.
        dists: ``PATH=DISTRIBUTION`` of each input; none for what is usually not known.
        options: how exactly to solve each scenario.
        draw: how scenarios are drawn.
        plan: the best plan of the problem as it stands, where it is known.
        told: hears how many scenarios are solved.
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
    found = ask(inputs, scenarios(unsure, drawn), options, told)
    planned = _operation(case, plan)
    runs = candidates(case, planned, found)
    seen = list(scenes(inputs, found, planned, runs))
    after = None if told is None else lambda done: told(len(found) + done)
    known = _indices(inputs, unsure, options, draw, ask, after) if draw.indices else {}
    return Uncertain(
        **_head(inputs, case, plan, options, draw),
        status=_status(found),
        statuses=dict(sorted(Counter(answer.status for answer in found).items())),
        inputs=tuple(_input(each, drawn[:, place]) for place, each in enumerate(unsure)),
        outcomes=percentiles(case, [each.best for each in seen if each.best]),
        nominal_outcomes=percentiles(
            case, [each.bought_figures for each in seen if each.bought_figures]
        ),
        breaks=break_rates(plan, [each.bought for each in seen if each.bought is not None]),
        largest_gap=max((answer.gap for answer in found if answer.gap is not None), default=None),
        **_compared(case, options, seen, runs, planned is not None),
        **known,
        message=_message(plan, found),
    )


def _operation(case: Case, plan: Plan) -> Operation | None:
    """Return how a plan is run; None where there is none."""
    if not plan.jobs:
        return None
    job = plan.jobs[0]
    bought = {line.sku: line.working for line in plan.lines if line.parent is None}
    units = {offer.id: bought.get(offer.id, 0) for offer in case.offers()}
    return operate.run_at(case, job.mode, units, job.systems_by_type, job.gpus_used, job.interval_s)


def _head(
    inputs: Inputs, case: Case, plan: Plan, options: SweepOptions, draw: Draw
) -> dict[str, object]:
    return {
        "problem": inputs.problem.name,
        "problem_file": inputs.problem_file,
        "scenario": inputs.scenario,
        "overrides": inputs.overrides,
        "objective": case.objective,
        "sense": "maximize" if case.maximise else "minimize",
        "unit": OBJECTIVES[case.objective].unit,
        "gap_asked": options.gap,
        "base": plan.objective.value,
        "base_bound": plan.objective.bound,
        "method": draw.method,
        "seed": draw.seed,
        "samples": draw.samples,
    }


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
        low=each.shown(float(drawn.min())),
        median=each.shown(float(np.median(drawn))),
        high=each.shown(float(drawn.max())),
    )


def _compared(
    case: Case, options: SweepOptions, seen: Sequence[Scene], runs: Sequence[Operation],
    planned: bool,
) -> dict[str, object]:  # fmt: skip
    """Return the candidates, the one of least regret and the one of the best worst case."""
    there = [each for each in seen if each.worths]
    if not there:
        return {"candidates": ()}
    worths = np.array([each.worths for each in there])
    answered = np.array([each.best["objective"] for each in there])
    best = regret.best_known(answered, worths, maximise=case.maximise)
    matrix = regret.regrets(worths, best, maximise=case.maximise)
    order = regret.order(matrix, first=planned)
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
    told: Told | None,
) -> dict[str, object]:  # fmt: skip
    """Return the indices, from scenarios of their own."""
    drawn = values(unsure, sobol.design(unsure, draw.samples, draw.seed))
    found = ask(inputs, scenarios(unsure, drawn), options, told)
    there = [each.value if each.status in PLANNED else None for each in found]
    worths = np.array([math.nan if value is None else value for value in there])
    made, note = sobol.indices(unsure, worths, draw.seed)
    return {"indices": made, "indices_note": note}


def _message(plan: Plan, found: Sequence[Answer]) -> str | None:
    """Return what must be said about scenarios that have no plan."""
    said = []
    if not plan.jobs:
        said.append(f"The problem as it stands has no plan: {plan.message}.")
    without = sum(answer.status not in PLANNED for answer in found)
    if without == len(found):
        said.append("No scenario has a plan.")
    elif without:
        said.append(
            f"{without:,} of {len(found):,} scenarios have no plan; outcomes of the best plans and "
            "regret leave them out."
        )
    refused = [answer for answer in found if answer.status in ("invalid", "failed")]
    if refused:
        said.append(f"{len(refused):,} could not be asked, the first because: {refused[0].reason}.")
    return " ".join(said) or None
