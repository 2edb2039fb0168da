"""The sheet ``Summary``: the plan on one page, for whoever reads nothing else."""

from __future__ import annotations

from planner.outputs.workbook.book import Book
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.summary import bill as summary_bill
from planner.outputs.workbook.summary import charts as summary_charts
from planner.outputs.workbook.summary import figures as summary_figures
from planner.outputs.workbook.summary import limits as summary_limits
from planner.outputs.workbook.summary.grid import LAST, LIMITS, widths


def add(book: Book) -> None:
    """Add the sheet; its figures are read from the sheets that work them out."""
    page = Page(book, "Summary", "Summary")
    page.banner()
    page.sheet.repeat_rows(0, FIRST_ROW - 1)
    if book.job is None:
        text = "No plan: " + (book.plan.message or book.plan.status)
        page.text(FIRST_ROW, 0, text, "subtitle")
        page.finish(LAST, (FIRST_ROW, 0))
        return
    page.legend()
    for column, width in enumerate(widths(book.money)):
        page.sheet.set_column(column, column, width)
    _tables(page)
    page.finish(LAST, (FIRST_ROW, 0))
    page.sheet.fit_to_pages(1, 1)


def _tables(page: Page) -> None:
    under_bill, sections = summary_bill.add(page, FIRST_ROW)
    under_limits = summary_limits.add(page, FIRST_ROW)
    under_losses, losses = summary_limits.add_losses(page, under_limits + 1)
    row = max(summary_figures.add(page, FIRST_ROW), under_bill, under_losses) + 1
    summary_charts.add(page, row, losses, sections)
    row += summary_charts.ROWS
    page.text(row, 0, "Figures and charts follow edited quantities and inputs; what is said to be "
              "as solved does not.", "subtitle")  # fmt: skip
    page.text(row, LIMITS, summary_limits.binding(page.book), "subtitle")
    for written in range(FIRST_ROW, row + 1):
        page.sheet.set_row(written, summary_charts.ROW_HEIGHT)
