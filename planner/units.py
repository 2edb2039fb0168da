"""Quantities with units, parsed once at the door into canonical floats.

Canonical units: kW, GB/s, GB (sizes) and TB (capacity), seconds, USD, USD/kWh, rack units, kg,
TFLOP/s, shares between 0 and 1, plain counts. GB is 1e9 bytes; GiB is accepted and converted.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

from planner import currency
from planner.currency import Currency
from planner.errors import Finding, FixableError, InputError, clip, describe

Rates = Mapping[str, Currency]
ChoiceT = TypeVar("ChoiceT", bound=str)
NO_RATES: Rates = {}

HOUR_S, DAY_S = 3600.0, 86_400.0
HOURS_PER_YEAR = 8760.0

HUGE = 1e21
"""No quantity of a cluster reaches this in any canonical unit."""


class Dimension(NamedTuple):
    """A kind of quantity: its canonical unit, its written units, and its maximum.

    Amounts below ``least`` are refused as slips of the keyboard. Bare numbers below ``least_bare``
    need a unit; ``likely`` proposes that of the first entry whose limit is above the number.
    """

    name: str
    unit: str
    examples: tuple[str, ...]
    bare: bool = False
    high: float = 1e9
    least: float = 1e-9
    least_bare: float = 0.0
    likely: tuple[tuple[float, str], ...] = ()

    def hint(self) -> str:
        """The advice for a value that could not be read."""
        return "write for example " + " or ".join(f"'{example}'" for example in self.examples)

    def words(self) -> str:
        """The dimension's name with its article."""
        if self.name in {"power", "bandwidth", "capacity", "time", "money"}:
            return self.name
        return f"{'an' if self.name[0] in 'aeiou' else 'a'} {self.name}"


POWER = Dimension("power", "kW", ("10 MW", "14.3 kW", "700 W"), least=1e-6)
BANDWIDTH = Dimension("bandwidth", "GB/s", ("273 GB/s", "1.6 TB/s"), least=1e-6)
SIZE = Dimension("data size", "GB", ("13.8 TB", "500 GB", "12.5 TiB"), high=1e12)
CAPACITY = Dimension("capacity", "TB", ("60 TB", "2.5 PB"), least=1e-9)
TIME = Dimension("time", "s", ("5 s", "10 min", "4 h"), high=1e12)
DAYS = Dimension("time", "day", ("90 day", "12 weeks"))
MONEY = Dimension("money", "USD", ("450 MUSD", "310000 USD", "1.2 BUSD"), high=1e15)
ENERGY_PRICE = Dimension("energy price", "USD/kWh", ("0.08 USD/kWh", "80 USD/MWh"))
RACK_UNITS = Dimension("rack height", "RU", ("48 RU", "2 RU"))
WEIGHT = Dimension("weight", "kg", ("130 kg", "1.4 t"))
LENGTH = Dimension("length", "m", ("3 m", "60 cm", "2 ft"))
COMPUTE = Dimension("compute rate", "TFLOP/s", ("989 TFLOP/s", "2.25 PFLOP/s"))
LINK_SPEED = Dimension("link speed", "Gb/s", ("400 Gb/s", "1 Gb/s"))
POWER_PRICE = Dimension("price of power", "USD/kW/month", ("184 USD/kW/month",))
WRITE_VOLUME = Dimension("write volume", "TB/day", ("700 TB/day", "1.2 PB/day"))
SHARE = Dimension("share", "1", ("10 %", "0.1"), bare=True, least=1e-12)
PARAMETERS = Dimension(
    "number of parameters",
    "1",
    ("1.008 T", "70 B"),
    bare=True,
    high=1e18,
    least_bare=1e6,
    likely=((1e4, "B"), (1e6, "M")),
)
TOKENS = Dimension(
    "number of tokens",
    "1",
    ("15 T", "366 B"),
    bare=True,
    high=1e18,
    least_bare=1e6,
    likely=((1e2, "T"), (1e5, "B"), (1e6, "M")),
)
NUMBER = Dimension("number", "1", ("1.25", "14"), bare=True, least=1e-12)

MOST = {
    each.unit: each.high
    for each in (POWER, BANDWIDTH, SIZE, CAPACITY, TIME, DAYS, MONEY, ENERGY_PRICE, COMPUTE)
}
"""The largest amount that a file may state of what is measured in a unit; a cell allows no more."""

_UNITS = {
    **dict.fromkeys(("B", "byte", "bytes"), (1.0, "data")),
    **dict.fromkeys(("b", "bit", "bits"), (0.125, "data")),
    **dict.fromkeys(("s", "second", "seconds"), (1.0, "time")),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), (1e-3, "time")),
    **dict.fromkeys(("min", "minute", "minutes"), (60.0, "time")),
    **dict.fromkeys(("h", "hour", "hours"), (HOUR_S, "time")),
    **dict.fromkeys(("d", "day", "days"), (DAY_S, "time")),
    **dict.fromkeys(("week", "weeks"), (7 * DAY_S, "time")),
    **dict.fromkeys(("month", "months"), (730 * HOUR_S, "time")),
    **dict.fromkeys(("a", "year", "years"), (8760 * HOUR_S, "time")),
    **dict.fromkeys(("W", "watt", "watts"), (1.0, "power")),
    "Wh": (HOUR_S, "power time"),
    "BTU": (HOUR_S / 3.41214, "power time"),
    "USD": (1.0, "money"),
    **dict.fromkeys(("BUSD", "bnUSD"), (1e9, "money")),
    **dict.fromkeys(("RU", "U"), (1.0, "rack height")),
    **dict.fromkeys(("m", "metre", "metres"), (1.0, "length")),
    "cm": (1e-2, "length"),
    "mm": (1e-3, "length"),
    **dict.fromkeys(("ft", "foot"), (0.3048, "length")),
    "g": (1.0, "mass"),
    "t": (1e6, "mass"),
    "lb": (453.59237, "mass"),
    "FLOP": (1.0, "work"),
    "FLOPS": (1.0, "work -time"),
}
"""By name: how many of the base unit, and what it measures; ``-`` marks a divisor."""
_PREFIXES = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_COUNT_SUFFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12}
_UNIT = re.compile(r"[A-Za-z]{1,8}(/[A-Za-z]{1,8}){0,2}\Z")
_BITS = re.compile(r"b(it)?(/|\Z)")
_QUANTITY = re.compile(
    r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*(\S.*?)?\s*\Z"
)


class QuantityError(FixableError):
    """A quantity that cannot be read; ``fix`` is the remedy."""


def _factor(unit: str, canonical: str, rates: Rates) -> float | None:
    """Factor from ``unit`` to the canonical unit, None where they do not convert."""
    usd, money = unit, 1.0
    if canonical.startswith("USD"):
        usd, money = currency.in_usd(unit, rates) or (unit, 1.0)
    one, other = _sized(usd), _sized(canonical)
    if one is None or other is None or one[1] != other[1]:
        return None
    return one[0] / other[0] * money


@cache
def _sized(unit: str) -> tuple[float, dict[str, int]] | None:
    """A unit such as ``USD/kW/month`` in base units, and the power of each measure."""
    size, measures = 1.0, Counter[str]()
    for place, name in enumerate(unit.split("/") if _UNIT.match(unit) else [""]):
        known = _unit_named(name)
        if known is None:
            return None
        size = size / known[0] if place else size * known[0]
        for measure in known[1].split():
            measures[measure.lstrip("-")] += -1 if measure.startswith("-") != bool(place) else 1
    return size, {measure: power for measure, power in measures.items() if power}


def _unit_named(name: str) -> tuple[float, str] | None:
    """A unit by its name, with or without a prefix."""
    if name in _UNITS:
        return _UNITS[name]
    for prefix, times in (*_BINARY.items(), *_PREFIXES.items()):
        stem = name.removeprefix(prefix)
        if stem != name and stem in _UNITS:
            size, measure = _UNITS[stem]
            return times * size, measure
    return None


def parse(value: object, dimension: Dimension, rates: Rates = NO_RATES) -> float:
    """``value`` in the canonical unit of ``dimension``.

    Args:
        value: the file's value: a string with a unit, or a number where that is enough.
        dimension: the expected dimension.
        rates: the currencies that can be read beside USD, by code.

    Raises:
        QuantityError: no number, no unit, the wrong unit, not finite, or absurdly large.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        message = f"expected {dimension.words()}, found {describe(value)}"
        raise QuantityError(message, dimension.hint())
    if isinstance(value, (int, float)):
        number = _check(value, value, dimension, dimension.high)
        if not dimension.bare:
            raise QuantityError(f"{describe(value)} has no unit", dimension.hint())
        return _check_bare(number, value, dimension)
    match = _QUANTITY.match(value)
    if match is None:
        message = f"cannot read {describe(value)} as {dimension.words()}"
        raise QuantityError(message, dimension.hint())
    number, unit = _check(match[1], value, dimension, HUGE), match[2] or ""
    # 15 digits keep what was written: 13.8 TB is 13800 GB and not 13800.000000000002.
    product = f"{number * _unit_factor(unit, value, dimension, rates):.15g}"
    result = _check(product, value, dimension, dimension.high)
    return result if unit else _check_bare(result, value, dimension)


def canonical(value: float, dimension: Dimension) -> float:
    """A number in the canonical unit of ``dimension``, checked.

    Raises:
        QuantityError: it is not finite, or absurdly large.
    """
    return _check(value, value, dimension, dimension.high)


def rate_wanted(code: str) -> str:
    """Fix for a missing exchange rate."""
    return f"add exchange: {{{code}: {{usd: 1.08, on: 2026-11-20, source: ...}}}}, usd what it is"


def _unit_factor(unit: str, value: str, dimension: Dimension, rates: Rates) -> float:
    if unit.startswith(","):
        fix = f"write a decimal point and no other marks, for example '{dimension.examples[0]}'"
        raise QuantityError(f"a comma in {describe(value)}", fix)
    if dimension.bare:
        factors = {SHARE: {"": 1.0, "%": 0.01, "percent": 0.01}}.get(dimension, {"": 1.0})
        factors = _COUNT_SUFFIXES if dimension in (PARAMETERS, TOKENS) else factors
        if unit not in factors:
            message = f"'{clip(unit, 40)}' in {describe(value)} does not fit {dimension.words()}"
            raise QuantityError(message, dimension.hint())
        return factors[unit]
    if not unit:
        raise QuantityError(f"{describe(value)} has no unit", dimension.hint())
    try:
        factor = _factor(unit, dimension.unit, rates)
    except currency.NoRateError as error:
        message = f"{describe(value)} is in {error}, and no rate of {error} is known"
        raise QuantityError(message, rate_wanted(str(error))) from None
    if factor is None:
        message = f"'{clip(unit, 40)}' in {describe(value)} is not a unit of {dimension.name}"
        raise QuantityError(message, _case_hint(unit, dimension) or dimension.hint())
    if "B" in dimension.unit and _BITS.search(unit):
        right = f"{float(value.split(unit)[0]) * factor:.6g} {dimension.unit}"
        message = f"'{unit}' in {describe(value)} is in bits, and everything here is in bytes"
        raise QuantityError(message, f"write '{right}' if bits are meant")
    return factor


def _case_hint(unit: str, dimension: Dimension) -> str | None:
    """A hint at the unit whose letters are the same but for their case."""
    symbols = {example.split()[-1] for example in dimension.examples}
    stems = {symbol.lstrip("kMGTP") for symbol in symbols} | symbols
    known = stems | {prefix + stem for prefix in _PREFIXES for stem in stems}
    near = sorted(one for one in known if one.lower() == unit.lower())
    near = [one for one in near if _factor(one, dimension.unit, NO_RATES) is not None]
    quoted = " or ".join(f"'{one}'" for one in near)
    return f"did you mean {quoted}?" if near else None


def _check_bare(number: float, value: object, dimension: Dimension) -> float:
    """A number without a unit, refused where it is too small to be meant without."""
    if not 0.0 < number < dimension.least_bare:
        return number
    unit = next(unit for limit, unit in dimension.likely if number < limit)
    raise QuantityError(f"{describe(value)} has no unit", f"write '{number:.15g} {unit}'")


def _check(number: float | str, value: object, dimension: Dimension, high: float) -> float:
    try:
        result = float(number)
    except OverflowError:
        result = math.inf
    if HUGE >= abs(result) > high:
        unit = "" if dimension.bare else f" {dimension.unit}"
        message = f"{describe(value)} is more than any cluster can have, {high:.0e}{unit}"
        raise QuantityError(message, dimension.hint())
    if not math.isfinite(result) or abs(result) > HUGE:
        message = f"{describe(value)} is not a finite, sensible number"
        raise QuantityError(message, dimension.hint())
    return result


# Options of commands; each function raises an InputError that names the option.


def one_of(option: str, value: str, choices: Sequence[ChoiceT]) -> ChoiceT:
    """A word that is one of the choices."""
    for choice in choices:
        if value == choice:
            return choice
    raise _refused(f"{option} {value!r} is not known", f"one of {', '.join(choices)}")


def whole(option: str, number: int, least: int = 1) -> int:
    """A whole number of at least ``least``."""
    if not isinstance(number, int) or number < least:
        raise _refused(f"{option} {number} must be {least} or more")
    return number


def share(option: str, given: float | str) -> float:
    """A share between 0 and 1; texts may be in percent."""
    text = given if isinstance(given, str) else repr(given)
    value = quantity(option, text, SHARE)
    if not value < 1:
        raise _refused(f"{option} {text} must be more than 0 and less than 1")
    return value


def quantity(option: str, text: str, dimension: Dimension) -> float:
    """A quantity above 0, in its canonical unit."""
    try:
        value = parse(text, dimension)
    except QuantityError as error:
        raise _refused(f"{option}: {error}", error.fix) from None
    if value <= 0:
        raise _refused(f"{option} {text} must be more than 0")
    return value


def seconds(option: str, text: str) -> float:
    """A time above 0, s."""
    return quantity(option, text, TIME)


def _refused(message: str, fix: str | None = None) -> InputError:
    return InputError(Finding("option", message, fix=fix))
