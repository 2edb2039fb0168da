"""A sheet of sentences, charts and tables one below the other, for studies of sensitivity."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from xlsxwriter.utility import quote_sheetname, xl_rowcol_to_cell

from planner.outputs.comparison_words import titled
from planner.outputs.workbook.book import Book, Scalar
from planner.outputs.workbook.formats import GENERAL
from planner.outputs.workbook.page import FIRST_ROW, Page
from planner.outputs.workbook.sensitivity.charts import FONT, TITLE_FONT
from planner.outputs.workbook.studies.axes import caption
from planner.outputs.workbook.studies.grid import over, put
from planner.outputs.workbook.text import clean

ROW_PIXELS = 20
"""Height of a row of one line in pixels."""

RECORD = "The figures are a record: they do not follow edits of a workbook."
_POINTS = 0.75
"""Points of a pixel."""

_HEADER_HEIGHT = 44
_LONGEST = 1_000
"""Characters of a text of the introduction; only a name can be longer."""

_LETTERS = 1.05
"""Letters of running text that fit in a character's width."""

_WORKINGS_APART = 2
_WORKINGS_WIDTH = 13.0

Cells = Sequence[tuple[Scalar, str]]
"""The figures of a row, each with its number format; texts have none."""


class Stack(Page):
    """A worksheet that is filled from the top down.

    Attributes:
        widths: of its columns, in characters.
        row: the next free one.
    """

    def __init__(self, book: Book, name: str, title: str, widths: Sequence[float]) -> None:
        super().__init__(book, name, title)
        self.widths = tuple(widths)
        self.row = FIRST_ROW - 2
        self._breaks: list[int] = []
        for column, width in enumerate(widths):
            self.sheet.set_column(column, column, width)

    @property
    def last(self) -> int:
        """The last column."""
        return len(self.widths) - 1

    @property
    def workings(self) -> int:
        """First column of the figures that charts read and nobody else has to."""
        return len(self.widths) + _WORKINGS_APART

    def introduction(self, texts: Iterable[str]) -> None:
        """Write what the sheet is about, in as many rows as the width asks for."""
        width = int(sum(self.widths) * _LETTERS)
        shown = (clean(text, _LONGEST) for text in texts)
        for line in (line for text in shown for line in textwrap.wrap(text, width)):
            self.text(self.row, 0, line, "subtitle")
            self.row += 1

    def sentences(self, texts: Iterable[str]) -> None:
        """Write texts over the whole width, a row each; empty ones are left out."""
        for text in texts:
            if text:
                over(self, self.row, 0, self.last, text, sum(self.widths))
                self.row += 1

    def heading(self, text: str) -> None:
        """Write the heading of a part after a blank row."""
        self.row += 1
        self.fill(self.row, (text,), "heading", len(self.widths))
        self.row += 1

    def break_page(self) -> None:
        """Print what follows on a new page."""
        self._breaks.append(self.row)
        self.sheet.set_h_pagebreaks(self._breaks)

    def heads(self, titles: Sequence[str], height: float = _HEADER_HEIGHT) -> int:
        """Write the heads of a table; return their row."""
        self.sheet.set_row(self.row, height)
        for column, title in enumerate(titles):
            self.text(self.row, column, title, "header")
        self.row += 1
        return self.row - 1

    def line(self, cells: Cells, *, marked: bool = False) -> int:
        """Write a row of a table; return it.

        Args:
            cells: what stands in it.
            marked: whether it stands out.
        """
        for column, (value, number) in enumerate(cells):
            put(self, self.row, column, value, number)
        texts = [
            (value, self.widths[column])
            for column, (value, _) in enumerate(cells)
            if isinstance(value, str)
        ]
        self.grow(self.row, texts)
        if marked:
            rule = {"type": "no_errors", "format": self.book.formats.condition("good")}
            self.sheet.conditional_format(self.row, 0, self.row, len(cells) - 1, rule)
        self.row += 1
        return self.row - 1

    def beside(self, row: int, titles: Sequence[str], values: Sequence[Scalar]) -> None:
        """Write figures for a chart to the right of what is printed.

        Args:
            row: their row; the row above the first one has the titles.
            titles: of their columns, empty where they stand already.
            values: the figures.
        """
        for place, title in enumerate(titles):
            self.text(row - 1, self.workings + place, title, "fixed")
        for place, value in enumerate(values):
            self.scalar(row, self.workings + place, value, GENERAL, "fixed")

    def reserve(self, rows: int) -> int:
        """Leave rows free for a chart and go on under them; return the first.

        A cell under the chart keeps it in what is printed.
        """
        first = self.row
        for row in range(first, first + rows):
            self.sheet.set_row(row, ROW_PIXELS * _POINTS)
        self.row += rows
        self.text(self.row, 0, " ", "subtitle")
        return first

    def chart(self, chart: Any, title: str, at: tuple[int, int], width_px: int) -> None:
        """Place a chart in rows that are reserved for it.

        Args:
            chart: the chart.
            title: what it shows.
            at: the first of its rows, and how many they are.
            width_px: how wide it is.
        """
        chart.set_title({"name": caption(title), "name_font": TITLE_FONT, "overlay": False})
        chart.set_chartarea({"border": {"color": "#D9D9D9"}})
        chart.set_size({"width": width_px, "height": (at[1] - 1) * ROW_PIXELS})
        place = {"x_offset": 4, "y_offset": 6, "object_position": 3}
        self.sheet.insert_chart(at[0], 0, chart, place)

    def area(self, first: int, last: int, column: int) -> str:
        """Return the address of neighbouring rows of a column, for a chart."""
        ends = (xl_rowcol_to_cell(row, column, True, True) for row in (first, last))
        return f"={quote_sheetname(self.name)}!{':'.join(ends)}"

    def finish_stack(self, frozen: tuple[int, int]) -> None:
        """Set up printing and frozen panes, and hide nothing; the last thing done."""
        last = self.workings + _WORKINGS_APART + 4
        self.sheet.set_column(self.workings, last, _WORKINGS_WIDTH)
        self.finish(self.last, frozen)


def legend(chart: Any, *hidden: int) -> None:
    """Put the legend under a chart, without the series at some places."""
    chart.set_legend({"position": "bottom", "font": FONT, "delete_series": list(hidden)})


def headed(label: str, unit: str) -> str:
    """Return the head of a column: what it is, with the unit of its figures."""
    text = f"{label}, {unit}" if unit in ("USD", "USD/year", "s") else titled(label, unit)
    return f"{text[:1].upper()}{text[1:]}"
