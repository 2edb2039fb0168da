"""Charts as PNG and SVG, the same bytes for the same chart."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from planner.outputs.charts.model import Chart, HeatMap, Panel
from planner.outputs.charts.palette import INK, MUTED
from planner.outputs.charts.picture_axes import fit
from planner.outputs.charts.picture_layers import draw
from planner.outputs.text_safety import clean

if TYPE_CHECKING:
    pass

_DPI = 100
_WIDTH_IN = 10.0
_LETTERS, _SMALL_LETTERS, _HANDLE_LETTERS = 84, 124, 8
_TITLE_PT, _TEXT_PT, _SMALL_PT = 14.0, 10.0, 9.0
_TITLE_IN, _LINE_IN, _EDGE_IN = 0.28, 0.2, 0.18
_PLOT_IN, _PANEL_IN, _ROW_IN, _AXIS_IN = 4.3, 2.6, 0.52, 0.75
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
    """Return a chart as PNG, 1000 pixels wide."""
    with _style():
        figure = _figure(chart)
        FigureCanvasAgg(figure)
        return _saved(figure, "png", {"Software": None})


def svg(chart: Chart) -> bytes:
    """Return a chart as SVG whose letters are drawn, so that no font is needed."""
    with _style():
        figure = _figure(chart)
        FigureCanvasSVG(figure)
        title = clean(chart.title, limit=None)
        return _saved(figure, "svg", {"Date": None, "Creator": None, "Title": title})


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


def _figure(chart: Chart) -> Figure:
    titles = textwrap.wrap(clean(chart.title, limit=None), _LETTERS)[:2]
    words = textwrap.wrap(clean(chart.subtitle, limit=None), _SMALL_LETTERS)
    head = _EDGE_IN + _TITLE_IN * len(titles) + _LINE_IN * len(words) + _EDGE_IN
    columns = _columns(chart.panels)
    heights = _heights(chart.panels, columns)
    names = _legend_rows(chart)
    height = head + sum(heights) + _LINE_IN * 1.15 * names + (_EDGE_IN if names else 0.0)
    figure = Figure(figsize=(_WIDTH_IN, max(height, 0.9)), dpi=_DPI, facecolor="white")
    _header(figure, titles, words)
    if chart.panels:
        bottom = 1.0 - head / height
        figure.set_layout_engine("constrained", rect=(0.012, 0.012, 0.97, bottom - 0.012))
        _panels(figure, chart, columns, heights)
    return figure


def _header(figure: Figure, titles: Sequence[str], words: Sequence[str]) -> None:
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


def _heights(panels: Sequence[Panel], columns: int) -> list[float]:
    each = [_height(panel, len(panels)) for panel in panels]
    return [max(each[first : first + columns]) for first in range(0, len(each), columns)]


def _height(panel: Panel, count: int) -> float:
    if panel.rows:
        return len(panel.rows) * _ROW_IN + _AXIS_IN + (0.25 if panel.title else 0.0)
    if isinstance(panel.layers[0], HeatMap):
        return min(6.0, max(2.4, 0.42 * len(panel.layers[0].values) + 1.0))
    return _PLOT_IN if count == 1 else _PANEL_IN


def _panels(figure: Figure, chart: Chart, columns: int, heights: Sequence[float]) -> None:
    grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
    handles: dict[str, Any] = {}
    for place, panel in enumerate(chart.panels):
        axes = figure.add_subplot(grid[place // columns, place % columns])
        named = draw(axes, panel)
        fit(axes, panel, _WIDTH_IN * _DPI * 0.9 / columns)
        handles = {**named, **handles}
    if chart.legend and handles:
        shown = list(handles)
        figure.legend(
            [handles[name] for name in shown],
            [clean(name, limit=None) for name in shown],
            loc="outside lower left",
            ncols=_legend_columns(shown),
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


def _legend_columns(names: Sequence[str]) -> int:
    for columns in range(len(names), 1, -1):
        widest = [max(map(len, names[first::columns])) for first in range(columns)]
        if sum(widest) + _HANDLE_LETTERS * columns <= _SMALL_LETTERS:
            return columns
    return 1


def _legend_rows(chart: Chart) -> int:
    names = _legend_names(chart)
    return -(-len(names) // _legend_columns(names)) if names else 0
