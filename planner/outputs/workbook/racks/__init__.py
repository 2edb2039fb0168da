"""The sheet ``Racks``: drawn racks, every device over its RUs, and a table of all of them."""

from __future__ import annotations

from collections.abc import Sequence

from planner.outputs.workbook.book import Book
from planner.outputs.workbook.page import BANNER_ROW, FIRST_ROW, Page
from planner.outputs.workbook.racks import table as racks_table
from planner.outputs.workbook.racks.drawing import Drawing
from planner.outputs.workbook.racks.grid import (
    LAST_COLUMN,
    SCALE_PERCENT,
    row_height,
    widths,
)
from planner.outputs.workbook.racks.layout import bands, drawn, rows
from planner.schema.plan import RackGroup

_NOTE_ROW, _LEGEND_ROW = FIRST_ROW - 2, FIRST_ROW - 1
_FIRST_BAND = FIRST_ROW + 1
_HEIGHT_ABOVE = 24 + 15.0 * (_FIRST_BAND - 1)
_PAPER_A4 = 9


def add(book: Book) -> None:
    """Add the sheet, where the plan places anything."""
    if not book.plan.racks:
        return
    page = Page(book, "Racks", "Racks")
    page.banner()
    for column, width in enumerate(widths()):
        page.sheet.set_column(column, column, width)
    groups = drawn(book.plan.racks)
    tallest = max(rows(group) for group in groups)
    height, own_page = row_height(tallest, _HEIGHT_ABOVE)
    drawing = Drawing(page, height)
    drawing.legend(groups, _LEGEND_ROW)
    breaks = [_FIRST_BAND] if own_page else []
    row = _FIRST_BAND
    for band in bands(groups):
        row = drawing.band(band, row)
        breaks.append(row)
    _note(page, groups, row)
    racks_table.write(page, row)
    page.finish(LAST_COLUMN, (BANNER_ROW + 1, 0), SCALE_PERCENT)
    page.sheet.set_paper(_PAPER_A4)
    page.sheet.set_h_pagebreaks(breaks)


def _note(page: Page, groups: Sequence[RackGroup], table_row: int) -> None:
    """Say how to read the drawings, what they leave out, and where the table is."""
    every = page.book.plan.racks
    parts = ["As solved, from the front; RU 1 is the lowest. Edited quantities move nothing here."]
    if len(groups) < len(every):
        shown, count = (sum(group.count for group in some) for some in (groups, every))
        parts.append(
            f"Drawn are the {len(groups)} commonest of {len(every):,} kinds of content, "
            f"{shown:,} of {count:,} racks; the table holds all."
        )
    page.text(_NOTE_ROW, 0, " ".join(parts), "subtitle")
    link = f"internal:'{page.name}'!A{table_row + 1}"
    style = page.book.formats.get("subtitle", align="right")
    page.sheet.write_url(1, LAST_COLUMN, link, style, f"Table of all racks: row {table_row + 1}")
