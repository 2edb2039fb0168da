"""The sheets ``Comparison`` and ``Bill``: plans side by side, what differs, and why it matters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from planner.outputs.compare_text import status
from planner.outputs.words import in_money
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.evaluate import Scalar
from planner.outputs.workbook.formats import DECIMAL_1, INTEGER
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.studies import Sheet
from planner.outputs.workbook.studies.stack import number_format, over, put, signed
from planner.schema.comparison import (
    Comparison,
    FigureRow,
    LimitRow,
    LineRow,
    Series,
    Side,
)

BILL_SHEET = "Bill"

_SECTION, _PRODUCT, _FIRST_SERIES = range(3)
_SECTION_WIDTH, _PRODUCT_WIDTH = 17.0, 62.0
_BLOCKS = (("Units", 10.0, INTEGER), ("USD", 15.0, INTEGER), ("IT kW", 11.0, DECIMAL_1))


def add_bill(book: Book, found: Comparison, *, everything: bool = False) -> None:
    """Add the sheet.

    Args:
        book: the workbook.
        found: the comparison.
        everything: whether to list lines that are the same in all, too.
    """
    page = Page(book, BILL_SHEET, "The bills side by side")
    page.text(1, 0, "; ".join(f"{side.key}: {side.source}" for side in found.sides), "subtitle")
    keys = [side.key for side in found.sides]
    page.headers(FIRST_ROW - 2, _titles(keys), 32)
    row = FIRST_ROW - 1
    lines = [line for line in found.lines if everything or not line.equal]
    for line in lines:
        _line(page, row, line, len(keys))
        row += 1
    if not lines:
        page.text(row, _SECTION, "The same in all", "subtitle")
    else:
        page.sheet.autofilter(FIRST_ROW - 2, 0, row - 1, len(_titles(keys)) - 1)
    page.finish(len(_titles(keys)) - 1, (FIRST_ROW - 1, 2))


def _titles(keys: Sequence[str]) -> list[tuple[str, float]]:
    titles = [("Section", _SECTION_WIDTH), ("Product", _PRODUCT_WIDTH)]
    for what, width, _ in _BLOCKS:
        what = in_money(what)
        titles += [(f"{key}\n{what}", width) for key in keys]
        titles += [(f"{key} - {keys[0]}\n{what}", width) for key in keys[1:]]
    return titles


def _line(page: Page, row: int, line: LineRow, sides: int) -> None:
    page.text(row, _SECTION, line.section)
    page.text(row, _PRODUCT, line.product)
    page.grow(row, [(line.product, _PRODUCT_WIDTH)])
    column = _FIRST_SERIES
    parts: tuple[Series, ...] = (line.quantity, line.capex_usd, line.it_power_kw)
    for series, (_, _, number) in zip(parts, _BLOCKS, strict=True):
        for value in series.values:
            put(page, row, column, value, number)
            column += 1
        for change in series.changes[1:sides]:
            put(page, row, column, change, signed(number))
            column += 1


SHEET = "Comparison"

_LABEL, _UNIT, _FIRST = range(3)
_HEADS = 2
"""The row that names the columns; it stays in view and is repeated on every page."""
_LABEL_WIDTH, _UNIT_WIDTH, _WIDTH, _LEAST = 44.0, 13.0, 20.0, 110.0


class _Grid:
    """The sheet in the making: a label, a unit, each plan's value, each change from the first."""

    def __init__(self, page: Page, found: Comparison) -> None:
        self.page = page
        self.keys = [side.key for side in found.sides]
        self.changes = _FIRST + len(self.keys)
        self.last = self.changes + len(self.keys) - 2
        self.row = _HEADS + 1
        # Sentences need room, however few plans there are.
        figures = self.last - _FIRST + 1
        each = max(_WIDTH, (_LEAST - _LABEL_WIDTH - _UNIT_WIDTH) / figures)
        self.widths = [_LABEL_WIDTH, _UNIT_WIDTH, *[each] * figures]
        for column, width in enumerate(self.widths):
            page.sheet.set_column(column, column, width)
        heads = (*self.keys, *(f"{key} - {self.keys[0]}" for key in self.keys[1:]))
        for column, text in enumerate(("", "", *heads)):
            page.text(_HEADS, column, text, "band", "right" if column >= _FIRST else "")

    def heading(self, text: str) -> None:
        """Write a heading after a blank row."""
        self.row += 1
        self.page.fill(self.row, (text,), "heading", self.last + 1)
        self.row += 1

    def sentence(self, text: str, key: str = "") -> None:
        """Write a text over the whole width, or beside a key."""
        if key:
            self.page.text(self.row, _LABEL, key)
        column = _UNIT if key else _LABEL
        over(self.page, self.row, column, self.last, text, sum(self.widths[column:]))
        self.row += 1

    def figures(
        self, label: str, unit: str, values: Sequence[Scalar], changes: Sequence[float | None]
    ) -> None:
        """Write a figure of every plan and its changes from the first."""
        page, number = self.page, number_format(unit, values)
        page.text(self.row, _LABEL, label)
        page.text(self.row, _UNIT, "" if unit == "share" else in_money(unit))
        for place, value in enumerate(values):
            put(page, self.row, _FIRST + place, value, number)
        for place, change in enumerate(changes[1:]):
            put(page, self.row, self.changes + place, change, signed(number))
        texts = [(value, self.widths[_FIRST]) for value in values if isinstance(value, str)]
        page.grow(self.row, [(label, _LABEL_WIDTH), *texts])
        self.row += 1


def sheets(found: Comparison, *, everything: bool = False) -> dict[str, Sheet]:
    """Return what adds each sheet, by its name."""
    return {
        SHEET: partial(add, found=found, everything=everything),
        BILL_SHEET: partial(add_bill, found=found, everything=everything),
    }


def add(book: Book, found: Comparison, *, everything: bool = False) -> None:
    """Add the sheet.

    Args:
        book: the workbook.
        found: the comparison.
        everything: whether to list what is the same in all, too.
    """
    page = Page(book, SHEET, "Plans side by side")
    page.text(1, 0, "All changes are from the first plan. The figures are a record: they do not "
              "follow edits.", "subtitle")  # fmt: skip
    grid = _Grid(page, found)
    grid.heading("Compared")
    for side in found.sides:
        grid.sentence(_describe_side(side), f"{side.key}  {side.source}")
    sources = {side.key: side.source for side in found.sides}
    for each in found.explanations:
        grid.heading(f"What {each.key} changes and why it matters: {sources[each.key]}")
        for text in each.sentences:
            grid.sentence(text)
    _rows(grid, "Inputs", [row for row in found.inputs if everything or not row.equal])
    _rows(grid, "Figures", [row for row in found.figures if everything or not row.equal])
    _limits(grid, [row for row in found.limits if everything or not row.equal])
    page.sheet.repeat_rows(0, _HEADS)
    page.finish(grid.last, (_HEADS + 1, 1))


def _describe_side(side: Side) -> str:
    text = f"{side.problem} ({status(side)})"
    if side.message:
        text += f": {side.message}"
    return f"{text}. Edited: {'; '.join(side.edits)}" if side.edits else text


def _rows(grid: _Grid, title: str, rows: Sequence[FigureRow]) -> None:
    grid.heading(title)
    for row in rows:
        grid.figures(row.label, row.unit, row.series.values, row.series.changes)
    if not rows:
        grid.sentence("The same in all.")


def _limits(grid: _Grid, rows: Sequence[LimitRow]) -> None:
    """Write what each plan reaches of each limit, what it may, and in which it binds."""
    grid.heading("Limits")
    for row in rows:
        binds = [key for key, side in zip(grid.keys, row.sides, strict=True)
                 if side is not None and side.binding]  # fmt: skip
        mark = f" (binds in {', '.join(binds)})" if binds else ""
        reached = [None if side is None else side.value for side in row.sides]
        allowed = [None if side is None else side.limit for side in row.sides]
        _limit(grid, f"{row.label}{mark}", row, reached)
        bound = "at most" if row.sense == "<=" else "at least"
        _limit(grid, f"    allowed {bound}", row, allowed)
    if not rows:
        grid.sentence("The same in all.")


def _limit(grid: _Grid, label: str, row: LimitRow, values: Sequence[float | None]) -> None:
    first = values[0]
    changes = [None if first is None or v is None else v - first for v in values]
    grid.figures(label, row.unit, values, changes)
