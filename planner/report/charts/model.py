"""What a chart shows, in no drawing library's terms: panels, layers, axes and their round places.

Texts are plain: whoever draws them escapes them. A line feed starts a new line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Literal, TypeAlias

from planner.report.charts.words import plain
from planner.report.words import DAY_S, HOUR_S, MINUTE_S

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

ROW_MIDDLE = 0.14
"""The middle of the first row of a list, on its y axis."""

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


Layer: TypeAlias = Line | Steps | Band | Points | Bars | Whiskers | HeatMap


@dataclass(frozen=True)
class Mark:
    """A place that is named on the picture, above what is drawn there or below."""

    text: str
    x: float
    y: float
    shape: Shape
    tone: Tone = "second"
    above: bool = True


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

    With ``rows`` the panel is a list from top to bottom, each row with its words at the left and
    its layers around y = ``ROW_MIDDLE``, 1 + ``ROW_MIDDLE``, ...
    """

    x: Axis
    y: Axis
    layers: tuple[Layer, ...]
    title: str = ""
    marks: tuple[Mark, ...] = ()
    stretches: tuple[ShadedRange, ...] = ()
    references: tuple[Reference, ...] = ()
    rows: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chart:
    """One picture: what it shows in words, and its panels. Without panels the words are all."""

    name: str
    title: str
    subtitle: str
    panels: tuple[Panel, ...] = ()
    legend: bool = True


_WIDE = 50.0


def is_wide(values: Sequence[float], least: float = _WIDE) -> bool:
    """Whether values are spread as on a logarithmic axis.

    Args:
        values: what stands on the axis.
        least: how many times the smallest the largest must be.
    """
    if not values or min(values) <= 0 or max(values) / min(values) < least:
        return False
    middle, low, high = median(values), min(values), max(values)
    return math.log(middle) < (math.log(low * high) / 2 + math.log((low + high) / 2)) / 2


_MOST_TIMES = 8
_STEPS_S = (
    1.0, 5.0, 10.0, 30.0, MINUTE_S, 2 * MINUTE_S, 5 * MINUTE_S, 10 * MINUTE_S, 15 * MINUTE_S,
    30 * MINUTE_S, HOUR_S, 2 * HOUR_S, 3 * HOUR_S, 6 * HOUR_S, 12 * HOUR_S, DAY_S, 2 * DAY_S,
    7 * DAY_S, 14 * DAY_S, 28 * DAY_S, 56 * DAY_S,
)  # fmt: skip
_FIRST_S, _LAST_S = -62_135_596_800.0, 253_402_300_799.0
"""The times that have a date of four digits."""


def time_axis(start_s: float, end_s: float, clock: str) -> Axis:
    """The axis of a stretch of a trace.

    Args:
        start_s: where it begins, on the trace's clock.
        end_s: where it ends.
        clock: ``unix`` for seconds since 1970, else the zero is the trace's own.
    """
    dated = clock == "unix" and start_s >= _FIRST_S and end_s <= _LAST_S
    step = _step(end_s - start_s)
    places = list(_places(start_s, end_s, step))
    if not dated:
        size, unit = _unit(end_s)
        ticks = tuple((place, plain(place / size)) for place in places)
        return Axis("time from the zero of the trace", unit, ticks=ticks)
    layout = "%m-%d" if step >= DAY_S else "%H:%M:%S" if step < MINUTE_S else "%H:%M"
    days = [datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d") for at in (start_s, end_s)]
    if step < DAY_S and end_s - start_s > DAY_S:
        layout = f"%m-%d {layout}"
    ticks = tuple((at, datetime.fromtimestamp(at, UTC).strftime(layout)) for at in places)
    return Axis(" to ".join(dict.fromkeys(days)), "UTC", ticks=ticks)


def _step(span_s: float) -> float:
    for step in _STEPS_S:
        if span_s / step <= _MOST_TIMES:
            return step
    return _STEPS_S[-1] * math.ceil(span_s / _STEPS_S[-1] / _MOST_TIMES)


def _places(start_s: float, end_s: float, step: float) -> Iterator[float]:
    for count in range(math.ceil(start_s / step), math.floor(end_s / step) + 1):
        yield count * step


def _unit(seconds: float) -> tuple[float, str]:
    for size, unit in ((DAY_S, "days"), (HOUR_S, "h"), (MINUTE_S, "min")):
        if seconds >= 2 * size:
            return size, unit
    return 1.0, "s"
