"""What a chart shows, in no drawing library's terms: panels of layers on two axes.

Texts are plain: whoever draws them escapes them. A line feed starts a new line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, TypeAlias

from planner.report.words import gap, scale

Tone = Literal["main", "second", "third", "quiet", "pale", "bad"]
"""A colour; shape, dash or hatching always tell it apart, too."""

Shape = Literal[
    "circle", "diamond", "star", "square", "triangle", "down", "left", "right", "pentagon"
]
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
    """A line through points."""

    name: str
    x: tuple[Gap, ...]
    y: tuple[Gap, ...]
    tone: Tone = "main"
    dashed: bool = False


@dataclass(frozen=True)
class Band:
    """The room between two heights; None breaks it."""

    name: str
    x: tuple[Gap, ...]
    low: tuple[Gap, ...]
    high: tuple[Gap, ...]
    tone: Tone = "pale"

    def parts(self) -> Iterator[tuple[list[float], list[float], list[float]]]:
        """Yield each unbroken part as its places, lower and upper heights."""
        part: tuple[list[float], list[float], list[float]] = ([], [], [])
        for x, low, high in (*zip(self.x, self.low, self.high, strict=True), (None, None, None)):
            if x is not None and low is not None and high is not None:
                for values, value in zip(part, (x, low, high), strict=True):
                    values.append(value)
            elif part[0]:
                yield part
                part = ([], [], [])


@dataclass(frozen=True)
class Points:
    """Plans or scenarios, each with a tooltip."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    hovers: tuple[str, ...]
    tone: Tone = "main"
    shape: Shape = "circle"
    hollow: bool = False
    size: float = 7.0


@dataclass(frozen=True)
class Mark:
    """A place that is named on the picture, above or below it."""

    text: str
    x: float
    y: float
    shape: Shape
    tone: Tone = "second"
    above: bool = True


@dataclass(frozen=True)
class Bars:
    """Bars that lie in a panel's rows, from ``starts`` to ``ends``, a text behind each end."""

    name: str
    rows: tuple[float, ...]
    starts: tuple[float, ...]
    ends: tuple[float, ...]
    hovers: tuple[str, ...]
    texts: tuple[str, ...] = ()
    tone: Tone = "main"
    hatched: bool = False
    thickness: float = 0.34


@dataclass(frozen=True)
class HeatMap:
    """A value in each cell of a grid; ``values`` and ``texts`` by row of y, then by x.

    Cells are of one size and stand at 0, 1, ...; the ticks of the axes name them.
    """

    name: str
    unit: str
    values: tuple[tuple[Gap, ...], ...]
    texts: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ShadedRange:
    """A range of x in which there is nothing to draw."""

    name: str
    start: float
    end: float


@dataclass(frozen=True)
class Reference:
    """A straight line through the panel at a value of y, or of x where not ``across``."""

    name: str
    value: float
    across: bool = True


Layer: TypeAlias = Line | Band | Points | Mark | Bars | HeatMap | ShadedRange | Reference


@dataclass(frozen=True)
class Panel:
    """A pair of axes and what is drawn on them.

    With ``rows`` the panel is a list from top to bottom, each row with its words at the left and
    its layers around y = ``ROW_MIDDLE``, 1 + ``ROW_MIDDLE``, ...
    """

    x: Axis
    y: Axis
    layers: tuple[Layer, ...]
    title: str = ""
    rows: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chart:
    """A picture: its words, and its panels. Without panels the words are all."""

    name: str
    title: str
    subtitle: str
    panels: tuple[Panel, ...] = ()
    legend: bool = True


_WIDE = 50.0


def is_wide(values: Sequence[float], least: float = _WIDE) -> bool:
    """Whether values are spread as on a logarithmic axis, over a factor of ``least``."""
    if not values or min(values) <= 0 or max(values) / min(values) < least:
        return False
    middle, low, high = median(values), min(values), max(values)
    return math.log(middle) < (math.log(low * high) / 2 + math.log((low + high) / 2)) / 2


def sized_axis(
    label: str, values: Iterable[float | None], unit: str, *, log: bool = False
) -> tuple[Axis, float]:
    """An axis in the unit that suits its figures, and the size of that unit."""
    there = [value for value in values if value is not None]
    shown = scale([min(there), max(there)] if there else [], unit)
    return Axis(label, shown.unit, log), shown.size


def in_size(values: Iterable[float], size: float) -> tuple[float, ...]:
    """Figures in the unit of an axis."""
    return tuple(value / size for value in values)


BOUND = "up to the proven bound"
_SEEN = 0.004
"""A band thinner than this share of the axis is hidden by the line itself."""


def bound_band(x: Sequence[Gap], low: Sequence[Gap], high: Sequence[Gap]) -> tuple[Band, ...]:
    """The room between a line and its bound, where it can be seen."""
    pairs = [(a, b) for a, b in zip(low, high, strict=True) if a is not None and b is not None]
    known = [value for pair in pairs for value in pair]
    widest = max((abs(b - a) for a, b in pairs), default=0.0)
    if not pairs or widest <= _SEEN * (max(known) - min(known) or 1.0):
        return ()
    return (Band(BOUND, tuple(x), tuple(low), tuple(high)),)


def proven(gaps: Sequence[float | None]) -> str:
    """The widest of some gaps in a sentence."""
    known = [share for share in gaps if share is not None]
    if len(known) < len(gaps):
        return f"No bound for {len(gaps) - len(known):,}."
    widest = max(known, default=0.0)
    return f"Each within {gap(widest)} of its bound." if widest else "Proven exactly."
