"""Every purchase that is good enough, listed: what choosing among equally good plans looks at."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.optimizer.kernel import Flags, Numbers, Places
from planner.optimizer.operations import stored
from planner.optimizer.parametric.bounded import NOISE
from planner.optimizer.parametric.cells import Cells
from planner.optimizer.purchase import TOLERANCE

TOGETHER = 64
"""Purchases good enough whose bills are worked out together."""


@dataclass(frozen=True)
class Band:
    """Purchases of one cell: scores, GPUs in use, counts of storage, what they take at least."""

    cell: int
    score: Numbers
    gpus: NDArray[np.int64]
    counts: NDArray[np.int64]
    taken: Numbers


MOST_LOOKED = 300_000
"""Purchases that are looked at in all; then the solver is quicker."""
OF_A_CELL = 100
"""What looking at a cell counts, whatever is in it."""


class Bands(Cells):
    """Cells whose purchases are listed, as long as that is not too much work."""

    most_mixes = 40_000
    looked = 0

    def mixes(
        self, items: Places, most_units: float, room: Numbers
    ) -> tuple[NDArray[np.int64], Places, Flags]:
        """Return counts of some items as `Cells.mixes` does, none once enough was looked at."""
        if self.looked < MOST_LOOKED:
            found, own, many = super().mixes(items, most_units, room)
        else:
            found, own = np.zeros((len(items), 0), dtype=np.int64), np.zeros(0, dtype=np.int64)
            many = np.ones(room.shape[1], dtype=bool)
        self.looked += found.shape[1] + OF_A_CELL * int(many.sum())
        return found, own, many

    def good_enough(self, need: float, by: int, limits: Numbers) -> Iterator[Band | None]:
        """Yield every purchase that scores more than is needed and fits; None where that are too
        many to tell.

        Args:
            need: the score.
            by: the place of a supply: what takes least of it comes first, as a rule.
            limits: what may be used up of each; may become less as bands are looked at.
        """
        self.refine(np.flatnonzero(self.bounds > need))
        cells = np.flatnonzero((self.bounds > need) & self.fits)
        for cell in cells[np.argsort(self.base[by, cells], kind="stable")].tolist():
            if self.base[by, cell] > limits[by] * (1 + TOLERANCE):
                return
            room = limits * (1 + TOLERANCE) - self.base[:, cell]
            if np.any(room < 0):
                continue
            self.looked += OF_A_CELL
            _, families, bounds = self.by_family(np.array([cell]), room[:, None])
            for family in families[bounds > need].tolist():
                yield from self._banded(cell, family, need, by, limits)

    def _banded(
        self, cell: int, family: int, need: float, by: int, limits: Numbers
    ) -> Iterator[Band | None]:
        """Yield what `good_enough` does of one cell and family, some at a time."""
        items, most_units, _, _ = self.families[family]
        room = limits * (1 + TOLERANCE) - self.base[:, cell]
        whole = self._mixes(items, most_units, room) is not None
        # What each item costs by itself leaves less room for mixtures.
        each = [] if whole else [items[number : number + 1] for number in range(len(items))]
        for some in (*each, items):
            room = limits * (1 + TOLERANCE) - self.base[:, cell]
            mixes = self._mixes(some, most_units, room)
            if mixes is None and self._add_up(some):
                mixes = self._least_mixes(cell, some, most_units, room, need)
            if mixes is None:
                yield None
                return
            yield from self._fitting(cell, self.spread(some, mixes), need, by, limits)

    def _add_up(self, items: Places) -> bool:
        """Say whether more of one item never makes others give less, nor may be too much."""
        if self.case.limits.most_write_gb_per_s is not None:
            return False
        families = {self.case.storage[item].family for item in items.tolist()}
        return len(families) == 1 and not self.case.tolerate_down

    def _least_mixes(
        self, cell: int, items: Places, most_units: float, room: Numbers, need: float
    ) -> NDArray[np.int64] | None:
        """Return counts of a family's items that score more than is needed: with all others as they
        are, the least of the one of which there can be most. More of it scores no less, takes more.

        None where they are too many.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            alone = np.where(self.takes[items] > 0, room / self.takes[items], np.inf).min(axis=1)
        last = int(np.argmax(np.minimum(alone, self.high[items])))
        others, item = np.delete(items, last), self.case.storage[items[last]]
        mixes = self._mixes(others, most_units, room)
        if mixes is None:
            return None
        mixes = np.column_stack([np.zeros(len(others), dtype=np.int64), mixes])
        left = room[:, None] - self.takes[others].T @ mixes
        takes = self.takes[items[last]][:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(takes > 0, left / takes, np.inf).min(axis=0) * (1 + NOISE) + NOISE
        top = item.segments[-1].high if item.segments else math.inf
        most = np.minimum(most, min(self.high[items[last]], top))
        most = np.minimum(most, most_units - mixes.sum(axis=0))
        if np.isinf(most).any():
            return None
        first = max(1, item.min_units, item.segments[0].low if item.segments else 1)
        high = np.maximum(np.floor(most).astype(np.int64) - first + 1, 0)

        def counts(rows: Places, places: NDArray[np.int64]) -> NDArray[np.int64]:
            found = np.zeros((len(items), len(rows)), dtype=np.int64)
            found[np.arange(len(items)) != last] = mixes[:, rows]
            found[last] = np.where(places > 0, places + first - 1, 0)  # as may be ordered
            return found

        def enough(rows: Places, places: NDArray[np.int64]) -> Flags:
            return self._needed(cell, self.spread(items, counts(rows, places)), need)

        rows = np.flatnonzero(enough(np.arange(len(high)), high))
        return counts(rows, _least(high[rows], lambda some, n: enough(rows[some], n)))

    def _needed(self, cell: int, counts: NDArray[np.int64], need: float) -> Flags:
        """Say which storage of a cell scores more than is needed."""
        cells = np.full(counts.shape[1], cell)
        stores, usable = stored(self.case, counts)
        better: Flags = self._enough(cells, stores.read, stores.write, usable)
        better &= counts.sum(axis=0) > 0
        some = np.flatnonzero(better)
        better[some] = self._best_use(cells[some], stores.at(some))[0] > need
        return better

    def _fitting(
        self, cell: int, counts: NDArray[np.int64], need: float, by: int, limits: Numbers
    ) -> Iterator[Band]:
        """Yield what scores more than is needed and fits, what takes least of a supply first."""
        score, gpus, rows = self.better(cell, counts, need)
        counts = counts[:, rows]
        least = self.base[by, cell] + self.takes[:, by] @ counts
        order = np.argsort(least, kind="stable")
        for begin in range(0, len(order), TOGETHER):
            some = order[begin : begin + TOGETHER]
            if least[some[0]] > limits[by] * (1 + TOLERANCE):
                return
            taken, fits = self.taken(cell, counts[:, some], least=True)
            fits &= np.all(taken <= limits[:, None] * (1 + TOLERANCE), axis=0)
            if fits.any():
                some = some[fits]
                yield Band(cell, score[some], gpus[some], counts[:, some], taken[:, fits])


def _least(
    high: NDArray[np.int64], enough: Callable[[Places, NDArray[np.int64]], Flags]
) -> NDArray[np.int64]:
    """Return the least numbers that are enough, none above those given, which are, by halves."""
    low, high = np.zeros_like(high), high.copy()
    while len(open_ := np.flatnonzero(low < high)):
        middle = (low[open_] + high[open_]) // 2
        fine = enough(open_, middle)
        high[open_[fine]], low[open_[~fine]] = middle[fine], middle[~fine] + 1
    return high
