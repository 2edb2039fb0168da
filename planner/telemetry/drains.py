"""How long the writing of a checkpoint takes, and how sure that is.

Three things tell it: where the edges of each burst lie within their samples, if it is written at
one rate; how many samples stand out, which is a window longer on average whatever its shape; and
its size over its largest bandwidth. Samples that are means over a moving window stretch every
drain by that window: a drain of D seen through a window W stands out for D + W and is flat, at
size over max(D, W), in between. Without the window it may be either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from planner.schema.telemetry import Measured
from planner.telemetry.bursts import Bursts
from planner.telemetry.figures import Z, middle, scatter
from planner.telemetry.raw import Numbers

_RESOLVED_SAMPLES = 2.0
_FILLED, _HIGH, _OFF = 1.1, 0.9, 0.1
_STRAY = 3.0
_SLOW_EDGES = 0.5
"""Edges that take so many samples more than those of an even rate are slow, or were smoothed."""

_SMOOTHED = 1.5
"""A window of so many samples is one."""

_ROUNDS = 5


@dataclass(frozen=True)
class Sampling:
    """How a trace was sampled.

    Attributes:
        sample_s: the usual time between samples.
        window_s: the time over which each is a mean; None where nothing tells it.
        told: whether the user says so; else it was found in the trace.
    """

    sample_s: float
    window_s: float | None = None
    told: bool = False

    @property
    def smoothed(self) -> bool:
        """Whether samples are means over more than the time between them."""
        return self.window_s is not None and self.window_s >= _SMOOTHED * self.sample_s

    def sharpened(self, bursts: Bursts) -> Bursts:
        """Return bursts as long as they were before a moving mean stretched them."""
        if not self.smoothed or self.window_s is None:
            return bursts
        least = _OFF * self.sample_s
        lasts = np.maximum(bursts.span_s - self.window_s, least)
        error = np.maximum(bursts.edge_error_s, self.sample_s)
        return replace(bursts, end_s=bursts.start_s + lasts, edge_error_s=error)


Drain = tuple[Measured, bool, tuple[str, ...]]
"""A drain, whether the samples resolve it, and what is to be said of it."""


def drain_of(own: Bursts, size: Measured, sampling: Sampling, others: float = 0.0) -> Drain:
    """Return the usual drain of some bursts.

    Args:
        own: bursts that hold one checkpoint, or one restore, each.
        size: what each moves.
        sampling: how the trace was sampled.
        others: share of the checkpoints that were written together with other jobs' and are not
            among the bursts; they may have taken longer.
    """
    if sampling.smoothed and sampling.window_s is not None:
        return _through_window(own, sampling, sampling.window_s)
    edges = middle(own.duration_s, float(np.median(own.edge_error_s)) / len(own) ** 0.5)
    if edges.value >= _RESOLVED_SAMPLES * sampling.sample_s:
        return _by_shape(own, edges, sampling, others)
    return *_in_few_samples(own, size, sampling.sample_s), ()


def _in_few_samples(own: Bursts, size: Measured, sample_s: float) -> tuple[Measured, bool]:
    """Return a drain shorter than two samples.

    It fills at most one of them. Where many are seen, some fill one wholly, so that the largest
    bandwidths tell how long it takes; one shorter than a sample never does, and only that much is
    known.
    """
    least = size.value / float(np.quantile(own.peak, _HIGH))
    if least < _FILLED * sample_s:
        return Measured(value=least, low=None, high=max(least, sample_s)), False
    return Measured(value=least, low=(1 - _OFF) * least, high=(1 + _OFF) * least), True


def _by_shape(own: Bursts, edges: Measured, sampling: Sampling, others: float) -> Drain:
    """Return the drain by its edges, its range widened by what its shape leaves open."""
    low, high = edges.low or 0.0, edges.high or edges.value
    latest = 0.5 / max(1.0 - others, 0.5)
    high = max(high, float(np.quantile(own.duration_s, latest)))
    stands_out, error = _standing_out(own, sampling.sample_s, sampling.sample_s)
    even = float(np.median(own.size_gb / own.height))
    count = stands_out - sampling.sample_s + 2 * float(np.median(own.faint)) * sampling.sample_s
    if count - even <= max(error, _SLOW_EDGES * sampling.sample_s):
        return edges.model_copy(update={"high": high}), True, ()
    high = max(high, count + error)
    if sampling.window_s is not None:
        return edges.model_copy(update={"low": min(low, even), "high": high}), True, ()
    flat = float(np.median(own.size_gb / own.peak))
    low = max(0.0, min(low, flat, stands_out - flat) - error)
    note = (
        f"its bursts rise and fall slowly: a drain of {low:.3g} to {high:.3g} s, written slowly at "
        "its ends or seen through samples that are means over a longer window (say it: --window)"
    )
    return edges.model_copy(update={"low": low, "high": high}), True, (note,)


def _through_window(own: Bursts, sampling: Sampling, window_s: float) -> Drain:
    """Return the drain that a moving mean has stretched."""
    stands_out, error = _standing_out(own, sampling.sample_s, window_s)
    faint = float(np.median(own.faint))
    value = max(stands_out - window_s, 0.0)
    for _ in range(_ROUNDS):  # what stands out is short by what is faint of rise and fall
        value = max(stands_out + 2 * faint * min(value, window_s) - window_s, 0.0)
    error = math.hypot(error, 2 * faint * min(value, window_s))
    low, high = max(value - error, 0.0), value + error
    flat = float(np.median(own.size_gb / own.peak))
    if flat > window_s + error:
        low, high = min(low, flat), max(high, flat)
    how = "as told" if sampling.told else "as what scatters in them tells"
    note = (
        f"samples are means over {window_s:g} s, {how}: the drain is what its bursts last, "
        f"{stands_out:.3g} s, less that" + ("" if sampling.told else " (else say --window)")
    )
    if value < sampling.sample_s:
        high = max(high, sampling.sample_s)
        return Measured(value=max(value, _OFF * sampling.sample_s), high=high), False, (note,)
    return Measured(value=value, low=low, high=high), True, (note,)


def _standing_out(own: Bursts, sample_s: float, window_s: float) -> tuple[float, float]:
    """Return for how long bursts stand out in the mean, and half of its range.

    What is farther from the usual than scatter and a window has other traffic at its end.

    In the mean over checkpoints that begin anywhere in a sample that is a window longer than the
    drain. Where they begin at the same place in each the mean may be off by half a sample.
    """
    span: Numbers = own.span_s
    middle_s = float(np.median(span))
    kept = np.abs(span - middle_s) <= max(_STRAY * sample_s, _STRAY * scatter(span), window_s)
    phase = np.exp(2j * np.pi * own.start_s[kept] / sample_s)
    locked = float(np.abs(np.mean(phase)))
    off = Z * float(np.std(span[kept] - own.duration_s[kept])) / math.sqrt(kept.sum())
    return float(np.mean(span[kept])), math.hypot(off, 0.5 * sample_s * locked)
