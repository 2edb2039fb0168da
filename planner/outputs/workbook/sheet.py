"""A worksheet that writes the planner's own formulas as they are, and whose cells can be read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from xlsxwriter.worksheet import (
    CellDatetimeTuple,
    CellFormulaTuple,
    CellNumberTuple,
    CellStringTuple,
    Worksheet,
)

from planner.outputs.workbook.evaluate import FormulaError, Scalar


class Sheet(Worksheet):  # type: ignore[misc]
    """A worksheet for formulas of functions that every spreadsheet program has had for decades.

    XlsxWriter looks through each formula for 29 newer functions that need a prefix, which takes
    most of the time a long bill takes to write; no formula of the planner uses one.
    Cells are always given by row and column, so the search for addresses such as ``A1`` is left out
    as well.

    ``results`` holds what formulas were found to come to so far, by row and column.
    """

    write_number = Worksheet.write_number.__wrapped__
    write_string = Worksheet.write_string.__wrapped__
    write_blank = Worksheet.write_blank.__wrapped__
    write_formula = Worksheet.write_formula.__wrapped__

    def __init__(self) -> None:
        super().__init__()
        self.results: dict[tuple[int, int], Scalar | FormulaError] = {}
        self._texts: list[str] = []

    def _prepare_formula(self, formula: str, expand_future_functions: bool = False) -> str:
        return formula.removeprefix("=")

    def held(self, row: int, column: int) -> Scalar:
        """Return the number or text that a cell holds, None where it holds neither."""
        cell = self.table.get(row, {}).get(column)
        kind = type(cell)
        if kind is CellNumberTuple or kind is CellDatetimeTuple:
            return float(cell.number)
        return self._text(cell.string) if kind is CellStringTuple else None

    def formula(self, row: int, column: int) -> str | None:
        """Return the formula of a cell, None where it holds none."""
        cell = self.table.get(row, {}).get(column)
        return cell.formula if type(cell) is CellFormulaTuple else None

    def written(self) -> Iterator[tuple[int, int, bool]]:
        """Yield row and column of every cell that holds something, and if that is a formula."""
        for row, cells in sorted(self.table.items()):
            for column, cell in sorted(cells.items()):
                kind = type(cell)
                if kind in (CellNumberTuple, CellStringTuple, CellFormulaTuple):
                    yield row, column, kind is CellFormulaTuple

    def show(self, row: int, column: int, value: float | str | bool) -> None:
        """Note for the file what a formula comes to."""
        self.table[row][column] = self.table[row][column]._replace(value=value)

    def _text(self, number: int) -> str:
        """Return a text of the workbook by its number."""
        if number >= len(self._texts):
            self._texts += islice(self.str_table.string_table, len(self._texts), None)
        return self._texts[number]
