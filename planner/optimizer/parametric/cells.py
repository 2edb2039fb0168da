"""Answers without a solver: every purchase of one GPU type, bounded and enumerated as arrays.

The purchases are divided into cells: a way in which the job runs, and how many systems of its type
there are. Useful work does not fall where storage moves more, and what a purchase takes does not
fall where more is bought. So a cell is bounded three times, each closer than the one before:

1. as if storage were no limit (whatever the limits are);
2. by storage family, with the most bandwidth that the room which the systems leave could hold: each
   limit alone filled with what gives most of it, a knapsack in fractions;
3. exactly: the counts of storage that fit, by `Kernel` in its least form.

Cells are opened from the highest bound down, for many scenarios at once, until none is above the
best plan by more than the gap. What cannot be settled so (many mixtures of items in one family)
keeps its bound, and whoever asked goes on with the solver.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.case import Case
from planner.case.bounds import cap_in_use
from planner.case.model import Storage
from planner.optimizer import operations
from planner.optimizer.kernel import Flags, Numbers, Places
from planner.optimizer.operate import Run
from planner.optimizer.operations import stored
from planner.optimizer.parametric.bounded import NOISE, Bounded
from planner.optimizer.parametric.plans import Proposal
from planner.optimizer.purchase import TOLERANCE

MOST_CELLS = 20_000


def covers(case: Case) -> bool:
    """Say whether no plan of a case needs more than one GPU type, and what that leaves is known.

    What must be bought, what is owned and what vendors are asked for make purchases of several
    types worth having; cost and power as objectives are best at the least that meets the floors.
    """
    limits, offers = case.limits, case.offers()
    ratios = (limits.per_useful_gpu_hour, limits.per_million_tokens)
    return (
        case.objective in operations.WORTH
        and bool(case.systems and case.storage)
        and case.job.max_types == 1
        and case.job.scale is None
        and all(limit is None for limit in ratios)
        and all(operations.covers(case, mode) for mode in case.job.modes)
        and not (case.policy.required or case.policy.splits or case.must_use or case.standing)
        and case.exact_families in (None, 1)
        and not any(offer.low or offer.forced or offer.installed for offer in offers)
        and not any(family.forced for family in case.families)
        and sum(cap_in_use(case, s) * len(s.ways) for s in case.systems) <= MOST_CELLS
    )


class Cells(Bounded):
    """Cells with the storage of each listed where that is asked for; see `Bounded`."""

    most_mixes = 6_000
    """More mixtures of a family's items in one cell are left to the solver."""

    def answer(self, place: int, limits: Numbers, most: Callable[[], float]) -> float:
        """Return what no plan's score passes under limits; plans found on the way are kept.

        Args:
            place: the scenario, for `Plans`.
            limits: what may be used up of each supply.
            most: how high the bound may be for the best plan known to be good enough.
        """
        where = np.array([place])
        return float(Opening(self, where, limits[:, None], lambda: np.array([most()])).run()[0])

    def spread(self, items: Places, mixes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return counts of some items as counts of all."""
        counts = np.zeros((len(self.case.storage), mixes.shape[1]), dtype=np.int64)
        counts[items] = mixes
        return counts

    def _mixes(self, items: Places, most_units: float, room: Numbers) -> NDArray[np.int64] | None:
        """Return the counts of some items that what each takes by itself leaves room for.

        None where they are too many.
        """
        found, _, many = self.mixes(items, most_units, room[:, None])
        return None if many[0] else found

    def mixes(
        self, items: Places, most_units: float, room: Numbers
    ) -> tuple[NDArray[np.int64], Places, Flags]:
        """Return the counts of some items that what each takes by itself leaves room for.

        Args:
            items: the places of the items.
            most_units: how many of all there may be.
            room: what is left of each supply, a column for each owner.

        Returns:
            The mixtures as columns, the owner of each, and which owners have too many to list.
        """
        found, own = np.zeros((0, room.shape[1]), dtype=np.int64), np.arange(room.shape[1])
        left, units = room.copy(), np.full(len(own), most_units)
        many = np.zeros(len(own), dtype=bool)
        for place in items.tolist():
            most = self._most_of(place, left, units)
            each = np.where(np.isinf(most), self.most_mixes, most) + 1
            many |= np.bincount(own, each, len(many)) > self.most_mixes
            each[many[own]] = 0
            each = each.astype(np.int64)
            rows = np.repeat(np.arange(len(each)), each)
            count = np.arange(len(rows)) - np.repeat(np.cumsum(each) - each, each)
            kept = _ordered(self.case.storage[place], count)
            rows, count = rows[kept], count[kept]
            found, own = np.vstack([found[:, rows], count]), own[rows]
            left = left[:, rows] - self.takes[place][:, None] * count
            units = units[rows] - count
        some = found.sum(axis=0) > 0
        return found[:, some], own[some], many

    def _most_of(self, place: int, left: Numbers, units: Numbers) -> Numbers:
        """Return the most units of an item that room allows by itself; inf where nothing does."""
        takes = self.takes[place][:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(takes > 0, left / takes, np.inf).min(axis=0, initial=np.inf)
        most = np.minimum(np.minimum(most, self.high[place]), units)
        whole: Numbers = np.floor(most * (1 + NOISE) + NOISE)
        return whole

    def fullest(
        self, cell: int, items: Places, most_units: float, limits: Numbers
    ) -> NDArray[np.int64] | None:
        """Return the mixtures of a family's items to which no unit of the last can be added.

        Work does not fall where there is more of an item, and what a purchase takes does not
        either: so of those with the same counts of the others none is better, and how many of the
        last fit is found by halving. None where that does not hold, or they are too many still.
        """
        some = [self.case.storage[place] for place in items.tolist()]
        if len({item.family for item in some}) > 1 or any(item.segments for item in some):
            return None
        room = limits * (1 + TOLERANCE) - self.base[:, cell]
        others, last = items[:-1], int(items[-1])
        mixes = self._mixes(others, most_units, room)
        if mixes is None:
            return None
        mixes = np.column_stack([np.zeros((len(others), 1), dtype=np.int64), mixes])
        left = room[:, None] - self.takes[others].T @ mixes
        unrounded = self._most_of(last, left, most_units - mixes.sum(axis=0))
        if np.isinf(unrounded).any():
            return None
        most = unrounded.astype(np.int64)
        counts = self.spread(others, mixes)
        low, high = np.full(len(most), -1), most
        while (low < high).any():
            counts[last] = np.maximum((low + high + 1) // 2, 0)
            taken, fits = self.taken(cell, counts, least=True)
            fits &= np.all(taken <= limits[:, None] * (1 + TOLERANCE), axis=0)
            fits &= stored(self.case, counts)[0].write <= self.most_write * (1 + NOISE)
            low = np.where(fits, counts[last], low)
            high = np.where(fits, high, counts[last] - 1)
        counts[last] = np.where(_ordered(some[-1], np.maximum(low, 0)), low, 0)
        return counts[items][:, (low >= 0) & (counts.sum(axis=0) > 0)]

    def take(self, cell: int, counts: NDArray[np.int64], gpus: int) -> Run | None:
        """Offer a purchase to the plans, which take it where it may be made; return how it runs."""
        return self.plans.offer(self._proposed(cell, counts, gpus))

    def _proposed(self, cell: int, counts: NDArray[np.int64], gpus: int) -> Proposal:
        case, number = self.case, int(self.way[cell])
        way, system = case.ways[number], case.systems[int(self.rows[number])]
        units = {offer.id: 0 for offer in case.offers()} | {system.id: int(self.systems[cell])}
        units |= {item.id: n for item, n in zip(case.storage, counts.tolist(), strict=True)}
        used = {system.id: way.systems_for(gpus)}
        return Proposal(self.mode, units, used, gpus, (way.id,))

    def note(self, cells: Places, some: Listed, taken: Numbers) -> None:
        """Tell the plans of purchases that fit: what each is worth, and all that it takes."""
        for row in self.plans.winners(some.score, taken).tolist():
            one = int(cells[row]), some.counts[:, row], int(some.gpus[row])
            if self.plans.lazy:
                self.plans.note(self._proposed(*one), float(some.score[row]), taken[:, row])
            elif self.plans.score.min() < some.score[row]:
                self.take(*one)


def _ordered(item: Storage, count: NDArray[np.int64]) -> Flags:
    """Say which counts of an item may be ordered: none, or at least so many."""
    least = max(1, item.min_units, item.segments[0].low if item.segments else 1)
    most = item.segments[-1].high if item.segments else math.inf
    fine: Flags = (count == 0) | ((count >= least) & (count <= most))
    return fine


# Cells opened for many scenarios at once.


CHUNK = 256
"""Cells that are looked at together."""
FIRST = 8
"""Of those so many are opened first, then twice as many each time: what they hold closes others."""
BATCH = 1
"""Cells and families of one scenario that are enumerated together."""
TRIES = 4
"""So many purchases of a cell and family are tried at first, then four times as many each time."""


class Opening:
    """Cells opened for some scenarios, all of them together, until nothing more can matter.

    Args:
        cells: the cells.
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
            cells.refine(some[cells.bounds[some] > most[waiting].min()])
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
            parts.append(self.cells.spread(items, mixes))
            places.append(own)
            for row in here[many].tolist():
                limits = self.limits[:, owners[row]]
                full = self.cells.fullest(int(cells[row]), items, most_units, limits)
                if full is not None:
                    fullest[row] = True
                    parts.append(self.cells.spread(items, full))
                else:
                    whole[row] = False
                    parts += [
                        self.cells.spread(
                            item, self.cells.mixes(item, most_units, room[:, [row]])[0]
                        )
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
        done, count = 0, TRIES if self.plans.lazy else CHUNK
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
        of, where = owners[some.own], cells[some.own]
        if len(self.plans.limits) == 1 and len(where):
            # What is taken fits the one scenario there is, and of no other row is anything asked.
            if self.cells.take(int(where[0]), some.counts[:, 0], int(some.gpus[0])) is not None:
                return np.asarray(np.arange(len(where)) == 0)
        taken, fits = self.cells.taken(where, some.counts, least=False)
        fits &= np.all(taken <= self.allowed[:, of], axis=0)
        rows = np.flatnonzero(fits)
        nth = np.arange(len(rows)) - np.searchsorted(some.own[rows], some.own[rows])
        rows = rows[nth < (1 if self.plans.lazy else TRIES)]
        self.cells.note(where[rows], some.at(rows), taken[:, rows])
        return fits

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


@dataclass(frozen=True)
class Listed:
    """Purchases: the row that each is of, scores, GPUs in use, counts of storage."""

    own: Places
    score: Numbers
    gpus: NDArray[np.int64]
    counts: NDArray[np.int64]

    def at(self, rows: Places) -> Listed:
        """Return some of them."""
        return Listed(self.own[rows], self.score[rows], self.gpus[rows], self.counts[:, rows])
