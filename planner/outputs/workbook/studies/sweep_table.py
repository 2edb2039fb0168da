"""The sheet ``Sweep table``: the rows of a sweep, to be filtered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from planner.outputs.scales import decimals
from planner.outputs.sensitivity_words import STATUS
from planner.outputs.sweep_rows import Rows, is_number, known, length
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.formats import GENERAL, INTEGER
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.studies.grid import number_format
from planner.outputs.workbook.studies.stack import headed
from planner.outputs.workbook.text import clean
from planner.schema.sensitivity import Column, Sweep

SHEET = "Sweep table"

MOST_ROWS = 20_000
"""Rows that are written; the files have all."""

_WIDTHS = {"input": 14.0, "answer": 13.0, "count": 12.0, "total": 14.0, "job": 12.0, "text": 60.0}
_TEXT_WIDTH = 20.0
_ROW_POINTS, _NAMES_POINTS = 13.5, 40
_PAGE_WIDTH, _PRINT_PERCENT = 300.0, 60
"""Characters up to which a row is printed on one page, and the scale where it takes several."""

_SMALL_SHARE = "0.0000%"
_MOST_DIGITS = 6


class Table(NamedTuple):
    """Where the rows of a sweep are: the first, how many, and each column by its name."""

    first: int
    rows: int
    columns: dict[str, int]

    def range(self, name: str) -> list[Any]:
        """Return the cells of a column for a chart."""
        column = self.columns[name]
        return [SHEET, self.first, column, self.first + self.rows - 1, column]


def add(book: Book, study: Sweep, rows: Rows) -> Table:
    """Add the sheet; return where its cells are.

    Args:
        book: the workbook.
        study: what the columns are.
        rows: the table, by column; a column without any value is left out.
    """
    page = Page(book, SHEET, "The rows of the sweep")
    page.sheet.set_default_row(_ROW_POINTS)
    count = length(rows)
    shown = min(count, MOST_ROWS)
    text = "A row for each scenario; under its title is the name that a column has in the files."
    if shown < count:
        text = f"The first {shown:,} of {count:,} rows; the Parquet file has all of them. {text}"
    page.text(FIRST_ROW - 2, 0, text, "subtitle")
    columns = [c for c in study.columns if any(known(v) is not None for v in rows.get(c.name, ()))]
    top = FIRST_ROW
    page.sheet.set_row(top, _NAMES_POINTS)
    heads = [(headed(c.label, c.unit), _width(c, rows)) for c in columns]
    page.headers(top - 1, heads, 44)
    for place, column in enumerate(columns):
        page.text(top, place, column.name, "part")
        _column(page, column, rows[column.name][:shown], (top + 1, place))
    if columns:
        page.sheet.autofilter(top, 0, top + shown, len(columns) - 1)
        page.sheet.repeat_rows(top - 1, top)
    inputs = sum(column.kind == "input" for column in columns)
    wide = sum(width for _, width in heads) > _PAGE_WIDTH
    if wide and inputs:
        page.sheet.repeat_columns(0, inputs - 1)
    page.finish(max(0, len(columns) - 1), (top + 1, inputs), _PRINT_PERCENT if wide else None)
    return Table(top + 1, shown, {column.name: at for at, column in enumerate(columns)})


def _width(column: Column, rows: Rows) -> float:
    first = next((v for v in rows[column.name] if known(v) is not None), None)
    words = isinstance(first, str) and column.kind != "text"
    return _TEXT_WIDTH if words else _WIDTHS[column.kind]


def _column(page: Page, column: Column, values: Sequence[Any], at: tuple[int, int]) -> None:
    """Write the values of a column under one another, each with the look of its kind."""
    sheet, formats = page.sheet, page.book.formats
    number = formats.get("formula", format_of(column, values))
    text = formats.get("text")
    says = STATUS if column.name == "status" else {}
    first, place = at
    for row, value in enumerate(map(known, values), start=first):
        if is_number(value) and math.isfinite(value):
            sheet.write_number(row, place, value, number)
        elif value is None or value == "" or is_number(value):
            sheet.write_blank(row, place, None, number)
        else:
            shown = str(value)
            sheet.write_string(row, place, clean(says.get(shown, shown)).replace("\n", " "), text)


def format_of(column: Column, values: Sequence[Any]) -> str:
    """Return the number format of a column: inputs show every digit that tells them apart.

    Args:
        column: the column.
        values: what it holds.
    """
    there = [v for v in map(known, values) if is_number(v) and math.isfinite(v)]
    if column.kind == "count":
        return INTEGER
    if column.name == "gap":
        return _SMALL_SHARE
    if column.kind != "input":
        return number_format(column.unit, there) if there else GENERAL
    share = column.unit == "share"
    digits = decimals([100.0 * v for v in there] if share else there)
    if digits > _MOST_DIGITS:
        return GENERAL
    point = f".{'0' * digits}" if digits else ""
    return f"0{point}%" if share else f"#,##0{point}"
