"""Lay the edits of a workbook over the inputs of its plan."""

from __future__ import annotations

from collections.abc import Sequence

from planner.audit.draft import Draft, EditError
from planner.audit.figures import FIGURES, finish_term
from planner.audit.limits import set_limit
from planner.errors import Finding, InputError
from planner.inputs import Inputs
from planner.schema.audit import Edit
from planner.schema.plan import Plan
from planner.schema.prices import Price


def apply(name: str, inputs: Inputs, plan: Plan, edits: Sequence[Edit]) -> Draft:
    """Return the problem with the edits, and what the workbook decides.

    Args:
        name: the workbook, for messages.
        inputs: what the solved plan was made from.
        plan: the solved plan.
        edits: what was changed.

    Raises:
        InputError: an edit does not fit the problem.
    """
    job = plan.jobs[0]
    draft = Draft(
        inputs=inputs,
        plan=plan,
        quantities={line.sku: line.quantity for line in plan.lines if line.parent is None},
        mode=job.mode,
        interval_s=job.interval_s,
        gpus_idle=_usable(plan) - job.gpus_used,
    )
    # The sheet holds size and bytes apart; the problem would derive the one from the other.
    if any(edit.key in ("checkpoint_gb", "bytes_per_parameter") for edit in edits):
        draft.change_job("checkpoint", size_gb=job.checkpoint_gb)
        if job.bytes_per_parameter is not None:
            draft.change_job(bytes_per_parameter=job.bytes_per_parameter)
    findings = [finding for edit in edits if (finding := _applied(name, draft, edit))]
    try:
        finish_term(draft)
        _check_replica(draft)
    except EditError as error:
        findings.append(Finding("input-cell", str(error), name, path="Checkpoint"))
    if findings:
        raise InputError(findings)
    return draft


def _usable(plan: Plan) -> int:
    """Return the GPUs that the job could use of all systems of its types in the plan."""
    job = plan.jobs[0]
    lines = [line for line in plan.lines if line.parent is None and line.sku in job.gpu_types]
    return sum(job.most_gpus(line.sku, line.working) for line in lines)


def _applied(name: str, draft: Draft, edit: Edit) -> Finding | None:
    """Apply one edit; return what is wrong with it."""
    try:
        _apply(draft, edit)
    except EditError as error:
        return Finding(
            "input-cell", f"{edit.label}: {error}", name, path=f"{edit.sheet}!{edit.cell}"
        )
    return None


def _apply(draft: Draft, edit: Edit) -> None:
    value = edit.after
    if edit.kind == "figure":
        FIGURES[edit.key](draft, value)
        return
    assert not isinstance(value, str)
    if edit.kind == "limit":
        set_limit(draft, edit.key, value)
    elif edit.kind == "unit_list":
        if value is not None:
            draft.set_price(edit.key, _price(value))
    elif value is None:
        raise EditError("is blank")
    elif edit.kind == "quantity":
        draft.quantities[edit.key] = round(value)
    else:
        draft.change_discount(edit.key, value)


def _price(list_usd: float) -> Price:
    """Return a price that was typed into the workbook."""
    return Price.model_construct(
        list_usd=list_usd, date="0000", source="workbook", confidence="low"
    )


def _check_replica(draft: Draft) -> None:
    job = draft.problem.job
    needs = job.checkpoint.writers == "one_replica" or job.restore.readers == "one_replica"
    needs = needs or job.restore.fan_out != "broadcast" or job.gpus.whole == "replicas"
    if needs and job.parallelism is None:
        raise EditError(
            "one_replica, sharded_optimizer, every_replica and whole replicas need the GPUs that "
            "hold one replica"
        )
