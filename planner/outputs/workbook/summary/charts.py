"""The charts of the sheet ``Summary``, which follow its tables."""

from __future__ import annotations

from typing import Any

from planner.outputs.workbook.page import Page
from planner.outputs.workbook.summary.bill import Sections, shows_money
from planner.outputs.workbook.summary.grid import widths
from planner.outputs.workbook.summary.limits import Losses

ROWS = 18
"""Rows that the charts cover."""

ROW_HEIGHT = 15.75
"""Height of a row in points: the sheet says it, so that every program lays it out alike."""

_ROW_PIXELS = 21
_MARGIN_PIXELS = 8
_INK, _FILL, _LINE = "#1A1A1A", "#1F3A5F", "#D9D9D9"
_MILLION, _THOUSAND = 1e6, 1e3


def add(page: Page, row: int, losses: Losses, sections: Sections) -> None:
    """Place the charts beside each other over the whole width.

    Args:
        page: the sheet.
        row: their first row.
        losses: where the losses of time stand.
        sections: where the sections of the bill stand.
    """
    charts = [
        _columns(page, "Time lost, share of the wall-clock time", "Cause", "Share of time",
                 (losses.first, losses.last, losses.names, losses.share), "0.00%"),
        _columns(page, "IT power by section, kW", "Section of the bill", "IT power, kW",
                 (sections.first, sections.last, sections.names, sections.power), "#,##0"),
    ]  # fmt: skip
    if shows_money(page.book):
        charts.append(_spending(page, sections))
    pixels = sum(int(width * 7 + 0.5) + 5 for width in widths(page.book.money))
    # A character of the default font is 7 pixels wide, a cell's padding 5.
    each = (pixels + _MARGIN_PIXELS) // len(charts)
    for place, chart in enumerate(charts):
        size = {"width": each - _MARGIN_PIXELS, "height": ROWS * _ROW_PIXELS - _MARGIN_PIXELS}
        chart.set_size(size)
        page.sheet.insert_chart(row, 0, chart, {"x_offset": place * each, "y_offset": 0})


def _spending(page: Page, sections: Sections) -> Any:
    largest = page.book.number("bom_capex_usd") or 0.0
    number, unit = "#,##0.0,,", "million USD"
    if largest < _MILLION:
        number, unit = ("#,##0.0,", "thousand USD") if largest >= _THOUSAND else ("#,##0", "USD")
    place = (sections.first, sections.last, sections.names, sections.net)
    title = f"Purchase by section, {unit} net"
    return _columns(page, title, "Section of the bill", f"Net, {unit}", place, number)


def _columns(
    page: Page, title: str, across: str, up: str, place: tuple[int, int, int, int], number: str
) -> Any:
    """Return a column chart with a label on every column.

    Args:
        page: the sheet.
        title: what it shows, with the unit.
        across: title of the axis of categories.
        up: title of the axis of values, with the unit.
        place: first and last row, column of the categories, column of the values.
        number: number format of the values.
    """
    first, last, names, values = place
    chart = page.book.workbook.add_chart({"type": "column"})
    font = {"name": "Arial", "size": 9, "color": _INK}
    chart.add_series(
        {
            "name": title,
            "categories": [page.name, first, names, last, names],
            "values": [page.name, first, values, last, values],
            "fill": {"color": _FILL},
            "gap": 70,
            "data_labels": {"value": True, "num_format": number, "font": font},
        }
    )
    chart.set_title({"name": title, "name_font": font | {"size": 11, "bold": True}})
    quiet = {"name_font": font | {"bold": False}, "num_font": font, "line": {"color": _LINE}}
    chart.set_x_axis({"name": across, **quiet})
    bare = {"visible": False}
    chart.set_y_axis({"name": up, "num_format": number, "major_gridlines": bare, "min": 0, **quiet})
    chart.set_legend({"none": True})
    chart.set_chartarea({"border": {"color": _LINE}})
    return chart
