"""The charts of the sheet ``Sweep``: the objective over an input, its bound, lines of a matrix."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from planner.outputs.comparison_words import shown
from planner.outputs.scales import scale
from planner.outputs.sensitivity_words import goal
from planner.outputs.sweep_rows import Rows, cell, is_number, known
from planner.outputs.workbook.sensitivity.charts import (
    FONT,
    GREY,
    NAVY,
    ORANGE,
    SOLID,
)
from planner.outputs.workbook.studies.axes import beginning, caption, figures
from planner.outputs.workbook.studies.stack import Stack, legend
from planner.outputs.workbook.studies.sweep_matrix import Matrix
from planner.outputs.workbook.studies.sweep_table import Table
from planner.schema.sensitivity import Column, Sweep

CHART_ROWS = 25
"""Rows that a chart takes."""

_CHART_PX = 1180
_MARKED = 40
"""Rows up to which each is marked by a dot."""

_LOOKS = (
    (NAVY, "solid"), (ORANGE, "solid"), ("#00703C", "solid"), (GREY, "solid"),
    (NAVY, "dash"), (ORANGE, "dash"), ("#00703C", "dash"), (GREY, "dash"),
)  # fmt: skip


def add_curve(page: Stack, study: Sweep, over: Column, table: Table, rows: Rows, at: int) -> None:
    """Draw the objective and the bound that no plan passes over one input.

    Args:
        page: the sheet.
        study: what the columns are.
        over: the input, which has numbers alone.
        table: where its values are.
        rows: the table, by column.
        at: where the chart begins.
    """
    across = [float(value) for value in rows[over.name][: table.rows]]
    worth = [cell(rows, "objective", place) for place in range(table.rows)]
    if not any(map(is_number, worth)):
        return
    ordered = all(one <= other for one, other in pairwise(across))
    chart = page.book.workbook.add_chart({"type": "scatter", "subtype": "straight"})
    for name, column, look in (
        (goal(study), "objective", {"color": NAVY, "width": 2.0}),
        ("no plan passes", "bound", {"color": ORANGE, "width": 1.25, "dash_type": "dash"}),
    ):
        if column in table.columns:
            dotted = not ordered or (column == "objective" and table.rows <= _MARKED)
            chart.add_series(
                {
                    "name": caption(name),
                    "categories": table.range(over.name),
                    "values": table.range(column),
                    "line": look if ordered else {"none": True},
                    "marker": _dot(str(look["color"])) if dotted else {"type": "none"},
                }
            )
    _finish(study, chart, figures(over.label, over.unit, across, **beginning(across)), worth)
    legend(chart)
    title = f"Best {goal(study)} over {over.label}"
    page.chart(chart, title, (at, CHART_ROWS), _CHART_PX)


def add_bars(page: Stack, study: Sweep, over: Column, table: Table, rows: Rows, at: int) -> None:
    """Draw the objective of each choice of an input.

    Args:
        page: the sheet.
        study: what the columns are.
        over: the input, which is a choice.
        table: where its values are.
        rows: the table, by column.
        at: where the chart begins.
    """
    if "objective" not in table.columns:
        return
    chart = page.book.workbook.add_chart({"type": "bar"})
    chart.add_series(
        {
            "name": caption(goal(study)),
            "categories": table.range(over.name),
            "values": table.range("objective"),
            "gap": 45,
            "data_labels": {"value": True, "font": FONT, "num_format": "#,##0.0"},
            **SOLID,
        }
    )
    there = [value for value in map(known, rows["objective"]) if is_number(value)]
    chart.set_x_axis(figures(goal(study), study.unit, there, label_position="high"))
    chart.set_y_axis({"reverse": True, "label_position": "low", "num_font": FONT})
    chart.set_legend({"none": True})
    page.chart(chart, f"Best {goal(study)} by {over.label}", (at, CHART_ROWS), _CHART_PX)


def add_lines(page: Stack, study: Sweep, found: Matrix, top: int, at: int) -> None:
    """Draw the columns of a matrix as lines over the input that goes down.

    Args:
        page: the sheet.
        study: what the columns are.
        found: the matrix.
        top: the row of its heads.
        at: where the chart begins.
    """
    down, across = found.inputs
    last = top + len(found.down)
    chart = page.book.workbook.add_chart({"type": "scatter", "subtype": "straight_with_markers"})
    for column, (value, (color, dash)) in enumerate(
        zip(found.across, _LOOKS, strict=False), start=1
    ):
        chart.add_series(
            {
                "name": caption(_value(across, value, found)),
                "categories": [page.name, top + 1, 0, last, 0],
                "values": [page.name, top + 1, column, last, column],
                "line": {"color": color, "width": 1.75, "dash_type": dash},
                "marker": _dot(color),
            }
        )
    worth = [cell(found.rows, "objective", place) for place in found.places.values()]
    values = [float(value) for value in found.down]
    _finish(study, chart, figures(down.label, down.unit, values, **beginning(values)), worth)
    legend(chart)
    title = f"Best {goal(study)} over {down.label}, lines: {across.label}"
    page.chart(chart, title, (at, CHART_ROWS), _CHART_PX)


def _value(column: Column, value: Any, found: Matrix) -> str:
    """Return a value of the input across, with its unit."""
    if not all(map(is_number, found.across)):
        return shown(str(value), "")
    return scale([float(each) for each in found.across], column.unit).with_unit(float(value))


def _dot(color: str) -> dict[str, Any]:
    return {"type": "circle", "size": 5, "fill": {"color": color}, "border": {"color": color}}


def _finish(study: Sweep, chart: Any, across: dict[str, Any], worth: list[Any]) -> None:
    """Set the axes; where there is no plan, there is no line."""
    there = [float(value) for value in worth if is_number(value)]
    chart.set_x_axis({**across, "label_position": "low"})
    up = figures(goal(study), study.unit, there, label_position="low", **beginning(there))
    chart.set_y_axis(up)
    chart.show_blanks_as("gap")
