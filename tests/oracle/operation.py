"""How a job runs: the best checkpoint interval, by the verifier's formula for goodput.

For many storage purchases at once: every time may be an array, a number for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from planner.schema.job import FixedInterval, Job
from planner.schema.problem import Problem
from planner.verifier import physics
from planner.verifier.job import checkpoint_size
from planner.verifier.physics import DAY_S, Times, usable_gpus
from tests.oracle.compute import Compute
from tests.oracle.money import Array
from tests.oracle.stores import Stores

MOST_STALLED = 0.999
"""Stalls take at most this share of an interval."""
ROUNDING = 1e-9
STEPS = 6
"""From at most 41 % off each step leaves less than the square of what was wrong."""
TRIED = {True: (201, 61, 61), False: (41, *5 * (13,))}
"""So many intervals are tried where the best is looked for, then about the best of them, ...: more
at a time for few purchases."""
FEW = 50
Mode = Literal["async", "sync", "local"]


def best_interval_s(stall_s: Array, mtti_s: float, low_s: Array, high_s: float) -> Array:
    """Return the interval within [low, high] with the most goodput, which has one maximum.

    It is where e^-z + z - 1 = s/M with z = I/M: Newton's steps come down to it from above.
    """
    stalled = stall_s > 0.0
    share = np.where(stalled, stall_s, 1.0) / mtti_s
    z = (share + np.sqrt(share**2 + 8.0 * share)) / 2.0
    for _ in range(STEPS):
        rest = np.expm1(-z)
        z = z + (z + rest - share) / rest
    free_s = np.where(stalled, z * mtti_s, 0.0)
    return np.asarray(np.clip(free_s, low_s, np.maximum(high_s, low_s)))


def peak_s(worth: Callable[[Array], Array], low: Array, high: float) -> Array:
    """Return the intervals of most work: the best of many, then of many about it."""
    left, right = np.log(low), np.full_like(low, math.log(high))
    best_s = low
    for count in TRIED[low.size < FEW]:
        apart = np.linspace(0.0, 1.0, count).reshape(-1, *[1] * low.ndim)
        tried = np.exp(left + (right - left) * apart)
        place = worth(tried).argmax(axis=0)[None]
        best_s = np.take_along_axis(tried, place, axis=0)[0]
        width = (right - left) / (count - 1)
        left = np.maximum(np.log(low), np.log(best_s) - width)
        right = np.minimum(math.log(high), np.log(best_s) + width)
    return np.asarray(best_s)


def worth_of(job: Job, choice: Compute, times: Times) -> Array:
    """Return the goodput at times without repairs: waiting, swaps and fewer replicas added."""
    states = choice.mended.states
    if job.repair is not None:
        share = job.repair.share
        times = replace(times, swapped=share, swap_s=job.repair.swap_s, waits=choice.mended.waits)
        if states is not None:
            times = physics.with_fewer(times, states, share)
    return np.asarray(physics.goodput(times))


# The local level.


def stall_s(problem: Problem, choice: Compute) -> float:
    """Return how long GPUs stop for an asynchronous checkpoint."""
    checkpoint = problem.job.checkpoint
    if checkpoint.stall_s != "derived":
        return checkpoint.stall_s
    rates = [item.local.host_copy for item in choice.items]
    slowest = min(rate.value for rate in rates if rate is not None)
    gpus_gb = checkpoint_size(problem.job)[0] / _writers(problem.job, choice)
    return (checkpoint.stall_overhead_s or 0.0) + gpus_gb / slowest


def _writers(job: Job, choice: Compute) -> int:
    if job.checkpoint.writers == "all" or job.parallelism is None:
        return choice.gpus_used
    return job.parallelism.replica_gpus


def _near(problem: Problem, choice: Compute) -> dict[str, Any] | None:
    """Return times of the local level, None where the rules forbid it."""
    job, local = problem.job, problem.job.checkpoint.local
    assert local is not None
    drains, writers = [], _writers(job, choice)
    for item in choice.items:
        drives = item.local
        if drives.write is None or drives.capacity is None:
            return None
        most = writers if job.checkpoint.writers == "one_replica" else math.inf
        held = min(usable_gpus(job, item), most)
        part_tb = local.copies * checkpoint_size(job)[0] * held / writers / 1000.0
        if local.keep * part_tb > drives.capacity.value * (1.0 + ROUNDING):
            return None
        drains.append(part_tb * 1000.0 / drives.write.value)
    swap_s = 0.0 if job.repair is None else job.repair.swap_s
    if max(drains) + local.restart_s + swap_s > choice.mtti_s * (1.0 + ROUNDING):
        return None
    survived = {"yes"} | ({"peer"} if local.copies > 1 else set())
    far = sum(s for n, s in job.failure_shares.items() if local.recovers[n] not in survived)
    return {"near_drain_s": max(drains), "near_restart_s": local.restart_s, "far": far}


# The best interval.


def run(
    problem: Problem,
    choice: Compute,
    mode: Mode,
    purchases: Stores,
    drains: tuple[Array, Array],
    restore_s: Array,
) -> tuple[Array, Array]:
    """Return interval and goodput of each purchase, goodput 0 where no interval is allowed.

    ``drains`` are the seconds to write a checkpoint, now and with appliances down.
    """
    job, checkpoint, (write_s, down_s) = problem.job, problem.job.checkpoint, drains
    local: dict[str, Any] | None = {}
    every: Any = 0
    if mode == "local":
        local, asked = _near(problem, choice), checkpoint.local
        assert asked is not None
        every = np.array(asked.every, dtype=np.float64)[:, None]  # a row per k
    if local is None:
        return np.ones_like(write_s), np.zeros_like(write_s)
    size_tb, steps = checkpoint_size(job)[0] / 1000.0, np.maximum(every, 1)
    low = size_tb * DAY_S / purchases.endurance_tb_per_day
    if mode == "sync":
        stopped_s, drain_s = write_s, np.zeros_like(write_s)
        low = np.maximum(low, down_s / checkpoint.max_blocking)
    else:
        stop_s, demand = stall_s(problem, choice), problem.storage.rule == "demand"
        stopped_s, drain_s = stop_s + checkpoint.drain_slowdown * write_s / steps, write_s
        low = np.maximum(low, down_s / (checkpoint.max_overlap if demand else 1.0))
        fits_s = stop_s + (local["near_drain_s"] if mode == "local" else down_s)
        low = np.maximum(low / steps, fits_s)
    low = np.maximum(low, stopped_s / MOST_STALLED)
    policy = checkpoint.interval
    if isinstance(policy, FixedInterval):
        bottom = high = policy.every_s
    else:
        bottom, high = policy.min_s, policy.max_s
    allowed, low = low <= high * (1.0 + ROUNDING), np.clip(low, bottom, high)
    times = Times(low, stopped_s, drain_s, job.restart_s, restore_s, choice.mtti_s, every=every)
    times = replace(times, idle=job.lost_share, **local)

    def worth(interval_s: Array) -> Array:
        return worth_of(job, choice, replace(times, interval_s=interval_s))

    if mode == "local" or choice.mended.states is not None:
        interval_s = peak_s(worth, low, high)
    else:
        interval_s = best_interval_s(stopped_s, choice.mtti_s, low, high)
    rate = np.where(allowed, worth(interval_s), 0.0)
    if mode != "local":
        return interval_s, rate
    best = rate.argmax(axis=0)[None]
    chosen = (np.take_along_axis(each, best, axis=0)[0] for each in (interval_s, rate))
    return next(chosen), next(chosen)
