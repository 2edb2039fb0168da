"""Interruptions of a job: breaks of its rhythm that no missing samples explain."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.schema.telemetry import Measured
from planner.telemetry.bursts import Bursts
from planner.telemetry.job_log import per_event, poisson
from planner.telemetry.raw import Numbers
from planner.telemetry.rhythm import neighbours
from planner.telemetry.track import Track

_BEGUN, _UNFINISHED = 0.02, 0.9
"""A checkpoint that was broken off has between these shares of its size."""

_STOP_INTERVALS, _STOP_S = 20.0, 86_400.0
"""A job that is away for so many intervals and a day was stopped, and did not fail."""

_MOSTLY = 0.8
_RESTORED, _RESTORED_AGAIN = 0.3, 0.6
"""A read of so much of a checkpoint's size may be a restore."""


@dataclass(frozen=True)
class Holes:
    """Stretches that are not known, and steps of the clock, elapsed s."""

    start_s: Numbers
    end_s: Numbers

    def within(self, start_s: Numbers, end_s: Numbers) -> NDArray[np.bool_]:
        """Return which stretches of time have one in them."""
        begun = np.searchsorted(self.start_s, end_s)
        ended = np.searchsorted(np.sort(self.end_s), start_s)
        return np.asarray(begun > ended)


@dataclass(frozen=True)
class Breaks:
    """The gaps between a job's events.

    Attributes:
        steps: intervals kept, by gap; 0 where the rhythm breaks.
        broken: gaps with an interruption in them.
        missed: checkpoints that the rhythm asks for and that were not seen, by gap.
        attempts: interruptions in each gap: restoring reads, or one where there are none.
        confirmed: broken gaps with a restoring read.
        reads: positions of the restoring reads.
    """

    steps: NDArray[np.int64]
    broken: NDArray[np.bool_]
    missed: NDArray[np.int64]
    attempts: NDArray[np.int64]
    confirmed: NDArray[np.bool_]
    reads: NDArray[np.intp]


def breaks(track: Track, holes: Holes, busy: Bursts, reads: Bursts | None) -> Breaks:
    """Return where a job was interrupted.

    A gap of several intervals is no interruption where a hole hides the checkpoints in it, or
    where other traffic does at the time of each.

    Args:
        track: the job.
        holes: what is not known of the trace.
        busy: bursts of writing.
        reads: bursts of reading, None where the trace has none.
    """
    steps = track.multiples()
    start, end = track.times[:-1], track.times[1:]
    unknown = holes.within(start, end)
    inside, count = _restores(track, start, end, reads)
    hidden = unknown | _hidden(track, steps, busy)
    late = end - start > track.interval_s + track.tolerance_s
    stopped = end - start > np.maximum(_STOP_INTERVALS * track.interval_s, _STOP_S)
    broken = late & ~unknown & ((steps == 0) | ((steps > 1) & (~hidden | (count > 0))))
    broken &= ~stopped
    missed = np.where(~broken & ~stopped & (steps > 1), steps - 1, 0)
    attempts = np.where(broken, np.maximum(count, 1), 0)
    confirmed = broken & (count > 0)
    kept = inside[np.isin(inside[:, 0], np.flatnonzero(confirmed)), 1]
    return Breaks(np.where(broken | stopped, 0, steps), broken, missed, attempts, confirmed, kept)


def broken_off(track: Track, bursts: Bursts, free: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the bursts that a job began when its rhythm asked for it, and did not finish.

    Args:
        track: the job.
        bursts: bursts of writing.
        free: which of them are no job's.
    """
    gaps = np.flatnonzero(track.multiples() == 0)
    wanted = np.append(track.times[gaps], track.times[-1]) + track.interval_s
    places = np.flatnonzero(free & (bursts.size_gb < _UNFINISHED * track.size_gb))
    places = places[bursts.size_gb[places] > _BEGUN * track.size_gb]
    start = bursts.start_s[places]
    before, after = neighbours(wanted, start)
    return np.asarray(places[np.minimum(start - before, after - start) <= track.tolerance_s])


def _hidden(track: Track, steps: NDArray[np.int64], busy: Bursts) -> NDArray[np.bool_]:
    """Return the gaps in which a burst covers every time at which a checkpoint is missing."""
    result = np.zeros(len(steps), dtype=bool)
    for gap in np.flatnonzero(steps > 1):
        start, end = track.times[gap], track.times[gap + 1]
        times = start + (end - start) * np.arange(1, steps[gap]) / steps[gap]
        before = np.searchsorted(busy.start_s, times + track.tolerance_s) - 1
        covered = (before >= 0) & (busy.end_s[np.maximum(before, 0)] >= times - track.tolerance_s)
        result[gap] = bool(covered.all())
    return result


def _restores(
    track: Track, start: Numbers, end: Numbers, reads: Bursts | None
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return (gap, read) for each read that may be a restore, and how many there are by gap."""
    count = np.zeros(len(start), dtype=np.int64)
    if reads is None or not len(reads) or not len(start):
        return np.zeros((0, 2), dtype=np.intp), count
    large = np.flatnonzero(reads.size_gb >= _RESTORED * track.size_gb)
    gap = np.searchsorted(start, reads.start_s[large], side="right") - 1
    good = (gap >= 0) & (reads.start_s[large] < end[np.clip(gap, 0, len(end) - 1)])
    pairs = np.column_stack((gap[good], large[good])).astype(np.intp)
    pairs = pairs[_as_large_as_usual(track, pairs, reads.size_gb)]
    np.add.at(count, pairs[:, 0], 1)
    return pairs, count


def _as_large_as_usual(
    track: Track, pairs: NDArray[np.intp], size_gb: Numbers
) -> NDArray[np.bool_]:
    """Return which reads are as large as the usual one where the job surely broke off.

    Every restore reads the same; what is much smaller is other traffic.
    """
    broken = track.multiples() == 0
    sizes = size_gb[pairs[:, 1]]
    largest = np.zeros(len(broken))
    np.maximum.at(largest, pairs[:, 0], sizes)
    sure = largest[broken & (largest > 0)]
    usual = float(np.median(sure)) if len(sure) else track.size_gb
    return np.asarray(sizes >= _RESTORED_AGAIN * usual)


def mtti(track: Track, found: Breaks) -> Measured | None:
    """Return the mean time to interruption that a job shows; None without a break.

    Where restoring reads confirm most breaks, each of them is an interruption, and time is divided
    by them. Where they do not, intervals tell: one that begins with a checkpoint ends with the
    next, or breaks. With memoryless failures it is whole with probability exp(-I/M), so that
    M = -I / ln(share that is whole): what happens between a break and the next checkpoint does not
    matter. The range is that of a Poisson count.
    """
    broken = int(found.broken.sum())
    if not broken:
        return None
    if found.confirmed.sum() >= _MOSTLY * broken:
        return per_event(track.end_s - track.start_s, int(found.attempts.sum()))
    whole = int(found.steps.sum())
    rate = -math.log(max(whole, 0.5) / (max(whole, 0.5) + broken)) / track.interval_s
    low, high = (end / broken for end in poisson(broken))
    return Measured(value=1 / rate, low=1 / (rate * high), high=1 / (rate * low))
