"""Data on its way to storage and back, as stretches of constant rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

PIECE_S = 10.0
MOST_PIECES = 64


@dataclass(frozen=True)
class Flow:
    """Stretches of constant rate, in any order; where they coincide the rates add."""

    start_s: Floats
    end_s: Floats
    gb_per_s: Floats

    def __add__(self, other: Flow) -> Flow:
        return Flow(
            np.concatenate((self.start_s, other.start_s)),
            np.concatenate((self.end_s, other.end_s)),
            np.concatenate((self.gb_per_s, other.gb_per_s)),
        )

    def moved_gb(self, at_s: Floats) -> Floats:
        """Return what has flowed by each of these times."""
        if not len(self.start_s):
            return np.zeros(len(at_s))
        times = np.concatenate((self.start_s, self.end_s))
        order = np.argsort(times, kind="stable")
        times = times[order]
        rates = np.cumsum(np.concatenate((self.gb_per_s, -self.gb_per_s))[order])
        rates[rates < 1e-9] = 0.0  # what rounding leaves of a sum that is nothing
        done = np.concatenate(([0.0], np.cumsum(rates[:-1] * np.diff(times))))
        return np.interp(at_s, times, done)


NOTHING = Flow(np.zeros(0), np.zeros(0), np.zeros(0))


@dataclass(frozen=True)
class Drains:
    """Checkpoints to be written: when each begins, how much, how fast, and what breaks it off."""

    start_s: Floats
    size_gb: Floats
    gb_per_s: Floats
    cut_s: Floats
    noise: Floats
    ramp: Flags


@dataclass(frozen=True)
class Pieces:
    """Equal parts of each drain's size, each with the rate that its writers manage."""

    drain: Ints
    size_gb: Floats
    gb_per_s: Floats


def in_pieces(drains: Drains, random: np.random.Generator) -> Pieces:
    """Cut drains into parts of some 10 s with a noisy rate, slow at both ends where they ramp."""
    lasts = drains.size_gb / drains.gb_per_s
    counts = np.clip(np.ceil(lasts / PIECE_S), 1, MOST_PIECES).astype(int)
    drain = np.repeat(np.arange(len(counts)), counts)
    last = np.cumsum(counts) - 1
    noise = np.repeat(drains.noise, counts)
    factor = np.exp(noise * random.standard_normal(len(drain)) - noise**2 / 2)
    slow = drains.ramp & (counts >= 4)
    for ends in (last[slow], (last - counts + 1)[slow]):
        factor[ends] *= random.uniform(0.3, 0.7, len(ends))
    rate = np.repeat(drains.gb_per_s, counts) * factor
    return Pieces(drain, np.repeat(drains.size_gb / counts, counts), rate)


def freely(drains: Drains, pieces: Pieces) -> tuple[Ints, Flow]:
    """Return every drain's stretches where none slows another down, and whose they are."""
    lasts = pieces.size_gb / pieces.gb_per_s
    ends = np.cumsum(lasts)
    first = np.searchsorted(pieces.drain, np.arange(len(drains.start_s)))
    ends += (drains.start_s - (ends - lasts)[first])[pieces.drain]
    starts = ends - lasts
    cut = drains.cut_s[pieces.drain]
    kept = starts < cut
    flow = Flow(starts[kept], np.minimum(ends, cut)[kept], pieces.gb_per_s[kept])
    return pieces.drain[kept], flow


def shared(drains: Drains, pieces: Pieces, most_gb_per_s: float) -> tuple[Ints, Flow]:
    """The same where all drains together get at most so much, in proportion to what they ask."""
    owner, free = freely(drains, pieces)
    ends = drains.start_s.copy()
    np.maximum.at(ends, owner, free.end_s)
    crowd = np.zeros(len(ends), dtype=bool)
    owners, flows = [], NOTHING
    at = 0
    while at < len(ends):
        upto, done = at + 1, ends[at]
        while upto < len(ends) and drains.start_s[upto] < done:
            done = max(done, ends[upto])
            upto += 1
            if upto == len(ends) or drains.start_s[upto] >= done:
                whose, flow = _together(range(at, upto), drains, pieces, most_gb_per_s)
                done = float(flow.end_s.max())
        if upto > at + 1:
            crowd[at:upto] = True
            owners.append(whose)
            flows = flows + flow
        at = upto
    alone = ~crowd[owner]
    lonely = Flow(free.start_s[alone], free.end_s[alone], free.gb_per_s[alone])
    return np.concatenate([owner[alone], *owners]).astype(np.int64), lonely + flows


def _together(
    members: range, drains: Drains, pieces: Pieces, most_gb_per_s: float
) -> tuple[Ints, Flow]:
    """Step from event to event through drains that coincide."""
    bounds = np.searchsorted(pieces.drain, [members.start, *(m + 1 for m in members)])
    place = {m: int(bounds[n]) for n, m in enumerate(members)}
    stop = {m: int(bounds[n + 1]) for n, m in enumerate(members)}
    left = {m: float(pieces.size_gb[place[m]]) for m in members}
    waiting, active = list(members), []
    now = float(drains.start_s[waiting[0]])
    rows: list[tuple[int, float, float, float]] = []
    while waiting or active:
        while waiting and drains.start_s[waiting[0]] <= now:
            active.append(waiting.pop(0))
        if not active:
            now = float(drains.start_s[waiting[0]])
            continue
        asked = {m: float(pieces.gb_per_s[place[m]]) for m in active}
        share = min(1.0, most_gb_per_s / sum(asked.values()))
        ends = {m: now + left[m] / (asked[m] * share) for m in active}
        events = [*ends.values(), *(float(drains.cut_s[m]) for m in active)]
        if waiting:
            events.append(float(drains.start_s[waiting[0]]))
        then = min(events)
        for m in list(active):
            rows.append((m, now, then, asked[m] * share))
            left[m] -= asked[m] * share * (then - now)
            if ends[m] <= then:
                place[m] += 1
                if place[m] < stop[m]:
                    left[m] = float(pieces.size_gb[place[m]])
            if place[m] == stop[m] or drains.cut_s[m] <= then:
                active.remove(m)
        now = then
    table = np.array(rows)
    return table[:, 0].astype(int), Flow(table[:, 1], table[:, 2], table[:, 3])


@dataclass(frozen=True)
class Background:
    """What flows besides checkpoints: a base with a daily swing, a wander from hour to hour and
    noise from sample to sample; small bursts, and now and then a large write."""

    base_gb_per_s: float = 0.0
    swing: float = 0.0
    wander: float = 0.0
    noise: float = 0.0
    bursts_per_hour: float = 0.0
    burst_gb: tuple[float, float] = (1.0, 1.0)
    large_per_day: float = 0.0
    large_gb: tuple[float, float] = (1.0, 1.0)
    large_gb_per_s: float = 1.0

    def flow(self, length_s: float, step_s: float, random: np.random.Generator) -> Flow:
        return self._base(length_s, step_s, random) + self._bursts(length_s, random)

    def _base(self, length_s: float, step_s: float, random: np.random.Generator) -> Flow:
        if not self.base_gb_per_s:
            return NOTHING
        edges = np.arange(0.0, length_s + step_s, step_s)
        at = edges[:-1]
        level = 1 + self.swing * np.sin(2 * np.pi * (at / 86400 + random.random()))
        hours = np.arange(0.0, length_s + 7200, 3600)
        slow = np.interp(at, hours, self.wander * random.standard_normal(len(hours)))
        fast = self.noise * random.standard_normal(len(at)) - self.noise**2 / 2
        return Flow(at, edges[1:], self.base_gb_per_s * level * np.exp(slow + fast))

    def _bursts(self, length_s: float, random: np.random.Generator) -> Flow:
        flows = NOTHING
        kinds = (
            (self.bursts_per_hour / 3600, self.burst_gb, None, (5.0, 60.0)),
            (self.large_per_day / 86400, self.large_gb, self.large_gb_per_s, None),
        )
        for per_s, size_gb, rate, lasts_s in kinds:
            count = random.poisson(per_s * length_s)
            start = np.sort(random.uniform(0, length_s, count))
            size = np.exp(random.uniform(*np.log(size_gb), count))
            if lasts_s is not None:
                lasts = random.uniform(*lasts_s, count)
            else:
                assert rate is not None
                lasts = size / (rate * random.uniform(0.3, 1.0, count))
            flows = flows + Flow(start, start + lasts, size / lasts)
        return flows
