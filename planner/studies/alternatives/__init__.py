"""Plans nearly as good as the best that differ from it as much as possible."""

from __future__ import annotations

from planner.api import Options, solve_with
from planner.assemble import assemble
from planner.case import Case, resolve
from planner.inputs import Inputs
from planner.optimizer.joint import Certificate, optimise, share
from planner.optimizer.measure import measure
from planner.optimizer.objective import natural
from planner.optimizer.operate import Operation
from planner.schema.alternatives import Alternative, Alternatives, Way
from planner.schema.plan import Plan
from planner.studies.alternatives.pick import Candidate, merged, most_different
from planner.studies.alternatives.search import Search
from planner.verify import verify

__all__ = ["alternatives"]

FOR_THE_PLAN = 0.5
"""The share of a time limit that finding the best plan may take; the rest is for the others."""
UNPROVEN = "the time limit was reached before anything was proven about how good a plan can be"


def alternatives(
    inputs: Inputs, options: Options, *, within: float = 0.01, most: int = 8
) -> Alternatives:
    """Return the best plan and plans nearly as good that differ from it.

    Each is a plan of the same problem, verified like any other, and certified: it lies no further
    than ``within`` behind what no plan passes. Looked for are the best plans with other storage
    vendors and GPU types, the extremes in money, power and counts; of those found, the ones that
    differ most are returned.

    Args:
        inputs: the problem, catalogs and prices.
        options: how to solve.
        within: how far behind the best a plan may be, as a share of the objective.
        most: how many plans to return, the best one included.

    Raises:
        VerificationError: a plan does not agree with its independent re-computation.
    """
    options = options.started()
    case = resolve(inputs)
    effort = options.part(FOR_THE_PLAN).effort
    answer = optimise(case, solver=options.solver, gap=options.gap, effort=effort)
    if answer.operation is None:
        return _without_plan(inputs, case, within, solve_with(inputs, options))
    best = assemble(inputs, case, answer, solver=options.solver, gap=options.gap)
    verify(inputs, best)
    base = _head(inputs, case, within, best)
    if answer.bound is None:
        return base.model_copy(update={"message": UNPROVEN})
    search = Search(inputs, options, natural(case.objective, answer.bound), within)
    search.candidates.append(Candidate(answer.operation, [Way(name="best", label="the best plan")]))
    search.run(answer.operation)
    different = merged(search.candidates)
    shown = most_different(case, different, most)
    rest = [_alternative(search, answer, candidate, options) for candidate in shown[1:]]
    first = Alternative(
        ways=tuple(shown[0].ways),
        plan=best,
        value=search.value(answer.operation),
        shortfall=search.shortfall(search.value(answer.operation)),
        distance=0.0,
    )
    return base.model_copy(
        update={
            "bound": search.bound,
            "worst": search.worst,
            "alternatives": (first, *rest),
            "directions": tuple(search.directions),
            "found": len(different),
        }
    )


def _head(inputs: Inputs, case: Case, within: float, plan: Plan) -> Alternatives:
    """Return the answer without plans."""
    return Alternatives(
        problem=plan.problem,
        problem_file=inputs.problem_file,
        scenario=inputs.scenario,
        overrides=inputs.overrides,
        status=plan.status,
        objective=case.objective,
        sense="maximize" if case.maximise else "minimize",
        unit=plan.objective.unit,
        within=within,
    )


def _without_plan(inputs: Inputs, case: Case, within: float, plan: Plan) -> Alternatives:
    return _head(inputs, case, within, plan).model_copy(update={"message": plan.message})


def _alternative(
    search: Search, best: Certificate, candidate: Candidate, options: Options
) -> Alternative:
    """Return a candidate as a complete plan under the bound of the best, verified."""
    plan = _plan(search, best, candidate.operation, options)
    value = search.value(candidate.operation)
    return Alternative(
        ways=tuple(candidate.ways),
        plan=plan,
        value=value,
        shortfall=search.shortfall(value),
        distance=candidate.distance,
    )


def _plan(search: Search, best: Certificate, operation: Operation, options: Options) -> Plan:
    case = search.case
    assert best.bound is not None
    value = measure(case, case.objective)(operation)
    pick = max if case.maximise else min
    bound = pick(best.bound, value)
    gap = share(case, value, bound)
    # The tolerance is a share of the bound, a gap one of the value.
    asked = max(gap, search.within / (1.0 - search.within))
    proven = Certificate(
        "optimal", operation, value, bound, gap, best.iterations, best.seconds, best.late
    )
    plan = assemble(search.inputs, case, proven, solver=options.solver, gap=asked)
    verify(search.inputs, plan)
    return plan
