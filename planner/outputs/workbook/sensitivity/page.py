"""A sheet of tables one below the other on one grid, and the grid of ``Sensitivity``."""

from __future__ import annotations

from collections.abc import Sequence

from planner.outputs.workbook.book import Book
from planner.outputs.workbook.formats import Role
from planner.outputs.workbook.page import Page
from planner.outputs.workbook.sensitivity.model import saving, steps

LABEL, CASE, F1, F2, F3, F4, F5, F6, F7, F8, F9, F10, NOTE = range(13)
"""Columns of the grid that all tables of the sheet share; F1 to F10 hold figures."""

WIDTHS = (37.0, 8.0, *(10.2,) * 10, 40.0)
"""Their widths in characters."""

WHOLE_PERCENT = "0%"
CHANGE = "+#,##0.00;-#,##0.00;0.00"

_HEADER_HEIGHT = 42
_WORKINGS_WIDTH = 13.0
_MOST_WORKINGS = 40


class GridPage(Page):
    """A worksheet whose tables share their columns; a row's workings stand to its right.

    Attributes:
        widths: of the columns of the grid, in characters.
        workings: first column of the workings, to the right of what is printed.
        model: the sizing model, for rows of `sensitivity_model`.
        saving: the figure of the model that says how much of the interval saving takes.
        saving_title: what it is called.
    """

    def __init__(self, book: Book, name: str, title: str, widths: Sequence[float]) -> None:
        super().__init__(book, name, title)
        self.widths = widths
        self.workings = len(widths) + 1
        self.model = steps(book)
        self.saving, self.saving_title = saving(book)
        for column, width in enumerate(widths):
            self.sheet.set_column(column, column, width)
        self.sheet.set_column(len(widths), len(widths), 3)
        self.sheet.set_column(self.workings, self.workings + _MOST_WORKINGS, _WORKINGS_WIDTH)

    def heading(self, row: int, text: str, *remarks: str) -> int:
        """Write a table's heading with remarks under it; return the next free row."""
        self.fill(row, (text,), "heading")
        for remark in remarks:
            row += 1
            self.text(row, 0, remark, "subtitle")
        return row + 1

    def table(self, row: int, titles: Sequence[str], workings: Sequence[str] = ()) -> int:
        """Write the headers of a table and of its workings; return the row under them."""
        self.sheet.set_row(row, _HEADER_HEIGHT)
        for column, title in enumerate(titles):
            self.text(row, column, title, "header")
        for place, title in enumerate(workings):
            self.text(row, self.workings + place, title, "header")
        if workings:
            self.text(row - 1, self.workings, "Workings, not printed", "subtitle")
        return row + 1

    def fill(self, row: int, texts: Sequence[str], role: Role, columns: int | None = None) -> None:
        """Write a row in one look, by default over the whole grid."""
        super().fill(row, texts, role, columns or len(self.widths))
