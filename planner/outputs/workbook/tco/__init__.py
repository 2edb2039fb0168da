"""The sheet ``TCO``: what the plan costs, at once, year by year, and for what it yields."""

from __future__ import annotations

from typing import Any

from planner.outputs.workbook.book import Book
from planner.outputs.workbook.checkpoint.money import TCO_FLAG
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.tco import ratios as tco_ratios
from planner.outputs.workbook.tco.years import YEAR, YearTable

_LABEL_WIDTH, _WIDTH, _NARROW = 36, 16, 11
_COLUMNS = 11
_CHART_COLUMN, _CHART_ROWS = 5, 20
_INK, _LINE = "#1A1A1A", "#D9D9D9"
_FILLS = ("#1F3A5F", "#9DB7D5", "#5F5F5F", "#C9A66B", "#5B86B5")
"""Colours of neighbours in a stack, dark and light by turns so that they differ in grey."""


def add(book: Book) -> None:
    """Add the sheet, where the edition shows money and there is a plan."""
    if not book.money or book.job is None:
        return
    page = Page(book, "TCO", "Cost of ownership")
    page.banner()
    page.legend()
    page.sheet.set_column(0, 0, _LABEL_WIDTH)
    page.sheet.set_column(1, 1, _NARROW)
    page.sheet.set_column(2, _COLUMNS - 1, _WIDTH)
    page.sheet.repeat_rows(0, FIRST_ROW - 1)
    table = None
    if book.number("tco_usd") is None:
        page.text(FIRST_ROW, 0, _missing(book), "subtitle")
        row = FIRST_ROW + 2
    else:
        table = YearTable(page, FIRST_ROW + 1)
        row = _by_year(page, table) + 1
    under = tco_ratios.add(page, row) + 1
    if table is not None:
        _chart(page, table, row)
        under = max(under, row + _CHART_ROWS)
    page.text(under, 0, "US dollars, net of discounts; without inflation, financing, staff, taxes "
              "and what the equipment is worth at the end.", "subtitle")  # fmt: skip
    page.finish(_COLUMNS - 1, (FIRST_ROW + 1, 1))


def _missing(book: Book) -> str:
    site = book.plan.site
    lacking = [
        text
        for text, value in (
            ("a term (term.years)", site.years),
            ("an electricity price (term.electricity)", site.electricity_usd_per_kwh),
        )
        if value is None
    ]
    what = " and ".join(lacking) or "a figure of a line"
    return f"No cost of ownership over the years: the problem lacks {what}."


def _by_year(page: Page, table: YearTable) -> int:
    """Write the table by year and what it rests on; return the row under it."""
    page.sheet.set_row(FIRST_ROW, 30)
    for title in table.titles:
        page.text(FIRST_ROW, table.column[title], title, "header")
    row = table.write()
    page.text(row, 0, "Year 0 is the purchase; all else is paid at the end of its year, a last "
              "part year in proportion. Term, rates and prices are inputs on Checkpoint.",
              "subtitle")  # fmt: skip
    row += 1
    lacking = "Known part: a line lacks a price or a power draw"
    said = page.flagged(row, 0, TCO_FLAG, ("", lacking), "subtitle")
    return row + 1 if said else row


def _chart(page: Page, table: YearTable, row: int) -> None:
    """Place a stacked column for each year, kind upon kind."""
    chart = page.book.workbook.add_chart({"type": "column", "subtype": "stacked"})
    font = {"name": "Arial", "size": 9, "color": _INK}
    for fill, title in zip(_FILLS, table.kinds, strict=False):
        column = table.column[title]
        chart.add_series(
            {
                "name": title,
                "categories": [page.name, table.first, table.column[YEAR], table.last,
                               table.column[YEAR]],
                "values": [page.name, table.first, column, table.last, column],
                "fill": {"color": fill},
                "border": {"color": "#FFFFFF", "width": 0.5},
                "gap": 60,
            }
        )  # fmt: skip
    million = (page.book.number("capex_usd") or 0.0) >= 1e6
    number, unit = ("#,##0.0,,", "million USD") if million else ("#,##0", "USD")
    discounted = ", not discounted" if table.discounts else ""
    _dress(
        chart, f"Spending by year, {unit}{discounted}", f"Paid in the year, {unit}", number, font
    )
    chart.set_size({"width": 6 * 117 - 14, "height": _CHART_ROWS * 20 - 10})
    page.sheet.insert_chart(row, _CHART_COLUMN, chart)


def _dress(chart: Any, title: str, up: str, number: str, font: dict[str, Any]) -> None:
    chart.set_title({"name": title, "name_font": font | {"size": 11, "bold": True}})
    quiet = {"name_font": font | {"bold": False}, "num_font": font, "line": {"color": _LINE}}
    chart.set_x_axis({"name": "Year of the term (0: purchase)", **quiet})
    grid = {"visible": True, "line": {"color": _LINE, "width": 0.5}}
    chart.set_y_axis({"name": up, "num_format": number, "major_gridlines": grid, **quiet})
    chart.set_legend({"position": "bottom", "font": font})
    chart.set_chartarea({"border": {"color": _LINE}})
