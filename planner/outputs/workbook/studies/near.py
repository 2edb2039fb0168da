"""The sheet ``Near-optimal``: plans within a share of the best, each a row, and what they are."""

from __future__ import annotations

from functools import partial

from planner.outputs.alternatives_text import (
    bought_text,
    command,
    sentences,
    tolerance,
    units,
    what_it_is,
)
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import INTEGER
from planner.outputs.workbook.page import FIRST_ROW
from planner.outputs.workbook.studies import Sheet
from planner.outputs.workbook.studies.stack import RecordColumn, Stack, figure_column, figures_of
from planner.schema.comparison import Alternative, Alternatives
from planner.schema.plan import Totals

SHEET = "Near-optimal"
_SMALL_SHARE = "0.000%"
_INTRODUCTION = (
    "Every row is a complete, verified plan of the same problem. The figures are a record: they do "
    "not follow edits of a workbook."
)

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
    """
    columns = [column for column in _COLUMNS if book.money or not column.money]
    heads = [
        ("", 5.0),
        ("What it is", 44.0),
        ("GPU systems and storage", 52.0),
        *((column.title, column.width) for column in columns),
        ("To see it in full", 60.0),
    ]
    title = f"Plans within {tolerance(study)} of the best"
    page = Stack(book, SHEET, title, [width for _, width in heads])
    page.records([study.message or _INTRODUCTION], [title for title, _ in heads])
    for place, each in enumerate(study.alternatives, start=1):
        how = command(study, each) or "no problem file can ask for this one"
        what = (what_it_is(each), bought_text(each.plan))
        page.line([(place, INTEGER), *what, *figures_of(columns, each), how])
    notes = sentences(study)
    if notes:
        page.heading("What was looked for")
    for row, text in enumerate(notes, start=page.row):
        page.text(row, 0, text[0].upper() + text[1:], "subtitle")
    page.finish(page.last, (FIRST_ROW + 1, 2))
