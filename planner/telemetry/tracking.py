"""Jobs among bursts: those of one size that keep a rhythm, taken out one after another.

The strongest rhythm is followed first. Events of one size and one rhythm that overlap in time
belong to several jobs; those that follow one another to one, with an interruption between them.
Each job's rhythm is then followed through bursts that are no job's yet; of a larger burst a job
takes its own size, and the rest may hold checkpoints of others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.signal import find_peaks

from planner.telemetry.signal import Bursts, Flags, Places, scatter
from planner.telemetry.tables import Numbers

# Rhythms

_SIZE_BIN, _SCALE = 0.002, 0.02
"""Step of sizes, and scatter of the sizes of one job, on a logarithmic scale."""

_SPREADS = 4.0
"""Figures of one job are within so many times their scatter."""

_LEAST_EVENTS = 4


def _groups(size_gb: Numbers) -> Iterator[Places]:
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
    reach = int(_SPREADS * _SCALE / _SIZE_BIN)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * _SIZE_BIN / _SCALE) ** 2)
    density = np.convolve(np.bincount(place), kernel)  # starts a reach before the first size
    peaks, _ = find_peaks(np.pad(density, 1))
    for peak in sorted(peaks - 1 - reach, key=lambda one: (-density[one + reach], one)):
        members = np.flatnonzero(np.abs(place - peak) <= reach)
        if len(members) >= _LEAST_EVENTS:
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

_NEARLY = 0.85
_PART, _MOST_PARTS = 0.2, 6


@dataclass(frozen=True)
class _Rhythm:
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


def _rhythm(times: Numbers, sample_s: float) -> _Rhythm | None:
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


def _fit(times: Numbers, interval_s: float, sample_s: float) -> _Rhythm:
    """Fit of events to an interval; the tolerance follows their own scatter."""
    tolerance = min(max(_SAMPLES * sample_s, 0.5 * _WIDEST * interval_s), _MOST_OFF * interval_s)
    first, second = _linked(times, interval_s, tolerance)
    if len(first) >= _LEAST_LINKS:
        gaps = times[second] - times[first]
        interval_s = float(np.median(gaps))
        tolerance = _tolerance(gaps, interval_s, _SAMPLES * sample_s)
        tolerance = min(tolerance, _MOST_OFF * interval_s)
        first, second = _linked(times, interval_s, tolerance)
    chance = min(0.9, len(times) / max(times[-1] - times[0], 1.0) * 2 * tolerance)
    expected = len(times) * chance
    score = (len(first) - expected) / math.sqrt(expected * (1 - chance) + 1.0)
    return _Rhythm(interval_s, tolerance, len(first), score)


def _tolerance(gaps: Numbers, interval_s: float, least_s: float) -> float:
    low = max(_TIGHTEST * interval_s, least_s)
    return min(max(_SPREADS * scatter(gaps), low), max(_WIDEST * interval_s, low))


def _linked(times: Numbers, interval_s: float, tolerance_s: float) -> tuple[Places, Places]:
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


def _nearest(times: Numbers, wanted: Numbers) -> Places:
    """Place of the event nearest to each wanted time."""
    right = np.clip(np.searchsorted(times, wanted), 1, len(times) - 1)
    left = right - 1
    return np.where(wanted - times[left] <= times[right] - wanted, left, right)


def _chains(first: Places, second: Places) -> list[Places]:
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

    def multiples(self) -> NDArray[np.int64]:
        """Number of intervals in each gap, 0 where it is no multiple."""
        gaps, interval_s = np.diff(self.times), self.local_interval_s()
        count = np.maximum(np.round(gaps / interval_s), 1.0)
        fits = np.abs(gaps - count * interval_s) <= self.tolerance_s * np.sqrt(count)
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


# Jobs

_MOST_JOBS = 60
_LEAST_CHAIN = 3
_NARROWEST = 0.025
_BEHIND = 0.2
"""A stretch of a job may begin so soon after the one before, in intervals: clocks are set."""

_BEYOND = 2.5
"""Distance of a further event before or after a job's events, in intervals: it may have failed."""

_EARLY = 0.9
"""A checkpoint follows the one before it by at least so much of an interval."""

_ALONE = 0.12
"""A burst at the right time is a job's own where its size is as near as this."""

_ROUNDS = 40


def find_tracks(bursts: Bursts, sample_s: float) -> list[Track]:
    """Jobs in bursts, by their beginning.

    Each takes the bursts that its rhythm predicts before the next is looked for, and its share of
    those that hold more than one checkpoint.

    Args:
        sample_s: the usual width of a sample.
    """
    left_gb = np.where(bursts.cut, 0.0, bursts.size_gb)  # without the checkpoints found so far
    found: list[Track] = []
    while len(found) < _MOST_JOBS and (more := _strongest_jobs(bursts, left_gb, sample_s)):
        for track in more:
            left_gb[track.places] = 0.0
        found += [_fill(track, bursts, left_gb, sample_s) for track in more]
    found = [_add_singles(track, bursts, left_gb, sample_s) for track in found]
    return sorted(_unite(found, sample_s), key=lambda track: (track.times[0], track.size_gb))


def _strongest_jobs(bursts: Bursts, left_gb: Numbers, sample_s: float) -> list[Track]:
    """Jobs of the strongest rhythm among bursts of one size that are no job's yet."""
    left = np.flatnonzero(left_gb > 0)
    members = [left[group] for group in _groups(left_gb[left])]
    rhythms = [(_rhythm(bursts.start_s[each], sample_s), each) for each in members]
    known = [(one, each) for one, each in rhythms if one is not None]
    if not known:
        return []
    kept, places = max(known, key=lambda one: one[0].links)
    times = bursts.start_s[places]
    lanes: list[list[Places]] = []
    for chain in _chains(*_linked(times, kept.interval_s, kept.tolerance_s)):
        if len(chain) < _LEAST_CHAIN:
            continue
        begin = float(times[chain[0]]) - _BEHIND * kept.interval_s
        fitting = [lane for lane in lanes if times[lane[-1][-1]] <= begin]
        if fitting:
            max(fitting, key=lambda lane: float(times[lane[-1][-1]])).append(chain)
        else:
            lanes.append([chain])
    joined = [places[np.concatenate(lane)] for lane in lanes]
    return [_track(bursts, left_gb, each, kept) for each in joined if len(each) >= _LEAST_EVENTS]


def _track(bursts: Bursts, left_gb: Numbers, places: Places, kept: _Rhythm) -> Track:
    size = left_gb[places]
    middle = float(np.median(size))
    return Track(
        size_gb=middle,
        drain_s=float(np.median(bursts.duration_s[places])),
        interval_s=kept.interval_s,
        tolerance_s=kept.tolerance_s,
        spread=max(scatter(size / middle), _NARROWEST / _SPREADS),
        times=bursts.start_s[places],
        places=places,
        alone=size == bursts.size_gb[places],
    )


def _add_singles(track: Track, bursts: Bursts, left_gb: Numbers, sample_s: float) -> Track:
    """Add bursts of a job's size that stand alone between interruptions."""
    reach = max(_SPREADS * track.spread, _NARROWEST)
    alike = np.abs(bursts.size_gb / track.size_gb - 1) <= reach
    while True:
        least_s, most_s = _EARLY * track.interval_s - track.tolerance_s, track.interval_s * _BEYOND
        behind = np.searchsorted(track.times, bursts.start_s)
        before_s = bursts.start_s - np.append(-np.inf, track.times)[behind]
        after_s = np.append(track.times, np.inf)[behind] - bursts.start_s
        apart = (before_s >= least_s) & (after_s >= least_s)
        apart &= np.minimum(before_s, after_s) < most_s
        places = np.flatnonzero(apart & alike & (left_gb > 0))
        if not len(places):
            return track.refitted(sample_s)
        left_gb[places] = 0.0
        track = track.with_events(bursts.start_s[places], places, True)


def _predict(
    track: Track, bursts: Bursts, places: Places, sample_s: float
) -> tuple[Places, Numbers]:
    """Bursts (of ``places``) in which a job's rhythm predicts checkpoints, and the first time."""
    slack_s = track.tolerance_s + sample_s
    start, end = bursts.start_s[places], bursts.end_s[places]
    latest = np.maximum(end - 0.5 * track.drain_s, start) + slack_s
    expected = track.expected()
    row = np.searchsorted(start - slack_s, expected, side="right") - 1
    inside = (row >= 0) & (expected <= np.append(latest, -np.inf)[row])
    rows, first = np.unique(row[inside], return_index=True)
    return places[rows], expected[inside][first]


def _fill(track: Track, bursts: Bursts, left_gb: Numbers, sample_s: float) -> Track:
    """A job with the checkpoints that its rhythm predicts, where bursts can hold them.

    A burst of its size is its own; of a larger one its size is taken, and the rest may be another
    job's.

    Args:
        left_gb: the rest of each burst; changed.
        sample_s: the usual width of a sample.
    """
    for _ in range(_ROUNDS):
        enough = np.flatnonzero(left_gb >= (1 - _ALONE) * track.size_gb)
        places, wanted = _predict(track, bursts, enough, sample_s)
        if not len(places):
            return track
        own = left_gb[places] <= (1 + _ALONE) * track.size_gb
        whole = own & (left_gb[places] == bursts.size_gb[places])
        left_gb[places] = np.where(own, 0.0, left_gb[places] - track.size_gb)
        times = np.where(whole, bursts.start_s[places], wanted)
        track = track.with_events(times, places, whole).refitted(sample_s)
    return track


# Parts of one job

_ALIKE, _TOO_NEAR, _FEW = 0.03, 0.6, 0.05
_STRAYS, _STRAY_SIZE, _BESIDE = 0.1, 0.15, 20.0
_MOST_TIMES = 3
"""Every so many of a job's checkpoints may look like another's; more are one by chance."""


def _unite(found: Sequence[Track], sample_s: float) -> list[Track]:
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
