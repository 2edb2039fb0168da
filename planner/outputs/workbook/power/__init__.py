"""The sheet ``Power & Cooling``: what the plan draws, what it heats, what carries the heat away."""

from __future__ import annotations

import math

from xlsxwriter.utility import xl_rowcol_to_cell

from planner.outputs.workbook.book import Book
from planner.outputs.workbook.checkpoint.rows import Result
from planner.outputs.workbook.formats import PERCENT, Role
from planner.outputs.workbook.page import BANNER_ROW, FIRST_ROW, Page
from planner.outputs.workbook.power import chart as power_chart
from planner.outputs.workbook.power import rows as power_rows
from planner.outputs.workbook.power import sections as power_sections
from planner.outputs.workbook.power import space as power_space
from planner.outputs.workbook.power.rows import Row

_HEADERS = ("Figure", "Value", "Unit", "Limit", "In use", "How it comes about")
_LABEL, _VALUE, _UNIT, _LIMIT, _USED, _NOTE = range(len(_HEADERS))
_LAST_OF_NOTE = 9
"""The note reaches as far as this column, or as far as the table of sections."""

_LIMITS = {
    "it_power_kw": "it_power",
    "facility_power_kw": "facility_power",
    "heat_air_kw": "heat_air",
    "heat_liquid_kw": "heat_liquid",
    "racks": "racks",
}
"""Figures that a plan may limit, and what their limits are called."""

_PIXELS_PER_CHARACTER, _PIXELS_OF_COLUMN = 7, 5
_PIXELS_OF_ROW = 17


def add(book: Book) -> None:
    """Add the sheet, where there is a job; it reads ``BOM``, ``Checkpoint`` and ``Checks``."""
    if book.job is None:
        return
    page = Page(book, "Power & Cooling", "Power and cooling")
    page.banner()
    page.legend()
    columns = power_sections.columns(book)
    page.headers(FIRST_ROW, power_sections.titles(columns))
    widths = power_sections.widths(max(len(columns), _LAST_OF_NOTE))
    for column, width in enumerate(widths):
        page.sheet.set_column(column, column, width)
    # The header is not that of the rows below; the title is repeated on every page instead.
    page.sheet.repeat_rows(0)
    first = FIRST_ROW + 1
    row = power_sections.write(page, columns, first)
    row = _chart(page, first, row, widths)
    page.sheet.set_h_pagebreaks([row])
    _figures(page, row, widths)
    page.finish(len(widths) - 1, (BANNER_ROW + 1, 0))


def _figures(page: Page, row: int, widths: list[float]) -> None:
    """Write what follows from the sections, under headings."""
    last, width = len(widths) - 1, sum(widths[_NOTE:])
    for column, title in enumerate(_HEADERS):
        page.text(row, column, title, "header")
    page.sheet.merge_range(row, _NOTE, row, last, "", page.book.formats.get("header"))
    page.text(row, _NOTE, _HEADERS[_NOTE], "header")
    row += 1
    for heading, rows in (*power_rows.sections(page.book), power_space.section(page.book)):
        page.fill(row, (heading,), "heading", last + 1)
        row += 1
        for entry in rows:
            _row(page, row, entry, (last, width))
            row += 1
        row += 1


def _chart(page: Page, first: int, row: int, widths: list[float]) -> int:
    """Add the chart under the sections and return the row below it."""
    bars = len(power_sections.shown(page.book))
    if not bars:
        return row
    width_px = sum(int(width * _PIXELS_PER_CHARACTER) + _PIXELS_OF_COLUMN for width in widths)
    cells = (first, first + bars - 1, power_sections.SECTION, power_sections.POWER)
    power_chart.add(page, row, cells, width_px - 4)
    return row + math.ceil(power_chart.height_px(bars) / _PIXELS_OF_ROW) + 1


def _row(page: Page, row: int, entry: Row, note: tuple[int, float]) -> None:
    """Write a figure or an input; ``note`` is the last column of its note and its width."""
    page.text(row, _LABEL, entry.label)
    page.text(row, _UNIT, entry.unit)
    last, width = note
    page.sheet.merge_range(row, _NOTE, row, last, "", page.book.formats.get("text"))
    if isinstance(entry, Result):
        _figure(page, row, entry)
        _limit(page, row, entry)
        page.grow(row, [(page.flagged(row, _NOTE, entry.flag, entry.notes), width)])
        return
    page.input(
        entry.name,
        row,
        _VALUE,
        entry.value,
        entry.number,
        label=entry.label,
        unit=entry.unit,
        allowed=entry.allowed,
    )
    for column in (_LIMIT, _USED):
        page.text(row, column, "", "formula")
    page.text(row, _NOTE, entry.note)


def _figure(page: Page, row: int, entry: Result) -> None:
    if entry.formula:
        role: Role = "cross" if entry.cross else "formula"
        page.formula(row, _VALUE, entry.cell_formula, entry.number, role, "right", plan=entry.plan)
    else:
        page.scalar(row, _VALUE, entry.plan, entry.number)
    if not page.book.has(entry.name):
        page.define(entry.name, row, _VALUE)


def _limit(page: Page, row: int, entry: Result) -> None:
    """Write what is allowed, from ``Checks``, and how much of it is in use."""
    for column in (_LIMIT, _USED):
        page.text(row, column, "", "formula")
    for count, limit in enumerate(page.book.plan.limits, start=1):
        name = f"check_limit_{count}"
        if limit.name != _LIMITS.get(entry.name) or not page.book.has(name):
            continue
        # A limit that was cleared limits nothing.
        text = f'=IF(ISNUMBER({name}),{name},"none")'
        page.formula(row, _LIMIT, text, entry.number, "cross", "right")
        allowed, value = (xl_rowcol_to_cell(row, column) for column in (_LIMIT, _VALUE))
        text = f'=IF(ISNUMBER({allowed}),IFERROR({value}/{allowed},""),"")'
        page.formula(row, _USED, text, PERCENT)
        rule = {
            "type": "cell",
            "criteria": ">",
            "value": 1 + 1e-9,
            "format": page.book.formats.condition("bad"),
        }
        page.sheet.conditional_format(row, _USED, row, _USED, rule)
