"""The best checkpoint interval and the goodput it gives, for many storage purchases at once."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tests.oracle.money import Array

STEPS = 6
"""From at most 41 % off each step leaves less than the square of what was wrong."""
TRIED = {True: (201, 61, 61), False: (41, *5 * (13,))}
"""So many intervals are tried where the best is looked for, then about the best of them, ...: more
at a time for few purchases."""
FEW = 50


def goodput(
    interval_s: Array, stall_s: Array, drain_s: Array, restart_s: Array, mtti_s: float
) -> Array:
    """Return E = (1 - s/I) exp(-(D + R)/M) z/(e^z - 1) with z = I/M.

    Args:
        interval_s: checkpoint interval I, start to start.
        stall_s: work lost per checkpoint, stall plus slow-down while draining.
        drain_s: time until a checkpoint can be restored from.
        restart_s: restart including the restore.
        mtti_s: mean time to interruption M.
    """
    z = interval_s / mtti_s
    rework = z * np.exp(-z) / -np.expm1(-z)
    return (1.0 - stall_s / interval_s) * np.exp(-(drain_s + restart_s) / mtti_s) * rework


def unconstrained_interval_s(stall_s: Array, mtti_s: float) -> Array:
    """Return the interval where dE/dI = 0, that is e^-z + z - 1 = s/M with z = I/M.

    The left side rises with z and is convex, so there is one root, E rises before it and falls
    after it, and Newton's steps from above come down to it. From z/(1 - e^-z) <= 1 + z the root
    lies below the solution of I(I - s) = 2 M s, and from 1 + z/2 <= z/(1 - e^-z) not more than
    a factor sqrt(2) below it. Without a stall the root is 0.
    """
    stalled = stall_s > 0.0
    share = np.where(stalled, stall_s, 1.0) / mtti_s
    z = (share + np.sqrt(share**2 + 8.0 * share)) / 2.0
    for _ in range(STEPS):
        rest = np.expm1(-z)
        z = z + (z + rest - share) / rest
    return np.asarray(np.where(stalled, z * mtti_s, 0.0))


def best_interval_s(stall_s: Array, mtti_s: float, low_s: Array, high_s: float) -> Array:
    """Return the interval within [low, high] with the most goodput (E has one maximum in I)."""
    top = np.maximum(high_s, low_s)
    return np.asarray(np.clip(unconstrained_interval_s(stall_s, mtti_s), low_s, top))


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
