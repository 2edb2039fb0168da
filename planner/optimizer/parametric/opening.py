"""Cells opened for many scenarios at once: arrays in which each row has its owner."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.optimizer.kernel import Flags, Numbers, Places
from planner.optimizer.parametric.cells import CHUNK, FIRST, NOISE, Cells
from planner.optimizer.purchase import TOLERANCE

BATCH = 1
"""Cells and families of one scenario that are enumerated together."""
FULL = 8
"""So many scenarios' fullest mixtures are listed together: each may have thousands."""
TRIES = 4
"""So many purchases of a cell and family are tried at first, then four times as many each time."""


class Opening:
    """Cells opened for some scenarios, all of them together, until nothing more can matter.

    Args:
        places: the scenarios, for `Plans`.
        limits: what may be used up: a row for each supply, a column for each scenario.
        most: how high each one's bound may be for the best plan known to be good enough.
    """

    def __init__(
        self, cells: Cells, places: Places, limits: Numbers, most: Callable[[], Numbers]
    ) -> None:
        self.cells, self.plans, self.places, self.most = cells, cells.plans, places, most
        self.limits, self.allowed = limits, limits * (1 + TOLERANCE)
        self.proved = np.full(len(places), -np.inf)

    def run(self) -> Numbers:
        """Return what no plan's score passes, for each scenario."""
        cells, proved = self.cells, self.proved
        order = np.argsort(-cells.bounds, kind="stable")
        waiting = np.ones(len(self.places), dtype=bool)
        for begin in range(0, len(order), CHUNK):
            some = order[begin : begin + CHUNK]
            most = self.most()
            rest = float(cells.bounds[order[begin:]].max())
            # What no cell that is left can better, and what the solver is asked about anyway.
            done = waiting & ((rest <= most) | (proved > most))
            proved[done] = np.maximum(proved[done], rest)
            waiting &= ~done
            if not waiting.any():
                break
            cells._refine(some[cells.bounds[some] > most[waiting].min()])
            self._open(np.flatnonzero(waiting), some[np.argsort(-cells.bounds[some])])
        return proved

    def _open(self, which: Places, some: Places) -> None:
        """Open some cells, highest bound first, for some scenarios as far as each must be."""
        cells, done, count = self.cells, 0, FIRST
        bounds = cells.bounds[some]
        room = self.allowed[:, which, None] - cells.base[:, None, some]
        left = cells.fits[some] & (room >= 0).all(axis=0)
        left |= bounds <= self.most()[which, None]
        rank = np.cumsum(left, axis=1)
        while left.any():
            closed = left & (bounds <= self.most()[which, None])
            highest = np.where(closed, bounds, -np.inf).max(axis=1)
            self.proved[which] = np.maximum(self.proved[which], highest)
            left &= ~closed
            # What is not settled the solver is asked about anyway.
            failed = self.proved[which] > self.most()[which]
            rest = np.where(left, bounds, -np.inf).max(axis=1)
            self.proved[which[failed]] = np.maximum(self.proved[which], rest)[failed]
            left[failed] = False
            now = left & (rank <= done + count)
            owners, places = np.nonzero(now)
            if len(owners):
                self._opened(which[owners], some[places])
            left &= ~now
            done, count = done + count, 2 * count

    def _opened(self, owners: Places, cells: Places) -> None:
        """Settle pairs of a scenario and a cell by the families that may serve them."""
        room = self.allowed[:, owners] - self.cells.base[:, cells]
        pairs, families, bounds = self.cells.by_family(cells, room)
        owners, cells = owners[pairs], cells[pairs]
        settled = np.zeros(len(owners), dtype=bool)
        while True:
            above = bounds > self.most()[owners]
            failed = np.zeros(len(self.places), dtype=bool)
            failed[owners[settled & above]] = True
            order = np.flatnonzero(above & ~settled & ~failed[owners])
            if not len(order):
                break
            order = order[np.lexsort((-bounds[order], owners[order]))]
            first = np.searchsorted(owners[order], owners[order])
            rows = order[np.arange(len(order)) - first < BATCH]
            proven = self._settled(owners[rows], cells[rows], families[rows])
            bounds[rows] = np.minimum(bounds[rows], proven)
            settled[rows] = True
        np.maximum.at(self.proved, owners, bounds)

    def _settled(self, owners: Places, cells: Places, families: Places) -> Numbers:
        """Enumerate the storage of cells and families; keep the best plans; return what is proven.

        Where mixtures are too many the fullest are enough; where these are, too, each item alone is
        tried, and nothing is proven.
        """
        counts, own, whole, fullest = self._listed(owners, cells, families)
        known = self.plans.score[self.places[owners]]
        need = known - self.cells.give
        score, gpus, rows = self.cells.better(cells[own], counts, need[own])
        order = np.lexsort((-score, own[rows]))
        rows = rows[order]
        found = Listed(own[rows], score[order], gpus[order], counts[:, rows])
        best = self._best(owners, cells, found, fullest)
        if self.cells.give:
            self._thinnest(owners, cells, found)
        return np.where(whole, np.maximum(known, best) + NOISE, np.inf)

    def _listed(
        self, owners: Places, cells: Places, families: Places
    ) -> tuple[NDArray[np.int64], Places, Flags, Flags]:
        """Return storage as columns, the row that each is of, and of which rows it is all there is,
        or the fullest of it."""
        room = self.allowed[:, owners] - self.cells.base[:, cells]
        whole, fullest = np.ones(len(owners), dtype=bool), np.zeros(len(owners), dtype=bool)
        parts: list[NDArray[np.int64]] = []
        places: list[Places] = []
        for family in np.unique(families).tolist():
            items, most_units, _, _ = self.cells.families[family]
            here = np.flatnonzero(families == family)
            mixes, own, many = self.cells.mixes(items, most_units, room[:, here])
            own = here[own]
            parts.append(self.cells._spread(items, mixes))
            places.append(own)
            for begin in range(0, int(many.sum()), FULL):
                rows = here[many][begin : begin + FULL]
                mixes, own, fine = self.cells._fullest(
                    cells[rows], items, most_units, self.limits[:, owners[rows]]
                )
                parts.append(self.cells._spread(items, mixes))
                places.append(rows[own])
                fullest[rows[fine]], whole[rows[~fine]] = True, False
            for row in here[~whole[here]].tolist():
                parts += [
                    self.cells._spread(item, self.cells.mixes(item, most_units, room[:, [row]])[0])
                    for item in items[:, None]
                ]
                places += [np.full(each.shape[1], row) for each in parts[len(places) :]]
        return np.column_stack(parts), np.concatenate(places), whole, fullest

    def _best(self, owners: Places, cells: Places, found: Listed, fullest: Flags) -> Numbers:
        """Take up the best purchase of each row that fits; return what no other passes.

        They are tried from the best on, some at a time.
        """
        best = np.full(len(owners), -np.inf)
        known = self.plans.score[self.places[owners]]
        left = np.flatnonzero(found.score > known[found.own])
        rank = np.arange(len(found.own)) - np.searchsorted(found.own, found.own)
        done, count = 0, TRIES
        while len(left):
            some = left[rank[left] < done + count]
            of = owners[found.own[some]]
            taken, fits = self.cells.taken(
                cells[found.own[some]], found.counts[:, some], least=True
            )
            fits &= np.all(taken <= self.allowed[:, of], axis=0)
            some = some[fits]
            fits = self._taken_up(owners, cells, found.at(some))
            # Of the fullest it is not known what fewer units would take: they count as if they fit.
            rows = some[fits | fullest[found.own[some]]]
            np.maximum.at(best, found.own[rows], found.score[rows])
            left = left[(rank[left] >= done + count) & np.isinf(best[found.own[left]])]
            done, count = done + count, 4 * count
        return best

    def _taken_up(self, owners: Places, cells: Places, some: Listed) -> Flags:
        """Tell the plans of purchases; say which fit, all of what they take counted."""
        if not len(some.own):
            return np.zeros(0, dtype=bool)
        of, where = owners[some.own], cells[some.own]
        taken, fits = self.cells.taken(where, some.counts, least=False)
        fits &= np.all(taken <= self.allowed[:, of], axis=0)
        rows = np.flatnonzero(fits)
        nth = np.arange(len(rows)) - np.searchsorted(some.own[rows], some.own[rows])
        rows = rows[nth < (1 if self.plans.lazy else TRIES)]
        self._note(where[rows], some.at(rows), taken[:, rows])
        return fits

    def _note(self, cells: Places, some: Listed, taken: Numbers) -> None:
        """Tell the plans of purchases that fit: what each is worth, and all that it takes."""
        plans = self.plans
        for row in plans.winners(some.score, taken).tolist():
            one = int(cells[row]), some.counts[:, row], int(some.gpus[row])
            if plans.lazy:
                plans.note(self.cells.proposed(*one), float(some.score[row]), taken[:, row])
            elif plans.score.min() < some.score[row]:
                self.cells.take(*one)

    def _thinnest(self, owners: Places, cells: Places, found: Listed) -> None:
        """Tell the plans of that purchase of each row that takes least of those good enough."""
        good = self.plans.score[self.places[owners[found.own]]] - self.cells.give
        some = np.flatnonzero(found.score >= good)
        if len(some):
            scales = np.where(self.limits > 0, self.limits, 1.0)[:, owners[found.own[some]]]
            share = (self.cells.takes.T @ found.counts[:, some] / scales).sum(axis=0)
            order = np.lexsort((share, found.own[some]))
            first = np.unique(found.own[some][order], return_index=True)[1]
            self._taken_up(owners, cells, found.at(some[order[first]]))


class Listed(NamedTuple):
    """Purchases: the row that each is of, scores, GPUs in use, counts of storage."""

    own: Places
    score: Numbers
    gpus: NDArray[np.int64]
    counts: NDArray[np.int64]

    def at(self, rows: Places) -> Listed:
        """Return some of them."""
        return Listed(self.own[rows], self.score[rows], self.gpus[rows], self.counts[:, rows])
