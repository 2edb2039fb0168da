"""The sheets ``Frontier storage``, ``Frontier cost`` and ``Frontier power``: curve and points."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from planner.figures import FIGURES
from planner.outputs.frontier_text import across, heading, knee, marks, rules, up
from planner.outputs.sensitivity_words import as_it_stands, named, sentence, units
from planner.outputs.words import Scale
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import INTEGER
from planner.outputs.workbook.functions import Scalar
from planner.outputs.workbook.sensitivity.charts import FONT, GREY, NAVY, ORANGE
from planner.outputs.workbook.studies import Sheet
from planner.outputs.workbook.studies.stack import (
    RECORD,
    Cells,
    Stack,
    beginning,
    caption,
    figures,
    headed,
    legend,
    number_format,
    write_over,
)
from planner.schema.sensitivity import Frontier, FrontierPoint

CHART_ROWS = 27
"""Rows that the chart takes."""

_CHART_PX = 1240
_X, _Y, _BOUND = 2, 3, 4
"""Columns of the table that are drawn."""


def add_curve(page: Stack, study: Frontier, rows: tuple[int, int, int | None], at: int) -> None:
    """Draw the curve.

    Args:
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
    title = heading(study)
    page.chart(chart, title, (at, CHART_ROWS), _CHART_PX)


def _add_rules(page: Stack, study: Frontier, chart: Any, first: int) -> None:
    """Add the places of the rules for storage with their names, those of one place together."""
    names: dict[tuple[float | None, float | None], list[str]] = {}
    for mark in study.marks:
        names.setdefault((mark.x, mark.y), []).append(mark.label)
    labels: list[dict[str, Any]] = []
    for mark in study.marks:
        rules = [] if mark.x is None else names.pop((mark.x, mark.y), [])
        labels.append({"value": caption(", ".join(rules))} if rules else {"delete": True})
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


SHEETS = {"storage": "Frontier storage", "cost": "Frontier cost", "power": "Frontier power"}
"""The sheet of each frontier, by what work is set against."""

_AXES = 6
"""Columns of the two axes: places, values, the proof, and where a plan stays the best."""

_FROZEN = 2
"""Rows that stay in view: the title and what the workbook is about."""


@dataclass(frozen=True)
class _Column:
    title: str
    width: float
    unit: str
    read: Callable[[FrontierPoint], Scalar]
    number: str = ""


def sheets(study: Frontier) -> dict[str, Sheet]:
    """Return what adds each sheet, by its name."""
    return {SHEETS[study.x_name]: partial(add, study=study)} if study.points else {}


def _figure(name: str, width: float, read: Callable[[FrontierPoint], Scalar]) -> _Column:
    figure = FIGURES[name]
    return _Column(figure.label, width, figure.unit, read)


def add(book: Book, study: Frontier) -> None:
    """Add the sheet of a frontier."""
    columns = _columns(study)
    widths = [7.0, 11.0, *(column.width for column in columns)]
    title = heading(study)
    page = Stack(book, SHEETS[study.x_name], title, widths)
    how, *more = rules(study)
    page.introduction([f"{named(study)}. {how}", *more, RECORD])
    page.heading("What it shows")
    page.sentences([study.message or "", knee(study), sentence(as_it_stands(study))])
    if study.points:
        page.row += 1
        chart_at = page.reserve(CHART_ROWS)
        first = _table(page, study, columns)
        last = page.row - 1
        ruled = _rules(page, study)
        add_curve(page, study, (first, last, ruled), chart_at)
    page.finish_stack((_FROZEN, 2))


def _columns(study: Frontier) -> list[_Column]:
    """Return the columns after point and mark; what the axes show stands there only once."""
    x, y = study.x_unit, study.y_unit
    at, worth = _exact(study.x_unit, across(study)), _exact(y, up(study))
    columns = [
        _Column(study.x_label, 15, x, lambda p: p.x, at),
        _Column(study.y_label, 13, y, lambda p: p.y, worth),
        _Column("no plan passes", 13, y, lambda p: p.bound, worth),
        _Column("gap", 9, "", lambda p: p.gap, "0.0000%"),
        _Column("best from", 14, x, lambda p: p.from_x, at),
        _Column("best to", 14, x, lambda p: "no end" if p.to_x is None else p.to_x, at),
        _Column("GPU systems and storage", 54, "", lambda p: units(p.counts, len(p.counts))),
        _Column("GPU system", 22, "", lambda p: p.gpu_type),
        _Column("file system", 18, "", lambda p: p.storage_family),
        _figure("gpus_used", 10, lambda p: p.gpus_in_use),
        _figure("goodput", 10, lambda p: p.goodput),
        _figure("useful_gpus", 11, lambda p: p.useful_gpus),
        _figure("useful_pflops", 11, lambda p: p.useful_pflops),
        _figure("capex_usd", 15, lambda p: p.capex_usd),
        _figure("facility_power_kw", 11, lambda p: p.facility_power_kw),
        _figure("delivered_write_gb_per_s", 11, lambda p: p.write_gb_per_s),
        _figure("interval_s", 11, lambda p: p.interval_s),
        _figure("overlap", 10, lambda p: p.overlap),
        _Column("binding limits", 34, "", lambda p: ", ".join(p.binding)),
    ]
    axes, more = columns[:_AXES], columns[_AXES:]
    known = [c for c in more if any(c.read(point) not in (None, 0, "") for point in study.points)]
    return [*axes, *(each for each in known if each.title not in (study.x_label, study.y_label))]


def _exact(unit: str, scale: Scale) -> str:
    """Return the number format of an axis: as many decimals as tell its figures apart."""
    if unit in ("USD", "USD/year"):
        return INTEGER
    return f"#,##0.{'0' * scale.digits}" if scale.digits else INTEGER


def _table(page: Stack, study: Frontier, columns: list[_Column]) -> int:
    """Write the points with a filter over their heads, knee and best marked; return the first."""
    cells = [[column.read(point) for point in study.points] for column in columns]
    numbers = [
        column.number or number_format(column.unit, values)
        for column, values in zip(columns, cells, strict=True)
    ]
    heads = ["Point", "", *(headed(column.title, column.unit) for column in columns)]
    rows: Iterator[Cells] = (
        [(at + 1, "0"), marks(study, at), *zip(row, numbers, strict=True)]
        for at, row in enumerate(zip(*cells, strict=True))
    )
    return page.table(heads, rows, [at for at in (study.knee, study.best) if at is not None])


def _rules(page: Stack, study: Frontier) -> int | None:
    """Write where the rules for storage land, under the axes of the table; return the first row."""
    if not study.marks:
        return None
    page.heading("By a rule for storage: the best plan, with the least storage that it allows")
    x_number, y_number = _exact(study.x_unit, across(study)), _exact(study.y_unit, up(study))
    first = page.row
    for mark in study.marks:
        axes = ((mark.x, x_number), (mark.y, y_number), (mark.bound, y_number))
        at = page.line(["", "", *axes])
        write_over(page, at, 0, 1, mark.label, page.widths[0] + page.widths[1])
        if mark.x is None:
            text = f"no plan: {mark.reason}" if mark.reason else "no plan"
            write_over(page, at, _AXES, page.last, text, sum(page.widths[_AXES:]))
    return first
