"""What every sheet shares: the plan, the workbook, the formats and the named figures."""

from __future__ import annotations

from datetime import datetime
from typing import BinaryIO

from xlsxwriter import Workbook
from xlsxwriter.worksheet import Worksheet

from planner.outputs.audience import Audience
from planner.outputs.words import status
from planner.outputs.workbook.formats import Formats
from planner.outputs.workbook.inputs import InputCell, Scalar
from planner.outputs.workbook.sheet import Sheet
from planner.outputs.workbook.text import clean
from planner.schema.plan import JobPlan, Plan

__all__ = ["Book", "Scalar", "new_workbook"]

DEFAULT_LOOK = {"font_name": "Arial", "font_size": 10, "font_scheme": False}
"""The default font, in whose digits widths of columns are counted: where the usual one is missing,
another as wide as it happens to be would take its place and columns would come out wider."""


def new_workbook(stream: BinaryIO, title: str, created: datetime, **properties: str) -> Workbook:
    """Return an empty workbook.

    Args:
        stream: where the bytes go, open for writing.
        title: the document's title.
        created: its date.
        properties: what else the document says of itself.
    """
    options = {"in_memory": True, "default_format_properties": dict(DEFAULT_LOOK)}
    workbook = Workbook(stream, options)
    workbook.set_properties({"title": clean(title, 200), "created": created, **properties})
    return workbook


class Book:
    """A workbook in the making.

    Sheets talk through defined names only: `define` gives a cell its name and keeps its value, and
    any sheet written later can use the name in a formula and `value` for what that formula shows.
    """

    def __init__(
        self,
        plan: Plan,
        workbook: Workbook,
        *,
        created: datetime,
        audience: Audience = "internal",
    ) -> None:
        self.plan = plan
        self.created = created
        self.audience = audience
        self.workbook = workbook
        self.formats = Formats(workbook)
        self.inputs: list[InputCell] = []
        self._values: dict[str, Scalar] = {}

    def sheet(self, name: str) -> Worksheet:
        """Return the worksheet of this name, new at the end where it does not exist yet."""
        found = self.workbook.get_worksheet_by_name(name)
        return found or self.workbook.add_worksheet(name, worksheet_class=Sheet)

    @property
    def money(self) -> bool:
        """Whether this edition shows money: prices, discounts, costs, budgets."""
        return self.audience == "internal"

    @property
    def job(self) -> JobPlan | None:
        """The plan's job, None where there is no plan."""
        return self.plan.jobs[0] if self.plan.jobs else None

    @property
    def as_solved(self) -> str:
        """What the banner says while nothing is edited."""
        plan, gap = self.plan, self.plan.objective.gap
        if not plan.lines:
            return f"No plan: {plan.status}"
        proven = "" if gap is None else f", proof within {gap:.2g} of the best possible (relative)"
        return f"As solved: {status(plan)}{proven}"

    def define(self, name: str, reference: str, value: Scalar) -> None:
        """Give a cell a workbook-wide name.

        Args:
            name: a name that does not look like a cell address.
            reference: absolute address with its sheet, such as ``BOM!$A$1``.
            value: what the cell shows.

        Raises:
            ValueError: the name is taken or not allowed.
        """
        if name in self._values:
            raise ValueError(f"the name {name} is taken")
        if self.workbook.define_name(name, f"={reference}") != 0:
            raise ValueError(f"{name} is not a name a workbook allows")
        self._values[name] = value

    def has(self, *names: str) -> bool:
        """Return whether all these names are defined."""
        return all(name in self._values for name in names)

    def value(self, name: str) -> Scalar:
        """Return what the cell with this name shows; None where it is blank or does not exist."""
        return self._values.get(name)

    def number(self, name: str) -> float | None:
        """Return the number in the cell with this name, None where it shows none."""
        value = self._values.get(name)
        return value if isinstance(value, (int, float)) else None
