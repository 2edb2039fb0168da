"""The chart of a frontier: the curve, its bound, knee and best by name, where rules land."""

from __future__ import annotations

import math
from typing import Any

from planner.outputs.frontier_words import across
from planner.outputs.workbook.sensitivity.charts import FONT, GREY, NAVY, ORANGE
from planner.outputs.workbook.studies.axes import beginning, caption, figures
from planner.outputs.workbook.studies.stack import Stack, legend
from planner.schema.sensitivity import Frontier

CHART_ROWS = 27
"""Rows that the chart takes."""

_CHART_PX = 1240
_X, _Y, _BOUND = 2, 3, 4
"""Columns of the table that are drawn."""


def add_curve(page: Stack, study: Frontier, rows: tuple[int, int, int | None], at: int) -> None:
    """Draw the curve.

    Args:
        page: the sheet.
        study: what to draw.
        rows: of the first point, of the last one, and of the first rule for storage, if any.
        at: where the chart begins.
    """
    first, last, ruled = rows
    chart = page.book.workbook.add_chart({"type": "scatter", "subtype": "straight_with_markers"})
    line = {"color": NAVY, "width": 1.75}
    _series(page, chart, "Best plans", (first, last, _Y), line, _look("circle", 5, NAVY))
    _series(page, chart, "No plan passes", (first, last, _BOUND),
            {"color": GREY, "width": 1, "dash_type": "dash"}, {"type": "none"})  # fmt: skip
    for place, name, look, side in _named_points(study):
        row = first + place
        label = f"{name}: {across(study).with_unit(study.points[place].x)}"
        _series(page, chart, label, (row, row, _Y), {"none": True}, look, side)
    if ruled is not None:
        _add_rules(page, study, chart, ruled)
    xs = [point.x for point in study.points]
    wide = study.x_name == "storage" and min(xs) > 0
    more = {"log_base": 10, "min": 10.0 ** math.floor(math.log10(min(xs)))} if wide else {}
    chart.set_x_axis(figures(study.x_label, study.x_unit, xs, label_position="low", **more))
    ys = [point.y for point in study.points]
    chart.set_y_axis(
        figures(study.y_label, study.y_unit, ys, label_position="low", **beginning(ys))
    )
    legend(chart)
    title = f"{study.y_label[:1].upper()}{study.y_label[1:]} against {study.x_label}"
    page.chart(chart, title, (at, CHART_ROWS), _CHART_PX)


def _add_rules(page: Stack, study: Frontier, chart: Any, first: int) -> None:
    """Add the places of the rules for storage with their names, those of one place together."""
    names: dict[tuple[float | None, float | None], list[str]] = {}
    for mark in study.marks:
        names.setdefault((mark.x, mark.y), []).append(mark.label)
    labels: list[dict[str, Any]] = []
    for mark in study.marks:
        said = [] if mark.x is None else names.pop((mark.x, mark.y), [])
        labels.append({"value": caption(", ".join(said))} if said else {"delete": True})
    if all(mark.x is None for mark in study.marks):
        return
    chart.add_series(
        {
            "name": "By a rule for storage",
            "categories": [page.name, first, _X, first + len(labels) - 1, _X],
            "values": [page.name, first, _Y, first + len(labels) - 1, _Y],
            "line": {"none": True},
            "marker": _look("triangle", 10, ORANGE),
            "data_labels": {"value": True, "position": "below", "font": FONT, "custom": labels},
        }
    )


def _named_points(study: Frontier) -> list[tuple[int, str, dict[str, Any], str]]:
    """Return knee and best with their looks and where their labels are clear of the curve."""
    knee_look, best_look = _look("diamond", 11, ORANGE), _look("square", 9, NAVY)
    if study.knee is not None and study.knee == study.best:
        return [(study.knee, "Knee and best", knee_look, "above")]
    both = ((study.knee, "Knee", knee_look, "left"), (study.best, "Best", best_look, "above"))
    return [(each[0], *each[1:]) for each in both if each[0] is not None]


def _look(kind: str, size: int, color: str) -> dict[str, Any]:
    return {"type": kind, "size": size, "fill": {"color": color}, "border": {"color": NAVY}}


def _series(
    page: Stack,
    chart: Any,
    name: str,
    cells: tuple[int, int, int],
    line: dict[str, Any],
    marker: dict[str, Any],
    side: str = "",
) -> None:
    """Add a line or a point of the curve; one that has a side says its name there."""
    first, last, column = cells
    series: dict[str, Any] = {
        "name": caption(name),
        "categories": [page.name, first, _X, last, _X],
        "values": [page.name, first, column, last, column],
        "line": line,
        "marker": marker,
    }
    if side:
        font = {**FONT, "bold": True}
        series["data_labels"] = {
            "series_name": True, "value": False, "position": side, "font": font,
        }  # fmt: skip
    chart.add_series(series)
