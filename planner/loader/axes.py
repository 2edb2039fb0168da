"""Axes of a sweep: the values that paths take, from ranges, lists and tables of scenarios.

Each text is read once, as a file would read it. Ranges are of exact decimals.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from planner import units
from planner.errors import Finding, FixableError, InputError, clip
from planner.inputs import Change, Inputs
from planner.loader import yaml12
from planner.loader.places import (
    ALL,
    Cell,
    NoPlaceError,
    Place,
    Slot,
    name_unit,
    number_of,
    places,
    plain,
    short,
    written,
)
from planner.units import QuantityError

MOST = 1_000_000
"""Scenarios of a sweep."""
KEPT = 20_000
"""Changes cached once their values are read."""
FORMS = "write LOW:HIGH:STEP, LOW:HIGH:lin:COUNT, LOW:HIGH:log:COUNT or a,b,c"
VARY_FIX = "write for example --vary site.facility_power=5MW:20MW:1MW"
FACTOR = "x"
"""The unit of a column of factors on the values of the problem."""
_SAMPLE = 1000
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


def _texts(spec: str, slot: Slot, rates: units.Rates) -> Sequence[str]:
    """Values of a range or list, as texts."""
    parts = [part.strip() for part in _split(spec, ",")]
    if not all(parts):
        raise SpecError(f"'{clip(spec)}' has an empty value", f"{FORMS}; null takes a value away")
    ends = [[end.strip() for end in _split(part, ":")] for part in parts]
    if not slot.numeric or all(len(end) == 1 for end in ends):
        return parts
    if len(parts) > 1:
        raise SpecError(f"'{clip(spec)}' is a range and a list in one")
    return _range(ends[0], spec, slot, rates)


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


def _range(parts: list[str], spec: str, slot: Slot, rates: units.Rates) -> tuple[str, ...]:
    """Values of a range, ends included, in the unit of its ends."""
    counted = len(parts) == 4 and parts[2] in {"lin", "log"}
    if not counted and len(parts) != 3:
        raise SpecError(f"'{clip(spec)}' is neither a range nor a list")
    (low, high, *step), unit, prefix = _numbers(parts[:2] if counted else parts, slot, rates)
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
    if slot.whole and not prefix and any(number % 1 for number in numbers):
        first = next(number for number in numbers if number % 1)
        fix = "start and step in whole numbers, or list them: a,b,c"
        raise SpecError(f"expected whole numbers, and the range has {plain(first)}", fix)
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


def _numbers(parts: list[str], slot: Slot, rates: units.Rates) -> tuple[list[Decimal], str, str]:
    """Numbers of one unit, that unit, and ``x`` for factors; of several units, the canonical."""
    found: list[tuple[str, Decimal, str]] = []
    for part in parts:
        match = _NUMBER.match(part)
        if match is None:
            raise SpecError(f"'{clip(part)}' is no number")
        found.append((match[1], Decimal(match[2]), match[3] or ""))
    if len({prefix for prefix, _, _ in found}) > 1 or any(p and u for p, _, u in found):
        fix = "write x0.8:x1.2:x0.1 for 80 % to 120 % of the present value"
        raise SpecError(f"'{':'.join(parts)}' is not a range of factors", fix)
    numbers = [number for _, number, _ in found]
    if any(abs(number) > Decimal(units.HUGE) for number in numbers):
        raise SpecError("no quantity of a cluster is so large", "check the digits")
    if len({unit for _, _, unit in found}) == 1:
        return numbers, found[0][2], found[0][0]
    if slot.unit is None:
        raise SpecError("the numbers have different units", "write all of them in one unit")
    try:
        each = [units.parse(part, slot.unit.dimension, rates) for part in parts]
    except QuantityError as error:
        raise SpecError(str(error), error.fix) from None
    return [Decimal(repr(number)) for number in each], slot.symbol, ""


# A path and the texts that it takes.


@dataclass(frozen=True)
class Reading:
    """A text read as a value: the changes that set it, or its faults."""

    text: str
    changes: tuple[Change, ...] = ()
    factor: float | None = None
    faults: tuple[Finding, ...] = ()


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
        self.several = ALL in path.split(".")
        self.rates, self.money = inputs.problem.currencies, inputs.problem.shown_in
        self.path = path.strip() if self.several else self.places[0].path
        self.read = lru_cache(maxsize=KEPT // len(self.places) + 1)(self._read)

    @property
    def first(self) -> Place:
        """The place, or the first of several."""
        return self.places[0]

    def text_of(self, number: float, *, factors: bool = False) -> str:
        """A number in the canonical unit, or a factor, as ``read`` takes it."""
        if not math.isfinite(number):
            return str(number)
        exact = Decimal(f"{number:.15g}")
        return f"x{exact:f}" if factors else written(exact, self.first.slot, self.first.value)

    def choose_display(self, texts: Iterable[str]) -> Display:
        """The form of a column that fits all of its values."""
        slot = self.first.slot
        if slot.only_numbers and not self.several:
            return Display(True, name_unit(None, slot))
        readings = [reading for text in texts if not (reading := self.read(text)).faults]
        factors = [reading.factor is not None for reading in readings]
        if self.several and any(factors):
            return Display(True, FACTOR) if all(factors) else Display(False)
        values = [v for r in readings if (v := self._value(r)) is not None]
        measures = {name_unit(value, slot) for value in values if number_of(value) is not None}
        numeric = len(measures) == 1 and all(number_of(value) is not None for value in values)
        return Display(True, measures.pop()) if numeric else Display(False)

    def cell(self, reading: Reading, display: Display) -> Cell:
        """A value in a column; a refused one is no number."""
        if display.unit == FACTOR:
            return reading.factor
        if display.number:
            return None if reading.faults else number_of(self._value(reading))
        return None if self._value(reading) is None and not reading.faults else reading.text

    def unchanged(self, display: Display) -> Cell:
        """The unchanged value in a column."""
        value = self.first.value
        if display.unit == FACTOR:
            return 1.0
        return number_of(value) if value is None or display.number else short(value)

    def _value(self, reading: Reading) -> object:
        value = reading.changes[0].value if reading.changes else None
        made = self.first.made
        return value if made is None or value is None else getattr(value, made[1])

    def _read(self, text: str) -> Reading:
        numeric = self.first.slot.numeric
        share = factor(text) if numeric else None
        if numeric and _PERCENT_CHANGE.match(text):
            fault = Finding("vary", f"'{text[:40]}' is no value", fix="write x0.8 for 20 % less")
            return Reading(text, faults=(fault,))
        changes: list[Change] = []
        for place in self.places:
            own = text if share is None else _times(place, share)
            if own is None:
                fault = Finding("vary", f"there is no number here to take {text[:40]} of")
                return Reading(text, faults=(fault,))
            found = _read_at(place, own, self.rates)
            if isinstance(found, Change):
                changes.append(found)
                continue
            gives = "" if share is None else f"{text} gives {own}: "
            faults = tuple(replace(f, message=gives + f.message) for f in found)
            return Reading(own, factor=None if share is None else float(share), faults=faults)
        read = text if self.several or share is None else changes[0].text
        return Reading(read, tuple(changes), None if share is None else float(share))


def _times(place: Place, share: Decimal) -> str | None:
    """A factor of the value at a place, as a file has it."""
    standing = number_of(place.value)
    if standing is None:
        return None
    return written(_rounded(Decimal(repr(standing)) * share), place.slot, place.value)


def _read_at(place: Place, text: str, rates: units.Rates) -> Change | tuple[Finding, ...]:
    try:
        value = yaml12.scalar(text, "")
    except InputError as error:
        return tuple(replace(f, file=None, line=None, path=None) for f in error.findings)
    try:
        return place.change(place.slot.read(value, rates), text)
    except ValidationError as error:
        return tuple(replace(f, path=None) for f in place.slot.faults(error, value))


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


class Axis:
    """A direction of a grid: its columns, and a point for each index below ``count``."""

    def __init__(
        self,
        inputs: Sequence[Input],
        variables: Sequence[Variable],
        count: int,
        point: Callable[[int], Point],
    ) -> None:
        self.inputs, self.variables, self.count = tuple(inputs), tuple(variables), count
        size = sum(len(variable.places) for variable in variables)
        self.point = lru_cache(maxsize=KEPT // max(size, 1) + 1)(point)


def missing(like: Axis, reason: str) -> Axis:
    """An axis in inputs that have no such place: every point is refused."""
    point = Point((), (None,) * len(like.inputs), refused=reason)
    return Axis(like.inputs, (), like.count, lambda _: point)


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
        found = _texts(spec.strip(), variable.first.slot, variable.rates)
    except (NoPlaceError, SpecError) as error:
        raise InputError(Finding("vary", str(error), origin, fix=error.fix)) from None
    sample = found[:: max(1, len(found) // _SAMPLE)]
    if all(variable.read(text).faults for text in sample):
        faults = variable.read(found[0]).faults
        raise InputError([replace(f, file=origin, path=variable.path) for f in faults])
    display = variable.choose_display(sample)

    def point(index: int) -> Point:
        reading = variable.read(found[index])
        refused = _joined(replace(fault, path=variable.path) for fault in reading.faults)
        return Point(reading.changes, (variable.cell(reading, display),), refused=refused)

    return Axis([Input(variable.path, display)], [variable], len(found), point)


def refuse_overlap(variables: Iterable[Variable]) -> None:
    """Refuse variables of which one would undo another.

    Raises:
        InputError: two of them replace the same value, or one a part of another.
    """
    known: set[str] = set()
    above_known: set[str] = set()
    for variable in variables:
        paths = {place.changed for place in variable.places}
        steps = [path.split(".") for path in paths]
        above = {".".join(part[:length]) for part in steps for length in range(1, len(part) + 1)}
        clash = sorted((paths & above_known) | (above & known))
        if clash:
            message = f"'{clash[0]}' is varied twice"
            raise InputError(Finding("vary", message, fix="vary it once"))
        known |= paths
        above_known |= above


def _joined(faults: Iterable[Finding]) -> str:
    return "; ".join(fault.text() for fault in faults)


# Tables of scenarios: several paths change together.

NAME = "name"
_MOST_BYTES = 20_000_000
_WHAT = "table of scenarios"
_MOST_SHOWN = 3
"""Rows in the error of a table whose rows are all wrong."""


class ScenarioTable(NamedTuple):
    """The scenarios of a file: paths, and a line number, a name and texts for each."""

    file: str
    header: tuple[str, ...]
    lines: tuple[int, ...]
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def read_table(path: Path) -> ScenarioTable:
    """The scenarios of a CSV file: paths in the first line, then a scenario a line.

    A first column ``name`` names them. Empty lines are skipped.

    Raises:
        InputError: the file cannot be read, has no paths or no scenarios.
    """
    file = yaml12.shorten_path(path)
    text, _ = yaml12.read_text(path, _WHAT, most_bytes=_MOST_BYTES, form="CSV")
    lines: list[tuple[int, list[str]]] = []
    reader, line = csv.reader(io.StringIO(text, newline=""), strict=True), 1
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            lines += [(line, cells)] if any(cells) else []
            line = reader.line_num + 1
    except csv.Error as error:
        message = f"not readable as CSV: {error}"
        raise InputError(Finding("csv", message, file, reader.line_num)) from None
    named = bool(lines) and lines[0][1][0] == NAME
    header, rows = lines[0][1][named:] if lines else [], lines[1:]
    if not header or not rows:
        message = f"the table has no {'scenarios' if header else 'paths'}"
        fix = "begin with a line of paths, such as site.facility_power,storage.rule"
        raise InputError(Finding("scenario", message, file, fix=fix))
    return ScenarioTable(
        file=file,
        header=tuple(header),
        lines=tuple(number for number, _ in rows),
        names=tuple(row[0] if named else "" for _, row in rows),
        rows=tuple(tuple(row[named:]) for _, row in rows),
    )


def of_table(inputs: Inputs, table: ScenarioTable) -> Axis:
    """The axis of a table; an empty cell leaves a value unchanged.

    Raises:
        InputError: a path leads nowhere, or every row is refused.
    """
    variables = [_column(inputs, path, table.file) for path in table.header]
    columns = []
    for number, variable in enumerate(variables):
        cells = (row[number] for row in table.rows if number < len(row) and row[number])
        columns.append(Input(variable.path, variable.choose_display(cells)))

    def point(index: int) -> Point:
        readings, faults = _read_row(variables, table, index)
        pairs = zip(variables, readings, columns, strict=False)
        cells = tuple(
            variable.unchanged(column.display)
            if reading is None
            else variable.cell(reading, column.display)
            for variable, reading, column in pairs
        )
        changes = [] if faults else [c for each in readings if each for c in each.changes]
        empty = (None,) * len(columns)
        return Point(tuple(changes), cells or empty, table.names[index], _joined(faults))

    if all(_read_row(variables, table, row)[1] for row in range(len(table.rows))):
        first = range(min(len(table.rows), _MOST_SHOWN))
        raise InputError([fault for row in first for fault in _read_row(variables, table, row)[1]])
    return Axis(columns, variables, len(table.rows), point)


def _column(inputs: Inputs, path: str, file: str) -> Variable:
    try:
        return Variable(inputs, path)
    except NoPlaceError as error:
        fix = "put the column of names first" if path == NAME else error.fix
        fix = "separate columns with commas" if ";" in path else fix
        raise InputError(Finding("vary", str(error), file, 1, fix=fix)) from None


def _read_row(
    variables: Sequence[Variable], table: ScenarioTable, index: int
) -> tuple[list[Reading | None], list[Finding]]:
    """Readings of a row, None for empty cells, and its faults; no readings of an uneven row."""
    row, line = table.rows[index], table.lines[index]
    if len(row) != len(variables):
        message = f"expected {len(variables)} values, found {len(row)}"
        fix = "give each path a value, or leave its place empty between commas"
        return [], [Finding("scenario", message, table.file, line, fix=fix)]
    readings = [v.read(text) if text else None for v, text in zip(variables, row, strict=True)]
    faults = [
        replace(fault, file=table.file, line=line, path=variable.path)
        for variable, reading in zip(variables, readings, strict=True)
        for fault in (reading.faults if reading is not None else ())
    ]
    return readings, faults
