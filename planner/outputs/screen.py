"""Blocks on the terminal, laid out by rich: the first screen, or with ``full`` everything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from planner.outputs.blocks import Block, Column, Facts, Heading, Table, Text, choose_rows
from planner.outputs.paint import WIDE, grid, heading, rendered, words
from planner.outputs.words import fitted
from planner.terminal import width

if TYPE_CHECKING:
    from rich.console import RenderableType

_LEAST = 10
"""Characters left of a column that gives way."""

_READABLE = 30
"""Characters that a column of words should keep; wider tables are split."""

_NOTE_LINES = 2
"""Lines of a point on a first screen."""


def show(blocks: Sequence[Block], *, full: bool = False, styled: bool = False) -> str:
    """Return blocks as text as wide as the terminal.

    Args:
        full: with details; else the first screen, which names what it leaves out.
        styled: with escape sequences for colours.
    """
    parts = [list(_block(each, full=full)) for each in blocks if full or not _detail(each)]
    more = "" if full else _more(blocks)
    if more:
        parts.append([grid(("", ""), [(words("More", "bold"), f"--full {more}")], (0, 1))])
    filled = [part for part in parts if part]
    lines = [line for at, part in enumerate(filled) for line in ([""] if at else []) + part]
    return rendered(lines, styled=styled)


def _detail(block: Block) -> bool:
    return not isinstance(block, Heading) and block.detail


def _block(block: Block, *, full: bool) -> Iterator[RenderableType]:
    if isinstance(block, Heading):
        yield words(block.text, "bold")
    elif isinstance(block, Facts):
        rows = [(words(label, "bold"), text) for label, text in block.shown]
        if rows:
            yield from [heading(block.title)] if block.title else []
            yield grid(("", ""), rows, (0, 1))
    elif isinstance(block, Text):
        yield from _text(block, full=full) if "screen" in block.on else ()
    elif block.count:
        yield from _table(block, full=full)


def _text(block: Text, *, full: bool) -> Iterator[RenderableType]:
    there = [text for text in block.texts if text]
    most = block.most if full or block.first is None else block.first
    shown = there[:most]
    if not shown:
        return
    if block.title:
        yield heading(block.title)
    if not block.points:
        yield from (_indented(text) for text in shown)
        return
    if not full and block.first is not None:
        shown = [fitted(" ".join(text.split()), _NOTE_LINES * width() - 16) for text in shown]
    yield _indented_grid([("-", text) for text in shown])
    if full and len(shown) < len(there):
        yield _indented(f"{len(there) - len(shown):,} more in the files")


def _indented(text: str) -> RenderableType:
    from rich.padding import Padding

    if text.startswith("planner "):  # a command is copied whole
        command = words(f"  {text}")
        command.no_wrap = True
        return command
    return Padding(words(text), (0, 0, 0, 2))


def _indented_grid(rows: Sequence[tuple[str, str]]) -> RenderableType:
    from rich.padding import Padding
    from rich.table import Table as Grid

    found = Grid.grid(padding=(0, 1, 0, 0))
    for row in rows:
        found.add_row(*map(words, row))
    return Padding(found, (0, 0, 0, 2))


def _table(table: Table, *, full: bool) -> Iterator[RenderableType]:
    from rich.padding import Padding

    most = table.most if full or table.first is None else table.first
    places = choose_rows(table.count, most, table.kept)
    title = table.title
    if len(places) < table.count:
        which = f"{len(places)} of {table.count:,} {table.rows}"
        title += f": {which}" + ("; the files have all" if full else "")
    columns = [
        column
        for column in table.of(places).on("screen")
        if not column.under and (full or not (column.detail or (column.spare and width() < WIDE)))
    ]
    under = [column.written for column in table.of(places).on("screen") if column.under]
    if title:
        yield heading(title)
    for at, group in enumerate(_groups(columns) if full else [columns]):
        yield from [""] if at else []
        yield Padding(_grid(group, [] if at else under, full=full), (0, 0, 0, 2))
    for text in (*table.items, *table.notes):
        if text:
            yield _indented(text)


def _groups(columns: Sequence[Column]) -> list[list[Column]]:
    """Return columns in groups that fit the width, each with the leading column of words."""
    at = next((place for place, column in enumerate(columns) if column.words), 0)
    lead, rest = list(columns[: at + 1]), list(columns[at + 1 :])

    def wide(column: Column) -> int:
        longest = max(map(len, (*column.lines, *column.written)))
        return 2 + (min(longest, _READABLE) if column.words else longest)

    groups = [lead]
    for column in rest:
        if len(groups[-1]) > len(lead) and sum(map(wide, [*groups[-1], column])) > width():
            groups.append([*lead, column])
        else:
            groups[-1] = [*groups[-1], column]
    return groups


def _grid(
    columns: Sequence[Column], under: Sequence[Sequence[str]], *, full: bool
) -> RenderableType:
    """Return columns side by side; texts ``under`` a row follow in its first column of words."""
    heads = ["\n".join(column.lines) for column in columns]
    high = max(head.count("\n") for head in heads)
    heads = ["\n" * (high - head.count("\n")) + head for head in heads]
    cells = [column.written for column in columns]
    if not full:
        cells = _cut(columns, cells)
    left = [at for at, column in enumerate(columns) if column.words]
    rows = list(zip(*cells, strict=True))
    if under:
        at = left[0] if left else len(columns) - 1
        rows = [
            (*row[:at], "\n".join(filter(None, (row[at], *(each[place] for each in under)))),
             *row[at + 1 :])
            for place, row in enumerate(rows)
        ]  # fmt: skip
    return grid(heads, rows, left)


def _cut(columns: Sequence[Column], cells: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return cells with the column that gives way cut to the width."""
    at = next((place for place, column in enumerate(columns) if column.gives_way), None)
    if at is None:
        return cells
    pairs = zip(columns, cells, strict=True)
    widths = [max(map(len, (*column.lines, *texts))) for column, texts in pairs]
    room = max(_LEAST, width() - 2 - sum(widths) - 2 * len(widths) + widths[at])
    return [tuple(fitted(text, room) for text in texts) if place == at else texts
            for place, texts in enumerate(cells)]  # fmt: skip


def _more(blocks: Iterable[Block]) -> str:
    """Return titles of what a first screen leaves out."""
    found: list[str] = []
    for block in blocks:
        if isinstance(block, Heading):
            continue
        if block.detail:
            there = block.count if isinstance(block, Table) else len(_texts_of(block))
            found += [re.split("[:,;]", block.title)[0]] if there and block.title else []
        elif isinstance(block, Text) and block.first is not None:
            texts = _texts_of(block)
            found += [f"all {len(texts)} {block.title}"] if len(texts) > block.first else []
        elif isinstance(block, Table):
            cut = block.first is not None and block.count > block.first
            columns = any(column.detail for column in block.on("screen"))
            found += [f"all {block.count:,} {block.rows}"] if cut else []
            found += ["more columns"] if columns and not cut else []
    return ", ".join(dict.fromkeys(f"{each[:1].lower()}{each[1:]}" for each in found))


def _texts_of(block: Facts | Text) -> Sequence[object]:
    return block.shown if isinstance(block, Facts) else [text for text in block.texts if text]
