"""Availability of a job with hardware in repair: spares, waiting, running with fewer replicas.

Of the job's interruptions a share takes one spare unit (a GPU system, or a tray of it) out for a
repair. Others stand by and take its place; the job waits while more are out than stood by. Nothing
fails while it waits, so the units out are a loss system with as many places as there are spares,
and one more: Erlang's loss formula, whatever the law of the repair times is.

A job may also go on with fewer replicas. Then what runs fails, the less the more units are out: a
loss system whose arrivals fall with the units out, and as little depends on the law.

``spares`` are hot spares, ``load`` is the result of `repair_load`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple


def repair_load(failures_per_gpu_day: float, gpus: float, out_s: float) -> float:
    """Units out on average if the job never waited.

    Args:
        failures_per_gpu_day: job-interrupting failures per GPU and day.
        out_s: repair time per interruption, s: the share of interruptions that take a unit out,
            times the mean of its repair; a sum over classes where there are some.
    """
    return failures_per_gpu_day / 86_400.0 * gpus * out_s


def waiting(spares: int, load: float) -> float:
    """Share of time in which the job waits: more units are out than stood by.

    Source: A. K. Erlang, 1917: B(0) = 1, B(c) = load B(c - 1)/(c + load B(c - 1)), with a place
    more than there are spares.
    """
    blocked = 1.0
    for place in range(1, spares + 2):
        blocked = load * blocked / (place + load * blocked)
    return blocked


def waiting_odds(spares: int, load: float) -> float:
    """Time a job waits for repairs over the time it does not."""
    blocked = waiting(spares, load)
    return blocked / (1.0 - blocked)


@lru_cache(maxsize=256)
def most_spares(load: float, waiting: float) -> int:
    """The fewest spares with which the job waits no more than a share of its time, above 0."""
    spares, blocked = 0, load / (1.0 + load)
    while blocked > waiting:
        spares += 1
        blocked = load * blocked / (spares + 1 + load * blocked)
    return spares


def in_rack_waiting(racks: float, spares_each: int, load_each: float) -> float:
    """Upper bound of the share of time in which some rack has fewer units than the job needs.

    The spares of a rack take the place of units of that rack alone, and the job needs all racks.
    Repairs go on while it waits, so it is no exact share; it is close up to 0.02.

    Args:
        racks: racks in use, in parts of one where the last is not full.
        spares_each: units of each rack that stand by.
        load_each: `repair_load` of the GPUs in use of one rack.
    """
    odds = racks * waiting_odds(spares_each, load_each)
    return odds / (1.0 + odds)


class Restarts(NamedTuple):
    """Restarts of a job that goes on with fewer replicas; times in seconds.

    ``after_failures`` are shares of failures, each with the restart after it, ``grow_s`` is that
    with more replicas, all without reading a checkpoint back. A ``hardware_share`` of failures
    takes a unit out, for ``repair_s``.
    """

    hardware_share: float
    repair_s: float
    after_failures: tuple[tuple[float, float], ...]
    grow_s: float

    def left_out(self) -> float:
        """Share of the longest restart for which a unit that failed before it is out."""
        longest = max(each_s for _, each_s in self.after_failures) / self.repair_s
        return -math.expm1(-longest) / longest if longest > 0.0 else 1.0


def swap_factor(hardware_share: float, swap_s: float, mtti_s: float) -> float:
    """Factor of swaps on goodput: restarts take longer where hardware failed.

    Args:
        hardware_share: share of interruptions after which a unit is swapped.
        swap_s: how much longer such a restart takes, s.
        mtti_s: mean time to interruption, s.

    Source: goodput has exp(-R/M) for a restart of R, so the mean of it where R differs by failure.
    """
    return 1.0 + hardware_share * math.expm1(-swap_s / mtti_s)


@lru_cache(maxsize=256)
def longest_swap_per_mtti(hardware_share: float) -> float:
    """The longest swap, as a share of the MTTI, up to which the optimum can be proven.

    Up to it the logarithm of `swap_factor` is concave in the logarithm of the MTTI: where
    g (1 - p) <= 1, g the swap over the MTTI and p the share of hardware in what is left.
    """
    low, high = 1.0, 700.0
    for _ in range(100):
        middle = (low + high) / 2.0
        left = hardware_share * math.exp(-middle)
        if middle * (1.0 - left / (1.0 - hardware_share + left)) <= 1.0:
            low = middle
        else:
            high = middle
    return low
