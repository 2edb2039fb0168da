"""Jobs among bursts: those of one size that keep a rhythm, taken out one after another.

A job's bursts recur in size and rhythm. The strongest rhythm at
the narrowest scatter of sizes is followed first. Events of one size and one rhythm that overlap in
time belong to several jobs; those that follow one another to one, with an interruption between
them. Each job's rhythm is then followed through bursts that are not its own yet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from planner.telemetry.bursts import Bursts
from planner.telemetry.raw import Numbers, Places, scatter

SCALES = (0.008, 0.02, 0.05)
"""Scatter of sizes that is tried, the narrowest first, as a share."""

_SIZE_BIN = 0.002
_REACH = 4.0
_LEAST_MEMBERS = 4

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
_DRIFT, _AROUND, _LEAST_DRIFT, _FEW_STEPS = 0.15, 6, 25, 3
"""How far a gap may be from the usual interval to be one of a clock that drifts; gaps on either
side that its local interval is the median of; their least number; and intervals in a gap."""


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
    """Depth of a peak's flanks."""
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
    """Fit of events to an interval; the tolerance follows their own scatter."""
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
        kinds: kind of each.
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
        """Start times of its checkpoints; earlier estimates where none is sure yet."""
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
        """Number of intervals in each gap, 0 where it is no multiple.

        Args:
            slack_s: how far each gap may be from one interval, by default the tolerance.
        """
        slack_s = np.full(len(self.times) - 1, self.tolerance_s) if slack_s is None else slack_s
        gaps, interval_s = np.diff(self.times), self.local_interval_s()
        count = np.maximum(np.round(gaps / interval_s), 1.0)
        off = np.abs(gaps - count * interval_s)
        fits = off <= slack_s * np.sqrt(count)
        return np.where(fits & (count <= MOST_MISSED), count, 0).astype(np.int64)

    def local_interval_s(self) -> Numbers:
        """Return the interval around each gap, which follows a clock that drifts: the median of the
        gaps around it that are near the usual interval."""
        gaps = np.diff(self.times)
        count = np.maximum(np.round(gaps / self.interval_s), 1.0)
        each = gaps / count
        near = (np.abs(each / self.interval_s - 1) <= _DRIFT) & (count <= _FEW_STEPS)
        around = np.flatnonzero(near)
        if len(around) < _LEAST_DRIFT:
            return np.full(len(gaps), self.interval_s)
        padded = np.pad(each[around], _AROUND, mode="reflect")
        windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * _AROUND + 1)
        return np.asarray(np.interp(np.arange(len(gaps)), around, np.median(windows, axis=1)))

    def expected(self) -> Numbers:
        """Times of checkpoints in the rhythm that are not among the events, in order."""
        if not len(self.times):
            return self.hints
        count, local_s = self.multiples(), self.local_interval_s()
        first_s, last_s = (local_s[0], local_s[-1]) if len(local_s) else (self.interval_s,) * 2
        found = [self.times[-1:] + last_s, self.times[:1] - first_s]
        found.append(self._new(self.hints))
        broken = count == 0
        found.append(self.times[:-1][broken] + local_s[broken])
        found.append(self.times[1:][broken] - local_s[broken])
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
        """True if the rhythm is kept more often than broken."""
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


@dataclass
class Pool:
    """Rest of bursts while jobs are found: ``free`` are no job's, ``left_gb`` is what the
    checkpoints found in a burst do not account for."""

    free: NDArray[np.bool_]
    left_gb: Numbers


def tracks(bursts: Bursts, sample_s: float) -> list[Track]:
    """Return the jobs that bursts show, one after another.

    Each takes the bursts that its rhythm asks for before the next is looked for, and its share of
    those that hold more than one checkpoint.

    Args:
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
    """Mask of times no nearer to the job's events than its rhythm allows.

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
    """Return the times within bursts at which a job's rhythm expects checkpoints, and the bursts.

    Args:
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
        pool: the rest of them; changed.
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
    """True if the checkpoints of two jobs have one size."""
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
    """True if a few bursts only look like a job, because another's were disturbed."""
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
    """Positions of another job's checkpoints in a job's gaps, as shares; none if not comparable."""
    if not _alike(track, other) or abs(other.interval_s / track.interval_s - 1) > _ALIKE:
        return np.zeros(0)
    before, after = neighbours(track.times, other.times)
    kept = np.abs(after - before - track.interval_s) <= track.tolerance_s
    if np.mean(kept) < _TOGETHER:
        return np.zeros(0)
    return np.asarray((other.times - before)[kept] / (after - before)[kept])
