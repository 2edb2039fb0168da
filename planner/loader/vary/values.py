"""What values a path is to take: ranges and lists, as texts that a problem file could have.

Ranges are of exact decimals, each computed when it is asked for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import overload

from planner import units
from planner.loader.vary.place import Slot, plain
from planner.units import QuantityError

DIGITS = 12
"""Digits of what a range computes: enough for any purpose, few enough to hide rounding."""
PRECISION = 60
ROUNDING = Decimal("1e-9")
"""A step that ends so near to the end of a range, as a share of a step, ends there."""

MOST = 10_000_000
"""More scenarios than this are a slip of the keyboard."""
_NUMBER = re.compile(
    r"\s*(x?)\s*([+-]?(?:\d{1,25}\.?\d{0,25}|\.\d{1,25})(?:[eE][+-]?\d{1,2})?)\s*(\S.*?)?\s*\Z"
)
FORMS = "write LOW:HIGH:STEP, LOW:HIGH:lin:COUNT, LOW:HIGH:log:COUNT or a,b,c"


@dataclass(frozen=True)
class Range(Sequence[str]):
    """The values of a range as texts, each computed when it is asked for.

    ``prefix`` is ``x`` for factors of the value as it stands.
    """

    low: Decimal
    high: Decimal
    size: int
    step: Decimal | None = None
    log: bool = False
    unit: str = ""
    prefix: str = ""

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(self.size))]
        if not -self.size <= index < self.size:
            raise IndexError(index)
        number = plain(self.number(index % self.size))
        return f"{self.prefix}{number} {self.unit}".rstrip()

    def number(self, index: int) -> Decimal:
        """Return a value as a decimal number of the range's unit."""
        if index == 0:
            return self.low
        if self.step is not None:
            return self._stepped(index)
        if index == self.size - 1:
            return self.high
        part = index / (self.size - 1)
        if self.log:
            low, high = math.log(self.low), math.log(self.high)
            return Decimal(f"{math.exp(low + part * (high - low)):.{DIGITS}g}")
        with localcontext(prec=PRECISION):
            number = self.low + (self.high - self.low) * index / (self.size - 1)
        return rounded(number)

    def _stepped(self, index: int) -> Decimal:
        assert self.step is not None
        with localcontext(prec=PRECISION):
            number = self.low + index * self.step
            hit = abs(self.high - number) <= ROUNDING * abs(self.step)
        return self.high if hit else number


def rounded(number: Decimal) -> Decimal:
    """Return a number without digits that units cannot hold."""
    with localcontext(prec=15):
        return +number


class SpecError(ValueError):
    """Values that cannot be read; ``fix`` says what would be right."""

    def __init__(self, message: str, fix: str | None = FORMS) -> None:
        super().__init__(message)
        self.fix = fix


def texts(spec: str, slot: Slot) -> Sequence[str]:
    """Return the values that a spec means, as texts.

    Args:
        spec: a range or a list.
        slot: what may stand at the place.

    Raises:
        SpecError: it cannot be read, or has too many values.
    """
    parts = [part.strip() for part in _split(spec, ",")]
    if not all(parts):
        message = (
            "no values are given" if len(parts) == 1 else f"'{_clip(spec)}' has an empty value"
        )
        raise SpecError(message, f"{FORMS}; null takes a value away")
    ends = [_split(part, ":") for part in parts]
    if not slot.numeric or all(len(end) == 1 for end in ends):
        return parts
    if len(parts) > 1:
        raise SpecError(f"'{_clip(spec)}' is a range and a list in one")
    return _range([end.strip() for end in ends[0]], spec, slot)


def factor(text: str) -> Decimal | None:
    """Return the factor that a text such as ``x0.8`` means, None for any other text."""
    match = _NUMBER.match(text) if text.startswith("x") else None
    if match is None or match[3]:
        return None
    return Decimal(match[2])


def _range(parts: list[str], spec: str, slot: Slot) -> Range:
    if len(parts) == 4 and parts[2] in {"lin", "log"}:
        found = _counted(parts, slot)
    elif len(parts) == 3:
        found = _with_step(parts, slot)
    else:
        raise SpecError(f"'{_clip(spec)}' is neither a range nor a list")
    if found.size > MOST:
        raise SpecError(f"'{_clip(spec)}' has more than {MOST:,} values", "take larger steps")
    if slot.whole and not found.prefix and found.unit == "":
        _refuse_fractions(found)
    return found


def _with_step(parts: list[str], slot: Slot) -> Range:
    (low, high, step), unit, prefix = _numbers(parts, slot)
    _refuse_point(low, high, parts)
    if step <= 0:
        fix = "LOW and HIGH say which way it goes"
        raise SpecError(f"the step {parts[2]} is not more than 0", fix)
    with localcontext(prec=PRECISION):
        steps = abs(high - low) / step + ROUNDING
    if steps < 1:
        message = f"a step of {parts[2]} is longer than the way from {parts[0]} to {parts[1]}"
        raise SpecError(message, "take smaller steps")
    way = step if high > low else -step
    return Range(low, high, int(steps) + 1, way, unit=unit, prefix=prefix)


def _counted(parts: list[str], slot: Slot) -> Range:
    (low, high), unit, prefix = _numbers(parts[:2], slot)
    _refuse_point(low, high, parts)
    log, text = parts[2] == "log", parts[3]
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) >= 2):
        message = f"'{_clip(text)}' is no count of values"
        raise SpecError(message, "give a whole number of at least 2")
    if log and not (low > 0 and high > 0):
        message = f"a log range from {parts[0]} to {parts[1]} has no first step"
        raise SpecError(message, "take both above 0, or lin for log")
    return Range(low, high, int(text), log=log, unit=unit, prefix=prefix)


def _refuse_point(low: Decimal, high: Decimal, parts: list[str]) -> None:
    if low == high:
        message = f"a range from {parts[0]} to {parts[1]} has one value"
        raise SpecError(message, "write that value alone")


def _refuse_fractions(found: Range) -> None:
    """Refuse a range of counts that has values between whole numbers.

    A range in steps or on a line has one among its first two values if it has any.
    """
    for index in range(found.size if found.log else 2):
        number = found.number(index)
        if number != number.to_integral_value():
            message = f"expected whole numbers, and the range has {plain(number)}"
            fix = "start and step in whole numbers, or list them: a,b,c"
            raise SpecError(message, fix)


def _numbers(parts: list[str], slot: Slot) -> tuple[list[Decimal], str, str]:
    """Return numbers of one unit, that unit, and ``x`` for factors."""
    matches = [_NUMBER.match(part) for part in parts]
    for part, match in zip(parts, matches, strict=True):
        if match is None:
            raise SpecError(f"'{_clip(part)}' is no number")
    found = [match.groups() for match in matches if match is not None]
    if len({prefix for prefix, _, _ in found}) > 1 or any(p and u for p, _, u in found):
        fix = "write x0.8:x1.2:x0.1 for 80 % to 120 % of the value as it stands"
        raise SpecError(f"'{':'.join(parts)}' is not a range of factors", fix)
    numbers = [Decimal(number) for _, number, _ in found]
    names = [unit or "" for _, _, unit in found]
    if any(abs(number) > Decimal(units.HUGE) for number in numbers):
        raise SpecError("no quantity of a cluster is so large", "check the digits")
    if len(set(names)) == 1:
        return numbers, names[0], found[0][0]
    return *_in_one_unit(numbers, names, slot), ""


def _in_one_unit(numbers: list[Decimal], names: list[str], slot: Slot) -> tuple[list[Decimal], str]:
    """Return numbers in the first of their units in which all are short, or in the finest."""
    if slot.unit is None:
        raise SpecError("the numbers have different units", "write all of them in one unit")
    sizes = [_size(name, slot) for name in names]
    ways = []
    for name, size in zip(names, sizes, strict=True):
        here = [rounded(n * s / size) for n, s in zip(numbers, sizes, strict=True)]
        ways.append((here, name))
    short = [way for way in ways if all(_is_short(number) for number in way[0])]
    return short[0] if short else ways[sizes.index(min(sizes))]


def _size(unit: str, slot: Slot) -> Decimal:
    """Return a unit in the canonical one."""
    assert slot.unit is not None
    try:
        return Decimal(repr(units.parse(f"1 {unit}".rstrip(), slot.unit.dimension)))
    except QuantityError as error:
        raise SpecError(str(error), error.fix) from None


def _is_short(number: Decimal) -> bool:
    return len(number.normalize().as_tuple().digits) <= DIGITS


def _split(text: str, mark: str) -> list[str]:
    """Split a text where a mark stands outside of quotes and brackets."""
    parts, depth, quote, before = [""], 0, "", ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"" and before in "[{,:":
            quote = letter
        else:
            depth += (letter in "[{") - (letter in "]}")
        if letter == mark and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += letter
        before = before if letter == " " else letter
    return parts


def _clip(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
