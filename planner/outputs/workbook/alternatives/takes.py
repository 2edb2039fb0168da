"""What each way to size the storage takes: appliances, power, space, GPU systems forgone."""

from __future__ import annotations

from planner.outputs.workbook.alternatives.rows import has_prices, taking_steps
from planner.outputs.workbook.alternatives.sizings import (
    F1,
    F2,
    F3,
    F4,
    F5,
    F6,
    F7,
    F8,
    F9,
    F10,
    F11,
    F12,
    NOTE,
    Sizing,
    begin_row,
)
from planner.outputs.workbook.alternatives.storage import Lines
from planner.outputs.workbook.sensitivity.live import LiveRow
from planner.outputs.workbook.sensitivity.page import GridPage
from planner.outputs.workbook.text import clean

STORAGE_KW = F6
"""Column of the power of the storage."""

_TITLES = (
    "Storage sized by", "Read asked, GB/s", "Write asked, GB/s", "Covered by the plan",
    "Appli-\nances", "More than the plan", "Storage power, kW", "More power, kW",
    "More at the meter, kW", "More rack units, RU", "GPU systems of that power",
)  # fmt: skip
_MONEY_TITLES = ("More net, million USD", "GPU systems of that money")
_WORKINGS = ("Delivered write needed, GB/s", "Delivered read needed, GB/s")
_COLUMNS = {
    "asked_read": F1, "asked_write": F2, "covered": F3, "count": F4, "more": F5,
    "storage_kw": STORAGE_KW, "more_kw": F7, "meter_kw": F8, "more_ru": F9, "systems_kw": F10,
    "more_usd": F11, "systems_usd": F12,
}  # fmt: skip


def add_takes(
    page: GridPage, lines: Lines, listed: list[Sizing], row: int
) -> tuple[int, list[LiveRow]]:
    """Write what each sizing takes.

    Args:
        page: the sheet.
        lines: what is counted in.
        listed: the sizings.
        row: first row.

    Returns:
        The row of the first sizing, and the rows of all.
    """
    row = page.heading(row, "What each rule takes", _counted(lines))
    money = _MONEY_TITLES if has_prices(page.book, lines) else ()
    titles = [*_TITLES, *money, *("",) * (NOTE - len(_TITLES) - len(money)), "Source"]
    first = page.table(row, titles, _WORKINGS)
    columns = _COLUMNS | {"needed_write": page.workings, "needed_read": page.workings + 1}
    rows = []
    for at, sizing in enumerate(listed, start=first):
        emphasis = begin_row(page, at, sizing.label, sizing.source)
        live = LiveRow(page, at, columns)
        live.write([*sizing.steps, *taking_steps(page.book, lines)], emphasis)
        rows.append(live)
    return first, rows


def _counted(lines: Lines) -> str:
    """Say which product the appliances are counted in."""
    line = lines.storage.line
    read, write = line.read_gb_per_s / line.working, line.write_gb_per_s / line.working
    text = (
        f"Counted in {clean(lines.appliance, 60)}, line {lines.storage.number}.0 of BOM, at "
        f"{read:,.4g} GB/s read and {write:,.4g} GB/s write each (the solved line's average). "
        "Other storage stays."
    )
    if lines.fewest:
        text += f" At least {lines.fewest:,} of them, as the plan's limits say."
    return text
