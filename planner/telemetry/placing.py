"""Where checkpoints begin within bursts that hold more than one, or other traffic besides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.telemetry.bursts import Bursts
from planner.telemetry.raw import Numbers, Places
from planner.telemetry.track import INFERRED, WHOLE, Track

_SPREADS = 3.0
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
    """What is moved above the background by sample, GB/s: ``rest`` is what no checkpoint accounts
    for yet; where samples begin, and how long they are."""

    rest: Numbers
    start_s: Numbers
    width_s: Numbers


def placed(found: Sequence[Track], bursts: Bursts, traffic: Traffic) -> list[Track]:
    """Return jobs with their doubtful checkpoints put where the traffic is that suits them.

    The job that writes fastest is placed first, where its drain holds the most traffic, and its
    part is taken away before the next.

    Args:
        found: the jobs.
        bursts: bursts of writing.
        traffic: what is written above the background; changed.
    """
    result = list(found)
    order = sorted(range(len(found)), key=lambda one: -found[one].size_gb / found[one].drain_s)
    for job in order:
        track = result[job]
        times = track.times.copy()
        for event in np.flatnonzero(_doubtful(track, bursts)):
            times[event] = _place(track, times, int(event), bursts, traffic)
        result[job] = _moved(track, times)
    return result


def _doubtful(track: Track, bursts: Bursts) -> NDArray[np.bool_]:
    """Return the events whose burst is not simply theirs."""
    size, long = bursts.size_gb[track.places], bursts.duration_s[track.places]
    off = np.abs(size / track.size_gb - 1) > max(_SPREADS * track.spread, 0.01)
    stretched = long > _LONGER * track.drain_s + 0.1 * np.median(long)
    return np.asarray((track.kinds == INFERRED) | ((track.kinds == WHOLE) & off & stretched))


def _place(track: Track, times: Numbers, event: int, bursts: Bursts, traffic: Traffic) -> float:
    """Return where a checkpoint begins in its burst, and take its part from the traffic."""
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
    """Return what speaks against places that are too near to the job's other checkpoints."""
    near = np.zeros(len(tried))
    for other in (event - 1, event + 1):
        if 0 <= other < len(times):
            near += np.abs(tried - times[other]) < _APART * track.interval_s
    return near


def _moved(track: Track, times: Numbers) -> Track:
    order: Places = np.argsort(times, kind="stable")
    return replace(track, times=times[order], places=track.places[order], kinds=track.kinds[order])
