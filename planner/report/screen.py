"""Blocks on the terminal, laid out by rich: the first screen, or with ``full`` everything."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from planner.report.blocks import (
    BarList,
    Block,
    Column,
    Facts,
    Heading,
    Table,
    Text,
    Tiles,
    choose_rows,
)
from planner.report.formats import cut_text
from planner.terminal import harmless, width

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table as Grid
    from rich.text import Text as Words

_WIDE, _VERY_WIDE, _BAR = 72, 100, 20
"""Widths from which a screen has boxes and long bars, and the characters of these."""

_HEAD, _LEAST, _READABLE = 12, 12, 30
"""Characters of a line over a column, and those that a column of words keeps on a first screen and
on a full one, where wider tables are split."""

_NOTE_LINES = 2
"""Lines of a point on a first screen."""


def show(blocks: Sequence[Block], *, full: bool = False, styled: bool = False) -> str:
    """Blocks as text as wide as the terminal.

    Args:
        full: with details; else the first screen, which names the option for the rest.
        styled: with escape sequences for colours.
    """
    parts = [list(_block(each, full=full)) for each in blocks if full or not _detail(each)]
    if not full and any(map(_hides, blocks)):
        parts.append([_grid(("", ""), [(_words("More", "bold"), "--full")], (0, 1))])
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
    return isinstance(block, Facts | Text | Table) and block.detail


def _block(block: Block, *, full: bool) -> Iterator[RenderableType]:
    if isinstance(block, Heading):
        yield _words(block.text, "bold")
    elif isinstance(block, Facts):
        rows = [(_words(label, "bold"), text) for label, text in block.shown]
        if rows:
            yield from [_heading(block.title)] if block.title else []
            yield _grid(("", ""), rows, (0, 1))
    elif isinstance(block, Text):
        yield from _text(block, full=full)
    elif isinstance(block, Tiles):
        yield _tiles(block)
    elif isinstance(block, BarList):
        yield from _bars(block)
    elif isinstance(block, Table) and block.count:
        yield from _table(block, full=full)


def _text(block: Text, *, full: bool) -> Iterator[RenderableType]:
    there = block.shown
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
        shown = [cut_text(" ".join(text.split()), _NOTE_LINES * width() - 16) for text in shown]
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
    from rich.panel import Panel
    from rich.table import Table as Grid

    if width() < _WIDE:
        return _grid(("", ""), block.figures, (0, 1))
    row, left = Grid.grid(padding=(0, 1, 0, 0)), width() + 1
    boxes = []
    for value, label in block.figures:
        left -= max(len(value), len(label)) + 5
        if left >= 0:
            box = _words(value, "bold green") + _words(f"\n{label}", "dim")
            boxes.append(Panel(box, padding=(0, 1), border_style="dim"))
    row.add_row(*boxes)
    return row


def _bars(block: BarList) -> Iterator[RenderableType]:
    from rich.text import Text as Words

    if not block.bars:
        return
    if block.title:
        yield _heading(block.title)
    length = _BAR if width() >= _VERY_WIDE else _BAR * 2 // 3 if width() >= _WIDE else _BAR // 2
    rows = []
    for each in block.bars:
        drawn = round(length * min(1.0, max(0.0, each.share)))
        colour = "bold red" if each.full else "cyan"
        bar = Words.assemble(("━" * drawn, colour), ("·" * (length - drawn), "dim"))
        rows.append((_words(each.label), bar, _words(each.text), _words(each.remark, "bold red")))
    grid = _grid(("", "", "", ""), rows, (0, 1, 2, 3))
    grid.columns[1].no_wrap = True
    yield grid


def _table(table: Table, *, full: bool) -> Iterator[RenderableType]:
    from rich.padding import Padding

    most, kept = table.most, table.kept
    if not full and table.first is not None:
        most, kept = table.first, kept or tuple(range(table.first))
    places = choose_rows(table.count, most, kept)
    title = table.title
    if len(places) < table.count:
        unit = "" if table.rows in title.casefold() else f" {table.rows}"
        title += f": {len(places)} of {table.count:,}{unit}"
        title += "; the files have all" if full else ""
    columns = [each for each in table.select_rows(places).columns if full or not each.detail]
    if title:
        yield _heading(title)
    groups = list(_groups(columns, _READABLE if full else _LEAST))
    for at, group in enumerate(groups if full else groups[:1]):
        yield from [""] if at else []
        yield Padding(_columns(group, full=full), (0, 0, 0, 2))
    yield from (_indented(text) for text in table.notes if text)


def _head(column: Column) -> list[str]:
    """The lines over a column: its label, then the unit of its figures."""
    lines = textwrap.wrap(column.label, _HEAD) or [""]
    return [*lines, column.shown_unit] if column.shown_unit else lines


def _room(column: Column, least: int) -> int:
    """The characters that a column needs; words are wrapped down to a number of them."""
    longest = max(map(len, (*_head(column), *column.written, column.foot)))
    return 2 + (min(longest, least) if column.words else longest)


def _groups(columns: Sequence[Column], least: int) -> Iterator[list[Column]]:
    """Yield columns in groups that fit the width, each with the first ones up to a name."""
    at = next((place for place, column in enumerate(columns[:2]) if column.words), 0)
    lead = list(columns[: at + 1])
    group = list(lead)
    for column in columns[at + 1 :]:
        wide = sum(_room(each, least) for each in [*group, column])
        if len(group) > len(lead) and wide > width():
            yield group
            group = list(lead)
        group.append(column)
    yield group


def _columns(columns: Sequence[Column], *, full: bool) -> RenderableType:
    heads = [_head(column) for column in columns]
    high = max(map(len, heads))
    lines = ["\n".join([""] * (high - len(head)) + head) for head in heads]
    cells = [column.written for column in columns]
    left = [at for at, column in enumerate(columns) if column.words]
    if not full and left:  # the widest words give way
        widths = [_room(column, 10_000) for column in columns]
        at = max(left, key=lambda place: widths[place])
        room = max(_LEAST, width() - 4 - sum(widths) + widths[at])
        cells[at] = tuple(cut_text(text, room) for text in cells[at])
    found = _grid(lines, list(zip(*cells, strict=True)), left)
    if any(column.foot for column in columns):
        found.add_row(*(_words(column.foot, "bold") for column in columns))
    return found


def _hides(block: Block) -> bool:
    """True if a first screen omits a part of a block."""
    count = block.count if isinstance(block, Table) else len(getattr(block, "shown", ()))
    first = getattr(block, "first", None)
    wide = isinstance(block, Table) and any(column.detail for column in block.columns)
    return count > 0 and (_detail(block) or wide or (first is not None and count > first))
