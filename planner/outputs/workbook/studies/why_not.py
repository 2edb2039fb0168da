"""The sheet ``Why not``: plans side by side with the plan, and every item it does not hold."""

from __future__ import annotations

from planner.outputs.why_not_text import GROUPS, enters, ordered, verdict
from planner.outputs.words import in_money
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.formats import DECIMAL_2, GENERAL, PERCENT_2
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.studies.stack import RecordColumn, figure_column
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
_LABEL_WIDTH = 36.0
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
    page = Page(book, SHEET, _TITLE)
    columns = [column for column in _COLUMNS if book.money or not column.money]
    widths = [
        ("", _LABEL_WIDTH),
        ("Change of the objective", 12.0),
        ("GPU systems and storage", 52.0),
        *((column.title, column.width) for column in columns),
        ("Proven within", 11.0),
        ("To see it in full: planner solve ... --set", 46.0),
    ]
    page.text(FIRST_ROW - 2, 0, study.message or _INTRODUCTION, "subtitle")
    page.headers(FIRST_ROW, widths, 44)
    row = _side_by_side(page, study, columns, len(widths), FIRST_ROW + 1)
    _items(page, study, row + 1, len(widths))
    page.finish(len(widths) - 1, (FIRST_ROW + 1, 1))


def _side_by_side(page: Page, study: WhyNot, columns: list[Column], wide: int, at: int) -> int:
    """Write the plan and the plans beside it; return the next free row."""
    if study.plan is None:
        return at
    page.text(at, 0, "The plan", "total")
    page.text(at, 1, "", "total")
    page.text(at, _BOUGHT, _names(study.bought), "total")
    _figures(page, at, columns, study.plan, "total")
    at, group = at + 1, ""
    for row in study.forced:
        if row.kind != group:
            group = row.kind
            page.fill(at, (GROUPS[group],), "heading", wide)
            at += 1
        _forced(page, study, row, columns, at)
        at += 1
    return at


def _forced(page: Page, study: WhyNot, row: Forced, columns: list[Column], at: int) -> None:
    page.text(at, 0, row.label)
    sign = -1.0 if study.sense == "maximize" else 1.0
    page.number(at, 1, None if row.loss is None else sign * row.loss, PERCENT_2)
    said = row.reason or UNDECIDED
    if row.outcome == "as_is":
        said = "the plan as it is"
    elif row.figures is not None:
        said = _names(row.bought)
    page.text(at, _BOUGHT, said)
    _figures(page, at, columns, row.figures, "formula")
    last = _BOUGHT + len(columns) + 1
    gap = None if row.certificate is None else row.certificate.gap
    page.number(at, last, gap, "0.0000%")
    settings = " --set ".join(row.setting)
    page.text(at, last + 1, settings)
    page.grow(at, [(said, 52.0), (settings, 46.0)])


def _figures(
    page: Page, at: int, columns: list[Column], figures: Figures | None, role: str
) -> None:
    for place, column in enumerate(columns, start=_BOUGHT + 1):
        value = None if figures is None else column.read(figures)
        page.scalar(at, place, value, column.number, "total" if role == "total" else "formula")


def _names(bought: tuple[Bought, ...]) -> str:
    return ", ".join(f"{each.quantity:,} × {each.model}" for each in bought)


def _items(page: Page, study: WhyNot, at: int, wide: int) -> None:
    """Write why each item is not in the plan."""
    if not study.items:
        return
    page.fill(at, ("Not in the plan",), "heading", wide)
    page.text(at + 1, 0, _ITEMS_INTRODUCTION.format(in_money("USD")), "subtitle")
    titles = ["Item", "At least worse by", "The best plan with it", "At most worse by", "Proof"]
    if page.book.money:
        titles += ["Price today", "Enters at", "Not at"]
    page.sheet.set_row(at + 2, 30)
    page.text(at + 2, wide - 1, "Id", "header")
    for place, title in enumerate(titles):
        page.text(at + 2, place, title, "header")
    for row, item in enumerate(ordered(study.items), start=at + 3):
        _item(page, study, item, row, wide - 1)


def _item(page: Page, study: WhyNot, item: Item, row: int, last: int) -> None:
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
    page.text(row, last, item.sku)
    page.grow(row, [(name, _LABEL_WIDTH), (said + reason, 52.0)])


def _prices(page: Page, item: Item, row: int) -> None:
    price = item.break_even
    page.number(row, 5, None if item.kind == "left_out" else item.net_usd, DECIMAL_2)
    if price is None or price.enters_at_usd is None:
        page.text(row, 6, enters(item), align="right")
        page.number(row, 7, None, GENERAL)
        return
    page.number(row, 6, price.enters_at_usd, DECIMAL_2)
    page.number(row, 7, price.not_at_usd, DECIMAL_2)
