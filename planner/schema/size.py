"""The record of `planner size`: storage demand by interval and by rule.

Field names end in their unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from planner.currency import USD, Currency
from planner.schema.base import Shown

Mode = Literal["async", "sync", "local"]
RuleGroup = Literal["demand_law", "ddn_per_gpu", "nvidia_superpod_h100", "custom"]


@dataclass(frozen=True)
class GpuType:
    """The most of one GPU type that power, racks and budget allow, each taken alone."""

    item: str
    name: str
    systems: int
    gpus: int
    peak_pflops: float | None
    demanded: bool
    limited: bool


@dataclass(frozen=True)
class Cluster:
    """The GPUs the report is for: ``gpus`` run the job, ``gpus_bought`` count for vendor rules."""

    item: str
    name: str
    choice: str
    count: str
    gpus: int
    gpus_bought: int
    gpus_per_system: int
    systems: int
    system_it_power_kw: float | None
    replica_gpus: int | None
    replicas: int | None
    data_parallel: float | None
    writing_systems: int
    reading_systems: int
    client_write_gb_per_s: float
    client_read_gb_per_s: float
    client_data_gb_per_s: float
    failures_per_gpu_day: float
    failures_reason: str
    mtti_s: float


@dataclass(frozen=True)
class Checkpoint:
    """Size of a checkpoint, the capacity it needs, and the demand for a bulk tier beside flash.

    ``bulk_needed_tb`` is usable capacity at the fill limit, ``bulk_read_gb_per_s`` delivered.
    """

    size_gb: float
    bytes_per_parameter: float | None
    size_reason: str
    capacity_needed_tb: float
    dataset_tb: float
    checkpoints_tb: float
    exports_tb: float
    fill_limit_share: float
    ingest_gb_per_s: float
    bulk_needed_tb: float = 0.0
    bulk_read_gb_per_s: float = 0.0


@dataclass(frozen=True)
class RestoreDemand:
    """Read demand of one restore fan-out; no bandwidth without a time limit."""

    fan_out: str
    used: bool
    reads_of_checkpoint: float
    read_gb: float
    max_restore_s: float | None
    read_gb_per_s: float | None


@dataclass(frozen=True)
class Running:
    """Operation of the job at a given interval and bandwidth."""

    stall_s: float
    drain_s: float
    overlap_share: float
    blocking_share: float
    restore_s: float
    goodput_share: float


@dataclass(frozen=True)
class IntervalRow:
    """Bandwidth that one interval requires; None where its stall fills the interval."""

    interval_s: float
    by_policy: bool
    interval_per_mtti: float
    write_gb_per_s: float | None
    write_mb_per_s_per_gpu: float | None
    write_volume_tb_per_day: float
    read_gb_per_s: float | None
    running: Running | None


@dataclass(frozen=True)
class ModeReport:
    """One mode of checkpointing: interval of the policy, and the demand of intervals."""

    mode: Mode
    policy: str
    law: str
    limit_share: float
    interval_s: float
    rows: tuple[IntervalRow, ...]


@dataclass(frozen=True)
class ApplianceRow:
    """Units of one storage item that meet a rule; ``reason`` says why none do."""

    item: str
    name: str
    family: str
    family_name: str
    best_of_family: bool = False
    units: int | None = None
    decided_by: str | None = None
    it_power_kw: float | None = None
    racks: int | None = None
    net_usd: float | None = None
    power_equivalent_gpus: int | None = None
    whole_systems_gpus: int | None = None
    reason: str | None = None


@dataclass(frozen=True)
class RuleRow:
    """Demand of one rule on its own basis, and the operation with just that bandwidth."""

    rule: str
    group: RuleGroup
    chosen: bool
    basis: Literal["delivered", "nameplate"]
    note: str
    source: str
    read_gb_per_s: float | None
    write_gb_per_s: float | None
    delivered_read_gb_per_s: float | None
    delivered_write_gb_per_s: float | None
    mode: Mode | None
    interval_s: float | None
    running: Running | None
    appliances: tuple[ApplianceRow, ...]


@dataclass(frozen=True)
class SizeReport(Shown):
    """The sizing model of a problem at one number of GPUs."""

    problem: str
    gpu_types: tuple[GpuType, ...]
    cluster: Cluster
    checkpoint: Checkpoint
    restore: tuple[RestoreDemand, ...]
    modes: tuple[ModeReport, ...]
    delivered_read_share: float
    delivered_write_share: float
    rules: tuple[RuleRow, ...]
    notes: tuple[str, ...]
    currency: Currency = USD
