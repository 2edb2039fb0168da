"""Simulated and predicted goodput agree within 0.5 % where failures have no memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from planner.simulation.job import Array, JobRun, Law
from planner.simulation.run import Failures, Runs, mark_failures
from planner.sizing.goodput import goodput
from tests.simulation.worlds import job

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
MEANS = (15 * MINUTE, 12 * HOUR)
LANES, GAPS = 8, 1000


def cases(mean_s: float) -> list[tuple[JobRun, float]]:
    """Return jobs that are interrupted so often, with what the formula gives each."""
    found = []
    for share, stall, drain, restart in product(
        (0.02, 0.5), (0.002, 0.2), (0.05, 0.6), (10.0, 600.0)
    ):
        interval = share * mean_s
        found.append((interval, stall * interval, drain * interval, restart, False))
    found += [(share * mean_s, 0.1 * share * mean_s, 0.0, 300.0, True) for share in (0.03, 0.3)]
    return [(_job(mean_s, *case), goodput(*case[:3], case[3] + _restore_s(case), mean_s))
            for case in found]  # fmt: skip


def _job(
    mean_s: float, interval: float, stall: float, drain: float, restart: float, sync: bool
) -> JobRun:
    read = (stall if sync else drain) / 2
    return job(
        interval_s=interval, stall_s=stall, drain_s=drain, restore_s=read, sync=sync,
        restart_s=restart, failures=Law(mean_s),
    )  # fmt: skip


def _restore_s(case: tuple[float, float, float, float, bool]) -> float:
    """Reading is twice as fast as writing."""
    return (case[1] if case[4] else case[2]) / 2


def struck(mean_s: float, length_s: float) -> Failures:
    """Return failures whose gaps are drawn one from each of as many equally likely parts of the
    exponential distribution, so that hardly any of the noise of random draws is left.

    Runs begin and end with a failure: nothing is under way at their ends.
    """
    draws = np.random.default_rng(1)
    places = draws.permuted(np.tile(np.arange(GAPS), (LANES, 1)), axis=1)
    gaps = -mean_s * np.log1p(-(places + draws.random((LANES, GAPS))) / GAPS)
    times = np.hstack([np.full((LANES, 1), 1e-6), np.cumsum(gaps, 1)])
    times[times >= length_s] = math.inf
    last = np.full((LANES, 1), length_s * (1 - 1e-12))
    times = np.hstack([np.sort(np.hstack([times, last]), 1), np.full((LANES, 1), math.inf)])
    return mark_failures(job(), times, draws)


def simulated(jobs: Sequence[JobRun], mean_s: float) -> Array:
    """Return the goodput of jobs under the same failures."""
    length_s = GAPS * mean_s
    given = struck(mean_s, length_s)
    runs = [Runs(each, given, 0.0, length_s).run()["kept"] for each in jobs]
    return np.array([each.mean() / length_s for each in runs])


@pytest.mark.parametrize("mean_s", MEANS)
def test_formula_and_simulation_agree_within_half_a_percent(mean_s: float) -> None:
    jobs, formula = zip(*cases(mean_s), strict=True)
    kept = simulated(jobs, mean_s)
    off = np.abs(kept / np.array(formula) - 1.0)
    worst = int(off.argmax())
    assert off[worst] < 0.005, (jobs[worst], kept[worst], formula[worst])
    assert off.mean() < 0.001
