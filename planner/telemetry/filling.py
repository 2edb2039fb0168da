"""A job's rhythm followed through bursts that are not its own yet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.telemetry.bursts import Bursts
from planner.telemetry.raw import Numbers
from planner.telemetry.rhythm import Places
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


def asked(track: Track, bursts: Bursts, places: Places, slack_s: float) -> Numbers:
    """Return when a job's rhythm asks for a checkpoint within each burst, NaN where it does not.

    Args:
        track: the job.
        bursts: all bursts.
        places: the ones to look at.
        slack_s: how far a checkpoint may begin outside of its burst.
    """
    start, end = bursts.start_s[places], bursts.end_s[places]
    before, after = neighbours(track.expected(), start)
    latest = np.maximum(end - 0.5 * track.drain_s, start) + slack_s
    wanted = np.where(start - before <= slack_s, before, np.where(after <= latest, after, np.nan))
    return np.asarray(np.where(np.isfinite(wanted), wanted, np.nan))


def neighbours(events: Numbers, times: Numbers) -> tuple[Numbers, Numbers]:
    """Return the last event before each time and the first after it, infinite where none is."""
    padded = np.concatenate(([-np.inf], events, [np.inf]))
    place = np.searchsorted(events, times)
    return padded[place], padded[place + 1]


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
        places = places[~np.isin(places, track.places)]
        wanted = asked(track, bursts, places, track.tolerance_s + sample_s)
        there = ~np.isnan(wanted)
        places, wanted = places[there], wanted[there]
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
