"""The table of a sweep: all of a short one, the best scenarios of a long one."""

from __future__ import annotations

from collections.abc import Sequence

from planner.outputs.charts.amounts import gap
from planner.outputs.charts.grid import MOST_ROWS, Cells, Table, figures, words
from planner.outputs.charts.table import Table as SweepTable
from planner.outputs.sensitivity_words import goal
from planner.schema.sensitivity import Column

_MOST_COLUMNS = 12
_ALSO = ("gpus_in_use", "write_gb_per_s", "capex_usd", "facility_power_kw", "goodput")


def sweep_table(table: SweepTable) -> Table:
    """Return what a reader takes in of a sweep."""
    all_there = table.length <= MOST_ROWS
    values = table.numbers("objective")
    best = [row for row in table.best_first()[:MOST_ROWS] if values[row] is not None]
    order = list(range(table.length)) if all_there else best
    found, bounds, gaps = (
        [table.numbers(name)[row] for row in order] for name in ("objective", "bound", "gap")
    )
    better = "more" if table.sweep.sense == "maximize" else "less"
    cells = (
        *(_cells(table, column, order) for column in _columns(table, order)),
        figures(goal(table.sweep), found, table.sweep.unit),
        figures(f"no plan has {better} than", bounds, table.sweep.unit),
        Cells("gap", tuple("" if share is None else gap(share) for share in gaps)),
        words("ended", [table.status(row) for row in order]),
    )
    title, which = ("Scenarios", "") if all_there else ("Best scenarios", "the best")
    return Table(title, cells, table.length, which)


def _columns(table: SweepTable, order: Sequence[int]) -> list[Column]:
    """Return the inputs, what is bought in these rows, and some figures of the plans."""
    columns = table.inputs()
    for column in table.sweep.columns:
        if column.kind == "count":
            numbers = table.numbers(column.name)
            columns += [column] if any(numbers[row] for row in order) else []
    columns += [each for each in table.sweep.columns
                if each.name in _ALSO and each.label != goal(table.sweep)]  # fmt: skip
    return columns[:_MOST_COLUMNS]


def _cells(table: SweepTable, column: Column, order: Sequence[int]) -> Cells:
    given = column.kind == "input"
    head = column.label if given else table.found_label(column)
    if not table.is_figures(column):
        return words(head, [table.said(column, row) for row in order])
    numbers = table.numbers(column.name)
    unit = "" if column.kind == "count" else column.unit
    return figures(head, [numbers[row] for row in order], unit, given=given)
