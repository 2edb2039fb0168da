"""Axes of a sweep: the values that paths take, from ranges, lists and tables of scenarios.

Each text is read once, as a file would read it; a wrong one refuses its axis. Ranges are of exact
decimals.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from planner import units
from planner.errors import Finding, FixableError, InputError, clip
from planner.inputs import Change, Inputs
from planner.loader import NoPlaceError, documents
from planner.loader.places import ALL, Cell, Place, number_of, places, plain, short
from planner.units import QuantityError

# Ranges and lists of values.

MOST = 100_000
"""Scenarios of a sweep."""
FORMS = "write LOW:HIGH:STEP, LOW:HIGH:lin:COUNT, LOW:HIGH:log:COUNT or a,b,c"
VARY_FIX = "write for example --vary site.facility_power=5MW:20MW:1MW"
FACTOR = "x"
"""The unit of a column of factors on the values of the problem."""
_ROUNDING = Decimal("1e-9")
"""Distance from the end of a range, as a share of a step, within which the last step ends there."""
_NUMBER = re.compile(
    r"\s*(x?)\s*([+-]?(?:\d{1,25}\.?\d{0,25}|\.\d{1,25})(?:[eE][+-]?\d{1,2})?)\s*(\S.*?)?\s*\Z",
    re.ASCII,
)
_PERCENT_CHANGE = re.compile(r"[+-].*%\s*\Z")


class SpecError(FixableError):
    """Values that cannot be read."""

    def __init__(self, message: str, fix: str | None = FORMS) -> None:
        super().__init__(message, fix)


def factor(text: str) -> Decimal | None:
    """The factor of a text such as ``x0.8``, None for any other text."""
    match = _NUMBER.match(text) if text.startswith(FACTOR) else None
    return None if match is None or match[3] else Decimal(match[2])


def _texts(spec: str, variable: Variable) -> Sequence[str]:
    """Values of a range or list, as texts."""
    parts = _split(spec, ",")
    if not all(parts):
        raise SpecError(f"'{clip(spec)}' has an empty value", f"{FORMS}; null takes a value away")
    ends = [_split(part, ":") for part in parts]
    if not variable.first.slot.numeric or all(len(end) == 1 for end in ends):
        return parts
    if len(parts) > 1:
        raise SpecError(f"'{clip(spec)}' is a range and a list in one")
    return _range(ends[0], spec, variable)


def _split(text: str, mark: str) -> list[str]:
    """Split a text at a mark outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[{") - (letter in "]}")
        if letter == mark and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _range(parts: list[str], spec: str, variable: Variable) -> tuple[str, ...]:
    """Values of a range, ends included, in the unit of its ends."""
    counted = len(parts) == 4 and parts[2] in {"lin", "log"}
    if not counted and len(parts) != 3:
        raise SpecError(f"'{clip(spec)}' is neither a range nor a list")
    (low, high, *step), unit, prefix = _numbers(parts[:2] if counted else parts, variable)
    if counted:
        size = int(parts[3]) if re.fullmatch("[0-9]{1,9}", parts[3]) else 0
        fits = size > 1 and low != high and (parts[2] == "lin" or (low > 0 and high > 0))
    else:
        fits = step[0] > 0
        size = int(abs(high - low) / step[0] + _ROUNDING) + 1 if fits else 0
    if not fits or size < 2:
        fix = f"{FORMS}; STEP above 0 and at most the difference, COUNT from 2, of log ends above 0"
        raise SpecError(f"'{clip(spec)}' has no two values", fix)
    if size > MOST:
        raise SpecError(f"'{clip(spec)}' has more than {MOST:,} values", "take larger steps")
    if not counted:
        numbers = [low + index * step[0] * (1 if high > low else -1) for index in range(size)]
    elif parts[2] == "lin":
        numbers = [_rounded(low + (high - low) * index / (size - 1)) for index in range(size)]
    else:
        ratio = math.log(high) - math.log(low)
        inner = (float(low) * math.exp(ratio * index / (size - 1)) for index in range(1, size - 1))
        numbers = [low, *(Decimal(f"{number:.12g}") for number in inner), high]
    return tuple(f"{prefix}{plain(number)} {unit}".rstrip() for number in numbers)


def _rounded(number: Decimal) -> Decimal:
    """A number to the digits of a float."""
    return Decimal(f"{number:.15g}")


def _numbers(parts: list[str], variable: Variable) -> tuple[list[Decimal], str, str]:
    """Numbers of one unit, that unit, and ``x`` for factors; of several units, the canonical."""
    found = []
    for part in parts:
        match = _NUMBER.match(part)
        if match is None:
            raise SpecError(f"'{clip(part)}' is no number")
        found.append((match[1], Decimal(match[2]), match[3] or ""))
    prefixes, numbers, names = (list(column) for column in zip(*found, strict=True))
    if len(set(prefixes)) > 1 or (prefixes[0] and any(names)):
        fix = "write x0.8:x1.2:x0.1 for 80 % to 120 % of the present value"
        raise SpecError(f"'{':'.join(parts)}' is not a range of factors", fix)
    slot = variable.first.slot
    if len(set(names)) == 1 or slot.unit is None:
        return numbers, names[0], prefixes[0]
    try:
        each = [units.parse(part, slot.unit.dimension, variable.rates) for part in parts]
    except QuantityError as error:
        raise SpecError(str(error), error.fix) from None
    return [Decimal(repr(number)) for number in each], slot.symbol, ""


# A path and the texts that it takes.


@dataclass(frozen=True)
class Reading:
    """A text read as a ``value`` of the first place: the changes that set it, or its faults."""

    text: str
    changes: tuple[Change, ...] = ()
    factor: float | None = None
    faults: tuple[Finding, ...] = ()
    value: object = None


class Variable:
    """A path that is varied, in the inputs that it varies.

    Raises:
        NoPlaceError: the path leads nowhere.
    """

    def __init__(self, inputs: Inputs, path: str) -> None:
        self.places: tuple[Place, ...] = places(inputs, path)
        self.first = self.places[0]
        self.several = ALL in path.split(".")
        self.rates = inputs.problem.currencies
        self.path = path.strip() if self.several else self.first.path

    def text_of(self, number: float, *, factors: bool = False) -> str:
        """A number in the canonical unit, or a factor, as ``read`` takes it."""
        if not math.isfinite(number):
            return str(number)
        exact = Decimal(f"{number:.15g}")
        return f"x{exact:f}" if factors else self.first.slot.text_of(exact)

    def read(self, text: str) -> Reading:
        """A text at every place of the path."""
        numeric = self.first.slot.numeric
        share = factor(text) if numeric else None
        scale = None if share is None else float(share)
        if numeric and _PERCENT_CHANGE.match(text):
            fault = Finding("vary", f"'{text[:40]}' is no value", fix="write x0.8 for 20 % less")
            return Reading(text, faults=(fault,))
        changes, read = list[Change](), list[object]()
        for place in self.places:
            own = text
            if share is not None:
                number = number_of(place.value)
                if number is None:
                    fault = Finding("vary", f"there is no number here to take {text[:40]} of")
                    return Reading(text, faults=(fault,))
                own = place.slot.text_of(_rounded(Decimal(repr(number)) * share))
            try:
                value = place.slot.read(own, self.rates)
            except InputError as error:
                gives = "" if share is None else f"{text} gives {own}: "
                faults = (replace(f, message=gives + f.message) for f in error.findings)
                return Reading(own, factor=scale, faults=tuple(faults))
            changes.append(place.change(value, own))
            read.append(value)
        shown = text if self.several or share is None else changes[0].text
        return Reading(shown, tuple(changes), scale, value=read[0])

    def column(self, readings: Sequence[Reading | None]) -> tuple[str, tuple[Cell, ...]]:
        """The unit and cells of a column; None among the readings is the present value.

        Numbers where all values are numbers, factors where all are factors, else texts.
        """
        given, slot = [each for each in readings if each is not None], self.first.slot
        if self.several and any(each.factor is not None for each in given):
            if all(each.factor is not None for each in given):
                return FACTOR, tuple(1.0 if each is None else each.factor for each in readings)
            numeric = False
        else:
            values = (each.value for each in given if each.value is not None)
            numeric = slot.numeric and all(number_of(value) is not None for value in values)
        cells: list[Cell] = []
        for each in readings:
            value = self.first.value if each is None else each.value
            if numeric or value is None:
                cells.append(number_of(value))
            else:
                cells.append(short(value) if each is None else each.text)
        return slot.column_unit if numeric else "", tuple(cells)


# Axes.


class Point(NamedTuple):
    """One value of an axis: its changes and the cells of its columns."""

    changes: tuple[Change, ...]
    cells: tuple[Cell, ...]
    name: str = ""


class Axis(NamedTuple):
    """A direction of a grid: its variables, the units of their columns, and its points."""

    variables: tuple[Variable, ...]
    units: tuple[str, ...]
    points: tuple[Point, ...]


def values(inputs: Inputs, option: str) -> Axis:
    """The axis of a ``PATH=SPEC``.

    Raises:
        InputError: it cannot be read, the path leads nowhere, or a value is refused.
    """
    origin = f"--vary {clip(option, 80)}"
    path, separator, spec = option.partition("=")
    if not separator or not path.strip() or not spec.strip():
        raise InputError(Finding("vary", "not PATH=VALUES", origin, fix=VARY_FIX))
    try:
        variable = Variable(inputs, path)
        readings = [variable.read(text) for text in _texts(spec.strip(), variable)]
    except (NoPlaceError, SpecError) as error:
        raise InputError(Finding("vary", str(error), origin, fix=error.fix)) from None
    if wrong := next((reading.faults for reading in readings if reading.faults), ()):
        raise InputError([replace(fault, file=origin, path=variable.path) for fault in wrong])
    unit, cells = variable.column(readings)
    points = (Point(each.changes, (cell,)) for each, cell in zip(readings, cells, strict=True))
    return Axis((variable,), (unit,), tuple(points))


def refuse_overlap(variables: Iterable[Variable]) -> None:
    """Refuse variables of which one would undo another.

    Raises:
        InputError: two of them replace the same value, or one a part of another.
    """
    paths = (place.parent or place.path for each in variables for place in each.places)
    for before, path in pairwise(sorted(f"{path}." for path in paths)):
        if path.startswith(before):
            message = f"'{before[:-1]}' is varied twice"
            raise InputError(Finding("vary", message, fix="vary it once"))


# Tables of scenarios: several paths change together.

NAME = "name"
_MOST_BYTES = 20_000_000


def of_table(inputs: Inputs, path: Path) -> Axis:
    """The axis of a CSV file: paths in the first line, then a scenario a line.

    A first column ``name`` names them. Empty lines are skipped; an empty cell leaves a value
    unchanged.

    Raises:
        InputError: the file cannot be read, a path leads nowhere, or a row is refused.
    """
    file, (header, *rows) = documents.shorten_path(path), _rows(path)
    named = int(header[1][:1] == (NAME,))
    paths = header[1][named:]
    if not paths or not rows:
        message = f"the table has no {'scenarios' if paths else 'paths'}"
        fix = "begin with a line of paths, such as site.facility_power,storage.rule"
        raise InputError(Finding("scenario", message, file, fix=fix))
    try:
        variables = tuple(Variable(inputs, each) for each in paths)
    except NoPlaceError as error:
        instead = "separate columns with commas" if ";" in paths[0] else error.fix
        raise InputError(Finding("vary", str(error), file, 1, fix=instead)) from None
    read, wrong = list[list[Reading | None]](), list[Finding]()
    for line, cells in rows:
        texts = cells[named:]
        if len(texts) != len(variables):
            message = f"expected {len(variables)} values, found {len(texts)}"
            fix = "give each path a value, or leave its place empty between commas"
            wrong.append(Finding("scenario", message, file, line, fix=fix))
            continue
        pairs = zip(variables, texts, strict=True)
        read.append([variable.read(text) if text else None for variable, text in pairs])
        for variable, reading in zip(variables, read[-1], strict=True):
            for fault in reading.faults if reading is not None else ():
                wrong.append(replace(fault, file=file, line=line, path=variable.path))
    if wrong:
        raise InputError(wrong)
    by_column = zip(variables, zip(*read, strict=True), strict=True)
    units, columns = zip(*(variable.column(each) for variable, each in by_column), strict=True)
    points = (
        Point(
            tuple(change for reading in readings if reading for change in reading.changes),
            cells,
            row[0] if named else "",
        )
        for readings, cells, (_, row) in zip(read, zip(*columns, strict=True), rows, strict=True)
    )
    return Axis(variables, units, tuple(points))


def _rows(path: Path) -> list[tuple[int, tuple[str, ...]]]:
    """The rows of a CSV file that are not empty, with their lines; at least one, of no cells."""
    text, _ = documents.read_text(path, "table of scenarios", most_bytes=_MOST_BYTES, form="CSV")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows, line = [], 1
    try:
        for row in reader:
            cells = tuple(cell.strip() for cell in row)
            rows += [(line, cells)] if any(cells) else []
            line = reader.line_num + 1
    except csv.Error as error:
        place = documents.shorten_path(path), reader.line_num
        raise InputError(Finding("csv", f"not readable as CSV: {error}", *place)) from None
    return rows or [(1, ())]
