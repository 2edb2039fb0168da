"""Bandwidth, checkpoint and restore as formulas over defined names, also with appliances down."""

from __future__ import annotations

import math

from planner.figures import FIGURES
from planner.outputs.scope import blocks
from planner.outputs.workbook.bom.columns import working_name
from planner.outputs.workbook.cells import (
    DECIMAL_1,
    DECIMAL_2,
    DECIMAL_3,
    GENERAL,
    INTEGER,
    PERCENT_2,
)
from planner.outputs.workbook.checkpoint.levels import local_results, of_levels, remote_interval
from planner.outputs.workbook.formulas import usable_gpus
from planner.outputs.workbook.rows import Input, Result, Results
from planner.schema.plan import JobPlan, Line, Plan


def model_sections(plan: Plan, job: JobPlan) -> list[Results]:
    """Return the results under their headings, each after what it rests on."""
    return [
        ("GPUs and bandwidth", (*_gpus(plan, job), *_bandwidth(plan, job))),
        ("Checkpoint", _checkpoint(job)),
        ("Failures and restore", _restore(job)),
    ]


def _gpus(plan: Plan, job: JobPlan) -> tuple[Result, ...]:
    per_system, words = _per_system(plan.lines, job, None)
    in_use = ("MAX(0,bom_job_gpus-gpus_idle)",
              "GPUs on BOM that the job can use, less those it does not")  # fmt: skip
    if job.spares_move:
        in_use = (f"MAX(0,{_beside_spares(plan, job)}-gpus_besides)",
                  "the most that the spares standing by leave of the systems on BOM")  # fmt: skip
    return (
        Result.of("gpus_used", *in_use, INTEGER, cross=True, plan=job.gpus_used,
                  name="gpus_in_use"),
        Result.of("systems_used", f"ROUNDUP(MAX(0,gpus_in_use/{per_system}-1E-9),0)",
                  f"GPUs in use / {words} per system, rounded up", INTEGER, plan=job.systems_used,
                  name="systems_in_use"),
    )  # fmt: skip


def _beside_spares(plan: Plan, job: JobPlan) -> str:
    """Return the formula of the most GPUs in use that leave the spares standing by."""
    assert job.repair is not None
    entry = next(entry for block in blocks(plan) for entry in block.entries
                 if entry.line.sku == job.gpu_type)  # fmt: skip
    line = entry.line
    systems = working_name(line, entry.number)
    usable = usable_gpus(job, line)
    step = f"IF(ISNUMBER(replica_gpus),replica_gpus,{usable})" if job.whole_replicas else usable
    if job.repair.unit == "system":
        return f"INT(MAX(0,{systems}-spares)*{usable}/{step}+1E-9)*{step}"
    unit = job.repair.unit_gpus
    each = line.gpus // line.working // unit
    left = f"INT(MAX(0,{systems}*{each}-spares)*{unit}/{step}+1E-9)*{step}"
    return f"MIN(bom_job_gpus,{left})"


def _per_system(lines: tuple[Line, ...], job: JobPlan, acting: int | None) -> tuple[str, str]:
    """Return the GPUs in use of one system, as a formula and in words.

    Of several types those of the type that explains how many systems hold one replica
    (``acting``), or the average.
    """
    types = sorted(
        (line for line in lines if line.parent is None and line.sku in job.gpu_types and line.gpus),
        key=lambda line: job.usable_gpus_by_type[line.sku],
    )
    for line in types:
        usable = job.usable_gpus_by_type[line.sku]
        explained = job.replica_gpus and acting == math.ceil(job.replica_gpus / usable)
        if len(types) == 1 or explained:
            return usable_gpus(job, line), f"{usable:g}"
    if acting is not None and types:
        return usable_gpus(job, types[0]), f"{job.usable_gpus_by_type[types[0].sku]:g}"
    average = job.gpus_used / job.systems_used
    return repr(average), f"{average:g}"


def _bandwidth(plan: Plan, job: JobPlan) -> tuple[Result, ...]:
    return (
        *_direction(
            "write",
            "writing",
            job.writing_systems,
            job.client_write_limit_gb_per_s,
            job.delivered_write_gb_per_s,
            job.write_limited_by,
            _per_system(plan.lines, job, job.writing_systems),
        ),
        *_direction(
            "read",
            "reading",
            job.reading_systems,
            job.client_read_limit_gb_per_s,
            job.delivered_read_gb_per_s,
            job.read_limited_by,
            _per_system(plan.lines, job, job.reading_systems),
        ),
        *_data(job),
    )


def _data(job: JobPlan) -> tuple[Result, ...]:
    """Return the bandwidth of training data, which all systems in use read, where an edit of who
    reads in a restore, or of what data is read, may make it another than that of a restore."""
    if job.readers == "all" and not job.ingest_gb_per_s:
        return ()
    limit, of_types = job.client_data_limit_gb_per_s, ""
    if limit is not None and len(job.gpu_types) > 1:  # the input is what one type's systems read
        each = job.client_read_limit_gb_per_s / job.reading_systems
        of_types = f"*{limit / (job.systems_used * each)!r}"
    return (
        Result.of("client_data_limit_gb_per_s",
                  "IF(ISNUMBER(client_read_gb_per_s),"
                  f"systems_in_use*client_read_gb_per_s{of_types},1E+99)",
                  "all systems in use x limit per system", DECIMAL_1, plan=limit),
        Result("data_gb_per_s", "Delivered bandwidth of training data", "GB/s",
               "MIN(delivered_fraction_read*nameplate_read_gb_per_s,client_data_limit_gb_per_s)",
               "the lesser of rated x delivered share and that limit", DECIMAL_2),
    )  # fmt: skip


def _direction(
    kind: str,
    acting: str,
    systems: int,
    client_limit: float,
    delivered: float,
    limited_by: str,
    per_system: tuple[str, str],
) -> tuple[Result, ...]:
    rated = f"delivered_fraction_{kind}*nameplate_{kind}_gb_per_s"
    limit = f"IF(ISNUMBER(client_{kind}_gb_per_s),{acting}_systems*client_{kind}_gb_per_s,1E+99)"
    role = "writers" if kind == "write" else "readers"
    return (
        Result(f"nameplate_{kind}_gb_per_s", f"Rated {kind} bandwidth", "GB/s",
               f"bom_{kind}_gb_per_s",
               "BOM: quantity x bandwidth per unit (the solved line's average if not linear)",
               DECIMAL_1, cross=True),
        Result(f"{acting}_systems", f"GPU systems {acting}", "systems",
               f'IF({role}="one_replica",IF(ISNUMBER(replica_gpus),'
               f"ROUNDUP(replica_gpus/{per_system[0]}-1E-9,0),systems_in_use),systems_in_use)",
               f"all in use, or GPUs of one replica / {per_system[1]} per system, rounded up",
               INTEGER, plan=systems),
        Result(f"client_{kind}_limit_gb_per_s", FIGURES[f"client_{kind}_limit_gb_per_s"].heading,
               "GB/s", limit, "systems x limit per system", DECIMAL_1, plan=client_limit),
        Result(f"{kind}_gb_per_s", f"Delivered {kind} bandwidth", "GB/s",
               f"MIN({rated},client_{kind}_limit_gb_per_s)",
               "the lesser of rated x delivered share and the clients' limit", DECIMAL_2,
               plan=delivered),
        Result(f"{kind}_limited_by", f"What limits the {kind} bandwidth", "",
               f'IF({rated}<=client_{kind}_limit_gb_per_s,"appliances","clients")', "", GENERAL,
               plan=limited_by),
    )  # fmt: skip


def _checkpoint(job: JobPlan) -> tuple[Result, ...]:
    every = remote_interval(job)
    return (
        Result.of("stall_s", 'IF(save_mode="sync",checkpoint_gb/write_gb_per_s,async_stall_s)',
                  "async: the input; sync: checkpoint size / delivered write bandwidth", DECIMAL_3,
                  plan=job.stall_s),
        Result.of("drain_s", 'IF(save_mode="sync",0,checkpoint_gb/write_gb_per_s)',
                  "checkpoint size / delivered write bandwidth; part of the stall when sync",
                  DECIMAL_3, plan=0.0 if job.mode == "sync" else job.drain_s),
        *local_results(job.local),
        Result.of("overlap", f"drain_s/{every}", "drain / interval; the GPUs keep computing",
                  PERCENT_2, plan=job.overlap),
        Result.of("blocking", "stall_s/interval_s", "stall / interval", PERCENT_2,
                  plan=job.blocking),
        Result("stall_and_drain_s", "Stall and drain together", "s",
               of_levels(job, "drain_s", "stall_s+drain_s"),
               "must not be longer than the interval" if job.local is None
               else "with a local level the drain alone; not longer than the interval to storage",
               DECIMAL_3),
        Result.of("write_volume_tb_per_day", f"checkpoint_gb*86400/{every}/1000",
                  "checkpoint size x 86,400 s / interval", DECIMAL_1,
                  plan=job.write_volume_tb_per_day),
    )  # fmt: skip


def _restore(job: JobPlan) -> tuple[Result, ...]:
    seen = remark = ""
    if job.repair is not None and job.repair.shrunk is not None:
        seen, remark = "*failing_share", " x share of failures that kept work sees"
    return (
        Result.of("mtti_s", f"86400/(failures_per_gpu_day*gpus_in_use{seen})",
                  f"86,400 s / (failures per GPU and day x GPUs in use{remark})", DECIMAL_1,
                  plan=job.mtti_s),
        Result.of("replicas", "gpus_in_use/replica_gpus", "GPUs in use / GPUs per replica",
                  DECIMAL_2, ("replica_gpus",), plan=job.replicas, unit=""),
        Result(
            "fan_out_per_replica",
            "Share of a checkpoint that each further replica reads",
            "share",
            'IF(restore_fan_out="broadcast",0,IF(restore_fan_out="every_replica",1,'
            "2/bytes_per_parameter))",
            "0 for broadcast; 1 for every_replica; 2 / bytes per parameter for sharded_optimizer",
            DECIMAL_3,
        ),
        Result.of("fan_out", "1+fan_out_per_replica*IF(ISNUMBER(replicas),replicas-1,0)",
                  "1 + share per further replica x (replicas - 1)", DECIMAL_3, plan=job.fan_out,
                  unit=""),
        Result.of("restore_s", "fan_out*checkpoint_gb/read_gb_per_s",
                  "fan-out x checkpoint size / delivered read bandwidth", DECIMAL_2,
                  plan=job.restore_s),
        Result("recovery_s", "Recovery: restart and restore", "s", "restart_s+restore_s", "",
               DECIMAL_2),
        Result.of("ingest_gb_per_s", "gpus_in_use*ingest_per_gpu_gb_per_s",
                  "GPUs in use x data per GPU", DECIMAL_2, plan=job.ingest_gb_per_s),
        Result.of("capacity_needed_tb",
                  "(other_data_tb+checkpoints_held*checkpoint_gb/1000)/fill_limit",
                  "(other data + checkpoints held x checkpoint size) / largest share in use",
                  DECIMAL_1, plan=job.capacity_needed_tb),
    )  # fmt: skip


def _is_degraded(job: JobPlan) -> bool:
    """Return whether the plan's limits hold with appliances down."""
    rates = (job.degraded_write_gb_per_s, job.degraded_read_gb_per_s)
    return job.tolerate_down > 0 and None not in rates


def degraded_inputs(plan: Plan, job: JobPlan) -> tuple[Input, ...]:
    """Return the rated bandwidth that goes with the appliances."""
    if not _is_degraded(job):
        return ()
    note = f"{job.tolerate_down} down of the appliance whose loss is largest; does not follow "
    return tuple(
        Input(f"lost_{kind}_gb_per_s",
              f"Rated {kind} bandwidth lost with {job.tolerate_down} down", "GB/s",
              _lost(plan, job, kind), DECIMAL_1, note + "edited quantities", locked=True)
        for kind in ("write", "read")
    )  # fmt: skip


def _lost(plan: Plan, job: JobPlan, kind: str) -> float:
    """Return the loss behind the plan's degraded bandwidth.

    Where the clients limit it even so, the plan does not say what is lost: then it is that of
    whole units, or the most that leaves the clients the limit.
    """
    stores = [line for line in plan.lines if line.parent is None and line.section == "Storage"]
    if kind == "write":
        rates = [(line.write_gb_per_s, line.working) for line in stores]
        left, clients = job.degraded_write_gb_per_s, job.client_write_limit_gb_per_s
        fraction = plan.site.delivered_fraction_write
    else:
        rates = [(line.read_gb_per_s, line.working) for line in stores]
        left, clients = job.degraded_read_gb_per_s, job.client_read_limit_gb_per_s
        fraction = plan.site.delivered_fraction_read
    assert left is not None
    most = sum(rate for rate, _ in rates) - left / fraction
    if left < clients * (1 - 1e-12):
        return most
    units = [rate / count * min(job.tolerate_down, count) for rate, count in rates if count]
    return max(0.0, min(most, max(units, default=0.0)))


def degraded_sections(plan: Plan, job: JobPlan) -> list[Results]:
    """Return the results with appliances down; they rest on those of `model_sections`."""
    if not _is_degraded(job):
        return []
    appliances = "appliance" if job.tolerate_down == 1 else "appliances"
    heading = f"With {job.tolerate_down} storage {appliances} down, as the limits ask"
    return [(heading, (*_degraded_bandwidth(job), *_degraded_checkpoint(job), _degraded_restore()))]


def _degraded_bandwidth(job: JobPlan) -> tuple[Result, ...]:
    return tuple(
        Result(
            f"degraded_{kind}_gb_per_s",
            f"Delivered {kind} bandwidth, degraded",
            "GB/s",
            f"MIN(delivered_fraction_{kind}*MAX(0,nameplate_{kind}_gb_per_s-lost_{kind}_gb_per_s),"
            f"client_{kind}_limit_gb_per_s)",
            "the lesser of (rated - lost) x delivered share and the clients' limit",
            DECIMAL_2,
            plan=value,
        )
        for kind, value in (
            ("write", job.degraded_write_gb_per_s),
            ("read", job.degraded_read_gb_per_s),
        )
    )


def _degraded_checkpoint(job: JobPlan) -> tuple[Result, ...]:
    stalled = 'IF(save_mode="sync",degraded_save_s,stall_s)'
    drained = 'IF(save_mode="sync",0,degraded_save_s)'
    return (
        Result.of("degraded_drain_s", "checkpoint_gb/degraded_write_gb_per_s",
                  "checkpoint size / degraded write bandwidth: the drain, or the stall when sync",
                  DECIMAL_3, name="degraded_save_s"),
        Result.of("degraded_overlap", f"{drained}/{remote_interval(job)}", "drain / interval",
                  PERCENT_2),
        Result("degraded_blocking", f"{FIGURES['blocking'].heading}, degraded", "share",
               f"{stalled}/interval_s", "stall / interval", PERCENT_2),
        Result("degraded_stall_and_drain_s", "Stall and drain together, degraded", "s",
               of_levels(job, drained, f"{stalled}+{drained}"),
               "must not be longer than the interval", DECIMAL_3),
    )  # fmt: skip


def _degraded_restore() -> Result:
    return Result.of("degraded_restore_s", "fan_out*checkpoint_gb/degraded_read_gb_per_s",
                     "fan-out x checkpoint size / degraded read bandwidth", DECIMAL_2)  # fmt: skip
