"""The best plan of a problem with its certificate: calls of the search, ties, and sweeps.

Of equally good plans the one is taken that costs least, then draws least, then has fewest units,
then goes first by its names: each asked again, with what was found before held. ``prefer`` and
``indifference`` hold the objective less tightly.

Scenarios of a sweep that differ only in limits on consumption are searched together. A plan that is
found serves every scenario that it fits, and what no plan passes there holds wherever no limit is
looser. So a few searches settle thousands, each with its certificate. With ties, each scenario has
the plan that it has by itself: an answer holds wherever limits are no looser and every purchase
fits that it follows from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from planner.case import Case
from planner.case.figures import cap, unlimited
from planner.errors import SolverError
from planner.figures import RATIOS
from planner.limits import Limit
from planner.optimizer.bill import TOLERANCE, Flags, Numbers, Places
from planner.optimizer.objective import (
    LOGARITHMIC,
    TIE_TOLERANCE,
    TIES,
    Columns,
    for_work,
    least_column,
    measure,
    without_dominated,
)
from planner.optimizer.operate import Run
from planner.optimizer.search import Answer, Effort, Hold, Point, Search, Worth, worth_of
from planner.optimizer.space import Space
from planner.optimizer.work import modes_of

Status = Literal["optimal", "feasible", "infeasible", "unbounded", "no_solution"]
CLOSE = 1e-7
"""Gap of the optimum before ties are broken, whatever the gap asked for."""
WHOLE = 0.5
"""Counts that differ by less are the same."""
FIRST, TOGETHER = 8, 64
"""Scenarios that are searched together: at first, then twice as many each time, and at most."""
KNOWN = 64
"""Plans of other scenarios that a search with ties begins with."""
NEAR = 0.5
"""Share of the gap that a search leaves open: its proof serves others, too."""


@dataclass(frozen=True)
class Certificate:
    """The answer with its proof.

    ``value`` is the plan's, ``best`` the best that was found: the plan may give something away to
    ``indifference`` and preferred vendors. ``gap`` is from ``best`` to ``bound``; it and
    ``near_optimal_loss`` are shares of the objective itself, the three values natural logarithms
    where the objective is maximised by its logarithm. ``untouched`` is the cheapest plan as good as
    ``best``, where the plan taken is not. ``ties_cut``: the search was cut short before one of
    equally good plans was chosen. ``iterations`` are boxes that were looked at.
    """

    status: Status
    operation: Run | None = None
    value: float | None = None
    bound: float | None = None
    gap: float | None = None
    iterations: int = 0
    late: bool = False
    best: float | None = None
    near_optimal_loss: float | None = None
    untouched: Run | None = None
    ties_cut: bool = False

    def __post_init__(self) -> None:
        """Where nothing else is said, the plan is the best found and gives nothing away."""
        if self.best is None and self.value is not None:
            object.__setattr__(self, "best", self.value)
            object.__setattr__(self, "near_optimal_loss", 0.0)


def optimise(
    case: Case,
    *,
    gap: float = 2e-6,
    effort: Effort | None = None,
    ties: bool = True,
    known: Sequence[Run] = (),
) -> Certificate:
    """The best plan of a case with its certificate.

    Args:
        gap: the largest distance to the bound, as a share of the objective.
        effort: how far to go; beyond it the best plan so far is taken. Without: to the end.
        ties: whether to choose among equally good plans; without, the first one found is taken,
            the optimum is the same, in a fraction of the time.
        known: plans of similar cases; those feasible here are warm starts.
    """
    effort, whole = effort or Effort(), case
    case = without_dominated(case)
    if not case.systems or not case.storage:
        return Certificate("infeasible", late=effort.late)
    answer = Question(case, gap, effort, ties=ties).answer(known)
    return replace(
        answer,
        operation=of_whole(whole, answer.operation),
        untouched=of_whole(whole, answer.untouched),
    )


def of_whole(whole: Case, run: Run | None) -> Run | None:
    """A plan as one of the whole case: products that were left out count 0."""
    if run is None:
        return None
    return replace(run, units={**{offer.id: 0 for offer in whole.offers()}, **run.units})


@dataclass
class Settled:
    """The answer of one scenario: the best found, and the plan taken of those as good.

    Attributes:
        first: the best that was found.
        taken: the plan to take.
        endless: whether there is always a better one.
        complete: whether there was time to tell equally good plans apart.
        untouched: the cheapest that gives nothing away, where that may be another.
        witnesses: the purchases that the answer follows from: tighter limits that all of them fit
            have the same answer.
    """

    first: Answer
    taken: Answer
    endless: bool = False
    complete: bool = True
    untouched: Point | None = None
    witnesses: list[Point] = field(default_factory=list)

    def take(self, answer: Answer) -> None:
        """Take a plan that is as good."""
        self.taken = answer
        self.witnesses += [answer.point] if answer.point is not None else []


class Question:
    """One case, searched in its spaces: its objective, then the order of equally good plans."""

    def __init__(self, case: Case, gap: float, effort: Effort, *, ties: bool) -> None:
        self.case, self.gap, self.effort, self.ties = case, gap, effort, ties
        asked = {column for column in (least_column(case.objective),) if column is not None}
        disliked = {"disliked"} if case.policy.disliked else set()
        self.columns = Columns.for_case(case, {*TIES, *asked, *disliked} if ties else asked)
        work = for_work(case)
        self.spaces = [Space(one, mode, self.columns, whole=work) for one, mode in modes_of(work)]
        self.worth = worth_of(case, self.columns)
        self.logarithmic = case.objective in LOGARITHMIC
        self.tolerance = min(TIE_TOLERANCE, gap / 2.0)
        self.boxes = 0

    def answer(self, known: Iterable[Run] = ()) -> Certificate:
        """The plan to take, with its certificate."""
        case = self.case
        (found,) = self.answers(self.columns.limits(case)[:, None], self.points(known))
        if found.first.point is None or found.endless:
            status: Status = "infeasible" if found.first.ended else "no_solution"
            status = "unbounded" if found.endless else status
            return Certificate(status, iterations=self.boxes, late=self.effort.late)
        run, first = self.run_of(found.taken.point), self.run_of(found.first.point)
        measured, sign = measure(case, case.objective), 1.0 if case.maximise else -1.0
        value = measured(run)
        known_best = sign * max(sign * measured(first), sign * value)
        bound = known_best + sign * max(found.first.bound - found.first.value, 0.0)
        gap = share(case, known_best, bound) if math.isfinite(bound) else None
        return Certificate(
            status="optimal" if gap is not None and gap <= self.gap + 1e-12 else "feasible",
            operation=run,
            value=value,
            bound=None if gap is None else bound,
            gap=gap,
            iterations=self.boxes,
            late=self.effort.late,
            best=known_best,
            near_optimal_loss=share(case, known_best, value, -1.0),
            untouched=None if found.untouched is None else found.untouched.operated(),
            ties_cut=not found.complete,
        )

    def run_of(self, point: Point | None) -> Run:
        """The operation of a purchase of the search.

        Raises:
            SolverError: it does not run.
        """
        run = None if point is None else point.operated()
        if run is None:
            raise SolverError("a purchase was counted on that cannot run")
        return run

    def answers(self, limits: Numbers, known: Iterable[Point] = ()) -> list[Settled]:
        """An answer for each scenario.

        Args:
            limits: maximum of each column, a row each, a column for each scenario.
            known: purchases to begin with.
        """
        hold = Hold(limits.copy())
        # The proof goes further than is asked, so that ties hold the same value always.
        gap = min(self.gap / 20.0, CLOSE) if self.ties else self.gap / 20.0
        kept = self._share_kept(max(self.case.near_optimal_loss, self.tolerance))
        first = self._ask(self.worth, hold, known, gap, keep=kept if self.ties else None)
        found = [Settled(one, one, witnesses=[one.point] if one.point else []) for one in first]
        for one, column in zip(found, limits.T, strict=True):
            one.endless = one.first.point is not None and self.endless(one.first, column)
        some = [n for n, one in enumerate(found) if one.first.point and not one.endless]
        if self.ties and some:
            self._settle([found[n] for n in some], hold.take(np.array(some, dtype=np.int64)))
        return found

    def _widths(self, values: Numbers, share: float) -> Numbers:
        """A share of the objective as widths at values of its worth."""
        if not self.logarithmic:
            return np.asarray(share * np.maximum(np.abs(values), 1e-9))
        up = self.case.objective in RATIOS
        return np.full(len(values), math.log1p(share) if up else -math.log1p(-share))

    def _share_kept(self, share: float) -> float:
        """The width below the best in which boxes are kept for plans a share below it."""
        return (float(self._widths(np.ones(1), share)[0]) if self.logarithmic else share) * 1.001

    def _hold_objective(self, hold: Hold, found: Sequence[Settled], share: float) -> None:
        values = _values(found)
        hold.keep(self.worth, values, self._widths(values, share))

    def _ask(
        self,
        worth: Worth,
        hold: Hold,
        known: Iterable[Point],
        gap: float,
        *,
        relative: bool = True,
        keep: float | None = None,
    ) -> list[Answer]:
        """The purchases of most worth; ``hold`` then begins near them."""
        relative = relative and not (worth == self.worth and self.logarithmic)
        search = Search(
            self.spaces, worth, hold.limits.copy(), gap, relative, hold.held, self.effort, keep
        )
        answers = search.run(known, hold.begin)
        self.boxes += search.boxes
        if keep is not None:
            hold.begin = search.remaining_boxes()
        return answers

    def points(self, runs: Iterable[Run]) -> list[Point]:
        """The purchases of plans of other cases, each mode at the best number of GPUs."""
        limits, found = self.columns.limits(self.case)[:, None], []
        for run in runs:
            for space in self.spaces:
                box = space.box_of(run.units, run.ways) if run.mode == space.mode else None
                if box is not None:
                    search = Search([space], self.worth, limits, 0.0, effort=self.effort)
                    search.look_at(space, box)
                    found += [point for point in search.found if point is not None]
        return found

    # Ties.

    def _settle(self, found: Sequence[Settled], hold: Hold) -> None:
        """Take for each scenario the plan to take of those as good as the best."""
        if self.case.near_optimal_loss > self.tolerance:
            self._find_cheapest(found, hold.copy())
        if self.case.policy.disliked and all(one.complete for one in found):
            self._prefer(found, hold)
        if not all(one.complete for one in found):
            return
        self._hold_objective(hold, found, max(self.tolerance, self.case.indifference))
        owned = self.case.indifference > 0.0 and any(o.installed for o in self.case.offers())
        for name in TIES:
            if self._is_asked(name):
                continue
            if name == "units" and owned:  # at equal money and power what is owned works
                self._stage(self.worth, hold, found, self.tolerance / 5)
                self._hold_objective(hold, found, self.tolerance)
            whole = name == "units"
            worth = Worth("least", self.columns.place(name))
            self._stage(worth, hold, found, WHOLE if whole else self.tolerance / 5, not whole)
            if not all(one.complete for one in found):
                return
            width = 0.0 if whole else self.tolerance
            hold.keep(worth, _values(found), width * np.abs(_values(found)))
        for place, one in enumerate(found):
            self._use_best(one, hold.take(np.array([place])))

    def _use_best(self, one: Settled, hold: Hold) -> None:
        """Take the same purchase in the mode and ways in which it does most work."""
        assert one.taken.point is not None
        search = Search(self.spaces, Worth("work"), hold.limits, 0.0, held=hold.held)
        search.take(one.taken.point)
        here = one.taken.point.box._replace(owner=np.zeros(1, dtype=np.int64))
        for space in self.spaces:
            search.look_at(space, space.boxes_like(here))
        (point,) = search.found
        if point is not None:
            one.take(one.taken._replace(point=point))

    def _is_asked(self, name: str) -> bool:
        return self.worth.kind == "least" and self.columns.names[self.worth.column] == name

    def _stage(
        self,
        worth: Worth,
        hold: Hold,
        found: Sequence[Settled],
        gap: float,
        relative: bool = True,
    ) -> None:
        """Take the purchases of most worth that keep the held values: those in hand do."""
        keep = self.tolerance * 1.001 if relative else 0.0
        known = _points_of(found)
        for one, answer in zip(
            found, self._ask(worth, hold, known, gap, relative=relative, keep=keep), strict=True
        ):
            point = one.taken.point
            assert point is not None
            if answer.point is None:  # by rounding the one in hand keeps a little less than held
                value = float(worth.evaluate(point.corner)[0])
                answer = Answer(point, value, value, answer.ended)
            one.take(answer)
            one.complete &= answer.ended

    def _find_cheapest(self, found: Sequence[Settled], hold: Hold) -> None:
        """Take the cheapest of the plans that give nothing away: as good as the best found."""
        self._hold_objective(hold, found, self.tolerance)
        if not self._is_asked("capex_usd"):
            worth = Worth("least", self.columns.place("capex_usd"))
            self._stage(worth, hold, found, self.tolerance / 5)
        for one in found:
            one.untouched = one.taken.point
            one.taken = one.first._replace(point=one.taken.point)

    def _prefer(self, found: Sequence[Settled], hold: Hold) -> None:
        """Buy as little as ``within`` allows from vendors that are not preferred, and then the most
        of the objective."""
        self._hold_objective(hold, found, max(self.tolerance, self.case.policy.within))
        least = Worth("least", self.columns.place("disliked"))
        in_hand = [one.taken for one in found]
        self._stage(least, hold, found, WHOLE, relative=False)
        if all(one.complete for one in found):
            hold.keep(least, _values(found), np.zeros(len(found)))
            keep = self._share_kept(max(self.tolerance, self.case.indifference))
            known = _points_of(found)
            again = self._ask(self.worth, hold, known, self.gap / 20.0, keep=keep)
            for one, answer in zip(found, again, strict=True):
                one.take(answer)
                one.complete &= answer.ended and answer.point is not None
        if not all(one.complete for one in found):
            for one, before in zip(found, in_hand, strict=True):
                one.taken, one.complete = before, False

    # No end.

    def endless(self, found: Answer, limits: Numbers) -> bool:
        """True if more of something that nothing limits is better without end."""
        point, case = found.point, self.case
        assert point is not None
        if self.worth.kind in ("least", "ratio"):
            return False
        for row, offer in enumerate(point.space.offers):
            most = unlimited(case, offer)
            count = int(point.box.low[row, 0])
            if not count or cap(case, offer) != most or most <= (offer.high or 0):
                continue
            if count >= most:
                return True
            counts = point.box.low.copy()
            counts[row] = most
            more = point.box._replace(low=counts, high=counts)
            search = Search([point.space], self.worth, limits[:, None], 0.0)
            search.look_at(point.space, more)
            if search.found[0] is not None and search.best[0] > found.value:
                return True
        return False


def _values(found: Iterable[Settled]) -> Numbers:
    """The worth of the plans taken, in the last question."""
    return np.array([one.taken.value for one in found])


def _points_of(found: Iterable[Settled]) -> list[Point]:
    """The plans taken, each once."""
    return [*{id(point): point for one in found if (point := one.taken.point)}.values()]


def share(case: Case, value: float, bound: float, sign: float = 1.0) -> float:
    """How much better a bound is than a value, as a share of it; with -1 how much worse."""
    up = sign if case.maximise else -sign
    if case.objective in LOGARITHMIC:
        return max(0.0, up * math.expm1(bound - value))
    return max(0.0, up * (bound - value)) / max(abs(value), 1e-12)


# All scenarios of a sweep at once.


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
        runs = [self.question.run_of(each.point) for each in (settled.taken, first)]
        score, best = (self.sign * self.measured(run) for run in runs)
        bound = max(score, best) + max(first.bound - first.value, 0.0)
        run = of_whole(self.case, runs[0])
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
                ask.spaces, ask.worth, limits, gap, not ask.logarithmic, effort=ask.effort
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
            # Ratios are scaled by what the term holds: bounds are as far from the best as they are.
            proven = score + max(bound - self._value_of(self.points[place]), 0.0)
            answers.append(SweepAnswer(run, score, proven, how, endless, score))
        return answers

    def _plan_of(self, point: Point) -> tuple[Run | None, float, bool]:
        """The plan of a purchase, its score, and whether there is always a better one."""
        ask, value, run = self.question, self._value_of(point), self.question.run_of(point)
        endless = ask.endless(Answer(point, value, value, True), ask.columns.limits(ask.case))
        return of_whole(self.case, run), self.sign * self.measured(run), endless

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
        return float(self.question.worth.evaluate(point.corner)[0])

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
        worth = np.where(fits[few], value[few, None], -np.inf)
        return np.where(self.best >= 0, few[np.argmax(worth, axis=0)], -1)
