"""A plan's job as it is simulated: plain numbers, laws of failures, and a stretch of computing.

A stretch has no failure in it: where its time goes, and which checkpoints it leaves. Its times are
counted from its start, work from the start of the run; both in s.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from planner.schema.operation import JobPlan

Array: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = npt.NDArray[np.intp]
Flags: TypeAlias = npt.NDArray[np.bool_]
Kind = Literal["exponential", "weibull", "empirical"]
INTERVAL_TOLERANCE = 1e-6
"""Share of the interval by which a local copy may be late, as in a plan."""


@dataclass(frozen=True)
class Law:
    """A distribution of times.

    Attributes:
        mean_s: mean, s.
        kind: exponential (without memory), Weibull, or measured times drawn with replacement.
        shape: of a Weibull law; below 1 failures come in bunches.
        measured_s: measured times, stretched to the mean when drawn.
    """

    mean_s: float
    kind: Kind = "exponential"
    shape: float = 1.0
    measured_s: tuple[float, ...] = ()

    def draw(self, generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Draw independent times, s."""
        if self.kind == "weibull":
            scale = self.mean_s / math.gamma(1.0 + 1.0 / self.shape)
            return scale * generator.weibull(self.shape, shape)
        if self.kind == "empirical":
            measured = np.array(self.measured_s)
            return generator.choice(measured * (self.mean_s / measured.mean()), shape)
        return generator.exponential(self.mean_s, shape)


def empirical(measured_s: tuple[float, ...]) -> Law:
    """Law of measured times with their own mean."""
    return Law(math.fsum(measured_s) / len(measured_s), "empirical", measured_s=measured_s)


@dataclass(frozen=True)
class RepairUnits:
    """Units that fail and are repaired.

    Attributes:
        running: share of the job that runs with 0, 1, 2, ... units out, the first of them 1; with
            more units out the job stands still.
        swap_s: added to the restart after a failure that takes a unit out.
        racks: 1 where a spare serves the whole job, else the number of racks, each with spares of
            its own; ``running`` then holds for the rack with the most units out.
    """

    running: tuple[float, ...]
    swap_s: float = 0.0
    racks: int = 1

    @property
    def spares(self) -> int:
        """Units that may be out without effect."""
        return sum(share == 1.0 for share in self.running) - 1

    @property
    def shrinks(self) -> bool:
        """True if the job runs on a part of its GPUs while units are short."""
        return self.running[-1] < 1.0


@dataclass(frozen=True)
class LocalCopies:
    """A local level of checkpoints: every capture is kept there, usable ``settle_s`` after its end;
    each ``every``-th is drained to the shared storage, anew after a failure; ``restart_s``: from a
    failure that copies survive until the job computes."""

    settle_s: float
    every: int
    restart_s: float


@dataclass(frozen=True)
class JobRun:
    """A job; times in s.

    Attributes:
        interval_s: start of one checkpoint to the start of the next.
        stall_s: stall for each checkpoint; if synchronous, until it is written.
        drain_s: from the end of a capture until the checkpoint is on the shared storage; 0 if
            synchronous.
        restart_s: from a failure until the restore begins.
        restore_s: reading a checkpoint back.
        failures: times from one interruption to the next, all GPUs running.
        drain_slowdown: share of speed lost while a checkpoint drains.
        hardware_share: share of interruptions that take a unit out, for a time of ``repair``.
        remote_share: share of interruptions that local copies do not survive.
        units: units that are repaired; None without repair.
        local: local level of checkpoints, None without one.
        lost_time: share of the time between restarts without progress.
    """

    name: str
    interval_s: float
    stall_s: float
    drain_s: float
    restart_s: float
    restore_s: float
    failures: Law
    drain_slowdown: float = 0.0
    sync: bool = False
    hardware_share: float = 0.0
    repair: Law | None = None
    remote_share: float = 1.0
    units: RepairUnits | None = None
    local: LocalCopies | None = None
    lost_time: float = 0.0

    @property
    def compute_s(self) -> float:
        """Computing between two captures."""
        return self.interval_s - self.stall_s

    @property
    def repair_load(self) -> float:
        """Mean number of units out if the job never stood still."""
        if self.repair is None:
            return 0.0
        return self.hardware_share * self.repair.mean_s / self.failures.mean_s


def job_of(job: JobPlan, failures: Law, interval_s: float | None = None) -> JobRun:
    """Job of a plan under a law of failures, with its own interval or another.

    Raises:
        ValueError: a local copy is late in the interval.
    """
    every_s, sync = job.interval_s if interval_s is None else interval_s, job.mode == "sync"
    local, copies = job.local, None
    if local is not None:
        room_s = every_s - job.stall_s
        if local.drain_s > room_s + INTERVAL_TOLERANCE * every_s:
            late_s = job.stall_s + local.drain_s
            raise ValueError(f"a local copy is safe {late_s:.3g} s after its capture begins")
        copies = LocalCopies(min(local.drain_s, room_s), local.every, local.restart_s)
    same = ("name", "stall_s", "drain_s", "restart_s", "restore_s", "lost_time")
    return JobRun(
        **{name: getattr(job, name) for name in same},
        interval_s=every_s,
        failures=failures,
        drain_slowdown=0.0 if sync else job.drain_slowdown,
        sync=sync,
        hardware_share=0.0 if job.repair is None else job.repair.hardware_share,
        repair=None if job.repair is None else Law(job.repair.repair_s),
        remote_share=1.0 if local is None else local.remote_share,
        units=_repair_units(job),
        local=copies,
    )


def full_mtti_s(job: JobPlan) -> float:
    """Mean time between interruptions with all replicas running, s."""
    shrunk = None if job.repair is None else job.repair.shrunk
    return job.mtti_s if shrunk is None else job.mtti_s * shrunk.failing


def _repair_units(job: JobPlan) -> RepairUnits | None:
    repair = job.repair
    if repair is None:
        return None
    (usable,) = job.usable_gpus_by_type.values()
    if repair.in_rack:
        racks = math.ceil(job.gpus_used / usable)
        return RepairUnits((1.0,) * (repair.spares // racks + 1), repair.swap_s, racks)
    if repair.shrunk is None:
        return RepairUnits((1.0,) * (repair.spares + 1), repair.swap_s)
    each = min(usable, repair.unit_gpus)
    step = job.replica_gpus if job.whole_replicas and job.replica_gpus else each
    units = math.ceil(job.gpus_used / each) + repair.spares
    least, most = repair.shrunk.least_replicas, math.ceil(job.gpus_used / step)
    replicas = [each * (units - out) // step for out in range(units + 1)]
    running = [min(most, count) for count in replicas if count >= least]
    shares = tuple(count / running[0] for count in running if count)
    return RepairUnits(shares, repair.swap_s)


# A stretch of computing

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

    def take(self, some: Places | Flags) -> LocalState:
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
        spent: s by name.
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
    speed: Array, computed: Array, slow: Array, capture: Array, lasts_s: Array
) -> dict[str, Array]:
    wait = lasts_s - computed - capture
    return {
        "capture": capture,
        "wait": np.where(wait > 1e-6, wait, 0.0),  # less is rounding
        "slowdown": speed * slow,
        "short": (1.0 - speed) * computed,
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
    safe = work_at(captures - (some & ~is_safe))
    spent = _spent(speed, computed, slow, capture, lasts_s)
    return Stretch(spent, before + speed * (computed - slow), work_at(captures), safe, safe)


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
    multiple of ``_Drains.every`` then drain one after another: copy j is due at first + j period
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
    safe, local = drains.stored_at(lasts_s, work_at, safe)
    local.number = state.number + settled
    spent = _spent(speed, computed, slow, capture, lasts_s)
    work = before + speed * (computed - slow)
    return Stretch(spent, work, work_at(captures), safe, work_at(settled), local)


class _Drains:
    """The drains of a stretch to the shared storage."""

    def __init__(self, job: JobRun, state: LocalState) -> None:
        assert job.local is not None
        self.compute, self.interval = job.compute_s, job.interval_s
        self.drain_s, self.state = job.drain_s, state
        late = math.ceil(job.drain_s / job.interval_s - 1e-9)
        self.every = max(job.local.every, late)
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

    def stored_at(
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
