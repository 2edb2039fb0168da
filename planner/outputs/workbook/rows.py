"""A row of the workbook as data: an input, or a result with its formula."""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import DECIMAL_1, DECIMAL_2, Range
from planner.outputs.workbook.formulas import known
from planner.outputs.workbook.functions import (
    Scalar,
)
from planner.units import MOST

UNKNOWN = "n/a"
"""What a result shows where an input is missing or nothing would ever finish."""


LACKING = "known part: a line lacks this figure"

NO_LIMIT, NOT_GIVEN = "blank: no limit", "blank: not given"
"""The notes of inputs that may be left blank."""


@dataclass(frozen=True)
class Input:
    """A cell the reader may change.

    ``low`` and ``high`` bound a number; ``choices`` are the words allowed instead of numbers. A
    ``locked`` one is a figure of the plan that formulas use and nobody may change; ``listed`` is
    the range of cells in which the choices stand.
    """

    name: str
    label: str
    unit: str
    value: Scalar
    number: str
    note: str = ""
    low: float = 0.0
    high: float = 1e15
    choices: tuple[str, ...] = ()
    whole: bool = False
    locked: bool = False
    listed: str = ""

    @property
    def allowed(self) -> Range:
        """What the cell may hold."""
        blank = self.note in (NO_LIMIT, NOT_GIVEN)
        high = min(self.high, MOST.get(self.unit, self.high))
        return Range(self.low, high, self.whole, self.choices, blank=blank, listed=self.listed)


@dataclass(frozen=True)
class Result:
    """A cell that follows from the inputs and the quantities.

    ``formula`` is over defined names and has no equals sign; ``needs`` are the names that must
    hold a number, else the cell shows `UNKNOWN`; ``flag`` is a name that marks an incomplete sum;
    ``plan`` is what the plan says, to be held against the formula.
    """

    name: str
    label: str
    unit: str
    formula: str
    how: str = ""
    number: str = DECIMAL_2
    needs: tuple[str, ...] = ()
    flag: str = ""
    cross: bool = False
    plan: Scalar = None

    @property
    def cell_formula(self) -> str:
        """The formula as the cell holds it."""
        text = self.formula
        if self.needs:
            text = f'IF({known(*self.needs)},{text},"{UNKNOWN}")'
        return f'=IFERROR({text},"{UNKNOWN}")'

    @property
    def notes(self) -> tuple[str, str]:
        """How the figure comes about: of a complete sum, and of one that lacks a line's figure."""
        return self.how, f"{LACKING}; {self.how}"

    def explained(self, how: str) -> Result:
        """Return the row with another word on how its figure comes about."""
        return replace(self, how=how)


def from_bom(book: Book, name: str, label: str, unit: str, number: str = DECIMAL_1) -> Result:
    """Return the row of a grand total of ``BOM``, with its flag where a line lacks the figure."""
    bom = f"bom_{name}"
    flag = f"{bom}_flag" if book.has(f"{bom}_flag") else ""
    return Result(name, label, unit, bom, "total of BOM", number, flag=flag, cross=True)


Inputs = tuple[str, tuple[Input, ...]]
Results = tuple[str, tuple[Result, ...]]
"""A heading with its rows."""
