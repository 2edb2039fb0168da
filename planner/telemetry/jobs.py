"""Figures of a job by its checkpoints, the table of all checkpoints, and overrides of a problem.

Three figures bound the drain: the edges of each burst within their samples, if it is written at one
rate; the number of samples that stand out, which is a window longer on average whatever its shape;
and its size over its largest bandwidth. Samples that are means over a moving window stretch every
drain by that window: a drain of D seen through a window W stands out for D + W and is flat, at size
over max(D, W), in between. Without the window it may be either.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from planner.figures import FIGURES
from planner.paths import job_path
from planner.schema.job import FixedInterval, Job
from planner.schema.problem import Problem
from planner.schema.telemetry import (
    CHECKPOINT_COLUMNS,
    Calibration,
    JobFound,
    Measured,
    Override,
)
from planner.telemetry.restarts import Breaks, mtti
from planner.telemetry.rhythm import Track
from planner.telemetry.signal import Bursts, Series, Z, scatter
from planner.telemetry.tables import Numbers
from planner.telemetry.traces import ReadOptions
from planner.units import DAY_S, HOUR_S

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
_STRAY, _FAINT = 3.0, 0.01
_SLOW_EDGES = 0.5
"""Edges that take so many samples more than those of an even rate are slow, or were smoothed."""


def job_of(
    name: str,
    track: Track,
    trace: Series,
    writes: Bursts,
    reads: Bursts | None,
    found: Breaks,
    options: ReadOptions,
) -> JobFound:
    """A job with its figures; ``found`` are its gaps and interruptions."""
    own = writes.chosen(track.places[track.alone] if track.alone.any() else track.places)
    size, window_s = _size(own), options.window_s
    if not track.alone.any():  # all overlap: the rest of bursts without the others
        half = Z * track.spread * track.size_gb / math.sqrt(len(track.times))
        size = Measured(value=track.size_gb, low=track.size_gb - half, high=track.size_gb + half)
    inferred = int(np.sum(~track.alone))
    interval = _interval(track, found)
    drain, resolved, notes = drain_of(own, size, trace.sample_s, window_s)
    overlap = ratio(drain, interval)
    if not resolved:
        value = drain.value / interval.value
        overlap = Measured(value=value, high=_high(drain) / interval.value)
    restored: dict[str, Measured] = {}
    if reads is not None and len(found.reads):
        restoring = reads.chosen(found.reads)
        gb = _size(restoring)
        time, known, _ = drain_of(restoring, gb, trace.sample_s, window_s)
        rate = _bandwidth(gb, time, known)
        restored = {"restore_gb": gb, "restore_s": time, "read_gb_per_s": rate}
    start_s, end_s = trace.clock(track.times[[0, -1]]).tolist()
    return JobFound(
        name=name,
        cluster=trace.cluster,
        start_s=start_s,
        end_s=end_s + drain.value,
        checkpoints=len(track.times),
        inferred=inferred,
        missed=max(0, found.missed - inferred),
        size_gb=size,
        interval_s=interval,
        drain_s=drain,
        resolved=resolved,
        overlap=overlap,
        write_gb_per_s=_bandwidth(size, drain, resolved),
        bytes_per_parameter=options.bytes_per_parameter,
        parameters=scaled(size, 1e9 / options.bytes_per_parameter),
        restarts=int(found.attempts.sum()),
        confirmed=int(found.attempts[found.confirmed].sum()),
        observed_s=float(track.times[-1] - track.times[0]),
        mtti_s=mtti(track, found),
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
    """The mean interval between checkpoints that follow one another."""
    gaps = np.diff(track.times)[(found.steps == 1) & ~found.broken]
    if not len(gaps):
        return Measured(value=track.interval_s)
    value, half = float(gaps.mean()), Z * float(gaps.std()) / math.sqrt(len(gaps))
    return Measured(value=value, low=value - half, high=value + half)


# Drains

Drain = tuple[Measured, bool, tuple[str, ...]]
"""A drain, whether the samples resolve it, and notes."""


def drain_of(own: Bursts, size: Measured, sample_s: float, window_s: float | None) -> Drain:
    """The usual drain of some bursts.

    Args:
        own: bursts that hold one checkpoint, or one restore, each.
        size: volume of each.
        sample_s: the usual time between samples.
        window_s: averaging window of each, None where unknown.
    """
    if window_s is not None and window_s > sample_s:
        return _through_window(own, sample_s, window_s)
    edges = median_with_range(own.duration_s, float(np.median(own.edge_error_s)) / len(own) ** 0.5)
    if edges.value >= _RESOLVED_SAMPLES * sample_s:
        return _by_shape(own, edges, sample_s)
    # It fills at most one sample. Where many are seen, some fill one wholly, so that the largest
    # bandwidths show its duration; one shorter than a sample never does.
    least = size.value / float(np.quantile(own.peak, _HIGH))
    if least < _FILLED * sample_s:
        return Measured(value=least, high=max(least, sample_s)), False, ()
    return Measured(value=least, low=(1 - _OFF) * least, high=(1 + _OFF) * least), True, ()


def _by_shape(own: Bursts, edges: Measured, sample_s: float) -> Drain:
    """The drain by its edges, its range widened by the uncertainty of its shape."""
    low, high = edges.low or 0.0, _high(edges)
    stands_out, error = _standing_out(own, sample_s, sample_s)
    even, count = float(np.median(own.size_gb / own.height)), stands_out - sample_s
    notes: tuple[str, ...] = ()
    if count - even > max(error, _SLOW_EDGES * sample_s):
        flat = float(np.median(own.size_gb / own.peak))
        high = max(high, count + error)
        low = max(0.0, min(low, even, flat, stands_out - flat) - error)
        notes = (
            f"its bursts rise and fall slowly: a drain of {low:.3g} to {high:.3g} s, written "
            "slowly at its ends or seen through samples that are means over a longer window "
            "(say it: --window)",
        )
    return edges.model_copy(update={"low": low, "high": high}), True, notes


def _through_window(own: Bursts, sample_s: float, window_s: float) -> Drain:
    """The drain that a moving mean has stretched."""
    stands_out, error = _standing_out(own, sample_s, window_s)
    value = max(stands_out - window_s, 0.0)
    faint = 2 * _FAINT * min(value, window_s)  # of rise and fall, which does not stand out
    value, error = value + faint, math.hypot(error, faint)
    low, high = max(value - error, 0.0), value + error
    flat = float(np.median(own.size_gb / own.peak))
    if flat > window_s + error:
        low, high = min(low, flat), max(high, flat)
    note = (
        f"samples are means over {window_s:g} s: the drain is the duration of its bursts, "
        f"{stands_out:.3g} s, less that window"
    )
    if value < sample_s:
        value, high = max(value, _OFF * sample_s), max(high, sample_s)
        return Measured(value=value, high=high), False, (note,)
    return Measured(value=value, low=low, high=high), True, (note,)


def _standing_out(own: Bursts, sample_s: float, window_s: float) -> tuple[float, float]:
    """Mean time that bursts stand out, and half of its range.

    A drain farther from the usual than scatter and a window has other traffic at its end.
    """
    span: Numbers = own.span_s
    reach_s = max(_STRAY * sample_s, _STRAY * scatter(span), window_s)
    kept = np.abs(span - np.median(span)) <= reach_s
    off = Z * float(np.std(span[kept] - own.duration_s[kept])) / math.sqrt(kept.sum())
    return float(np.mean(span[kept])), off


# The table

CheckpointColumns = Mapping[str, np.ndarray[Any, Any]]
"""A table, a column each."""


def table_of(
    trace: Series,
    writes: Bursts,
    found: Sequence[Track],
    jobs: Sequence[JobFound],
    window_s: float | None,
) -> CheckpointColumns:
    """A row for each checkpoint, and for each burst that is none."""
    if window_s is not None and window_s > trace.sample_s:  # as long as before a moving mean
        lasts = np.maximum(writes.span_s - window_s, _OFF * trace.sample_s)
        error = np.maximum(writes.edge_error_s, trace.sample_s)
        writes = replace(writes, end_s=writes.start_s + lasts, edge_error_s=error)
    free = np.ones(len(writes), dtype=bool)
    parts = []
    for track, one in zip(found, jobs, strict=True):
        free[track.places] = False
        part, alone = writes.chosen(track.places), track.alone
        size = part.size_gb[alone]
        scattered = scatter(size) if len(size) else track.spread * track.size_gb
        rows = {
            "job": np.full(len(part), one.name, dtype=object),
            "kind": np.where(alone, "checkpoint", "inferred").astype(object),
            "start_s": track.times,
            "start_error_s": np.where(alone, part.edge_error_s, track.tolerance_s),
            "duration_s": np.where(alone, part.duration_s, one.drain_s.value),
            "duration_error_s": np.where(alone, part.edge_error_s, part.duration_s / 2),
            "size_gb": np.where(alone, part.size_gb, track.size_gb),
            "size_error_gb": np.hypot(part.size_error_gb, Z * scattered),
            "peak_gb_per_s": part.peak,
        }
        parts.append(rows)
    other = writes.chosen(free)
    parts.append(
        {
            "job": np.full(len(other), "", dtype=object),
            "kind": np.where(other.cut, "cut", "other").astype(object),
            "start_s": other.start_s,
            "start_error_s": other.edge_error_s,
            "duration_s": other.duration_s,
            "duration_error_s": other.edge_error_s,
            "size_gb": other.size_gb,
            "size_error_gb": other.size_error_gb,
            "peak_gb_per_s": other.peak,
        }
    )
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(joined["start_s"], kind="stable")
    table = {name: column[order] for name, column in joined.items()}
    table["start_s"] = trace.clock(table["start_s"])
    table["mean_gb_per_s"] = table["size_gb"] / np.maximum(table["duration_s"], 1e-9)
    table["cluster"] = np.full(len(order), trace.cluster, dtype=object)
    return {name: table[name] for name in CHECKPOINT_COLUMNS}


# Overrides of a problem

_JOB = job_path()


def calibration(
    found: JobFound,
    problem: Problem,
    name: str,
    gpus: int | None = None,
    write_gb_per_s: float | None = None,
    read_gb_per_s: float | None = None,
) -> Calibration:
    """Measurements of a job as overrides of a problem.

    Args:
        found: the job.
        problem: the problem, ``name`` its file for the record.
        gpus: GPUs that the job ran on.
        write_gb_per_s, read_gb_per_s: nameplate bandwidth of the storage that was measured.
    """
    fractions = problem.storage.delivered_fraction
    made = [
        *_checkpoint_overrides(found, problem.job),
        _failures(found, gpus),
        _delivered("write", found.write_gb_per_s, write_gb_per_s, fractions.write),
        _delivered("read", found.read_gb_per_s, read_gb_per_s, fractions.read),
        "stall, restart time, slowdown while draining: invisible to storage",
    ]
    return Calibration(
        job=found.name,
        problem=name,
        gpus=gpus,
        overrides=tuple(each for each in made if isinstance(each, Override)),
        not_measured=tuple(each for each in made if isinstance(each, str)),
    )


def _override(
    path: str, label: str, unit: str, measured: Measured, source: str, now: object
) -> Override:
    def text(value: float) -> str:
        return f"{value:.6g} {unit}".rstrip()

    drawn = None
    if measured.low is not None and measured.high is not None and measured.high > measured.low:
        ends = (measured.low, measured.value, measured.high)
        drawn = f"{path}=triangular({', '.join(text(end) for end in ends)})"
    if isinstance(now, int | float):
        now = text(now)
    return Override(
        path=path,
        label=label,
        unit=unit,
        measured=measured,
        setting=f"{path}={text(measured.value)}",
        distribution=drawn,
        now=None if now is None else str(now),
        source=source,
    )


def _checkpoint_overrides(found: JobFound, job: Job) -> Iterator[Override]:
    source = f"telemetry, {found.checkpoints:,} checkpoints"
    if job.parameters is not None and job.checkpoint.size_gb is None:
        per = scaled(found.size_gb, 1e9 / job.parameters)
        path, now = f"{_JOB}.bytes_per_parameter", str(job.bytes_per_parameter)
        yield _override(path, "bytes per parameter", "", per, source, now)
    else:
        path, label = f"{_JOB}.checkpoint.size", FIGURES["checkpoint_gb"].label
        yield _override(path, label, "GB", found.size_gb, source, job.checkpoint.size_gb)
    if isinstance(job.checkpoint.interval, FixedInterval):  # else it is the planner's to choose
        path, now_s = f"{_JOB}.checkpoint.interval.every", job.checkpoint.interval.every_s
        yield _override(path, "interval", "s", found.interval_s, source, now_s)


def _failures(found: JobFound, gpus: int | None) -> Override | str:
    mtti = found.mtti_s
    if mtti is None:
        return f"failures: none seen in {found.observed_s / HOUR_S:.1f} h"
    if gpus is None:
        return f"failures: one every {mtti.value / HOUR_S:.3g} h, on how many GPUs? say --gpus"
    rate = DAY_S / gpus
    low, high = (None if end is None else rate / end for end in (mtti.high, mtti.low))
    measured = Measured(value=rate / mtti.value, low=low, high=high)
    path, label = f"{_JOB}.failures.per_gpu_day", "failures per GPU and day"
    return _override(path, label, "", measured, f"telemetry, restarts: {found.restarts:,}", None)


def _delivered(
    way: str, measured: Measured | None, nameplate: float | None, now: float
) -> Override | str:
    label = f"delivered fraction, {way}"
    if measured is None:
        return f"{label}: no restoring read was seen"
    if nameplate is None:
        return f"{label}: the nameplate of the storage is missing (--nameplate)"
    if measured.high is None:
        least = measured.low or measured.value
        return f"{label}: at least {least / nameplate:.3g}; samples do not resolve the drains"
    share = scaled(measured, 1 / nameplate)
    if share.value > 1:
        return f"{label}: {measured.value:.4g} GB/s was seen, more than the nameplate"
    share = share.model_copy(update={"high": min(1.0, share.high or 1.0)})
    path = f"storage.delivered_fraction.{way}"
    return _override(path, label, "", share, "telemetry, bandwidth of the job's bursts", now)
