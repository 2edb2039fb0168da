"""The sheets ``Why``, ``Why not``, ``No plan``: what holds the plan, what else was looked at."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from planner.figures import OBJECTIVES
from planner.outputs.why_text import (
    GROUPS,
    combined_proof,
    conflict_title,
    enters,
    holds,
    ordered,
    verdict,
)
from planner.outputs.words import in_money
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import DECIMAL_2, GENERAL, INTEGER, PERCENT_2
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.studies import Sheet
from planner.outputs.workbook.studies.stack import (
    RECORD,
    Cells,
    RecordColumn,
    Stack,
    figure_column,
    figures_of,
    signed,
)
from planner.schema.explanation import (
    Bought,
    Explanation,
    Figures,
    Forced,
    Item,
    Marginal,
    Moved,
    WhyNot,
)
from planner.schema.infeasibility import UNDECIDED, Infeasibility, Step

WHY_NOT_SHEET = "Why not"
_WHY_NOT_TITLE = "Why not something else"
_FORCED_SAYS = (
    "Each row is the best plan of the same problem with one thing forced, proven as the plan is. "
    "The figures are a record: they do not follow edits of a workbook."
)
_ITEMS_SAY = (
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


def add_why_not(book: Book, study: WhyNot) -> None:
    """Add the sheet.

    Args:
        book: the workbook; an edition without money leaves out what is money.
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
    page = Stack(book, WHY_NOT_SHEET, _WHY_NOT_TITLE, [width for _, width in heads])
    page.records([study.message or _FORCED_SAYS], [title for title, _ in heads])
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
            page.heading(GROUPS[group], apart=False)
        page.line(_forced(study, row, columns))


def _forced(study: WhyNot, row: Forced, columns: list[Column]) -> Cells:
    sign = -1.0 if study.sense == "maximize" else 1.0
    text = row.reason or UNDECIDED
    if row.outcome == "as_is":
        text = "the plan as it is"
    elif row.figures is not None:
        text = _names(row.bought)
    return [
        row.label,
        (None if row.loss is None else sign * row.loss, PERCENT_2),
        text,
        *figures_of(columns, row.figures),
        (None if row.certificate is None else row.certificate.gap, "0.0000%"),
        " --set ".join(row.setting),
    ]


def _names(bought: tuple[Bought, ...]) -> str:
    return ", ".join(f"{each.quantity:,} × {each.model}" for each in bought)


def _items(page: Stack, study: WhyNot) -> None:
    """Write why each item is not in the plan."""
    if not study.items:
        return
    page.heading("Not in the plan")
    page.text(page.row, 0, _ITEMS_SAY.format(in_money("USD")), "subtitle")
    page.row += 1
    titles = ["Item", "At least worse by", "The best plan with it", "At most worse by", "Proof"]
    if page.book.money:
        titles += ["Price today", "Enters at", "Not at"]
    page.text(page.row, page.last, "Id", "header")
    page.heads(titles, 30)
    for row, item in enumerate(ordered(study.items), start=page.row):
        _item(page, study, item, row)


def _item(page: Stack, study: WhyNot, item: Item, row: int) -> None:
    text = verdict(study, item, money_shown=page.book.money)
    reason = f": {item.reason}" if item.reason and item.kind == "no_plan" else ""
    name = item.model if item.model.startswith(item.vendor) else f"{item.vendor} {item.model}"
    page.text(row, 0, name)
    page.number(row, 1, item.at_least, PERCENT_2)
    page.text(row, _BOUGHT, text + reason)
    page.number(row, 3, item.at_most, PERCENT_2)
    compared = item.at_least is not None
    page.text(row, 4, ("found" if item.exact else "bound") if compared else "", align="right")
    if page.book.money:
        _prices(page, item, row)
    page.text(row, page.last, item.sku)
    page.grow(row, [(name, page.widths[0]), (text + reason, page.widths[_BOUGHT])])


def _prices(page: Stack, item: Item, row: int) -> None:
    price = item.break_even
    page.number(row, 5, None if item.kind == "left_out" else item.net_usd, DECIMAL_2)
    if price is None or price.enters_at_usd is None:
        page.text(row, 6, enters(item), align="right")
        page.number(row, 7, None, GENERAL)
        return
    page.number(row, 6, price.enters_at_usd, DECIMAL_2)
    page.number(row, 7, price.not_at_usd, DECIMAL_2)


NO_PLAN_SHEET = "No plan"

_NO_PLAN_TITLE = "Why there is no plan, and what would give one"
_NO_PLAN_HEADERS = (
    ("Limit", 40.0), ("Now", 14.0), ("Enough", 16.0), ("Not enough", 16.0),
    ("In the problem file", 40.0), ("File and line", 34.0), ("To try it: planner solve with", 60.0),
)  # fmt: skip


def add_no_plan(book: Book, found: Infeasibility) -> None:
    """Add the sheet."""
    page = Stack(book, NO_PLAN_SHEET, _NO_PLAN_TITLE, [width for _, width in _NO_PLAN_HEADERS])
    page.row = FIRST_ROW
    page.sheet.repeat_rows(page.heads([title for title, _ in _NO_PLAN_HEADERS], 30))
    for reason in found.reasons:
        page.text(page.row, 0, reason)
        page.row += 1
    for conflict in found.conflicts:
        page.heading(conflict_title(len(conflict.limits)), apart=False)
        for limit in conflict.limits:
            where = limit.source or ("" if limit.stated else "the default")
            page.line([limit.label, limit.text, "", "", limit.path, where, ""])
    if found.changes:
        page.heading("Any one of these changes gives a plan", apart=False)
        _steps(page, found.changes)
    if found.combined is not None:
        page.heading("These changes together give a plan", apart=False)
        _steps(page, found.combined.steps)
        page.text(page.row, 0, combined_proof(found.combined), "subtitle")
        page.row += 1
    if found.undecided:
        text = f"{UNDECIDED.capitalize()}: {', '.join(found.undecided)}"
        page.text(page.row, 0, text, "subtitle")
    page.finish(page.last, (FIRST_ROW + 1, 1))


def _steps(page: Stack, steps: Sequence[Step]) -> None:
    for step in steps:
        label = step.label if step.value is not None else f"{step.label}: {step.what}"
        settings = " ".join(f"--set '{setting}'" for setting in step.settings)
        page.line([label, step.from_text, step.to_text, step.not_enough_text, step.path,
                   step.source or "", settings])  # fmt: skip


SHEET = "Why"

_TITLE = "Why this plan: what each limit is worth"
_INTRODUCTION = (
    "Each figure is the best plan of the same problem with one limit a step looser or tighter, "
    "solved again and proven; the true change lies between 'at least' and 'at most'.",
    RECORD,
)
_HEADERS = (
    ("Limit", 34.0), ("Now", 12.0), ("Binds", 7.0), ("Step", 9.0), ("Moved to", 12.0),
    ("Change", 14.0), ("at least", 13.0), ("at most", 13.0), ("GPUs then", 9.0),
    ("Begins to pay at", 12.0), ("Not yet at", 12.0), ("In the problem file", 36.0),
    ("File and line", 27.0),
)  # fmt: skip
_STEP = 3
_WITHOUT_FIGURE = {"no_plan": "no plan", "at_its_end": "at its end", "not_decided": "not decided"}


def sheets(found: Explanation) -> dict[str, Sheet]:
    """Return what adds each sheet, by its name."""
    plan = found.plan
    if plan.infeasibility is not None:
        return {NO_PLAN_SHEET: partial(add_no_plan, found=plan.infeasibility)}
    added: dict[str, Sheet] = {SHEET: partial(add, found=found)}
    if found.why_not is not None:
        added[WHY_NOT_SHEET] = partial(add_why_not, study=found.why_not)
    return added


def add(book: Book, found: Explanation) -> None:
    """Add the sheet.

    Args:
        found: what to show, of a problem that has a plan.
    """
    page = Page(book, SHEET, _TITLE)
    for place, text in enumerate((*_INTRODUCTION, _counted(found))):
        page.text(FIRST_ROW - 2 + place, 0, text, "subtitle")
    first = FIRST_ROW + 2
    page.headers(first, _HEADERS, 30)
    rows = sorted(found.marginals, key=lambda row: (not row.binding, not holds(found, row)))
    for place, row in enumerate(rows):
        _row(page, found, row, first + 1 + 2 * place)
    page.finish(len(_HEADERS) - 1, (first + 1, 1))


def _counted(found: Explanation) -> str:
    return f"Changes are counted in {_unit(found)}."


def _unit(found: Explanation) -> str:
    name = found.plan.objective.name
    known = OBJECTIVES[name]
    return (
        f"{in_money(known.figure.unit)} of {known.label}" if known.figure.money else known.counted
    )


def _row(page: Page, found: Explanation, row: Marginal, at: int) -> None:
    """Write a limit in two rows: a step looser, a step tighter."""
    for blank in (at, at + 1):
        page.fill(blank, (), "text", len(_HEADERS))
    page.text(at, 0, row.label)
    page.text(at, 1, row.text, align="right")
    page.text(at, 2, "yes" if row.binding else "", align="center")
    _moved(page, found, row.looser, at, "looser")
    _moved(page, found, row.tighter, at + 1, "tighter")
    step = row.next_step
    page.text(at, _STEP + 6, step.to_text if step else "", align="right")
    page.text(at, _STEP + 7, step.short_text if step else "", align="right")
    page.text(at, _STEP + 8, row.path)
    page.text(at, _STEP + 9, row.source or "")
    page.grow(at, [(row.source or "", _HEADERS[-1][1])])


def _moved(page: Page, found: Explanation, moved: Moved, at: int, way: str) -> None:
    best = OBJECTIVES.get(found.plan.objective.name)
    money = best is not None and best.figure.money
    number = signed(INTEGER if money else DECIMAL_2)
    page.text(at, _STEP, way)
    page.text(at, _STEP + 1, "" if moved.known == "at_its_end" else moved.to_text, align="right")
    if moved.change is None:
        page.text(at, _STEP + 2, _WITHOUT_FIGURE[moved.known], align="right")
        return
    for place, value in enumerate((moved.change, moved.change_least, moved.change_most)):
        page.number(at, _STEP + 2 + place, value, number)
    page.number(at, _STEP + 5, moved.gpus_used, INTEGER)
