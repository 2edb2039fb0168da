"""Screens laid out by rich: texts and tables as wide as the terminal, with colours or without."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from planner.terminal import harmless, width

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

BAR = 20
"""Characters of a bar."""
WIDE = 72
"""From this width on a screen has boxes and its less important columns."""


def rendered(parts: Iterable[RenderableType], *, styled: bool = False) -> str:
    """Return parts of a screen as text.

    Args:
        styled: with escape sequences for colours, for a terminal that has them.
    """
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


def words(text: str, style: str = "") -> Text:
    """Return a text in which no name from a file can steer the terminal."""
    from rich.text import Text

    return Text(harmless(text), style=style)


def grid(heads: Sequence[str], rows: Iterable[Sequence[str | Text]], left: Sequence[int]) -> Table:
    """Return a table without lines.

    Args:
        heads: over the columns; all empty for none.
        rows: cells by row.
        left: places of columns of words; the others are figures and keep to one line.
    """
    from rich.table import Table

    table = Table(
        box=None, pad_edge=False, show_header=any(heads), header_style="dim", padding=(0, 2, 0, 0)
    )
    for at, head in enumerate(heads):
        is_word = at in left
        table.add_column(
            words(head), justify="left" if is_word else "right", no_wrap=not is_word,
            overflow="fold",
        )  # fmt: skip
    for row in rows:
        table.add_row(*(words(cell) if isinstance(cell, str) else cell for cell in row))
    return table


def bar(share: float, *, binding: bool = False, length: int = BAR) -> Text:
    """Return a bar for a share of a limit."""
    from rich.text import Text

    full = round(length * min(1.0, max(0.0, share)))
    colour = "bold red" if binding else "cyan"
    return Text.assemble(("━" * full, colour), ("·" * (length - full), "dim"))


def tiles(figures: Sequence[tuple[str, str]]) -> RenderableType:
    """Return figures with their labels side by side, in boxes where there is room."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.table import Table

    if width() < WIDE:
        return grid(("", ""), figures, (0, 1))
    row, left = Table.grid(padding=(0, 1, 0, 0)), width() + 1
    boxes = []
    for value, label in figures:
        left -= max(len(value), len(label)) + 5
        if left >= 0:
            box = Group(words(value, "bold green"), words(label, "dim"))
            boxes.append(Panel(box, padding=(0, 1), border_style="dim"))
    row.add_row(*boxes)
    return row


def heading(text: str) -> Text:
    """Return the title of a part."""
    return words(text, "bold cyan")
