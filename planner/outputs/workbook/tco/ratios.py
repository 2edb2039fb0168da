"""Capex by section and what the money buys, on the sheet ``TCO``."""

from __future__ import annotations

from planner.outputs.numbering import blocks
from planner.outputs.workbook.bom.totals import subtotal_name
from planner.outputs.workbook.checkpoint.rows import UNKNOWN
from planner.outputs.workbook.formats import DECIMAL_2, INTEGER, PERCENT, Role
from planner.outputs.workbook.page import Page

_LABEL, _SHARE, _USD, _TCO = range(4)
_CAPEX = "bom_capex_usd"

_PER = (
    ("Per GPU in the bill", "bom_gpus"),
    ("Per GPU in use", "gpus_in_use"),
    ("Per useful PFLOP/s", "useful_pflops"),
    ("Per kW of IT power", "it_power_kw"),
    ("Per kW at the meter", "facility_power_kw"),
)
_MORE = (
    ("Opex per year", "opex_usd_per_year", INTEGER),
    ("Per useful GPU-hour over the term", "usd_per_useful_gpu_hour", "#,##0.0000"),
    ("Per million tokens over the term", "usd_per_million_tokens", "#,##0.0000"),
)


def add(page: Page, row: int) -> int:
    """Write both tables.

    Args:
        page: the sheet.
        row: their first row.

    Returns:
        The row under them.
    """
    row = _sections(page, row)
    return _ratios(page, row + 1)


def _heading(page: Page, row: int, titles: tuple[str, ...]) -> None:
    for column, title in enumerate(titles):
        page.text(row, column, title, "heading", "right" if column else "left")


def _put(page: Page, row: int, column: int, formula: str, number: str, role: Role) -> None:
    page.formula(row, column, f'=IFERROR({formula},"{UNKNOWN}")', number, role, "right")


def _sections(page: Page, row: int) -> int:
    """Write capex by section with shares; return the row under it."""
    book = page.book
    _heading(page, row, ("Capex by section", "Share", "USD"))
    for block in blocks(book.plan):
        row += 1
        page.text(row, _LABEL, block.section)
        _share(page, row, subtotal_name(_CAPEX, block.section), "cross")
    row += 1
    page.text(row, _LABEL, "Total", "total")
    if book.number(_CAPEX) is not None:
        _share(page, row, _CAPEX, "total")
    return row + 1


def _share(page: Page, row: int, name: str, role: Role) -> None:
    _put(page, row, _SHARE, f"{name}/{_CAPEX}", PERCENT, role)
    _put(page, row, _USD, name, INTEGER, role)


def _ratios(page: Page, row: int) -> int:
    """Write what money buys, by capex and by TCO; return the row under it."""
    book = page.book
    tco = book.number("tco_usd")
    titles = ("What the money buys, USD", "", "Capex")
    _heading(page, row, titles if tco is None else (*titles, "TCO"))
    for label, name in _PER:
        if not book.number(name):
            continue
        row += 1
        page.text(row, _LABEL, label)
        page.text(row, _SHARE, "")
        for column, money in ((_USD, "capex_usd"), (_TCO, "tco_usd")):
            if book.number(money) is not None:
                _put(page, row, column, f"{money}/{name}", DECIMAL_2, "cross")
    for label, name, number in _MORE:
        if book.number(name) is not None:
            row += 1
            page.text(row, _LABEL, label)
            for column in (_SHARE, _USD):
                page.text(row, column, "")
            _put(page, row, _TCO, name, number, "cross")
    return _energy(page, row + 1)


def _energy(page: Page, row: int) -> int:
    """Write which share of the TCO is energy, where there is one; return the row under it."""
    book = page.book
    if not book.number("tco_usd") or book.number("energy_usd_per_year") is None:
        return row
    years = "discounted_years" if book.has("discounted_years") else "years"
    page.text(row, _LABEL, "Energy, share of the TCO")
    for column in (_SHARE, _USD):
        page.text(row, column, "")
    _put(page, row, _TCO, f"energy_usd_per_year*{years}/tco_usd", PERCENT, "cross")
    return row + 1
