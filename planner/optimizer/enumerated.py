"""The best plan without a solver: proven by enumeration, and of equally good ones the first.

Where no plan needs more than one type of GPU system (`planner.optimizer.parametric.cells`) the most
work follows from cells opened from the highest bound down. The purchases good enough to be taken
are then few: those that give away no more than may be, and cost no more than the cheapest of them.
They are all listed, cheapest systems first, and compared as bills by capex, power, units and names,
as `planner.optimizer.joint` compares them with models. Least money or power is found in the same
way: of the purchases that reach the floors those that take least are listed.

A plan with a second type of GPU system, which no cell has, is worth no more than without it, and
costs more, unless one more system makes a fabric smaller: where that might be, nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from planner.case import Case
from planner.case.model import Mode
from planner.figures import OBJECTIVES, RATIOS
from planner.limits import SUPPLIES
from planner.optimizer.branch import Found
from planner.optimizer.goals import (
    FLOOR_TOLERANCE,
    TIE_TOLERANCE,
    floors,
    goal_of,
    width_of,
    without_end,
)
from planner.optimizer.objective import AGAIN, measure, tie_breaks
from planner.optimizer.operate import Run
from planner.optimizer.operations import WORTH, ways_to_save
from planner.optimizer.parametric.bands import Bands
from planner.optimizer.parametric.boxes import Points
from planner.optimizer.parametric.cells import TCO, covers_alone, priced
from planner.optimizer.parametric.plans import Plans
from planner.optimizer.parametric.ratios import Ratios, covers_ratio
from planner.optimizer.solver import Effort

PAID = "capex_usd"
ROUNDING = 1e-12
"""Sums added in another order differ by less, as a share."""
NOISE = 1e-9
"""Scores of arrays and of one purchase differ by less."""
USE = 20e-6
"""The work that one use of a purchase is; see ``Effort``. Ten million take some five seconds."""
MOST_ALIKE = 200
"""So many purchases that nothing but ties tells apart are compared one by one."""
MOST_LISTED = 20_000
TRIES = 3
START_GAP = 0.1
"""How far from the most work the plan may be that least money begins with."""


class Enumerated(NamedTuple):
    """What enumeration tells of a case.

    ``taken`` is the plan with its value and what no plan passes; ``best`` is the best value found.
    Where it is not ``settled`` the plan is one to begin with, or to take where time is over.
    """

    taken: Found
    best: float | None
    settled: bool


def enumerated(
    case: Case,
    gap: float,
    known: Sequence[Run] = (),
    *,
    ties: bool,
    effort: Effort | None = None,
) -> Enumerated | None:
    """Return the best plan of a case; None where enumeration does not cover it.

    Args:
        gap: how far from the best value its bound may be, as a share.
        known: plans of the case.
        ties: whether to choose among equally good plans.
        effort: until when; work is counted, but ends where ``Bands`` say.
    """
    ratio = case.objective in RATIOS
    least = not ratio and case.objective not in WORTH
    if least:
        figure = _least_figure(case)
        if figure is None or (ties and case.policy.disliked):
            return None
        case = _no_worse(case, known, figure)
    if not (covers_ratio(case) if ratio else covers_alone(_for_work(case))):
        return None
    search = _Enumeration(case, gap, effort or Effort())
    if least:
        return search.least_plan(known)
    if ratio:  # what is near the best in money per work is much, and most of it is closed by a plan
        search.plans.add(known)
    found = search.best()
    if not search.proven:
        return Enumerated(found, found.value, settled=False)
    if without_end(case, found.operation):  # models say whether anything holds it back
        return None
    if found.operation is None or not ties:
        return Enumerated(found, found.value, settled=True)
    taken = search.chosen(found)
    return Enumerated(taken or found, found.value, settled=taken is not None)


def _least_figure(case: Case) -> str | None:
    """Return the figure that a case minimises, where it is a sum that may be limited, too."""
    asked = OBJECTIVES.get(case.objective)
    figure = "facility_power_kw" if case.objective == "least_meter" else asked and asked.figure.name
    return figure if figure in {each.figure for each in SUPPLIES} else None


def _no_worse(case: Case, known: Sequence[Run], figure: str) -> Case:
    """Return a case limited to the least figure of the best plan known, and what may be given away:
    without such a limit a hall that has no other holds any number."""
    meets, value = floors(case, -FLOOR_TOLERANCE), measure(case, case.objective)
    best = min((value(run) for run in known if meets(run)), default=math.inf)
    limit = next(each for each in SUPPLIES if each.figure == figure)
    most = limit.scale * (best + width_of(case.objective, best, case.given_away + START_GAP))
    given = case.limits[limit.field]
    if most >= (math.inf if given is None else given):
        return case
    return case.under(case.limits.with_values(**{limit.field: most}))


def _for_work(case: Case) -> Case:
    """Return a case that asks for the most work, in the unit of its floor if it has one."""
    if case.objective in WORTH:
        return case
    counted = case.job.mfu is not None and case.useful_pflops_floor() is not None
    return replace(case, objective="goodput" if counted else "useful_gpus", indifference=0.0)


class _Enumeration:
    """The cells of a case in each mode, and the plans found in them."""

    def __init__(self, case: Case, gap: float, effort: Effort) -> None:
        self.case, self.gap, self.effort = case, gap, effort
        self.proven = False
        self.tolerance = min(TIE_TOLERANCE, gap / 2.0)
        # The proof goes further than is asked, as it does with models.
        self.goals = {mode: goal_of(case, None, gap / 20.0) for mode in case.job.modes}
        ratio = case.objective in RATIOS
        counted = None if ratio or case.objective in WORTH else _least_figure(case)
        self.by = counted or PAID
        self.supplies = tuple(
            each
            for each in SUPPLIES
            if each.figure == self.by
            or (each.figure == TCO and (ratio or priced(case)))
            or case.limits[each.field] is not None
        )
        self.place = [each.figure for each in self.supplies].index(self.by)
        given = [(case.limits[each.field], each.scale) for each in self.supplies]
        exact = np.array([math.inf if most is None else most / scale for most, scale in given])
        self.limits = exact * (1.0 + ROUNDING)
        self.plans = Plans(case, self.goals, self.supplies, exact[None])
        self.work = case if ratio else _for_work(case)
        kind = Ratios if ratio else Bands
        cells = [kind(*one, self.supplies, self.plans, effort) for one in ways_to_save(self.work)]
        # What the first find closes most of the others.
        self.cells = sorted(cells, key=lambda each: -each.bounds.max(initial=-math.inf))

    @property
    def run(self) -> Run | None:
        """The best plan found."""
        place = int(self.plans.best[0])
        return None if place < 0 else self.plans.plans[place]

    @property
    def value(self) -> float | None:
        """What it is worth, as the model scales it."""
        return None if self.run is None else float(self.plans.sign * self.plans.score[0])

    def best(self) -> Found:
        """Return the best plan known, or none, with what no plan passes; see ``proven``."""
        bound = max(each.answer(0, self.limits, self._most) for each in self.cells)
        self.effort.count(USE * sum(each.operation.ran for each in self.cells))
        self.proven = bound <= self._most()
        if self.run is None or bound == math.inf:
            return Found(self.run, self.value, stopped=not self.proven)
        bound = max(bound, float(self.plans.score[0]))
        return Found(self.run, self.value, self.plans.sign * bound)

    def _most(self) -> float:
        """Return how high the bound may be for the best plan to be good enough."""
        goal, score = self.goals[self.case.job.modes[0]], float(self.plans.score[0])
        return score if self.run is None else score + goal.width(score)

    # Of plans that are good enough the first by tie-breaks.

    def chosen(self, found: Found) -> Found | None:
        """Return the plan to take of those as good as the best; None where that is not settled."""
        assert found.operation is not None
        whole = self._score(found.operation)
        liked, best = self, whole
        if self.case.policy.disliked:
            within = max(self.tolerance, self.case.policy.within)
            without = _without(self.case, self.case.policy.disliked)
            liked = _Enumeration(without, self.gap, self.effort)
            again = liked.best()
            if not liked.proven or again.operation is None:
                return None
            best = self._score(again.operation)
            if best < self._least(whole, within):
                return None
        taken = liked.first(liked._least(best, max(self.tolerance, self.case.indifference)))
        untouched = None
        if self.case.given_away > self.tolerance:
            untouched = self.first(self._least(whole, self.tolerance))
            if untouched is None:
                return None
        if taken is None:
            return None
        return Found(taken, self._worth(taken), found.bound, untouched=untouched)

    def _least(self, best: float, share: float) -> float:
        """Return the least score that gives away no more than a share of the best."""
        return best - width_of(self.case.objective, best, share)

    def first(self, least: float) -> Run | None:
        """Return the plan that goes first by tie-breaks of those that score at least so much.

        None where there are too many to tell.
        """
        listed = self._listed(least - NOISE, self.plans.plans, self.tolerance)
        if listed is None:
            return None
        return self._by_ties(run for run in listed if self._score(run) > least - NOISE)

    def _by_ties(self, runs: Iterable[Run]) -> Run | None:
        left, name_of = list(runs), {"cost": "capex"}
        for name in tie_breaks(self.case) if left else ():
            if name == name_of.get(self.case.objective, self.case.objective):
                continue
            values = list(map(measure(self.case, name), left))
            scale = self.case.objective if name == AGAIN else name
            most = min(values) + width_of(scale, min(values), self.tolerance)
            left = [run for run, at in zip(left, values, strict=True) if at <= most]
        return left[0] if left else None

    def _listed(self, need: float, known: Iterable[Run], share: float) -> list[Run] | None:
        """Return all plans that score more than is needed and take about least of what is counted.

        None where they are too many, or not all are known.

        Args:
            need: the score, of work.
            known: plans that may be among them.
            share: how much more than the least a plan may take.
        """
        limits, count = self.limits.copy(), 0
        wider = (1.0 + share) * (1.0 + ROUNDING)
        limits[self.place] = min(limits[self.place], wider * self._takes(known, need))
        found: list[_Listed] = []
        for cells in self.cells:
            for band in cells.good_enough(need, self.place, limits):
                count += 0 if band is None else len(band.score)
                if band is None or count > MOST_LISTED:
                    return None
                here = self._in_order(cells, band)
                found += here
                tried = self._takes((each.run() for each in here[:TRIES]), need)
                limits[self.place] = min(limits[self.place], wider * tried)
        found = [each for each in found if each.takes <= limits[self.place]]
        found = list({each.what(): each for each in found}.values())
        if len(found) > MOST_ALIKE or _may_shrink(found):
            return None
        runs = [each.run() for each in found]
        if any(run is None and not each.refused() for run, each in zip(runs, found, strict=True)):
            return None
        return [run for run in runs if run is not None]

    def _in_order(self, cells: Bands, band: Points) -> list[_Listed]:
        takes = band.taken[self.place]
        order = np.argsort(takes, kind="stable").tolist()
        return [_Listed(cells, band, place, float(takes[place])) for place in order]

    def _takes(self, runs: Iterable[Run | None], need: float) -> float:
        """Return the least that some plans take that are good enough."""
        takes = (
            float(self.plans.takes(run.units, run.ways)[self.place])
            for run in runs
            if run is not None and (self.work is not self.case or self._score(run) > need)
        )
        return min(takes, default=math.inf)

    def _worth(self, run: Run) -> float:
        return self.goals[run.mode].value(run)

    def _score(self, run: Run) -> float:
        return self.plans.sign * self._worth(run)

    # Least of a sum.

    def least_plan(self, known: Sequence[Run]) -> Enumerated:
        """Return the plan that takes least of those that reach the floors."""
        if not known:
            any_plan = _Enumeration(self.work, START_GAP, self.effort)
            any_plan.best()
            if any_plan.run is None:
                return Enumerated(Found(), None, settled=any_plan.proven)
            known = [any_plan.run]
        share = max(self.tolerance, self.case.indifference)
        listed = self._listed(self._floor(), known, share)
        if not listed:
            value = self._worth(known[0])
            return Enumerated(Found(known[0], value, stopped=True), value, settled=False)
        best = min(map(self._worth, listed))
        untouched = None
        if self.case.given_away > self.tolerance:
            untouched = self._within(listed, best, self.tolerance)
        taken = self._within(listed, best, share)
        assert taken is not None
        found = Found(taken, self._worth(taken), best, untouched=untouched)
        return Enumerated(found, best, settled=True)

    def _within(self, runs: Iterable[Run], best: float, share: float) -> Run | None:
        most = best + width_of(self.case.objective, best, share)
        return self._by_ties(run for run in runs if self._worth(run) <= most)

    def _floor(self) -> float:
        """Return the least score of a plan that reaches the floor its work is counted in."""
        of_gpus = self.case.limits["min_useful_gpus"]
        floor = self.case.useful_pflops_floor() if self.work.objective == "goodput" else of_gpus
        return -math.inf if floor is None else math.log(floor * (1 - FLOOR_TOLERANCE)) - NOISE


class _Listed(NamedTuple):
    """A purchase that is good enough: one of a band, with what it takes at least."""

    cells: Bands
    band: Points
    number: int
    takes: float

    def what(self) -> tuple[Mode, int, int, bytes]:
        """Return what is bought, in which mode: with several k it may be good enough."""
        band, cell = self.band, int(self.band.cell[self.number])
        bought = int(self.cells.way[cell]), int(self.cells.systems[cell])
        return (self.cells.mode, *bought, band.counts[:, self.number].tobytes())

    def run(self) -> Run | None:
        """Return how it runs in the way of its cell; None where it may not be made."""
        band = self.band
        counts, gpus = band.counts[:, self.number], int(band.gpus[self.number])
        proposed = self.cells.proposed(int(band.cell[self.number]), counts, gpus)
        return self.cells.plans.as_proposed(proposed)

    def refused(self) -> bool:
        """Say whether a purchase that is no plan could not be one in another use."""
        return self.cells.refused(self.band.at(np.array([self.number])), -math.inf)


def _without(case: Case, names: Collection[str]) -> Case:
    """Return a case in which nothing of some products may be bought."""
    systems = tuple(replace(s, high=0) if s.id in names else s for s in case.systems)
    storage = tuple(replace(s, high=0) if s.id in names else s for s in case.storage)
    policy = replace(case.policy, disliked=(), within=0.0)
    return replace(case, systems=systems, storage=storage, policy=policy)


def _may_shrink(listed: Sequence[_Listed]) -> bool:
    """Say whether a fabric of some purchase would have less of something if it were larger."""
    for cells in {id(each.cells): each.cells for each in listed}.values():
        of_cells = (each for each in listed if each.cells is cells)
        columns = [
            cells.columns(e.band.cell[[e.number]], e.band.counts[:, [e.number]]) for e in of_cells
        ]
        units = np.column_stack([units for units, _ in columns])
        ways = np.concatenate([ways for _, ways in columns])
        if cells.kernel.may_shrink(cells.kernel.bills(units, ways)):
            return True
    return False
