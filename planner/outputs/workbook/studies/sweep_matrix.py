"""The best objective over two inputs as a matrix, coloured by what is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from planner.outputs.sensitivity_words import STATUS, goal
from planner.outputs.sweep_rows import Rows, cell, length, numeric
from planner.outputs.workbook.studies.grid import number_format, put
from planner.outputs.workbook.studies.stack import Stack, headed
from planner.outputs.workbook.studies.sweep_table import format_of
from planner.schema.sensitivity import Column, Sweep

MOST_ACROSS, MOST_DOWN = 60, 400
"""Values of the inputs up to which a matrix can be read."""

_LEAST_FILLED = 0.5
_MOST_LINES, _LEAST_POINTS = 8, 3
_WORST, _MIDDLE, _BEST = "#F4C9A8", "#FFFFFF", "#8FB4DC"


@dataclass(frozen=True)
class Matrix:
    """Two inputs and their values, one down and one across, and the rows where they meet."""

    rows: Rows
    inputs: tuple[Column, Column]
    down: tuple[Any, ...]
    across: tuple[Any, ...]
    places: dict[tuple[Any, Any], int]

    def heading(self, study: Sweep) -> str:
        """Return what the matrix shows."""
        down, across = (column.label for column in self.inputs)
        return f"{headed(goal(study), study.unit)}: down {down}, across {across}"

    def legend(self, study: Sweep) -> str:
        """Return what the colours mean."""
        better = "more" if study.sense == "maximize" else "less"
        return f"Blue is better ({better}), orange is worse; a word says why there is no value."

    def as_lines(self) -> bool:
        """Return whether the matrix can be drawn as a few lines over an input with numbers."""
        few = len(self.across) <= _MOST_LINES and len(self.down) >= _LEAST_POINTS
        return few and numeric(self.rows, self.inputs[0])

    def write(self, page: Stack, study: Sweep) -> int:
        """Write the matrix; return the row of its heads, whose values stand under them."""
        down, across = self.inputs
        top = page.row
        page.text(top, 0, f"{headed(*_named(down))} \\ {headed(*_named(across))}", "header")
        page.sheet.set_row(top, 32)
        style = page.book.formats.get("header", format_of(across, self.across))
        for place, value in enumerate(self.across, start=1):
            if isinstance(value, str):
                page.text(top, place, value, "header")
            else:
                page.sheet.write_number(top, place, value, style)
        numbers = (
            format_of(down, self.down),
            number_format(study.unit, [self._value(at) for at in self.places.values()]),
        )
        for row, value in enumerate(self.down, start=top + 1):
            self._row(page, row, value, numbers)
        page.row = top + 1 + len(self.down)
        self._colour(page, study, top)
        return top

    def _value(self, place: int) -> Any:
        return cell(self.rows, "objective", place)

    def _row(self, page: Stack, row: int, value: Any, numbers: tuple[str, str]) -> None:
        put(page, row, 0, value, numbers[0])
        for column, other in enumerate(self.across, start=1):
            place = self.places.get((value, other))
            if place is None:
                page.number(row, column, None)
            elif self._value(place) is None:
                status = str(cell(self.rows, "status", place))
                page.text(row, column, STATUS.get(status, status), "fixed", "right")
            else:
                page.number(row, column, self._value(place), numbers[1])

    def _colour(self, page: Stack, study: Sweep, top: int) -> None:
        low, high = (_WORST, _BEST) if study.sense == "maximize" else (_BEST, _WORST)
        rule = {"type": "3_color_scale", "min_color": low, "mid_color": _MIDDLE, "max_color": high}
        last = top + len(self.down)
        page.sheet.conditional_format(top + 1, 1, last, len(self.across), rule)


def _named(column: Column) -> tuple[str, str]:
    return column.label, column.unit


def matrix(study: Sweep, rows: Rows, inputs: Sequence[Column]) -> Matrix | None:
    """Return the matrix of two inputs, the one with fewer values across.

    None where there are not two, where they have too many values for a matrix to be read, where
    they hardly ever meet, or where they meet more than once.
    """
    if len(inputs) != 2:
        return None
    values = {c.name: _values(rows, c) for c in inputs}
    across, down = sorted(inputs, key=lambda c: len(values[c.name]))
    sizes = len(values[across.name]), len(values[down.name])
    if sizes[0] > MOST_ACROSS or sizes[1] > MOST_DOWN:
        return None
    places = {
        (cell(rows, down.name, at), cell(rows, across.name, at)): at for at in range(length(rows))
    }
    if len(places) < length(rows) or len(places) < _LEAST_FILLED * sizes[0] * sizes[1]:
        return None
    return Matrix(rows, (down, across), values[down.name], values[across.name], places)


def _values(rows: Rows, column: Column) -> tuple[Any, ...]:
    """Return the values of an input, numbers in their order."""
    distinct = dict.fromkeys(cell(rows, column.name, at) for at in range(length(rows)))
    return tuple(sorted(distinct)) if numeric(rows, column) else tuple(distinct)
