"""Formulas over the cells of one row and the names of other sheets, each with its value."""

from __future__ import annotations

import string
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import NamedTuple

from xlsxwriter.utility import xl_col_to_name

from planner.outputs.workbook.book import Book, Scalar
from planner.outputs.workbook.checkpoint.rows import UNKNOWN
from planner.outputs.workbook.formats import DECIMAL_2, Role
from planner.outputs.workbook.page import Page


class Term(NamedTuple):
    """A part of a formula and what it stands for; no number where it is not known."""

    text: str
    value: Scalar


class NotKnownError(ArithmeticError):
    """A figure has no number, so nothing that rests on it has one."""


class Figures:
    """What formulas read: cells of a row by key, else the named cells of the workbook."""

    def __init__(self, book: Book, cells: Mapping[str, Term]) -> None:
        self._book = book
        self._cells = cells

    def __getitem__(self, key: str) -> float:
        value = self._value(key)
        if not isinstance(value, (int, float)):
            raise NotKnownError(key)
        return value

    def has(self, key: str) -> bool:
        """Return whether there is a number, as ISNUMBER does."""
        return isinstance(self._value(key), (int, float))

    def text(self, key: str) -> str:
        """Return a text, empty for a blank cell."""
        value = self._value(key)
        return value if isinstance(value, str) else ""

    def _value(self, key: str) -> Scalar:
        return self._cells[key].value if key in self._cells else self._book.value(key)


@dataclass(frozen=True)
class Step:
    """A cell of a row: its formula, where ``{key}`` is another cell of the row, and its value.

    ``value`` computes in Python what the formula says; what cannot be computed shows `UNKNOWN`.
    """

    key: str
    title: str
    formula: str
    value: Callable[[Figures], float | str]
    number: str = DECIMAL_2
    role: Role = "formula"
    align: str = ""

    @cached_property
    def needs(self) -> set[str]:
        """The cells of the row that the formula reads."""
        return {name for _, name, _, _ in string.Formatter().parse(self.formula) if name}

    def evaluate(self, figures: Figures) -> Scalar:
        """Return the value, `UNKNOWN` where the spreadsheet would show an error."""
        try:
            return self.value(figures)
        except (ArithmeticError, ValueError):
            return UNKNOWN


@dataclass
class LiveRow:
    """A row of cells that read each other.

    ``columns`` says where each key stands; ``terms`` holds the cells there are so far.
    """

    page: Page
    row: int
    columns: Mapping[str, int]
    terms: dict[str, Term] = field(default_factory=dict)

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
        figures = Figures(self.page.book, self.terms)
        texts = {key: term.text for key, term in self.terms.items()}
        for step in steps:
            column = self.columns[step.key]
            formula = f'=IFERROR({step.formula.format_map(texts)},"{UNKNOWN}")'
            value = step.evaluate(figures)
            align = step.align or ("right" if isinstance(value, str) else "")
            marked = emphasised is None or step.key in emphasised
            role = emphasis if emphasis is not None and marked else step.role
            self.page.formula(self.row, column, formula, value, step.number, role, align)
            self.know(step.key, column, value)
            texts[step.key] = self.terms[step.key].text

    def know(self, key: str, column: int, value: Scalar) -> None:
        """Note a cell that is already written."""
        self.terms[key] = Term(cell(self.row, column), value)


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
