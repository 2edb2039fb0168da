"""Whose restore a read is, where several jobs share one storage.

Every restore of a job reads the same: a checkpoint, or a multiple of it where each replica reads
its own. It lies in a break of the job's rhythm, and the rhythm starts anew at its end. A read is
one job's only; one that suits several equally well is told, since neither's rate is sure then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.telemetry.bursts import Bursts
from planner.telemetry.raw import Numbers, Places

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
class Tried:
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


def restores(jobs: Sequence[Tried], reads: Bursts, lasts_s: float) -> list[Restores]:
    """Return which reads are whose restores.

    Args:
        jobs: the gaps of each job.
        reads: bursts of reading, in order of time.
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
            count=_counted(number, job, pairs, row),
            reads=np.sort(pairs.read[row[pairs.job[row] == number]]),
            doubtful=int(np.sum(pairs.job[won] == number)),
            possible=int(np.sum(pairs.job[lost] == number)),
            hidden=_counted(number, job, pairs, _larger(pairs, owner, usual)) > 0,
        )
        for number, job in enumerate(jobs)
    ]


def _pairs(jobs: Sequence[Tried], reads: Bursts) -> _Pairs:
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
    number: int, job: Tried, pairs: _Pairs, owner: Places, reads: Bursts, lasts_s: float
) -> float:
    """Return what a restore of a job reads, over its checkpoint's size; 0 where none shows.

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
    """Return how much weight lies near each of some values."""
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


def _counted(number: int, job: Tried, pairs: _Pairs, rows: Places) -> NDArray[np.int64]:
    """Return how many of some rows lie in each gap of a job."""
    own = rows[pairs.job[rows] == number]
    return np.bincount(pairs.gap[own], minlength=len(job.start_s)).astype(np.int64)
