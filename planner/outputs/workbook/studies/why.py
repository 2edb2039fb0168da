"""The sheet ``Why``: what holds the plan and what each limit is worth, or why there is no plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planner.figures import OBJECTIVES
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.formats import DECIMAL_2, INTEGER
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.studies import no_plan, why_not
from planner.outputs.workbook.studies.grid import signed
from planner.outputs.worth_words import holds
from planner.schema.explanation import Explanation, Marginal, Moved

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
_MONEY = ("cost", "tco")


def sheets(found: Explanation) -> Sequence[Callable[..., None]]:
    """Return what adds each sheet of an explanation, called with the book and ``found``."""
    if found.plan.infeasibility is not None:
        return (_no_plan,)
    return (add, _why_not) if found.why_not is not None else (add,)


def _no_plan(book: Book, found: Explanation) -> None:
    assert found.plan.infeasibility is not None
    no_plan.add(book, found.plan.infeasibility)


def _why_not(book: Book, found: Explanation) -> None:
    assert found.why_not is not None
    why_not.add(book, found.why_not)


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
    return f"USD of {known.label}" if known.figure.money else known.counted


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
    money = found.plan.objective.name in _MONEY
    number = signed(INTEGER if money else DECIMAL_2)
    page.text(at, _STEP, way)
    page.text(at, _STEP + 1, "" if moved.known == "at_its_end" else moved.to_text, align="right")
    if moved.change is None:
        page.text(at, _STEP + 2, _WITHOUT_FIGURE[moved.known], align="right")
        return
    for place, value in enumerate((moved.change, moved.change_least, moved.change_most)):
        page.number(at, _STEP + 2 + place, value, number)
    page.number(at, _STEP + 5, moved.gpus_used, INTEGER)
