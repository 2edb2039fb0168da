"""Best first through boxes of purchases: one search for every single-job question.

A goal is most work, least money or power, money per work. Boxes are cut to what
still fits, bounded, and halved, the most promising first, until the best purchase found is within
the gap of the boxes left. That bound is the certificate. Scenarios that differ in limits alone are
searched together: each box has an owner, and a purchase found serves every scenario that it fits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from planner.case.job import ROUNDING
from planner.case.model import Case
from planner.figures import RATIOS
from planner.optimizer.bill import TOLERANCE, Counts, Flags, Numbers, Places, sum_storage
from planner.optimizer.boxes import WRITE, Boxes, Corner, Space
from planner.optimizer.objective import LEAST_TCO_MUSD, TCO, Columns, least_column, measure
from planner.optimizer.operate import Run, best_division, meets_floors, operate
from planner.optimizer.useful_work import WORK_OBJECTIVES
from planner.optimizer.work import Uses

WORK_OF_BOX = 1.5e-3
"""Work of one box."""

# Caps of work of each kind of search: a search that reaches one says so in its result ("feasible",
# "undecided", "not settled", "cut") unless noted. Measured on the shipped problems; 1 is 667 boxes.

MOST_WORK = 400.0
"""One search for a plan, 270,000 boxes; the incumbent is taken. Shipped problems: at most 2.3; 1 GW
for least money: 75 (50,191 boxes)."""
MOST_BOXES = 2_000_000
"""Boxes open at once, for memory."""
QUESTION_WORK = 100.0
"""One variant of `explain` or `compare --near`. Of 90 of six problems the longest reach it and
are "undecided"."""
NEXT_WORK = 400.0
"""From where on more of a limit pays, in several questions. Of 22 at most 4.9."""
END_WORK = 100.0
"""The end of an axis of a frontier, and the farthest of plans of equal work: where that is cut a
point is as good, but may lie nearer. Neither is a plan to buy."""
POSSIBLE_WORK = 500.0
"""Feasibility of a changed problem. Of 53 at most 3.1."""
REASONS_WORK = 6000.0
"""All of why a problem has no plan, its parts above included: 22."""


@dataclass
class Effort:
    """Limits of a search: a moment where the user gave a time, and an amount of work.

    Work is boxes looked at (`WORK_OF_BOX` each). It is the same on every machine, however busy, so
    that an answer depends on a clock only where the user set a time limit; as a rule a hundred take
    one to five seconds. Work spent counts for the whole that this is a part of, too. ``boxes``
    counts those of the process, for whoever shows how far it is.
    """

    boxes: ClassVar[int] = 0

    deadline: float = math.inf
    most_work: float = MOST_WORK
    whole: Effort | None = None
    work: float = 0.0

    @classmethod
    def within(cls, time_limit_s: float | None) -> Effort:
        """The effort of a time from now on, s; None: no limit of time."""
        return cls(math.inf if time_limit_s is None else time.monotonic() + time_limit_s)

    @property
    def left_s(self) -> float:
        """Time left, s."""
        return self.deadline - time.monotonic()

    @property
    def left_work(self) -> float:
        """Work left, here and in the whole."""
        here = self.most_work - self.work
        return here if self.whole is None else min(here, self.whole.left_work)

    @property
    def late(self) -> bool:
        """True if the time is over."""
        return self.left_s <= 0.0

    @property
    def over(self) -> bool:
        """True if time or work is over."""
        return self.left_work <= 0.0 or self.late

    def part(self, most_work: float = MOST_WORK, *, share: float = 1.0) -> Effort:
        """A part with limited work, and a share of the time left."""
        deadline = self.deadline
        if math.isfinite(deadline):
            deadline = time.monotonic() + share * self.left_s
        return Effort(deadline, most_work, self)

    def look(self, boxes: int) -> None:
        """Count boxes that were looked at."""
        Effort.boxes += boxes
        self.count(WORK_OF_BOX * boxes)

    def count(self, work: float) -> None:
        """Count work, for the whole, too."""
        self.work += work
        if self.whole is not None:
            self.whole.count(work)


Kind = Literal["work", "least", "ratio", "bought_write"]

FIRST, TOGETHER, MANY = 16, 64, 256
"""Boxes of each scenario that are halved together: at first, at most, and in long searches."""
LONG = 64
"""Searches of more rounds are long."""
RAISES = 4
"""Halvings of the range of GPU systems for the fewest that the job needs."""
MISSING = 5
"""Halvings of the room for the least cost of missing bandwidth, capacity and GPUs."""


class Goal(NamedTuple):
    """Value to maximise over purchases: it rises with work and with units of storage and systems,
    and falls with consumption.

    Attributes:
        kind: "work" is the score of work, "least" a column, "ratio" work for money, the last
            write bandwidth.
        column: the place of the column that is to be least, or of the TCO.
    """

    kind: Kind
    column: int = 0

    def evaluate(self, corner: Corner) -> Numbers:
        """Values of corners, -inf where the job cannot run."""
        if self.kind == "work":
            return corner.score
        if self.kind == "ratio":
            with np.errstate(invalid="ignore"):
                return np.asarray(corner.score - np.log(self._money(corner.taken)))
        least = self.kind == "least"
        value = -corner.taken[self.column] if least else corner.goods[WRITE]
        return np.where(np.isfinite(corner.score), value, -np.inf)

    def most_consumption(self, score: Numbers, least: Numbers) -> Numbers | None:
        """The most of its column that purchases of a score may take to exceed a value; None
        where that is not limited."""
        if self.kind == "least":
            return -least
        if self.kind == "ratio":
            with np.errstate(over="ignore"):
                return np.asarray(np.exp(score - least) * (1 + ROUNDING))
        return None

    def _money(self, taken: Numbers) -> Numbers:
        return np.asarray(np.maximum(taken[self.column], LEAST_TCO_MUSD))


def case_goal(case: Case, columns: Columns) -> Goal:
    """The goal of a search for the objective of a case."""
    if case.objective in WORK_OBJECTIVES:
        return Goal("work")
    if case.objective in RATIOS:
        return Goal("ratio", columns.place(TCO))
    if case.objective == "most_write":
        return Goal("bought_write")
    column = least_column(case.objective)
    assert column is not None, case.objective
    return Goal("least", columns.place(column))


class Held(NamedTuple):
    """A goal that no purchase may fall below a floor of, one for each scenario."""

    goal: Goal
    least: Numbers


@dataclass
class Hold:
    """Constraints on further plans, a column or entry for each scenario: limits on columns, and
    goals; and the boxes that have them all, where these are known."""

    limits: Numbers
    held: list[Held] = field(default_factory=list)
    begin: list[tuple[Space, Boxes]] | None = None

    def keep(self, goal: Goal, values: Numbers, widths: Numbers) -> None:
        """Hold a goal, less a width."""
        if goal.kind == "least":
            row = goal.column
            self.limits[row] = np.minimum(self.limits[row], widths - values)
        else:
            self.held.append(Held(goal, values - widths - 1e-12 * np.abs(values)))

    def copy(self) -> Hold:
        """An independent copy."""
        return Hold(self.limits.copy(), [*self.held], self.begin)

    def take(self, some: Places) -> Hold:
        """The limits held for some of the scenarios."""
        held, begin = [Held(goal, least[some]) for goal, least in self.held], None
        if self.begin is not None:
            place = np.full(self.limits.shape[1], -1, dtype=np.int64)
            place[some] = np.arange(len(some))
            moved = [(space, b._replace(owner=place[b.owner])) for space, b in self.begin]
            begin = [(space, boxes.take(boxes.owner >= 0)) for space, boxes in moved]
        return Hold(self.limits[:, some], held, begin)


class Point(NamedTuple):
    """A purchase found: its box, work and consumption, and its division among several types."""

    space: Space
    box: Boxes
    corner: Corner
    run: Run | None

    @property
    def units(self) -> dict[str, int]:
        """Units bought, by item; none of idle owned units."""
        found = dict.fromkeys(self.space.kernel.offers, 0)
        for offer, count in zip(self.space.offers, self.box.low[:, 0].tolist(), strict=True):
            found[offer.id] = count
        return found

    def operate_point(self) -> Run | None:
        """The operation of the purchase, with a local level at the best k."""
        if self.run is not None:
            return self.run
        space, case = self.space, self.space.of_every
        (way,) = space.work.teams[int(self.box.team[0])]
        gpus, chosen = int(self.corner.gpus[0]), case.ways[way]
        system = case.systems[space.work.rows_of[way][0]]
        used = {system.id: chosen.systems_for(gpus)}
        return operate(case, space.mode, self.units, used, gpus, (chosen.id,))


class Answer(NamedTuple):
    """Incumbent of a scenario, upper bound of the goal of any purchase, and whether the search
    ended by itself."""

    point: Point | None
    value: float
    bound: float
    ended: bool


@dataclass
class Search:
    """A search for the purchases of the highest goal in spaces, for several scenarios at once.

    Attributes:
        spaces: each a mode of the same case.
        goal: the value to maximise.
        limits: maximum of each column, a row each, a column for each scenario.
        gap: how much more than the best found the bound may be: of the best where ``relative``.
        held: other goals that must be reached.
        effort: how far to go.
        demands: counts that the purchases of each scenario have at least, a row for each offer.
        keep: boxes whose bound is at most this far below the best (as ``gap`` is) are kept, for
            the next question about plans as good as that; None keeps none.
    """

    spaces: Sequence[Space]
    goal: Goal
    limits: Numbers
    gap: float
    relative: bool = False
    held: Sequence[Held] = ()
    effort: Effort = field(default_factory=Effort)
    keep: float | None = None
    demands: Counts | None = None

    def __post_init__(self) -> None:
        """Begin with nothing found."""
        count = self.limits.shape[1]
        self.best = np.full(count, -np.inf)
        self.passed = np.full(count, -np.inf)  # the highest bound of closed boxes
        self.found: list[Point | None] = [None] * count
        self.boxes = self.rounds = 0
        self.kept: list[tuple[Space, Boxes]] = []

    def run(
        self, known: Iterable[Point] = (), begin: Sequence[tuple[Space, Boxes]] | None = None
    ) -> list[Answer]:
        """An answer for each scenario.

        Args:
            known: purchases to begin with, of the same spaces.
            begin: boxes that hold every purchase in question; without, all purchases.
        """
        for point in known:
            self.take(point)
        if begin is None:
            owners = np.arange(self.limits.shape[1])
            begin = [(space, space.whole(owners)) for space in self.spaces]
        open_ = [(space, self._bounded(space, self._demanded(boxes))) for space, boxes in begin]
        count = FIRST
        while not self.effort.over and sum(boxes.size for _, boxes in open_) <= MOST_BOXES:
            open_ = [(space, self._open_boxes(space, boxes)) for space, boxes in open_]
            open_ = [(space, boxes) for space, boxes in open_ if boxes.size]
            if not open_:
                break
            place = max(range(len(open_)), key=lambda n: float(open_[n][1].bound.max()))
            space, boxes = open_[place]
            some, rest = _most_promising(boxes, count)
            self.rounds += 1
            count = min(2 * count, TOGETHER if self.rounds < LONG else MANY)
            self.look_at(space, some)
            if not np.isfinite(self.best).all():  # under a minimum, floors are met at the top
                self.look_at(space, some._replace(low=some.high))
            self._keep(space, some.take(some.single))
            halves = self._bounded(
                space,
                space.halve(some.take(~some.single), self.limits, self._systems_first(space)),
            )
            open_[place] = space, Boxes.joined(rest, halves)
            self.boxes += some.size + halves.size
            self.effort.look(some.size + halves.size)
        return self._answers([boxes for _, boxes in open_])

    def _systems_first(self, space: Space) -> bool:
        """True if GPU systems are halved first: where storage alone counts, in every other round
        or, for a small demand, never."""
        if self.goal.kind == "bought_write":
            return self.rounds % 2 == 0
        return not self._is_least_of_storage(space)

    def _is_least_of_storage(self, space: Space) -> bool:
        """True if the objective is the least of a sum that storage alone adds to."""
        if self.goal.kind != "least":
            return False
        return not space.takes[: space.first_store, self.goal.column].any()

    def _demanded(self, boxes: Boxes) -> Boxes:
        """Boxes with no less than their scenarios demand."""
        if self.demands is None:
            return boxes
        boxes = boxes._replace(low=np.maximum(boxes.low, self.demands[:, boxes.owner]))
        return boxes.take(np.asarray((boxes.low <= boxes.high).all(axis=0)))

    def _answers(self, left: Sequence[Boxes]) -> list[Answer]:
        ends, bounds = np.ones(len(self.best), dtype=bool), np.maximum(self.best, self.passed)
        for boxes in left:
            np.maximum.at(bounds, boxes.owner, boxes.bound)
            ends[boxes.owner[boxes.bound > self._enough()[boxes.owner]]] = False
        bounds = np.where(np.isfinite(self.best) | ~ends, bounds, -np.inf)
        each = zip(self.found, self.best.tolist(), bounds.tolist(), ends.tolist(), strict=True)
        return [Answer(*one) for one in each]

    def _near_best(self, more: float) -> Numbers:
        """The incumbent and a gap beyond it, relative or absolute as ``gap``."""
        width = more * np.maximum(np.abs(self.best), 1e-9) if self.relative else more
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(self.best), self.best + width, -np.inf)

    def _enough(self) -> Numbers:
        """The bound at which the best found is within the gap."""
        return self._near_best(self.gap)

    def _useful_bounds(self) -> Numbers:
        """The bounds above which boxes are looked into, or kept."""
        return self.best if self.keep is None else self._near_best(-self.keep)

    def _open_boxes(self, space: Space, boxes: Boxes) -> Boxes:
        """The boxes that may hold something better; the bound covers the others."""
        open_ = boxes.bound > self._enough()[boxes.owner]
        gone = boxes.take(~open_)
        np.maximum.at(self.passed, gone.owner, gone.bound)
        self._keep(space, gone)
        return boxes.take(open_)

    def _keep(self, space: Space, boxes: Boxes) -> None:
        if self.keep is not None and boxes.size:
            kept = boxes.take(boxes.bound >= self._useful_bounds()[boxes.owner])
            if kept.size:
                self.kept.append((space, kept))

    def remaining_boxes(self) -> list[tuple[Space, Boxes]]:
        """The boxes kept of each space, for a question of another goal."""
        floor, found = self._useful_bounds(), []
        for space in self.spaces:
            parts = [boxes for of, boxes in self.kept if of is space]
            if parts:
                boxes = Boxes.joined(*parts)
                boxes = boxes.take(boxes.bound >= floor[boxes.owner])
                found.append((space, boxes._replace(bound=np.full(boxes.size, np.inf))))
        return found

    # Bounds.

    def _bounded(self, space: Space, boxes: Boxes) -> Boxes:
        """Boxes cut to the limits, with their bounds, without empty ones."""
        boxes = boxes.take(np.asarray((boxes.low <= boxes.high).all(axis=0)))
        boxes = boxes.take(space.keeps_policy(boxes.low, boxes.high))
        taken, bills = space.taken(boxes, boxes.low, least=True)
        most = self.limits[:, boxes.owner] * (1 + TOLERANCE)
        if self.goal.kind == "least":
            row = self.goal.column
            most[row] = np.minimum(most[row], -self._useful_bounds()[boxes.owner] * (1 + 1e-12))
        fits = space.kernel.available(bills) & (taken <= most).all(axis=0)
        begun = space.rounding_consumption(bills, boxes.low)[:, fits]
        boxes, taken, most = boxes.take(fits), taken[:, fits], most[:, fits]
        room = most - taken + begun
        if boxes.size and (self._is_least_of_storage(space) or self.goal.kind == "bought_write"):
            boxes = self._raise_systems(space, space.cut(boxes, room), room, taken)
        while boxes.size:
            boxes = space.cut(boxes, room)
            corner = space.top(boxes, room, taken)
            boxes = boxes._replace(bound=np.minimum(boxes.bound, self.goal.evaluate(corner)))
            stores = boxes.high[space.first_store :].sum(axis=0)
            keep = self._reached(corner, boxes.owner) & (stores > 0)
            boxes, corner = boxes.take(keep), corner.take(keep)
            taken, room, begun = taken[:, keep], room[:, keep], begun[:, keep]
            less = self._limit_room(space, boxes, corner, room, begun)
            if less is None:
                break
            room = less
        if boxes.size and self.goal.kind == "least" and self.rounds >= LONG:
            boxes = self._bound_by_missing(space, boxes, room, taken - begun)
        return self._open_boxes(space, boxes)

    def _bound_by_missing(self, space: Space, boxes: Boxes, room: Numbers, taken: Numbers) -> Boxes:
        """Boxes bounded by the cost of missing goods of their lowest corners, too: with
        less room than that costs at the best rates, the job does not reach the held values.

        Args:
            room: what may be taken beside the lowest corners, a row for each column.
            taken: what lowest corners take without rounding up.
        """
        row = self.goal.column
        each = space.takes[:, row] @ (boxes.high - boxes.low)
        few, many = np.zeros(boxes.size), np.minimum(room[row], each)
        for _ in range(MISSING):
            less = room.copy()
            less[row] = middle = (few + many) / 2
            corner = space.top(space.cut(boxes, less), less, taken)
            fine = self._reached(corner, boxes.owner)
            few, many = np.where(fine, few, middle), np.where(fine, middle, many)
        bound = -(taken[row] + few * (1 - ROUNDING))
        return boxes._replace(bound=np.minimum(boxes.bound, bound))

    def _raise_systems(self, space: Space, boxes: Boxes, room: Numbers, taken: Numbers) -> Boxes:
        """Boxes with no fewer GPU systems than the job needs, where one type runs it: a rule
        asks for storage for all of them."""
        alone = np.flatnonzero(~space.work.several[boxes.team])
        first = np.array([rows[0] for rows in space.work.rows_of])
        rows, low = first[boxes.team[alone]], boxes.low.copy()
        few, enough = low[rows, alone], boxes.high[rows, alone]
        for _ in range(RAISES):
            high = boxes.high[:, alone]
            high[rows, np.arange(len(alone))] = middle = (few + enough) // 2
            some = boxes.take(alone)._replace(high=high)
            fine = self._reached(space.top(some, room[:, alone], taken[:, alone]), some.owner)
            few, enough = np.where(fine, few, middle + 1), np.where(fine, middle, enough)
        low[rows, alone] = np.minimum(few, boxes.high[rows, alone])
        return boxes._replace(low=low)

    def _reached(self, corner: Corner, owners: Places) -> Flags:
        """Mask of boxes where the job can run and the held values can be reached."""
        fine: Flags = np.isfinite(corner.score)
        for goal, least in self.held:
            fine = fine & (goal.evaluate(corner) >= least[owners])
        return fine

    def _limit_room(
        self, space: Space, boxes: Boxes, corner: Corner, room: Numbers, begun: Numbers
    ) -> Numbers | None:
        """The room where money per work is limited; None where that leaves no less of it."""
        less = room.copy()
        asked = [(self.goal, self._useful_bounds()[boxes.owner])]
        asked += [(goal, least[boxes.owner]) for goal, least in self.held]
        for goal, floor in asked:
            most = goal.most_consumption(corner.score, floor) if goal.kind == "ratio" else None
            if most is not None:
                row = goal.column
                left = np.maximum(most - corner.taken[row], 0.0) + begun[row]
                less[row] = np.minimum(less[row], left)
        if space.tco is not None:
            most = space.work.affordable(boxes.team, corner.score) * (1 + 1e-6)
            left = most / space.columns.scale[space.tco] - corner.taken[space.tco]
            less[space.tco] = np.minimum(less[space.tco], np.maximum(left, 0.0) + begun[space.tco])
        shrinks = (less < room * 0.98 - 1e-12).any()
        return less if shrinks else None

    # Purchases.

    def look_at(self, space: Space, boxes: Boxes) -> None:
        """Take in the lowest corners of boxes that are better than the incumbents."""
        boxes, corner = space.points(boxes, self.limits, self._useful)
        value = self.goal.evaluate(corner)
        order = np.lexsort((-value, boxes.owner))
        if space.work.several.any():
            chosen = order.tolist()  # several types may do less than arrays say
        else:
            chosen = order[np.unique(boxes.owner[order], return_index=True)[1]].tolist()
        for place in chosen:
            here = np.array([place])
            if value[place] <= self._known(boxes.take(here))[0]:
                continue
            point = Point(space, boxes.take(here), corner.take(here), None)
            self.take(
                point if not space.work.several[boxes.team[place]] else divide_among_types(point)
            )

    def _useful(self, boxes: Boxes, corner: Corner) -> Flags:
        """Mask of purchases that reach the held values and may be the best of their scenario."""
        return self._reached(corner, boxes.owner) & (
            self.goal.evaluate(corner) > self._known(boxes)
        )

    def _known(self, boxes: Boxes) -> Numbers:
        """The value that a purchase must exceed to be taken in: of a single one, which is looked at
        no more, the best so far; of the corner of others, the best and the gap."""
        return np.where(boxes.single, self.best[boxes.owner], self._enough()[boxes.owner])

    def take(self, point: Point | None) -> None:
        """Take a purchase in where it is better than the incumbent."""
        if point is None:
            return
        value = float(self.goal.evaluate(point.corner)[0])
        fits = (point.corner.taken <= self.limits * (1 + TOLERANCE)).all(axis=0)
        fits &= self._reached(point.corner, np.arange(len(self.best)))
        if self.demands is not None:
            fits &= (point.box.low >= self.demands).all(axis=0)
        for owner in np.flatnonzero(fits & (self.best < value)).tolist():
            self.best[owner], self.found[owner] = value, point


def _most_promising(boxes: Boxes, count: int) -> tuple[Boxes, Boxes]:
    """The ``count`` boxes of each owner with the highest bounds, and the others; of equal bounds
    the smallest boxes first, which soon are purchases."""
    width = np.log1p(boxes.high - boxes.low).sum(axis=0)
    order = np.lexsort((width, -boxes.bound, boxes.owner))
    owner = boxes.owner[order]
    rank = np.arange(len(order)) - np.searchsorted(owner, owner)
    return boxes.take(order[rank < count]), boxes.take(order[rank >= count])


def divide_among_types(point: Point) -> Point | None:
    """A purchase with its GPUs in use divided among several types; None where none is allowed."""
    space, case, team = point.space, point.space.case, int(point.box.team[0])
    work, counts = space.work, point.box.low[:, 0]
    tco_usd = None
    if space.tco is not None:
        tco_usd = point.corner.taken[space.tco] * space.columns.scale[space.tco]

    def score(use: Uses) -> Numbers:
        cost = None if tco_usd is None else np.repeat(tco_usd, len(use.team))
        found, *_ = work.score_uses(replace(use, tco_usd=cost))
        return found

    stores = sum_storage(case, point.box.low[space.first_store :])
    systems = [int(counts[row]) for row in work.rows_of[team]]
    best = best_division(work, team, systems, stores, score)
    if best is None:
        return None
    gpus, types = best[0], [case.systems[row].id for row in work.rows_of[team]]
    used = dict(zip(types, best[1], strict=True))
    ways = [case.ways[way].id for way in work.teams[team]]
    run = operate(case, space.mode, point.units, used, gpus, ways)
    if run is None or not meets_floors(case, run):
        return None
    corner = point.corner._replace(
        score=np.array([measure(case, case.objective)(run)]),
        gpus=np.array([run.gpus]),
    )
    return point._replace(corner=corner, run=run)
