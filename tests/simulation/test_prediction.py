"""Simulated and predicted goodput agree within 0.5 % where failures have no memory."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from planner.simulation.lanes import Lanes
from planner.simulation.operation import Exponential
from planner.simulation.world import Disturbances, JobRun, World
from planner.sizing.goodput import goodput, understated_goodput
from tests.simulation.worlds import TWO, job

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
MEANS = (15 * MINUTE, HOUR, 12 * HOUR, 7 * DAY)
LANES, GAPS = 8, 1000


def cases(mean_s: float) -> list[tuple[JobRun, float]]:
    """Return jobs that are interrupted so often, with what the formula gives each."""
    found = []
    for share, stall, drain, restart in product(
        (0.02, 0.1, 0.5), (0.002, 0.05, 0.2), (0.05, 0.6), (10.0, 600.0)
    ):
        interval = share * mean_s
        found.append((interval, stall * interval, drain * interval, restart, False))
    found += [(share * mean_s, 0.1 * share * mean_s, 0.0, 300.0, True) for share in (0.03, 0.3)]
    return [(_job(mean_s, *case), goodput(*case[:3], case[3] + _restore_s(case), mean_s))
            for case in found]  # fmt: skip


def _job(
    mean_s: float, interval: float, stall: float, drain: float, restart: float, sync: bool
) -> JobRun:
    size = 10.0 * (stall if sync else drain)
    return job(
        interval_s=interval, stall_s=stall, checkpoint_gb=size, restore_gb=size, sync=sync,
        restart_s=restart, failures=Exponential(mean_s),
    )  # fmt: skip


def _restore_s(case: tuple[float, float, float, float, bool]) -> float:
    """Reading is twice as fast as writing."""
    return (case[1] if case[4] else case[2]) / 2


def struck(mean_s: float, length_s: float) -> Disturbances:
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
    rates = np.full((LANES, 1), 10.0)
    none = np.full((LANES, 1), math.inf)
    return Disturbances((times,), np.array([math.inf]), none, rates, 2 * rates, 0 * rates)


def test_the_grid_is_as_large_as_promised() -> None:
    assert sum(len(cases(mean)) for mean in MEANS) >= 100
    assert min(MEANS) == 15 * MINUTE


@pytest.mark.parametrize("mean_s", MEANS)
def test_formula_and_simulation_agree_within_half_a_percent(mean_s: float) -> None:
    jobs, formula = zip(*cases(mean_s), strict=True)
    length_s = GAPS * mean_s
    runs = Lanes(World(jobs[:1], TWO), struck(mean_s, length_s), length_s, jobs).run()
    simulated = runs["kept"][0].mean(1) / length_s
    off = np.abs(simulated / np.array(formula) - 1.0)
    worst = int(off.argmax())
    assert off[worst] < 0.005, (jobs[worst], simulated[worst], formula[worst])
    assert off.mean() < 0.001


def test_a_wrong_formula_would_be_noticed() -> None:
    mean_s = HOUR
    jobs, formula = zip(*cases(mean_s)[-8:], strict=True)
    length_s = GAPS * mean_s
    slower = tuple(replace(each, checkpoint_gb=1.2 * each.checkpoint_gb) for each in jobs)
    runs = Lanes(World(slower[:1], TWO), struck(mean_s, length_s), length_s, slower).run()
    simulated = runs["kept"][0].mean(1) / length_s
    assert np.abs(simulated / np.array(formula) - 1.0).max() > 0.005


@pytest.mark.parametrize("slowdown", [0.1, 1.0])
def test_with_a_slowdown_the_formula_is_low_by_what_is_stated(slowdown: float) -> None:
    mean_s = HOUR
    times = [case for case in product((0.02, 0.1, 0.5), (0.002, 0.05), (0.05, 0.6), (10.0, 600.0))]
    jobs, exact, formula = [], [], []
    for share, stall, drain, restart in times:
        case = (share * mean_s, stall * share * mean_s, drain * share * mean_s, restart, False)
        jobs.append(replace(_job(mean_s, *case), drain_slowdown=slowdown))
        recovery_s = restart + _restore_s(case)
        formula.append(goodput(*case[:3], recovery_s, mean_s, slowdown))
        missed = understated_goodput(case[0], case[2], recovery_s, mean_s, slowdown)
        exact.append(formula[-1] + missed)
    length_s = GAPS * mean_s
    runs = Lanes(World(tuple(jobs[:1]), TWO), struck(mean_s, length_s), length_s, jobs).run()
    simulated = runs["kept"][0].mean(1) / length_s
    assert np.abs(simulated - np.array(exact)).max() < 0.002
    assert (simulated - np.array(formula)).max() > 0.01 * slowdown
