"""The sheet ``Near-optimal``: plans within a share of the best, each a row, and what they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from planner.outputs.alternatives_text import (
    bought,
    command,
    sentences,
    tolerance,
    units,
    what_it_is,
)
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.formats import INTEGER
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.studies import Sheet
from planner.outputs.workbook.studies.stack import RecordColumn, figure_column
from planner.schema.comparison import Alternative, Alternatives
from planner.schema.plan import Totals

SHEET = "Near-optimal"
_SMALL_SHARE = "0.000%"
_WHAT, _BUYS, _HOW = 44.0, 52.0, 60.0


Column = RecordColumn[Alternative]


def _totals(alternative: Alternative) -> Totals:
    totals = alternative.plan.totals
    assert totals is not None
    return totals


_COLUMNS: tuple[Column, ...] = (
    RecordColumn("Behind the best, at most", 11, _SMALL_SHARE, lambda a: a.shortfall),
    figure_column("useful_pflops", 11, lambda a: a.plan.jobs[0].useful_pflops),
    figure_column("useful_gpus", 11, lambda a: a.plan.jobs[0].useful_gpus),
    figure_column("gpus_used", 10, lambda a: a.plan.jobs[0].gpus_used),
    figure_column("gpu_systems", 10, lambda a: units(a.plan, "Compute")),
    figure_column("storage_units", 10, lambda a: units(a.plan, "Storage")),
    figure_column("capex_usd", 15, lambda a: _totals(a).capex_usd),
    figure_column("tco_usd", 15, lambda a: _totals(a).tco_usd),
    figure_column("it_power_kw", 11, lambda a: _totals(a).it_power_kw),
    figure_column("facility_power_kw", 11, lambda a: _totals(a).facility_power_kw),
    figure_column("racks", 9, lambda a: _totals(a).racks),
    figure_column("days_to_train", 10, lambda a: a.plan.jobs[0].days_to_train),
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
    columns: Sequence[Column],
    at: int,
    place: int,
) -> None:
    what, buys = what_it_is(alternative), bought(alternative.plan)
    how = command(study, alternative) or "no problem file can ask for this one"
    page.number(at, 0, place, INTEGER)
    page.text(at, 1, what)
    page.text(at, 2, buys)
    for column_at, column in enumerate(columns, start=3):
        page.scalar(at, column_at, column.read(alternative), column.number)
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
