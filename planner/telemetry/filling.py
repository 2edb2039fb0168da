"""A job's rhythm followed through bursts that are not its own yet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.telemetry.bursts import Bursts
from planner.telemetry.raw import Numbers, Places
from planner.telemetry.track import INFERRED, WHOLE, Track

ALONE = 0.12
"""A burst at the right time is a job's own where its size is as near as this."""

LARGER = 0.95
"""A burst that has so much of a job's size or more may hold one of its checkpoints."""

_ROUNDS = 40
_SPREADS = 4.0


@dataclass
class Pool:
    """What is left of bursts while jobs are found: ``free`` are no job's, ``left_gb`` is what the
    checkpoints found in a burst do not account for."""

    free: NDArray[np.bool_]
    left_gb: Numbers


def asked(track: Track, bursts: Bursts, places: Places, slack_s: float) -> tuple[Places, Numbers]:
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


def filled(track: Track, bursts: Bursts, pool: Pool, sample_s: float) -> Track:
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
        rows, wanted = asked(track, bursts, places, track.tolerance_s + sample_s)
        rows, first = np.unique(rows, return_index=True)
        places, wanted = places[rows], wanted[first]
        own = np.abs(pool.left_gb[places] / track.size_gb - 1) <= _reach(track)
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


def _reach(track: Track) -> float:
    return max(ALONE, _SPREADS * track.spread)
