"""The sheet ``Sensitivity``: this purchase under other conditions, live; nothing is solved again.

`sensitivity_model` holds the formulas of one condition, the other modules the tables that use it.
"""

from __future__ import annotations

from planner.outputs.workbook.book import Book
from planner.outputs.workbook.page import BANNER_ROW, FIRST_ROW
from planner.outputs.workbook.sensitivity.page import NOTE, WIDTHS, GridPage
from planner.outputs.workbook.sensitivity.power import add_power
from planner.outputs.workbook.sensitivity.sweeps import add_bandwidth, add_interval
from planner.outputs.workbook.sensitivity.tables import add_answers, add_questions

_TITLE = "Sensitivity: this purchase under other conditions"
_INTRODUCTION = (
    "The purchase stays as it is on BOM: nothing on this sheet is optimised again, and another "
    "purchase may suit other conditions better. All figures follow every edit of the workbook."
)


def add(book: Book) -> None:
    """Add the sheet, where there is a plan to ask about."""
    if book.job is None:
        return
    page = GridPage(book, "Sensitivity", _TITLE, WIDTHS)
    page.banner()
    page.legend()
    page.text(FIRST_ROW, 0, _INTRODUCTION, "subtitle")
    asked, row = add_questions(page, FIRST_ROW + 2)
    answers = add_interval(page, add_bandwidth(page, row))
    add_power(page, add_answers(page, asked, answers))
    page.sheet.set_h_pagebreaks([row - 1, answers - 1])
    page.sheet.repeat_rows(0, BANNER_ROW)
    page.finish(NOTE, (FIRST_ROW, 1))
