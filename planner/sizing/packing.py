"""The least racks that hold devices of a few kinds, with a proof of the bound.

A rack's content is a pattern: how many of each kind. It fits where on every side (height, power,
weight) the shares that its devices take come to no more than 1. The least racks for counts n are

    least(n) = min sum_p y_p   with   sum_p a_p y_p >= n,   y whole,   p over all patterns that fit.

Its relaxation has prices u >= 0 of the kinds with ``u a <= 1`` for every pattern. Such prices bound
the racks of *all* counts, ``least(n) >= u n``, so they are rows of a linear model. They are found
by column generation. Rounded up, the bound is the answer nearly always, and racks filled first-fit,
or as the relaxation says, meet it. Where they do not, racks are filled one after another in every
way that wastes no more than the bound leaves, until some way meets it or none does.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Counts = tuple[int, ...]
"""Counts of each kind: in all, or in one rack (a pattern)."""
Sides = tuple[float, float, float]
Shares = tuple[Sides, ...]
"""Of each kind, the share of a rack that one device takes on each side; 0 where none limits it."""
Racks = tuple[tuple[Counts, int], ...]
"""Patterns, and how many racks have each."""
Worth = list[Sides]
"""Prices of a rack's room on each side: several ways to say what room is worth at most."""

FULL = 1 + 1e-9
"""Twelve units of a twelfth of a rack fill it, whatever the floats say."""
EMPTY = (FULL, FULL, FULL)
NOISE = 1e-9
DEAR = 1e-8
"""Contents worth less than this more than a rack, or than others, count as equal."""
SLACK = 0.01
"""Prices that are this far from the best will do where they round up to the same racks."""
MOST_PIVOTS = 500
MOST_PRICED = 50_000
PATIENCE = 100
MOST_TRIED = 200_000
MOST_ROUNDED = 5_000
"""Parts of a rack's content looked at before a bound, or the racks in hand, have to do."""
MOST_KEPT = 50_000
MIXTURE = 12
MOST_NEAR = 32
"""Latest prices that are tried on other counts: those of neighbours prove as much."""


def ceil(value: float) -> int:
    """The least whole number that is not less, rounding noise aside."""
    return math.ceil(value - NOISE)


class RackPrices(NamedTuple):
    """Dual value of each kind in racks, and the mixture of patterns behind it."""

    each: tuple[float, ...]
    patterns: tuple[Counts, ...]
    times: tuple[float, ...]

    def bound_racks(self, counts: Sequence[float]) -> float:
        """Lower bound of the racks that counts take."""
        return sum(price * count for price, count in zip(self.each, counts, strict=True))


@dataclass(eq=False)
class Packing:
    """Kinds of devices that share racks. Answers depend on the counts alone; they are kept.

    ``known`` are fillings by counts and ``priced`` prices by counts, ``latest`` the last of these;
    ``open`` are those counts of which it is not proven that no fewer racks do.
    """

    shares: Shares
    known: dict[Counts, Racks] = field(default_factory=dict)
    open: set[Counts] = field(default_factory=set)
    priced: dict[tuple[float, ...], RackPrices] = field(default_factory=dict)
    latest: deque[RackPrices] = field(default_factory=lambda: deque(maxlen=MOST_NEAR))

    def __post_init__(self) -> None:
        if any(not 0 < max(share) <= FULL for share in self.shares):
            raise ValueError("a device takes nothing of a rack, or more than one")
        self.shares = _limiting(self.shares)
        self.alone = tuple(int(FULL / max(share)) for share in self.shares)
        kinds = range(len(self.shares))
        self.largest_first = tuple(sorted(kinds, key=lambda k: (-max(self.shares[k]), k)))
        self.mixes = _mixes(sum(any(side) for side in zip(*self.shares, strict=True)))
        self.mixed = np.array(self.shares) @ self.mixes.T

    def least(self, counts: Counts) -> int:
        """The least racks for the counts of each kind."""
        return sum(times for _, times in self.racks(counts))

    def racks(self, counts: Counts) -> Racks:
        """The contents of the least racks for the counts of each kind."""
        if counts not in self.known:
            _make_room(self.known)
            self.known[counts] = self._filled(counts)
        return self.known[counts]

    def price_counts(self, counts: Sequence[float]) -> RackPrices:
        """Prices whose bound for counts is the highest, or rounds up to the same racks."""
        key = tuple(counts)
        if key not in self.priced:
            _make_room(self.priced)
            self.priced[key] = _Pricing(self, counts).run(SLACK)
            self.latest.appendleft(self.priced[key])
        return self.priced[key]

    def _filled(self, counts: Counts) -> Racks:
        first_fit = _first_fit(self, counts)
        if not first_fit:
            return ()
        found = sum(times for _, times in first_fit)
        sides = np.array(counts, dtype=float) @ np.array(self.shares)
        if found <= math.ceil(float(sides.max()) / FULL - SLACK):  # some side is full in any case
            return first_fit
        if any(found <= ceil(prices.bound_racks(counts)) for prices in self.latest):
            return first_fit
        prices = self.price_counts(counts)
        if found <= ceil(prices.bound_racks(counts)):
            return first_fit
        search = _Search(self, counts, prices)
        racks = search.run(first_fit)
        if search.cut_short:
            self.open.add(counts)
        return racks


def _make_room(kept: dict[Any, Any]) -> None:
    if len(kept) >= MOST_KEPT:
        kept.clear()


@lru_cache(maxsize=64)
def packing(shares: Shares) -> Packing:
    """The packing of kinds, the same one for the same shares."""
    return Packing(shares)


def _mixes(sides: int) -> NDArray[np.float64]:
    """Weights of the first sides with the sum 1: each side alone first, then mixtures."""
    steps = itertools.product(range(MIXTURE + 1), repeat=sides)
    alone = [tuple(MIXTURE * (n == side) for n in range(sides)) for side in range(sides)]
    mixed = [mix for mix in steps if sum(mix) == MIXTURE and mix not in alone]
    return np.array([(*mix, 0.0, 0.0)[:3] for mix in (*alone, *mixed)], dtype=float) / MIXTURE


def _limiting(shares: Shares) -> Shares:
    """The shares on those sides that can be full before some other side is, these first."""
    kept: list[tuple[float, ...]] = []
    for side in sorted({*zip(*shares, strict=True)}, key=lambda side: (-sum(side), side)):
        if not any(all(a <= b for a, b in zip(side, other, strict=True)) for other in kept):
            kept.append(side)
    kept += [(0.0,) * len(shares)] * (3 - len(kept))
    first, second, third = kept
    return tuple(zip(first, second, third, strict=True))


def _first_fit(kinds: Packing, counts: Counts) -> Racks:
    """Racks filled first-fit, kind after kind, the largest first; alike ones together."""
    racks: list[tuple[Counts, int]] = []
    for kind in kinds.largest_first:
        left, filled = counts[kind], []
        for pattern, times in racks:
            each = min(left, _fitting(_room(kinds, pattern), kinds.shares[kind]))
            full = min(times, left // each) if each else 0
            rest = left - full * each if each and full < times else 0
            one = 1 if rest else 0
            filled += [
                (_with_count(pattern, kind, each), full),
                (_with_count(pattern, kind, rest), one),
            ]
            filled.append((pattern, times - full - one))
            left -= full * each + rest
        alone, nothing = kinds.alone[kind], (0,) * len(counts)
        filled.append((_with_count(nothing, kind, alone), left // alone))
        filled.append((_with_count(nothing, kind, left % alone), 1 if left % alone else 0))
        racks = [(pattern, times) for pattern, times in filled if times]
    return tuple(racks)


def _with_count(pattern: Counts, kind: int, more: int) -> Counts:
    return (*pattern[:kind], pattern[kind] + more, *pattern[kind + 1 :])


def _room(kinds: Packing, pattern: Counts) -> Sides:
    """Room left in a rack on each side."""
    room = EMPTY
    for count, share in zip(pattern, kinds.shares, strict=True):
        room = _room_left(room, share, count)
    return room


def _room_left(room: Sides, share: Sides, count: int) -> Sides:
    return room[0] - count * share[0], room[1] - count * share[1], room[2] - count * share[2]


def _fitting(room: Sides, share: Sides) -> int:
    """Devices of a kind that fit into room."""
    fit = math.inf
    for left, each in zip(room, share, strict=True):
        if each > 0 and left < fit * each:
            fit = left / each
    return int(fit) if fit > 0 else 0


def _worths(kinds: Packing, order: Sequence[int], worth: Sequence[float]) -> list[Worth]:
    """From each place on, the highest worth of room in the kinds still to come.

    However sides are weighed, a rack has 1 of the mixture, and the worth of a device for its part
    of that is a price of mixed room. Of mixtures the best one for an empty rack is taken.
    """
    values, mixed = np.array([worth[k] for k in order])[:, None], kinds.mixed[list(order)]
    free = np.where(values > 0, math.inf, 0.0)
    ratios = np.where(mixed > 0, values / np.where(mixed > 0, mixed, 1.0), free)
    dearest = np.maximum.accumulate(ratios[::-1], axis=0)[::-1]
    alone = range(sum(any(side) for side in zip(*kinds.shares, strict=True)))
    result: list[Worth] = []
    for prices in dearest:
        limiting = [n for n in sorted({*alone, int(np.argmin(prices))}) if prices[n] < math.inf]
        each = [(prices[n] * kinds.mixes[n]).tolist() for n in limiting]
        result.append([(a, b, c) for a, b, c in each])
    return [*result, [(0.0, 0.0, 0.0)]]


def _at_most(room: Sides, worth: Worth) -> float:
    """The highest worth of room."""
    most, (first, second, third) = math.inf, room
    for a, b, c in worth:
        value = a * first + b * second + c * third
        if value < most:
            most = value
    return most


class _Fullest:
    """The content of a rack that is worth most, if it is worth more than ``beyond``.

    ``best`` is None where there is none; ``most`` is what no content is worth more than, ``DEAR``
    aside, or what ``best`` is worth: once there is one, the best is not looked for long.
    """

    def __init__(self, kinds: Packing, worth: Sequence[float], beyond: float) -> None:
        self.shares, self.worth = kinds.shares, worth
        valued = [k for k, w in enumerate(worth) if w > 0]
        self.order = sorted(valued, key=lambda k: (-worth[k] / max(kinds.shares[k]), k))
        self.best: Counts | None = None
        self.most, self.tried = beyond, 0
        self.here = [0] * len(worth)
        self.cut_short = False
        if valued:
            self.worths = _worths(kinds, self.order, worth)
            self._fill(0, EMPTY, 0.0)
            if self.cut_short:
                self.most = max(self.most, _at_most(EMPTY, self.worths[0]))

    def _fill(self, depth: int, room: Sides, value: float) -> None:
        if depth == len(self.order):
            if value > self.most:
                self.best, self.most = tuple(self.here), value
            return
        kind = self.order[depth]
        share, each, after = self.shares[kind], self.worth[kind], self.worths[depth + 1]
        (one, two, three), (first, second, third) = share, room
        full = _fitting(room, share)
        least = full if depth + 1 == len(self.order) else 0
        for count in range(full, least - 1, -1):
            # What `_room_left` leaves and `_at_most` says of it, here where most of the time goes.
            x, y, z = first - count * one, second - count * two, third - count * three
            held = value + count * each
            for a, b, c in after:
                if held + (a * x + b * y + c * z) <= self.most + DEAR:
                    break
            else:
                self.tried += 1
                if self.tried > (MOST_PRICED if self.best is None else PATIENCE):
                    self.cut_short = True
                    break
                self.here[kind] = count
                self._fill(depth + 1, (x, y, z), held)
        self.here[kind] = 0


class _Pricing:
    """The relaxation for counts, solved by column generation over a square basis of patterns.

    Only kinds of which there are any take part; the others are worth nothing.
    """

    def __init__(self, kinds: Packing, counts: Sequence[float]) -> None:
        self.kinds = kinds
        self.here = [k for k, count in enumerate(counts) if count > 0]
        self.counts = np.array([counts[k] for k in self.here], dtype=float)
        self.basis = np.diag([float(kinds.alone[k]) for k in self.here])

    def run(self, slack: float) -> RackPrices:
        """The prices, and the patterns of the basis with their multiplicities."""
        for _ in range(MOST_PIVOTS):
            each = np.maximum(np.linalg.solve(self.basis.T, np.ones(len(self.here))), 0.0)
            value = float(each @ self.counts)
            # Lowered so far, prices still round up to the same racks.
            enough = value / (ceil(value) - 0.999) if value > NOISE else 1.0
            enough = max(1.0, min(1.0 + slack, enough))
            dearest = _Fullest(self.kinds, self._all(each), enough)
            if dearest.best is None:
                break
            self._enter(np.array([dearest.best[k] for k in self.here], dtype=float))
        # No pattern may be worth more than a rack.
        each /= dearest.most + 2.0 * DEAR
        times = np.maximum(np.linalg.solve(self.basis, self.counts), 0.0)
        patterns = tuple(tuple(int(n) for n in self._all(column)) for column in self.basis.T)
        return RackPrices(tuple(self._all(each)), patterns, tuple(times.tolist()))

    def _all(self, values: NDArray[np.float64]) -> list[float]:
        """Values of the kinds that take part as values of all kinds."""
        known = dict(zip(self.here, values.tolist(), strict=True))
        return [known.get(k, 0.0) for k in range(len(self.kinds.shares))]

    def _enter(self, pattern: NDArray[np.float64]) -> None:
        """Take a pattern into the basis in place of the one that runs out first."""
        times = np.linalg.solve(self.basis, self.counts)
        steps = np.linalg.solve(self.basis, pattern)
        falls = steps > NOISE
        ratios = np.where(falls, times / np.where(falls, steps, 1.0), np.inf)
        self.basis[:, int(np.argmin(ratios))] = pattern


class _Search:
    """Racks filled one after another, where first-fit does not meet the rounded bound."""

    def __init__(self, kinds: Packing, counts: Counts, prices: RackPrices) -> None:
        self.kinds, self.counts, self.prices = kinds, counts, prices
        self.failed: set[tuple[Counts, int]] = set()
        self.tried, self.cut_short = 0, False

    def run(self, found: Racks) -> Racks:
        """The least racks, given some that hold everything."""
        fewest, most = ceil(self.prices.bound_racks(self.counts)), sum(times for _, times in found)
        rounded = self._rounded(fewest, MOST_ROUNDED)
        if rounded is not None:
            return rounded
        # Exact prices leave the fewest contents to try.
        self.prices = _Pricing(self.kinds, self.counts).run(0.0)
        self.failed.clear()
        for racks in range(ceil(self.prices.bound_racks(self.counts)), most):
            better = self._rounded(racks, MOST_TRIED)
            if better is not None:
                return better
            self.cut_short = self.cut_short or self.tried > MOST_TRIED
        return found

    def _rounded(self, racks: int, most_tried: int) -> Racks | None:
        """A number of racks: most as in the relaxation, then fewer and fewer, then none."""
        whole, back = [int(times + NOISE) for times in self.prices.times], 0
        while True:
            kept = [max(0, times - back) for times in whole]
            left = self._counts_outside(kept)
            self.tried = max(0, MOST_TRIED - most_tried)
            rest = None if min(left) < 0 else self._fill(left, racks - sum(kept))
            if rest is not None:
                pairs = zip(self.prices.patterns, kept, strict=True)
                return (*(pair for pair in pairs if pair[1]), *((each, 1) for each in rest))
            if not any(kept):
                return None
            back = 2 * back + 1

    def _counts_outside(self, kept: Sequence[int]) -> Counts:
        """Counts outside a number of racks of each pattern of the relaxation."""
        left = self.counts
        for pattern, times in zip(self.prices.patterns, kept, strict=True):
            left = tuple(n - times * held for n, held in zip(left, pattern, strict=True))
        return left

    def _fill(self, counts: Counts, racks: int) -> list[Counts] | None:
        """Contents of a number of racks that hold the counts, None where none are found."""
        chosen: list[Counts] = []
        lefts, ways = [counts], [self._contents(counts, racks)]
        while any(lefts[-1]):
            pattern = next(ways[-1], None)
            if pattern is None:
                self.failed.add((lefts.pop(), racks - len(chosen)))
                ways.pop()
                if not ways or self.tried > MOST_TRIED:
                    return None
                chosen.pop()
                continue
            left = tuple(n - held for n, held in zip(lefts[-1], pattern, strict=True))
            if (left, racks - len(chosen) - 1) not in self.failed:
                chosen.append(pattern)
                lefts.append(left)
                ways.append(self._contents(left, racks - len(chosen)))
        return chosen

    def _contents(self, left: Counts, racks: int) -> Iterator[Counts]:
        """Yield contents of the next rack, if all that is left has to fit into a number of racks.

        It holds one of the largest kind that is left, and nothing else fits beside it: if there is
        a way to place them all, there is one with such a rack.
        """
        waste = racks - self.prices.bound_racks(left)
        if racks > 0 and waste >= -NOISE:
            order = [kind for kind in self.kinds.largest_first if left[kind]]
            worths = _worths(self.kinds, order, self.prices.each)
            yield from self._maximal_contents(left, order, worths, 1.0 - waste - NOISE)

    def _maximal_contents(
        self, left: Counts, order: Sequence[int], worths: list[Worth], worth: float
    ) -> Iterator[Counts]:
        """Yield contents of a rack of at least a worth, beside which nothing fits."""
        shares, prices = self.kinds.shares, self.prices.each
        here = [0] * len(left)

        def fill(depth: int, room: Sides, value: float) -> Iterator[Counts]:
            if depth == len(order):
                if all(here[k] == left[k] or not _fitting(room, shares[k]) for k in order):
                    yield tuple(here)
                return
            kind = order[depth]
            for count in range(min(left[kind], _fitting(room, shares[kind])), -1, -1):
                rest = _room_left(room, shares[kind], count)
                now = value + count * prices[kind]
                if now + _at_most(rest, worths[depth + 1]) >= worth and (count or depth):
                    self.tried += 1
                    if self.tried > MOST_TRIED:
                        return
                    here[kind] = count
                    yield from fill(depth + 1, rest, now)
            here[kind] = 0

        yield from fill(0, EMPTY, 0.0)
