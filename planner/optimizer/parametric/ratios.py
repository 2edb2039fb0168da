"""Money per useful work at its least, by the same cells and boxes that most work is found by.

    minimise  log C - log U,    C the TCO, U useful work

What a cell or a box holds does no more work than at its top, with the most storage that there is
room for, and costs no less than its lowest corner, by the bill in its least form. Their ratio
bounds what it holds; scores here are ``log U - log C``, of which larger ones are better. A bill in
its least form never falls where more is bought, so a plan with GPU systems of a second type, which
no cell has, is worth no more than the bound of the same plan without them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from planner.case import Case
from planner.case.model import Mode
from planner.limits import MILLION, Limit
from planner.optimizer.context import LEAST_TCO_MUSD
from planner.optimizer.kernel import Numbers, Places
from planner.optimizer.objective import measure
from planner.optimizer.operate import Run
from planner.optimizer.parametric.bands import MOST_TRIED, Bands
from planner.optimizer.parametric.boxes import Points
from planner.optimizer.parametric.cells import NOISE, TCO, covers_alone
from planner.optimizer.parametric.plans import Plans
from planner.optimizer.solver import Effort

TOGETHER = 4_096
"""Cells that are looked at together."""


def of_work(case: Case) -> Case:
    """Return a case that asks for the work whose price its own objective is."""
    tokens = case.objective == "usd_per_million_tokens"
    return replace(case, objective="goodput" if tokens else "useful_gpus", indifference=0.0)


class Ratios(Bands):
    """Cells of one problem that asks for the least money per useful work.

    Args:
        mode: how checkpoints are saved.
        supplies: what is limited, and the TCO.
        plans: takes in plans; its scores are those of the problem, the less the better.
        effort: until when.
    """

    def __init__(
        self, case: Case, mode: Mode, supplies: Sequence[Limit], plans: Plans, effort: Effort
    ) -> None:
        work = of_work(case)
        self.money = [each.figure for each in supplies].index(TCO)
        tokens = case.objective == "usd_per_million_tokens"
        self.each = case.million_tokens_per_pflops() if tokens else case.rates.hours
        self.done = measure(work, work.objective)
        super().__init__(work, mode, supplies, plans, effort)
        self.boxed.adds_up = False  # more storage does more, and costs more
        for begin in range(0, len(self.way), TOGETHER):
            self._refine(np.arange(begin, min(begin + TOGETHER, len(self.way))))

    def value(self, score: Numbers, taken: Numbers) -> Numbers:
        """Return what work is worth for its money."""
        return score + self._price(taken)

    def spare(self, cells: Places, bound: Numbers, taken: Numbers, need: float) -> Numbers:
        """Return how much more may be taken: of money what makes the work at the top too dear."""
        more = np.full_like(taken, np.inf)
        with np.errstate(over="ignore"):
            more[self.money] = self._spent(taken) * np.exp(bound - need) - taken[self.money]
        limited = super().spare(cells, bound - self._price(taken), taken, need)
        return more if limited is None else np.minimum(more, limited)

    def _spent(self, taken: Numbers) -> Numbers:
        least = LEAST_TCO_MUSD * MILLION / self.scales[self.money]
        spent: Numbers = np.maximum(taken[self.money], least)
        return spent

    def _price(self, taken: Numbers) -> Numbers:
        price: Numbers = math.log(self.each / self.scales[self.money]) - np.log(self._spent(taken))
        return price

    def _refine(self, cells: Places) -> None:
        cells = cells[~self.refined[cells]]
        if len(cells):
            super()._refine(cells)
            self.bounds[cells] = self.value(self.bounds[cells], self.base[:, cells])

    def _opened(
        self, place: int, cells: Places, room: Numbers, limits: Numbers, most: Callable[[], float]
    ) -> float:
        if most() == -math.inf:
            pairs = self._by_family(cells, room)[:2]
            self._taken_up(place, self.boxed.fewest(*pairs, limits), most)
        spare = self.spare(cells, self.bounds[cells], self.base[:, cells], most())
        return super()._opened(place, cells, np.minimum(room, spare), limits, most)

    def by_family(self, cells: Places, room: Numbers) -> tuple[Places, Places, Numbers]:
        """Return which of some cells which families may serve, and the second bound of each."""
        which, families, bounds = super().by_family(cells, room)
        return which, families, self.value(bounds, self.base[:, cells[which]])

    def _taken_up(self, place: int, found: Points, most: Callable[[], float]) -> float:
        """Offer purchases as plans; return what is scored at most by any that is none of them.

        What a plan costs may be more than its bill in the least form: then it counts as it is,
        unless a larger fabric would have less of something.
        """
        left = -np.inf
        for number, best in enumerate(np.argsort(-found.score, kind="stable").tolist()):
            score = float(found.score[best])
            if score <= self.plans.score[place] or number == MOST_TRIED:
                return max(left, score + NOISE)
            one = found.at(np.array([best]))
            run = self.take(int(one.cell[0]), one.counts[:, 0], int(one.gpus[0]))
            if not self._is_settled(run, one):
                left = max(left, score + NOISE)
        return max(left, float(self.plans.score[place]) + NOISE)

    def _is_settled(self, run: Run | None, one: Points) -> bool:
        """Say whether a purchase is worth no more than how it runs, or cannot be made: it does all
        the work that arrays say, and nothing else that is bought with it makes a fabric smaller."""
        if self.kernel.may_shrink(self.kernel.bills(*self.columns(one.cell, one.counts))):
            return False
        if run is None:
            return self.refused(one, self.plans.score[0])
        work = float((one.score - self._price(one.taken))[0])
        return self.done(run) >= work - NOISE


def covers_ratio(case: Case) -> bool:
    """Say whether the least money per useful work of a case is found here."""
    return case.rates.years > 0 and covers_alone(of_work(case))
