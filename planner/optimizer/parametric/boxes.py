"""Storage of many cells at once, found by boxes: from so many of each item to so many.

What a box holds takes no less than its lowest corner. What the room above that could hold at most,
each limit alone filled with what gives most of it, bounds how good it can be. Boxes are halved
until they are one purchase, or may hold nothing that is good enough; those of which one count alone
is open are closed at once: at the most that fits, or at the least that is good enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.optimizer.dominance import stands_in
from planner.optimizer.kernel import Bills, Flags, Numbers, Places
from planner.optimizer.operations import Stores, stored, worn_interval_s
from planner.optimizer.parametric.cells import NOISE, Cells, begun, least_that
from planner.optimizer.purchase import TOLERANCE

ENDLESS = 1e30
"""What may be written to drives that do not wear."""
ITEMS = 30
"""A box of so many items that has some of them counts as one that was looked at."""
NO_END = 2**40
"""A count that nothing limits."""
TOGETHER = 1_024
"""Boxes that are halved together."""
AT_ONCE = 1_000
"""So few purchases are looked at one by one."""
FIRST = 32
"""So many at first, then twice as many each time: what they hold closes others."""
CUTS = 2
"""So often boxes are cut to what may be spent for the work at their top."""


class Points(NamedTuple):
    """Purchases: cells, scores, GPUs in use, counts of storage, and what each takes at least."""

    cell: Places
    score: Numbers
    gpus: NDArray[np.int64]
    counts: NDArray[np.int64]
    taken: Numbers

    def at(self, places: Places | Flags) -> Points:
        """Return some of them."""
        counts, taken = self.counts[:, places], self.taken[:, places]
        return Points(self.cell[places], self.score[places], self.gpus[places], counts, taken)


@dataclass(frozen=True)
class _Boxes:
    """Boxes with what no purchase in each scores more than."""

    cell: Places
    family: Places
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    bound: Numbers

    def at(self, places: Places | Flags) -> _Boxes:
        low, high = self.low[:, places], self.high[:, places]
        return _Boxes(self.cell[places], self.family[places], low, high, self.bound[places])

    @property
    def sizes(self) -> Numbers:
        """How many purchases each holds."""
        with np.errstate(over="ignore"):
            found: Numbers = np.prod(self.high - self.low + 1.0, axis=0)
        return found

    def points(self) -> _Boxes:
        """Return each purchase as a box of its own."""
        sizes = self.sizes.astype(np.int64)
        some = self.at(np.repeat(np.arange(len(sizes)), sizes))
        left = np.arange(len(some.cell)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        for row in np.flatnonzero((self.low < self.high).any(axis=1)).tolist():
            span = some.high[row] - some.low[row] + 1
            some.low[row] += left % span
            left //= span
        return replace(some, high=some.low)

    @classmethod
    def joined(cls, *parts: _Boxes) -> _Boxes:
        return cls(
            np.concatenate([each.cell for each in parts]),
            np.concatenate([each.family for each in parts]),
            np.hstack([each.low for each in parts]),
            np.hstack([each.high for each in parts]),
            np.concatenate([each.bound for each in parts]),
        )


class Boxed:
    """The storage of the cells of a case, for `most` work or `least` of what is used up."""

    def __init__(self, cells: Cells) -> None:
        self.cells, self.case = cells, cells.case
        self.looked, self.skipped = 0, False
        self.left = -np.inf  # the most that anything left out for scoring too little may score
        items = self.case.storage
        self.first = np.array(
            [max(1, i.min_units, i.segments[0].low if i.segments else 1) for i in items]
        )
        tops = [i.segments[-1].high if i.segments else np.inf for i in items]
        self.top = np.minimum(cells.high, tops)
        self.instead = self._instead()
        self.usable = np.array([i.usable_tb for i in items])
        self.rows = [next(n for n, b in enumerate(cells.kernel.items) if b.id == i.id)
                     for i in items]  # fmt: skip
        self.gives = np.minimum(cells.gives, ENDLESS).T
        self.inside = np.zeros((len(items), len(cells.families)), dtype=bool)
        for family, (places, *_) in enumerate(cells.families):
            self.inside[places, family] = True
        # More of one item makes nothing give less where one family serves and no unit is down.
        self.adds_up = (
            self.case.limits["most_write_gb_per_s"] is None and not self.case.tolerate_down
        )
        self.adds_up &= cells.tco is None  # more does more work, and costs more
        self.one_family = np.array(
            [len({items[n].family for n in places.tolist()}) == 1 for places, *_ in cells.families]
        )

    def _instead(self) -> list[tuple[int, int]]:
        """Return pairs of items of which the first does all that the second does, but for what it
        holds, and takes no more; see `planner.optimizer.dominance`."""
        if self.case.limits["most_write_gb_per_s"] is not None or self.case.tolerate_down:
            return []
        numbers = {item.id: number for number, item in enumerate(self.case.storage)}
        return [
            (numbers[one], numbers[other])
            for one, other in stands_in(self.case, self.cells.figures)
            if self.first[numbers[one]] <= self.first[numbers[other]]
        ]

    def _without_needless(self, boxes: _Boxes) -> _Boxes:
        """Return boxes without the items in whose place there may be as many of another one."""
        if not self.instead:
            return boxes
        low, high = boxes.low, boxes.high.copy()
        left = np.ones(low.shape[1], dtype=bool)
        holds = self.usable @ low
        for one, other in self.instead:
            less = (self.usable[one] - self.usable[other]) * low[other]
            goes = holds + less >= self.case.job.capacity_needed_tb
            left &= ~(goes & (low[other] > 0))
            high[other, goes] = 0
        return _Boxes(boxes.cell, boxes.family, low, np.maximum(high, low), boxes.bound).at(left)

    def explore(
        self,
        cells: Places,
        families: Places,
        limits: Numbers,
        need: Callable[[], float],
        looks: Callable[[], bool],
        *,
        least: bool,
        mixed: bool,
    ) -> Iterator[Points | float]:
        """Yield purchases that score more than is needed and fit; of those that differ in the count
        of one item the least, or the one that scores most. At the end the bound of what is left
        where ``looks`` says to look no more.

        Args:
            cells, families: what to look at.
            limits: what may be used up of each; may become less on the way.
            need: the score; may become more on the way.
            looks: whether to go on.
            least: whether the least counts that are enough are asked for.
            mixed: whether to go on to several items together where there are too many purchases to
                be looked at one by one; without, ``skipped`` says that this was left.
        """
        boxes, count = self._begun(cells, families), FIRST
        if len(cells):
            boxes = self._bounded(boxes, limits, need())
        if (boxes.high >= NO_END).any():  # models say whether anything holds it back
            yield np.inf
            return
        boxes, later = self._alone_first(boxes, limits, need(), mixed=mixed)
        while True:
            boxes = self._better(boxes, need())
            if not len(boxes.cell):
                if later is None:
                    return
                boxes, later, count = self._bounded(later, limits, need()), None, FIRST
                continue
            if not looks():
                yield np.inf if later is not None else float(boxes.bound.max())
                return
            if boxes.sizes.sum() <= AT_ONCE:
                yield self._scored(boxes.points(), limits, need())
                boxes = boxes.at(np.zeros(0, dtype=np.int64))
                continue
            order = np.argsort(-boxes.bound, kind="stable")
            some, rest = boxes.at(order[:count]), boxes.at(order[count:])
            count = min(2 * count, TOGETHER)
            open_ = (some.low < some.high).sum(axis=0)
            closes = (open_ == 1) & self.adds_up & self.one_family[some.family]
            closed = self._closed(some.at(closes), limits, need(), least=least)
            points = _Boxes.joined(some.at(open_ == 0), closed)
            if len(points.cell):
                yield self._scored(points, limits, need())
            halves = self._halved(some.at((open_ > 0) & ~closes), limits)
            boxes = _Boxes.joined(rest, self._bounded(halves, limits, need()))

    def _alone_first(
        self, boxes: _Boxes, limits: Numbers, need: float, *, mixed: bool
    ) -> tuple[_Boxes, _Boxes | None]:
        """Return what is looked at first, and later if at all: where purchases are many, what each
        item does by itself leaves less to look at."""
        if boxes.sizes.sum() <= AT_ONCE:
            return boxes, None
        several = boxes.at((boxes.high > 0).sum(axis=0) > 1)
        self.skipped |= not mixed and len(several.cell) > 0
        alone = self._bounded(self._alone(boxes), limits, need)
        return alone, several if mixed else None

    def fewest(self, cells: Places, families: Places, limits: Numbers) -> Points:
        """Return purchases of cells and families with one item alone, the least of it that is
        enough: plans to begin with."""
        boxes = self._bounded(self._alone(self._begun(cells, families)), limits, -np.inf)
        one = ((boxes.low < boxes.high).sum(axis=0) == 1) & (boxes.high < NO_END).all(axis=0)
        return self._scored(
            self._closed(boxes.at(one), limits, -np.inf, least=True), limits, -np.inf
        )

    def _begun(self, cells: Places, families: Places) -> _Boxes:
        """Return the boxes of all there may be of cells and families."""
        top = np.minimum(self.top, float(NO_END)).astype(np.int64)
        high = np.where(self.inside[:, families], top[:, None], 0)
        low = np.tile(self.cells.low[:, None], len(cells))
        whole = _Boxes(cells, families, low, high, np.full(len(cells), np.inf))
        return whole.at(np.flatnonzero((low <= high).all(axis=0)))

    def _alone(self, whole: _Boxes) -> _Boxes:
        """Return boxes of one item each."""
        parts = []
        for item in range(len(self.case.storage)):
            some = whole.at(whole.high[item] > 0)
            high = some.low.copy()
            high[item] = some.high[item]
            parts.append(_Boxes(some.cell, some.family, some.low, high, some.bound))
        return _Boxes.joined(*parts)

    def _bounded(self, boxes: _Boxes, limits: Numbers, need: float) -> _Boxes:
        """Return what may be good enough of boxes, cut to what there is room for, and bounded."""
        boxes = self._without_needless(boxes)
        taken, room, slack, fits = self._room(boxes, limits)
        boxes, taken, slack = boxes.at(fits), taken[:, fits], slack[:, fits]
        if not len(boxes.cell):
            return boxes
        more = room[:, fits] + slack
        boxes, rows = self._cut(boxes, taken, more, need)
        for _ in range(CUTS):
            taken, slack, more = taken[:, rows], slack[:, rows], more[:, rows]
            spare = self.cells.spare(boxes.cell, boxes.bound, taken, need)
            if spare is None or not len(rows):
                break
            more = np.minimum(more, spare + slack)
            boxes, rows = self._cut(boxes, taken, more, need)
        return boxes

    def _cut(
        self, boxes: _Boxes, taken: Numbers, more: Numbers, need: float
    ) -> tuple[_Boxes, Places]:
        """Return boxes cut to what there is room for and bounded, where they may be good enough,
        and which they are.

        Args:
            taken: what their lowest corners take at least.
            more: what may be taken above that.
        """
        cells, own, families = self.cells, self.cells.takes, boxes.family
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(own[:, :, None] > 0, more[None] / own[:, :, None], np.inf).min(axis=1)
        each = np.minimum(each, cells.units[families] - boxes.low.sum(axis=0))
        each = np.floor(np.minimum(each * (1 + NOISE) + NOISE, float(NO_END))).astype(np.int64)
        high = np.minimum(boxes.high, boxes.low + np.maximum(each, 0))
        high = np.where((boxes.low == 0) & (high < self.first[:, None]), 0, high)
        stores, usable = self._most(boxes, high, more)
        enough = cells._enough(boxes.cell, stores.read, stores.write, usable)
        enough &= high.sum(axis=0) > 0
        rows = np.flatnonzero(enough)
        most = cells._best_use(boxes.cell[rows], stores.at(rows), taken[:, rows])[0]
        bound = np.minimum(cells.value(most, taken[:, rows]), boxes.bound[rows])
        low, high = boxes.low[:, rows], high[:, rows]
        better = bound > need
        self.left = max(self.left, float(bound[~better].max(initial=-np.inf)))
        return _Boxes(boxes.cell[rows], families[rows], low, high, bound).at(better), rows[better]

    def _better(self, boxes: _Boxes, need: float) -> _Boxes:
        """Return the boxes that may hold more than is needed."""
        better = boxes.bound > need
        self.left = max(self.left, float(boxes.bound[~better].max(initial=-np.inf)))
        return boxes.at(better)

    def _room(self, boxes: _Boxes, limits: Numbers) -> tuple[Numbers, Numbers, Numbers, Flags]:
        """Return what the lowest corners take, the room above them, what of that they take by
        rounding up alone, and which of them fit."""
        cells = self.cells
        self.looked += len(boxes.cell)
        # Without storage it is what the cell's systems take, which is known.
        taken, fits = cells.base[:, boxes.cell], cells.fits[boxes.cell]
        slack = np.zeros_like(taken)
        some = np.flatnonzero(boxes.low.any(axis=0) | cells.installed.any())
        if len(some):
            self.looked += len(some) * (-(-len(self.first) // ITEMS) - 1)
            low, cell = boxes.low[:, some], boxes.cell[some]
            bills = cells.kernel.bills(*cells.columns(cell, low), least=True)
            taken[:, some], slack[:, some] = cells._taken(bills), self._rounded(bills, low)
            fits[some] = cells.kernel.can_be_had(bills)
        # What is owned is in place, in the cluster or idle.
        idle = np.maximum(cells.installed[:, None] - boxes.low, 0.0)
        slack += cells.takes.T @ np.where(boxes.low < boxes.high, idle, 0.0)
        room = limits[:, None] * (1 + TOLERANCE) - taken
        return taken, room, slack, fits & (room >= 0).all(axis=0)

    def _rounded(self, bills: Bills, low: NDArray[np.int64]) -> Numbers:
        """Return what counts of storage take above what they and their spares are: packs, least
        orders and racks begun. More units may take only so much less than each by itself."""
        cells, kernel = self.cells, self.cells.kernel
        spares = np.ceil(kernel.laid.spare_share[self.rows] * low - NOISE)
        needed = np.maximum(low + spares - cells.installed[:, None], 0.0)
        over = np.maximum(bills.purchased[self.rows] - needed, 0.0)
        slack = np.zeros((len(cells.supplies), low.shape[1]))
        for row, weights in enumerate(cells.weights):
            if weights is None:
                for item, count in zip(self.case.storage, low, strict=True):
                    if (use := item.rack_use) is not None:
                        stands = np.maximum(count, item.installed)
                        slack[row] += begun(use, stands) / cells.scales[row]
            else:
                slack[row] = weights[1][self.rows] @ over / cells.scales[row]
        return slack

    def _most(
        self, boxes: _Boxes, high: NDArray[np.int64], room: Numbers
    ) -> tuple[Stores, Numbers]:
        """Return the most that boxes could give, and the capacity they could have."""
        cells, family = self.cells, boxes.family
        begun = self.gives @ boxes.low
        more = self.gives @ (high - boxes.low)
        with np.errstate(invalid="ignore"):
            limited = cells.best[family][:, :, :-1] * room.T[:, None, :]
            limited = np.where(np.isnan(limited), np.inf, limited).min(axis=2, initial=np.inf)
            left = cells.units[family] - boxes.low.sum(axis=0)
            by_units = cells.best[family][:, :, -1] * left[:, None]
            by_units = np.where(np.isnan(by_units), np.inf, by_units)
        most = begun + np.minimum(more, np.minimum(limited, by_units).T)
        read, write, usable, endured = most * (1 + NOISE)
        write = np.minimum(write, cells.most_write)
        worn = worn_interval_s(self.case, endured)
        sides = (np.array([each[side] for each in cells.families])[family] for side in (2, 3))
        return Stores(write, read, write, read, worn, *sides), usable

    def _closed(self, boxes: _Boxes, limits: Numbers, need: float, *, least: bool) -> _Boxes:
        """Return the one purchase of each box, of which one count is open, that is asked for."""
        if not len(boxes.cell):
            return boxes
        which = np.argmax(boxes.low < boxes.high, axis=0)
        here = np.arange(len(which))
        low, high = boxes.low[which, here], boxes.high[which, here]
        begin = np.maximum(low, self.first[which])  # or none, which is another box

        def counts(rows: Places, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
            some = boxes.low[:, rows].copy()
            some[which[rows], np.arange(len(rows))] = np.maximum(begin[rows] + numbers, 0)
            return some

        def enough(rows: Places, numbers: NDArray[np.int64]) -> Flags:
            return self._needed(boxes.cell[rows], counts(rows, numbers), need)

        def over(rows: Places, numbers: NDArray[np.int64]) -> Flags:
            some = counts(rows, numbers)
            taken, fits = self.cells.taken(boxes.cell[rows], some, least=True)
            return ~(fits & (taken <= limits[:, None] * (1 + TOLERANCE)).all(axis=0))

        span = high - begin + 1
        self.looked += 4 * len(span)
        if least:
            rows = np.flatnonzero(enough(here, span - 1)) if len(here) else here
            found = least_that(span[rows] - 1, lambda some, n: enough(rows[some], n))
        else:
            rows = here
            found = least_that(span, over) - 1
            rows, found = rows[found >= 0], found[found >= 0]
        ended = counts(rows, found)
        zero = boxes.at((low == 0) & (boxes.low.sum(axis=0) > 0))  # as much as none of it
        cells = np.concatenate([boxes.cell[rows], zero.cell])
        both = np.hstack([ended, zero.low])
        families = np.concatenate([boxes.family[rows], zero.family])
        return _Boxes(cells, families, both, both, np.full(len(cells), np.inf))

    def _needed(self, cell: Places, counts: NDArray[np.int64], need: float) -> Flags:
        """Say which storage of cells scores more than is needed."""
        stores, usable = stored(self.case, counts)
        better: Flags = self.cells._enough(cell, stores.read, stores.write, usable)
        better &= counts.sum(axis=0) > 0
        some = np.flatnonzero(better)
        base = self.cells.base[:, cell[some]]
        better[some] = self.cells._best_use(cell[some], stores.at(some), base)[0] > need
        return better

    def _scored(self, boxes: _Boxes, limits: Numbers, need: float) -> Points:
        """Return the purchases that boxes are, where they score more than is needed and fit."""
        counts, cells = boxes.low, self.cells
        stores, usable = stored(self.case, counts)
        fine = cells._enough(boxes.cell, stores.read, stores.write, usable)
        fine &= counts.sum(axis=0) > 0
        fine &= ((counts == 0) | (counts >= self.first[:, None])).all(axis=0)
        rows = np.flatnonzero(fine)
        base = cells.base[:, boxes.cell[rows]]
        work, gpus = cells._best_use(boxes.cell[rows], stores.at(rows), base)
        most = cells.value(work, base)
        better = most > need
        self.left = max(self.left, float(most[~better].max(initial=-np.inf)))
        rows, gpus, work = rows[better], gpus[better], work[better]
        taken, fits = cells.taken(boxes.cell[rows], counts[:, rows], least=True)
        if cells.tco is not None:
            work, gpus = cells._best_use(boxes.cell[rows], stores.at(rows), taken)
        score = cells.value(work, taken)
        self.left = max(self.left, float(score[score <= need].max(initial=-np.inf)))
        fits &= (taken <= limits[:, None] * (1 + TOLERANCE)).all(axis=0) & (score > need)
        return Points(boxes.cell[rows], score, gpus, counts[:, rows], taken).at(fits)

    def _halved(self, boxes: _Boxes, limits: Numbers) -> _Boxes:
        """Return the halves of boxes, split where the counts differ by what takes most."""
        if not len(boxes.cell):
            return boxes
        share = self.cells.takes / np.where(limits > 0, limits, 1.0)
        weight = np.maximum(share.max(axis=1, initial=0.0), 1e-30)[:, None]
        which = np.argmax((boxes.high - boxes.low) * weight, axis=0)
        here = np.arange(len(which))
        low, high = boxes.low[which, here], boxes.high[which, here]
        first = self.first[which]
        middle = np.where((low == 0) & (first > 1), 0, (low + high) // 2)
        below, above = boxes.high.copy(), boxes.low.copy()
        below[which, here] = middle
        above[which, here] = np.maximum(middle + 1, first)
        return _Boxes.joined(
            _Boxes(boxes.cell, boxes.family, boxes.low, below, boxes.bound),
            _Boxes(boxes.cell, boxes.family, above, boxes.high, boxes.bound),
        )
