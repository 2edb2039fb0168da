"""Why a plan holds what it holds: other vendors, types and rules, and every item left aside."""

from __future__ import annotations

from collections.abc import Sequence

from planner.api import Options
from planner.errors import Finding, InputError, did_you_mean
from planner.inputs import Inputs
from planner.optimizer.operate import Run
from planner.schema.explanation import WhyNot
from planner.schema.plan import Plan
from planner.studies.why_not import question as figures
from planner.studies.why_not.items import items
from planner.studies.why_not.plans import forced_plans
from planner.studies.why_not.question import Study

__all__ = ["why_not"]

WORK = 6000.0
"""How much work may be done before what was not asked for is left; see ``Effort``."""
PATIENCE = 4.0
"""How many times as much forced plans may take altogether; the rest is then marked."""
CATEGORIES = ("gpu_system", "storage")


def why_not(
    inputs: Inputs,
    plan: Plan,
    options: Options,
    *,
    asked: tuple[str, ...] = (),
    work: float = WORK,
    questions: int | None = None,
    known: Sequence[Run] = (),
) -> WhyNot:
    """Return what a plan is not, and by how much it would be worse.

    Args:
        asked: items to answer exactly, with their break-even prices, whatever work it takes.
        questions: how many proofs what was not asked for may take beyond the forced plans; None
            for any number.
        work: how much may be done before answers that were not asked for are left. Bounds are told
            in any case; what is forced as well, unless it takes several times as much.
        known: plans of the problem, or of problems like it, that questions may begin with.

    Raises:
        InputError: what is asked for is not an item, or is in the plan.
    """
    study = Study(inputs, plan, options, work, PATIENCE * work, options.effort, runs=list(known))
    _check(inputs, plan, asked)
    goal = plan.objective
    base = WhyNot(
        problem=plan.problem,
        objective=goal.name,
        sense=goal.sense,
        unit=goal.unit,
        value=goal.value,
        bound=goal.bound,
        tie=study.tie,
        plan=figures.of_plan(plan),
        bought=figures.bought_in(plan),
    )
    if goal.value is None or base.plan is None:
        message = "there is no plan to compare with"
        return base.model_copy(update={"message": message})
    rows = forced_plans(study)
    study.proofs, study.questions = 0, questions
    return base.model_copy(update={"forced": rows, "items": items(study, rows, asked)})


def _check(inputs: Inputs, plan: Plan, asked: Sequence[str]) -> None:
    """Refuse questions about what is no GPU system or storage item, or is in the plan."""
    known = inputs.by_id
    kinds = [item.id for item in inputs.items if item.category in CATEGORIES]
    held = {line.sku for line in plan.lines if line.parent is None and line.working}
    for name in asked:
        message, fix = None, None
        if name not in known:
            message = f"no item named '{name[:60]}' in the catalogs of the problem"
            fix = did_you_mean(name, kinds) or "planner catalog lists every item"
        elif known[name].category not in CATEGORIES:
            message = f"'{name}' is a companion: it comes with GPU systems and storage as needed"
            fix = "ask about a GPU system or a storage item"
        elif name in held:
            message, fix = f"'{name}' is in the plan", "ask about an item that is not"
        if message is not None:
            raise InputError(Finding("why-not", message, "--why-not", fix=fix))
