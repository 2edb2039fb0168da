"""How a job runs at a given interval and delivered bandwidth, by the formulas of `sizing`."""

from __future__ import annotations

from dataclasses import asdict

from planner.case.model import Job, Mode
from planner.sizing.checkpoint import blocking_share, drain_s, overlap, restore_read_s
from planner.sizing.goodput import (
    FIRST_ORDER_VALID_BELOW,
    best_interval_s,
    first_order_goodput,
    goodput,
    goodput_loss,
    understated_goodput,
)
from planner.sizing_report.model import Loss, Running


def running(
    job: Job,
    mode: Mode,
    interval_s: float,
    write_gb_per_s: float,
    read_gb_per_s: float,
    gpus: int,
    mtti_s: float,
) -> Running:
    """Return stall, drain, restore, goodput and its losses.

    Args:
        job: the job in numbers.
        mode: async or sync.
        interval_s: start of one checkpoint to the start of the next, s.
        write_gb_per_s: delivered write bandwidth, GB/s.
        read_gb_per_s: delivered read bandwidth, GB/s.
        gpus: GPUs the job uses.
        mtti_s: mean time to interruption, s.
    """
    transfer_s = drain_s(job.checkpoint_gb, write_gb_per_s)
    stall, drain = (transfer_s, 0.0) if mode == "sync" else (job.stall_s, transfer_s)
    slowdown = 0.0 if mode == "sync" else job.drain_slowdown
    constant, per_gpu = job.fan_out_terms()
    restore_s = restore_read_s(job.checkpoint_gb, constant + per_gpu * gpus, read_gb_per_s)
    restart_s = job.restart_s + restore_s
    loss = goodput_loss(interval_s, stall, drain, job.restart_s, restore_s, mtti_s, slowdown)
    lost = restart_s + interval_s / 2 + drain
    return Running(
        stall_s=stall,
        drain_s=drain,
        overlap_share=overlap(drain, interval_s),
        blocking_share=blocking_share(stall, interval_s),
        restore_s=restore_s,
        goodput_share=goodput(interval_s, stall, drain, restart_s, mtti_s, slowdown),
        goodput_understated_share=understated_goodput(
            interval_s, drain, restart_s, mtti_s, slowdown
        ),
        first_order_goodput_share=first_order_goodput(
            interval_s, stall, drain, restart_s, mtti_s, slowdown
        ),
        first_order_valid=lost / mtti_s < FIRST_ORDER_VALID_BELOW,
        loss=Loss(**{f"{cause}_share": share for cause, share in asdict(loss).items()}),
    )


def interval_at(job: Job, mode: Mode, write_gb_per_s: float, mtti_s: float) -> float | None:
    """Return the policy's interval at a given bandwidth, s, or None where none is allowed.

    Args:
        job: the job in numbers.
        mode: async or sync.
        write_gb_per_s: delivered write bandwidth, GB/s.
        mtti_s: mean time to interruption, s.
    """
    transfer_s = drain_s(job.checkpoint_gb, write_gb_per_s)
    if mode == "sync":
        least, stall = transfer_s / job.max_blocking, transfer_s
    else:
        least, stall = job.stall_s + transfer_s, job.stall_s + job.drain_slowdown * transfer_s
    rule = job.interval
    if rule.policy != "optimal":
        interval = rule.low_s if rule.policy == "fixed" else rule.kappa * mtti_s
        return interval if interval >= least else None
    if least > rule.high_s:
        return None
    return best_interval_s(stall, mtti_s, max(least, rule.low_s), rule.high_s)
