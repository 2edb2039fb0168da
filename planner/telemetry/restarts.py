"""Interruptions of a job: breaks of its rhythm that no missing samples explain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from planner.schema.telemetry import Measured
from planner.telemetry.bursts import Bursts
from planner.telemetry.job_log import poisson
from planner.telemetry.raw import Numbers
from planner.telemetry.restores import Restores, Tried, restores
from planner.telemetry.rhythm import neighbours
from planner.telemetry.track import INFERRED, Track

_BEGUN, _UNFINISHED = 0.02, 0.9
"""A checkpoint that was broken off has between these shares of its size."""

_STOP_INTERVALS, _STOP_S = 20.0, 86_400.0
"""A job that is away for so many intervals and a day was stopped, and did not fail."""

_UNSURE = 1.5
"""So many times the tolerance a gap may be off where one of its ends was told apart from others."""

_EARLY = 0.5
"""A gap that is short by so many tolerances makes up for a long one beside it."""

_MOSTLY = 0.8
"""Where reads confirm so many breaks, one that none confirms is no interruption."""


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
        start_s, end_s: when the events before and behind begin.
        steps: intervals from one to the other, 0 where that is no multiple.
        exact: gaps between events that were seen by themselves.
        broken: gaps with an interruption in them.
        open: gaps in which others' traffic, or a hole, may hide that there is one.
        attempts: interruptions in each gap: restoring reads, or one where there are none.
        confirmed: broken gaps with a restoring read.
        reads: positions of the restoring reads.
        doubtful, possible: how many interruptions may be none or another job's, and how many more
            there may be.
        contested: reads that suit another job as well.
    """

    start_s: Numbers
    end_s: Numbers
    steps: NDArray[np.int64]
    exact: NDArray[np.bool_]
    broken: NDArray[np.bool_]
    open: NDArray[np.bool_]
    attempts: NDArray[np.int64]
    confirmed: NDArray[np.bool_]
    reads: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    doubtful: int = 0
    possible: int = 0
    contested: int = 0

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Which gaps keep the rhythm."""
        return (self.steps > 0) & ~self.broken

    @property
    def missed(self) -> int:
        """Checkpoints that the rhythm asks for within them."""
        return int(np.sum(self.steps[self.kept] - 1))


def breaks(
    tracks: Sequence[Track], holes: Holes, busy: Bursts, reads: Bursts | None, lasts_s: float
) -> list[Breaks]:
    """Return where jobs were interrupted.

    A gap of several intervals is no interruption where a hole hides the checkpoints in it, or
    where other traffic does at the time of each: those that were told apart from others' are no
    gap. A restoring read is one job's only.

    Args:
        tracks: the jobs.
        holes: what is not known of the trace.
        busy: bursts of writing.
        reads: bursts of reading, None where the trace has none.
        lasts_s: how long the trace is.
    """
    found = [_gaps(track, holes, busy) for track in tracks]
    if reads is None or not len(reads) or not found:
        return found
    tried = []
    for track, gaps in zip(tracks, found, strict=True):
        which = gaps.broken | gaps.open
        start, end, broken = gaps.start_s[which], gaps.end_s[which], gaps.broken[which]
        rhythm = track.interval_s, track.tolerance_s
        tried.append(Tried(start, end, broken, track.size_gb, *rhythm))
    owned = restores(tried, reads, lasts_s)
    return [_confirmed(gaps, own) for gaps, own in zip(found, owned, strict=True)]


def _confirmed(gaps: Breaks, own: Restores) -> Breaks:
    """Return the gaps with their restoring reads.

    Where reads confirm most breaks, one without a read is a checkpoint that was put a little wrong;
    so is one beside a checkpoint that was told apart from others', where reads confirm any.
    """
    places = np.flatnonzero(gaps.broken | gaps.open)
    told = gaps.broken[places]
    seen = own.count > 0
    if not seen.any():
        return replace(gaps, possible=gaps.possible + own.possible, contested=own.possible)
    sure = np.sum(seen & told) >= _MOSTLY * told.sum()
    kept = seen | (told & (own.hidden | (gaps.exact[places] & ~sure)))
    broken, confirmed = (np.zeros(len(gaps.steps), dtype=bool) for _ in range(2))
    broken[places[kept]], confirmed[places[seen]] = True, True
    attempts = np.zeros(len(gaps.steps), dtype=np.int64)
    attempts[places[kept]] = np.maximum(own.count[kept], 1)
    return replace(
        gaps,
        broken=broken,
        attempts=attempts,
        confirmed=confirmed,
        reads=own.reads,
        doubtful=own.doubtful,
        possible=own.possible,
        contested=own.doubtful + own.possible,
    )


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


def _gaps(track: Track, holes: Holes, busy: Bursts) -> Breaks:
    """Return a job's gaps as its rhythm alone tells them.

    Checkpoints that were told apart from others' written at the same time count like all others,
    but when they began is less sure.
    """
    start, end = track.times[:-1], track.times[1:]
    sure = track.kinds != INFERRED
    exact = sure[:-1] & sure[1:]
    slack = np.where(exact, 1.0, _UNSURE) * track.tolerance_s
    steps = _undisplaced(track, slack)
    unknown = holes.within(start, end)
    over = end - start > track.interval_s + track.tolerance_s
    late = end - start > track.interval_s + slack
    stopped = end - start > np.maximum(_STOP_INTERVALS * track.interval_s, _STOP_S)
    steps = np.where(stopped, 0, steps)
    hidden = unknown | _hidden(track, steps, busy)
    broken = late & ~unknown & ~stopped & ((steps == 0) | ((steps > 1) & ~hidden))
    unsure = over & ~stopped & ~broken
    return Breaks(
        start_s=start,
        end_s=end,
        steps=steps,
        exact=exact,
        broken=broken,
        open=unsure,
        attempts=broken.astype(np.int64),
        confirmed=np.zeros(len(steps), dtype=bool),
        doubtful=int(np.sum(broken & ~exact)),
        possible=int(np.sum(unsure & ~unknown)),
    )


def _undisplaced(track: Track, slack_s: Numbers) -> NDArray[np.int64]:
    """Return how many intervals each gap is, 0 where the rhythm breaks.

    An event that was put too late or too early leaves a long gap and a short one which together
    keep the rhythm; a job that was interrupted leaves no short one.

    Args:
        track: the job.
        slack_s: how far each gap may be from its rhythm.
    """
    gaps = np.diff(track.times)
    steps = track.multiples(slack_s)
    both = gaps[:-1] + gaps[1:]
    many = np.maximum(np.round(both / track.interval_s), 2.0)
    early = np.minimum(gaps[:-1], gaps[1:]) < track.interval_s - _EARLY * track.tolerance_s
    off = np.abs(both - many * track.interval_s) <= track.tolerance_s * np.sqrt(many)
    pairs = np.flatnonzero(early & off & ((steps[:-1] == 0) | (steps[1:] == 0)))
    one = np.clip(np.round(gaps[pairs] / track.interval_s), 1, many[pairs] - 1)
    steps[pairs], steps[pairs + 1] = one, many[pairs] - one
    return steps


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


def mtti(track: Track, found: Breaks) -> Measured | None:
    """Return the mean time to interruption that a job shows; None without a break.

    An interval begins with a checkpoint or behind a restoring read, and ends with the next
    checkpoint or breaks. With memoryless failures it is whole with probability exp(-I/M), so that
    M = -I / ln(share that is whole): how long a restart takes does not matter. The range is that of
    a Poisson count of bunches; its ends allow for interruptions that may be another job's.
    """
    broken = int(found.attempts.sum())
    if not broken:
        return None
    whole = max(float(found.steps[~found.broken].sum() + found.confirmed.sum()), 0.5)
    rate = -math.log(whole / (whole + broken)) / track.interval_s
    bunch = _bunched(found.attempts[found.broken], broken / (whole + broken))
    low = poisson(max(broken - found.doubtful, 0) / bunch)[0] * bunch / broken
    high = poisson((broken + found.possible) / bunch)[1] * bunch / broken
    return Measured(value=1 / rate, low=1 / (rate * high), high=1 / (rate * low) if low else None)


def _bunched(together: NDArray[np.int64], chance: float) -> float:
    """Return how many interruptions come together: so many times the count scatters more.

    Where one comes soon after another more often than chance has it, fewer of them say something
    of their own.

    Args:
        together: interruptions without a checkpoint between them, by break.
        chance: that an interval breaks.
    """
    found = float(np.sum(together**2) / np.sum(together))
    return max(1.0, found * (1 - chance) / (1 + chance))
