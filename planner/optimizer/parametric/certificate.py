"""What multipliers of a relaxation's rows prove, for all limits at once.

For any multipliers y, and every x of a box with ``low <= A x <= high`` row by row:

    c x = y (A x) + (c - y A) x  <=  sum_i max(y_i low_i, y_i high_i) + max over the box

(weak duality), which is linear in the ends of rows that limits set. With c = 0 a negative right
side proves that there is no such x. So a multiplier found under some limits bounds the objective,
or rules plans out, under all others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.optimizer.parametric.rows import NOISE, Rows, Vector, largest


@dataclass(frozen=True)
class Proof:
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
        rows: the relaxation's rows.
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
