"""The banner says that a workbook is as solved for as long as it is, and no longer."""

from __future__ import annotations

import io
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import openpyxl
import pytest
from openpyxl.formula import Tokenizer
from openpyxl.formula.tokenizer import Token
from openpyxl.workbook import Workbook

from planner.outputs.workbook import book as sheets
from planner.outputs.workbook import write
from planner.outputs.workbook.cells import InputCell, Kind, Scalar
from planner.outputs.workbook.own_lines import key
from planner.schema.plan import Plan
from tests.workbook.conftest import CREATED, written, written_afresh
from tests.workbook.excel import Excel, cached
from tests.workbook.office import convert, needs_office, to_read
from tests.world.gear_plans import infeasible, plan
from tests.world.setups import CASES

BANNER = ("Checkpoint", "A3")
STATED = ("Summary", "BOM", "Checkpoint", "TCO", "Checks")
SEED = 15


@pytest.fixture(scope="module")
def source() -> bytes:
    return written(plan(CASES["complete"]))


@pytest.fixture(scope="module")
def excel(source: bytes) -> Excel:
    return Excel(source)


def inputs() -> tuple[InputCell, ...]:
    return write(plan(CASES["complete"]), io.BytesIO(), created=CREATED)


def other(value: object) -> float | str:
    """Return something else than a cell holds."""
    if isinstance(value, (int, float)):
        return 1.0 if value == 0 else float(value) * 1.01
    return "something else"


def edited(text: object) -> bool:
    return str(text).startswith("EDITED: ")


def located(source: bytes, sku: str, title: str) -> str:
    """Return the address of a cell of the bill by catalog id and column."""
    sheet = to_read(source)["BOM"]
    row = next(r for r in sheet.iter_rows() if any(cell.value == sku for cell in r))[0].row
    column = next(cell.column_letter for cell in sheet[7] if cell.value == title)
    return f"{column}{row}"


def test_as_solved_until_something_is_edited(excel: Excel) -> None:
    assert str(excel.value(*BANNER)).startswith("As solved: proven best")


def test_no_plan_needs_no_fingerprint() -> None:
    book = Excel(written(infeasible()))
    assert book.value(*BANNER) == "No plan: infeasible"


def test_every_input_turns_it_and_back(excel: Excel) -> None:
    own = {key("Services", 10, field) for field in ("model", "quantity", "unit_list", "remark")}
    cells = [cell for cell in inputs() if cell.kind not in ("local", "own_line") or cell.key in own]
    assert {cell.kind for cell in cells} == {*get_args(Kind)} - {"local"}
    for cell in cells:
        choices = [choice for choice in cell.range.choices if choice != cell.value]
        excel.write(cell.sheet, cell.cell, choices[0] if choices else other(cell.value))
        text = str(excel.value(*BANNER))
        assert text.startswith("EDITED: optimality no longer proven"), cell
        assert text.endswith(" 1"), cell
        excel.write(cell.sheet, cell.cell, cell.value)
        assert str(excel.value(*BANNER)).startswith("As solved"), cell


def test_inputs_of_a_sheet_of_its_own_do_not(excel: Excel) -> None:
    cells = [cell for cell in inputs() if cell.kind == "local" and cell.value is not None]
    assert len(cells) >= 3
    for cell in cells:
        excel.write(cell.sheet, cell.cell, other(cell.value))
        assert str(excel.value(*BANNER)).startswith("As solved"), cell
        excel.write(cell.sheet, cell.cell, cell.value)


@pytest.mark.parametrize(
    ("title", "value"),
    [("Installed", 4), ("Cold spares", 0), ("Cold spares", None), ("Unit list", 1.0),
     ("Pack of", 7), ("kW each", 0.5), ("RU each", None), ("Purchased", 1), ("Unit net", 0.01),
     ("Extended net", 1000.0), ("Racks", 1), ("Lead time, days", 3), ("Part number", "another"),
     ("Catalog id", "another"), ("Manufacturer", None), ("Section", "Storage"),
     ("Support per unit and year", 5.0), ("Solved quantity", 31)],
)  # fmt: skip
def test_locked_cells_of_the_bill(source: bytes, excel: Excel, title: str, value: Scalar) -> None:
    """What a reader can do who takes the protection off, which has no password."""
    cell = ("BOM", located(source, "hgx_b300_liquid", title))
    formula, before = excel.formula_of(*cell), excel.value(*cell)
    excel.write(*cell, value)
    assert edited(excel.value(*BANNER))
    if formula is None:
        excel.write(*cell, before)
    else:
        excel.formula(*cell, f"={formula.removeprefix('=')}")
    assert str(excel.value(*BANNER)).startswith("As solved")


def test_any_figure_that_is_pasted_over(source: bytes, excel: Excel) -> None:
    formulas = cached(source)
    slack = re.compile(r"F\d+")
    stated = [
        (sheet, address)
        for (sheet, address), value in formulas.items()
        if sheet in STATED
        and isinstance(value, float)
        and int(address.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")) > 5
        and not (sheet == "Checks" and slack.fullmatch(address))
        and "_edits" not in str(excel.formula_of(sheet, address))
    ]
    for sheet, address in random.Random(SEED).sample(stated, 40):
        formula, value = excel.formula_of(sheet, address), formulas[sheet, address]
        assert formula is not None
        excel.write(sheet, address, other(value))
        assert edited(excel.value(*BANNER)), (sheet, address, formula)
        excel.formula(sheet, address, f"={formula.removeprefix('=')}")
        assert str(excel.value(*BANNER)).startswith("As solved"), (sheet, address)


def test_a_little_more_is_noticed_and_last_digits_are_not(source: bytes) -> None:
    large = [
        place
        for place, value in cached(source).items()
        if place[0] == "Checkpoint" and isinstance(value, float) and value > 1e6
    ]
    cell = large[0]
    excel, value = Excel(source), cached(source)[cell]
    excel.write(*cell, value * (1 + 1e-13))
    assert str(excel.value(*BANNER)).startswith("As solved")
    excel.write(*cell, value * (1 + 1e-8))
    assert edited(excel.value(*BANNER))


def shifted(formula: str, here: str, sheet: str, row: int) -> str:
    """Return a formula of sheet ``here`` as a program writes it after a row was deleted."""
    tokens = Tokenizer(formula)
    for token in tokens.items:
        if token.type == Token.OPERAND and token.subtype == Token.RANGE:
            token.value = _moved(token.value, here, sheet, row)
    return tokens.render()


def _moved(reference: str, here: str, sheet: str, row: int) -> str:
    place, mark, cells = reference.rpartition("!")
    if (place.strip("'") or here) != sheet:
        return reference
    ends = re.fullmatch(r"(\$?[A-Z]+\$?)(\d+)(?::(\$?[A-Z]+\$?)(\d+))?", cells)
    if ends is None:
        return reference
    first, last = int(ends[2]), int(ends[4] or ends[2])
    if first == last == row:
        return "#REF!"
    first, last = first - (first > row), last - (last >= row)
    return f"{place}{mark}{ends[1]}{first}" + (f":{ends[3]}{last}" if ends[3] else "")


def without_row(document: Workbook, sheet: str, row: int) -> None:
    """Delete a row as spreadsheet programs do: what points below it follows."""
    for page in document.worksheets:
        for cells in page.iter_rows():
            for cell in cells:
                if cell.data_type == "f":
                    cell.value = shifted(str(cell.value), page.title, sheet, row)
    for name in document.defined_names.values():
        name.attr_text = shifted(f"={name.attr_text}", "", sheet, row).removeprefix("=")
    document[sheet].delete_rows(row)


def _found(document: Workbook, sheet: str, text: str) -> int:
    return next(
        cell.row for row in document[sheet].iter_rows() for cell in row if cell.value == text
    )


def _bill(sku: str) -> Callable[[Workbook], None]:
    return lambda document: without_row(document, "BOM", _found(document, "BOM", sku))


def _limit(document: Workbook) -> None:
    without_row(document, "Checks", _found(document, "Checks", "capex"))


def _figure(document: Workbook) -> None:
    without_row(document, "Checkpoint", _found(document, "Checkpoint", "Capex"))


def _line_added(document: Workbook) -> None:
    row = _found(document, "BOM", "fibre_10m") + 1
    document["BOM"][f"N{row}"].value = "Storage"


def _two_swapped(document: Workbook) -> None:
    sheet = document["BOM"]
    one, two = _found(document, "BOM", "fibre_10m"), _found(document, "BOM", "cat6")
    for column in range(1, 12):
        a, b = sheet.cell(one, column), sheet.cell(two, column)
        a.value, b.value = b.value, a.value


def _sheet_gone(document: Workbook) -> None:
    del document["Fingerprint"]
    document.defined_names["fingerprint_differs"].attr_text = "#REF!"


def _same_value_pasted(document: Workbook) -> None:
    shown = to_read(written(plan(CASES["complete"])), data_only=True)["BOM"]
    row = _found(document, "BOM", "hgx_b300_liquid")
    pasted = [cell for cell in document["BOM"][row] if cell.data_type == "f"]
    for cell in pasted:
        cell.value = shown[cell.coordinate].value


STRUCTURE: dict[str, Callable[[Workbook], None]] = {
    "system_deleted": _bill("hgx_b300_liquid"),
    "cable_deleted": _bill("cat6"),
    "limit_deleted": _limit,
    "figure_deleted": _figure,
    "line_added": _line_added,
    "two_swapped": _two_swapped,
    "sheet_gone": _sheet_gone,
}


def changed(source: bytes, change: Callable[[Workbook], None]) -> bytes:
    """Return the workbook, changed and saved."""
    document, stream = openpyxl.load_workbook(io.BytesIO(source)), io.BytesIO()
    change(document)
    document.save(stream)
    return stream.getvalue()


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("name", sorted(STRUCTURE))
def test_lines_and_sheets_that_come_and_go(name: str, source: bytes) -> None:
    assert edited(Excel(changed(source, STRUCTURE[name])).value(*BANNER))


@needs_office
@pytest.mark.exhaustive(keep=0)
def test_libreoffice_sees_all_of_it_and_values_pasted_over_formulas(
    source: bytes, tmp_path: Path
) -> None:
    changes = {name: STRUCTURE[name] for name in ("system_deleted", "line_added", "sheet_gone")}
    files = []
    for name, change in (changes | {"same_value_pasted": _same_value_pasted}).items():
        files.append(tmp_path / f"{name}.xlsx")
        files[-1].write_bytes(changed(source, change))
    for result in convert(tmp_path, files):
        sheet = to_read(result.read_bytes(), data_only=True)[BANNER[0]]
        assert edited(sheet[BANNER[1]].value), result.name


def large() -> Plan:
    """Return a plan of so many lines that its bill is not copied cell by cell."""
    document = plan(CASES["complete"])
    line = next(each for each in document.lines if each.section == "Network")
    more = (line.model_copy(update={"sku": f"more_{number}"}) for number in range(520))
    return document.model_copy(update={"lines": (*document.lines, *more)})


def test_a_large_bill_is_watched_by_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "CHECKED", False)  # the plan's totals know nothing of these lines
    content = written_afresh(large())
    book = Excel(content)
    assert str(book.value(*BANNER)).startswith("As solved")
    sheet = to_read(content)["BOM"]
    row = next(r for r in sheet.iter_rows() if any(cell.value == "more_400" for cell in r))
    heads = {str(cell.value): cell.column_letter for cell in sheet[7]}
    number = row[0].row
    for title, value in (
        ("kW each", 0.4567),
        ("Part number", "another"),
        ("Manufacturer", None),
        ("RU each", None),
        ("Extended net", 1000.0),
        ("Pack of", 2),
        ("Catalog id", "more_401"),
    ):
        cell = ("BOM", f"{heads[title]}{number}")
        formula, before = book.formula_of(*cell), book.value(*cell)
        book.write(*cell, value)
        assert edited(book.value(*BANNER)), title
        if formula is None:
            book.write(*cell, before)
        else:
            book.formula(*cell, f"={formula.removeprefix('=')}")
        assert str(book.value(*BANNER)).startswith("As solved"), title


@needs_office
@pytest.mark.exhaustive(keep=0)
def test_libreoffice_takes_a_large_bill_for_the_solved_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sheets, "CHECKED", False)
    source = tmp_path / "large.xlsx"
    source.write_bytes(written_afresh(large()))
    (result,) = convert(tmp_path, [source])
    assert str(openpyxl.load_workbook(result, data_only=True)["BOM"]["A3"].value).startswith(
        "As solved"
    )
