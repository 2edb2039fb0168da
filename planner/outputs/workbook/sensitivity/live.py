"""Formulas over the cells of one row and the names of other sheets, as data."""

from __future__ import annotations

import string
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property

from xlsxwriter.utility import xl_col_to_name

from planner.outputs.workbook.checkpoint.rows import UNKNOWN
from planner.outputs.workbook.formats import DECIMAL_2, Role
from planner.outputs.workbook.page import Page


@dataclass(frozen=True)
class Step:
    """A cell of a row: its formula, where ``{key}`` is another cell of the row.

    What cannot be computed shows `UNKNOWN`.
    """

    key: str
    title: str
    formula: str
    number: str = DECIMAL_2
    role: Role = "formula"
    align: str = "right"

    @cached_property
    def needs(self) -> set[str]:
        """The cells of the row that the formula reads."""
        return {name for _, name, _, _ in string.Formatter().parse(self.formula) if name}


@dataclass
class LiveRow:
    """A row of cells that read each other.

    ``columns`` says where each key stands; ``terms`` holds what stands for a key in a formula: an
    address or a name.
    """

    page: Page
    row: int
    columns: Mapping[str, int]
    terms: dict[str, str] = field(default_factory=dict)

    def write(
        self,
        steps: Iterable[Step],
        emphasis: Role | None = None,
        emphasised: Container[str] | None = None,
    ) -> None:
        """Write cells, each after those it reads.

        Args:
            steps: what to write.
            emphasis: the look of the cells instead of their own.
            emphasised: keys of the cells that have that look, None for all.
        """
        for step in steps:
            column = self.columns[step.key]
            formula = f'=IFERROR({step.formula.format_map(self.terms)},"{UNKNOWN}")'
            marked = emphasised is None or step.key in emphasised
            role = emphasis if emphasis is not None and marked else step.role
            self.page.formula(self.row, column, formula, step.number, role, step.align)
            self.know(step.key, column)

    def know(self, key: str, column: int) -> None:
        """Note a cell that is already written."""
        self.terms[key] = cell(self.row, column)


def cell(row: int, column: int) -> str:
    """Return the absolute address of a cell on its own sheet."""
    return f"${_letters(column)}${row + 1}"


@cache
def _letters(column: int) -> str:
    return str(xl_col_to_name(column))


def needed(steps: Collection[Step], keys: Iterable[str]) -> list[Step]:
    """Return the steps that some of them rest on, in their order.

    Args:
        steps: all there are, each after those it reads.
        keys: what is asked for.
    """
    wanted = set(keys)
    for step in reversed(list(steps)):
        if step.key in wanted:
            wanted |= step.needs
    return [step for step in steps if step.key in wanted]
