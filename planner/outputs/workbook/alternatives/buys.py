"""What each way to size the storage does for the job, next to what its power would feed."""

from __future__ import annotations

from planner.outputs.workbook.alternatives.rows import CHANGE_2, has_prices
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
    LABEL,
    NOTE,
    Sizing,
    begin_row,
)
from planner.outputs.workbook.alternatives.storage import Lines
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.sensitivity.live import LiveRow, Step
from planner.outputs.workbook.sensitivity.model import workings_titles, write_case
from planner.outputs.workbook.sensitivity.page import GridPage

ADDED, FED = F9, F10
"""Columns of the useful GPUs that the bandwidth adds, and of the GPUs that its power would feed."""

_TITLES = (
    "Storage sized by",
    "Delivered write, GB/s",
    "Delivered read, GB/s",
    "Saving takes, s",
    "{saving}",
    "Restore read, s",
    "Limits of the job",
    "Goodput",
    "Useful GPUs",
    "Useful GPUs added",
    "GPUs its power would feed",
    "Share of the GPUs, by power",
)
_MONEY_TITLES = ("Share of the GPUs, by money",)
_COLUMNS = {
    "write": F1,
    "read": F2,
    "save": F3,
    "restore": F5,
    "holds": F6,
    "goodput": F7,
    "useful": F8,
}
_FED_COLUMNS = {"added": ADDED, "fed": FED, "by_power": F11, "by_money": F12}
_SHARE = "+0.00%;-0.00%;0.00%"
_REMARK = (
    "The same GPUs at the same interval; useful GPUs are those in use times goodput. A minus "
    "stands for what fewer appliances lose or give back."
)


def add_buys(
    page: GridPage, lines: Lines, listed: list[Sizing], taken: list[LiveRow], row: int
) -> int:
    """Write what each sizing does for the job; return the row of the first.

    Args:
        page: the sheet.
        lines: what is counted in.
        listed: the sizings, the plan's own first.
        taken: their rows in `alternatives_takes`.
        row: first row.
    """
    row = page.heading(row, "What the additional bandwidth buys", _REMARK, " ")
    shown = _COLUMNS | {page.saving: F4}
    money = has_prices(page.book, lines)
    titles = [title.format(saving=page.saving_title) for title in _TITLES]
    titles += [*_MONEY_TITLES] if money else []
    titles += [*("",) * (NOTE - len(titles)), "Whom it is for"]
    keys = _varied(page.book, lines, taken[0].terms["more"])
    first = page.table(row, titles, workings_titles(page.model, shown, keys))
    base = ""
    for at, (sizing, take) in enumerate(zip(listed, taken, strict=True), start=first):
        emphasis = begin_row(page, at, sizing.label, sizing.note)
        varied = _varied(page.book, lines, take.terms["more"])
        live = write_case(page, at, shown, page.workings, varied, page.model, emphasis)
        page.mark(at, F6, "begins with", "OVER", "bad")
        base = base or live.terms["useful"]
        terms = take.terms | {"useful": live.terms["useful"], "base": base}
        fed = LiveRow(page, at, _FED_COLUMNS, terms)
        fed.write(_fed(lines, money), emphasis)
        if sizing.asks_most and type(page.book.at(page.name, at, FED)) is float:
            _say(page, first - 2, sizing.label, fed.terms)
    return first


def _varied(book: Book, lines: Lines, more: str) -> dict[str, str]:
    """Return what differs with so many more appliances; unknown capacity stays as it is."""
    figures = {
        "rated_write": ("nameplate_write_gb_per_s", lines.of_storage("unit_write")),
        "rated_read": ("nameplate_read_gb_per_s", lines.of_storage("unit_read")),
        "usable": ("usable_tb", lines.of_storage("unit_usable")),
    }
    return {
        key: f"{there}+{more}*{each}"
        for key, (there, each) in figures.items()
        if book.number(each) is not None
    }


def _fed(lines: Lines, money: bool) -> list[Step]:
    """Return the steps of what the bandwidth adds, and what its power and money would buy."""
    gpus = lines.of_systems("unit_gpus")
    steps = [
        Step("added", "", "ROUND({useful}-{base},2)", CHANGE_2),
        Step("fed", "", f"{{systems_kw}}*{gpus}", CHANGE_2),
        Step("by_power", "", "{fed}/bom_gpus", _SHARE),
    ]
    if money:
        steps.append(Step("by_money", "", f"{{systems_usd}}*{gpus}/bom_gpus", _SHARE))
    return steps


def _say(page: GridPage, row: int, label: str, terms: dict[str, str]) -> None:
    """Say in a sentence what the rule that asks for most takes and adds."""
    text = (
        f'"{label} means "&ROUND({{more}},2)&" more appliances and "&ROUND({{more_kw}},2)&'
        '" kW more, for "&ROUND({added},2)&" more useful GPUs; that power would feed "&'
        'ROUND({fed},2)&" GPUs."'
    )
    step = Step("says", "", text, role="subtitle", align="left")
    LiveRow(page, row, {"says": LABEL}, terms).write([step])
