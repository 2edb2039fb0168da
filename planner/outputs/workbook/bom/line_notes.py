"""What does not fit into a line of the bill, line by line.

``Line notes`` has the full text of a line, what it is for and what is not known of it; ``Sources``,
in the appendix, where its price is from.
"""

from __future__ import annotations

from collections.abc import Mapping

from planner.outputs.workbook.bom.line_figures import (
    figures,
    least_order,
    needed,
)
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.schema.plan import Line

_LINE, _ITEM = ("Line", 6.0), ("Item", 52.0)
_NOTES = (_LINE, _ITEM, ("Note", 140.0))
_SOURCES = (
    _LINE, _ITEM, ("Price source", 46.0), ("Price date", 11.5), ("Confi-\ndence", 9.5),
    ("Note on the price", 74.0),
)  # fmt: skip


def add(book: Book) -> None:
    """Add the notes; without lines there are none."""
    _add(book, "Line notes", "Notes on the lines of the bill", _NOTES)


def add_sources(book: Book) -> None:
    """Add where prices are from; without lines there is nothing to tell."""
    _add(book, "Sources", "Where prices are from", _SOURCES)


def _add(book: Book, name: str, title: str, columns: tuple[tuple[str, float], ...]) -> None:
    listed = book.blocks
    if not listed:
        return
    page = Page(book, name, title)
    page.banner()
    page.headers(FIRST_ROW, columns)
    row = FIRST_ROW + 1
    for block in listed:
        page.fill(row, (block.section,), "heading", len(columns))
        row += 1
        for entry in block.entries:
            _write(page, row, columns, entry.label, entry.line, None)
            row += 1
            for index, part in enumerate(entry.parts):
                _write(page, row, columns, entry.part_label(index), part, entry.number)
                row += 1
    page.finish(len(columns) - 1, (FIRST_ROW + 1, 2))


def _write(
    page: Page,
    row: int,
    columns: tuple[tuple[str, float], ...],
    label: str,
    line: Line,
    bundle: int | None,
) -> None:
    """Write what is told of a line, or of a component of the bundle with that number."""
    price = line.price
    item = f"{line.model} — {line.description}" if line.description else line.model
    said: tuple[str, ...] = (note(line, bundle),)
    if columns is _SOURCES:
        said = ("", "", "", "") if price is None else (
            price.source, price.date or "", price.confidence, price.note or "",
        )  # fmt: skip
    texts = (label, item, *said)
    for column, text in enumerate(texts):
        page.text(row, column, text)
    page.grow(row, [(text, width) for text, (_, width) in zip(texts, columns, strict=True)])


_FLAGS = {
    "power": "power not known",
    "rack_units": "rack units not known",
    "weight": "weight not known",
    "usable": "usable capacity not known",
}


def note(line: Line, bundle: int | None) -> str:
    """Return the note of a line: what it is for, what is not known of it, then its own notes.

    Args:
        line: the line.
        bundle: number of the line whose price and power include this one's, else None.
    """
    known: Mapping[str, float | None] = figures(line)
    notes = [line.role] if line.role else []
    if bundle is not None:
        notes.append(f"price, power, space and weight are counted in line {bundle}.0")
    elif line.unit_list_usd is None:
        notes.append("price not known")
    wanted = needed(line) if bundle is None else ("power", "rack_units", "weight")
    notes += [text for key, text in _FLAGS.items() if key in wanted and known[key] is None]
    least = least_order(line) if bundle is None else 0
    notes += [f"least order {least:,}"] if least else []
    notes += [*line.public_notes, *line.notes]
    return "; ".join(text.rstrip(". ") for text in notes)
