"""The sheet of the bill of materials while it is written: a page that knows its columns."""

from __future__ import annotations

from dataclasses import dataclass

from planner.outputs.workbook.bom_columns import Columns
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.formats import Role
from planner.outputs.workbook.page import Page


class BomPage(Page):
    """A worksheet with named columns."""

    def __init__(self, book: Book, columns: Columns) -> None:
        super().__init__(book, "BOM", "Bill of materials")
        self.columns = columns


@dataclass(frozen=True)
class BomRow:
    """One row of it; a figure whose column the plan does not need is not written."""

    page: BomPage
    row: int
    role: Role = "formula"

    def has(self, key: str) -> bool:
        """Return whether the plan needs this column."""
        return self.page.columns.has(key)

    def at(self, key: str) -> str:
        """Return the address of the row's cell in a column."""
        return self.page.columns.at(key, self.row)

    def put(self, key: str, value: float | None, role: Role | None = None) -> None:
        """Write a number into a column, in the row's own look by default."""
        columns = self.page.columns
        if columns.has(key):
            look = role or self.role
            self.page.number(self.row, columns.index[key], value, columns.number[key], look)

    def work_out(self, key: str, text: str, value: float | None) -> None:
        """Write a formula into a column, with the value it has in the solved plan."""
        columns = self.page.columns
        if columns.has(key):
            index, number = columns.index[key], columns.number[key]
            self.page.formula(self.row, index, text, value, number, self.role)

    def validate(self, key: str, rule: dict[str, object]) -> None:
        """Allow only some values in a column's cell."""
        index = self.page.columns.index[key]
        self.page.sheet.data_validation(self.row, index, self.row, index, rule)
