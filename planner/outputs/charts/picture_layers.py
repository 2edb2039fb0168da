"""What is drawn on one pair of axes."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any

from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Patch, Rectangle

from planner.outputs.charts.model import (
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
from planner.outputs.charts.palette import (
    CROSSED,
    CROSSES,
    HATCH,
    INK,
    LIGHT_FROM,
    MAP,
    MUTED,
    SHADE,
    TONES,
)
from planner.outputs.charts.ticks import across, position
from planner.outputs.text_safety import clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Handles = dict[str, Any]

_SHAPES: dict[Shape, str] = {
    "circle": "o", "diamond": "D", "star": "*", "square": "s", "triangle": "^", "down": "v",
    "left": "<", "right": ">", "pentagon": "p",
}  # fmt: skip
_NAN = float("nan")
_HATCH, _CROSSED = 4 * HATCH, 2 * CROSSED


def draw(axes: Axes, panel: Panel) -> Handles:
    """Draw a panel; return what its legend shows, by name."""
    handles: Handles = {}
    for stretch in panel.stretches:
        axes.axvspan(stretch.start, stretch.end, facecolor=SHADE, edgecolor=CROSSES,
                     hatch=_CROSSED, linewidth=0, zorder=0)  # fmt: skip
        handles[stretch.name] = Patch(facecolor=SHADE, edgecolor=CROSSES, hatch=_CROSSED)
    for line in panel.references:
        place = axes.axhline if line.across else axes.axvline
        handles[line.name] = place(line.value, color=INK, linewidth=1.0, linestyle=(0, (5, 3)))
    for layer in panel.layers:
        handle = _drawn(layer, axes)
        if layer.name:
            handles.setdefault(layer.name, handle)
    for mark in panel.marks:
        _mark(axes, panel, mark)
    return handles


@singledispatch
def _drawn(layer: Layer, axes: Axes) -> Any:
    raise TypeError(layer)


@_drawn.register(Line)
def _line(layer: Line, axes: Axes) -> Any:
    style = "--" if layer.dashed else "-"
    x, y = _broken(layer.x), _broken(layer.y)
    return axes.plot(x, y, style, color=TONES[layer.tone], linewidth=1.8)[0]


@_drawn.register(Steps)
def _steps(layer: Steps, axes: Axes) -> Any:
    corners = list(layer.path())
    x, y = (_broken(tuple(corner[side] for corner in corners)) for side in (0, 1))
    return axes.plot(x, y, color=TONES[layer.tone], linewidth=1.6)[0]


@_drawn.register(Band)
def _band(layer: Band, axes: Axes) -> Any:
    for x, low, high in layer.parts():
        axes.fill_between(x, low, high, color=TONES[layer.tone], alpha=0.6, linewidth=0.8)
    return Patch(facecolor=TONES[layer.tone], alpha=0.6)


@_drawn.register(Points)
def _points(layer: Points, axes: Axes) -> Any:
    tone = TONES[layer.tone]
    (handle,) = axes.plot(
        layer.x, layer.y, _SHAPES[layer.shape], color=tone, markersize=layer.size * 0.8,
        markerfacecolor="white" if layer.hollow else tone, markeredgewidth=1.1, zorder=3,
        alpha=0.7 if layer.hollow and len(layer.x) > 200 else 1.0,
    )  # fmt: skip
    return handle


@_drawn.register(Bars)
def _bars(layer: Bars, axes: Axes) -> Any:
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
        axes.annotate(clean(text), (end, row), (4 * side, 0), textcoords="offset points",
                      ha="right" if side < 0 else "left", va="center", fontsize=8.5)  # fmt: skip
    return Patch(**look)


@_drawn.register(Whiskers)
def _whiskers(layer: Whiskers, axes: Axes) -> Any:
    middles = [(low + high) / 2 for low, high in zip(layer.lows, layer.highs, strict=True)]
    halves = [(high - low) / 2 for low, high in zip(layer.lows, layer.highs, strict=True)]
    return axes.errorbar(
        middles, layer.rows, xerr=halves, fmt="none", ecolor=INK, elinewidth=1.1, capsize=3
    )


@_drawn.register(HeatMap)
def _heat_map(layer: HeatMap, axes: Axes) -> Any:
    scale = LinearSegmentedColormap.from_list("planner", list(MAP))
    colours = scale.with_extremes(bad=SHADE)
    values = [[_NAN if value is None else value for value in row] for row in layer.values]
    image = axes.imshow(values, cmap=colours, origin="lower", aspect="auto")
    norm: Any = image.norm
    few = any(text for row in layer.texts for text in row)
    for y, row in enumerate(layer.values):
        for x, value in enumerate(row):
            _cell(axes, layer, x, y, value, 1.0 if value is None else norm(value), few)
    bar = axes.figure.colorbar(image, ax=axes, pad=0.015, fraction=0.04)
    bar.outline.set_visible(False)
    bar.ax.set_title(layer.unit, loc="left", fontsize=9)
    bar.ax.yaxis.set_major_formatter(lambda value, _place: f"{value:,.6g}")
    for spine in axes.spines.values():
        spine.set_visible(False)
    return image


def _cell(
    axes: Axes, layer: HeatMap, x: int, y: int, value: float | None, share: Any, few: bool
) -> None:
    if value is None and not few:
        box = Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor="none", edgecolor=MUTED, hatch=_CROSSED)
        box.set_linewidth(0)
        axes.add_patch(box)
    text = layer.texts[y][x]
    if text:
        colour = MUTED if value is None else INK if share >= LIGHT_FROM else "white"
        axes.text(x, y, text, ha="center", va="center", fontsize=8.5, color=colour)


def _mark(axes: Axes, panel: Panel, mark: Mark) -> None:
    """Draw a mark with its words above or below, and on the side where there is room."""
    low, high = across(panel, 900.0)
    share = (position(panel.x, mark.x) - low) / (high - low)
    size = 15 if mark.shape == "star" else 9
    axes.plot([mark.x], [mark.y], _SHAPES[mark.shape], color=TONES[mark.tone], markersize=size,
              markeredgecolor="white", markeredgewidth=1.2, zorder=4)  # fmt: skip
    if not mark.text:
        return
    shift, align = (-8, "right") if mark.to_the_left(share) else (8, "left")
    axes.annotate(
        clean(mark.text), (mark.x, mark.y), (shift, 10 if mark.above else -10),
        textcoords="offset points", ha=align, va="bottom" if mark.above else "top",
        fontsize=9, fontweight="bold", color=TONES[mark.tone], zorder=5,
    )  # fmt: skip


def _broken(values: tuple[float | None, ...]) -> list[float]:
    return [_NAN if value is None else value for value in values]
