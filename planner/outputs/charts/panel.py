"""One panel drawn by Matplotlib: what is on it, its axes, and where the pointer finds things."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import replace
from functools import singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple

from matplotlib.collections import PathCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Patch, Rectangle
from matplotlib.path import Path
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator
from matplotlib.transforms import Affine2D, AffineDeltaTransform

from planner.currency import grouped
from planner.outputs.charts.model import (
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
    ON_TONE,
    SHADE,
    TONES,
    Axis,
    Band,
    Bars,
    Boxes,
    HeatMap,
    Layer,
    Line,
    Mark,
    Panel,
    Points,
    Shape,
    Steps,
    Whiskers,
    position,
    x_ends,
    y_ends,
)
from planner.outputs.words import clean

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
_PAPER: Any = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.6}
_MOST_LINES, _MOST_LETTERS = 2, 240
_FEW_TICKS, _FEW_CELLS = 4, 5
"""So many ticks, and cells with words, stand beside each other on a small screen."""


def draw(axes: Axes, panel: Panel, width_px: float, letters: int | None = None) -> Handles:
    """Draw a panel with its axes; return what its legend shows, by name.

    Args:
        axes: what is drawn on.
        width_px: how wide it is.
        letters: the most on a line, where it is so narrow that lines are wrapped; else None.
    """
    if letters is not None:
        panel = _narrowed(panel)
    handles = _draw_content(axes, panel)
    if panel.axes:
        _fit(axes, panel, width_px, letters)
    else:
        _fit_drawing(axes, panel, width_px)
    return handles


def _narrowed(panel: Panel) -> Panel:
    """Return a panel for a small screen: fewer ticks, no words in cells too small for them."""
    first = panel.layers[0]
    if isinstance(first, HeatMap) and len(first.values[0]) > _FEW_CELLS:
        none = tuple(("",) * len(row) for row in first.texts)
        panel = replace(panel, layers=(replace(first, texts=none), *panel.layers[1:]))
    if len(panel.x.ticks) > _FEW_TICKS and not panel.x.log:
        panel = replace(panel, x=replace(panel.x, ticks=panel.x.ticks[::2]))
    return panel


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
    for layer in panel.layers:
        handle = _draw_layer(layer, axes)
        if layer.name:
            handles.setdefault(layer.name, handle)
    for mark in panel.marks:
        _draw_mark(axes, panel, mark)
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


@_draw_layer.register(Boxes)
def _draw_boxes(layer: Boxes, axes: Axes) -> Any:
    tone = TONES[layer.tone]
    look: dict[str, Any] = {
        "full": {"facecolor": tone, "edgecolor": tone},
        "hatched": {"facecolor": "white", "edgecolor": tone, "hatch": _HATCH},
        "hollow": {"facecolor": "white", "edgecolor": tone},
        "letters": {"facecolor": "none", "edgecolor": "none"},
    }[layer.look]
    if layer.look != "letters":
        box = Path.unit_rectangle().transformed(Affine2D().scale(layer.width, layer.height))
        offsets = list(zip(layer.x, layer.y, strict=True))
        boxes = PathCollection(
            [box], offsets=offsets, offset_transform=axes.transData, linewidths=1.2, **look
        )
        scaled: Any = axes.transData
        boxes.set_transform(AffineDeltaTransform(scaled))
        axes.add_collection(boxes)
    return Patch(**look)


_BOX_PT, _BOX_LETTER_PX = 8.5, 7.0


def _fit_drawing(axes: Axes, panel: Panel, width_px: float) -> None:
    """Give a drawing one scale across and up, and its boxes the words that they have room for."""
    left, right, bottom, top = panel.extent
    axes.set_axis_off()
    axes.set_aspect("equal", anchor="NW")
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    if panel.title:
        axes.set_title(panel.title, loc="left", fontsize=_TEXT_PT, color=INK)
    for layer in panel.layers:
        if not isinstance(layer, Boxes):
            continue
        room = layer.width / (right - left) * min(width_px, drawing_px(panel, width_px))
        longest = max((len(line) for text in layer.texts for line in text.split("\n")), default=0)
        if longest * _BOX_LETTER_PX > room:
            continue
        full = layer.look == "full"
        colour = ON_TONE if full else INK
        for x, y, text in zip(layer.x, layer.y, layer.texts, strict=True):
            middle = x + layer.width / 2, y + layer.height / 2
            axes.text(*middle, clean(text), ha="center", va="center", fontsize=_BOX_PT,
                      color=colour, bbox=None if full or not text else _PAPER)  # fmt: skip


_MOST_HIGH_PX = 520.0


def drawing_px(panel: Panel, width_px: float) -> float:
    """Return how wide a drawing becomes in so much room: it is never higher than a screen."""
    left, right, bottom, top = panel.extent
    return min(width_px, _MOST_HIGH_PX * (right - left) / (top - bottom))


def _draw_mark(axes: Axes, panel: Panel, mark: Mark) -> None:
    """Draw a mark with its words above or below, and on the side where there is room."""
    low, high = x_ends(panel, 900.0)
    share = (position(panel.x, mark.x) - low) / (high - low)
    size = 15 if mark.shape == "star" else 9
    axes.plot(
        [mark.x],
        [mark.y],
        _SHAPES[mark.shape],
        color=TONES[mark.tone],
        markersize=size,
        markeredgecolor="white",
        markeredgewidth=1.2,
        zorder=4,
    )
    if not mark.text:
        return
    shift, align = (-8, "right") if mark.to_the_left(share) else (8, "left")
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


def _fit(axes: Axes, panel: Panel, width_px: float, letters: int | None) -> None:
    """Give a panel's axes their ends, ticks and words."""
    left, right = x_ends(panel, width_px)
    bottom, top = y_ends(panel)
    if panel.x.log:
        axes.set_xscale("log")
        left, right = 10.0**left, 10.0**right
    if panel.y.log:
        axes.set_yscale("log")
        bottom, top = 10.0**bottom, 10.0**top
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    _set_ticks(axes.xaxis, panel.x, 8 if width_px > 500 else 5)
    if not isinstance(panel.layers[0], HeatMap):
        axes.grid(True, axis="x" if panel.rows else "y", color=GRID, linewidth=0.8)
    axes.set_xlabel(wrap(panel.x.title, letters), fontsize=_TEXT_PT)
    above = panel.y.title
    if panel.rows:
        above = ""
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        for row, words in enumerate(panel.rows):
            axes.annotate(
                wrap(words, letters),
                (0, row - 0.2),
                xycoords=("axes fraction", "data"),
                va="bottom",
                fontsize=_TEXT_PT,
                bbox=_PAPER,
            )
    else:
        _set_ticks(axes.yaxis, panel.y, 7)
    lines = (panel.title if panel.title != panel.x.label else "", above)
    title = "\n".join(wrap(line, letters) for line in lines if line)
    axes.set_title(title, loc="left", fontsize=_TEXT_PT, color=INK)


def wrap(text: str, letters: int | None) -> str:
    """Return a text on lines of so many letters, cut after the second; None: as it is."""
    plain = clean(text, limit=_MOST_LETTERS)
    if letters is None:
        return plain
    return textwrap.fill(plain, letters, max_lines=_MOST_LINES, placeholder=" …")


def _set_ticks(axis: Any, about: Axis, most: int) -> None:
    axis.set_minor_locator(NullLocator())
    if about.ticks:
        axis.set_ticks([place for place, _ in about.ticks], [text for _, text in about.ticks])
        return
    axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _place: _tick(value, about.unit)))


def _tick(value: float, unit: str) -> str:
    text = grouped(round(value, 9), 9, unit).rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


_Corners = tuple[tuple[float, float], tuple[float, float]]


def _cells(layer: Boxes | HeatMap) -> tuple[tuple[str, ...], Iterator[_Corners]]:
    """Return what is known of boxes or cells, and their upper left and lower right corners."""
    if isinstance(layer, Boxes):
        places = zip(layer.x, layer.y, strict=True)
        return layer.hovers, (((x, y + layer.height), (x + layer.width, y)) for x, y in places)
    cells = ((x, y) for y, row in enumerate(layer.values) for x in range(len(row)))
    hovers = tuple(hover for row in layer.hovers for hover in row)
    return hovers, (((x - 0.5, y + 0.5), (x + 0.5, y - 0.5)) for x, y in cells)


class PointerTargets(NamedTuple):
    """Things of one layer: what is known of each, and where it stands.

    A place is a point, ``(x, y)``, or a box, ``(left, top, right, bottom)``; both as shares of the
    picture, from its upper left corner.
    """

    hovers: tuple[str, ...]
    places: tuple[tuple[float, ...], ...]


def find(axes: Axes, panel: Panel) -> Iterator[PointerTargets]:
    """Yield where the things of a panel stand, once it is drawn, from the back to the front."""
    width, height = axes.figure.bbox.width, axes.figure.bbox.height

    def place(*corners: tuple[float, float]) -> tuple[float, ...]:
        shares: list[float] = []
        for x, y in axes.transData.transform(corners).tolist():
            shares += (x / width, 1.0 - y / height)
        return tuple(shares)

    low, high = axes.get_ylim()
    for stretch in panel.stretches:
        yield PointerTargets((stretch.name,), (place((stretch.start, high), (stretch.end, low)),))
    for layer in panel.layers:
        if isinstance(layer, Points):
            points = zip(layer.x, layer.y, strict=True)
            yield PointerTargets(layer.hovers, tuple(place(point) for point in points))
        elif isinstance(layer, Bars):
            half = layer.thickness / 2
            bars = zip(layer.starts, layer.ends, layer.rows, strict=True)
            yield PointerTargets(
                layer.hovers,
                tuple(
                    place((min(ends), row - half), (max(ends), row + half)) for *ends, row in bars
                ),
            )
        elif isinstance(layer, (Boxes, HeatMap)):
            hovers, corners = _cells(layer)
            yield PointerTargets(hovers, tuple(place(*pair) for pair in corners))
    for mark in panel.marks:
        if mark.hover:
            yield PointerTargets((mark.hover,), (place((mark.x, mark.y)),))
