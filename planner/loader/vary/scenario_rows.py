"""Scenarios as rows: of a table in a CSV file, or of numbers that were drawn."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from planner.errors import Finding, InputError
from planner.foreign_files import regular
from planner.inputs import Change, Inputs
from planner.loader import yaml12
from planner.loader.vary.axis import Axis, Input, Point, Reading, Variable, join_faults
from planner.loader.vary.place import Cell, NoPlaceError

NAME = "name"
_MOST_BYTES, _MOST_CELLS = 50_000_000, 4_000_000
"""A table is kept in memory; more scenarios are asked for with --vary."""

_FIX = "begin with a line of paths, such as site.facility_power,storage.rule"

_MOST_TOLD = 3
"""Rows that an error names where all are wrong."""


@dataclass(frozen=True)
class ScenarioTable:
    """The scenarios of a file: paths, and a line number, a name and texts for each."""

    file: str
    header: tuple[str, ...]
    lines: tuple[int, ...]
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def read_table(path: Path) -> ScenarioTable:
    """Return the scenarios of a CSV file: paths in the first line, then a scenario a line.

    A first column ``name`` names them. Lines without anything in them are passed over.

    Raises:
        InputError: the file cannot be read, has no paths or no scenarios.
    """
    file = yaml12.shorten_path(path)
    lines = [
        (number, [cell.strip() for cell in row])
        for number, row in _numbered(path, file)
        if any(cell.strip() for cell in row)
    ]
    named = bool(lines) and lines[0][1][0] == NAME
    header = lines[0][1][named:] if lines else []
    rows = lines[1:]
    if not header or not rows:
        what = "scenarios" if header else "paths"
        raise InputError(Finding("scenario", f"the table has no {what}", file, fix=_FIX))
    return ScenarioTable(
        file=file,
        header=tuple(header),
        lines=tuple(number for number, _ in rows),
        names=tuple(row[0] for _, row in rows) if named else (),
        rows=tuple(tuple(row[named:]) for _, row in rows),
    )


def _numbered(path: Path, file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a file with the line each begins in."""
    what = "table of scenarios"
    try:
        regular(path, most_bytes=_MOST_BYTES, what=what, missing=f"no such {what}")
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader, line, cells = csv.reader(stream, strict=True), 1, 0
            for row in reader:
                cells += max(1, len(row))
                if cells > _MOST_CELLS:
                    message = f"the {what} has more than {_MOST_CELLS:,} cells"
                    raise InputError(Finding("too-large", message, file, fix="give less of it"))
                yield line, row
                line = reader.line_num + 1
    except InputError as error:
        raise InputError([replace(finding, file=file) for finding in error.findings]) from None
    except OSError as error:
        message = f"cannot read the {what}: {(error.strerror or 'no file').lower()}"
        raise InputError(Finding("unreadable", message, file)) from None
    except ValueError:
        raise InputError(Finding("not-text", f"a {what} is CSV in UTF-8", file)) from None
    except csv.Error as error:
        message = f"not readable as CSV: {error}"
        raise InputError(Finding("csv", message, file, reader.line_num)) from None


class Rows(Axis):
    """Rows of texts: several paths change together."""

    def __init__(
        self,
        variables: Sequence[Variable],
        count: int,
        cells: Callable[[int], Sequence[str]],
        place: Callable[[int], tuple[str, int | None]],
        names: Sequence[str] = (),
    ) -> None:
        """Take rows in their order.

        Args:
            cells: gives the texts of a row, empty where a value is as it stands.
            place: gives the file and line of a row, for messages.
            names: what the rows are called, if they are.

        Raises:
            InputError: all of them are refused.
        """
        self._cells, self._place, self._names = cells, place, names
        inputs = []
        for column, variable in enumerate(variables):
            texts = self._column(column, count)
            inputs.append(Input(variable.path, variable.choose_display(texts)))
        super().__init__(inputs, variables, count)
        if all(self._read(row)[1] for row in range(count)):
            first = range(min(count, _MOST_TOLD))
            raise InputError([fault for row in first for fault in self._read(row)[1]])

    def _column(self, column: int, count: int) -> Iterator[str]:
        for row in range(count):
            cells = self._cells(row)
            if column < len(cells) and cells[column]:
                yield cells[column]

    def _read(self, row: int) -> tuple[list[Reading | None], list[Finding]]:
        """Return what a row says, None for cells that are empty, and what is wrong with it."""
        (file, line), texts = self._place(row), self._cells(row)
        if len(texts) != len(self.variables):
            message = f"expected {len(self.variables)} values, found {len(texts)}"
            fix = "give each path a value, or leave its place empty between commas"
            return [], [Finding("scenario", message, file, line, fix=fix)]
        pairs = list(zip(self.variables, texts, strict=True))
        readings = [variable.read(text) if text else None for variable, text in pairs]
        faults = [
            replace(fault, file=file, line=line, path=variable.path)
            for variable, reading in zip(self.variables, readings, strict=True)
            for fault in (reading.faults if reading is not None else ())
        ]
        return readings, faults

    def _point(self, index: int) -> Point:
        name = self._names[index] if self._names else ""
        readings, faults = self._read(index)
        if not readings:
            return Point((), (None,) * len(self.variables), name, join_faults(faults))
        cells: list[Cell] = []
        changes: list[Change] = []
        parts = zip(self.variables, readings, self.inputs, strict=True)
        for variable, reading, column in parts:
            if reading is None:
                cells.append(variable.standing(column.display))
            else:
                cells.append(variable.cell(reading, column.display))
                changes += reading.changes
        return Point(() if faults else tuple(changes), tuple(cells), name, join_faults(faults))


def of_table(inputs: Inputs, table: ScenarioTable) -> Rows:
    """Return the axis of a table.

    Raises:
        InputError: a path leads nowhere, or every row is refused.
    """
    variables = []
    for path in table.header:
        try:
            variables.append(Variable(inputs, path))
        except NoPlaceError as error:
            fix = error.fix
            if ";" in path:
                fix = "separate columns with commas"
            elif path == NAME:
                fix = "put the column of names first"
            finding = Finding("vary", str(error), table.file, 1, fix=fix)
            raise InputError(finding) from None

    def place(row: int) -> tuple[str, int]:
        return table.file, table.lines[row]

    return Rows(variables, len(table.rows), table.rows.__getitem__, place, table.names)
