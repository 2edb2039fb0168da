"""The relaxation that all limits share, and what its multipliers prove under each of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.case import Case
from planner.case.model import Mode
from planner.limits import Limit
from planner.optimizer.build import build
from planner.optimizer.context import Sizes
from planner.optimizer.goals import goal_of
from planner.optimizer.master import Master
from planner.optimizer.model import Linear, is_whole
from planner.optimizer.objective import EXPRESSIONS
from planner.optimizer.operate import Run
from planner.optimizer.purchase import amounts
from planner.optimizer.solver import Effort, Outcome
from planner.optimizer.tightening import Rows

# Bounds from multipliers.


Vector = NDArray[np.float64]
NOISE = 1e-11
"""A share of the largest: smaller multipliers and reduced costs are rounding."""


def largest(slopes: Vector, low: Vector, high: Vector) -> float:
    """Return the largest value of a linear function over a box; infinite slopes of no size count 0.

    Args:
        slopes: one for each dimension.
        low: the box's lower ends.
        high: its upper ends.
    """
    scale = float(np.abs(slopes).max(initial=0.0))
    slopes = np.where(np.abs(slopes) <= NOISE * scale, 0.0, slopes)
    ends = np.where(slopes > 0, high, low)
    with np.errstate(invalid="ignore"):
        terms = np.where(slopes == 0.0, 0.0, slopes * ends)
    return float(terms.sum())


# What multipliers of a relaxation's rows prove, for all limits at once.
#
# For any multipliers y, and every x of a box with ``low <= A x <= high`` row by row:
#
#     c x = y (A x) + (c - y A) x  <=  sum_i max(y_i low_i, y_i high_i) + max over the box
#
# (weak duality), which is linear in the ends of rows that limits set. With c = 0 a negative right
# side proves that there is no such x. So a multiplier found under some limits bounds the objective,
# or rules plans out, under all others.


class Proof(NamedTuple):
    """``constant + slopes @ limits``: no plan's objective is above; where ``empty``, 0 is not."""

    constant: float
    slopes: Vector
    empty: bool

    def bounds(self, limits: NDArray[np.float64]) -> Vector:
        """Return the bound of the objective for each row of limits; -inf where there is no plan."""
        values: Vector = self.constant + limits @ self.slopes
        if not self.empty:
            return values
        noise = EMPTY * (abs(self.constant) + np.abs(limits) @ np.abs(self.slopes))
        return np.where(values < -noise, -np.inf, np.inf)


EMPTY = 1e-7
"""How far below 0, as a share of its terms, a ray must be to prove that there is no plan."""


def certificate(
    rows: Rows,
    costs: Vector | None,
    multipliers: Vector,
    box: tuple[Vector, Vector],
    limited: NDArray[np.int64],
) -> Proof | None:
    """Return what multipliers prove, None where that is nothing.

    Args:
        costs: the objective to be maximised, by column; None to prove that there is no plan.
        multipliers: one for each row; those of a sign that its open end forbids count as 0.
        box: the bounds of the columns.
        limited: the rows whose upper end is a limit.
    """
    scale = float(np.abs(multipliers).max(initial=0.0))
    kept = np.where(np.abs(multipliers) <= NOISE * scale, 0.0, multipliers)
    kept[(kept > 0) & np.isinf(rows.high)] = 0.0
    kept[(kept < 0) & np.isinf(rows.low)] = 0.0
    ends = np.where(kept > 0, rows.high, rows.low)
    slopes = kept[limited].copy()
    ends[kept == 0.0] = 0.0
    terms = ends * kept
    terms[limited] = 0.0
    left = -rows.columns_of(kept)
    if costs is not None:
        left += costs
    constant = float(terms.sum()) + largest(left, *box)
    if not np.isfinite(constant):
        return None
    return Proof(constant, slopes, costs is None)


# One mode's model kept in the solver: relaxations and searches of parts of it under limits.


CUT = "cutoff"
RELAXED_CUT = 1e-6
LEAST_CUT = 2e-8
NOTHING = 1e-3


class Seen(NamedTuple):
    """What a relaxation under some limits shows: what it proves, and its values."""

    empty: bool
    proof: Proof | None
    bound: float
    values: Vector | None


class Mixed(NamedTuple):
    """The sizes of a fabric, of which a relaxation takes a mixture: what each holds, its flag."""

    columns: NDArray[np.int64]
    factors: Vector
    constant: float
    flags: NDArray[np.int64]
    least: Vector
    most: Vector

    @classmethod
    def of(cls, sizes: Sizes, index: Mapping[str, int]) -> Mixed:
        """Return the sizes of a fabric whose model's columns are numbered by name."""
        amount, runs = sizes.amount + 0, sizes.ramps
        return cls(
            np.array([index[v.name] for v, _ in amount.items()], dtype=np.int64),
            np.array([factor for _, factor in amount.items()]),
            float(amount.constant),
            np.array([index[flag.name] for _, flag in runs], dtype=np.int64),
            np.array([run.low + 1.0 for run, _ in runs]),
            np.array([float(run.high + run.steps * run.stride) for run, _ in runs]),
        )

    def narrow(self, low: Vector, high: Vector) -> bool:
        """Rule out sizes out of reach of a box's amounts, in place; say whether any was."""
        factors = self.factors
        at_low = np.where(factors > 0, low[self.columns], high[self.columns])
        at_high = np.where(factors > 0, high[self.columns], low[self.columns])
        least = float(factors @ at_low) + self.constant
        most = float(factors @ at_high) + self.constant
        # Nothing at all has no size.
        out = (self.least > most + NOTHING) | (self.most < least - NOTHING)
        gone = self.flags[out & (high[self.flags] > 0.5)]
        high[gone] = 0.0
        return bool(len(gone))


class Kept:
    """The model of one mode under the loosest limits, changed in place.

    Objective values are scores: larger is better, the negative of what is minimised.
    """

    def __init__(self, case: Case, mode: Mode, supplies: Sequence[Limit], gap: float) -> None:
        from planner.optimizer.highs import HighsSession

        self.case, self.mode = case, mode
        self.build = build(case, mode)
        expression = EXPRESSIONS[case.objective](self.build)
        self.sign = 1.0 if case.maximise else -1.0
        self.goal = goal_of(case, expression, gap)
        model = self.build.model
        self.cutoff = model.row(CUT, self.sign * expression, ">=", -1e9)
        self.session = HighsSession(model, kept=True)
        self.master = Master(self.build, self.session, Effort())
        self.master.objective(self.sign * expression, True)
        self.names = self.session.names
        self.index = self.session.index
        self.rows = Rows.of(model.rows, self.index)
        self.rows.low[self.session.rows[CUT]] = -np.inf
        self.costs, self.offset = self._costs(self.sign * expression)
        self.supplies = tuple(supplies)
        places = [self.session.rows[each.name] for each in supplies]
        self.limited = np.array(places, dtype=np.int64)
        # What of a limit is taken by what is bought in any case stands on the right of its row.
        self.taken = amounts(self.supplies, case.limits) - self.rows.high[self.limited]
        self.whole = np.array([is_whole(v) for v in model.variables])
        low = [-np.inf if v.lowBound is None else v.lowBound for v in model.variables]
        high = [np.inf if v.upBound is None else v.upBound for v in model.variables]
        self.low, self.high = np.array(low, dtype=float), np.array(high, dtype=float)
        self.sizes = [Mixed.of(steps, self.index) for steps in self.build.units.steps.values()]

    def _costs(self, expression: Linear) -> tuple[Vector, float]:
        costs, whole = np.zeros(len(self.names)), expression + 0
        for variable, factor in whole.items():
            costs[self.index[variable.name]] = factor
        return costs, float(whole.constant)

    def tighten(self, low: Vector, high: Vector) -> bool:
        """Bring a box's bounds closer, in place; False where it holds no plan at all.

        A fabric has one of its sizes: those that its amount is out of reach of go.
        """
        for _ in range(2):
            if not self.rows.tighten(low, high, self.whole):
                return False
            if not sum(sizes.narrow(low, high) for sizes in self.sizes):
                break
        return True

    def relax(self, limits: Vector, low: Vector, high: Vector, rounds: int = 12) -> Seen:
        """Solve the relaxation of a box under limits, with tangents where it breaks links."""
        self._limit(limits)
        self.session.limit_columns(low, high, relaxed=True)
        found = self.session.relax()
        for _ in range(rounds):
            if found.values is None or not self._cut(self._named(found.values), RELAXED_CUT):
                break
            found = self.session.relax()
        if found.status == "unknown":
            return Seen(False, None, math.inf, None)
        empty = found.status == "infeasible"
        proof = None
        if found.multipliers is not None:
            proof = self._proof(found.multipliers, empty, limits, (low, high))
        bound = -math.inf if empty else found.objective
        return Seen(empty, proof, bound, found.values)

    def _proof(
        self, multipliers: Vector, empty: bool, limits: Vector, box: tuple[Vector, Vector]
    ) -> Proof | None:
        costs = None if empty else self.costs
        best: Proof | None = None
        here = limits[None, :]
        for sign in (1.0, -1.0) if empty else (1.0,):
            made = certificate(self.rows, costs, sign * multipliers, box, self.limited)
            if made is None:
                continue
            more = (0.0 if empty else self.offset) - float(made.slopes @ self.taken)
            made = Proof(made.constant + more, made.slopes, empty)
            if not empty or np.isneginf(made.bounds(here)[0]):
                best = made
        return best

    def search(
        self, limits: Vector, low: Vector, high: Vector, cutoff: float, gap: float, relative: bool
    ) -> Outcome:
        """Look for a plan of a box that is better than ``cutoff``, in whole numbers."""
        self._limit(limits)
        self.session.limit_columns(low, high, relaxed=False)
        floor = np.array([max(cutoff - self.offset, -1e9)])
        self.session.limit_rows([CUT], floor, np.array([np.inf]))
        try:
            return self.master.solve(relaxed=False, gap=gap, relative=relative)
        finally:
            self.session.limit_rows([CUT], np.array([-np.inf]), np.array([np.inf]))

    def cut_at(self, values: Mapping[str, float], operations: Sequence[Run]) -> int:
        """Add tangents where a search's values break links, and at feasible operations."""
        before = len(self.build.model.rows)
        added = self.master.cut(values, LEAST_CUT)
        for operation in operations:
            added += self.master.cut_at(values, operation)
        self.rows.extend(self.build.model.rows[before:])
        return added

    def _cut(self, values: Mapping[str, float], tolerance: float) -> int:
        before = len(self.build.model.rows)
        added = self.master.cut(values, tolerance)
        self.rows.extend(self.build.model.rows[before:])
        return added

    def _named(self, values: Vector) -> dict[str, float]:
        return dict(zip(self.names, values.tolist(), strict=True))

    def _limit(self, limits: Vector) -> None:
        names = [each.name for each in self.supplies]
        if names:
            self.session.limit_rows(names, np.full(len(names), -np.inf), limits - self.taken)
