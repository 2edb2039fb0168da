"""A plan's job run event by event many times, beside what the formula predicts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.errors import Finding, InputError
from planner.schema.plan import JobPlan, Plan
from planner.schema.simulation import (
    Estimate,
    FailuresAssumed,
    JobSimulated,
    LossBudget,
    Simulation,
    StorageSeen,
)
from planner.simulation.disturbances import draw
from planner.simulation.replicate import Asked, Progress, Runs, confidence, events, replicate
from planner.simulation.world import (
    Array,
    Empirical,
    Failures,
    Weibull,
    World,
    appliances,
    world_of,
)
from planner.studies.sensitivity.workers import cores
from planner.studies.simulation import intervals
from planner.studies.simulation.beside import beside
from planner.studies.simulation.options import (
    YEAR_S,
    SimulationOptions,
    failures_of,
    outages_of,
    planned_of,
    require_numbers,
    require_sense,
)
from planner.studies.simulation.predict import drain_s, predicted, predicted_loss, restore_s
from planner.studies.simulation.timeline import timeline

__all__ = ["SimulationOptions", "study"]


def study(plan: Plan, options: SimulationOptions, progress: Progress | None = None) -> Simulation:
    """Simulate a plan that has a job.

    Args:
        plan: the plan.
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
    others = intervals.variants(world.jobs[0]) if tries else ()
    tried = (world.jobs[0], *others)
    asked = Asked(world, options.length_s, options.replications, options.seed, tried)
    runs = replicate(asked, options.processes or cores(), progress)
    compared = intervals.compare(world, plan.jobs[0], options.length_s, runs, tried)
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
    failures = failures_of(options, plan.jobs[0].mtti_s)
    more, said = beside(options.beside, plan, stores)
    if isinstance(failures, Weibull):
        more = tuple(replace(job, failures=failures.scaled(job.failures.mean_s)) for job in more)
    world = world_of(
        plan,
        beside=more,
        failures=failures,
        interval_s=options.interval_s,
        planned=planned_of(options.planned),
        outages=outages_of(options.outages),
    )
    return world, (plan.jobs[0], *said)


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
            **{
                name: mean[name] / length_s
                for name in ("slowdown", "rework", "drain", "restart", "restore", "planned")
            },
        ),
        waits=mean["wait"] / length_s,
        interruptions_per_year=mean["failures"] * a_year,
        stops_per_year=mean["stops"] * a_year,
        waits_per_year=mean["waits"] * a_year,
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
