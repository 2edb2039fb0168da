"""The sheet ``Line notes``: what does not fit into a line of the bill, line by line.

The full text of a line, what it is for, what is not known of it, and where its price is from.
"""

from __future__ import annotations

from collections.abc import Mapping

from planner.outputs.numbering import blocks
from planner.outputs.workbook.bom.rows import figures, least_order, needed
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.schema.plan import Line

_LINE, _ITEM, _NOTE = ("Line", 6.0), ("Item", 44.0), ("Note", 92.0)
_SOURCE = (("Price source", 38.0), ("Price date", 11.5), ("Confi-\ndence", 9.5))


def add(book: Book) -> None:
    """Add the sheet; without lines there is none."""
    listed = blocks(book.plan)
    if not listed:
        return
    page = Page(book, "Line notes", "Notes on the lines of the bill")
    page.banner()
    columns = (_LINE, _ITEM, *(_SOURCE if book.money else ()), _NOTE)
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
    """Write the notes of a line, or of a component of the bundle with that number."""
    price = line.price
    item = f"{line.model} — {line.description}" if line.description else line.model
    source = ("", "", "") if price is None else (price.source, price.date or "", price.confidence)
    texts = (label, item, *(source if page.book.money else ()),
             note(line, bundle, money=page.book.money))  # fmt: skip
    for column, text in enumerate(texts):
        page.text(row, column, text or "")
    page.grow(row, [(text or "", width) for text, (_, width) in zip(texts, columns, strict=True)])


_FLAGS = {
    "power": "power not known",
    "rack_units": "rack units not known",
    "weight": "weight not known",
    "usable": "usable capacity not known",
}


def note(line: Line, bundle: int | None, *, money: bool) -> str:
    """Return the note of a line: what it is for, what is not known of it, then its own notes.

    Args:
        line: the line.
        bundle: number of the line whose price and power include this one's, else None.
        money: whether this edition tells where prices are from.
    """
    known: Mapping[str, float | None] = figures(line)
    notes = [line.role] if line.role else []
    if bundle is not None:
        what = "price, power, space and weight" if money else "power, space and weight"
        notes.append(f"{what} are counted in line {bundle}.0")
    elif money and line.unit_list_usd is None:
        notes.append("price not known")
    wanted = needed(line) if bundle is None else ("power", "rack_units", "weight")
    notes += [text for key, text in _FLAGS.items() if key in wanted and known[key] is None]
    least = least_order(line) if bundle is None else 0
    notes += [f"least order {least:,}"] if least else []
    notes += line.notes
    if line.price is not None and line.price.note:
        notes.append(line.price.note)
    return "; ".join(text.rstrip(". ") for text in notes)
