"""The sheet ``Alternatives``: storage sized by vendors' rules instead, for the same GPUs, live."""

from __future__ import annotations

from planner.outputs.workbook.alternatives.buys import ADDED, FED, add_buys
from planner.outputs.workbook.alternatives.charts import ROWS, add_gain_chart, add_power_chart
from planner.outputs.workbook.alternatives.sizings import F6, LABEL, NOTE, WIDTHS, sizings
from planner.outputs.workbook.alternatives.storage import find_lines
from planner.outputs.workbook.alternatives.takes import STORAGE_KW, add_takes
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.page import BANNER_ROW, FIRST_ROW
from planner.outputs.workbook.sensitivity.page import GridPage

_TITLE = "Alternatives: storage by the vendors' rules, for the same GPUs"
_INTRODUCTION = (
    "Here GPUs and interval stay as they are and only the number of appliances differs: nothing on "
    "this sheet is optimised again. All figures follow every edit of the workbook.",
    "Counted are the appliances alone: what they need besides (switch ports, cables, racks, "
    "software, support) is not.",
)


def add(book: Book) -> None:
    """Add the sheet, where there is storage whose appliances can be counted."""
    lines = find_lines(book) if book.job is not None else None
    if lines is None:
        return
    page = GridPage(book, "Alternatives", _TITLE, WIDTHS)
    page.banner()
    page.legend()
    for place, text in enumerate(_INTRODUCTION):
        page.text(FIRST_ROW + place, LABEL, text, "subtitle")
    listed = sizings(book, lines)
    first, taken = add_takes(page, lines, listed, FIRST_ROW + 3)
    second = add_buys(page, lines, listed, taken, first + len(listed) + 1)
    at = second + len(listed) + 1
    if lines.storage.line.unit_it_power_kw is not None:
        add_power_chart(page, first, first + len(listed) - 1, STORAGE_KW, (at, LABEL))
        if lines.systems.line.unit_it_power_kw is not None:
            rows = (second + 1, second + len(listed) - 1)
            add_gain_chart(page, *rows, (ADDED, FED), (at, F6))
        # The print area ends with the last cell, so the charts get one under them.
        page.text(at + ROWS, LABEL, " ", "subtitle")
        page.sheet.set_h_pagebreaks([at])
    page.sheet.repeat_rows(0, BANNER_ROW)
    page.finish(NOTE, (FIRST_ROW, 1))
