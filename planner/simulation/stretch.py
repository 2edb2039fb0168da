"""A stretch of computing without a failure: where its time goes, and which checkpoints it leaves.

Times are counted from the start of the stretch, work from the start of the run; both in s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.simulation.job import JobRun
from planner.simulation.laws import Array

Places = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]

_ROUND = 1e-9


@dataclass
class LocalState:
    """Checkpoints of jobs with a local level, by cell.

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
    def empty(cls, cells: int) -> LocalState:
        """State at the start of a run."""
        return cls(np.zeros(cells), np.zeros(cells), np.zeros(cells), np.full(cells, np.nan))

    def of(self, cells: Places) -> LocalState:
        """State of some cells."""
        return LocalState(*(getattr(self, name)[cells] for name in self.__dataclass_fields__))

    def put(self, cells: Places, other: LocalState | None, rows: Flags) -> None:
        """Take over the state at the end of some stretches."""
        assert other is not None
        for name in self.__dataclass_fields__:
            getattr(self, name)[cells] = getattr(other, name)[rows]

    def clear(self, cells: Places) -> None:
        """Lose all local copies."""
        self.number[cells], self.left[cells], self.queued[cells] = 0.0, 0.0, np.nan

    def drain(
        self, cells: Places, lasts_s: Array, which: Flags, drain_s: float, safe: Array
    ) -> None:
        """Let drains continue for a time in which nothing is computed; ``safe`` is updated."""
        some, time_s = cells[which], lasts_s[which].copy()
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
        work: work done in the stretch.
        captured: of it, up to the newest capture.
        safe: with one level: of it, up to the newest safe checkpoint; with two: work in the newest
            checkpoint on the shared storage.
        held: with two levels: work in the newest safe local copy.
        local: with two levels: the state of its checkpoints.
    """

    spent: dict[str, Array]
    work: Array
    captured: Array
    safe: Array
    held: Array
    local: LocalState | None = None


def _spent(
    job: JobRun,
    speed: Array,
    computed: Array,
    slow: Array,
    capture: Array,
    wait: Array,
    waits: Array,
) -> dict[str, Array]:
    return {
        "capture": capture,
        "wait": wait,
        "slowdown": speed * slow,
        "short": (1.0 - speed) * computed,
        "waits": waits,
    }


def _beyond_rounding(time_s: Array) -> Array:
    return np.where(time_s > 1e-6, time_s, 0.0)


def after_one_level(
    job: JobRun, compute: Array, speed: Array, computing_s: Array, lasts_s: Array
) -> Stretch:
    """End of a stretch of a job with one level of checkpoints.

    Capture k ends at compute + stall + (k-1) (stall + max(compute, drain)), and is safe a drain
    later.

    Args:
        job: the job.
        compute: computing between two captures.
        speed: share of the job that runs.
        computing_s: time until the stretch ends, or until it waits for a growth.
        lasts_s: time until the stretch ends.
    """
    stall, drain, slowdown = job.stall_s, job.drain_s, job.drain_slowdown
    first, cycle = compute + stall, stall + np.maximum(compute, drain)
    captures = np.maximum(0.0, np.floor((computing_s - first) / cycle + _ROUND) + 1)
    since = np.maximum(0.0, computing_s - np.where(captures > 0, first + (captures - 1) * cycle, 0))
    computing = np.minimum(since, compute)
    some = captures > 0
    overlap = slowdown * np.minimum(compute, drain)

    def work_at(number: Array) -> Array:
        return number * compute - np.maximum(number - 1, 0.0) * overlap

    slow = np.maximum(captures - 1, 0.0) * overlap
    slow = slow + some * slowdown * np.minimum(computing, drain)
    computed = captures * compute + computing
    begun = np.where(some, np.maximum(compute, drain), compute)
    capture = captures * stall + np.maximum(0.0, since - begun)
    is_safe = (since + (lasts_s - computing_s)) * (1 + _ROUND) + _ROUND >= drain
    number = captures - (some & ~is_safe)
    waits = (drain > compute) * (np.maximum(captures - 1, 0.0) + (some & (since >= compute)))
    wait = _beyond_rounding(lasts_s - computed - capture)
    captured, safe = speed * work_at(captures), speed * work_at(number)
    work = speed * (computed - slow)
    return Stretch(
        _spent(job, speed, computed, slow, capture, wait, waits), work, captured, safe, safe
    )


def after_two_levels(
    job: JobRun,
    rhythm: tuple[Array, Array, Array],
    speed: Array,
    ends: tuple[Array, Array],
    state: LocalState,
    before: tuple[Array, Array],
) -> Stretch:
    """End of a stretch of a job with a local level.

    Capture k ends at k intervals and is safe locally ``settle`` later. The copies whose number is a
    multiple of ``every`` then drain one after another: copy j is due at first + j period and begins
    at max(first + j period, busy + (j - q) drain), where ``busy`` is the end of the drain under way
    at the start and q the newest copy due by then (-1: one that waited before).

    Args:
        job: the job; ``drain_s`` is at most ``every`` intervals.
        rhythm: computing between captures, time to settle, captures from one drain to the next.
        speed: share of the job that runs.
        ends: time until the stretch ends or waits for a growth, and until it ends.
        state: checkpoints at its start.
        before: work at its start, and in the newest checkpoint on the shared storage.
    """
    compute, settle, every = rhythm
    computing_s, lasts_s = ends
    interval = compute + job.stall_s
    captures = np.floor(computing_s / interval + _ROUND)
    since = np.maximum(0.0, computing_s - captures * interval)
    drains = _Drains(job, compute, settle, every, state)

    def work_at(number: Array) -> Array:
        slow = job.drain_slowdown * drains.overlap(number * interval)
        return before[0] + speed * (number * compute - slow)

    computed = captures * compute + np.minimum(since, compute)
    slow = job.drain_slowdown * drains.overlap(computing_s)
    settled = captures - ((captures > 0) & (since + lasts_s - computing_s + _ROUND < settle))
    capture = captures * job.stall_s + np.maximum(0.0, since - compute)
    wait = _beyond_rounding(lasts_s - computed - capture)
    safe, local = drains.at(lasts_s, work_at, before[1])
    local.number = state.number + settled
    work = speed * (computed - slow)
    spent = _spent(job, speed, computed, slow, capture, wait, np.zeros(len(wait)))
    return Stretch(spent, work, work_at(captures) - before[0], safe, work_at(settled), local)


class _Drains:
    """The drains of a stretch to the shared storage."""

    def __init__(
        self, job: JobRun, compute: Array, settle: Array, every: Array, state: LocalState
    ) -> None:
        self.compute, self.interval = compute, compute + job.stall_s
        self.drain_s, self.every, self.state = job.drain_s, every, state
        self.skipped = every - state.number % every
        self.first, self.period = self.skipped * self.interval + settle, every * self.interval
        busy = state.left
        newest = np.floor((busy - self.first) / self.period + _ROUND)
        waited = ~np.isnan(state.queued)
        self.chained = (busy > 0) & ((newest >= 0) | waited)
        self.begin = np.where(self.chained, np.maximum(newest, -1.0), 0.0)
        room = np.maximum(self.period - self.drain_s, 1e-12 * self.period)
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
        under_way = state.left > time_s
        following = done + 1
        starts = self._start(following)
        begun = ~under_way & (starts <= time_s * (1 + _ROUND) + _ROUND)
        left = np.where(
            under_way,
            state.left - time_s,
            np.where(begun, np.maximum(starts + drain_s - time_s, _ROUND), 0.0),
        )
        sending = np.where(begun, value(following), state.sending)
        queued = np.where(under_way, state.queued, np.nan)
        waits = (newest >= 0) & (under_way | (begun & (newest > following)))
        queued = np.where(waits, value(newest), queued)
        return safe, LocalState(state.number, left, sending, queued)

    def overlap(self, time_s: Array) -> Array:
        """Computing up to some time during which a drain is under way."""
        busy = self.state.left
        found = self._computed(np.minimum(time_s, busy))
        together = busy + self.lagging * self.drain_s
        found += np.where(
            self.chained & (time_s > busy),
            self._computed(np.minimum(time_s, together)) - self._computed(busy),
            0.0,
        )
        first = self.first + (self.begin + self.lagging) * self.period
        whole = np.maximum(0.0, np.floor((time_s - self.drain_s - first) / self.period) + 1)
        each = self._computed(first + self.drain_s) - self._computed(first)
        last = first + whole * self.period
        part = self._computed(np.maximum(time_s, last)) - self._computed(last)
        return np.asarray(found + whole * each + part)

    def _computed(self, time_s: Array) -> Array:
        whole = np.floor(time_s / self.interval)
        part: Array = np.minimum(time_s - whole * self.interval, self.compute)
        return whole * self.compute + part
