"""Figures, names and proofs in the words of charts, and pieces of HTML with compact tables."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from planner.outputs import blocks
from planner.outputs.sensitivity_words import amount as objective
from planner.outputs.sensitivity_words import goal
from planner.outputs.words import Scale, clean, counted, fitted, results, scale
from planner.outputs.words import gap as percent_of
from planner.schema.sensitivity import Study

_MOST_COUNTS = 5
_SHORT, _EXACT = 4, 7
_TINIEST, _TINY = 1e-6, "< 0.0001 %"
_LONGEST_NAME = 44


def plain(value: float, unit: str = "") -> str:
    """Return a number in a unit that stands elsewhere, short enough for a picture."""
    return _scale(value, "", _SHORT)._replace(unit=unit).text(value)


def amount(value: float, unit: str) -> str:
    """Return a figure with its unit."""
    return _scale(value, unit.replace("1/", "per "), _EXACT).with_unit(value)


def _scale(value: float, unit: str, digits: int) -> Scale:
    """Return how a figure is written with so many digits at most, before and behind the point."""
    written = scale([value], unit)
    size = abs(value / written.size)
    before = math.floor(math.log10(size)) + 1 if size > 0 and math.isfinite(size) else 0
    return written._replace(digits=min(written.digits, max(0, digits - before)))


def gap(share: float | None) -> str:
    """Return a gap as percent; one too small to matter is not told by its power of ten."""
    return _TINY if share is not None and 0 < share < _TINIEST else percent_of(share)


def axis_scale(values: Iterable[float | None], unit: str) -> Scale:
    """Return the unit of an axis on which these figures stand."""
    there = [value for value in values if value is not None]
    return scale([min(there), max(there)] if there else [], unit)


def in_scale(values: Sequence[float], written: Scale) -> tuple[float, ...]:
    """Return figures in the unit of an axis."""
    return tuple(value / written.size for value in values)


def proof(study: Study, value: float, bound: float | None, share: float | None) -> list[str]:
    """Return a value with its bound and gap, a line each."""
    lines = [f"{goal(study)}: {objective(study, value)}"]
    if bound is not None:
        better = "more" if study.sense == "maximize" else "less"
        lines.append(f"no plan has {better} than {objective(study, bound)} (gap {gap(share)})")
    return lines


def counted_lines(counts: Mapping[str, int | float | None]) -> list[str]:
    """Return what is bought, a line each; what there is none of is left out."""
    there = [(name, count) for name, count in counts.items() if count]
    lines = [f"{count:,.0f} × {short(name, _LONGEST_NAME)}" for name, count in there]
    if len(lines) > _MOST_COUNTS:
        lines = [*lines[:_MOST_COUNTS], f"and {len(lines) - _MOST_COUNTS} more"]
    return lines or ["nothing bought"]


def short(text: str, most: int) -> str:
    """Return a text on one line, cut to so many characters."""
    return fitted(" ".join(clean(text, limit=None).split()), most)


BOUND = "up to what no plan can pass"
_SEEN = 0.004
"""A band thinner than this share of the axis is hidden by the line itself."""


def shows(heights: Sequence[float | None], bounds: Sequence[float | None]) -> bool:
    """Return whether the room between a line and its bound can be seen on a picture."""
    pairs = [
        (height, bound)
        for height, bound in zip(heights, bounds, strict=True)
        if height is not None and bound is not None
    ]
    if not pairs:
        return False
    known = [value for pair in pairs for value in pair]
    widest = max(abs(bound - height) for height, bound in pairs)
    return widest > _SEEN * (max(known) - min(known) or 1.0)


def proven(gaps: Sequence[float | None], better: str = "") -> str:
    """Return the widest of some gaps in a sentence.

    Args:
        gaps: shares, None where nothing is proven.
        better: on which side of a line better plans would be; empty where there is no line.
    """
    known = [share for share in gaps if share is not None]
    if len(known) < len(gaps):
        return (
            f"Of {len(gaps) - len(known):,} nothing is proven about how much better they could be."
        )
    widest = max(known, default=0.0)
    if not widest:
        return "Proven exactly."
    if better:
        return f"No plan is more than {gap(widest)} {better} the line."
    return f"Each is proven to be within {gap(widest)} of the best there."


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
    attrs = "".join(f' {key}="{text(value)}"' for key, value in (attributes or {}).items())
    return f"<{name}{attrs}>{content}</{name}>"


def paragraph(words: str, kind: str = "") -> str:
    """Return a paragraph of plain text, nothing where there is none."""
    return tag("p", text(words), {"class": kind} if kind else None) if words else ""


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
        values: in the record's unit, None where there is none.
        given: whether they were given, and are told exactly, or computed.
    """
    written = scale(values, unit) if given else results(values, unit)
    texts = tuple("" if value is None else written.text(value) for value in values)
    unit_in_head = written.unit.casefold() in head.casefold()
    return DataColumn(head if unit_in_head else f"{head}, {written.unit}", texts)


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
        which, places = "evenly chosen", blocks.choose_rows(block.count, MOST_ROWS, block.kept)
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
        totals: a last row under it, a text for each column; empty for none.
        of: what tells it from others of its title, for who hears the page.
    """
    which = ""
    if len(table.rows) < table.total:
        which = f": {table.which} {len(table.rows)} of {counted(table.total, 'row')}"
    head = "".join(_cell("th", column.head, column.words, "col") for column in table.columns)
    rows = "".join(tag("tr", _cells(table, row)) for row in table.rows)
    inside = tag("caption", text(table.title + which)) + tag("thead", tag("tr", head))
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
