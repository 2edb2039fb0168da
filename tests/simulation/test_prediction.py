"""Simulated and predicted goodput agree within 0.5 % where failures have no memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from planner import api
from planner.analysis.simulation import SimulationOptions, study
from planner.errors import InputError
from planner.schema.operation import JobSimulated
from planner.schema.plan import Plan
from planner.simulation.job import Array, JobRun, Law
from planner.simulation.run import Failures, Runs, mark_failures
from planner.sizing.goodput import goodput
from tests.simulation.test_by_hand import job
from tests.world.random_cases import inputs_of
from tests.world.random_jobs import together
from tests.world.solved import solve

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


# All levers at once: set points, options, spares, fewer replicas, two levels, money per work.


def studied(plan: Plan, replications: int = 60) -> JobSimulated:
    """Return how the plan's job does over 400 failures or more, so many times."""
    length_s = min(max(60.0 * DAY, 400.0 * plan.jobs[0].mtti_s), 3000.0 * DAY)
    options = SimulationOptions(replications=replications, length_s=length_s, intervals=False)
    return study(plan, options).jobs[0]


def agrees(plan: Plan, found: JobSimulated) -> bool:
    """Say whether a simulation keeps what a plan states, to 0.3 % and the noise."""
    job = plan.jobs[0]
    expected = found.predicted
    if job.local is None:  # the formula charges a slowed drain to the interval after a restart, too
        slowed = job.drain_slowdown * job.drain_s / job.mtti_s
        back_s = job.restart_s + job.restore_s + job.interval_s + job.drain_s
        expected += slowed * math.exp(-back_s / job.mtti_s)
    room = 0.003 * expected + 2.0 * (found.goodput.high - found.goodput.mean)
    most = expected
    if job.repair is not None and job.repair.in_rack:  # a lower bound, and told as one
        most /= job.repair.availability
    return expected - room < found.goodput.mean < most + room


@pytest.mark.exhaustive(keep=2, most=10)
@pytest.mark.parametrize("seed", range(9_300_000, 9_300_040))
def test_random_plans_keep_what_they_state(seed: int) -> None:
    try:
        plan = solve(inputs_of(together(seed)), explain=False)
    except InputError:
        return
    if not plan.jobs or plan.jobs[0].mode == "sync":
        return
    assert agrees(plan, studied(plan))


def test_a_right_plan_is_not_refused_for_rounding() -> None:
    """Of 6e-5 h of waiting in a year, a difference of shares near 1, rounding leaves 1e-11 h."""
    options = api.Options(gap=1e-3, explain=False, rivals=False)
    repair = api.solve_with(inputs_of(together(9_800_536)), options).jobs[0].repair
    assert repair is not None and 1e-5 < 8760 * (1.0 - repair.availability) < 1e-4
