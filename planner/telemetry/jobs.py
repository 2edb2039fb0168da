"""Figures of a job by its checkpoints, and the table of all checkpoints.

Three things tell how long the writing of one takes: where the edges of each burst lie within their
samples, if it is written at one rate; how many samples stand out, which is a window longer on
average whatever its shape; and its size over its largest bandwidth. Samples that are means over a
moving window stretch every drain by that window: a drain of D seen through a window W stands out
for D + W and is flat, at size over max(D, W), in between. Without the window it may be either.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from planner.schema.telemetry import (
    CHECKPOINT_COLUMNS,
    JobFound,
    Measured,
    Segment,
)
from planner.telemetry.bursts import Bursts
from planner.telemetry.raw import Numbers, Places, Z, median_with_range, ratio, scaled, scatter
from planner.telemetry.restarts import Breaks, mtti
from planner.telemetry.series import Series
from planner.telemetry.tracking import CUT, INFERRED, WHOLE, Track

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
        given: whether the user says so; else it was found in the trace.
    """

    sample_s: float
    window_s: float | None = None
    given: bool = False

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


def job(
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
    """Return a job with its figures.

    Args:
        found: its gaps and interruptions.
        sampling: how the trace was sampled.
        bytes_per_parameter: divisor of its size for the implied parameters.
        aborted: how many checkpoints it began and did not finish.
    """
    alone = track.places[track.kinds == WHOLE]
    own = writes.chosen(alone if len(alone) else track.places)
    size = _size(own) if len(alone) else _size_of_parts(track)
    interval = _interval(track, found)
    others = float(np.mean(track.kinds == INFERRED))
    drain, resolved, notes = drain_of(own, size, sampling, others)
    peak = median_with_range(own.peak)
    bandwidth = _bandwidth(size, drain, resolved)
    restored = _restores(found, reads, sampling)
    clock = trace.clock(track.times)
    begun = trace.clock(found.end_s[found.broken])
    return JobFound(
        name=name,
        cluster=trace.cluster,
        start_s=float(clock[0]),
        end_s=float(clock[-1]) + drain.value,
        segments=_segments(clock, begun, drain.value),
        checkpoints=int(np.sum(track.kinds != CUT)),
        inferred=int(np.sum(track.kinds == INFERRED)),
        missed=max(0, found.missed - int(np.sum(track.kinds == INFERRED))),
        size_gb=size,
        interval_s=interval,
        drain_s=drain,
        resolved=resolved,
        overlap=ratio(drain, interval)
        if resolved
        else Measured(value=drain.value / interval.value, high=_high(drain) / interval.value),
        write_gb_per_s=bandwidth,
        peak_gb_per_s=peak,
        bytes_per_parameter=bytes_per_parameter,
        parameters=scaled(size, 1e9 / bytes_per_parameter),
        restarts=int(found.attempts.sum()),
        confirmed=int(found.attempts[found.confirmed].sum()),
        observed_s=float(track.end_s - track.start_s),
        mtti_s=mtti(track, found),
        contested=found.contested,
        aborted=aborted,
        notes=notes,
        **restored,
    )


def _high(of: Measured) -> float:
    return of.value if of.high is None else of.high


def _size(own: Bursts) -> Measured:
    return median_with_range(own.size_gb, float(np.median(own.size_error_gb)) / 4)


def _size_of_parts(track: Track) -> Measured:
    """Checkpoint size where all overlap: the rest of bursts without the others."""
    half = Z * track.spread * track.size_gb / np.sqrt(len(track.times))
    return Measured(value=track.size_gb, low=track.size_gb - half, high=track.size_gb + half)


def _interval(track: Track, found: Breaks) -> Measured:
    """Return the mean interval: a stretch tells it by its ends, however coarse the samples are.

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
    half = Z * float(np.std(gaps - value * steps)) / np.sqrt(steps.sum())
    return Measured(value=value, low=value - half, high=value + half)


def _segments(clock: Numbers, begun: Numbers, drain_s: float) -> tuple[Segment, ...]:
    """Return the stretches between interruptions; ``begun`` are the first events after each."""
    cuts = np.flatnonzero(np.isin(clock, begun))
    parts = [part for part in np.split(clock, cuts) if len(part)]
    return tuple(
        Segment(start_s=float(part[0]), end_s=float(part[-1]) + drain_s, checkpoints=len(part))
        for part in parts
    )


def _restores(found: Breaks, reads: Bursts | None, sampling: Sampling) -> dict[str, Measured]:
    """Volume, duration and bandwidth of restores."""
    if reads is None or not len(found.reads):
        return {}
    some = found.reads
    own = reads.chosen(some)
    size = _size(own)
    time, resolved, _ = drain_of(own, size, sampling)
    return {
        "restore_gb": size,
        "restore_s": time,
        "read_gb_per_s": _bandwidth(size, time, resolved),
    }


def _bandwidth(size: Measured, time: Measured, resolved: bool) -> Measured:
    found = ratio(size, time)
    if resolved:
        return found
    return found.model_copy(update={"low": size.value / _high(time), "high": None})


Drain = tuple[Measured, bool, tuple[str, ...]]
"""A drain, whether the samples resolve it, and what is to be said of it."""


def drain_of(own: Bursts, size: Measured, sampling: Sampling, others: float = 0.0) -> Drain:
    """Return the usual drain of some bursts.

    Args:
        own: bursts that hold one checkpoint, or one restore, each.
        size: volume of each.
        sampling: how the trace was sampled.
        others: share of the checkpoints that were written together with other jobs' and are not
            among the bursts; they may have taken longer.
    """
    if sampling.smoothed and sampling.window_s is not None:
        return _through_window(own, sampling, sampling.window_s)
    edges = median_with_range(own.duration_s, float(np.median(own.edge_error_s)) / len(own) ** 0.5)
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
    """Return the drain by its edges, its range widened by the uncertainty of its shape."""
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
    how = "as told" if sampling.given else "as what scatters in them tells"
    note = (
        f"samples are means over {window_s:g} s, {how}: the drain is what its bursts last, "
        f"{stands_out:.3g} s, less that" + ("" if sampling.given else " (else say --window)")
    )
    if value < sampling.sample_s:
        high = max(high, sampling.sample_s)
        return Measured(value=max(value, _OFF * sampling.sample_s), high=high), False, (note,)
    return Measured(value=value, low=low, high=high), True, (note,)


def _standing_out(own: Bursts, sample_s: float, window_s: float) -> tuple[float, float]:
    """Return for how long bursts stand out in the mean, and half of its range.

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


CheckpointColumns = Mapping[str, np.ndarray[Any, Any]]
"""A table, a column each."""

_KINDS = {WHOLE: "checkpoint", INFERRED: "inferred", CUT: "cut"}


def table_of(
    trace: Series,
    writes: Bursts,
    found: Sequence[Track],
    ended: Sequence[Places],
    jobs: Sequence[JobFound],
) -> CheckpointColumns:
    """Return a row for each checkpoint, and for each burst that is none."""
    free = np.ones(len(writes), dtype=bool)
    parts = []
    for track, unfinished, one in zip(found, ended, jobs, strict=True):
        free[track.places] = False
        free[unfinished] = False
        parts.append(_as_seen(writes.chosen(unfinished), one.name, "aborted"))
        inferred = track.kinds == INFERRED
        part = writes.chosen(track.places)
        duration = np.where(inferred, one.drain_s.value, part.duration_s)
        parts.append(
            {
                "job": np.full(len(part), one.name, dtype=object),
                "kind": np.array([_KINDS[int(kind)] for kind in track.kinds], dtype=object),
                "start_s": track.times,
                "start_error_s": np.where(inferred, track.tolerance_s, part.edge_error_s),
                "duration_s": duration,
                "duration_error_s": np.where(inferred, part.duration_s / 2, part.edge_error_s),
                "size_gb": np.where(inferred, track.size_gb, part.size_gb),
                "size_error_gb": np.hypot(part.size_error_gb, _scatter(track, writes)),
                "peak_gb_per_s": part.peak,
            }
        )
    parts.append(_as_seen(writes.chosen(free), "", "other"))
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(joined["start_s"], kind="stable")
    table = {name: column[order] for name, column in joined.items()}
    table["start_s"] = trace.clock(table["start_s"])
    table["mean_gb_per_s"] = table["size_gb"] / np.maximum(table["duration_s"], 1e-9)
    table["cluster"] = np.full(len(order), trace.cluster, dtype=object)
    return {name: table[name] for name in CHECKPOINT_COLUMNS}


def _scatter(track: Track, writes: Bursts) -> float:
    """Return half of the range in which a job's sizes scatter: they are the same in truth."""
    size = writes.size_gb[track.places[track.kinds == WHOLE]]
    if not len(size):
        return Z * track.spread * track.size_gb
    return Z * scatter(size)


def _as_seen(bursts: Bursts, job: str, kind: str) -> dict[str, Any]:
    """Return the rows of bursts as they were measured."""
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
