"""Quantities as a problem file has them: short, with a unit, and read back as the same number."""

from __future__ import annotations

import math
from decimal import Decimal

from planner import currency, units
from planner.units import Dimension

DIGITS = 4
"""Digits of a proposed change: enough to be exact for a buyer, few enough to be said aloud."""
FINEST = 1e-6
"""No proposal is finer than this share of a value: solvers see no further."""

_SCALES: dict[str, tuple[Dimension, tuple[tuple[float, str], ...]]] = {
    "kW": (units.POWER, ((1e3, "MW"), (0.0, "kW"))),
    "USD": (units.MONEY, ((1e6, "MUSD"), (1e5, "kUSD"), (0.0, "USD"))),
    "s": (units.TIME, ((7200.0, "h"), (120.0, "min"), (0.0, "s"))),
    "days": (units.DAYS, ((0.0, "days"),)),
    "GB/s": (units.BANDWIDTH, ((0.0, "GB/s"),)),
    "TB": (units.CAPACITY, ((1e3, "PB"), (0.0, "TB"))),
    "kg": (units.WEIGHT, ((1e3, "t"), (0.0, "kg"))),
    "share": (units.SHARE, ((0.0, "%"),)),
    "number": (units.NUMBER, ((0.0, ""),)),
}
"""Per unit: how the file reads it, and from which size on it is written in which unit.

Any other unit that a file can have is written as it is.
"""

_DIMENSIONS = {each.unit: each for each in vars(units).values() if isinstance(each, Dimension)}

_SIZES = {
    "MW": 1e3, "kW": 1.0, "MUSD": 1e6, "kUSD": 1e3, "USD": 1.0, "h": 3600.0, "min": 60.0,
    "s": 1.0, "days": 1.0, "GB/s": 1.0, "PB": 1e3, "TB": 1.0, "t": 1e3, "kg": 1.0,
    "%": 0.01, "": 1.0,
}  # fmt: skip


def written(value: float, unit: str) -> str:
    """Return a value as the problem file has it, exact to 12 digits; money as it is shown."""
    amount = value / _one(unit)
    symbol = _symbol(amount, unit)
    name = currency.shown().named(symbol)
    return f"{_plain(amount / _SIZES.get(symbol, 1.0))} {name}".rstrip()


def _one(unit: str) -> float:
    """Return what one of the currency shown is in USD, 1 where a unit is no money."""
    return currency.shown().usd if "USD" in unit else 1.0


def read(text: str, unit: str) -> float:
    """Return the value of a text in a unit.

    Raises:
        QuantityError: it is no quantity of that kind.
    """
    return units.parse(text, _scales(unit)[0])


def grid(change: float, value: float, unit: str) -> float:
    """Return the step of proposals: so fine that a change has ``DIGITS`` digits, and no finer.

    It is a power of ten in the unit the value is written in.
    """
    size = _SIZES.get(_symbol(value / _one(unit), unit), 1.0) * _one(unit)
    shown = max(abs(change / size), abs(value / size) * FINEST, 1e-12)
    finest = math.ceil(math.log10(max(abs(value / size) * FINEST, 1e-12)))
    digit = max(math.floor(math.log10(shown)) - DIGITS + 1, finest)
    return float(10.0**digit) * size


def _scales(unit: str) -> tuple[Dimension, tuple[tuple[float, str], ...]]:
    """Return how the file reads a unit, and in which units it is written."""
    return _SCALES.get(unit) or (_DIMENSIONS[unit], ((0.0, unit),))


def _symbol(value: float, unit: str) -> str:
    """Return the largest unit that suits a value, of times one that keeps it short."""
    scales = _scales(unit)[1]
    fitting = [name for least, name in scales if abs(value) >= least] or [scales[-1][1]]
    if unit == "s":
        short = [name for name in fitting if _is_short(value / _SIZES.get(name, 1.0))]
        fitting = short or fitting
    return fitting[0]


def _is_short(number: float) -> bool:
    return abs(number * 1e4 - round(number * 1e4)) < 1e-6


def _plain(number: float) -> str:
    """Return a number without exponent and without digits that are noise."""
    text = format(Decimal(f"{number:.12g}"), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
