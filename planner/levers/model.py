"""A limit of the problem as something to move: its place, its numbers, which way is looser."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from planner import units
from planner.currency import USD, Currency
from planner.inputs import Change, Inputs
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


def written(value: float, unit: str, money: Currency = USD) -> str:
    """A value as the problem file has it, exact to 12 digits; USD in the currency given."""
    amount = value / one_of(unit, money)
    symbol = _symbol(amount, unit)
    return f"{_plain(amount / _SIZES.get(symbol, 1.0))} {money.named(symbol)}".rstrip()


def one_of(unit: str, money: Currency) -> float:
    """USD for one of a currency; 1 of a unit that is no money."""
    return money.usd if "USD" in unit else 1.0


def read(text: str, unit: str, rates: units.Rates) -> float:
    """Return the value of a text in a unit.

    Raises:
        QuantityError: it is no quantity of that kind.
    """
    return units.parse(text, _scales(unit)[0], rates)


def grid(change: float, value: float, unit: str, money: Currency) -> float:
    """Return the step of proposals: so fine that a change has ``DIGITS`` digits, and no finer.

    It is a power of ten in the unit the value is written in.
    """
    one = one_of(unit, money)
    size = _SIZES.get(_symbol(value / one, unit), 1.0) * one
    shown = max(abs(change / size), abs(value / size) * FINEST, 1e-12)
    finest = math.ceil(math.log10(max(abs(value / size) * FINEST, 1e-12)))
    digit = max(math.floor(math.log10(shown)) - DIGITS + 1, finest)
    return float(10.0**digit) * size


def _scales(unit: str) -> tuple[Dimension, tuple[tuple[float, str], ...]]:
    """Dimension of a unit in the file, and its written units."""
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


# A limit of the problem as something its owner may move: its place, and which way is looser.


Direction = Literal[1, -1]


@dataclass(frozen=True)
class Lever:
    """A limit, demand or choice of the problem that its owner could decide otherwise.

    A lever with a ``value`` can be moved: ``looser`` says whether up (1) or down (-1) lets more
    plans in, ``least`` and ``most`` how far. One without is a choice: it stands or falls.
    ``limit`` is its name among the limits of a plan, where it has one. ``stated`` says whether the
    user gave it; else it is a default.
    """

    path: str
    label: str
    off: tuple[Change, ...]
    value: float | None = None
    unit: str = ""
    looser: Direction = 1
    whole: bool = False
    least: float = 0.0
    most: float = math.inf
    limit: str = ""
    stated: bool = True
    place: str | None = None
    choice: str = ""
    money: Currency = USD

    @property
    def loosest(self) -> float:
        """How far it can be moved at all."""
        return self.most if self.looser > 0 else self.least

    def looser_than(self, one: float, other: float) -> bool:
        """True if one value lets more plans in than another."""
        return (one - other) * self.looser > 0

    def text(self, value: float) -> str:
        """A value as the problem file has it."""
        return f"{round(value)}" if self.whole else written(value, self.unit, self.money)

    def to(self, value: float) -> tuple[Change, ...]:
        """The changes that give the lever a value, as a user would make them."""
        stored: Any = round(value) if self.whole else value
        return (Change(self.path, stored, self.text(value)),)


def is_stated(inputs: Inputs, path: str) -> bool:
    """True if the user wrote a value; of inputs without a file always."""
    return inputs.document is None or inputs.where(path) is not None
