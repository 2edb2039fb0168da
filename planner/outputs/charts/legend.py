"""The legend of a chart as HTML: a small drawing and a name for each thing that is drawn."""

from __future__ import annotations

from planner.outputs.charts.markup import tag, text
from planner.outputs.charts.model import (
    Band,
    Bars,
    Chart,
    HeatMap,
    Layer,
    Line,
    Points,
    Reference,
    Shape,
    Steps,
    Stretch,
    Whiskers,
)
from planner.outputs.charts.palette import CROSSES, INK, SHADE, TONES

_PATHS: dict[Shape, str] = {
    "circle": "M13 2.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 1 1 0-9z",
    "diamond": "M13 1.5L18.5 7L13 12.5L7.5 7z",
    "square": "M9 3h8v8h-8z",
    "triangle": "M13 1.5L18.5 11.5H7.5z",
    "down": "M13 12.5L18.5 2.5H7.5z",
    "left": "M8 7L18.5 1.5V12.5z",
    "right": "M18 7L7.5 1.5V12.5z",
    "pentagon": "M13 1.5L18.2 5.3L16.2 11.5H9.8L7.8 5.3z",
    "star": "M13 .5l1.7 4.2 4.5.3-3.5 2.8 1.2 4.4L13 9.8l-3.9 2.4 1.2-4.4L6.8 5l4.5-.3z",
}


def legend(chart: Chart) -> str:
    """Return the legend of a chart, nothing where it has none."""
    found: dict[str, str] = {}
    for panel in chart.panels:
        for thing in (*panel.stretches, *panel.references, *panel.layers):
            if thing.name and not isinstance(thing, HeatMap):
                found.setdefault(thing.name, _swatch(thing))
    if not chart.legend or not found:
        return ""
    entries = "".join(tag("li", drawing + text(name)) for name, drawing in found.items())
    return tag("ul", entries, {"class": "legend"})


def _swatch(thing: Layer | Stretch | Reference) -> str:
    return (
        '<svg width="26" height="14" viewBox="0 0 26 14" aria-hidden="true">'
        + _drawing(thing)
        + "</svg>"
    )


def _drawing(thing: Layer | Stretch | Reference) -> str:
    if isinstance(thing, Stretch):
        return _box(SHADE, CROSSES) + _strokes(
            CROSSES, "M1 13L13 1M13 13L25 1M1 1l12 12M13 1l12 12"
        )
    if isinstance(thing, Reference):
        return _strokes(INK, "M0 7h7M10 7h7M20 7h6")
    tone = "" if isinstance(thing, HeatMap) else TONES[thing.tone]
    if isinstance(thing, Line | Steps):
        dashed = isinstance(thing, Line) and thing.dashed
        return _strokes(tone, "M0 7h7M10 7h7M20 7h6" if dashed else "M0 7h26", 2.2)
    if isinstance(thing, Band):
        return _box(tone, tone)
    if isinstance(thing, Whiskers):
        return _strokes(INK, "M2 7h22M2 3v8M24 3v8")
    if isinstance(thing, Points):
        fill = "#FFFFFF" if thing.hollow else tone
        return f'<path d="{_PATHS[thing.shape]}" fill="{fill}" stroke="{tone}" stroke-width="1.3"/>'
    if isinstance(thing, Bars) and thing.hatched:
        return _box("#FFFFFF", tone) + _strokes(tone, "M3 12L11 2M9 12L17 2M15 12L23 2")
    return _box(tone, tone)


def _box(fill: str, edge: str) -> str:
    return f'<rect x="1" y="1.5" width="24" height="11" fill="{fill}" stroke="{edge}"/>'


def _strokes(colour: str, path: str, width: float = 1.3) -> str:
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>'
