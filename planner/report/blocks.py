"""Results as blocks, once for the screen, pages and sheets.

A view turns a record into blocks. Figures keep their values and units, so that each renderer writes
them as its medium does: aligned text, HTML, cells with a number format.

The first screen of a result leaves out blocks and columns that are `detail` and cuts tables and
lists to their `first` rows; `--full`, pages and sheets have all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from planner.report.words import Scale, results

Medium = Literal["screen", "page", "sheet"]
Value = float | int | str | None
EVERYWHERE: frozenset[Medium] = frozenset(("screen", "page", "sheet"))
SCREEN: frozenset[Medium] = frozenset(("screen",))
PAGE: frozenset[Medium] = frozenset(("page",))


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
    style: Literal["", "answer", "note", "muted"] = ""
    """Of the page: the sentence that answers, a remark, an aside."""


@dataclass(frozen=True)
class Tiles:
    """Headline figures, each with its label."""

    figures: tuple[tuple[str, str], ...]
    detail: bool = False


class Bar(NamedTuple):
    """A labelled bar: ``share`` of the full length, its value, a remark; red where ``full``."""

    label: str
    share: float
    text: str
    full: bool = False
    remark: str = ""


@dataclass(frozen=True)
class Bars:
    """Bars one below the other; the screen has the first ``most``."""

    title: str
    bars: tuple[Bar, ...]
    subtitle: str = ""
    most: int | None = None
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
        foot: its total, in a last row of the screen and the page.
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
    foot: str = ""

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
        whole: whether the page has every row.
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
    whole: bool = False

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.columns[0].values) if self.columns else 0

    def on(self, medium: Medium) -> tuple[Column, ...]:
        """The columns that a medium has."""
        return tuple(column for column in self.columns if medium in column.on)

    def of(self, places: Sequence[int]) -> Table:
        """The table of some of its rows."""
        columns = (
            replace(
                column,
                values=tuple(column.values[at] for at in places),
                texts=None if column.texts is None else tuple(column.texts[at] for at in places),
            )
            for column in self.columns
        )
        return replace(self, columns=tuple(columns))


Block = Heading | Facts | Text | Tiles | Bars | Table


MOST_NOTES = 5
"""Notes on a first screen."""


def notes_block(texts: Iterable[str], title: str = "Notes") -> Text:
    """Notes, of which a first screen shows the first ones."""
    return Text(tuple(filter(None, texts)), title, points=True, first=MOST_NOTES)


def proof_block(texts: Iterable[str]) -> Text:
    """The proof of a result as a block."""
    return Text(tuple(filter(None, texts)), "Proof", detail=True)


def choose_rows(count: int, most: int | None, kept: Collection[int] = ()) -> list[int]:
    """The places of rows to show: all, or evenly chosen with those kept among them.

    Args:
        kept: places of rows that are never left out.
    """
    if most is None or count <= most:
        return list(range(count))
    even = most - len(set(kept))
    steps = max(even - 1, 1)
    return sorted({at * (count - 1) // steps for at in range(even)} | set(kept))
