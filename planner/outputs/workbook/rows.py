"""A row of the workbook as data: an input, or a result with its formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from planner.figures import FIGURES
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.cells import DECIMAL_1, DECIMAL_2, Kind, Range
from planner.outputs.workbook.formulas import known
from planner.outputs.workbook.functions import Scalar
from planner.outputs.workbook.page import Page
from planner.units import MOST

UNKNOWN = "n/a"
"""What a result shows where an input is missing or nothing would ever finish."""


LACKING = "known part: a line lacks this figure"

NO_LIMIT, NOT_GIVEN = "blank: no limit", "blank: not given"
"""The notes of inputs that may be left blank."""


def _of_figure(name: str) -> dict[str, Any]:
    """Return what the table of figures says of a row; its cell has the last part of the name."""
    figure = FIGURES[name]
    return {"name": name.rpartition(".")[2], "label": figure.heading, "unit": figure.unit}


class Input(NamedTuple):
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

    @classmethod
    def of(cls, figure: str, value: Scalar, number: str, note: str = "", **more: Any) -> Input:
        """Return the input of a figure, called by its name and counted in its unit."""
        return cls(value=value, number=number, note=note, **_of_figure(figure) | more)

    @property
    def allowed(self) -> Range:
        """What the cell may hold."""
        blank = self.note in (NO_LIMIT, NOT_GIVEN)
        high = min(self.high, MOST.get(self.unit, self.high))
        return Range(self.low, high, self.whole, self.choices, blank=blank, listed=self.listed)

    def put(self, page: Page, row: int, column: int, kind: Kind = "local") -> None:
        """Write its cell."""
        page.input(
            self.name, row, column, self.value, self.number,
            label=self.label, unit=self.unit, allowed=self.allowed, kind=kind,
        )  # fmt: skip


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

    @classmethod
    def of(cls, figure: str, formula: str, *rest: Any, **more: Any) -> Result:
        """Return the result that is a figure, called by its name and counted in its unit.

        Args:
            figure: which one.
            rest: how it comes about, number format, needs and flag, as far as given.
            more: fields by name; a name or unit of its own among them.
        """
        names = ("how", "number", "needs", "flag")
        return cls(
            formula=formula, **_of_figure(figure) | dict(zip(names, rest, strict=False)) | more
        )

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


def from_bom(book: Book, name: str, number: str = DECIMAL_1, **more: Any) -> Result:
    """Return the row of a grand total of ``BOM``, with its flag where a line lacks the figure."""
    bom = f"bom_{name}"
    flag = f"{bom}_flag" if book.has(f"{bom}_flag") else ""
    own = {} if "label" in more else _of_figure(name)
    row = {"name": name, "how": "total of BOM", **own, **more}
    return Result(formula=bom, number=number, flag=flag, cross=True, **row)


Inputs = tuple[str, tuple[Input, ...]]
Results = tuple[str, tuple[Result, ...]]
"""A heading with its rows."""
