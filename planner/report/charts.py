"""Charts as PNG, the same bytes for the same chart, and as SVG within a page."""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from functools import singledispatch
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from planner.report.blocks import (
    ROW_MIDDLE,
    Axis,
    Bars,
    Chart,
    HeatMap,
    Layer,
    Line,
    Mark,
    Panel,
    Reference,
    Tone,
)
from planner.report.formats import clean

# The theme: colours that stay apart for colour-blind eyes and in grey, letters, sizes.

TONES: dict[Tone, str] = {
    "main": "#0072B2",
    "second": "#D55E00",
    "third": "#007A5A",
}
INK, MUTED, GRID, SHADE = "#1F2933", "#52606D", "#DDE2E8", "#ECEEF1"
_ON_LIGHT, _ON_DARK, _LIGHT_FROM = "#1F2932", "#FEFEFE", 0.55
"""Letters on a heat map, and the share of its scale from which they are dark: it is the same where
a page is dark."""
_MAP = ("#00224E", "#414D6B", "#7D7C78", "#BCAF6F", "#FEE838")
"""A scale whose lightness grows evenly (cividis)."""
_MARKS: dict[str, tuple[str, float, Tone]] = {
    "star": ("*", 15, "second"),
    "diamond": ("D", 9, "third"),
}
"""Sign, size and colour by the shape of a mark."""
_FEW = 60
"""Points up to which they are drawn large."""
_HATCH, _THICKNESS = "////", 0.34
_DPI, _FILE_IN = 100, 10.0
"""Width of a picture."""
_LETTERS, _LABEL, _MOST_LETTERS = 118, 48, 240
_TITLE_PT, _SMALL_PT = 11.0, 9.0
_LINE_IN, _EDGE_IN, _PLOT_IN, _ROW_IN, _AXIS_IN = 0.22, 0.18, 4.3, 0.4, 0.75
_LETTER_PX, _MOST_ROOM, _PAD, _MARK_PAD, _NEAR_ZERO = 6.6, 0.3, 0.04, 0.2, 0.15
_LEFT_ABOVE, _LEFT_BELOW = 0.5, 0.72
"""Share of the x axis beyond which the words of a mark are to its left."""
_STYLE: Any = {
    "text.parse_math": False,
    "svg.hashsalt": "planner",
    "svg.fonttype": "none",
    "font.family": ["DejaVu Sans"],
    "font.size": _SMALL_PT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "hatch.linewidth": 0.8,
    "axes.axisbelow": True,
    "path.simplify": True,
    "figure.facecolor": "white",
    "axes.unicode_minus": False,
}


def png(chart: Chart) -> bytes:
    """A chart as PNG, 1000 pixels wide."""
    with _style():
        figure = _figure(chart, headed=True)
        FigureCanvasAgg(figure)
        return _saved(figure, "png", {"Software": None})


def svg_element(chart: Chart, place: str) -> str:
    """The panel of a chart as an element of a page, which has the chart's words itself.

    Args:
        place: an id of this page, prefix of every id in the drawing.
    """
    with _style():
        figure = _figure(chart)
        FigureCanvasSVG(figure)
        data = _saved(figure, "svg", {"Date": None, "Creator": None}).decode()
    return _embedded(data, place)


@contextmanager
def _style() -> Iterator[None]:
    """Draw with our own settings, whatever those of this computer are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        yield


def _saved(figure: Figure, kind: str, metadata: dict[str, str | None]) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format=kind, dpi=_DPI, metadata=metadata)
    return stream.getvalue()


# A figure: title and words, the panel, a legend.


def _figure(chart: Chart, *, headed: bool = False) -> Figure:
    head, panel = [], chart.panel
    if headed:
        texts = (clean(chart.title, limit=_MOST_LETTERS), clean(chart.subtitle, limit=None))
        head = [line for text in texts for line in textwrap.wrap(text, _LETTERS)]
    layers = () if panel is None else panel.layers
    names = list(dict.fromkeys(filter(None, map(_name, layers))))
    longest = max(map(len, names), default=0) + 8
    beside = max(1, min(len(names), _LETTERS // longest))
    lines = len(head) + -(-len(names) // beside)
    height = (0.0 if panel is None else _height(panel)) + _LINE_IN * lines + _EDGE_IN
    figure = Figure(figsize=(_FILE_IN, max(height, 0.9)), dpi=_DPI)
    figure.set_layout_engine("constrained", rect=(0.012, 0.012, 0.97, 0.97))
    if head:
        figure.suptitle("\n".join(head), x=0.02, ha="left", size=_TITLE_PT)
    if panel is None:
        return figure
    handles = _draw_panel(figure.add_subplot(), panel, _FILE_IN * _DPI * 0.9)
    if names:
        shown = [handles[name] for name in names]
        place_of: Any = {"loc": "outside lower left", "ncols": beside, "frameon": False}
        figure.legend(shown, list(map(clean, names)), fontsize=_SMALL_PT, **place_of)
    return figure


def _height(panel: Panel) -> float:
    if panel.rows:
        return len(panel.rows) * _ROW_IN + _AXIS_IN
    if isinstance(panel.layers[0], HeatMap):
        return min(6.0, max(2.4, 0.42 * len(panel.layers[0].values) + 1.0))
    return _PLOT_IN


def _name(layer: Layer) -> str:
    return "" if isinstance(layer, Mark | HeatMap) else layer.name


# A panel: layers, then axes, then marks.


def _draw_panel(axes: Axes, panel: Panel, width_px: float) -> dict[str, Any]:
    """Draw a panel; return the handles of its legend by name."""
    handles: dict[str, Any] = {}
    marks = [layer for layer in panel.layers if isinstance(layer, Mark)]
    for layer in panel.layers:
        if not isinstance(layer, Mark):
            handle = _draw(layer, axes)
            if name := _name(layer):
                handles.setdefault(name, handle)
    _fit(axes, panel, width_px)
    for mark in marks:
        _draw(mark, axes)
    return handles


@singledispatch
def _draw(layer: Layer, axes: Axes) -> Any:
    """Draw a layer; return its handle for a legend."""
    raise TypeError(layer)


@_draw.register(Reference)
def _draw_reference(layer: Reference, axes: Axes) -> Any:
    place = axes.axhline if layer.across else axes.axvline
    return place(layer.value, color=INK, linewidth=1.0, linestyle=(0, (5, 3)))


@_draw.register(Line)
def _draw_line(layer: Line, axes: Axes) -> Any:
    x, y = ([math.nan if v is None else v for v in side] for side in (layer.x, layer.y))
    size = 5.0 if len(x) <= _FEW else 3.0
    look: Any = {"color": TONES[layer.tone], "linewidth": 1.8, "markersize": size}
    return axes.plot(x, y, layer.style, **look)[0]


@_draw.register(Bars)
def _draw_bars(layer: Bars, axes: Axes) -> Any:
    tone = TONES[layer.tone]
    look: dict[str, Any] = {"facecolor": tone, "edgecolor": tone}
    if layer.hatched:
        look = {"facecolor": "white", "edgecolor": tone, "hatch": _HATCH}
    widths = [end - start for start, end in zip(layer.starts, layer.ends, strict=True)]
    axes.barh(layer.rows, widths, _THICKNESS, list(layer.starts), linewidth=1.0, **look)
    for row, width, end, text in zip(layer.rows, widths, layer.ends, layer.texts, strict=False):
        side = -1 if width < 0 else 1
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


@_draw.register(HeatMap)
def _draw_heat_map(layer: HeatMap, axes: Axes) -> Any:
    colours = LinearSegmentedColormap.from_list("planner", list(_MAP)).with_extremes(bad=SHADE)
    values = [[math.nan if value is None else value for value in row] for row in layer.values]
    image = axes.imshow(values, cmap=colours, origin="lower", aspect="auto")
    norm: Any = image.norm
    for y, row in enumerate(layer.values):
        for x, value in enumerate(row):
            if text := layer.texts[y][x]:
                light = value is not None and norm(value) >= _LIGHT_FROM
                colour = MUTED if value is None else _ON_LIGHT if light else _ON_DARK
                axes.text(x, y, text, ha="center", va="center", fontsize=8.5, color=colour)
    bar = axes.figure.colorbar(image, ax=axes, pad=0.015, fraction=0.04)
    bar.outline.set_visible(False)
    bar.ax.set_title(layer.unit, loc="left", fontsize=9)
    bar.ax.yaxis.set_major_formatter(lambda value, _place: _tick(float(f"{value:.6g}")))
    for spine in axes.spines.values():
        spine.set_visible(False)
    return image


@_draw.register(Mark)
def _draw_mark(mark: Mark, axes: Axes) -> None:
    """Draw a mark with its words above or below, on the side where there is room."""
    sign, size, tone = _MARKS[mark.shape]
    above = mark.shape == "star"
    place: Any = axes.transLimits.transform(axes.transScale.transform((mark.x, mark.y)))
    is_right = place[0] > (_LEFT_ABOVE if above else _LEFT_BELOW)
    look: Any = {"color": TONES[tone], "markersize": size, "markeredgecolor": "white"}
    axes.plot([mark.x], [mark.y], sign, markeredgewidth=1.2, zorder=4, **look)
    if mark.text:
        axes.annotate(
            clean(mark.text),
            (mark.x, mark.y),
            (-8 if is_right else 8, 10 if above else -10),
            textcoords="offset points",
            ha="right" if is_right else "left",
            va="bottom" if above else "top",
            fontsize=9,
            fontweight="bold",
            color=TONES[tone],
            zorder=5,
        )


def _fit(axes: Axes, panel: Panel, width_px: float) -> None:
    """Give a panel's axes their scales, ends, ticks and words."""
    is_map = isinstance(panel.layers[0], HeatMap)
    axes.set_xscale("log" if panel.x.log else "linear")
    axes.set_yscale("log" if panel.y.log else "linear")
    if not is_map:
        _set_ends(axes, panel, width_px)
        axes.grid(True, axis="x" if panel.rows else "y", color=GRID, linewidth=0.8)
    _set_ticks(axes.xaxis, panel.x, 8)
    axes.set_xlabel(clean(panel.x.title, limit=_MOST_LETTERS), fontsize=_SMALL_PT)
    if panel.rows:
        words = [textwrap.fill(clean(each, limit=_MOST_LETTERS), _LABEL) for each in panel.rows]
        axes.set_yticks([row + ROW_MIDDLE for row in range(len(words))], words)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    else:
        _set_ticks(axes.yaxis, panel.y, 7)
    title = clean("" if panel.rows else panel.y.title, limit=_MOST_LETTERS)
    axes.set_title(title, loc="left", fontsize=_SMALL_PT, color=INK)


def _set_ends(axes: Axes, panel: Panel, width_px: float) -> None:
    """Leave room for words of marks and texts behind bars; begin at zero where it is near."""
    marked = any(isinstance(layer, Mark) for layer in panel.layers)
    axes.margins(x=_PAD, y=_MARK_PAD if marked else _PAD)
    bars = [layer for layer in panel.layers if isinstance(layer, Bars)]
    low, high = axes.get_xlim()
    sides = [0, 0]
    for layer in bars:
        for start, end, text in zip(layer.starts, layer.ends, layer.texts, strict=False):
            sides[end >= start] = max(sides[end >= start], len(text))
    beside = min(_LABEL, max(map(len, panel.rows), default=0))  # letters of the rows' names
    width_px -= beside * _LETTER_PX
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
    axis.set_major_formatter(FuncFormatter(lambda value, _place: _tick(value)))


def _tick(value: float) -> str:
    text = f"{round(value, 9):,.9f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


# A drawing within a page.

_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_NAMES = {"ink": INK, "muted": MUTED, "grid": GRID, "shade": SHADE}
_OF_THE_PAGE = {c.lower(): name for name, c in (_NAMES | TONES | {"paper": "#ffffff"}).items()}
"""Colours that a page has by name, because they differ where it is dark."""
_SVG = "{http://www.w3.org/2000/svg}"


def _embedded(data: str, place: str) -> str:
    """Matplotlib's SVG for a page: its own ids, the page's colours."""
    root = ElementTree.fromstring(data)
    ElementTree.register_namespace("", _SVG[1:-1])
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    for child in root.findall(f"{_SVG}metadata"):
        root.remove(child)
    for element in root.iter():
        for key, value in element.items():
            element.set(key, _NUMBER.sub(lambda found: f"{float(found[0]):.1f}", value))
        styles = {child.get("style") for child in element}
        if element.tag == f"{_SVG}g" and len(styles) == 1 and (style := styles.pop()):
            element.set("style", style)  # markers of one look repeat it
            for child in element:
                del child.attrib["style"]
        words = (element.text or "").strip()
        element.text = clean(words, limit=None) or None
    for name in ("width", "height"):
        root.attrib.pop(name, None)
    root.set("aria-hidden", "true")
    text = ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)
    for colour, name in _OF_THE_PAGE.items():
        text = text.replace(colour, f"var(--{name})")
    text = re.sub(r'\bid="', f'id="{place}-', text)
    return re.sub(r'(url\(|href=")#', rf"\1#{place}-", text)
