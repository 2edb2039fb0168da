"""The sheet ``Rules``: the argument as a table, each row a plan of its own, and what it shows."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from planner.outputs.money_words import MoneyWords
from planner.outputs.workbook.book import Book, Scalar
from planner.outputs.workbook.formats import DECIMAL_1
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.studies.grid import over
from planner.outputs.workbook.studies.rules_charts import ROWS, add_bars
from planner.outputs.workbook.studies.rules_columns import AGAINST, DIFFERENCE, POWER, Column
from planner.outputs.workbook.studies.rules_columns import columns as columns_of
from planner.schema.comparison import RuleRow, RulesTable

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


def add(book: Book, table: RulesTable) -> None:
    """Add the sheet.

    Args:
        book: the workbook; an edition without money leaves out what is money.
        table: what to show.
    """
    page = Page(book, SHEET, _TITLE)
    shown = columns_of(table.measure, money=book.money)
    widths = [("", 29.0), ("What it asks", 48.0), *((c.title, c.width) for c in shown)]
    widths.append(("To see it in full: planner solve ... with", 58.0))
    for place, text in enumerate(_INTRODUCTION):
        page.text(FIRST_ROW - 2 + place, _LABEL, text, "subtitle")
    first = FIRST_ROW + 1
    page.headers(first, widths, 44)
    row = _rows(page, table.rows, shown, widths, first + 1)
    row = _argument(page, table, widths, row + 1)
    _charts(page, table, shown, first + 2, row + 1)
    page.finish(len(widths) - 1, (first + 1, 1))


def _rows(
    page: Page,
    rows: Sequence[RuleRow],
    columns: Sequence[Column],
    widths: Sequence[tuple[str, float]],
    at: int,
) -> int:
    """Write the rows with a heading over each group; return the next free row."""
    group = ""
    for row in rows:
        if row.group != group and row.group in _GROUPS:
            page.fill(at, (_GROUPS[row.group],), "heading", len(widths))
            at += 1
        group = row.group
        _row(page, row, columns, widths, at)
        at += 1
    return at


def _row(
    page: Page,
    row: RuleRow,
    columns: Sequence[Column],
    widths: Sequence[tuple[str, float]],
    at: int,
) -> None:
    label = f"{row.label} (as the problem asks)" if row.own else row.label
    settings = _settings(row)
    page.text(at, _LABEL, label)
    page.text(at, 1, row.asks)
    texts = [label, row.asks]
    for place, column in enumerate(columns, start=2):
        value: Scalar = None
        if row.outcome is not None:
            value = column.read(row.outcome)
        elif place == 2:
            value = _why_none(row, money=page.book.money)
        texts.append(value if isinstance(value, str) else "")
        if isinstance(value, str):
            page.text(at, place, value)
        else:
            page.number(at, place, value, column.number)
    page.text(at, len(widths) - 1, settings)
    page.grow(at, zip((*texts, settings), (width for _, width in widths), strict=True))


def _why_none(row: RuleRow, *, money: bool) -> str:
    reason = row.reason or "none was found"
    if not money and _SPEAKS(reason):
        return "no plan"
    return reason if reason.startswith("no plan") else f"no plan: {reason}"


def _settings(row: RuleRow) -> str:
    return " ".join(f"--set {shlex.quote(setting)}" for setting in row.settings)


def _argument(page: Page, table: RulesTable, widths: Sequence[tuple[str, float]], row: int) -> int:
    """Write the sentences under the table, over its width; return the next free row."""
    page.fill(row, ("What that shows",), "heading", len(widths))
    width = sum(width for _, width in widths)
    for text in table.argument:
        if page.book.money or not _SPEAKS(text):
            row += 1
            over(page, row, _LABEL, len(widths) - 1, text, width)
    return row + 1


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
