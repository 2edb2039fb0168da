"""Checkpoint and restore with some storage appliances down, where the plan must bear that."""

from __future__ import annotations

from planner.outputs.workbook.checkpoint.rows import Input, Result, Results
from planner.outputs.workbook.formats import DECIMAL_1, DECIMAL_2, DECIMAL_3, PERCENT_2
from planner.schema.plan import JobPlan, Plan


def applies(job: JobPlan) -> bool:
    """Return whether the plan's limits hold with appliances down."""
    rates = (job.degraded_write_gb_per_s, job.degraded_read_gb_per_s)
    return job.tolerate_down > 0 and None not in rates


def inputs(plan: Plan, job: JobPlan) -> tuple[Input, ...]:
    """Return the rated bandwidth that goes with the appliances."""
    if not applies(job):
        return ()
    note = f"{job.tolerate_down} down of the appliance whose loss is largest; does not follow "
    return tuple(
        Input(
            f"lost_{kind}_gb_per_s",
            f"Rated {kind} bandwidth lost with {job.tolerate_down} down",
            "GB/s",
            _lost(plan, job, kind),
            DECIMAL_1,
            note + "edited quantities",
            locked=True,
        )
        for kind in ("write", "read")
    )


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


def sections(plan: Plan, job: JobPlan) -> list[Results]:
    """Return the results with appliances down; they rest on those of ``checkpoint_model``."""
    if not applies(job):
        return []
    appliances = "appliance" if job.tolerate_down == 1 else "appliances"
    heading = f"With {job.tolerate_down} storage {appliances} down, as the limits ask"
    return [(heading, (*_bandwidth(job), *_checkpoint(), _restore()))]


def _bandwidth(job: JobPlan) -> tuple[Result, ...]:
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


def _checkpoint() -> tuple[Result, ...]:
    stalled = 'IF(save_mode="sync",degraded_save_s,stall_s)'
    drained = 'IF(save_mode="sync",0,degraded_save_s)'
    return (
        Result(
            "degraded_save_s",
            "Write of one checkpoint, degraded",
            "s",
            "checkpoint_gb/degraded_write_gb_per_s",
            "checkpoint size / degraded write bandwidth: the drain, or the stall when sync",
            DECIMAL_3,
        ),
        Result(
            "degraded_overlap",
            "Overlap, degraded",
            "share",
            f"{drained}/interval_s",
            "drain / interval",
            PERCENT_2,
        ),
        Result(
            "degraded_blocking",
            "Blocking, degraded",
            "share",
            f"{stalled}/interval_s",
            "stall / interval",
            PERCENT_2,
        ),
        Result(
            "degraded_stall_and_drain_s",
            "Stall and drain together, degraded",
            "s",
            f"{stalled}+{drained}",
            "must not be longer than the interval",
            DECIMAL_3,
        ),
    )


def _restore() -> Result:
    return Result(
        "degraded_restore_s",
        "Restore read, degraded",
        "s",
        "fan_out*checkpoint_gb/degraded_read_gb_per_s",
        "fan-out x checkpoint size / degraded read bandwidth",
        DECIMAL_2,
    )
