"""The rows of a sweep: on the sheet ``Sweep table``, and as a matrix over two inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from planner import currency
from planner.outputs.sensitivity_words import STATUS, goal
from planner.outputs.sweep_rows import Rows, cell, is_number, known, length, numeric
from planner.outputs.words import clean, decimals
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import GENERAL, INTEGER
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.studies.stack import Stack, headed, number_format, put
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
    if currency.shown().code != "USD":
        text = f"{text} Amounts in the files are in USD."
    if shown < count:
        text = f"The first {shown:,} of {count:,} rows; the Parquet file has all of them. {text}"
    page.text(FIRST_ROW - 2, 0, text, "subtitle")
    columns = [c for c in study.columns if any(known(v) is not None for v in rows.get(c.name, ()))]
    top = FIRST_ROW
    page.sheet.set_row(top, _NAMES_POINTS)
    heads = [(headed(c.label, c.unit), _width(c, rows)) for c in columns]
    page.headers(top - 1, heads, 44)
    for place, column in enumerate(columns):
        page.text(top, place, column.name, "part code")
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


MOST_ACROSS, MOST_DOWN = 60, 400
"""Values of the inputs up to which a matrix can be read."""

_LEAST_FILLED = 0.5
_MOST_LINES, _LEAST_POINTS = 8, 3
_WORST, _MIDDLE, _BEST = "#F4C9A8", "#FFFFFF", "#8FB4DC"


@dataclass(frozen=True)
class Matrix:
    """Two inputs and their values, one down and one across, and the rows where they meet."""

    rows: Rows
    inputs: tuple[Column, Column]
    down: tuple[Any, ...]
    across: tuple[Any, ...]
    places: dict[tuple[Any, Any], int]

    def heading(self, study: Sweep) -> str:
        """Return what the matrix shows."""
        down, across = (column.label for column in self.inputs)
        return f"{headed(goal(study), study.unit)}: down {down}, across {across}"

    def legend(self, study: Sweep) -> str:
        """Return what the colours mean."""
        better = "more" if study.sense == "maximize" else "less"
        return f"Blue is better ({better}), orange is worse; a word says why there is no value."

    def as_lines(self) -> bool:
        """Return whether the matrix can be drawn as a few lines over an input with numbers."""
        few = len(self.across) <= _MOST_LINES and len(self.down) >= _LEAST_POINTS
        return few and numeric(self.rows, self.inputs[0])

    def write(self, page: Stack, study: Sweep) -> int:
        """Write the matrix; return the row of its heads, whose values stand under them."""
        down, across = self.inputs
        top = page.row
        page.text(top, 0, f"{headed(*_named(down))} \\ {headed(*_named(across))}", "header")
        page.sheet.set_row(top, 32)
        style = page.book.formats.get("header", format_of(across, self.across))
        for place, value in enumerate(self.across, start=1):
            if isinstance(value, str):
                page.text(top, place, value, "header")
            else:
                page.sheet.write_number(top, place, value, style)
        numbers = (
            format_of(down, self.down),
            number_format(study.unit, [self._value(at) for at in self.places.values()]),
        )
        for row, value in enumerate(self.down, start=top + 1):
            self._row(page, row, value, numbers)
        page.row = top + 1 + len(self.down)
        self._colour(page, study, top)
        return top

    def _value(self, place: int) -> Any:
        return cell(self.rows, "objective", place)

    def _row(self, page: Stack, row: int, value: Any, numbers: tuple[str, str]) -> None:
        put(page, row, 0, value, numbers[0])
        for column, other in enumerate(self.across, start=1):
            place = self.places.get((value, other))
            if place is None:
                page.number(row, column, None)
            elif self._value(place) is None:
                status = str(cell(self.rows, "status", place))
                page.text(row, column, STATUS.get(status, status), "fixed", "right")
            else:
                page.number(row, column, self._value(place), numbers[1])

    def _colour(self, page: Stack, study: Sweep, top: int) -> None:
        low, high = (_WORST, _BEST) if study.sense == "maximize" else (_BEST, _WORST)
        rule = {"type": "3_color_scale", "min_color": low, "mid_color": _MIDDLE, "max_color": high}
        last = top + len(self.down)
        page.sheet.conditional_format(top + 1, 1, last, len(self.across), rule)


def _named(column: Column) -> tuple[str, str]:
    return column.label, column.unit


def matrix(study: Sweep, rows: Rows, inputs: Sequence[Column]) -> Matrix | None:
    """Return the matrix of two inputs, the one with fewer values across.

    None where there are not two, where they have too many values for a matrix to be read, where
    they hardly ever meet, or where they meet more than once.
    """
    if len(inputs) != 2:
        return None
    values = {c.name: _values(rows, c) for c in inputs}
    across, down = sorted(inputs, key=lambda c: len(values[c.name]))
    sizes = len(values[across.name]), len(values[down.name])
    if sizes[0] > MOST_ACROSS or sizes[1] > MOST_DOWN:
        return None
    places = {
        (cell(rows, down.name, at), cell(rows, across.name, at)): at for at in range(length(rows))
    }
    if len(places) < length(rows) or len(places) < _LEAST_FILLED * sizes[0] * sizes[1]:
        return None
    return Matrix(rows, (down, across), values[down.name], values[across.name], places)


def _values(rows: Rows, column: Column) -> tuple[Any, ...]:
    """Return the values of an input, numbers in their order."""
    distinct = dict.fromkeys(cell(rows, column.name, at) for at in range(length(rows)))
    return tuple(sorted(distinct)) if numeric(rows, column) else tuple(distinct)
