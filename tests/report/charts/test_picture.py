"""Pictures as files: the same bytes each time, nothing that overlaps, nothing that leaks."""

from __future__ import annotations

import struct
from typing import Any, TypeVar

import matplotlib as mpl
import pytest
from matplotlib.text import Text

from planner.report.blocks import (
    Bars,
    Chart,
    HeatMap,
    Line,
    Mark,
    Panel,
    Reference,
)
from planner.report.charts import png
from tests.report import studies as samples
from tests.report.studies import (
    FAILURES,
    POWER,
    charts,
    grid_sweep,
    storage_frontier,
    tornado,
)

KINDS = len(samples.all_kinds())
CHARTS: dict[str, Chart] = {
    f"{number}-{chart.name}": chart
    for number, (study, rows) in enumerate([*samples.all_kinds(), *samples.hostile()])
    for chart in charts(study, rows)
    if number < KINDS or chart.name in ("frontier", "candidates")
}


def wordy_tornado() -> Chart:
    """Return a tornado with long names of inputs and of both their ends."""
    study = tornado()
    swings = []
    for swing in study.swings:
        low, high = (
            end.model_copy(update={"text": f"{side} end with a long label of its own"})
            for side, end in (("lowest", swing.low), ("highest", swing.high))
        )
        words = {"label": f"{swing.label} of a product with a long name", "base_text": "a long one"}
        swings.append(swing.model_copy(update={"low": low, "high": high, **words}))
    return charts(study.model_copy(update={"swings": tuple(swings)}))[0]


CHARTS["wordy tornado"] = wordy_tornado()


@pytest.fixture(scope="module")
def frontier() -> Chart:
    return charts(storage_frontier())[0]


def test_the_same_chart_gives_the_same_bytes(frontier: Chart) -> None:
    first = png(frontier)
    with mpl.rc_context({"font.size": 30.0, "svg.hashsalt": "other", "axes.facecolor": "red"}):
        assert png(frontier) == first


@pytest.mark.parametrize("name", CHARTS)
def test_no_words_overlap_or_leave_the_picture(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: dict[int, tuple[str, Any]] = {}
    draw = Text.draw

    def noted(text: Text, renderer: Any) -> None:
        draw(text, renderer)
        if text.get_visible() and text.get_text():
            drawn[id(text)] = (text.get_text(), text.get_window_extent(renderer))

    monkeypatch.setattr(Text, "draw", noted)
    data = png(CHARTS[name])
    wide, high = struct.unpack(">II", data[16:24])
    boxes = list(drawn.values())
    assert boxes
    for place, (words, box) in enumerate(boxes):
        assert box.x0 >= -1 and box.x1 <= wide + 1, words
        assert box.y0 >= -1 and box.y1 <= high + 1, words
        for other, beside in boxes[place + 1 :]:
            across = min(box.x1, beside.x1) - max(box.x0, beside.x0)
            upward = min(box.y1, beside.y1) - max(box.y0, beside.y0)
            assert across <= 1 or upward <= 2, (words, other)


# What charts show: figures at their places, and in words what cannot be drawn.


LayerT = TypeVar("LayerT")


def one(study: Any, rows: Any = None) -> Chart:
    (chart,) = charts(study, rows)
    return chart


def layers(panel: Panel, kind: type[LayerT]) -> list[LayerT]:
    return [layer for layer in panel.layers if isinstance(layer, kind)]


def test_a_frontier_names_its_knee_and_its_best() -> None:
    study = storage_frontier()
    panel = one(study).panel
    assert panel is not None
    knee, best = layers(panel, Mark)
    assert study.knee is not None and study.best is not None
    assert (knee.x, knee.y) == (study.points[study.knee].x, study.points[study.knee].y)
    assert (best.x, best.y) == (study.points[study.best].x, study.points[study.best].y)
    assert knee.text == "Knee: 3,938.2 PFLOP/s"
    assert best.text.startswith("Best: 4,10")
    assert (knee.shape, best.shape) == ("diamond", "star")
    assert panel.x.log and panel.x.title == "delivered write bandwidth, GB/s"


def test_a_tornado_ends_at_its_plans_with_the_inputs_own_words() -> None:
    study = tornado()
    panel = one(study).panel
    assert panel is not None
    low, high = layers(panel, Bars)
    assert low.ends[0] == 3218.4 and low.texts[0] == "8 MW"
    assert high.ends[0] == 4873.9 and high.texts[0] == "12 MW"
    assert set(low.starts) == {study.base} == {layers(panel, Reference)[0].value}
    assert low.hatched != high.hatched
    assert panel.rows[0] == "facility power, now 10 MW"


def test_sweep_chart_has_gaps_where_there_is_no_plan() -> None:
    study, rows = samples.with_a_hole()
    chart = one(study, rows)
    panel = chart.panel
    assert panel is not None
    assert "No plan in 7 scenarios" in chart.subtitle
    (line,) = layers(panel, Line)
    assert line.y.count(None) == 7 and layers(panel, Reference)[0].value == study.base


def test_a_grid_becomes_a_map() -> None:
    study, rows = grid_sweep(4, 3)
    panel = one(study, rows).panel
    assert panel is not None
    (cells,) = layers(panel, HeatMap)
    assert [len(row) for row in cells.values] == [4, 4, 4]
    place = next(
        at
        for at in range(12)
        if rows[POWER.name][at] == 3400.0 and rows[FAILURES.name][at] == pytest.approx(3e-5)
    )
    assert cells.values[2][3] == rows["objective"][place]
    assert cells.texts[0][0] == "no plan" and cells.values[0][0] is None
    assert cells.texts[0][3].startswith("★ ")
    assert [text for _, text in panel.x.ticks] == ["1,000", "1,800", "2,600", "3,400"]
