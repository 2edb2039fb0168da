"""Pieces of HTML whose texts are escaped, and compact tables."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.outputs import blocks
from planner.outputs.charts.words import short
from planner.outputs.words import clean, counted, results, scale

_NOT_IN_SCRIPTS = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def text(words: str) -> str:
    """Return words as HTML."""
    return html.escape(clean(words, limit=None))


def tag(name: str, content: str, attributes: Mapping[str, str] | None = None) -> str:
    """Return an element.

    Args:
        name: of the element.
        content: HTML.
        attributes: their values as plain text.
    """
    said = "".join(f' {key}="{text(value)}"' for key, value in (attributes or {}).items())
    return f"<{name}{said}>{content}</{name}>"


def paragraph(words: str, kind: str = "") -> str:
    """Return a paragraph of plain text, nothing where there is none."""
    return tag("p", text(words), {"class": kind} if kind else None) if words else ""


def data(value: Any) -> str:
    """Return JSON that no browser takes for the end of the script it stands in."""
    said = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return said.translate(_NOT_IN_SCRIPTS)


MOST_ROWS = 25
_SOME, _LONG, _LONGEST = 24, 44, 240


@dataclass(frozen=True)
class DataColumn:
    """A column of a table: its head and its texts; ``words`` are no numbers."""

    head: str
    texts: tuple[str, ...]
    words: bool = False


@dataclass(frozen=True)
class DataTable:
    """Columns side by side.

    ``total`` is how many rows there are; ``which`` says which of them these are.
    """

    title: str
    columns: tuple[DataColumn, ...]
    total: int
    which: str = "the first"

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The texts by row."""
        return list(zip(*(column.texts for column in self.columns), strict=True))


def words(head: str, texts: Sequence[str]) -> DataColumn:
    """Return a column of words."""
    return DataColumn(head, tuple(texts), words=True)


def figures(
    head: str, values: Sequence[float | None], unit: str = "", *, given: bool = False
) -> DataColumn:
    """Return a column of figures in one unit, which its head tells once.

    Args:
        head: what they are.
        values: in the record's unit, None where there is none.
        unit: the record's.
        given: whether they were given, and are told exactly, or computed.
    """
    written = scale(values, unit) if given else results(values, unit)
    texts = tuple("" if value is None else written.text(value) for value in values)
    told = written.unit.casefold() in head.casefold()
    return DataColumn(head if told else f"{head}, {written.unit}", texts)


def tables_under(view: Iterable[blocks.Block]) -> dict[str, tuple[DataTable, ...]]:
    """Return the tables of a view that a page puts under its charts, by the chart's name."""
    found: dict[str, tuple[DataTable, ...]] = {}
    for block in view:
        if isinstance(block, blocks.Table) and block.near and block.count:
            found[block.near] = (*found.get(block.near, ()), table_of(block))
    return found


def table_of(block: blocks.Table) -> DataTable:
    """Return a table as a page has it."""
    which, places = "the first", list(range(min(block.count, MOST_ROWS)))
    if block.most is not None:
        which, places = "evenly chosen", blocks.chosen(block.count, MOST_ROWS, block.kept)
    columns = tuple(_of_column(column) for column in block.of(places).on("page"))
    return DataTable(block.called or block.title, columns, block.count, which)


def _of_column(column: blocks.Column) -> DataColumn:
    texts = tuple(value for value in column.values if isinstance(value, str))
    if len(texts) == len(column.values):
        return DataColumn(column.label, texts, column.words)
    values = [None if isinstance(value, str) else value for value in column.values]
    return figures(column.label, values, column.unit)


def render_table(table: DataTable, totals: Sequence[str] = (), of: str = "") -> str:
    """Return a table as HTML, which says how many rows there are where it is cut.

    Args:
        table: the table.
        totals: a last row under it, a text for each column; empty for none.
        of: what tells it from others of its title, for who hears the page.
    """
    said = ""
    if len(table.rows) < table.total:
        said = f": {table.which} {len(table.rows)} of {counted(table.total, 'row')}"
    head = "".join(_cell("th", column.head, column.words, "col") for column in table.columns)
    rows = "".join(tag("tr", _cells(table, row)) for row in table.rows)
    inside = tag("caption", text(table.title + said)) + tag("thead", tag("tr", head))
    attributes = {"class": "table", "tabindex": "0"}
    foot = tag("tfoot", tag("tr", _cells(table, totals))) if totals else ""
    attributes |= {"role": "region", "aria-label": f"{table.title}, {of}" if of else table.title}
    return tag("div", tag("table", inside + tag("tbody", rows) + foot), attributes)


def _cells(table: DataTable, row: Sequence[str]) -> str:
    pairs = zip(row, table.columns, strict=True)
    return "".join(
        _cell("td", words, column.words) if place or not column.words or not words
        else _cell("th", words, True, "row")
        for place, (words, column) in enumerate(pairs)
    )  # fmt: skip


def _cell(name: str, said: str, is_word: bool, scope: str = "") -> str:
    kinds = ["word"] if is_word else []
    kinds += ["long"] if len(said) > _LONG else ["some"] if len(said) > _SOME else []
    content, name = text(short(said, _LONGEST)), name if said else "td"
    attributes = {"class": " ".join(kinds)} if kinds else {}
    return tag(name, content, attributes | ({"scope": scope} if name == "th" else {}))
