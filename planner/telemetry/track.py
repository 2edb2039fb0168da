"""What makes bursts a job's: sizes that return and a rhythm in their times; the job so far."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from planner.telemetry.ranges import scatter
from planner.telemetry.raw import Numbers, Places

SCALES = (0.008, 0.02, 0.05)
"""Scatter of sizes that is tried, the narrowest first, as a share."""

_SIZE_BIN = 0.002
_REACH = 4.0
_LEAST_MEMBERS = 4


def groups(size_gb: Numbers, scale: float) -> Iterator[Places]:
    """Yield groups of bursts around each size that many of them have, as places in ``size_gb``.

    The density of sizes (on a logarithmic scale) is smoothed by the scatter; a group is what lies
    around one of its peaks, as far as the next valley and no farther than four times the scatter.

    Args:
        size_gb: more than 0.
        scale: scatter of a group, as a share.
    """
    if not len(size_gb):
        return
    logs = np.log(size_gb)
    low = float(logs.min()) - 5 * scale
    place = ((logs - low) / _SIZE_BIN).astype(int)
    counts = np.bincount(place, minlength=int(place.max()) + int(5 * scale / _SIZE_BIN) + 2)
    reach = int(_REACH * scale / _SIZE_BIN)
    steps = np.arange(-reach, reach + 1) * _SIZE_BIN / scale
    density = np.convolve(counts, np.exp(-0.5 * steps**2), mode="same")
    inner = density[1:-1]
    peaks = np.flatnonzero((inner > density[:-2]) & (inner >= density[2:])) + 1
    for peak in sorted(peaks, key=lambda one: (-density[one], one)):
        left, right = _basin(density, int(peak), reach)
        members = np.flatnonzero((place >= left) & (place <= right))
        if len(members) >= _LEAST_MEMBERS:
            yield members


def _basin(density: Numbers, peak: int, reach: int) -> tuple[int, int]:
    """Return how far down a peak goes on either side."""
    left, right = peak, peak
    while left > 0 and peak - left < reach and density[left - 1] < density[left]:
        left -= 1
    while right < len(density) - 1 and right - peak < reach and density[right + 1] < density[right]:
        right += 1
    return left, right


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


WHOLE, INFERRED, CUT = 0, 1, 2
"""What an event is: a burst of its own, a part of one, one that a hole in the trace cuts."""

MOST_MISSED = 40
"""A rhythm is followed over so many intervals without an event."""


@dataclass(frozen=True)
class Track:
    """A job's events in order of time.

    Attributes:
        size_gb, drain_s: of its checkpoints, the usual ones.
        interval_s, tolerance_s: its rhythm, and how far a gap may be from it.
        spread: scatter of its sizes, as a share.
        times: when its checkpoints begin, elapsed s.
        places: the burst of each.
        kinds: what each is.
        hints: times at which further ones were made out before all jobs were known.
    """

    size_gb: float
    drain_s: float
    interval_s: float
    tolerance_s: float
    spread: float
    times: Numbers
    places: Places
    kinds: NDArray[np.int8]
    hints: Numbers = field(default_factory=lambda: np.zeros(0))

    @property
    def seen(self) -> Numbers:
        """When its checkpoints begin; what was made out before where none is sure yet."""
        return self.times if len(self.times) else self.hints

    @property
    def start_s(self) -> float:
        """When its first checkpoint begins."""
        return float(self.seen[0])

    @property
    def end_s(self) -> float:
        """When its last checkpoint begins."""
        return float(self.seen[-1])

    def with_events(self, times: Numbers, places: Places, kinds: int | NDArray[np.int8]) -> Track:
        """Return the job with further events, of one kind or each of its own."""
        every = np.concatenate((self.times, times))
        order = np.argsort(every, kind="stable")
        more = np.broadcast_to(np.asarray(kinds, dtype=np.int8), len(times))
        return replace(
            self,
            times=every[order],
            places=np.concatenate((self.places, places))[order],
            kinds=np.concatenate((self.kinds, more))[order],
        )

    def multiples(self, slack_s: Numbers | None = None) -> NDArray[np.int64]:
        """Return how many intervals each gap is, 0 where it is no multiple.

        Args:
            slack_s: how far each gap may be from one interval, by default the tolerance.
        """
        slack_s = np.full(len(self.times) - 1, self.tolerance_s) if slack_s is None else slack_s
        gaps = np.diff(self.times)
        count = np.maximum(np.round(gaps / self.interval_s), 1.0)
        off = np.abs(gaps - count * self.interval_s)
        fits = off <= slack_s * np.sqrt(count)
        return np.where(fits & (count <= MOST_MISSED), count, 0).astype(np.int64)

    def expected(self) -> Numbers:
        """Return when the rhythm asks for checkpoints that are not among the events, in order."""
        if not len(self.times):
            return self.hints
        count = self.multiples()
        found = [self.times[-1:] + self.interval_s, self.times[:1] - self.interval_s]
        found.append(self._new(self.hints))
        broken = count == 0
        found.append(self.times[:-1][broken] + self.interval_s)
        found.append(self.times[1:][broken] - self.interval_s)
        gaps = np.diff(self.times)
        for many in np.unique(count[count > 1]):
            which = count == many
            for step in range(1, int(many)):
                found.append(self.times[:-1][which] + gaps[which] * step / many)
        return np.sort(np.concatenate(found))

    def _new(self, times: Numbers) -> Numbers:
        """Return the times that are not near an event."""
        if len(self.times) < 2:
            return times
        before, after = neighbours(self.times, times)
        near = np.minimum(times - before, after - times) < 0.5 * self.interval_s
        return np.asarray(times[~near])

    def is_steady(self) -> bool:
        """Return whether the rhythm is kept more often than broken: else chance made it."""
        kept = self.multiples() > 0
        return bool(len(kept) and np.mean(kept) >= 0.5)

    def cleaned(self, which: NDArray[np.bool_]) -> Track:
        """Return the job with some of its events, the others as hints."""
        return replace(
            self,
            times=self.times[which],
            places=self.places[which],
            kinds=self.kinds[which],
            hints=np.sort(np.concatenate((self.hints, self.times[~which]))),
        )

    def refitted(self, sample_s: float) -> Track:
        """Return the job with its rhythm measured anew over its events."""
        count = self.multiples()
        one = count == 1
        if one.sum() < 2:
            return self
        gaps = np.diff(self.times)[one]
        interval = float(np.median(gaps))
        low = max(0.02 * interval, 1.5 * sample_s)
        tolerance = min(max(4 * scatter(gaps), low), max(0.12 * interval, low))
        return replace(self, interval_s=interval, tolerance_s=tolerance)
