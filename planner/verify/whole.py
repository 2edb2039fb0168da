"""Rounding to whole numbers, past the noise of floats."""

from __future__ import annotations

import math

_NOISE = 1e-9


def at_least(amount: float) -> int:
    """Return the least whole number that is not less than ``amount``."""
    return math.ceil(amount - _NOISE * max(1.0, abs(amount)))


def at_most(amount: float) -> int:
    """Return the largest whole number that is not more than ``amount``."""
    return math.floor(amount + _NOISE * max(1.0, abs(amount)))


def divisors(number: int) -> list[int]:
    """Return the divisors of a number, rising."""
    return [each for each in range(1, number + 1) if number % each == 0]
