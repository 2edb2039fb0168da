"""The sheet ``Near-optimal``: plans within a share of the best, each a row, and what they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from planner.figures import FIGURES
from planner.outputs.alternatives_text import (
    bought,
    command,
    sentences,
    tolerance,
    units,
    what_it_is,
)
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.evaluate import Scalar
from planner.outputs.workbook.formats import INTEGER
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.studies import Sheet
from planner.schema.comparison import Alternative, Alternatives
from planner.schema.plan import JobPlan, Totals

SHEET = "Near-optimal"
_SMALL_SHARE = "0.000%"
_WHAT, _BUYS, _HOW = 44.0, 52.0, 60.0


@dataclass(frozen=True)
class _Column:
    name: str
    width: float
    number: str
    read: Callable[[Alternative, Totals, JobPlan], Scalar]
    money: bool = False

    @property
    def title(self) -> str:
        """Its head; an amount names its currency."""
        return FIGURES[self.name].column if self.name in FIGURES else self.name


def _figure(
    name: str, width: float, read: Callable[[Alternative, Totals, JobPlan], Scalar]
) -> _Column:
    figure = FIGURES[name]
    return _Column(name, width, figure.excel, read, figure.money)


_COLUMNS = (
    _Column("Behind the best, at most", 11, _SMALL_SHARE, lambda a, t, j: a.shortfall),
    _figure("useful_pflops", 11, lambda a, t, j: j.useful_pflops),
    _figure("useful_gpus", 11, lambda a, t, j: j.useful_gpus),
    _figure("gpus_used", 10, lambda a, t, j: j.gpus_used),
    _figure("gpu_systems", 10, lambda a, t, j: units(a.plan, "Compute")),
    _figure("storage_units", 10, lambda a, t, j: units(a.plan, "Storage")),
    _figure("capex_usd", 15, lambda a, t, j: t.capex_usd),
    _figure("tco_usd", 15, lambda a, t, j: t.tco_usd),
    _figure("it_power_kw", 11, lambda a, t, j: t.it_power_kw),
    _figure("facility_power_kw", 11, lambda a, t, j: t.facility_power_kw),
    _figure("racks", 9, lambda a, t, j: t.racks),
    _figure("days_to_train", 10, lambda a, t, j: j.days_to_train),
)


def sheets(study: Alternatives) -> dict[str, Sheet]:
    """Return what adds each sheet, by its name."""
    return {SHEET: partial(add, study=study)}


def add(book: Book, study: Alternatives) -> None:
    """Add the sheet.

    Args:
        book: the workbook; an edition without money leaves out what is money.
        study: what to show.
    """
    page = Page(book, SHEET, f"Plans within {tolerance(study)} of the best")
    columns = [column for column in _COLUMNS if book.money or not column.money]
    widths = [
        ("", 5.0),
        ("What it is", _WHAT),
        ("GPU systems and storage", _BUYS),
        *((column.title, column.width) for column in columns),
        ("To see it in full", _HOW),
    ]
    introduction = (
        "Every row is a complete, verified plan of the same problem. The figures are a record: "
        "they do not follow edits of a workbook."
    )
    page.text(FIRST_ROW - 2, 0, study.message or introduction, "subtitle")
    page.headers(FIRST_ROW, widths, 44)
    at = FIRST_ROW + 1
    for place, alternative in enumerate(study.alternatives, start=1):
        _row(page, study, alternative, columns, at, place)
        at += 1
    _looked_for(page, study, at + 1, len(widths))
    page.finish(len(widths) - 1, (FIRST_ROW + 1, 2))


def _row(
    page: Page,
    study: Alternatives,
    alternative: Alternative,
    columns: Sequence[_Column],
    at: int,
    place: int,
) -> None:
    plan = alternative.plan
    assert plan.totals is not None
    what, buys = what_it_is(alternative), bought(plan)
    how = command(study, alternative) or "no problem file can ask for this one"
    page.number(at, 0, place, INTEGER)
    page.text(at, 1, what)
    page.text(at, 2, buys)
    for column_at, column in enumerate(columns, start=3):
        value = column.read(alternative, plan.totals, plan.jobs[0])
        page.scalar(at, column_at, value, column.number)
    page.text(at, 3 + len(columns), how)
    page.grow(at, [(what, _WHAT), (buys, _BUYS), (how, _HOW)])


def _looked_for(page: Page, study: Alternatives, at: int, wide: int) -> None:
    """Write what was looked for and how that ended."""
    said = sentences(study)
    if not said:
        return
    page.fill(at, ("What was looked for",), "heading", wide)
    for place, text in enumerate(said, start=at + 1):
        page.text(place, 0, text[0].upper() + text[1:], "subtitle")
