"""The sheet ``Checkpoint``: the sizing model, live over the quantities of ``BOM``."""

from __future__ import annotations

from planner.outputs.words import in_money
from planner.outputs.workbook.book import RATE, Book
from planner.outputs.workbook.cells import INTEGER, Role, paid
from planner.outputs.workbook.checkpoint.goodput import goodput_sections, workings
from planner.outputs.workbook.checkpoint.inputs import input_sections
from planner.outputs.workbook.checkpoint.model import degraded_sections, model_sections
from planner.outputs.workbook.checkpoint.money import totals
from planner.outputs.workbook.formulas import cell_range
from planner.outputs.workbook.page import BANNER_BAD, BANNER_ROW, FIRST_ROW, Page
from planner.outputs.workbook.rows import Input, Result, Results
from planner.schema.plan import JobPlan

_COLUMNS = (("Figure", 54), ("Value", 19), ("Unit", 15), ("As solved", 19), ("Note", 88))
_LABEL, _VALUE, _UNIT, _SOLVED, _NOTE = range(5)
_PAID = ("USD", "USD/year")
_EDITED = "EDITED: optimality no longer proven; the result may break limits, see Checks. "
_FOLLOWED = "Switches, optics and racks follow by the sheet Counts: planner audit counts them. "
_TAMPERED = (
    "EDITED: lines or cells other than the blue ones are not as solved; the figures may not hold"
)


_CHANGED = "EDITED: not as offered; the result may break limits, see Summary. "
_TOUCHED = "EDITED: lines or cells other than the blue ones are not as offered"


def add(book: Book) -> None:
    """Add the sheet, with a defined name for every figure on it."""
    page = Page(book, "Checkpoint", "Checkpoint sizing")
    _banner(page)
    page.legend()
    page.headers(FIRST_ROW, _COLUMNS, 20)
    row, first, printed = FIRST_ROW + 1, 0, 0
    if book.job is None:
        page.text(row, 0, "No job: " + (book.plan.message or "there is no plan."), "subtitle")
        page.define("checkpoint_edits", row, _VALUE)
    else:
        row = _inputs(page, book.job, row)
        first, printed = row, _results(page, book.job, row)
    page.finish(_NOTE, (FIRST_ROW + 1, 1))
    if printed:
        # Outside the inputs are the reader's own.
        page.sheet.print_area(0 if book.inside else first, 0, printed, _NOTE)
        page.sheet.fit_to_pages(1, 2 if book.inside else 1)
        if not book.inside:
            page.sheet.repeat_rows(0, FIRST_ROW)


def _banner(page: Page) -> None:
    own = "own_edits+" if page.book.money else ""
    edits = f"(bom_edits+{own}checkpoint_edits+checks_edits)"
    solved = page.book.as_solved
    text = f'="{solved}"'
    edited, tampered = (_EDITED, _TAMPERED) if page.book.inside else (_CHANGED, _TOUCHED)
    if page.book.job is not None:
        whole = f'IF(fingerprint_differs=0,"{solved}","{tampered}")'
        # What is deleted leaves errors behind, which must not hide the banner.
        followed = ""
        if page.book.follows and page.book.has("bom_companions_flag"):
            followed = f'&IF(bom_companions_flag="","","{_FOLLOWED}")' if page.book.inside else ""
        edited = f'"{edited}"{followed}&"Cells: "&{edits}'
        text = f'=IFERROR(IF({edits}>0,{edited},{whole}),"{tampered}")'
    page.strip(BANNER_ROW, text, BANNER_BAD, plan=solved)
    page.define("plan_banner", BANNER_ROW, 0)


def _inputs(page: Page, job: JobPlan, row: int) -> int:
    """Write the inputs and the count of those that were edited; return the next free row."""
    first = row
    for heading, rows in input_sections(
        page.book.plan, job, page.book.live.ways, money=page.book.money
    ):
        row = _heading(page, heading, row)
        for entry in rows:
            _input(page, entry, row)
            row += 1
    cells = [cell_range(first, column, row - 1) for column in (_VALUE, _SOLVED)]
    page.text(row, _LABEL, "Inputs on this sheet that differ from the solved plan", "subtitle")
    page.formula(row, _VALUE, f"=SUMPRODUCT(1*({cells[0]}<>{cells[1]}))", INTEGER, plan=0.0)
    page.define("checkpoint_edits", row, _VALUE)
    return row + 2


def _heading(page: Page, text: str, row: int) -> int:
    page.fill(row, (text,), "heading", len(_COLUMNS))
    return row + 1


def _input(page: Page, entry: Input, row: int) -> None:
    page.text(row, _LABEL, entry.label)
    if entry.locked:
        page.scalar(row, _VALUE, entry.value, entry.number, "fixed")
        page.define(entry.name, row, _VALUE)
    else:
        entry.put(page, row, _VALUE, "figure")
    page.text(row, _UNIT, in_money(entry.unit) if entry.name != RATE else entry.unit)
    page.scalar(row, _SOLVED, entry.value, entry.number, "fixed")
    page.text(row, _NOTE, entry.note)
    _grow(page, row, entry.label, entry.note)


def _results(page: Page, job: JobPlan, row: int) -> int:
    """Write what follows from the inputs; return the last row above the workings."""
    book, above = page.book, row
    sections: list[Results] = [
        *model_sections(book.plan, job),
        *degraded_sections(book.plan, job),
        *goodput_sections(book.plan, job, book.live.ways),
        totals(book),
        workings(book.plan, job),
    ]
    listed: list[tuple[int, Result]] = []
    for heading, rows in sections:
        above = row - 1
        row = _heading(page, heading, row)
        for entry in rows:
            page.text(row, _LABEL, entry.label)
            role: Role = "cross" if entry.cross else "formula"
            text, plan = entry.cell_formula, entry.plan
            number = paid(entry.number) if entry.unit in _PAID else entry.number
            page.formula(row, _VALUE, text, number, role, "right", plan=plan)
            page.text(row, _UNIT, in_money(entry.unit))
            page.define(entry.name, row, _VALUE)
            listed.append((row, entry))
            row += 1
        row += 1
    # Formulas read one another, so what they come to is known once all are there.
    for row, entry in listed:
        page.scalar(row, _SOLVED, book.value(entry.name), entry.number, "fixed")
        _grow(page, row, entry.label, page.flagged(row, _NOTE, entry.flag, entry.notes))
    return above


def _grow(page: Page, row: int, label: str, note: str) -> None:
    page.grow(row, [(label, _COLUMNS[_LABEL][1]), (note, _COLUMNS[_NOTE][1])])
