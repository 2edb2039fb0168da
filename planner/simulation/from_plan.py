"""A plan's job and storage as they are simulated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from planner.schema.plan import JobPlan, Plan
from planner.simulation.operation import (
    Exponential,
    FailureClass,
    Failures,
    Law,
    LocalCopies,
    RepairUnits,
)
from planner.simulation.world import Appliances, JobRun, Outages, Planned, World


@dataclass(frozen=True)
class RepairChoices:
    """How units are repaired beyond what a plan says.

    Attributes:
        law: how times of repair are spread; their mean is the plan's.
        shrinks: whether the job goes on with fewer replicas where units are short, or waits; None
            is what the plan says.
    """

    law: Law = field(default_factory=lambda: Exponential(1.0))
    shrinks: bool | None = None


def world_of(
    plan: Plan,
    *,
    beside: Sequence[JobRun] = (),
    failures: Failures | None = None,
    interval_s: float | None = None,
    planned: Planned | None = None,
    outages: Outages | None = None,
    repairs: RepairChoices | None = None,
) -> World:
    """Return what is to be simulated of a plan that has a job.

    Args:
        plan: the plan; its storage is shared by all jobs.
        beside: further jobs on the same storage.
        failures: when its job fails, by default without memory at the plan's mean.
        interval_s: another interval between checkpoints than the plan's.
        planned: planned stops, which all jobs make together.
        outages: how appliances fail.
        repairs: how its units are repaired beyond what the plan says.
    """
    stores = appliances(plan)
    job = job_run(plan.jobs[0], stores, failures=failures, interval_s=interval_s, repairs=repairs)
    return World((job, *beside), stores, planned, outages)


def appliances(plan: Plan) -> tuple[Appliances, ...]:
    """Return a plan's appliances, each with its share of what its kind delivers."""
    site = plan.site
    return tuple(
        Appliances(
            line.working,
            site.delivered_fraction_write * line.write_gb_per_s / line.working,
            site.delivered_fraction_read * line.read_gb_per_s / line.working,
        )
        for line in plan.lines
        if line.section == "Storage"
        and line.working
        and (line.write_gb_per_s or line.read_gb_per_s)
    )


def job_run(
    job: JobPlan,
    stores: Sequence[Appliances],
    *,
    failures: Failures | None = None,
    interval_s: float | None = None,
    repairs: RepairChoices | None = None,
) -> JobRun:
    """Return a plan's job as it runs on some appliances.

    Args:
        stores: what it writes to and reads from.
        failures: when it fails, by default without memory at its mean.
        interval_s: another interval than its own.
        repairs: how its units are repaired beyond what the plan says.

    Raises:
        ValueError: a job is to shrink that cannot, or its interval is too short for a local copy.
    """
    repairs = repairs or RepairChoices()
    sync = job.mode == "sync"
    every_s = job.interval_s if interval_s is None else interval_s
    alone = min(World((), tuple(stores)).write_gb_per_s, job.client_write_limit_gb_per_s)
    return JobRun(
        name=job.name,
        interval_s=every_s,
        stall_s=job.checkpoint_gb / alone if sync else job.stall_s,
        checkpoint_gb=job.checkpoint_gb,
        restore_gb=job.fan_out * job.checkpoint_gb,
        restart_s=job.restart_s,
        failures=failures or Exponential(full_mtti_s(job)),
        drain_slowdown=0.0 if sync else job.drain_slowdown,
        sync=sync,
        client_write_gb_per_s=job.client_write_limit_gb_per_s,
        client_read_gb_per_s=job.client_read_limit_gb_per_s,
        classes=classes_of(job, repairs),
        units=units_of(job, repairs),
        local=copies_of(job, every_s),
    )


def full_mtti_s(job: JobPlan) -> float:
    """Return the mean time between interruptions of a plan's job while all its replicas run, s."""
    shrunk = None if job.repair is None else job.repair.shrunk
    return job.mtti_s if shrunk is None else job.mtti_s * shrunk.failing


def classes_of(job: JobPlan, repairs: RepairChoices) -> tuple[FailureClass, ...]:
    """Return the kinds of a plan's failures: by the level of checkpoints that they need, the same
    share of each taking a unit out."""
    out, law = 0.0, None
    if job.repair is not None:
        out, law = job.repair.hardware_share, repairs.law.scaled(job.repair.repair_s)
    if job.local is None:
        return () if law is None else (FailureClass(1.0, out, law),)
    remote = job.local.remote_share
    kinds = (FailureClass(1.0 - remote, out, law, True), FailureClass(remote, out, law))
    return tuple(kind for kind in kinds if kind.share > 0)


LIMIT_TOLERANCE = 1e-6
"""As a share of the interval: as much later than the next capture a plan's local copy may be."""


def copies_of(job: JobPlan, interval_s: float) -> LocalCopies | None:
    """Return a plan's local level of checkpoints, saved at some interval, s.

    Raises:
        ValueError: a copy is not safe when the next is captured.
    """
    local = job.local
    if local is None:
        return None
    room_s = interval_s - job.stall_s
    if local.drain_s > room_s + LIMIT_TOLERANCE * interval_s:
        raise ValueError(
            f"a local copy is safe {job.stall_s + local.drain_s:.3g} s after its capture begins"
        )
    return LocalCopies(
        settle_s=min(local.drain_s, room_s),
        every=local.every,
        restart_s=local.restart_s,
        drain_survives=local.remote_drain == "continues",
    )


def units_of(job: JobPlan, repairs: RepairChoices) -> RepairUnits | None:
    """Return the units of a plan's job that are repaired, and how it runs without some of them.

    Raises:
        ValueError: a job is to shrink whose spares stay in their racks.
    """
    repair = job.repair
    if repair is None:
        return None
    shrinks = repair.shrunk is not None if repairs.shrinks is None else repairs.shrinks
    (usable,) = job.usable_gpus_by_type.values()
    if repair.in_rack:
        if shrinks:
            raise ValueError("spares stay in their racks, so the job cannot run on without a unit")
        racks = math.ceil(job.gpus_used / usable)
        return RepairUnits.waiting(repair.spares // racks, repair.swap_s, racks)
    if not shrinks:
        return RepairUnits.waiting(repair.spares, repair.swap_s)
    each = min(usable, repair.unit_gpus)
    step = job.replica_gpus if job.whole_replicas and job.replica_gpus else each
    units = math.ceil(job.gpus_used / each) + repair.spares
    most = math.ceil(job.gpus_used / step)
    least = 1 if repair.shrunk is None else repair.shrunk.least_replicas
    held = [each * (units - out) // step for out in range(units + 1)]
    left = [min(most, count) if count >= least else 0 for count in held]
    return RepairUnits.shrinking(left, repair.swap_s)
