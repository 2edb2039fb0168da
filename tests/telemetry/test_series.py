"""Traces put in order: counters, gaps, clocks that are set, rows that come twice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.errors import InputError
from planner.telemetry.signal import Series, find_bursts, series
from planner.telemetry.traces import Raw, ReadOptions

RATE = np.where(np.arange(600) % 60 < 5, 40.0, 1.0)
TIME = 1.7e9 + 10.0 * np.arange(600)
TRACE = Raw("c", "trace.csv", TIME, RATE, RATE / 2, True, True)
OPTIONS = ReadOptions()


def chosen(raw: Raw, rows: np.ndarray) -> Raw:
    return replace(raw, time_s=raw.time_s[rows], write=raw.write[rows], read=raw.read[rows])


def volume(found: Series) -> float:
    return float(np.nansum(found.write * found.width_s))


def counted(*, reset_at: int | None = None) -> Raw:
    """Return the trace as a counter of what was moved."""
    moved = np.concatenate(([0.0], np.cumsum(RATE * 10.0)))
    if reset_at is not None:
        moved[reset_at:] -= moved[reset_at]
    time = 1.7e9 + 10.0 * np.arange(601)
    return Raw("c", "trace.csv", time, moved, moved / 2, False, True)


def test_a_clean_trace_is_left_as_it_is() -> None:
    found = series(TRACE, OPTIONS)
    assert (found.missing, found.steps) == (0, 0)
    assert found.sample_s == 10 and found.samples == 600 and found.read_as == "rate"
    np.testing.assert_array_equal(found.write, RATE)
    np.testing.assert_array_equal(found.clock(found.start_s), TIME)


def test_a_counter_is_recognised_and_gives_the_same_rates() -> None:
    found = series(counted(), OPTIONS)
    assert found.read_as == "counter"
    np.testing.assert_allclose(found.write, RATE)
    assert found.read is not None
    np.testing.assert_allclose(found.read, RATE / 2)


def test_a_lost_sample_is_bridged() -> None:
    rows = np.delete(np.arange(600), [2, 100])
    found = series(chosen(TRACE, rows), OPTIONS)
    assert found.missing == 2
    assert volume(found) == pytest.approx(RATE.sum() * 10)
    assert not np.isnan(found.write).any()


def test_a_long_gap_is_a_hole() -> None:
    rows = np.delete(np.arange(600), np.arange(100, 130))
    found = series(chosen(TRACE, rows), OPTIONS)
    assert found.missing == 30
    hole = np.isnan(found.write)
    assert hole.sum() == 1 and found.width_s[hole][0] == pytest.approx(300)
    assert found.start_s[-1] == pytest.approx(5990)


@pytest.mark.parametrize("step_s", [-3600.0, -35.0])
def test_a_clock_set_back_does_not_turn_time(step_s: float) -> None:
    time = TIME + np.where(np.arange(600) >= 250, step_s, 0.0)
    found = series(replace(TRACE, time_s=time), OPTIONS)
    assert found.steps == 1 and found.missing == 0
    np.testing.assert_allclose(np.diff(found.start_s), 10)
    np.testing.assert_allclose(found.clock(found.start_s[[0, 249, 250]]), time[[0, 249, 250]])
    assert volume(found) == pytest.approx(RATE.sum() * 10)


def test_rows_that_come_twice_are_dropped() -> None:
    rows = np.concatenate((np.arange(100), [99, 99], np.arange(100, 600)))
    found = series(chosen(TRACE, rows), OPTIONS)
    assert found.steps == 0 and found.missing == 0
    np.testing.assert_allclose(found.write, RATE)


@pytest.mark.parametrize("rows", [0, 7])
def test_too_few_samples(rows: int) -> None:
    with pytest.raises(InputError, match="a trace needs 8 at least"):
        series(chosen(TRACE, np.arange(rows)), OPTIONS)


@pytest.mark.parametrize("long_s", [20.0, 30.0, 50.5, 57.0])
@pytest.mark.parametrize("phase_s", [0.0, 3.3, 7.0])
def test_a_rectangular_burst_has_its_own_length(long_s: float, phase_s: float) -> None:
    """Edges inside their samples and volume over height both give it, from 20 s on."""
    edges = 10.0 * np.arange(201)
    moved = 30.0 * np.clip(edges - (1000 + phase_s), 0, long_s)
    rate = np.diff(moved) / 10
    found = find_bursts(rate, edges[:-1], np.diff(edges), 10.0)[0]
    assert len(found) == 1
    assert found.size_gb[0] == pytest.approx(30 * long_s)
    assert found.duration_s[0] == pytest.approx(long_s, abs=0.1 if long_s >= 30 else 10)
    assert found.start_s[0] == pytest.approx(1000 + phase_s, abs=0.1 if long_s >= 30 else 10)
