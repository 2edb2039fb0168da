"""What support costs in each year of the term, where lines pay it over different years."""

from __future__ import annotations

import math

from planner.outputs import scope
from planner.outputs.workbook.bom.lines import SPANS, paid_support
from planner.outputs.workbook.book import Book
from planner.schema.plan import Line

_AMOUNT, _SINCE, _UNTIL = (f"bom_{key}_column" for key in SPANS)


class SupportByYear:
    """Support by year as formulas over the columns of ``BOM``, with the values they have.

    Where every line pays for the whole term there are no such columns, and every year costs the
    same.
    """

    def __init__(self, book: Book) -> None:
        self._by_line = book.has("bom_support_usd_over_term")
        self._yearly_usd = book.number("support_usd_per_year") or 0.0
        self._paid: list[tuple[float, float, float]] = []
        if self._by_line:
            self._paid = [_paid(book, line) for line in scope.own_lines(book.plan)]

    def in_year(self, year: int, share: str, share_value: float) -> tuple[str, float]:
        """Return what is paid in a year, as a formula and its value, USD.

        Args:
            year: counted from 1.
            share: the cell that says which share of the year is in the term.
            share_value: that share.
        """
        if not self._by_line:
            return f"support_usd_per_year*{share}", self._yearly_usd * share_value
        before = year - 1
        # Comparisons are 1 or 0, so that each product picks the lesser end and the greater start.
        text = (
            f"SUMPRODUCT({_AMOUNT},({_UNTIL}>{_SINCE})*({_UNTIL}>{before})*({_SINCE}<{year})*"
            f"({_UNTIL}*({_UNTIL}<{year})+{year}*({_UNTIL}>={year})"
            f"-{_SINCE}*({_SINCE}>{before})-{before}*({_SINCE}<={before})))"
        )
        parts = (
            usd * max(0.0, min(until, year) - max(since, before))
            for usd, since, until in self._paid
        )
        return text, math.fsum(parts)

    def per_year_after(self, years: int) -> tuple[str, float]:
        """Return what is paid per year later than ``years`` years, as a formula and its value, USD.

        Whatever is paid later than the years of the table is paid to the very end of the term, and
        began before: the table is longer than the solved term.

        Args:
            years: the years of the table.
        """
        if not self._by_line:
            return "support_usd_per_year", self._yearly_usd
        text = f"SUMPRODUCT({_AMOUNT},({_UNTIL}>{_SINCE})*({_UNTIL}>{years}))"
        return text, math.fsum(usd for usd, _, until in self._paid if until > years)


def _paid(book: Book, line: Line) -> tuple[float, float, float]:
    """Return support per year, USD, and from when to when in the term it is paid, years."""
    usd = line.support_usd_per_year if line.purchased else None
    if not usd:
        return 0.0, 0.0, 0.0
    span = paid_support(book.plan, line)
    return usd, span.since_years, span.until_years
