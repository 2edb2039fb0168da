"""What is drawn in a panel, as traces of plotly.js."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch

from planner.outputs.charts.model import (
    Band,
    Bars,
    Gap,
    HeatMap,
    Layer,
    Line,
    Mark,
    Panel,
    Points,
    Shape,
    Steps,
    Whiskers,
)
from planner.outputs.charts.palette import CROSSED, CROSSES, HATCH, INK, SHADE, TONES
from planner.outputs.charts.plotly_map import Said, Trace, heat_map
from planner.outputs.charts.ticks import across, position, upward

_SYMBOLS: dict[Shape, str] = {
    "circle": "circle", "diamond": "diamond", "star": "star", "square": "square",
    "triangle": "triangle-up", "down": "triangle-down", "left": "triangle-left",
    "right": "triangle-right", "pentagon": "pentagon",
}  # fmt: skip
_SILENT = {"hoverinfo": "skip"}
_DIGITS = 10
_BLANK = "\u00a0"


def traces(panel: Panel, said: Said, *, narrow: bool = False) -> list[Trace]:
    """Return the traces of a panel, from the back to the front.

    Args:
        panel: what to draw.
        said: makes a text fit for plotly.js.
        narrow: whether it is for a narrow window, where a map has no words and its scale below it.
    """
    found = [*_stretches(panel, said), *_references(panel)]
    for layer in panel.layers:
        if isinstance(layer, HeatMap):
            found += heat_map(layer, said, narrow=narrow)
        else:
            found += _drawn(layer, said)
    return found + [_mark(panel, mark, said) for mark in panel.marks]


def _stretches(panel: Panel, said: Said) -> Iterator[Trace]:
    bottom, top = _linear(panel.y.log, upward(panel))
    for stretch in panel.stretches:
        left, right = rounded(stretch.start), rounded(stretch.end)
        yield {
            "type": "scatter", "mode": "lines", "x": [left, right, right, left, left],
            "y": [bottom, bottom, top, top, bottom], "fill": "toself", "fillcolor": SHADE,
            "fillpattern": {"shape": CROSSED, "fgcolor": CROSSES, "bgcolor": SHADE, "size": 9},
            "line": {"width": 0}, "hoveron": "fills", "hoverinfo": "text",
            "text": said(stretch.name),
        }  # fmt: skip


def _references(panel: Panel) -> Iterator[Trace]:
    ends = {True: (panel.x.log, across(panel, 300.0)), False: (panel.y.log, upward(panel))}
    for line in panel.references:
        along = list(_linear(*ends[line.across]))
        value = [rounded(line.value)] * 2
        x, y = (along, value) if line.across else (value, along)
        yield {"type": "scatter", "mode": "lines", "x": x, "y": y,
               "line": {"color": INK, "width": 1.2, "dash": "dash"}, **_SILENT}  # fmt: skip


@singledispatch
def _drawn(layer: Layer, said: Said) -> list[Trace]:
    raise TypeError(layer)


@_drawn.register(Line)
def _line(layer: Line, said: Said) -> list[Trace]:
    line = {"color": TONES[layer.tone], "width": 2.2, "dash": "dash" if layer.dashed else "solid"}
    return [_path(layer.x, layer.y, line)]


@_drawn.register(Steps)
def _steps(layer: Steps, said: Said) -> list[Trace]:
    x, y = zip(*layer.path(), strict=True)
    return [_path(x, y, {"color": TONES[layer.tone], "width": 2.0})]


@_drawn.register(Band)
def _band(layer: Band, said: Said) -> list[Trace]:
    xs: list[Gap] = []
    ys: list[Gap] = []
    for x, low, high in layer.parts():
        xs += [*x, *reversed(x), x[0], None]
        ys += [*low, *reversed(high), low[0], None]
    line = {"color": TONES[layer.tone], "width": 0.8}
    return [{**_path(tuple(xs), tuple(ys), line), "fill": "toself",
             "fillcolor": TONES[layer.tone] + "99"}]  # fmt: skip


@_drawn.register(Points)
def _points(layer: Points, said: Said) -> list[Trace]:
    tone = TONES[layer.tone]
    marker = {
        "symbol": _SYMBOLS[layer.shape], "size": layer.size * 1.1,
        "line": {"color": tone, "width": 1.3},
        "color": "rgba(255,255,255,0.6)" if layer.hollow else tone,
    }  # fmt: skip
    return [_told("markers", layer.x, layer.y, layer.hovers, said) | {"marker": marker}]


@_drawn.register(Bars)
def _bars(layer: Bars, said: Said) -> list[Trace]:
    tone = TONES[layer.tone]
    marker: Trace = {"color": tone, "line": {"color": tone, "width": 1}}
    if layer.hatched:
        marker |= {"pattern": {"shape": HATCH, "fgcolor": tone, "bgcolor": "#FFFFFF", "size": 7},
                   "color": "#FFFFFF"}  # fmt: skip
    widths = [end - start for start, end in zip(layer.starts, layer.ends, strict=True)]
    bars = {
        "type": "bar", "orientation": "h", "base": _all(layer.starts), "x": _all(tuple(widths)),
        "y": _all(layer.rows), "width": layer.thickness, "marker": marker, "hoverinfo": "text",
        "hovertext": [said(hover) for hover in layer.hovers], "textposition": "none",
    }  # fmt: skip
    left = [width < 0 for width in widths]
    texts = {
        "type": "scatter", "mode": "text", "x": _all(layer.ends), "y": _all(layer.rows),
        "text": [said(f"{text}{_BLANK}" if side else f"{_BLANK}{text}") if text else ""
                 for text, side in zip(layer.texts, left, strict=True)],
        "textposition": ["middle left" if side else "middle right" for side in left],
        "textfont": {"size": 11.5, "color": INK}, "cliponaxis": False, **_SILENT,
    }  # fmt: skip
    return [bars, texts] if any(layer.texts) else [bars]


@_drawn.register(Whiskers)
def _whiskers(layer: Whiskers, said: Said) -> list[Trace]:
    middles = tuple((low + high) / 2 for low, high in zip(layer.lows, layer.highs, strict=True))
    halves = tuple((high - low) / 2 for low, high in zip(layer.lows, layer.highs, strict=True))
    error = {"type": "data", "array": _all(halves), "color": INK, "thickness": 1.2, "width": 3}
    return [{"type": "scatter", "mode": "markers", "x": _all(middles), "y": _all(layer.rows),
             "marker": {"size": 1, "color": INK}, "error_x": error, **_SILENT}]  # fmt: skip


def _mark(panel: Panel, mark: Mark, said: Said) -> Trace:
    low, high = across(panel, 900.0)
    share = (position(panel.x, mark.x) - low) / (high - low)
    tone = TONES[mark.tone]
    marker = {"symbol": _SYMBOLS[mark.shape], "size": 16 if mark.shape == "star" else 12,
              "color": tone, "line": {"color": "#FFFFFF", "width": 1.4}}  # fmt: skip
    trace = _told("markers", (mark.x,), (mark.y,), (mark.hover,), said) | {"marker": marker}
    if mark.text:
        side = "left" if mark.to_the_left(share) else "right"
        trace |= {
            "mode": "markers+text",
            "text": [f"<b>{said(mark.text)}</b>".replace("<br>", "</b><br><b>")],
            "textposition": f"{'top' if mark.above else 'bottom'} {side}",
            "textfont": {"size": 12, "color": tone},
        }
    return trace


def _path(x: tuple[Gap, ...], y: tuple[Gap, ...], line: Trace) -> Trace:
    return {"type": "scatter", "mode": "lines", "x": _all(x), "y": _all(y), "line": line, **_SILENT}


def _told(
    mode: str, x: tuple[Gap, ...], y: tuple[Gap, ...], hovers: tuple[str, ...], said: Said
) -> Trace:
    return {"type": "scatter", "mode": mode, "x": _all(x), "y": _all(y), "hoverinfo": "text",
            "hovertext": [said(hover) for hover in hovers], "cliponaxis": False}  # fmt: skip


def _linear(log: bool, ends: tuple[float, float]) -> tuple[float, float]:
    low, high = (10.0**end if log else end for end in ends)
    return rounded(low), rounded(high)


def _all(values: tuple[Gap, ...]) -> list[Gap]:
    return [None if value is None else rounded(value) for value in values]


def rounded(value: float) -> float:
    """Return a number without digits that no picture shows."""
    return float(f"{value:.{_DIGITS}g}")
