"""The charts of the sheet ``Alternatives``; they read the cells of its tables."""

from __future__ import annotations

from typing import Any

from planner.outputs.workbook.sensitivity.charts import (
    FONT,
    GRID,
    SOLID,
    STRIPED,
    TITLE_FONT,
    add_bar_series,
    axis,
)
from planner.outputs.workbook.sensitivity.page import GridPage

ROWS = 20
"""Rows that the charts take."""

_ROW_PIXELS = 20
# A label of what is less than the plan's would stand on the names to its left.
_GAINS = "+#,##0.00;;"
_GREY_AXIS = {"color": "#6B6B6B"}


def add_power_chart(
    page: GridPage, first: int, last: int, column: int, at: tuple[int, int]
) -> None:
    """Draw the power of storage by rule.

    Args:
        page: the sheet.
        first: row of the first sizing.
        last: row of the last.
        column: the column of kW.
        at: row and column of the chart's corner.
    """
    chart = page.book.workbook.add_chart({"type": "bar"})
    add_bar_series(page, chart, "Storage power", (first, last, column), SOLID, "#,##0.0")
    title = "IT power of the storage, by what sizes it"
    _finish(page, chart, title, "Storage power, kW", at, 580)
    chart.set_legend({"none": True})


def add_gain_chart(
    page: GridPage, first: int, last: int, columns: tuple[int, int], at: tuple[int, int]
) -> None:
    """Draw what the additional bandwidth adds next to what its power would feed.

    Args:
        page: the sheet.
        first: row of the first sizing.
        last: row of the last.
        columns: useful GPUs added, and GPUs that the power would feed.
        at: row and column of the chart's corner.
    """
    chart = page.book.workbook.add_chart({"type": "bar"})
    for name, column, look in (
        ("useful GPUs that the bandwidth adds", columns[0], SOLID),
        ("GPUs that its power would feed", columns[1], STRIPED),
    ):
        add_bar_series(page, chart, name, (first, last, column), look, _GAINS)
    title = "What additional storage adds, and what its power would feed"
    _finish(page, chart, title, "GPUs, against the plan", at, 720)
    chart.set_legend({"position": "bottom", "font": FONT})


def _finish(
    page: GridPage, chart: Any, title: str, across: str, at: tuple[int, int], width: int
) -> None:
    chart.set_title({"name": title, "name_font": TITLE_FONT})
    chart.set_x_axis(
        axis(across, num_format="General", major_gridlines=GRID, label_position="high")
    )
    chart.set_y_axis(axis("", reverse=True, label_position="low", line=_GREY_AXIS))
    chart.set_size({"width": width, "height": (ROWS - 1) * _ROW_PIXELS})
    chart.set_chartarea({"border": {"color": "#D9D9D9"}})
    page.sheet.insert_chart(*at, chart, {"x_offset": 4, "y_offset": 4})
