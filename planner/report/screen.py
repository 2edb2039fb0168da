"""Blocks on the terminal, laid out by rich: the first screen, or with ``full`` everything."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from planner.report.blocks import (
    Bars,
    Block,
    Column,
    Facts,
    Heading,
    Table,
    Text,
    Tiles,
    choose_rows,
)
from planner.report.words import fitted
from planner.terminal import harmless, width

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table as Grid
    from rich.text import Text as Words

_WIDE, _VERY_WIDE = 72, 100
"""Widths from which a screen has boxes and less important columns, and long bars."""

_BAR = 20
"""Characters of a long bar."""

_LEAST = 10
"""Characters left of a column that gives way."""

_READABLE = 30
"""Characters that a column of words should keep; wider tables are split."""

_NOTE_LINES = 2
"""Lines of a point on a first screen."""


def show(blocks: Sequence[Block], *, full: bool = False, styled: bool = False) -> str:
    """Blocks as text as wide as the terminal.

    Args:
        full: with details; else the first screen, which names what it leaves out.
        styled: with escape sequences for colours.
    """
    parts = [list(_block(each, full=full)) for each in blocks if full or not _detail(each)]
    more = "" if full else _more(blocks)
    if more:
        parts.append([_grid(("", ""), [(_words("More", "bold"), f"--full {more}")], (0, 1))])
    filled = [part for part in parts if part]
    lines = [line for at, part in enumerate(filled) for line in ([""] if at else []) + part]
    return _rendered(lines, styled=styled)


def _rendered(parts: Iterable[RenderableType], *, styled: bool) -> str:
    from rich.console import Console

    console = Console(
        file=io.StringIO(),
        width=width(),
        force_terminal=styled,
        color_system="standard" if styled else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    for part in parts:
        whole = getattr(part, "no_wrap", None) is True
        console.print(part, overflow="ignore" if whole else "fold", crop=not whole)
    lines = console.file.getvalue().split("\n")  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in lines)


def _words(text: str, style: str = "") -> Words:
    """A text in which no name from a file can steer the terminal."""
    from rich.text import Text as Words

    return Words(harmless(text), style=style)


def _heading(text: str) -> Words:
    return _words(text, "bold cyan")


def _grid(heads: Sequence[str], rows: Iterable[Sequence[str | Words]], left: Sequence[int]) -> Grid:
    """A table without lines; columns at the places ``left`` are words, others keep to one line."""
    from rich.table import Table as Grid

    grid = Grid(
        box=None, pad_edge=False, show_header=any(heads), header_style="dim", padding=(0, 2, 0, 0)
    )
    for at, head in enumerate(heads):
        word = at in left
        justify = "left" if word else "right"
        grid.add_column(_words(head), justify=justify, no_wrap=not word, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        grid.add_row(*(_words(cell) if isinstance(cell, str) else cell for cell in row))
    return grid


def _detail(block: Block) -> bool:
    return not isinstance(block, Heading) and block.detail


def _block(block: Block, *, full: bool) -> Iterator[RenderableType]:
    if isinstance(block, Heading):
        yield _words(block.text, "bold")
    elif isinstance(block, Facts):
        rows = [(_words(label, "bold"), text) for label, text in block.shown]
        if rows:
            yield from [_heading(block.title)] if block.title else []
            yield _grid(("", ""), rows, (0, 1))
    elif isinstance(block, Text):
        yield from _text(block, full=full) if "screen" in block.on else ()
    elif isinstance(block, Tiles):
        yield _tiles(block)
    elif isinstance(block, Bars):
        yield from _bars(block)
    elif block.count:
        yield from _table(block, full=full)


def _text(block: Text, *, full: bool) -> Iterator[RenderableType]:
    there = [text for text in block.texts if text]
    most = block.most if full or block.first is None else block.first
    shown = there[:most]
    if not shown:
        return
    if block.title:
        yield _heading(block.title)
    if not block.points:
        yield from (_indented(text) for text in shown)
        return
    if not full and block.first is not None:
        shown = [fitted(" ".join(text.split()), _NOTE_LINES * width() - 16) for text in shown]
    yield _points(shown)
    if full and len(shown) < len(there):
        yield _indented(f"{len(there) - len(shown):,} more in the files")


def _indented(text: str) -> RenderableType:
    from rich.padding import Padding

    if text.startswith("planner "):  # a command is copied whole
        command = _words(f"  {text}")
        command.no_wrap = True
        return command
    return Padding(_words(text), (0, 0, 0, 2))


def _points(texts: Sequence[str]) -> RenderableType:
    from rich.padding import Padding
    from rich.table import Table as Grid

    found = Grid.grid(padding=(0, 1, 0, 0))
    for text in texts:
        found.add_row(_words("-"), _words(text))
    return Padding(found, (0, 0, 0, 2))


def _tiles(block: Tiles) -> RenderableType:
    """Figures in boxes side by side, as many as fit; below each other on a narrow screen."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.table import Table as Grid

    if width() < _WIDE:
        return _grid(("", ""), block.figures, (0, 1))
    row, left = Grid.grid(padding=(0, 1, 0, 0)), width() + 1
    boxes = []
    for value, label in block.figures:
        left -= max(len(value), len(label)) + 5
        if left >= 0:
            box = Group(_words(value, "bold green"), _words(label, "dim"))
            boxes.append(Panel(box, padding=(0, 1), border_style="dim"))
    row.add_row(*boxes)
    return row


def _bars(block: Bars) -> Iterator[RenderableType]:
    from rich.text import Text as Words

    if not block.bars:
        return
    if block.title:
        yield _heading(block.title)
    length = _BAR if width() >= _VERY_WIDE else _BAR * 2 // 3 if width() >= _WIDE else _BAR // 2
    rows = []
    for each in block.bars[: block.most]:
        drawn = round(length * min(1.0, max(0.0, each.share)))
        colour = "bold red" if each.full else "cyan"
        bar = Words.assemble(("━" * drawn, colour), ("·" * (length - drawn), "dim"))
        rows.append((_words(each.label), bar, _words(each.text), _words(each.remark, "bold red")))
    grid = _grid(("", "", "", ""), rows, (0, 1, 2, 3))
    grid.columns[1].no_wrap = True
    yield grid


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
        if not column.under and (full or not (column.detail or (column.spare and width() < _WIDE)))
    ]
    under = [column.written for column in table.of(places).on("screen") if column.under]
    if title:
        yield _heading(title)
    for at, group in enumerate(_groups(columns) if full else [columns]):
        yield from [""] if at else []
        yield Padding(_columns(group, [] if at else under, full=full), (0, 0, 0, 2))
    for text in (*table.items, *table.notes):
        if text:
            yield _indented(text)


def _groups(columns: Sequence[Column]) -> list[list[Column]]:
    """Columns in groups that fit the width, each with the leading column of words."""
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


def _columns(
    columns: Sequence[Column], under: Sequence[Sequence[str]], *, full: bool
) -> RenderableType:
    """Columns side by side; texts ``under`` a row follow in its first column of words."""
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
            (
                *row[:at],
                "\n".join(filter(None, (row[at], *(each[place] for each in under)))),
                *row[at + 1 :],
            )
            for place, row in enumerate(rows)
        ]
    found = _grid(heads, rows, left)
    if any(column.foot for column in columns):
        found.add_row(*(_words(column.foot, "bold") for column in columns))
    return found


def _cut(columns: Sequence[Column], cells: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Cells with the column that gives way cut to the width."""
    at = next((place for place, column in enumerate(columns) if column.gives_way), None)
    if at is None:
        return cells
    pairs = zip(columns, cells, strict=True)
    widths = [max(map(len, (*column.lines, *texts))) for column, texts in pairs]
    room = max(_LEAST, width() - 2 - sum(widths) - 2 * len(widths) + widths[at])
    return [
        tuple(fitted(text, room) for text in texts) if place == at else texts
        for place, texts in enumerate(cells)
    ]


def _more(blocks: Iterable[Block]) -> str:
    """Titles of what a first screen leaves out."""
    found: list[str] = []
    for block in blocks:
        if isinstance(block, (Heading, Tiles, Bars)):
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
