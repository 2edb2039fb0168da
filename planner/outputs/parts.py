"""Parts of a page as its template takes them: texts, facts, figures, bars, tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from planner.outputs.blocks import Column, Table, choose_rows
from planner.outputs.words import counted, results, scale

Part = dict[str, Any]
MOST_ROWS = 25


class Bar(NamedTuple):
    """A labelled bar: ``share`` of the full length, and what is said beside it."""

    label: str
    share: float
    said: str
    full: bool = False


class PageColumn(NamedTuple):
    """A column as a page has it: its head, its texts, whether they are words."""

    head: str
    texts: tuple[str, ...]
    is_words: bool = False


def text_part(text: str, style: str = "") -> Part:
    """Return a paragraph."""
    return {"kind": "text", "title": "", "texts": [text] if text else [], "points": False,
            "style": style}  # fmt: skip


def facts(rows: Iterable[tuple[str, str]]) -> Part:
    """Return labels with what is said of each."""
    return {"kind": "facts", "rows": list(rows)}


def tiles(figures: Iterable[tuple[str, str]]) -> Part:
    """Return figures with their labels."""
    return {"kind": "tiles", "figures": list(figures)}


def bars(title: str, subtitle: str, found: Sequence[Bar]) -> Part:
    """Return labelled bars."""
    return {"kind": "bars", "title": title, "subtitle": subtitle, "bars": list(found)}


def plain_table(
    title: str,
    columns: Sequence[PageColumn],
    foot: Sequence[str] = (),
    which: str = "",
    notes: Sequence[str] = (),
) -> Part:
    """Return a table of texts.

    Args:
        title: over it.
        columns: from left to right.
        foot: a last row, a text for each column.
        which: says which of its rows these are.
        notes: under it.
    """
    rows = list(zip(*(column.texts for column in columns), strict=True))
    return {"kind": "table", "title": title, "columns": list(columns), "rows": rows,
            "foot": list(foot), "which": which, "notes": list(notes)}  # fmt: skip


def words(head: str, texts: Iterable[str]) -> PageColumn:
    """Return a column of words."""
    return PageColumn(head, tuple(texts), True)


def figures(
    head: str, values: Sequence[float | None], unit: str = "", *, given: bool = False
) -> PageColumn:
    """Return a column of figures in one unit, which its head tells once.

    Args:
        head: what they are.
        values: in ``unit``, None where there is none.
        unit: of the values.
        given: whether they were given, and are told exactly, or computed.
    """
    written = scale(values, unit) if given else results(values, unit)
    texts = tuple("" if value is None else written.text(value) for value in values)
    unit_in_head = written.unit.casefold() in head.casefold()
    return PageColumn(head if unit_in_head else f"{head}, {written.unit}", texts)


def table_part(block: Table) -> Part:
    """Return a table; of many rows the first ones, or evenly chosen where its screen cuts it so."""
    which, places = "the first", list(range(min(block.count, MOST_ROWS)))
    if block.most is not None:
        which, places = "evenly chosen", choose_rows(block.count, MOST_ROWS, block.kept)
    columns = [_of_column(column) for column in block.of(places).on("page")]
    cut = f": {which} {len(places)} of {counted(block.count, 'row')}"
    notes = [note for note in block.notes if note]
    return plain_table(block.title, columns, (), cut if len(places) < block.count else "", notes)


def _of_column(column: Column) -> PageColumn:
    texts = tuple(value for value in column.values if isinstance(value, str))
    if len(texts) == len(column.values):
        return PageColumn(column.label, texts, column.words)
    values = [None if isinstance(value, str) else value for value in column.values]
    return figures(column.label, values, column.unit)
