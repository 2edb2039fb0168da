"""Results as blocks, once for the screen, pages and sheets.

A view turns a record into blocks. Figures keep their values and units, so that each renderer writes
them as its medium does: aligned text, HTML, cells with a number format.

The first screen of a result leaves out blocks and columns that are `detail` and cuts tables and
lists to their `first` rows; `--full`, pages and sheets have all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from planner.outputs.words import INDENT, Scale, fitted, points, results, wrapped
from planner.terminal import width

Medium = Literal["screen", "page", "sheet"]
Value = float | int | str | None
EVERYWHERE: frozenset[Medium] = frozenset(("screen", "page", "sheet"))
SCREEN: frozenset[Medium] = frozenset(("screen",))
PAGE: frozenset[Medium] = frozenset(("page",))

_FOR_KEPT = 2
"""Rows of a table that is cut that are left for those that are kept."""

_LEAST_ROOM, _READABLE = 10, 14
"""Characters that a column of words keeps where it gives way, and those that it should keep."""


@dataclass(frozen=True)
class Heading:
    """The title of a result."""

    text: str


@dataclass(frozen=True)
class Facts:
    """Labels with a text each; rows without a text are left out. The first is the finding."""

    rows: tuple[tuple[str, str], ...]
    title: str = ""
    detail: bool = False

    @property
    def shown(self) -> list[tuple[str, str]]:
        """The rows that have a text."""
        return [(label, text) for label, text in self.rows if text]


@dataclass(frozen=True)
class Text:
    """Paragraphs, or points of a list.

    Attributes:
        most: texts on a full screen.
        first: texts on a first screen.
    """

    texts: tuple[str, ...]
    title: str = ""
    points: bool = False
    most: int | None = None
    on: frozenset[Medium] = EVERYWHERE
    first: int | None = None
    detail: bool = False


@dataclass(frozen=True)
class Column:
    """A column of a table: words, or figures in one unit.

    Attributes:
        label: what it is.
        values: by row; texts are words, figures stand in ``unit``.
        unit: of the figures.
        texts: the same as the screen writes them, where not as results in a common unit.
        head: the lines over it on the screen, where not its label and the unit of its figures.
        words: whether it is aligned to the left.
        gives_way: whether the screen cuts it where the table is too wide.
        under: whether the screen writes it under its row instead of beside.
        on: the media that have it.
        spare: how soon a first screen that is too narrow leaves it out, the highest first; 0 never.
        detail: whether a first screen leaves it out.
    """

    label: str
    values: tuple[Value, ...]
    unit: str = ""
    texts: tuple[str, ...] | None = None
    head: tuple[str, ...] = ()
    words: bool = False
    gives_way: bool = False
    under: bool = False
    on: frozenset[Medium] = EVERYWHERE
    spare: int = 0
    detail: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines over it on the screen."""
        if self.head:
            return self.head
        unit = "" if self.texts is not None else self._scale.unit
        return (self.label, unit) if unit else (self.label,)

    @property
    def _scale(self) -> Scale:
        """How the screen writes its figures: in a common unit."""
        return results([v for v in self.values if isinstance(v, (int, float))], self.unit)

    @property
    def written(self) -> tuple[str, ...]:
        """Its values as the screen writes them."""
        if self.texts is not None:
            return self.texts
        scale = self._scale
        return tuple(
            value if isinstance(value, str) else scale.text(value) for value in self.values
        )


@dataclass(frozen=True)
class Table:
    """Columns side by side.

    Attributes:
        title: what it shows.
        columns: from left to right; each medium has those that are on it.
        notes: paragraphs under it.
        items: what the screen says of its rows under it, each hanging.
        most: rows of a full screen; evenly chosen, ``kept`` always among them.
        first: rows of a first screen, chosen in the same way.
        kept: places of rows that are never left out.
        rows: what its rows are called.
    """

    title: str
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    most: int | None = None
    kept: tuple[int, ...] = ()
    rows: str = "rows"
    items: tuple[str, ...] = ()
    first: int | None = None
    detail: bool = False

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.columns[0].values) if self.columns else 0

    def on(self, medium: Medium) -> tuple[Column, ...]:
        """Return the columns that a medium has."""
        return tuple(column for column in self.columns if medium in column.on)

    def of(self, places: Sequence[int]) -> Table:
        """Return the table of some of its rows."""
        columns = (
            replace(
                column,
                values=tuple(column.values[at] for at in places),
                texts=None if column.texts is None else tuple(column.texts[at] for at in places),
            )
            for column in self.columns
        )
        return replace(self, columns=tuple(columns))


Block = Heading | Facts | Text | Table


def notes_block(texts: Iterable[str], title: str = "Notes") -> Text:
    """Return notes, of which a first screen shows the first ones."""
    return Text(tuple(filter(None, texts)), title, points=True, first=MOST_NOTES)


def proof_block(texts: Iterable[str]) -> Text:
    """Return how exactly a result is known."""
    return Text(tuple(filter(None, texts)), "Proof", detail=True)


def choose_rows(count: int, most: int | None, kept: Collection[int] = ()) -> list[int]:
    """Return the places of rows to show: all, or evenly chosen with those kept among them.

    Args:
        kept: places of rows that are never left out.
    """
    if most is None or count <= most:
        return list(range(count))
    even = most - _FOR_KEPT
    return sorted({at * (count - 1) // (even - 1) for at in range(even)} | set(kept))


def drop_spare_columns(block: Block) -> Block:
    """Return a table without the columns that it can spare, as far as the screen is too narrow."""
    if not isinstance(block, Table):
        return block
    columns = list(block.on("screen"))
    spare = sorted((column for column in columns if column.spare), key=lambda one: one.spare)
    while spare and _least_width(columns) > width():
        gone = spare.pop()
        columns = [column for column in columns if column is not gone]
    return replace(block, columns=tuple(columns))


def _least_width(columns: Sequence[Column]) -> int:
    """Return how wide a table is whose columns of words are as short as they can be read."""
    total = len(INDENT) - 2
    for column in columns:
        if not column.under:
            longest = max(map(len, (*column.lines, *column.written)))
            total += 2 + (min(longest, _READABLE) if column.gives_way else longest)
    return total


def screen(blocks: Iterable[Block]) -> str:
    """Return blocks as plain text, as wide as the terminal; nothing in it steers one."""
    return join_parts(map(_part, blocks))


def join_parts(parts: Iterable[str]) -> str:
    """Return the parts of a screen that say something, a blank line between them."""
    return printable("\n\n".join(part for part in parts if part) + "\n")


def printable(text: str) -> str:
    """Return a text in which no name from a file can steer the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)


def titled_text(title: str, *texts: str) -> str:
    """Return a title with its paragraphs."""
    return "\n".join([title, *(line for text in texts for line in wrapped(text))])


def _part(block: Block) -> str:
    if isinstance(block, Heading):
        return block.text
    if isinstance(block, Facts):
        indent = max((len(label) for label, _ in block.shown), default=0) + 2
        lines = [line for label, text in block.shown for line in labelled(label, text, indent)]
        return "\n".join([block.title, *lines] if block.title and lines else lines)
    if isinstance(block, Text):
        return "\n".join(_paragraphs(block)) if "screen" in block.on else ""
    return "\n".join(_table(block)) if block.count else ""


def _paragraphs(block: Text) -> list[str]:
    texts = [text for text in block.texts if text]
    first, rest = (f"{INDENT}- ", f"{INDENT}  ") if block.points else (INDENT, INDENT)
    lines = [line for text in texts[: block.most] for line in wrapped(text, first, rest)]
    if block.most is not None and len(texts) > block.most:
        lines.append(f"{INDENT}- {len(texts) - block.most:,} more in the files")
    return [block.title, *lines] if block.title and lines else lines


def _table(block: Table) -> list[str]:
    """Return a table as aligned lines under its title."""
    places = choose_rows(block.count, block.most, block.kept)
    title = block.title
    if len(places) < block.count:
        title += f": {len(places)} of {block.count:,} {block.rows}; the files have all"
    shown = block.of(places)
    columns = [column for column in shown.on("screen") if not column.under]
    under = [column.written for column in shown.on("screen") if column.under]
    high = max(len(column.lines) for column in columns)
    cells = [("",) * (high - len(column.lines)) + column.lines + column.written
             for column in columns]  # fmt: skip
    rows = [list(row) for row in zip(*cells, strict=True)]
    gives_way = next((at for at, column in enumerate(columns) if column.gives_way), None)
    if gives_way is not None:
        rows = narrow_column(rows, gives_way)
    lines = aligned(rows, [at for at, column in enumerate(columns) if column.words])
    body = lines[:high]
    for at, line in enumerate(lines[high:]):
        body.append(line)
        for texts in under:
            body += wrapped(texts[at], f"{INDENT}  ", f"{INDENT}  ")
    body += [line for item in block.items for line in wrapped(item, INDENT, f"{INDENT}  ")]
    body += [line for note in block.notes if note for line in wrapped(note)]
    return [*wrapped(title, "", ""), *body]


def aligned(rows: Sequence[Sequence[str]], left: Collection[int]) -> list[str]:
    """Return aligned lines; the columns in ``left`` are words, the others numbers."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width_) if column in left else cell.rjust(width_)
            for column, (cell, width_) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(f"{INDENT}{'  '.join(cells)}".rstrip())
    return lines


def narrow_column(rows: list[list[str]], column: int) -> list[list[str]]:
    """Return a table's rows, a column of words cut so that the table keeps to the width.

    Args:
        rows: the cells, heads included.
        column: the place of that column.
    """
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    excess = len(INDENT) + sum(widths) + 2 * (len(widths) - 1) - width()
    if excess <= 0:
        return rows
    room = max(_LEAST_ROOM, widths[column] - excess)
    return [[*row[:column], fitted(row[column], room), *row[column + 1 :]] for row in rows]


MOST_NOTES = 5
_MOST_NOTE_LINES = 2


@dataclass(frozen=True)
class FirstScreen:
    """What one page of a terminal says of a result.

    Attributes:
        title: what the result is of.
        answer: each line of it, with the word that it begins with; empty texts are left out.
        below: what stands under them: points, a table cut to what fits.
        notes: what to know, what matters most first.
        proof: how exactly it is known.
        full: what ``--full`` tells besides, in words; empty where that is nothing.
        entire: whether the whole text is short enough to be the first screen itself.
    """

    title: str = ""
    answer: tuple[tuple[str, str], ...] = ()
    below: tuple[Block, ...] = ()
    notes: tuple[str, ...] = ()
    proof: tuple[str, ...] = ()
    full: str = ""
    entire: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """The words that its lines begin with."""
        return (*(label for label, text in self.answer if text), "Notes", "Proof", "More")


def render(found: FirstScreen, whole: Callable[[], str], *, full: bool = False) -> str:
    """Return a first screen; with ``full`` everything.

    Args:
        found: the first screen.
        whole: returns the text of the whole result.
        full: whether to show it, all notes and the proof.
    """
    if found.entire:
        return whole()
    indent = max(len(label) for label in found.labels) + 2
    lines = wrapped(found.title, "", "")
    answer = [
        line for label, text in found.answer if text for line in labelled(label, text, indent)
    ]
    lines += ["", *answer] if answer else []
    if full:
        rest = whole().removeprefix("\n".join(wrapped(found.title, "", ""))).strip("\n")
        lines += ["", rest]
        lines += [line for line in _points("Proof", found.proof) if line not in rest]
        return printable("\n".join(lines) + "\n")
    below = screen(map(drop_spare_columns, found.below)).strip("\n")
    lines += ["", *below.split("\n"), ""] if below else []
    lines += note_lines(found.notes)
    lines += labelled("More", _more(found), indent)
    return printable("\n".join(lines) + "\n")


def labelled(label: str, text: str, indent: int) -> list[str]:
    """Return a line of an answer: its word and its text beside it; nothing without a text."""
    return wrapped(text, f"{label:<{indent}}", " " * indent) if text else []


def note_lines(texts: Sequence[str], *, every: bool = False) -> list[str]:
    """Return notes under their title: all of them in full, or the first ones, two lines each."""
    if every:
        return _points("Notes", texts)
    lines = ["Notes"] if texts else []
    for text in texts[:MOST_NOTES]:
        note = points(text)
        if len(note) > _MOST_NOTE_LINES:
            last = note[_MOST_NOTE_LINES - 1]
            while len(last) > width() - 4:
                last = last.rpartition(" ")[0]
            note = [*note[: _MOST_NOTE_LINES - 1], f"{last.rstrip(' ,;:(')} ..."]
        lines += note
    return lines


def _points(title: str, texts: Sequence[str]) -> list[str]:
    lines = points(*texts)
    return [title, *lines] if lines else []


def _more(found: FirstScreen) -> str:
    """Return the option that shows more, with its contents."""
    many = len(found.notes) > MOST_NOTES
    texts = [found.full, f"all {len(found.notes)} notes" if many else ""]
    texts += ["proof"] if found.proof else []
    named = ", ".join(filter(None, texts))
    return f"--full {named}" if named else ""
