"""The sheet of the bill of materials while it is written: a page that knows its columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from xlsxwriter.format import Format

from planner.outputs.numbering import Block
from planner.outputs.workbook.bom.columns import Columns
from planner.outputs.workbook.bom.lines import figures, needed
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


@dataclass(frozen=True)
class Sum:
    """The known sum of a column, whether a line lacks it, and whether an edit can make one."""

    value: float
    lacking: bool
    may_lack: bool


class BomPage(Page):
    """A worksheet with named columns; ``limited`` are the catalog ids that a limit counts."""

    def __init__(self, book: Book, columns: Columns) -> None:
        super().__init__(book, "BOM", "Bill of materials")
        self.columns = columns
        limits = (limit.name.split(".") for limit in book.plan.limits)
        self.limited = {parts[1] for parts in limits if len(parts) > 1}
        self._styles: dict[tuple[str, Role], Format] = {}
        self._sums: dict[str, dict[str, Sum]] = {}
        self._known: dict[int, dict[str, float | None]] = {}

    def style(self, key: str, role: Role) -> Format:
        """Return the look of a column's cells in a role, looked up once."""
        found = self._styles.get((key, role))
        if found is None:
            found = self.book.formats.get(role, self.columns.number[key])
            self._styles[key, role] = found
        return found

    def known(self, line: Line) -> dict[str, float | None]:
        """Return what the number columns show for a line, worked out once."""
        found = self._known.get(id(line))
        if found is None:
            found = self._known[id(line)] = figures(self.book.plan, line)
        return found

    def sums(self, block: Block) -> dict[str, Sum]:
        """Return the sum of each summed column of a section."""
        found = self._sums.get(block.section)
        if found is None:
            found = self._sums[block.section] = self._add_up(block)
        return found

    def _add_up(self, block: Block) -> dict[str, Sum]:
        values: dict[str, list[float]] = {column.key: [] for column in self.columns.summed}
        lacking: set[str] = set()
        may_lack: set[str] = set()
        for entry in block.entries:
            known = self.known(entry.line)
            for key, summed in values.items():
                value = known[key]
                if value is not None:
                    summed.append(value)
            lacking.update(key for key in needed(entry.line) if known[key] is None)
            if entry.line.unit_list_usd is None:
                may_lack.update(BOUGHT)
        may_lack |= lacking
        return {
            key: Sum(math.fsum(summed), key in lacking, key in may_lack)
            for key, summed in values.items()
        }


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

    def work_out(self, key: str, text: str, value: float | None) -> None:
        """Write a formula into a column, with the value it has in the solved plan."""
        index = self.page.columns.index.get(key)
        if index is not None:
            style = self.page.style(key, self.role)
            shown = "" if value is None else value
            self.page.sheet.write_formula(self.row, index, text, style, shown)
            self.written.add(index)
