"""What power, energy and money come to if the site is not what the plan takes it to be."""

from __future__ import annotations

from dataclasses import dataclass

from planner.outputs.workbook.book import Book
from planner.outputs.workbook.checkpoint.rows import UNKNOWN
from planner.outputs.workbook.formats import DECIMAL_1, DECIMAL_3
from planner.outputs.workbook.inputs import Range
from planner.outputs.workbook.sensitivity.live import LiveRow, Step
from planner.outputs.workbook.sensitivity.page import (
    F1,
    F2,
    F3,
    F4,
    F5,
    F6,
    F7,
    F8,
    NOTE,
    WHOLE_PERCENT,
    GridPage,
)

_TITLES = (
    "Condition",
    "Case",
    "Times what the plan takes",
    "Value",
    "Unit",
    "Facility power, kW",
    "Change in facility power, kW",
)
_MONEY_TITLES = ("Energy, million USD/year", "TCO, million USD", "Change in TCO, million USD")
_MILLIONS = "#,##0.000,,"
_MILLIONS_CHANGE = "+#,##0.000,,;-#,##0.000,,;0.000"
_KW_CHANGE = "+#,##0.0;-#,##0.0;0.0"
_COLUMNS = {
    "factor": F1,
    "value": F2,
    "facility": F4,
    "more_kw": F5,
    "energy": F6,
    "tco": F7,
    "more_usd": F8,
}
_FACTOR = Range(0.0, 100.0)


@dataclass(frozen=True)
class _Site:
    """A figure of the site that is asked about; the factor is on what it is above ``over``."""

    name: str
    label: str
    unit: str
    low: float
    high: float
    over: float
    why: str


_PUE = _Site(
    "pue",
    "Power usage effectiveness (PUE)",
    "",
    0.5,
    1.5,
    1.0,
    "the factor acts on what PUE is above 1",
)
_PRICE = _Site(
    "electricity_usd_per_kwh",
    "Electricity price",
    "USD/kWh",
    0.5,
    2.0,
    0.0,
    "a contract may not last as long as the term",
)


def add_power(page: GridPage, row: int) -> int:
    """Write what PUE and electricity price do, where the plan has them; return the next free row.

    Args:
        page: the sheet.
        row: first row.
    """
    book = page.book
    if book.number("pue") is None or book.number("facility_power_kw") is None:
        return row
    cost = _has_cost(book)
    what = "Power and cost" if cost else "Power"
    row = page.heading(row, f"{what}: what the site may turn out to be")
    titles = [*_TITLES, *(_MONEY_TITLES if cost else ())]
    titles += [""] * (NOTE - len(titles)) + ["Why this far"]
    first = page.table(row, titles)
    _base(page, first)
    row = first + 1
    for site in (_PUE, _PRICE) if cost else (_PUE,):
        for side, factor in (("low", site.low), ("high", site.high)):
            _case(page, row, site, side, factor, first)
            row += 1
    if book.value("bom_it_power_kw_flag"):
        page.text(row, 0, "Known part: the power of at least one line is not known.", "subtitle")
    return row + 1


def _has_cost(book: Book) -> bool:
    """Return whether this edition shows what energy costs, and the plan knows it."""
    return book.money and book.number("energy_usd_per_year") is not None


def _base(page: GridPage, row: int) -> None:
    page.fill(row, ("As it stands",), "total")
    steps = [Step("facility", "", "facility_power_kw", DECIMAL_1)]
    if _has_cost(page.book):
        steps += [
            Step("energy", "", "energy_usd_per_year", _MILLIONS),
            Step("tco", "", "tco_usd", _MILLIONS),
        ]
    LiveRow(page, row, _COLUMNS).write(steps, "total")


def _case(page: GridPage, row: int, site: _Site, side: str, factor: float, base: int) -> None:
    """Write one condition of the site; ``base`` is the row as it stands."""
    page.fill(row, (site.label if side == "low" else "", side), "text")
    page.text(row, F3, site.unit)
    page.text(row, NOTE, site.why if side == "low" else "")
    label = f"{site.label}: {side} value, times what the plan takes"
    page.input(
        f"sensitivity_{site.name}_{side}",
        row,
        F1,
        factor,
        WHOLE_PERCENT,
        label=label,
        unit="share",
        allowed=_FACTOR,
    )
    line = LiveRow(page, row, _COLUMNS)
    line.know("factor", F1)
    over = site.over
    text = f"{over:g}+{{factor}}*({site.name}-{over:g})" if over else f"{{factor}}*{site.name}"
    text = f'IF(ISNUMBER({site.name}),{text},"{UNKNOWN}")'
    line.write(
        [
            Step("value", "", text, DECIMAL_3),
            *_power(site),
            *(_cost(page.book, site) if _has_cost(page.book) else []),
        ]
    )


def _power(site: _Site) -> list[Step]:
    facility = "facility_power_kw"
    if site.over:
        facility = "it_power_kw+{factor}*(facility_power_kw-it_power_kw)+0*{value}"
    return [
        Step("facility", "", facility, DECIMAL_1),
        Step("more_kw", "", "ROUND({facility}-facility_power_kw,6)", _KW_CHANGE),
    ]


def _cost(book: Book, site: _Site) -> list[Step]:
    """Return the steps of cost: energy in proportion, and over the term as the plan counts it."""
    drawn, metered = "it_power_kw", "facility_power_kw"
    if book.has("energy_kw", "typical_power_kw"):
        drawn, metered = "typical_power_kw", "energy_kw"
    years = "discounted_years" if book.has("discounted_years") else "years"
    share = f"({drawn}+{{factor}}*({metered}-{drawn}))/{metered}" if site.over else "{factor}"
    return [
        Step("energy", "", f"energy_usd_per_year*{share}", _MILLIONS),
        Step("tco", "", f"tco_usd+{years}*({{energy}}-energy_usd_per_year)", _MILLIONS),
        Step("more_usd", "", "ROUND({tco}-tco_usd,2)", _MILLIONS_CHANGE),
    ]
