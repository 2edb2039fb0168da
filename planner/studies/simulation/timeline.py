"""A stretch of one run about an interruption."""

from __future__ import annotations

from collections.abc import Iterator

from planner.schema.simulation import Doing, Timeline, TimelineBar
from planner.simulation.disturbances import Disturbances
from planner.simulation.history import History, Interruption
from planner.simulation.record import record
from planner.simulation.world import World

_BEFORE, _AFTER = 2.3, 1.6
"""Intervals shown before the interruption, and after computing has begun again."""
_MOST_CYCLES = 30_000
"""Checkpoints before an interruption from which on it is not looked for."""
_FIRST = 10
"""Interruptions to choose from: the first that shows something is taken."""
_SHOWS = 0.25
"""Part of an interval that it should throw away."""


def timeline(world: World, given: Disturbances, length_s: float) -> Timeline:
    """Return the stretch that shows most of what happens.

    Args:
        world: what is simulated.
        given: the disturbances of the runs, of which the first is shown.
        length_s: how long they are.
    """
    longest = max(job.interval_s for job in world.jobs)
    after = max(job.restart_s for job in world.jobs) + (_BEFORE + _AFTER) * longest
    until = _MOST_CYCLES * min(job.interval_s for job in world.jobs)
    times = sorted(time for job in given.failures for time in job[0].tolist() if time < until)
    last = times[:_FIRST][-1] + 4 * after if times else 4 * longest
    history, _ = record(world, given, min(length_s, last))
    struck = _chosen(history, world)
    start, end = _stretch(history, struck, world)
    bars = (bar for bar in _bars(history, world) if max(bar.start_s, start) < min(bar.end_s, end))
    clipped = (
        TimelineBar(
            job=bar.job,
            doing=bar.doing,
            start_s=max(start, bar.start_s),
            end_s=min(end, bar.end_s),
        )
        for bar in bars
    )
    at = None if struck is None else struck.at_s
    return Timeline(start_s=start, end_s=end, at_s=at, bars=tuple(clipped))


def _chosen(history: History, world: World) -> Interruption | None:
    """Return the first interruption that throws something away, or the first of all."""
    found = [each for each in history.interruptions if not each.planned]
    shows = (each for each in found if each.lost_s > _SHOWS * world.jobs[each.job].interval_s)
    return next(shows, found[0] if found else None)


def _stretch(history: History, struck: Interruption | None, world: World) -> tuple[float, float]:
    if struck is None:
        return 0.0, history.length_s
    interval_s = world.jobs[struck.job].interval_s
    back = (
        stay.end_s
        for stay in history.stays
        if stay.job == struck.job and stay.state == "restore" and stay.start_s > struck.at_s
    )
    end = next(back, struck.at_s + world.jobs[struck.job].restart_s) + _AFTER * interval_s
    return max(0.0, struck.at_s - _BEFORE * interval_s), min(history.length_s, end)


def _bars(history: History, world: World) -> Iterator[TimelineBar]:
    lost = [
        (each.job, _since(history, each, world.jobs[each.job].sync), each.at_s)
        for each in history.interruptions
        if not each.planned
    ]
    for stay in history.stays:
        if stay.state != "compute":
            yield _bar(stay.job, stay.state, stay.start_s, stay.end_s)
            continue
        spans = ((start, end) for job, start, end in lost if job == stay.job)
        cut = next((start for start, end in spans if start < stay.end_s <= end), stay.end_s)
        cut = max(cut, stay.start_s)
        yield _bar(stay.job, "compute", stay.start_s, cut)
        yield _bar(stay.job, "lost", cut, stay.end_s)
    for moved in history.transfers:
        doing: Doing = "read" if moved.kind == "restore" else "drain"
        yield _bar(moved.job, doing, moved.start_s, moved.end_s)


def _bar(job: int, doing: Doing, start_s: float, end_s: float) -> TimelineBar:
    return TimelineBar(job=job, doing=doing, start_s=start_s, end_s=end_s)


def _since(history: History, struck: Interruption, sync: bool) -> float:
    """Return when the computing began that an interruption throws away."""
    since = 0.0
    for moved in history.transfers:
        if moved.job == struck.job and moved.complete and moved.end_s <= struck.at_s:
            since = moved.start_s if moved.kind == "checkpoint" and not sync else moved.end_s
    return since
