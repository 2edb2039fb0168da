"""Jobs among bursts: those of one size that keep a rhythm, taken out one after another.

The strongest rhythm at the narrowest scatter of sizes is followed first. Events of one size and
one rhythm that overlap in time belong to several jobs; those that follow one another to one, with
an interruption between them. Each job's rhythm is then followed through bursts that are not its own
yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.telemetry.bursts import Bursts
from planner.telemetry.ranges import scatter
from planner.telemetry.raw import Numbers, Places
from planner.telemetry.track import (
    INFERRED,
    SCALES,
    WHOLE,
    Rhythm,
    Track,
    chains,
    groups,
    linked,
    neighbours,
    rhythm,
)

_SPREADS = 4.0
_MOST_JOBS = 60
_LEAST_CHAIN = 3
_LEAST_EVENTS = 4
_NARROWEST = 0.025
_SURE = 3.0
_BEHIND = 0.2
"""A stretch of a job may begin so soon after the one before, in intervals: clocks are set."""

_ALIKE, _TOO_NEAR, _FEW = 0.03, 0.6, 0.05
_STRAYS, _STRAY_SIZE, _BESIDE = 0.1, 0.15, 20.0
_MOST_TIMES = 3
"""Every so many of a job's checkpoints may look like another's; more are one by chance."""

_BETWEEN, _LOCKED, _TOGETHER = 0.25, 0.9, 0.6
"""Two jobs are one where so many of the one's checkpoints lie so near to the middle between two of
the other's, and the other has one before and behind for so many."""

_BEYOND = 2.5
"""How far before or after a job's events one more may be, in intervals: it may have failed."""

_EARLY = 0.9
"""A checkpoint follows the one before it by at least so much of an interval."""

ALONE = 0.12
"""A burst at the right time is a job's own where its size is as near as this."""

LARGER = 0.95
"""A burst that has so much of a job's size or more may hold one of its checkpoints."""

_ROUNDS = 40


@dataclass
class Pool:
    """What is left of bursts while jobs are found: ``free`` are no job's, ``left_gb`` is what the
    checkpoints found in a burst do not account for."""

    free: NDArray[np.bool_]
    left_gb: Numbers


def tracks(bursts: Bursts, sample_s: float) -> list[Track]:
    """Return the jobs that bursts show, one after another.

    Each takes the bursts that its rhythm asks for before the next is looked for, and its share of
    those that hold more than one checkpoint.

    Args:
        bursts: bursts of writing, in order of time.
        sample_s: the usual width of a sample.
    """
    pool = Pool(~bursts.cut & (bursts.size_gb > 0), bursts.size_gb.copy())
    found: list[Track] = []
    while len(found) < _MOST_JOBS:
        more = _next(bursts, pool, sample_s)
        if not more:
            break
        for track in more:
            pool.free[track.places] = False
        found += [fill(track, bursts, pool, sample_s) for track in more]
    found = unite(_add_singles(found, bursts, pool.free, sample_s), sample_s)
    return [_clean(track, bursts) for track in found if len(track.times) >= _LEAST_EVENTS]


def _clean(track: Track, bursts: Bursts) -> Track:
    """Return a job with the bursts that are surely its own: all jobs together tell the others."""
    off = np.abs(bursts.size_gb[track.places] / track.size_gb - 1)
    sure = (track.kinds == WHOLE) & (off <= _SURE * track.spread)
    return track.cleaned(sure & (sure.sum() >= _LEAST_EVENTS))


def _next(bursts: Bursts, pool: Pool, sample_s: float) -> list[Track]:
    """Return the jobs of the strongest rhythm among bursts that are no job's yet."""
    left = np.flatnonzero(pool.free & (pool.left_gb > 0))
    for scale in SCALES:
        best: tuple[Rhythm, Places] | None = None
        for group in groups(pool.left_gb[left], scale):
            members = left[group]
            one = rhythm(bursts.start_s[members], sample_s)
            if one is not None and (best is None or one.links > best[0].links):
                best = one, members
        if best is not None:
            made = _tracks_of(bursts, pool, best[1], best[0])
            if made:
                return made
    return []


def _tracks_of(bursts: Bursts, pool: Pool, members: Places, kept: Rhythm) -> list[Track]:
    """Return the jobs that a rhythm makes of bursts of one size."""
    times = bursts.start_s[members]
    first, second = linked(times, kept.interval_s, kept.tolerance_s)
    lanes: list[list[Places]] = []
    ends: list[float] = []
    long = [chain for chain in chains(first, second) if len(chain) >= _LEAST_CHAIN]
    for chain in long:
        begin, end = float(times[chain[0]]), float(times[chain[-1]])
        fitting = [
            lane for lane, last in enumerate(ends) if last + _BEHIND * kept.interval_s <= begin
        ]
        if fitting:
            lane = max(fitting, key=lambda one: ends[one])
            lanes[lane].append(chain)
            ends[lane] = end
        else:
            lanes.append([chain])
            ends.append(end)
    joined = [np.concatenate(lane) for lane in lanes]
    most = max((len(lane) for lane in joined), default=0)
    enough = max(_LEAST_EVENTS, 0.1 * most)
    return [_track(bursts, pool, members[lane], kept) for lane in joined if len(lane) >= enough]


def _track(bursts: Bursts, pool: Pool, places: Places, kept: Rhythm) -> Track:
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
        kinds=np.where(whole, WHOLE, INFERRED).astype(np.int8),
    )


def _add_singles(
    found: Sequence[Track], bursts: Bursts, free: NDArray[np.bool_], sample_s: float
) -> list[Track]:
    """Add bursts of a job's size that stand alone between interruptions."""
    result = []
    for track in found:
        while True:
            wanted = track.interval_s
            near = free & (bursts.start_s > track.start_s - wanted * _BEYOND)
            near &= bursts.start_s < track.end_s + wanted * _BEYOND
            reach = max(_SPREADS * track.spread, _NARROWEST)
            near &= np.abs(bursts.size_gb / track.size_gb - 1) <= reach
            places = np.flatnonzero(near)
            places = places[_apart(track, bursts.start_s[places])]
            if not len(places):
                break
            free[places] = False
            track = track.with_events(bursts.start_s[places], places.astype(np.intp), WHOLE)
        result.append(track.refitted(sample_s))
    return result


def _apart(track: Track, times: Numbers) -> NDArray[np.bool_]:
    """Return which of some times are no nearer to the job's events than its rhythm allows.

    Of those that are too near to one another the first is taken.
    """
    least = _EARLY * track.interval_s - track.tolerance_s
    before, after = neighbours(track.times, times)
    fits = (times - before >= least) & (after - times >= least)
    last = -np.inf
    for place in np.flatnonzero(fits):
        if times[place] - last < least:
            fits[place] = False
        else:
            last = times[place]
    return np.asarray(fits)


def ask(track: Track, bursts: Bursts, places: Places, slack_s: float) -> tuple[Places, Numbers]:
    """Return when a job's rhythm asks for checkpoints within bursts, and which of them.

    Args:
        track: the job.
        bursts: all bursts.
        places: the ones to look at, in order of time.
        slack_s: how far a checkpoint may begin outside of its burst.

    Returns:
        Positions in ``places`` and times, in order of time; a burst may be there several times.
    """
    if not len(places):
        return np.zeros(0, dtype=np.intp), np.zeros(0)
    start, end = bursts.start_s[places], bursts.end_s[places]
    latest = np.maximum(end - 0.5 * track.drain_s, start) + slack_s
    expected = track.expected()
    row = np.searchsorted(start - slack_s, expected, side="right") - 1
    inside = (row >= 0) & (expected <= latest[np.maximum(row, 0)])
    # Just before a burst the one before it may hold the checkpoint as well.
    earlier = ~inside & (row >= 1) & (expected <= latest[np.maximum(row - 1, 0)])
    row = np.where(earlier, row - 1, row)
    kept = inside | earlier
    return row[kept], expected[kept]


def fill(track: Track, bursts: Bursts, pool: Pool, sample_s: float) -> Track:
    """Return a job with the checkpoints that its rhythm asks for, where bursts can hold them.

    A burst of its size is its own; of a larger one its size is taken, and what is left may be
    another job's. Round by round, since an event that is found tells where the next may be.

    Args:
        track: the job.
        bursts: bursts of writing, in order of time.
        pool: what is left of them; changed.
        sample_s: the usual width of a sample.
    """
    for _ in range(_ROUNDS):
        places = np.flatnonzero(pool.free & (pool.left_gb >= (1 - ALONE) * track.size_gb))
        rows, wanted = ask(track, bursts, places, track.tolerance_s + sample_s)
        rows, first = np.unique(rows, return_index=True)
        places, wanted = places[rows], wanted[first]
        reach = max(ALONE, _SPREADS * track.spread)
        own = np.abs(pool.left_gb[places] / track.size_gb - 1) <= reach
        held = ~own & (pool.left_gb[places] >= LARGER * track.size_gb)
        if not (own.any() or held.any()):
            return track
        if own.any():
            pool.free[places[own]] = False
            whole = own & (pool.left_gb[places] == bursts.size_gb[places])
            track = track.with_events(bursts.start_s[places[whole]], places[whole], WHOLE)
            rest = own & ~whole
            track = track.with_events(wanted[rest], places[rest], INFERRED)
        if held.any():
            pool.left_gb[places[held]] -= track.size_gb
            track = track.with_events(wanted[held], places[held], INFERRED)
        track = track.refitted(sample_s)
    return track


def unite(found: Sequence[Track], sample_s: float) -> list[Track]:
    """Return the jobs with those joined that are one: of one size, and never too near in time.

    A job may be found in parts where interruptions shift its rhythm, or where others' writes hide
    in turn every second of its checkpoints.
    """

    def join(track: Track, other: Track) -> Track | None:
        if _one_job(track, other):
            joined = track.with_events(other.times, other.places, other.kinds)
            return joined.refitted(sample_s)
        return track if _stray(track, other) else None

    return _fold(sorted(found, key=lambda one: -len(one.times)), join)


def _fold(found: Sequence[Track], join: Callable[[Track, Track], Track | None]) -> list[Track]:
    """Return the jobs, each taken into the first one before it that it can be joined to."""
    result: list[Track] = []
    for track in found:
        for place, other in enumerate(result):
            joined = join(other, track)
            if joined is not None:
                result[place] = joined
                break
        else:
            result.append(track)
    return result


def _alike(track: Track, other: Track) -> bool:
    """Return whether the checkpoints of two jobs are of one size."""
    reach = max(_NARROWEST, _SPREADS * max(track.spread, other.spread))
    return abs(other.size_gb / track.size_gb - 1) <= reach


def _one_job(track: Track, other: Track) -> bool:
    if not _alike(track, other):
        return False
    ratio = other.interval_s / track.interval_s
    if round(ratio) < 1 or abs(ratio / round(ratio) - 1) > _ALIKE:
        return False
    apart = other.start_s >= track.end_s or other.end_s <= track.start_s
    if round(ratio) > 1 and apart:  # another interval from some day on is another job
        return False
    times = np.sort(np.concatenate((track.times, other.times)))
    near = np.sum(np.diff(times) < _TOO_NEAR * track.interval_s)
    return bool(near <= _FEW * min(len(track.times), len(other.times)))


def _stray(track: Track, other: Track) -> bool:
    """Return whether a few bursts only look like a job, because another's were disturbed."""
    few = len(other.times) <= _STRAYS * len(track.times)
    near = abs(other.size_gb / track.size_gb - 1) <= _STRAY_SIZE
    slack = _BESIDE * track.interval_s
    during = other.start_s >= track.start_s - slack and other.end_s <= track.end_s + slack
    ratio = other.interval_s / track.interval_s
    times = min(max(round(ratio), 1), _MOST_TIMES)
    return few and near and during and abs(ratio / times - 1) <= _ALIKE


def join_interleaved(found: Sequence[Track]) -> list[Track]:
    """Return the jobs with those joined that are one whose interval is short and long in turn.

    Of one size and one interval, each writes between two checkpoints of the other, never near one:
    the restarts of two jobs would shift one against the other.
    """

    def join(track: Track, other: Track) -> Track | None:
        phases = _phases(track, other)
        if not len(phases) or np.mean(np.abs(phases - 0.5) <= _BETWEEN) < _LOCKED:
            return None
        half = track.interval_s / 2
        uneven = 2 * float(np.median(np.abs(phases - 0.5))) * half
        joined = track.with_events(other.times, other.places, other.kinds)
        return replace(joined, interval_s=half, tolerance_s=uneven + track.tolerance_s / 2)

    return _fold(found, join)


def _phases(track: Track, other: Track) -> Numbers:
    """Return where in a job's gaps another's checkpoints lie, as shares; none if not comparable."""
    if not _alike(track, other) or abs(other.interval_s / track.interval_s - 1) > _ALIKE:
        return np.zeros(0)
    before, after = neighbours(track.times, other.times)
    kept = np.abs(after - before - track.interval_s) <= track.tolerance_s
    if np.mean(kept) < _TOGETHER:
        return np.zeros(0)
    return np.asarray((other.times - before)[kept] / (after - before)[kept])


def drop_sums(found: Sequence[Track]) -> list[Track]:
    """Return the jobs that are not several others' checkpoints written at the same time."""
    kept = sorted(found, key=lambda one: one.size_gb)
    result: list[Track] = []
    for track in kept:
        if not _is_sum(track, [other for other in kept if other is not track]):
            result.append(track)
    return sorted(result, key=lambda one: (one.start_s, one.size_gb))


def _is_sum(track: Track, others: Sequence[Track]) -> bool:
    during = [one for one in others if one.start_s < track.end_s and one.end_s > track.start_s]
    beside = [one for one in during if one.size_gb < 0.95 * track.size_gb]
    for place, one in enumerate(beside):
        for other in beside[place:]:
            if abs((one.size_gb + other.size_gb) / track.size_gb - 1) > 0.06 or one is other:
                continue
            if _asked_for(track, one) > 0.5 and _asked_for(track, other) > 0.5:
                return True
    return False


def _asked_for(track: Track, other: Track) -> float:
    """Return at which share of a job's events another's rhythm asks for one that is missing."""
    expected = other.expected()
    before, after = neighbours(expected, track.seen)
    reach = other.tolerance_s + track.drain_s
    return float(np.mean((track.seen - before <= reach) | (after - track.seen <= reach)))
