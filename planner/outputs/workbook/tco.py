"""The sheet ``TCO``: what the plan costs, at once, year by year, and for what it yields."""

from __future__ import annotations

import math
from typing import Any

from xlsxwriter.utility import xl_rowcol_to_cell

from planner import currency
from planner.figures import FIGURES
from planner.outputs import scope
from planner.outputs.words import in_money
from planner.outputs.workbook import formulas
from planner.outputs.workbook.bom import subtotal_name
from planner.outputs.workbook.bom.columns import SPANS
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import (
    DECIMAL_2,
    GENERAL,
    INTEGER,
    INTEGER_OR_DASH,
    PERCENT,
    PERCENT_OR_DASH,
    Role,
    in_large,
    paid,
)
from planner.outputs.workbook.checkpoint.money import TCO_FLAG
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.rows import UNKNOWN

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
    under = _add_ratios(page, row) + 1
    if table is not None:
        _chart(page, table, row)
        under = max(under, row + _CHART_ROWS)
    taxes = "other taxes" if scope.may_have_taxes(book.plan) else "taxes"
    left_out = f"inflation, financing, staff, {taxes} and what the equipment is worth at the end"
    text = f"{currency.current().name}, net of discounts; without {left_out}."
    page.text(under, 0, text, "subtitle")
    page.finish(_COLUMNS - 1, (FIRST_ROW + 1, 1))


def _missing(book: Book) -> str:
    site = book.plan.site
    lacking = [
        text
        for text, value in (
            ("a term (term.years)", site.years),
            ("a price of electricity (term.electricity)", site.electricity_usd_per_kwh),
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
    text = page.flagged(row, 0, TCO_FLAG, ("", lacking), "subtitle")
    return row + 1 if text else row


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
    million = (page.book.number("capex_usd") or 0.0) >= currency.current().large[0]
    number, unit = in_large() if million else ("#,##0", in_money("USD"))
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


YEAR, COUNTED, CAPEX, SUPPORT = "Year", "Years counted", "Capex", "Support"
TOGETHER, FACTOR, DISCOUNTED, CUMULATIVE = (
    "Together", "Discount factor", "Discounted", "Cumulative",
)  # fmt: skip
_YEARLY = (
    ("Subscriptions", "subscriptions_usd_per_year"),
    ("Energy", "energy_usd_per_year"),
    ("Colocation", "colocation_usd_per_year"),
)
_YEARS_OR_DASH = '0.00;-0.00;"–"'
_FACTOR_FORMAT = "0.0000"
_FEWEST_YEARS, _MORE_YEARS = 5, 2
_AMOUNT, _SINCE, _UNTIL = (f"bom_{key}_column" for key in SPANS)


class YearTable:
    """A row for the purchase, for each year, and for all years later than those.

    The last one keeps the table right for any term. Columns are those of what the plan pays.
    """

    def __init__(self, page: Page, first: int) -> None:
        self.page, self.first = page, first
        book, term = page.book, page.book.plan.site.years
        assert term is not None
        self.years = max(_FEWEST_YEARS, math.ceil(term) + _MORE_YEARS)
        self.yearly = [entry for entry in _YEARLY if book.has(entry[1])]
        self.discounts = book.has("discount_rate")
        self.kinds = [CAPEX, SUPPORT, *(title for title, _ in self.yearly)]
        more = [FACTOR, DISCOUNTED] if self.discounts else []
        self.titles = [YEAR, COUNTED, *self.kinds, TOGETHER, *more, CUMULATIVE]
        self.column = {title: index for index, title in enumerate(self.titles)}
        self.last = first + self.years + 1
        self._by_line = book.has("bom_support_usd_over_term")

    def at(self, row: int, title: str) -> str:
        """Return the address of a cell."""
        return str(xl_rowcol_to_cell(row, self.column[title]))

    def write(self) -> int:
        """Write all rows, their sums and how these compare with ``Checkpoint``.

        Returns:
            The row under them.
        """
        for year in range(self.years + 2):
            self._row(self.first + year, year)
        row = self.last + 1
        for title in self.titles:
            self.page.text(row, self.column[title], "Total" if title == YEAR else "", "total")
        for title in (*self.kinds, TOGETHER, *((DISCOUNTED,) if self.discounts else ())):
            cells = f"{self.at(self.first, title)}:{self.at(self.last, title)}"
            text = f'IF(COUNT({cells})={self.years + 2},SUM({cells}),"{UNKNOWN}")'
            self._put(row, title, text, paid(INTEGER_OR_DASH), "total")
        return self._reconcile(row)

    def _reconcile(self, total_row: int) -> int:
        """Compare the total with the TCO that ``Checkpoint`` works out in one step."""
        counted = DISCOUNTED if self.discounts else TOGETHER
        self.page.define("tco_by_year_usd", total_row, self.column[counted])
        row = total_row + 1
        self.page.text(row, 0, "TCO in one step, on Checkpoint", "subtitle")
        self._put(row, counted, "tco_usd", paid(DECIMAL_2), "cross")
        row += 1
        self.page.text(row, 0, "Difference to the total by year", "subtitle")
        self._put(row, counted, "ROUND(tco_by_year_usd-tco_usd,2)", paid(DECIMAL_2), plan=0.0)
        self.page.define("tco_difference_usd", row, self.column[counted])
        return row + 1

    def _put(
        self,
        row: int,
        title: str,
        formula: str,
        number: str,
        role: Role = "formula",
        plan: float | None = None,
    ) -> None:
        text = f'=IFERROR({formula},"{UNKNOWN}")'
        self.page.formula(row, self.column[title], text, number, role, "right", plan=plan)

    def _row(self, row: int, year: int) -> None:
        """Write the purchase (year 0), a year, or all later ones."""
        formats = self.page.book.formats
        if year > self.years:
            self.page.text(row, 0, f"{year} and later", "formula", "center")
        else:
            self.page.sheet.write_number(row, 0, year, formats.get("formula", GENERAL, "center"))
        if year == 0:
            self.page.number(row, self.column[COUNTED], 0, _YEARS_OR_DASH)
            self._put(row, CAPEX, "capex_usd", paid(INTEGER_OR_DASH), "cross")
            for title in self.kinds[1:]:
                self.page.number(row, self.column[title], 0, paid(INTEGER_OR_DASH))
        else:
            self._year(row, year)
            self.page.unseen_while(row, len(self.titles) - 1, f"=${self.at(row, COUNTED)}=0")
        first, last = self.at(row, self.kinds[0]), self.at(row, self.kinds[-1])
        text = f'IF(COUNT({first}:{last})={len(self.kinds)},SUM({first}:{last}),"{UNKNOWN}")'
        self._put(row, TOGETHER, text, paid(INTEGER_OR_DASH))
        if self.discounts:
            self._discount(row, year)
        before = f"{self.at(row - 1, CUMULATIVE)}+" if year else ""
        counted = DISCOUNTED if self.discounts else TOGETHER
        self._put(row, CUMULATIVE, f"{before}{self.at(row, counted)}", paid(INTEGER_OR_DASH))

    def _year(self, row: int, year: int) -> None:
        """Write what a year, or all later ones, cost by kind, and how much of it is in the term."""
        left = f"MIN(1,years-{year - 1})" if year <= self.years else f"years-{year - 1}"
        text = f"IF(ISNUMBER(years),MAX(0,{left}),0)"
        self._put(row, COUNTED, text, _YEARS_OR_DASH, "cross")
        counted = self.at(row, COUNTED)
        self.page.number(row, self.column[CAPEX], 0, paid(INTEGER_OR_DASH))
        self._put(row, SUPPORT, self._support(year, counted), paid(INTEGER_OR_DASH), "cross")
        for title, name in self.yearly:
            self._put(row, title, f"{name}*{counted}", paid(INTEGER_OR_DASH), "cross")

    def _discount(self, row: int, year: int) -> None:
        """Write what a row's sum counts today."""
        if year > self.years:
            self.page.number(row, self.column[FACTOR], None)
            names = "+".join((self._support_after(), *(name for _, name in self.yearly)))
            factor = formulas.years(f"MAX(years,{self.years})", f"{self.years}")
            self._put(row, DISCOUNTED, f"({names})*({factor})", paid(INTEGER_OR_DASH), "cross")
        else:
            text = f"1/(1+discount_rate)^{year}"
            self._put(row, FACTOR, text, _FACTOR_FORMAT, "cross")
            text = f"{self.at(row, TOGETHER)}*{self.at(row, FACTOR)}"
            self._put(row, DISCOUNTED, text, paid(INTEGER_OR_DASH))

    def _support(self, year: int, counted: str) -> str:
        """Return the formula of the support of a year, or of all later ones.

        Where every line pays for the whole term, every year costs the same.
        """
        if year > self.years:
            return f"{self._support_after()}*{counted}"
        if not self._by_line:
            return f"support_usd_per_year*{counted}"
        before = year - 1
        # Comparisons are 1 or 0, so that each product picks the lesser end and the greater start.
        return (
            f"SUMPRODUCT({_AMOUNT},({_UNTIL}>{_SINCE})*({_UNTIL}>{before})*({_SINCE}<{year})*"
            f"({_UNTIL}*({_UNTIL}<{year})+{year}*({_UNTIL}>={year})"
            f"-{_SINCE}*({_SINCE}>{before})-{before}*({_SINCE}<={before})))"
            f"+own_yearly_usd*{counted}"
        )

    def _support_after(self) -> str:
        """Return the formula of what is paid per year later than the years of the table.

        Whatever is paid later than these is paid to the very end of the term, and began before: the
        table is longer than the solved term.
        """
        if not self._by_line:
            return "support_usd_per_year"
        lines = f"SUMPRODUCT({_AMOUNT},({_UNTIL}>{_SINCE})*({_UNTIL}>{self.years}))"
        return f"({lines}+own_yearly_usd)"


_LABEL, _SHARE_COLUMN, _USD_COLUMN, _TCO_COLUMN = range(4)
_CAPEX = "bom_capex_usd"

_PER = (
    ("Per GPU in place", "bom_gpus"),
    ("Per GPU in use", "gpus_in_use"),
    ("Per PFLOP/s of useful work", "useful_pflops"),
    ("Per kW of IT power", "it_power_kw"),
    ("Per kW at the meter", "facility_power_kw"),
)
_MORE = (
    (FIGURES["opex_usd_per_year"].heading, "opex_usd_per_year", INTEGER),
    (FIGURES["usd_per_useful_gpu_hour"].heading, "usd_per_useful_gpu_hour", "#,##0.0000"),
    (FIGURES["usd_per_million_tokens"].heading, "usd_per_million_tokens", "#,##0.0000"),
)


def _add_ratios(page: Page, row: int) -> int:
    """Write both tables.

    Returns:
        The row under them.
    """
    row = _sections(page, row)
    return _ratios(page, row + 1)


def _heading(page: Page, row: int, titles: tuple[str, ...]) -> None:
    for column, title in enumerate(titles):
        page.text(row, column, title, "heading", "right" if column else "left")


def _put_ratio(page: Page, row: int, column: int, formula: str, number: str, role: Role) -> None:
    page.formula(row, column, f'=IFERROR({formula},"{UNKNOWN}")', number, role, "right")


def _sections(page: Page, row: int) -> int:
    """Write capex by section with shares; return the row under it."""
    book = page.book
    _heading(page, row, ("Capex by section", "Share", in_money("USD")))
    for block in book.blocks:
        row += 1
        page.text(row, _LABEL, block.section)
        _share(page, row, subtotal_name(_CAPEX, block.section), "cross")
    if book.has("own_net_usd"):
        row += 1
        page.text(row, _LABEL, "Own lines")
        _put_ratio(page, row, _SHARE_COLUMN, f"own_net_usd/{_CAPEX}", PERCENT_OR_DASH, "cross")
        _put_ratio(page, row, _USD_COLUMN, "own_net_usd", paid(INTEGER_OR_DASH), "cross")
    row += 1
    page.text(row, _LABEL, "Total", "total")
    if book.number(_CAPEX) is not None:
        _share(page, row, _CAPEX, "total")
    return row + 1


def _share(page: Page, row: int, name: str, role: Role) -> None:
    _put_ratio(page, row, _SHARE_COLUMN, f"{name}/{_CAPEX}", PERCENT, role)
    _put_ratio(page, row, _USD_COLUMN, name, paid(INTEGER), role)


def _ratios(page: Page, row: int) -> int:
    """Write what money buys, by capex and by TCO; return the row under it."""
    book = page.book
    tco = book.number("tco_usd")
    titles = (in_money("What the money buys, USD"), "", "Capex")
    _heading(page, row, titles if tco is None else (*titles, "TCO"))
    for label, name in _PER:
        if not book.number(name):
            continue
        row += 1
        page.text(row, _LABEL, label)
        page.text(row, _SHARE_COLUMN, "")
        for column, money in ((_USD_COLUMN, "capex_usd"), (_TCO_COLUMN, "tco_usd")):
            if book.number(money) is not None:
                _put_ratio(page, row, column, f"{money}/{name}", paid(DECIMAL_2), "cross")
    for label, name, number in _MORE:
        if book.number(name) is not None:
            row += 1
            page.text(row, _LABEL, label)
            for column in (_SHARE_COLUMN, _USD_COLUMN):
                page.text(row, column, "")
            _put_ratio(page, row, _TCO_COLUMN, name, paid(number), "cross")
    return _energy(page, row + 1)


def _energy(page: Page, row: int) -> int:
    """Write which share of the TCO is energy, where there is one; return the row under it."""
    book = page.book
    if not book.number("tco_usd") or book.number("energy_usd_per_year") is None:
        return row
    years = "discounted_years" if book.has("discounted_years") else "years"
    page.text(row, _LABEL, "Energy, share of the TCO")
    for column in (_SHARE_COLUMN, _USD_COLUMN):
        page.text(row, column, "")
    _put_ratio(page, row, _TCO_COLUMN, f"energy_usd_per_year*{years}/tco_usd", PERCENT, "cross")
    return row + 1
