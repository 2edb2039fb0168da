"""What a chart shows, in no drawing library's terms.

Texts are plain: whoever draws them escapes them. A line feed starts a new line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

Tone = Literal["main", "second", "third", "quiet", "pale", "bad"]
"""What a colour says; shape, dash or hatching always say it, too."""

TONES: dict[Tone, str] = {
    "main": "#0072B2",
    "second": "#D55E00",
    "third": "#007A5A",
    "quiet": "#5F6B7A",
    "pale": "#9CCBE8",
    "bad": "#8A2B5B",
}
"""Colours that stay apart for colour-blind eyes and in grey, the same in every drawing."""

INK, MUTED, GRID, SHADE = "#1F2933", "#52606D", "#DDE2E8", "#ECEEF1"
CROSSES = "#C3CAD3"
ON_LIGHT, ON_DARK = "#1F2932", "#FEFEFE"
"""Letters on the scale of a map, the same where a page is dark, as the map is."""

ON_TONE = "#FDFDFD"
"""Letters on a box that is filled with a tone."""

HATCH, CROSSED = "/", "x"
"""Patterns, of bars and of what is not possible."""

MAP = (
    (0.0, "#00224E"), (0.25, "#414D6B"), (0.5, "#7D7C78"), (0.75, "#BCAF6F"), (1.0, "#FEE838"),
)  # fmt: skip
"""A scale whose lightness grows evenly (cividis)."""

LIGHT_FROM = 0.55
"""From which share of the scale on dark letters are read on it."""

Shape = Literal[
    "circle", "diamond", "star", "square", "triangle", "down", "left", "right", "pentagon"
]
_LEFT_ABOVE, _LEFT_BELOW = 0.5, 0.72
_EDGE = 0.006
Look = Literal["full", "hatched", "hollow", "letters"]
Gap = float | None
"""A coordinate; None breaks a line."""


@dataclass(frozen=True)
class Axis:
    """An axis: what it counts, in which unit, and places with words of their own."""

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
    thin: bool = False


@dataclass(frozen=True)
class Steps:
    """A height on each of several stretches, in order, each joined to the next."""

    name: str
    starts: tuple[float, ...]
    ends: tuple[float, ...]
    heights: tuple[float, ...]
    tone: Tone = "main"

    def path(self) -> Iterator[tuple[float, float]]:
        """Yield the corners."""
        for start, end, height in zip(self.starts, self.ends, self.heights, strict=True):
            yield start, height
            yield end, height


@dataclass(frozen=True)
class Band:
    """The room between two heights; None in ``x`` breaks it."""

    name: str
    x: tuple[Gap, ...]
    low: tuple[Gap, ...]
    high: tuple[Gap, ...]
    tone: Tone = "pale"

    def parts(self) -> Iterator[tuple[list[float], list[float], list[float]]]:
        """Yield each unbroken part as its places, lower and upper heights."""
        part: tuple[list[float], list[float], list[float]] = ([], [], [])
        for x, low, high in zip(self.x, self.low, self.high, strict=True):
            if x is not None and low is not None and high is not None:
                for values, value in zip(part, (x, low, high), strict=True):
                    values.append(value)
            elif part[0]:
                yield part
                part = ([], [], [])
        if part[0]:
            yield part


@dataclass(frozen=True)
class Points:
    """Plans or scenarios; what is known of each is said where it is pointed at."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    hovers: tuple[str, ...]
    tone: Tone = "main"
    shape: Shape = "circle"
    hollow: bool = False
    size: float = 7.0


@dataclass(frozen=True)
class Bars:
    """Bars that lie in a panel's rows, from ``starts`` to ``ends``, a text behind each end."""

    name: str
    rows: tuple[float, ...]
    starts: tuple[float, ...]
    ends: tuple[float, ...]
    hovers: tuple[str, ...]
    texts: tuple[str, ...]
    tone: Tone = "main"
    hatched: bool = False
    thickness: float = 0.34


@dataclass(frozen=True)
class Whiskers:
    """Thin lines that lie in a panel's rows: where the truth may be."""

    name: str
    rows: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    tone: Tone = "quiet"


@dataclass(frozen=True)
class HeatMap:
    """A value in each cell of a grid; ``values`` and ``hovers`` by row of y, then by x.

    Cells are of one size and stand at 0, 1, ... ; the axes' ticks tell what these are.
    """

    name: str
    unit: str
    values: tuple[tuple[Gap, ...], ...]
    texts: tuple[tuple[str, ...], ...]
    hovers: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Boxes:
    """Boxes of one size on a drawing, by their lower left corners, each with a few letters in it.

    ``look`` tells them apart without colours; of ``letters`` nothing but the words is seen.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    width: float
    height: float
    texts: tuple[str, ...]
    hovers: tuple[str, ...]
    tone: Tone = "main"
    look: Look = "full"


Layer: TypeAlias = Line | Steps | Band | Points | Bars | Whiskers | HeatMap | Boxes


@dataclass(frozen=True)
class Mark:
    """A place that is named on the picture, above what is drawn there or below."""

    text: str
    x: float
    y: float
    shape: Shape
    tone: Tone = "second"
    above: bool = True
    hover: str = ""

    def to_the_left(self, share: float) -> bool:
        """Return whether its words stand to its left, so that they neither leave nor meet a line.

        Args:
            share: where it stands on the x axis, from 0 to 1.
        """
        return share > (_LEFT_ABOVE if self.above else _LEFT_BELOW)


@dataclass(frozen=True)
class ShadedRange:
    """A stretch of x that is shaded, because there is nothing to draw."""

    name: str
    start: float
    end: float


@dataclass(frozen=True)
class Reference:
    """A straight line through the panel at a value of one axis."""

    name: str
    value: float
    across: bool = True
    """Whether it runs from left to right, at a value of y."""


@dataclass(frozen=True)
class Panel:
    """A pair of axes and what is drawn on them.

    With ``rows`` the panel is a list from top to bottom: each row has its words above what lies in
    it, at y = 0, 1, ...; the y axis says nothing then. Without ``axes`` it is a drawing to scale,
    as far as its boxes go.
    """

    x: Axis
    y: Axis
    layers: tuple[Layer, ...]
    title: str = ""
    marks: tuple[Mark, ...] = ()
    stretches: tuple[ShadedRange, ...] = ()
    references: tuple[Reference, ...] = ()
    rows: tuple[str, ...] = ()
    axes: bool = True

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """The left, right, lower and upper ends of a drawing, a hair's breadth around its boxes."""
        boxes = [layer for layer in self.layers if isinstance(layer, Boxes) and layer.x]
        left = min(min(each.x) for each in boxes)
        right = max(max(each.x) + each.width for each in boxes)
        edge = _EDGE * (right - left)
        return (
            left - edge,
            right + edge,
            min(min(each.y) for each in boxes) - edge,
            max(max(each.y) + each.height for each in boxes) + edge,
        )


@dataclass(frozen=True)
class Chart:
    """One picture: what it shows in words, and its panels. Without panels the words are all."""

    name: str
    title: str
    subtitle: str
    panels: tuple[Panel, ...] = ()
    legend: bool = True
