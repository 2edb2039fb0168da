"""Counts settled by linear programs alone, before anything is asked in whole numbers.

What decides a plan are few counts: the type of GPU system and the storage family, how many systems
stand and how many replicas run on them, how many appliances. All else follows. So a part of the
search is a box of those counts. In each

- rows tighten the counts (`planner.optimizer.tightening`);
- the relaxation bounds what the box holds; its reduced costs c tighten the counts again:
  where bound + k |c_j| is worse than the best plan, x_j is less than k from the end it is at;
- its counts, rounded up, are tried as a plan;
- where all counts are settled the plan is what its purchase is run for, to the last bit.

Else the box is divided, flags first. What is left open, since storage changes useful work by less
than bounds can tell, is handed on as a part for the model in whole numbers: as narrow as it has
become. The boxes that hold plans as good as the best are kept: among those ties are broken.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from planner.optimizer import operate, purchase
from planner.optimizer.branch import Found, Goal, Node, solve
from planner.optimizer.guess import orderly
from planner.optimizer.master import Master
from planner.optimizer.objective import LOGARITHMIC
from planner.optimizer.operate import Run
from planner.optimizer.solver import Outcome
from planner.optimizer.tightening import Box, Vector
from planner.optimizer.ways import holds

FEWER_BOXES = 5
"""How many boxes later stages look at where one has looked at all that it may."""
MOST_LEFT = 3
"""Into how many parts, by choice of flags, the boxes left open are gathered; beyond it into one."""
CUT_ROUNDS = 2
"""How often tangents are added to the relaxation of a box."""
CUT_VIOLATION = 1e-4
"""How far the relaxation of an open box may break a link of the model before a tangent is added."""
EXACT_VIOLATION = 2e-8
"""The same where all counts of a box are settled: its bound is then that of one purchase."""
FRACTION = 1e-5
"""A count in a relaxation that is nearer to a whole number than this is taken for it."""
LEAST_COST = 1e-9
"""A reduced cost is used where a thousand million units of its count cost more than this."""
ROOM = 3e-6
"""Boxes with plans that are worse than the best by less than this are kept for later stages: more
than these may give away, but for the goal itself."""


def room(value: float) -> float:
    """Return by how much a plan may be worse than the best and still be in one of the boxes."""
    return ROOM * max(1.0, abs(value))


def count_down(master: Master, goal: Goal, node: Node, found: Found) -> list[Node] | None:
    """Settle the counts of a part; return what is left open, None where nothing is known of it.

    With nothing left ``node.bound`` is proven, and ``node.boxes`` hold every plan as good as the
    best, by less than `room`.
    """
    search = _Counting(master, goal, node, found)
    try:
        return search.run()
    finally:
        search.session.limit_columns(*search.ends, relaxed=True)


def as_good(goal: Goal, found: Found) -> list[Box] | None:
    """Return the boxes that hold every plan as good as the best, by less than `room`.

    None where some part of the search that may have such plans was not settled by counts.
    """
    if found.value is None or not found.parts:
        return None
    boxes: list[Box] = []
    for part in found.parts:
        if goal.beyond(found.value, part.bound) < -room(found.value):
            continue
        if part.boxes is None:
            return None
        boxes += part.boxes
    near = -room(found.value)
    return [box for box in boxes if goal.beyond(found.value, box.bound) >= near]


@dataclass(order=True)
class _Open:
    """A box to look at; the one with the best bound goes first."""

    rank: float
    order: int
    box: Box = field(compare=False)


class _Counting:
    """The boxes of one part."""

    def __init__(self, master: Master, goal: Goal, node: Node, found: Found) -> None:
        from planner.optimizer.highs import HighsSession

        build, session = master.build, master.session
        assert isinstance(session, HighsSession)
        self.master, self.goal, self.node, self.found = master, goal, node, found
        self.case, self.session = build.case, session
        self.sign = -1.0 if goal.maximise else 1.0
        self.rows, low, high = session.current_rows()
        self.ends = low, high
        self.whole = np.array(session.integers)
        at = session.index
        ways = (*build.type_used.values(), *build.way_used.values())
        self.flags = list(dict.fromkeys(at[v.name] for v in (*ways, *build.serves.values())))
        replicas = (v for v in build.model.variables if v.name.startswith("replicas__"))
        self.used = [at[v.name] for v in (*replicas, *build.used.values())]
        systems = {system.id for system in self.case.systems}
        self.least = {at[v.name]: self._least(k.sku) for k, v in build.counts.items()}
        self.systems = [at[v.name] for k, v in build.counts.items() if k.sku in systems]
        self.stored = [at[v.name] for k, v in build.counts.items() if k.sku not in systems]
        self.decisive = np.array([*self.flags, *self.systems, *self.stored])
        self.tried: set[tuple[int, ...]] = set()
        self.left: list[Box] = []
        self.done: list[Box] = []

    def _least(self, sku: str) -> int:
        return next(offer.min_units for offer in self.case.offers() if offer.id == sku)

    def run(self) -> list[Node] | None:
        """Look at boxes, best first, until all are settled or left open."""
        number, looks = itertools.count(), 0
        boxes = self.node.boxes or [Box(self.node.bound, *self.ends)]
        # Bounds that an earlier stage proved are of its own goal.
        boxes = [replace(box, bound=self.node.bound) for box in boxes]
        heap = [_Open(self.sign * box.bound, next(number), box) for box in boxes]
        heapq.heapify(heap)
        while heap:
            box = heapq.heappop(heap).box
            if self.found.closed(self.goal, box.bound):
                self.done.append(box)
            elif looks >= self.master.most_boxes:
                self.left.append(box)
            else:
                looks += 1
                for part in self._look(box):
                    heapq.heappush(heap, _Open(self.sign * part.bound, next(number), part))
            if self.found.stopped:
                return None
        if looks >= self.master.most_boxes:  # later stages would not get further
            self.master.most_boxes = FEWER_BOXES
        return self._conclude()

    def _conclude(self) -> list[Node]:
        """Take over what is proven; return what is left, one part for each choice of flags."""
        found, goal, node = self.found, self.goal, self.node
        known = found.operation is not None and holds(self.master, goal, node, found)
        if known and not self._hold_best():
            # A box was closed that should not have been: whole models settle this part instead.
            return [Node(node.bound, node.bounds, counted=True)]
        left = [box for box in self.left if not found.closed(goal, box.bound)]
        self.done += [box for box in self.left if found.closed(goal, box.bound)]
        worst = math.inf * self.sign
        closed = [box.bound for box in self.done]
        closed += [] if found.value is None else [found.value]
        proven = (max if goal.maximise else min)(closed, default=worst)
        if not left:
            node.bound = proven if goal.better(node.bound, proven) else node.bound
            node.boxes = self.done
            return []
        grouped: dict[tuple[int, ...], list[Box]] = {}
        for box in left:
            settled = tuple(flag for flag in self.flags if box.low[flag] > 0.5)
            grouped.setdefault(settled, []).append(box)
        groups = list(grouped.values()) if len(grouped) <= MOST_LEFT else [left]
        rest = [Node(proven, node.bounds, self.done, counted=True)] if closed else []
        return [self._part(boxes) for boxes in groups] + rest

    def _hold_best(self) -> bool:
        """Say whether the best plan is in one of the boxes, as it must be: no box is better."""
        assert self.found.operation is not None
        units = self.found.operation.units
        counts = np.array([units[key.sku] for key in self.master.build.counts], dtype=float)
        columns = list(self.least)
        return any(
            bool(np.all((box.low[columns] <= counts) & (counts <= box.high[columns])))
            for box in (*self.done, *self.left)
        )

    def _part(self, boxes: list[Box]) -> Node:
        """Return the part of the search that holds boxes."""
        low = np.min([box.low for box in boxes], axis=0)
        high = np.max([box.high for box in boxes], axis=0)
        bound = (max if self.goal.maximise else min)(box.bound for box in boxes)
        closer = self.whole & ((low > self.ends[0]) | (high < self.ends[1]))
        variables = self.master.build.model.variables
        bounds = {
            variables[column].name: (variables[column], float(low[column]), float(high[column]))
            for column in np.flatnonzero(closer)
        }
        return Node(bound, {**self.node.bounds, **bounds}, counted=True)

    def _look(self, box: Box) -> list[Box]:
        """Return the parts of a box that are still open; keep what is settled."""
        low, high = box.low.copy(), box.high.copy()
        if not self.rows.tighten(low, high, self.whole):
            return []
        leaf = bool(np.all(high[self.decisive] - low[self.decisive] < 0.5))
        outcome = self._relaxed(low, high, EXACT_VIOLATION if leaf else CUT_VIOLATION)
        if outcome.status == "infeasible":
            return []
        box = Box(self._closer(box.bound, outcome.bound), low, high)
        if self.found.closed(self.goal, box.bound):
            self.done.append(box)
            return []
        if outcome.status != "optimal" or not outcome.values:
            self.found.stopped |= outcome.status == "limit"
            self.left.append(box)
            return []
        if leaf:
            self._settle(box, outcome)
            return []
        values = np.array([outcome.values[name] for name in self.session.names])
        costs = self.sign * self.session.reduced_costs()
        self._try(values)
        self._fix(box, costs)
        if self.found.closed(self.goal, box.bound):
            self.done.append(box)
        elif self.goal.name in LOGARITHMIC and not self._broken(values, self.flags, self.systems):
            self.left.append(box)
        else:
            return list(self._divide(box, values))
        return []

    def _closer(self, bound: float, proven: float | None) -> float:
        """Return the tighter of two bounds."""
        if proven is None:
            return bound
        return min(bound, proven) if self.goal.maximise else max(bound, proven)

    def _relaxed(self, low: Vector, high: Vector, violation: float) -> Outcome:
        """Return the relaxation over a box, with tangents where it breaks links."""
        low = np.where(self.whole, low, self.ends[0])
        high = np.where(self.whole, np.maximum(low, high), self.ends[1])
        self.session.limit_columns(low, high, relaxed=True)
        outcome = solve(self.master, self.goal, relaxed=True)
        for _ in range(CUT_ROUNDS):
            if outcome.status != "optimal" or outcome.bound is None or not outcome.values:
                break
            if self.found.closed(self.goal, outcome.bound):
                break
            if not self.master.cut(outcome.values, violation):
                break
            outcome = solve(self.master, self.goal, relaxed=True)
        return outcome

    def _fix(self, box: Box, costs: Vector) -> None:
        """Bring counts closer to the ends of the box that their reduced costs keep them at.

        Every plan that is as good as the best, or worse by less than `room`, stays in the box.
        """
        asked = self.found.asked(self.goal)
        if asked is None:
            return
        left = self.sign * (asked - box.bound) + room(asked)
        near = np.flatnonzero(self.whole & (1e9 * np.abs(costs) > max(left, LEAST_COST)))
        steps = np.floor(left / np.abs(costs[near]) + FRACTION)
        at_low, low, high = costs[near] > 0, box.low[near], box.high[near]
        box.low[near] = np.where(at_low, low, np.maximum(low, high - steps))
        box.high[near] = np.where(at_low, np.minimum(high, low + steps), high)

    def _broken(self, values: Vector, *groups: list[int]) -> bool:
        """Say whether some of the counts in a relaxation are no whole numbers."""
        return any(bool(np.any(_off(values[group]) > FRACTION)) for group in groups)

    def _divide(self, box: Box, values: Vector) -> Iterator[Box]:
        """Divide a box at the count that is furthest from a whole number.

        Flags are looked at first, then systems, then storage. Where all are whole one of them is
        what the relaxation has, or less, or more.
        """
        off = np.where(box.high > box.low, _off(values), 0.0)
        for group in (self.flags, self.used, self.systems, self.stored):
            column = max(group, key=off.__getitem__, default=0)
            if group and off[column] > FRACTION:
                below = math.floor(values[column])
                yield self._half(box, column, high=below)
                yield self._half(box, column, low=below + 1)
                return
        spread = box.high - box.low
        for column in (*self.flags, *self.systems, *self.stored):
            if spread[column] > 0.5:
                here = round(values[column])
                yield self._half(box, column, low=here, high=here)
                if here > box.low[column]:
                    yield self._half(box, column, high=here - 1)
                if here < box.high[column]:
                    yield self._half(box, column, low=here + 1)
                return

    def _half(self, box: Box, column: int, low: float = -math.inf, high: float = math.inf) -> Box:
        """Return the part of a box in which one count is between two numbers."""
        lows, highs = box.low.copy(), box.high.copy()
        lows[column], highs[column] = max(lows[column], low), min(highs[column], high)
        return Box(box.bound, lows, highs)

    def _try(self, values: Vector) -> None:
        """Try the counts of a relaxation as a plan, rounded up, where its flags are settled."""
        if self._broken(values, self.flags):
            return
        up = values.copy()
        for column, least in self.least.items():
            count = math.ceil(values[column] - FRACTION)
            up[column] = max(count, least) if count else 0
        counts = tuple(int(up[column]) for column in self.least)
        if counts in self.tried:
            return
        self.tried.add(counts)
        run = self._run(up)
        if run is not None and run is not self.found.operation:
            self.found.take(self.goal, run)
            if run is self.found.operation:
                self.master.cut_at(dict(zip(self.session.names, up.tolist(), strict=True)), run)

    def _run(self, values: Vector) -> Run | None:
        """Return the purchase in some values, run as well as it can be; None where it may not."""
        build, case = self.master.build, self.case
        named = dict(zip(self.session.names, values.tolist(), strict=True))
        bought = purchase.read(build, named)
        types = [system for system in case.systems if named[build.type_used[system.id].name] > 0.5]
        ways = [way for system in types for way in system.ways if way.id in bought.ways]
        if len(ways) != 1 or not orderly(case, bought.units):
            return None
        if purchase.broken_rows(case, bought.units, bought.ways):
            return None
        (system,), (way,) = types, ways
        most = operate.most_allowed(case, way, bought.units[system.id])
        gpus = min(max(1, round(named[build.gpus.name] / way.step_gpus)) * way.step_gpus, most)
        if gpus <= 0:
            return None
        used = {system.id: way.systems_for(gpus)}
        prefer = self.goal.prefer
        return operate.best(case, build.mode, bought.units, used, gpus, prefer, bought.ways)

    def _settle(self, box: Box, outcome: Outcome) -> None:
        """Settle a box that holds one purchase: what it is worth at its best is the bound."""
        values = np.array([outcome.values[name] for name in self.session.names])
        values[self.decisive] = box.low[self.decisive]
        run = self._run(values)
        if run is None:
            self.left.append(box)
        elif self.goal.allowed(run):
            self.found.take(self.goal, run)
            self.done.append(Box(self.goal.value(run), box.low, box.high))


def _off(values: Vector) -> Vector:
    """Return how far numbers are from whole ones."""
    return np.asarray(np.abs(values - np.rint(values)))
