"""The sheet ``Assumptions``: what the plan rests on, what it left out, what it warns of."""

from __future__ import annotations

from collections.abc import Sequence

from planner.outputs.workbook.book import Book, Scalar
from planner.outputs.workbook.formats import GENERAL
from planner.outputs.workbook.page import FIRST_ROW, Page

_COLUMNS = (
    ("Input", 40),
    ("Value", 22),
    ("Unit", 13),
    ("Source", 42),
    ("Date", 12),
    ("Confidence", 12),
    ("Note", 44),
    ("Id", 28),
)
_LAST = len(_COLUMNS) - 1


def add(book: Book) -> None:
    """Add the sheet."""
    page = Page(book, "Assumptions", "Assumptions")
    page.banner()
    page.headers(FIRST_ROW, _COLUMNS, 20)
    row = _assumptions(page, FIRST_ROW + 1)
    if book.plan.assumptions:
        page.sheet.autofilter(FIRST_ROW, 0, row - 1, _LAST)
    left_out = [(entry.sku, entry.reason) for entry in book.plan.not_considered]
    row = _pairs(page, row + 1, "Catalog items that could not enter the plan", left_out)
    warnings = [(str(number), text) for number, text in enumerate(book.plan.warnings, start=1)]
    row = _pairs(page, row, "Warnings", warnings)
    _pairs(page, row, "How this plan was made", _provenance(book))
    page.finish(_LAST, (FIRST_ROW + 1, 1))


def _assumptions(page: Page, row: int) -> int:
    for entry in page.book.plan.assumptions:
        page.text(row, 0, entry.label)
        _value(page, row, entry.value)
        texts = (entry.unit, entry.source, entry.date, entry.confidence, entry.note, entry.name)
        for column, text in enumerate(texts, start=2):
            page.text(row, column, text or "")
        shown = (entry.label, str(entry.value), *(text or "" for text in texts))
        page.grow(row, zip(shown, (width for _, width in _COLUMNS), strict=True))
        row += 1
    return row


def _value(page: Page, row: int, value: Scalar) -> None:
    if isinstance(value, str):
        page.text(row, 1, value, align="right")
    else:
        page.number(row, 1, value, GENERAL)


def _pairs(page: Page, row: int, heading: str, pairs: Sequence[tuple[str, str]]) -> int:
    """Write a heading and lines of two strings; return the next free row."""
    for column in range(_LAST + 1):
        page.text(row, column, heading if column == 0 else "", "heading")
    style = page.book.formats.get("text")
    for key, text in pairs or (("none", ""),):
        row += 1
        page.text(row, 0, key)
        page.sheet.merge_range(row, 1, row, _LAST, "", style)
        page.text(row, 1, text)
        page.grow(row, [(text, sum(width for _, width in _COLUMNS[1:])), (key, _COLUMNS[0][1])])
    return row + 2


def _provenance(book: Book) -> list[tuple[str, str]]:
    made = book.plan.provenance
    goal = book.plan.objective
    versions = ", ".join(f"{name} {version}" for name, version in sorted(made.versions.items()))
    bound = "not known" if goal.bound is None else f"{goal.bound:.9g} {goal.unit}"
    gap = "not known" if goal.gap is None else f"{goal.gap:.3g}"
    return [
        ("Problem", book.plan.problem),
        ("Description", book.plan.description or ""),
        ("Message", book.plan.message or ""),
        ("Objective", f"{goal.sense} {goal.name}"),
        ("Proven bound", bound),
        ("Proven gap (relative)", f"{gap}, asked for {goal.gap_asked:.3g}"),
        ("Problem file", made.problem_file),
        ("Scenario", made.scenario or ""),
        ("Overrides", ", ".join(made.overrides)),
        ("Catalogs", ", ".join(made.catalogs)),
        ("Price books", ", ".join(made.price_books)),
        ("Input SHA-256", made.input_sha256),
        ("Tool", made.tool),
        ("Solver", f"{made.solver}, {made.iterations} iterations"),
        ("Versions", versions),
    ]
