"""A plan's job as it is simulated, in plain numbers, and the laws of its failures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from planner.schema.operation import JobPlan
from planner.schema.plan import Plan

Array: TypeAlias = npt.NDArray[np.float64]
Kind = Literal["exponential", "weibull", "empirical"]
INTERVAL_TOLERANCE = 1e-6
"""Share of the interval by which a local copy may be late, as in a plan."""


@dataclass(frozen=True)
class Law:
    """A distribution of times.

    Attributes:
        mean_s: mean, s.
        kind: exponential (without memory), Weibull, or measured times drawn with replacement.
        shape: of a Weibull law; below 1 failures come in bunches.
        measured_s: measured times, stretched to the mean when drawn.
    """

    mean_s: float
    kind: Kind = "exponential"
    shape: float = 1.0
    measured_s: tuple[float, ...] = ()

    def draw(self, generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Draw independent times, s."""
        if self.kind == "weibull":
            scale = self.mean_s / math.gamma(1.0 + 1.0 / self.shape)
            return scale * generator.weibull(self.shape, shape)
        if self.kind == "empirical":
            measured = np.array(self.measured_s)
            return generator.choice(measured * (self.mean_s / measured.mean()), shape)
        return generator.exponential(self.mean_s, shape)


def empirical(measured_s: tuple[float, ...]) -> Law:
    """Law of measured times with their own mean."""
    return Law(math.fsum(measured_s) / len(measured_s), "empirical", measured_s=measured_s)


@dataclass(frozen=True)
class RepairUnits:
    """Units that fail and are repaired.

    Attributes:
        running: share of the job that runs with 0, 1, 2, ... units out, the first of them 1; with
            more units out the job stands still.
        swap_s: added to the restart after a failure that takes a unit out.
        racks: 1 where a spare serves the whole job, else the number of racks, each with spares of
            its own; ``running`` then holds for the rack with the most units out.
    """

    running: tuple[float, ...]
    swap_s: float = 0.0
    racks: int = 1

    @property
    def spares(self) -> int:
        """Units that may be out without effect."""
        return sum(share == 1.0 for share in self.running) - 1

    @property
    def shrinks(self) -> bool:
        """True if the job runs on a part of its GPUs while units are short."""
        return self.running[-1] < 1.0


@dataclass(frozen=True)
class LocalCopies:
    """A local level of checkpoints: every capture is kept there, usable ``settle_s`` after its end;
    each ``every``-th is drained to the shared storage, anew after a failure; ``restart_s``: from a
    failure that copies survive until the job computes."""

    settle_s: float
    every: int
    restart_s: float


@dataclass(frozen=True)
class JobRun:
    """A job; times in s.

    Attributes:
        interval_s: start of one checkpoint to the start of the next.
        stall_s: the GPUs stand still for each; if synchronous, until it is written.
        drain_s: from the end of a capture until the checkpoint is on the shared storage; 0 if
            synchronous.
        restart_s: from a failure until the restore begins.
        restore_s: reading a checkpoint back.
        failures: times from one interruption to the next, all GPUs running.
        drain_slowdown: share of speed lost while a checkpoint drains.
        hardware_share: share of interruptions that take a unit out, for a time of ``repair``.
        remote_share: share of interruptions that local copies do not survive.
        units: units that are repaired; None without repair.
        local: local level of checkpoints, None without one.
        lost_time: share of the time between restarts without progress.
    """

    name: str
    interval_s: float
    stall_s: float
    drain_s: float
    restart_s: float
    restore_s: float
    failures: Law
    drain_slowdown: float = 0.0
    sync: bool = False
    hardware_share: float = 0.0
    repair: Law | None = None
    remote_share: float = 1.0
    units: RepairUnits | None = None
    local: LocalCopies | None = None
    lost_time: float = 0.0

    @property
    def compute_s(self) -> float:
        """Computing between two captures."""
        return self.interval_s - self.stall_s

    @property
    def repair_load(self) -> float:
        """Mean number of units out if the job never stood still."""
        if self.repair is None:
            return 0.0
        return self.hardware_share * self.repair.mean_s / self.failures.mean_s


def job_of(plan: Plan, failures: Law, interval_s: float | None = None) -> JobRun:
    """Job of a plan under a law of failures, with its own interval or another.

    Raises:
        ValueError: a local copy is late in the interval.
    """
    job = plan.jobs[0]
    every_s, sync = job.interval_s if interval_s is None else interval_s, job.mode == "sync"
    local, copies = job.local, None
    if local is not None:
        room_s = every_s - job.stall_s
        if local.drain_s > room_s + INTERVAL_TOLERANCE * every_s:
            late_s = job.stall_s + local.drain_s
            raise ValueError(f"a local copy is safe {late_s:.3g} s after its capture begins")
        copies = LocalCopies(min(local.drain_s, room_s), local.every, local.restart_s)
    same = ("name", "stall_s", "drain_s", "restart_s", "restore_s", "lost_time")
    return JobRun(
        **{name: getattr(job, name) for name in same},
        interval_s=every_s,
        failures=failures,
        drain_slowdown=0.0 if sync else job.drain_slowdown,
        sync=sync,
        hardware_share=0.0 if job.repair is None else job.repair.hardware_share,
        repair=None if job.repair is None else Law(job.repair.repair_s),
        remote_share=1.0 if local is None else local.remote_share,
        units=_repair_units(job),
        local=copies,
    )


def full_mtti_s(job: JobPlan) -> float:
    """Mean time between interruptions with all replicas running, s."""
    shrunk = None if job.repair is None else job.repair.shrunk
    return job.mtti_s if shrunk is None else job.mtti_s * shrunk.failing


def _repair_units(job: JobPlan) -> RepairUnits | None:
    repair = job.repair
    if repair is None:
        return None
    (usable,) = job.usable_gpus_by_type.values()
    if repair.in_rack:
        racks = math.ceil(job.gpus_used / usable)
        return RepairUnits((1.0,) * (repair.spares // racks + 1), repair.swap_s, racks)
    if repair.shrunk is None:
        return RepairUnits((1.0,) * (repair.spares + 1), repair.swap_s)
    each = min(usable, repair.unit_gpus)
    step = job.replica_gpus if job.whole_replicas and job.replica_gpus else each
    units = math.ceil(job.gpus_used / each) + repair.spares
    least, most = repair.shrunk.least_replicas, math.ceil(job.gpus_used / step)
    replicas = [each * (units - out) // step for out in range(units + 1)]
    running = [min(most, count) for count in replicas if count >= least]
    shares = tuple(count / running[0] for count in running if count)
    return RepairUnits(shares, repair.swap_s)
