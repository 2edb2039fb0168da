"""The inputs of the sizing model, with what the solved plan used for each."""

from __future__ import annotations

from planner.outputs.workbook import checkpoint_degraded, checkpoint_prices
from planner.outputs.workbook.checkpoint_rows import Input, Inputs
from planner.outputs.workbook.formats import (
    DECIMAL_1,
    DECIMAL_2,
    DECIMAL_3,
    GENERAL,
    INTEGER,
    PERCENT,
    SMALL,
)
from planner.schema.plan import JobPlan, Plan

_NO_LIMIT = "blank: no limit"


def sections(plan: Plan, job: JobPlan, job_gpus: float) -> list[Inputs]:
    """Return the inputs under their headings.

    Args:
        plan: the plan.
        job: its job.
        job_gpus: GPUs in the bill of materials of the types that the job uses.
    """
    return [
        ("Inputs: checkpoint and restore", (*_checkpoint(job), *_restore(job))),
        ("Inputs: limits of the job", _limits(plan)),
        (
            "Inputs: cluster and storage",
            (
                *_cluster(job, job_gpus),
                *_storage(plan, job),
                *checkpoint_degraded.inputs(plan, job),
            ),
        ),
        ("Inputs: training and cost", (*_training(job), *checkpoint_prices.inputs(plan))),
    ]


def _checkpoint(job: JobPlan) -> tuple[Input, ...]:
    stall_s = job.stall_s if job.mode == "async" else None
    return (
        Input("checkpoint_gb", "Checkpoint size", "GB", job.checkpoint_gb, DECIMAL_1, low=1e-9),
        Input(
            "save_mode",
            "How checkpoints are saved",
            "",
            job.mode,
            GENERAL,
            "async: the GPUs go on while storage drains; sync: they wait for it",
            choices=("async", "sync"),
        ),
        Input(
            "async_stall_s",
            "Stall of one asynchronous checkpoint",
            "s",
            stall_s,
            DECIMAL_2,
            "give it before switching from sync to async" if stall_s is None else "",
        ),
        Input(
            "interval_s",
            "Checkpoint interval, start to start",
            "s",
            job.interval_s,
            DECIMAL_1,
            f"policy of the plan: {job.interval_policy.replace('_', ' ')}; does not follow edits",
            low=1e-9,
        ),
        Input(
            "drain_slowdown",
            "Slowdown of the GPUs while draining",
            "share",
            job.drain_slowdown,
            PERCENT,
            high=1.0,
        ),
    )


def _restore(job: JobPlan) -> tuple[Input, ...]:
    return (
        Input(
            "failures_per_gpu_day",
            "Job-interrupting failures per GPU and day",
            "1/day",
            job.failures_per_gpu_day,
            SMALL,
            low=1e-12,
        ),
        Input("restart_s", "Restart without the read", "s", job.restart_s, DECIMAL_1),
        Input(
            "fan_out_per_replica",
            "Share of a checkpoint each further replica reads",
            "share",
            _fan_out_per_replica(job),
            DECIMAL_3,
            "0: broadcast over the fabric; 1: every replica reads all; 2/bytes per parameter: "
            "sharded optimizer",
            high=1.0,
        ),
    )


def _fan_out_per_replica(job: JobPlan) -> float:
    """Fan-out is 1 + share x (replicas - 1) in all its kinds."""
    if job.replicas is None or job.replicas <= 1:
        return 0.0
    return (job.fan_out - 1) / (job.replicas - 1)


def _limits(plan: Plan) -> tuple[Input, ...]:
    solved = {limit.name: limit.limit for limit in plan.limits}
    return (
        Input(
            "max_overlap",
            "Largest overlap (drain / interval)",
            "share",
            solved.get("overlap"),
            PERCENT,
            _NO_LIMIT,
            high=1.0,
        ),
        Input(
            "max_blocking",
            "Largest blocking (stall / interval)",
            "share",
            solved.get("blocking"),
            PERCENT,
            _NO_LIMIT,
            high=1.0,
        ),
        Input(
            "max_restore_s",
            "Longest restore read",
            "s",
            solved.get("restore_time"),
            DECIMAL_1,
            _NO_LIMIT,
        ),
    )


def _cluster(job: JobPlan, job_gpus: float) -> tuple[Input, ...]:
    return (
        Input(
            "gpus_idle",
            "GPUs bought but not used by the job",
            "GPUs",
            job_gpus - job.gpus_used,
            INTEGER,
            "GPUs in use = GPUs of the bill of materials less these",
        ),
        Input(
            "replica_gpus",
            "GPUs that hold one replica (tensor x pipeline)",
            "GPUs",
            job.replica_gpus,
            INTEGER,
            "blank: not given",
        ),
        *_clients("write", "writing", job.writing_systems, job.client_write_limit_gb_per_s, job),
        *_clients("read", "reading", job.reading_systems, job.client_read_limit_gb_per_s, job),
        Input(
            "ingest_per_gpu_gb_per_s",
            "Training data read per GPU in use",
            "GB/s",
            job.ingest_gb_per_s / job.gpus_used,
            DECIMAL_3,
        ),
    )


def _clients(
    kind: str, acting: str, systems: int, limit_gb_per_s: float, job: JobPlan
) -> tuple[Input, ...]:
    at_most = systems if systems < job.systems_used else None
    return (
        Input(
            f"{acting}_systems_at_most",
            f"GPU systems {acting}, at most",
            "systems",
            at_most,
            INTEGER,
            "blank: all systems in use",
        ),
        Input(
            f"client_{kind}_gb_per_s",
            f"Client limit per system, {kind}",
            "GB/s",
            limit_gb_per_s / systems if systems else None,
            DECIMAL_2,
            _NO_LIMIT,
        ),
    )


def _storage(plan: Plan, job: JobPlan) -> tuple[Input, ...]:
    site = plan.site
    return (
        Input(
            "delivered_fraction_write",
            "Delivered share of the rated write bandwidth",
            "share",
            site.delivered_fraction_write,
            PERCENT,
            high=1.0,
        ),
        Input(
            "delivered_fraction_read",
            "Delivered share of the rated read bandwidth",
            "share",
            site.delivered_fraction_read,
            PERCENT,
            high=1.0,
        ),
        Input(
            "capacity_needed_tb",
            "Usable capacity needed",
            "TB",
            job.capacity_needed_tb,
            DECIMAL_1,
            f"data, checkpoints kept and exports at {site.fill_limit:.0%} fill; does not follow "
            "the checkpoint size",
        ),
    )


def _training(job: JobPlan) -> tuple[Input, ...]:
    work = None
    if job.days_to_train is not None and job.useful_pflops is not None:
        work = job.days_to_train * job.useful_pflops
    return (
        Input("tflops_per_gpu", "Peak rate of one GPU", "TFLOP/s", job.tflops_per_gpu, DECIMAL_1),
        Input("mfu", "Model FLOP/s utilisation (MFU)", "share", job.mfu, PERCENT, high=1.0),
        Input(
            "training_pflops_days",
            "Work of the training run",
            "PFLOP/s-days",
            work,
            DECIMAL_1,
            "6 x active parameters x tokens; blank: not given",
        ),
    )
