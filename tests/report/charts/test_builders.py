"""What charts show: figures at their places, and in words what cannot be drawn."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest

from planner.report.blocks import (
    Bars,
    Chart,
    HeatMap,
    Line,
    Mark,
    Panel,
    Reference,
    ShadedRange,
)
from tests.report.charts import samples
from tests.report.charts.samples import charts
from tests.report.samples_sensitivity import (
    FAILURES,
    POWER,
    grid_sweep,
    storage_frontier,
    tornado,
)

LayerT = TypeVar("LayerT")


def one(study: Any, rows: Any = None) -> Chart:
    (chart,) = charts(study, rows)
    return chart


def layers(panel: Panel, kind: type[LayerT]) -> list[LayerT]:
    return [layer for layer in panel.layers if isinstance(layer, kind)]


def test_a_frontier_names_its_knee_and_its_best() -> None:
    study = storage_frontier()
    (panel,) = one(study).panels
    knee, best = layers(panel, Mark)
    assert study.knee is not None and study.best is not None
    assert (knee.x, knee.y) == (study.points[study.knee].x, study.points[study.knee].y)
    assert (best.x, best.y) == (study.points[study.best].x, study.points[study.best].y)
    assert knee.text == "Knee: 3,938.2 PFLOP/s"
    assert best.text.startswith("Best: 4,10") and best.above and not knee.above
    assert panel.x.log and panel.x.title == "delivered write bandwidth, GB/s"


def test_a_tornado_ends_at_its_plans_with_the_inputs_own_words() -> None:
    study = tornado().model_copy(update={"products": {"wekapod_nitro_155": "WEKApod Nitro 155"}})
    (panel,) = one(study).panels
    low, high = layers(panel, Bars)
    assert low.ends[0] == 3218.4 and low.texts[0] == "8 MW"
    assert high.ends[0] == 4873.9 and high.texts[0] == "12 MW"
    assert set(low.starts) == {study.base} == {layers(panel, Reference)[0].value}
    assert low.hatched != high.hatched
    assert "8 × WEKApod Nitro 155" in low.hovers[0]  # products by their names, not ids
    assert panel.rows[0] == "facility power, now 10 MW"


def test_sweep_chart_shades_values_without_a_plan() -> None:
    study, rows = samples.with_a_hole()
    chart = one(study, rows)
    (panel,) = chart.panels
    first, second = layers(panel, ShadedRange)
    assert (first.start, first.end) == (500.0, 1125.0)  # to halfway to the first plan
    assert (second.start, second.end) == (5125.0, 6125.0)
    assert "No plan in 7 scenarios" in chart.subtitle
    (line,) = layers(panel, Line)
    assert line.y.count(None) == 7 and layers(panel, Reference)[0].value == study.base


def test_a_grid_becomes_a_map() -> None:
    study, rows = grid_sweep(4, 3)
    (panel,) = one(study, rows).panels
    (cells,) = layers(panel, HeatMap)
    assert [len(row) for row in cells.values] == [4, 4, 4]
    place = next(
        at for at in range(12)
        if rows[POWER.name][at] == 3400.0 and rows[FAILURES.name][at] == pytest.approx(3e-5)
    )  # fmt: skip
    assert cells.values[2][3] == rows["objective"][place]
    assert cells.texts[0][0] == "no plan" and cells.values[0][0] is None
    assert cells.texts[0][3].startswith("★ ")
    assert [text for _, text in panel.x.ticks] == ["1,000", "1,800", "2,600", "3,400"]
