"""The sheet ``Why not``: plans side by side with the plan, and every item it does not hold."""

from __future__ import annotations

from planner.outputs.why_text import GROUPS, enters, ordered, verdict
from planner.outputs.words import in_money
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import DECIMAL_2, GENERAL, PERCENT_2
from planner.outputs.workbook.page import FIRST_ROW
from planner.outputs.workbook.studies.stack import Cells, RecordColumn, Stack, figure_column
from planner.schema.explanation import Bought, Figures, Forced, Item, WhyNot
from planner.schema.infeasibility import UNDECIDED

SHEET = "Why not"
_TITLE = "Why not something else"
_INTRODUCTION = (
    "Each row is the best plan of the same problem with one thing forced, proven as the plan is. "
    "The figures are a record: they do not follow edits of a workbook."
)
_ITEMS_INTRODUCTION = (
    "'At least' is a bound that no plan passes; other figures belong to plans that were found and "
    "proven. Prices are for one unit after discount, in {}."
)
_BOUGHT = 2
"""Column of what a plan buys, which is wide enough for sentences."""


Column = RecordColumn[Figures]

_COLUMNS: tuple[Column, ...] = (
    figure_column("useful_pflops", 11, lambda f: f.useful_pflops),
    figure_column("useful_gpus", 11, lambda f: f.useful_gpus),
    figure_column("gpus_used", 14, lambda f: f.gpus_used),
    figure_column("gpu_systems", 14, lambda f: f.systems),
    figure_column("storage_units", 14, lambda f: f.appliances),
    figure_column("capex_usd", 15, lambda f: f.capex_usd),
    figure_column("tco_usd", 15, lambda f: f.tco_usd),
    figure_column("it_power_kw", 11, lambda f: f.it_power_kw),
    figure_column("facility_power_kw", 11, lambda f: f.facility_power_kw),
    figure_column("days_to_train", 10, lambda f: f.days_to_train),
)


def add(book: Book, study: WhyNot) -> None:
    """Add the sheet.

    Args:
        book: the workbook; an edition without money leaves out what is money.
        study: what to show.
    """
    columns = [column for column in _COLUMNS if book.money or not column.money]
    heads = [
        ("", 36.0),
        ("Change of the objective", 12.0),
        ("GPU systems and storage", 52.0),
        *((column.title, column.width) for column in columns),
        ("Proven within", 11.0),
        ("To see it in full: planner solve ... --set", 46.0),
    ]
    page = Stack(book, SHEET, _TITLE, [width for _, width in heads])
    page.text(page.row, 0, study.message or _INTRODUCTION, "subtitle")
    page.row = FIRST_ROW
    page.sheet.repeat_rows(page.heads([title for title, _ in heads]))
    if study.plan is not None:
        _side_by_side(page, study, study.plan, columns)
    _items(page, study)
    page.finish(page.last, (FIRST_ROW + 1, 1))


def _side_by_side(page: Stack, study: WhyNot, plan: Figures, columns: list[Column]) -> None:
    """Write the plan and the plans beside it, under a heading for each group."""
    for place, text in enumerate(("The plan", "", _names(study.bought))):
        page.text(page.row, place, text, "total")
    for place, column in enumerate(columns, start=_BOUGHT + 1):
        page.scalar(page.row, place, column.read(plan), column.number, "total")
    page.row += 1
    group = ""
    for row in study.forced:
        if row.kind != group:
            group = row.kind
            page.fill(page.row, (GROUPS[group],), "heading", len(page.widths))
            page.row += 1
        page.line(_forced(study, row, columns))


def _forced(study: WhyNot, row: Forced, columns: list[Column]) -> Cells:
    sign = -1.0 if study.sense == "maximize" else 1.0
    said = row.reason or UNDECIDED
    if row.outcome == "as_is":
        said = "the plan as it is"
    elif row.figures is not None:
        said = _names(row.bought)
    figures = row.figures
    return [
        (row.label, GENERAL),
        (None if row.loss is None else sign * row.loss, PERCENT_2),
        (said, GENERAL),
        *((None if figures is None else each.read(figures), each.number) for each in columns),
        (None if row.certificate is None else row.certificate.gap, "0.0000%"),
        (" --set ".join(row.setting), GENERAL),
    ]


def _names(bought: tuple[Bought, ...]) -> str:
    return ", ".join(f"{each.quantity:,} × {each.model}" for each in bought)


def _items(page: Stack, study: WhyNot) -> None:
    """Write why each item is not in the plan."""
    if not study.items:
        return
    page.heading("Not in the plan")
    page.text(page.row, 0, _ITEMS_INTRODUCTION.format(in_money("USD")), "subtitle")
    page.row += 1
    titles = ["Item", "At least worse by", "The best plan with it", "At most worse by", "Proof"]
    if page.book.money:
        titles += ["Price today", "Enters at", "Not at"]
    page.text(page.row, page.last, "Id", "header")
    page.heads(titles, 30)
    for row, item in enumerate(ordered(study.items), start=page.row):
        _item(page, study, item, row)


def _item(page: Stack, study: WhyNot, item: Item, row: int) -> None:
    said = verdict(study, item, money_shown=page.book.money)
    reason = f": {item.reason}" if item.reason and item.kind == "no_plan" else ""
    name = item.model if item.model.startswith(item.vendor) else f"{item.vendor} {item.model}"
    page.text(row, 0, name)
    page.number(row, 1, item.at_least, PERCENT_2)
    page.text(row, _BOUGHT, said + reason)
    page.number(row, 3, item.at_most, PERCENT_2)
    compared = item.at_least is not None
    page.text(row, 4, ("found" if item.exact else "bound") if compared else "", align="right")
    if page.book.money:
        _prices(page, item, row)
    page.text(row, page.last, item.sku)
    page.grow(row, [(name, page.widths[0]), (said + reason, page.widths[_BOUGHT])])


def _prices(page: Stack, item: Item, row: int) -> None:
    price = item.break_even
    page.number(row, 5, None if item.kind == "left_out" else item.net_usd, DECIMAL_2)
    if price is None or price.enters_at_usd is None:
        page.text(row, 6, enters(item), align="right")
        page.number(row, 7, None, GENERAL)
        return
    page.number(row, 6, price.enters_at_usd, DECIMAL_2)
    page.number(row, 7, price.not_at_usd, DECIMAL_2)
