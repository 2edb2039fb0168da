"""How the purchase fares over ranges: of bandwidth, of the interval, and on another site."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from planner.figures import FIGURES
from planner.outputs.words import in_money
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import DECIMAL_1, DECIMAL_2, DECIMAL_3, PERCENT, Range, Role
from planner.outputs.workbook.rows import UNKNOWN
from planner.outputs.workbook.sensitivity.charts import (
    SWEEP_ROWS,
    Sweep,
    add_bandwidth_chart,
    add_interval_chart,
)
from planner.outputs.workbook.sensitivity.model import (
    CASE,
    CHANGE,
    F1,
    F2,
    F3,
    F4,
    F5,
    F6,
    F7,
    F8,
    LABEL,
    NOTE,
    WHOLE_PERCENT,
    GridPage,
    LiveRow,
    Step,
    cell,
    workings_titles,
    write_case,
)

BANDWIDTHS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
"""Storage bandwidth as a share of what is bought."""

_POINTS = 15
INTERVALS = tuple(4.0 ** (2 * point / (_POINTS - 1) - 1) for point in range(_POINTS))
"""Intervals from a quarter to four times the plan's, in equal ratios."""


class _Range(NamedTuple):
    """A range: its titles, the cells it shows, the figures it varies and how a row is called."""

    heading: str
    remark: str
    titles: tuple[str, ...]
    shown: Mapping[str, int]
    varied: Mapping[str, str]
    label: str
    base: str


_BANDWIDTH = _Range(
    "Storage bandwidth: what more of it buys",
    "All appliances at so much of their rated bandwidth, the delivered share and what the GPU "
    "systems can take as they are. GPUs and interval stay.",
    (
        "Storage",
        "Times what is bought",
        FIGURES["delivered_write_gb_per_s"].column,
        FIGURES["delivered_read_gb_per_s"].column,
        FIGURES["goodput"].heading,
        FIGURES["useful_gpus"].heading,
        "{saving}",
        FIGURES["restore_s"].column,
        "Change in useful GPUs",
        "Limits of the job",
    ),
    {
        "write": F1,
        "read": F2,
        "goodput": F3,
        "useful": F4,
        "restore": F6,
        "holds": F8,
    },
    {"rated_write": "nameplate_write_gb_per_s", "rated_read": "nameplate_read_gb_per_s"},
    "Appliances at {:.0%}",
    "Appliances as bought",
)
_INTERVAL = _Range(
    "Checkpoint interval: shorter and longer",
    "A shorter interval stops the GPUs more often and keeps storage busy, a longer one loses more "
    "work to each failure. All else stays.",
    (
        "Interval",
        "Times the plan's",
        FIGURES["interval_s"].column,
        "Interval, min",
        FIGURES["goodput"].heading,
        FIGURES["useful_gpus"].heading,
        "{saving}",
        "Time lost (1 - goodput)",
        "Change in useful GPUs",
        "Limits of the job",
    ),
    {"interval": F1, "goodput": F3, "useful": F4, "lost": F6, "holds": F8},
    {"interval": "interval_s"},
    "{:.2f} times the plan's",
    "As it stands",
)


def add_bandwidth(page: GridPage, row: int) -> int:
    """Write what more and less storage bandwidth does; return the next free row."""
    sweep, lines = _table(page, row, _BANDWIDTH, BANDWIDTHS)
    half, twice = (lines[BANDWIDTHS.index(share)].terms["change"] for share in (0.5, 2.0))
    _say(page, row + 2, half, twice)
    add_bandwidth_chart(page, sweep)
    return max(sweep.last, sweep.at + SWEEP_ROWS) + 2


def add_interval(page: GridPage, row: int) -> int:
    """Write what shorter and longer intervals do; return the next free row."""
    sweep, lines = _table(page, row, _INTERVAL, INTERVALS)
    minutes = Step("minutes", "", "{interval}/60", DECIMAL_2)
    for line in lines:
        line.columns = {"minutes": F2}
        line.write([minutes], "total" if line.row == sweep.stands else None)
    add_interval_chart(page, sweep)
    return max(sweep.last, sweep.at + SWEEP_ROWS) + 2


def _table(
    page: GridPage, row: int, table: _Range, shares: tuple[float, ...]
) -> tuple[Sweep, list[LiveRow]]:
    """Write a range, a row for each share of what the plan has."""
    remarks = (table.remark, " ") if table is _BANDWIDTH else (table.remark,)
    top = page.heading(row, table.heading, *remarks)
    shown = {**table.shown, page.saving: F5}
    titles = [title.format(saving=page.saving_title) for title in table.titles]
    first = page.table(top, titles, workings_titles(page.model, shown, [*table.varied]))
    base, lines = first + shares.index(1.0), []
    for at, share in enumerate(shares, start=first):
        emphasis: Role | None = "total" if at == base else None
        label = table.base if at == base else table.label.format(share)
        page.fill(at, (label,), emphasis or "text", F8 + 1)
        page.number(at, CASE, share, PERCENT, emphasis or "formula")
        varied = {key: f"{cell(at, CASE)}*{name}" for key, name in table.varied.items()}
        line = write_case(page, at, shown, page.workings, varied, page.model, emphasis)
        page.mark(at, F8, "begins with", "OVER", "bad")
        line.columns = {"change": F7}
        line.terms["base"] = cell(base, F4)
        line.write(
            [Step("change", "", "ROUND({useful}-{base},2)", CHANGE)],
            emphasis,
        )
        lines.append(line)
    return Sweep(first, first + len(shares) - 1, base, top), lines


def _say(page: GridPage, row: int, half: str, twice: str) -> None:
    """Say in a sentence what half and twice the bandwidth come to."""
    text = (
        '"Half the bandwidth: "&ROUND({half},2)&" useful GPUs. Twice the bandwidth: "&'
        'IF({twice}>0,"+","")&ROUND({twice},2)&". The job uses "&gpus_in_use&" GPUs."'
    )
    line = LiveRow(page, row, {"says": LABEL}, {"half": half, "twice": twice})
    line.write([Step("says", "", text, role="subtitle", align="left")])


_SITE_TITLES = (
    "Condition",
    "Case",
    "Times what the plan takes",
    "Value",
    "Unit",
    FIGURES["facility_power_kw"].column,
    "Change in power at the meter, kW",
)
_SITE_MONEY_TITLES = ("Energy, million USD/year", "TCO, million USD", "Change in TCO, million USD")
_MILLIONS = "#,##0.000,,"
_MILLIONS_CHANGE = "+#,##0.000,,;-#,##0.000,,;0.000"
_KW_CHANGE = "+#,##0.0;-#,##0.0;0.0"
_SITE_COLUMNS = {
    "factor": F1,
    "value": F2,
    "facility": F4,
    "more_kw": F5,
    "energy": F6,
    "tco": F7,
    "more_usd": F8,
}
_FACTOR = Range(0.0, 100.0)


class _Site(NamedTuple):
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
    FIGURES["pue"].heading,
    "",
    0.5,
    1.5,
    1.0,
    "the factor acts on what PUE is above 1",
)
_PRICE = _Site(
    "electricity_usd_per_kwh",
    FIGURES["electricity_usd_per_kwh"].heading,
    "USD/kWh",
    0.5,
    2.0,
    0.0,
    "a contract may not last as long as the term",
)


def add_power(page: GridPage, row: int) -> int:
    """Write what PUE and electricity price do, where the plan has them; return the next row."""
    book = page.book
    if book.number("pue") is None or book.number("facility_power_kw") is None:
        return row
    cost = _has_cost(book)
    what = "Power and cost" if cost else "Power"
    row = page.heading(row, f"{what}: what the site may turn out to be")
    titles = [*_SITE_TITLES, *(map(in_money, _SITE_MONEY_TITLES) if cost else ())]
    titles += [""] * (NOTE - len(titles)) + ["Why this far"]
    first = page.table(row, titles)
    page.fill(first, ("As it stands",), "total")
    steps = [Step("facility", "", "facility_power_kw", DECIMAL_1)]
    if _has_cost(page.book):
        steps += [
            Step("energy", "", "energy_usd_per_year", _MILLIONS),
            Step("tco", "", "tco_usd", _MILLIONS),
        ]
    LiveRow(page, first, _SITE_COLUMNS).write(steps, "total")
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


def _case(page: GridPage, row: int, site: _Site, side: str, factor: float, base: int) -> None:
    """Write one condition of the site; ``base`` is the row as it stands."""
    page.fill(row, (site.label if side == "low" else "", side), "text")
    page.text(row, F3, in_money(site.unit))
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
    line = LiveRow(page, row, _SITE_COLUMNS)
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
