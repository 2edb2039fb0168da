"""One run with everything that happens in it, stepped from event to event.

It knows nothing of the many runs side by side in ``lanes``, which are checked against it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from planner.simulation.budget import Budget
from planner.simulation.disturbances import Disturbances, draw
from planner.simulation.history import History
from planner.simulation.recorded_job import RecordedJob
from planner.simulation.world import World


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
        rates = shared(jobs, write, read)
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


def shared(jobs: Sequence[RecordedJob], write: float, read: float) -> list[float]:
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
