"""What to buy, on the sheet ``Summary``: GPU systems and storage by line, all else by section."""

from __future__ import annotations

from dataclasses import dataclass

from planner.outputs.numbering import Block, Entry, blocks
from planner.outputs.words import product
from planner.outputs.workbook.bom.lines import figure_name, quantity_name
from planner.outputs.workbook.bom.totals import subtotal_name
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.formats import DECIMAL_1, INTEGER, INTEGER_OR_DASH, PERCENT, Role
from planner.outputs.workbook.page import Page
from planner.outputs.workbook.summary.grid import PURCHASE, heading, live, quotient, short

_ITEM, _COUNT, _POWER, _SIDE, _NET = range(PURCHASE, PURCHASE + 5)
_ITEM_LENGTH = 38
_KW, _USD = "bom_it_power_kw", "bom_capex_usd"


@dataclass(frozen=True)
class Sections:
    """Where the table of sections stands, for charts: rows and columns."""

    first: int
    last: int
    names: int = _ITEM
    power: int = _POWER
    net: int = _NET


def add(page: Page, row: int) -> tuple[int, Sections]:
    """Write both tables.

    Args:
        page: the sheet.
        row: their first row.

    Returns:
        The row under them, and where the table of sections stands.
    """
    listed = blocks(page.book.plan)
    row = _core(page, listed, row) + 1
    return _sections(page, listed, row)


def _core(page: Page, listed: list[Block], row: int) -> int:
    """Write a row for each line of GPU systems and storage; return the next free row."""
    _head(page, row, ("What to buy", "Quantity", "IT kW", "Racks"))
    for block in listed:
        if block.section in ("Compute", "Storage"):
            for entry in block.entries:
                row += 1
                _line(page, entry, row)
    return row + 1


def _head(page: Page, row: int, titles: tuple[str, ...]) -> None:
    money = ("Net USD",) if page.book.money else ()
    heading(page, row, PURCHASE, (*titles, *money))


def _line(page: Page, entry: Entry, row: int) -> None:
    book, line = page.book, entry.line
    page.text(row, _ITEM, short(product(line), _ITEM_LENGTH))
    live(page, row, _COUNT, quantity_name(entry.number), INTEGER)
    columns = [(_POWER, "power", DECIMAL_1), (_SIDE, "racks", INTEGER_OR_DASH)]
    if book.money:
        columns.append((_NET, "extended_net", INTEGER))
    for column, key, number in columns:
        live(page, row, column, figure_name(key, entry.number), number)


def _sections(page: Page, listed: list[Block], row: int) -> tuple[int, Sections]:
    """Write a row for each section and their total; return the next free row and the place."""
    _head(page, row, ("All sections", "Lines", "IT kW", "Of power"))
    first = row + 1
    for block in listed:
        row += 1
        names = (subtotal_name(_KW, block.section), subtotal_name(_USD, block.section))
        _sum(page, row, block.section, len(block.entries), names)
    place = Sections(first, row)
    row += 1
    lines = sum(len(block.entries) for block in listed)
    _sum(page, row, "Total", lines, (_KW, _USD), "total")
    return row + 1, place


def _sum(
    page: Page, row: int, label: str, lines: int, names: tuple[str, str], role: Role = "cross"
) -> None:
    """Write what a section, or all of them, draw and cost; ``names`` are of those two sums."""
    book, total = page.book, role == "total"
    page.text(row, _ITEM, label, "total" if total else "text")
    page.number(row, _COUNT, lines, INTEGER, "total" if total else "formula")
    live(page, row, _POWER, names[0], DECIMAL_1, role=role)
    quotient(page, row, _SIDE, names[0], _KW, PERCENT, "total" if total else "formula")
    if book.money:
        live(page, row, _NET, names[1], INTEGER, role=role)


def shows_money(book: Book) -> bool:
    """Return whether some section costs anything, so that a chart of money says something."""
    return book.money and bool(book.number(_USD))
