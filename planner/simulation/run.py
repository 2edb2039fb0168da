"""Many runs of a job side by side, each from failure to failure.

Between two failures checkpoints repeat, so the state after a stretch of computing is a formula of
its length. A step takes every run through one restart and one stretch, up to its next failure, to a
restart with more replicas, or to the end. Failures are drawn beforehand: the same ones strike every
interval that is tried.

The formulas of goodput are not used here; `planner simulate` compares with them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from planner.simulation.job import (
    Array,
    Flags,
    JobRun,
    LocalState,
    Places,
    Stretch,
    after_one_level,
    after_two_levels,
)

TIMES = (
    "kept",
    "capture",
    "wait",
    "slowdown",
    "rework",
    "drain",
    "restart",
    "restore",
    "repair",
    "short",
)
"""Parts of a run's length, s: computing that is kept at full speed; standing still for captures and
for drains; computing lost to slow drains, back to the newest capture, and beyond the newest capture
because it was not safe; restarting; reading back; standing still for a repair; computing lost
because fewer replicas run."""
COUNTS = ("failures", "taken", "far", "short_of_units", "grown")
"""Interruptions; units taken out; failures that local copies did not survive; waits for a repair;
restarts with more replicas."""
_AT = {name: row for row, name in enumerate((*TIMES, *COUNTS))}
_WARM = 5.0
"""Mean remaining times of repair before a run counts."""
_MOST_DRAWN, _MOST_RUNS = 20_000_000, 1000
_SPARE = 6.0


class Failures:
    """Failures of several runs in order of time, by run; the last of each is at infinity.

    Attributes:
        at_s: times, s.
        local: whether local copies survive.
        out_s: time of repair of the unit that goes out; 0: none does.
        rack: rack that is struck.
        luck: uniform in 0 to 1; the failure strikes where a larger share of the job runs.
    """

    def __init__(self, at_s: Array, local: Flags, out_s: Array, rack: Places, luck: Array) -> None:
        self.at_s, self.local, self.out_s, self.rack, self.luck = at_s, local, out_s, rack, luck
        last_s = float(at_s[np.isfinite(at_s)].max(initial=1.0))
        self._span_s = 3.0 * last_s
        keys = np.minimum(at_s, 2.0 * last_s) + self._span_s * np.arange(len(at_s))[:, None]
        self._keys = keys.reshape(-1)

    def first_after(self, run: Places, time_s: Array) -> Places:
        """Place of the first failure of some runs after some times."""
        key = run * self._span_s + np.minimum(time_s, self._span_s / 2)
        place = np.searchsorted(self._keys, key, side="right") - run * self.at_s.shape[1]
        return np.asarray(np.minimum(place, self.at_s.shape[1] - 1))


def draw_failures(job: JobRun, length_s: float, seed: int, runs: int, block: int = 0) -> Failures:
    """Failures of some runs of a length; ``block`` numbers the draws of one seed."""
    times_of, marks_of = (
        np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(block, each)))
        for each in range(2)
    )
    count = length_s / job.failures.mean_s
    width = math.ceil(count + _SPARE * math.sqrt(count) + 8.0)
    times = np.cumsum(job.failures.draw(times_of, (runs, width)), 1)
    while times[:, -1].min() < length_s:
        more = job.failures.draw(times_of, (runs, max(8, times.shape[1] // 4)))
        times = np.hstack([times, times[:, -1:] + np.cumsum(more, 1)])
    most = int((times < length_s).sum(1).max(initial=0))
    times = np.where(times[:, : most + 1] < length_s, times[:, : most + 1], math.inf)
    return mark_failures(job, times, marks_of)


def mark_failures(job: JobRun, times: Array, generator: np.random.Generator) -> Failures:
    """Failures at given times, with their effects drawn."""
    shape = times.shape
    out_s, rack = np.zeros(shape), np.zeros(shape, np.intp)
    local = generator.random(shape) < 1.0 - job.remote_share
    if job.repair is not None:
        taken = generator.random(shape) < job.hardware_share
        out_s = np.where(taken, job.repair.draw(generator, shape), 0.0)
    if job.units is not None and job.units.racks > 1:
        rack = generator.integers(0, job.units.racks, shape)
    return Failures(times, local, out_s, rack, generator.random(shape))


def simulate(
    variants: Sequence[JobRun],
    length_s: float,
    replications: int,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Array]:
    """Parts of each run's length and its counts, by ``TIMES`` and ``COUNTS``.

    Args:
        variants: the job with each interval to try; all meet the same failures.
        length_s: length of a run, s.
        replications: number of runs.
        seed: seed of all draws.

    Returns:
        Arrays of variants by runs.
    """
    job, before_s, blocks = variants[0], warm_up_s(variants[0]), []
    end_s = before_s + length_s
    each = runs_at_once(job, end_s)
    for block, first in enumerate(range(0, replications, each)):
        runs = min(each, replications - first)
        failures = draw_failures(job, end_s, seed, runs, block)
        found = [Runs(variant, failures, before_s, end_s).run() for variant in variants]
        blocks.append({name: np.stack([one[name] for one in found]) for name in _AT})
        if progress is not None:
            progress(first + runs, replications)
    return {name: np.concatenate([found[name] for found in blocks], 1) for name in _AT}


def warm_up_s(job: JobRun) -> float:
    """Time before a run counts, s: as many units are out as usual."""
    return 0.0 if job.repair is None else _WARM * job.repair.mean_s


def runs_at_once(job: JobRun, end_s: float) -> int:
    """Number of runs whose failures are drawn together."""
    return max(1, min(_MOST_RUNS, int(_MOST_DRAWN * job.failures.mean_s / end_s / 5)))


class Runs:
    """Runs of a job under given failures.

    Args:
        failures: failures by run.
        before_s: start of each run that does not count, s.
        length_s: end of each run, s.
    """

    def __init__(self, job: JobRun, failures: Failures, before_s: float, length_s: float) -> None:
        self.job, self.failures = job, failures
        self.before_s, self.length_s = before_s, length_s
        runs = len(failures.at_s)
        self.now, self.work, self.safe = np.zeros((3, runs))
        self.total, self.warm = np.zeros((2, len(_AT), runs))
        self.warmed = np.full(runs, before_s <= 0)
        self.local = LocalState.empty(runs)
        self.resend, self.far, self.swapped = np.zeros((3, runs), np.bool_)
        self.speed = np.ones(runs)
        self.back_s = np.full((runs, 2), -math.inf)
        self.rack = np.zeros((runs, 2), np.intp)
        self.running = np.array([*((1.0,) if job.units is None else job.units.running), 0.0])

    def run(self) -> dict[str, Array]:
        """Totals by name, of the part of each run that counts."""
        self._compute(np.arange(len(self.now)))
        while (left := np.flatnonzero(self.now < self.length_s)).size:
            self._compute(self._restart(left))
        return {name: self.total[row] - self.warm[row] for name, row in _AT.items()}

    # Restarts

    def _restart(self, some: Places) -> Places:
        """Restart some runs; return those that compute again before the next failure."""
        job, some = self.job, self._wait_for_units(some)
        near = ~self.far[some] & (job.local is not None)
        swap_s = 0.0 if job.units is None else job.units.swap_s
        near_s = job.restart_s if job.local is None else job.local.restart_s
        restart_s = np.where(near, near_s, job.restart_s) + swap_s * self.swapped[some]
        restore_s = np.where(near, 0.0, job.restore_s)
        place, failure_s = self._next_failure(some)
        ends_s = np.minimum(failure_s, self.length_s)
        done = self.now[some] + restart_s + restore_s < ends_s
        lasts_s = np.where(done, restart_s + restore_s, ends_s - self.now[some])
        first_s = np.minimum(lasts_s, restart_s)
        self._pass(some, "restart", first_s)
        self._pass(some, "restore", lasts_s - first_s)
        self.local.drain(some[near], lasts_s[near], job.drain_s, self.safe)
        struck = ~done & (failure_s < self.length_s)
        self.now[some[~done]] = ends_s[~done]
        self._fail(some[struck], place[struck], self.work[some[struck]])
        resumed: Places = some[done]
        self.far[resumed] = self.swapped[resumed] = False
        again = resumed[self.resend[resumed]]
        self.resend[again], self.local.left[again] = False, job.drain_s
        self.speed[resumed] = self._share_running(resumed)
        return resumed

    def _wait_for_units(self, some: Places) -> Places:
        """Let runs stand still until enough units are back; return those that can restart."""
        self.speed[some] = self._share_running(some)
        out = some[self.speed[some] == 0]
        self.total[_AT["short_of_units"], out] += 1
        while out.size:
            back = self.back_s[out]
            back = np.where(back > self.now[out, None], back, math.inf).min(1)
            ends_s = np.minimum(back, self.length_s)
            lasts_s, near = ends_s - self.now[out], ~self.far[out]
            self._pass(out, "repair", lasts_s)
            self.local.drain(out[near], lasts_s[near], self.job.drain_s, self.safe)
            self.now[out] = ends_s
            self.speed[out] = self._share_running(out)
            out = out[(self.speed[out] == 0) & (self.now[out] < self.length_s)]
        return some[self.now[some] < self.length_s]

    def _share_running(self, some: Places) -> Array:
        """Share of the job that can run with the units that are not out."""
        if self.job.units is None:
            return np.ones(len(some))
        is_out = self.back_s[some] > self.now[some, None]
        racks = self.job.units.racks
        if racks == 1:
            out = is_out.sum(1)
        else:
            row, slot = np.nonzero(is_out)
            key = row * racks + self.rack[some[row], slot]
            out = np.bincount(key, minlength=len(some) * racks).reshape(-1, racks).max(1)
        return np.asarray(self.running[np.minimum(out, len(self.running) - 1)])

    def _next_failure(self, some: Places) -> tuple[Places, Array]:
        """Next failure that strikes each run: its place, and its time."""
        given = self.failures
        place = given.first_after(some, self.now[some])
        if self.job.units is not None and self.job.units.shrinks:
            while True:
                spared = given.luck[some, place] >= self.speed[some]
                spared &= np.isfinite(given.at_s[some, place])
                if not spared.any():
                    break
                place = place + spared
        return place, given.at_s[some, place]

    # Computing

    def _compute(self, some: Places) -> None:
        """Take runs that begin to compute up to their next failure, restart or end."""
        place, failure_s = self._next_failure(some)
        start_s = self.now[some]
        captured_s, grow_s = self._growth(some)
        ends_s = np.minimum(np.minimum(failure_s, grow_s), self.length_s)
        crosses = ~self.warmed[some] & (ends_s >= self.before_s)
        if crosses.any():
            early = some[crosses]
            at_s = np.minimum(self.before_s, captured_s[crosses]) - start_s[crosses]
            reached = self._stretch_after(early, at_s, self.before_s - start_s[crosses])
            self._account(self.warm, early, self.total[:, early], reached)
            self.warmed[early] = True
        reached = self._stretch_after(
            some, np.minimum(ends_s, captured_s) - start_s, ends_s - start_s
        )
        self._account(self.total, some, self.total[:, some], reached)
        self.now[some] = ends_s
        failed = (failure_s <= ends_s) & (ends_s < self.length_s)
        grown = ~failed & (grow_s <= ends_s) & (ends_s < self.length_s)
        more, struck = some[grown], some[failed]
        self.total[_AT["grown"], more] += 1
        self.work[more] = reached.work[grown]
        self.safe[more] = (reached.work if reached.local is None else reached.safe)[grown]
        self.total[_AT["rework"], struck] += (reached.work - reached.captured)[failed]
        self.work[struck], self.safe[struck] = reached.held[failed], reached.safe[failed]
        if reached.local is not None:
            self.local.put(more, reached.local.take(grown))
            self.local.put(struck, reached.local.take(failed))
        self._fail(struck, place[failed], reached.captured[failed])

    def _stretch_after(self, some: Places, computing_s: Array, lasts_s: Array) -> Stretch:
        """State after a stretch whose last part, if any, is waiting for a growth."""
        times = self.speed[some], computing_s, lasts_s, self.work[some]
        if self.job.local is None:
            return after_one_level(self.job, *times)
        return after_two_levels(self.job, *times, self.safe[some], self.local.take(some))

    def _growth(self, some: Places) -> tuple[Array, Array]:
        """End of the capture after which the job restarts with more replicas, and the time at which
        that checkpoint is safe; infinite where no unit comes back."""
        ends, safe = np.full(len(some), math.inf), np.full(len(some), math.inf)
        job, rows = self.job, np.flatnonzero(self.speed[some] < 1)
        if job.units is None or not job.units.shrinks or not rows.size:
            return ends, safe
        some = some[rows]
        back = np.sort(
            np.where(self.back_s[some] > self.now[some, None], self.back_s[some], math.inf), 1
        )
        out = np.isfinite(back).sum(1)[:, None]
        later = out - 1 - np.arange(back.shape[1])
        share = self.running[np.clip(later, 0, len(self.running) - 1)]
        raises = (share > self.speed[some, None]) & np.isfinite(back)
        at_s = np.where(raises, back, math.inf).min(1) - self.now[some]
        drained_s = 0.0 if job.local is not None else job.drain_s
        cycle = job.stall_s + max(job.compute_s, drained_s)
        number = np.maximum(0.0, np.ceil((at_s - job.interval_s) / cycle))
        ends[rows] = self.now[some] + job.interval_s + number * cycle
        safe[rows] = ends[rows] + (job.drain_s if job.local is None else job.local.settle_s)
        return ends, safe

    def _fail(self, some: Places, place: Places, captured: Array) -> None:
        """Go back to the newest checkpoint that is left, and take a unit out."""
        if not some.size:
            return
        job, given = self.job, self.failures
        self.total[_AT["failures"], some] += 1
        back = self.safe[some]
        if job.local is not None:
            near = given.local[some, place] & ~self.far[some]
            back = np.where(near, self.work[some], back)
            self.total[_AT["far"], some] += ~near
            broken = some[near & (self.local.left[some] > 0)]
            self.resend[broken], self.local.left[broken] = True, 0.0
            lost = some[~near]
            self.local.clear(lost)
            self.resend[lost], self.far[lost] = False, True
        self.total[_AT["drain"], some] += captured - back
        self.work[some] = self.total[_AT["kept"], some] = back
        out_s = given.out_s[some, place]
        self.swapped[some] = taken = out_s > 0
        self._take_out(some[taken], out_s[taken], given.rack[some, place][taken])

    def _take_out(self, some: Places, out_s: Array, rack: Places) -> None:
        self.total[_AT["taken"], some] += 1
        if self.job.units is None or not some.size:
            return
        free = self.back_s[some] <= self.now[some, None]
        if not free.any(1).all():
            self.back_s = np.pad(self.back_s, ((0, 0), (0, 4)), constant_values=-math.inf)
            self.rack = np.pad(self.rack, ((0, 0), (0, 4)))
            free = self.back_s[some] <= self.now[some, None]
        slot = free.argmax(1)
        self.back_s[some, slot] = self.now[some] + out_s
        self.rack[some, slot] = rack

    # Accounts

    def _pass(self, some: Places, name: str, lasts_s: Array) -> None:
        """Let a part of time pass in which nothing is computed."""
        ends_s = self.now[some] + lasts_s
        crosses = ~self.warmed[some] & (ends_s >= self.before_s)
        early = some[crosses]
        self.warm[:, early] = self.total[:, early]
        self.warm[_AT[name], early] += self.before_s - self.now[early]
        self.warmed[early] = True
        self.total[_AT[name], some] += lasts_s
        self.now[some] = ends_s

    def _account(self, into: Array, some: Places, before: Array, reached: Stretch) -> None:
        """Add a stretch to the accounts before it."""
        into[:, some] = before
        for name, value in reached.spent.items():
            into[_AT[name], some] += value
        into[_AT["kept"], some] = reached.work
