"""Many runs side by side (lanes), each at its own time, stepped from event to event in arrays.

A job's place in a lane is one cell of every array, jobs first. Where a single job runs undisturbed
its checkpoints repeat: whole cycles are taken in one step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from planner.simulation.history import COUNTS, TIMES
from planner.simulation.world import Array, Disturbances, JobRun, World

Cells: TypeAlias = npt.NDArray[np.intp]
Flags: TypeAlias = npt.NDArray[np.bool_]

RUN, WAIT, WRITE, RESTART, RESTORE, PLANNED = range(6)
"""What a job does: compute, or capture once its checkpoint is due; wait for a drain; write a
synchronous checkpoint; be restarted; read back; stand still as planned."""

SAVE, SAVED = 1, 2
"""What a planned stop has come to: the job is saving; the checkpoint drains before the stop."""


class Lanes:
    """Runs under given disturbances.

    Args:
        world: what is simulated.
        disturbances: what strikes from outside, by lane.
        length_s: how long each run is.
        variants: of the first job; every run is made with each of them.
        skip: whether to take undisturbed cycles in one step.
    """

    def __init__(
        self,
        world: World,
        disturbances: Disturbances,
        length_s: float,
        variants: Sequence[JobRun] | None = None,
        *,
        skip: bool = True,
    ) -> None:
        tried = world.jobs[:1] if variants is None else tuple(variants)
        runs = disturbances.lanes
        self.shape = (len(world.jobs), len(tried), runs)
        self.count = len(tried) * runs
        self.cells = len(world.jobs) * self.count
        self.length_s = length_s
        self.skips = skip and len(world.jobs) == 1
        self._parameters([*tried, *(job for job in world.jobs[1:] for _ in tried)], runs)
        self._disturbances(disturbances, len(tried))
        self.lasting_s = 0.0 if world.planned is None else world.planned.lasting_s
        self._start()

    def _parameters(self, jobs: Sequence[JobRun], runs: int) -> None:
        def of(value: Callable[[JobRun], float]) -> Array:
            return np.repeat(np.array([float(value(job)) for job in jobs]), runs)

        self.stall = of(lambda job: job.stall_s)
        self.compute = of(lambda job: job.compute_s)
        self.checkpoint = of(lambda job: job.checkpoint_gb)
        self.restore = of(lambda job: job.restore_gb)
        self.restart = of(lambda job: job.restart_s)
        self.slowdown = of(lambda job: job.drain_slowdown)
        self.sync = of(lambda job: job.sync) > 0
        self.due_s = np.where(self.sync, 0.0, self.stall)
        self.client_write = of(lambda job: job.client_write_gb_per_s)
        self.client_read = of(lambda job: job.client_read_gb_per_s)
        self.slows, self.syncs = bool(self.slowdown.any()), bool(self.sync.any())

    def _disturbances(self, given: Disturbances, times: int) -> None:
        width = max(each.shape[1] for each in given.failures)
        padded = [
            np.pad(each, ((0, 0), (0, width - each.shape[1])), constant_values=math.inf)
            for each in given.failures
        ]
        self.row = np.tile(np.arange(given.lanes), times)
        self.failures = np.concatenate(padded).reshape(-1)
        jobs = np.arange(len(given.failures))[:, None]
        self.failure_at: Cells = ((jobs * given.lanes + self.row) * width).reshape(-1)
        self.planned, self.planned_at = given.planned, np.zeros(self.count, np.intp)
        self.given, self.change_at = given, np.zeros(self.count, np.intp)

    def _start(self) -> None:
        def zeros() -> Array:
            return np.zeros(self.cells)

        self.now = np.zeros(self.count)
        self.all = np.arange(self.cells)
        self.phase = np.full(self.cells, RUN, np.intp)
        self.moving = np.zeros(self.cells, np.bool_)
        self.then = np.zeros(self.cells, np.int8)
        self.until, self.left = self.compute.copy(), zeros()
        self.work, self.captured, self.safe = zeros(), zeros(), zeros()
        self.spent = np.zeros(6 * self.cells)
        self.slow, self.rework, self.drain = zeros(), zeros(), zeros()
        self.failed, self.stopped, self.waited = zeros(), zeros(), zeros()
        self.next_failure = self.failures[self.failure_at]
        self.next_planned = self.planned[self.planned_at]
        self.next_change = self.given.changes[self.row, 0]
        self.bandwidth()

    def wide(self, lanes: Array) -> Array:
        """Return a figure of each lane for each of its jobs."""
        return lanes if self.cells == self.count else np.tile(lanes, self.cells // self.count)

    def bandwidth(self) -> None:
        """Note what the appliances that are up write and read."""
        self.whole_write = self.wide(self.given.write_gb_per_s[self.row, self.change_at])
        self.whole_read = self.wide(self.given.read_gb_per_s[self.row, self.change_at])
        self.alone_write = np.minimum(self.whole_write, self.client_write)
        self.alone_read = np.minimum(self.whole_read, self.client_read)

    def run(self) -> dict[str, Array]:
        """Return where time went, s, and counts, by their names in ``Budget``; by job, variant and
        run."""
        while (self.now < self.length_s).any():
            self._step()
        spent = self.spent.reshape(6, self.cells)
        found = {
            "kept": self.work,
            "capture": spent[RUN] + spent[WRITE],
            "wait": spent[WAIT],
            "slowdown": self.slow,
            "rework": self.rework,
            "drain": self.drain,
            "restart": spent[RESTART],
            "restore": spent[RESTORE],
            "planned": spent[PLANNED],
            "failures": self.failed,
            "stops": self.stopped,
            "waits": self.waited,
        }
        return {name: found[name].reshape(self.shape) for name in (*TIMES, *COUNTS)}

    def _step(self) -> None:
        rate = self._rates()
        now = self.wide(self.now)
        with np.errstate(divide="ignore", invalid="ignore"):
            done = np.where(rate > 0, now + self.left / rate, math.inf)
        running = self.phase == RUN
        due = np.where(self.moving, np.minimum(done, self.until), self.until + running * self.due_s)
        at = self._earliest(due)
        wide = self.wide(at)
        self._spend(running, now, wide, rate)
        self.now = at
        fired = np.flatnonzero(due == wide)
        self._happen(fired, done[fired] == due[fired])
        self._change(np.flatnonzero(self.next_change == at))
        self._stop(np.flatnonzero(self.next_planned == at))
        self._fail(np.flatnonzero(self.next_failure == wide))

    def _earliest(self, due: Array) -> Array:
        at = np.minimum(due, self.next_failure)
        first: Array = at if len(at) == self.count else at.reshape(-1, self.count).min(0)
        for disturbed in (self.next_planned, self.next_change):
            first = np.minimum(first, disturbed)
        return np.minimum(first, self.length_s)

    def _rates(self) -> Array:
        reading = self.phase == RESTORE
        if self.cells == self.count:
            return np.where(reading, self.alone_read, self.alone_write) * self.moving
        whole = np.where(reading, self.whole_read, self.whole_write)
        most = np.where(reading, self.client_read, self.client_write)
        rates = np.minimum(whole, most) * self.moving
        moving = self.moving.reshape(-1, self.count)
        several = np.flatnonzero(moving.sum(0) > 1)
        if several.size:
            jobs = (-1, self.count)
            rates.reshape(jobs)[:, several] = share(
                moving[:, several],
                whole.reshape(jobs)[:, several],
                most.reshape(jobs)[:, several],
            )
        return rates

    def _spend(self, running: Flags, now: Array, at: Array, rate: Array) -> None:
        """Let time go by up to the next event of each lane."""
        computed = np.where(running, np.maximum(0.0, np.minimum(at, self.until) - now), 0.0)
        passed = at - now
        self.spent[self.phase * self.cells + self.all] += passed - computed
        if self.slows:
            lost = computed * self.slowdown * self.moving
            self.slow += lost
            computed = computed - lost
        self.work += computed
        self.left = np.maximum(0.0, self.left - rate * passed)

    def _happen(self, fired: Cells, arrived: Flags) -> None:
        """Do what is next where a state or a transfer has come to its end."""
        phase, moving = self.phase[fired], self.moving[fired]
        arrived &= moving
        ended = fired[~moving & (phase == RUN)]
        for happen, cells in (
            (self._drained, fired[arrived & (phase == RUN)]),
            (self._waited_for, fired[arrived & (phase == WAIT)]),
            (self._wait, fired[moving & ~arrived]),
            (self._begin_write, ended[self.sync[ended]]),
            (self._begin_drain, ended[~self.sync[ended]]),
            (self._written, fired[arrived & (phase == WRITE)]),
            (self._compute, fired[arrived & (phase == RESTORE)]),
            (self._begin_restore, fired[phase == RESTART]),
            (self._restart, fired[phase == PLANNED]),
        ):
            if cells.size:
                happen(cells)

    def _drained(self, cells: Cells) -> None:
        self.safe[cells] = self.captured[cells]
        self.moving[cells] = False

    def _wait(self, cells: Cells) -> None:
        self.phase[cells], self.until[cells] = WAIT, math.inf
        self.waited[cells] += 1

    def _waited_for(self, cells: Cells) -> None:
        self._drained(cells)
        stops = self.then[cells] == SAVED
        self._stand(cells[stops])
        self._capture(cells[~stops])

    def _capture(self, cells: Cells) -> None:
        self.phase[cells] = RUN
        self.until[cells] = self.now[cells % self.count]

    def _begin_write(self, cells: Cells) -> None:
        self._move(cells, WRITE, self.checkpoint)

    def _begin_restore(self, cells: Cells) -> None:
        self._move(cells, RESTORE, self.restore)

    def _begin_drain(self, cells: Cells) -> None:
        """Let a captured checkpoint drain, computing on; before a planned stop, waiting."""
        self.captured[cells] = self.work[cells]
        self.left[cells], self.moving[cells] = self.checkpoint[cells], True
        saving = self.then[cells] == SAVE
        stops, goes_on = cells[saving], cells[~saving]
        self.then[stops] = SAVED
        self.phase[stops], self.until[stops] = WAIT, math.inf
        self.until[goes_on] = self.now[goes_on % self.count] + self.compute[goes_on]
        if self.skips:
            self._skip_cycles(goes_on)

    def _written(self, cells: Cells) -> None:
        self.captured[cells] = self.safe[cells] = self.work[cells]
        stops = self.then[cells] != 0
        self._stand(cells[stops])
        self._compute(cells[~stops])

    def _compute(self, cells: Cells) -> None:
        self.phase[cells], self.moving[cells] = RUN, False
        self.until[cells] = self.now[cells % self.count] + self.compute[cells]
        if self.skips and self.syncs:
            self._skip_cycles(cells[self.sync[cells]])

    def _skip_cycles(self, cells: Cells) -> None:
        """Take whole cycles up to the next disturbance in one step.

        A cycle of a job alone goes from the end of a capture to the end of the next one, or from
        the start of computing to the end of a synchronous write.

        Args:
            cells: jobs at the start of a cycle.
        """
        now = self.now[cells]
        until = np.minimum(self.next_failure[cells], self.next_planned[cells])
        until = np.minimum(np.minimum(until, self.next_change[cells]), self.length_s)
        with np.errstate(divide="ignore"):
            drain = self.checkpoint[cells] / self.alone_write[cells]
        sync, compute = self.sync[cells], self.compute[cells]
        cycle = np.where(sync, compute + drain, np.maximum(compute, drain) + self.stall[cells])
        times = np.floor((until - now) / cycle)
        there = times > 0
        cells, now, until = cells[there], now[there], until[there]
        times, drain, sync = times[there], drain[there], sync[there]
        compute, cycle = compute[there], cycle[there]
        slow = self.slowdown[cells] * np.minimum(drain, compute)
        waits = np.where(sync, 0.0, np.maximum(0.0, drain - compute))
        self.slow[cells] += times * slow
        self.work[cells] += times * (compute - slow)
        self.captured[cells] = self.work[cells]
        self.safe[cells] = self.work[cells] - np.where(sync, 0.0, compute - slow)
        stood = np.where(sync, drain, self.stall[cells])
        self.spent[RUN * self.cells + cells] += times * stood
        self.spent[WAIT * self.cells + cells] += times * waits
        self.waited[cells] += times * (waits > 0)
        self.now[cells] = np.minimum(now + times * cycle, until)
        self.until[cells] += times * cycle

    def _move(self, cells: Cells, phase: int, size: Array) -> None:
        self.phase[cells], self.moving[cells], self.until[cells] = phase, True, math.inf
        self.left[cells] = size[cells]

    def _restart(self, cells: Cells) -> None:
        self.phase[cells], self.moving[cells] = RESTART, False
        self.until[cells] = self.now[cells % self.count] + self.restart[cells]

    def _stand(self, cells: Cells) -> None:
        self.phase[cells], self.moving[cells], self.then[cells] = PLANNED, False, 0
        self.until[cells] = self.now[cells % self.count] + self.lasting_s
        self.stopped[cells] += 1

    def _change(self, lanes: Cells) -> None:
        if lanes.size:
            self.change_at[lanes] += 1
            self.next_change[lanes] = self.given.changes[self.row[lanes], self.change_at[lanes]]
            self.bandwidth()

    def _stop(self, lanes: Cells) -> None:
        """Begin a planned stop: what is not saved is saved first."""
        if not lanes.size:
            return
        self.planned_at[lanes] += 1
        self.next_planned[lanes] = self.planned[self.planned_at[lanes]]
        cells = (np.arange(0, self.cells, self.count)[:, None] + lanes).reshape(-1)
        cells = cells[(self.phase[cells] != PLANNED) & (self.then[cells] == 0)]
        phase = self.phase[cells]
        self._stand(cells[(phase == RESTART) | (phase == RESTORE)])
        saving = cells[phase <= WRITE]
        self.then[saving] = SAVE
        computing = saving[
            (self.phase[saving] == RUN) & (self.until[saving] > self.now[saving % self.count])
        ]
        draining = self.moving[computing]
        self.phase[computing[draining]], self.until[computing[draining]] = WAIT, math.inf
        self._capture(computing[~draining])

    def _fail(self, cells: Cells) -> None:
        if not cells.size:
            return
        self.failure_at[cells] += 1
        self.next_failure[cells] = self.failures[self.failure_at[cells]]
        cells = cells[self.phase[cells] != PLANNED]
        self.failed[cells] += 1
        self.rework[cells] += self.work[cells] - self.captured[cells]
        self.drain[cells] += self.captured[cells] - self.safe[cells]
        self.work[cells] = self.captured[cells] = self.safe[cells]
        saving = self.then[cells] != 0
        self._stand(cells[saving])
        self._restart(cells[~saving])


def share(moving: npt.NDArray[np.bool_], whole: Array, most: Array) -> Array:
    """Return at which rate each job moves data in each lane, GB/s; jobs by lanes, as all of these.

    A job alone takes all of the appliances' time. Of several each gets the same share of it, and
    what the clients of one cannot take is left to the others.

    Args:
        moving: who reads or writes.
        whole: what the appliances could do for it alone, GB/s.
        most: what its clients can do, GB/s.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.where(whole > 0, np.minimum(most / whole, 1.0), 1.0)
    wanted[~moving] = math.inf
    order = np.argsort(wanted, 0)
    left = np.ones(moving.shape[1])
    waiting = moving.sum(0).astype(np.float64)
    shares = np.zeros_like(whole)
    lanes = np.arange(moving.shape[1])
    for jobs in order:
        given = np.where(
            waiting > 0, np.minimum(wanted[jobs, lanes], left / np.maximum(waiting, 1)), 0
        )
        shares[jobs, lanes] = given
        left -= given
        waiting -= 1
    return shares * whole
