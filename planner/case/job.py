"""The job in numbers: configurations (ways), checkpoints, restore, repair units and spares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

from planner.sizing.availability import (
    longest_swap_per_mtti,
    repair_load,
    spares_needed,
    waiting_odds,
)
from planner.sizing.checkpoint import FanOut, fan_out_terms
from planner.sizing.throughput import ScaleLaw

ROUNDING = 1e-9
Mode = Literal["async", "sync", "local"]
"""How checkpoints are saved: GPUs go on while storage drains them, or wait for that; ``local`` is
asynchronous by way of a level of checkpoints on drives of the GPU systems."""
NEVER_WAITS = 1e-9
"""Share of time waited below which more spares change nothing."""


def ceil(value: float) -> int:
    """The least whole number that is not less, rounding noise aside."""
    return math.ceil(value - ROUNDING)


# Repair units and spares.


class SpareUnit(NamedTuple):
    """The part of a GPU system that fails and is swapped: the system, or a tray of it.

    A unit has ``gpus`` GPUs, a system ``per_system`` units, of which the job uses ``usable_gpus``
    GPUs. Spares are of a pool, or ``in_rack``.
    """

    gpus: int
    per_system: int
    usable_gpus: int
    in_rack: bool

    @property
    def spares_per_rack(self) -> int:
        """Spares in each system in use, where racks hold them."""
        return self.per_system - math.ceil(self.usable_gpus / self.gpus) if self.in_rack else 0

    @property
    def holding_gpus(self) -> int:
        """GPUs of a unit of a pool that replicas can fill."""
        return self.usable_gpus if self.per_system == 1 else self.gpus

    def in_use(self, gpus: int) -> int:
        """Units of a number of GPUs in use: systems as replicas fill them, or trays anywhere."""
        return math.ceil(gpus / self.holding_gpus)


class Repair(NamedTuple):
    """Failures that take hardware out, and for how long.

    A ``hardware_share`` of the interruptions does; ``repair_s`` is the mean time to repair, and
    ``swap_s`` the delay of a restart after one. ``spares`` is None where their number is decided.
    A job that ``shrinks`` goes on with fewer replicas where units are short; another waits.
    """

    hardware_share: float
    repair_s: float
    swap_s: float
    spares: int | None
    shrinks: bool = False

    def load(self, failures_per_gpu_day: float, gpus: float) -> float:
        """Units out on average if the job never waited."""
        return repair_load(failures_per_gpu_day, gpus, self.hardware_share * self.repair_s)

    def count_spares(self, unit: SpareUnit, systems: int, gpus: int) -> int:
        """Spares of a number of systems in the cluster; negative if fewer than stated."""
        if unit.in_rack:
            return unit.spares_per_rack * math.ceil(gpus / unit.usable_gpus)
        free = systems * unit.per_system - unit.in_use(gpus)
        if self.spares is None:
            return free
        return self.spares if free >= self.spares else free - self.spares

    def waiting_odds_in_rack(self, unit: SpareUnit, failures_per_gpu_day: float) -> float:
        """Time waited over the time not waited, per GPU in use, spares in each rack."""
        each = self.load(failures_per_gpu_day, unit.usable_gpus)
        return waiting_odds(unit.spares_per_rack, each) / unit.usable_gpus

    def useful_spares(self, failures_per_gpu_day: float, gpus: float) -> int:
        """Spares beyond which availability gains nothing."""
        if self.spares is not None:
            return self.spares
        return spares_needed(self.load(failures_per_gpu_day, gpus), NEVER_WAITS)

    def shortest_mtti_s(self) -> float:
        """MTTI from which on swaps are short enough for the optimum to be proven, s."""
        return self.swap_s / longest_swap_per_mtti(self.hardware_share)


# Configurations.


class Drives(NamedTuple):
    """Drives of one GPU system for local checkpoints, all of them together."""

    nameplate_write_gb_per_s: float
    capacity_tb: float


@dataclass(frozen=True)
class Way:
    """One configuration in which the job may run on a GPU system; the plan chooses one.

    usable_gpus: GPUs of each system that the job uses, in steps of ``step_gpus``: whole replicas,
        or whole systems.
    tflops_per_gpu: rate that ``Job.mfu`` applies to, at the power set point.
    power_share: share of the rated power that a system is provisioned for.
    min_replicas: fewest replicas whose memory holds the shared state, over all types.
    tensor_gpus: GPUs of a tensor group. option: name of the parallelism, of a job with several.
    drives: None without a local level. host_copy_gb_per_s: copy from a GPU to its host, where the
        stall is derived from it.
    fabric: number of the compute fabric, None without one. choice: id of the chosen power,
        precision and parallelism.
    """

    id: str
    usable_gpus: int
    step_gpus: int
    replica_gpus: int | None
    tflops_per_gpu: float
    failures_per_gpu_day: float
    spare_unit: SpareUnit
    power_share: float = 1.0
    min_replicas: int = 1
    tensor_gpus: int | None = None
    drives: Drives | None = None
    host_copy_gb_per_s: float | None = None
    option: str | None = None
    fabric: int | None = None
    choice: str = ""

    @property
    def count_name(self) -> str:
        """Name of the count of systems provisioned at this set point."""
        return f"at.{self.id}"

    @property
    def least_gpus(self) -> int:
        """The fewest GPUs that the job can use."""
        return self.min_replicas * self.replica_gpus if self.replica_gpus else 1

    def most_gpus(self, systems: int) -> int:
        """The most GPUs that the job can use of a number of systems."""
        return systems * self.usable_gpus // self.step_gpus * self.step_gpus

    def systems_for(self, gpus: int) -> int:
        """The fewest systems that hold a number of GPUs in use."""
        return ceil(gpus / self.usable_gpus)


# The job.


class IntervalRule(NamedTuple):
    """Checkpoint interval: ``fixed`` (low = high) or ``optimal``."""

    policy: Literal["fixed", "optimal"]
    low_s: float
    high_s: float


@dataclass(frozen=True)
class Levels:
    """The local level of checkpoints: every k-th of its checkpoints goes on to storage.

    ``remote_share``: share of all interruptions that need storage. ``keep`` checkpoints in
    ``copies`` take capacity at a time.
    """

    copies: int
    keep: int
    every: tuple[int, ...]
    remote_share: float
    local_restart_s: float


@dataclass(frozen=True)
class Job:
    """The training job; ``replica_gpus`` are those of its first parallelism option.

    ``mfu`` is 1 with measured rates. ``stall_s``: stall of an asynchronous checkpoint, with
    ``derived_stall`` without the copy to the hosts. ``levels`` is there with mode ``local``.
    """

    name: str
    checkpoint_gb: float
    bytes_per_parameter: float
    active_parameters: float | None
    tokens: float | None
    mfu: float | None
    scale: ScaleLaw | None
    replica_gpus: int | None
    modes: tuple[Mode, ...]
    stall_s: float
    drain_slowdown: float
    max_overlap: float
    max_blocking: float
    interval: IntervalRule
    one_replica_writes: bool
    fan_out: FanOut
    max_restore_s: float | None
    restart_s: float
    gpus_min: int
    gpus_max: int | None
    whole_replicas: bool
    max_types: int
    ingest_per_gpu_gb_per_s: float
    capacity_needed_tb: float
    derived_stall: bool = False
    levels: Levels | None = None
    repair: Repair | None = None
    lost_time_share: float = 0.0
    bulk_needed_tb: float = 0.0

    @property
    def staged_share(self) -> float:
        """Share of the write bandwidth that may stage bulk data while checkpoints drain."""
        return 1.0 - self.max_overlap

    @property
    def progress(self) -> float:
        """Share of the time between restarts that makes progress."""
        return 1.0 - self.lost_time_share

    def spare_systems(self, way: Way, systems: int) -> int:
        """The most systems beside those in use that any plan gains from."""
        if self.repair is None or way.spare_unit.in_rack:
            return 0
        gpus = systems * way.usable_gpus
        most = self.repair.useful_spares(way.failures_per_gpu_day, gpus)
        return ceil(most / way.spare_unit.per_system)

    def fan_out_terms(self, replica_gpus: int | None) -> tuple[float, float]:
        """(a, c) of the fan-out a + c * GPUs: reads of the checkpoint in one restore."""
        return fan_out_terms(self.fan_out, self.bytes_per_parameter, replica_gpus)

    def fan_out_on(self, gpus: float) -> float:
        """Reads of the checkpoint in one restore, of the job's first parallelism option."""
        once, per_gpu = self.fan_out_terms(self.replica_gpus)
        return once + per_gpu * gpus


# Demand of checkpoints, stall, local level. All of it follows from the part of the state that one
# GPU, or one system, holds. Where all GPUs write it falls with their number: for one GPU
# (``gpus=1``) each figure is that of all times their number.


def _writing_gpus(job: Job, way: Way, gpus: float) -> float:
    """GPUs in use that write a checkpoint, each its even part."""
    assert way.replica_gpus is not None or not job.one_replica_writes
    return way.replica_gpus or gpus if job.one_replica_writes else gpus


def stall_s(job: Job, way: Way, gpus: float) -> float:
    """Stall of GPUs of a type for an asynchronous checkpoint, s."""
    return job.stall_s + copy_s(job, way, gpus)


def copy_s(job: Job, way: Way, gpus: float) -> float:
    """Copy of a GPU's part to its host, s; 0 where a stall is not derived."""
    if not job.derived_stall:
        return 0.0
    assert way.host_copy_gb_per_s is not None
    return job.checkpoint_gb / (_writing_gpus(job, way, gpus) * way.host_copy_gb_per_s)


def local_part_gb(job: Job, way: Way, gpus: float) -> float:
    """Local writes of one system per checkpoint, its peers' copies included, GB."""
    assert job.levels is not None
    writing = _writing_gpus(job, way, gpus)
    held = min(way.usable_gpus, writing) if job.one_replica_writes else way.usable_gpus
    return job.levels.copies * job.checkpoint_gb * held / writing


def local_drain_s(job: Job, way: Way, gpus: float) -> float:
    """Time until a local checkpoint is safe, s."""
    assert way.drives is not None
    return local_part_gb(job, way, gpus) / way.drives.nameplate_write_gb_per_s


def local_room_tb(job: Job, way: Way, gpus: float) -> float:
    """Capacity of local checkpoints on one system, TB."""
    assert job.levels is not None
    return job.levels.keep * local_part_gb(job, way, gpus) / 1000.0
