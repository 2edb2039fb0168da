"""The charts of the sheet ``Rules``: what each sizing draws, and what it does to the work."""

from __future__ import annotations

from typing import Any

from planner.outputs.workbook.page import Page
from planner.outputs.workbook.sensitivity.charts import (
    GRID,
    SOLID,
    STRIPED,
    TITLE_FONT,
    add_bar_series,
    axis,
)

ROWS = 17
"""Rows that the charts take."""

_ROW_PIXELS = 20


def add_bars(
    page: Page,
    title: str,
    cells: tuple[int, int, int],
    number: str,
    at: tuple[int, int],
    *,
    change: bool = False,
) -> None:
    """Draw a column of neighbouring rows as bars.

    Args:
        page: the sheet.
        title: what the bars show, with its unit.
        cells: first and last row, and the column; the labels stand in the first column.
        number: number format of the labels at the bars.
        at: row and column of the chart's corner.
        change: whether bars can point either way.
    """
    first, last, column = cells
    chart: Any = page.book.workbook.add_chart({"type": "bar"})
    look = STRIPED if change else SOLID
    add_bar_series(page, chart, title, (first, last, column), look, number)
    chart.set_title({"name": title, "name_font": TITLE_FONT})
    chart.set_x_axis(axis("", num_format=number, major_gridlines=GRID, label_position="high"))
    chart.set_y_axis(axis("", reverse=True, label_position="low"))
    chart.set_legend({"none": True})
    chart.set_size({"width": 620, "height": (ROWS - 1) * _ROW_PIXELS})
    chart.set_chartarea({"border": {"color": "#D9D9D9"}})
    page.sheet.insert_chart(*at, chart, {"x_offset": 4, "y_offset": 6})
