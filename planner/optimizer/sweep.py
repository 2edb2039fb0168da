"""All scenarios of a sweep at once: those that differ only in limits on consumption.

Some scenarios are searched together, spread over all that are open, the loosest among them. A plan
that is found serves every scenario that it fits, and what no plan passes there holds wherever no
limit is looser. So a few searches settle thousands, each with its certificate. With ties, each
scenario has the plan that it has by itself: an answer holds wherever limits are no looser and every
purchase fits that it follows from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.case import Case
from planner.limits import Limit
from planner.optimizer.bill import TOLERANCE, Flags, Numbers, Places
from planner.optimizer.objective import measure, without_dominated
from planner.optimizer.operate import Run
from planner.optimizer.optimise import Question, Settled, of_whole
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
    best plan known, and the plan is another where equally good plans are told apart.
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
        ties: whether equally good plans are told apart, as where a scenario is solved by itself.
        known: plans of similar cases to begin with, where ties are not told apart.
    """

    case: Case
    limits: NDArray[np.float64]
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
        columns = self.question.columns
        most = np.tile(columns.limits(case), (len(self.limits), 1))
        for supply, column in zip(self.supplies, self.limits.T, strict=True):
            most[:, columns.place(supply.figure)] = column
        self.most = most
        if self.ties:
            return self._answers_with_ties()
        self.points: list[Point] = []
        self.score, self.bound = np.full((2, len(most)), np.inf)
        self.score *= -1.0
        self.best = np.full(len(most), -1, dtype=np.int64)
        self.worked = np.zeros(len(most), dtype=bool)
        for point in self.question.points(self.known):
            self._take(point, self._value_of(point))
        for some in self._rounds(lambda: self._open() & ~self.worked):
            self._search(some)
        return self._answers()

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

    def _answers_with_ties(self) -> list[SweepAnswer]:
        """The answers with the plan that each scenario has by itself."""
        found: list[SweepAnswer | None] = [None] * len(self.most)
        known: list[Point] = []
        for some in self._rounds(lambda: np.array([one is None for one in found])):
            settled = self.question.answers(self.most[some].T, known)
            for place, one in zip(some.tolist(), settled, strict=True):
                found[place] = self._answer_of(one)
                self._reuse(place, one, found)
                known += [one.first.point] if one.first.point else []
            known = known[-KNOWN:]
        return [one for one in found if one is not None]

    def _answer_of(self, settled: Settled) -> SweepAnswer:
        first = settled.first
        if first.point is None:
            return SweepAnswer(None, -math.inf, first.bound, "search")
        ask, sign = self.question, 1.0 if self.case.maximise else -1.0
        of = measure(self.case, self.case.objective)
        runs = [of_whole(self.case, ask.run_of(a.point)) for a in (settled.taken, first)]
        score, best = [sign * of(run) for run in runs if run is not None]
        bound = max(score, best) + max(first.bound - first.value, 0.0)
        return SweepAnswer(runs[0], score, bound, "search", settled.endless, max(score, best))

    def _reuse(self, place: int, settled: Settled, found: list[SweepAnswer | None]) -> None:
        """Take an answer over where limits are no looser and all that it follows from fits."""
        answer = found[place]
        if answer is None or not settled.first.ended or not settled.complete or settled.endless:
            return
        fits = (self.most <= self.most[place]).all(axis=1)
        for point in settled.witnesses:
            fits &= (point.corner.taken[:, 0] <= self.most * (1 + TOLERANCE)).all(axis=1)
        for other in np.flatnonzero(fits).tolist():
            if found[other] is None:
                found[other] = answer._replace(certificate="reused")

    def _width(self) -> Numbers:
        if self.question.logarithmic:
            return np.full(len(self.score), math.log1p(self.gap) * (1 - 1e-9))
        return np.asarray(self.gap * np.maximum(np.abs(self.score), 1e-9) * (1 - 1e-9))

    def _open(self) -> Flags:
        """Mask of scenarios that may have a plan better than the incumbent by more than the gap."""
        with np.errstate(invalid="ignore"):
            known = np.where(np.isfinite(self.score), self.score + self._width(), -np.inf)
        return np.asarray(self.bound > known)

    def _search(self, some: Places) -> None:
        """Search scenarios; reuse incumbents and bounds for all the others."""
        self.worked[some] = True
        ask, gap, limits = self.question, self.gap * NEAR, self.most[some].T.copy()
        search = Search(ask.spaces, ask.worth, limits, gap, not ask.logarithmic, effort=ask.effort)
        known = {int(place) for place in self.best[some] if place >= 0}
        for place, answer in zip(
            some.tolist(), search.run(self.points[n] for n in sorted(known)), strict=True
        ):
            if answer.point is not None:
                self._take(answer.point, answer.value)
            tighter = (self.most <= self.most[place] * (1 + 1e-12)).all(axis=1)
            self.bound[tighter] = np.minimum(self.bound[tighter], answer.bound)

    def _take(self, point: Point, value: float) -> None:
        better = (point.corner.taken[:, 0] <= self.most * (1 + TOLERANCE)).all(axis=1)
        better &= self.score < value
        if better.any():
            self.points.append(point)
            self.score[better], self.best[better] = value, len(self.points) - 1

    def _answers(self) -> list[SweepAnswer]:
        """The answers: as few plans as are good enough, each where it is best."""
        few = self._few()
        sign, of = (1.0 if self.case.maximise else -1.0), measure(self.case, self.case.objective)
        runs: dict[int, tuple[Run, float]] = {}
        endless = set[int]()
        for place in set(few[few >= 0].tolist()):
            run = of_whole(self.case, self.points[place].operated())
            assert run is not None
            runs[place] = run, sign * of(run)
            value = self._value_of(self.points[place])
            answer = Answer(self.points[place], value, value, ended=True)
            if self.question.endless(answer, self.question.columns.limits(self.question.case)):
                endless.add(place)
        found = []
        for row, place in enumerate(few.tolist()):
            how: Literal["search", "reused"] = "search" if self.worked[row] else "reused"
            bound = float(self.bound[row])
            if place < 0:
                found.append(SweepAnswer(None, -math.inf, bound, how))
                continue
            run, score = runs[place]
            # Ratios are scaled by what the term holds: bounds are as far from the best as they are.
            proven = score + (
                max(bound, self._value_of(self.points[place])) - self._value_of(self.points[place])
            )
            found.append(SweepAnswer(run, score, proven, how, place in endless, score))
        return found

    def _value_of(self, point: Point) -> float:
        return float(self.question.worth.of(point.corner)[0])

    def _few(self) -> Places:
        """The point of each scenario, -1 for none: of few that together are good enough the
        best that fits, so that looser limits never show less."""
        if not self.points:
            return self.best
        taken = np.column_stack([point.corner.taken[:, 0] for point in self.points])
        value = np.array([self._value_of(point) for point in self.points])
        fits = np.ones((len(self.points), len(self.most)), dtype=bool)
        for of, most in zip(taken, self.most.T, strict=True):
            fits &= of[:, None] <= most * (1 + TOLERANCE)
        with np.errstate(invalid="ignore"):
            floors = np.minimum(self.score, self.bound - self._width())
        good = fits & (value[:, None] >= floors)
        chosen, left = list[int](), self.best >= 0
        for row in np.argsort(-self.score, kind="stable").tolist():
            if left[row]:
                some = np.flatnonzero(good[:, row])
                serves = (good[some] & left).sum(axis=1)
                chosen.append(int(some[np.argmax(serves)]))
                left &= ~good[chosen[-1]]
        few = np.array(sorted(set(chosen)), dtype=np.int64)
        if not len(few):
            return self.best
        worth = np.where(fits[few], value[few, None], -np.inf)
        return np.where(self.best >= 0, few[np.argmax(worth, axis=0)], -1)
