"""A sweep over a grid of two numbers: a map of the best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.outputs.charts.amounts import plain, short, suited
from planner.outputs.charts.bound import proven
from planner.outputs.charts.model import Axis, HeatMap, Mark, Panel
from planner.outputs.charts.table import Table
from planner.outputs.comparison_words import counted
from planner.outputs.scales import scale
from planner.outputs.sensitivity_words import amount as objective
from planner.outputs.sensitivity_words import goal
from planner.schema.sensitivity import Column

_MOST_A_SIDE, _MOST_CELLS = 200, 20_000
_FULL = 0.5
_MOST_TICKS = 8
_FEW_ACROSS, _FEW_UP = 9, 14


def is_grid(table: Table, inputs: Sequence[Column]) -> bool:
    """Return whether two inputs are numbers whose pairs fill most of a grid."""
    if not all(table.is_numeric(column) for column in inputs):
        return False
    across, up = (set(table.numbers(column.name)) for column in inputs)
    cells = len(across) * len(up)
    if max(len(across), len(up)) > _MOST_A_SIDE or cells > _MOST_CELLS:
        return False
    return table.length >= _FULL * cells


def heat_map(table: Table, inputs: Sequence[Column]) -> tuple[Panel, str]:
    """Return the panel of a sweep over two numbers, and what is to be said of it."""
    study = table.sweep
    wide, high = inputs
    xs, ys = (sorted({value for value in table.numbers(column.name) if value is not None})
              for column in inputs)  # fmt: skip
    found = table.numbers("objective")
    unit = suited(found, study.unit)
    row_of = _places(table, inputs, xs, ys)
    best = table.best_first()[0]
    cells = [[row_of.get((column, row)) for column in range(len(xs))] for row in range(len(ys))]
    values = [[None if row is None or (value := found[row]) is None else value / unit.size
               for row in line] for line in cells]  # fmt: skip
    few = len(xs) <= _FEW_ACROSS and len(ys) <= _FEW_UP
    texts = [[_text(row, value, row == best) if few else ""
              for row, value in zip(*both, strict=True)]
             for both in zip(cells, values, strict=True)]  # fmt: skip
    hovers = [["not asked" if row is None else table.hover(row, inputs) for row in line]
              for line in cells]  # fmt: skip
    panel = Panel(
        _axis(wide, xs),
        _axis(high, ys),
        (HeatMap(goal(study), unit.unit, _frozen(values), _frozen(texts), _frozen(hovers)),),
        marks=() if few else (_star(row_of, best, table.hover(best, inputs)),),
    )
    where = " and ".join(
        f"{short(column.label, 40)} = {table.said(column, best)}" for column in inputs
    )
    return panel, _words(table, where, objective(study, found[best] or 0.0), few)


def _text(row: int | None, value: float | None, is_best: bool) -> str:
    if row is None:
        return ""
    return "no plan" if value is None else f"{'★ ' if is_best else ''}{plain(value)}"


def _star(row_of: dict[tuple[int, int], int], best: int, hover: str) -> Mark:
    x, y = next(place for place, row in row_of.items() if row == best)
    return Mark("", float(x), float(y), "star", hover=f"Best\n{hover}")


def _words(table: Table, where: str, value: str, few: bool) -> str:
    parts = [f"{counted(table.length, 'scenario')}.", proven(table.gaps()),
             f"The star is the best: {value} at {where}."]  # fmt: skip
    without = sum(value is None for value in table.numbers("objective"))
    if without:
        cells = "say so" if few else "are crossed out"
        parts.append(f"{counted(without, 'scenario')} without a plan {cells}.")
    return " ".join(parts)


def _places(
    table: Table, inputs: Sequence[Column], xs: Sequence[float], ys: Sequence[float]
) -> dict[tuple[int, int], int]:
    """Return the first row of each cell."""
    across, up = ({value: place for place, value in enumerate(values)} for values in (xs, ys))
    wide, high = (table.numbers(column.name) for column in inputs)
    found: dict[tuple[int, int], int] = {}
    for row, (x, y) in enumerate(zip(wide, high, strict=True)):
        if x is not None and y is not None:
            found.setdefault((across[x], up[y]), row)
    return found


def _axis(column: Column, values: Sequence[float]) -> Axis:
    step = max(1, -(-len(values) // _MOST_TICKS))
    written = scale(values, column.unit)
    places = range(0, len(values), step)
    ticks = tuple((float(place), written.text(values[place])) for place in places)
    return Axis(column.label, written.unit, ticks=ticks)


def _frozen(table: Sequence[Sequence[Any]]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(row) for row in table)
