"""Many questions of one case in a few searches: scenarios of a sweep, bounds of plans with an item.

Scenarios of a sweep that differ only in limits on consumption are searched together. A plan that is
found serves every scenario that it fits, and a bound there holds wherever no limit is looser. So a
few searches settle thousands, each with its certificate. With ties, each scenario has the plan that
it has by itself: an answer holds wherever limits are no looser and every purchase fits that it
follows from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from planner.case import Case
from planner.limits import Limit
from planner.optimizer import Question, Settled, restore_products
from planner.optimizer.bill import TOLERANCE, Flags, Numbers, Places
from planner.optimizer.objective import (
    measure,
    without_dominated,
)
from planner.optimizer.operate import Run
from planner.optimizer.search import Answer, Effort, Point, Search

FIRST, TOGETHER = 8, 64
"""Scenarios that are searched together: at first, then twice as many each time, and at most."""
KNOWN = 64
"""Plans of other scenarios that a search with ties begins with."""
NEAR = 0.5
"""Share of the gap that a search leaves open: its proof serves others, too."""


class SweepAnswer(NamedTuple):
    """A scenario's answer: the plan to take, its score, and the bound of every plan's score.

    Scores are the objective as the search scales it, more of it is better; ``best`` is that of the
    best plan known, and the plan is another where ties are broken.
    ``certificate`` says what proved it: a "search" of this scenario, or what others proved
    ("reused").
    """

    operation: Run | None
    score: float
    bound: float
    certificate: Literal["search", "reused"]
    endless: bool = False
    best: float = -math.inf


@dataclass
class Sweep:
    """Scenarios of a case.

    Attributes:
        case: the case under limits that no scenario's are looser than.
        limits: a row for each scenario, a column for each supply, in the unit of its row.
        supplies: the limited sums.
        gap: as a share of the objective.
        time_limit_s: how long to work on one scenario.
        ties: whether ties are broken, as where a scenario is solved by itself.
        known: plans of similar cases to begin with, where ties are not broken.
    """

    case: Case
    limits: Numbers
    supplies: Sequence[Limit]
    gap: float
    time_limit_s: float | None = None
    ties: bool = False
    known: Sequence[Run] = ()

    def answers(self) -> list[SweepAnswer]:
        """An answer for each scenario, in order."""
        case = without_dominated(self.case)
        if not case.systems or not case.storage:
            return [SweepAnswer(None, -math.inf, -math.inf, "search") for _ in self.limits]
        self.question = Question(case, self.gap, Effort(), ties=self.ties)
        self.sign, self.measured = 1.0 if case.maximise else -1.0, measure(case, case.objective)
        columns = self.question.columns
        self.most = np.tile(columns.limits(case), (len(self.limits), 1))
        for supply, column in zip(self.supplies, self.limits.T, strict=True):
            self.most[:, columns.place(supply.figure)] = column
        return self._answers_with_ties() if self.ties else self._answers_within_gap()

    def _rounds(self, is_open: Callable[[], Flags]) -> Iterator[Places]:
        """Yield scenarios to search together: spread over all that are open, the loosest first."""
        loosest, count = self.most.max(axis=0), FIRST
        limited = np.isfinite(loosest) & (loosest > 0)
        share = self.most[:, limited] / loosest[limited]
        order = np.argsort(-share.sum(axis=1), kind="stable")
        while len(left := order[is_open()[order]]):
            spread = np.linspace(0, len(left) - 1, min(count, len(left))).astype(np.int64)
            some = left[np.unique(spread)]
            limit = None if self.time_limit_s is None else self.time_limit_s * len(some)
            self.question.effort = Effort.within(limit)
            yield some
            count = min(2 * count, TOGETHER)

    def _fits(self, point: Point) -> Flags:
        """Mask of scenarios whose limits a purchase fits."""
        return np.asarray((point.corner.taken[:, 0] <= self.most * (1 + TOLERANCE)).all(axis=1))

    # Each with the plan that it has by itself.

    def _answers_with_ties(self) -> list[SweepAnswer]:
        found: list[SweepAnswer | None] = [None] * len(self.most)
        known: list[Point] = []
        for some in self._rounds(lambda: np.array([one is None for one in found])):
            settled = self.question.answers(self.most[some].T, known)
            for place, one in zip(some.tolist(), settled, strict=True):
                answer = found[place] = self._answer_of(one)
                known += [one.first.point] if one.first.point else []
                if answer.endless or not (one.first.ended and one.complete):
                    continue
                # It holds where limits are no looser and all that it follows from fits.
                fits = (self.most <= self.most[place]).all(axis=1)
                for point in one.witnesses:
                    fits &= self._fits(point)
                for other in np.flatnonzero(fits).tolist():
                    found[other] = found[other] or answer._replace(certificate="reused")
            known = known[-KNOWN:]
        return [one for one in found if one is not None]

    def _answer_of(self, settled: Settled) -> SweepAnswer:
        first = settled.first
        if first.point is None:
            return SweepAnswer(None, -math.inf, first.bound, "search")
        runs = [self.question.require_run(each.point) for each in (settled.taken, first)]
        score, best = (self.sign * self.measured(run) for run in runs)
        bound = max(score, best) + max(first.bound - first.value, 0.0)
        run = restore_products(self.case, runs[0])
        return SweepAnswer(run, score, bound, "search", settled.endless, max(score, best))

    # As few plans as are within the gap of all.

    def _answers_within_gap(self) -> list[SweepAnswer]:
        ask, count = self.question, len(self.most)
        self.points: list[Point] = []
        self.score, self.bound = np.full(count, -np.inf), np.full(count, np.inf)
        self.best, worked = np.full(count, -1, dtype=np.int64), np.zeros(count, dtype=bool)
        for point in ask.points(self.known):
            self._take(point)
        for some in self._rounds(lambda: (self.bound > self.score + self._width()) & ~worked):
            worked[some] = True
            limits, gap = self.most[some].T.copy(), self.gap * NEAR
            search = Search(
                ask.spaces, ask.goal, limits, gap, not ask.logarithmic, effort=ask.effort
            )
            known = {int(place) for place in self.best[some] if place >= 0}
            found = search.run(self.points[place] for place in sorted(known))
            for place, answer in zip(some.tolist(), found, strict=True):
                if answer.point is not None:
                    self._take(answer.point)
                tighter = (self.most <= self.most[place] * (1 + 1e-12)).all(axis=1)
                self.bound[tighter] = np.minimum(self.bound[tighter], answer.bound)
        few = self._few()
        plans = {place: self._plan_of(self.points[place]) for place in {*few.tolist()} - {-1}}
        answers = []
        for row, place in enumerate(few.tolist()):
            how: Literal["search", "reused"] = "search" if worked[row] else "reused"
            bound = float(self.bound[row])
            if place < 0:
                answers.append(SweepAnswer(None, -math.inf, bound, how))
                continue
            run, score, endless = plans[place]
            # Ratios are scaled by the term: bounds keep their distance from the best.
            proven = score + max(bound - self._value_of(self.points[place]), 0.0)
            answers.append(SweepAnswer(run, score, proven, how, endless, score))
        return answers

    def _plan_of(self, point: Point) -> tuple[Run | None, float, bool]:
        """The plan of a purchase, its score, and whether there is always a better one."""
        ask, value, run = self.question, self._value_of(point), self.question.require_run(point)
        endless = ask.endless(Answer(point, value, value, True), ask.columns.limits(ask.case))
        return restore_products(self.case, run), self.sign * self.measured(run), endless

    def _width(self) -> Numbers:
        if self.question.logarithmic:
            return np.full(len(self.score), math.log1p(self.gap) * (1 - 1e-9))
        known = np.where(np.isfinite(self.score), np.abs(self.score), 0.0)
        return np.asarray(self.gap * np.maximum(known, 1e-9) * (1 - 1e-9))

    def _take(self, point: Point) -> None:
        value = self._value_of(point)
        better = self._fits(point) & (self.score < value)
        if better.any():
            self.points.append(point)
            self.score[better], self.best[better] = value, len(self.points) - 1

    def _value_of(self, point: Point) -> float:
        return float(self.question.goal.evaluate(point.corner)[0])

    def _few(self) -> Places:
        """The point of each scenario, -1 for none: of few that together are good enough the
        best that fits, so that looser limits never show less."""
        if not self.points:
            return self.best
        value = np.array([self._value_of(point) for point in self.points])
        fits = np.array([self._fits(point) for point in self.points])
        floors = np.minimum(self.score, self.bound - self._width())
        good = fits & (value[:, None] >= floors)
        chosen, left = set[int](), self.best >= 0
        for row in np.argsort(-self.score, kind="stable").tolist():
            if left[row]:
                some = np.flatnonzero(good[:, row])
                best = int(some[np.argmax((good[some] & left).sum(axis=1))])
                chosen.add(best)
                left &= ~good[best]
        if not chosen:
            return self.best
        few = np.array(sorted(chosen), dtype=np.int64)
        values = np.where(fits[few], value[few, None], -np.inf)
        return np.where(self.best >= 0, few[np.argmax(values, axis=0)], -1)


# Bounds of plans with each of many items.


Bound = float | Literal["no plan"] | None
"""As the search scales the objective; None where the search was cut short."""


def bounds_with(case: Case, ids: Iterable[str], gap: float, effort: Effort) -> dict[str, Bound]:
    """Bound of the objective of plans with each item.

    Args:
        ids: GPU systems (which are then to be in use) and storage items.
        gap: how close the values are to the best plan with the item, as a share.
        effort: limits of work and time.
    """
    names = list(ids)
    found: dict[str, Bound] = dict.fromkeys(names, "no plan")
    if effort.over:
        return dict.fromkeys(names)
    if not names or not case.systems or not case.storage:
        return found
    ask = Question(case, gap, effort, ties=False)
    space = ask.spaces[0]
    rows = {offer.id: row for row, offer in enumerate(space.offers)}
    demands = np.zeros((len(space.offers), len(names)), dtype=np.int64)
    for place, name in enumerate(names):
        demands[rows[name], place] = space.first[rows[name]]
    limits = np.tile(ask.columns.limits(case)[:, None], (1, len(names)))
    search = Search(
        ask.spaces, ask.goal, limits, gap, not ask.logarithmic, effort=effort, demands=demands
    )
    begin = []
    for space in ask.spaces:  # the GPU systems that a scenario demands are in use
        boxes = space.whole(np.arange(len(names)))
        demanded = demands[: space.first_store, boxes.owner].T > 0
        runs = np.asarray((space.runs[boxes.team] | ~demanded).all(axis=1))
        begin.append((space, boxes.take(runs)))
    sign, measured = (1.0 if case.maximise else -1.0), measure(case, case.objective)
    for name, answer in zip(names, search.run(begin=begin), strict=True):
        run = None if answer.point is None else answer.point.operate_point()
        if run is not None:
            found[name] = measured(run) + sign * (answer.bound - answer.value)
        elif not answer.ended:
            found[name] = None
    return found
