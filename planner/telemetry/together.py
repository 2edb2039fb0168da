"""Checkpoints written at the same time, told apart by what the jobs' rhythms ask for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from planner.telemetry.bursts import Bursts
from planner.telemetry.filling import ALONE, asked
from planner.telemetry.raw import Numbers
from planner.telemetry.rhythm import Places
from planner.telemetry.track import CUT, INFERRED, WHOLE, Track

_ROUNDS = 12
_MOST, _MOST_ASKING = 4, 8
_OFF = 0.06
_SPREADS = 3.0
_LARGER = 0.9


def shared(found: Sequence[Track], bursts: Bursts, sample_s: float) -> list[Track]:
    """Return the jobs with the checkpoints that hide in bursts that are no job's yet.

    Round by round, since an event that is found tells where the next is to be expected.

    Args:
        found: the jobs.
        bursts: bursts of writing, in order of time.
        sample_s: the usual width of a sample.
    """
    current = list(found)
    free = np.ones(len(bursts), dtype=bool)
    for track in current:
        free[track.places] = False
    for _ in range(_ROUNDS):
        before = int(free.sum())
        current = _round(current, bursts, free, sample_s)
        if int(free.sum()) == before:
            break
    return current


def _round(
    found: list[Track], bursts: Bursts, free: NDArray[np.bool_], sample_s: float
) -> list[Track]:
    left = np.flatnonzero(free)
    wanted = np.array([asked(track, bursts, left, track.tolerance_s + sample_s) for track in found])
    wanted = wanted.reshape(len(found), len(left))
    chosen = _choice(found, bursts, left, ~np.isnan(wanted))
    result = []
    for place, track in enumerate(found):
        rows = np.flatnonzero(chosen[:, place])
        if len(rows):
            track = _with(track, bursts, left[rows], wanted[place, rows], chosen[rows].sum(axis=1))
            free[left[rows]] = False
            track = track.refitted(sample_s)
        result.append(track)
    return result


def _choice(
    found: Sequence[Track], bursts: Bursts, left: Places, asked: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which jobs each burst is of: all of them asked for, their sizes make up the burst."""
    chosen = np.zeros((len(left), len(found)), dtype=bool)
    size = bursts.size_gb[left]
    patterns, which = np.unique(asked, axis=1, return_inverse=True)
    for number, pattern in enumerate(patterns.T):
        rows = np.flatnonzero(np.ravel(which) == number)
        _divide(found, size, rows, np.flatnonzero(pattern)[:_MOST_ASKING].tolist(), chosen)
    _among_others(found, size, asked, chosen)
    _cut(bursts, left, asked, chosen)
    return chosen


def _divide(
    found: Sequence[Track],
    size: Numbers,
    rows: Places,
    asking: list[int],
    chosen: NDArray[np.bool_],
) -> None:
    """Choose for bursts that the same jobs ask for those whose sizes make them up best."""
    best = np.full(len(rows), np.inf)
    for many in range(1, min(_MOST, len(asking)) + 1):
        for jobs in combinations(asking, many):
            total = sum(found[job].size_gb for job in jobs)
            spread = max(found[job].spread for job in jobs)
            limit = ALONE if many == 1 else max(_OFF, _SPREADS * spread)
            off = np.abs(size[rows] / total - 1)
            nearer = (off <= limit) & (off < best)
            best[nearer] = off[nearer]
            chosen[rows[nearer]] = np.isin(np.arange(len(found)), jobs)


def _among_others(
    found: Sequence[Track], size: Numbers, asked: NDArray[np.bool_], chosen: NDArray[np.bool_]
) -> None:
    """Give a burst that is larger than the only job that asks for it to that job."""
    sizes = np.array([track.size_gb for track in found])
    for row in np.flatnonzero(~chosen.any(axis=1) & (asked.sum(axis=0) >= 1)):
        jobs = np.flatnonzero(asked[:, row])
        if size[row] >= _LARGER * sizes[jobs].sum():
            chosen[row, jobs] = True


def _cut(bursts: Bursts, left: Places, asked: NDArray[np.bool_], chosen: NDArray[np.bool_]) -> None:
    """Give a burst that a hole cuts to the one job that asks for it."""
    for row in np.flatnonzero(bursts.cut[left] & ~chosen.any(axis=1)):
        if asked[:, row].sum() == 1:
            chosen[row] = asked[:, row]


def _with(
    track: Track, bursts: Bursts, places: Places, asked: Numbers, many: NDArray[np.intp]
) -> Track:
    """Return a job with further bursts that are its own, or hold one of its checkpoints."""
    start, end = bursts.start_s[places], bursts.end_s[places]
    fits = np.abs(bursts.size_gb[places] / track.size_gb - 1) <= ALONE
    alone = (many == 1) & fits
    cut = bursts.cut[places] & ~fits & (many == 1)
    latest = np.maximum(end - 0.5 * track.drain_s, start)
    times = np.where(alone, start, np.clip(asked, start, latest))
    for which, kind in ((alone, WHOLE), (cut, CUT), (~alone & ~cut, INFERRED)):
        if which.any():
            track = track.with_events(times[which], places[which], kind)
    return track
