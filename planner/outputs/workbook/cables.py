"""The sheet ``Cables``: the cable schedule, one row per link, to be filtered and pulled by."""

from __future__ import annotations

from planner.outputs.cables import cells
from planner.outputs.words import NETWORKS
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.formats import GENERAL, INTEGER
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.schema.cables import CableSchedule

SHEET = "Cables"
_TITLES = (
    ("Cable", 8.0), ("Network", 24.0), ("From", 28.0), ("Rack", 7.0), ("RU", 6.0), ("Port", 13.0),
    ("To", 28.0), ("Rack", 7.0), ("RU", 6.0), ("Port", 9.0), ("SKU", 22.0), ("Model", 30.0),
    ("Part number", 19.0), ("Medium", 22.0), ("Length, m", 10.0),
    ("Ordered, m", 10.0), ("From position", 14.0), ("To position", 14.0),
)  # fmt: skip
_NETWORK = 1


def add(book: Book, schedule: CableSchedule) -> None:
    """Add the sheet."""
    page = Page(book, SHEET, "Cable schedule")
    notes = ["As solved: edited quantities change nothing here.", *schedule.notes]
    page.text(FIRST_ROW - 3, 0, "; ".join(notes), "subtitle")
    page.headers(FIRST_ROW, _TITLES, 20)
    row = FIRST_ROW
    for row, cable in enumerate(schedule.cables, start=FIRST_ROW + 1):
        for column, value in enumerate(cells(cable)):
            if column == _NETWORK:
                page.text(row, column, NETWORKS[cable.network])
            elif value is None or isinstance(value, str):
                page.text(row, column, value or "")
            else:
                page.number(row, column, value, INTEGER if isinstance(value, int) else GENERAL)
    last = len(_TITLES) - 1
    page.sheet.autofilter(FIRST_ROW, 0, row, last)
    page.finish(last, (FIRST_ROW + 1, 3))
