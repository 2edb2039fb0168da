"""How the purchase fares over a range: of storage bandwidth, and of the checkpoint interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.outputs.workbook.formats import DECIMAL_2, PERCENT, Role
from planner.outputs.workbook.sensitivity.charts import (
    SWEEP_ROWS,
    Sweep,
    add_bandwidth_chart,
    add_interval_chart,
)
from planner.outputs.workbook.sensitivity.live import LiveRow, Step, cell
from planner.outputs.workbook.sensitivity.model import workings_titles, write_case
from planner.outputs.workbook.sensitivity.page import (
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
    GridPage,
)

BANDWIDTHS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
"""Storage bandwidth as a share of what is bought."""

_POINTS = 15
INTERVALS = tuple(4.0 ** (2 * point / (_POINTS - 1) - 1) for point in range(_POINTS))
"""Intervals from a quarter to four times the plan's, in equal ratios."""


@dataclass(frozen=True)
class _Table:
    """A range: its titles, the cells it shows, the figures it varies and how a row is called."""

    heading: str
    remark: str
    titles: tuple[str, ...]
    shown: Mapping[str, int]
    varied: Mapping[str, str]
    label: str
    base: str


_BANDWIDTH = _Table(
    "Storage bandwidth: what more of it buys",
    "All appliances at so much of their rated bandwidth, the delivered share and what the GPU "
    "systems can take as they are. GPUs and interval stay.",
    (
        "Storage",
        "Times what is bought",
        "Delivered write, GB/s",
        "Delivered read, GB/s",
        "Goodput",
        "Useful GPUs",
        "{saving}",
        "Restore read, s",
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
_INTERVAL = _Table(
    "Checkpoint interval: shorter and longer",
    "A shorter interval stops the GPUs more often and keeps storage busy, a longer one loses more "
    "work to each failure. All else stays.",
    (
        "Interval",
        "Times the plan's",
        "Interval, s",
        "Interval, min",
        "Goodput",
        "Useful GPUs",
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
    """Write what more and less storage bandwidth does; return the next free row.

    Args:
        page: the sheet.
        row: first row.
    """
    sweep, lines = _table(page, row, _BANDWIDTH, BANDWIDTHS)
    half, twice = (lines[BANDWIDTHS.index(share)].terms["change"] for share in (0.5, 2.0))
    _say(page, row + 2, half, twice)
    add_bandwidth_chart(page, sweep)
    return max(sweep.last, sweep.at + SWEEP_ROWS) + 2


def add_interval(page: GridPage, row: int) -> int:
    """Write what shorter and longer intervals do; return the next free row.

    Args:
        page: the sheet.
        row: first row.
    """
    sweep, lines = _table(page, row, _INTERVAL, INTERVALS)
    minutes = Step("minutes", "", "{interval}/60", DECIMAL_2)
    for line in lines:
        line.columns = {"minutes": F2}
        line.write([minutes], "total" if line.row == sweep.stands else None)
    add_interval_chart(page, sweep)
    return max(sweep.last, sweep.at + SWEEP_ROWS) + 2


def _table(
    page: GridPage, row: int, table: _Table, shares: tuple[float, ...]
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
        _change(line, base, emphasis)
        lines.append(line)
    return Sweep(first, first + len(shares) - 1, base, top), lines


def _change(line: LiveRow, base: int, emphasis: Role | None) -> None:
    """Write how far the useful GPUs of a row are from those of the plan."""
    line.columns = {"change": F7}
    line.terms["base"] = cell(base, F4)
    line.write(
        [Step("change", "", "ROUND({useful}-{base},2)", CHANGE)],
        emphasis,
    )


def _say(page: GridPage, row: int, half: str, twice: str) -> None:
    """Say in a sentence what half and twice the bandwidth come to."""
    text = (
        '"Half the bandwidth: "&ROUND({half},2)&" useful GPUs. Twice the bandwidth: "&'
        'IF({twice}>0,"+","")&ROUND({twice},2)&". The job uses "&gpus_in_use&" GPUs."'
    )
    line = LiveRow(page, row, {"says": LABEL}, {"half": half, "twice": twice})
    line.write([Step("says", "", text, role="subtitle", align="left")])
