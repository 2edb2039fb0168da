"""A model's rows as arrays: tighter bounds of whole numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.optimizer.model import Row

Vector = NDArray[np.float64]
PASSES = 6
WHOLE = 1e-6
"""A whole number's bound is rounded where it is further than this from the next."""


@dataclass(frozen=True)
class Box:
    """Both ends of every column, and the bound of what is between them."""

    bound: float
    low: Vector
    high: Vector


@dataclass
class Rows:
    """Rows in coordinate form, with both ends of each; infinite where there is none."""

    index: dict[str, int]
    row: NDArray[np.int64]
    column: NDArray[np.int64]
    factor: Vector
    low: Vector
    high: Vector

    @classmethod
    def of(cls, rows: list[Row], index: dict[str, int]) -> Rows:
        """Return rows of a model whose columns are numbered by name."""
        empty = np.array([], dtype=np.int64)
        made = cls(index, empty, empty, np.array([]), np.array([]), np.array([]))
        made.extend(rows)
        return made

    def extend(self, rows: list[Row]) -> None:
        """Add rows that the model has gained."""
        row, column, factor, low, high = [], [], [], [], []
        for number, each in enumerate(rows, start=len(self.low)):
            terms, right, sense = each.terms()
            for variable, coefficient in terms:
                if coefficient:
                    row.append(number)
                    column.append(self.index[variable.name])
                    factor.append(coefficient)
            low.append(right if sense >= 0 else -np.inf)
            high.append(right if sense <= 0 else np.inf)
        self.row = np.concatenate([self.row, np.array(row, dtype=np.int64)])
        self.column = np.concatenate([self.column, np.array(column, dtype=np.int64)])
        self.factor = np.concatenate([self.factor, factor])
        self.low = np.concatenate([self.low, low])
        self.high = np.concatenate([self.high, high])

    def tighten(self, low: Vector, high: Vector, whole: NDArray[np.bool_]) -> bool:
        """Bring bounds of columns closer, in place, as the rows imply; False where none is left."""
        for _ in range(PASSES):
            before = low.copy(), high.copy()
            self._pass(low, high, whole)
            if np.any(low > high + WHOLE):
                return False
            if np.array_equal(before[0], low) and np.array_equal(before[1], high):
                break
        return True

    def _pass(self, low: Vector, high: Vector, whole: NDArray[np.bool_]) -> None:
        count, positive = len(self.low), self.factor > 0
        at_low = self.factor * np.where(positive, low[self.column], high[self.column])
        at_high = self.factor * np.where(positive, high[self.column], low[self.column])
        least, least_open = _sums(self.row, at_low, count)
        most, most_open = _sums(self.row, at_high, count)
        # What the other terms of its row leave for each term: an open end of another leaves all.
        others_open = least_open[self.row] - np.isinf(at_low)
        rest = self.high[self.row] - (least[self.row] - np.where(np.isinf(at_low), 0.0, at_low))
        upper = np.where(others_open > 0, np.inf, rest)
        others_open = most_open[self.row] - np.isinf(at_high)
        rest = self.low[self.row] - (most[self.row] - np.where(np.isinf(at_high), 0.0, at_high))
        lower = np.where(others_open > 0, -np.inf, rest)
        ends = upper / self.factor, lower / self.factor
        new_high = np.where(positive, ends[0], ends[1])
        new_low = np.where(positive, ends[1], ends[0])
        integral = whole[self.column]
        np.minimum.at(high, self.column[integral], _down(new_high[integral]))
        np.maximum.at(low, self.column[integral], _up(new_low[integral]))
        loose = ~integral
        margin = 1e-7 * np.maximum(1.0, np.abs(new_high[loose]))
        np.minimum.at(high, self.column[loose], new_high[loose] + margin)
        margin = 1e-7 * np.maximum(1.0, np.abs(new_low[loose]))
        np.maximum.at(low, self.column[loose], new_low[loose] - margin)

    def columns_of(self, multipliers: Vector) -> Vector:
        """Return the multiples of the rows, summed for each column."""
        weights = self.factor * multipliers[self.row]
        summed = np.bincount(self.column, weights=weights, minlength=len(self.index))
        return summed.astype(np.float64)


def _sums(row: NDArray[np.int64], terms: Vector, count: int) -> tuple[Vector, NDArray[np.int64]]:
    """Return the finite part of each row's sum, and how many of its terms are infinite."""
    infinite = np.isinf(terms)
    kept = np.where(infinite, 0.0, terms)
    finite = np.bincount(row, weights=kept, minlength=count).astype(np.float64)
    return finite, np.bincount(row, weights=infinite, minlength=count).astype(np.int64)


def _down(values: Vector) -> Vector:
    return np.floor(values + WHOLE)


def _up(values: Vector) -> Vector:
    return np.ceil(values - WHOLE)
