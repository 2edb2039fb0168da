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
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from planner.simulation.job import JobRun
from planner.simulation.laws import Array
from planner.simulation.stretch import LocalState, Stretch, after_one_level, after_two_levels

Flags: TypeAlias = npt.NDArray[np.bool_]
Places: TypeAlias = npt.NDArray[np.intp]

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

COUNTS = ("failures", "waits", "taken", "far", "short_of_units", "grown")
"""Interruptions; waits for a drain; units taken out; failures that local copies did not survive;
waits for a repair; restarts with more replicas."""

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
    """Failures of some runs.

    Args:
        job: the job.
        length_s: length of a run.
        seed: seed of all draws.
        runs: number of runs.
        block: number of the block of runs, for draws of its own.
    """
    times_of, marks_of = (
        np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(block, each)))
        for each in range(2)
    )
    count = length_s / job.failures.mean_s
    width = math.ceil(count + _SPARE * job.failures.variation * math.sqrt(count) + 8.0)
    times = np.cumsum(job.failures.draw(times_of, (runs, width)), 1)
    while times[:, -1].min() < length_s:
        more = job.failures.draw(times_of, (runs, max(8, times.shape[1] // 4)))
        times = np.hstack([times, times[:, -1:] + np.cumsum(more, 1)])
    most = int((times < length_s).sum(1).max(initial=0))
    times = np.where(times[:, : most + 1] < length_s, times[:, : most + 1], math.inf)
    return mark_failures(job, times, marks_of)


def mark_failures(job: JobRun, times: Array, generator: np.random.Generator) -> Failures:
    """Failures at given times, with their effects drawn."""
    shape, classes = times.shape, job.classes
    out_s, rack = np.zeros(shape), np.zeros(shape, np.intp)
    if not classes:
        return Failures(times, np.zeros(shape, np.bool_), out_s, rack, np.zeros(shape))
    edges = np.cumsum([each.share for each in classes])
    kind = np.searchsorted(edges[:-1], generator.random(shape), side="right")
    taken = generator.random(shape) < np.array([each.out for each in classes])[kind]
    for number, each in enumerate(classes):
        if each.repair is not None:
            chosen = taken & (kind == number)
            out_s = np.where(chosen, each.repair.draw(generator, shape), out_s)
    if job.units is not None and job.units.racks > 1:
        rack = generator.integers(0, job.units.racks, shape)
    local = np.array([each.local for each in classes])[kind]
    return Failures(times, local, out_s, rack, generator.random(shape))


def warm_s(job: JobRun) -> float:
    """Time until as many units are out as usual, s; 0 without repair."""
    repairs = (each.repair.mean_s for each in job.classes if each.repair is not None)
    return _WARM * max(repairs, default=0.0)


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
        progress: called with the number of runs that are done, and of all.

    Returns:
        Arrays of variants by runs.
    """
    job = variants[0]
    before_s = warm_s(job)
    each = min(_MOST_RUNS, int(_MOST_DRAWN * job.failures.mean_s / (before_s + length_s) / 5))
    each = max(1, each)
    blocks = []
    for block, first in enumerate(range(0, replications, each)):
        runs = min(each, replications - first)
        failures = draw_failures(job, before_s + length_s, seed, runs, block)
        blocks.append(Runs(variants, failures, before_s, before_s + length_s).run())
        if progress is not None:
            progress(first + runs, replications)
    return {name: np.concatenate([found[name] for found in blocks], 1) for name in blocks[0]}


class Runs:
    """Runs under given failures; a cell is one variant in one run.

    Args:
        variants: the job with each interval to try.
        failures: failures by run.
        before_s: start of each run that does not count, s.
        length_s: end of each run, s.
    """

    def __init__(
        self, variants: Sequence[JobRun], failures: Failures, before_s: float, length_s: float
    ) -> None:
        self.job, self.failures = variants[0], failures
        self.before_s, self.length_s = before_s, length_s
        runs = len(failures.at_s)
        self.shape = (len(variants), runs)
        cells = len(variants) * runs
        self.run_of = np.tile(np.arange(runs), len(variants))
        self.compute = np.repeat([each.compute_s for each in variants], runs)
        self.every = np.repeat([_every(each) for each in variants], runs)
        self.settle = np.repeat(
            [each.local.settle_s if each.local else 0.0 for each in variants], runs
        )
        self.now = np.zeros(cells)
        self.total = {name: np.zeros(cells) for name in (*TIMES, *COUNTS)}
        self.warm: dict[str, Array] = {name: np.zeros(cells) for name in (*TIMES, *COUNTS)}
        self.warmed = np.full(cells, before_s <= 0)
        self.work, self.safe = np.zeros(cells), np.zeros(cells)
        self.local = LocalState.empty(cells)
        self.resend, self.far = np.zeros(cells, np.bool_), np.zeros(cells, np.bool_)
        self.swapped = np.zeros(cells, np.bool_)
        self.speed = np.ones(cells)
        self.back_s = np.full((cells, 2), -math.inf)
        self.rack = np.zeros((cells, 2), np.intp)
        units = self.job.units
        running = (1.0,) if units is None else units.running
        self.running = np.array([*running, 0.0])

    def run(self) -> dict[str, Array]:
        """Totals by name, of the part of each run that counts: variants by runs."""
        self._compute(np.arange(len(self.now)))
        while (left := np.flatnonzero(self.now < self.length_s)).size:
            resumed = self._restart(left)
            self._compute(resumed)
        return {
            name: (self.total[name] - self.warm[name]).reshape(self.shape) for name in self.total
        }

    # Restarts

    def _restart(self, cells: Places) -> Places:
        """Restart some cells; return those that compute again before the next failure."""
        cells = self._wait_for_units(cells)
        near = ~self.far[cells] if self.job.local is not None else np.zeros(len(cells), np.bool_)
        job = self.job
        far_s = job.restart_s
        near_s = far_s if job.local is None else job.local.restart_s
        swap_s = 0.0 if job.units is None else job.units.swap_s
        restart_s = np.where(near, near_s, far_s) + swap_s * self.swapped[cells]
        restore_s = np.where(near, 0.0, job.restore_s)
        place, failure_s = self._next_failure(cells)
        ends_s = np.minimum(failure_s, self.length_s)
        done = self.now[cells] + restart_s + restore_s < ends_s
        lasts_s = np.where(done, restart_s + restore_s, ends_s - self.now[cells])
        first_s = np.minimum(lasts_s, restart_s)
        self._spend(cells, restart=first_s, restore=lasts_s - first_s)
        if job.local is not None:
            self.local.drain(cells, lasts_s, near, job.drain_s, self.safe)
        struck = ~done & (failure_s < self.length_s)
        self.now[cells[~done]] = ends_s[~done]
        self._fail(cells[struck], place[struck], self.work[cells[struck]])
        resumed: Places = cells[done]
        self.far[resumed] = self.swapped[resumed] = False
        again = resumed[self.resend[resumed]]
        self.resend[again] = False
        self.local.left[again] = job.drain_s
        self.speed[resumed] = self._share_running(resumed)
        return resumed

    def _wait_for_units(self, cells: Places) -> Places:
        """Let cells stand still until enough units are back; return those that can restart."""
        self.speed[cells] = self._share_running(cells)
        out = cells[self.speed[cells] == 0]
        self.total["short_of_units"][out] += 1
        while out.size:
            back = self.back_s[out]
            back = np.where(back > self.now[out, None], back, math.inf).min(1)
            lasts_s = np.minimum(back, self.length_s) - self.now[out]
            self._spend(out, repair=lasts_s)
            if self.job.local is not None:
                self.local.drain(out, lasts_s, ~self.far[out], self.job.drain_s, self.safe)
            self.now[out] = np.minimum(back, self.length_s)
            self.speed[out] = self._share_running(out)
            out = out[(self.speed[out] == 0) & (self.now[out] < self.length_s)]
        return cells[self.now[cells] < self.length_s]

    def _share_running(self, cells: Places) -> Array:
        """Share of the job that can run with the units that are not out."""
        if self.job.units is None:
            return np.ones(len(cells))
        is_out = self.back_s[cells] > self.now[cells, None]
        racks = self.job.units.racks
        if racks == 1:
            out = is_out.sum(1)
        else:
            row, slot = np.nonzero(is_out)
            key = row * racks + self.rack[cells[row], slot]
            out = np.bincount(key, minlength=len(cells) * racks).reshape(-1, racks).max(1)
        return np.asarray(self.running[np.minimum(out, len(self.running) - 1)])

    def _next_failure(self, cells: Places) -> tuple[Places, Array]:
        """Next failure that strikes each cell: its place, and its time."""
        run, given = self.run_of[cells], self.failures
        place = given.first_after(run, self.now[cells])
        if self.job.units is not None and self.job.units.shrinks:
            spared = given.luck[run, place] >= self.speed[cells]
            spared &= np.isfinite(given.at_s[run, place])
            while spared.any():
                place = place + spared
                spared = given.luck[run, place] >= self.speed[cells]
                spared &= np.isfinite(given.at_s[run, place])
        return place, given.at_s[run, place]

    # Computing

    def _compute(self, cells: Places) -> None:
        """Take cells that begin to compute up to their next failure, restart or end."""
        place, failure_s = self._next_failure(cells)
        start_s = self.now[cells]
        captured_s, grow_s = self._growth(cells)
        ends_s = np.minimum(np.minimum(failure_s, grow_s), self.length_s)
        crosses = ~self.warmed[cells] & (ends_s >= self.before_s)
        if crosses.any():
            some = cells[crosses]
            at_s = np.minimum(self.before_s, captured_s[crosses]) - start_s[crosses]
            reached = self._after(some, at_s, self.before_s - start_s[crosses])
            self._snapshot(some, reached)
        reached = self._after(cells, np.minimum(ends_s, captured_s) - start_s, ends_s - start_s)
        for name, value in reached.spent.items():
            self.total[name][cells] += value
        self.now[cells] = ends_s
        self.total["kept"][cells] = self.work[cells] + reached.work
        failed = (failure_s <= ends_s) & (ends_s < self.length_s)
        grown = ~failed & (grow_s <= ends_s) & (ends_s < self.length_s)
        base = self.work[cells]
        self._grow(cells[grown], base[grown] + reached.work[grown], reached, grown)
        self._lose(cells, place, base, reached, failed)

    def _after(self, cells: Places, computing_s: Array, lasts_s: Array) -> Stretch:
        """State after a stretch whose last part, if any, is waiting for a growth."""
        speed, job = self.speed[cells], self.job
        if job.local is None:
            return after_one_level(job, self.compute[cells], speed, computing_s, lasts_s)
        return after_two_levels(
            job,
            (self.compute[cells], self.settle[cells], self.every[cells]),
            speed,
            (computing_s, lasts_s),
            self.local.of(cells),
            (self.work[cells], self.safe[cells]),
        )

    def _growth(self, cells: Places) -> tuple[Array, Array]:
        """Return when a capture ends after which the job restarts with more replicas, and when that
        checkpoint is safe; infinite where no unit comes back."""
        ends, safe = np.full(len(cells), math.inf), np.full(len(cells), math.inf)
        rows = np.flatnonzero(self.speed[cells] < 1)
        if self.job.units is None or not self.job.units.shrinks or not rows.size:
            return ends, safe
        some = cells[rows]
        back = np.sort(
            np.where(self.back_s[some] > self.now[some, None], self.back_s[some], math.inf), 1
        )
        out = np.isfinite(back).sum(1)[:, None]
        later = out - 1 - np.arange(back.shape[1])
        share = self.running[np.clip(later, 0, len(self.running) - 1)]
        raises = (share > self.speed[some, None]) & np.isfinite(back)
        at_s = np.where(raises, back, math.inf).min(1) - self.now[some]
        job, compute = self.job, self.compute[some]
        cycle = job.stall_s + (compute if job.local else np.maximum(compute, job.drain_s))
        number = np.maximum(0.0, np.ceil((at_s - compute - job.stall_s) / cycle))
        capture_s = self.now[some] + compute + job.stall_s + number * cycle
        ends[rows] = capture_s
        safe[rows] = capture_s + (self.settle[some] if job.local else job.drain_s)
        return ends, safe

    def _grow(self, cells: Places, work: Array, reached: Stretch, rows: Flags) -> None:
        self.total["grown"][cells] += 1
        self.work[cells] = work
        if self.job.local is None:
            self.safe[cells] = work
        else:
            self.local.put(cells, reached.local, rows)
            self.safe[cells] = reached.safe[rows]

    def _lose(
        self, cells: Places, place: Places, base: Array, reached: Stretch, failed: Flags
    ) -> None:
        """Let stretches end with a failure."""
        struck, at = cells[failed], place[failed]
        if not struck.size:
            return
        work = base[failed] + reached.work[failed]
        captured = base[failed] + reached.captured[failed]
        self.total["rework"][struck] += work - captured
        if self.job.local is None:
            self.safe[struck] = base[failed] + reached.safe[failed]
        else:
            self.safe[struck] = reached.safe[failed]
            self.work[struck] = reached.held[failed]
            self.local.put(struck, reached.local, failed)
        self._fail(struck, at, captured)

    def _fail(self, cells: Places, place: Places, captured: Array) -> None:
        """Go back to the newest checkpoint that is left, and take a unit out."""
        if not cells.size:
            return
        run, job = self.run_of[cells], self.job
        self.total["failures"][cells] += 1
        back = self.safe[cells]
        if job.local is not None:
            near = self.failures.local[run, place] & ~self.far[cells]
            back = np.where(near, self.work[cells], back)
            self.total["far"][cells] += ~near
            if not job.local.drain_survives:
                broken = cells[near & (self.local.left[cells] > 0)]
                self.resend[broken], self.local.left[broken] = True, 0.0
            lost = cells[~near]
            self.local.clear(lost)
            self.resend[lost], self.far[lost] = False, True
        self.total["drain"][cells] += captured - back
        self.work[cells] = back
        self.total["kept"][cells] = back
        out_s = self.failures.out_s[run, place]
        self.swapped[cells] = out_s > 0
        self._take_out(
            cells[out_s > 0], out_s[out_s > 0], self.failures.rack[run, place][out_s > 0]
        )

    def _take_out(self, cells: Places, out_s: Array, rack: Places) -> None:
        self.total["taken"][cells] += 1
        if self.job.units is None or not cells.size:
            return
        free = self.back_s[cells] <= self.now[cells, None]
        if not free.any(1).all():
            self.back_s = np.pad(self.back_s, ((0, 0), (0, 4)), constant_values=-math.inf)
            self.rack = np.pad(self.rack, ((0, 0), (0, 4)))
            free = self.back_s[cells] <= self.now[cells, None]
        slot = free.argmax(1)
        self.back_s[cells, slot] = self.now[cells] + out_s
        self.rack[cells, slot] = rack

    # Accounts

    def _spend(self, cells: Places, **spent: Array) -> None:
        """Let parts of time pass, one after another, in which nothing is computed."""
        ends_s = self.now[cells] + sum(spent.values())
        crosses = ~self.warmed[cells] & (ends_s >= self.before_s)
        some = cells[crosses]
        for name in self.total:
            self.warm[name][some] = self.total[name][some]
        for name, value in spent.items():
            counted = np.clip(self.before_s - self.now[some], 0.0, value[crosses])
            self.warm[name][some] += counted
            self.total[name][cells] += value
            self.now[cells] += value
        self.warmed[some] = True

    def _snapshot(self, cells: Places, reached: Stretch) -> None:
        """Note the accounts of cells at the time from which a run counts."""
        self.warmed[cells] = True
        for name in self.total:
            self.warm[name][cells] = self.total[name][cells] + reached.spent.get(name, 0.0)
        self.warm["kept"][cells] = self.work[cells] + reached.work


def _every(job: JobRun) -> int:
    """Captures from one drained copy to the next; more than planned where a drain takes
    longer than that."""
    if job.local is None:
        return 1
    return max(job.local.every, math.ceil(job.drain_s / job.interval_s - 1e-9))
