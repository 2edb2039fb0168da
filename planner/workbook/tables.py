"""Further sheets: what a study says, as texts, plain tables and pictures, one below the other.

They are records: nothing in them follows an edit.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, BinaryIO

from pydantic import BaseModel

from planner.currency import currency_among
from planner.figures import capital
from planner.report.blocks import Block, Column, Facts, Heading, Table, Text, Value
from planner.report.edition import currency_of
from planner.report.exports import CABLE_COLUMNS, cable_cells
from planner.report.words import titled
from planner.schema.plan import CableSchedule
from planner.workbook.book import GREY, INK, THIN, Book, Sheet, height

_FIRST, _FIGURE, _WIDEST, _MOST_COLUMNS = 34.0, 15.0, 48.0, 60
_PIXELS_OF_A_ROW = 20
_MOST_ROWS = 1_000_000
"""A sheet has a few more."""


def add(book: Book, name: str, blocks: Iterable[Block], pictures: Sequence[bytes] = ()) -> None:
    """Add a sheet of blocks, the pictures below the first texts.

    Args:
        name: of the sheet.
        blocks: of a record in the currency of the workbook.
        pictures: as PNG.
    """
    found = [each for each in blocks if not isinstance(each, Table) or each.count]
    tables = [each for each in found if isinstance(each, Table)]
    taken = [each.get_name() for each in book.file.worksheets()]
    several = sum(each.rstrip(" 0123456789") == name for each in taken)
    name = f"{name} {several + 1}" if several else name
    sheet = Sheet(book, name, _widths(tables), landscape=True, locked=False)
    title = next((each.text for each in found if isinstance(each, Heading)), name)
    sheet.head(title, "A record of a study: it follows no edit.")
    waiting = list(pictures)
    for block in found:
        if isinstance(block, Text):
            _texts(sheet, block)
        elif isinstance(block, Facts):
            _texts(sheet, Text(tuple(f"{a}: {b}" if a else b for a, b in block.shown), block.title))
        elif isinstance(block, Table):
            while waiting:
                _picture(sheet, waiting.pop(0))
            write_table(sheet, block, alone=len(tables) == 1)
    for picture in waiting:
        _picture(sheet, picture)
    sheet.area(0, sheet.at)


def _widths(tables: Sequence[Table]) -> list[float]:
    """The widths of the columns that all tables of a sheet share."""
    found = [_FIRST, *[_FIGURE] * 5]
    for table in tables:
        for at, column in enumerate(table.columns[:_MOST_COLUMNS]):
            texts = [len(each) for each in column.values if isinstance(each, str)]
            width = min(_WIDEST, max([_FIGURE, *(1.1 * length + 2 for length in texts)]))
            if at < len(found):
                found[at] = max(found[at], width)
            else:
                found.append(width)
    return found


def _texts(sheet: Sheet, block: Text) -> None:
    if not any(block.texts):
        return
    if block.title:
        sheet.heading(block.title)
    for text in block.texts:
        if text:
            sheet.text(text, font_color=GREY)
    sheet.at += 1


def write_table(sheet: Sheet, table: Table, *, alone: bool = False) -> None:
    """Write a table from the sheet's next free row; one that is alone there has a filter."""
    book, columns = sheet.book, table.columns
    if table.title:
        sheet.heading(table.title)
    top = sheet.at
    heads = [_head(column) for column in columns]
    sheet.page.set_row(top, max(height(text, _width(sheet, at)) for at, text in enumerate(heads)))
    for at, (column, text) in enumerate(zip(columns, heads, strict=True)):
        left = _is_text(column)
        style = book.look(
            "wrap",
            bold=True,
            font_color=INK,
            bottom=2,
            bottom_color=INK,
            align="left" if left else "right",
            indent=1 if left else 0,
        )
        sheet.put(top, at, text, style)
    sheet.at += 1
    looks = [_look(column) for column in columns]
    for row in zip(*(column.values for column in columns), strict=True):
        if sheet.at >= _MOST_ROWS:
            break
        _row(sheet, row, looks)
    if alone and sheet.at > top + 1:
        sheet.page.autofilter(top, 0, sheet.at - 1, len(columns) - 1)
    for text in filter(None, table.notes):
        sheet.text(text, font_size=9, font_color=GREY)
    sheet.at += 1


def _row(sheet: Sheet, row: Sequence[Value], looks: Sequence[str]) -> None:
    tall = 15.0
    for at, (value, look) in enumerate(zip(row, looks, strict=True)):
        words = isinstance(value, str)
        sheet.write(sheet.at, at, value, sheet.book.look("wrap" if words else look, **THIN))
        if isinstance(value, str):
            tall = max(tall, height(value, _width(sheet, at)))
    if tall > 15.0:
        sheet.page.set_row(sheet.at, tall)
    sheet.at += 1


def _width(sheet: Sheet, column: int) -> float:
    return sheet.widths[column] if column < len(sheet.widths) else _FIGURE


def _is_text(column: Column) -> bool:
    return column.words or any(isinstance(value, str) for value in column.values)


def _head(column: Column) -> str:
    alone = column.unit in ("USD", "USD/year", "s")
    money = currency_among(column.values)
    label = (
        f"{column.label}, {money.named(column.unit)}"
        if alone
        else titled(column.label, column.unit, money)
    )
    return capital(label)


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
    sheet.page.insert_image(
        sheet.at,
        0,
        "chart.png",
        {
            "image_data": io.BytesIO(data),
            "x_scale": scale,
            "y_scale": scale,
            "object_position": 2,
        },
    )
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
