"""Charts as PNG and SVG, the same bytes for the same chart, and as part of a page."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from planner.report.charts.model import (
    CROSSES,
    GRID,
    INK,
    MUTED,
    SHADE,
    TONES,
    Chart,
    HeatMap,
    Panel,
)
from planner.report.charts.panel import HOVER, draw, hover_texts
from planner.report.words import clean

_DPI = 100
_LETTERS, _SMALL_LETTERS, _HANDLE_LETTERS = 84, 124, 8
_TITLE_PT, _TEXT_PT, _SMALL_PT = 14.0, 10.0, 9.0
_TITLE_IN, _LINE_IN, _EDGE_IN = 0.28, 0.2, 0.18
_FILE_IN, _PART_IN = 10.0, 5.0
"""Width of a picture, and of one of several panels on a page."""
_PLOT_IN, _PANEL_IN, _ROW_IN, _AXIS_IN = 4.3, 2.6, 0.4, 0.75
_MOST_COLUMNS = 3
_STYLE: Any = {
    "text.parse_math": False, "svg.hashsalt": "planner", "svg.fonttype": "path",
    "font.family": ["DejaVu Sans"], "font.size": _SMALL_PT, "axes.spines.top": False,
    "axes.spines.right": False, "axes.edgecolor": MUTED, "axes.labelcolor": INK,
    "text.color": INK, "xtick.color": MUTED, "ytick.color": MUTED, "xtick.labelcolor": INK,
    "ytick.labelcolor": INK, "hatch.linewidth": 0.8, "axes.axisbelow": True, "path.simplify": True,
    "figure.facecolor": "white", "axes.unicode_minus": False,
}  # fmt: skip


def png(chart: Chart) -> bytes:
    """A chart as PNG, 1000 pixels wide."""
    with _style():
        figure = _figure(chart, _FILE_IN, headed=True)
        FigureCanvasAgg(figure)
        return _saved(figure, "png", {"Software": None})


def svg(chart: Chart) -> bytes:
    """A chart as SVG whose letters are drawn, so that no font is needed."""
    with _style():
        figure = _figure(chart, _FILE_IN, headed=True)
        FigureCanvasSVG(figure)
        title = clean(chart.title, limit=None)
        return _saved(figure, "svg", {"Date": None, "Creator": None, "Title": title})


def svg_element(chart: Chart, panel: Panel, place: str) -> str:
    """A panel of a chart as an element of a page, which has the chart's words itself.

    Args:
        chart: the chart of the panel, which says whether there is a legend.
        panel: the panel.
        place: an id of this page, prefix of every id in the drawing.
    """
    alone = replace(chart, panels=(panel,))
    with _style():
        mpl.rcParams["svg.fonttype"] = "none"
        figure = _figure(alone, _FILE_IN if len(chart.panels) == 1 else _PART_IN)
        FigureCanvasSVG(figure)
        data = _saved(figure, "svg", {"Date": None, "Creator": None}).decode()
    return _embedded(data, panel, place)


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


def _figure(chart: Chart, width_in: float, *, headed: bool = False) -> Figure:
    titles = textwrap.wrap(clean(chart.title, limit=None), _LETTERS)[:2] if headed else []
    words = textwrap.wrap(clean(chart.subtitle, limit=None), _SMALL_LETTERS) if headed else []
    head = _EDGE_IN + _TITLE_IN * len(titles) + _LINE_IN * len(words) + _EDGE_IN if headed else 0.0
    columns = _columns(chart.panels)
    each = [_height(panel, len(chart.panels)) for panel in chart.panels]
    heights = [max(each[first : first + columns]) for first in range(0, len(each), columns)]
    lines = _legend_lines(chart, width_in)
    height = head + sum(heights) + _LINE_IN * 1.15 * lines + (_EDGE_IN if lines else 0.0)
    figure = Figure(figsize=(width_in, max(height, 0.9)), dpi=_DPI, facecolor="white")
    _write_head(figure, titles, words)
    if chart.panels:
        bottom = 1.0 - head / height
        figure.set_layout_engine("constrained", rect=(0.012, 0.012, 0.97, bottom - 0.012))
        _draw_panels(figure, chart, width_in, columns, heights)
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
    """The number of panels side by side: rows of words need the whole width."""
    if any(panel.rows for panel in panels):
        return 1 if len(panels) == 1 else 2
    return max(1, min(len(panels), _MOST_COLUMNS))


def _height(panel: Panel, count: int) -> float:
    if panel.rows:
        return len(panel.rows) * _ROW_IN + _AXIS_IN + (0.25 if panel.title else 0.0)
    if isinstance(panel.layers[0], HeatMap):
        return min(6.0, max(2.4, 0.42 * len(panel.layers[0].values) + 1.0))
    return _PANEL_IN if count > 1 else _PLOT_IN


def _draw_panels(
    figure: Figure, chart: Chart, width_in: float, columns: int, heights: Sequence[float]
) -> None:
    grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
    handles: dict[str, Any] = {}
    for place, panel in enumerate(chart.panels):
        axes = figure.add_subplot(grid[place // columns, place % columns])
        handles = {**draw(axes, panel, width_in * _DPI * 0.9 / columns), **handles}
    if chart.legend and handles:
        figure.legend(
            list(handles.values()),
            [clean(name) for name in handles],
            loc="outside lower left",
            ncols=_legend_columns(list(handles), width_in),
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


def _legend_columns(names: Sequence[str], width_in: float) -> int:
    room = _SMALL_LETTERS * width_in / _FILE_IN
    for columns in range(len(names), 1, -1):
        widest = [max(map(len, names[first::columns])) for first in range(columns)]
        if sum(widest) + _HANDLE_LETTERS * columns <= room:
            return columns
    return 1


def _legend_lines(chart: Chart, width_in: float) -> int:
    names = _legend_names(chart)
    return -(-len(names) // _legend_columns(names, width_in)) if names else 0


_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_NAMES = {"paper": "#FFFFFF", "ink": INK, "muted": MUTED, "grid": GRID, "shade": SHADE,
          "crosses": CROSSES}  # fmt: skip
_OF_THE_PAGE = {colour.lower(): name for name, colour in (_NAMES | TONES).items()}
"""Colours that a page has by name, because they differ where it is dark."""


def _embedded(data: str, panel: Panel, place: str) -> str:
    """Matplotlib's SVG for a page: its own ids, the page's colours, values as tooltips."""
    root = ElementTree.fromstring(data)
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    for child in root.findall(f"{{{_SVG}}}metadata"):
        root.remove(child)
    _add_tooltips(root, panel)
    for element in root.iter():
        for key, value in element.items():
            element.set(key, _NUMBER.sub(_shorter, value))
        styles = {child.get("style") for child in element}
        if element.tag == f"{{{_SVG}}}g" and len(styles) == 1 and (style := styles.pop()):
            element.set("style", style)  # markers of one look repeat it
            for child in element:
                del child.attrib["style"]
        words = (element.text or "").strip()
        element.text = clean(words, limit=None) or None
    for name in ("width", "height"):
        root.attrib.pop(name, None)
    root.set("aria-hidden", "true")
    text = ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)
    text = re.sub(r"#[0-9a-f]{6}\b", lambda found: _page_colour(found[0]), text)
    text = re.sub(r'\bid="', f'id="{place}-', text)
    text = re.sub(r"url\(#", f"url(#{place}-", text)
    return re.sub(r'href="#', f'href="#{place}-', text)


_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"


def _shorter(found: re.Match[str]) -> str:
    return f"{float(found[0]):.1f}".rstrip("0").rstrip(".")


def _page_colour(colour: str) -> str:
    name = _OF_THE_PAGE.get(colour)
    return colour if name is None else f"var(--{name})"


def _add_tooltips(root: ElementTree.Element, panel: Panel) -> None:
    """Give each marker and each bar its text."""
    groups = {each.get("id", ""): each for each in root.iter(f"{{{_SVG}}}g")}
    for number, hovers in enumerate(hover_texts(panel)):
        points = groups.get(f"{HOVER}{number}")
        shapes = [] if points is None else list(points.iter(f"{{{_SVG}}}use"))
        bars = [groups[name] for place in range(len(hovers))
                if (name := f"{HOVER}{number}-{place}") in groups]  # fmt: skip
        for shape, text in zip(shapes or bars, hovers, strict=False):
            title = ElementTree.Element(f"{{{_SVG}}}title")
            title.text = clean(text, limit=None)
            shape.insert(0, title)
