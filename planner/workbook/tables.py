"""Blocks as sheets: records of studies and plans, and requests to vendors to fill in.

Records follow no edit.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, BinaryIO

from pydantic import BaseModel

from planner.currency import USD, currency_among
from planner.figures import capital
from planner.report.blocks import Block, Column, Facts, Heading, Table, Text, Value
from planner.report.edition import currency_of
from planner.report.exports import CABLE_COLUMNS, cable_cells
from planner.schema.plan import CableSchedule
from planner.workbook.book import Book, Sheet, height
from planner.workbook.live import if_, is_number, sum_

_FIRST, _FIGURE, _WIDEST, _MOST_COLUMNS = 34.0, 15.0, 48.0, 60
_PIXELS_OF_A_ROW = 20
_MOST_ROWS = 1_000_000
"""A sheet has a few more."""


def add(book: Book, name: str, blocks: Iterable[Block], pictures: Sequence[bytes] = ()) -> None:
    """Add a sheet of blocks.

    Args:
        name: of the sheet.
        blocks: of a record in the currency of the workbook.
        pictures: as PNG.
    """
    found = list(blocks)
    taken = [each.get_name() for each in book.file.worksheets()]
    several = sum(each.rstrip(" 0123456789") == name for each in taken)
    name = f"{name} {several + 1}" if several else name
    sheet = Sheet(book, name, _widths(found), landscape=True, locked=False)
    title = next((each.text for each in found if isinstance(each, Heading)), name)
    sheet.head(title, "A record of a study: it follows no edit.")
    write_blocks(sheet, found, pictures)


def _widths(blocks: Sequence[Block]) -> list[float]:
    """The widths of the columns that all tables of a sheet share."""
    found = [_FIRST, *[_FIGURE] * 5]
    for table in (block for block in blocks if isinstance(block, Table)):
        columns = table.columns[:_MOST_COLUMNS]
        found += [_FIGURE] * (len(columns) - len(found))
        for at, column in enumerate(columns):
            texts = [len(each) for each in column.values if isinstance(each, str)]
            found[at] = min(_WIDEST, max([found[at], *(1.1 * length + 2 for length in texts)]))
    return found


def write_blocks(sheet: Sheet, blocks: Iterable[Block], pictures: Sequence[bytes] = ()) -> None:
    """Write texts and tables one below the other, pictures before the first table."""
    found = [each for each in blocks if not isinstance(each, Table) or each.count]
    alone = sum(isinstance(each, Table) for each in found) == 1
    waiting = list(pictures)
    for block in found:
        if isinstance(block, Facts):
            shown = tuple(f"{a}: {b}" if a else b for a, b in block.shown)
            block = Text(shown, block.title)
        if isinstance(block, Text) and any(block.texts):
            _texts(sheet, block)
        elif isinstance(block, Table):
            while waiting:
                _picture(sheet, waiting.pop(0))
            _table(sheet, block, alone=alone)
    for picture in waiting:
        _picture(sheet, picture)
    sheet.area(0, sheet.at)


def _texts(sheet: Sheet, block: Text) -> None:
    if block.title:
        sheet.heading(block.title)
    for text in filter(None, block.texts):
        sheet.text(text)
    sheet.at += 1


def _table(sheet: Sheet, table: Table, *, alone: bool) -> None:
    """Write a table; one that is alone on its sheet has a filter."""
    columns = table.columns
    if table.title:
        sheet.heading(table.title)
    top, heads = sheet.at, [_head(column) for column in columns]
    sheet.page.set_row(top, max(height(text, _width(sheet, at)) for at, text in enumerate(heads)))
    for at, (column, text) in enumerate(zip(columns, heads, strict=True)):
        left = column.words or any(isinstance(value, str) for value in column.values)
        side: dict[str, Any] = (
            {"align": "left", "indent": 1} if left else {"align": "right", "indent": 0}
        )
        sheet.put(top, at, text, sheet.book.look("wrap", "under", **side))
    sheet.at += 1
    looks = [_look(column) for column in columns]
    for row in zip(*(column.values for column in columns), strict=True):
        if sheet.at >= _MOST_ROWS:
            break
        _row(sheet, row, looks)
    if alone and sheet.at > top + 1:
        sheet.page.autofilter(top, 0, sheet.at - 1, len(columns) - 1)
    for text in filter(None, table.notes):
        sheet.text(text, "note")
    sheet.at += 1


def _row(sheet: Sheet, row: Sequence[Value], looks: Sequence[str]) -> None:
    tall = 15.0
    for at, (value, look) in enumerate(zip(row, looks, strict=True)):
        words = isinstance(value, str)
        sheet.write(sheet.at, at, value, sheet.book.look("wrap" if words else look, "line"))
        tall = max(tall, height(str(value), _width(sheet, at))) if words else tall
    if tall > 15.0:
        sheet.page.set_row(sheet.at, tall)
    sheet.at += 1


def _width(sheet: Sheet, column: int) -> float:
    return sheet.widths[column] if column < len(sheet.widths) else _FIGURE


def _head(column: Column) -> str:
    unit = currency_among(column.values).named(column.unit)
    clear = unit in ("", "share") or unit.casefold() in column.label.casefold()
    return capital(column.label if clear else f"{column.label}, {unit}")


def _look(column: Column) -> str:
    """The look of the figures of a column."""
    numbers = [abs(each) for each in column.values if isinstance(each, (int, float))]
    if column.unit == "share":
        return "pct2"
    if column.unit.startswith("USD") and max(numbers, default=0.0) >= 10_000:
        return "usd"
    if all(float(number).is_integer() for number in numbers):
        return "n0"
    least = min((each for each in numbers if each), default=1.0)
    return "n1" if least >= 100 else "n2" if least >= 0.1 else "any"


def _picture(sheet: Sheet, data: bytes) -> None:
    """Place a picture as wide as half a page."""
    wide, high = struct.unpack(">II", data[16:24])
    scale = 760 / wide
    options = {"image_data": io.BytesIO(data), "x_scale": scale, "y_scale": scale}
    sheet.page.insert_image(sheet.at, 0, "chart.png", {**options, "object_position": 2})
    sheet.at += round(high * scale / _PIXELS_OF_A_ROW) + 2


def cable_blocks(schedule: CableSchedule) -> Iterator[Block]:
    """Yield the cable schedule: its notes, and a row for each link."""
    yield Heading("Cable schedule")
    yield Text(("As planned: an edited quantity changes nothing here.", *schedule.notes))
    rows = [cable_cells(cable) for cable in schedule.cables]
    columns = (
        Column(capital(name.replace("_", " ")), tuple(row[at] for row in rows))
        for at, name in enumerate(CABLE_COLUMNS)
    )
    yield Table("", tuple(columns))


def sweep_table(study: Any, rows: Mapping[str, Sequence[Value]]) -> Table:
    """The scenarios of a sweep, a row each."""
    columns = (Column(each.label, tuple(rows[each.name]), each.unit) for each in study.columns)
    return Table("Scenarios", tuple(columns))


def write_study(
    stream: BinaryIO, record: BaseModel, sheets: Iterable[Any], *, created: datetime, title: str
) -> None:
    """Write a workbook of the sheets of studies; the same input and date give the same bytes.

    Args:
        record: the record of the first sheet, whose currency the workbook has.
        sheets: what adds each sheet, in reading order.
    """
    book = Book(stream, title, created, currency_of(record))
    for add_sheet in sheets:
        add_sheet(book)
    book.close()


# A request to vendors: its needs, and sheets with the headers that `planner quote import` reads.

_HEAD, _LINES = 5, 6
"""Row of the headers of the answer, and empty lines to answer in for each part."""
Heads = Sequence[tuple[str, float]]
"""The headers of a sheet to fill in, with the width of each column."""


def write_request(
    stream: BinaryIO,
    title: str,
    needs: Iterable[Block],
    parts: Sequence[str],
    columns: Heads,
    questions: Heads,
    *,
    created: datetime,
) -> None:
    """Write a request for quotes; the same input and date give the same bytes.

    Args:
        needs: all that vendors must know; no product, no budget and no other vendor.
        parts: names of the things to offer, under which lines are open.
        columns: of the sheet of prices.
        questions: columns of the sheet of products.
    """
    book = Book(stream, title, created, USD)
    sheet = Sheet(book, "Request", (100,), locked=False)
    sheet.head(title, "Answer on the sheets Quote and Products.")
    write_blocks(sheet, needs)
    _answers(_form(book, "Quote", columns, _HEAD), parts, [label for label, _ in columns])
    products = _form(book, "Products", questions, 0)
    for row in range(1, 1 + 4 * _LINES):
        products.fill(row, book.look("text", "open", "line"))
    book.close()


def _form(book: Book, name: str, heads: Heads, row: int) -> Sheet:
    sheet = Sheet(book, name, [width for _, width in heads], landscape=True, locked=False)
    look = book.look("wrap", "section")
    for column, (label, _) in enumerate(heads):
        sheet.put(row, column, label, look)
    sheet.page.freeze_panes(row + 1, 0)
    sheet.at = row + 1
    return sheet


def _answers(sheet: Sheet, parts: Sequence[str], labels: Sequence[str]) -> None:
    """Write the open lines of each part, with the amount of each and their sum."""
    book, bold = sheet.book, sheet.book.look(bold=True)
    opened, money = book.look("text", "open", "line"), book.look("cents", "open", "line")
    for row, label in enumerate(("Vendor", "Quote Date", "Valid until", "Currency")):
        sheet.put(row, 0, label, bold)
        sheet.put(row, 2, None, opened)
    names = ("Qty", "Unit List Price", "Discount %", "Unit Net Price", "Ext. Net Price")
    at, first = [labels.index(name) for name in names], sheet.at
    for number, part in enumerate(parts, 1):
        sheet.put(sheet.at, 0, f"{number} {part}", bold)
        for row in range(sheet.at + 1, sheet.at + 1 + _LINES):
            sheet.fill(row, opened)
            quantity, off = (sheet.put(row, column, None, opened) for column in (at[0], at[2]))
            price = sheet.put(row, at[1], None, money)
            paid = if_(is_number(price), price * (1 - off / 100), "")
            net = sheet.put(row, at[3], paid, money)
            both = if_(is_number(net), quantity * net, "")
            sheet.put(row, at[4], if_(is_number(quantity), both, ""), money)
        sheet.at += _LINES + 1
    sheet.put(sheet.at, 2, "Total", bold)
    span = sheet.span(first, sheet.at - 1, at[4])
    sheet.put(sheet.at, at[4], sum_([], span), book.look("cents", bold=True))
