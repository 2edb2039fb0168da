"""Figures of a job by its checkpoints, and the table of all checkpoints.

Three figures bound the drain: the edges of each burst within their samples, if it is written at one
rate; the number of samples that stand out, which is a window longer on average whatever its shape;
and its size over its largest bandwidth. Samples that are means over a moving window stretch every
drain by that window: a drain of D seen through a window W stands out for D + W and is flat, at size
over max(D, W), in between. Without the window it may be either.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from planner.schema.telemetry import CHECKPOINT_COLUMNS, JobFound, Measured, Segment
from planner.telemetry.restarts import Breaks, mtti
from planner.telemetry.rhythm import CUT, INFERRED, WHOLE, Track
from planner.telemetry.signal import Bursts, Places, Series, Z, scatter
from planner.telemetry.tables import Numbers

_MEDIAN = 1.2533
"""Scatter of a median over that of a mean where figures are normally distributed."""


def median_with_range(values: Numbers, error: float = 0.0) -> Measured:
    """Median with the range that scatter and a common error leave.

    Args:
        values: one per checkpoint; not empty.
        error: half of the range of an error that they share.
    """
    value = float(np.median(values))
    half = math.hypot(Z * _MEDIAN * scatter(values) / math.sqrt(len(values)), error)
    return Measured(value=value, low=max(0.0, value - half), high=value + half)


def ratio(over: Measured, under: Measured) -> Measured:
    """Quotient of figures that err independently, each to either side by its own share."""
    value = over.value / under.value
    if not value:
        return Measured(value=value)
    up = math.hypot(_log_share(over.value, over.high), _log_share(under.low, under.value))
    down = math.hypot(_log_share(over.low, over.value), _log_share(under.value, under.high))
    high = None if math.isinf(up) else value * math.exp(up)
    return Measured(value=value, low=value * math.exp(-down), high=high)


def _log_share(low: float | None, high: float | None) -> float:
    """Logarithmic distance of two ends; 0 where one is not known."""
    if low is None or high is None or high <= 0:
        return 0.0
    return math.log(high / low) if low > 0 else math.inf


def scaled(of: Measured, by: float) -> Measured:
    """Figure in another unit."""
    low, high = (None if end is None else end * by for end in (of.low, of.high))
    return Measured(value=of.value * by, low=low, high=high)


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
    """Sampling of a trace.

    Attributes:
        sample_s: the usual time between samples.
        window_s: averaging window of each; None where unknown.
        given: whether the user states it; else it is estimated.
    """

    sample_s: float
    window_s: float | None = None
    given: bool = False

    @property
    def smoothing_s(self) -> float | None:
        """The window, where samples are means over more than the time between them."""
        smoothed = self.window_s is not None and self.window_s >= _SMOOTHED * self.sample_s
        return self.window_s if smoothed else None

    def sharpened(self, bursts: Bursts) -> Bursts:
        """Bursts as long as they were before a moving mean stretched them."""
        if self.smoothing_s is None:
            return bursts
        lasts = np.maximum(bursts.span_s - self.smoothing_s, _OFF * self.sample_s)
        error = np.maximum(bursts.edge_error_s, self.sample_s)
        return replace(bursts, end_s=bursts.start_s + lasts, edge_error_s=error)


def job_of(
    name: str,
    track: Track,
    trace: Series,
    writes: Bursts,
    reads: Bursts | None,
    found: Breaks,
    sampling: Sampling,
    bytes_per_parameter: float,
    aborted: int,
) -> JobFound:
    """A job with its figures.

    Args:
        found: its gaps and interruptions.
        sampling: of the trace.
        bytes_per_parameter: divisor of its size for the implied parameters.
        aborted: number of checkpoints that it began and did not finish.
    """
    alone = track.places[track.kinds == WHOLE]
    own = writes.chosen(alone if len(alone) else track.places)
    size = _size(own)
    if not len(alone):  # all overlap: the rest of bursts without the others
        half = Z * track.spread * track.size_gb / math.sqrt(len(track.times))
        size = Measured(value=track.size_gb, low=track.size_gb - half, high=track.size_gb + half)
    inferred = int(np.sum(track.kinds == INFERRED))
    interval = _interval(track, found)
    drain, resolved, notes = drain_of(own, size, sampling, inferred / len(track.times))
    overlap = ratio(drain, interval)
    if not resolved:
        value = drain.value / interval.value
        overlap = Measured(value=value, high=_high(drain) / interval.value)
    restored: dict[str, Measured] = {}
    if reads is not None and len(found.reads):
        restoring = reads.chosen(found.reads)
        gb = _size(restoring)
        time, known, _ = drain_of(restoring, gb, sampling)
        rate = _bandwidth(gb, time, known)
        restored = {"restore_gb": gb, "restore_s": time, "read_gb_per_s": rate}
    clock = trace.clock(track.times)
    begun = np.isin(clock, trace.clock(found.end_s[found.broken]))
    return JobFound(
        name=name,
        cluster=trace.cluster,
        start_s=float(clock[0]),
        end_s=float(clock[-1]) + drain.value,
        segments=tuple(
            Segment(
                start_s=float(part[0]), end_s=float(part[-1]) + drain.value, checkpoints=len(part)
            )
            for part in np.split(clock, np.flatnonzero(begun))
            if len(part)
        ),
        checkpoints=int(np.sum(track.kinds != CUT)),
        inferred=inferred,
        missed=max(0, found.missed - inferred),
        size_gb=size,
        interval_s=interval,
        drain_s=drain,
        resolved=resolved,
        overlap=overlap,
        write_gb_per_s=_bandwidth(size, drain, resolved),
        peak_gb_per_s=median_with_range(own.peak),
        bytes_per_parameter=bytes_per_parameter,
        parameters=scaled(size, 1e9 / bytes_per_parameter),
        restarts=int(found.attempts.sum()),
        confirmed=int(found.attempts[found.confirmed].sum()),
        observed_s=float(track.end_s - track.start_s),
        mtti_s=mtti(track, found),
        aborted=aborted,
        notes=notes,
        **restored,
    )


def _high(of: Measured) -> float:
    return of.value if of.high is None else of.high


def _size(own: Bursts) -> Measured:
    return median_with_range(own.size_gb, float(np.median(own.size_error_gb)) / 4)


def _bandwidth(size: Measured, time: Measured, resolved: bool) -> Measured:
    found = ratio(size, time)
    if resolved:
        return found
    return found.model_copy(update={"low": size.value / _high(time), "high": None})


def _interval(track: Track, found: Breaks) -> Measured:
    """The mean interval, from the ends of each stretch, however coarse the samples are.

    Its ends are checkpoints that were seen by themselves.
    """
    at = np.flatnonzero(track.kinds != INFERRED)
    left = np.concatenate(([0], np.cumsum(~found.kept)))[at]
    kept = np.diff(left) == 0
    if not kept.any():
        return Measured(value=track.interval_s)
    gaps = np.diff(track.times[at])[kept]
    steps = np.diff(np.concatenate(([0], np.cumsum(found.steps)))[at])[kept]
    value = float(gaps.sum() / steps.sum())
    half = Z * float(np.std(gaps - value * steps)) / math.sqrt(steps.sum())
    return Measured(value=value, low=value - half, high=value + half)


# Drains

Drain = tuple[Measured, bool, tuple[str, ...]]
"""A drain, whether the samples resolve it, and notes."""


def drain_of(own: Bursts, size: Measured, sampling: Sampling, others: float = 0.0) -> Drain:
    """The usual drain of some bursts.

    Args:
        own: bursts that hold one checkpoint, or one restore, each.
        size: volume of each.
        sampling: of the trace.
        others: share of the checkpoints that were written together with other jobs' and are not
            among the bursts; they may have taken longer.
    """
    if sampling.smoothing_s is not None:
        return _through_window(own, sampling, sampling.smoothing_s)
    edges = median_with_range(own.duration_s, float(np.median(own.edge_error_s)) / len(own) ** 0.5)
    if edges.value >= _RESOLVED_SAMPLES * sampling.sample_s:
        return _by_shape(own, edges, sampling, others)
    # It fills at most one sample. Where many are seen, some fill one wholly, so that the largest
    # bandwidths show its duration; one shorter than a sample never does.
    least, sample_s = size.value / float(np.quantile(own.peak, _HIGH)), sampling.sample_s
    if least < _FILLED * sample_s:
        return Measured(value=least, high=max(least, sample_s)), False, ()
    return Measured(value=least, low=(1 - _OFF) * least, high=(1 + _OFF) * least), True, ()


def _by_shape(own: Bursts, edges: Measured, sampling: Sampling, others: float) -> Drain:
    """The drain by its edges, its range widened by the uncertainty of its shape."""
    low, high, sample_s = edges.low or 0.0, _high(edges), sampling.sample_s
    high = max(high, float(np.quantile(own.duration_s, 0.5 / max(1.0 - others, 0.5))))
    stands_out, error = _standing_out(own, sample_s, sample_s)
    even = float(np.median(own.size_gb / own.height))
    count = stands_out - sample_s + 2 * float(np.median(own.faint)) * sample_s
    notes: tuple[str, ...] = ()
    if count - even > max(error, _SLOW_EDGES * sample_s):
        high = max(high, count + error)
        low = min(low, even)
        if sampling.window_s is None:
            flat = float(np.median(own.size_gb / own.peak))
            low = max(0.0, min(edges.low or 0.0, flat, stands_out - flat) - error)
            notes = (
                f"its bursts rise and fall slowly: a drain of {low:.3g} to {high:.3g} s, written "
                "slowly at its ends or seen through samples that are means over a longer window "
                "(say it: --window)",
            )
    return edges.model_copy(update={"low": low, "high": high}), True, notes


def _through_window(own: Bursts, sampling: Sampling, window_s: float) -> Drain:
    """The drain that a moving mean has stretched."""
    stands_out, error = _standing_out(own, sampling.sample_s, window_s)
    faint = float(np.median(own.faint))
    value = max(stands_out - window_s, 0.0)
    for _ in range(_ROUNDS):  # what stands out is short by the faint part of rise and fall
        value = max(stands_out + 2 * faint * min(value, window_s) - window_s, 0.0)
    error = math.hypot(error, 2 * faint * min(value, window_s))
    low, high = max(value - error, 0.0), value + error
    flat = float(np.median(own.size_gb / own.peak))
    if flat > window_s + error:
        low, high = min(low, flat), max(high, flat)
    how = "as given" if sampling.given else "estimated from their scatter; else say --window"
    note = (
        f"samples are means over {window_s:g} s ({how}): the drain is the duration of its bursts, "
        f"{stands_out:.3g} s, less that window"
    )
    if value < sampling.sample_s:
        value, high = max(value, _OFF * sampling.sample_s), max(high, sampling.sample_s)
        return Measured(value=value, high=high), False, (note,)
    return Measured(value=value, low=low, high=high), True, (note,)


def _standing_out(own: Bursts, sample_s: float, window_s: float) -> tuple[float, float]:
    """Mean time that bursts stand out, and half of its range.

    A drain farther from the usual than scatter and a window has other traffic at its end.

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


# The table

CheckpointColumns = Mapping[str, np.ndarray[Any, Any]]
"""A table, a column each."""

_KINDS = np.array(("checkpoint", "inferred", "cut"), dtype=object)


def table_of(
    trace: Series,
    writes: Bursts,
    found: Sequence[Track],
    ended: Sequence[Places],
    jobs: Sequence[JobFound],
) -> CheckpointColumns:
    """A row for each checkpoint, and for each burst that is none.

    Args:
        ended: the bursts that each job did not finish.
    """
    free = np.ones(len(writes), dtype=bool)
    parts = []
    for track, unfinished, one in zip(found, ended, jobs, strict=True):
        free[track.places] = False
        free[unfinished] = False
        parts.append(_rows(writes.chosen(unfinished), one.name, "aborted"))
        part, inferred = writes.chosen(track.places), track.kinds == INFERRED
        size = writes.size_gb[track.places[track.kinds == WHOLE]]
        scattered = scatter(size) if len(size) else track.spread * track.size_gb
        parts.append(
            {
                **_rows(part, one.name, ""),
                "kind": _KINDS[track.kinds],
                "start_s": track.times,
                "start_error_s": np.where(inferred, track.tolerance_s, part.edge_error_s),
                "duration_s": np.where(inferred, one.drain_s.value, part.duration_s),
                "duration_error_s": np.where(inferred, part.duration_s / 2, part.edge_error_s),
                "size_gb": np.where(inferred, track.size_gb, part.size_gb),
                "size_error_gb": np.hypot(part.size_error_gb, Z * scattered),
            }
        )
    parts.append(_rows(writes.chosen(free), "", "other"))
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(joined["start_s"], kind="stable")
    table = {name: column[order] for name, column in joined.items()}
    table["start_s"] = trace.clock(table["start_s"])
    table["mean_gb_per_s"] = table["size_gb"] / np.maximum(table["duration_s"], 1e-9)
    table["cluster"] = np.full(len(order), trace.cluster, dtype=object)
    return {name: table[name] for name in CHECKPOINT_COLUMNS}


def _rows(bursts: Bursts, job: str, kind: str) -> dict[str, Any]:
    """Rows of bursts as measured."""
    return {
        "job": np.full(len(bursts), job, dtype=object),
        "kind": np.where(bursts.cut, "cut", kind).astype(object),
        "start_s": bursts.start_s,
        "start_error_s": bursts.edge_error_s,
        "duration_s": bursts.duration_s,
        "duration_error_s": bursts.edge_error_s,
        "size_gb": bursts.size_gb,
        "size_error_gb": bursts.size_error_gb,
        "peak_gb_per_s": bursts.peak,
    }
