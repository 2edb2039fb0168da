"""Charts of telemetry: what is drawn, where, and how much of it."""

from __future__ import annotations

import numpy as np
import pytest

from planner.report import picture
from planner.report.blocks import Chart, Line, Points, Reference
from planner.report.views.telemetry import outline, trace_chart
from tests.report.hostile import TEXTS
from tests.report.telemetry import samples

THREE = samples.three()


def points(chart: Chart) -> list[Points]:
    return [layer for layer in chart.panels[0].layers if isinstance(layer, Points)]


def lines(chart: Chart) -> dict[str, Line]:
    return {layer.name: layer for layer in chart.panels[0].layers if isinstance(layer, Line)}


def test_a_trace_marks_each_checkpoint_at_its_peak() -> None:
    window = samples.window(THREE, reads=False)
    chart = trace_chart(THREE, window)
    drawn = {layer.name: layer for layer in points(chart) if layer.name}
    assert list(drawn) == ["job 1", "wide", "small"]
    own = window.checkpoints["job"] == "job 1"
    middles = window.checkpoints["start_s"][own] + window.checkpoints["duration_s"][own] / 2
    assert drawn["job 1"].x == pytest.approx((middles - window.time_s[0]) / 3600)
    assert drawn["job 1"].y == pytest.approx(window.checkpoints["peak_gb_per_s"][own])
    assert None in lines(chart)["write"].x
    (level,) = (each for each in chart.panels[0].layers if isinstance(each, Reference))
    assert level.value == 1.3


def test_a_long_series_keeps_its_peaks_in_few_points() -> None:
    times = np.arange(0.0, 1_000_000.0, 10.0)
    values = np.zeros(len(times))
    values[54_321] = 7.0
    values[100:103] = np.nan
    x, y = outline(times, values, 10.0)
    assert len(x) == len(y) < 3_100
    assert 7.0 in y and x.count(None) == 1
    assert outline(times[:3], values[:3], 10.0) == ((0.0, 10.0, 20.0), (0.0, 0.0, 0.0))


@pytest.mark.filterwarnings("ignore:Glyph")
def test_hostile_names_are_drawn() -> None:
    record = samples.record(
        [samples.job(text, 1_000.0 + at) for at, text in enumerate(TEXTS.values())]
    )
    chart = trace_chart(record, samples.window(record))
    assert len({layer.name for layer in points(chart)}) == 20 < len(TEXTS)
    assert picture.png(chart)
