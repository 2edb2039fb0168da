"""The spending of each year of the term, on the sheet ``TCO``: live over the term's length."""

from __future__ import annotations

import math

from xlsxwriter.utility import xl_rowcol_to_cell

from planner.outputs.workbook import annuity
from planner.outputs.workbook.checkpoint.rows import UNKNOWN
from planner.outputs.workbook.formats import DECIMAL_2, GENERAL, INTEGER_OR_DASH, Role
from planner.outputs.workbook.page import Page
from planner.outputs.workbook.tco.support import SupportByYear

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


class YearTable:
    """A row for the purchase, for each year, and for all years later than those.

    The last one keeps the table right for any term. Columns are those of what the plan pays.
    """

    def __init__(self, page: Page, first: int) -> None:
        self.page, self.first = page, first
        book, term = page.book, page.book.plan.site.years
        assert term is not None
        self.term_years = term
        self.years = max(_FEWEST_YEARS, math.ceil(term) + _MORE_YEARS)
        self.yearly = [entry for entry in _YEARLY if book.has(entry[1])]
        self.discounts = book.has("discount_rate")
        self.kinds = [CAPEX, SUPPORT, *(title for title, _ in self.yearly)]
        more = [FACTOR, DISCOUNTED] if self.discounts else []
        self.titles = [YEAR, COUNTED, *self.kinds, TOGETHER, *more, CUMULATIVE]
        self.column = {title: index for index, title in enumerate(self.titles)}
        self.last = first + self.years + 1
        self._support = SupportByYear(book)
        self._sums = dict.fromkeys((*self.kinds, TOGETHER, DISCOUNTED), 0.0)

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
            self._put(row, title, text, self._sums[title], INTEGER_OR_DASH, "total")
        return self._reconcile(row)

    def _reconcile(self, total_row: int) -> int:
        """Compare the total with the TCO that ``Checkpoint`` works out in one step."""
        book = self.page.book
        counted = DISCOUNTED if self.discounts else TOGETHER
        book.define("tco_by_year_usd", self._absolute(total_row, counted), self._sums[counted])
        tco = book.number("tco_usd") or 0.0
        difference = "tco_by_year_usd-tco_usd"
        rows = (
            ("TCO in one step, on Checkpoint", "tco_usd", tco, "cross"),
            ("Difference to the total by year", f"ROUND({difference},2)", 0.0, "formula"),
        )
        row = total_row
        for label, formula, value, role in rows:
            row += 1
            self.page.text(row, 0, label, "subtitle")
            look: Role = "cross" if role == "cross" else "formula"
            self._put(row, counted, formula, value, DECIMAL_2, look)
        book.define("tco_difference_usd", self._absolute(row, counted), 0.0)
        return row + 1

    def _absolute(self, row: int, title: str) -> str:
        return self.page.address(row, self.column[title])

    def _put(
        self, row: int, title: str, formula: str, value: float, number: str, role: Role = "formula"
    ) -> None:
        text = f'=IFERROR({formula},"{UNKNOWN}")'
        self.page.formula(row, self.column[title], text, value, number, role, "right")

    def _row(self, row: int, year: int) -> None:
        """Write the purchase (year 0), a year, or all later ones."""
        formats = self.page.book.formats
        if year > self.years:
            self.page.text(row, 0, f"{year} and later", "formula", "center")
        else:
            self.page.sheet.write_number(row, 0, year, formats.get("formula", GENERAL, "center"))
        if year == 0:
            self.page.number(row, self.column[COUNTED], 0, _YEARS_OR_DASH)
            total = self._purchase(row)
        else:
            total = self._year(row, year, self._counted(row, year))
        first, last = self.at(row, self.kinds[0]), self.at(row, self.kinds[-1])
        text = f'IF(COUNT({first}:{last})={len(self.kinds)},SUM({first}:{last}),"{UNKNOWN}")'
        self._put(row, TOGETHER, text, total, INTEGER_OR_DASH)
        self._sums[TOGETHER] += total
        counted = self._discount(row, year, total) if self.discounts else TOGETHER
        before = f"{self.at(row - 1, CUMULATIVE)}+" if year else ""
        text, value = f"{before}{self.at(row, counted)}", self._sums[counted]
        self._put(row, CUMULATIVE, text, value, INTEGER_OR_DASH)

    def _purchase(self, row: int) -> float:
        capex = self.page.book.number("capex_usd") or 0.0
        self._put(row, CAPEX, "capex_usd", capex, INTEGER_OR_DASH, "cross")
        for title in self.kinds[1:]:
            self.page.number(row, self.column[title], 0, INTEGER_OR_DASH)
        self._sums[CAPEX] += capex
        return capex

    def _counted(self, row: int, year: int) -> float:
        """Write how much of a year is in the term; of all later years, how many are."""
        left = f"years-{year - 1}"
        counted = max(0.0, self.term_years - (year - 1))
        if year <= self.years:
            left, counted = f"MIN(1,{left})", min(1.0, counted)
        text = f"IF(ISNUMBER(years),MAX(0,{left}),0)"
        self._put(row, COUNTED, text, counted, _YEARS_OR_DASH, "cross")
        return counted

    def _year(self, row: int, year: int, counted: float) -> float:
        """Write what a year, or all later ones, cost by kind; return the sum."""
        cell = self.at(row, COUNTED)
        if year > self.years:
            text, per_year = self._support.per_year_after(self.years)
            text, usd = f"{text}*{cell}", per_year * counted
        else:
            text, usd = self._support.in_year(year, cell, counted)
        amounts = {SUPPORT: (text, usd)}
        for title, name in self.yearly:
            known = self.page.book.number(name) or 0.0
            amounts[title] = (f"{name}*{cell}", known * counted)
        self.page.number(row, self.column[CAPEX], 0, INTEGER_OR_DASH)
        for title, (text, usd) in amounts.items():
            self._put(row, title, text, usd, INTEGER_OR_DASH, "cross")
            self._sums[title] += usd
        return math.fsum(usd for _, usd in amounts.values())

    def _discount(self, row: int, year: int, total: float) -> str:
        """Write what a row's sum counts today; return the title of its column."""
        rate = self.page.book.plan.site.discount_rate
        if year > self.years:
            self.page.number(row, self.column[FACTOR], None)
            text, value = self._discounted_later()
            self._put(row, DISCOUNTED, text, value, INTEGER_OR_DASH, "cross")
        else:
            factor = 1 / (1 + rate) ** year
            text, value = f"1/(1+discount_rate)^{year}", total * factor
            self._put(row, FACTOR, text, factor, _FACTOR_FORMAT, "cross")
            text = f"{self.at(row, TOGETHER)}*{self.at(row, FACTOR)}"
            self._put(row, DISCOUNTED, text, value, INTEGER_OR_DASH)
        self._sums[DISCOUNTED] += value
        return DISCOUNTED

    def _discounted_later(self) -> tuple[str, float]:
        """Return what all years later than those listed count today, USD."""
        book, start = self.page.book, self.years
        support, support_usd = self._support.per_year_after(start)
        names = "+".join((support, *(name for _, name in self.yearly)))
        factor = annuity.years_formula(f"MAX(years,{start})", f"{start}")
        usd = math.fsum((support_usd, *(book.number(name) or 0.0 for _, name in self.yearly)))
        counted = annuity.years(
            max(self.term_years, start), float(start), book.plan.site.discount_rate
        )
        return f"({names})*({factor})", usd * counted
