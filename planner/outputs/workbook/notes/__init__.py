"""The sheet ``Notes``: what is counted and what is not, warnings, terms, how the plan was made."""

from __future__ import annotations

from collections.abc import Sequence

from planner.outputs.words import gap
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.notes import model as notes_model
from planner.outputs.workbook.notes import terms as notes_terms
from planner.outputs.workbook.notes.model import Entry
from planner.outputs.workbook.page import FIRST_ROW, Page

_COLUMNS = (("Topic", 34), ("Note", 30), ("", 30), ("", 30), ("", 30))
_LAST = len(_COLUMNS) - 1


def add(book: Book) -> None:
    """Add the sheet."""
    page = Page(book, "Notes", "Notes")
    page.banner()
    page.headers(FIRST_ROW, _COLUMNS, 20)
    page.sheet.merge_range(FIRST_ROW, 1, FIRST_ROW, _LAST, "", book.formats.get("header"))
    page.text(FIRST_ROW, 1, "Note", "header")
    plan, row = book.plan, FIRST_ROW + 1
    warnings = [(str(number), text) for number, text in enumerate(plan.warnings, start=1)]
    left_out = [(entry.sku, entry.reason) for entry in plan.not_considered]
    for heading, entries in (
        ("What the plan counts and what it does not", notes_model.entries(plan, money=book.money)),
        ("Warnings", warnings),
        ("Catalog items that could not enter the plan", left_out),
        ("Terms", notes_terms.glossary(plan, money=book.money)),
        ("How figures are meant", notes_terms.conventions(plan, money=book.money)),
        ("How this plan was made", _provenance(book)),
    ):
        row = _section(page, row, heading, entries)
    page.finish(_LAST, (FIRST_ROW + 1, 1))


def _section(page: Page, row: int, heading: str, entries: Sequence[Entry]) -> int:
    """Write a heading and lines of two strings; return the next free row."""
    page.fill(row, (heading,), "heading", _LAST + 1)
    style = page.book.formats.get("text")
    for key, text in entries or (("none", ""),):
        row += 1
        page.text(row, 0, key)
        page.sheet.merge_range(row, 1, row, _LAST, "", style)
        page.text(row, 1, text)
        page.grow(row, [(text, sum(width for _, width in _COLUMNS[1:])), (key, _COLUMNS[0][1])])
    return row + 2


def _provenance(book: Book) -> list[Entry]:
    """Return how the plan was made; what is empty is left out."""
    plan, made, goal = book.plan, book.plan.provenance, book.plan.objective
    versions = ", ".join(f"{name} {version}" for name, version in sorted(made.versions.items()))
    bound = "" if goal.bound is None else f"{goal.bound:,.9g} {goal.unit}".strip()
    entries = [
        ("Problem", plan.problem),
        ("Description", plan.description or ""),
        ("Message", plan.message or ""),
        ("Objective", f"{goal.sense} {goal.name.replace('_', ' ')}"),
        ("Proven bound", bound),
        ("Proven gap", "" if goal.gap is None else gap(goal.gap)),
        ("Gap asked for", gap(goal.gap_asked)),
        ("Problem file", made.problem_file),
        ("Scenario", made.scenario or ""),
        ("Overrides", ", ".join(made.overrides)),
        ("Catalogs", ", ".join(made.catalogs)),
        ("Price books", ", ".join(made.price_books) if book.money else ""),
        ("Input SHA-256", made.input_sha256),
        ("Tool", made.tool),
        ("Solver", f"{made.solver}, {made.iterations} iterations"),
        ("Versions", versions),
    ]
    return [(label, text) for label, text in entries if text]
