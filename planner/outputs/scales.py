"""Figures that stand together: in one unit, with as many decimals as tell them apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from planner import currency
from planner.outputs.words import DAY_S, HOUR_S, MINUTE_S

_SIZES: dict[str, tuple[tuple[float, float, str], ...]] = {
    "s": ((2 * DAY_S, DAY_S, "days"), (2 * HOUR_S, HOUR_S, "h"), (2 * MINUTE_S, MINUTE_S, "min")),
    "share": ((0.0, 0.01, "%"),),
}
"""Per unit: from which largest figure on it is written in parts of which size and name."""

BARE = ("", "1", "number")
"""Units of figures that have none."""

_EXACT_DIGITS, _MOST_DIGITS = 4, 9
_RESULT_DIGITS = 5
_SHORT_DIGITS = 2
"""Decimals of a time in a larger unit: one that needs more is told in a smaller unit."""

_EXACT, _NEAR = 1e-12, 5e-4


class Scale(NamedTuple):
    """How figures of one kind are written: the size and name of their unit, their decimals."""

    size: float
    unit: str
    digits: int

    def text(self, value: float | None) -> str:
        """Return a figure without its unit, a dash where there is none."""
        if value is None:
            return "-"
        return currency.grouped(value / self.size, self.digits, self.unit)

    def with_unit(self, value: float | None) -> str:
        """Return a figure with its unit."""
        return f"{self.text(value)} {self.unit}".rstrip()


def scale(values: Iterable[float | None], unit: str) -> Scale:
    """Return how these figures are written so that different ones read differently.

    Args:
        values: the figures; those that are not known do not count.
        unit: their unit.
    """
    shown = currency.shown()
    one = shown.usd if "USD" in unit else 1.0
    sizes = _SIZES.get(unit, ())
    if unit in ("USD", "USD/year"):
        per = unit.removeprefix("USD")
        sizes = tuple((size, size, f"{name}{per}") for size, name in shown.sizes)
    there = [value for value in values if value is not None]
    largest = max((abs(value) / one for value in there), default=0.0)
    suited = [
        Scale(size * one, shown.named(name), decimals([value / (size * one) for value in there]))
        for least, size, name in (*sizes, (0.0, 1.0, _named(unit)))
        if largest >= least
    ]
    if unit != "s":
        return suited[0]
    short = [each for each in suited if each.digits <= _SHORT_DIGITS]
    return short[0] if short else min(suited, key=lambda each: each.digits)


def results(values: Iterable[float | None], unit: str) -> Scale:
    """Return how figures that were computed are written: with no more than five or six digits.

    Args:
        values: the figures; those that are not known do not count.
        unit: their unit.
    """
    there = [value for value in values if value is not None]
    written = scale(there, unit)
    largest = max((abs(value) / written.size for value in there), default=0.0)
    most = max(0, _RESULT_DIGITS - len(f"{largest:.0f}"))
    return written._replace(digits=min(most, written.digits))


def _named(unit: str) -> str:
    return "" if unit in BARE else unit


def decimals(values: Sequence[float]) -> int:
    """Return the fewest decimals that give the figures exactly, or near enough and all apart."""
    distinct = sorted({value for value in values if math.isfinite(value)})
    for digits in range(_EXACT_DIGITS + 1):
        if _within(distinct, digits, _EXACT):
            return digits
    for digits in range(_MOST_DIGITS):
        if _within(distinct, digits, _NEAR) and _apart(distinct, digits):
            return digits
    return _MOST_DIGITS


def _within(values: Sequence[float], digits: int, share: float) -> bool:
    return all(abs(round(value, digits) - value) <= share * abs(value) for value in values)


def _apart(values: Sequence[float], digits: int) -> bool:
    return len({round(value, digits) for value in values}) == len(values)
