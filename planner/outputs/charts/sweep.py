"""The picture of a sweep: one input a line, two a map, more a panel each."""

from __future__ import annotations

from collections.abc import Sequence

from planner.outputs.charts.amounts import capital, short
from planner.outputs.charts.model import Chart, HeatMap, Panel
from planner.outputs.charts.sweep_line import line
from planner.outputs.charts.sweep_map import heat_map, is_grid
from planner.outputs.charts.sweep_panels import panels
from planner.outputs.charts.table import Table
from planner.outputs.comparison_words import counted, listed
from planner.outputs.sensitivity_words import ended, goal
from planner.outputs.sweep_rows import Rows
from planner.schema.sensitivity import Column, Sweep

_MOST_NAMED = 3


def sweep(study: Sweep, rows: Rows) -> Chart:
    """Return the chart of a sweep.

    Args:
        study: its record.
        rows: its table, by column.
    """
    table = Table(study, rows)
    inputs = table.inputs() if table.length else []
    title = _title(study, inputs)
    if not any(value is not None for value in table.numbers("objective")):
        return Chart("sweep", title, _nothing(table))
    if not inputs:
        return Chart("sweep", title, "No input differs from row to row.")
    drawn, words = _drawn(table, inputs)
    if table.length < study.rows:
        words = f"The first {table.length:,} of {study.rows:,} scenarios. {words}"
    is_line = not drawn[0].rows and not isinstance(drawn[0].layers[0], HeatMap)
    return Chart("sweep", title, words, drawn, legend=len(drawn) == 1 and is_line)


def _drawn(table: Table, inputs: Sequence[Column]) -> tuple[tuple[Panel, ...], str]:
    if len(inputs) == 1 and table.is_numeric(inputs[0]):
        panel, words = line(table, inputs[0])
        return (panel,), words
    if len(inputs) == 2 and is_grid(table, inputs):
        panel, words = heat_map(table, inputs)
        return (panel,), words
    return panels(table, inputs)


def _title(study: Sweep, inputs: Sequence[Column]) -> str:
    names = [short(column.label, 40) for column in inputs]
    if not names or len(names) > _MOST_NAMED:
        over = f"over {len(names)} inputs" if names else "over scenarios"
    else:
        over = f"by {listed(names)}"
    return f"{capital(goal(study))} {over}"


def _nothing(table: Table) -> str:
    if not table.length:
        return "The table has no rows."
    said = ended(table.sweep.statuses)
    return f"None of {counted(table.length, 'scenario')} has a plan ({said})."
