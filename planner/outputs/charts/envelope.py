"""Long series as lines of few points that keep every peak, and the holes in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.outputs.charts.model import Gap

MOST_BINS = 1_500
_MOST_HOLES = 60
_LATE = 1.5
"""A sample that comes later than so many samples after the one before leaves a hole."""


def outline(
    time_s: NDArray[Any], values: NDArray[Any], sample_s: float
) -> tuple[tuple[Gap, ...], tuple[Gap, ...]]:
    """Return a series as a line, broken at holes; of many samples the least and most in a bin.

    Args:
        time_s: when the samples were taken, in order.
        values: the samples; what is no number is a hole.
        sample_s: how far apart they are.
    """
    there = np.isfinite(values)
    times, numbers = np.asarray(time_s)[there], np.asarray(values)[there]
    ends = np.flatnonzero(np.diff(times) > _LATE * sample_s) + 1
    each = max(1, -(-len(times) // MOST_BINS))
    xs: list[Gap] = []
    ys: list[Gap] = []
    for part, part_times in zip(np.split(numbers, ends), np.split(times, ends), strict=True):
        if xs:
            xs.append(None)
            ys.append(None)
        for place, value in zip(*_binned(part_times, part, each), strict=True):
            xs.append(place)
            ys.append(value)
    return tuple(xs), tuple(ys)


def _binned(
    times: NDArray[Any], values: NDArray[Any], each: int
) -> tuple[list[float], list[float]]:
    if each <= 2 or not len(values):
        return times.tolist(), values.tolist()
    starts = np.arange(0, len(values), each)
    least, most = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    return np.repeat(times[starts], 2).tolist(), np.stack([least, most], axis=1).ravel().tolist()


def holes(time_s: NDArray[Any], values: NDArray[Any], sample_s: float) -> list[tuple[float, float]]:
    """Return the longest stretches without samples, in order of time."""
    times = np.asarray(time_s)[np.isfinite(values)]
    steps = np.diff(times)
    late = np.flatnonzero(steps > _LATE * sample_s)
    longest = np.sort(late[np.argsort(-steps[late], kind="stable")][:_MOST_HOLES])
    return [(float(times[place]), float(times[place + 1])) for place in longest]
