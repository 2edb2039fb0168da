"""The charts of the sheet ``Uncertainty``: spread, broken limits, what explains the spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from planner.outputs.workbook.book import Scalar
from planner.outputs.workbook.sensitivity.charts import (
    FONT,
    GREY,
    GRID,
    NAVY,
    ORANGE,
    SOLID,
    STRIPED,
    add_bar_series,
    axis,
)
from planner.outputs.workbook.studies.stack import Stack, legend
from planner.schema.sensitivity import Percentiles

CHART_ROWS = 17
"""Rows that each chart takes."""

_CHART_PX = 1080
_PALE = "#B7C9E2"
_PARTS = (
    ("5 % to 25 %", {"fill": {"color": _PALE}, "border": {"color": NAVY}}),
    ("25 % to median", SOLID),
    ("median to 75 %", {"fill": {"color": NAVY}, "border": {"color": "#FFFFFF"}}),
    ("75 % to 95 %", {"fill": {"color": _PALE}, "border": {"color": NAVY}}),
)


def spread(each: Percentiles) -> tuple[float, ...] | None:
    """Return an outcome's percentiles as shares of its median, None where that says nothing."""
    marks = (each.p5, each.p25, each.p50, each.p75, each.p95)
    if each.p50 <= 0 or each.p5 < 0 or not all(math.isfinite(mark) for mark in marks):
        return None
    return tuple(mark / each.p50 for mark in marks)


def add_spread(page: Stack, shown: Sequence[tuple[int, Percentiles]], at: int) -> None:
    """Draw bars from the 5th to the 95th percentile of each outcome about its median.

    Args:
        page: the sheet.
        shown: row of each outcome in the table, and the outcome.
        at: where the chart begins.
    """
    first, left = shown[0][0], page.workings
    titles = ("Outcome, against its median", "5 %", *(name for name, _ in _PARTS))
    shares = [spread(each) or () for _, each in shown]
    for place, ((_, each), marks) in enumerate(zip(shown, shares, strict=True)):
        steps = [high - low for low, high in pairwise(marks)]
        values: list[Scalar] = [each.label, marks[0], *steps]
        page.beside(first + place, titles if place == 0 else (), values)
    last = first + len(shown) - 1
    chart = page.book.workbook.add_chart({"type": "bar", "subtype": "stacked"})
    hidden: dict[str, Any] = {"fill": {"none": True}, "border": {"none": True}}
    for column, (name, look) in enumerate((("", hidden), *_PARTS), start=1):
        chart.add_series(
            {
                "name": name or "up to 5 %",
                "categories": [page.name, first, left, last, left],
                "values": [page.name, first, left + column, last, left + column],
                "gap": 60,
                **look,
            }
        )
    low, high = min(m[0] for m in shares), max(m[-1] for m in shares)
    step = max(0.01, 10.0 ** math.floor(math.log10(max(high - low, 1e-3))))
    ends = {"min": step * math.floor(low / step), "max": step * math.ceil(high / step)}
    chart.set_x_axis(axis("Share of the median", num_format="0%", major_gridlines=GRID, **ends))
    chart.set_y_axis({"reverse": True, "label_position": "low", "num_font": FONT,
                      "crossing": "max", "line": {"color": GREY}})  # fmt: skip
    chart.set_legend({"none": True})
    title = (
        "How far outcomes spread about their median: nine in ten scenarios, the middle half dark"
    )
    page.chart(chart, title, (at, CHART_ROWS), _CHART_PX)


def add_breaks(page: Stack, first: int, last: int, at: int) -> None:
    """Draw how often limits are broken.

    Args:
        page: the sheet.
        first: row of the first limit that is.
        last: row of the last.
        at: where the chart begins.
    """
    chart = page.book.workbook.add_chart({"type": "bar"})
    add_bar_series(page, chart, "Share of the scenarios", (first, last, 3), STRIPED, "0.0%")
    _finish(chart, "Share of the scenarios", "0%")
    chart.set_legend({"none": True})
    title = "How often the nominal plan breaks each limit, share of the scenarios"
    page.chart(chart, title, (at, CHART_ROWS), _CHART_PX)


def add_indices(page: Stack, first: int, last: int, at: int) -> None:
    """Draw first-order and total indices with their confidence.

    Args:
        page: the sheet.
        first: row of the first input.
        last: row of the last.
        at: where the chart begins.
    """
    chart = page.book.workbook.add_chart({"type": "bar"})
    for name, column, look in (("alone", 2, SOLID), ("in all", 4, STRIPED)):
        sure = page.area(first, last, column + 1)
        chart.add_series(
            {
                "name": name,
                "categories": [page.name, first, 0, last, 0],
                "values": [page.name, first, column, last, column],
                "gap": 60,
                "y_error_bars": {
                    "type": "custom", "plus_values": sure, "minus_values": sure,
                    "line": {"color": ORANGE if look is SOLID else NAVY, "width": 1.25},
                },
                **look,
            }
        )  # fmt: skip
    _finish(chart, "Share of the variance", "0.0")
    legend(chart)
    title = "Share of the variance that each input explains, with 95 % confidence"
    page.chart(chart, title, (at, CHART_ROWS), _CHART_PX)


def _finish(chart: Any, across: str, number: str) -> None:
    chart.set_x_axis(
        axis(across, num_format=number, major_gridlines=GRID, label_position="high", min=0)
    )
    chart.set_y_axis({"reverse": True, "label_position": "low", "num_font": FONT,
                      "line": {"color": GREY}})  # fmt: skip
