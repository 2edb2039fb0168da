"""Many runs side by side (lanes), each at its own time, stepped from event to event in arrays.

Where a single job runs undisturbed its checkpoints repeat: whole cycles are taken in one step.
"""

from __future__ import annotations

import math

import numpy as np

from planner.simulation.budget import COUNTS, TIMES
from planner.simulation.cycles import skip_cycles
from planner.simulation.failures import Array
from planner.simulation.lane_state import (
    PLANNED,
    RESTART,
    RESTORE,
    RUN,
    SAVE,
    SAVED,
    WAIT,
    WRITE,
    Cells,
    Flags,
    LaneState,
)
from planner.simulation.sharing import share


class Lanes(LaneState):
    """Runs under given disturbances."""

    def run(self) -> dict[str, Array]:
        """Return where time went, s, and counts, by their names in ``Budget``; by job, variant and
        run."""
        while (self.now < self.length_s).any():
            self._step()
        spent = self.spent.reshape(6, self.cells)
        found = {
            "kept": self.work, "capture": spent[RUN] + spent[WRITE], "wait": spent[WAIT],
            "slowdown": self.slow, "rework": self.rework, "drain": self.drain,
            "restart": spent[RESTART], "restore": spent[RESTORE], "planned": spent[PLANNED],
            "failures": self.failed, "stops": self.stopped, "waits": self.waited,
        }  # fmt: skip
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
            skip_cycles(self, goes_on)

    def _written(self, cells: Cells) -> None:
        self.captured[cells] = self.safe[cells] = self.work[cells]
        stops = self.then[cells] != 0
        self._stand(cells[stops])
        self._compute(cells[~stops])

    def _compute(self, cells: Cells) -> None:
        self.phase[cells], self.moving[cells] = RUN, False
        self.until[cells] = self.now[cells % self.count] + self.compute[cells]
        if self.skips and self.syncs:
            skip_cycles(self, cells[self.sync[cells]])

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
