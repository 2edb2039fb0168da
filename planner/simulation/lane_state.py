"""What many runs side by side (lanes) are given, and where each of them stands.

A job's place in a lane is one cell of every array, jobs first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from planner.simulation.history import COUNTS, TIMES
from planner.simulation.operation import Array, LocalCopies, UnitsOut
from planner.simulation.world import Disturbances, JobRun, World

Cells: TypeAlias = npt.NDArray[np.intp]
Flags: TypeAlias = npt.NDArray[np.bool_]

RUN, WAIT, WRITE, RESTART, RESTORE, PLANNED, OUT = PHASES = range(7)
"""What a job does: compute, or capture once its checkpoint is due; wait for a drain; write a
synchronous checkpoint; be restarted; read back; stand still as planned; wait for a repair."""

_NO_COPIES = LocalCopies(math.inf, 1, 0.0)


class LaneState:
    """Runs under given disturbances.

    Args:
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
        self.local = of(lambda job: job.local is not None) > 0
        self.settle = of(lambda job: (job.local or _NO_COPIES).settle_s)
        self.every = of(lambda job: (job.local or _NO_COPIES).every).astype(np.intp)
        self.near_restart = of(lambda job: (job.local or _NO_COPIES).restart_s)
        self.anew = of(lambda job: not (job.local or _NO_COPIES).drain_survives) > 0
        self.interval = self.compute + self.stall
        self.locals = bool(self.local.any())
        self.swap = of(lambda job: job.units.swap_s if job.units else 0.0)
        self.shrinks = of(lambda job: job.units is not None and job.units.shrinks) > 0
        self.units = UnitsOut([job.units for job in jobs], runs)
        self.repairs = any(job.units is not None for job in jobs)

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
        self._marks(given, width)
        self.planned, self.planned_at = given.planned, np.zeros(self.count, np.intp)
        self.given, self.change_at = given, np.zeros(self.count, np.intp)

    def _marks(self, given: Disturbances, width: int) -> None:
        """Note what each failure does, in the places of the failures' times."""
        self.marked = any(each is not None for each in given.marks)
        if not self.marked:
            return
        size = len(given.failures) * given.lanes * width
        self.survived, self.out_s = np.zeros(size, np.bool_), np.zeros(size)
        self.rack, self.luck = np.zeros(size, np.intp), np.zeros(size)
        shape = (len(given.failures), given.lanes, width)
        for number, marks in enumerate(given.marks):
            if marks is not None:
                there = (number, slice(None), slice(marks.local.shape[1]))
                self.survived.reshape(shape)[there] = marks.local
                self.out_s.reshape(shape)[there] = marks.out_s
                self.rack.reshape(shape)[there] = marks.rack
                self.luck.reshape(shape)[there] = marks.luck

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
        self.spent = np.zeros(len(PHASES) * self.cells)
        self.slow, self.rework, self.drain, self.short = zeros(), zeros(), zeros(), zeros()
        self.failed, self.stopped, self.waited = zeros(), zeros(), zeros()
        self.taken, self.gone_far, self.stood_short, self.grown = zeros(), zeros(), zeros(), zeros()
        self.held, self.sending, self.queued = zeros(), zeros(), np.full(self.cells, math.nan)
        self.settle_at = np.full(self.cells, math.inf)
        self.number = np.zeros(self.cells, np.intp)
        self.resend, self.far, self.swapped = (np.zeros(self.cells, np.bool_) for _ in range(3))
        self.speed, self.could = np.ones(self.cells), np.ones(self.cells)
        self.next_back = np.full(self.cells, math.inf)
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

    def found(self) -> dict[str, Array]:
        """Return where time went so far, s, and counts, by their names in ``TimeSpent``; by job,
        variant and run."""
        spent = self.spent.reshape(len(PHASES), self.cells)
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
            "repair": spent[OUT],
            "short": self.short,
            "failures": self.failed,
            "stops": self.stopped,
            "waits": self.waited,
            "taken": self.taken,
            "far": self.gone_far,
            "short_of_units": self.stood_short,
            "grown": self.grown,
        }
        return {name: found[name].reshape(self.shape).copy() for name in (*TIMES, *COUNTS)}
