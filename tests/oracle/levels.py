"""Two levels of checkpoints for many storage purchases at once: every k, every interval.

The goodput is written as an average over renewals, from the rules in docs/model.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.schema.job import FixedInterval, Job
from planner.schema.problem import Problem
from tests.oracle.compute import Compute, usable_gpus
from tests.oracle.goodput import peak_s
from tests.oracle.money import Array
from tests.oracle.stores import Stores, checkpoint_gb
from tests.oracle.worth import ROUNDING, SECONDS_PER_DAY

MOST_STALLED = 0.999


@dataclass(frozen=True)
class Near:
    """What the local level takes of a use of GPUs: times in seconds."""

    drain_s: float
    restart_s: float
    worn_s: float
    remote_share: float


def stall_s(problem: Problem, choice: Compute) -> float:
    """Return how long GPUs stop for an asynchronous checkpoint."""
    job, checkpoint = problem.job, problem.job.checkpoint
    if checkpoint.stall_s != "derived":
        return checkpoint.stall_s
    rates = [item.local.host_copy for item in choice.items]
    slowest = min(rate.value for rate in rates if rate is not None)
    gpus_gb = checkpoint_gb(job) / _writers(job, choice)
    return (checkpoint.stall_overhead_s or 0.0) + gpus_gb / slowest


def _writers(job: Job, choice: Compute) -> int:
    if job.checkpoint.writers == "all" or job.parallelism is None:
        return choice.gpus_used
    return job.parallelism.replica_gpus


def near(problem: Problem, choice: Compute) -> Near | None:
    """Return the local level of a use of GPUs, None where the rules forbid it."""
    job, local = problem.job, problem.job.checkpoint.local
    assert local is not None and job.restart.local_s is not None
    drains, worn = [], [0.0]
    for item in choice.items:
        drives, gpus = item.local, item.provides.gpus
        if drives.write is None or drives.capacity is None or gpus is None:
            return None
        held = usable_gpus(item, job)
        if job.checkpoint.writers == "one_replica":
            held = min(held, _writers(job, choice))
        part_tb = local.copies * checkpoint_gb(job) * held / _writers(job, choice) / 1000.0
        if local.keep * part_tb > drives.capacity.value * (1.0 + ROUNDING):
            return None
        drains.append(part_tb * 1000.0 / drives.write.value)
        if drives.endurance is not None:
            worn.append(part_tb * SECONDS_PER_DAY / drives.endurance.value)
    swap_s = 0.0 if job.repair is None else job.repair.swap_s
    if max(drains) + job.restart.local_s + swap_s > choice.full_mtti_s * (1.0 + ROUNDING):
        return None
    survived = {"yes"} | ({"peer"} if local.copies > 1 else set())
    remote = [s for n, s in job.failure_shares.items() if local.recovers[n] not in survived]
    return Near(max(drains), job.restart.local_s, max(worn), sum(remote))


def run(
    problem: Problem,
    choice: Compute,
    purchases: Stores,
    drains: tuple[Array, Array],
    restore_s: Array,
) -> tuple[Array, Array]:
    """Return interval and goodput of the best k, goodput 0 where no interval is allowed."""
    local, level = problem.job.checkpoint.local, near(problem, choice)
    best_s, best = np.ones_like(restore_s), np.zeros_like(restore_s)
    if local is None or level is None:
        return best_s, best
    # A row per k, a column per purchase.
    every = np.array(local.every, dtype=np.float64)[:, None]
    interval_s, rate = _run(problem, choice, purchases, drains, restore_s, level, every)
    chosen = rate.argmax(axis=0)[None]
    return (
        np.take_along_axis(interval_s, chosen, axis=0)[0],
        np.take_along_axis(rate, chosen, axis=0)[0],
    )


def _run(
    problem: Problem,
    choice: Compute,
    purchases: Stores,
    drains: tuple[Array, Array],
    restore_s: Array,
    level: Near,
    every: Array,
) -> tuple[Array, Array]:
    write_s, write_down_s = drains
    checkpoint, job = problem.job.checkpoint, problem.job
    stop_s = stall_s(problem, choice)
    stopped_s = stop_s + checkpoint.drain_slowdown * write_s / every
    demand = problem.storage.rule == "demand"
    remote_s = write_down_s / (checkpoint.max_overlap if demand else 1.0)
    size_tb = checkpoint_gb(job) / 1000.0
    remote_s = np.maximum(remote_s, size_tb * SECONDS_PER_DAY / purchases.endurance_tb_per_day)
    low = np.maximum(remote_s / every, max(stop_s + level.drain_s, level.worn_s))
    low = np.maximum(low, stopped_s / MOST_STALLED)
    policy = checkpoint.interval
    if isinstance(policy, FixedInterval):
        bottom = high = policy.every_s
    else:
        bottom, high = policy.min_s, policy.max_s
    allowed = low <= high * (1.0 + ROUNDING)
    low = np.clip(low, bottom, high)
    far_s = job.restart_s + restore_s
    anew = checkpoint.local is not None and checkpoint.local.drain == "restarts"

    more_s = np.full(1, level.drain_s)
    mended = choice.mended.on_levels(level.restart_s, level.remote_share)

    def worth(interval_s: Array) -> Array:
        mtti_s = choice.mtti_s
        times = (interval_s, every, stopped_s, write_s, far_s, level, mtti_s)
        sees_s = mended.restarts_see_s(mtti_s)
        kept = goodput(*times, sees_s, mended.outlast(sees_s), anew=anew)
        kept = kept * mended.factor(interval_s, more_s, mtti_s)
        if mended.growing is None:
            return np.asarray(kept)
        sees_s = np.asarray(mtti_s)
        most = goodput(*times, sees_s, mended.outlast(sees_s), anew=anew)
        return np.minimum(kept, most)  # as if units out cost nothing

    best_s = peak_s(worth, low, high)
    return best_s, np.where(allowed, worth(best_s) * (1.0 - job.lost_share), 0.0)


def goodput(
    interval_s: Array,
    every: Array,
    stopped_s: Array,
    drain_s: Array,
    far_s: Array,
    level: Near,
    mtti_s: float,
    restarts_see_s: Array,
    swaps: Array,
    *,
    anew: bool,
) -> Array:
    """Return kept work over time, from one failure that needs storage to the next; ``swaps`` is
    how likely nothing fails in what a restart takes longer for one."""
    q2, again = level.remote_share, swaps * np.exp(-level.restart_s / restarts_see_s)
    survive = again * np.exp(-level.drain_s / mtti_s)
    back = q2 + (1.0 - q2) * again
    lag = q2 + (1.0 - q2) * survive
    y = np.expm1(interval_s / mtti_s) * q2 / lag
    c0 = np.exp(-level.drain_s / mtti_s) * back / lag
    safe = np.exp(-q2 * drain_s / mtti_s)
    if anew:
        safe = 1.0 / (1.0 + np.expm1(drain_s / mtti_s) * q2 / back)
    work_s = every * np.maximum(interval_s - stopped_s, 0.0)
    kept_s = work_s * c0 * safe / np.expm1(np.minimum(every * np.log1p(y), 700.0))
    renewal_s = mtti_s / q2 + mtti_s * (np.exp(far_s / restarts_see_s) / swaps - 1.0)
    return np.asarray(kept_s / renewal_s)
