"""The sheet ``Assumptions``: every input that the plan rests on, and where it comes from."""

from __future__ import annotations

from planner.outputs.workbook.book import Book, Scalar
from planner.outputs.workbook.formats import GENERAL
from planner.outputs.workbook.page import FIRST_ROW, Page

_COLUMNS = (
    ("Input", 40),
    ("Value", 18),
    ("Unit", 13),
    ("Source", 42),
    ("Date", 12),
    ("Confidence", 12),
    ("Note", 44),
    ("Id", 40),
)
_LAST = len(_COLUMNS) - 1


def add(book: Book) -> None:
    """Add the sheet."""
    page = Page(book, "Assumptions", "Assumptions")
    page.banner()
    page.headers(FIRST_ROW, _COLUMNS, 20)
    row = _assumptions(page, FIRST_ROW + 1)
    if book.plan.assumptions:
        page.sheet.autofilter(FIRST_ROW, 0, row - 1, _LAST)
    else:
        page.text(row, 0, "The plan states none.", "subtitle")
    page.finish(_LAST, (FIRST_ROW + 1, 1))


def _assumptions(page: Page, row: int) -> int:
    for entry in page.book.plan.assumptions:
        page.text(row, 0, entry.label)
        _value(page, row, entry.value)
        texts = (entry.unit, entry.source, entry.date, entry.confidence, entry.note, entry.name)
        for column, text in enumerate(texts, start=2):
            page.text(row, column, text or "")
        shown = (entry.label, str(entry.value), *(text or "" for text in texts))
        page.grow(row, zip(shown, (width for _, width in _COLUMNS), strict=True))
        row += 1
    return row


def _value(page: Page, row: int, value: Scalar) -> None:
    if isinstance(value, str):
        page.text(row, 1, value, align="right")
    else:
        page.number(row, 1, value, GENERAL)
