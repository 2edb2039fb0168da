"""Figures over many checkpoints or events, with the range in which the truth lies."""

from __future__ import annotations

import math

import numpy as np

from planner.schema.telemetry import CONFIDENCE, Measured
from planner.telemetry.raw import Numbers

Z = 1.645
"""Half of the range that holds nine tenths of a normal distribution, in standard deviations."""

_MEDIAN = 1.2533
"""A median scatters so much more than a mean where figures are normally distributed."""
MAD = 1.4826
"""The standard deviation of a normal distribution over its median absolute deviation."""


def middle(values: Numbers, error: float = 0.0) -> Measured:
    """Return the median with the range that scatter and a common error leave.

    Args:
        values: one per checkpoint; not empty.
        error: half of the range of an error that they share.
    """
    value = float(np.median(values))
    half = math.hypot(Z * _MEDIAN * scatter(values) / math.sqrt(len(values)), error)
    return Measured(value=value, low=max(0.0, value - half), high=value + half)


def scatter(values: Numbers) -> float:
    """Return how much values scatter about their median, as a standard deviation."""
    return MAD * float(np.median(np.abs(values - np.median(values))))


def ratio(over: Measured, under: Measured) -> Measured:
    """Return a quotient whose parts err independently, each to either side by its own share."""
    value = over.value / under.value
    if not value:
        return Measured(value=value)
    up = math.hypot(_share(over.value, over.high), _share(under.low, under.value))
    down = math.hypot(_share(over.low, over.value), _share(under.value, under.high))
    high = None if math.isinf(up) else value * math.exp(up)
    return Measured(value=value, low=value * math.exp(-down), high=high)


def _share(low: float | None, high: float | None) -> float:
    """Return how far apart two ends are on a logarithmic scale; 0 where one is not known."""
    if low is None or high is None or high <= 0:
        return 0.0
    return math.log(high / low) if low > 0 else math.inf


def scaled(of: Measured, by: float) -> Measured:
    """Return a figure in another unit."""
    ends = (None if end is None else end * by for end in (of.low, of.high))
    low, high = ends
    return Measured(value=of.value * by, low=low, high=high)


def minus(of: Measured, other: Measured) -> Measured:
    """Return a difference of times, 0 at least; its ends are those of the worst cases."""
    high = other.value if other.high is None else other.high
    ends = (
        (of.value if of.low is None else of.low) - high,
        (of.value if of.high is None else of.high) - (other.low or 0.0),
    )
    low, high = (max(0.0, end) for end in ends)
    return Measured(value=max(0.0, of.value - other.value), low=low, high=high)


def per_event(time_s: float, events: int) -> Measured | None:
    """Return the time per event with the range of a Poisson count; None without events."""
    if not events or time_s <= 0:
        return None
    low, high = poisson(events)
    return Measured(value=time_s / events, low=time_s / high, high=time_s / low)


def poisson(events: float) -> tuple[float, float]:
    """Return the range in which the mean of a Poisson count lies (Garwood's interval).

    Args:
        events: how many; no whole number where they come in bunches.
    """
    from scipy.stats import chi2

    tail = (1 - CONFIDENCE) / 2
    low = float(chi2.ppf(tail, 2 * events)) / 2 if events else 0.0
    return low, float(chi2.ppf(1 - tail, 2 * events + 2)) / 2
