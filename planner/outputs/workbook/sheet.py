"""A worksheet that writes the planner's own formulas as they are."""

from __future__ import annotations

from collections.abc import Iterator

from xlsxwriter.worksheet import (
    CellFormulaTuple,
    CellNumberTuple,
    CellStringTuple,
    Worksheet,
)


class Sheet(Worksheet):  # type: ignore[misc]
    """A worksheet for formulas of functions that every spreadsheet program has had for decades.

    XlsxWriter looks through each formula for 29 newer functions that need a prefix, which takes
    most of the time a long bill takes to write; no formula of the planner uses one.
    Cells are always given by row and column, so the search for addresses such as ``A1`` is left out
    as well.
    """

    write_number = Worksheet.write_number.__wrapped__
    write_string = Worksheet.write_string.__wrapped__
    write_blank = Worksheet.write_blank.__wrapped__
    write_formula = Worksheet.write_formula.__wrapped__

    def _prepare_formula(self, formula: str, expand_future_functions: bool = False) -> str:
        return formula.removeprefix("=")

    def written(self) -> Iterator[tuple[int, int, float | str, bool]]:
        """Yield row, column and value of every cell that holds something, and if by a formula."""
        strings = {index: text for text, index in self.str_table.string_table.items()}
        for row, cells in sorted(self.table.items()):
            for column, cell in sorted(cells.items()):
                if isinstance(cell, CellNumberTuple):
                    yield row, column, cell.number, False
                elif isinstance(cell, CellStringTuple):
                    yield row, column, strings[cell.string], False
                elif isinstance(cell, CellFormulaTuple):
                    yield row, column, cell.value, True
