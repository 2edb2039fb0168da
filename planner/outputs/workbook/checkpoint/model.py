"""Bandwidth, checkpoint and restore as formulas over defined names, with the plan's values."""

from __future__ import annotations

import math

from planner.outputs.workbook.checkpoint.rows import Result, Results
from planner.outputs.workbook.formats import (
    DECIMAL_1,
    DECIMAL_2,
    DECIMAL_3,
    GENERAL,
    INTEGER,
    PERCENT_2,
)
from planner.schema.plan import JobPlan, Line, Plan


def sections(plan: Plan, job: JobPlan, bom: dict[str, float]) -> list[Results]:
    """Return the results under their headings, each after what it rests on.

    Args:
        plan: the plan.
        job: its job.
        bom: grand totals of the bill of materials by defined name.
    """
    return [
        ("GPUs and bandwidth", (*_gpus(plan, job, bom), *_bandwidth(plan, job, bom))),
        ("Checkpoint", _checkpoint(job)),
        ("Failures and restore", _restore(job)),
    ]


def _gpus(plan: Plan, job: JobPlan, bom: dict[str, float]) -> tuple[Result, ...]:
    per_system = _gpus_per_system(plan.lines, job)
    return (
        Result(
            "gpus_in_use",
            "GPUs in use",
            "GPUs",
            job.gpus_used,
            "MAX(0,bom_job_gpus-gpus_idle)",
            "GPUs on BOM of the types in use, less the idle ones",
            INTEGER,
            cross=True,
        ),
        Result(
            "systems_in_use",
            "GPU systems in use",
            "systems",
            job.systems_used,
            # The small amount keeps a quotient that should be whole from being rounded up.
            f"ROUNDUP(MAX(0,gpus_in_use/{per_system!r}-1E-9),0)",
            f"GPUs in use / {per_system:g} per system, rounded up",
            INTEGER,
        ),
    )


def _gpus_per_system(lines: tuple[Line, ...], job: JobPlan) -> float:
    if len(job.gpu_types) == 1:
        for line in lines:
            if line.parent is None and line.sku in job.gpu_types and line.working and line.gpus:
                return line.gpus / line.working
    return job.gpus_used / job.systems_used


def _gpus_of_acting(plan: Plan, job: JobPlan, systems: int) -> float:
    """Return the GPUs per system of the type that explains how many hold one replica."""
    sizes = {
        line.gpus / line.working
        for line in plan.lines
        if line.parent is None and line.sku in job.gpu_types and line.working
    }
    for size in sorted(sizes):
        if job.replica_gpus and math.ceil(job.replica_gpus / size) == systems:
            return size
    return min(sizes, default=1.0)


def _bandwidth(plan: Plan, job: JobPlan, bom: dict[str, float]) -> tuple[Result, ...]:
    return (
        *_direction(
            "write",
            "writing",
            bom["bom_write_gb_per_s"],
            job.writing_systems,
            job.client_write_limit_gb_per_s,
            job.delivered_write_gb_per_s,
            job.write_limited_by,
            _gpus_of_acting(plan, job, job.writing_systems),
        ),
        *_direction(
            "read",
            "reading",
            bom["bom_read_gb_per_s"],
            job.reading_systems,
            job.client_read_limit_gb_per_s,
            job.delivered_read_gb_per_s,
            job.read_limited_by,
            _gpus_of_acting(plan, job, job.reading_systems),
        ),
    )


def _direction(
    kind: str,
    acting: str,
    nameplate: float,
    systems: int,
    client_limit: float,
    delivered: float,
    limited_by: str,
    per_system: float,
) -> tuple[Result, ...]:
    rated = f"delivered_fraction_{kind}*nameplate_{kind}_gb_per_s"
    limit = f"IF(ISNUMBER(client_{kind}_gb_per_s),{acting}_systems*client_{kind}_gb_per_s,1E+99)"
    role = "writers" if kind == "write" else "readers"
    return (
        Result(
            f"nameplate_{kind}_gb_per_s",
            f"Rated {kind} bandwidth",
            "GB/s",
            nameplate,
            f"bom_{kind}_gb_per_s",
            "BOM: quantity x bandwidth per unit (the solved line's average if not linear)",
            DECIMAL_1,
            cross=True,
        ),
        Result(
            f"{acting}_systems",
            f"GPU systems {acting}",
            "systems",
            systems,
            f'IF({role}="one_replica",IF(ISNUMBER(replica_gpus),'
            f"ROUNDUP(replica_gpus/{per_system!r}-1E-9,0),systems_in_use),systems_in_use)",
            f"all in use, or GPUs of one replica / {per_system:g} per system, rounded up",
            INTEGER,
        ),
        Result(
            f"client_{kind}_limit_gb_per_s",
            f"What these systems can {kind}",
            "GB/s",
            client_limit,
            limit,
            "systems x limit per system",
            DECIMAL_1,
        ),
        Result(
            f"{kind}_gb_per_s",
            f"Delivered {kind} bandwidth",
            "GB/s",
            delivered,
            f"MIN({rated},client_{kind}_limit_gb_per_s)",
            "the lesser of rated x delivered share and the clients' limit",
            DECIMAL_2,
        ),
        Result(
            f"{kind}_limited_by",
            f"What limits the {kind} bandwidth",
            "",
            limited_by,
            f'IF({rated}<=client_{kind}_limit_gb_per_s,"appliances","clients")',
            "",
            GENERAL,
        ),
    )


def _checkpoint(job: JobPlan) -> tuple[Result, ...]:
    sync = job.mode == "sync"
    drain_s = 0.0 if sync else job.drain_s
    return (
        Result(
            "stall_s",
            "Stall: the GPUs stop per checkpoint",
            "s",
            job.stall_s,
            'IF(save_mode="sync",checkpoint_gb/write_gb_per_s,async_stall_s)',
            "async: the input; sync: checkpoint size / delivered write bandwidth",
            DECIMAL_3,
        ),
        Result(
            "drain_s",
            "Drain: storage absorbs one checkpoint",
            "s",
            drain_s,
            'IF(save_mode="sync",0,checkpoint_gb/write_gb_per_s)',
            "checkpoint size / delivered write bandwidth; part of the stall when sync",
            DECIMAL_3,
        ),
        Result(
            "overlap",
            "Overlap: share of the interval in which storage drains",
            "share",
            drain_s / job.interval_s,
            "drain_s/interval_s",
            "drain / interval; the GPUs keep computing",
            PERCENT_2,
        ),
        Result(
            "blocking",
            "Blocking: share of the interval in which the GPUs stand still",
            "share",
            job.stall_s / job.interval_s,
            "stall_s/interval_s",
            "stall / interval",
            PERCENT_2,
        ),
        Result(
            "stall_and_drain_s",
            "Stall and drain together",
            "s",
            job.stall_s + drain_s,
            "stall_s+drain_s",
            "must not be longer than the interval",
            DECIMAL_3,
        ),
        Result(
            "write_volume_tb_per_day",
            "Checkpoint volume written",
            "TB/day",
            job.write_volume_tb_per_day,
            "checkpoint_gb*86400/interval_s/1000",
            "checkpoint size x 86,400 s / interval",
            DECIMAL_1,
        ),
    )


def _restore(job: JobPlan) -> tuple[Result, ...]:
    return (
        Result(
            "mtti_s",
            "Mean time to interruption (MTTI)",
            "s",
            job.mtti_s,
            "86400/(failures_per_gpu_day*gpus_in_use)",
            "86,400 s / (failures per GPU and day x GPUs in use)",
            DECIMAL_1,
        ),
        Result(
            "replicas",
            "Data-parallel replicas",
            "",
            job.replicas,
            "gpus_in_use/replica_gpus",
            "GPUs in use / GPUs per replica",
            DECIMAL_2,
            ("replica_gpus",),
        ),
        Result(
            "fan_out_per_replica",
            "Share of a checkpoint that each further replica reads",
            "share",
            _per_replica(job),
            'IF(restore_fan_out="broadcast",0,IF(restore_fan_out="every_replica",1,'
            "2/bytes_per_parameter))",
            "0 for broadcast; 1 for every_replica; 2 / bytes per parameter for sharded_optimizer",
            DECIMAL_3,
        ),
        Result(
            "fan_out",
            "Restore fan-out: times the checkpoint is read",
            "",
            job.fan_out,
            "1+fan_out_per_replica*IF(ISNUMBER(replicas),replicas-1,0)",
            "1 + share per further replica x (replicas - 1)",
            DECIMAL_3,
        ),
        Result(
            "restore_s",
            "Restore read",
            "s",
            job.restore_s,
            "fan_out*checkpoint_gb/read_gb_per_s",
            "fan-out x checkpoint size / delivered read bandwidth",
            DECIMAL_2,
        ),
        Result(
            "recovery_s",
            "Recovery: restart and restore",
            "s",
            job.restart_s + job.restore_s,
            "restart_s+restore_s",
            "",
            DECIMAL_2,
        ),
        Result(
            "ingest_gb_per_s",
            "Training data read",
            "GB/s",
            job.ingest_gb_per_s,
            "gpus_in_use*ingest_per_gpu_gb_per_s",
            "GPUs in use x data per GPU",
            DECIMAL_2,
        ),
        Result(
            "capacity_needed_tb",
            "Usable capacity needed",
            "TB",
            job.capacity_needed_tb,
            "(other_data_tb+checkpoints_held*checkpoint_gb/1000)/fill_limit",
            "(other data + checkpoints held x checkpoint size) / largest share in use",
            DECIMAL_1,
        ),
    )


def _per_replica(job: JobPlan) -> float:
    if job.fan_out_kind == "broadcast":
        return 0.0
    if job.fan_out_kind == "every_replica" or job.bytes_per_parameter is None:
        return 1.0
    return 2.0 / job.bytes_per_parameter
