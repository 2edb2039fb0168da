"""The plans known so far, as arrays: what each is worth, and under which limits it fits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from planner.case import Case
from planner.case.model import Mode
from planner.limits import Limit
from planner.optimizer import operate, purchase
from planner.optimizer.goal import Goal
from planner.optimizer.guess import orderly
from planner.optimizer.operate import Operation
from planner.optimizer.parametric.rows import Vector
from planner.optimizer.purchase import TOLERANCE, used


class Plans:
    """Plans of a case under its loosest limits, and the best of them for each scenario.

    ``score`` and ``best`` hold, for each scenario, the best plan that fits: its score (larger is
    better; -inf for none) and its place in ``plans`` (-1 for none).
    """

    def __init__(self, case: Case, goals: Mapping[Mode, Goal], supplies: Sequence[Limit],
                 limits: NDArray[np.float64]) -> None:  # fmt: skip
        self.case, self.goals, self.supplies, self.limits = case, goals, tuple(supplies), limits
        self.sign = 1.0 if case.maximise else -1.0
        self.plans: list[Operation] = []
        self.known: dict[tuple[object, ...], tuple[Operation | None, float]] = {}
        self.score = np.full(len(limits), -np.inf)
        self.best = np.full(len(limits), -1, dtype=np.int64)
        self.used: list[Vector] = []
        self.scores: list[float] = []

    def takes(self, units: Mapping[str, int]) -> Vector:
        """Return what a purchase uses up of each supply.

        Raises:
            ValueError: a fabric would have to be larger than it can be.
        """
        return used(self.supplies, purchase.bill(self.case, units))

    def may(self, units: Mapping[str, int]) -> bool:
        """Say whether a purchase may be made under the loosest limits."""
        return orderly(self.case, units) and not purchase.broken_rows(self.case, units)

    def offer(
        self,
        mode: Mode,
        units: Mapping[str, int],
        uses: Mapping[str, int],
        gpus: int,
        floor: float = -math.inf,
    ) -> Operation | None:
        """Take in a purchase as well as it can be run near a proposed use, and return that.

        None where it may not be made, cannot be run, or scores less than ``floor``.
        """
        counts = tuple(units[offer.id] for offer in self.case.offers())
        key = (mode, counts, tuple(sorted(uses.items())), gpus)
        if key not in self.known:
            self.known[key] = self._run(mode, units, uses, gpus)
        run, score = self.known[key]
        if run is None or score < floor:
            return None
        self._take(run, score)
        return run

    def _run(
        self, mode: Mode, units: Mapping[str, int], uses: Mapping[str, int], gpus: int
    ) -> tuple[Operation | None, float]:
        if not self.may(units):
            return None, -math.inf
        goal = self.goals[mode]
        run = operate.best(self.case, mode, units, uses, gpus, goal.prefer)
        if run is None or not goal.allowed(run):
            run = operate.operate(self.case, mode, units, uses, gpus)
        if run is None or not goal.allowed(run):
            return None, -math.inf
        return run, self.sign * goal.value(run)

    def add(self, runs: Iterable[Operation]) -> None:
        """Take in plans of the same case under other limits."""
        for run in runs:
            if self.may(run.units):
                self._take(run, self.sign * self.goals[run.mode].value(run))

    def _take(self, run: Operation, score: float) -> None:
        takes = self.takes(run.units)
        fits = np.all(takes <= self.limits * (1 + TOLERANCE), axis=1)
        better = fits & (score > self.score)
        if not better.any():
            return
        self.score[better], self.best[better] = score, len(self.plans)
        self.plans.append(run)
        self.used.append(takes)
        self.scores.append(score)

    def few(self, floors: Vector) -> NDArray[np.int64]:
        """Return the plan of each scenario (-1: none), of as few plans as reach every floor.

        Of the few each scenario has the best that fits it, so that looser limits never show less.

        Args:
            floors: a score for each scenario that its best plan reaches.
        """
        if not self.plans:
            return self.best
        takes, scores = np.array(self.used), np.array(self.scores)
        fits = np.all(takes[:, None, :] <= self.limits[None] * (1 + TOLERANCE), axis=2)
        good = fits & (scores[:, None] >= floors[None])
        chosen: list[int] = []
        left = self.best >= 0
        for place in np.argsort(-self.score, kind="stable").tolist():
            if left[place]:
                serves = np.where(good[:, place], (good & left).sum(axis=1), -1)
                chosen.append(int(np.argmax(serves)))
                left &= ~good[chosen[-1]]
        if not chosen:
            return self.best
        few = np.array(sorted(set(chosen)))
        worth = np.where(fits[few], scores[few, None], -np.inf)
        found: NDArray[np.int64] = np.where(self.best >= 0, few[np.argmax(worth, axis=0)], -1)
        return found
