"""Interruptions of a job: breaks of its rhythm that no missing samples explain, and their restores.

Every restore of a job reads the same: a checkpoint, or a multiple of it where each replica reads
its own. It lies in a break of the job's rhythm, and the rhythm starts anew at its end. A read is
one job's only; one that suits several equally well is told, since neither's rate is sure then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from planner.schema.telemetry import Measured
from planner.telemetry.bursts import Bursts
from planner.telemetry.raw import Numbers, Places, poisson
from planner.telemetry.tracking import INFERRED, Track, neighbours
from planner.units import DAY_S

_BEGUN, _UNFINISHED = 0.02, 0.9
"""A checkpoint that was broken off has between these shares of its size."""

_STOP_INTERVALS, _STOP_S = 20.0, DAY_S
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
        """Mask of time stretches that contain one."""
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


def find_breaks(
    tracks: Sequence[Track], holes: Holes, busy: Bursts, reads: Bursts | None, lasts_s: float
) -> list[Breaks]:
    """Interruptions of jobs.

    A gap of several intervals is no interruption where a hole hides the checkpoints in it, or
    where other traffic does at the time of each: those that were told apart from others' are no
    gap. A restoring read is one job's only.

    Args:
        holes: unknown parts of the trace.
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
        tried.append(JobGaps(start, end, broken, track.size_gb, *rhythm))
    owned = restores(tried, reads, lasts_s)
    return [_confirm(gaps, own) for gaps, own in zip(found, owned, strict=True)]


def _confirm(gaps: Breaks, own: Restores) -> Breaks:
    """Return the gaps with their restoring reads.

    Where reads confirm most breaks, one without a read is a checkpoint that was put a little wrong;
    so is one beside a checkpoint that was told apart from others', where reads confirm any.
    """
    places = np.flatnonzero(gaps.broken | gaps.open)
    by_rhythm = gaps.broken[places]
    seen = own.count > 0
    if not seen.any():
        return replace(gaps, possible=gaps.possible + own.possible, contested=own.possible)
    sure = np.sum(seen & by_rhythm) >= _MOSTLY * by_rhythm.sum()
    kept = seen | (by_rhythm & (own.hidden | (gaps.exact[places] & ~sure)))
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
    """Number of intervals in each gap, 0 where the rhythm breaks.

    An event that was put too late or too early leaves a long gap and a short one which together
    keep the rhythm; a job that was interrupted leaves no short one.

    Args:
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
    """Mean group size of interruptions: the factor on the variance of their count.

    Where one comes soon after another more often than chance has it, fewer of them say something
    of their own.

    Args:
        together: interruptions without a checkpoint between them, by break.
        chance: that an interval breaks.
    """
    found = float(np.sum(together**2) / np.sum(together))
    return max(1.0, found * (1 - chance) / (1 + chance))


_LEAST = 0.3
"""A read of less than this share of a checkpoint is no restore."""

_ALIKE = 0.06
"""Restores of one job are alike within this share."""

_CLEARLY = 0.02
"""A read is rather the job's whose usual restore is nearer to its size by so much."""

_WHOLE = 0.03
"""A multiple of the checkpoint's size within this share is a plausible fan-out."""

_ROUNDS = 3
_OTHERS = 0.1
"""How much a read that is rather another job's says of this one's usual size."""

_FAN_OUT = 0.5
"""What a plausible fan-out is worth, in reads."""


@dataclass(frozen=True)
class JobGaps:
    """The gaps of a job in which restores may lie, each between two of its checkpoints.

    Attributes:
        start_s, end_s: when those begin.
        broken: where the rhythm surely breaks; elsewhere only a read behind which it starts anew
            can be a restore.
        size_gb: of a checkpoint.
        interval_s, tolerance_s: the rhythm.
    """

    start_s: Numbers
    end_s: Numbers
    broken: NDArray[np.bool_]
    size_gb: float
    interval_s: float
    tolerance_s: float


@dataclass(frozen=True)
class Restores:
    """The reads that are one job's.

    Attributes:
        count: how many lie in each of its gaps.
        reads: their positions.
        doubtful: how many of them suit another job as well.
        possible: how many reads that are taken for another job's suit this one as well.
        hidden: gaps in which a larger read may hide it.
    """

    count: NDArray[np.int64]
    reads: Places
    doubtful: int
    possible: int
    hidden: NDArray[np.bool_]


@dataclass(frozen=True)
class _Pairs:
    """Reads and the gaps in which they lie, one row for each such pair.

    Attributes:
        read: position of the read.
        job: whose gap it is.
        gap: which one.
        ratio: size of the read over the job's checkpoint.
        anew: whether the next checkpoint comes an interval after the read.
    """

    read: Places
    job: Places
    gap: Places
    ratio: Numbers
    anew: NDArray[np.bool_]


def restores(jobs: Sequence[JobGaps], reads: Bursts, lasts_s: float) -> list[Restores]:
    """Assignment of reads to jobs, as restores.

    Args:
        lasts_s: how long the trace is.
    """
    pairs = _pairs(jobs, reads)
    owner = np.full(len(reads), -1)
    usual = np.zeros(len(jobs))
    row = won = lost = np.zeros(0, dtype=np.intp)
    for _ in range(_ROUNDS):
        usual = np.array(
            [_usual(number, job, pairs, owner, reads, lasts_s) for number, job in enumerate(jobs)]
        )
        row, won, lost = _owned(pairs, usual)
        owner[:] = -1
        owner[pairs.read[row]] = pairs.job[row]
    return [
        Restores(
            count=_count(number, job, pairs, row),
            reads=np.sort(pairs.read[row[pairs.job[row] == number]]),
            doubtful=int(np.sum(pairs.job[won] == number)),
            possible=int(np.sum(pairs.job[lost] == number)),
            hidden=_count(number, job, pairs, _larger(pairs, owner, usual)) > 0,
        )
        for number, job in enumerate(jobs)
    ]


def _pairs(jobs: Sequence[JobGaps], reads: Bursts) -> _Pairs:
    parts = []
    for number, job in enumerate(jobs):
        first = np.searchsorted(reads.start_s, job.start_s)
        count = np.maximum(np.searchsorted(reads.start_s, job.end_s) - first, 0)
        gap = np.repeat(np.arange(len(count)), count)
        read = np.arange(count.sum()) + np.repeat(first - (np.cumsum(count) - count), count)
        ratio = reads.size_gb[read] / job.size_gb
        begun = job.end_s[gap] - reads.end_s[read] - job.interval_s
        anew = np.abs(begun) <= job.tolerance_s
        kept = (ratio >= _LEAST) & (job.broken[gap] | anew)
        parts.append((read, np.full(len(read), number), gap, ratio, anew, kept))
    read, job_of, gap, ratio, anew, kept = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    return _Pairs(read[kept], job_of[kept], gap[kept], ratio[kept], anew[kept])


def _usual(
    number: int, job: JobGaps, pairs: _Pairs, owner: Places, reads: Bursts, lasts_s: float
) -> float:
    """Read volume of a job's restore over its checkpoint size; 0 without restores.

    The size that lies in its breaks more often than chance would have it. A read behind which the
    rhythm starts anew counts twice, one that is rather another job's hardly at all.
    """
    mine = np.flatnonzero(pairs.job == number)
    if not len(mine):
        return 0.0
    whose = owner[pairs.read[mine]]
    weight = np.where((whose < 0) | (whose == number), 1.0, _OTHERS) * (1 + pairs.anew[mine])
    ratio = pairs.ratio[mine]
    hits = _within(ratio, weight, ratio)
    share = float(np.sum(job.end_s - job.start_s)) / lasts_s
    every = reads.size_gb / job.size_gb
    chance = share * _within(every, np.ones(len(every)), ratio)
    nearest = np.maximum(np.round(ratio), 1.0)
    plausible = np.abs(ratio / nearest - 1) <= _WHOLE
    best = ratio[np.argmax(hits - chance + _FAN_OUT * plausible)]
    near = np.abs(np.log(ratio / best)) <= _ALIKE
    return float(np.median(ratio[near]))


def _within(values: Numbers, weight: Numbers, around: Numbers) -> Numbers:
    """Weight near each of some values."""
    order = np.argsort(values, kind="stable")
    total = np.concatenate(([0.0], np.cumsum(weight[order])))
    ordered, reach = values[order], np.exp(_ALIKE)
    first = np.searchsorted(ordered, around / reach, "left")
    last = np.searchsorted(ordered, around * reach, "right")
    return np.asarray(total[last] - total[first])


def _owned(pairs: _Pairs, usual: Numbers) -> tuple[Places, Places, Places]:
    """Return the rows of pairs that hold, one for each read; and where a read suits a second job
    as well, the row that holds and the second's.

    Where a read is as large as several jobs' restores, it is the one's whose rhythm starts anew
    behind it, else the one's whose usual restore is nearest.
    """
    known = usual[pairs.job] > 0
    off = np.abs(np.log(pairs.ratio / np.where(known, usual[pairs.job], 1.0)))
    fits = np.flatnonzero(known & (off <= _ALIKE))
    order = fits[np.lexsort((off[fits], ~pairs.anew[fits], pairs.read[fits]))]
    first = np.diff(pairs.read[order], prepend=-1) > 0
    second = np.flatnonzero(~first & np.roll(first, 1))
    won, lost = order[second - 1], order[second]
    alike = (pairs.anew[won] == pairs.anew[lost]) & (off[lost] - off[won] <= _CLEARLY)
    return order[first], won[alike], lost[alike]


def _larger(pairs: _Pairs, owner: Places, usual: Numbers) -> Places:
    """Return the rows of reads of no job that are large enough to hold a restore."""
    of_job = usual[pairs.job]
    large = (of_job > 0) & (pairs.ratio >= (1 - _ALIKE) * of_job)
    return np.flatnonzero(large & (owner[pairs.read] < 0))


def _count(number: int, job: JobGaps, pairs: _Pairs, rows: Places) -> NDArray[np.int64]:
    """Number of rows in each gap of a job."""
    own = rows[pairs.job[rows] == number]
    return np.bincount(pairs.gap[own], minlength=len(job.start_s)).astype(np.int64)
