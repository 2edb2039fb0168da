"""One run with everything that happens in it, stepped from event to event.

It knows nothing of the many runs side by side in ``lanes``, which are checked against it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Literal

from planner.simulation.history import History, Interruption, State, Stay, TimeSpent, Transfer
from planner.simulation.world import Disturbances, JobRun, World

Then = Literal["", "save", "stop", "grow"]
"""What a planned stop has come to: nothing, the job is saving, the checkpoint drains before it. Or
the job is restarted with more replicas once its checkpoint is safe."""


@dataclass(frozen=True)
class FailureEffect:
    """What a failure does: whether local copies survive it, how long a unit is out (0: none is), in
    which rack, and whom it spares: a job that runs on no more than the share ``luck``."""

    survived: bool = False
    out_s: float = 0.0
    rack: int = 0
    luck: float = 0.0


@dataclass
class Moving:
    """A transfer under way."""

    kind: Literal["checkpoint", "restore"]
    asked_gb: float
    left_gb: float
    stretches: list[tuple[float, float, float]] = field(default_factory=list)

    def move(self, start_s: float, end_s: float, rate: float) -> None:
        """Move data for a while."""
        if end_s == start_s:
            return
        if self.stretches and self.stretches[-1][2] == rate:
            start_s = self.stretches.pop()[0]
        self.stretches.append((start_s, end_s, rate))


class RecordedJob:
    """A job, from its start on."""

    def __init__(self, number: int, job: JobRun) -> None:
        self.number_of, self.job = number, job
        self.stays: list[Stay] = []
        self.transfers: list[Transfer] = []
        self.interruptions: list[Interruption] = []
        self.transfer: Moving | None = None
        self.state: State = "compute"
        self.until_s = job.compute_s
        self.then: Then = ""
        self.lasting_s = 0.0
        self.work_s = self.captured_s = self.safe_s = 0.0
        self.rework_s = self.drain_s = self.slow_s = 0.0
        self.waits = 0
        self.number, self.held_s, self.settle_s = 0, 0.0, math.inf
        self.sending_s, self.queued_s = 0.0, -1.0
        self.resend = self.far = self.swapped = False
        self.out: list[tuple[float, int]] = []
        self.speed = 1.0
        self.short_s = 0.0
        self.taken = self.gone_far = self.stood_short = self.grown = 0

    def client_limit(self) -> float:
        """Return what the job's clients move at most in what they are doing, GB/s."""
        reading = self.state == "restore"
        return self.job.client_read_gb_per_s if reading else self.job.client_write_gb_per_s

    def next_event_s(self, now: float, rate: float) -> float:
        """Return when the job's state or transfer ends, at a rate in GB/s."""
        done = math.inf
        if self.transfer is not None and rate:
            done = now + self.transfer.left_gb / rate
        back = min((each for each, _ in self.out), default=math.inf)
        return min(done, self.until_s, self.settle_s, back)

    def stay(self, now: float, at: float, rate: float) -> None:
        """Go on as it is for a while."""
        draining = self.transfer is not None and self.state == "compute"
        if self.state == "compute":
            short = (at - now) * (1.0 - self.speed)
            slow = self.job.drain_slowdown * (at - now - short) if draining else 0.0
            self.short_s += short
            self.slow_s += slow
            self.work_s += at - now - short - slow
        if self.transfer is not None:
            left = self.transfer.left_gb
            done = rate > 0 and now + left / rate == at
            self.transfer.move(now, at, rate)
            self.transfer.left_gb = 0.0 if done else max(0.0, left - rate * (at - now))
        self._add(self.state, now, at)

    def happen(self, at: float) -> None:
        """Go on to the next state, once the state or the transfer has ended."""
        if any(back <= at for back, _ in self.out):
            self._back(at)
        elif self.settle_s == at:
            self._settled(at)
        elif self.transfer is not None and self.transfer.left_gb == 0.0:
            self._arrived(at)
        elif self.state == "compute" and self.transfer is not None and self.job.local is None:
            self.state, self.until_s, self.waits = "wait", math.inf, self.waits + 1
        elif self.state == "compute":
            self._capture(at)
        elif self.state == "capture":
            self._captured(at)
        elif self.state == "planned":
            self._go_on(at)
        elif self._near():
            self._resume_near(at)
        else:
            self._move("restore", self.job.restore_gb, "restore")

    def stop(self, at: float, lasting_s: float) -> None:
        """Make ready for a planned stop: save first what is not saved."""
        if self.then == "grow":
            self.then, self.lasting_s = "stop", lasting_s
        if self.state == "planned" or self.then:
            return
        self.lasting_s = lasting_s
        if self.state in ("restart", "restore", "repair"):
            self._stand(at)
            return
        self.then = "save"
        if self.state == "compute" and self.transfer is not None and self.job.local is None:
            self.state, self.until_s = "wait", math.inf
        elif self.state == "compute":
            self._capture(at)

    def fail(self, at: float, by: FailureEffect) -> None:
        """Lose what is not safe, and start again."""
        if self.state in ("planned", "repair") or by.luck >= self.speed:
            return
        saving = self.then in ("save", "stop")
        near = self._near() and by.survived and not saving
        back = self.held_s if near else self.safe_s
        lost = self.work_s - back
        self.rework_s += self.work_s - self.captured_s
        self.drain_s += self.captured_s - back
        self.work_s = self.captured_s = back
        self.interruptions.append(Interruption(self.number_of, at, False, lost))
        if near:
            self._keep_copies()
        else:
            self.gone_far += self.job.local is not None
            self.break_off()
            self._lose_copies()
        self.swapped = by.out_s > 0
        if self.swapped:
            self.taken += 1
            self.out.append((at + by.out_s, by.rack))
        if saving:
            self._stand(at)
        else:
            self.then = ""
            self._go_on(at)

    def break_off(self) -> None:
        """End a transfer that is under way."""
        if self.transfer is not None:
            self._close(complete=False)

    def budget(self) -> TimeSpent:
        """Return where the time of the run so far went."""
        spent = dict.fromkeys(("capture", "wait", "restart", "restore", "planned", "repair"), 0.0)
        for stay in self.stays:
            if stay.state != "compute":
                spent[stay.state] += stay.end_s - stay.start_s
        stops = sum(each.planned for each in self.interruptions)
        return TimeSpent(
            kept=self.work_s,
            slowdown=self.slow_s,
            rework=self.rework_s,
            drain=self.drain_s,
            failures=len(self.interruptions) - stops,
            stops=stops,
            waits=self.waits,
            short=self.short_s,
            taken=self.taken,
            far=self.gone_far,
            short_of_units=self.stood_short,
            grown=self.grown,
            **spent,
        )

    def _capture(self, at: float) -> None:
        if self.job.sync:
            self._move("checkpoint", self.job.checkpoint_gb, "capture")
        else:
            self.state, self.until_s = "capture", at + self.job.stall_s

    def _captured(self, at: float) -> None:
        self.captured_s = self.work_s
        local = self.job.local
        if local is not None:
            self.number += 1
            self.settle_s = at + local.settle_s
        state: State = "compute"
        if self.then or self._share_that_can_run(at) > self.speed:
            self.then, state = "stop" if self.then else "grow", "wait"
        if local is None:
            self._move("checkpoint", self.job.checkpoint_gb, state)
        self.state = state
        self.until_s = at + self.job.compute_s if state == "compute" else math.inf

    def _arrived(self, at: float) -> None:
        """Go on after all of a checkpoint is written or read."""
        self._close(complete=True)
        if self.state == "restore":
            self._resume(at)
        elif self.job.local is not None:
            self._sent(at)
        else:
            self.captured_s = self.work_s if self.state == "capture" else self.captured_s
            self.safe_s = self.captured_s
            if self.state != "compute":
                self._after_waiting(at)

    def _after_waiting(self, at: float) -> None:
        """Go on after a checkpoint for which the job stood still is safe."""
        written = self.state == "capture"
        if self.then == "stop" or (self.then == "save" and written):
            self._stand(at)
        elif self.then == "grow" or (written and self._share_that_can_run(at) > self.speed):
            self._grow(at)
        elif written:
            self._compute(at)
        else:
            self._capture(at)

    def _compute(self, at: float) -> None:
        self.state, self.until_s = "compute", at + self.job.compute_s

    def _resume(self, at: float) -> None:
        """Compute after a restart, with the units that are there by now."""
        self.far = self.swapped = False
        self.speed = self._share_that_can_run(at)
        self._compute(at)

    def _grow(self, at: float) -> None:
        """Restart with more replicas, from a checkpoint that is safe."""
        self.then = ""
        self.grown += 1
        self._go_on(at)

    def _near(self) -> bool:
        """Whether the job has local copies to go back to."""
        return self.job.local is not None and not self.far

    def _settled(self, at: float) -> None:
        """Let a checkpoint that is safe locally drain if it is one of those to be kept far."""
        assert self.job.local is not None
        self.held_s, self.settle_s = self.captured_s, math.inf
        stops = self.then == "stop"
        if stops:
            self.break_off()
            self.queued_s = -1.0
        if stops or self.number % self.job.local.every == 0:
            if self.transfer is None:
                self._send(self.held_s)
            else:
                self.queued_s = self.held_s
        if self.then == "grow":
            self._grow(at)

    def _send(self, what_s: float) -> None:
        self.sending_s = what_s
        size = self.job.checkpoint_gb
        self.transfer = Moving("checkpoint", size, size)

    def _sent(self, at: float) -> None:
        """Note that a checkpoint is on the shared storage; begin with the one that had to wait."""
        self.safe_s = self.sending_s
        if self.then == "stop" and math.isinf(self.settle_s):
            self._lose_copies()
            self._stand(at)
        elif self.queued_s >= 0:
            self._send(self.queued_s)
            self.queued_s = -1.0

    def _lose_copies(self) -> None:
        """Drop the local copies: only the shared storage has checkpoints."""
        self.held_s, self.settle_s, self.queued_s = self.safe_s, math.inf, -1.0
        self.number, self.resend, self.far = 0, False, True

    def _keep_copies(self) -> None:
        """Go back to the newest local copy; one that is not safe yet is lost."""
        assert self.job.local is not None
        self.number -= math.isfinite(self.settle_s)
        self.settle_s = math.inf
        if self.transfer is not None and not self.job.local.drain_survives:
            self.resend = True
            self.break_off()

    def _resume_near(self, at: float) -> None:
        """Compute after a restart from local copies; begin a drain anew that was broken off."""
        self._resume(at)
        if self.resend:
            self.resend = False
            self._send(self.sending_s)

    def _share_that_can_run(self, at: float) -> float:
        """Return which share of the job can run: that of the rack with the most units out."""
        units = self.job.units
        if units is None:
            return 1.0
        self.out = [(back, rack) for back, rack in self.out if back > at]
        out = max(Counter(rack for _, rack in self.out).values(), default=0)
        return units.running[out] if out < len(units.running) else 0.0

    def _back(self, at: float) -> None:
        """Take units back: go on if the job stood still for one."""
        could = self._share_that_can_run(at)
        if self.state == "repair" and could:
            self.speed = could
            self._restart(at)

    def _go_on(self, at: float) -> None:
        """Restart with the units that are there, or stand still until enough of them are."""
        could = self._share_that_can_run(at)
        if could:
            self.speed = could
            self._restart(at)
        else:
            self.state, self.until_s = "repair", math.inf
            self.stood_short += 1

    def _move(self, kind: Literal["checkpoint", "restore"], size_gb: float, state: State) -> None:
        self.transfer = Moving(kind, size_gb, size_gb)
        self.state, self.until_s = state, math.inf

    def _stand(self, at: float) -> None:
        if self.transfer is not None and self.transfer.kind == "checkpoint" and self._near():
            self.resend = True
        self.break_off()
        self.then = ""
        self.state, self.until_s = "planned", at + self.lasting_s
        self.interruptions.append(Interruption(self.number_of, at, True, 0.0))

    def _restart(self, at: float) -> None:
        local = self.job.local
        lasting_s = self.job.restart_s if local is None or self.far else local.restart_s
        if self.swapped and self.job.units is not None:
            lasting_s += self.job.units.swap_s
        self.state, self.until_s = "restart", at + lasting_s

    def _close(self, *, complete: bool) -> None:
        moved = self.transfer
        self.transfer = None
        if moved is not None and moved.stretches:
            stretches = tuple(moved.stretches)
            self.transfers.append(
                Transfer(self.number_of, moved.kind, moved.asked_gb, stretches, complete)
            )

    def _add(self, state: State, start_s: float, end_s: float) -> None:
        if end_s == start_s:
            return
        last = self.stays[-1] if self.stays else None
        if last is not None and last.state == state and last.end_s == start_s:
            if not self._began(state, start_s):
                self.stays[-1] = Stay(self.number_of, state, last.start_s, end_s)
                return
        self.stays.append(Stay(self.number_of, state, start_s, end_s))

    def _began(self, state: State, start_s: float) -> bool:
        """Whether a stay in the same state is another one: a failure during a restart."""
        return (
            state == "restart"
            and bool(self.interruptions)
            and (self.interruptions[-1].at_s == start_s)
        )


def record(
    world: World, disturbances: Disturbances, length_s: float, lane: int = 0
) -> tuple[History, tuple[TimeSpent, ...]]:
    """Return what happens under given disturbances, and where each job's time went.

    Args:
        disturbances: what strikes from outside.
        length_s: how long the run is.
        lane: which of the runs that the disturbances are for.
    """
    jobs = [RecordedJob(number, job) for number, job in enumerate(world.jobs)]
    struck = [iter(times[lane].tolist()) for times in disturbances.failures]
    failures = [next(times) for times in struck]
    effects = [_effects_of_failures(disturbances, number, lane) for number in range(len(jobs))]
    stops = iter(disturbances.planned.tolist())
    changes = iter(disturbances.changes[lane].tolist())
    rated = zip(
        disturbances.write_gb_per_s[lane].tolist(),
        disturbances.read_gb_per_s[lane].tolist(),
        strict=True,
    )
    write, read = next(rated)
    stop, change, now = next(stops), next(changes), 0.0
    lasting_s = 0.0 if world.planned is None else world.planned.lasting_s
    while now < length_s:
        rates = share(jobs, write, read)
        due = [job.next_event_s(now, rate) for job, rate in zip(jobs, rates, strict=True)]
        at = min(*due, *failures, stop, change, length_s)
        for job, rate in zip(jobs, rates, strict=True):
            job.stay(now, at, rate)
        now = at
        for job, its_own in zip(jobs, due, strict=True):
            if its_own == at:
                job.happen(at)
        if change == at:
            change, (write, read) = next(changes), next(rated)
        if stop == at:
            stop = next(stops)
            for job in jobs:
                job.stop(at, lasting_s)
        for number, job in enumerate(jobs):
            if failures[number] == at:
                failures[number] = next(struck[number])
                job.fail(at, next(effects[number]))
    return _history(jobs, length_s), tuple(job.budget() for job in jobs)


def _effects_of_failures(
    disturbances: Disturbances, number: int, lane: int
) -> Iterator[FailureEffect]:
    """Yield what each failure of a job does, in their order."""
    marks = disturbances.marks[number] if disturbances.marks else None
    if marks is None:
        yield from repeat(FailureEffect())
        return
    columns = (marks.local, marks.out_s, marks.rack, marks.luck)
    for row in zip(*(column[lane].tolist() for column in columns), strict=True):
        yield FailureEffect(*row)


def share(jobs: Sequence[RecordedJob], write: float, read: float) -> list[float]:
    """Return at which rate each job moves data, GB/s.

    The appliances' time is shared equally; what a job's clients cannot take is left to the others.

    Args:
        write: what the appliances that are up write, GB/s.
        read: what they read.
    """
    rates = [0.0] * len(jobs)
    wants: list[tuple[float, int, float]] = []
    for number, job in enumerate(jobs):
        if job.transfer is not None:
            whole = read if job.transfer.kind == "restore" else write
            wants.append((job.client_limit() / whole if whole else math.inf, number, whole))
    left = 1.0
    for place, (most, number, whole) in enumerate(sorted(wants)):
        share = min(most, left / (len(wants) - place))
        left -= share
        rates[number] = share * whole
    return rates


def _history(jobs: Sequence[RecordedJob], length_s: float) -> History:
    for job in jobs:
        job.break_off()
    stays = [stay for job in jobs for stay in job.stays]
    transfers = [transfer for job in jobs for transfer in job.transfers]
    struck = [each for job in jobs for each in job.interruptions]
    return History(
        length_s,
        tuple(job.job.name for job in jobs),
        tuple(sorted(stays, key=lambda stay: (stay.start_s, stay.job))),
        tuple(sorted(transfers, key=lambda each: (each.start_s, each.job))),
        tuple(sorted(struck, key=lambda each: (each.at_s, each.job))),
    )
