"""Concave functions of one variable and their tangents.

Every non-linear part of the model is ``low <= f(argument)`` with f one of these and a linear
argument, so a tangent at any point is a valid linear row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

NEGLIGIBLE = 1e-7
"""Solvers drop coefficients near 1e-9: where the slope is below this, the most that the curve
reaches stands in for the tangent."""


class Curve(Protocol):
    """A concave, differentiable function."""

    def value(self, at: float) -> float:
        """Return f(at)."""

    def slope(self, at: float) -> float:
        """Return f'(at)."""

    def top(self, high: float) -> float:
        """Return at least f(u) for every u up to ``high``."""


@dataclass(frozen=True)
class Log:
    """log(u), u > 0."""

    def value(self, at: float) -> float:
        """Return log(at)."""
        return math.log(at)

    def slope(self, at: float) -> float:
        """Return 1/at."""
        return 1.0 / at

    def top(self, high: float) -> float:
        """Return log(high)."""
        return math.log(high)


@dataclass(frozen=True)
class NegativeExp:
    """-exp(u)."""

    def value(self, at: float) -> float:
        """Return -exp(at)."""
        return -math.exp(at)

    def slope(self, at: float) -> float:
        """Return -exp(at)."""
        return -math.exp(at)

    def top(self, high: float) -> float:
        """Return 0."""
        return 0.0


@dataclass(frozen=True)
class LogOneMinusExp:
    """log(1 - exp(shift - u)), u > shift: the share of an interval that is not stalled."""

    shift: float

    def value(self, at: float) -> float:
        """Return log(1 - exp(shift - at))."""
        return math.log(-math.expm1(self.shift - at))

    def slope(self, at: float) -> float:
        """Return the derivative at ``at``."""
        return 1.0 / math.expm1(at - self.shift)

    def top(self, high: float) -> float:
        """Return 0."""
        return 0.0


@dataclass(frozen=True)
class LogRework:
    """log(z / (e^z - 1)) with z = exp(u): what work lost to failures leaves of the rest."""

    def value(self, at: float) -> float:
        """Return log(z) - log(e^z - 1)."""
        z = math.exp(at)
        if z < 1e-4:
            return -z / 2.0 - z * z / 24.0
        if z > 700.0:
            return at - z
        return at - math.log(math.expm1(z))

    def slope(self, at: float) -> float:
        """Return 1 - z / (1 - e^-z)."""
        z = math.exp(at)
        return -z / 2.0 - z * z / 12.0 if z < 1e-4 else 1.0 + z / math.expm1(-z)

    def top(self, high: float) -> float:
        """Return 0."""
        return 0.0
