"""One direction of a grid of scenarios: the values of a path, or the rows of a table."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

from planner.errors import Finding, InputError
from planner.loader.change import Change
from planner.loader.inputs import Inputs
from planner.loader.vary.place import NoPlaceError
from planner.loader.vary.ranges import Range
from planner.loader.vary.slot import Cell, number_of
from planner.loader.vary.spec import SpecError, texts
from planner.loader.vary.variable import KEPT, Shown, Variable

VARY_FIX = "write for example --vary site.facility_power=5MW:20MW:1MW"


@dataclass(frozen=True)
class Input:
    """A column of inputs: the path that is varied, and how its values are shown."""

    path: str
    shown: Shown


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
        shown = variable.shown([some] if isinstance(values, Range) else values)
        super().__init__([Input(variable.path, shown)], [variable], len(values))

    def _point(self, index: int) -> Point:
        variable, shown = self.variables[0], self.inputs[0].shown
        reading = variable.read(self.values[index])
        cells = (variable.cell(reading, shown),)
        if not reading.faults:
            return Point(reading.changes, cells)
        refused = said(replace(fault, path=variable.path) for fault in reading.faults)
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


def said(faults: Iterable[Finding]) -> str:
    """Return what is wrong as one line."""
    return "; ".join(fault.text() for fault in faults)
