"""What a checkpoint takes on the way it goes: the stall, the local level's times, room and wear.

All of it follows from the part of the state that one GPU, or one system, holds. Where all GPUs
write it falls with their number: for one GPU (``gpus=1``) each figure is that of all times their
number.
"""

from __future__ import annotations

from planner.case.model import Job, Way
from planner.sizing import two_levels
from planner.units import DAY_S


def writing_gpus(job: Job, way: Way, gpus: int) -> int:
    """Return how many of the GPUs in use write a checkpoint, each its even part."""
    if not job.one_replica_writes:
        return gpus
    assert way.replica_gpus is not None
    return way.replica_gpus


def stall_s(job: Job, way: Way, gpus: int) -> float:
    """Return how long GPUs of a type stand still for an asynchronous checkpoint, s."""
    return job.stall_s + copy_s(job, way, gpus)


def copy_s(job: Job, way: Way, gpus: int) -> float:
    """Return how long a GPU copies its part to its host, s; 0 where a stall is not derived."""
    if not job.derived_stall:
        return 0.0
    assert way.host_copy_gb_per_s is not None
    writing = writing_gpus(job, way, gpus)
    return two_levels.derived_stall_s(0.0, job.checkpoint_gb, writing, way.host_copy_gb_per_s)


def local_part_gb(job: Job, way: Way, gpus: int) -> float:
    """Return what one system writes locally per checkpoint, its peers' copies included, GB."""
    assert job.levels is not None
    writing = writing_gpus(job, way, gpus)
    held = min(way.usable_gpus, writing) if job.one_replica_writes else way.usable_gpus
    return two_levels.local_part_gb(job.checkpoint_gb, job.levels.copies, held, writing)


def local_drain_s(job: Job, way: Way, gpus: int) -> float:
    """Return how long a local checkpoint takes to be safe, s."""
    assert way.drives is not None
    return local_part_gb(job, way, gpus) / way.drives.write_gb_per_s


def worn_interval_s(job: Job, way: Way, gpus: int) -> float:
    """Return the shortest local interval that a type's drives endure, s; 0 where nobody says."""
    assert way.drives is not None
    endured = way.drives.endurance_tb_per_day
    return 0.0 if endured is None else local_part_gb(job, way, gpus) / 1000.0 * DAY_S / endured


def local_room_tb(job: Job, way: Way, gpus: int) -> float:
    """Return what one system holds of local checkpoints at a time, TB."""
    assert job.levels is not None
    return job.levels.keep * local_part_gb(job, way, gpus) / 1000.0
