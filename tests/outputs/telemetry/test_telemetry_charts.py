"""Charts of telemetry: what is drawn, where, and how much of it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from planner.outputs.charts import picture
from planner.outputs.charts.model import Bars, Chart, Line, Points, Whiskers, time_axis
from planner.outputs.charts.telemetry import Window, bandwidth, holes, look, outline, overlap, trace
from planner.schema.telemetry import Characterization
from tests.outputs.hostile import TEXTS
from tests.outputs.telemetry import samples

THREE = samples.three()


def points(chart: Chart) -> list[Points]:
    return [layer for layer in chart.panels[0].layers if isinstance(layer, Points)]


def lines(chart: Chart) -> dict[str, Line]:
    return {layer.name: layer for layer in chart.panels[0].layers if isinstance(layer, Line)}


def in_one_cluster(count: int) -> Characterization:
    jobs = samples.many(count).jobs
    return samples.record([job.model_copy(update={"cluster": "hall"}) for job in jobs])


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


def test_reads_stand_below_the_writes_on_a_scale_of_their_own() -> None:
    record = samples.one()
    window = samples.window(record)
    assert window.read_gb_per_s is not None
    chart = trace(record, window)
    read = [value for value in lines(chart)["read"].y if value is not None]
    assert max(read) < 0.0
    ticks = sorted(chart.panels[0].y.ticks)
    places, words = [place for place, _ in ticks], [word for _, word in ticks]
    assert words == ["0", "100", "200", "300", "0", "100", "200", "300"]
    per_gb = (places[3] - places[0]) / 300
    assert max(read) == pytest.approx(places[0] + per_gb * window.read_gb_per_s.max())


def test_bursts_that_are_not_whole_are_hollow() -> None:
    window = samples.window(samples.one())
    kinds = window.checkpoints["kind"].copy()
    kinds[:3] = ["inferred", "cut", "other"]
    table = {**window.checkpoints, "kind": kinds, "job": window.checkpoints["job"].copy()}
    table["job"][2] = ""
    chart = trace(samples.one(), dataclasses.replace(window, checkpoints=table))
    solid, hollow, other = points(chart)
    assert len(hollow.x) == 2 and hollow.hollow and hollow.name == ""
    assert other.name == "other bursts" and len(other.x) == 1
    assert len(solid.x) == len(kinds) - 3 and "Hollow" in chart.subtitle


def test_many_jobs_have_a_row_each_above_the_writes() -> None:
    record = in_one_cluster(40)
    window = samples.window(record)
    chart = trace(record, window)
    heights = [set(layer.y) for layer in points(chart)]
    assert all(len(each) == 1 for each in heights)
    assert len(set.union(*heights)) == 40 == len({layer.name for layer in points(chart)})
    assert min(set.union(*heights)) > window.write_gb_per_s.max()


def test_a_long_stretch_says_that_not_all_are_marked() -> None:
    window = samples.window(THREE, 120.0)
    assert len(window.checkpoints["job"]) > 2_500
    chart = trace(THREE, window)
    assert sum(len(layer.x) for layer in points(chart)) <= 2_000
    assert "About 2,000 of them are marked" in chart.subtitle


def test_a_stretch_may_be_empty_or_without_jobs() -> None:
    none = {name: values[:0] for name, values in samples.checkpoints(THREE, 1).items()}
    empty = Window("hall", np.array([]), np.array([]), None, none)
    assert trace(THREE, empty).panels == ()
    flat = Window("other", np.arange(5.0), np.full(5, np.nan), np.zeros(5), none)
    chart = trace(THREE, flat)
    assert points(chart) == [] and chart.panels[0].references == ()
    assert picture.png(chart)


def test_few_points_stand_for_many_checkpoints() -> None:
    table = samples.checkpoints(THREE)
    chart = bandwidth(THREE, table)
    *jobs, medians = points(chart)
    assert sum(len(layer.x) for layer in jobs) <= 2_000
    assert [layer.name for layer in jobs] == ["job 1", "wide", "small"]
    assert medians.x == pytest.approx((13.8, 2.45, 0.98))
    assert medians.y == pytest.approx((273.0, 21.0, 90.0))
    whole = int((table["kind"] == "checkpoint").sum())
    assert f"{whole:,} checkpoints of 3 jobs" in chart.subtitle
    assert chart == bandwidth(THREE, table)


def test_lines_of_one_drain_are_right() -> None:
    chart = bandwidth(THREE, samples.checkpoints(THREE, 20))
    drains = {
        round(1_000 * x / y, 6)
        for layer in chart.panels[0].layers
        if isinstance(layer, Line)
        for x, y in zip(layer.x, layer.y, strict=True)
        if x is not None and y is not None
    }
    assert drains == {10.0, 60.0, 600.0}
    assert "a drain of 10 s, 1 min and 10 min, from left to right" in chart.subtitle


def test_overlaps_are_sorted_and_bounded() -> None:
    chart = overlap(THREE)
    panel = chart.panels[0]
    assert [row.split(":")[0] for row in panel.rows] == ["wide", "job 1", "small"]
    bars = {layer.name: layer for layer in panel.layers if isinstance(layer, Bars)}
    assert bars["not under it"].ends == pytest.approx((100 * 2_450 / 21 / 900,))
    assert bars["at most this: too short to be resolved"].ends == pytest.approx((6.7,))
    (whiskers,) = (layer for layer in panel.layers if isinstance(layer, Whiskers))
    assert len(whiskers.rows) == 2
    assert [(line.value, line.across) for line in panel.references] == [(10.0, False)]
    assert "2 of 3 jobs under 10 %" in chart.subtitle


def test_of_more_than_forty_jobs_the_largest_are_drawn() -> None:
    record = samples.many(60)
    told = "The 40 with the largest checkpoints of 60 jobs."
    for chart in (overlap(record), bandwidth(record, samples.checkpoints(record, 3))):
        assert told in chart.subtitle
    assert len(overlap(record).panels[0].rows) == 40


def test_forty_jobs_look_different() -> None:
    assert len({look(place) for place in range(40)}) == 40


def test_nothing_found_is_said() -> None:
    record = samples.record([])
    for chart in (overlap(record), bandwidth(record, samples.checkpoints(record))):
        assert chart.panels == () and "No job was found" in chart.subtitle


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
    chart = overlap(samples.one())
    assert picture.png(chart) == picture.png(chart)
    assert picture.svg(trace(THREE, samples.window(THREE))).startswith(b"<?xml")


@pytest.mark.filterwarnings("ignore:Glyph")
def test_hostile_names_are_drawn() -> None:
    record = samples.record(
        [samples.job(text, 1_000.0 + at) for at, text in enumerate(TEXTS.values())]
    )
    chart = bandwidth(record, samples.checkpoints(record, 3))
    assert len({layer.name for layer in points(chart)}) == len(TEXTS) + 1
    assert picture.png(chart)
    assert all(len(row) < 120 for row in overlap(record).panels[0].rows)
