"""The sheet of the bill of materials while it is written: a page that knows its columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from xlsxwriter.format import Format

from planner.outputs.numbering import Block
from planner.outputs.workbook.bom.columns import Columns
from planner.outputs.workbook.bom.lines import figures, lacking
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.formats import Role
from planner.outputs.workbook.inputs import InputCell, Range
from planner.outputs.workbook.page import Page
from planner.schema.plan import Line

ALLOWED = {
    "quantity": Range(0, 10_000_000, whole=True),
    "discount": Range(0, 1),
    "unit_list": Range(0, 1e12),
}
"""What the inputs of a line may hold."""

UNITS = {"quantity": "units", "discount": "share", "unit_list": "USD"}


BOUGHT = ("extended_list", "extended_net", "support", "support_paid")
"""Sums that an edited quantity leaves incomplete where what it buys has no price."""


class BomPage(Page):
    """A worksheet with named columns; ``limited`` are the catalog ids that a limit counts."""

    def __init__(self, book: Book, columns: Columns) -> None:
        super().__init__(book, "BOM", "Bill of materials")
        self.columns = columns
        limits = (limit.name.split(".") for limit in book.plan.limits)
        self.limited = {parts[1] for parts in limits if len(parts) > 1}
        self._styles: dict[tuple[str, Role], Format] = {}
        self._known: dict[int, dict[str, float | None]] = {}

    def style(self, key: str, role: Role) -> Format:
        """Return the look of a column's cells in a role, looked up once."""
        found = self._styles.get((key, role))
        if found is None:
            found = self.book.formats.get(role, self.columns.number[key])
            self._styles[key, role] = found
        return found

    def known(self, line: Line) -> dict[str, float | None]:
        """Return what the plan says of a line by column, gathered once."""
        found = self._known.get(id(line))
        if found is None:
            found = self._known[id(line)] = figures(line)
        return found

    def may_lack(self, block: Block) -> set[str]:
        """Return the columns of a section whose sums lack a line's figure, or do after an edit."""
        found: set[str] = set()
        for entry in block.entries:
            found |= lacking(entry.line, self.known(entry.line))
            if entry.line.unit_list_usd is None:
                found.update(BOUGHT)
        return found


@dataclass(frozen=True)
class BomRow:
    """One row of it; a figure whose column the plan does not need is not written."""

    page: BomPage
    row: int
    role: Role = "formula"
    written: set[int] = field(default_factory=set)

    def text(self, key: str, text: str) -> None:
        """Write a string into a column that the plan needs."""
        columns = self.page.columns
        if text and columns.has(key):
            role: Role = "part" if self.role == "part" else "text"
            self.page.text(self.row, columns.index[key], text, role)
            self.written.add(columns.index[key])

    def fill(self) -> None:
        """Give every cell that holds nothing the look of the row."""
        style = self.page.book.formats.get("part" if self.role == "part" else "text")
        blank = self.page.sheet.write_blank
        for column in range(self.page.columns.last + 1):
            if column not in self.written:
                blank(self.row, column, None, style)

    def has(self, key: str) -> bool:
        """Return whether the plan needs this column."""
        return self.page.columns.has(key)

    def at(self, key: str) -> str:
        """Return the address of the row's cell in a column."""
        return self.page.columns.at(key, self.row)

    def put(self, key: str, value: float | None, role: Role | None = None) -> None:
        """Write a number into a column, in the row's own look by default."""
        index = self.page.columns.index.get(key)
        if index is None:
            return
        style = self.page.style(key, role or self.role)
        if value is None or not math.isfinite(value):
            self.page.sheet.write_blank(self.row, index, None, style)
        else:
            self.page.sheet.write_number(self.row, index, value, style)
        self.written.add(index)

    def input(self, key: Literal["quantity", "discount", "unit_list"], line: Line) -> None:
        """Write a cell that the reader may change; its column's rule is laid over it later."""
        value = {
            "quantity": line.quantity,
            "discount": line.discount,
            "unit_list": line.unit_list_usd,
        }[key]
        self.put(key, value, "input")
        if self.has(key):
            title = self.page.columns.listed[self.page.columns.index[key]].title.lower()
            label, unit = f"{title} of {line.model}", UNITS[key]
            cell = self.at(key)
            inputs = self.page.book.inputs
            inputs.append(
                InputCell(self.page.name, cell, key, line.sku, label, unit, value, ALLOWED[key])
            )

    def work_out(self, key: str, text: str, plan: float | None = None) -> None:
        """Write a formula into a column; what the plan says is held against it."""
        index = self.page.columns.index.get(key)
        if index is not None:
            self.page.sheet.write_formula(self.row, index, text, self.page.style(key, self.role))
            if plan is not None:
                self.page.book.expect(self.page.name, self.row, index, plan)
            self.written.add(index)
