"""One panel drawn by Matplotlib: layers, axes, marks, and the ids of layers with tooltips."""

from __future__ import annotations

import math
import textwrap
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from planner.report.charts.model import (
    CROSSED,
    CROSSES,
    GRID,
    HATCH,
    INK,
    LIGHT_FROM,
    MAP,
    MUTED,
    ON_DARK,
    ON_LIGHT,
    ROW_MIDDLE,
    SHADE,
    TONES,
    Axis,
    Band,
    Bars,
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
from planner.report.words import clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Handles = dict[str, Any]

_SHAPES: dict[Shape, str] = {
    "circle": "o", "diamond": "D", "star": "*", "square": "s", "triangle": "^", "down": "v",
    "left": "<", "right": ">", "pentagon": "p",
}  # fmt: skip
_NAN = float("nan")
_HATCH, _CROSSED = 4 * HATCH, 2 * CROSSED
_TEXT_PT = 9.0
_MOST_LETTERS, _LABEL = 240, 44
_LETTER_PX, _MOST_ROOM = 6.6, 0.3
_PAD, _MARK_PAD, _NEAR_ZERO = 0.04, 0.2, 0.15
_LEFT_ABOVE, _LEFT_BELOW = 0.5, 0.72
"""Share of the x axis beyond which the words of a mark are to its left."""

HOVER = "values-"
"""How ids of layers with tooltips begin; a number follows, the layer's place in the panel."""


def hover_texts(panel: Panel) -> list[tuple[str, ...]]:
    """The tooltips of each layer by its place, empty for layers without any."""
    return [layer.hovers if isinstance(layer, Points | Bars) else () for layer in panel.layers]


def draw(axes: Axes, panel: Panel, width_px: float) -> Handles:
    """Draw a panel with its axes; return the handles of its legend by name.

    Args:
        axes: the axes to draw on.
        width_px: their width.
    """
    handles = _draw_content(axes, panel)
    _fit(axes, panel, width_px)
    for mark in panel.marks:
        _draw_mark(axes, mark)
    return handles


def _draw_content(axes: Axes, panel: Panel) -> Handles:
    handles: Handles = {}
    for stretch in panel.stretches:
        axes.axvspan(
            stretch.start,
            stretch.end,
            facecolor=SHADE,
            edgecolor=CROSSES,
            hatch=_CROSSED,
            linewidth=0,
            zorder=0,
        )
        handles[stretch.name] = Patch(facecolor=SHADE, edgecolor=CROSSES, hatch=_CROSSED)
    for line in panel.references:
        place = axes.axhline if line.across else axes.axvline
        handles[line.name] = place(line.value, color=INK, linewidth=1.0, linestyle=(0, (5, 3)))
    for number, layer in enumerate(panel.layers):
        handle = _draw_layer(layer, axes)
        if isinstance(layer, Points):
            handle.set_gid(f"{HOVER}{number}")
        elif isinstance(layer, Bars):
            for count, bar in enumerate(axes.containers[-1]):
                bar.set_gid(f"{HOVER}{number}-{count}")
        if layer.name:
            handles.setdefault(layer.name, handle)
    return handles


@singledispatch
def _draw_layer(layer: Layer, axes: Axes) -> Any:
    """Draw a layer; return what stands for it in a legend."""
    raise TypeError(layer)


@_draw_layer.register(Line)
def _draw_line(layer: Line, axes: Axes) -> Any:
    style = "--" if layer.dashed else "-"
    x, y = _broken(layer.x), _broken(layer.y)
    width = 0.7 if layer.thin else 1.8
    return axes.plot(x, y, style, color=TONES[layer.tone], linewidth=width)[0]


@_draw_layer.register(Steps)
def _draw_steps(layer: Steps, axes: Axes) -> Any:
    corners = list(layer.path())
    x, y = (_broken(tuple(corner[side] for corner in corners)) for side in (0, 1))
    return axes.plot(x, y, color=TONES[layer.tone], linewidth=1.6)[0]


@_draw_layer.register(Band)
def _draw_band(layer: Band, axes: Axes) -> Any:
    for x, low, high in layer.parts():
        axes.fill_between(x, low, high, color=TONES[layer.tone], alpha=0.6, linewidth=0.8)
    return Patch(facecolor=TONES[layer.tone], alpha=0.6)


@_draw_layer.register(Points)
def _draw_points(layer: Points, axes: Axes) -> Any:
    tone = TONES[layer.tone]
    (handle,) = axes.plot(
        layer.x,
        layer.y,
        _SHAPES[layer.shape],
        color=tone,
        markersize=layer.size * 0.8,
        markerfacecolor="white" if layer.hollow else tone,
        markeredgewidth=1.1,
        zorder=3,
        alpha=0.7 if layer.hollow and len(layer.x) > 200 else 1.0,
    )
    return handle


@_draw_layer.register(Bars)
def _draw_bars(layer: Bars, axes: Axes) -> Any:
    tone = TONES[layer.tone]
    look: dict[str, Any] = {"facecolor": tone, "edgecolor": tone}
    if layer.hatched:
        look = {"facecolor": "white", "edgecolor": tone, "hatch": _HATCH}
    widths = [end - start for start, end in zip(layer.starts, layer.ends, strict=True)]
    axes.barh(layer.rows, widths, layer.thickness, list(layer.starts), linewidth=1.0, **look)
    for row, start, end, text in zip(
        layer.rows, layer.starts, layer.ends, layer.texts, strict=True
    ):
        side = -1 if end < start else 1
        axes.annotate(
            clean(text),
            (end, row),
            (4 * side, 0),
            textcoords="offset points",
            ha="right" if side < 0 else "left",
            va="center",
            fontsize=8.5,
        )
    return Patch(**look)


@_draw_layer.register(Whiskers)
def _draw_whiskers(layer: Whiskers, axes: Axes) -> Any:
    middles = [(low + high) / 2 for low, high in zip(layer.lows, layer.highs, strict=True)]
    halves = [(high - low) / 2 for low, high in zip(layer.lows, layer.highs, strict=True)]
    return axes.errorbar(
        middles, layer.rows, xerr=halves, fmt="none", ecolor=INK, elinewidth=1.1, capsize=3
    )


@_draw_layer.register(HeatMap)
def _draw_heat_map(layer: HeatMap, axes: Axes) -> Any:
    scale = LinearSegmentedColormap.from_list("planner", list(MAP))
    colours = scale.with_extremes(bad=SHADE)
    values = [[_NAN if value is None else value for value in row] for row in layer.values]
    image = axes.imshow(values, cmap=colours, origin="lower", aspect="auto")
    norm: Any = image.norm
    few = any(text for row in layer.texts for text in row)
    for y, row in enumerate(layer.values):
        for x, value in enumerate(row):
            _draw_cell(axes, layer, x, y, value, 1.0 if value is None else norm(value), few)
    bar = axes.figure.colorbar(image, ax=axes, pad=0.015, fraction=0.04)
    bar.outline.set_visible(False)
    bar.ax.set_title(layer.unit, loc="left", fontsize=9)
    bar.ax.yaxis.set_major_formatter(lambda value, _place: _tick(float(f"{value:.6g}"), layer.unit))
    for spine in axes.spines.values():
        spine.set_visible(False)
    return image


def _draw_cell(
    axes: Axes, layer: HeatMap, x: int, y: int, value: float | None, share: Any, few: bool
) -> None:
    if value is None and not few:
        box = Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor="none", edgecolor=MUTED, hatch=_CROSSED)
        box.set_linewidth(0)
        axes.add_patch(box)
    text = layer.texts[y][x]
    if text:
        colour = MUTED if value is None else ON_LIGHT if share >= LIGHT_FROM else ON_DARK
        axes.text(x, y, text, ha="center", va="center", fontsize=8.5, color=colour)


def _draw_mark(axes: Axes, mark: Mark) -> None:
    """Draw a mark with its words above or below, on the side where there is room."""
    shape: Any = axes.transLimits.transform(axes.transScale.transform((mark.x, mark.y)))
    is_right = shape[0] > (_LEFT_ABOVE if mark.above else _LEFT_BELOW)
    axes.plot(
        [mark.x],
        [mark.y],
        _SHAPES[mark.shape],
        color=TONES[mark.tone],
        markersize=15 if mark.shape == "star" else 9,
        markeredgecolor="white",
        markeredgewidth=1.2,
        zorder=4,
    )
    if not mark.text:
        return
    shift, align = (-8, "right") if is_right else (8, "left")
    axes.annotate(
        clean(mark.text),
        (mark.x, mark.y),
        (shift, 10 if mark.above else -10),
        textcoords="offset points",
        ha=align,
        va="bottom" if mark.above else "top",
        fontsize=9,
        fontweight="bold",
        color=TONES[mark.tone],
        zorder=5,
    )


def _broken(values: tuple[float | None, ...]) -> list[float]:
    return [_NAN if value is None else value for value in values]


def _fit(axes: Axes, panel: Panel, width_px: float) -> None:
    """Give a panel's axes their scales, ends, ticks and words."""
    if panel.x.log:
        axes.set_xscale("log")
    if panel.y.log:
        axes.set_yscale("log")
    if not isinstance(panel.layers[0], HeatMap):
        _set_ends(axes, panel, width_px)
    _set_ticks(axes.xaxis, panel.x, 8 if width_px > 500 else 5)
    if not isinstance(panel.layers[0], HeatMap):
        axes.grid(True, axis="x" if panel.rows else "y", color=GRID, linewidth=0.8)
    axes.set_xlabel(clean(panel.x.title, limit=_MOST_LETTERS), fontsize=_TEXT_PT)
    above = panel.y.title
    if panel.rows:
        above = ""
        words = [textwrap.fill(clean(each, limit=_MOST_LETTERS), _LABEL) for each in panel.rows]
        axes.set_yticks([row + ROW_MIDDLE for row in range(len(words))], words)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    else:
        _set_ticks(axes.yaxis, panel.y, 7)
    lines = (panel.title if panel.title != panel.x.label else "", above)
    title = "\n".join(clean(line, limit=_MOST_LETTERS) for line in lines if line)
    axes.set_title(title, loc="left", fontsize=_TEXT_PT, color=INK)


def _set_ends(axes: Axes, panel: Panel, width_px: float) -> None:
    """Leave room for the words of marks and for texts behind bars; begin at zero where it is near.

    Args:
        axes: with everything drawn.
        panel: what is drawn.
        width_px: width of the axes.
    """
    axes.margins(x=_PAD, y=_MARK_PAD if panel.marks else _PAD)
    bars = [layer for layer in panel.layers if isinstance(layer, Bars)]
    low, high = axes.get_xlim()
    sides = [0, 0]
    for layer in bars:
        for start, end, text in zip(layer.starts, layer.ends, layer.texts, strict=True):
            sides[end >= start] = max(sides[end >= start], len(text))
    room = [min(_MOST_ROOM, (letters + 1) * _LETTER_PX / width_px) for letters in sides]
    if any(sides):
        whole = (high - low) / (1.0 - sum(room))
        low, high = low - room[0] * whole, high + room[1] * whole
    if bars and not sides[0] and axes.dataLim.x0 == 0.0:
        low = 0.0
    axes.set_xlim(low, high)
    bottom, top = axes.get_ylim()
    if panel.rows:
        bottom, top = len(panel.rows) - 0.36, -0.36
    elif not panel.y.log and axes.dataLim.y0 >= 0 and axes.dataLim.y0 < _NEAR_ZERO * top:
        bottom = 0.0
    axes.set_ylim(bottom, top)


def _set_ticks(axis: Any, about: Axis, most: int) -> None:
    axis.set_minor_locator(NullLocator())
    if about.ticks:
        axis.set_ticks([place for place, _ in about.ticks], [text for _, text in about.ticks])
        return
    low, high = axis.get_view_interval()
    if about.log and high > low > 0:
        decades = math.log10(high / low)
        steps = (1, 2, 5) if decades < most / 3.6 else (1, 3) if decades < most / 2.5 else (1,)
        axis.set_major_locator(LogLocator(subs=steps, numticks=most))
    else:
        axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _place: _tick(value, about.unit)))


def _tick(value: float, unit: str) -> str:
    text = f"{round(value, 9):,.9f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
