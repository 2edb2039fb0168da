"""One run with everything that happens in it, stepped from event to event.

It knows nothing of the many runs side by side in ``lanes``, which are checked against it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from planner.simulation.history import Budget, History, Interruption, State, Stay, Transfer
from planner.simulation.world import Disturbances, JobRun, World, draw

Then = Literal["", "save", "stop"]
"""What a planned stop has come to: nothing, the job is saving, the checkpoint drains before it."""


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
        self.number, self.job = number, job
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

    def client_limit(self) -> float:
        """Return what the job's clients move at most in what they are doing, GB/s."""
        reading = self.state == "restore"
        return self.job.client_read_gb_per_s if reading else self.job.client_write_gb_per_s

    def next_event_s(self, now: float, rate: float) -> float:
        """Return when the job's state or transfer ends, at a rate in GB/s."""
        if self.transfer is None:
            return self.until_s
        done = now + self.transfer.left_gb / rate if rate else math.inf
        return min(done, self.until_s) if self.state == "compute" else done

    def stay(self, now: float, at: float, rate: float) -> None:
        """Go on as it is for a while."""
        draining = self.transfer is not None and self.state == "compute"
        if self.state == "compute":
            slow = self.job.drain_slowdown * (at - now) if draining else 0.0
            self.slow_s += slow
            self.work_s += at - now - slow
        if self.transfer is not None:
            left = self.transfer.left_gb
            done = rate > 0 and now + left / rate == at
            self.transfer.move(now, at, rate)
            self.transfer.left_gb = 0.0 if done else max(0.0, left - rate * (at - now))
        self._add(self.state, now, at)

    def happen(self, at: float) -> None:
        """Do what is next: the state or the transfer has come to its end."""
        if self.transfer is not None and self.transfer.left_gb == 0.0:
            self._arrived(at)
        elif self.state == "compute" and self.transfer is not None:
            self.state, self.until_s, self.waits = "wait", math.inf, self.waits + 1
        elif self.state == "compute":
            self._capture(at)
        elif self.state == "capture":
            self._captured(at)
        elif self.state == "planned":
            self._restart(at)
        else:
            self._move("restore", self.job.restore_gb, "restore")

    def stop(self, at: float, lasting_s: float) -> None:
        """Make ready for a planned stop: save first what is not saved."""
        if self.state == "planned" or self.then:
            return
        self.lasting_s = lasting_s
        if self.state in ("restart", "restore"):
            self._stand(at)
            return
        self.then = "save"
        if self.state == "compute" and self.transfer is not None:
            self.state, self.until_s = "wait", math.inf
        elif self.state == "compute":
            self._capture(at)

    def fail(self, at: float) -> None:
        """Lose what is not safe, and start again."""
        if self.state == "planned":
            return
        lost = self.work_s - self.safe_s
        self.rework_s += self.work_s - self.captured_s
        self.drain_s += self.captured_s - self.safe_s
        self.work_s = self.captured_s = self.safe_s
        self.interruptions.append(Interruption(self.number, at, False, lost))
        if self.then:
            self._stand(at)
        else:
            self._restart(at)

    def break_off(self) -> None:
        """End a transfer that is under way."""
        if self.transfer is not None:
            self._close(complete=False)

    def budget(self) -> Budget:
        """Return where the time of the run so far went."""
        spent = dict.fromkeys(("capture", "wait", "restart", "restore", "planned"), 0.0)
        for stay in self.stays:
            if stay.state != "compute":
                spent[stay.state] += stay.end_s - stay.start_s
        stops = sum(each.planned for each in self.interruptions)
        return Budget(
            kept=self.work_s,
            slowdown=self.slow_s,
            rework=self.rework_s,
            drain=self.drain_s,
            failures=len(self.interruptions) - stops,
            stops=stops,
            waits=self.waits,
            **spent,
        )

    def _capture(self, at: float) -> None:
        if self.job.sync:
            self._move("checkpoint", self.job.checkpoint_gb, "capture")
        else:
            self.state, self.until_s = "capture", at + self.job.stall_s

    def _captured(self, at: float) -> None:
        self.captured_s = self.work_s
        if self.then:
            self.then = "stop"
            self._move("checkpoint", self.job.checkpoint_gb, "wait")
        else:
            self._move("checkpoint", self.job.checkpoint_gb, "compute")
            self.until_s = at + self.job.compute_s

    def _arrived(self, at: float) -> None:
        """Go on after all of a checkpoint is written or read."""
        self._close(complete=True)
        if self.state == "restore":
            self._compute(at)
            return
        self.captured_s = self.work_s if self.state == "capture" else self.captured_s
        self.safe_s = self.captured_s
        if self.then == "stop" or (self.then and self.state == "capture"):
            self._stand(at)
        elif self.state == "capture":
            self._compute(at)
        elif self.state == "wait":
            self._capture(at)

    def _compute(self, at: float) -> None:
        self.state, self.until_s = "compute", at + self.job.compute_s

    def _move(self, kind: Literal["checkpoint", "restore"], size_gb: float, state: State) -> None:
        self.transfer = Moving(kind, size_gb, size_gb)
        self.state, self.until_s = state, math.inf

    def _stand(self, at: float) -> None:
        self.break_off()
        self.then = ""
        self.state, self.until_s = "planned", at + self.lasting_s
        self.interruptions.append(Interruption(self.number, at, True, 0.0))

    def _restart(self, at: float) -> None:
        self.break_off()
        self.state, self.until_s = "restart", at + self.job.restart_s

    def _close(self, *, complete: bool) -> None:
        moved = self.transfer
        self.transfer = None
        if moved is not None and moved.stretches:
            stretches = tuple(moved.stretches)
            self.transfers.append(
                Transfer(self.number, moved.kind, moved.asked_gb, stretches, complete)
            )

    def _add(self, state: State, start_s: float, end_s: float) -> None:
        if end_s == start_s:
            return
        last = self.stays[-1] if self.stays else None
        if last is not None and last.state == state and last.end_s == start_s:
            if not self._began(state, start_s):
                self.stays[-1] = Stay(self.number, state, last.start_s, end_s)
                return
        self.stays.append(Stay(self.number, state, start_s, end_s))

    def _began(self, state: State, start_s: float) -> bool:
        """Whether a stay in the same state is another one: a failure during a restart."""
        return (
            state == "restart"
            and bool(self.interruptions)
            and (self.interruptions[-1].at_s == start_s)
        )


def run(world: World, length_s: float, seed: int) -> History:
    """Return what happens in one run.

    Args:
        world: what is simulated.
        length_s: how long it is.
        seed: of everything that is drawn.
    """
    return record(world, draw(world, length_s, seed), length_s)[0]


def record(
    world: World, disturbances: Disturbances, length_s: float, lane: int = 0
) -> tuple[History, tuple[Budget, ...]]:
    """Return what happens under given disturbances, and where each job's time went.

    Args:
        world: what is simulated.
        disturbances: what strikes from outside.
        length_s: how long the run is.
        lane: which of the runs that the disturbances are for.
    """
    jobs = [RecordedJob(number, job) for number, job in enumerate(world.jobs)]
    struck = [iter(times[lane].tolist()) for times in disturbances.failures]
    failures = [next(times) for times in struck]
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
                job.fail(at)
    return _history(jobs, length_s), tuple(job.budget() for job in jobs)


def share(jobs: Sequence[RecordedJob], write: float, read: float) -> list[float]:
    """Return at which rate each job moves data, GB/s.

    The appliances' time is shared equally; what a job's clients cannot take is left to the others.

    Args:
        jobs: all jobs.
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
