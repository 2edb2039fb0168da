"""One search for many limits: parts of the plans, how they are divided, what each may hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.case import Case
from planner.limits import Limit
from planner.optimizer import purchase
from planner.optimizer.goals import goal_of
from planner.optimizer.objective import LOGARITHMIC
from planner.optimizer.operate import Run
from planner.optimizer.operations import ways_to_save
from planner.optimizer.parametric import cells
from planner.optimizer.parametric.cells import NOISE
from planner.optimizer.parametric.opening import Opening
from planner.optimizer.parametric.plans import Plans, Proposal, likely_ways, purchases, uses
from planner.optimizer.parametric.relaxed import Kept, Seen, Vector
from planner.optimizer.solver import Effort

# A part of the plans: a box of the model's columns, and what is proven of it for each scenario.


@dataclass(eq=False)
class Node:
    """One of the parts into which the plans of a mode are divided.

    ``bounds`` holds what is proven of the part for each scenario: no plan in it is better; -inf:
    none is in it. ``fails`` counts searches that brought no better plan.
    """

    mode: int
    low: Vector
    high: Vector
    bounds: Vector
    fails: int = 0

    def prove(self, bounds: Vector) -> None:
        """Take over bounds for each scenario where they are closer."""
        np.minimum(self.bounds, bounds, out=self.bounds)

    def within(self, low: Vector, high: Vector) -> Node:
        """Return a smaller part."""
        return Node(self.mode, low, high, self.bounds.copy())


def below(limits: NDArray[np.float64], most: Vector) -> NDArray[np.bool_]:
    """Say for each row of limits whether none of them is looser than ``most``."""
    return np.asarray(np.all(limits <= most * (1 + 1e-12), axis=1))


def held_by_one(limits: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Return limits of which each holds by itself, the others as loose as any.

    Nobody asked for them, but what is proven of one serves all scenarios that are tighter in it,
    whatever the rest. None where there is but one supply, or where they would be more than they
    serve.
    """
    loosest, found = limits.max(axis=0), list[NDArray[np.float64]]()
    if len(loosest) < 2 or len(limits) * MOST_HELD < len(loosest):
        return limits[:0]
    for column, values in enumerate(limits.T):
        values = values[values > 0]
        step = max(gap, NOISE) * STEP
        rounded = np.exp(np.ceil(np.log(values) / step) * step)
        several = (np.unique(values), np.unique(np.minimum(rounded, loosest[column])))
        fewer = min(several, key=len)
        rows = np.tile(loosest, (len(fewer), 1))
        rows[:, column] = fewer
        found.append(rows)
    held = np.vstack(found)
    return held if len(held) <= len(limits) * MOST_HELD else limits[:0]


# How a part of the plans is divided into smaller ones.


FRACTION = 1e-6


def divide(kept: Kept, node: Node, values: Vector) -> list[Node] | None:
    """Return smaller parts, split at what matters most; None where all that is whole.

    First the GPU type and the way in which the job runs on it, then how many systems, to one
    number: that settles the sizes of their fabrics, which a relaxation mixes. Then the storage
    family.
    """
    build = kept.build
    systems = [v for key, v in build.counts.items() if key.sku in build.used]
    types, families = list(build.type_used.values()), list(build.serves.values())
    ways = [build.way_used[way.id] for s in kept.case.systems if len(s.ways) > 1 for way in s.ways]
    for variables in (types, ways, systems):
        column = _most_fractional(kept, node, values, variables)
        if column is not None:
            return _split(kept, node, column, math.floor(values[column]))
    for variable in systems:
        column = kept.index[variable.name]
        value, low, high = round(float(values[column])), node.low[column], node.high[column]
        if high - low > 0.5 and value > 0:
            return _split(kept, node, column, value if value < high else value - 1)
    column = _most_fractional(kept, node, values, families)
    return None if column is None else _split(kept, node, column, 0)


def _split(kept: Kept, node: Node, column: int, below: int) -> list[Node]:
    """Return the part in which a column is more than ``below``, and the rest."""
    parts = []
    for up in (True, False):
        low, high = node.low.copy(), node.high.copy()
        if up:
            low[column] = below + 1.0
        else:
            high[column] = float(below)
        if kept.tighten(low, high):
            parts.append(node.within(low, high))
    return parts


def _most_fractional(
    kept: Kept, node: Node, values: Vector, variables: Sequence[Any]
) -> int | None:
    """Return the column of the largest value that is not whole but must be, or None."""
    columns = [kept.index[variable.name] for variable in variables]
    open_ = [c for c in columns if node.high[c] - node.low[c] > 0.5]
    mixed = [c for c in open_ if abs(values[c] - round(float(values[c]))) > FRACTION]
    return max(mixed, key=lambda c: (values[c], -c), default=None)


# Answers for many limits: a division of the plans that is kept, and what is proven of each part.
#
# For one scenario after the other, from the loosest on: the part with the highest bound is relaxed,
# divided, or searched, until no part can hold a plan that is better than the best one known by more
# than the gap. Whatever that proves is taken over for all scenarios at once.


SLACK = 1e-7
"""Limits count as this much looser in proofs: plans may pass them by rounding."""
CUTOFF = 0.1
"""How far above the best plan a search looks, as a share of the gap: the less, the further down its
bound serves tighter limits."""
MOST_STEPS = 2000
MOST_FAILS = 12
STEP = 0.5
"""How far apart limits are that hold by themselves, as a share of the gap."""
MOST_HELD = 0.25
"""So many of them there may be at most, as a share of the scenarios."""
TOGETHER = 64
"""Scenarios that are enumerated together."""


class Found(NamedTuple):
    """A scenario's answer in scores: the best plan known and what no plan passes.

    ``certificate`` says what proved it: "search" where this scenario was worked on, "reused" where
    what was proven for others was enough; "alone" where it had to be optimised by itself.
    """

    operation: Run | None
    score: float
    bound: float
    certificate: str


class Search:
    """The scenarios of one case that differ in what may be used up, and nothing else."""

    def __init__(
        self,
        case: Case,
        limits: NDArray[np.float64],
        supplies: Sequence[Limit],
        gap: float,
        *,
        divided: bool = True,
        time_limit_s: float | None = None,
    ) -> None:
        """Prepare.

        Args:
            case: the case under limits that no scenario's are looser than.
            limits: a row for each scenario, a column for each supply.
            gap: as a share of the objective.
            divided: whether to divide the plans; otherwise each scenario that what others proved
                does not settle is optimised by itself.
            time_limit_s: how long to work on one scenario; its bound then stays where it is.
        """
        self.time_limit_s = time_limit_s
        self.case, self.gap, self.count = case, gap, len(limits)
        saves = list(ways_to_save(case)) if divided and cells.covers(case) else []
        self.logarithmic = case.objective in LOGARITHMIC
        if saves and self.logarithmic:
            limits = np.vstack([limits, held_by_one(limits, gap)])
        self.exact, self.limits = limits, limits * (1 + SLACK)
        goals = {mode: goal_of(case, None, gap) for mode in case.job.modes}
        self.plans = Plans(case, goals, supplies, limits)
        self.supplies = tuple(supplies)
        give = math.log1p(gap) * (1 - CUTOFF) if self.logarithmic and len(limits) > 1 else 0.0
        self.cells = [cells.Cells(*one, supplies, self.plans, give) for one in saves]
        self.kept: list[Kept] = []
        self.begun = False
        self.divided = divided
        self.loosest = self.limits.max(axis=0)
        self.nodes: list[Node] = []
        self.worked: set[int] = set()
        self.alone: set[int] = set()
        self.least_bound = np.full(len(limits), np.inf)

    def _begin(self) -> None:
        """Build the models that relaxations and searches are made of, once one is needed."""
        self.begun = True
        self.kept = [Kept(self.case, mode, self.supplies, self.gap) for mode in self.case.job.modes]
        for number, kept in enumerate(self.kept):
            low, high = kept.low.copy(), kept.high.copy()
            if kept.tighten(low, high):
                unknown = np.full(len(self.limits), np.inf)
                self.nodes.append(Node(number, low, high, unknown))

    def width(self, score: float) -> float:
        """Return how far above a score a bound may be."""
        return float(self.widths(np.array([score]))[0])

    def widths(self, scores: Vector) -> Vector:
        """Return how far above each of some scores a bound may be."""
        known = np.where(np.isfinite(scores), scores, 0.0)
        if self.logarithmic:
            return np.where(np.isfinite(scores), math.log1p(self.gap), 0.0)
        return np.where(np.isfinite(scores), self.gap * np.maximum(np.abs(known), 1e-9), 0.0)

    def bound(self) -> Vector:
        """Return what no plan's score passes, for each scenario."""
        if not self.begun:
            return self.least_bound
        if not self.nodes:
            return np.full(len(self.limits), -np.inf)
        highest: Vector = np.max([node.bounds for node in self.nodes], axis=0)
        least: Vector = np.minimum(highest, self.least_bound)
        return least

    def run(self, alone: Callable[[int], tuple[Run | None, float]]) -> list[Found]:
        """Answer every scenario.

        Args:
            alone: optimises a scenario by itself, where nothing else settles it; it returns the
                plan (None: there is none) and the bound of its score.
        """
        scaled = self.limits / np.where(self.loosest > 0.0, self.loosest, 1.0)
        order = np.argsort(-scaled.sum(axis=1), kind="stable")
        self._enumerate(order[order >= self.count])
        order = order[order < self.count]
        while True:
            self._enumerate(order)
            for place in order.tolist():
                if not self._closed(place):
                    self.worked.add(place)
                    self._work(place, alone)
            found = self._answers()
            if found is not None:
                return found
            self.plans.choose_again()

    def _enumerate(self, order: NDArray[np.int64]) -> None:
        """Settle by enumeration what can be: scenarios apart from each other, some at a time.

        What is proven of one serves all that are tighter.
        """
        tried = np.zeros(len(self.limits), dtype=bool)
        while self.cells:
            scores = self.plans.score[order]
            left = order[~tried[order] & (self.least_bound[order] > scores + self.widths(scores))]
            if not len(left):
                return
            count = min(TOGETHER, len(left))
            some = left[np.arange(count) * len(left) // count]
            tried[some] = True
            self.worked.update(some.tolist())
            self._enumerated(some)

    def _enumerated(self, places: NDArray[np.int64]) -> None:
        limits, share = self.limits[places], 1.0 if len(self.limits) == 1 else CUTOFF

        def most() -> Vector:
            scores = self.plans.score[places]
            return scores + share * self.widths(scores)

        if len(self.limits) == 1:
            alone = (each.answer(0, limits[0], lambda: float(most()[0])) for each in self.cells)
            proven = [np.array([bound]) for bound in alone]
            # What seems to fit may need more racks than there are, once they are packed.
            if np.max(proven) > most()[0]:
                proven = [Opening(each, places, limits.T, most).run() for each in self.cells]
        else:
            proven = [Opening(each, places, limits.T, most).run() for each in self.cells]
        for row, bound in zip(limits, np.max(proven, axis=0).tolist(), strict=True):
            mask = below(self.limits, row)
            self.least_bound[mask] = np.minimum(self.least_bound[mask], bound)

    def _answers(self) -> list[Found] | None:
        """Return the answers; None where a plan was not what it seemed."""
        plans, known = self.plans, self.plans.score[: self.count]
        bounds = np.maximum(self.bound()[: self.count], known)
        with np.errstate(invalid="ignore"):
            floors = np.minimum(known, bounds - self._given_away(bounds))
        chosen = plans.few(floors)
        runs = {place: plans.run(place) for place in set(chosen.tolist()) if place >= 0}
        if None in runs.values():
            return None
        found = []
        for place, (best, bound) in enumerate(zip(chosen.tolist(), bounds.tolist(), strict=True)):
            score = plans.scores[best] if best >= 0 else -math.inf
            how = "alone" if place in self.alone else "search" if place in self.worked else "reused"
            found.append(Found(runs.get(best), score, max(bound, score), how))
        return found

    def _given_away(self, bounds: Vector) -> Vector:
        """Return how far below its bound a score may be that is within the gap of it."""
        if self.logarithmic:
            return np.full(len(bounds), math.log1p(self.gap) * (1 - 1e-9))
        return np.abs(bounds) * self.gap / (1 + self.gap) * (1 - 1e-9)

    def _most(self, place: int) -> float:
        """Return how high a scenario's bound may be for its best plan to be good enough."""
        score = float(self.plans.score[place])
        return score + self.width(score)

    def _closed(self, place: int) -> bool:
        most = self._most(place)
        if self.least_bound[place] <= most:
            return True
        return self.begun and not any(node.bounds[place] > most for node in self.nodes)

    def _highest(self, place: int) -> Node | None:
        """Return the part with the highest bound, None where no part holds any plan."""
        return max(self.nodes, key=lambda node: node.bounds[place], default=None)

    def _work(self, place: int, alone: Callable[[int], tuple[Run | None, float]]) -> None:
        if self.divided and not self.begun:
            self._begin()
        effort = Effort.within(self.time_limit_s)
        for part in self.nodes:  # what one scenario's limits leave open others' may settle
            part.fails = 0
        for kept in self.kept:
            kept.master.effort = effort
        for _ in range(MOST_STEPS if self.divided else 0):
            if effort.late:
                return
            node = self._highest(place)
            if node is None or self._closed(place):
                self._thin(place)
                return
            if node.fails >= MOST_FAILS:
                break
            self._explore(node, place)
        self.alone.add(place)
        run, bound = alone(place)
        if run is not None:
            self.plans.add([run])
        mask = below(self.limits, self.limits[place])
        self.least_bound[mask] = np.minimum(self.least_bound[mask], bound)

    def _thin(self, place: int) -> None:
        """Add the plan that takes least of those that this scenario's proof calls good enough.

        It fits tighter scenarios, too, and there what was proven here still holds.
        """
        best = int(self.plans.best[place])
        if best < 0:
            return
        node = self._highest(place)
        bound = -math.inf if node is None else float(node.bounds[place])
        bound = min(bound, float(self.least_bound[place]))
        floor = max(bound, float(self.plans.score[place]))
        floor -= self.width(floor)
        run = self.plans.run(best)
        if run is None:
            return
        for item in self.case.storage:
            if run.units[item.id] > max(1, item.low):
                run = self._least(run, item.id, floor)

    def _least(self, run: Run, item_id: str, floor: float) -> Run:
        """Return the plan with least of an item whose score is not below ``floor``."""
        low, high, width = 0, run.units[item_id], 1
        while high - low > 1:
            count = max(low + 1, high - width)
            units = {**run.units, item_id: count}
            less = self.plans.offer(Proposal(run.mode, units, run.used, run.gpus, run.ways), floor)
            if less is None:
                low, width = count, max(1, width // 4)
            else:
                run, high, width = less, count, width * 4
        return run

    def _explore(self, node: Node, place: int) -> None:
        """Relax a part; where that does not settle it, divide it or search it."""
        kept, limits = self.kept[node.mode], self.limits[place]
        seen = kept.relax(limits, node.low, node.high)
        if seen.proof is not None:
            node.prove(seen.proof.bounds(self.limits))
        if seen.empty:
            node.prove(np.where(below(self.limits, limits), -np.inf, np.inf))
            return
        node.prove(np.where(below(self.limits, limits), seen.bound, np.inf))
        if seen.values is None:
            self._search(node, place, limits)
            return
        self._guess(kept, seen.values, self.exact[place])
        if node.bounds[place] <= self._most(place):
            return
        parts = divide(kept, node, seen.values)
        if parts is None:
            self._search_loosely(node, place, seen)
            return
        self.nodes.remove(node)
        self.nodes += parts

    def _guess(self, kept: Kept, values: Vector, limits: Vector) -> None:
        for units in purchases(kept, self.plans, values, limits):
            use = uses(kept, units, values)
            if use is not None:
                idle = {s.id: s.low for s in kept.case.systems if s.id not in use[0]}
                ways = likely_ways(kept, values)
                self.plans.offer(Proposal(kept.mode, units | idle, *use, ways))

    def _search_loosely(self, node: Node, place: int, seen: Seen) -> None:
        """Search a part with what does not bind as loose as can be, so that the bound serves more.

        Where that does not settle this scenario, search it under its own limits.
        """
        limits = self.limits[place]
        if seen.proof is not None and node.fails == 0:
            looser = np.where(seen.proof.slopes > 0, limits, self.loosest)
            if np.any(looser > limits):
                before = float(self.plans.score[place])
                self._search(node, place, looser)
                better = float(self.plans.score[place]) > before
                if better or node.bounds[place] <= self._most(place):
                    return
        self._search(node, place, limits)

    def _search(self, node: Node, place: int, limits: Vector) -> None:
        """Search a part in whole numbers under limits that are no tighter than a scenario's."""
        kept = self.kept[node.mode]
        score = float(self.plans.score[place])
        width = self.width(score)
        cutoff = score + CUTOFF * width if math.isfinite(score) else -math.inf
        gap = kept.goal.gap
        outcome = kept.search(limits, node.low, node.high, cutoff, gap / 4.0, kept.goal.relative)
        mask = below(self.limits, limits)
        if outcome.status == "infeasible":
            node.prove(np.where(mask, cutoff, np.inf))
            return
        if kept.master.effort.late:  # cut short: nothing is wrong with the part
            return
        if outcome.status != "optimal" or outcome.bound is None or not outcome.values:
            node.fails = MOST_FAILS
            return
        node.prove(np.where(mask, max(outcome.bound, cutoff), np.inf))
        bought = purchase.read(kept.build, outcome.values)
        run = self.plans.offer(
            Proposal(kept.mode, bought.units, bought.used, bought.gpus, bought.ways)
        )
        runs = [] if run is None else [run]
        added = kept.cut_at(outcome.values, runs)
        better = float(self.plans.score[place]) > score
        if not better and not added:
            node.fails = MOST_FAILS
        elif not better:
            node.fails += 1
