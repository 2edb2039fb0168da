"""What the formula of the sizing model predicts for a job as it is simulated."""

from __future__ import annotations

from planner.schema.simulation import LossBudget
from planner.simulation.world import JobRun, World
from planner.sizing.goodput import goodput, goodput_loss


def drain_s(job: JobRun, world: World) -> float:
    """Return how long a checkpoint is written with all appliances up and no other job, s."""
    return job.checkpoint_gb / min(world.write_gb_per_s, job.client_write_gb_per_s)


def restore_s(job: JobRun, world: World) -> float:
    """Return how long a checkpoint is read back likewise, s."""
    return job.restore_gb / min(world.read_gb_per_s, job.client_read_gb_per_s)


def predicted(job: JobRun, world: World) -> float:
    """Return the goodput that the formula gives a job on its storage."""
    drain = 0.0 if job.sync else drain_s(job, world)
    restart = job.restart_s + restore_s(job, world)
    mean = job.failures.mean_s
    return goodput(job.interval_s, job.stall_s, drain, restart, mean, job.drain_slowdown)


def predicted_loss(job: JobRun, world: World) -> LossBudget:
    """Return the formula's split of what is lost.

    It counts what is slowed as part of the stall; here the two stand apart.
    """
    drain = 0.0 if job.sync else drain_s(job, world)
    parts = goodput_loss(
        job.interval_s,
        job.stall_s,
        drain,
        job.restart_s,
        restore_s(job, world),
        job.failures.mean_s,
        job.drain_slowdown,
    )
    slowed = job.drain_slowdown * drain
    share = slowed / (slowed + job.stall_s) if slowed else 0.0
    return LossBudget(
        stall=parts.stall * (1.0 - share),
        slowdown=parts.stall * share,
        rework=parts.rework,
        drain=parts.drain,
        restart=parts.restart,
        restore=parts.restore,
        planned=0.0,
    )
