"""The axes of a picture: their ends, ticks and words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from planner.outputs.charts.model import Axis, HeatMap, Panel
from planner.outputs.charts.palette import GRID, INK
from planner.outputs.charts.ticks import across, upward
from planner.outputs.text_safety import clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TEXT_PT = 9.0
_PAPER: Any = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.6}


def fit(axes: Axes, panel: Panel, width_px: float) -> None:
    """Give a panel's axes their ends, ticks and words.

    Args:
        axes: what is drawn on.
        panel: what is drawn.
        width_px: how wide it is.
    """
    left, right = across(panel, width_px)
    bottom, top = upward(panel)
    if panel.x.log:
        axes.set_xscale("log")
        left, right = 10.0**left, 10.0**right
    if panel.y.log:
        axes.set_yscale("log")
        bottom, top = 10.0**bottom, 10.0**top
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    _ticks(axes.xaxis, panel.x, 8 if width_px > 500 else 5)
    grid = isinstance(panel.layers[0], HeatMap)
    if not grid:
        axes.grid(True, axis="x" if panel.rows else "y", color=GRID, linewidth=0.8)
    axes.set_xlabel(clean(panel.x.title, limit=None), fontsize=_TEXT_PT)
    above = clean(panel.y.title, limit=None)
    if panel.rows:
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        for row, words in enumerate(panel.rows):
            axes.annotate(clean(words), (0, row - 0.2), xycoords=("axes fraction", "data"),
                          va="bottom", fontsize=_TEXT_PT, bbox=_PAPER)  # fmt: skip
        above = ""
    else:
        _ticks(axes.yaxis, panel.y, 7)
    title = clean(panel.title, limit=None)
    shown = "\n".join(
        part for part in (title if panel.title != panel.x.label else "", above) if part
    )
    axes.set_title(shown, loc="left", fontsize=_TEXT_PT, color=INK)


def _ticks(axis: Any, about: Axis, most: int) -> None:
    axis.set_minor_locator(NullLocator())
    if about.ticks:
        axis.set_ticks([place for place, _ in about.ticks], [text for _, text in about.ticks])
        return
    axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _place: _tick(value)))


def _tick(value: float) -> str:
    text = f"{round(value, 9):,.9f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
