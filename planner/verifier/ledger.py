"""The lists of disagreements and broken limits, and comparisons past the noise of floats."""

from __future__ import annotations

import math
from collections.abc import Iterable

_NOISE = 1e-9

RELATIVE = 1e-9
"""Far above the noise of summing floats in another order, far below any real difference."""
_NEARLY_ZERO = 1e-12


def at_least(amount: float) -> int:
    """Return the least whole number that is not less than ``amount``."""
    return math.ceil(amount - _NOISE * max(1.0, abs(amount)))


def at_most(amount: float) -> int:
    """Return the largest whole number that is not more than ``amount``."""
    return math.floor(amount + _NOISE * max(1.0, abs(amount)))


def divisors(number: int) -> list[int]:
    """Return the divisors of a number, rising."""
    return [each for each in range(1, number + 1) if number % each == 0]


def close(stated: float | None, computed: float | None, tolerance: float = RELATIVE) -> bool:
    """Return whether two figures agree; an unknown figure agrees with an unknown one only.

    Args:
        stated: what the plan says.
        computed: what the re-computation says, in the same unit.
        tolerance: relative.
    """
    if stated is None or computed is None:
        return stated is computed
    return math.isclose(stated, computed, rel_tol=tolerance, abs_tol=_NEARLY_ZERO)


class Ledger:
    """Collects every disagreement and every broken limit, so that one run names them all."""

    def __init__(self) -> None:
        self.disagreements: list[str] = []
        self.breaches: list[tuple[str, str]] = []

    def fail(self, text: str) -> None:
        """Add a disagreement."""
        self.disagreements.append(text)

    def breach(self, name: str, text: str) -> None:
        """Add a rule or limit that the figures, right as they may be, do not keep."""
        self.breaches.append((name, text))

    def require(self, holds: bool, text: str) -> None:
        """Add a disagreement unless ``holds``."""
        if not holds:
            self.fail(text)

    def same(self, name: str, stated: float | None, computed: float | None) -> None:
        """Compare two figures; None is an unknown figure.

        Args:
            name: the figure's place in the plan.
            stated: what the plan says.
            computed: what the re-computation says, in the same unit.
        """
        if not close(stated, computed):
            self.fail(f"{name}: the plan says {_write(stated)}, computed {_write(computed)}")

    def one_of(self, name: str, stated: float | None, choices: Iterable[float | None]) -> None:
        """Compare a figure with every answer the rules leave open."""
        choices = tuple(choices)
        if not any(close(stated, choice) for choice in choices):
            expected = " or ".join(_write(choice) for choice in choices)
            self.fail(f"{name}: the plan says {_write(stated)}, computed {expected}")

    def equal(self, name: str, stated: object, expected: object) -> None:
        """Compare two texts, sequences or whole numbers exactly."""
        if stated != expected:
            self.fail(f"{name}: the plan says {stated!r}, expected {expected!r}")


def _write(figure: float | None) -> str:
    return "not known" if figure is None else f"{figure:.12g}"
