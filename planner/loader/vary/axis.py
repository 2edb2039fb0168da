"""What is varied, each value read once as the file's would be; and one direction of a grid."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from pydantic import ValidationError

from planner import units
from planner.errors import Finding, InputError
from planner.inputs import Change, Inputs
from planner.loader.vary.place import (
    ALL,
    Cell,
    NoPlaceError,
    Place,
    name_unit,
    number_of,
    places,
    raw,
    short,
    written,
)
from planner.loader.vary.values import Range, SpecError, factor, texts
from planner.units import QuantityError

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
            number = float(text) if unit is None else units.parse(text, unit.dimension)
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
            reading = _at(place, own)
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


def _at(place: Place, text: str) -> Reading:
    """Return a text read at one place."""
    try:
        value = raw(text)
    except InputError as error:
        faults = tuple(replace(f, file=None, line=None, path=None) for f in error.findings)
        return Reading(text, faults=faults)
    try:
        return Reading(text, (place.change(place.slot.read(value), text),))
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
        some = _first_good(variable, values, origin)
        display = variable.choose_display([some] if isinstance(values, Range) else values)
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
        return Values(variable, texts(spec.strip(), variable.first.slot), origin)
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


def _first_good(variable: Variable, values: Sequence[str], origin: str) -> str:
    """Return the first value that is not refused."""
    likely = values
    if isinstance(values, Range) and not variable.several:
        likely = _about_least(variable, values)
    for text in likely:
        if not variable.read(text).faults:
            return text
    faults = variable.read(values[0]).faults
    raise InputError([replace(f, file=origin, path=variable.path) for f in faults])


def _about_least(variable: Variable, values: Range) -> list[str]:
    """Return the values of a range that are about the least that its field takes.

    Where these are refused, so are all: a long range of wrong numbers need not be read whole.
    """
    unit, standing = variable.first.slot.unit, number_of(variable.first.standing)
    least = Decimal(0 if unit is None else unit.low)
    if values.prefix and standing:
        least /= Decimal(repr(standing))
    last = len(values) - 1
    order = range(len(values)) if values.high > values.low else range(last, -1, -1)
    at = bisect_left(order, least, key=values.number)
    return [values[index] for index in order[at : at + 3]]


def join_faults(faults: Iterable[Finding]) -> str:
    """Return what is wrong as one line."""
    return "; ".join(fault.text() for fault in faults)
