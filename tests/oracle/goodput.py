"""The best checkpoint interval and the goodput it gives, for many storage purchases at once."""

from __future__ import annotations

import numpy as np

from tests.oracle.money import Array

HALVINGS = 42
"""The bracket is at most a factor sqrt(2) wide, so this leaves 1e-13 of the interval."""


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
    """Return the interval where dE/dI = 0, that is I/(I - s) = z/(1 - e^-z).

    The left side falls and the right side rises with I, so there is one root, E rises before it
    and falls after it. From 1 + z/2 <= z/(1 - e^-z) <= 1 + z the root lies between the solutions
    of I(I - s) = M s and I(I - s) = 2 M s. Without a stall the root is 0.
    """
    low = (stall_s + np.sqrt(stall_s**2 + 4.0 * mtti_s * stall_s)) / 2.0
    high = (stall_s + np.sqrt(stall_s**2 + 8.0 * mtti_s * stall_s)) / 2.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        z = middle / mtti_s
        # Without a stall the bracket is [0, 0] and stays there.
        with np.errstate(invalid="ignore", divide="ignore"):
            rising = middle / (middle - stall_s) > z / -np.expm1(-z)
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return np.asarray((low + high) / 2.0)


def best_interval_s(stall_s: Array, mtti_s: float, low_s: Array, high_s: float) -> Array:
    """Return the interval within [low, high] with the most goodput (E has one maximum in I)."""
    top = np.maximum(high_s, low_s)
    return np.asarray(np.clip(unconstrained_interval_s(stall_s, mtti_s), low_s, top))
