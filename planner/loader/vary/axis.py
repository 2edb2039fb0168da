"""What is varied: which values a path takes, each read once as the file's would be.

Ranges are of exact decimals.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation, localcontext
from functools import lru_cache

from pydantic import ValidationError

from planner import units
from planner.errors import Finding, FixableError, InputError, clip
from planner.inputs import Change, Inputs
from planner.loader.vary.place import (
    ALL,
    Cell,
    NoPlaceError,
    Place,
    Slot,
    name_unit,
    number_of,
    places,
    plain,
    raw,
    short,
    written,
)
from planner.units import QuantityError

DIGITS = 12
"""Digits of what a range computes: enough for any purpose, few enough to hide rounding."""
PRECISION = 60
ROUNDING = Decimal("1e-9")
"""A step that ends so near to the end of a range, as a share of a step, ends there."""

MOST = 1_000_000
"""More scenarios than this are a slip of the keyboard."""
_SAMPLE = 1000
_NUMBER = re.compile(
    r"\s*(x?)\s*([+-]?(?:\d{1,25}\.?\d{0,25}|\.\d{1,25})(?:[eE][+-]?\d{1,2})?)\s*(\S.*?)?\s*\Z"
)
FORMS = "write LOW:HIGH:STEP, LOW:HIGH:lin:COUNT, LOW:HIGH:log:COUNT or a,b,c"


def rounded(number: Decimal) -> Decimal:
    """Return a number without digits that units cannot hold."""
    with localcontext(prec=15):
        return +number


class SpecError(FixableError):
    """Values that cannot be read."""

    def __init__(self, message: str, fix: str | None = FORMS) -> None:
        super().__init__(message, fix)


def texts(spec: str, slot: Slot, rates: units.Rates) -> Sequence[str]:
    """Return the values that a spec means, as texts.

    Raises:
        SpecError: it cannot be read, or has too many values.
    """
    parts = [part.strip() for part in _split(spec, ",")]
    if not all(parts):
        message = "no values are given" if len(parts) == 1 else f"'{clip(spec)}' has an empty value"
        raise SpecError(message, f"{FORMS}; null takes a value away")
    ends = [_split(part, ":") for part in parts]
    if not slot.numeric or all(len(end) == 1 for end in ends):
        return parts
    if len(parts) > 1:
        raise SpecError(f"'{clip(spec)}' is a range and a list in one")
    return _range([end.strip() for end in ends[0]], spec, slot, rates)


def factor(text: str) -> Decimal | None:
    """Return the factor that a text such as ``x0.8`` means, None for any other text."""
    match = _NUMBER.match(text) if text.startswith("x") else None
    if match is None or match[3]:
        return None
    return Decimal(match[2])


def _range(parts: list[str], spec: str, slot: Slot, rates: units.Rates) -> tuple[str, ...]:
    """The values of a range as texts, ends included, in the unit of its ends."""
    counted = len(parts) == 4 and parts[2] in {"lin", "log"}
    if not counted and len(parts) != 3:
        raise SpecError(f"'{clip(spec)}' is neither a range nor a list")
    (low, high, *step), unit, prefix = _numbers(parts[:2] if counted else parts, slot, rates)
    if low == high:
        message = f"a range from {parts[0]} to {parts[1]} has one value"
        raise SpecError(message, "write that value alone")
    size = _count(parts, low, high) if counted else _steps(parts, low, high, step[0])
    if size > MOST:
        raise SpecError(f"'{clip(spec)}' has more than {MOST:,} values", "take larger steps")
    if counted:
        numbers = _spaced(low, high, size, log=parts[2] == "log")
    else:
        numbers = _stepped(low, high, size, step[0] if high > low else -step[0])
    if slot.whole and not prefix and unit == "":
        _refuse_fractions(numbers)
    return tuple(f"{prefix}{plain(number)} {unit}".rstrip() for number in numbers)


def _steps(parts: list[str], low: Decimal, high: Decimal, step: Decimal) -> int:
    if step <= 0:
        fix = "LOW and HIGH say which way it goes"
        raise SpecError(f"the step {parts[2]} is not more than 0", fix)
    with localcontext(prec=PRECISION):
        steps = abs(high - low) / step + ROUNDING
    if steps < 1:
        message = f"a step of {parts[2]} is longer than the way from {parts[0]} to {parts[1]}"
        raise SpecError(message, "take smaller steps")
    return int(steps) + 1


def _count(parts: list[str], low: Decimal, high: Decimal) -> int:
    text = parts[3]
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) >= 2):
        message = f"'{clip(text)}' is no count of values"
        raise SpecError(message, "give a whole number of at least 2")
    if parts[2] == "log" and not (low > 0 and high > 0):
        message = f"a log range from {parts[0]} to {parts[1]} has no first step"
        raise SpecError(message, "take both above 0, or lin for log")
    return int(text)


def _stepped(low: Decimal, high: Decimal, size: int, step: Decimal) -> list[Decimal]:
    """Return numbers a step apart; one that ends next to the end of the range ends there."""
    with localcontext(prec=PRECISION):
        numbers = [low + index * step for index in range(size)]
        hit = abs(high - numbers[-1]) <= ROUNDING * abs(step)
    return [*numbers[:-1], high] if hit else numbers


def _spaced(low: Decimal, high: Decimal, size: int, *, log: bool) -> list[Decimal]:
    """Return numbers with even differences, or even ratios, to so many digits."""
    inner = range(1, size - 1)
    if log:
        begin, end = math.log(low), math.log(high)
        parts = (begin + index / (size - 1) * (end - begin) for index in inner)
        return [low, *(Decimal(f"{math.exp(part):.{DIGITS}g}") for part in parts), high]
    with localcontext(prec=PRECISION):
        exact = [low + (high - low) * index / (size - 1) for index in inner]
    return [low, *map(rounded, exact), high]


def _refuse_fractions(numbers: Sequence[Decimal]) -> None:
    """Refuse a range of counts that has values between whole numbers."""
    for number in numbers:
        if number != number.to_integral_value():
            message = f"expected whole numbers, and the range has {plain(number)}"
            fix = "start and step in whole numbers, or list them: a,b,c"
            raise SpecError(message, fix)


def _numbers(parts: list[str], slot: Slot, rates: units.Rates) -> tuple[list[Decimal], str, str]:
    """Return numbers of one unit, that unit, and ``x`` for factors."""
    matches = [_NUMBER.match(part) for part in parts]
    for part, match in zip(parts, matches, strict=True):
        if match is None:
            raise SpecError(f"'{clip(part)}' is no number")
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
    return *_in_one_unit(numbers, names, slot, rates), ""


def _in_one_unit(
    numbers: list[Decimal], names: list[str], slot: Slot, rates: units.Rates
) -> tuple[list[Decimal], str]:
    """Return numbers in the first of their units in which all are short, or in the finest."""
    if slot.unit is None:
        raise SpecError("the numbers have different units", "write all of them in one unit")
    sizes = [_size(name, slot, rates) for name in names]
    ways = []
    for name, size in zip(names, sizes, strict=True):
        here = [rounded(n * s / size) for n, s in zip(numbers, sizes, strict=True)]
        ways.append((here, name))
    short = [way for way in ways if all(_is_short(number) for number in way[0])]
    return short[0] if short else ways[sizes.index(min(sizes))]


def _size(unit: str, slot: Slot, rates: units.Rates) -> Decimal:
    """Return a unit in the canonical one."""
    assert slot.unit is not None
    if not unit and slot.unit.dimension.least_bare:
        raise SpecError("some of the numbers have no unit", "write a unit behind each of them")
    try:
        return Decimal(repr(units.parse(f"1 {unit}".rstrip(), slot.unit.dimension, rates)))
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


KEPT = 20_000
"""Changes that are kept once their values are read."""
_SIGNS = ("+", "-")
_PERCENT = re.compile(r"[+-].*%\s*\Z")
FACTOR = "x"
"""The unit of a column that holds factors of values as they stand."""

VARY_FIX = "write for example --vary site.facility_power=5MW:20MW:1MW"


@dataclass(frozen=True)
class Reading:
    """A text read as a value: the changes that make it so, or what is wrong with it."""

    text: str
    changes: tuple[Change, ...] = ()
    factor: float | None = None
    faults: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Display:
    """How a column shows values: ``number`` of a ``unit``, or as text."""

    number: bool = True
    unit: str = ""


class Variable:
    """A path that is varied, in the inputs it varies."""

    def __init__(self, inputs: Inputs, path: str) -> None:
        """Find the places that the path means.

        Raises:
            NoPlaceError: there is none.
        """
        self.places: tuple[Place, ...] = places(inputs, path)
        self.several = ALL in path.split(".")
        self.rates, self.money = inputs.problem.currencies, inputs.problem.shown_in
        self.path = path.strip() if self.several else self.places[0].path
        self.read = lru_cache(maxsize=KEPT // len(self.places) + 1)(self._read)

    @property
    def first(self) -> Place:
        """The place itself, or the first of several."""
        return self.places[0]

    def text_of(self, number: float, *, factors: bool = False) -> str:
        """Return a number in the canonical unit, or a factor, as ``read`` takes it."""
        try:
            exact = Decimal(f"{number:.15g}")
            text = written(exact, self.first.slot, self.first.standing)
            return f"{FACTOR}{exact:f}" if factors else text
        except InvalidOperation:
            return str(number)

    def choose_display(self, texts: Iterable[str]) -> Display:
        """Return how to show values in one column, so that all of it is of one kind."""
        if self.first.slot.only_numbers and not self.several:
            return Display(True, name_unit(None, self.first.slot))
        readings = [reading for text in texts if not (reading := self.read(text)).faults]
        factors = [reading.factor is not None for reading in readings]
        if self.several and any(factors):
            return Display(True, FACTOR) if all(factors) else Display(False)
        values = [v for r in readings if (v := self._value(r)) is not None]
        measures = {name_unit(v, self.first.slot) for v in values if number_of(v) is not None}
        alike = len(measures) == 1 and all(number_of(value) is not None for value in values)
        return Display(True, measures.pop()) if alike else Display(False)

    def cell(self, reading: Reading, display: Display) -> Cell:
        """Return what a column shows of a value that was read."""
        if display.unit == FACTOR:
            return reading.factor
        if not display.number:
            return None if self._value(reading) is None and not reading.faults else reading.text
        if reading.faults:
            return self._number(reading.text)
        return number_of(self._value(reading))

    def standing(self, display: Display) -> Cell:
        """Return what a column shows where the value is as it stands."""
        value = self.first.standing
        if display.unit == FACTOR:
            return 1.0
        if value is None or display.number:
            return number_of(value)
        return short(value)

    def _value(self, reading: Reading) -> object:
        """Return the value that the first place takes."""
        value = reading.changes[0].value if reading.changes else None
        made = self.first.made
        return value if made is None or value is None else getattr(value, made[1])

    def _number(self, text: str) -> float | None:
        """Return the number that a refused text has all the same, if it is one."""
        unit = self.first.slot.unit
        try:
            number = float(text) if unit is None else units.parse(text, unit.dimension, self.rates)
        except (QuantityError, ValueError):
            return None
        if self.first.slot.whole:
            return None if number % 1 else int(number)
        return number

    def _read(self, text: str) -> Reading:
        share = factor(text) if self.first.slot.numeric else None
        if text[:1] in _SIGNS and self.first.slot.numeric and _PERCENT.match(text):
            return _refused(text, f"'{text[:40]}' is no value", "write x0.8 for 20 % less")
        changes: list[Change] = []
        for place in self.places:
            own = text if share is None else _times(place, share)
            if own is None:
                return _refused(text, f"there is no number here to take {text[:40]} of")
            reading = _at(place, own, self.rates)
            if reading.faults:
                return reading if share is None else _blame_factor(reading, text, float(share))
            changes += reading.changes
        read = text if self.several or share is None else changes[0].text
        return Reading(read, tuple(changes), None if share is None else float(share))


def _times(place: Place, share: Decimal) -> str | None:
    """Return a factor of the value at a place as that place has it."""
    standing = number_of(place.standing)
    if standing is None:
        return None
    exact = Decimal(f"{Decimal(repr(standing)) * share:.15g}")
    return written(exact, place.slot, place.standing)


def _at(place: Place, text: str, rates: units.Rates) -> Reading:
    """Return a text read at one place."""
    try:
        value = raw(text)
    except InputError as error:
        faults = tuple(replace(f, file=None, line=None, path=None) for f in error.findings)
        return Reading(text, faults=faults)
    try:
        return Reading(text, (place.change(place.slot.read(value, rates), text),))
    except ValidationError as error:
        faults = tuple(replace(f, path=None) for f in place.slot.faults(error, value))
        return Reading(text, faults=faults)


def _blame_factor(reading: Reading, text: str, share: float) -> Reading:
    """Return a refused reading that says which factor led to it."""
    before = f"{text} gives {reading.text}: "
    faults = tuple(replace(fault, message=before + fault.message) for fault in reading.faults)
    return replace(reading, factor=share, faults=faults)


def _refused(text: str, message: str, fix: str | None = None) -> Reading:
    return Reading(text, faults=(Finding("vary", message, fix=fix),))


@dataclass(frozen=True)
class Input:
    """A column of inputs: the path that is varied, and how its values are shown."""

    path: str
    display: Display


@dataclass(frozen=True)
class Point:
    """One value of an axis: the changes that make it so, and what its columns show."""

    changes: tuple[Change, ...]
    cells: tuple[Cell, ...]
    name: str = ""
    refused: str = ""


class Axis:
    """A direction of a grid: its columns, and a point for each of its values.

    ``point`` gives the point of an index; the latest ones are kept.
    """

    def __init__(self, inputs: Sequence[Input], variables: Sequence[Variable], count: int) -> None:
        self.inputs = tuple(inputs)
        self.variables = tuple(variables)
        self.count = count
        places = sum(len(variable.places) for variable in variables)
        self.point = lru_cache(maxsize=KEPT // max(places, 1) + 1)(self._point)

    def _point(self, index: int) -> Point:
        raise NotImplementedError


class Values(Axis):
    """The values of one path."""

    def __init__(self, variable: Variable, values: Sequence[str], origin: str) -> None:
        """Take the values in their order.

        Raises:
            InputError: all of them are refused.
        """
        self.values = values
        self.origin = origin
        _refuse_all_wrong(variable, values, origin)
        display = variable.choose_display(_sample(values))
        super().__init__([Input(variable.path, display)], [variable], len(values))

    def _point(self, index: int) -> Point:
        variable, display = self.variables[0], self.inputs[0].display
        reading = variable.read(self.values[index])
        cells = (variable.cell(reading, display),)
        if not reading.faults:
            return Point(reading.changes, cells)
        refused = join_faults(replace(fault, path=variable.path) for fault in reading.faults)
        return Point((), cells, refused=refused)


class Missing(Axis):
    """An axis in inputs that have no such place: every point is refused."""

    def __init__(self, like: Axis, reason: str) -> None:
        self.reason = reason
        super().__init__(like.inputs, (), like.count)

    def _point(self, index: int) -> Point:
        return Point((), (None,) * len(self.inputs), refused=self.reason)


def values(inputs: Inputs, option: str) -> Values:
    """Return the axis that a ``PATH=SPEC`` asks for.

    Raises:
        InputError: it cannot be read, the path leads nowhere, or every value is refused.
    """
    origin = f"--vary {option if len(option) <= 80 else option[:77] + '...'}"
    path, separator, spec = option.partition("=")
    if not separator or not path.strip() or not spec.strip():
        raise InputError(Finding("vary", "not PATH=VALUES", origin, fix=VARY_FIX))
    try:
        variable = Variable(inputs, path)
        return Values(variable, texts(spec.strip(), variable.first.slot, variable.rates), origin)
    except (NoPlaceError, SpecError) as error:
        raise InputError(Finding("vary", str(error), origin, fix=error.fix)) from None


def refuse_overlap(axes: Iterable[Axis]) -> None:
    """Refuse axes of which one would undo what another does.

    Raises:
        InputError: two of them replace the same value, or one a part of what another replaces.
    """
    known: set[str] = set()
    above_known: set[str] = set()
    for variable in (variable for axis in axes for variable in axis.variables):
        paths = {place.changed for place in variable.places}
        above = {part for path in paths for part in _above(path)}
        clash = sorted((paths & above_known) | (above & known))
        if clash:
            message, fix = f"'{clash[0]}' is varied twice", "vary it once"
            raise InputError(Finding("vary", message, fix=fix))
        known |= paths
        above_known |= above


def _above(path: str) -> list[str]:
    """Return a path and those of what it is a part of."""
    steps = path.split(".")
    return [".".join(steps[:length]) for length in range(1, len(steps) + 1)]


def _refuse_all_wrong(variable: Variable, values: Sequence[str], origin: str) -> None:
    """Refuse values of which all are wrong, by a sample of a long range."""
    if all(variable.read(text).faults for text in _sample(values)):
        faults = variable.read(values[0]).faults
        raise InputError([replace(f, file=origin, path=variable.path) for f in faults])


def _sample(values: Sequence[str]) -> Sequence[str]:
    return values[:: max(1, len(values) // _SAMPLE)]


def join_faults(faults: Iterable[Finding]) -> str:
    """Return what is wrong as one line."""
    return "; ".join(fault.text() for fault in faults)
