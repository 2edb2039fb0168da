"""What the checkpoints of a job say of it."""

from __future__ import annotations

import numpy as np

from planner.schema.telemetry import JobFound, Measured, Segment
from planner.telemetry.bursts import Bursts
from planner.telemetry.drains import Sampling, drain_of
from planner.telemetry.figures import Z, middle, ratio, scaled
from planner.telemetry.raw import Numbers
from planner.telemetry.restarts import Breaks, mtti
from planner.telemetry.series import Series
from planner.telemetry.track import CUT, INFERRED, WHOLE, Track


def job(
    name: str,
    track: Track,
    trace: Series,
    writes: Bursts,
    reads: Bursts | None,
    found: Breaks,
    sampling: Sampling,
    bytes_per_parameter: float,
) -> JobFound:
    """Return a job with its figures.

    Args:
        name: what to call it.
        track: its checkpoints.
        trace: what they were found in.
        writes: all bursts of writing.
        reads: all bursts of reading.
        found: its gaps and interruptions.
        sampling: how the trace was sampled.
        bytes_per_parameter: what its size is divided by for the parameters implied.
    """
    alone = track.places[track.kinds == WHOLE]
    own = writes.chosen(alone if len(alone) else track.places)
    size = _size(own) if len(alone) else _size_of_parts(track)
    interval = _interval(track, found)
    others = float(np.mean(track.kinds == INFERRED))
    drain, resolved, notes = drain_of(own, size, sampling, others)
    peak = middle(own.peak)
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
        notes=notes,
        **restored,
    )


def _high(of: Measured) -> float:
    return of.value if of.high is None else of.high


def _size(own: Bursts) -> Measured:
    return middle(own.size_gb, float(np.median(own.size_error_gb)) / 4)


def _size_of_parts(track: Track) -> Measured:
    """Return the size of checkpoints of which none stands alone: what others leave of bursts."""
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
    """Return what restores read, how long they take and at which bandwidth."""
    if reads is None or not len(found.reads):
        return {}
    some = found.reads
    own = reads.chosen(some)
    size = middle(own.size_gb, float(np.median(own.size_error_gb)) / 4)
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
