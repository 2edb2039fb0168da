"""The chart of the sheet ``Power & Cooling``: IT power by section of the bill."""

from __future__ import annotations

from planner.outputs.workbook.page import Page

_GREY, _INK, _BAR = "#D9D9D9", "#1A1A1A", "#4F81BD"
_BAR_HEIGHT, _AROUND_HEIGHT = 26, 110
"""Pixels of a bar, and of title and axes together."""


def height_px(bars: int) -> int:
    """Return how high the chart is."""
    return bars * _BAR_HEIGHT + _AROUND_HEIGHT


def add(page: Page, row: int, cells: tuple[int, int, int, int], width_px: int) -> None:
    """Add the chart.

    Args:
        page: the sheet.
        row: where its upper edge lies.
        cells: first and last row of the sections, the column of their names and of their power.
        width_px: its width, pixels.
    """
    first, last, names, power = cells
    font = {"name": "Arial", "size": 9, "color": _INK}
    chart = page.book.workbook.add_chart({"type": "bar"})
    chart.add_series(
        {
            "name": "IT power, kW",
            "categories": [page.name, first, names, last, names],
            "values": [page.name, first, power, last, power],
            "fill": {"color": _BAR},
            "gap": 45,
            "data_labels": {"value": True, "num_format": "#,##0.0", "font": font},
        }
    )
    chart.set_title({"name": "IT power by section", "name_font": {**font, "size": 11}})
    line = {"line": {"color": _GREY}, "num_font": font, "name_font": {**font, "bold": False}}
    grid = {"visible": True, "line": {"color": _GREY, "width": 0.5}}
    chart.set_x_axis(
        {"name": "IT power, kW", "num_format": "#,##0", "min": 0, "major_gridlines": grid, **line}
    )
    # From the top down in the order of the table, the values' axis under it all the same.
    chart.set_y_axis({"name": "Section of the bill", "reverse": True, "crossing": "max", **line})
    chart.set_legend({"none": True})
    chart.set_chartarea({"border": {"color": _GREY}})
    chart.set_size({"width": width_px, "height": height_px(last - first + 1)})
    page.sheet.insert_chart(row, 0, chart, {"x_offset": 2, "y_offset": 4})
