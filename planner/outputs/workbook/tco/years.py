"""The spending of each year of the term, on the sheet ``TCO``: live over the term's length."""

from __future__ import annotations

import math

from xlsxwriter.utility import xl_rowcol_to_cell

from planner.outputs.workbook import formulas
from planner.outputs.workbook.bom.lines import SPANS
from planner.outputs.workbook.checkpoint.rows import UNKNOWN
from planner.outputs.workbook.formats import DECIMAL_2, GENERAL, INTEGER_OR_DASH, Role
from planner.outputs.workbook.page import Page

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
            self._put(row, title, text, INTEGER_OR_DASH, "total")
        return self._reconcile(row)

    def _reconcile(self, total_row: int) -> int:
        """Compare the total with the TCO that ``Checkpoint`` works out in one step."""
        counted = DISCOUNTED if self.discounts else TOGETHER
        self.page.define("tco_by_year_usd", total_row, self.column[counted])
        row = total_row + 1
        self.page.text(row, 0, "TCO in one step, on Checkpoint", "subtitle")
        self._put(row, counted, "tco_usd", DECIMAL_2, "cross")
        row += 1
        self.page.text(row, 0, "Difference to the total by year", "subtitle")
        self._put(row, counted, "ROUND(tco_by_year_usd-tco_usd,2)", DECIMAL_2, plan=0.0)
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
            self._put(row, CAPEX, "capex_usd", INTEGER_OR_DASH, "cross")
            for title in self.kinds[1:]:
                self.page.number(row, self.column[title], 0, INTEGER_OR_DASH)
        else:
            self._year(row, year)
        first, last = self.at(row, self.kinds[0]), self.at(row, self.kinds[-1])
        text = f'IF(COUNT({first}:{last})={len(self.kinds)},SUM({first}:{last}),"{UNKNOWN}")'
        self._put(row, TOGETHER, text, INTEGER_OR_DASH)
        if self.discounts:
            self._discount(row, year)
        before = f"{self.at(row - 1, CUMULATIVE)}+" if year else ""
        counted = DISCOUNTED if self.discounts else TOGETHER
        self._put(row, CUMULATIVE, f"{before}{self.at(row, counted)}", INTEGER_OR_DASH)

    def _year(self, row: int, year: int) -> None:
        """Write what a year, or all later ones, cost by kind, and how much of it is in the term."""
        left = f"MIN(1,years-{year - 1})" if year <= self.years else f"years-{year - 1}"
        text = f"IF(ISNUMBER(years),MAX(0,{left}),0)"
        self._put(row, COUNTED, text, _YEARS_OR_DASH, "cross")
        counted = self.at(row, COUNTED)
        self.page.number(row, self.column[CAPEX], 0, INTEGER_OR_DASH)
        self._put(row, SUPPORT, self._support(year, counted), INTEGER_OR_DASH, "cross")
        for title, name in self.yearly:
            self._put(row, title, f"{name}*{counted}", INTEGER_OR_DASH, "cross")

    def _discount(self, row: int, year: int) -> None:
        """Write what a row's sum counts today."""
        if year > self.years:
            self.page.number(row, self.column[FACTOR], None)
            names = "+".join((self._support_after(), *(name for _, name in self.yearly)))
            factor = formulas.years(f"MAX(years,{self.years})", f"{self.years}")
            self._put(row, DISCOUNTED, f"({names})*({factor})", INTEGER_OR_DASH, "cross")
        else:
            text = f"1/(1+discount_rate)^{year}"
            self._put(row, FACTOR, text, _FACTOR_FORMAT, "cross")
            text = f"{self.at(row, TOGETHER)}*{self.at(row, FACTOR)}"
            self._put(row, DISCOUNTED, text, INTEGER_OR_DASH)

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
        )

    def _support_after(self) -> str:
        """Return the formula of what is paid per year later than the years of the table.

        Whatever is paid later than these is paid to the very end of the term, and began before: the
        table is longer than the solved term.
        """
        if not self._by_line:
            return "support_usd_per_year"
        return f"SUMPRODUCT({_AMOUNT},({_UNTIL}>{_SINCE})*({_UNTIL}>{self.years}))"
