"""Charts as PNG and SVG, the same bytes for the same chart, and as part of a page."""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from planner.outputs.charts.model import (
    CROSSES,
    GRID,
    INK,
    MUTED,
    ON_TONE,
    SHADE,
    TONES,
    Chart,
    HeatMap,
    Panel,
)
from planner.outputs.charts.panel import PointerTargets, draw, drawing_px, find, wrap
from planner.outputs.charts.words import tag, text
from planner.outputs.words import clean

_DPI = 100
_LETTERS, _SMALL_LETTERS, _HANDLE_LETTERS = 84, 124, 8
_TITLE_PT, _TEXT_PT, _SMALL_PT = 14.0, 10.0, 9.0
_TITLE_IN, _LINE_IN, _EDGE_IN = 0.28, 0.2, 0.18
_PLOT_IN, _SMALL_PLOT_IN, _PANEL_IN, _ROW_IN, _TWO_LINES_IN, _AXIS_IN = (
    4.3, 3.5, 2.6, 0.52, 0.3, 0.75,
)  # fmt: skip
_MOST_COLUMNS = 3
_STYLE: Any = {
    "text.parse_math": False, "svg.hashsalt": "planner", "svg.fonttype": "path",
    "font.family": ["DejaVu Sans"], "font.size": _SMALL_PT, "axes.spines.top": False,
    "axes.spines.right": False, "axes.edgecolor": MUTED, "axes.labelcolor": INK,
    "text.color": INK, "xtick.color": MUTED, "ytick.color": MUTED, "xtick.labelcolor": INK,
    "ytick.labelcolor": INK, "hatch.linewidth": 0.8, "axes.axisbelow": True, "path.simplify": True,
    "figure.facecolor": "white", "axes.unicode_minus": False,
}  # fmt: skip


class Format(NamedTuple):
    """How wide a picture is; ``letters`` is the most on a line, where lines are wrapped."""

    width_in: float
    letters: int | None = None
    headed: bool = False


FILE = Format(10.0, headed=True)
"""A picture that stands by itself, with its words above it."""

WIDE, NARROW = Format(10.0), Format(4.0, 46)
"""The one panel of a chart in a page, for wide and for narrow windows."""

PART = Format(5.0, 58)
"""One of several panels in a page."""


class Drawing(NamedTuple):
    """An SVG with the letters as text, and where the pointer finds what is known."""

    svg: bytes
    found: tuple[PointerTargets, ...]


def png(chart: Chart) -> bytes:
    """Return a chart as PNG, 1000 pixels wide."""
    with _style():
        figure = _figure(chart, FILE)
        FigureCanvasAgg(figure)
        return _saved(figure, "png", {"Software": None})


def svg(chart: Chart) -> bytes:
    """Return a chart as SVG whose letters are drawn, so that no font is needed."""
    with _style():
        figure = _figure(chart, FILE)
        FigureCanvasSVG(figure)
        title = clean(chart.title, limit=None)
        return _saved(figure, "svg", {"Date": None, "Creator": None, "Title": title})


def draw_panel(chart: Chart, panel: Panel, form: Format) -> Drawing:
    """Return a panel of a chart for a page, which has the chart's words itself.

    Args:
        chart: whose panel it is, and whether it has a legend.
        form: how wide.
    """
    with _style():
        mpl.rcParams["svg.fonttype"] = "none"
        figure = _figure(replace(chart, panels=(panel,)), form)
        FigureCanvasSVG(figure)
        data = _saved(figure, "svg", {"Date": None, "Creator": None})
        return Drawing(data, tuple(find(figure.axes[0], panel)))


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


def _figure(chart: Chart, form: Format) -> Figure:
    titles = textwrap.wrap(clean(chart.title, limit=None), _LETTERS)[:2] if form.headed else []
    words = textwrap.wrap(clean(chart.subtitle, limit=None), _SMALL_LETTERS) if form.headed else []
    head = 0.0
    if form.headed:
        head = _EDGE_IN + _TITLE_IN * len(titles) + _LINE_IN * len(words) + _EDGE_IN
    columns = _columns(chart.panels)
    each = [_height(panel, len(chart.panels), form, columns) for panel in chart.panels]
    heights = [max(each[first : first + columns]) for first in range(0, len(each), columns)]
    names = _legend_lines(chart, form)
    height = head + sum(heights) + _LINE_IN * 1.15 * names + (_EDGE_IN if names else 0.0)
    figure = Figure(figsize=(form.width_in, max(height, 0.9)), dpi=_DPI, facecolor="white")
    _write_head(figure, titles, words)
    if chart.panels:
        bottom = 1.0 - head / height
        figure.set_layout_engine("constrained", rect=(0.012, 0.012, 0.97, bottom - 0.012))
        _draw_panels(figure, chart, form, columns, heights)
    return figure


def _write_head(figure: Figure, titles: Sequence[str], words: Sequence[str]) -> None:
    height = figure.get_figheight()
    at = height - _EDGE_IN
    for line in titles:
        figure.text(0.02, at / height, line, size=_TITLE_PT, weight="bold", va="top")
        at -= _TITLE_IN
    at -= 0.02
    for line in words:
        figure.text(0.02, at / height, line, size=_TEXT_PT, color=MUTED, va="top")
        at -= _LINE_IN


def _columns(panels: Sequence[Panel]) -> int:
    """Return how many panels stand beside each other: rows of words need the whole width."""
    if any(panel.rows for panel in panels):
        return 1 if len(panels) == 1 else 2
    return max(1, min(len(panels), _MOST_COLUMNS))


def _height(panel: Panel, count: int, form: Format, columns: int) -> float:
    if not panel.axes:
        left, right, bottom, top = panel.extent
        wide = drawing_px(panel, form.width_in * _DPI * 0.94 / columns)
        return wide / _DPI * (top - bottom) / (right - left) + (0.3 if panel.title else 0.1)
    if panel.rows:
        most = form.letters or math.inf
        row = _ROW_IN + (_TWO_LINES_IN if any(len(words) > most for words in panel.rows) else 0.0)
        return len(panel.rows) * row + _AXIS_IN + (0.25 if panel.title else 0.0)
    if isinstance(panel.layers[0], HeatMap):
        return min(6.0, max(2.4, 0.42 * len(panel.layers[0].values) + 1.0))
    if count > 1:
        return _PANEL_IN
    return _PLOT_IN if form.letters is None else _SMALL_PLOT_IN


def _draw_panels(
    figure: Figure, chart: Chart, form: Format, columns: int, heights: Sequence[float]
) -> None:
    grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
    handles: dict[str, Any] = {}
    for place, panel in enumerate(chart.panels):
        axes = figure.add_subplot(grid[place // columns, place % columns])
        width_px = form.width_in * _DPI * 0.9 / columns
        handles = {**draw(axes, panel, width_px, form.letters), **handles}
    if chart.legend and handles:
        names = list(handles)
        figure.legend(
            [handles[name] for name in names],
            [wrap(name, form.letters) for name in names],
            loc="outside lower left",
            ncols=_legend_columns(names, form),
            frameon=False,
            fontsize=_SMALL_PT,
        )


def _legend_names(chart: Chart) -> list[str]:
    if not chart.legend:
        return []
    found: list[str] = []
    for panel in chart.panels:
        things = (*panel.layers, *panel.stretches, *panel.references)
        found += [thing.name for thing in things if thing.name]
    return list(dict.fromkeys(found))


def _legend_columns(names: Sequence[str], form: Format) -> int:
    room = _SMALL_LETTERS * form.width_in / FILE.width_in
    for columns in range(len(names), 1, -1):
        widest = [max(map(len, names[first::columns])) for first in range(columns)]
        if sum(widest) + _HANDLE_LETTERS * columns <= room:
            return columns
    return 1


def _legend_lines(chart: Chart, form: Format) -> int:
    """Return how many lines the legend takes."""
    names = _legend_names(chart)
    if not names:
        return 0
    lines = [wrap(name, form.letters).count("\n") + 1 for name in names]
    columns = _legend_columns(names, form)
    return sum(lines) if columns == 1 else -(-len(names) // columns)


Element = ElementTree.Element

_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_REFERENCE = re.compile(r"url\(#([\w.-]+)\)")
_LINK = "{http://www.w3.org/1999/xlink}href"
_LEFT_OUT = frozenset(("metadata", "style", "title"))
_NOT_TURNED = re.compile(r"rotate\(-?0 ")
_PAGE_FONT = re.compile(r"font-family: [^;]*;? ?")
_DIGITS = 4


def svg_element(drawing: Drawing, place: str, kind: str) -> str:
    """Return a drawing as an element of a page.

    What Matplotlib writes for machines goes, and with it 2/3 of the bytes: the ids of groups,
    digits that no screen shows, and styles that every point repeats.

    Args:
        place: an id of this page, of which the drawing makes its own.
        kind: its class.
    """
    root = ElementTree.fromstring(drawing.svg)
    names: dict[str, str] = {}
    inside = "".join(_elements(list(root), place, names))
    box = root.get("viewBox", "")
    return tag("svg", inside, {"class": kind, "viewBox": box, "aria-hidden": "true"})


def places(found: PointerTargets) -> list[list[float]]:
    """Return where the pointer finds things, with the digits that a screen shows."""
    return [[round(share, _DIGITS) for share in place] for place in found.places]


def _elements(elements: Sequence[Element], place: str, names: dict[str, str]) -> Iterator[str]:
    """Yield elements; those of one style that follow each other share it in a group."""
    for style, group in groupby(elements, key=_shared_style):
        several = list(group)
        if style is None or len(several) == 1:
            yield from (_element(each, place, names) for each in several)
        else:
            inside = "".join(_element(each, place, names, styled=True) for each in several)
            yield tag("g", inside, {"style": _short_style(style, place, names)})


def _shared_style(element: Element) -> str | None:
    return element.get("style") if _name(element) == "use" else None


def _element(element: Element, place: str, names: dict[str, str], *, styled: bool = False) -> str:
    name = _name(element)
    if name in _LEFT_OUT:
        return ""
    attributes = dict(_attributes(element, place, names))
    if styled:
        del attributes["style"]
    inside = "".join(_elements(list(element), place, names))
    if (name == "g" and not attributes) or (name in ("g", "defs") and not inside):
        return inside
    return tag(name, text((element.text or "").strip("\n ")) + inside, attributes)


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _attributes(element: Element, place: str, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    for key, value in element.items():
        if key == "id":
            if _name(element) != "g":
                yield key, _own(value, place, names)
        elif key == _LINK and value.startswith("data:"):
            yield "href", "".join(value.split())
        elif key == _LINK:
            yield "href", f"#{_own(value[1:], place, names)}"
        elif key == "style":
            yield key, _short_style(value, place, names)
        elif key == "fill" and value in _OF_THE_PAGE:
            yield "style", f"fill:var(--{_OF_THE_PAGE[value]})"
        elif not (key == "transform" and _NOT_TURNED.match(value)):
            yield key, _numbers(_referring(value, place, names))


_NAMES = {"paper": "#FFFFFF", "ink": INK, "muted": MUTED, "grid": GRID, "shade": SHADE,
          "crosses": CROSSES, "on-tone": ON_TONE}  # fmt: skip
_OF_THE_PAGE = {colour.lower(): name for name, colour in (_NAMES | TONES).items()}
"""Colours that a page has by name, because they differ where it is dark."""
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")


def _named_colour(found: re.Match[str]) -> str:
    name = _OF_THE_PAGE.get(found[0])
    return found[0] if name is None else f"var(--{name})"


def _short_style(style: str, place: str, names: dict[str, str]) -> str:
    short = _PAGE_FONT.sub("", style).replace(": ", ":").replace("; ", ";")
    short = _COLOUR.sub(_named_colour, short)
    return _numbers(_referring(short, place, names))


def _own(name: str, place: str, names: dict[str, str]) -> str:
    """Return the id that stands for one of a drawing: no two drawings of a page share one."""
    return names.setdefault(name, f"{place}-{len(names)}")


def _referring(value: str, place: str, names: dict[str, str]) -> str:
    return _REFERENCE.sub(lambda found: f"url(#{_own(found[1], place, names)})", value)


def _numbers(value: str) -> str:
    """Return a value of an attribute without digits that no screen shows."""
    value = _NUMBER.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), value)
    return " ".join(value.split())
