"""A sweep with its rows: names and ranks of its scenarios."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from planner.outputs.charts.words import amount, counted_lines, proof, short
from planner.outputs.sensitivity_words import STATUS, goal
from planner.outputs.sweep_rows import Rows, cell, is_number, known, length, numeric, varied
from planner.outputs.words import counted
from planner.schema.sensitivity import Column, Sweep

_ALSO = ("gpus_in_use", "write_gb_per_s", "capex_usd", "facility_power_kw")
_MOST_INPUTS = 4
_SPREAD = 2_654_435_761


@dataclass(frozen=True)
class Scenarios:
    """A sweep with its rows by column; figures are floats, None where there is none."""

    sweep: Sweep
    rows: Rows
    kept: dict[str, list[float | None]] = field(default_factory=dict, repr=False, compare=False)
    """Columns that were read as numbers."""

    @property
    def length(self) -> int:
        """How many rows there are."""
        return length(self.rows)

    def inputs(self) -> list[Column]:
        """Return the inputs that differ from row to row."""
        return varied(self.sweep, self.rows)

    def numbers(self, name: str) -> list[float | None]:
        """Return a column as numbers, None where there is none."""
        if name not in self.kept:
            cells = self.rows.get(name, (None,) * self.length)
            self.kept[name] = [_number(value) for value in cells]
        return self.kept[name]

    def is_numeric(self, column: Column) -> bool:
        """Return whether every value of a column is a number."""
        return numeric(self.rows, column)

    def found_label(self, column: Column) -> str:
        """Return what a figure that was found is called, apart from an input of the same name."""
        same = any(
            each.label == column.label for each in self.sweep.columns if each.kind == "input"
        )
        return f"{column.label} of the plan" if same else column.label

    def status(self, row: int) -> str:
        """Return how a row ended, in words."""
        text = str(cell(self.rows, "status", row))
        return STATUS.get(text, text)

    def text_of(self, column: Column, row: int) -> str:
        """Return a cell with its unit, as text."""
        value = cell(self.rows, column.name, row)
        if is_number(value):
            return amount(float(value), column.unit)
        return "" if value is None else str(value)

    def hover(self, row: int, inputs: Sequence[Column]) -> str:
        """Return a scenario and its plan in lines."""
        lines = [
            f"{short(column.label, 40)}: {short(self.text_of(column, row), 40)}"
            for column in inputs[:_MOST_INPUTS]
        ]
        if len(inputs) > _MOST_INPUTS:
            lines.append(f"and {counted(len(inputs) - _MOST_INPUTS, 'more input')}")
        value = _number(cell(self.rows, "objective", row))
        if value is None:
            why = str(cell(self.rows, "reason", row) or "")
            return "\n".join([*lines, self.status(row), *([short(why, 60)] if why else [])])
        bound, gap = (_number(cell(self.rows, name, row)) for name in ("bound", "gap"))
        return "\n".join([*lines, *self._plan(row), *proof(self.sweep, value, bound, gap)])

    def _plan(self, row: int) -> list[str]:
        columns = self.sweep.columns
        counts = {
            column.label: _number(cell(self.rows, column.name, row))
            for column in columns
            if column.kind == "count"
        }
        cells = (
            (column, self.text_of(column, row))
            for column in columns
            if column.name in _ALSO and column.label != goal(self.sweep)
        )
        also = [f"{self.found_label(column)}: {text}" for column, text in cells if text]
        return [*(counted_lines(counts) if counts else []), *also]

    def gaps(self) -> list[float | None]:
        """Return the gaps of the rows that have a plan."""
        found = zip(self.numbers("objective"), self.numbers("gap"), strict=True)
        return [gap for value, gap in found if value is not None]

    def best_first(self) -> list[int]:
        """Return the rows, the best objective first, those without a plan last, else in order."""
        values = self.numbers("objective")
        sign = -1.0 if self.sweep.sense == "maximize" else 1.0

        def rank(row: int) -> tuple[bool, float]:
            value = values[row]
            return value is None, 0.0 if value is None else sign * value

        return sorted(range(self.length), key=rank)


def spread(count: int, most: int) -> list[int]:
    """Return at most ``most`` of so many places, spread so that no grid of them is favoured."""
    if count <= most:
        return list(range(count))
    return sorted(sorted(range(count), key=lambda place: place * _SPREAD % 2**32)[:most])


def _number(value: Any) -> float | None:
    if type(value) is float and math.isfinite(value):
        return value  # nearly all are
    there = known(value)
    return float(there) if is_number(there) else None
