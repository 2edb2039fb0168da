"""How jobs share the appliances: their time equally, each job no faster than its clients."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from planner.simulation.failures import Array


def share(moving: npt.NDArray[np.bool_], whole: Array, most: Array) -> Array:
    """Return at which rate each job moves data in each lane, GB/s; jobs by lanes, as all of these.

    A job alone takes all of the appliances' time. Of several each gets the same share of it, and
    what the clients of one cannot take is left to the others.

    Args:
        moving: who reads or writes.
        whole: what the appliances could do for it alone, GB/s.
        most: what its clients can do, GB/s.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.where(whole > 0, np.minimum(most / whole, 1.0), 1.0)
    wanted[~moving] = math.inf
    order = np.argsort(wanted, 0)
    left = np.ones(moving.shape[1])
    waiting = moving.sum(0).astype(np.float64)
    shares = np.zeros_like(whole)
    lanes = np.arange(moving.shape[1])
    for jobs in order:
        given = np.where(
            waiting > 0, np.minimum(wanted[jobs, lanes], left / np.maximum(waiting, 1)), 0
        )
        shares[jobs, lanes] = given
        left -= given
        waiting -= 1
    return shares * whole
