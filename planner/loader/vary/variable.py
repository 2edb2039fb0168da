"""What is varied: a path whose values are read as the file's would be, each once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from pydantic import ValidationError

from planner import units
from planner.errors import Finding, InputError
from planner.loader.change import Change
from planner.loader.inputs import Inputs
from planner.loader.vary.place import ALL, Place, places
from planner.loader.vary.slot import Cell, number_of, raw, short, shown_unit, written
from planner.loader.vary.spec import factor
from planner.units import QuantityError

KEPT = 20_000
"""Changes that are kept once their values are read."""
_SIGNS = ("+", "-")
_PERCENT = re.compile(r"[+-].*%\s*\Z")
FACTOR = "x"
"""The unit of a column that holds factors of values as they stand."""


@dataclass(frozen=True)
class Reading:
    """A text read as a value: the changes that make it so, or what is wrong with it."""

    text: str
    changes: tuple[Change, ...] = ()
    factor: float | None = None
    faults: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Shown:
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

    def shown(self, texts: Iterable[str]) -> Shown:
        """Return how to show values in one column, so that all of it is of one kind."""
        if self.first.slot.only_numbers and not self.several:
            return Shown(True, shown_unit(None, self.first.slot))
        readings = [reading for text in texts if not (reading := self.read(text)).faults]
        factors = [reading.factor is not None for reading in readings]
        if self.several and any(factors):
            return Shown(True, FACTOR) if all(factors) else Shown(False)
        values = [v for r in readings if (v := self._value(r)) is not None]
        measures = {shown_unit(v, self.first.slot) for v in values if number_of(v) is not None}
        alike = len(measures) == 1 and all(number_of(value) is not None for value in values)
        return Shown(True, measures.pop()) if alike else Shown(False)

    def cell(self, reading: Reading, shown: Shown) -> Cell:
        """Return what a column shows of a value that was read."""
        if shown.unit == FACTOR:
            return reading.factor
        if not shown.number:
            return None if self._value(reading) is None and not reading.faults else reading.text
        if reading.faults:
            return self._number(reading.text)
        return number_of(self._value(reading))

    def standing(self, shown: Shown) -> Cell:
        """Return what a column shows where the value is as it stands."""
        value = self.first.standing
        if shown.unit == FACTOR:
            return 1.0
        if value is None or shown.number:
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
                return reading if share is None else _told(reading, text, float(share))
            changes += reading.changes
        said = text if self.several or share is None else changes[0].text
        return Reading(said, tuple(changes), None if share is None else float(share))


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


def _told(reading: Reading, text: str, share: float) -> Reading:
    """Return a refused reading that says which factor led to it."""
    before = f"{text} gives {reading.text}: "
    faults = tuple(replace(fault, message=before + fault.message) for fault in reading.faults)
    return replace(reading, factor=share, faults=faults)


def _refused(text: str, message: str, fix: str | None = None) -> Reading:
    return Reading(text, faults=(Finding("vary", message, fix=fix),))
