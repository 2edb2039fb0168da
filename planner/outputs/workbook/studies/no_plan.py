"""The sheet ``No plan``: which limits cannot hold together, and the least changes that help."""

from __future__ import annotations

from collections.abc import Sequence

from planner.outputs.infeasible_text import combined_proof, conflict_title
from planner.outputs.words import UNDECIDED
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.schema.infeasibility import Infeasibility, Step

SHEET = "No plan"

_TITLE = "Why there is no plan, and what would give one"
_HEADERS = (
    ("Limit", 40.0), ("Now", 14.0), ("Enough", 16.0), ("Not enough", 16.0),
    ("In the problem file", 40.0), ("File and line", 34.0), ("To try it: planner solve with", 60.0),
)  # fmt: skip


def add(book: Book, found: Infeasibility) -> None:
    """Add the sheet.

    Args:
        book: the workbook.
        found: why there is no plan.
    """
    page = Page(book, SHEET, _TITLE)
    page.headers(FIRST_ROW, _HEADERS)
    row = FIRST_ROW + 1
    for reason in found.reasons:
        page.text(row, 0, reason)
        row += 1
    for conflict in found.conflicts:
        row = _heading(page, row, conflict_title(len(conflict.limits)))
        for limit in conflict.limits:
            where = limit.source or ("" if limit.stated else "the default")
            page.fill(row, (), "text", len(_HEADERS))
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
    page.finish(len(_HEADERS) - 1, (FIRST_ROW + 1, 1))


def _heading(page: Page, row: int, text: str) -> int:
    page.fill(row, (text,), "heading", len(_HEADERS))
    return row + 1


def _steps(page: Page, row: int, steps: Sequence[Step]) -> int:
    for step in steps:
        label = step.label if step.value is not None else f"{step.label}: {step.what}"
        settings = " ".join(f"--set '{setting}'" for setting in step.settings)
        texts = (label, step.from_text, step.to_text, step.not_enough_text, step.path,
                 step.source or "", settings)  # fmt: skip
        for column, text in enumerate(texts):
            page.text(row, column, text)
        page.grow(row, [(label, _HEADERS[0][1]), (settings, _HEADERS[-1][1])])
        row += 1
    return row
