"""What storage is asked for with and without a local level of checkpoints, at just enough of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from planner.case import Case
from planner.case.bandwidth import local_drain_s, stall_s
from planner.case.model import Job, Levels, Mode, Way
from planner.sizing.demand import write_demand_gb_per_s
from planner.sizing.two_levels import TwoLevels, goodput, peak_s
from planner.sizing_report.laws import interval_row, mode_report, read_demand
from planner.sizing_report.model import Cluster, IntervalRow, LevelRow, LevelsReport


def with_known_stall(case: Case, cluster: Cluster) -> Case:
    """Return the case on one number of GPUs: its stall in seconds, without a local level."""
    job, way = case.job, _way(case, cluster)
    modes = tuple(mode for mode in job.modes if mode != "local") or ("async",)
    known_s = stall_s(job, way, cluster.gpus)
    return replace(case, job=replace(job, stall_s=known_s, derived_stall=False, modes=modes))


def _way(case: Case, cluster: Cluster) -> Way:
    return next(system for system in case.systems if system.id == cluster.item).way()


def levels_report(case: Case, cluster: Cluster) -> LevelsReport | None:
    """Return what storage is asked for with a local level and without; None without drives.

    Args:
        case: the problem in numbers.
        cluster: the GPUs to size for.
    """
    job, way = case.job, _way(case, cluster)
    if job.levels is None or way.drives is None:
        return None
    plain = with_known_stall(case, cluster)
    drained = mode_report(plain, cluster, "async").rows[0]
    waiting = interval_row(plain.job, cluster, "sync", drained.interval_s, True)
    alone = [_row_of("sync", waiting), _row_of("async", drained)]
    rows = _local_rows(plain.job, job.levels, local_drain_s(job, way, cluster.gpus), cluster)
    return LevelsReport(
        rows=(*(row for row in alone if row is not None), *rows),
        remote_share=job.levels.remote_share,
        local_restart_s=job.levels.local_restart_s,
        copies=job.levels.copies,
    )


def _row_of(mode: Mode, first: IntervalRow) -> LevelRow | None:
    if first.running is None or first.write_gb_per_s is None:
        return None
    return LevelRow(
        mode=mode,
        every=None,
        interval_s=first.interval_s,
        remote_interval_s=first.interval_s,
        stall_s=first.running.stall_s,
        write_gb_per_s=first.write_gb_per_s,
        write_mb_per_s_per_gpu=first.write_mb_per_s_per_gpu or 0.0,
        overlap_share=first.running.overlap_share,
        goodput_share=first.running.goodput_share,
    )


def _local_rows(job: Job, levels: Levels, drained_s: float, cluster: Cluster) -> Iterator[LevelRow]:
    """Yield a row for each k, at its best interval with just the bandwidth the overlap asks for."""
    rule, shortest_s = job.interval, job.stall_s + drained_s
    if levels.local_restart_s + drained_s > cluster.mtti_s:
        return
    for every in levels.every:
        low_s, high_s = max(rule.low_s, shortest_s), rule.high_s
        if rule.policy == "lost_work":
            low_s = high_s = rule.kappa * cluster.mtti_s
        if low_s > high_s or high_s < shortest_s:
            continue

        def worth(log_s: float, every: int = every) -> float:
            run = _at_limit(job, levels, drained_s, cluster, math.exp(log_s), every)
            share = goodput(run)
            return math.log(share) if share > 0 else -math.inf

        best_s = peak_s(worth, low_s, high_s)
        found = _at_limit(job, levels, drained_s, cluster, best_s, every)
        write = write_demand_gb_per_s(job.checkpoint_gb, job.max_overlap, found.remote_interval_s)
        yield LevelRow(
            mode="async",
            every=every,
            interval_s=best_s,
            remote_interval_s=found.remote_interval_s,
            stall_s=job.stall_s,
            write_gb_per_s=write,
            write_mb_per_s_per_gpu=1000 * write / cluster.gpus,
            overlap_share=found.drain_s / found.remote_interval_s,
            goodput_share=goodput(found),
        )


def _at_limit(
    job: Job,
    levels: Levels,
    drained_s: float,
    cluster: Cluster,
    interval_s: float,
    every: int,
) -> TwoLevels:
    """Return the times of a job whose drains take all of the overlap that they may."""
    constant, per_gpu = job.fan_out_terms(cluster.replica_gpus)
    drain_s = job.max_overlap * every * interval_s
    read = read_demand(job, cluster.gpus) or job.checkpoint_gb / drain_s
    return TwoLevels(
        interval_s=interval_s,
        every=every,
        stall_s=job.stall_s,
        local_drain_s=drained_s,
        drain_s=drain_s,
        local_restart_s=levels.local_restart_s,
        restart_s=job.restart_s,
        restore_s=(constant + per_gpu * cluster.gpus) * job.checkpoint_gb / read,
        mtti_s=cluster.mtti_s,
        remote_share=levels.remote_share,
        drain_slowdown=job.drain_slowdown,
        drain_restarts=levels.drain_restarts,
    )
