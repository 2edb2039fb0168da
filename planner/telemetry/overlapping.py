"""Bursts that hold several checkpoints, or other traffic besides: which checkpoints are in them.

Checkpoints written at the same time are separated by the jobs' rhythms; then all are
placed where the traffic suits them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from planner.telemetry.bursts import Bursts
from planner.telemetry.raw import Numbers, Places
from planner.telemetry.tracking import ALONE, CUT, INFERRED, WHOLE, Track, ask

_ROUNDS = 12
_MOST, _MOST_ASKING = 4, 5
_OFF = 0.06
_SPREADS = 3.0
_LEFT_OUT = 0.02
"""A job that is asked for is left out only where the size agrees better by so much."""

_LARGER = 0.9


def separate_overlapping(found: Sequence[Track], bursts: Bursts, sample_s: float) -> list[Track]:
    """Return the jobs with the checkpoints that hide in bursts that are no job's yet.

    Round by round, since an event that is found tells where the next is to be expected.

    Args:
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
    asking = [ask(track, bursts, left, track.tolerance_s + sample_s) for track in found]
    counts = np.array([np.bincount(rows, minlength=len(left)) for rows, _ in asking])
    chosen = _choose(found, bursts, left, counts.reshape(len(found), len(left)))
    result = []
    for place, track in enumerate(found):
        rows, times = _take(*asking[place], chosen[:, place])
        if len(rows):
            track = _add(track, bursts, left[rows], times, chosen[rows].sum(axis=1))
            track = track.refitted(sample_s)
        result.append(track)
    free[left[chosen.any(axis=1)]] = False
    return result


def _take(rows: Places, times: Numbers, many: NDArray[np.intp]) -> tuple[Places, Numbers]:
    """Return of the times expected in each burst the first ones, as many as it holds."""
    if not len(rows):
        return rows, times
    first = np.searchsorted(rows, rows)
    kept = np.arange(len(rows)) - first < many[rows]
    return rows[kept], times[kept]


def _choose(
    found: Sequence[Track], bursts: Bursts, left: Places, asked: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Number of checkpoints of each job in a burst: those expected whose sizes add up to
    it.

    Args:
        left: those that are no job's.
        asked: how many checkpoints each job's rhythm asks for in each of these.
    """
    chosen = np.zeros((len(left), len(found)), dtype=np.intp)
    size = bursts.size_gb[left]
    patterns, which = np.unique(np.minimum(asked, _MOST), axis=1, return_inverse=True)
    for number, pattern in enumerate(patterns.T):
        rows = np.flatnonzero(np.ravel(which) == number)
        _divide(found, size, rows, pattern, chosen)
    _among_others(found, size, asked, chosen)
    _cut(bursts, left, asked, chosen)
    return chosen


def _divide(
    found: Sequence[Track],
    size: Numbers,
    rows: Places,
    pattern: NDArray[np.intp],
    chosen: NDArray[np.intp],
) -> None:
    """Choose, for bursts that the same jobs expect, those whose sizes make them up best."""
    asking = np.flatnonzero(pattern)[:_MOST_ASKING]
    best = np.full(len(rows), np.inf)
    for many in product(*(range(int(pattern[job]) + 1) for job in asking)):
        if not 1 <= sum(many) <= _MOST:
            continue
        jobs = [int(job) for job, count in zip(asking, many, strict=True) if count]
        total = sum(found[job].size_gb * n for job, n in zip(asking, many, strict=True))
        spread = max(found[job].spread for job in jobs)
        limit = ALONE if sum(many) == 1 else max(_OFF, _SPREADS * spread)
        off = np.abs(size[rows] / total - 1)
        doubt = off + _LEFT_OUT * (len(asking) - len(jobs))
        nearer = (off <= limit) & (doubt < best)
        best[nearer] = doubt[nearer]
        made = np.zeros(len(found), dtype=np.intp)
        made[asking] = many
        chosen[rows[nearer]] = made


def _among_others(
    found: Sequence[Track], size: Numbers, asked: NDArray[np.intp], chosen: NDArray[np.intp]
) -> None:
    """Give a burst that is larger than the only job that asks for it to that job."""
    sizes = np.array([track.size_gb for track in found])
    for row in np.flatnonzero(~chosen.any(axis=1) & (asked.sum(axis=0) >= 1)):
        jobs = np.flatnonzero(asked[:, row])
        if size[row] >= _LARGER * sizes[jobs].sum():
            chosen[row, jobs] = 1


def _cut(bursts: Bursts, left: Places, asked: NDArray[np.intp], chosen: NDArray[np.intp]) -> None:
    """Give a burst that a hole cuts to the one job that asks for it."""
    for row in np.flatnonzero(bursts.cut[left] & ~chosen.any(axis=1)):
        if asked[:, row].sum() == 1:
            chosen[row] = asked[:, row]


def _add(
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


_LONGER = 1.25
_CLEAR = 0.25
"""A checkpoint of less than this share of a burst is hard to see in what else scatters there."""

_APART = 0.5
_STEPS = 2
"""Places that are tried in a sample."""

_DOUBT = 0.15
"""Share of a checkpoint's size that a place must gain for each tolerance it is off the rhythm."""


@dataclass(frozen=True)
class Traffic:
    """Traffic above the background by sample, GB/s: ``rest`` is what no checkpoint accounts
    for yet; where samples begin, and how long they are."""

    rest: Numbers
    start_s: Numbers
    width_s: Numbers


def place_all(found: Sequence[Track], bursts: Bursts, traffic: Traffic) -> list[Track]:
    """Return jobs with their doubtful checkpoints put where the traffic is that suits them.

    The job that writes fastest is placed first, where its drain holds the most traffic, and its
    part is taken away before the next.

    Args:
        traffic: writes above the background; changed.
    """
    result = list(found)
    order = sorted(range(len(found)), key=lambda one: -found[one].size_gb / found[one].drain_s)
    for job in order:
        track = result[job]
        times = track.times.copy()
        for event in np.flatnonzero(_doubtful(track, bursts)):
            times[event] = _place(track, times, int(event), bursts, traffic)
        places: Places = np.argsort(times, kind="stable")
        result[job] = replace(
            track, times=times[places], places=track.places[places], kinds=track.kinds[places]
        )
    return result


def _doubtful(track: Track, bursts: Bursts) -> NDArray[np.bool_]:
    """Return the events whose burst may hold something besides."""
    size, long = bursts.size_gb[track.places], bursts.duration_s[track.places]
    off = np.abs(size / track.size_gb - 1) > max(_SPREADS * track.spread, 0.01)
    stretched = long > _LONGER * track.drain_s + 0.1 * np.median(long)
    return np.asarray((track.kinds == INFERRED) | ((track.kinds == WHOLE) & off & stretched))


def _place(track: Track, times: Numbers, event: int, bursts: Bursts, traffic: Traffic) -> float:
    """Start of a checkpoint in its burst; its part is taken from the traffic."""
    burst = track.places[event]
    low, high = float(bursts.start_s[burst]), float(bursts.end_s[burst])
    first = max(int(np.searchsorted(traffic.start_s, low, "right")) - 1, 0)
    last = int(np.searchsorted(traffic.start_s, high, "left"))
    width, rest = traffic.width_s[first:last], traffic.rest[first:last]
    edges = np.append(traffic.start_s[first:last], traffic.start_s[last - 1] + width[-1])
    moved = np.concatenate(([0.0], np.cumsum(rest * width)))
    latest = max(low, high - track.drain_s)
    tried = np.append(np.arange(low, latest, float(np.median(width)) / _STEPS), latest)
    held = np.interp(tried + track.drain_s, edges, moved) - np.interp(tried, edges, moved)
    weight = min(1.0, track.size_gb / (_CLEAR * float(bursts.size_gb[burst])))
    gain = weight * np.minimum(held / track.size_gb, 1.0)
    if track.kinds[event] == INFERRED:
        gain = gain - _DOUBT * np.abs(tried - times[event]) / track.tolerance_s
    gain = gain - _crowded(track, times, event, tried)
    at = float(tried[int(np.argmax(gain))])
    inside = np.clip((at + track.drain_s - edges[:-1]) / width, 0, 1)
    inside -= np.clip((at - edges[:-1]) / width, 0, 1)
    rest -= inside * track.size_gb / track.drain_s
    return at


def _crowded(track: Track, times: Numbers, event: int, tried: Numbers) -> Numbers:
    """Return a penalty for times too near to the job's other checkpoints."""
    near = np.zeros(len(tried))
    for other in (event - 1, event + 1):
        if 0 <= other < len(times):
            near += np.abs(tried - times[other]) < _APART * track.interval_s
    return near
