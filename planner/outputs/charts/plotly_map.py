"""A heat map as traces of plotly.js."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from planner.outputs.charts.model import HeatMap
from planner.outputs.charts.palette import MAP, MUTED

Trace = dict[str, Any]
Said = Callable[[str], str]

_FEW_ACROSS = 5


def heat_map(layer: HeatMap, said: Said, *, narrow: bool) -> list[Trace]:
    """Return the cells, and what stands where there is no value.

    Args:
        layer: what to draw.
        said: makes a text fit for plotly.js.
        narrow: whether it is for a narrow window: the scale is below, few cells have words.
    """
    if not narrow:
        return _traces(layer, said)
    if len(layer.texts[0]) > _FEW_ACROSS:
        layer = replace(layer, texts=tuple(("",) * len(row) for row in layer.texts))
    cells, *empty = _traces(layer, said)
    below = {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "nticks": 4}
    cells["colorbar"] |= {**below, "title": {"text": said(layer.unit), "side": "bottom"}}
    return [cells, *empty]


def _traces(layer: HeatMap, said: Said) -> list[Trace]:
    few = any(text for row in layer.texts for text in row)
    bar = {"title": {"text": said(layer.unit), "side": "top"}, "thickness": 12, "outlinewidth": 0,
           "separatethousands": True, "exponentformat": "none"}  # fmt: skip
    cells: Trace = {
        "type": "heatmap", "z": [list(row) for row in layer.values], "hoverinfo": "text",
        "hovertext": [[said(hover) for hover in row] for row in layer.hovers],
        "colorscale": [list(stop) for stop in MAP], "colorbar": bar, "xgap": int(few),
        "ygap": int(few),
    }  # fmt: skip
    if few:
        pairs = zip(layer.texts, layer.values, strict=True)
        texts = [["" if value is None else said(text) for text, value in zip(*each, strict=True)]
                 for each in pairs]  # fmt: skip
        cells |= {"text": texts, "texttemplate": "%{text}", "textfont": {"size": 11}}
    places = [(x, y) for y, row in enumerate(layer.values) for x, value in enumerate(row)
              if value is None]  # fmt: skip
    return [cells, _empty(layer, places, said, few)] if places else [cells]


def _empty(layer: HeatMap, places: list[tuple[int, int]], said: Said, few: bool) -> Trace:
    """Return the words, or crosses, where there is no value."""
    across, up = zip(*places, strict=True)
    trace: Trace = {"type": "scatter", "x": across, "y": up, "hoverinfo": "skip"}
    if few:
        words = [said(layer.texts[y][x]) for x, y in places]
        look = {"size": 10, "color": MUTED}
        return trace | {"mode": "text", "text": words, "textfont": look}
    line = {"color": MUTED, "width": 1}
    return trace | {"mode": "markers", "marker": {"symbol": "x-thin", "size": 6, "line": line}}
