"""Where checkpoints begin within bursts that hold more than one, or other traffic besides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from planner.telemetry.bursts import Bursts
from planner.telemetry.raw import Numbers
from planner.telemetry.rhythm import Places
from planner.telemetry.track import INFERRED, WHOLE, Track

_SPREADS = 3.0
_LONGER = 1.25
_CLEAR = 0.25
"""A checkpoint of less than this share of a burst is hard to see in what else scatters there."""

_STEPS = 2
"""Places that are tried in a sample."""

_DOUBT = 0.15
"""Share of a checkpoint's size that a place must gain for each tolerance it is off the rhythm."""


def placed(
    found: Sequence[Track], bursts: Bursts, excess: Numbers, start_s: Numbers, width_s: Numbers
) -> list[Track]:
    """Return jobs with their doubtful checkpoints put where the traffic is that suits them.

    The job that writes fastest is placed first, where its drain holds the most traffic, and its
    part is taken away before the next.

    Args:
        found: the jobs.
        bursts: bursts of writing.
        excess: bandwidth above the background by sample, GB/s.
        start_s: where each sample begins.
        width_s: how long it is.
    """
    rest = np.nan_to_num(excess)
    result = list(found)
    order = sorted(range(len(found)), key=lambda one: -found[one].size_gb / found[one].drain_s)
    for job in order:
        track = result[job]
        times = track.times.copy()
        for event in np.flatnonzero(_doubtful(track, bursts)):
            burst = track.places[event]
            times[event] = _place(
                track, float(times[event]), bursts, int(burst), rest, start_s, width_s,
                inferred=bool(track.kinds[event] == INFERRED),
            )  # fmt: skip
        result[job] = _moved(track, times)
    return result


def _doubtful(track: Track, bursts: Bursts) -> NDArray[np.bool_]:
    """Return the events whose burst is not simply theirs."""
    size, long = bursts.size_gb[track.places], bursts.duration_s[track.places]
    off = np.abs(size / track.size_gb - 1) > max(_SPREADS * track.spread, 0.01)
    stretched = long > _LONGER * track.drain_s + 0.1 * np.median(long)
    return np.asarray((track.kinds == INFERRED) | ((track.kinds == WHOLE) & off & stretched))


def _place(
    track: Track,
    wanted_s: float,
    bursts: Bursts,
    burst: int,
    rest: Numbers,
    start_s: Numbers,
    width_s: Numbers,
    *,
    inferred: bool,
) -> float:
    """Return where a checkpoint begins in a burst, and take its part from ``rest``."""
    low, high = float(bursts.start_s[burst]), float(bursts.end_s[burst])
    first = max(int(np.searchsorted(start_s, low, "right")) - 1, 0)
    last = int(np.searchsorted(start_s, high, "left"))
    edges = np.append(start_s[first:last], start_s[last - 1] + width_s[last - 1])
    moved = np.concatenate(([0.0], np.cumsum(rest[first:last] * width_s[first:last])))
    latest = max(low, high - track.drain_s)
    step = float(np.median(width_s[first:last])) / _STEPS
    tried = np.append(np.arange(low, latest, step), latest)
    held = np.interp(tried + track.drain_s, edges, moved) - np.interp(tried, edges, moved)
    weight = min(1.0, track.size_gb / (_CLEAR * float(bursts.size_gb[burst])))
    gain = weight * np.minimum(held / track.size_gb, 1.0)
    if inferred:
        gain = gain - _DOUBT * np.abs(tried - wanted_s) / track.tolerance_s
    at = float(tried[int(np.argmax(gain))])
    inside = np.clip((at + track.drain_s - edges[:-1]) / width_s[first:last], 0, 1)
    inside -= np.clip((at - edges[:-1]) / width_s[first:last], 0, 1)
    rest[first:last] -= inside * track.size_gb / track.drain_s
    return at


def _moved(track: Track, times: Numbers) -> Track:
    order: Places = np.argsort(times, kind="stable")
    return replace(track, times=times[order], places=track.places[order], kinds=track.kinds[order])
