"""A stretch of computing without a failure: where its time goes, and which checkpoints it leaves.

Times are counted from the start of the stretch, work from the start of the run; both in s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from math import ceil

import numpy as np
import numpy.typing as npt

from planner.simulation.job import Array, JobRun

Places = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]

_ROUND = 1e-9


@dataclass
class LocalState:
    """Checkpoints of runs with a local level, by run.

    Attributes:
        number: captures since copies were lost last.
        left: s until the drain under way ends; 0 without one.
        sending: work in the checkpoint that drains.
        queued: work in the newest checkpoint that waits for the drain; NaN without one.
    """

    number: Array
    left: Array
    sending: Array
    queued: Array

    @classmethod
    def empty(cls, runs: int) -> LocalState:
        """State at the start of runs."""
        return cls(np.zeros(runs), np.zeros(runs), np.zeros(runs), np.full(runs, np.nan))

    def of(self, some: Places | Flags) -> LocalState:
        """State of some runs."""
        return LocalState(*(getattr(self, each.name)[some] for each in fields(self)))

    def put(self, some: Places, other: LocalState) -> None:
        """Take over the state of some runs."""
        for each in fields(self):
            getattr(self, each.name)[some] = getattr(other, each.name)

    def clear(self, some: Places) -> None:
        """Lose all local copies."""
        self.number[some], self.left[some], self.queued[some] = 0.0, 0.0, np.nan

    def drain(self, some: Places, lasts_s: Array, drain_s: float, safe: Array) -> None:
        """Let drains continue for a time in which nothing is computed; ``safe`` is updated."""
        time_s = lasts_s.copy()
        for _ in range(2):
            ends = (self.left[some] > 0) & (self.left[some] <= time_s)
            done = some[ends]
            safe[done] = self.sending[done]
            time_s[ends] -= self.left[done]
            waiting = ~np.isnan(self.queued[done])
            self.left[done] = np.where(waiting, drain_s, 0.0)
            self.sending[done[waiting]] = self.queued[done[waiting]]
            self.queued[done] = np.nan
        self.left[some] = np.maximum(0.0, self.left[some] - time_s)


@dataclass(frozen=True)
class Stretch:
    """The end of a stretch.

    Attributes:
        spent: s by name, and the number of waits for a drain.
        work: work done.
        captured: work in the newest capture.
        safe: work in the newest checkpoint on the shared storage.
        held: work in the newest safe local copy; with one level as ``safe``.
        local: with two levels, the state of its checkpoints.
    """

    spent: dict[str, Array]
    work: Array
    captured: Array
    safe: Array
    held: Array
    local: LocalState | None = None


def _spent(
    speed: Array, computed: Array, slow: Array, capture: Array, lasts_s: Array, waits: Array
) -> dict[str, Array]:
    wait = lasts_s - computed - capture
    return {
        "capture": capture,
        "wait": np.where(wait > 1e-6, wait, 0.0),  # less is rounding
        "slowdown": speed * slow,
        "short": (1.0 - speed) * computed,
        "waits": waits,
    }


def after_one_level(
    job: JobRun, speed: Array, computing_s: Array, lasts_s: Array, before: Array
) -> Stretch:
    """End of a stretch of a job with one level of checkpoints.

    Capture k ends at compute + stall + (k-1) (stall + max(compute, drain)), and is safe a drain
    later.

    Args:
        speed: share of the job that runs.
        computing_s: time until the stretch ends, or until it waits for a growth.
        lasts_s: time until the stretch ends.
        before: work at its start, which is safe.
    """
    compute, drain, slowdown = job.compute_s, job.drain_s, job.drain_slowdown
    first, cycle = job.interval_s, job.stall_s + max(compute, drain)
    overlap = slowdown * min(compute, drain)
    captures = np.maximum(0.0, np.floor((computing_s - first) / cycle + _ROUND) + 1)
    some = captures > 0
    since = np.maximum(0.0, computing_s - np.where(some, first + (captures - 1) * cycle, 0.0))
    computing = np.minimum(since, compute)

    def work_at(number: Array) -> Array:
        return before + speed * (number * compute - np.maximum(number - 1, 0.0) * overlap)

    again = np.maximum(captures - 1, 0.0)
    slow = again * overlap + some * slowdown * np.minimum(computing, drain)
    computed = captures * compute + computing
    begun = np.where(some, max(compute, drain), compute)
    capture = captures * job.stall_s + np.maximum(0.0, since - begun)
    is_safe = (since + (lasts_s - computing_s)) * (1 + _ROUND) + _ROUND >= drain
    waits = (drain > compute) * (again + (some & (since >= compute)))
    safe = work_at(captures - (some & ~is_safe))
    spent = _spent(speed, computed, slow, capture, lasts_s, waits)
    return Stretch(spent, before + speed * (computed - slow), work_at(captures), safe, safe)


def drained_every(job: JobRun) -> int:
    """Captures from one drained copy to the next; more than planned where a drain lasts longer."""
    if job.local is None:
        return 1
    return max(job.local.every, ceil(job.drain_s / job.interval_s - 1e-9))


def after_two_levels(
    job: JobRun,
    speed: Array,
    computing_s: Array,
    lasts_s: Array,
    before: Array,
    safe: Array,
    state: LocalState,
) -> Stretch:
    """End of a stretch of a job with a local level.

    Capture k ends at k intervals and is safe locally ``settle`` later. The copies whose number is a
    multiple of ``drained_every`` then drain one after another: copy j is due at first + j period
    and begins at max(first + j period, busy + (j - q) drain), where ``busy`` is the end of the
    drain under way at the start and q the newest copy due by then (-1: one that waited before).

    Args:
        speed, computing_s, lasts_s, before: as in ``after_one_level``.
        safe: work in the newest checkpoint on the shared storage, at the start.
        state: checkpoints at the start.
    """
    assert job.local is not None
    compute, interval = job.compute_s, job.interval_s
    captures = np.floor(computing_s / interval + _ROUND)
    since = np.maximum(0.0, computing_s - captures * interval)
    drains = _Drains(job, state)

    def work_at(number: Array) -> Array:
        slow = job.drain_slowdown * drains.overlap(number * interval)
        return before + speed * (number * compute - slow)

    computed = captures * compute + np.minimum(since, compute)
    slow = job.drain_slowdown * drains.overlap(computing_s)
    unsettled = since + lasts_s - computing_s + _ROUND < job.local.settle_s
    settled = captures - ((captures > 0) & unsettled)
    capture = captures * job.stall_s + np.maximum(0.0, since - compute)
    safe, local = drains.at(lasts_s, work_at, safe)
    local.number = state.number + settled
    spent = _spent(speed, computed, slow, capture, lasts_s, np.zeros(len(captures)))
    work = before + speed * (computed - slow)
    return Stretch(spent, work, work_at(captures), safe, work_at(settled), local)


class _Drains:
    """The drains of a stretch to the shared storage."""

    def __init__(self, job: JobRun, state: LocalState) -> None:
        assert job.local is not None
        self.compute, self.interval = job.compute_s, job.interval_s
        self.drain_s, self.every, self.state = job.drain_s, drained_every(job), state
        self.skipped = self.every - state.number % self.every
        self.first = self.skipped * self.interval + job.local.settle_s
        self.period = self.every * self.interval
        busy = state.left
        newest = np.floor((busy - self.first) / self.period + _ROUND)
        waited = ~np.isnan(state.queued)
        self.chained = (busy > 0) & ((newest >= 0) | waited)
        self.begin = np.where(self.chained, np.maximum(newest, -1.0), 0.0)
        room = max(self.period - self.drain_s, 1e-12 * self.period)
        lagging = np.floor((busy - self.first - self.begin * self.period) / room) + 1
        self.lagging = np.where(self.chained, np.maximum(1.0, lagging), 0.0)

    def _start(self, copy: Array) -> Array:
        own = np.where(copy < 0, 0.0, self.first + copy * self.period)
        after = self.state.left + (copy - self.begin) * self.drain_s
        return np.where(self.chained, np.maximum(own, after), own)

    def at(
        self, time_s: Array, work_at: Callable[[Array], Array], safe: Array
    ) -> tuple[Array, LocalState]:
        """Work on the shared storage at some time, and the drain under way."""
        state, drain_s = self.state, self.drain_s
        newest = np.floor((time_s - self.first) / self.period + _ROUND)
        done = np.floor((time_s - drain_s - self.first) / self.period + _ROUND)
        done = np.where(self.begin < 0, np.maximum(done, -1.0), done)
        chain = self.begin + np.floor((time_s - state.left) / drain_s + _ROUND) - 1
        done = np.where(self.chained, np.minimum(done, chain), done)
        done = np.where(done >= self.begin, done, self.begin - 1)

        def value(copy: Array) -> Array:
            made = work_at(self.skipped + np.maximum(copy, 0.0) * self.every)
            return np.where(copy < 0, state.queued, made)

        ended = (state.left > 0) & (state.left <= time_s)
        safe = np.where(ended, state.sending, safe)
        safe = np.where(done >= self.begin, value(done), safe)
        under_way, following = state.left > time_s, done + 1
        starts = self._start(following)
        begun = ~under_way & (starts <= time_s * (1 + _ROUND) + _ROUND)
        rest = np.where(begun, np.maximum(starts + drain_s - time_s, _ROUND), 0.0)
        left = np.where(under_way, state.left - time_s, rest)
        sending = np.where(begun, value(following), state.sending)
        queued = np.where(under_way, state.queued, np.nan)
        waits = (newest >= 0) & (under_way | (begun & (newest > following)))
        queued = np.where(waits, value(newest), queued)
        return safe, LocalState(state.number, left, sending, queued)

    def overlap(self, time_s: Array) -> Array:
        """Computing up to some time during which a drain is under way."""
        busy, computed = self.state.left, self._computed
        together = busy + self.lagging * self.drain_s
        later = self.chained & (time_s > busy)
        chain = computed(np.minimum(time_s, together)) - computed(busy)
        first = self.first + (self.begin + self.lagging) * self.period
        whole = np.maximum(0.0, np.floor((time_s - self.drain_s - first) / self.period) + 1)
        each = computed(first + self.drain_s) - computed(first)
        last = first + whole * self.period
        part = computed(np.maximum(time_s, last)) - computed(last)
        begun = computed(np.minimum(time_s, busy)) + np.where(later, chain, 0.0)
        return np.asarray(begun + whole * each + part)

    def _computed(self, time_s: Array) -> Array:
        whole = np.floor(time_s / self.interval)
        return whole * self.compute + np.minimum(time_s - whole * self.interval, self.compute)
