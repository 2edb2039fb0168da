"""A panel as plotly.js takes it: traces and layouts, made without any library.

Texts are escaped here: plotly.js reads a few HTML tags and entities in them.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from typing import Any

from planner.outputs.charts.model import Axis, Bars, HeatMap, Panel, Points
from planner.outputs.charts.palette import GRID, INK, MUTED, SHADE
from planner.outputs.charts.plotly_traces import rounded, traces
from planner.outputs.charts.ticks import across, upward
from planner.outputs.text_safety import clean

Figure = dict[str, Any]

FONT = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', Arial, sans-serif"
)
_PAPER = "rgba(255,255,255,0.85)"
_WIDE_PX, _NARROW_PX = 900.0, 310.0
_WIDE_LETTERS, _NARROW_LETTERS = 110, 46
_PLOT_PX, _PANEL_PX, _NARROW_PLOT_PX, _LINE_PX = 430, 320, 350, 16
_FEW_TICKS, _MOST_LINES = 4, 2
_BOTTOM_PX, _ROW_TOP_PX = 52, 8
_AXIS_PX, _ROW_PX, _TWO_LINE_ROW_PX = 70, 50, 82
_CELL_PX, _LEAST_MAP_PX, _MOST_MAP_PX, _BAR_PX = 36, 260, 620, 60


def figure(panel: Panel, alone: bool) -> Figure:
    """Return a panel's traces, and its layout for wide and for narrow windows.

    Args:
        panel: what to draw.
        alone: whether it is the only one of its chart.
    """
    wide, narrow = (_layout(panel, alone, is_narrow) for is_narrow in (False, True))
    tools = not panel.rows and not _is_map(panel)
    drawn: Figure = {"data": traces(panel, said), "layout": wide, "narrow": narrow, "tools": tools}
    if _is_map(panel):
        drawn["narrow_data"] = traces(panel, said, narrow=True)
    return drawn


def said(text: str, letters: int | None = None) -> str:
    """Return a text as plotly.js is to show it, wrapped to two lines of so many letters.

    Args:
        text: plain text; a line feed starts a new line.
        letters: the most on a line, None for as many as there are.
    """
    lines = clean(text, limit=None).split("\n")
    if letters is not None:
        lines = [part for line in lines for part in _wrapped(line, letters)]
    return "<br>".join(html.escape(line, quote=False) for line in lines)


def _wrapped(line: str, letters: int) -> list[str]:
    return textwrap.wrap(line, letters, max_lines=_MOST_LINES, placeholder=" …")


def _layout(panel: Panel, alone: bool, narrow: bool) -> Figure:
    width = _NARROW_PX if narrow else _WIDE_PX
    letters = _NARROW_LETTERS if narrow else _WIDE_LETTERS
    grid = _is_map(panel)
    x = _axis(panel.x, across(panel, width), letters)
    y = _axis(panel.y, upward(panel), letters)
    y.pop("title")
    (y if panel.rows or grid else x)["showgrid"] = False
    if grid:
        x["showgrid"] = False
    if panel.rows:
        y |= {"showticklabels": False, "ticks": "", "showline": False, "fixedrange": True}
    left, top = (2, _ROW_TOP_PX) if panel.rows else (56, 30)
    bottom = _BOTTOM_PX + (_BAR_PX if grid and narrow else 0)
    return {
        "height": _height(panel, alone, narrow, letters),
        "margin": {"l": left, "r": 14, "t": top, "b": bottom, "pad": 0},
        "font": {"family": FONT, "size": 12, "color": INK},
        "xaxis": x,
        "yaxis": y,
        "annotations": _annotations(panel, letters),
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": "#FFFFFF", "bordercolor": MUTED, "align": "left",
                       "font": {"family": FONT, "size": 12, "color": INK}, "namelength": 0},
        "showlegend": False,
        "barmode": "overlay",
        "paper_bgcolor": "#FFFFFF",
        "plot_bgcolor": SHADE if grid else "#FFFFFF",
        "dragmode": False if narrow else "zoom",
    }  # fmt: skip


def _is_map(panel: Panel) -> bool:
    return isinstance(panel.layers[0], HeatMap)


def _height(panel: Panel, alone: bool, narrow: bool, letters: int) -> int:
    if panel.rows:
        long = any(len(words) > letters for words in panel.rows)
        rows_px = len(panel.rows) * (_TWO_LINE_ROW_PX if long else _ROW_PX) + _AXIS_PX
        return max(rows_px, _longest_hover(panel) * _LINE_PX + _AXIS_PX)
    first = panel.layers[0]
    if isinstance(first, HeatMap):
        scale_px = _BAR_PX if narrow else 0
        return max(_LEAST_MAP_PX, min(_MOST_MAP_PX, _CELL_PX * len(first.values) + 90)) + scale_px
    return (_NARROW_PLOT_PX if narrow else _PLOT_PX) if alone else _PANEL_PX


def _longest_hover(panel: Panel) -> int:
    """Return the lines of the longest hover text: one that does not fit is not shown."""
    layers = (layer for layer in panel.layers if isinstance(layer, Bars | Points))
    return max((hover.count("\n") + 1 for layer in layers for hover in layer.hovers), default=0)


def _axis(axis: Axis, ends: tuple[float, float], letters: int) -> Figure:
    look: Figure = {
        "range": [rounded(end) for end in ends],
        "title": {"text": said(axis.title, min(letters, 60)), "standoff": 8},
        "type": "log" if axis.log else "linear",
        "gridcolor": GRID, "linecolor": MUTED, "tickcolor": MUTED, "ticks": "outside",
        "ticklen": 4, "showline": True, "zeroline": False, "automargin": True, "nticks": 8,
        "separatethousands": True, "exponentformat": "none",
    }  # fmt: skip
    if axis.ticks:
        crowded = letters == _NARROW_LETTERS and not axis.log and len(axis.ticks) > _FEW_TICKS
        shown = axis.ticks[:: 2 if crowded else 1]
        look |= {
            "tickvals": [rounded(place) for place, _ in shown],
            "ticktext": [said(text) for _, text in shown],
        }
    return look


def _annotations(panel: Panel, letters: int) -> Sequence[Figure]:
    """Return the words above the plot or, in rows, those above each row."""
    common = {"xref": "paper", "x": 0, "xanchor": "left", "yanchor": "bottom", "showarrow": False,
              "align": "left", "borderpad": 0}  # fmt: skip
    if panel.rows:
        return [
            {**common, "yref": "y", "y": row - 0.2, "text": said(words, letters), "bgcolor": _PAPER}
            for row, words in enumerate(panel.rows)
        ]
    return [{**common, "yref": "paper", "y": 1, "yshift": 8, "text": said(panel.y.title, letters)}]
