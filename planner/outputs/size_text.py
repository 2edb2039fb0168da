"""Aligned tables and wrapped paragraphs of the screen of `planner size`."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from planner.outputs.words import INDENT
from planner.terminal import width

Rows = Sequence[Sequence[str]]


def wrapped(text: str, first: str = INDENT, rest: str = INDENT) -> list[str]:
    """Return a paragraph as lines of at most as many columns as the terminal has."""
    return textwrap.wrap(text, width(), initial_indent=first, subsequent_indent=rest)


def block(title: str, *texts: str) -> str:
    """Return a title with its paragraphs."""
    return "\n".join([title, *(line for text in texts for line in wrapped(text))])


def table(rows: Rows, left: Sequence[int]) -> list[str]:
    """Return aligned lines; the columns in ``left`` are words, the others numbers."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(f"{INDENT}{'  '.join(cells)}".rstrip())
    return lines


def narrowed(rows: list[list[str]], column: int) -> list[list[str]]:
    """Return the rows with one column of words cut so that the table keeps to the width."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    excess = len(INDENT) + sum(widths) + 2 * (len(widths) - 1) - width()
    if excess <= 0:
        return rows
    room = max(10, widths[column] - excess)
    return [[*row[:column], row[column][:room], *row[column + 1 :]] for row in rows]
