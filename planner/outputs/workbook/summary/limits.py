"""How far each limit is used, and where the time goes, on the sheet ``Summary``."""

from __future__ import annotations

from dataclasses import dataclass

from xlsxwriter.format import Format
from xlsxwriter.utility import xl_rowcol_to_cell

from planner.figures import FIGURES
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.checkpoint.rows import UNKNOWN
from planner.outputs.workbook.formats import DECIMAL_1, DECIMAL_2, INTEGER, PERCENT, PERCENT_2, Role
from planner.outputs.workbook.formulas import TIME_TOLERANCE
from planner.outputs.workbook.page import Page
from planner.outputs.workbook.summary.grid import LIMITS, heading, live, quotient, short
from planner.schema.plan import LimitReport, Loss

_LABEL, _USED, _ALLOWED, _SHARE, _BAR, _STATE = range(LIMITS, LIMITS + 6)
_LABEL_LENGTH, _SENTENCE_LENGTH = 46, 100
_MOST_LIMITS = 14
_FULL = 1 + TIME_TOLERANCE
"""A share beyond which a limit is broken and not merely reached."""

_BLOCK, _BLOCKS = "█", 10
_BAR_LOOK = {
    "font_name": "Arial", "font_size": 8, "font_color": "#5B86B5", "align": "left", "indent": 1,
    "valign": "top", "bottom": 4, "bottom_color": "#BFBFBF",
}  # fmt: skip
_MINUTES_PER_DAY = 1440
_SENSES = {"<=": "≤", ">=": "≥"}


@dataclass(frozen=True)
class Losses:
    """Where the table of losses stands, for a chart: rows and columns."""

    first: int
    last: int
    names: int = _LABEL
    share: int = _USED


def add(page: Page, row: int) -> int:
    """Write the table of limits, those with the least room where there are many.

    Args:
        page: the sheet.
        row: its first row.

    Returns:
        The row under it.
    """
    titles = ("Limits", "Value", "Limit", "Used", "", "State")
    heading(page, row, LIMITS, titles)
    numbered = list(enumerate(page.book.plan.limits, start=1))
    tightest = sorted(numbered, key=lambda pair: -(_use(pair[1]) or 0.0))[:_MOST_LIMITS]
    shown = [pair for pair in numbered if pair in tightest]
    style = page.book.workbook.add_format(_BAR_LOOK)
    for number, limit in shown:
        row += 1
        _limit(page, row, number, limit, style)
    left = len(numbered) - len(shown)
    if not numbered or left:
        row += 1
        text = f"{left} more, with more room: see Checks" if left else "The plan has no limits"
        page.text(row, _LABEL, text, "subtitle")
    return row + 1


def _use(limit: LimitReport) -> float | None:
    over, under = limit.value, limit.limit
    if limit.sense == ">=":
        over, under = under, over
    return over / under if under else None


def _number(limit: LimitReport) -> str:
    if limit.unit in ("share", "1"):
        return PERCENT_2
    if float(limit.value).is_integer() and float(limit.limit).is_integer():
        return INTEGER
    if limit.unit.startswith("USD") and limit.limit >= 1000:
        return INTEGER
    return DECIMAL_1 if limit.limit >= 100 else DECIMAL_2


def _label(limit: LimitReport) -> str:
    """Return a limit's label with its unit, where the label does not say it."""
    told = limit.unit in ("", "share", "1", *limit.label.split())
    unit = "" if told else f", {limit.unit}"
    label = short(limit.label, _LABEL_LENGTH - len(unit)) + unit
    return label[:1].upper() + label[1:]


def _limit(page: Page, row: int, number: int, limit: LimitReport, bar: Format) -> None:
    page.text(row, _LABEL, _label(limit))
    shown = _number(limit)
    _side(page, row, _USED, f"check_value_{number}", shown)
    _side(page, row, _ALLOWED, f"check_limit_{number}", f'"{_SENSES[limit.sense]} "{shown}')
    over, under = (str(xl_rowcol_to_cell(row, column)) for column in (_USED, _ALLOWED))
    if limit.sense == ">=":
        over, under = under, over
    quotient(page, row, _SHARE, over, under, PERCENT)
    share = str(xl_rowcol_to_cell(row, _SHARE))
    _bar(page, row, share, bar)
    state = "binds" if limit.binding else ""
    text = f'=IF(ISNUMBER({share}),IF({share}>{_FULL},"OVER","{state}"),"{state}")'
    page.formula(row, _STATE, text, align="right")
    page.mark(row, _STATE, "begins with", "OVER", "bad")


def _side(page: Page, row: int, column: int, name: str, number: str) -> None:
    live(page, row, column, name, number, text="no limit")


def _bar(page: Page, row: int, share: str, style: Format) -> None:
    """Draw a share as a bar of blocks, ten at 100 %: text, which every program shows and prints."""
    text = f'=IF(ISNUMBER({share}),REPT("{_BLOCK}",MIN({_BLOCKS},ROUND({_BLOCKS}*{share},0))),"")'
    page.sheet.write_formula(row, _BAR, text, style)


def add_losses(page: Page, row: int) -> tuple[int, Losses]:
    """Write where the wall-clock time goes.

    Args:
        page: the sheet.
        row: its first row.

    Returns:
        The row under it, and where the losses stand.
    """
    heading(page, row, LIMITS, ("Where the time goes", "Share", "Minutes a day"))
    first = row + 1
    for name in Loss.model_fields:
        row += 1
        _loss(page, row, FIGURES[f"loss.{name}"].heading, f"loss_{name}")
    row += 1
    _loss(page, row, "Kept progress (goodput)", "goodput", "total")
    return row + 1, Losses(first, first + len(Loss.model_fields) - 1)


def _loss(page: Page, row: int, label: str, name: str, role: Role = "cross") -> None:
    page.text(row, _LABEL, label, "total" if role == "total" else "text")
    live(page, row, _USED, name, PERCENT_2, text=UNKNOWN, role=role)
    minutes = f"{name}*{_MINUTES_PER_DAY}"
    live(page, row, _ALLOWED, minutes, DECIMAL_1, text=UNKNOWN, role=role)


def binding(book: Book) -> str:
    """Return which limits stop a better plan, in words."""
    labels = [limit.label for limit in book.plan.limits if limit.binding]
    if not labels:
        return "As solved, no limit binds"
    verb = "these bind" if len(labels) > 1 else "this binds"
    return short(f"As solved, {verb}: {', '.join(labels)}", _SENTENCE_LENGTH)
