"""Charts of telemetry: what is drawn, where, and how much of it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from planner.outputs.charts import picture
from planner.outputs.charts.model import Chart, Line, Points, time_axis
from planner.outputs.charts.telemetry import Window, holes, outline, trace
from tests.outputs.hostile import TEXTS
from tests.outputs.telemetry import samples

THREE = samples.three()


def points(chart: Chart) -> list[Points]:
    return [layer for layer in chart.panels[0].layers if isinstance(layer, Points)]


def lines(chart: Chart) -> dict[str, Line]:
    return {layer.name: layer for layer in chart.panels[0].layers if isinstance(layer, Line)}


def test_a_trace_marks_each_checkpoint_at_its_peak() -> None:
    window = samples.window(THREE, reads=False)
    chart = trace(THREE, window)
    drawn = {layer.name: layer for layer in points(chart) if layer.name}
    assert list(drawn) == ["job 1", "wide", "small"]
    own = window.checkpoints["job"] == "job 1"
    middles = window.checkpoints["start_s"][own] + window.checkpoints["duration_s"][own] / 2
    assert drawn["job 1"].x == pytest.approx(middles)
    assert drawn["job 1"].y == pytest.approx(window.checkpoints["peak_gb_per_s"][own])
    (hole,) = chart.panels[0].stretches
    assert hole.end - hole.start == 520.0
    assert None in lines(chart)["write"].x
    assert chart.panels[0].references[0].value == 1.3


def test_bursts_that_are_not_whole_are_hollow() -> None:
    window = samples.window(samples.one())
    kinds = window.checkpoints["kind"].copy()
    kinds[:3] = ["inferred", "cut", "other"]
    table = {**window.checkpoints, "kind": kinds, "job": window.checkpoints["job"].copy()}
    table["job"][2] = ""
    chart = trace(samples.one(), dataclasses.replace(window, checkpoints=table))
    solid, hollow = points(chart)
    assert len(hollow.x) == 2 and hollow.hollow and hollow.name == ""
    assert len(solid.x) == len(kinds) - 3 and "Hollow" in chart.subtitle


def test_of_a_long_stretch_not_all_are_marked() -> None:
    window = samples.window(THREE, 120.0)
    assert len(window.checkpoints["job"]) > 2_500
    chart = trace(THREE, window)
    assert 500 < sum(len(layer.x) for layer in points(chart)) <= 2_000


def test_a_stretch_may_be_empty_or_without_jobs() -> None:
    none = {name: values[:0] for name, values in samples.checkpoints(THREE, 1).items()}
    empty = Window("hall", np.array([]), np.array([]), None, none)
    assert trace(THREE, empty).panels == ()
    flat = Window("other", np.arange(5.0), np.full(5, np.nan), np.zeros(5), none)
    chart = trace(THREE, flat)
    assert points(chart) == [] and len(chart.panels) == 2
    assert picture.png(chart)


def test_a_long_series_keeps_its_peaks_in_few_points() -> None:
    times = np.arange(0.0, 1_000_000.0, 10.0)
    values = np.zeros(len(times))
    values[54_321] = 7.0
    values[100:103] = np.nan
    x, y = outline(times, values, 10.0)
    assert len(x) == len(y) < 3_100
    assert 7.0 in y and x.count(None) == 1
    assert holes(times, values, 10.0) == [(990.0, 1_030.0)]
    assert outline(times[:3], values[:3], 10.0) == ((0.0, 10.0, 20.0), (0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("hours", "clock", "first", "label"),
    [
        (3.0, "unix", "01:00", "2024-03-01, UTC"),
        (60.0, "unix", "03-01 12:00", "2024-03-01 to 2024-03-03, UTC"),
        (24.0 * 90, "unix", "03-14", "2024-03-01 to 2024-05-30, UTC"),
        (0.02, "unix", "00:50:00", "2024-03-01, UTC"),
    ],
)
def test_the_axis_of_time(hours: float, clock: str, first: str, label: str) -> None:
    begin = samples.BEGIN + 3_000.0
    axis = time_axis(begin, begin + 3_600 * hours, clock)
    assert axis.ticks[0][1] == first and axis.title == label
    assert 2 <= len(axis.ticks) <= 9


def test_a_clock_without_dates_counts_from_zero() -> None:
    axis = time_axis(0.0, 5 * 86_400.0, "zero")
    assert axis.ticks == tuple((86_400.0 * at, str(at)) for at in range(6))
    assert axis.title == "time from the zero of the trace, days"
    assert time_axis(0.0, 1e15, "unix").unit == "days"


def test_pictures_are_the_same_each_time() -> None:
    chart = trace(samples.one(), samples.window(samples.one()))
    assert picture.png(chart) == picture.png(chart)
    assert picture.svg(trace(THREE, samples.window(THREE))).startswith(b"<?xml")


@pytest.mark.filterwarnings("ignore:Glyph")
def test_hostile_names_are_drawn() -> None:
    record = samples.record(
        [samples.job(text, 1_000.0 + at) for at, text in enumerate(TEXTS.values())]
    )
    chart = trace(record, samples.window(record))
    assert len({layer.name for layer in points(chart)}) == 20 < len(TEXTS)
    assert picture.png(chart)
