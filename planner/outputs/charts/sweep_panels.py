"""A sweep over several inputs or over names: a panel for each."""

from __future__ import annotations

from collections.abc import Sequence

from planner.outputs.charts.amounts import drawn, short, suited
from planner.outputs.charts.bound import proven
from planner.outputs.charts.model import Axis, Panel, Points
from planner.outputs.charts.table import Table, spread
from planner.outputs.charts.ticks import is_wide, powers
from planner.outputs.comparison_words import counted
from planner.outputs.scales import Scale
from planner.outputs.sensitivity_words import amount as objective
from planner.outputs.sensitivity_words import goal
from planner.schema.sensitivity import Column

MOST_POINTS = 1_500
MOST_PANELS = 12
MOST_NAMES = 20
_AT, _JITTER = 0.14, 0.18
_STEPS, _SIZE = 5, 4.5


def panels(table: Table, inputs: Sequence[Column]) -> tuple[tuple[Panel, ...], str]:
    """Return a panel for each input with the scenarios in it, and what is to be said of them."""
    found = table.numbers("objective")
    solved = [row for row in range(table.length) if found[row] is not None]
    kept = [solved[place] for place in spread(len(solved), MOST_POINTS)]
    shown = inputs[:MOST_PANELS]
    each = tuple(
        _numbers(table, column, inputs, kept)
        if table.is_numeric(column)
        else _names(table, column, inputs, kept)
        for column in shown
    )
    parts = [f"Each dot is a scenario: {goal(table.sweep)} by each input.", proven(table.gaps())]
    if len(kept) < len(solved):
        parts.append(f"{len(kept):,} of {len(solved):,} scenarios are drawn, spread evenly.")
    if len(solved) < table.length:
        parts.append(f"{counted(table.length - len(solved), 'scenario')} without a plan left out.")
    if len(shown) < len(inputs):
        parts.append(f"{len(shown)} of {len(inputs)} inputs are shown.")
    return each, " ".join(parts)


def _numbers(table: Table, column: Column, inputs: Sequence[Column], kept: Sequence[int]) -> Panel:
    places = [value or 0.0 for value in table.numbers(column.name)]
    x = suited(places, column.unit)
    y, values = _found(table, kept)
    xs = drawn([places[row] for row in kept], x)
    log = is_wide(xs)
    hovers = tuple(table.hover(row, inputs) for row in kept)
    points = Points("a scenario", xs, values, hovers, hollow=True, size=_SIZE)
    axis = Axis(column.label, x.unit, log, powers(xs) if log else ())
    return Panel(axis, Axis(goal(table.sweep), y.unit), (points,), title=column.label)


def _names(table: Table, column: Column, inputs: Sequence[Column], kept: Sequence[int]) -> Panel:
    rows_of: dict[str, list[int]] = {}
    for row in range(table.length):
        rows_of.setdefault(str(table.rows[column.name][row]), []).append(row)
    shown = dict(list(rows_of.items())[:MOST_NAMES])
    places = {row: place for place, rows in enumerate(shown.values()) for row in rows}
    told = [row for row in kept if row in places]
    unit, values = _found(table, told)
    one_each = len(rows_of) == table.length
    aside = 0.0 if one_each else _JITTER / 2
    heights = tuple(places[row] + _AT + aside * (row % _STEPS - 2) for row in told)
    hovers = tuple(table.hover(row, inputs) for row in told)
    points = Points("a scenario", values, heights, hovers, hollow=not one_each, size=_SIZE)
    title = column.label if len(inputs) > 1 else ""
    if len(shown) < len(rows_of):
        title = f"{column.label}, {MOST_NAMES} of {len(rows_of)}"
    rows = tuple(_row(table, name, rows) for name, rows in shown.items())
    return Panel(Axis(goal(table.sweep), unit.unit), Axis(""), (points,), title=title, rows=rows)


def _row(table: Table, name: str, rows: Sequence[int]) -> str:
    """Return a name with what is known of its one scenario, or that none of its has a plan."""
    found = table.numbers("objective")
    said = short(name, 40)
    value = found[rows[0]]
    if len(rows) == 1:
        return (
            f"{said}: {table.status(rows[0]) if value is None else objective(table.sweep, value)}"
        )
    return f"{said}: no plan" if all(found[row] is None for row in rows) else said


def _found(table: Table, rows: Sequence[int]) -> tuple[Scale, tuple[float, ...]]:
    """Return the objective in rows, in the unit of all."""
    found = table.numbers("objective")
    unit = suited(found, table.sweep.unit)
    return unit, drawn([found[row] or 0.0 for row in rows], unit)
