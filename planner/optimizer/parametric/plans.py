"""The plans known so far, as arrays: what each is worth, and under which limits it fits."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.case import Case, Way
from planner.case.model import Mode, Offer, Storage, by_item
from planner.limits import Limit
from planner.optimizer import operate, purchase
from planner.optimizer.branch import Goal
from planner.optimizer.guess import orderly
from planner.optimizer.operate import Run
from planner.optimizer.parametric.relaxed import Kept, Vector
from planner.optimizer.purchase import TOLERANCE, used

NOISE = 1e-9
"""Scores of arrays and of one purchase differ by less."""


class Proposal(NamedTuple):
    """A purchase and a use of it: units, systems in use by type, GPUs in use, ways by id."""

    mode: Mode
    units: Mapping[str, int]
    uses: Mapping[str, int]
    gpus: int
    ways: tuple[str, ...] = ()


class Plans:
    """Plans of a case under its loosest limits, and the best of them for each scenario.

    ``score`` and ``best`` hold, for each scenario, the best plan that fits: its score (larger is
    better; -inf for none) and its place among the plans (-1 for none).

    Where there are many scenarios, most plans are passed by others before anybody asks how they
    run: those of arrays are only ``noted`` until somebody does.
    """

    def __init__(self, case: Case, goals: Mapping[Mode, Goal], supplies: Sequence[Limit],
                 limits: NDArray[np.float64]) -> None:  # fmt: skip
        self.case, self.goals, self.supplies, self.limits = case, goals, tuple(supplies), limits
        self.sign = 1.0 if case.maximise else -1.0
        self.runs: list[Run | None] = []
        self.noted: dict[int, Proposal] = {}
        self.lazy = len(limits) > 1
        self.known: dict[tuple[object, ...], tuple[Run | None, float]] = {}
        self.score = np.full(len(limits), -np.inf)
        self.best = np.full(len(limits), -1, dtype=np.int64)
        self.used: list[Vector] = []
        self.scores: list[float] = []

    @property
    def plans(self) -> list[Run]:
        """Every plan known."""
        runs = (self.run(place) for place in range(len(self.runs)))
        return [run for run in runs if run is not None]

    def takes(self, units: Mapping[str, int], ways: Collection[str]) -> Vector:
        """Return what a purchase uses up of each supply.

        Raises:
            ValueError: a fabric would have to be larger than it can be.
        """
        return used(self.supplies, purchase.bill(self.case, units, ways))

    def may(self, units: Mapping[str, int], ways: Collection[str]) -> bool:
        """Return whether a purchase fits the loosest limits."""
        return orderly(self.case, units) and not purchase.broken_rows(self.case, units, ways)

    def offer(self, proposal: Proposal, floor: float = -math.inf) -> Run | None:
        """Take in a purchase as well as it can be run near a proposed use, and return that.

        None where it may not be made, cannot be run, or scores less than ``floor``.
        """
        counts = tuple(proposal.units[offer.id] for offer in self.case.offers())
        uses = tuple(sorted(proposal.uses.items()))
        key = (proposal.mode, counts, uses, proposal.gpus, proposal.ways)
        if key not in self.known:
            self.known[key] = self._run(proposal)
        run, score = self.known[key]
        if run is None or score < floor:
            return None
        self._take(run, score)
        return run

    def _run(self, proposal: Proposal, *, as_it_is: bool = False) -> tuple[Run | None, float]:
        mode, units, ways = proposal.mode, proposal.units, proposal.ways
        if not self.may(units, ways):
            return None, -math.inf
        goal, near = self.goals[mode], (self.case, mode, units, proposal.uses, proposal.gpus)
        if as_it_is:
            one = operate.best(*near, goal.prefer, ways)
            runs = [] if one is None else [one]
        else:
            runs = list(operate.best_ways(*near, goal.prefer, ways))
        runs = [run for run in runs if goal.allowed(run)]
        if not runs:
            proposed = operate.operate(*near, ways)
            runs = [proposed] if proposed is not None and goal.allowed(proposed) else []
        if not runs:
            return None, -math.inf
        run = max(runs, key=lambda each: self.sign * goal.value(each))
        return run, self.sign * goal.value(run)

    def as_proposed(self, proposal: Proposal) -> Run | None:
        """Return a purchase as well as it can be run in the ways proposed, whatever else it may be
        run in; None where it may not be made or cannot be run."""
        return self._run(proposal, as_it_is=True)[0]

    def winners(self, scores: Vector, takes: Vector) -> NDArray[np.int64]:
        """Return which of some plans may better the best one known for a scenario, best first.

        Args:
            scores: what each is worth.
            takes: what each takes: a row for each supply, a column for each plan.
        """
        order = np.argsort(-scores, kind="stable")
        if not self.lazy or not len(order):  # whether one may be made is seen when it is offered
            return order
        fits = np.ones((len(self.limits), len(order)), dtype=bool)
        for most, of in zip(self.limits.T, takes[:, order], strict=True):
            fits &= of <= most[:, None] * (1 + TOLERANCE)
        first = np.argmax(fits, axis=1)
        some = fits.any(axis=1) & (scores[order][first] > self.score)
        better: NDArray[np.int64] = order[np.unique(first[some])]
        return better

    def note(self, proposal: Proposal, score: float, takes: Vector) -> None:
        """Take in a purchase whose score and sums are known, to be run when it is asked for."""
        if self._enter(None, score, takes):
            self.noted[len(self.runs) - 1] = proposal

    def run(self, place: int) -> Run | None:
        """Return a plan; None where one that was noted is not what it seemed."""
        if place in self.noted:
            run, score = self._as_noted(self.noted.pop(place), self.scores[place] - NOISE)
            if run is None or score < self.scores[place] - NOISE:
                self.scores[place] = -math.inf
            else:
                self.runs[place] = run
                self.score[self.best == place] = self.scores[place] = score
        return self.runs[place]

    def _as_noted(self, noted: Proposal, least: float) -> tuple[Run | None, float]:
        """Return a purchase run as it was noted, which was as well as it can be; where that is not
        as good as it seemed, as well as it can be run near that."""
        of = noted.mode, noted.units, noted.uses, noted.gpus, noted.ways
        run, goal = operate.operate(self.case, *of), self.goals[noted.mode]
        if run is not None and goal.allowed(run) and self.may(noted.units, noted.ways):
            score = self.sign * goal.value(run)
            if score >= least:
                return run, score
        return self._run(noted, as_it_is=True)

    def choose_again(self) -> None:
        """Find the best plan of every scenario among those that are what they seemed."""
        self.lazy = False
        takes, scores = np.array(self.used), np.array(self.scores)
        fits = self._fitting(takes, self.limits)
        worth = np.where(fits, scores[:, None], -np.inf)
        self.score = worth.max(axis=0)
        self.best = np.where(self.score > -np.inf, np.argmax(worth, axis=0), -1)

    def add(self, runs: Iterable[Run]) -> None:
        """Take in plans of the same case under other limits."""
        for run in runs:
            if self.may(run.units, run.ways):
                self._take(run, self.sign * self.goals[run.mode].value(run))

    def _take(self, run: Run, score: float) -> None:
        self._enter(run, score, self.takes(run.units, run.ways))

    def _enter(self, run: Run | None, score: float, takes: Vector) -> bool:
        fits = np.all(takes <= self.limits * (1 + TOLERANCE), axis=1)
        better = fits & (score > self.score)
        if not better.any():
            return False
        self.score[better], self.best[better] = score, len(self.runs)
        self.runs.append(run)
        self.used.append(takes)
        self.scores.append(score)
        return True

    def _fitting(self, takes: Vector, limits: Vector) -> NDArray[np.bool_]:
        """Return which plans, a row each, fit which scenarios, a column each."""
        fits = np.ones((len(takes), len(limits)), dtype=bool)
        for of, most in zip(takes.T, limits.T, strict=True):
            fits &= of[:, None] <= most * (1 + TOLERANCE)
        return fits

    def few(self, floors: Vector) -> NDArray[np.int64]:
        """Return the plan of each of the first scenarios (-1: none), as few as reach their floors.

        Of the few each scenario has the best that fits it, so that looser limits never show less.

        Args:
            floors: a score for each scenario that its best plan reaches.
        """
        if not self.runs:
            return self.best[: len(floors)]
        takes, scores = np.array(self.used), np.array(self.scores)
        limits, best = self.limits[: len(floors)], self.best[: len(floors)]
        fits = self._fitting(takes, limits)
        good = fits & (scores[:, None] >= floors[None])
        chosen: list[int] = []
        left = best >= 0
        for place in np.argsort(-self.score[: len(floors)], kind="stable").tolist():
            if left[place]:
                some = np.flatnonzero(good[:, place])
                serves = (good[some] & left).sum(axis=1)
                chosen.append(int(some[np.argmax(serves)]))
                left &= ~good[chosen[-1]]
        if not chosen:
            return best
        few = np.array(sorted(set(chosen)))
        worth = np.where(fits[few], scores[few, None], -np.inf)
        found: NDArray[np.int64] = np.where(best >= 0, few[np.argmax(worth, axis=0)], -1)
        return found


# Purchases near a relaxation: whole units that keep within the limits. They prove nothing.


NEAR = 1e-6
MOST_STEPS = 6


def purchases(kept: Kept, plans: Plans, values: Vector, limits: Vector) -> Iterator[dict[str, int]]:
    """Yield purchases near the values of a relaxation that keep within limits."""
    counts = _counts(kept, values)
    case = kept.case
    up = {offer.id: _whole(offer, math.ceil(counts[offer.id] - NEAR)) for offer in case.offers()}
    down = dict(up)
    for offer in case.offers():
        floor = _whole(offer, math.floor(counts[offer.id] + NEAR))
        down[offer.id] = floor
    mixed = up | {system.id: down[system.id] for system in case.systems}
    seen = []
    ways = likely_ways(kept, values)
    for units in (mixed, down, up):
        fitting = _fitted(kept, plans, units, limits, ways)
        if fitting is not None and fitting not in seen:
            seen.append(fitting)
            yield fitting


def likely_ways(kept: Kept, values: Vector) -> tuple[str, ...]:
    """Return the way of each GPU system that the relaxation uses most."""
    flags = kept.build.way_used

    def used_in(way: Way) -> float:
        return float(values[kept.index[flags[way.id].name]])

    return tuple(max(system.ways, key=used_in).id for system in kept.case.systems)


def uses(kept: Kept, units: Mapping[str, int], values: Vector) -> tuple[dict[str, int], int] | None:
    """Return the systems in use and GPUs of a purchase, all that may be; None where there are none.

    Of several types that are bought those that the relaxation uses.
    """
    case, job = kept.case, kept.case.job
    build = kept.build
    types = [s for s in case.systems if units[s.id] > 0]
    if len(types) > job.max_types:
        flags = {s.id: values[kept.index[build.type_used[s.id].name]] for s in types}
        types = sorted(types, key=lambda s: (-flags[s.id], s.id))[: job.max_types]
    used = {s.id: operate.most_in_use(case, units[s.id]) for s in types}
    used = {name: count for name, count in used.items() if count}
    use, ways = {}, likely_ways(kept, values)
    left = job.gpus_max_in(*(system.way(ways) for system in types if system.id in used))
    for system in types:
        way = system.way(ways)
        gpus = operate.most_gpus(case, way, units[system.id]) if system.id in used else 0
        use[system.id] = gpus if left is None else min(gpus, left // way.step_gpus * way.step_gpus)
        left = None if left is None else left - use[system.id]
    used = {s.id: s.way(ways).systems_for(use[s.id]) for s in types if use[s.id]}
    return (used, sum(use.values())) if used else None


def _counts(kept: Kept, values: Vector) -> dict[str, float]:
    counts = kept.build.counts.items()
    return by_item((key, float(values[kept.index[v.name]])) for key, v in counts)


def _whole(offer: Offer, count: int) -> int:
    if not count:
        return offer.low
    first = offer.segments[0].low if isinstance(offer, Storage) and offer.segments else 0
    whole = max(count, offer.min_units, offer.low, first)
    return whole if offer.high is None else min(whole, offer.high)


def _fitted(
    kept: Kept, plans: Plans, units: dict[str, int], limits: Vector, ways: Collection[str]
) -> dict[str, int] | None:
    """Return a purchase with less storage, then fewer systems, until it keeps within limits."""
    case = kept.case
    for _ in range(MOST_STEPS):
        try:
            over = plans.takes(units, ways) - limits * (1 + TOLERANCE)
        except ValueError:
            return None
        if np.all(over <= 0):
            return units
        storage = [s for s in case.storage if units[s.id] > s.low]
        systems = [s for s in case.systems if units[s.id] > s.low]
        fewer = _fewer(plans, units, over, storage, ways)
        fewer = fewer or _fewer(plans, units, over, systems, ways)
        if fewer is None:
            return None
        units = fewer
    return None


def _fewer(
    plans: Plans,
    units: dict[str, int],
    over: Vector,
    offers: Sequence[Offer],
    ways: Collection[str],
) -> dict[str, int] | None:
    """Return the purchase with one item reduced by what the limits are exceeded by."""
    for offer in offers:
        less = units | {offer.id: units[offer.id] - 1}
        each = plans.takes(units, ways) - plans.takes(less, ways)
        broken = over > 0
        if np.any(each[broken] <= 0):
            continue
        count = max(1, math.ceil(float((over[broken] / each[broken]).max()) - NEAR))
        if units[offer.id] - count >= max(offer.low, 1):
            return units | {offer.id: units[offer.id] - count}
    return None
