"""Whose restart it is: reads of several jobs, breaks that are none, ranges by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from planner.schema.telemetry import JobFound
from planner.telemetry import characterize_cluster as cluster
from planner.telemetry.restarts import Breaks, find_breaks, mtti, poisson
from planner.telemetry.rhythm import Track
from planner.telemetry.signal import Bursts
from planner.telemetry.traces import Raw, ReadOptions

DAY_S = 86_400.0


def bursts(start: list[float], size: list[float], lasts: float = 20.0) -> Bursts:
    begin, gb = np.array(start, dtype=float), np.array(size, dtype=float)
    rate, none = gb / lasts, np.zeros(len(begin))
    span = np.full(len(begin), lasts)
    return Bursts(begin, begin + lasts, gb, rate, rate, span, none, none, none.astype(bool))


def away(breaks_s: list[tuple[float, float]], size_gb: float) -> Track:
    """A job with checkpoints every 600 s, and none in some breaks."""
    times = np.concatenate([[end - 600, end] for pair in breaks_s for end in pair])
    return track(times.tolist(), size_gb=size_gb)


def owned(jobs: list[Track], reads: Bursts) -> list[list[int]]:
    nothing = np.zeros(0)
    found = find_breaks(jobs, (nothing, nothing), bursts([], []), reads)
    return [each.reads.tolist() for each in found]


def test_restore_belongs_to_the_job_of_its_size() -> None:
    """Both jobs are away at the same time; the second's replicas read twice its checkpoint."""
    jobs = [away([(0, 2000), (10_000, 12_000)], 100.0), away([(90, 2090), (10_090, 12_090)], 70)]
    reads = bursts([400, 700, 10_400, 10_700], [100, 140, 100, 140])
    assert owned(jobs, reads) == [[0, 2], [1, 3]]


def test_no_restore_outside_of_breaks_or_far_too_small() -> None:
    job = away([(0, 2000)], 100.0)
    assert owned([job], bursts([400, 5000, 9000], [100, 100, 100])) == [[0]]
    assert owned([job], bursts([400], [20])) == [[]]


def track(times: list[float], size_gb: float = 100.0) -> Track:
    every, places = np.array(times, dtype=float), np.arange(len(times))
    return Track(size_gb, 20.0, 600.0, 30.0, 0.006, every, places, np.ones(len(times), dtype=bool))


def counted(whole: int, attempts: list[int]) -> Breaks:
    steps = np.array([whole, *(0 for _ in attempts)])
    broken = steps == 0
    none = np.zeros(len(steps))
    many = np.array([0, *attempts])
    return Breaks(none, none, steps, broken, ~broken, many, ~broken & broken)


def test_mtti_is_what_the_share_of_whole_intervals_says() -> None:
    found = mtti(track([600, 1200]), counted(90, [1] * 10))
    assert found is not None and found.low is not None and found.high is not None
    assert found.value == pytest.approx(-600 / math.log(0.9))
    low, high = poisson(10)
    assert found.value / found.low == pytest.approx(high / 10)
    assert found.value / found.high == pytest.approx(low / 10)
    assert mtti(track([600, 1200]), counted(90, [])) is None


Pulses = list[tuple[float, float, float]]


def rates(pulses: Pulses, days: float, noise_seed: int) -> np.ndarray:
    """Return samples of 10 s of pulses (start, how long, how much)."""
    edges = np.arange(int(days * DAY_S / 10) + 1) * 10.0
    flow = np.zeros(len(edges))
    for start, lasts, size in pulses:
        flow += np.clip((edges - start) / lasts, 0, 1) * size
    noise = np.random.default_rng(noise_seed).normal(1, 0.1, len(edges) - 1)
    return np.diff(flow) / 10 + noise


def lived(
    gaps: tuple[float, ...], size: float, days: float, mtti_s: float, seed: int
) -> tuple[Pulses, Pulses]:
    """Return the writes and restores of a job whose gaps return in turn, anew after a failure."""
    random = np.random.default_rng(seed)
    writes, reads = [], []
    now, turn, fails = 0.0, 0, float(random.exponential(mtti_s))
    while now < days * DAY_S:
        due = now + gaps[turn % len(gaps)]
        if fails < due + 40:
            reads.append((fails + 300, 20.0, size))
            now, turn = fails + 320, 0
            fails = now + float(random.exponential(mtti_s))
        else:
            writes.append((due, 40.0, size))
            now, turn = due, turn + 1
    return writes, reads


def jobs_in(writes: Pulses, reads: Pulses, days: float) -> tuple[JobFound, ...]:
    written, read = rates(writes, days, 1), rates(reads, days, 2)
    time = 10.0 * np.arange(len(written)) + 1.7e9
    return cluster(Raw("c", "trace", time, written, read, True, True), ReadOptions()).jobs


def test_two_jobs_of_one_size_and_interval_that_fail_apart_stay_two() -> None:
    parts = [lived((600.0,), 2000.0, 5, 20_000.0, seed) for seed in (4, 5)]
    writes, reads = ([one for part in parts for one in part[way]] for way in (0, 1))
    assert len(jobs_in(writes, reads, 5)) >= 2
