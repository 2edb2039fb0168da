"""Every purchase that is good enough, listed: what choosing among equally good plans looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from planner.case import Case
from planner.case.model import Mode
from planner.limits import Limit
from planner.optimizer.dominance import MANY
from planner.optimizer.kernel import Numbers, Places
from planner.optimizer.operations import stored
from planner.optimizer.parametric.boxes import Boxed, Points
from planner.optimizer.parametric.cells import MANY_CELLS, NOISE, Cells
from planner.optimizer.parametric.plans import Plans
from planner.optimizer.purchase import TOLERANCE
from planner.optimizer.solver import Effort

MOST_LOOKED = 60_000
"""Boxes of purchases that are looked at in all, each for every 30 items; then the solver is
quicker."""
MOST_RAN = 10_000_000
"""Uses of purchases that are looked at in all."""
FIRST = 4
"""Of the cells and families that are open so many are looked at first, then all."""
MOST_TRIED = 50
"""Purchases that are offered as plans one by one before what is left is told as a bound."""


class Bands(Cells):
    """Cells of one problem: their storage is divided together, as long as that is not too much."""

    def __init__(
        self,
        case: Case,
        mode: Mode,
        supplies: Sequence[Limit],
        plans: Plans,
        effort: Effort,
    ) -> None:
        super().__init__(case, mode, supplies, plans)
        self.boxed, self.effort, self.mixed = Boxed(self), effort, True
        self.many = len(case.systems) + len(case.storage) > MANY

    def answer(self, place: int, limits: Numbers, most: Callable[[], float]) -> float:
        """As `Cells.answer`. Of a long price list each storage item goes alone first, in all cells:
        what it finds closes most of those in which hundreds of look-alikes could be mixed."""
        if self.many:
            self.mixed = self.boxed.skipped = False
            proved = super().answer(place, limits, most)
            if not self.boxed.skipped:
                return proved
            self.mixed = True
        return super().answer(place, limits, most)

    def _looks(self) -> bool:
        within = self.boxed.looked < MOST_LOOKED and self.operation.ran < MOST_RAN
        return within and not self.effort.late

    def _opened(
        self, place: int, cells: Places, room: Numbers, limits: Numbers, most: Callable[[], float]
    ) -> float:
        open_ = self.bounds[cells] > most()
        self.boxed.left = float(self.bounds[cells[~open_]].max(initial=-np.inf))
        cells, families, bounds = self._by_family(cells[open_], room[:, open_])
        order, refused, begin = np.argsort(-bounds, kind="stable"), -np.inf, 0
        count = FIRST if len(self.way) <= MANY_CELLS else len(order)
        while begin < len(order):
            rows = order[begin : begin + count]  # the first few close most of the others
            good = bounds[rows] > most()
            self.boxed.left = max(self.boxed.left, float(bounds[rows[~good]].max(initial=-np.inf)))
            pairs = cells[rows[good]], families[rows[good]]
            for found in self.boxed.explore(
                *pairs, limits, most, self._looks, least=False, mixed=self.mixed
            ):
                if isinstance(found, float):
                    return max(self.boxed.left, refused, found, float(bounds[order[begin:]].max()))
                refused = max(refused, self._taken_up(place, found, most))
            begin, count = begin + count, len(order)
        return max(self.boxed.left, refused)

    def _taken_up(self, place: int, found: Points, most: Callable[[], float]) -> float:
        """Offer purchases as plans; return what is scored at most by what none of them is."""
        for number, best in enumerate(np.argsort(-found.score, kind="stable").tolist()):
            score = float(found.score[best])
            if score <= self.plans.score[place]:
                return score + NOISE
            if number == MOST_TRIED:
                return score + NOISE
            counts, gpus = found.counts[:, best], int(found.gpus[best])
            run = self.take(int(found.cell[best]), counts, gpus)
            known = float(self.plans.score[place])
            if known >= score - NOISE:
                return max(score, known) + NOISE
            if run is not None:  # it may be made, and runs less well than arrays say
                return score + NOISE
            if not self.refused(found.at(np.array([best])), known):
                return score + NOISE
        return -np.inf

    def refused(self, one: Points, need: float) -> bool:
        """Say whether a purchase that is no plan scores no more than is needed by its own bill, and
        with whatever else is bought: where money per useful work is limited, the use that is
        preferred may cost too much, and another not."""
        if self.tco is None:
            return True
        columns = self.columns(one.cell, one.counts)
        if self.kernel.may_shrink(self.kernel.bills(*columns)):
            return False
        units, (way,) = (
            dict(zip(self.kernel.offers, columns[0][:, 0].tolist(), strict=True)),
            columns[1],
        )
        if not self.plans.may(units, (self.case.ways[way].id,)):
            return True
        taken, _ = self.taken(one.cell, one.counts, least=False)
        score, _ = self._best_use(one.cell, stored(self.case, one.counts)[0], taken)
        return bool(self.value(score, taken)[0] <= need)

    def good_enough(self, need: float, by: int, limits: Numbers) -> Iterator[Points | None]:
        """Yield every purchase that scores more than is needed and fits, of those that differ in
        the count of one item the least; None where they are too many to tell.

        Args:
            by: the place of a supply: what takes least of it comes first, as a rule.
            limits: what may be used up of each; may become less as bands are looked at.
        """
        self._refine(np.flatnonzero(self.bounds > need))
        cells = np.flatnonzero((self.bounds > need) & self.fits)
        room = limits[:, None] * (1 + TOLERANCE) - self.base[:, cells]
        there = (room >= 0).all(axis=0)
        cells, families, bounds = self._by_family(cells[there], room[:, there])
        cells, families = cells[bounds > need], families[bounds > need]
        order = np.argsort(self.base[by, cells], kind="stable")
        first, self.boxed.skipped = order[:FIRST], False
        yield from self._listed(cells[first], families[first], need, limits, mixed=False)
        left = order if self.boxed.skipped else order[FIRST:]  # the first closed most of them
        yield from self._listed(cells[left], families[left], need, limits, mixed=True)

    def _listed(
        self, cells: Places, families: Places, need: float, limits: Numbers, *, mixed: bool
    ) -> Iterator[Points | None]:
        """Yield what is good enough of some cells and families; None where it is too much."""
        found_in = self.boxed.explore(
            cells, families, limits, lambda: need, self._looks, least=True, mixed=mixed
        )
        for found in found_in:
            if isinstance(found, float):
                yield None
            elif len(found.cell):
                yield found
