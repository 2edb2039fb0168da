"""Samples that are means over more than the time between them: by --window, or allowed for."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from planner.schema.telemetry import JobFound, Measured
from planner.telemetry import ClusterTrace
from planner.telemetry import characterize_cluster as cluster
from planner.telemetry.traces import Raw, ReadOptions
from tests.world.commands import ran

SIZE_GB, INTERVAL_S, DAYS = 1000.0, 1800.0, 3


def moving(drain_s: float, window_s: float, sample_s: float, noise: float) -> Raw:
    """Return what `rate(...[window])` gives every so many seconds of a job's exact traffic.

    Args:
        drain_s: how long a checkpoint is written.
        window_s: over which time each sample is a mean.
        sample_s: how often there is one.
        noise: of the background, GB/s.
    """
    random = np.random.default_rng(1)
    length = DAYS * 86_400
    edges = np.arange(length + 1.0)
    gaps = INTERVAL_S + random.normal(0, 7.0, int(length / INTERVAL_S) - 2)
    starts = np.cumsum(gaps)
    times = np.stack((starts, starts + drain_s)).T.ravel()
    done = SIZE_GB * np.repeat(np.arange(len(starts) + 1.0), 2)[1:-1]
    moved = np.interp(edges, times, done)
    moved[1:] += np.cumsum(noise * random.lognormal(0, 0.5, length))
    time = np.arange(window_s, length, sample_s)
    rate = (np.interp(time, edges, moved) - np.interp(time - window_s, edges, moved)) / window_s
    return Raw("c", "trace", time + 1.7e9, rate, None, is_rate=True, dated=True)


def found_in(raw: Raw, window_s: float | None = None) -> tuple[ClusterTrace, JobFound]:
    found = cluster(raw, ReadOptions(window_s=window_s))
    (job,) = found.jobs
    return found, job


def holds(measured: Measured, truth: float) -> bool:
    assert measured.low is not None and measured.high is not None
    return measured.low <= truth <= measured.high


@pytest.mark.parametrize(
    ("drain_s", "window_s", "sample_s"),
    [(110, 300, 10), (110, 60, 10), (110, 20, 10), (40, 300, 15), (350, 300, 30)],
)
def test_window_that_is_given(drain_s: float, window_s: float, sample_s: float) -> None:
    found, job = found_in(moving(drain_s, window_s, sample_s, noise=0.1), window_s)
    assert job.drain_s.value == pytest.approx(drain_s, abs=0.5 * sample_s)
    assert holds(job.drain_s, drain_s) and holds(job.write_gb_per_s, SIZE_GB / drain_s)
    assert job.size_gb.value == pytest.approx(SIZE_GB, rel=0.01)
    lasts = found.table["duration_s"][found.table["kind"] == "checkpoint"]
    assert np.mean(lasts) == pytest.approx(drain_s, abs=sample_s)


@pytest.mark.parametrize(("drain_s", "window_s"), list(product((40, 110, 350), (60, 300))))
def test_without_a_window_the_range_holds_both(drain_s: float, window_s: float) -> None:
    raw = moving(drain_s, window_s, 10, noise=0)
    _, job = found_in(raw)
    assert holds(job.drain_s, drain_s) and holds(job.write_gb_per_s, SIZE_GB / drain_s)
    (note,) = job.notes
    assert "say it: --window" in note
    _, job = found_in(raw, window_s)
    assert job.drain_s.value == pytest.approx(drain_s, abs=5)
    assert holds(job.drain_s, drain_s)
    assert job.drain_s.high and job.drain_s.low and job.drain_s.high - job.drain_s.low < 35


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_samples_that_are_what_they_seem_stay_exact(noise: float) -> None:
    _, job = found_in(moving(110, 10, 10, noise))
    assert job.notes == ()
    assert job.drain_s.value == pytest.approx(110, abs=0.1)
    assert job.drain_s.high and job.drain_s.low and job.drain_s.high - job.drain_s.low < 1


@pytest.fixture(scope="module")
def smoothed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    raw = moving(110, 300, 10, noise=0.1)
    path = tmp_path_factory.mktemp("smoothed") / "hall.csv"
    rows = zip(raw.time_s, raw.write, strict=True)
    lines = ["time,write_gb_per_s", *(f"{time:.0f},{rate:.6f}" for time, rate in rows)]
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize(
    ("window", "words"),
    [
        ("20 min", "--window: bursts of 300 s are shorter than the window of 1200 s"),
        ("5", "'5' has no unit"),
        ("0 s", "must be more than 0"),
        ("5 GB", "--window"),
    ],
)
def test_wrong_windows(smoothed: Path, window: str, words: str) -> None:
    found = ran("characterize", str(smoothed), "--window", window)
    assert (found.code, found.out) == (2, "")
    assert words in found.err and found.err.count("\n") == 1
