"""Results as blocks, once for screen, page and sheet: texts, tables, bars, charts.

A view turns a record into blocks; each medium lays them out. Figures keep their values, so that a
sheet has numbers. A first screen leaves out blocks and columns that are `detail` and shows the
`first` rows of tables and lists; `--full`, pages and sheets have all. Texts are plain: who draws
them escapes them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from planner.report.formats import Scale, gap, result_scale, scale

Value = float | int | str | None
ValueT = TypeVar("ValueT")
RecordT = TypeVar("RecordT")


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
    """Paragraphs or points of a list, at most ``most``, on a first screen ``first``."""

    texts: tuple[str, ...]
    title: str = ""
    points: bool = False
    most: int | None = None
    first: int | None = None
    detail: bool = False
    style: Literal["", "answer", "note", "muted"] = ""
    """On the page: the sentence that answers, a remark, an aside."""

    @property
    def shown(self) -> list[str]:
        """The texts that are not empty."""
        return [text for text in self.texts if text]


@dataclass(frozen=True)
class Tiles:
    """Headline figures, each with its label."""

    figures: tuple[tuple[str, str], ...]


class Bar(NamedTuple):
    """A labelled bar: ``share`` of the full length, its value, a remark; red where ``full``."""

    label: str
    share: float
    text: str
    full: bool = False
    remark: str = ""


@dataclass(frozen=True)
class BarList:
    """Bars one below the other."""

    title: str
    bars: tuple[Bar, ...]
    subtitle: str = ""


@dataclass(frozen=True)
class Column:
    """A column of a table: words, aligned to the left, or figures in one unit.

    Attributes:
        values: by row, as a sheet holds them.
        texts: the same for screen and page, by default figures in a common unit.
        detail: whether a first screen leaves it out.
        foot: its total, in a last row.
    """

    label: str
    values: tuple[Value, ...]
    unit: str = ""
    texts: tuple[str, ...] | None = None
    words: bool = False
    detail: bool = False
    foot: str = ""

    @property
    def shown_unit(self) -> str:
        """The unit of its texts, empty where these or the label name it."""
        unit = "" if self.texts is not None else self._scale.unit
        return "" if unit.casefold() in self.label.casefold() else unit

    @property
    def _scale(self) -> Scale:
        return result_scale([v for v in self.values if isinstance(v, (int, float))], self.unit)

    @property
    def written(self) -> tuple[str, ...]:
        """Its values as texts."""
        if self.texts is not None:
            return self.texts
        scale = self._scale
        return tuple(v if isinstance(v, str) else scale.text(v) for v in self.values)


def words(
    label: str, texts: Iterable[str | None], *, detail: bool = False, foot: str = ""
) -> Column:
    """A column of words."""
    return Column(label, tuple(t or "" for t in texts), words=True, detail=detail, foot=foot)


def figures(
    label: str,
    values: Iterable[ValueT | None],
    form: int | str | Callable[[ValueT], str] = "",
    *,
    detail: bool = False,
    foot: str = "",
) -> Column:
    """A column of figures.

    Args:
        form: decimals, a unit to write all of them in, or a function that writes each.
    """
    found = tuple(values)
    numbers = tuple(v if isinstance(v, (int, float, str)) else None for v in found)
    if isinstance(form, str):
        return Column(label, numbers, form, detail=detail, foot=foot)
    write = form if callable(form) else lambda v: f"{v:,.{form}f}"
    texts = tuple("-" if v is None else write(v) for v in found)
    return Column(label, numbers, texts=texts, detail=detail, foot=foot)


def read_values(
    records: Iterable[RecordT | None], read: Callable[[RecordT], ValueT | None]
) -> list[ValueT | None]:
    """A figure of each record, None where there is no record."""
    return [None if each is None else read(each) for each in records]


@dataclass(frozen=True)
class Table:
    """Columns side by side.

    Attributes:
        notes: paragraphs under it.
        most: rows of screen and page, evenly chosen; `first`: of a first screen, the leading ones.
        kept: places of rows that are never left out.
        rows: label of its rows.
    """

    title: str
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    most: int | None = None
    kept: tuple[int, ...] = ()
    rows: str = "rows"
    first: int | None = None
    detail: bool = False

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.columns[0].values) if self.columns else 0

    def select_rows(self, places: Sequence[int]) -> Table:
        """The table of some of its rows."""
        columns = (
            replace(
                column,
                values=tuple(column.values[at] for at in places),
                texts=tuple(column.written[at] for at in places) if column.texts else None,
            )
            for column in self.columns
        )
        return replace(self, columns=tuple(columns))


# Charts: a panel of layers on two axes.

Tone = Literal["main", "second", "third"]
"""A colour; shape, dash or hatching distinguish it, too."""
Gap = float | None
"""A coordinate; None breaks a line."""

ROW_MIDDLE = 0.14
"""The middle of the first row of a list, on its y axis."""


@dataclass(frozen=True)
class Axis:
    """An axis: label, unit, and places with words of their own."""

    label: str
    unit: str = ""
    log: bool = False
    ticks: tuple[tuple[float, str], ...] = ()

    @property
    def title(self) -> str:
        """Label and unit."""
        return ", ".join(part for part in (self.label, self.unit) if part)


@dataclass(frozen=True)
class Line:
    """A line through points, or the points alone; ``style`` as Matplotlib has it."""

    name: str
    x: tuple[Gap, ...]
    y: tuple[Gap, ...]
    tone: Tone = "main"
    style: Literal["-", "--", "o", "o-"] = "-"


@dataclass(frozen=True)
class Mark:
    """A place that is named on the picture: a star with words above, a diamond with words below."""

    text: str
    x: float
    y: float
    shape: Literal["star", "diamond"]


@dataclass(frozen=True)
class Bars:
    """Bars that lie in a panel's rows, from ``starts`` to ``ends``, a text behind each end."""

    name: str
    rows: tuple[float, ...]
    starts: tuple[float, ...]
    ends: tuple[float, ...]
    texts: tuple[str, ...] = ()
    tone: Tone = "main"
    hatched: bool = False


@dataclass(frozen=True)
class HeatMap:
    """A value in each cell of a grid; ``values`` and ``texts`` by row of y, then by x.

    Cells are of one size and stand at 0, 1, ...; the ticks of the axes name them.
    """

    unit: str
    values: tuple[tuple[Gap, ...], ...]
    texts: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Reference:
    """A straight line through the panel at a value of y, or of x where not ``across``."""

    name: str
    value: float
    across: bool = True


Layer: TypeAlias = Line | Mark | Bars | HeatMap | Reference


@dataclass(frozen=True)
class Panel:
    """A pair of axes with its layers.

    With ``rows`` the panel is a list from top to bottom, each row with its words at the left and
    its layers around y = ``ROW_MIDDLE``, 1 + ``ROW_MIDDLE``, ...
    """

    x: Axis
    y: Axis
    layers: tuple[Layer, ...]
    rows: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chart:
    """A picture: its words, and its panel; without one the words are all."""

    name: str
    title: str
    subtitle: str
    panel: Panel | None = None


def sized_axis(
    label: str, values: Iterable[float | None], unit: str, *, log: bool = False
) -> tuple[Axis, float]:
    """An axis in the unit that suits its figures, and the size of that unit."""
    there = [value for value in values if value is not None]
    shown = scale([min(there), max(there)] if there else [], unit)
    return Axis(label, shown.unit, log), shown.size


def widest_gap_text(gaps: Sequence[float | None]) -> str:
    """The widest of some gaps in a sentence."""
    known = [share for share in gaps if share is not None]
    if len(known) < len(gaps):
        return f"No bound for {len(gaps) - len(known):,}."
    widest = max(known, default=0.0)
    return f"Each within {gap(widest)} of its bound." if widest else "Proven exactly."


Block = Heading | Facts | Text | Tiles | BarList | Table | Chart

MOST_NOTES = 5
"""Notes on a first screen."""


def notes_block(texts: Iterable[str], title: str = "Notes") -> Text:
    """Notes, of which a first screen shows the first ones."""
    return Text(tuple(filter(None, texts)), title, points=True, first=MOST_NOTES)


def proof_block(texts: Iterable[str]) -> Text:
    """The proof of a result as a block."""
    return Text(tuple(filter(None, texts)), "Proof", detail=True)


def choose_rows(count: int, most: int | None, kept: Collection[int] = ()) -> list[int]:
    """The places of rows to show: all, or evenly chosen with those kept among them."""
    if most is None or count <= most:
        return list(range(count))
    even = most - len(set(kept))
    steps = max(even - 1, 1)
    return sorted({at * (count - 1) // steps for at in range(even)} | set(kept))
