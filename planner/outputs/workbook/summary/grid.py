"""Where the tables of the sheet ``Summary`` stand side by side, and how their cells are written."""

from __future__ import annotations

from collections.abc import Sequence

from planner.outputs.workbook.checkpoint.rows import UNKNOWN
from planner.outputs.workbook.formats import Role
from planner.outputs.workbook.page import Page
from planner.outputs.workbook.text import clean

_GAP = 2.0
"""Width of the empty column between two tables, in characters."""

HEADLINES, PURCHASE, LIMITS = 0, 4, 10
"""First columns of the three tables that stand beside each other."""

_WIDTHS = (33, 13, 9, _GAP, 34, 8.5, 9.5, 8.5, 14.5, _GAP, 41, 12.5, 14, 8.5, 13, 8)
_MONEY = 8
"""The column that an edition without money leaves empty."""

LAST = len(_WIDTHS) - 1


def widths(money: bool) -> tuple[float, ...]:
    """Return the width of every column in characters.

    Args:
        money: whether the edition shows any.
    """
    return _WIDTHS if money else (*_WIDTHS[:_MONEY], _GAP, *_WIDTHS[_MONEY + 1 :])


def short(text: str, length: int) -> str:
    """Return a text on one line, with an ellipsis where it is longer than ``length`` characters.

    Args:
        text: anything a user or a catalog wrote.
        length: the most characters of the result.
    """
    line = " ".join(clean(text).split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def heading(page: Page, row: int, first: int, titles: Sequence[str]) -> None:
    """Write the header row of a table.

    Args:
        page: the sheet.
        row: its row.
        first: its first column.
        titles: what stands over each column; the first one is the table's title.
    """
    for column, title in enumerate(titles, start=first):
        align = "left" if column == first else "right"
        page.text(row, column, title, "heading", align)


def live(
    page: Page,
    row: int,
    column: int,
    formula: str,
    number: str,
    *,
    text: str = "",
    role: Role = "cross",
) -> None:
    """Write a figure that another sheet works out.

    Args:
        page: the sheet.
        row: the cell's row.
        column: the cell's column.
        formula: a formula over names, without the equals sign, that may be blank or a text.
        number: number format.
        text: what stands where there is no number.
        role: the look of the cell.
    """
    formula = f'=IF(ISNUMBER({formula}),{formula},"{text}")'
    page.formula(row, column, formula, number, role, "right")


def quotient(
    page: Page,
    row: int,
    column: int,
    over: str,
    under: str,
    number: str,
    role: Role = "formula",
) -> None:
    """Write a quotient of two cells.

    Args:
        page: the sheet.
        row: the cell's row.
        column: the cell's column.
        over: the name or address of the dividend.
        under: that of the divisor.
        number: number format.
        role: the look of the cell.
    """
    page.formula(row, column, f'=IFERROR({over}/{under},"{UNKNOWN}")', number, role, "right")
