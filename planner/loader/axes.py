"""Axes of a sweep: the values that paths take, from ranges, lists and tables of scenarios.

Each text is read once, as a file would read it. Ranges are of exact decimals.
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

from pydantic import ValidationError

from planner import units
from planner.errors import Finding, FixableError, InputError, clip
from planner.inputs import Change, Document, Inputs
from planner.loader import documents
from planner.loader.overrides import ALL, Cell, NoPlaceError, Place, number_of, places, plain, short
from planner.units import QuantityError

MOST = 100_000
"""Scenarios of a sweep."""
FORMS = "write LOW:HIGH:STEP, LOW:HIGH:lin:COUNT, LOW:HIGH:log:COUNT or a,b,c"
VARY_FIX = "write for example --vary site.facility_power=5MW:20MW:1MW"
FACTOR = "x"
"""The unit of a column of factors on the values of the problem."""
_ROUNDING = Decimal("1e-9")
"""Distance from the end of a range, as a share of a step, within which the last step ends there."""
_NUMBER = re.compile(
    r"\s*(x?)\s*([+-]?(?:\d{1,25}\.?\d{0,25}|\.\d{1,25})(?:[eE][+-]?\d{1,2})?)\s*(\S.*?)?\s*\Z"
)
_PERCENT_CHANGE = re.compile(r"[+-].*%\s*\Z")


# Ranges and lists of values.


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
    parts = [part.strip() for part in _split(spec, ",")]
    if not all(parts):
        raise SpecError(f"'{clip(spec)}' has an empty value", f"{FORMS}; null takes a value away")
    ends = [[end.strip() for end in _split(part, ":")] for part in parts]
    if not variable.first.slot.numeric or all(len(end) == 1 for end in ends):
        return parts
    if len(parts) > 1:
        raise SpecError(f"'{clip(spec)}' is a range and a list in one")
    return _range(ends[0], spec, variable)


def _split(text: str, mark: str) -> list[str]:
    """Split a text at a mark outside of quotes and brackets."""
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


def _range(parts: list[str], spec: str, variable: Variable) -> tuple[str, ...]:
    """Values of a range, ends included, in the unit of its ends."""
    counted = len(parts) == 4 and parts[2] in {"lin", "log"}
    if not counted and len(parts) != 3:
        raise SpecError(f"'{clip(spec)}' is neither a range nor a list")
    (low, high, *step), unit, prefix = _numbers(parts[:2] if counted else parts, variable)
    if low == high:
        message = f"a range from {parts[0]} to {parts[1]} has one value"
        raise SpecError(message, "write that value alone")
    size = _count(parts, low, high) if counted else _steps(parts, abs(high - low), step[0])
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


def _steps(parts: list[str], length: Decimal, step: Decimal) -> int:
    if step <= 0:
        fix = "LOW and HIGH say which way it goes"
        raise SpecError(f"the step {parts[2]} is not more than 0", fix)
    steps = length / step + _ROUNDING
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


def _rounded(number: Decimal) -> Decimal:
    """A number to the digits of a float."""
    return Decimal(f"{number:.15g}")


def _numbers(parts: list[str], variable: Variable) -> tuple[list[Decimal], str, str]:
    """Numbers of one unit, that unit, and ``x`` for factors; of several units, the canonical."""
    matches = [(_NUMBER.match(part), part) for part in parts]
    for match, part in matches:
        if match is None:
            raise SpecError(f"'{clip(part)}' is no number")
    found = [(m[1], Decimal(m[2]), m[3] or "") for m, _ in matches if m is not None]
    if len({prefix for prefix, _, _ in found}) > 1 or any(p and u for p, _, u in found):
        fix = "write x0.8:x1.2:x0.1 for 80 % to 120 % of the present value"
        raise SpecError(f"'{':'.join(parts)}' is not a range of factors", fix)
    numbers = [number for _, number, _ in found]
    if any(abs(number) > Decimal(units.HUGE) for number in numbers):
        raise SpecError("no quantity of a cluster is so large", "check the digits")
    slot = variable.first.slot
    if len({unit for _, _, unit in found}) == 1 or slot.unit is None:
        return numbers, found[0][2], found[0][0]
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


class Display(NamedTuple):
    """Form of a column: a ``number`` of a ``unit``, or text."""

    number: bool = True
    unit: str = ""


class Variable:
    """A path that is varied, in the inputs that it varies.

    Raises:
        NoPlaceError: the path leads nowhere.
    """

    def __init__(self, inputs: Inputs, path: str) -> None:
        self.places: tuple[Place, ...] = places(inputs, path)
        self.first = self.places[0]
        self.several = ALL in path.split(".")
        self.rates, self.money = inputs.problem.currencies, inputs.problem.shown_in
        self.path = path.strip() if self.several else self.first.path

    def text_of(self, number: float, *, factors: bool = False) -> str:
        """A number in the canonical unit, or a factor, as ``read`` takes it."""
        if not math.isfinite(number):
            return str(number)
        exact = Decimal(f"{number:.15g}")
        return f"x{exact:f}" if factors else self.first.slot.text_of(exact)

    def choose_display(self, readings: Iterable[Reading]) -> Display:
        """The form of a column that fits all of its values."""
        good = [reading for reading in readings if not reading.faults]
        factors = [reading.factor is not None for reading in good]
        if self.several and any(factors):
            return Display(True, FACTOR) if all(factors) else Display(False)
        slot = self.first.slot
        values = [reading.value for reading in good if reading.value is not None]
        numeric = slot.numeric and all(number_of(value) is not None for value in values)
        return Display(True, slot.column_unit) if numeric else Display(False)

    def cell(self, reading: Reading | None, display: Display) -> Cell:
        """A value in a column, None for the unchanged one; a refused one is no number."""
        if display.unit == FACTOR:
            return 1.0 if reading is None else reading.factor
        value = self.first.value if reading is None else reading.value
        if display.number or (value is None and not (reading and reading.faults)):
            return number_of(value)
        return short(value) if reading is None else reading.text

    def read(self, text: str) -> Reading:
        """A text at every place of the path."""
        numeric = self.first.slot.numeric
        share = factor(text) if numeric else None
        scale = None if share is None else float(share)
        if numeric and _PERCENT_CHANGE.match(text):
            fault = Finding("vary", f"'{text[:40]}' is no value", fix="write x0.8 for 20 % less")
            return Reading(text, faults=(fault,))
        changes: list[Change] = []
        values: list[object] = []
        for place in self.places:
            own = text if share is None else _times(place, share)
            if own is None:
                fault = Finding("vary", f"there is no number here to take {text[:40]} of")
                return Reading(text, faults=(fault,))
            try:
                value = self._value(place, own)
            except InputError as error:
                gives = "" if share is None else f"{text} gives {own}: "
                faults = (replace(f, message=gives + f.message) for f in error.findings)
                return Reading(own, factor=scale, faults=tuple(faults))
            changes.append(place.change(value, own))
            values.append(value)
        read = text if self.several or share is None else changes[0].text
        return Reading(read, tuple(changes), scale, value=values[0])

    def _value(self, place: Place, text: str) -> object:
        raw, slot = _unplaced(text), place.slot
        try:
            return slot.read(raw, self.rates)
        except ValidationError as error:
            found = documents.findings(error, Document("", {"value": raw}), slot.model)
            raise InputError([replace(f, file=None, path=None) for f in found]) from None


def _unplaced(text: str) -> object:
    """A text read as YAML, with errors that name no place."""
    try:
        return documents.scalar(text, "")
    except InputError as error:
        raise InputError([replace(f, file=None, path=None) for f in error.findings]) from None


def _times(place: Place, share: Decimal) -> str | None:
    """A factor of the value at a place, as a file has it."""
    number = number_of(place.value)
    if number is None:
        return None
    return place.slot.text_of(_rounded(Decimal(repr(number)) * share))


# Axes.


class Input(NamedTuple):
    """A column of inputs: the path that is varied and its form."""

    path: str
    display: Display


class Point(NamedTuple):
    """One value of an axis: its changes and the cells of its columns, or why it is refused."""

    changes: tuple[Change, ...]
    cells: tuple[Cell, ...]
    name: str = ""
    refused: str = ""


class Axis(NamedTuple):
    """A direction of a grid: its columns, their variables, and its points."""

    inputs: tuple[Input, ...]
    variables: tuple[Variable, ...]
    points: tuple[Point, ...]


def values(inputs: Inputs, option: str) -> Axis:
    """The axis of a ``PATH=SPEC``.

    Raises:
        InputError: it cannot be read, the path leads nowhere, or every value is refused.
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
    if all(reading.faults for reading in readings):
        faults = readings[0].faults
        raise InputError([replace(f, file=origin, path=variable.path) for f in faults])
    display = variable.choose_display(readings)
    points = (
        Point(
            reading.changes,
            (variable.cell(reading, display),),
            refused=_joined(replace(fault, path=variable.path) for fault in reading.faults),
        )
        for reading in readings
    )
    return Axis((Input(variable.path, display),), (variable,), tuple(points))


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


def _joined(faults: Iterable[Finding]) -> str:
    return "; ".join(fault.text() for fault in faults)


# Tables of scenarios: several paths change together.

NAME = "name"
_MOST_BYTES = 20_000_000
_MOST_SHOWN = 3
"""Rows in the error of a table whose rows are all wrong."""


class ScenarioTable(NamedTuple):
    """The scenarios of a file: paths, and a line number, a name and texts for each."""

    file: str
    header: tuple[str, ...]
    rows: tuple[tuple[int, str, tuple[str, ...]], ...]


def read_table(path: Path) -> ScenarioTable:
    """The scenarios of a CSV file: paths in the first line, then a scenario a line.

    A first column ``name`` names them. Empty lines are skipped.

    Raises:
        InputError: the file cannot be read, has no paths or no scenarios.
    """
    file, what = documents.shorten_path(path), "table of scenarios"
    text, _ = documents.read_text(path, what, most_bytes=_MOST_BYTES, form="CSV")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    lines, line = [], 1
    try:
        for row in reader:
            cells = tuple(cell.strip() for cell in row)
            lines += [(line, cells)] if any(cells) else []
            line = reader.line_num + 1
    except csv.Error as error:
        message = f"not readable as CSV: {error}"
        raise InputError(Finding("csv", message, file, reader.line_num)) from None
    named = bool(lines) and lines[0][1][0] == NAME
    header = lines[0][1][named:] if lines else ()
    if not header or len(lines) < 2:
        message = f"the table has no {'scenarios' if header else 'paths'}"
        fix = "begin with a line of paths, such as site.facility_power,storage.rule"
        raise InputError(Finding("scenario", message, file, fix=fix))
    rows = ((line, row[0] if named else "", row[named:]) for line, row in lines[1:])
    return ScenarioTable(file, header, tuple(rows))


def of_table(inputs: Inputs, table: ScenarioTable) -> Axis:
    """The axis of a table; an empty cell leaves a value unchanged.

    Raises:
        InputError: a path leads nowhere, or every row is refused.
    """
    variables = tuple(_column(inputs, path, table.file) for path in table.header)
    rows = [_read_row(variables, table.file, line, texts) for line, _, texts in table.rows]
    if all(faults for _, faults in rows):
        raise InputError([fault for _, faults in rows[:_MOST_SHOWN] for fault in faults])
    columns = []
    for at, variable in enumerate(variables):
        readings = [row[at] for row, _ in rows if row]
        display = variable.choose_display(each for each in readings if each is not None)
        columns.append(Input(variable.path, display))
    points = []
    for (readings, faults), (_, name, _) in zip(rows, table.rows, strict=True):
        pairs = zip(variables, readings, columns, strict=False)
        cells = tuple(variable.cell(reading, each.display) for variable, reading, each in pairs)
        changes = [] if faults else [c for each in readings if each for c in each.changes]
        cells = cells or (None,) * len(columns)
        points.append(Point(tuple(changes), cells, name, _joined(faults)))
    return Axis(tuple(columns), variables, tuple(points))


def _column(inputs: Inputs, path: str, file: str) -> Variable:
    try:
        return Variable(inputs, path)
    except NoPlaceError as error:
        fix = "put the column of names first" if path == NAME else error.fix
        fix = "separate columns with commas" if ";" in path else fix
        raise InputError(Finding("vary", str(error), file, 1, fix=fix)) from None


def _read_row(
    variables: Sequence[Variable], file: str, line: int, texts: Sequence[str]
) -> tuple[list[Reading | None], list[Finding]]:
    """Readings of a row, None for empty cells, and its faults; no readings of an uneven row."""
    if len(texts) != len(variables):
        message = f"expected {len(variables)} values, found {len(texts)}"
        fix = "give each path a value, or leave its place empty between commas"
        return [], [Finding("scenario", message, file, line, fix=fix)]
    readings = [v.read(text) if text else None for v, text in zip(variables, texts, strict=True)]
    faults = [
        replace(fault, file=file, line=line, path=variable.path)
        for variable, reading in zip(variables, readings, strict=True)
        for fault in (reading.faults if reading is not None else ())
    ]
    return readings, faults
