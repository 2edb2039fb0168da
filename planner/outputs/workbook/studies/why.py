"""The sheets ``Why`` and ``No plan``: what holds the plan, or which limits cannot hold together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from planner.figures import OBJECTIVES
from planner.outputs.why_text import combined_proof, conflict_title, holds
from planner.outputs.words import in_money
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import DECIMAL_2, INTEGER
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.studies import Sheet, why_not
from planner.outputs.workbook.studies.stack import signed
from planner.schema.explanation import Explanation, Marginal, Moved
from planner.schema.infeasibility import UNDECIDED, Infeasibility, Step

NO_PLAN_SHEET = "No plan"

_NO_PLAN_TITLE = "Why there is no plan, and what would give one"
_NO_PLAN_HEADERS = (
    ("Limit", 40.0), ("Now", 14.0), ("Enough", 16.0), ("Not enough", 16.0),
    ("In the problem file", 40.0), ("File and line", 34.0), ("To try it: planner solve with", 60.0),
)  # fmt: skip


def add_no_plan(book: Book, found: Infeasibility) -> None:
    """Add the sheet.

    Args:
        book: the workbook.
        found: why there is no plan.
    """
    page = Page(book, NO_PLAN_SHEET, _NO_PLAN_TITLE)
    page.headers(FIRST_ROW, _NO_PLAN_HEADERS)
    row = FIRST_ROW + 1
    for reason in found.reasons:
        page.text(row, 0, reason)
        row += 1
    for conflict in found.conflicts:
        row = _heading(page, row, conflict_title(len(conflict.limits)))
        for limit in conflict.limits:
            where = limit.source or ("" if limit.stated else "the default")
            page.fill(row, (), "text", len(_NO_PLAN_HEADERS))
            for column, text in ((0, limit.label), (1, limit.text), (4, limit.path), (5, where)):
                page.text(row, column, text)
            row += 1
    if found.changes:
        row = _heading(page, row, "Any one of these changes gives a plan")
        row = _steps(page, row, found.changes)
    if found.combined is not None:
        row = _heading(page, row, "These changes together give a plan")
        row = _steps(page, row, found.combined.steps)
        page.text(row, 0, combined_proof(found.combined), "subtitle")
        row += 1
    if found.undecided:
        page.text(row, 0, f"{UNDECIDED.capitalize()}: {', '.join(found.undecided)}", "subtitle")
    page.finish(len(_NO_PLAN_HEADERS) - 1, (FIRST_ROW + 1, 1))


def _heading(page: Page, row: int, text: str) -> int:
    page.fill(row, (text,), "heading", len(_NO_PLAN_HEADERS))
    return row + 1


def _steps(page: Page, row: int, steps: Sequence[Step]) -> int:
    for step in steps:
        label = step.label if step.value is not None else f"{step.label}: {step.what}"
        settings = " ".join(f"--set '{setting}'" for setting in step.settings)
        texts = (label, step.from_text, step.to_text, step.not_enough_text, step.path,
                 step.source or "", settings)  # fmt: skip
        for column, text in enumerate(texts):
            page.text(row, column, text)
        page.grow(row, [(label, _NO_PLAN_HEADERS[0][1]), (settings, _NO_PLAN_HEADERS[-1][1])])
        row += 1
    return row


SHEET = "Why"

_TITLE = "Why this plan: what each limit is worth"
_INTRODUCTION = (
    "Each figure is the best plan of the same problem with one limit a step looser or tighter, "
    "solved again and proven; the true change lies between 'at least' and 'at most'.",
    "The figures are a record: they do not follow edits of a workbook.",
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
        added[why_not.SHEET] = partial(why_not.add, study=found.why_not)
    return added


def add(book: Book, found: Explanation) -> None:
    """Add the sheet.

    Args:
        book: the workbook.
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
