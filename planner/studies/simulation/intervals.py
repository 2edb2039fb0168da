"""Other intervals under the same failures: whether one would have been better."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from planner.schema.plan import JobPlan
from planner.schema.simulation import IntervalTried
from planner.simulation.replicate import Runs, confidence
from planner.simulation.world import JobRun, World
from planner.studies.simulation.predict import drain_s, predicted

POWERS = (-2.0, -1.5, -1.0, -0.5, -0.25, 0.25, 0.5, 1.0, 1.5, 2.0)
"""Powers of 2 by which the interval is made longer: from a quarter to four times as long."""


def variants(job: JobRun) -> tuple[JobRun, ...]:
    """Return a job with each of the intervals to try beside its own, from short to long."""
    found = (replace(job, interval_s=2.0**power * job.interval_s) for power in POWERS)
    return tuple(each for each in found if each.compute_s > 1e-9 * each.interval_s)


def compare(
    world: World, planned: JobPlan, length_s: float, runs: Runs, tried: Sequence[JobRun]
) -> tuple[tuple[IntervalTried, ...], int | None, bool]:
    """Return the intervals from short to long, the place of the best, whether it is better.

    Args:
        world: what was simulated.
        planned: the plan's job, whose limits say what is allowed.
        length_s: of a run.
        runs: what came out, by interval.
        tried: the job with each interval in their order there, the simulated one first.
    """
    job = world.jobs[0]
    kept = runs.found["kept"][0] / length_s
    found = []
    for place, variant in enumerate(tried):
        interval_s = variant.interval_s
        apart = kept[place] - kept[0]
        mean = float(apart.mean())
        room = confidence(apart, len(tried) - 1) if place else 0.0
        found.append(
            IntervalTried(
                factor=interval_s / job.interval_s,
                interval_s=interval_s,
                predicted=predicted(variant, world),
                goodput=float(kept[place].mean()),
                difference=mean,
                low=mean - room,
                high=mean + room,
                breaks=tuple(_broken(job, world, planned, interval_s)),
            )
        )
    found.sort(key=lambda each: each.interval_s)
    allowed = [place for place, each in enumerate(found) if not each.breaks]
    best = max(allowed, key=lambda place: found[place].goodput, default=None)
    return tuple(found), best, best is not None and found[best].low > 0


def _broken(job: JobRun, world: World, planned: JobPlan, interval_s: float) -> Iterator[str]:
    """Yield the limits that an interval does not keep, by their names in the problem."""
    drain = drain_s(job, world)
    if job.sync:
        if planned.max_blocking is not None and _over(drain / interval_s, planned.max_blocking):
            yield "max_blocking"
        return
    if planned.max_overlap is not None and _over(drain / interval_s, planned.max_overlap):
        yield "max_overlap"
    if _over(job.stall_s + drain, interval_s):
        yield "drain"


def _over(value: float, limit: float) -> bool:
    return value > limit and not math.isclose(value, limit, rel_tol=1e-6)
