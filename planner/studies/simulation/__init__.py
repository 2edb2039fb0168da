"""A plan's job run event by event many times, beside what the formula predicts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from planner.api import Options
from planner.errors import Finding, InputError
from planner.processes import Progress
from planner.schema.plan import JobPlan, Plan
from planner.schema.simulation import (
    Doing,
    Estimate,
    FailuresAssumed,
    IntervalTried,
    JobSimulated,
    LocalSeen,
    LossBudget,
    RepairSeen,
    Simulation,
    StorageSeen,
    Timeline,
    TimelineBar,
)
from planner.simulation.from_plan import appliances, copies_of, full_mtti_s, world_of
from planner.simulation.history import History, Interruption
from planner.simulation.operation import Array, Empirical, Failures, Weibull
from planner.simulation.record import record
from planner.simulation.replicate import Replications, Runs, confidence, events, replicate
from planner.simulation.world import Disturbances, JobRun, World, draw
from planner.sizing import two_levels
from planner.sizing.availability import (
    Restarts,
    Shrunk,
    in_rack_waiting,
    shrunk,
    swap_factor,
    waiting,
)
from planner.sizing.goodput import goodput, goodput_loss
from planner.studies.compare.side_by_side import read_side
from planner.studies.request import Found, Request, stem_of_side
from planner.studies.simulation.options import (
    YEAR_S,
    SimulationOptions,
    beside,
    failures_of,
    outages_of,
    planned_of,
    repairs_of,
    require_numbers,
    require_sense,
)
from planner.studies.workforce import cores


def drain_s(job: JobRun, world: World) -> float:
    """Return how long a checkpoint is written with all appliances up and no other job, s."""
    return job.checkpoint_gb / min(world.write_gb_per_s, job.client_write_gb_per_s)


def restore_s(job: JobRun, world: World) -> float:
    """Return how long a checkpoint is read back likewise, s."""
    return job.restore_gb / min(world.read_gb_per_s, job.client_read_gb_per_s)


def seen_mtti_s(job: JobRun) -> float:
    """Return the mean time between interruptions that the work of a job sees, s: longer than that
    of all its replicas where fewer run while units are short."""
    return job.failures.mean_s / (1.0 if (shrinks := shrunk_of(job)) is None else shrinks.failing)


def shrunk_of(job: JobRun) -> Shrunk | None:
    """Return what a job does on average that goes on with fewer replicas, None where it waits."""
    units = job.units
    if units is None or not units.shrinks:
        return None
    running = units.running
    return shrunk(lambda out: running[out] if out < len(running) else 0.0, repair_load_of(job))


def kept_in_repair(job: JobRun, world: World) -> tuple[float, float]:
    """Return what longer restarts after hardware failures leave of the goodput with one level, and
    the share of it that is lost waiting for repairs, or with fewer replicas."""
    units, mean_s = job.units, seen_mtti_s(job)
    if units is None:
        return 1.0, 0.0
    spares = sum(share == 1.0 for share in units.running) - 1
    load, hardware = repair_load_of(job), math.fsum(kind.share * kind.out for kind in job.classes)
    shrinks = shrunk_of(job)
    if shrinks is not None:
        waits = _short_of_units(job, world, shrinks)
    elif units.racks > 1:
        waits = in_rack_waiting(units.racks, spares, load / units.racks)
    else:
        waits = waiting(spares, load)
    return swap_factor(hardware, units.swap_s, mean_s), waits


def _short_of_units(job: JobRun, world: World, shrinks: Shrunk) -> float:
    """Return the share of its work that a job loses with fewer replicas, less what it spares in
    restarts that those that are out do not make."""
    mean_s, restart_s = seen_mtti_s(job), job.restart_s + restore_s(job, world)
    share = math.fsum(kind.share * kind.out for kind in job.classes)
    ways = share, repair_s_of(job)
    levels = levels_of(job, world)
    if levels is not None:
        far = levels.remote_share
        after = ((1.0 - far, levels.local_restart_s), (far, job.restart_s))
        how = Restarts(*ways, after, levels.local_restart_s, levels.local_drain_s)
    else:
        more_s = restore_s(job, world) + (0.0 if job.sync else drain_s(job, world))
        how = Restarts(*ways, ((1.0, job.restart_s),), job.restart_s, more_s)
    fewer_per_s = shrinks.spared(how) / shrinks.failing / mean_s
    spared = restart_s * fewer_per_s
    if levels is not None:
        spared = two_levels.log_spared(levels, fewer_per_s)
    lost = shrinks.lost(how, job.interval_s, mean_s)
    return max(0.0, lost - (1.0 - lost) * math.expm1(spared))


def repair_s_of(job: JobRun) -> float:
    """Return how long a unit of a job is out on average, s."""
    shares = math.fsum(kind.share * kind.out for kind in job.classes if kind.repair)
    return repair_load_of(job) * job.failures.mean_s / shares


def repair_load_of(job: JobRun) -> float:
    """Return how many units would be out on average if the job never stood still."""
    out = (kind.share * kind.out * kind.repair.mean_s for kind in job.classes if kind.repair)
    return math.fsum(out) / job.failures.mean_s


def levels_of(job: JobRun, world: World) -> two_levels.TwoLevels | None:
    """Return a job's two levels of checkpoints for the formula, None where it has one."""
    local = job.local
    if local is None:
        return None
    return two_levels.TwoLevels(
        interval_s=job.interval_s,
        every=local.every,
        stall_s=job.stall_s,
        local_drain_s=local.settle_s,
        drain_s=drain_s(job, world),
        local_restart_s=local.restart_s,
        restart_s=job.restart_s,
        restore_s=restore_s(job, world),
        mtti_s=seen_mtti_s(job),
        remote_share=remote_share_of(job),
        drain_slowdown=job.drain_slowdown,
        drain_restarts=not local.drain_survives,
        hardware_share=math.fsum(kind.share * kind.out for kind in job.classes),
        swap_s=0.0 if job.units is None else job.units.swap_s,
    )


def remote_share_of(job: JobRun) -> float:
    """Return the share of a job's interruptions that local copies do not survive."""
    return math.fsum(kind.share for kind in job.classes if not kind.local)


def predicted(job: JobRun, world: World) -> float:
    """Return the goodput that the formula gives a job on its storage, waiting for repairs
    included."""
    drain = 0.0 if job.sync else drain_s(job, world)
    restart = job.restart_s + restore_s(job, world)
    mean = seen_mtti_s(job)
    swaps, waits = kept_in_repair(job, world)
    levels = levels_of(job, world)
    if levels is not None:
        return two_levels.goodput(levels) * (1.0 - waits)
    kept = goodput(job.interval_s, job.stall_s, drain, restart, mean, job.drain_slowdown)
    return kept * swaps * (1.0 - waits)


def predicted_loss(job: JobRun, world: World) -> LossBudget:
    """Return the formula's split of what is lost.

    It counts what is slowed as part of the stall; here the two stand apart.
    """
    drain = 0.0 if job.sync else drain_s(job, world)
    levels, slowed = levels_of(job, world), job.drain_slowdown * drain
    if levels is not None:
        parts = two_levels.loss(levels, kept_in_repair(job, world)[1])
        slowed /= levels.every
    else:
        parts = goodput_loss(
            job.interval_s,
            job.stall_s,
            drain,
            job.restart_s,
            restore_s(job, world),
            seen_mtti_s(job),
            job.drain_slowdown,
            *kept_in_repair(job, world),
        )
    share = slowed / (slowed + job.stall_s) if slowed else 0.0
    shrinks = job.units is not None and job.units.shrinks
    return LossBudget(
        stall=parts.stall * (1.0 - share),
        slowdown=parts.stall * share,
        rework=parts.rework,
        drain=parts.drain,
        restart=parts.restart,
        restore=parts.restore,
        planned=0.0,
        waiting=0.0 if shrinks else parts.waiting,
        shrunk=parts.waiting if shrinks else 0.0,
    )


POWERS = (-2.0, -1.5, -1.0, -0.5, -0.25, 0.25, 0.5, 1.0, 1.5, 2.0)
"""Powers of 2 by which the interval is made longer: from a quarter to four times as long."""


def variants(job: JobRun) -> tuple[JobRun, ...]:
    """Return a job with each of the intervals to try beside its own, from short to long."""
    settle_s = 0.0 if job.local is None else job.local.settle_s
    intervals = (2.0**power * job.interval_s for power in POWERS)
    room = (each for each in intervals if each - job.stall_s > max(settle_s, 1e-9 * each))
    return tuple(replace(job, interval_s=each) for each in room)


def compare(
    world: World, planned: JobPlan, length_s: float, runs: Runs, tried: Sequence[JobRun]
) -> tuple[tuple[IntervalTried, ...], int | None, bool]:
    """Return the intervals from short to long, the place of the best, whether it is better.

    Args:
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
    every = 1 if job.local is None else job.local.every
    if planned.max_overlap is not None and _over(drain / (every * interval_s), planned.max_overlap):
        yield "max_overlap"
    if _over((job.stall_s if job.local is None else 0.0) + drain, every * interval_s):
        yield "drain"


def _over(value: float, limit: float) -> bool:
    return value > limit and not math.isclose(value, limit, rel_tol=1e-6)


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
    """Return when the computing began that an interruption undoes."""
    since = 0.0
    for moved in history.transfers:
        if moved.job == struck.job and moved.complete and moved.end_s <= struck.at_s:
            since = moved.start_s if moved.kind == "checkpoint" and not sync else moved.end_s
    return since


def study(plan: Plan, options: SimulationOptions, progress: Progress | None = None) -> Simulation:
    """Simulate a plan that has a job.

    Args:
        options: what to simulate, and how often.
        progress: is told how many runs of how many are done.

    Raises:
        InputError: an option or a file is wrong.
    """
    require_numbers(options)
    world, planned = _world(plan, options)
    require_sense(world, options, events(world, options.length_s))
    alone = len(world.jobs) == 1
    tries = alone if options.intervals is None else options.intervals
    others = variants(world.jobs[0]) if tries else ()
    tried = (world.jobs[0], *others)
    asked = Replications(world, options.length_s, options.replications, options.seed, tried)
    runs = replicate(asked, options.processes or cores(), progress)
    compared = compare(world, plan.jobs[0], options.length_s, runs, tried)
    stops, outages = world.planned, world.outages
    shown = draw(world, options.length_s, options.seed)
    return Simulation(
        problem=plan.problem,
        problem_file=plan.provenance.problem_file,
        scenario=plan.provenance.scenario,
        length_s=options.length_s,
        replications=options.replications,
        seed=options.seed,
        planned=None if stops is None else (stops.every_s, stops.lasting_s),
        outages=None if outages is None else (outages.between_s, outages.repair_s),
        jobs=tuple(_job(world, number, runs, options, said) for number, said in enumerate(planned)),
        storage=_storage(world, runs, options.length_s),
        intervals=compared[0] if others else (),
        best=compared[1] if others else None,
        better=compared[2] if others else False,
        timeline=timeline(world, shown, options.length_s),
    )


def _world(plan: Plan, options: SimulationOptions) -> tuple[World, tuple[JobPlan | None, ...]]:
    """Return what is simulated, and what is planned of each of its jobs."""
    stores = appliances(plan)
    if not stores:
        fix = "give a plan whose storage is bought or installed"
        raise InputError(Finding("plan", "there is no storage in the plan", fix=fix))
    failures = failures_of(options, full_mtti_s(plan.jobs[0]))
    more, said = beside(options.beside, plan, stores)
    if isinstance(failures, Weibull):
        more = tuple(replace(job, failures=failures.scaled(job.failures.mean_s)) for job in more)
    _require_room(plan.jobs[0], options.interval_s)
    world = world_of(
        plan,
        beside=more,
        failures=failures,
        interval_s=options.interval_s,
        planned=planned_of(options.planned),
        outages=outages_of(options.outages),
        repairs=repairs_of(options, plan),
    )
    return world, (plan.jobs[0], *said)


def _require_room(job: JobPlan, interval_s: float | None) -> None:
    """Refuse an interval in which a local copy is not safe before the next is captured."""
    try:
        copies_of(job, job.interval_s if interval_s is None else interval_s)
    except ValueError as error:
        message = f"--interval {interval_s:g} s is too short: {error}"
        raise InputError(Finding("option", message, fix="give a longer interval")) from None


def _job(
    world: World, number: int, runs: Runs, options: SimulationOptions, said: JobPlan | None
) -> JobSimulated:
    job = world.jobs[number]
    length_s = options.length_s
    seconds = {name: values[number, 0] for name, values in runs.found.items()}
    mean = {name: float(values.mean()) for name, values in seconds.items()}
    a_year = YEAR_S / length_s
    return JobSimulated(
        name=job.name,
        mode="sync" if job.sync else "async",
        interval_s=job.interval_s,
        stall_s=job.stall_s,
        checkpoint_gb=job.checkpoint_gb,
        drain_s=drain_s(job, world),
        restart_s=job.restart_s,
        restore_s=restore_s(job, world),
        failures=_assumed(job.failures, options),
        planned_goodput=None if said is None else said.goodput,
        predicted=predicted(job, world),
        predicted_loss=predicted_loss(job, world),
        goodput=_estimate(seconds["kept"] / length_s),
        loss=LossBudget(
            stall=(mean["capture"] + mean["wait"]) / length_s,
            waiting=mean["repair"] / length_s,
            shrunk=mean["short"] / length_s,
            **{
                name: mean[name] / length_s
                for name in ("slowdown", "rework", "drain", "restart", "restore", "planned")
            },
        ),
        waits=mean["wait"] / length_s,
        interruptions_per_year=mean["failures"] * a_year,
        stops_per_year=mean["stops"] * a_year,
        waits_per_year=mean["waits"] * a_year,
        repair=_repair(job, {name: value * a_year for name, value in mean.items()}),
        local=_local(job, mean["far"] * a_year),
    )


def _local(job: JobRun, remote_per_year: float) -> LocalSeen | None:
    """Return what was assumed of local copies, and how often the shared storage was needed."""
    if job.local is None:
        return None
    return LocalSeen(
        every=job.local.every,
        settle_s=job.local.settle_s,
        restart_s=job.local.restart_s,
        remote_share=remote_share_of(job),
        drain_restarts=not job.local.drain_survives,
        remote_per_year=remote_per_year,
    )


def _repair(job: JobRun, a_year: dict[str, float]) -> RepairSeen | None:
    """Return what was assumed of repairs and what happened, None where there are none.

    Args:
        a_year: what happened in a year on average, by the names in ``TimeSpent``.
    """
    units = job.units
    if units is None:
        return None
    out = next(kind for kind in job.classes if kind.repair is not None)
    assert out.repair is not None
    return RepairSeen(
        spares=sum(share == 1.0 for share in units.running) - 1,
        in_rack=units.racks > 1,
        shrinks=units.shrinks,
        hardware_share=math.fsum(kind.share * kind.out for kind in job.classes),
        law=type(out.repair).__name__.lower(),
        repair_s=out.repair.mean_s,
        swap_s=units.swap_s,
        expected_out=repair_load_of(job),
        taken_per_year=a_year["taken"],
        waits_per_year=a_year["short_of_units"],
        grown_per_year=a_year["grown"],
    )


def _estimate(values: Array) -> Estimate:
    mean, room = float(values.mean()), confidence(values)
    p5, p95 = (float(each) for each in np.percentile(values, (5.0, 95.0)))
    return Estimate(mean=mean, low=mean - room, high=mean + room, p5=p5, p95=p95)


def _assumed(failures: Failures, options: SimulationOptions) -> FailuresAssumed:
    common = {"mean_s": failures.mean_s, "variation": failures.variation}
    if isinstance(failures, Weibull):
        return FailuresAssumed(kind="weibull", shape=failures.shape, **common)
    if isinstance(failures, Empirical):
        return FailuresAssumed(
            kind="empirical",
            file=options.failures,
            times=len(failures.measured_s),
            scaled=options.scaled,
            **common,
        )
    return FailuresAssumed(kind="exponential", **common)


def _storage(world: World, runs: Runs, length_s: float) -> StorageSeen:
    return StorageSeen(
        units=sum(kind.count for kind in world.appliances),
        write_gb_per_s=world.write_gb_per_s,
        read_gb_per_s=world.read_gb_per_s,
        outages_per_year=float(runs.outages.mean()) * YEAR_S / length_s,
        some_down=float(runs.some_down_s.mean()) / length_s,
        all_down=float(runs.all_down_s.mean()) / length_s,
    )


def run(request: Request, **given: Any) -> Found:
    """Run a plan's job event by event, many times.

    Args:
        request: the plan's file; a problem file is solved first, a workbook read as it stands.
        given: what to simulate, and how often, as ``SimulationOptions`` names it.

    Raises:
        InputError: a file or an option is wrong.
    """
    options = SimulationOptions(processes=request.jobs, **given)
    require_numbers(options)
    read = read_side(
        request.path,
        settings=request.settings,
        scenario=request.scenario,
        options=Options(explain=False),
        models=request.models,
    )
    if not read.there:
        why = read.reason or read.plan.status
        text = f"{request.path}: no plan, so nothing to simulate: {why}"
        return Found(ended=(read.plan.status,), text=text)
    found = study(read.plan, options, request.progress)
    return Found((found,), stem=stem_of_side(request.path, read.plan))
