"""Jobs that share the storage of a site, simulated together.

Each job has a guaranteed share of the write bandwidth. Bandwidth that no drain uses is lent to the
drains under way in proportion to their shares, each up to the limit of its clients. Restores read
at their own rates, all slower where together they pass the delivered read bandwidth.

A drain on its guaranteed share never delays a capture, so failures and restores alone decide when a
job computes: its stretches of computing are simulated first, from event to event of all jobs. Then,
for each failure, drains are replayed from an instant at which surely none was under way: is the
newest checkpoint on the storage?
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from planner.simulation.job import Array, Flags, JobRun, Places, Stretch, after_one_level
from planner.simulation.run import Failures, Runs, draw_failures, runs_at_once, warm_up_s

_ROUND, _TINY = 1e-9, 1e-300
_MOST_BACK = 200
"""Drains before a failure that are followed back, each under way when the next began."""


@dataclass(frozen=True)
class SharingJob:
    """A job with asynchronous checkpoints on one level; bandwidth in GB/s.

    Attributes:
        job: its times, by the bandwidths below.
        write: guaranteed share of the delivered write bandwidth.
        most_write: limit of its clients.
        read: rate of a restore that meets no other.
    """

    job: JobRun
    write: float
    most_write: float
    read: float


class Kept(NamedTuple):
    """Computing that is kept, s, by job and run: idle bandwidth lent, or fixed shares."""

    lent: Array
    fixed: Array


def simulate_together(
    jobs: Sequence[SharingJob],
    write: float,
    read: float,
    length_s: float,
    replications: int,
    seed: int,
) -> Kept:
    """Simulate all jobs of a site; one without others has the runs of `simulate`.

    Args:
        jobs: jobs whose shares add up to ``write`` at most.
        write, read: delivered bandwidth, GB/s; that of reads less ingest.
        length_s: length of a run, s.
        replications: number of runs.
        seed: seed of all draws; each job has its own failures.
    """
    before_s = max(warm_up_s(each.job) for each in jobs)
    end_s, found = before_s + length_s, list[Kept]()
    each = max(1, min(runs_at_once(one.job, end_s) for one in jobs) // len(jobs))
    for block, first in enumerate(range(0, replications, each)):
        runs = min(each, replications - first)
        failures = [
            draw_failures(one.job, end_s, seed + number, runs, block)
            for number, one in enumerate(jobs)
        ]
        drains = _Drains(jobs, _run(jobs, failures, read, end_s), write)
        found.append(_count(jobs, drains, before_s, end_s))
    return Kept(*(np.concatenate(parts, 1) for parts in zip(*found, strict=True)))


# Stretches of computing

_COMPUTE, _WAIT, _RESTART, _RESTORE = range(4)


class _Timeline(Runs):
    """Runs of one of several jobs, from event to event: a failure or the end of a phase.

    Attributes:
        phase: phase of each run.
        ends_s: its end; of a restore ``left_s`` is left at its full rate.
        place, failure_s: the next failure.
        stretches: runs, starts and ends of stretches of computing.
    """

    def __init__(self, job: JobRun, failures: Failures, now: Array, end_s: float) -> None:
        super().__init__(job, failures, 0.0, end_s)
        self.now, runs = now, len(now)
        self.phase, self.ends_s = np.full(runs, _COMPUTE), np.full(runs, math.inf)
        self.left_s, self.start_s = np.zeros((2, runs))
        self.place, self.failure_s = self._next_failure(np.arange(runs))
        self.stretches: list[tuple[Places, Array, Array]] = []

    def next_event_s(self, speed: Array) -> Array:
        """Time of the next event of each run; ``speed`` is that of restores."""
        restored_s = self.now + self.left_s / speed
        ends_s = np.where(self.phase == _RESTORE, restored_s, self.ends_s)
        return np.minimum(self.failure_s, ends_s)

    def proceed(self, some: Places) -> None:
        """Take runs through an event that they have now."""
        fails, phase = self.failure_s[some] <= self.now[some], self.phase[some]
        struck, waited = some[fails], some[~fails & (phase == _WAIT)]
        self.record(struck[phase[fails] == _COMPUTE])
        self._fail(struck, self.place[struck], self.safe[struck])
        self._begin_restart(np.concatenate([struck, waited]))
        restarted = some[~fails & (phase == _RESTART)]
        self.phase[restarted], self.left_s[restarted] = _RESTORE, self.job.restore_s
        resumed = some[~fails & (phase == _RESTORE)]
        self.phase[resumed], self.start_s[resumed] = _COMPUTE, self.now[resumed]
        self.ends_s[resumed], self.swapped[resumed] = math.inf, False

    def _begin_restart(self, some: Places) -> None:
        """Let runs restart, or wait for units."""
        short = self._share_running(some) == 0
        out, some = some[short], some[~short]
        back_s = self.back_s[out]
        self.phase[out], self.failure_s[out] = _WAIT, math.inf
        self.ends_s[out] = np.where(back_s > self.now[out, None], back_s, math.inf).min(1)
        swap_s = 0.0 if self.job.units is None else self.job.units.swap_s
        self.phase[some] = _RESTART
        self.ends_s[some] = self.now[some] + (self.job.restart_s + swap_s * self.swapped[some])
        self.place[some], self.failure_s[some] = self._next_failure(some)

    def record(self, some: Places) -> None:
        """Record the end of stretches."""
        self.stretches.append((some, self.start_s[some], self.now[some]))


def _run(
    jobs: Sequence[SharingJob], failures: Sequence[Failures], read: float, end_s: float
) -> list[_Timeline]:
    """Run all jobs to the end."""
    now, rates = np.zeros(len(failures[0].at_s)), np.array([[each.read] for each in jobs])
    lines = [_Timeline(one.job, own, now, end_s) for one, own in zip(jobs, failures, strict=True)]
    while (now < end_s).any():
        restores = np.stack([line.phase == _RESTORE for line in lines])
        speed = np.minimum(1.0, read / np.maximum((restores * rates).sum(0), rates.min()))
        events = [line.next_event_s(speed) for line in lines]
        ends_s = np.minimum(np.minimum.reduce(events), end_s)
        for line, here in zip(lines, restores, strict=True):
            line.left_s -= here * speed * (ends_s - now)
        now[:] = ends_s
        for line, event_s in zip(lines, events, strict=True):
            line.proceed(np.flatnonzero((event_s <= now) & (now < end_s)))
    for line in lines:
        line.record(np.flatnonzero(line.phase == _COMPUTE))
    return lines


# Drains


class _Drains:
    """Captures and drains of all jobs in their stretches, which are in order of job, run and time.

    Figures of jobs are columns. A line is a run of a job; jobs follow each other.
    """

    def __init__(
        self, jobs: Sequence[SharingJob], lines: Sequence[_Timeline], write: float
    ) -> None:
        def column(values: Iterable[float]) -> Array:
            return np.array([*values])[:, None]

        self.write, self.runs = write, len(lines[0].now)
        self.interval_s = column(each.job.interval_s for each in jobs)
        self.cycle_s = column(max(e.job.interval_s, e.job.stall_s + e.job.drain_s) for e in jobs)
        self.drain_s = column(each.job.drain_s for each in jobs)
        self.size_gb = column(each.write * each.job.drain_s for each in jobs)
        self.share = column(each.write for each in jobs)
        self.most_write = column(each.most_write for each in jobs)
        parts = [
            (run + number * self.runs, start_s, end_s)
            for number, line in enumerate(lines)
            for run, start_s, end_s in line.stretches
        ]
        line, start_s, end_s = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.lexsort((start_s, line))
        self.line, self.start_s, self.end_s = line[order], start_s[order], end_s[order]
        follows = np.append(self.line[1:] == self.line[:-1], False)
        self.next_s = np.where(follows, np.append(self.start_s[1:], 0.0), math.inf)
        self._span_s = 2.0 * lines[0].length_s
        self._keys = self.line * self._span_s + self.start_s

    def before(self, run: Places, time_s: Array) -> tuple[Places, Array]:
        """For each job the newest stretch begun before a time, and its captures before that."""
        line = run + self.runs * np.arange(len(self.share))[:, None]
        place = np.searchsorted(self._keys, line * self._span_s + time_s) - 1
        since_s = np.minimum(time_s, self.end_s[place]) - self.start_s[place] - self.interval_s
        return place, np.maximum(0.0, np.ceil(since_s / self.cycle_s - _ROUND))

    def captured_s(self, place: Places, number: Array) -> Array:
        """End of a capture, counted from 1, of a stretch of each job."""
        return np.asarray(self.start_s[place] + self.interval_s + (number - 1.0) * self.cycle_s)

    def idle_s(self, run: Places, time_s: Array) -> Array:
        """The newest time up to a start of a drain at which surely no other was under way."""
        time_s, later = time_s.copy(), np.arange(len(run))
        for _ in range(_MOST_BACK):
            place, number = self.before(run[later], time_s[later])
            begun_s = self.captured_s(place, number)
            busy = (number > 0) & (time_s[later] <= self.end_s[place])
            busy &= begun_s + self.drain_s > time_s[later]
            time_s[later] = np.where(busy, begun_s, time_s[later]).min(0)
            later = later[busy.any(0)]
            if not later.size:
                break
        return time_s

    def ended(self, job: int, run: Places, captured_s: Array, failed_s: Array) -> Flags:
        """Whether the drain of a job that began after a capture had ended at its failure."""
        time_s = self.idle_s(run, captured_s)
        place, number = self.before(run, time_s)
        left_gb = np.zeros(place.shape)
        while (on := np.flatnonzero(time_s < failed_s)).size:
            at, taken, left, now_s = place[:, on], number[:, on], left_gb[:, on], time_s[on]
            rates, end_s = self.rates(left > 0), self.end_s[at]
            done_s = np.where(left > 0, now_s + left / np.maximum(rates, _TINY), math.inf)
            event_s = self.captured_s(at, taken + 1)
            captures = event_s <= end_s
            stops_s = np.where(now_s < end_s, end_s, self.next_s[at])
            event_s = np.where(captures, event_s, stops_s)
            then_s = np.minimum(np.minimum(done_s, event_s).min(0), failed_s[on])
            left = np.where(done_s <= then_s, 0.0, left - rates * (then_s - now_s))
            due = (event_s <= then_s) & (then_s < failed_s[on])
            left_gb[:, on] = np.where(due, captures * self.size_gb, left)
            newer = due & ~captures & (now_s >= end_s)
            number[:, on] = np.where(newer, 0.0, taken + (due & captures))
            place[:, on], time_s[on] = at + newer, then_s
        return np.asarray(left_gb[job] <= _ROUND * self.size_gb[job])

    def rates(self, drains: Flags) -> Array:
        """Rates of drains: in proportion to their shares, up to the limits of their clients."""
        rates, rest = np.zeros(drains.shape), np.full(drains.shape[1], self.write)
        for _ in self.share:
            level = rest / np.maximum((drains * self.share).sum(0), _TINY)
            full = drains & (self.most_write <= level * self.share)
            rates, drains = np.where(full, self.most_write, rates), drains & ~full
            rest = rest - (full * self.most_write).sum(0)
        level = rest / np.maximum((drains * self.share).sum(0), _TINY)
        return np.where(drains, level * self.share, rates)


def _count(jobs: Sequence[SharingJob], drains: _Drains, before_s: float, end_s: float) -> Kept:
    """Count the work of each run that is kept after ``before_s``."""
    lent, fixed = np.zeros((2, len(jobs), drains.runs))
    for number, own in enumerate(jobs):
        mine = np.flatnonzero(drains.line // drains.runs == number)
        run, start_s, stop_s = (
            drains.line[mine] % drains.runs,
            drains.start_s[mine],
            drains.end_s[mine],
        )
        reached, fails = _stretch(own.job, stop_s - start_s), stop_s < end_s
        captures = np.rint(reached.captured / own.job.compute_s)
        captured_s = start_s + own.job.interval_s + (captures - 1.0) * drains.cycle_s[number]
        open_s = stop_s - captured_s - drains.size_gb[number] / min(own.most_write, drains.write)
        rows = np.flatnonzero(fails & (reached.safe < reached.captured) & (open_s > 0.0))
        rows = rows[drains.ended(number, run[rows], captured_s[rows], stop_s[rows])]
        safe = reached.safe.copy()
        safe[rows] = reached.captured[rows]
        early = _stretch(own.job, np.clip(before_s - start_s, 0.0, stop_s - start_s)).work
        for into, each in ((lent, safe), (fixed, reached.safe)):
            work = np.where(fails, each, reached.work)
            work -= np.where(stop_s < before_s, work, early)
            into[number] = np.bincount(run, work, drains.runs)
    return Kept(lent, fixed)


def _stretch(job: JobRun, lasts_s: Array) -> Stretch:
    before = np.zeros_like(lasts_s)
    return after_one_level(job, before + 1.0, lasts_s, lasts_s, before)
