"""Sizes and intervals that recur among bursts, and the checkpoints of a job in its rhythm."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.signal import find_peaks

from planner.telemetry.signal import Flags, Places, scatter
from planner.telemetry.tables import Numbers

_SIZE_BIN, _SCALE = 0.002, 0.02
"""Step of sizes, and scatter of the sizes of one job, on a logarithmic scale."""

_REACH = 4.0
_LEAST_MEMBERS = 4


def groups(size_gb: Numbers) -> Iterator[Places]:
    """Yield groups of bursts around each frequent size, the most frequent first, as places.

    A group is the range around a peak of the density of sizes (on a logarithmic scale), smoothed
    by the scatter, as far as four times the scatter.

    Args:
        size_gb: more than 0.
    """
    if not len(size_gb):
        return
    logs = np.log(size_gb)
    place = ((logs - logs.min()) / _SIZE_BIN).astype(int)
    reach = int(_REACH * _SCALE / _SIZE_BIN)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * _SIZE_BIN / _SCALE) ** 2)
    density = np.convolve(np.bincount(place), kernel)  # starts a reach before the first size
    peaks, _ = find_peaks(np.pad(density, 1))
    for peak in sorted(peaks - 1 - reach, key=lambda one: (-density[one + reach], one)):
        members = np.flatnonzero(np.abs(place - peak) <= reach)
        if len(members) >= _LEAST_MEMBERS:
            yield members


_LAGS = 5
_BIN = 0.02
_CANDIDATES = 12
_LEAST_LINKS, _LEAST_SCORE = 3, 5.0
_TIGHTEST, _WIDEST = 0.02, 0.12
_SAMPLES, _REFITTED_SAMPLES = 1.2, 1.5
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
        tolerance_s: largest distance of a gap from it.
        links: gaps that keep it.
        score: by how many standard deviations they exceed chance.
    """

    interval_s: float
    tolerance_s: float
    links: int
    score: float


def rhythm(times: Numbers, sample_s: float) -> Rhythm | None:
    """The strongest rhythm of some events, None where chance alone explains them.

    Several rhythms may be mixed: candidates are differences between events near one another.
    Of those that are about as strong the shortest is taken, since its multiples return as well;
    a part of it is taken where that returns often enough, since others' writes may hide in turn
    every second or third event.

    Args:
        times: when events begin, in order, s.
        sample_s: precision of the times.
    """
    if len(times) <= _LEAST_LINKS:
        return None
    tried = [_fit(times, interval, sample_s) for interval in _candidates(times, sample_s)]
    good = [one for one in tried if one.links >= _LEAST_LINKS and one.score >= _LEAST_SCORE]
    if not good:
        return None
    most = max(one.links for one in good)
    strong = (one for one in good if one.links >= _NEARLY * most)
    shortest = min(strong, key=lambda one: one.interval_s)
    for many in range(_MOST_PARTS, 1, -1):
        interval_s = shortest.interval_s / many
        if interval_s > _RESOLVED * sample_s:
            part = _fit(times, interval_s, sample_s)
            if part.links >= max(_LEAST_LINKS, _PART * most) and part.score >= _LEAST_SCORE:
                return part
    return shortest


def _candidates(times: Numbers, sample_s: float) -> list[float]:
    """Intervals that return most often among near events."""
    gaps = np.concatenate([times[lag:] - times[:-lag] for lag in range(1, _LAGS + 1)])
    gaps = gaps[gaps > _RESOLVED * sample_s]
    if not len(gaps):
        return []
    bins = np.round(np.log(gaps) / _BIN).astype(np.int64)
    bins -= bins.min()
    near = np.convolve(np.bincount(bins), (1, 1, 1), mode="same")
    best = np.argsort(-near, kind="stable")[:_CANDIDATES]
    best = best[near[best] >= _LEAST_LINKS]
    return [float(np.median(gaps[np.abs(bins - place) <= 1])) for place in best]


def _fit(times: Numbers, interval_s: float, sample_s: float) -> Rhythm:
    """Fit of events to an interval; the tolerance follows their own scatter."""
    tolerance = min(max(_SAMPLES * sample_s, 0.5 * _WIDEST * interval_s), _MOST_OFF * interval_s)
    first, second = linked(times, interval_s, tolerance)
    if len(first) >= _LEAST_LINKS:
        gaps = times[second] - times[first]
        interval_s = float(np.median(gaps))
        tolerance = _tolerance(gaps, interval_s, _SAMPLES * sample_s)
        tolerance = min(tolerance, _MOST_OFF * interval_s)
        first, second = linked(times, interval_s, tolerance)
    chance = min(0.9, len(times) / max(times[-1] - times[0], 1.0) * 2 * tolerance)
    expected = len(times) * chance
    score = (len(first) - expected) / math.sqrt(expected * (1 - chance) + 1.0)
    return Rhythm(interval_s, tolerance, len(first), score)


def _tolerance(gaps: Numbers, interval_s: float, least_s: float) -> float:
    low = max(_TIGHTEST * interval_s, least_s)
    return min(max(_SPREAD * scatter(gaps), low), max(_WIDEST * interval_s, low))


def linked(times: Numbers, interval_s: float, tolerance_s: float) -> tuple[Places, Places]:
    """Pairs of events that follow one another at an interval, each the other's nearest.

    Args:
        times: when events begin, in order, s.
        interval_s: the interval.
        tolerance_s: largest distance of a gap from it.
    """
    after = _nearest(times, times + interval_s)
    before = _nearest(times, times - interval_s)
    first = np.arange(len(times))
    gaps = times[after] - times
    mutual = (np.abs(gaps - interval_s) <= tolerance_s) & (before[after] == first)
    return first[mutual], after[mutual]


def neighbours(events: Numbers, times: Numbers) -> tuple[Numbers, Numbers]:
    """The last event before each time and the first after it, infinite where none is."""
    padded = np.concatenate(([-np.inf], events, [np.inf]))
    place = np.searchsorted(events, times)
    return padded[place], padded[place + 1]


def _nearest(times: Numbers, wanted: Numbers) -> Places:
    right = np.clip(np.searchsorted(times, wanted), 1, len(times) - 1)
    left = right - 1
    return np.where(wanted - times[left] <= times[right] - wanted, left, right)


def chains(first: Places, second: Places) -> list[Places]:
    """Chains of links, each as places in order, by their beginnings."""
    following = dict(zip(first.tolist(), second.tolist(), strict=True))
    found = []
    for head in sorted(set(following) - set(following.values())):
        chain = [head]
        while chain[-1] in following:
            chain.append(following[chain[-1]])
        found.append(np.array(chain, dtype=np.intp))
    return found


# Checkpoints of a job

_MOST_MISSED = 40
"""A rhythm is followed over so many intervals without an event."""

_DRIFT, _AROUND, _LEAST_DRIFT, _FEW_STEPS = 0.15, 13, 25, 3
"""Largest distance of a gap from the usual interval in a clock that drifts; gaps whose median is
the local interval; their least number; and intervals in a gap."""


@dataclass(frozen=True)
class Track:
    """A job's events in order of time.

    Attributes:
        size_gb, drain_s: of its checkpoints, the usual ones.
        interval_s, tolerance_s: its rhythm, and the largest distance of a gap from it.
        spread: scatter of its sizes, as a share.
        times: when its checkpoints begin, elapsed s.
        places: the burst of each.
        alone: whether the burst is its own; else it holds others', and the time is inferred.
    """

    size_gb: float
    drain_s: float
    interval_s: float
    tolerance_s: float
    spread: float
    times: Numbers
    places: Places
    alone: Flags

    def with_events(self, times: Numbers, places: Places, alone: Flags | bool) -> Track:
        """The job with further events."""
        every = np.concatenate((self.times, times))
        order = np.argsort(every, kind="stable")
        more = np.broadcast_to(np.asarray(alone, dtype=bool), len(times))
        return replace(
            self,
            times=every[order],
            places=np.concatenate((self.places, places))[order],
            alone=np.concatenate((self.alone, more))[order],
        )

    def multiples(self, slack_s: Numbers | float | None = None) -> NDArray[np.int64]:
        """Number of intervals in each gap, 0 where it is no multiple.

        Args:
            slack_s: largest distance of a gap from one interval, by default the tolerance.
        """
        slack_s = self.tolerance_s if slack_s is None else slack_s
        gaps, interval_s = np.diff(self.times), self.local_interval_s()
        count = np.maximum(np.round(gaps / interval_s), 1.0)
        fits = np.abs(gaps - count * interval_s) <= slack_s * np.sqrt(count)
        return np.where(fits & (count <= _MOST_MISSED), count, 0).astype(np.int64)

    def local_interval_s(self) -> Numbers:
        """The interval around each gap, which follows a clock that drifts: the median of the gaps
        around it that are near the usual interval."""
        gaps = np.diff(self.times)
        count = np.maximum(np.round(gaps / self.interval_s), 1.0)
        near = np.abs(gaps / count / self.interval_s - 1) <= _DRIFT
        each = pd.Series(np.where(near & (count <= _FEW_STEPS), gaps / count, np.nan))
        if each.count() < _LEAST_DRIFT:
            return np.full(len(gaps), self.interval_s)
        around = each.dropna().rolling(_AROUND, center=True, min_periods=1).median()
        filled = around.reindex(each.index).interpolate(limit_direction="both")
        return np.asarray(filled.to_numpy(float))

    def expected(self) -> Numbers:
        """Times of checkpoints in the rhythm that are not among the events, in order."""
        count, local_s, gaps = self.multiples(), self.local_interval_s(), np.diff(self.times)
        first_s, last_s = (local_s[0], local_s[-1]) if len(local_s) else (self.interval_s,) * 2
        broken = count == 0
        found = [
            self.times[-1:] + last_s,
            self.times[:1] - first_s,
            self.times[:-1][broken] + local_s[broken],
            self.times[1:][broken] - local_s[broken],
        ]
        for many in np.unique(count[count > 1]):
            which = count == many
            for step in range(1, int(many)):
                found.append(self.times[:-1][which] + gaps[which] * step / many)
        return np.sort(np.concatenate(found))

    def refitted(self, sample_s: float) -> Track:
        """The job with its rhythm measured anew over its events."""
        gaps = np.diff(self.times)[self.multiples() == 1]
        if len(gaps) < 2:
            return self
        interval = float(np.median(gaps))
        tolerance = _tolerance(gaps, interval, _REFITTED_SAMPLES * sample_s)
        return replace(self, interval_s=interval, tolerance_s=tolerance)
