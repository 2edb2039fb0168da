"""Interruptions of a job: breaks of its rhythm that no missing samples explain, and their restores.

Every restore of a job reads the same: a checkpoint, or a multiple of it where each replica reads
its own. It lies in a break of the job's rhythm, and the rhythm starts anew at its end. A read is of
one job only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.schema.telemetry import CONFIDENCE, Measured
from planner.telemetry.rhythm import Track
from planner.telemetry.signal import Bursts, Flags, Places
from planner.telemetry.tables import Numbers
from planner.units import DAY_S

_STOP_INTERVALS, _STOP_S = 20.0, DAY_S
"""A job that is away for so many intervals and a day was stopped, and did not fail."""

_EARLY = 0.5
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
    early = np.minimum(gaps[:-1], gaps[1:]) < track.interval_s - _EARLY * track.tolerance_s
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

_ALIKE, _WHOLE = 0.06, 0.03
"""Restores of one job are alike, and multiples of its checkpoint whole, within these shares."""


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
    """Read volume of a job's restore over its checkpoint size: the most frequent among the reads
    in its breaks, of two a whole multiple (replicas that read their own); 0 without any."""
    if not len(ratio):
        return 0.0
    near = np.abs(np.log(ratio[:, None] / ratio)) <= _ALIKE
    whole = np.abs(ratio / np.maximum(np.round(ratio), 1.0) - 1) <= _WHOLE
    return float(np.median(ratio[near[np.argmax(near.sum(axis=1) + 0.5 * whole)]]))


def _owned(pairs: _Pairs, usual: Numbers) -> Places:
    """Rows of pairs that hold, one for each read: that of the job whose rhythm
    starts anew behind it, else of the job whose usual restore is nearest."""
    known = usual[pairs.job] > 0
    off = np.abs(np.log(pairs.ratio / np.where(known, usual[pairs.job], 1.0)))
    fits = np.flatnonzero(known & (off <= _ALIKE))
    order = fits[np.lexsort((off[fits], ~pairs.anew[fits], pairs.read[fits]))]
    return order[np.diff(pairs.read[order], prepend=-1) > 0]
