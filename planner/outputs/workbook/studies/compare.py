"""The sheets ``Comparison`` and ``Bill``: plans side by side, what differs, and why it matters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from planner.outputs.compare_text import status
from planner.outputs.words import in_money
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import DECIMAL_1, INTEGER
from planner.outputs.workbook.functions import Scalar
from planner.outputs.workbook.studies import Sheet
from planner.outputs.workbook.studies.stack import (
    Cell,
    Cells,
    Stack,
    number_format,
    signed,
    write_over,
)
from planner.schema.comparison import (
    Comparison,
    FigureRow,
    LimitRow,
    LineRow,
    Series,
    Side,
)

BILL_SHEET = "Bill"

_SECTION = 0
_SECTION_WIDTH, _PRODUCT_WIDTH = 17.0, 62.0
_BLOCKS = (("Units", 10.0, INTEGER), ("USD", 15.0, INTEGER), ("IT kW", 11.0, DECIMAL_1))


def add_bill(book: Book, found: Comparison, *, everything: bool = False) -> None:
    """Add the sheet.

    Args:
        everything: whether to list lines that are the same in all, too.
    """
    keys = [side.key for side in found.sides]
    titles = _titles(keys)
    page = Stack(book, BILL_SHEET, "The bills side by side", [width for _, width in titles])
    page.text(1, 0, "; ".join(f"{side.key}: {side.source}" for side in found.sides), "subtitle")
    lines = [_line(line, len(keys)) for line in found.lines if everything or not line.equal]
    first = page.table([title for title, _ in titles], lines, height=32)
    if not lines:
        page.text(page.row, _SECTION, "The same in all", "subtitle")
    page.finish(page.last, (first, 2))


def _titles(keys: Sequence[str]) -> list[tuple[str, float]]:
    titles = [("Section", _SECTION_WIDTH), ("Product", _PRODUCT_WIDTH)]
    for what, width, _ in _BLOCKS:
        what = in_money(what)
        titles += [(f"{key}\n{what}", width) for key in keys]
        titles += [(f"{key} - {keys[0]}\n{what}", width) for key in keys[1:]]
    return titles


def _line(line: LineRow, sides: int) -> Cells:
    cells: list[Cell] = [line.section, line.product]
    parts: tuple[Series, ...] = (line.quantity, line.capex_usd, line.it_power_kw)
    for series, (_, _, number) in zip(parts, _BLOCKS, strict=True):
        cells += [(value, number) for value in series.values]
        cells += [(change, signed(number)) for change in series.changes[1:sides]]
    return cells


SHEET = "Comparison"

_LABEL, _UNIT, _FIRST = range(3)
_HEADS = 2
"""The row that names the columns; it stays in view and is repeated on every page."""
_LABEL_WIDTH, _UNIT_WIDTH, _WIDTH, _LEAST = 44.0, 13.0, 20.0, 110.0


class _Grid(Stack):
    """The sheet in the making: a label, a unit, each plan's value, each change from the first."""

    def __init__(self, book: Book, found: Comparison) -> None:
        self.keys = [side.key for side in found.sides]
        heads = (*self.keys, *(f"{key} - {self.keys[0]}" for key in self.keys[1:]))
        # Sentences need room, however few plans there are.
        each = max(_WIDTH, (_LEAST - _LABEL_WIDTH - _UNIT_WIDTH) / len(heads))
        widths = (_LABEL_WIDTH, _UNIT_WIDTH, *[each] * len(heads))
        super().__init__(book, SHEET, "Plans side by side", widths)
        self.row = _HEADS + 1
        for column, text in enumerate(("", "", *heads)):
            self.text(_HEADS, column, text, "band", "right" if column >= _FIRST else "")

    def figures(
        self, label: str, unit: str, values: Sequence[Scalar], changes: Sequence[float | None]
    ) -> None:
        """Write a figure of every plan and its changes from the first."""
        number = number_format(unit, values)
        unit_shown = "" if unit == "share" else in_money(unit)
        cells: list[Cell] = [label, unit_shown]
        cells += [(value, number) for value in values]
        self.line([*cells, *((change, signed(number)) for change in changes[1:])])


def sheets(found: Comparison, *, everything: bool = False) -> dict[str, Sheet]:
    """Return what adds each sheet, by its name."""
    return {
        SHEET: partial(add, found=found, everything=everything),
        BILL_SHEET: partial(add_bill, found=found, everything=everything),
    }


def add(book: Book, found: Comparison, *, everything: bool = False) -> None:
    """Add the sheet.

    Args:
        everything: whether to list what is the same in all, too.
    """
    grid = _Grid(book, found)
    grid.text(1, 0, "All changes are from the first plan. The figures are a record: they do not "
              "follow edits.", "subtitle")  # fmt: skip
    grid.heading("Compared")
    for side in found.sides:
        grid.text(grid.row, _LABEL, f"{side.key}  {side.source}")
        write_over(grid, grid.row, _UNIT, grid.last, _describe_side(side), sum(grid.widths[_UNIT:]))
        grid.row += 1
    sources = {side.key: side.source for side in found.sides}
    for each in found.explanations:
        grid.heading(f"What {each.key} changes and why it matters: {sources[each.key]}")
        grid.sentences(each.sentences)
    _rows(grid, "Inputs", [row for row in found.inputs if everything or not row.equal])
    _rows(grid, "Figures", [row for row in found.figures if everything or not row.equal])
    _limits(grid, [row for row in found.limits if everything or not row.equal])
    grid.sheet.repeat_rows(0, _HEADS)
    grid.finish(grid.last, (_HEADS + 1, 1))


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
        grid.sentences(["The same in all."])


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
        grid.sentences(["The same in all."])


def _limit(grid: _Grid, label: str, row: LimitRow, values: Sequence[float | None]) -> None:
    first = values[0]
    changes = [None if first is None or v is None else v - first for v in values]
    grid.figures(label, row.unit, values, changes)
