"""The sheet ``Bill``: the units, money and power of every line in each of the plans compared."""

from __future__ import annotations

from collections.abc import Sequence

from planner.outputs.workbook.book import Book
from planner.outputs.workbook.formats import DECIMAL_1, INTEGER
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.studies.grid import put, signed
from planner.schema.comparison import Comparison, LineRow, Series

SHEET = "Bill"

_SECTION, _PRODUCT, _FIRST = range(3)
_SECTION_WIDTH, _PRODUCT_WIDTH = 17.0, 62.0
_BLOCKS = (("Units", 10.0, INTEGER), ("USD", 15.0, INTEGER), ("IT kW", 11.0, DECIMAL_1))


def add(book: Book, found: Comparison, *, everything: bool = False) -> None:
    """Add the sheet.

    Args:
        book: the workbook.
        found: the comparison.
        everything: whether to list lines that are the same in all, too.
    """
    page = Page(book, SHEET, "The bills side by side")
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
        titles += [(f"{key}\n{what}", width) for key in keys]
        titles += [(f"{key} - {keys[0]}\n{what}", width) for key in keys[1:]]
    return titles


def _line(page: Page, row: int, line: LineRow, sides: int) -> None:
    page.text(row, _SECTION, line.section)
    page.text(row, _PRODUCT, line.product)
    page.grow(row, [(line.product, _PRODUCT_WIDTH)])
    column = _FIRST
    parts: tuple[Series, ...] = (line.quantity, line.capex_usd, line.it_power_kw)
    for series, (_, _, number) in zip(parts, _BLOCKS, strict=True):
        for value in series.values:
            put(page, row, column, value, number)
            column += 1
        for change in series.changes[1:sides]:
            put(page, row, column, change, signed(number))
            column += 1
