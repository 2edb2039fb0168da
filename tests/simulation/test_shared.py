"""Jobs that share storage: against one job alone, and a simulation of every checkpoint."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from planner.simulation.job import Array, JobRun, Law, RepairUnits
from planner.simulation.run import draw_failures, simulate
from planner.simulation.shared import SharingJob, simulate_together

DAY_S = 86_400.0
STALL_S, RESTART_S, RESTORE_S, READ = 5.0, 300.0, 500.0, 5.0
REPAIR = {"hardware_share": 0.6, "repair": Law(2 * 3600.0), "units": RepairUnits((1.0,) * 2, 60.0)}


def job(interval_s: float, drain_s: float, mtti_s: float, **more: Any) -> JobRun:
    """Return a job of a pace."""
    times = interval_s, STALL_S, drain_s, RESTART_S, RESTORE_S
    return JobRun("job", *times, Law(mtti_s), **more)


def kept_by_every_event(
    jobs: Sequence[SharingJob],
    write: float,
    read: float,
    length_s: float,
    failures: Sequence[Array],
) -> Array:
    """Return the work that each job keeps, s, by a run in which every capture is an event."""
    interval_s = np.array([each.job.interval_s for each in jobs])
    size_gb = np.array([each.write * each.job.drain_s for each in jobs])
    share, most = np.array([(each.write, each.most_write) for each in jobs]).T
    now, captures, phase = 0.0, np.ones(len(jobs)), np.full(len(jobs), "computes")
    begun, saved, safe, left_gb, unread_gb, restarts = np.zeros((6, len(jobs)))
    while now < length_s:
        rates, rest, lends = np.zeros(len(jobs)), write, left_gb > 0
        while lends.any():  # by shares; what clients cannot take is left to others
            level = rest / share[lends].sum()
            full = lends & (most <= level * share)
            full = full if full.any() else lends
            rates[full] = np.minimum(most, level * share)[full]
            rest, lends = rest - rates[full].sum(), lends & ~full
        restore = phase == "restores"
        reads = restore * min(READ, read / max(restore.sum(), 1))
        ends = np.array(
            [
                [times[times > now].min() for times in failures],
                np.where(phase == "computes", begun + captures * interval_s, math.inf),
                np.where(phase == "restarts", restarts, math.inf),
                now
                + np.divide(unread_gb, reads, out=np.full(len(jobs), math.inf), where=reads > 0),
                now + np.divide(left_gb, rates, out=np.full(len(jobs), math.inf), where=rates > 0),
            ]
        )
        lasts_s, now = min(ends.min(), length_s) - now, min(ends.min(), length_s)
        left_gb, unread_gb = left_gb - rates * lasts_s, unread_gb - reads * lasts_s
        fails, captured, restarted, restored, drained = ends <= now
        left_gb[drained], safe[drained] = 0.0, saved[drained]
        saved[captured] += (interval_s - STALL_S)[captured]
        captures[captured], left_gb[captured] = captures[captured] + 1, size_gb[captured]
        phase[restarted], unread_gb[restarted] = "restores", READ * RESTORE_S
        phase[restored], begun[restored], captures[restored] = "computes", now, 1
        left_gb[fails], saved[fails], phase[fails] = 0.0, safe[fails], "restarts"
        restarts[fails] = now + RESTART_S
    last = np.minimum(now - begun - (captures - 1) * interval_s, interval_s - STALL_S)
    return np.where(phase == "computes", saved + last, safe)


def test_one_job_alone_is_as_without_others() -> None:
    for own in (job(600, 50, 8 * 3600.0), job(300, 290, 7200, **REPAIR)):
        sharing = SharingJob(own, write=10.0, most_write=10.0, read=READ)
        found = simulate_together([sharing], 10.0, READ, 60 * DAY_S, 20, seed=1)
        alone = simulate([own], 60 * DAY_S, 20, 1)["kept"]
        for kept in found:
            assert kept == pytest.approx(alone, abs=1e-6)


CASES: dict[str, tuple[list[tuple[float, ...]], float, float]] = {
    "two": ([(600, 100, 9000, 10, 40), (450, 200, 6000, 10, 12)], 20.0, 8.0),
    "many drains": (
        [(400, 390, 5000, 10, 99), (420, 300, 5000, 10, 99), (500, 450, 4000, 5, 9)],
        25.0,
        5.0,
    ),
    "rest is lent": ([(600, 300, 4000, 5, 40), (700, 350, 4000, 5, 40)], 30.0, 5.0),
}
"""Jobs by interval, drain, time between failures, share and limit of clients; write and read."""


@pytest.mark.parametrize("name", CASES)
def test_work_is_that_of_a_simulation_of_every_checkpoint(name: str) -> None:
    rows, write, read = CASES[name]
    jobs = [SharingJob(job(*row[:3]), row[3], row[4], READ) for row in rows]
    found = simulate_together(jobs, write, read, 10 * DAY_S, 5, seed=3)
    drawn = [draw_failures(each.job, 10 * DAY_S, 3 + n, 5).at_s for n, each in enumerate(jobs)]
    for run in range(5):
        failures = [at_s[run] for at_s in drawn]
        kept = kept_by_every_event(jobs, write, read, 10 * DAY_S, failures)
        assert found.lent[:, run] == pytest.approx(kept, abs=1e-3)
    assert np.all(found.lent >= found.fixed - 1e-6)
    assert found.lent.mean() > 1.001 * found.fixed.mean()
