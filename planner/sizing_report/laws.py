"""What each law and rule asks for, interval by interval, and how the job would run with just that.

The demand law (async) and the blocking law (sync) ask for delivered bandwidth, vendors' rules for
rated bandwidth.
"""

from __future__ import annotations

from planner.case import Case
from planner.case.model import BandwidthRule, Job, Mode
from planner.inputs import Inputs
from planner.schema.problem import CustomRule
from planner.sizing.checkpoint import drain_s, restore_read_s
from planner.sizing.demand import (
    VENDOR_RULES,
    restore_demand_gb_per_s,
    rule_demand,
    write_demand_gb_per_s,
    write_volume_tb_per_day,
)
from planner.sizing.goodput import (
    best_interval_s,
    exact_period_s,
    goodput,
)
from planner.sizing_report.appliances import Need, appliance_rows
from planner.sizing_report.model import (
    Cluster,
    IntervalRow,
    ModeReport,
    RuleGroup,
    RuleRow,
    Running,
)

SHOWN_INTERVALS_S = (600.0, 1800.0, 3600.0, 14_400.0)
_HALVINGS = 200


def mode_report(case: Case, cluster: Cluster, mode: Mode) -> ModeReport:
    """Return what one way of checkpointing asks for at the policy's and at usual intervals."""
    job, mtti_s = case.job, cluster.mtti_s
    interval_s = policy_interval_s(job, mode, mtti_s)
    limit = job.max_blocking if mode == "sync" else job.max_overlap
    intervals = (interval_s, *(shown for shown in SHOWN_INTERVALS_S if shown != interval_s))
    rows = [interval_row(job, cluster, mode, shown, shown == interval_s) for shown in intervals]
    return ModeReport(
        mode=mode,
        policy=job.interval.policy,
        law="blocking law" if mode == "sync" else "demand law",
        limit_share=limit,
        interval_s=interval_s,
        rows=tuple(rows),
    )


def policy_interval_s(job: Job, mode: Mode, mtti_s: float) -> float:
    """Return the policy's interval with just the bandwidth that the law then asks for, s.

    Args:
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
        return exact_period_s(stall_s, mtti_s)
    if share >= 1:
        return float("inf")
    low, high = 0.0, (mtti_s + stall_s) / (1 - share)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if exact_period_s(stall_s + share * middle, mtti_s) > middle:
            low = middle
        else:
            high = middle
    return high


def write_demand(job: Job, mode: Mode, interval_s: float) -> float | None:
    """Return the delivered write bandwidth an interval asks for, GB/s, or None if impossible.

    Args:
        mode: async (overlap limit, and stall and drain within the interval) or sync (blocking).
        interval_s: start of one checkpoint to the start of the next, s.
    """
    if mode == "sync":
        return write_demand_gb_per_s(job.checkpoint_gb, job.max_blocking, interval_s)
    share = min(job.max_overlap, 1 - job.stall_s / interval_s)
    if share <= 0:
        return None
    return write_demand_gb_per_s(job.checkpoint_gb, share, interval_s)


def read_demand(job: Job, gpus: int) -> float:
    """Return the delivered read bandwidth of restore and ingest, GB/s; 0 where neither asks."""
    return max(reads(job, gpus))


def reads(job: Job, gpus: int) -> tuple[float, float]:
    """Return the delivered read bandwidth that a restore asks for, and training data, GB/s."""
    data = gpus * job.ingest_per_gpu_gb_per_s
    if job.max_restore_s is None:
        return 0.0, data
    constant, per_gpu = job.fan_out_terms(job.replica_gpus)
    fan_out = constant + per_gpu * gpus
    return restore_demand_gb_per_s(job.checkpoint_gb, fan_out, job.max_restore_s), data


def restored_at(job: Job, cluster: Cluster) -> float:
    """Return the bandwidth of a restore from storage that just gives `read_demand`, GB/s; 0 where
    nothing asks. Of what data asks for one replica's systems take what they can read."""
    restore, data = reads(job, cluster.gpus)
    if job.one_replica_reads:
        data = min(data, cluster.client_read_gb_per_s)
    return max(restore, data)


def interval_row(
    job: Job, cluster: Cluster, mode: Mode, interval_s: float, by_policy: bool
) -> IntervalRow:
    """Return what one interval asks for and how the job runs with just that bandwidth.

    Where nothing asks for read bandwidth, it is taken to equal the write bandwidth.
    """
    write = write_demand(job, mode, interval_s)
    read, restored = read_demand(job, cluster.gpus) or write, restored_at(job, cluster) or write
    runs = None
    if write is not None and restored is not None:
        runs = running(job, mode, interval_s, write, restored, cluster.gpus, cluster.mtti_s)
    return IntervalRow(
        interval_s=interval_s,
        by_policy=by_policy,
        interval_per_mtti=interval_s / cluster.mtti_s,
        write_gb_per_s=write,
        write_mb_per_s_per_gpu=None if write is None else 1000 * write / cluster.gpus,
        write_volume_tb_per_day=write_volume_tb_per_day(job.checkpoint_gb, interval_s),
        read_gb_per_s=read,
        running=runs,
    )


def rule_rows(
    inputs: Inputs, case: Case, cluster: Cluster, modes: tuple[ModeReport, ...]
) -> tuple[RuleRow, ...]:
    """Return the rows of all rules: the job's law, DDN's, NVIDIA's, and the user's own."""
    rows = [_law_row(inputs, case, cluster, mode) for mode in modes]
    for rule in VENDOR_RULES.values():
        figures = BandwidthRule(rule.name, rule.read_gb_per_s, rule.write_gb_per_s, rule.per_gpus)
        rows.append(
            _vendor_row(inputs, case, cluster, rule.family, rule.note, rule.source, figures)
        )
    if case.rule is not None and isinstance(inputs.problem.storage.rule, CustomRule):
        note = f"given in the problem, per {case.rule.per_gpus:,} GPUs"
        rows.append(_vendor_row(inputs, case, cluster, "custom", note, "the problem", case.rule))
    return tuple(rows)


def _law_row(inputs: Inputs, case: Case, cluster: Cluster, mode: ModeReport) -> RuleRow:
    row = next(row for row in mode.rows if row.by_policy)
    restore, data = reads(case.job, cluster.gpus)
    read, write = max(restore, data), row.write_gb_per_s
    need = Need(
        restore_gb_per_s=restore,
        data_gb_per_s=data,
        delivered_write_gb_per_s=write or 0.0,
        usable_tb=case.job.capacity_needed_tb,
        write_tb_per_day=row.write_volume_tb_per_day,
    )
    how = "blocked" if mode.mode == "sync" else "of it draining"
    return RuleRow(
        rule=mode.law,
        group="demand_law",
        chosen=case.rule is None,
        basis="delivered",
        note=f"at most {100 * mode.limit_share:g} % {how}; read for restore and ingest",
        source="checkpoint size, interval and limits of the job",
        read_gb_per_s=read,
        write_gb_per_s=write,
        delivered_read_gb_per_s=read,
        delivered_write_gb_per_s=write,
        mode=mode.mode,
        interval_s=mode.interval_s,
        running=row.running,
        appliances=() if write is None else appliance_rows(inputs, case, cluster, need),
    )


def _vendor_row(
    inputs: Inputs,
    case: Case,
    cluster: Cluster,
    group: RuleGroup,
    note: str,
    source: str,
    rule: BandwidthRule,
) -> RuleRow:
    read, write = rule_demand(rule, cluster.gpus_bought)
    delivered_read = min(case.delivered_read * read, cluster.client_read_gb_per_s)
    delivered_write = min(case.delivered_write * write, cluster.client_write_gb_per_s)
    mode, interval_s, runs = _best_run(case.job, cluster, delivered_read, delivered_write)
    restore, data = reads(case.job, cluster.gpus)
    lasting_s = interval_s or policy_interval_s(case.job, case.job.modes[0], cluster.mtti_s)
    need = Need(
        rated_read_gb_per_s=read,
        rated_write_gb_per_s=write,
        restore_gb_per_s=restore,
        data_gb_per_s=data,
        usable_tb=case.job.capacity_needed_tb,
        write_tb_per_day=write_volume_tb_per_day(case.job.checkpoint_gb, lasting_s),
    )
    return RuleRow(
        rule=rule.name,
        group=group,
        chosen=case.rule == rule,
        basis="nameplate",
        note=note,
        source=source,
        read_gb_per_s=read,
        write_gb_per_s=write,
        delivered_read_gb_per_s=delivered_read,
        delivered_write_gb_per_s=delivered_write,
        mode=mode,
        interval_s=interval_s,
        running=runs,
        appliances=appliance_rows(inputs, case, cluster, need),
    )


def _best_run(
    job: Job, cluster: Cluster, read_gb_per_s: float, write_gb_per_s: float
) -> tuple[Mode, float, Running] | tuple[None, None, None]:
    """Return the way of checkpointing with the highest goodput, its interval, and how it runs."""
    if read_gb_per_s <= 0 or write_gb_per_s <= 0:
        return None, None, None
    runs = []
    for mode in job.modes:
        every_s = interval_at(job, mode, write_gb_per_s, cluster.mtti_s)
        if every_s is not None:
            sides = write_gb_per_s, read_gb_per_s
            each = running(job, mode, every_s, *sides, cluster.gpus, cluster.mtti_s)
            runs.append((mode, every_s, each))
    return max(runs, key=lambda run: run[2].goodput_share) if runs else (None, None, None)


def running(
    job: Job,
    mode: Mode,
    interval_s: float,
    write_gb_per_s: float,
    read_gb_per_s: float,
    gpus: int,
    mtti_s: float,
) -> Running:
    """Return stall, drain, restore and goodput.

    Args:
        mode: async or sync.
        interval_s: start of one checkpoint to the start of the next, s.
        mtti_s: mean time to interruption, s.
    """
    transfer_s = drain_s(job.checkpoint_gb, write_gb_per_s)
    stall, drain = (transfer_s, 0.0) if mode == "sync" else (job.stall_s, transfer_s)
    slowdown = 0.0 if mode == "sync" else job.drain_slowdown
    constant, per_gpu = job.fan_out_terms(job.replica_gpus)
    restore_s = restore_read_s(job.checkpoint_gb, constant + per_gpu * gpus, read_gb_per_s)
    restart_s = job.restart_s + restore_s
    kept = goodput(interval_s, stall, drain, restart_s, mtti_s, slowdown)
    return Running(
        stall_s=stall,
        drain_s=drain,
        overlap_share=drain / interval_s,
        blocking_share=stall / interval_s,
        restore_s=restore_s,
        goodput_share=kept * job.progress,
    )


def interval_at(job: Job, mode: Mode, write_gb_per_s: float, mtti_s: float) -> float | None:
    """Return the policy's interval at a given bandwidth, s, or None where none is allowed.

    Args:
        mode: async or sync.
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
