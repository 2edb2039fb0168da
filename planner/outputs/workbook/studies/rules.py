"""The sheet ``Rules``: the argument as a table, each row a plan of its own, and what it shows."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial
from typing import Any

from planner.figures import FIGURES, OBJECTIVES
from planner.outputs.audience import MoneyWords
from planner.outputs.words import in_money
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import DECIMAL_1, GENERAL, INTEGER
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.sensitivity.charts import (
    GRID,
    SOLID,
    STRIPED,
    TITLE_FONT,
    add_bar_series,
    axis,
)
from planner.outputs.workbook.studies import Sheet
from planner.outputs.workbook.studies.stack import (
    Cell,
    Cells,
    RecordColumn,
    Stack,
    figure_column,
    figures_of,
)
from planner.schema.comparison import Bought, Measure, Outcome, RuleRow, RulesTable

POWER, AGAINST = "Storage, kW", "Against what the job needs"
"""Titles of the columns that are drawn."""

DIFFERENCE = '+0.00%;-0.00%;"–"'
_SMALL_SHARE = "0.0000%"


Column = RecordColumn[Outcome]


def columns(measure: Measure, *, money: bool) -> list[Column]:
    """Return the columns between what a row asks and how to get it."""
    shown = [
        Column("Storage bought", 31, GENERAL, lambda plan: _bought(plan.storage)),
        figure_column("storage_units", 9, lambda plan: plan.storage_units),
        Column(POWER, 10, DECIMAL_1, lambda plan: plan.storage_it_power_kw),
        figure_column("it_power_kw", 10, lambda plan: plan.it_power_kw),
    ]
    if money:
        shown += [
            Column(in_money("Storage, USD"), 13, INTEGER, lambda plan: plan.storage_capex_usd),
            figure_column("capex_usd", 14, lambda plan: plan.capex_usd),
        ]
    shown += [
        figure_column("gpus", 9, lambda plan: plan.gpus),
        figure_column("gpus_used", 9, lambda plan: plan.gpus_used),
    ]
    if money or measure.unit != "USD":
        shown += _measured(measure)
    shown += [
        figure_column("days_to_train", 9, lambda plan: plan.days_to_train),
        Column(
            FIGURES["interval_s"].column_in("min"), 11, DECIMAL_1, lambda plan: plan.interval_s / 60
        ),
        figure_column("goodput", 9, lambda plan: plan.goodput),
        Column("Proven within", 10, _SMALL_SHARE, lambda plan: plan.gap),
    ]
    return shown


def _measured(measure: Measure) -> list[Column]:
    """Return what rows are measured by, and how far they are from what the job needs."""
    name = OBJECTIVES[measure.name].figure.name if measure.sense == "minimize" else measure.name
    return [
        figure_column(name, 14 if measure.unit == "USD" else 10, lambda plan: plan.measured),
        Column(AGAINST, 11, DIFFERENCE, lambda plan: plan.difference),
    ]


def _bought(bought: Sequence[Bought]) -> str:
    return ", ".join(f"{each.quantity:,} {each.product}" for each in bought) or "none"


ROWS = 17
"""Rows that the charts take."""

_ROW_PIXELS = 20


def add_bars(
    page: Page,
    title: str,
    cells: tuple[int, int, int],
    number: str,
    at: tuple[int, int],
    *,
    change: bool = False,
) -> None:
    """Draw a column of neighbouring rows as bars.

    Args:
        title: what the bars show, with its unit.
        cells: first and last row, and the column; the labels stand in the first column.
        number: number format of the labels at the bars.
        at: row and column of the chart's corner.
        change: whether bars can point either way.
    """
    first, last, column = cells
    chart: Any = page.book.workbook.add_chart({"type": "bar"})
    look = STRIPED if change else SOLID
    add_bar_series(page, chart, title, (first, last, column), look, number)
    chart.set_title({"name": title, "name_font": TITLE_FONT})
    chart.set_x_axis(axis("", num_format=number, major_gridlines=GRID, label_position="high"))
    chart.set_y_axis(axis("", reverse=True, label_position="low"))
    chart.set_legend({"none": True})
    chart.set_size({"width": 620, "height": (ROWS - 1) * _ROW_PIXELS})
    chart.set_chartarea({"border": {"color": "#D9D9D9"}})
    page.sheet.insert_chart(*at, chart, {"x_offset": 4, "y_offset": 6})


SHEET = "Rules"

_TITLE = "Storage sized and chosen in other ways"
_INTRODUCTION = (
    "Every row is the best plan of the same problem with one thing changed, solved and checked on "
    "its own. The figures are a record: they do not follow edits of a workbook.",
    "Rows that differ by no more than 'proven within' are equally good.",
)
_GROUPS = {
    "demand": "Storage sized by",
    "mode": "Checkpoints written the other way",
    "variant": "One file system alone",
    "vendor": "Storage of one vendor alone",
}
_SPEAKS = MoneyWords(())
"""Tells what an edition without money leaves out."""

_LABEL, _BESIDE = 0, 4
_DRAWN = 5e-5
"""Smallest difference that is more than an empty chart."""


def sheets(table: RulesTable) -> dict[str, Sheet]:
    """Return what adds each sheet, by its name."""
    return {SHEET: partial(add, table=table)}


def add(book: Book, table: RulesTable) -> None:
    """Add the sheet.

    Args:
        book: the workbook; an edition without money leaves out what is money.
    """
    shown = columns(table.measure, money=book.money)
    heads = [("", 29.0), ("What it asks", 48.0), *((c.title, c.width) for c in shown)]
    heads.append(("To see it in full: planner solve ... with", 58.0))
    page = Stack(book, SHEET, _TITLE, [width for _, width in heads])
    page.records(_INTRODUCTION, [title for title, _ in heads])
    _rows(page, table.rows, shown)
    page.heading("What that shows")
    page.sentences(text for text in table.argument if book.money or not _SPEAKS(text))
    _charts(page, table, shown, FIRST_ROW + 3, page.row + 1)
    page.finish(page.last, (FIRST_ROW + 2, 1))


def _rows(page: Stack, rows: Sequence[RuleRow], columns: Sequence[Column]) -> None:
    """Write the rows with a heading over each group."""
    group = ""
    for row in rows:
        if row.group != group and row.group in _GROUPS:
            page.heading(_GROUPS[row.group], apart=False)
        group = row.group
        page.line(_row(row, columns, money=page.book.money))


def _row(row: RuleRow, columns: Sequence[Column], *, money: bool) -> Cells:
    plan = row.outcome
    found: list[Cell] = [*figures_of(columns, plan)]
    if plan is None:
        found[0] = _why_none(row, money=money)
    label = f"{row.label} (as the problem asks)" if row.own else row.label
    settings = " ".join(f"--set {shlex.quote(setting)}" for setting in row.settings)
    return [label, row.asks, *found, settings]


def _why_none(row: RuleRow, *, money: bool) -> str:
    reason = row.reason or "none was found"
    if not money and _SPEAKS(reason):
        return "no plan"
    return reason if reason.startswith("no plan") else f"no plan: {reason}"


def _charts(page: Page, table: RulesTable, columns: Sequence[Column], first: int, at: int) -> None:
    """Draw the power of storage and the difference it makes, by what sizes it."""
    sized = [row for row in table.rows if row.group in ("demand", "rule")]
    if not any(row.outcome for row in sized):
        return
    last = first + len(sized) - 1
    titles = [column.title for column in columns]
    power = 2 + titles.index(POWER)
    add_bars(page, "IT power of the storage, kW", (first, last, power), DECIMAL_1, (at, _LABEL))
    differs = any(row.outcome and abs(row.outcome.difference or 0.0) > _DRAWN for row in sized)
    if AGAINST in titles and differs:
        against = 2 + titles.index(AGAINST)
        title = (
            f"{table.measure.label[0].upper()}{table.measure.label[1:]} against what the job needs"
        )
        cells = (first, last, against)
        add_bars(page, title, cells, DIFFERENCE, (at, _BESIDE), change=True)
    # The print area ends with the last cell, so the charts get one under them.
    page.text(at + ROWS, _LABEL, " ", "subtitle")
