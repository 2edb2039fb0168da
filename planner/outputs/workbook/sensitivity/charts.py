"""The charts of the sheet ``Sensitivity``; they read the cells of its tables."""

from __future__ import annotations

from typing import Any, NamedTuple

from planner.figures import FIGURES
from planner.outputs.workbook.page import Page
from planner.outputs.workbook.sensitivity.model import CASE, F1, F3, F5, F6, F8, F9, LABEL, GridPage

TORNADO_ROWS = 19
"""Rows that the chart of what matters takes."""

NAVY, ORANGE, GREY, WHITE = "#1F3A5F", "#C55A11", "#6B6B6B", "#FFFFFF"
FONT: dict[str, Any] = {"name": "Arial", "size": 9, "color": "#1A1A1A"}
TITLE_FONT: dict[str, Any] = {"name": "Arial", "size": 11, "bold": True, "color": NAVY}
GRID = {"visible": True, "line": {"color": "#D9D9D9", "width": 0.5}}
SOLID = {"fill": {"color": NAVY}, "border": {"color": NAVY}}
STRIPED = {
    "pattern": {"pattern": "wide_upward_diagonal", "fg_color": ORANGE, "bg_color": WHITE},
    "border": {"color": ORANGE},
}

SWEEP_ROWS = 15
"""Rows that the chart beside a range takes, its header included."""

_ROW_PIXELS = 20
_WIDE, _NARROW = 1000, 420


class Tornado(NamedTuple):
    """Rows of the inputs, first and last, and the row where the chart begins."""

    first: int
    last: int
    at: int


class Sweep(NamedTuple):
    """Rows of the points, the plan's own row, and the header's, where the chart begins."""

    first: int
    last: int
    stands: int
    at: int


def axis(name: str, **more: Any) -> dict[str, Any]:
    """Return the settings of an axis with a title."""
    return {"name": name, "name_font": FONT, "num_font": FONT, **more}


def add_bar_series(
    page: Page,
    chart: Any,
    name: str,
    cells: tuple[int, int, int],
    look: dict[str, Any],
    number: str,
) -> None:
    """Add a column of neighbouring rows to a chart of bars, with its values at their ends.

    Args:
        name: what the bars show.
        cells: first and last row, and the column; the labels stand in the first column.
        look: fill and border.
        number: number format of the labels at the bars.
    """
    first, last, column = cells
    chart.add_series(
        {
            "name": name,
            "categories": [page.name, first, 0, last, 0],
            "values": [page.name, first, column, last, column],
            "gap": 45,
            "data_labels": {"value": True, "font": FONT, "num_format": number},
            **look,
        }
    )


def add_tornado(page: GridPage, tornado: Tornado) -> None:
    """Draw the change in useful GPUs at low and at high of each input.

    Args:
        tornado: where the figures are and where the chart goes.
    """
    first, last, at = tornado
    chart = page.book.workbook.add_chart({"type": "bar"})
    for name, column, look in (("at low", F8, SOLID), ("at high", F9, STRIPED)):
        chart.add_series(
            {
                "name": name,
                "categories": [page.name, first, LABEL, last, LABEL],
                "values": [page.name, first, column, last, column],
                "overlap": 100,
                "gap": 45,
                "data_labels": {"value": True, "font": FONT, "num_format": "+#,##0.00;-#,##0.00;0"},
                **look,
            }
        )
    chart.set_title(
        {"name": "Change in useful GPUs when one input is low or high", "name_font": TITLE_FONT}
    )
    chart.set_x_axis(
        axis("Change in useful GPUs", num_format="General", major_gridlines=GRID,
             label_position="high")
    )  # fmt: skip
    chart.set_y_axis(axis("", reverse=True, label_position="low", line={"color": GREY}))
    size = {"width": _WIDE, "height": (TORNADO_ROWS - 2) * _ROW_PIXELS}
    chart.set_legend({"position": "bottom", "font": FONT})
    _insert(page, chart, at, LABEL, size)


def add_bandwidth_chart(page: GridPage, sweep: Sweep) -> None:
    """Draw goodput and overlap against storage bandwidth.

    Args:
        sweep: where the figures are and where the chart goes.
    """
    chart = page.book.workbook.add_chart({"type": "scatter", "subtype": "straight"})
    _lines(
        page,
        chart,
        sweep,
        CASE,
        (FIGURES["goodput"].heading, F3),
        (page.saving_title, F5),
        sides=("below", "above"),
    )
    title = f"Goodput and {page.saving} by bandwidth"
    chart.set_title({"name": title, "name_font": TITLE_FONT})
    chart.set_x_axis(
        axis("Storage bandwidth, share of what is bought", num_format="0%", min=0, max=2,
             major_unit=0.5, major_gridlines={"visible": False})
    )  # fmt: skip
    chart.set_y_axis(
        axis("Share of time", num_format="0%", min=0, max=1, major_unit=0.2, major_gridlines=GRID)
    )
    _insert_sweep(page, chart, sweep)


def add_interval_chart(page: GridPage, sweep: Sweep) -> None:
    """Draw time lost and overlap against the checkpoint interval.

    Args:
        sweep: where the figures are and where the chart goes.
    """
    chart = page.book.workbook.add_chart({"type": "scatter", "subtype": "straight"})
    _lines(page, chart, sweep, F1, ("Time lost (1 - goodput)", F6), (page.saving_title, F5))
    title = f"Time lost and {page.saving} by interval"
    chart.set_title({"name": title, "name_font": TITLE_FONT})
    chart.set_x_axis(axis(FIGURES["interval_s"].column, num_format="#,##0", min=0,
                          major_gridlines={"visible": False}))  # fmt: skip
    chart.set_y_axis(axis("Share of time", num_format="0.0%", min=0, major_gridlines=GRID))
    _insert_sweep(page, chart, sweep)


def _lines(
    page: GridPage,
    chart: Any,
    sweep: Sweep,
    across: int,
    *drawn: tuple[str, int],
    sides: tuple[str, str] = ("above", "right"),
) -> None:
    """Draw two lines of different dashes, and the plan's own point on each."""
    looks = (
        {"color": NAVY, "width": 2.25},
        {"color": ORANGE, "width": 2.25, "dash_type": "dash"},
    )
    first, last, stands, _ = sweep
    for (name, column), line in zip(drawn, looks, strict=True):
        chart.add_series(
            {
                "name": name,
                "categories": [page.name, first, across, last, across],
                "values": [page.name, first, column, last, column],
                "line": line,
                "marker": {"type": "none"},
            }
        )
    # A label stands where no line or title is: under a line near the top, over one near the bottom.
    for (_, column), line, side in zip(drawn, looks, sides, strict=True):
        chart.add_series(
            {
                "name": "As it stands",
                "categories": [page.name, stands, across, stands, across],
                "values": [page.name, stands, column, stands, column],
                "line": {"none": True},
                "marker": {
                    "type": "diamond",
                    "size": 9,
                    "fill": {"color": line["color"]},
                    "border": {"color": line["color"]},
                },
                "data_labels": {"value": True, "position": side, "font": FONT,
                                "num_format": "0.0%"},
            }
        )  # fmt: skip


def _insert_sweep(page: GridPage, chart: Any, sweep: Sweep) -> None:
    """Put a chart to the right of its range, with one legend entry for the plan's own points."""
    chart.set_legend({"position": "bottom", "font": FONT, "delete_series": [3]})
    _insert(page, chart, sweep.at, F9, {"width": _NARROW, "height": SWEEP_ROWS * _ROW_PIXELS})


def _insert(page: GridPage, chart: Any, row: int, column: int, size: dict[str, int]) -> None:
    chart.set_size(size)
    chart.set_chartarea({"border": {"color": "#D9D9D9"}})
    page.sheet.insert_chart(row, column, chart, {"x_offset": 6, "y_offset": 4})
