"""What audit does not read: one clear line each, exit code 2, no traceback."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import openpyxl
import pytest
from openpyxl.workbook import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from planner.auditor import audit
from planner.errors import InputError
from planner.outputs.workbook import write
from tests.audit.books import Book, book, edited
from tests.workbook.conftest import CREATED

PROBLEM = "megatron_1t"


@pytest.fixture(scope="module")
def source() -> Book:
    return book(PROBLEM)


def refused(path: Path) -> list[str]:
    """Return the lines of the refusal."""
    with pytest.raises(InputError) as caught:
        audit(path, solve_again=False)
    assert caught.value.exit_code == 2
    lines = str(caught.value).splitlines()
    assert all(line.startswith(str(path).replace("\0", " ")) for line in lines)
    return lines


def changed(source: Book, tmp_path: Path, change: Callable[[Workbook], None]) -> Path:
    """Save the workbook after a change of it."""
    document, path = source.opened(), tmp_path / "edited.xlsx"
    change(document)
    document.save(path)
    return path


def row_of(sheet: Worksheet, text: str) -> int:
    """Return the first row with a cell of this text."""
    for row in sheet.iter_rows():
        if any(cell.value == text for cell in row):
            assert row[0].row is not None
            return row[0].row
    raise AssertionError(text)


def only(lines: list[str], *parts: str) -> None:
    """Require one line with all these parts."""
    assert len(lines) == 1
    for part in parts:
        assert part in lines[0], lines[0]


def first_sku(source: Book) -> str:
    return source.plan.lines[0].sku


def test_no_file(tmp_path: Path) -> None:
    only(refused(tmp_path / "none.xlsx"), "there is no such file")


def test_a_folder(tmp_path: Path) -> None:
    only(refused(tmp_path), "is a folder, not a file")


def test_a_password(tmp_path: Path) -> None:
    path = tmp_path / "locked.xlsx"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000))
    only(refused(path), "password", "save it without")


def test_a_text_file(tmp_path: Path) -> None:
    path = tmp_path / "text.xlsx"
    path.write_text("Line;Section\n")
    only(refused(path), "not a whole .xlsx file")


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "empty.xlsx"
    path.write_bytes(b"")
    only(refused(path), "not a whole .xlsx file")


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9, 0.999])
def test_a_truncated_file(source: Book, tmp_path: Path, share: float) -> None:
    path = tmp_path / "cut.xlsx"
    path.write_bytes(source.content[: int(share * len(source.content))])
    only(refused(path), "not a whole .xlsx file")


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_flipped_bytes(source: Book, tmp_path: Path, share: float) -> None:
    path, content = tmp_path / "flipped.xlsx", bytearray(source.content)
    start = int(share * len(content))
    content[start : start + 64] = bytes(64)
    path.write_bytes(bytes(content))
    only(refused(path), "[workbook]")


def test_another_zip(tmp_path: Path) -> None:
    path = tmp_path / "other.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
    only(refused(path), "no .xlsx workbook")


def test_another_tool(tmp_path: Path) -> None:
    path, document = tmp_path / "quote.xlsx", openpyxl.Workbook()
    document.active["A1"] = "Quote"
    document.save(path)
    only(refused(path), "planner did not write this workbook")


def test_the_customers_edition(source: Book, tmp_path: Path) -> None:
    path = tmp_path / "customer.xlsx"
    with path.open("wb") as stream:
        write(source.plan, stream, created=CREATED, audience="customer", inputs="{}")
    only(refused(path), "an edition for the outside", "internal edition")


def test_what_was_packed_is_changed(source: Book, tmp_path: Path) -> None:
    def spoil(document: Workbook) -> None:
        document["Data"]["A6"].value = "A" + str(document["Data"]["A6"].value)[1:-5]

    only(refused(changed(source, tmp_path, spoil)), "Data", "cannot be read")


def test_the_packed_plan_of_another_workbook(source: Book, tmp_path: Path) -> None:
    other = book("gpt3_octet").opened()["Data"]

    def swap(document: Workbook) -> None:
        for row in range(6, 40):
            document["Data"].cell(row, 1).value = other.cell(row, 1).value

    only(refused(changed(source, tmp_path, swap)), "Data", "belongs to another workbook")


def test_a_stray_format_far_out_is_nothing(source: Book, tmp_path: Path) -> None:
    def stray(document: Workbook) -> None:
        document["BOM"]["XFD1048576"].number_format = "0.00"
        document["Checkpoint"]["AN200000"].number_format = "0.00"

    assert audit(changed(source, tmp_path, stray)).edits == ()


def test_text_far_out_is_named(source: Book, tmp_path: Path) -> None:
    def stray(document: Workbook) -> None:
        document["About"]["B1048000"].value = "hello"

    only(refused(changed(source, tmp_path, stray)), "About!B1048000", "was empty")


def test_names_that_lead_nowhere_are_not_needed(source: Book, tmp_path: Path) -> None:
    def spoil(document: Workbook) -> None:
        document.defined_names["goodput"].attr_text = "Nowhere!$A$1"
        document.defined_names["drain_s"].attr_text = "#REF!"

    assert audit(changed(source, tmp_path, spoil), solve_again=False).edits == ()


def test_a_name_that_no_file_can_have() -> None:
    only(refused(Path("a\0b.xlsx")), "cannot be read")


def test_another_version(source: Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = edited(source, tmp_path / "old.xlsx", {})
    module = import_module("planner.auditor")
    monkeypatch.setattr(module, "__version__", "9.9.9")
    only(refused(path), "written by planner", "this is planner 9.9.9")


def test_texts_and_formulas_of_another_build_are_no_edits(
    source: Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version stays the same from one release to the next, and sheets do not."""

    def other(document: Workbook) -> None:
        document["TCO"]["A5"] = "as it was called before"

    path = changed(source, tmp_path, other)
    only(refused(path), "TCO!A5")
    monkeypatch.setattr(import_module("planner.auditor.reader"), "build", lambda: "a later one")
    first, second = refused(path)
    assert "written by another build of planner" in first
    assert "solve its problem again and type its edits into the new workbook" in first
    assert "TCO!A5" in second


def test_a_sheet_is_gone(source: Book, tmp_path: Path) -> None:
    def remove(document: Workbook) -> None:
        document.remove(document["Checks"])

    only(refused(changed(source, tmp_path, remove)), "Checks", "the sheet is gone")


def test_a_sheet_of_ones_own_is_welcome(source: Book, tmp_path: Path) -> None:
    def add(document: Workbook) -> None:
        document.create_sheet("My notes")["A1"] = "call the customer"

    found = audit(changed(source, tmp_path, add))
    assert found.added_sheets == ("My notes",) and not found.edits


def test_a_line_is_deleted(source: Book, tmp_path: Path) -> None:
    def delete(document: Workbook) -> None:
        document["BOM"].delete_rows(row_of(document["BOM"], first_sku(source)))

    lines = refused(changed(source, tmp_path, delete))
    only(lines[:1], "BOM", "NVIDIA DGX A100", "is gone", "a quantity of 0")


def test_a_line_is_added(source: Book, tmp_path: Path) -> None:
    def add(document: Workbook) -> None:
        sheet = document["BOM"]
        row = row_of(sheet, first_sku(source)) + 1
        sheet.insert_rows(row)
        sheet.cell(row, 2, "Storage")
        sheet.cell(row, 4, "XYZ-1")

    lines = refused(changed(source, tmp_path, add))
    assert "BOM" in lines[0] and "XYZ-1" in lines[0] and "was added" in lines[0]
    assert "put the item into the problem file" in lines[0]


def test_text_in_a_row_that_was_empty(source: Book, tmp_path: Path) -> None:
    def fill(document: Workbook) -> None:
        sheet = document["BOM"]
        last = max(row_of(sheet, line.sku) for line in source.plan.lines)
        sheet.cell(last + 1, 4, 1234)

    lines = refused(changed(source, tmp_path, fill))
    only(lines, "BOM!D", "was empty, now holds '1234'")


def test_an_unknown_part_number(source: Book, tmp_path: Path) -> None:
    def swap(document: Workbook) -> None:
        sheet = document["BOM"]
        sheet.cell(row_of(sheet, first_sku(source)), 2, "OTHER-PART")

    lines = refused(changed(source, tmp_path, swap))
    only(lines, "BOM!B", "unknown part number", "now holds 'OTHER-PART'", "solve again")


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("value", ["eight", -1, 1.5, 1e9, True, None])
def test_no_quantity(source: Book, tmp_path: Path, value: object) -> None:
    cell = source.cell("quantity", first_sku(source))

    def write_it(document: Workbook) -> None:
        document["BOM"][cell.cell].value = value

    lines = refused(changed(source, tmp_path, write_it))
    only(lines, f"BOM!{cell.cell}", "quantity of", "write a whole number between 0 and")


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(("key", "value"), [("pue", 0.5), ("save_mode", "later"), ("years", "x")])
def test_no_such_figure(source: Book, tmp_path: Path, key: str, value: object) -> None:
    cell = source.cell("figure", key)

    def write_it(document: Workbook) -> None:
        document["Checkpoint"][cell.cell].value = value

    only(refused(changed(source, tmp_path, write_it)), f"Checkpoint!{cell.cell}", "write ")


def test_a_formula_typed_into_an_input_needs_a_value(source: Book, tmp_path: Path) -> None:
    cell = source.cell("quantity", first_sku(source))

    def write_it(document: Workbook) -> None:
        document["BOM"][cell.cell].value = "=7*8"

    only(refused(changed(source, tmp_path, write_it)), "=7*8", "was never computed")


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("value", [123.0, "=1+1", None, "free of charge"])
def test_a_broken_formula(source: Book, tmp_path: Path, value: object) -> None:
    def overwrite(document: Workbook) -> None:
        sheet, address = next(iter(document.defined_names["goodput"].destinations))
        document[sheet][address.replace("$", "")].value = value

    lines = refused(changed(source, tmp_path, overwrite))
    only(lines, "Checkpoint!B", "held the formula", "put the formula back", "[formula]")


def test_many_broken_cells_are_summed_up(source: Book, tmp_path: Path) -> None:
    def overwrite(document: Workbook) -> None:
        for row in range(20, 60):
            document["Checkpoint"].cell(row, 5, "x")

    lines = refused(changed(source, tmp_path, overwrite))
    assert len(lines) == 9 and "more cells that were changed" in lines[-1]


def test_a_term_needs_both_of_its_parts(source: Book, tmp_path: Path) -> None:
    missing = book(PROBLEM, "term=null") if source.plan.site.years is not None else source
    path = edited(missing, tmp_path / "term.xlsx", {("figure", "years"): 4.0})
    only(refused(path), "give both")


def test_one_replica_needs_its_size(tmp_path: Path) -> None:
    bare = book("10MW", "jobs.0.parallelism=null")
    path = edited(bare, tmp_path / "replica.xlsx", {("figure", "writers"): "one_replica"})
    only(refused(path), "GPUs that hold one replica")
