"""The report in plain numbers; every name ends in its unit where it has one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from planner.case.model import Mode
from planner.currency import USD, Currency
from planner.schema.base import Shown

Basis = Literal["delivered", "nameplate"]
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
    """The checkpoint's size and what it takes to keep it."""

    size_gb: float
    bytes_per_parameter: float | None
    trained_share: float
    size_reason: str
    capacity_needed_tb: float
    dataset_tb: float
    checkpoints_tb: float
    exports_tb: float
    fill_limit_share: float
    ingest_gb_per_s: float


@dataclass(frozen=True)
class RestoreDemand:
    """What one way of restoring reads; without a time limit it asks for no bandwidth."""

    fan_out: str
    used: bool
    reads_of_checkpoint: float
    read_gb: float
    max_restore_s: float | None
    read_gb_per_s: float | None


@dataclass(frozen=True)
class Running:
    """How the job runs at a given interval and bandwidth."""

    stall_s: float
    drain_s: float
    overlap_share: float
    blocking_share: float
    restore_s: float
    goodput_share: float


@dataclass(frozen=True)
class IntervalRow:
    """The bandwidth that one interval requires; None where its stall fills the interval."""

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
    """One mode of checkpointing: the interval of the policy, and the demand of intervals."""

    mode: Mode
    policy: str
    law: str
    limit_share: float
    interval_s: float
    rows: tuple[IntervalRow, ...]


@dataclass(frozen=True)
class ApplianceRow:
    """What one storage item needs to meet a rule; ``reason`` says why it cannot."""

    item: str
    name: str
    family: str
    family_name: str
    best_of_family: bool
    units: int | None
    decided_by: str | None
    it_power_kw: float | None
    racks: int | None
    net_usd: float | None
    power_equivalent_gpus: int | None
    whole_systems_gpus: int | None
    reason: str | None


@dataclass(frozen=True)
class RuleRow:
    """What one rule asks for, on its own basis, and how the job would run with just that."""

    rule: str
    group: RuleGroup
    chosen: bool
    basis: Basis
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
