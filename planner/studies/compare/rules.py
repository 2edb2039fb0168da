"""The argument as a table: the same problem by the demand law, by each rule, by other storage."""

from __future__ import annotations

from dataclasses import dataclass

from planner.api import Options, solve_with
from planner.errors import InputError
from planner.inputs import Inputs
from planner.loader.checks import check_problem
from planner.outputs.comparison_words import listed
from planner.schema.comparison import Measure, RuleRow, RulesTable
from planner.schema.plan import Plan
from planner.schema.problem import Problem
from planner.studies.compare.argument import argument
from planner.studies.compare.asks import Ask, asks
from planner.studies.compare.outcome import measure_of, measured, outcome


@dataclass(frozen=True)
class _Answer:
    """A row's plan, or why there is none."""

    ask: Ask
    own: bool
    plan: Plan | None
    reason: str | None


def rules_table(inputs: Inputs, base: Plan, options: Options) -> RulesTable:
    """Return the table of a problem; each row is a plan solved and verified on its own.

    Args:
        inputs: the problem.
        base: the problem's own plan.
        options: how to solve each row.
    """
    solved = [(inputs.problem, base)]
    asked = tuple(asks(inputs))
    answers = [
        _answer(ask, inputs, solved, options.turn(len(asked) - place))
        for place, ask in enumerate(asked)
    ]
    plans = [answer.plan for answer in answers if answer.plan is not None]
    flops = any(plan.jobs and plan.jobs[0].useful_pflops is not None for plan in plans)
    measure = measure_of(base.objective, flops=flops)
    demand = answers[0].plan
    reference = measured(demand, measure) if demand is not None else None
    rows = tuple(_row(answer, measure, reference) for answer in answers)
    return RulesTable(
        problem=base.problem,
        problem_file=base.provenance.problem_file,
        scenario=base.provenance.scenario,
        overrides=base.provenance.overrides,
        objective=base.objective.name,
        measure=measure,
        rows=rows,
        argument=argument(rows, measure, inputs.problem.job.checkpoint.max_overlap),
    )


def _answer(
    ask: Ask, inputs: Inputs, solved: list[tuple[Problem, Plan]], options: Options
) -> _Answer:
    """Return the plan of a row; problems that are the same are solved once.

    Args:
        ask: the row.
        inputs: the problem.
        solved: problems with their plans; a new one is added.
        options: how to solve.
    """
    if ask.reason is not None:
        return _Answer(ask, False, None, ask.reason)
    new = ask.applied(inputs)
    own = new.problem == inputs.problem
    known = next((plan for problem, plan in solved if problem == new.problem), None)
    if known is not None:
        return _Answer(ask, own, known, _why_not(ask, known))
    try:
        _check(new)
        plan = solve_with(new, options)
    except InputError as error:
        return _Answer(ask, own, None, "; ".join(found.message for found in error.findings))
    solved.append((new.problem, plan))
    return _Answer(ask, own, plan, _why_not(ask, plan))


def _check(inputs: Inputs) -> None:
    """Raise where a change does not go with the rest, as reading it from a file would."""
    errors = [finding for finding in check_problem(inputs) if finding.severity == "error"]
    if errors:
        raise InputError(errors)


def _why_not(ask: Ask, plan: Plan) -> str | None:
    """Return why there is no plan in a few words; solving tells more of it.

    What the row itself changes is left out: that it stands in the way is what the row shows.
    """
    if plan.jobs or plan.message is None:
        return None
    conflicts = plan.infeasibility.conflicts if plan.infeasibility is not None else ()
    own = {change.path for change in ask.changes}
    limits = conflicts[0].limits if conflicts else ()
    names = [limit.label for limit in limits if limit.path not in own]
    if names:
        return f"{listed(names)} {'does' if len(names) == 1 else 'do'} not allow it"
    return plan.message.split(";")[0].split(":")[0]


def _row(answer: _Answer, measure: Measure, reference: float | None) -> RuleRow:
    ask, plan = answer.ask, answer.plan
    return RuleRow(
        group=ask.group,
        name=ask.name,
        label=ask.label,
        asks=ask.asks,
        own=answer.own,
        settings=ask.settings,
        status=plan.status if plan is not None else None,
        reason=answer.reason,
        outcome=outcome(plan, measure, reference) if plan is not None else None,
    )
