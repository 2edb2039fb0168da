"""A plan file against the plan that planner itself writes: notes, assumptions, search figures.

The verifier computes figures again in its own arithmetic. Texts and lists that only `assemble`
knows are written again here, from the decisions of the plan, and compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from planner.api import Options, solve_with
from planner.assemble import assemble, versions
from planner.case import Case, resolve
from planner.case.ways import ways_in_plan
from planner.errors import PlannerError
from planner.inputs import Inputs
from planner.optimizer.operate import Run, run_at
from planner.optimizer.optimise import Certificate
from planner.optimizer.solvers import SolverName
from planner.schema.plan import Plan
from planner.version import __version__

CLOSE = 1e-9
"""Relative difference of two computations of one number."""
_ELSEWHERE = {"provenance": ("problem_file", "seconds", "tool", "versions"), "limits": ("source",)}
"""Keys of parts that name files and machines, which a plan does not carry."""
_NOT_DERIVED = {"inputs", "checksums", "message", "infeasibility", "objective", "storage_options"}
"""Parts that the decisions of a plan do not determine."""


def assembly_faults(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Return each part that differs from the plan assembled again from its decisions.

    Args:
        inputs: the inputs that the plan carries.
        plan: a plan whose figures hold.
    """
    try:
        return tuple(_assembly_faults(inputs, plan))
    except (PlannerError, ValueError, ArithmeticError, LookupError, TypeError) as error:
        return (f"jobs: the plan cannot be assembled again ({error})",)


def _assembly_faults(inputs: Inputs, plan: Plan) -> Iterator[str]:
    case = resolve(inputs)
    operation = operation_of(case, plan)
    goal, notes = plan.objective, plan.warnings
    cut = [each.text for each in plan.verdict if each.code == "search"]
    answer = Certificate(
        status=plan.status,
        operation=operation,
        value=goal.value if goal.log_value is None else goal.log_value,
        bound=None,
        gap=goal.gap,
        iterations=plan.provenance.iterations,
        seconds=0.0,
        late=any(text.startswith("the time limit") for text in cut),
        ties_cut=bool(cut),
    )
    again = assemble(
        inputs,
        case,
        answer,
        solver=plan.provenance.solver,
        gap=goal.gap_asked,
        seconds=plan.provenance.seconds,
    )
    if plan.storage_options is not None:  # has notes of its own, after all others
        plan = plan.model_copy(update={"warnings": notes[: len(again.warnings)]})
    yield from _differences(plan, again, _NOT_DERIVED)


def search_faults(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Return each part that differs from the plan of the same search done again."""
    options = Options(solver=_solver(plan), gap=plan.objective.gap_asked)
    return tuple(_differences(plan, solve_with(inputs, options), {"inputs", "checksums"}))


def is_repeatable(plan: Plan) -> bool:
    """Return whether this installation searches as the one that made a plan did."""
    made = plan.provenance
    here = made.tool == f"planner {__version__}" and made.versions == versions()
    return here and plan.status == "optimal" and not any(v.code == "search" for v in plan.verdict)


def operation_of(case: Case, plan: Plan) -> Run | None:
    """Return the operation that a plan describes; None where there is none."""
    if not plan.jobs:
        return None
    job = plan.jobs[0]
    bought = {line.sku: line.working for line in plan.lines if line.parent is None}
    units = {offer.id: bought.get(offer.id, 0) for offer in case.offers()}
    use = job.systems_by_type, job.gpus_used, job.interval_s, ways_in_plan(case, plan)
    if job.local is not None:
        return run_at(case, "local", units, *use, job.local.every)
    return run_at(case, job.mode, units, *use)


def _solver(plan: Plan) -> SolverName:
    return "cbc" if plan.provenance.solver == "cbc" else "highs"


def _differences(plan: Plan, again: Plan, left_out: set[str]) -> Iterator[str]:
    one, other = plan.model_dump(mode="json"), again.model_dump(mode="json")
    for part in one.keys() | other.keys():
        if part not in left_out:
            yield from _compare(part, one.get(part), other.get(part))


def _compare(place: str, stated: Any, computed: Any) -> Iterator[str]:
    """Yield the places at which two values differ."""
    if isinstance(stated, dict) and isinstance(computed, dict):
        for name in stated | computed:
            if name in _ELSEWHERE.get(place.split("[")[0], ()):
                continue
            if name == "source" and str(computed.get(name)).startswith("default"):
                continue  # or a line of the problem file, which the plan does not carry
            yield from _compare(f"{place}.{name}", stated.get(name), computed.get(name))
    elif isinstance(stated, list) and isinstance(computed, list):
        for number, (one, other) in enumerate(zip(stated, computed, strict=False)):
            yield from _compare(f"{place}[{number}]", one, other)
        if len(stated) != len(computed):
            yield f"{place}: {len(stated)} entries, assembled again {len(computed)}"
    elif not _is_close(stated, computed):
        yield f"{place}: {_short(stated)}, assembled again {_short(computed)}"


def _is_close(one: Any, other: Any) -> bool:
    if isinstance(one, float | int) and isinstance(other, float | int):
        return math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)
    return bool(one == other)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
