"""What the demand law (async) and the blocking law (sync) ask for, interval by interval."""

from __future__ import annotations

from planner.case import Case
from planner.case.model import Job, Mode
from planner.sizing import reliability
from planner.sizing.demand import (
    blocking_write_demand_gb_per_s,
    ingest_gb_per_s,
    restore_demand_gb_per_s,
    write_demand_gb_per_s,
    write_demand_per_gpu_gb_per_s,
    write_volume_tb_per_day,
)
from planner.sizing_report.model import Cluster, IntervalRow, ModeReport
from planner.sizing_report.running import running

SHOWN_INTERVALS_S = (600.0, 1800.0, 3600.0, 14_400.0)
_HALVINGS = 200


def mode_report(case: Case, cluster: Cluster, mode: Mode) -> ModeReport:
    """Return what one way of checkpointing asks for at the policy's and at usual intervals."""
    job, mtti_s = case.job, cluster.mtti_s
    interval_s = policy_interval_s(job, mode, mtti_s)
    kappa = interval_s / mtti_s
    limit = job.max_blocking if mode == "sync" else job.max_overlap
    # Synchronous saves stall for as long as the law lets them.
    stall_s = job.max_blocking * interval_s if mode == "sync" else job.stall_s
    per_gpu = write_demand_per_gpu_gb_per_s(
        job.checkpoint_gb, cluster.failures_per_gpu_day, limit, kappa
    )
    intervals = (interval_s, *(shown for shown in SHOWN_INTERVALS_S if shown != interval_s))
    rows = [interval_row(job, cluster, mode, shown, shown == interval_s) for shown in intervals]
    return ModeReport(
        mode=mode,
        policy=job.interval.policy,
        law="blocking law" if mode == "sync" else "demand law",
        limit_share=limit,
        max_blocking_share=job.max_blocking,
        stall_s=stall_s,
        young_compute_s=reliability.young_s(stall_s, mtti_s),
        daly_compute_s=reliability.daly_s(stall_s, mtti_s),
        exact_compute_s=reliability.exact_compute_s(stall_s, mtti_s),
        exact_interval_s=reliability.exact_period_s(stall_s, mtti_s),
        interval_s=interval_s,
        lost_work_budget_share=kappa / 2,
        lost_work_write_mb_per_s_per_gpu=1000 * per_gpu,
        rows=tuple(rows),
    )


def policy_interval_s(job: Job, mode: Mode, mtti_s: float) -> float:
    """Return the policy's interval with just the bandwidth that the law then asks for, s.

    Args:
        job: the job in numbers.
        mode: async or sync.
        mtti_s: mean time to interruption, s.

    Source: the optimum of `goodput.goodput` for the stall; what grows with the interval (the
    stall of a synchronous save, the slowdown of a drain) is taken at the law's limit.
    """
    rule = job.interval
    if rule.policy == "fixed":
        return rule.low_s
    if rule.policy == "lost_work":
        return rule.kappa * mtti_s
    if mode == "sync":
        best = _best_with_growing_stall_s(0.0, job.max_blocking, mtti_s)
    else:
        best = _best_with_growing_stall_s(job.stall_s, job.drain_slowdown * job.max_overlap, mtti_s)
    return min(max(best, rule.low_s), rule.high_s)


def _best_with_growing_stall_s(stall_s: float, share: float, mtti_s: float) -> float:
    """Solve I = exact_period(stall + share * I); the larger root, as goodput peaks there."""
    if share == 0:
        return reliability.exact_period_s(stall_s, mtti_s)
    if share >= 1:
        return float("inf")
    low, high = 0.0, (mtti_s + stall_s) / (1 - share)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if reliability.exact_period_s(stall_s + share * middle, mtti_s) > middle:
            low = middle
        else:
            high = middle
    return high


def write_demand(job: Job, mode: Mode, interval_s: float) -> float | None:
    """Return the delivered write bandwidth an interval asks for, GB/s, or None if impossible.

    Args:
        job: the job in numbers.
        mode: async (overlap limit, and stall and drain within the interval) or sync (blocking).
        interval_s: start of one checkpoint to the start of the next, s.
    """
    if mode == "sync":
        return blocking_write_demand_gb_per_s(job.checkpoint_gb, job.max_blocking, interval_s)
    share = min(job.max_overlap, 1 - job.stall_s / interval_s)
    if share <= 0:
        return None
    return write_demand_gb_per_s(job.checkpoint_gb, share, interval_s)


def read_demand(job: Job, gpus: int) -> float:
    """Return the delivered read bandwidth of restore and ingest, GB/s; 0 where neither asks.

    Args:
        job: the job in numbers.
        gpus: GPUs the job uses.
    """
    ingest = ingest_gb_per_s(gpus, job.ingest_per_gpu_gb_per_s)
    if job.max_restore_s is None:
        return ingest
    constant, per_gpu = job.fan_out_terms()
    fan_out = constant + per_gpu * gpus
    return max(ingest, restore_demand_gb_per_s(job.checkpoint_gb, fan_out, job.max_restore_s))


def interval_row(
    job: Job, cluster: Cluster, mode: Mode, interval_s: float, by_policy: bool
) -> IntervalRow:
    """Return what one interval asks for and how the job runs with just that bandwidth.

    Where nothing asks for read bandwidth, it is taken to equal the write bandwidth.
    """
    write = write_demand(job, mode, interval_s)
    read = read_demand(job, cluster.gpus) or write
    runs = None
    if write is not None and read is not None:
        runs = running(job, mode, interval_s, write, read, cluster.gpus, cluster.mtti_s)
    return IntervalRow(
        interval_s=interval_s,
        by_policy=by_policy,
        interval_per_mtti=interval_s / cluster.mtti_s,
        write_gb_per_s=write,
        write_mb_per_s_per_gpu=None if write is None else 1000 * write / cluster.gpus,
        blocking_law_write_gb_per_s=blocking_write_demand_gb_per_s(
            job.checkpoint_gb, job.max_blocking, interval_s
        ),
        write_volume_tb_per_day=write_volume_tb_per_day(job.checkpoint_gb, interval_s),
        read_gb_per_s=read,
        running=runs,
    )
