"""An edited workbook, read back: what changed, what it breaks, what it costs, how far from best."""

from __future__ import annotations

import io
import re
from functools import partial
from pathlib import Path

from openpyxl.workbook import Workbook
from pydantic import ValidationError

from planner import __version__
from planner.api import Options, solve_with
from planner.auditor.apply import (
    apply,
    in_usd,
)
from planner.auditor.draft import Draft
from planner.auditor.evaluate import (
    Listed,
    NothingRunsError,
    case_of,
    evaluate,
    shortages,
    stale_figures,
)
from planner.auditor.reader import Opened, open_workbook
from planner.auditor.reader import edits as edits_of
from planner.errors import Finding, InputError
from planner.foreign_workbooks import load_bytes, reading
from planner.inputs import Inputs, inputs_from_text
from planner.outputs import workbook
from planner.outputs.plan_json import from_bytes
from planner.outputs.workbook import study_sheets
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import InputCell
from planner.outputs.workbook.fingerprint import live_of
from planner.schema.plan import Plan
from planner.schema.verification import Audit, breaches_of
from planner.verify import faults

__all__ = ["audit"]

_INTERVAL = "jobs.interval_s"


def audit(path: Path, options: Options | None = None, *, solve_again: bool = True) -> Audit:
    """Read an edited workbook back and compare it with the solved and with the best plan.

    Args:
        options: how to solve again under the edited inputs.
        solve_again: whether to; without, edited inputs have no best plan to compare with.

    Raises:
        InputError: the file is not one that planner wrote, or holds more than edited inputs.
        VerificationError: a figure disagrees with its independent re-computation.
    """
    opened = open_workbook(path)
    with reading(opened.name):
        solved, inputs = _unpacked(opened)
        written, cells = _written(opened, solved)
        edits, added = edits_of(opened, written, cells)
    found = Audit(
        workbook=opened.name,
        problem=solved.problem,
        edits=edits,
        solved=solved,
        edited=solved,
        best=solved,
        added_sheets=added,
    )
    with reading(opened.name):
        sheet = Listed.of(opened, solved, edits, cells)
    live = live_of(opened.packed)
    edits = in_usd(edits, solved)
    found = found.model_copy(update={"edits": edits})
    draft = apply(opened.name, inputs, solved, edits, sheet.quantities, live)
    best = _best(found, draft, options or Options()) if solve_again or not edits else None
    return _judged(found, opened, written, draft, best, sheet)


def _unpacked(opened: Opened) -> tuple[Plan, Inputs]:
    here = f"planner {__version__}"
    if opened.packed.tool != here:
        message = f"written by {opened.packed.tool}, this is {here}"
        fix = "audit it with the version that wrote it, or solve again"
        raise InputError(Finding("version", message, opened.name, fix=fix))
    try:
        plan = from_bytes(opened.packed.plan.encode())
    except ValidationError:
        message = "what planner packed into the workbook is no plan"
        raise InputError(Finding("workbook", message, opened.name)) from None
    if not plan.jobs:
        message = "the workbook holds no plan, only the reason why there is none"
        raise InputError(Finding("workbook", message, opened.name))
    inputs = inputs_from_text(opened.packed.inputs)
    if wrong := faults(inputs, plan):
        message = f"the plan packed into the workbook does not hold: {wrong[0]}"
        fix = "solve the problem again"
        raise InputError(Finding("verify", message, opened.name, fix=fix))
    return plan, inputs


def _written(opened: Opened, plan: Plan) -> tuple[Workbook, tuple[InputCell, ...]]:
    """Return the workbook as it was written, and its inputs."""
    stream, packed = io.BytesIO(), opened.packed
    studies = [(name, partial(_record, name=name)) for name in study_sheets(packed.studies)]
    cells = workbook.write(
        plan,
        stream,
        created=packed.created,
        inputs=packed.inputs,
        studies=studies,
        live=live_of(packed),
    )
    stream.seek(0)
    return load_bytes(stream), cells


def _record(book: Book, name: str) -> None:
    """Add a sheet in place of a record, which is not compared."""
    book.sheet(name)


def _best(found: Audit, draft: Draft, options: Options) -> Plan:
    """Return the best plan under the edited inputs: the solved one where they are the same."""
    return found.solved if _same_inputs(found) else solve_with(draft.inputs, options)


def _judged(
    found: Audit,
    opened: Opened,
    written: Workbook,
    draft: Draft,
    best: Plan | None,
    sheet: Listed,
) -> Audit:
    """Re-compute the edited plan and compare it."""
    changes: dict[str, object] = {"best": best if best is not None and best.jobs else None}
    if best is not None and not best.jobs:
        changes["reason"] = best.message
    case = case_of(draft)
    try:
        edited, checked = evaluate(draft, case)
    except NothingRunsError as error:
        return found.model_copy(update=changes | {"edited": None, "reason": str(error)})
    return found.model_copy(
        update=changes
        | {
            "edited": edited,
            "breaches": breaches_of(edited.limits, {name for name, _ in checked.breaches}),
            "remarks": tuple(_short(text) for name, text in checked.breaches if name == _INTERVAL),
            "shortages": shortages(draft, edited, sheet),
            "sheet_capex_usd": sheet.capex_usd,
            "stale": stale_figures(opened, written, draft, edited, sheet),
            "shortfall": None if best is None else _shortfall(edited, best),
        }
    )


def _short(text: str) -> str:
    """Return a text of the verifier with figures as long as people want them."""
    return re.sub(r"\d+\.\d{3,}", lambda found: f"{float(found[0]):.6g}", text)


def _same_inputs(found: Audit) -> bool:
    """Return whether what is best is what it was: only decisions and remarks were edited."""
    decided, job = {"gpus_idle", "way"}, found.solved.jobs[0]
    if job.interval_policy == "optimal":
        decided.add("interval_s")
    if job.spares_move:
        decided.add("spares")
    return all(edit.kind in ("quantity", "remark") or edit.key in decided for edit in found.edits)


def _shortfall(edited: Plan, best: Plan) -> float | None:
    """Return how far the edited plan lies behind the best, as a share of the best objective."""
    value, most = edited.objective.value, best.objective.value
    if value is None or not most:
        return None
    return (most - value) / abs(most) * (1.0 if best.objective.sense == "maximize" else -1.0)
