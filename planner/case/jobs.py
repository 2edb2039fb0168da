"""A job's numbers from its words."""

from __future__ import annotations

from planner.case.model import IntervalRule, Mode
from planner.case.model import Job as JobNumbers
from planner.inputs import job_size
from planner.schema.problem import FixedInterval, Interval, LostWorkInterval, Problem
from planner.sizing.demand import capacity_tb


def job_numbers(problem: Problem) -> JobNumbers:
    """Return the only job of a problem in numbers."""
    job = problem.job
    size_gb, bytes_each = job_size(job)
    checkpoint, restore = job.checkpoint, job.restore
    replica = job.parallelism.replica_gpus if job.parallelism else None
    modes: tuple[Mode, ...] = ("async", "sync")
    if checkpoint.mode != "open":
        modes = (checkpoint.mode,)
    return JobNumbers(
        name=job.name,
        checkpoint_gb=size_gb,
        bytes_per_parameter=bytes_each,
        active_parameters=job.training.active_parameters or job.parameters,
        tokens=job.training.tokens,
        mfu=job.training.mfu,
        replica_gpus=replica,
        modes=modes,
        stall_s=checkpoint.stall_s,
        drain_slowdown=checkpoint.drain_slowdown,
        max_overlap=checkpoint.max_overlap,
        max_blocking=checkpoint.max_blocking,
        interval=interval_rule(checkpoint.interval),
        one_replica_writes=checkpoint.writers == "one_replica",
        one_replica_reads=restore.readers == "one_replica",
        fan_out=restore.fan_out,
        max_restore_s=restore.max_time_s,
        restart_s=restore.restart_s,
        gpus_min=max(1, replica or 1, job.gpus.min or 1, problem.targets.min_gpus or 1),
        gpus_max=job.gpus.max,
        hot_spares=job.gpus.hot[0],
        hot_share=job.gpus.hot[1],
        whole_replicas=job.whole_replicas,
        max_types=job.gpus.max_types,
        ingest_per_gpu_gb_per_s=job.ingest_per_gpu_gb_per_s,
        capacity_needed_tb=capacity_tb(
            dataset_tb=job.dataset_tb,
            checkpoint_gb=size_gb,
            keep_last=checkpoint.keep_last,
            milestones=checkpoint.milestones,
            exports=checkpoint.exports,
            parameters=job.parameters or 0.0,
            fill_limit=problem.storage.fill_limit,
        ),
    )


def interval_rule(interval: Interval) -> IntervalRule:
    """Return an interval policy in numbers."""
    if isinstance(interval, FixedInterval):
        return IntervalRule("fixed", interval.every_s, interval.every_s, 0.0)
    if isinstance(interval, LostWorkInterval):
        return IntervalRule("lost_work", 0.0, 0.0, interval.kappa)
    return IntervalRule("optimal", interval.min_s, interval.max_s, 0.0)
