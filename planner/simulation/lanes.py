"""Many runs side by side (lanes), each at its own time, stepped from event to event in arrays.

A job's place in a lane is one cell of every array, jobs first. Where a single job runs undisturbed
its checkpoints repeat: whole cycles are taken in one step.

With a local level every checkpoint is captured to it, and every so many-th drains to the shared
storage in the background: ``captured`` is the newest copy, ``held`` the newest that is safe
locally, ``safe`` the newest on the shared storage, all counted in work done up to it.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from planner.simulation.lane_state import (
    OUT,
    PLANNED,
    RESTART,
    RESTORE,
    RUN,
    WAIT,
    WRITE,
    Cells,
    Flags,
    LaneState,
)
from planner.simulation.operation import Array

SAVE, SAVED, GROW = 1, 2, 3
"""What a planned stop has come to: the job is saving; the checkpoint drains before the stop. Or the
job is restarted to run with more replicas once its checkpoint is safe."""


class Lanes(LaneState):
    """Runs under given disturbances, from their start to their end."""

    def run(self, warm_s: float = 0.0) -> dict[str, Array]:
        """Return where time went, s, and counts, by their names in ``TimeSpent``: by job, variant
        and run.

        Args:
            warm_s: how much of the start of each run is not to count.
        """
        length_s = self.length_s
        before = self._to(warm_s) if warm_s else None
        found = self._to(length_s)
        if before is None:
            return found
        return {name: found[name] - before[name] for name in found}

    def _to(self, length_s: float) -> dict[str, Array]:
        """Go on up to some time; return what was found so far."""
        self.length_s = length_s
        while (self.now < self.length_s).any():
            self._step()
        return self.found()

    def _step(self) -> None:
        rate = self._rates()
        now = self.wide(self.now)
        with np.errstate(divide="ignore", invalid="ignore"):
            done = np.where(rate > 0, now + self.left / rate, math.inf)
        running = self.phase == RUN
        captures = running & (self.local | ~self.moving)
        due = np.minimum(done, self.until + captures * self.due_s)
        if self.locals:
            due = np.minimum(due, self.settle_at)
        at = self._earliest(due)
        wide = self.wide(at)
        self._spend(running, now, wide, rate)
        self.now = at
        fired = np.flatnonzero(due == wide)
        self._happen(fired, done[fired] == due[fired])
        self._change(np.flatnonzero(self.next_change == at))
        self._stop(np.flatnonzero(self.next_planned == at))
        if self.repairs:
            self._repaired(np.flatnonzero(self.next_back == wide))
        self._fail(np.flatnonzero(self.next_failure == wide))

    def _earliest(self, due: Array) -> Array:
        at = np.minimum(due, self.next_failure)
        if self.repairs:
            at = np.minimum(at, self.next_back)
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
        if self.repairs:
            short = computed * (1.0 - self.speed)
            self.short += short
            computed = computed - short
        if self.slows:
            lost = computed * self.slowdown * self.moving
            self.slow += lost
            computed = computed - lost
        self.work += computed
        self.left = np.maximum(0.0, self.left - rate * passed)

    def _happen(self, fired: Cells, arrived: Flags) -> None:
        """Go on to the next state, where the state or the transfer has ended."""
        if self.locals:
            rest = ~self._happen_locally(fired, arrived)
            fired, arrived = fired[rest], arrived[rest]
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
            (self._resume, fired[arrived & (phase == RESTORE)]),
            (self._begin_restore, fired[phase == RESTART]),
            (self._go_on, fired[phase == PLANNED]),
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
        then = self.then[cells]
        self._stand(cells[then == SAVED])
        self._grow(cells[then == GROW])
        self._capture(cells[(then == 0) | (then == SAVE)])

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
        goes_on = self._wait_until_safe(cells)
        self.until[goes_on] = self.now[goes_on % self.count] + self.compute[goes_on]
        if self.skips:
            self._skip_cycles(goes_on)

    def _wait_until_safe(self, cells: Cells) -> Cells:
        """Let jobs wait whose captured checkpoint is the last before a planned stop, or before they
        are restarted with more replicas; return the others."""
        saving = self.then[cells] == SAVE
        grows = ~saving & (self.could[cells] > self.speed[cells])
        self.then[cells[saving]], self.then[cells[grows]] = SAVED, GROW
        waits = cells[saving | grows]
        self.phase[waits], self.until[waits] = WAIT, math.inf
        goes_on: Cells = cells[~(saving | grows)]
        return goes_on

    def _written(self, cells: Cells) -> None:
        self.captured[cells] = self.safe[cells] = self.work[cells]
        self.moving[cells] = False
        stops = self.then[cells] != 0
        grows = ~stops & (self.could[cells] > self.speed[cells])
        self._stand(cells[stops])
        self._grow(cells[grows])
        self._compute(cells[~(stops | grows)])

    def _grow(self, cells: Cells) -> None:
        """Restart with more replicas, from a checkpoint that is safe."""
        self.then[cells] = 0
        self.grown[cells] += 1
        self._go_on(cells)

    def _resume(self, cells: Cells) -> None:
        """Compute after a restart, with the units that are there by now."""
        self.far[cells] = self.swapped[cells] = False
        if self.repairs:
            self._count(cells)
            self.speed[cells] = self.could[cells]
        self._compute(cells)

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
        until = self._undisturbed(cells)
        with np.errstate(divide="ignore"):
            drain = self.checkpoint[cells] / self.alone_write[cells]
        sync, compute = self.sync[cells], self.compute[cells]
        cycle = np.where(sync, compute + drain, np.maximum(compute, drain) + self.stall[cells])
        times = np.floor((until - now) / cycle)
        there = (times > 0) & (self.could[cells] <= self.speed[cells])
        cells, now, until = cells[there], now[there], until[there]
        times, drain, sync = times[there], drain[there], sync[there]
        compute, cycle = compute[there], cycle[there]
        speed = self.speed[cells]
        self.short[cells] += times * compute * (1.0 - speed)
        slow = self.slowdown[cells] * np.minimum(drain, compute) * speed
        waits = np.where(sync, 0.0, np.maximum(0.0, drain - compute))
        self.slow[cells] += times * slow
        done = compute * speed - slow
        self.work[cells] += times * done
        self.captured[cells] = self.work[cells]
        self.safe[cells] = self.work[cells] - np.where(sync, 0.0, done)
        stood = np.where(sync, drain, self.stall[cells])
        self.spent[RUN * self.cells + cells] += times * stood
        self.spent[WAIT * self.cells + cells] += times * waits
        self.waited[cells] += times * (waits > 0)
        self.now[cells] = np.minimum(now + times * cycle, until)
        self.until[cells] += times * cycle

    def _undisturbed(self, cells: Cells) -> Array:
        """Return until when nothing from outside strikes a job that is alone."""
        until = np.minimum(self.next_failure[cells], self.next_planned[cells])
        until = np.minimum(np.minimum(until, self.next_change[cells]), self.length_s)
        if self.repairs:
            until = np.minimum(until, self.next_back[cells])
        undisturbed: Array = until
        return undisturbed

    def _happen_locally(self, fired: Cells, arrived: Flags) -> Flags:
        """Do what is next for jobs with a local level; return where that was done."""
        local, phase = self.local[fired], self.phase[fired]
        settled = local & (self.settle_at[fired] == self.now[fired % self.count])
        sent = local & ~settled & arrived & self.moving[fired] & (phase != RESTORE)
        ends = local & ~settled & ~sent
        captured = ends & (phase == RUN)
        restarted = ends & (phase == RESTART) & ~self.far[fired]
        for happen, where in (
            (self._settled, settled),
            (self._sent, sent),
            (self._captured, captured),
            (self._resume_near, restarted),
        ):
            if where.any():
                happen(fired[where])
        happened: Flags = settled | sent | captured | restarted
        return happened

    def _captured(self, cells: Cells) -> None:
        """Compute on while a captured checkpoint is written locally."""
        self.number[cells] += 1
        self.captured[cells] = self.work[cells]
        now = self.now[cells % self.count]
        self.settle_at[cells] = now + self.settle[cells]
        self.until[cells] = now + self.compute[cells]
        goes_on = self._wait_until_safe(cells)
        if self.skips:
            self._skip_intervals(goes_on)
            self._skip_rounds(goes_on)

    def _settled(self, cells: Cells) -> None:
        """Let a checkpoint that is safe locally drain if it is one of those to be kept far."""
        self.held[cells] = self.captured[cells]
        self.settle_at[cells] = math.inf
        stops = self.then[cells] == SAVED
        due = stops | (self.number[cells] % self.every[cells] == 0)
        later = due & ~stops & self.moving[cells]
        self.queued[cells[later]] = self.held[cells[later]]
        self.queued[cells[stops]] = math.nan
        self._send(cells[due & ~later], self.held)
        self._grow(cells[self.then[cells] == GROW])

    def _send(self, cells: Cells, what: Array) -> None:
        self.sending[cells] = what[cells]
        self.left[cells], self.moving[cells] = self.checkpoint[cells], True

    def _sent(self, cells: Cells) -> None:
        """Note that a checkpoint is on the shared storage; begin with the one that had to wait."""
        self.safe[cells] = self.sending[cells]
        self.moving[cells] = False
        last = (self.then[cells] == SAVED) & np.isinf(self.settle_at[cells])
        stops, rest = cells[last], cells[~last]
        self._lose_copies(stops)
        self._stand(stops)
        waiting = rest[~np.isnan(self.queued[rest])]
        self._send(waiting, self.queued)
        self.queued[waiting] = math.nan

    def _lose_copies(self, cells: Cells) -> None:
        """Drop the local copies: only the shared storage has checkpoints."""
        self.held[cells] = self.safe[cells]
        self.settle_at[cells], self.queued[cells] = math.inf, math.nan
        self.number[cells], self.moving[cells], self.resend[cells] = 0, False, False
        self.far[cells] = True

    def _keep_copies(self, cells: Cells) -> None:
        """Go back to the newest local copy; one that is not safe yet is lost."""
        self.number[cells] -= np.isfinite(self.settle_at[cells])
        self.settle_at[cells] = math.inf
        broken = cells[self.anew[cells] & self.moving[cells]]
        self.resend[broken], self.moving[broken] = True, False

    def _resume_near(self, cells: Cells) -> None:
        """Compute after a restart from local copies; begin a drain anew that was broken off."""
        moving = self.moving[cells]
        self._resume(cells)
        self.moving[cells] = moving
        again = cells[self.resend[cells]]
        self.resend[again] = False
        self._send(again, self.sending)

    def _skip_intervals(self, cells: Cells) -> None:
        """Take whole intervals in one step in which no drain begins or ends.

        Args:
            cells: jobs with a local level that have just captured a checkpoint.
        """
        now, interval, every = self.now[cells], self.interval[cells], self.every[cells]
        until, moving = self._undisturbed(cells), self.moving[cells]
        with np.errstate(divide="ignore", invalid="ignore"):
            drained = now + self.left[cells] / self.alone_write[cells]
        until = np.where(moving, np.minimum(until, drained), until)
        place = self.number[cells] % every
        times = np.minimum(np.floor((until - now) / interval), np.where(place, every - place, 0))
        there = (times > 0) & (self.could[cells] <= self.speed[cells])
        cells, times, moving, interval = cells[there], times[there], moving[there], interval[there]
        rate = np.where(moving, self.alone_write[cells], 0.0)
        self.left[cells] = np.maximum(0.0, self.left[cells] - times * interval * rate)
        self.number[cells] += times.astype(np.intp)
        slow = self.slowdown[cells] * self.compute[cells] * moving
        self._skip_by(cells, times, interval, slow, slow)

    def _skip_rounds(self, cells: Cells) -> None:
        """Take whole rounds, from one checkpoint that goes to the shared storage to the next, in
        one step, where each has drained before the next is captured."""
        every, interval = self.every[cells], self.interval[cells]
        with np.errstate(divide="ignore"):
            drained = self.settle[cells] + self.checkpoint[cells] / self.alone_write[cells]
        whole = interval * every
        times = np.floor((self._undisturbed(cells) - self.now[cells]) / whole)
        there = (times > 0) & (self.number[cells] % every == 0) & ~self.moving[cells]
        there &= np.isnan(self.queued[cells]) & (drained <= whole)
        there &= self.could[cells] <= self.speed[cells]
        cells, times, drained = cells[there], times[there], drained[there]
        if not cells.size:
            return
        whole, last = whole[there], whole[there] - interval[there]
        settle, slowdown = self.settle[cells], self.slowdown[cells]

        def computed(time: Array) -> Array:
            compute, interval = self.compute[cells], self.interval[cells]
            cycles = np.floor(time / interval)
            result: Array = cycles * compute + np.minimum(time - cycles * interval, compute)
            return result

        slow = slowdown * (computed(drained) - computed(settle))
        ends = computed(np.maximum(drained, last)) - computed(np.maximum(settle, last))
        self._skip_by(cells, times, whole, slow, slowdown * ends)
        work = self.every[cells] * self.compute[cells] - slow
        self.safe[cells] = self.work[cells] - work * self.speed[cells]

    def _skip_by(self, cells: Cells, times: Array, cycle: Array, slow: Array, last: Array) -> None:
        """Take so many times a cycle, each of one interval or more, from capture to capture.

        Args:
            cells: where.
            times: how often.
            cycle: how long it is, s.
            slow: what of computing is lost in it because of a drain, s.
            last: what of that is lost in its last interval.
        """
        speed, compute = self.speed[cells], self.compute[cells]
        computed = np.rint(cycle / self.interval[cells]) * compute
        self.short[cells] += times * computed * (1.0 - speed)
        self.slow[cells] += times * slow * speed
        self.work[cells] += times * (computed - slow) * speed
        self.captured[cells] = self.work[cells]
        self.held[cells] = self.work[cells] - (compute - last) * speed
        self.spent[RUN * self.cells + cells] += times * (cycle - computed)
        self.now[cells] += times * cycle
        self.until[cells] += times * cycle
        self.settle_at[cells] += times * cycle

    def _move(self, cells: Cells, phase: int, size: Array) -> None:
        self.phase[cells], self.moving[cells], self.until[cells] = phase, True, math.inf
        self.left[cells] = size[cells]

    def _count(self, cells: Cells) -> None:
        """Note how much of the job can run, and when the next unit is back where it matters."""
        self.units.bring_back(cells, self.now[cells % self.count])
        self.could[cells] = self.units.running(cells)
        matters = self.shrinks[cells] | (self.could[cells] == 0)
        self.next_back[cells] = np.where(matters, self.units.next_back_s(cells), math.inf)

    def _go_on(self, cells: Cells) -> None:
        """Restart with the units that are there, or stand still until enough of them are."""
        if self.repairs and cells.size:
            self._count(cells)
            runs = self.could[cells] > 0
            out, cells = cells[~runs], cells[runs]
            self.phase[out], self.until[out] = OUT, math.inf
            self.stood_short[out] += 1
            self.speed[cells] = self.could[cells]
        self._restart(cells)

    def _restart(self, cells: Cells) -> None:
        self.phase[cells] = RESTART
        near = self.local[cells] & ~self.far[cells]
        lasting = np.where(near, self.near_restart[cells], self.restart[cells])
        lasting += self.swap[cells] * self.swapped[cells]
        self.until[cells] = self.now[cells % self.count] + lasting

    def _repaired(self, cells: Cells) -> None:
        """Take units back: go on if the job stood still for one."""
        if not cells.size:
            return
        self._count(cells)
        goes_on = cells[(self.phase[cells] == OUT) & (self.could[cells] > 0)]
        self.speed[goes_on] = self.could[goes_on]
        self._restart(goes_on)

    def _stand(self, cells: Cells) -> None:
        self.resend[cells] |= self.moving[cells] & self.local[cells] & ~self.far[cells]
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
        self.then[cells[self.then[cells] == GROW]] = SAVED
        cells = cells[(self.phase[cells] != PLANNED) & (self.then[cells] == 0)]
        phase = self.phase[cells]
        self._stand(cells[(phase == RESTART) | (phase == RESTORE) | (phase == OUT)])
        saving = cells[phase <= WRITE]
        self.then[saving] = SAVE
        computing = saving[
            (self.phase[saving] == RUN) & (self.until[saving] > self.now[saving % self.count])
        ]
        draining = self.moving[computing] & ~self.local[computing]
        self.phase[computing[draining]], self.until[computing[draining]] = WAIT, math.inf
        self._capture(computing[~draining])

    def _fail(self, cells: Cells) -> None:
        if not cells.size:
            return
        at = self.failure_at[cells]
        self.failure_at[cells] += 1
        self.next_failure[cells] = self.failures[self.failure_at[cells]]
        struck = (self.phase[cells] != PLANNED) & (self.phase[cells] != OUT)
        if self.marked:
            struck &= self.luck[at] < self.speed[cells]
        cells, at = cells[struck], at[struck]
        self.failed[cells] += 1
        saving = (self.then[cells] == SAVE) | (self.then[cells] == SAVED)
        near = np.zeros(cells.size, np.bool_)
        if self.marked:
            near = self.local[cells] & self.survived[at] & ~self.far[cells] & ~saving
        self._fall_back(cells, near)
        if self.marked:
            self._take_out(cells, at)
        self.then[cells[~saving]] = 0
        self._stand(cells[saving])
        self._go_on(cells[~saving])

    def _fall_back(self, cells: Cells, near: Flags) -> None:
        """Go back to the newest checkpoint that is left, near or far."""
        back = np.where(near, self.held[cells], self.safe[cells])
        self.rework[cells] += self.work[cells] - self.captured[cells]
        self.drain[cells] += self.captured[cells] - back
        self.work[cells] = self.captured[cells] = back
        self.gone_far[cells] += ~near & self.local[cells]
        self.moving[cells[~near]] = False
        if self.locals:
            self._keep_copies(cells[near])
            self._lose_copies(cells[~near & self.local[cells]])

    def _take_out(self, cells: Cells, at: Cells) -> None:
        """Take the units out that failures took with them."""
        out = self.out_s[at] > 0
        self.swapped[cells] = out
        cells, at = cells[out], at[out]
        self.taken[cells] += 1
        if self.repairs and cells.size:
            back_s = self.now[cells % self.count] + self.out_s[at]
            self.units.bring_back(cells, self.now[cells % self.count])
            self.units.take(cells, back_s, self.rack[at])


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
