"""The cover says what the document is, and its links lead to every sheet there is."""

from __future__ import annotations

import io
import re
import zipfile
from datetime import datetime
from pathlib import Path

import openpyxl
import pytest
from openpyxl.workbook import Workbook

from planner.outputs.audience import Audience, MoneyWords, Prices
from planner.outputs.workbook import SHEETS
from planner.schema.plan import Plan
from tests.workbook.conftest import written
from tests.workbook.excel import saved_after
from tests.workbook.office import to_read, values
from tests.world.gear import Setup
from tests.world.gear_plans import infeasible, plan
from tests.world.setups import ASYNC, CASES, COMPLETE, MINIMAL, SYNC

OWN = ("About", "Summary", "Notes", "BOM")
"""Sheets of the customer's edition that are under test here."""


def content(document: Plan, audience: Audience = "internal") -> bytes:
    """Return the workbook of an edition; of a customer's the one without prices."""
    return written(document, audience, "none" if audience == "customer" else None)


def opened(
    document: Plan,
    audience: Audience = "internal",
    prices: Prices | None = None,
    *,
    appendix: bool = False,
) -> Workbook:
    """Return the workbook of an edition with what its cells show, for reading only."""
    return to_read(written(document, audience, prices, appendix=appendix), data_only=True)


def told(book: Workbook, sheet: str = "About") -> dict[str, object]:
    """Return what stands beside each label of a sheet of two columns."""
    return {str(row[0].value): row[1].value for row in book[sheet].iter_rows() if row[0].value}


@pytest.mark.parametrize("setup", [ASYNC, SYNC, MINIMAL, COMPLETE])
@pytest.mark.parametrize("audience", ["internal", "customer"])
def test_every_sheet_has_a_link_in_reading_order(setup: Setup, audience: Audience) -> None:
    book = opened(plan(setup), audience)
    shown = [sheet.title for sheet in book if sheet.sheet_state == "visible"]
    links = [cell for row in book["About"].iter_rows() for cell in row if cell.hyperlink]
    assert [cell.value for cell in links] == [name for name in shown if name != "About"]
    hidden = {"Counts"} if audience == "internal" else {"Counts", "Checks"}
    assert shown == [name for name in SHEETS if name in book.sheetnames and name not in hidden]
    assert set(book.sheetnames) - set(shown) <= {"Fingerprint", *hidden}
    for cell in links:
        assert cell.hyperlink is not None
        assert cell.hyperlink.location == f"'{cell.value}'!A1"
        assert cell.hyperlink.target is None
        assert cell.font.underline and cell.font.bold
        assert book["About"].cell(cell.row, 2).value


def test_nothing_outside_the_file_is_linked() -> None:
    with zipfile.ZipFile(io.BytesIO(content(plan(COMPLETE)))) as archive:
        assert not [name for name in archive.namelist() if "externalLink" in name]
        for name in archive.namelist():
            if name.endswith(".rels"):
                assert b'TargetMode="External"' not in archive.read(name), name


@pytest.mark.parametrize("setup", [ASYNC, SYNC, COMPLETE])
def test_the_answer_opens_and_no_sheet_is_empty(setup: Setup) -> None:
    book = opened(plan(setup))
    assert book.sheetnames[:3] == ["Summary", "About", "BOM"]
    assert book.active is book["Summary"]
    assert [sheet.title for sheet in book if sheet.sheet_view.tabSelected] == ["Summary"]
    for sheet in book:
        cells = [cell for row in sheet.iter_rows() for cell in row if cell.value is not None]
        assert len(cells) > 5, sheet.title


def test_print_areas_and_repeated_rows_belong_to_their_sheets() -> None:
    file = io.BytesIO(written(plan(COMPLETE)))
    for sheet in openpyxl.load_workbook(file):  # reading makes cells, which count
        if sheet.title in ("BOM", "Checkpoint", "Racks", "Fingerprint"):  # not all is for print
            continue
        assert sheet.print_area.startswith(f"'{sheet.title}'!$A$1:")
        last = sheet.print_area.rpartition("$")[2]
        assert int(last) == sheet.max_row, sheet.title


def test_what_the_cover_says() -> None:
    facts = told(opened(plan(COMPLETE)))
    assert facts["Project"] == "10 MW training hall"
    assert facts["Description"] == "A plan for the tests"
    assert facts["Date"] == datetime(2026, 3, 1)
    assert facts["Valid for"] == 30
    assert facts["Valid until"] == datetime(2026, 3, 31)
    assert str(facts["Currency"]).startswith("US dollars")
    assert facts["Standing"] == "Budgetary figures, not an offer"
    assert str(facts["Edition"]).startswith("Internal")
    assert str(facts["Status"]).startswith("optimal")
    assert facts["Proven gap, at most"] == "less than 0.001 % of the best value"
    assert facts["Tool"] == "planner 0.1.0"
    assert facts["Solver"] == "HiGHS (highspy 1.15.0)"
    assert facts["Input SHA-256"] == "0" * 64


def test_a_plan_that_was_not_found_says_so() -> None:
    book = opened(infeasible())
    facts = told(book)
    assert str(facts["Status"]).startswith("infeasible")
    assert facts["Message"] == "the racks hold no GPU system"
    assert book["About"]["A3"].value == "No plan: infeasible"
    assert "TCO" not in book.sheetnames
    text = " ".join(str(cell.value) for row in book["Summary"].iter_rows() for cell in row)
    assert "No plan: the racks hold no GPU system" in text


def test_who_and_for_whom_are_for_the_reader_to_fill_in() -> None:
    book = to_read(written(plan(ASYNC)))
    rows = {str(row[0].value): row[1] for row in book["About"].iter_rows()}
    for label in ("Prepared by", "Prepared for", "Reference"):
        assert rows[label].value is None and not rows[label].protection.locked
    assert not rows["Valid for"].protection.locked
    assert rows["Date"].protection.locked and rows["Valid until"].protection.locked


def test_filling_in_the_cover_is_no_edit_of_the_plan(folder: Path, tmp_path: Path) -> None:
    def fill(book: Workbook) -> None:
        rows = {str(row[0].value): row[1] for row in book["About"].iter_rows()}
        rows["Prepared by"].value = "Sales engineering"
        rows["Valid for"].value = 14

    cells = values(saved_after(folder / "async.xlsx", tmp_path / "a.xlsx", fill))
    facts = {cells.get(("About", f"A{row}")): cells.get(("About", f"B{row}")) for row in range(40)}
    assert facts["Valid until"] == datetime(2026, 3, 15)
    assert facts["Prepared by"] == "Sales engineering"
    assert str(cells["About", "A3"]).startswith("As solved")


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_customers_sheets_speak_of_no_money(name: str) -> None:
    book = opened(plan(CASES[name]), "customer", "none")
    assert "TCO" not in book.sheetnames
    speaks = MoneyWords([])
    for sheet in OWN:
        texts = [str(c.value) for row in book[sheet].iter_rows() for c in row if c.value]
        assert [text for text in texts if speaks(text)] == []
    assert told(book)["Edition"] == "Customer edition"
    # The control: the inside's edition speaks of money on each of these sheets.
    inside = opened(plan(CASES[name]))
    for sheet in OWN:
        texts = [str(c.value) for row in inside[sheet].iter_rows() for c in row if c.value]
        assert any(speaks(text) for text in texts), sheet


def test_charts_of_the_customer_speak_of_no_money() -> None:
    with zipfile.ZipFile(io.BytesIO(content(plan(COMPLETE), "customer"))) as archive:
        charts = [archive.read(n).decode() for n in archive.namelist() if "charts/chart" in n]
    texts = [text for chart in charts for text in re.findall(r"<a:t>([^<]*)</a:t>", chart)]
    assert texts and not [text for text in texts if MoneyWords([])(text)]
