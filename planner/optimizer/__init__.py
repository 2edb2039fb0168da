"""The best plan of a problem with its certificate: calls of the search, and ties.

Of equally good plans the one is taken that costs least, then draws least, then has fewest units,
then goes first by its names: a search each, with the values found before held. ``prefer`` and
``indifference`` hold the objective less tightly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from planner.case import Case
from planner.case.figures import max_units, units_without_limit
from planner.errors import SolverError
from planner.figures import RATIOS
from planner.optimizer.bill import Numbers
from planner.optimizer.boxes import Space
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
from planner.optimizer.search import Answer, Effort, Goal, Hold, Point, Search, case_goal
from planner.optimizer.work import list_modes

Status = Literal["optimal", "feasible", "infeasible", "unbounded", "no_solution"]
CLOSE = 1e-7
"""Gap of the optimum before ties are broken, whatever the requested gap."""
WHOLE = 0.5
"""Counts that differ by less are the same."""


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
        operation=restore_products(whole, answer.operation),
        untouched=restore_products(whole, answer.untouched),
    )


def restore_products(whole: Case, run: Run | None) -> Run | None:
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
        complete: whether the search among equally good plans came to its end.
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
        self.spaces = [Space(one, mode, self.columns, whole=work) for one, mode in list_modes(work)]
        self.goal = case_goal(case, self.columns)
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
        run, first = self.require_run(found.taken.point), self.require_run(found.first.point)
        measured, sign = measure(case, case.objective), 1.0 if case.maximise else -1.0
        value = measured(run)
        known_best = sign * max(sign * measured(first), sign * value)
        bound = known_best + sign * max(found.first.bound - found.first.value, 0.0)
        gap = relative_distance(case, known_best, bound) if math.isfinite(bound) else None
        return Certificate(
            status="optimal" if gap is not None and gap <= self.gap + 1e-12 else "feasible",
            operation=run,
            value=value,
            bound=None if gap is None else bound,
            gap=gap,
            iterations=self.boxes,
            late=self.effort.late,
            best=known_best,
            near_optimal_loss=relative_distance(case, known_best, value, -1.0),
            untouched=None if found.untouched is None else found.untouched.operate_point(),
            ties_cut=not found.complete,
        )

    def require_run(self, point: Point | None) -> Run:
        """The operation of a purchase of the search.

        Raises:
            SolverError: it does not run.
        """
        run = None if point is None else point.operate_point()
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
        first = self._ask(self.goal, hold, known, gap, keep=kept if self.ties else None)
        found = [Settled(one, one, witnesses=[one.point] if one.point else []) for one in first]
        for one, column in zip(found, limits.T, strict=True):
            one.endless = one.first.point is not None and self.endless(one.first, column)
        some = [n for n, one in enumerate(found) if one.first.point and not one.endless]
        if self.ties and some:
            self._settle([found[n] for n in some], hold.take(np.array(some, dtype=np.int64)))
        return found

    def _widths(self, values: Numbers, share: float) -> Numbers:
        """A share of the objective as widths at its values."""
        if not self.logarithmic:
            return np.asarray(share * np.maximum(np.abs(values), 1e-9))
        up = self.case.objective in RATIOS
        return np.full(len(values), math.log1p(share) if up else -math.log1p(-share))

    def _share_kept(self, share: float) -> float:
        """The width below the best in which boxes are kept for plans a share below it."""
        return (float(self._widths(np.ones(1), share)[0]) if self.logarithmic else share) * 1.001

    def _hold_objective(self, hold: Hold, found: Sequence[Settled], share: float) -> None:
        values = _values(found)
        hold.keep(self.goal, values, self._widths(values, share))

    def _ask(
        self,
        goal: Goal,
        hold: Hold,
        known: Iterable[Point],
        gap: float,
        *,
        relative: bool = True,
        keep: float | None = None,
    ) -> list[Answer]:
        """The purchases of the highest goal; ``hold`` then begins near them."""
        relative = relative and not (goal == self.goal and self.logarithmic)
        search = Search(
            self.spaces, goal, hold.limits.copy(), gap, relative, hold.held, self.effort, keep
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
                    search = Search([space], self.goal, limits, 0.0, effort=self.effort)
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
            if name == "units" and owned:  # at equal money and power owned units work
                self._stage(self.goal, hold, found, self.tolerance / 5)
                self._hold_objective(hold, found, self.tolerance)
            whole = name == "units"
            goal = Goal("least", self.columns.place(name))
            self._stage(goal, hold, found, WHOLE if whole else self.tolerance / 5, not whole)
            if not all(one.complete for one in found):
                return
            width = 0.0 if whole else self.tolerance
            hold.keep(goal, _values(found), width * np.abs(_values(found)))
        for place, one in enumerate(found):
            self._use_best(one, hold.take(np.array([place])))

    def _use_best(self, one: Settled, hold: Hold) -> None:
        """Take the same purchase in the mode and ways in which it does most work."""
        assert one.taken.point is not None
        search = Search(self.spaces, Goal("work"), hold.limits, 0.0, held=hold.held)
        search.take(one.taken.point)
        here = one.taken.point.box._replace(owner=np.zeros(1, dtype=np.int64))
        for space in self.spaces:
            search.look_at(space, space.boxes_like(here))
        (point,) = search.found
        if point is not None:
            one.take(one.taken._replace(point=point))

    def _is_asked(self, name: str) -> bool:
        return self.goal.kind == "least" and self.columns.names[self.goal.column] == name

    def _stage(
        self,
        goal: Goal,
        hold: Hold,
        found: Sequence[Settled],
        gap: float,
        relative: bool = True,
    ) -> None:
        """Take the purchases of the highest goal that keep the held values: those in hand do."""
        keep = self.tolerance * 1.001 if relative else 0.0
        known = _points_of(found)
        for one, answer in zip(
            found, self._ask(goal, hold, known, gap, relative=relative, keep=keep), strict=True
        ):
            point = one.taken.point
            assert point is not None
            if answer.point is None:  # by rounding the one in hand keeps a little less than held
                value = float(goal.evaluate(point.corner)[0])
                answer = Answer(point, value, value, answer.ended)
            one.take(answer)
            one.complete &= answer.ended

    def _find_cheapest(self, found: Sequence[Settled], hold: Hold) -> None:
        """Take the cheapest of the plans that give nothing away: as good as the best found."""
        self._hold_objective(hold, found, self.tolerance)
        if not self._is_asked("capex_usd"):
            goal = Goal("least", self.columns.place("capex_usd"))
            self._stage(goal, hold, found, self.tolerance / 5)
        for one in found:
            one.untouched = one.taken.point
            one.taken = one.first._replace(point=one.taken.point)

    def _prefer(self, found: Sequence[Settled], hold: Hold) -> None:
        """Buy as little as ``within`` allows from vendors that are not preferred, and then the most
        of the objective."""
        self._hold_objective(hold, found, max(self.tolerance, self.case.policy.within))
        least = Goal("least", self.columns.place("disliked"))
        in_hand = [one.taken for one in found]
        self._stage(least, hold, found, WHOLE, relative=False)
        if all(one.complete for one in found):
            hold.keep(least, _values(found), np.zeros(len(found)))
            keep = self._share_kept(max(self.tolerance, self.case.indifference))
            known = _points_of(found)
            again = self._ask(self.goal, hold, known, self.gap / 20.0, keep=keep)
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
        if self.goal.kind in ("least", "ratio"):
            return False
        for row, offer in enumerate(point.space.offers):
            most = units_without_limit(case, offer)
            count = int(point.box.low[row, 0])
            if not count or max_units(case, offer) != most or most <= (offer.high or 0):
                continue
            if count >= most:
                return True
            counts = point.box.low.copy()
            counts[row] = most
            more = point.box._replace(low=counts, high=counts)
            search = Search([point.space], self.goal, limits[:, None], 0.0)
            search.look_at(point.space, more)
            if search.found[0] is not None and search.best[0] > found.value:
                return True
        return False


def _values(found: Iterable[Settled]) -> Numbers:
    """The goal of the plans taken, in the last question."""
    return np.array([one.taken.value for one in found])


def _points_of(found: Iterable[Settled]) -> list[Point]:
    """The plans taken, each once."""
    return [*{id(point): point for one in found if (point := one.taken.point)}.values()]


def relative_distance(case: Case, value: float, bound: float, sign: float = 1.0) -> float:
    """How much better a bound is than a value, as a share of it; with -1 how much worse."""
    up = sign if case.maximise else -sign
    if case.objective in LOGARITHMIC:
        return max(0.0, up * math.expm1(bound - value))
    return max(0.0, up * (bound - value)) / max(abs(value), 1e-12)
