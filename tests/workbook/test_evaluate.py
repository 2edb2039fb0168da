"""The evaluator of the workbook's formulas means what Excel means, as an engine that follows it."""

from __future__ import annotations

import formualizer
import pytest

from planner.outputs.workbook.evaluate import (
    Evaluator,
)
from planner.outputs.workbook.functions import (
    FormulaError,
    Scalar,
)

CELLS: dict[str, float | str] = {
    "A1": 3.0, "A2": -1.5, "A4": "text", "B1": "OK", "B2": "over", "B3": "OK", "B4": "",
    "C1": 1.0, "C2": 2.0, "C3": 4.0, "C4": 8.0,
}  # fmt: skip
"""What the formulas read; A3 is blank."""


class Grid:
    """The cells above."""

    def at(self, sheet: str, row: int, column: int) -> Scalar:
        return CELLS.get(f"{'ABC'[column]}{row + 1}")

    def area(self, sheet: str, top: int, left: int, bottom: int, right: int) -> list[Scalar]:
        rows, columns = range(top, bottom + 1), range(left, right + 1)
        return [self.at(sheet, row, column) for row in rows for column in columns]

    def formulas(self, sheet: str, top: int, left: int, bottom: int, right: int) -> list[bool]:
        return [False for _ in self.area(sheet, top, left, bottom, right)]

    def address(self, name: str) -> str:
        raise KeyError(name)


FORMULAS: dict[str, float | str | bool] = {
    "1+2*3^2": 19.0,
    "-2^2": 4.0,
    "2^3^2": 64.0,
    "10-4-3": 3.0,
    '"a"&1+1&"b"': "a2b",
    "1/3&\"\"": "0.333333333333333",
    "TRUE=1": False,
    "TRUE+1": 2.0,
    "(A1>2)*5": 5.0,
    '"OVER"="over"': True,
    '"a"<1': False,
    "A3=0": True,
    'A3=""': True,
    "A3+1": 1.0,
    "ISBLANK(A3)": True,
    "ISBLANK(B4)": False,
    "ISNUMBER(A3)": False,
    "ISNUMBER(A4)": False,
    "ISNUMBER(1/0)": False,
    "ISERROR(A4+1)": True,
    'IFERROR(A4*1,"n/a")': "n/a",
    'IFERROR(EXP(1000),"n/a")': "n/a",
    'IFERROR(SQRT(-1),"n/a")': "n/a",
    'IFERROR(LN(0),"n/a")': "n/a",
    'IF(A1>2,"yes",1/0)': "yes",
    'IFERROR(AND(FALSE,1/0),"error")': "error",
    "OR(A1=0,A2<0)": True,
    "NOT(A1=3)": False,
    "MAX(A1:A4)": 3.0,
    "MAX(A4,-5)": -5.0,
    'IFERROR(MAX(1*A4,0),"n/a")': "n/a",
    "MIN(A1:A4,C1:C4)": -1.5,
    "SUM(A1:A4)": 1.5,
    "COUNT(A1:A4)": 2.0,
    "COUNTA(A1:A4)": 3.0,
    "ROWS(A1:C4)*COLUMNS(A1:C4)": 12.0,
    'COUNTIF(B1:B4,"ok")': 2.0,
    'COUNTIF(A1:A4,">-1E+300")': 2.0,
    'COUNTIFS(B1:B4,"OK",C1:C4,">1")': 1.0,
    'SUMIF(B1:B4,"OK",C1:C4)': 5.0,
    "SUMPRODUCT(A1:A4,C1:C4)": 0.0,
    'SUMPRODUCT((B1:B4<>"")*(C1:C4<>A1:A4))': 3.0,
    "SUMPRODUCT(MAX((C1:C4>2)*C1:C4))": 8.0,
    "ROUND(2.675,2)": 2.68,
    "ROUND(-2.5,0)": -3.0,
    "ROUND(1234.5,-2)": 1200.0,
    "ROUNDUP(2.00001,0)": 3.0,
    "ROUNDUP(-2.1,0)": -3.0,
    "INT(-1.5)": -2.0,
    "N(A4)": 0.0,
    "N(A1)": 3.0,
    "PV(0,5,-1)": 5.0,
    "PV(0.1,2,-1)": 1 / 1.1 + 1 / 1.21,
    'LEFT("OVER: x",4)': "OVER",
    'SUBSTITUTE(TRIM("  a  b ")," ",", ")': "a, b",
    'REPT("x",3)': "xxx",
}  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_comes_to_what_excel_makes_of_it(text: str) -> None:
    found = Evaluator(Grid()).value(f"={text}", "Sheet")
    expected = FORMULAS[text]
    assert type(found) is type(expected)
    assert found == (pytest.approx(expected, rel=1e-12) if type(found) is float else expected)


def test_the_second_engine_agrees() -> None:
    book = formualizer.Workbook()
    sheet = book.sheet("Sheet")
    for address, value in CELLS.items():
        column, row = "ABC".index(address[0]) + 1, int(address[1:])
        kind = formualizer.LiteralValue.text if isinstance(value, str) else None
        sheet.set_value(row, column, (kind or formualizer.LiteralValue.number)(value))
    for row, text in enumerate(FORMULAS, start=1):
        sheet.set_formula(row, 5, f"={text}")
    book.evaluate_all()
    for row, (text, expected) in enumerate(FORMULAS.items(), start=1):
        if text == '1/3&""':
            continue  # it joins 16 digits to a text, Excel 15
        found = book.evaluate_cell("Sheet", row, 5)
        assert found == (pytest.approx(expected) if type(expected) is float else expected), text


@pytest.mark.parametrize("text", ["A4+1", "1/0", "A1:A4", "EXP(1000)", "0^0"])
def test_what_excel_shows_as_an_error_is_raised(text: str) -> None:
    with pytest.raises(ArithmeticError):
        Evaluator(Grid()).value(text, "Sheet")


@pytest.mark.parametrize("text", ["UNKNOWN(1)", "1+", "1 # 2", "(1"])
def test_a_formula_that_cannot_be_read_is_no_error_of_a_cell(text: str) -> None:
    with pytest.raises(SyntaxError):
        Evaluator(Grid()).value(text, "Sheet")


def test_an_error_is_an_arithmetic_one() -> None:
    assert issubclass(FormulaError, ArithmeticError)
