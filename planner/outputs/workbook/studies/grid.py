"""What the sheets of a comparison share: a grid of values by plan, and texts over its width."""

from __future__ import annotations

from collections.abc import Sequence

from planner.outputs.workbook.book import Scalar
from planner.outputs.workbook.formats import (
    DECIMAL_1,
    DECIMAL_2,
    INTEGER,
    PERCENT_2,
    SMALL,
    Role,
)
from planner.outputs.workbook.page import Page

_FORMATS = {"USD": DECIMAL_2, "USD/year": DECIMAL_2, "share": PERCENT_2, "s": DECIMAL_1}
_LARGE_USD = 10_000.0
_MANY_DECIMALS = "0.0####"


def number_format(unit: str, values: Sequence[Scalar]) -> str:
    """Return the number format that suits a figure in every plan.

    Args:
        unit: the figure's unit.
        values: its values.
    """
    numbers = [abs(value) for value in values if isinstance(value, (int, float))]
    if unit in ("USD", "USD/year") and max(numbers, default=0.0) >= _LARGE_USD:
        return INTEGER
    if unit in _FORMATS:
        return _FORMATS[unit]
    if all(float(number).is_integer() for number in numbers):
        return INTEGER
    smallest = min((number for number in numbers if number), default=1.0)
    if smallest < 0.1:
        return SMALL if smallest < 1e-4 else _MANY_DECIMALS
    return DECIMAL_2 if smallest < 100 else DECIMAL_1


def signed(number: str) -> str:
    """Return a number format that shows the sign of a change, and a dash for none."""
    return f'+{number};-{number};"–"'


def over(page: Page, row: int, column: int, last: int, text: str, width: float) -> None:
    """Write a text over several columns and make its row high enough.

    Args:
        page: the sheet.
        row: the row.
        column: first column.
        last: last column, beyond the first.
        text: what to write.
        width: of all these columns, in characters.
    """
    page.sheet.merge_range(row, column, row, last, "", page.book.formats.get("text"))
    page.text(row, column, text)
    page.grow(row, [(text, width)])


def put(page: Page, row: int, column: int, value: Scalar, number: str) -> None:
    """Write a figure of a plan; texts stand to the left so that long ones can be read."""
    role: Role = "formula"
    if isinstance(value, str):
        page.text(row, column, value)
    else:
        page.number(row, column, value, number, role)
