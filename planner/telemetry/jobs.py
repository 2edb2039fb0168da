"""Jobs by their checkpoints: interruptions, figures with ranges, overrides of a problem.

Every restore of a job reads the same: a checkpoint, or a multiple of it where each replica reads
its own. It lies in a break of the job's rhythm, and the rhythm starts anew at its end.

Three figures bound the drain: the edges of each burst within their samples, if it is written at one
rate; the number of samples that stand out, which is a window longer on average whatever its shape;
and its size over its largest bandwidth. Samples that are means over a moving window stretch every
drain by that window: a drain of D seen through a window W stands out for D + W and is flat, at size
over max(D, W), in between. Without the window it may be either.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.figures import FIGURES
from planner.paths import job_path
from planner.schema.job import FixedInterval, Job
from planner.schema.operation import CONFIDENCE, Calibration, JobFound, Measured, Override
from planner.schema.problem import Problem
from planner.telemetry.signal import Bursts, Flags, Places, Series, Z, scatter
from planner.telemetry.tables import Numbers
from planner.telemetry.traces import ReadOptions
from planner.telemetry.tracking import Track
from planner.units import DAY_S, HOUR_S

# Interruptions: breaks of a rhythm that no missing samples explain

_STOP_INTERVALS, _STOP_S = 20.0, DAY_S
"""A job that is away for so many intervals and a day was stopped, and did not fail."""

_SHORT = 0.5
"""A gap that is short by so many tolerances makes up for a long one beside it."""


@dataclass(frozen=True)
class Breaks:
    """The gaps between a job's events.

    Attributes:
        start_s, end_s: when the events before and behind begin.
        steps: intervals from one to the other, 0 where that is no multiple.
        broken: gaps with an interruption in them.
        open: gaps in which others' traffic, or a hole, may hide an interruption.
        attempts: interruptions in each gap: restoring reads, or one where there are none.
        confirmed: broken gaps with a restoring read.
        reads: positions of the restoring reads.
    """

    start_s: Numbers
    end_s: Numbers
    steps: NDArray[np.int64]
    broken: Flags
    open: Flags
    attempts: NDArray[np.int64]
    confirmed: Flags
    reads: Places = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    @property
    def kept(self) -> Flags:
        """Gaps that keep the rhythm."""
        return (self.steps > 0) & ~self.broken

    @property
    def missed(self) -> int:
        """Checkpoints that the rhythm predicts within them."""
        return int(np.sum(self.steps[self.kept] - 1))


def find_breaks(
    tracks: Sequence[Track], holes: tuple[Numbers, Numbers], busy: Bursts, reads: Bursts | None
) -> list[Breaks]:
    """Interruptions of jobs.

    A gap of several intervals is no interruption where a hole hides the checkpoints in it, or
    where other traffic does at the time of each.

    Args:
        tracks: the jobs.
        holes: starts and ends of the unknown parts of the trace, in order.
        busy: bursts of writing.
        reads: bursts of reading, None where the trace has none.
    """
    found = [_gaps(track, holes, busy) for track in tracks]
    return _confirm(tracks, found, reads) if found and reads is not None else found


def _gaps(track: Track, holes: tuple[Numbers, Numbers], busy: Bursts) -> Breaks:
    """A job's gaps by its rhythm alone."""
    start, end = track.times[:-1], track.times[1:]
    stopped = end - start > max(_STOP_INTERVALS * track.interval_s, _STOP_S)
    steps = np.where(stopped, 0, _undisplaced(track))
    unknown = np.searchsorted(holes[0], end) > np.searchsorted(np.sort(holes[1]), start)
    late = end - start > track.interval_s + track.tolerance_s
    hidden = unknown | _hidden(track, steps, busy)
    broken = late & ~unknown & ~stopped & ((steps == 0) | ((steps > 1) & ~hidden))
    unsure = late & ~stopped & ~broken
    return Breaks(
        start_s=start,
        end_s=end,
        steps=steps,
        broken=broken,
        open=unsure,
        attempts=broken.astype(np.int64),
        confirmed=np.zeros(len(steps), dtype=bool),
    )


def _undisplaced(track: Track) -> NDArray[np.int64]:
    """Number of intervals in each gap, 0 where the rhythm breaks.

    An event that was put too late or too early leaves a long gap and a short one which together
    keep the rhythm; a job that was interrupted leaves no short one.
    """
    gaps = np.diff(track.times)
    steps = track.multiples()
    both = gaps[:-1] + gaps[1:]
    many = np.maximum(np.round(both / track.interval_s), 2.0)
    early = np.minimum(gaps[:-1], gaps[1:]) < track.interval_s - _SHORT * track.tolerance_s
    off = np.abs(both - many * track.interval_s) <= track.tolerance_s * np.sqrt(many)
    pairs = np.flatnonzero(early & off & ((steps[:-1] == 0) | (steps[1:] == 0)))
    one = np.clip(np.round(gaps[pairs] / track.interval_s), 1, many[pairs] - 1)
    steps[pairs], steps[pairs + 1] = one, many[pairs] - one
    return steps


def _hidden(track: Track, steps: NDArray[np.int64], busy: Bursts) -> Flags:
    """Gaps in which a burst covers every time at which a checkpoint is missing."""
    result = np.zeros(len(steps), dtype=bool)
    for gap in np.flatnonzero(steps > 1):
        start, end = track.times[gap], track.times[gap + 1]
        times = start + (end - start) * np.arange(1, steps[gap]) / steps[gap]
        before = np.searchsorted(busy.start_s, times + track.tolerance_s) - 1
        covered = (before >= 0) & (busy.end_s[np.maximum(before, 0)] >= times - track.tolerance_s)
        result[gap] = bool(covered.all())
    return result


def poisson(events: int) -> tuple[float, float]:
    """Range of the mean of a Poisson count (Garwood's interval)."""
    from scipy.stats import chi2

    tail = (1 - CONFIDENCE) / 2
    low = float(chi2.ppf(tail, 2 * events)) / 2 if events else 0.0
    return low, float(chi2.ppf(1 - tail, 2 * events + 2)) / 2


def mtti(track: Track, found: Breaks) -> Measured | None:
    """Mean time to interruption of a job; None without a break.

    An interval begins with a checkpoint or behind a restoring read, and ends with the next
    checkpoint or breaks. With memoryless failures it is whole with probability exp(-I/M), so that
    M = -I / ln(share that is whole), whatever the restart time. The range is that of a Poisson
    count.
    """
    broken = int(found.attempts.sum())
    if not broken:
        return None
    whole = max(float(found.steps[~found.broken].sum() + found.confirmed.sum()), 0.5)
    rate = -math.log(whole / (whole + broken)) / track.interval_s
    low, high = (end / broken for end in poisson(broken))
    return Measured(value=1 / rate, low=1 / (rate * high), high=1 / (rate * low) if low else None)


# Restoring reads

_LEAST = 0.3
"""A read of less than this share of a checkpoint is no restore."""

_SAME = 0.06
"""Restores of one job are alike within this share."""


class _Pairs(NamedTuple):
    """Reads and the gaps in which they lie, one row for each such pair.

    Attributes:
        read: position of the read.
        job, gap: the gap.
        ratio: size of the read over the job's checkpoint.
        anew: whether the next checkpoint comes an interval after the read.
    """

    read: Places
    job: Places
    gap: Places
    ratio: Numbers
    anew: Flags


def _confirm(tracks: Sequence[Track], found: Sequence[Breaks], reads: Bursts) -> list[Breaks]:
    """Gaps of jobs with their restoring reads; each adds an interruption to its gap."""
    pairs = _pairs(tracks, found, reads)
    usual = np.array([_usual_ratio(pairs.ratio[pairs.job == job]) for job in range(len(tracks))])
    rows = _owned(pairs, usual)
    result = []
    for job, gaps in enumerate(found):
        own = rows[pairs.job[rows] == job]
        count = np.bincount(pairs.gap[own], minlength=len(gaps.steps))
        if not len(own):
            result.append(gaps)
            continue
        broken = gaps.broken | (count > 0)
        result.append(
            replace(
                gaps,
                broken=broken,
                attempts=np.where(broken, np.maximum(count, 1), 0),
                confirmed=count > 0,
                reads=np.sort(pairs.read[own]),
            )
        )
    return result


def _pairs(tracks: Sequence[Track], found: Sequence[Breaks], reads: Bursts) -> _Pairs:
    nothing = np.zeros(0, dtype=np.intp)
    parts = [_Pairs(nothing, nothing, nothing, np.zeros(0), np.zeros(0, dtype=bool))]
    for job, (track, gaps) in enumerate(zip(tracks, found, strict=True)):
        for gap in np.flatnonzero(gaps.broken | gaps.open):
            first, last = np.searchsorted(reads.start_s, (gaps.start_s[gap], gaps.end_s[gap]))
            read = np.arange(first, last)
            ratio = reads.size_gb[read] / track.size_gb
            begun = gaps.end_s[gap] - reads.end_s[read] - track.interval_s
            anew = np.abs(begun) <= track.tolerance_s
            kept = (ratio >= _LEAST) & (gaps.broken[gap] | anew)
            job_of, gap_of = (np.full(kept.sum(), each) for each in (job, gap))
            parts.append(_Pairs(read[kept], job_of, gap_of, ratio[kept], anew[kept]))
    return _Pairs(*map(np.concatenate, zip(*parts, strict=True)))


def _usual_ratio(ratio: Numbers) -> float:
    """Most frequent read volume in a job's breaks over its checkpoint size; 0 without any."""
    if not len(ratio):
        return 0.0
    near = np.abs(np.log(ratio[:, None] / ratio)) <= _SAME
    return float(np.median(ratio[near[np.argmax(near.sum(axis=1))]]))


def _owned(pairs: _Pairs, usual: Numbers) -> Places:
    """Rows of pairs that hold, one for each read: that of the job whose rhythm
    starts anew behind it, else of the job whose usual restore is nearest."""
    known = usual[pairs.job] > 0
    off = np.abs(np.log(pairs.ratio / np.where(known, usual[pairs.job], 1.0)))
    fits = np.flatnonzero(known & (off <= _SAME))
    order = fits[np.lexsort((off[fits], ~pairs.anew[fits], pairs.read[fits]))]
    return order[np.diff(pairs.read[order], prepend=-1) > 0]


# Figures

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


_BYTES_PER_PARAMETER = 14.0
"""Divisor of a checkpoint's size for the implied parameters: mixed precision with Adam."""

_RESOLVED_SAMPLES = 2.0
_FILLED, _HIGH, _OFF = 1.1, 0.9, 0.1
_FAINT = 0.01
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
        parameters=scaled(size, 1e9 / _BYTES_PER_PARAMETER),
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
    stands_out, error = _standing_out(own)
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
    stands_out, error = _standing_out(own)
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


def _standing_out(own: Bursts) -> tuple[float, float]:
    """Mean time that bursts stand out, and half of its range."""
    off = Z * float(np.std(own.span_s - own.duration_s)) / math.sqrt(len(own))
    return float(np.mean(own.span_s)), off


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
