"""Jobs among bursts: those of one size that keep a rhythm, taken out one after another.

The strongest rhythm is followed first. Events of one size and one rhythm that overlap in time
belong to several jobs; those that follow one another to one, with an interruption between them.
Each job's rhythm is then followed through bursts that are no job's yet. Checkpoints written at the
same time are separated by the jobs' rhythms, round by round, since an event that is found predicts
the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from planner.telemetry.rhythm import Rhythm, Track, chains, groups, linked, neighbours, rhythm
from planner.telemetry.signal import Bursts, Flags, Places, scatter
from planner.telemetry.tables import Numbers

_SPREADS = 4.0
_MOST_JOBS = 60
_LEAST_CHAIN = 3
_LEAST_EVENTS = 4
_NARROWEST = 0.025
_BEHIND = 0.2
"""A stretch of a job may begin so soon after the one before, in intervals: clocks are set."""

_BEYOND = 2.5
"""Distance of a further event before or after a job's events, in intervals: it may have failed."""

_EARLY = 0.9
"""A checkpoint follows the one before it by at least so much of an interval."""

_ALONE = 0.12
"""A burst at the right time is a job's own where its size is as near as this."""

_LARGER = 0.95
"""A burst that has so much of a job's size or more may hold one of its checkpoints."""

_ROUNDS = 40


@dataclass
class _Pool:
    """Rest of bursts while jobs are found: ``free`` are no job's, ``left_gb`` is the volume without
    the checkpoints found in a burst."""

    free: Flags
    left_gb: Numbers


def find_tracks(bursts: Bursts, sample_s: float) -> list[Track]:
    """Jobs in bursts, by their beginning.

    Each takes the bursts that its rhythm predicts before the next is looked for, and its share of
    those that hold more than one checkpoint.

    Args:
        sample_s: the usual width of a sample.
    """
    pool = _Pool(~bursts.cut & (bursts.size_gb > 0), bursts.size_gb.copy())
    found: list[Track] = []
    while len(found) < _MOST_JOBS and (more := _next(bursts, pool, sample_s)):
        for track in more:
            pool.free[track.places] = False
        found += [_fill(track, bursts, pool, sample_s) for track in more]
    found = [_add_singles(track, bursts, pool.free, sample_s) for track in found]
    found = [track for track in unite(found, sample_s) if len(track.times) >= _LEAST_EVENTS]
    found.sort(key=lambda track: (track.times[0], track.size_gb))
    return separate_overlapping(found, bursts, sample_s)


def _next(bursts: Bursts, pool: _Pool, sample_s: float) -> list[Track]:
    """Jobs of the strongest rhythm among bursts that are no job's yet."""
    left = np.flatnonzero(pool.free & (pool.left_gb > 0))
    best: tuple[Rhythm, Places] | None = None
    for group in groups(pool.left_gb[left]):
        members = left[group]
        one = rhythm(bursts.start_s[members], sample_s)
        if one is not None and (best is None or one.links > best[0].links):
            best = one, members
    return [] if best is None else _tracks_of(bursts, pool, best[1], best[0])


def _tracks_of(bursts: Bursts, pool: _Pool, members: Places, kept: Rhythm) -> list[Track]:
    """Jobs of a rhythm among bursts of one size."""
    times = bursts.start_s[members]
    lanes: list[list[Places]] = []
    for chain in chains(*linked(times, kept.interval_s, kept.tolerance_s)):
        if len(chain) < _LEAST_CHAIN:
            continue
        begin = float(times[chain[0]]) - _BEHIND * kept.interval_s
        fitting = [lane for lane in lanes if times[lane[-1][-1]] <= begin]
        if fitting:
            max(fitting, key=lambda lane: float(times[lane[-1][-1]])).append(chain)
        else:
            lanes.append([chain])
    joined = [members[np.concatenate(lane)] for lane in lanes]
    return [_track(bursts, pool, each, kept) for each in joined if len(each) >= _LEAST_EVENTS]


def _track(bursts: Bursts, pool: _Pool, places: Places, kept: Rhythm) -> Track:
    size = pool.left_gb[places]
    middle = float(np.median(size))
    whole = size == bursts.size_gb[places]
    return Track(
        size_gb=middle,
        drain_s=float(np.median(bursts.duration_s[places])),
        interval_s=kept.interval_s,
        tolerance_s=kept.tolerance_s,
        spread=max(scatter(size / middle), _NARROWEST / _SPREADS),
        times=bursts.start_s[places],
        places=places,
        alone=whole,
    )


def _add_singles(track: Track, bursts: Bursts, free: Flags, sample_s: float) -> Track:
    """Add bursts of a job's size that stand alone between interruptions."""
    while True:
        beyond_s = track.interval_s * _BEYOND
        near = free & (bursts.start_s > track.times[0] - beyond_s)
        near &= bursts.start_s < track.times[-1] + beyond_s
        reach = max(_SPREADS * track.spread, _NARROWEST)
        near &= np.abs(bursts.size_gb / track.size_gb - 1) <= reach
        places = np.flatnonzero(near)
        places = places[_apart(track, bursts.start_s[places])]
        if not len(places):
            return track.refitted(sample_s)
        free[places] = False
        track = track.with_events(bursts.start_s[places], places, True)


def _apart(track: Track, times: Numbers) -> Flags:
    """Mask of times no nearer to the job's events than its rhythm allows."""
    least = _EARLY * track.interval_s - track.tolerance_s
    before, after = neighbours(track.times, times)
    return (times - before >= least) & (after - times >= least)


def _predict(
    track: Track, bursts: Bursts, places: Places, sample_s: float
) -> tuple[Places, Numbers]:
    """Times within bursts at which a job's rhythm predicts checkpoints, in order, and the positions
    of the bursts in ``places``; a burst may be there several times.

    Args:
        places: the bursts to look at, in order of time.
        sample_s: the usual width of a sample.
    """
    if not len(places):
        return np.zeros(0, dtype=np.intp), np.zeros(0)
    slack_s = track.tolerance_s + sample_s
    start, end = bursts.start_s[places], bursts.end_s[places]
    latest = np.maximum(end - 0.5 * track.drain_s, start) + slack_s
    expected = track.expected()
    row = np.searchsorted(start - slack_s, expected, side="right") - 1
    inside = (row >= 0) & (expected <= latest[np.maximum(row, 0)])
    return row[inside], expected[inside]


def _fill(track: Track, bursts: Bursts, pool: _Pool, sample_s: float) -> Track:
    """A job with the checkpoints that its rhythm predicts, where bursts can hold them.

    A burst of its size is its own; of a larger one its size is taken, and the rest may be another
    job's.

    Args:
        pool: the rest of the bursts; changed.
        sample_s: the usual width of a sample.
    """
    for _ in range(_ROUNDS):
        places = np.flatnonzero(pool.free & (pool.left_gb >= (1 - _ALONE) * track.size_gb))
        rows, wanted = _predict(track, bursts, places, sample_s)
        rows, first = np.unique(rows, return_index=True)
        places, wanted = places[rows], wanted[first]
        reach = max(_ALONE, _SPREADS * track.spread)
        own = np.abs(pool.left_gb[places] / track.size_gb - 1) <= reach
        held = ~own & (pool.left_gb[places] >= _LARGER * track.size_gb)
        if not (own.any() or held.any()):
            return track
        pool.free[places[own]] = False
        whole = own & (pool.left_gb[places] == bursts.size_gb[places])
        part = (own & ~whole) | held
        pool.left_gb[places[held]] -= track.size_gb
        track = track.with_events(bursts.start_s[places[whole]], places[whole], True)
        track = track.with_events(wanted[part], places[part], False)
        track = track.refitted(sample_s)
    return track


# Parts of one job

_ALIKE, _TOO_NEAR, _FEW = 0.03, 0.6, 0.05
_STRAYS, _STRAY_SIZE, _BESIDE = 0.1, 0.15, 20.0
_MOST_TIMES = 3
"""Every so many of a job's checkpoints may look like another's; more are one by chance."""


def unite(found: Sequence[Track], sample_s: float) -> list[Track]:
    """Jobs, those joined that are one: of one size, and never too near in time.

    A job may be found in parts where interruptions shift its rhythm, or where others' writes hide
    in turn every second of its checkpoints.
    """

    result: list[Track] = []
    for track in sorted(found, key=lambda one: -len(one.times)):
        for place, other in enumerate(result):
            if _one_job(other, track):
                joined = other.with_events(track.times, track.places, track.alone)
                result[place] = joined.refitted(sample_s)
                break
            if _stray(other, track):
                break
        else:
            result.append(track)
    return result


def _one_job(track: Track, other: Track) -> bool:
    reach = max(_NARROWEST, _SPREADS * max(track.spread, other.spread))
    ratio = other.interval_s / track.interval_s
    if abs(other.size_gb / track.size_gb - 1) > reach:
        return False
    if round(ratio) < 1 or abs(ratio / round(ratio) - 1) > _ALIKE:
        return False
    apart = other.times[0] >= track.times[-1] or other.times[-1] <= track.times[0]
    if round(ratio) > 1 and apart:  # another interval from some day on is another job
        return False
    times = np.sort(np.concatenate((track.times, other.times)))
    near = np.sum(np.diff(times) < _TOO_NEAR * track.interval_s)
    return bool(near <= _FEW * min(len(track.times), len(other.times)))


def _stray(track: Track, other: Track) -> bool:
    """True if a few bursts only look like a job, because another's were disturbed."""
    few = len(other.times) <= _STRAYS * len(track.times)
    near = abs(other.size_gb / track.size_gb - 1) <= _STRAY_SIZE
    slack = _BESIDE * track.interval_s
    during = other.times[0] >= track.times[0] - slack and other.times[-1] <= track.times[-1] + slack
    ratio = other.interval_s / track.interval_s
    times = min(max(round(ratio), 1), _MOST_TIMES)
    return few and near and during and abs(ratio / times - 1) <= _ALIKE


# Several checkpoints in a burst

_SEPARATING_ROUNDS = 12
_MOST, _MOST_JOBS_IN_BURST = 4, 5
_OFF = 0.06
_OVERLAPPING_SPREADS = 3.0
_LEFT_OUT = 0.02
"""A predicted job is left out only where the size agrees better by so much."""


def separate_overlapping(found: Sequence[Track], bursts: Bursts, sample_s: float) -> list[Track]:
    """Jobs with the checkpoints that hide in bursts that are no job's yet.

    Args:
        sample_s: the usual width of a sample.
    """
    current = list(found)
    free = np.ones(len(bursts), dtype=bool)
    for track in current:
        free[track.places] = False
    for _ in range(_SEPARATING_ROUNDS):
        left = np.flatnonzero(free)
        predicted = [_predict(track, bursts, left, sample_s) for track in current]
        counts = [np.bincount(rows, minlength=len(left)) for rows, _ in predicted]
        chosen = _choose(current, bursts, left, np.array(counts).reshape(len(current), len(left)))
        for place, (rows, times) in enumerate(predicted):
            nth = np.arange(len(rows)) - np.searchsorted(rows, rows)
            kept = nth < chosen[rows, place]  # of the times in a burst as many as it holds
            if kept.any():
                rows, times = rows[kept], times[kept]
                many = chosen[rows].sum(axis=1)
                track = _add(current[place], bursts, left[rows], times, many)
                current[place] = track.refitted(sample_s)
        if not chosen.any():
            break
        free[left[chosen.any(axis=1)]] = False
    return current


def _choose(
    found: Sequence[Track], bursts: Bursts, left: Places, asked: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Number of checkpoints of each job (columns) in bursts (rows): those predicted whose sizes add
    up to the burst.

    Args:
        left: bursts that are no job's.
        asked: number of checkpoints that each job's rhythm predicts in each of these.
    """
    chosen = np.zeros((len(left), len(found)), dtype=np.intp)
    size = bursts.size_gb[left]
    patterns, which = np.unique(np.minimum(asked, _MOST), axis=1, return_inverse=True)
    for number, pattern in enumerate(patterns.T):
        rows = np.flatnonzero(np.ravel(which) == number)
        _divide(found, size, rows, pattern, chosen)
    return chosen


def _divide(
    found: Sequence[Track],
    size: Numbers,
    rows: Places,
    pattern: NDArray[np.intp],
    chosen: NDArray[np.intp],
) -> None:
    """Choose, for bursts in which the same jobs are predicted, those whose sizes add up best."""
    asking = np.flatnonzero(pattern)[:_MOST_JOBS_IN_BURST]
    best = np.full(len(rows), np.inf)
    for many in product(*(range(int(pattern[job]) + 1) for job in asking)):
        if not 1 <= sum(many) <= _MOST:
            continue
        jobs = [int(job) for job, count in zip(asking, many, strict=True) if count]
        total = sum(found[job].size_gb * n for job, n in zip(asking, many, strict=True))
        spread = max(found[job].spread for job in jobs)
        limit = _ALONE if sum(many) == 1 else max(_OFF, _OVERLAPPING_SPREADS * spread)
        off = np.abs(size[rows] / total - 1)
        doubt = off + _LEFT_OUT * (len(asking) - len(jobs))
        nearer = (off <= limit) & (doubt < best)
        best[nearer] = doubt[nearer]
        made = np.zeros(len(found), dtype=np.intp)
        made[asking] = many
        chosen[rows[nearer]] = made


def _add(
    track: Track, bursts: Bursts, places: Places, asked: Numbers, many: NDArray[np.intp]
) -> Track:
    """A job with further bursts that are its own, or hold one of its checkpoints."""
    start, end = bursts.start_s[places], bursts.end_s[places]
    alone = (many == 1) & (np.abs(bursts.size_gb[places] / track.size_gb - 1) <= _ALONE)
    latest = np.maximum(end - 0.5 * track.drain_s, start)
    times = np.where(alone, start, np.clip(asked, start, latest))
    return track.with_events(times, places, alone)
