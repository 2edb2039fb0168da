"""An edited workbook, read back: each edit found, the plan it describes, the best one in its place.

What was edited is found against the workbook as planner writes it of the plan that the file
carries. Edits of inputs go into the problem (`planner.workbook.edits`); anything else is refused.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from openpyxl.formula import Tokenizer
from openpyxl.formula.tokenizer import Token
from openpyxl.utils import coordinate_to_tuple
from openpyxl.workbook import Workbook
from pydantic import ValidationError

from planner.api import Options, solve_with
from planner.errors import Finding, InputError
from planner.inputs import Inputs, inputs_from_text
from planner.report import plan_json
from planner.report.restated import restated
from planner.schema.explanation import (
    Audit,
    Edit,
    Shortage,
    Stale,
    breaches_of,
)
from planner.schema.operation import JobPlan
from planner.schema.plan import Plan
from planner.untrusted_workbooks import NO_VALUE, open_xlsx, reading
from planner.verifier import faults
from planner.version import __version__
from planner.workbook import basis, performance, quote, write
from planner.workbook.book import Book, Input, Place
from planner.workbook.edits import Draft, NothingRunsError, apply, case_of, evaluate
from planner.workbook.live import Scalar

_MOST_FINDINGS = 8
_CLOSE = 1e-9
_INTERVAL = "jobs.interval_s"
_FIRST_ONLY = "undo it; only the yellow cells may be edited"
_BY_SOLVE = "give the PROBLEM.xlsx that planner solve writes"


class Opened(NamedTuple):
    """A workbook that came back: its formulas, the values it last showed, what it carries."""

    name: str
    cells: Workbook
    shown: Workbook
    plan: Plan
    inputs: Inputs
    created: datetime


def audit(path: Path, options: Options | None = None, *, solve_again: bool = True) -> Audit:
    """Read an edited workbook back and compare it with the solved and with the best plan.

    Args:
        path: the workbook.
        options: how to solve again under the edited inputs.
        solve_again: whether to; without, edited inputs have no best plan to compare with.

    Raises:
        InputError: planner did not write the file, or more than its inputs was edited.
        VerificationError: a figure disagrees with its independent re-computation.
    """
    with reading(str(path)):
        opened = read(path)
        solved = opened.plan
        edits, added = find_edits(opened)
    sheet = _sheet(opened, {(edit.sheet, edit.cell): edit.after for edit in edits})
    edits = _in_usd(edits, solved)
    draft = apply(opened.name, opened.inputs, solved, edits, _quantities(sheet))
    draft.gpus = round(sheet.names["gpus_used"].number)
    found = Audit(
        workbook=opened.name,
        problem=solved.problem,
        edits=edits,
        solved=solved,
        edited=solved,
        best=solved,
        added_sheets=added,
    )
    best: Plan | None = solved
    if not all(_is_decision(edit, solved.jobs[0]) for edit in edits):
        best = solve_with(draft.inputs, options or Options()) if solve_again else None
    return _judged(found, opened, draft, sheet, best)


# The file: what it carries, and what differs from the workbook as written.


def read(path: Path) -> Opened:
    """A workbook that planner wrote.

    Raises:
        InputError: it cannot be read, planner did not write it, or it carries no sound plan.
    """
    name, without = str(path), "verify a copy without what was added to it"
    cells = open_xlsx(path, without=without)
    if basis.NAME not in cells.sheetnames:
        raise InputError(_not_ours(name, cells))
    texts = [cell.value for cell in _filled(cells[basis.NAME]) if cell.column == 2]
    carried = "".join(text for text in texts if isinstance(text, str) and _is_chunk(text))
    try:
        found = basis.unpack(carried)
        plan = plan_json.from_bytes(found.plan.encode())
    except basis.UnreadableError as error:
        raise InputError(_broken(name, f"the plan it carries cannot be read: {error}")) from None
    except ValidationError:
        raise InputError(_broken(name, "what it carries is no plan")) from None
    if found.tool != (here := f"planner {__version__}"):
        fix = "verify it with the version that wrote it, or solve again"
        raise InputError(
            Finding("version", f"written by {found.tool}, this is {here}", name, fix=fix)
        )
    inputs = inputs_from_text(found.inputs)
    if not plan.jobs:
        raise InputError(_broken(name, "it holds no plan, only the reason why there is none"))
    if wrong := faults(inputs, plan):
        message = f"the plan it carries does not hold: {wrong[0]}"
        raise InputError(Finding("verify", message, name, fix="solve the problem again"))
    shown = open_xlsx(path, without=without, shown=True)
    return Opened(name, cells, shown, plan, inputs, found.created)


def _is_chunk(text: str) -> bool:
    return len(text) > 100 and " " not in text


def _broken(name: str, message: str) -> Finding:
    return Finding("workbook", message, name, path=basis.NAME, fix=_BY_SOLVE)


def _not_ours(name: str, cells: Workbook) -> Finding:
    if quote.NAME in cells.sheetnames and performance.NAME in cells.sheetnames:
        message = "an edition for the outside carries no plan, or its sheet 'Basis' was removed"
        return Finding("workbook", message, name, fix="give the internal edition")
    if {"About", "BOM", "Checkpoint"} <= set(cells.sheetnames):
        message = "an earlier version of planner wrote this workbook"
        return Finding("version", message, name, fix="solve the problem again")
    return Finding(
        "workbook", "planner did not write this workbook as that of a plan", name, fix=_BY_SOLVE
    )


def _filled(sheet: Any) -> list[Any]:
    """The cells that hold something; empty ones with a format may lie anywhere."""
    cells = [cell for cell in sheet._cells.values() if cell.value not in (None, "")]
    return sorted(cells, key=lambda cell: (cell.row, cell.column))


def _sheet(opened: Opened, typed: Mapping[Place, Scalar] | None = None) -> Book:
    """The workbook as planner writes it, with values typed into its cells."""
    return write(opened.plan, io.BytesIO(), created=opened.created, typed=typed, keep=True)


def find_edits(opened: Opened) -> tuple[tuple[Edit, ...], tuple[str, ...]]:
    """The edits of inputs, and the sheets that were added.

    Raises:
        InputError: anything else was changed, or an input holds what it cannot hold.
    """
    written, there = _sheet(opened), opened.cells.sheetnames
    sheets = sorted({sheet for sheet, _ in written.cells})
    if gone := [sheet for sheet in sheets if sheet not in there]:
        message = "the sheet is gone"
        raise InputError(
            [Finding("sheet", message, opened.name, path=each, fix="undo it") for each in gone]
        )
    findings = [
        each for sheet in sheets if sheet != basis.NAME for each in _fixed(opened, written, sheet)
    ]
    edits: list[Edit] = []
    for entry in written.inputs:
        try:
            edits += _edit(opened, entry)
        except ValueError as error:
            place, fix = f"{entry.sheet}!{entry.cell}", f"write {entry.allowed.expected}"
            message = f"{entry.of.label}: {error}"
            findings.append(Finding("input-cell", message, opened.name, path=place, fix=fix))
    if findings:
        raise InputError(_clipped(opened.name, findings))
    return tuple(edits), tuple(each for each in there if each not in {*sheets, basis.NAME})


def _clipped(name: str, found: list[Finding]) -> list[Finding]:
    """The first findings: one slip can touch thousands of cells."""
    if len(found) <= _MOST_FINDINGS:
        return found
    more = f"and {len(found) - _MOST_FINDINGS:,} more cells that were changed"
    return [*found[:_MOST_FINDINGS], Finding("edited-cell", more, name, fix=_FIRST_ONLY)]


def _edit(opened: Opened, entry: Input) -> Iterator[Edit]:
    """Yield the edit of an input; raise ValueError where it holds what it cannot hold."""
    cell = opened.cells[entry.sheet][entry.cell]
    value = cell.value
    if cell.data_type == "f":
        value = opened.shown[entry.sheet][entry.cell].value
        if value in (None, "", NO_VALUE):
            raise ValueError(f"holds the formula {_short(cell.value)}, which was never computed")
    after = _scalar(value)
    if entry.of.kind is None or _alike(entry.value, after):
        return
    if not entry.allowed.takes(after):
        shown = f"'{after[:40]}'" if isinstance(after, str) else f"{after or 0:,.12g}"
        raise ValueError("is blank" if after is None else f"holds {shown}")
    yield entry.edit(after)


def _scalar(value: Any) -> float | str | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"holds {str(value)[:40]}, which is no number")
    return value.strip() or None if isinstance(value, str) else float(value)


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=0.0)
    return bool((one or None) == (other or None)) if 0 not in (one, other) else bool(one == other)


def _fixed(opened: Opened, written: Book, sheet: str) -> Iterator[Finding]:
    """Yield the cells of a sheet, inputs apart, that hold something else than was written."""
    opens = {(entry.sheet, entry.cell) for entry in written.inputs} | written.free
    there = {cell.coordinate: cell.value for cell in _filled(opened.cells[sheet])}
    ours = {cell: held for (name, cell), held in written.cells.items() if name == sheet}
    rows, columns = zip(*map(coordinate_to_tuple, ours), strict=True)
    for place in sorted({*there, *ours}, key=coordinate_to_tuple):
        row, column = coordinate_to_tuple(place)
        if (sheet, place) in opens or row > max(rows) or column > max(columns):
            continue
        if (wrong := _changed(ours.get(place), there.get(place))) is not None:
            at = f"{sheet}!{place}"
            yield Finding("edited-cell", wrong, opened.name, path=at, fix=_FIRST_ONLY)


def _changed(before: Scalar, after: Any) -> str | None:
    """The fault of a locked cell; None without one."""
    now = "is blank" if after in (None, "") else f"holds {_short(after)}"
    if isinstance(before, str) and before.startswith("="):
        if same_formula(before, _text(after)):
            return None
        return f"held the formula {_short(before)}, now {now}"
    one, other = (
        text.replace("\r\n", "\n").strip() if isinstance(text, str) else text
        for text in (before, after)
    )
    if _alike(one, other):
        return None
    return f"was empty, now {now}" if before is None else f"held {_short(before)}, now {now}"


def _text(value: Any) -> str:
    """A value as the sheet has it; formulas over several cells come as objects."""
    return str(getattr(value, "text", value))


def _short(value: Any) -> str:
    text = " ".join(_text(value).split())
    return f"'{text[:40]}…'" if len(text) > 40 else f"'{text}'"


_QUOTED = re.compile(r"^'([A-Za-z_][A-Za-z0-9_.]*)'!")


def same_formula(one: str, other: str) -> bool:
    """Whether two formulas are the same token by token.

    Spreadsheet programs change spaces, the spelling of numbers and functions, and quotes around the
    names of sheets when they save a file.
    """
    if one == other:
        return True
    try:
        return other.startswith("=") and _tokens(one) == _tokens(other)
    except Exception:  # no formula, such as =cmd|'/C calc'!A0: the tokenizer fails in many ways
        return False


def _tokens(formula: str) -> tuple[str, ...]:
    items = Tokenizer(formula).items
    return tuple(_spelled(token) for token in items if token.type != Token.WSPACE)


def _spelled(token: Token) -> str:
    value = str(token.value)
    if token.type == Token.OPERAND and token.subtype == Token.NUMBER:
        return f"{float(value):.15g}"
    if token.type == Token.OPERAND and token.subtype == Token.TEXT:
        return value
    if token.type == Token.OPERAND:
        return _QUOTED.sub(r"\1!", value).removeprefix("$").lower()
    return value.upper().removeprefix("_XLFN.")


def _in_usd(edits: Sequence[Edit], plan: Plan) -> tuple[Edit, ...]:
    """Edits with their amounts in USD; a workbook has them in the currency it shows."""
    rate = plan.shown_in.usd

    def amount(value: float | str | None) -> float | str | None:
        return float(f"{value * rate:.15g}") if isinstance(value, float) else value

    return tuple(
        edit.model_copy(update={"before": amount(edit.before), "after": amount(edit.after)})
        if "USD" in edit.unit and rate != 1.0
        else edit
        for edit in edits
    )


def _quantities(sheet: Book) -> dict[str, int]:
    """Units in place by catalog id."""
    entries = [entry for entry in sheet.inputs if entry.of.kind == "quantity"]
    return {entry.of.key: round(sheet.at[entry.sheet, entry.cell].number) for entry in entries}


# The verdict: what the edited plan breaks and lacks, and how far it is from the best.


def _is_decision(edit: Edit, job: JobPlan) -> bool:
    """Whether the best plan stays the same: the planner decides what was edited."""
    if edit.key == "interval_s":
        return job.interval_policy == "optimal"
    if edit.key.startswith("hot_spares."):
        return job.repair is None or job.spares_move
    return edit.kind == "quantity"


def _judged(found: Audit, opened: Opened, draft: Draft, sheet: Book, best: Plan | None) -> Audit:
    """Re-compute the edited plan and compare it."""
    solved = best is not None and best.jobs
    changes: dict[str, object] = {"best": best if solved else None}
    if best is not None and not solved:
        changes["reason"] = best.message
    try:
        edited, checked = evaluate(draft, case_of(draft))
    except NothingRunsError as error:
        return found.model_copy(update=changes | {"edited": None, "reason": str(error)})
    lacking = _shortages(draft, edited)
    changes |= {
        "edited": edited,
        "breaches": breaches_of(edited.limits, {name for name, _ in checked.breaches}),
        "remarks": tuple(_rounded(text) for name, text in checked.breaches if name == _INTERVAL),
        "shortages": lacking,
        "sheet_capex_usd": sheet.names["bill_amount"].number * found.solved.shown_in.usd,
        "stale": tuple(_stale(opened, sheet, edited, whole=not lacking)),
        "shortfall": None if best is None else _shortfall(edited, best),
    }
    return found.model_copy(update=changes)


def _rounded(text: str) -> str:
    """A text of the verifier with figures as long as people want them."""
    return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.6g}", text)


def _shortages(draft: Draft, edited: Plan) -> tuple[Shortage, ...]:
    """The lines whose count in the workbook is not the need of the edited cluster."""
    needed = {line.sku: line.quantity for line in edited.lines if line.parent is None}
    models, listed = {item.id: item.model for item in draft.inputs.items}, draft.quantities
    return tuple(
        Shortage(sku=sku, model=models[sku], listed=listed.get(sku, 0), needed=needed.get(sku, 0))
        for sku in dict.fromkeys((*listed, *needed))
        if listed.get(sku, 0) != needed.get(sku, 0)
    )


_OF_JOB = (
    "gpus_used",
    "drain_s",
    "overlap",
    "restore_s",
    "mtti_s",
    "goodput",
    "useful_gpus",
    "useful_pflops",
    "days_to_train",
    "capacity_needed_tb",
)
_OF_TOTALS = (
    "it_power_kw",
    "facility_power_kw",
    "usable_tb",
    "support_usd_per_year",
    "subscriptions_usd_per_year",
    "energy_usd_per_year",
    "opex_usd_per_year",
    "capex_usd",
    "tco_usd",
)


def _stale(opened: Opened, sheet: Book, edited: Plan, *, whole: bool) -> Iterator[Stale]:
    """Yield figures that the file shows otherwise than they are: stale, or as planned.

    Args:
        whole: whether the workbook lists what the edited cluster needs, so that totals compare.
    """
    stated = restated(edited)
    expected = {name: getattr(stated.jobs[0], name) for name in _OF_JOB}
    if whole and stated.totals is not None:
        expected |= {name: getattr(stated.totals, name) for name in _OF_TOTALS}
    for name, computed in expected.items():
        if name not in sheet.places or computed is None:
            continue
        place, cell = sheet.places[name]
        shown = opened.shown[place][cell].value
        if isinstance(shown, (int, float)) and not math.isclose(
            shown, computed, rel_tol=_CLOSE, abs_tol=1e-12
        ):
            yield Stale(name=name, shown=float(shown), computed=float(computed))


def _shortfall(edited: Plan, best: Plan) -> float | None:
    """The loss of the edited plan, as a share of the best objective."""
    value, most = edited.objective.value, best.objective.value
    if value is None or not most:
        return None
    return (most - value) / abs(most) * (1.0 if best.objective.sense == "maximize" else -1.0)
