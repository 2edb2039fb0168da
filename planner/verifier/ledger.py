"""Comparison of a plan with its recomputation: every difference and every broken limit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

RELATIVE = 1e-9
"""Far above the noise of summing floats in another order, far below any real difference."""
NEARLY_ZERO = 1e-12


class Either(tuple[Any, ...]):
    """Values of which each is right, such as both neighbours of half a cent."""

    __slots__ = ()


class Recheck(NamedTuple):
    """Wrong figures, and broken limits as (name, text)."""

    disagreements: tuple[str, ...]
    breaches: tuple[tuple[str, str], ...]


class Ledger:
    """Collects every difference and every broken limit, so that one run lists them all."""

    def __init__(self) -> None:
        self.disagreements: list[str] = []
        self.breaches: list[tuple[str, str]] = []

    def fail(self, text: str) -> None:
        """Add a difference."""
        self.disagreements.append(text)

    def require(self, holds: bool, text: str) -> None:
        """Add a difference unless ``holds``."""
        if not holds:
            self.fail(text)

    def breach(self, name: str, text: str) -> None:
        """Add a broken limit."""
        self.breaches.append((name, text))

    def same(self, label: str, said: Any, own: Any) -> None:
        """Compare a value of the plan with its recomputation, floats within ``RELATIVE``."""
        if not agrees(said, own):
            self.fail(f"{label}: plan says {write(said)}, recomputed {write(own)}")

    def all_same(self, label: str, said: Any, own: Mapping[str, Any]) -> None:
        """Compare fields of one part of the plan, each under its name."""
        values = vars(said)
        for name, value in own.items():
            if values[name] != value:
                self.same(f"{label}.{name}", values[name], value)

    def at_most(self, label: str, said: float, most: float | None) -> None:
        """Require that a value is at most another one, within ``RELATIVE``."""
        if most is not None and not said <= most + RELATIVE * max(abs(said), abs(most)):
            self.fail(f"{label}: plan says {write(said)}, at most {write(most)} possible")


def agrees(said: Any, own: Any) -> bool:
    """Whether two values are the same; an unknown figure (None) equals an unknown one only."""
    if isinstance(own, Either):
        return any(agrees(said, each) for each in own)
    if isinstance(said, (int, float)) and isinstance(own, (int, float)):
        if isinstance(said, int) and isinstance(own, int):
            return said == own
        return math.isclose(said, own, rel_tol=RELATIVE, abs_tol=NEARLY_ZERO)
    return bool(said == own)


def write(value: Any) -> str:
    """Return a value as messages show it."""
    if isinstance(value, Either):
        return " or ".join(map(write, value))
    if value is None:
        return "not known"
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def round_up(amount: float) -> int:
    """Return the least whole number that is not less, but for float noise."""
    return math.ceil(amount - RELATIVE * max(1.0, abs(amount)))


def divisors(number: int) -> list[int]:
    """Return the divisors of a number, rising."""
    return [each for each in range(1, number + 1) if number % each == 0]
