"""Rhythm in times: which interval returns, and which events follow one another in it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planner.telemetry.figures import scatter
from planner.telemetry.raw import Numbers, Places

_LAGS = 5
_BIN = 0.02
_CANDIDATES = 12
_LEAST_LINKS, _LEAST_SCORE = 3, 5.0
_TIGHTEST, _WIDEST = 0.02, 0.12
_SAMPLES = 1.2
_MOST_OFF = 0.35
_RESOLVED = 2.5
"""An interval is to be longer than so many samples."""

_SPREAD = 4.0
_NEARLY = 0.85
_PART, _MOST_PARTS = 0.2, 6


@dataclass(frozen=True)
class Rhythm:
    """An interval that returns.

    Attributes:
        interval_s: the interval, start to start.
        tolerance_s: how far from it a gap may be.
        links: gaps that keep it.
        score: by how many standard deviations that is more than chance gives.
    """

    interval_s: float
    tolerance_s: float
    links: int
    score: float


def rhythm(times: Numbers, sample_s: float) -> Rhythm | None:
    """Return the strongest rhythm of some events, None where chance alone explains them.

    Several rhythms may be mixed: candidates are differences between events near one another.
    Of those that are about as strong the shortest is taken, since its multiples return as well;
    a part of it is taken where that returns often enough, since others' writes may hide in turn
    every second or third event.

    Args:
        times: when events begin, in order, s.
        sample_s: how exactly that is known.
    """
    if len(times) <= _LEAST_LINKS:
        return None
    tried = [_judged(times, interval, sample_s) for interval in _candidates(times, sample_s)]
    good = [one for one in tried if one.links >= _LEAST_LINKS and one.score >= _LEAST_SCORE]
    if not good:
        return None
    most = max(one.links for one in good)
    shortest = min(
        (one for one in good if one.links >= _NEARLY * most), key=lambda one: one.interval_s
    )
    parts = [
        _judged(times, shortest.interval_s / many, sample_s)
        for many in range(_MOST_PARTS, 1, -1)
        if shortest.interval_s / many > _RESOLVED * sample_s
    ]
    for part in parts:
        if part.links >= max(_LEAST_LINKS, _PART * most) and part.score >= _LEAST_SCORE:
            return part
    return shortest


def _candidates(times: Numbers, sample_s: float) -> list[float]:
    """Return the intervals that return most often among near events."""
    gaps = np.concatenate([times[lag:] - times[:-lag] for lag in range(1, _LAGS + 1)])
    gaps = gaps[gaps > _RESOLVED * sample_s]
    if not len(gaps):
        return []
    bins = np.round(np.log(gaps) / _BIN).astype(np.int64)
    lowest = int(bins.min())
    counts = np.bincount(bins - lowest)
    near = np.convolve(counts, (1, 1, 1), mode="same")
    best = np.argsort(-near, kind="stable")[:_CANDIDATES]
    found = []
    for place in best[near[best] >= _LEAST_LINKS]:
        around = gaps[np.abs(bins - lowest - place) <= 1]
        found.append(float(np.median(around)))
    return found


def _judged(times: Numbers, interval_s: float, sample_s: float) -> Rhythm:
    """Return how well events keep an interval; the tolerance follows their own scatter."""
    wide = min(max(_SAMPLES * sample_s, 0.5 * _WIDEST * interval_s), _MOST_OFF * interval_s)
    first, second = linked(times, interval_s, wide)
    if len(first) >= _LEAST_LINKS:
        gaps = times[second] - times[first]
        interval_s = float(np.median(gaps))
        low = max(_TIGHTEST * interval_s, _SAMPLES * sample_s)
        tolerance = min(max(_SPREAD * scatter(gaps), low), max(_WIDEST * interval_s, low))
        tolerance = min(tolerance, _MOST_OFF * interval_s)
        first, second = linked(times, interval_s, tolerance)
    else:
        tolerance = wide
    chance = min(0.9, len(times) / max(times[-1] - times[0], 1.0) * 2 * tolerance)
    expected = len(times) * chance
    score = (len(first) - expected) / math.sqrt(expected * (1 - chance) + 1.0)
    return Rhythm(interval_s, tolerance, len(first), score)


def linked(times: Numbers, interval_s: float, tolerance_s: float) -> tuple[Places, Places]:
    """Return the pairs of events that follow one another at an interval, each the other's nearest.

    Args:
        times: when events begin, in order, s.
        interval_s: the interval.
        tolerance_s: how far from it a gap may be.
    """
    after = _nearest(times, times + interval_s)
    before = _nearest(times, times - interval_s)
    first = np.arange(len(times))
    gaps = times[after] - times
    mutual = (np.abs(gaps - interval_s) <= tolerance_s) & (before[after] == first)
    return first[mutual], after[mutual]


def neighbours(events: Numbers, times: Numbers) -> tuple[Numbers, Numbers]:
    """Return the last event before each time and the first after it, infinite where none is."""
    padded = np.concatenate(([-np.inf], events, [np.inf]))
    place = np.searchsorted(events, times)
    return padded[place], padded[place + 1]


def _nearest(times: Numbers, wanted: Numbers) -> Places:
    right = np.clip(np.searchsorted(times, wanted), 1, len(times) - 1)
    left = right - 1
    return np.where(wanted - times[left] <= times[right] - wanted, left, right)


def chains(first: Places, second: Places) -> list[Places]:
    """Return the chains that links make, each as places in order, by where they begin."""
    following = dict(zip(first.tolist(), second.tolist(), strict=True))
    heads = sorted(set(following) - set(following.values()))
    found = []
    for head in heads:
        chain = [head]
        while chain[-1] in following:
            chain.append(following[chain[-1]])
        found.append(np.array(chain, dtype=np.intp))
    return found
