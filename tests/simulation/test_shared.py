"""Jobs that share storage: against one job alone, and a simulation of every checkpoint."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from planner.simulation.job import JobRun, Law, RepairUnits
from planner.simulation.run import draw_failures, simulate
from planner.simulation.shared import SharingJob, simulate_together

DAY_S = 86_400.0
REPAIR = {"hardware_share": 0.6, "repair": Law(2 * 3600.0), "units": RepairUnits((1.0,) * 2, 60.0)}


def job(
    interval_s: float, drain_s: float, mtti_s: float, *, restore_s: float = 90.0, **more: Any
) -> JobRun:
    """Return a job with 5 s of stall and 300 s of restart."""
    return JobRun("job", interval_s, 5.0, drain_s, 300.0, restore_s, Law(mtti_s), **more)


class EveryEvent:
    """A run of several jobs in which each capture, drain and restore is an event of its own."""

    def __init__(self, jobs: list[SharingJob], write: float, read: float, length_s: float) -> None:
        self.jobs, self.write, self.read, self.length_s = jobs, write, read, length_s
        count = len(jobs)
        self.phase, self.begun, self.captures = ["compute"] * count, [0.0] * count, [1] * count
        self.saved, self.safe, self.left_gb, self.unread_gb = ([0.0] * count for _ in range(4))
        self.restarted = [math.inf] * count

    def kept(self, failures: list[list[float]]) -> list[float]:
        """Return the work that each job keeps, s, given the times of its failures."""
        now, queue = 0.0, [[*times, math.inf] for times in failures]
        while now < self.length_s:
            drains, reads, times = self.drain_rates(), self.read_rates(), [self.length_s]
            for n, left in enumerate(self.left_gb):
                times += [queue[n][0], self.restarted[n], self.capture_s(n)]
                times += [now + left / drains[n]] if left > 0 else []
                times += [now + self.unread_gb[n] / reads[n]] if reads[n] > 0 else []
            lasts_s, now = min(times) - now, min(times)
            for n in range(len(self.jobs)):
                self.left_gb[n] -= drains[n] * lasts_s
                self.unread_gb[n] -= reads[n] * lasts_s
                self.proceed(n, now, fails=now >= queue[n][0])
                queue[n] = [each for each in queue[n] if each > now]
        for n, each in enumerate(self.jobs):
            since_s = now - self.begun[n] - (self.captures[n] - 1) * each.job.interval_s
            computes = self.phase[n] == "compute"
            self.safe[n] = (
                self.saved[n] + min(since_s, each.job.compute_s) if computes else self.safe[n]
            )
        return self.safe

    def proceed(self, n: int, now: float, *, fails: bool) -> None:
        """Take a job through an event, if it has one."""
        job = self.jobs[n].job
        if self.left_gb[n] <= 1e-6:
            self.left_gb[n], self.safe[n] = 0.0, self.saved[n]
        if fails:
            self.left_gb[n], self.saved[n], self.phase[n] = 0.0, self.safe[n], "restart"
            self.restarted[n] = now + job.restart_s
        elif now >= self.restarted[n]:
            self.phase[n], self.restarted[n] = "restore", math.inf
            self.unread_gb[n] = self.jobs[n].read * job.restore_s
        elif self.phase[n] == "restore" and self.unread_gb[n] <= 1e-6:
            self.phase[n], self.begun[n], self.captures[n] = "compute", now, 1
        elif now >= self.capture_s(n):
            self.captures[n], self.left_gb[n] = (
                self.captures[n] + 1,
                self.jobs[n].write * job.drain_s,
            )
            self.saved[n] += job.compute_s

    def capture_s(self, n: int) -> float:
        """Return the end of the next capture of a job."""
        next_s = self.begun[n] + self.captures[n] * self.jobs[n].job.interval_s
        return next_s if self.phase[n] == "compute" else math.inf

    def drain_rates(self) -> list[float]:
        """Return the rate of each drain: by shares, with the rest of those that clients limit."""
        rates, rest = [0.0] * len(self.jobs), self.write
        lends = {n for n, left in enumerate(self.left_gb) if left > 0}
        while lends:
            level = rest / sum(self.jobs[n].write for n in lends)
            most = {n: self.jobs[n].most_write for n in lends}
            full = {n for n in lends if most[n] <= level * self.jobs[n].write} or lends
            for n in full:
                rates[n] = min(most[n], level * self.jobs[n].write)
            rest, lends = rest - sum(rates[n] for n in full), lends - full
        return rates

    def read_rates(self) -> list[float]:
        """Return the rate of each restore."""
        asked = [each.read * (self.phase[n] == "restore") for n, each in enumerate(self.jobs)]
        return [min(1.0, self.read / max(sum(asked), 1e-9)) * each for each in asked]


def test_one_job_alone_is_as_without_others() -> None:
    for own in (job(600, 50, 8 * 3600.0), job(300, 290, 7200, **REPAIR)):
        sharing = SharingJob(own, write=10.0, most_write=10.0, read=5.0)
        found = simulate_together([sharing], 10.0, 5.0, 60 * DAY_S, 20, seed=1)
        alone = simulate([own], 60 * DAY_S, 20, 1)["kept"]
        for kept in found:
            assert kept == pytest.approx(alone, abs=1e-6)


CASES: dict[str, tuple[list[tuple[float, ...]], float, float]] = {
    "two": ([(600, 100, 9000, 10, 40), (450, 200, 6000, 10, 12)], 20.0, 8.0),
    "many drains": (
        [(400, 390, 5000, 10, 99), (420, 300, 5000, 10, 99), (500, 450, 4000, 5, 9)], 25.0, 5.0,
    ),
    "rest is lent": ([(600, 300, 4000, 5, 40), (700, 350, 4000, 5, 40)], 30.0, 5.0),
}  # fmt: skip
"""Jobs by interval, drain, time between failures, share and limit of clients; write and read."""


@pytest.mark.parametrize("name", CASES)
def test_work_is_that_of_a_simulation_of_every_checkpoint(name: str) -> None:
    rows, write, read = CASES[name]
    jobs = [SharingJob(job(*row[:3], restore_s=500.0), row[3], row[4], 5.0) for row in rows]
    found = simulate_together(jobs, write, read, 10 * DAY_S, 5, seed=3)
    drawn = [draw_failures(each.job, 10 * DAY_S, 3 + n, 5).at_s for n, each in enumerate(jobs)]
    for run in range(5):
        failures = [[t for t in at_s[run] if t < math.inf] for at_s in drawn]
        kept = EveryEvent(jobs, write, read, 10 * DAY_S).kept(failures)
        assert found.lent[:, run] == pytest.approx(kept, abs=1e-3)
    assert np.all(found.lent >= found.fixed - 1e-6)
    assert found.lent.mean() > 1.001 * found.fixed.mean()
