"""The file itself: reproducible, safe against hostile text, protected, set up for print."""

from __future__ import annotations

import io
import re
import time
import zipfile
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from openpyxl.utils import get_column_letter
from openpyxl.workbook import Workbook

from planner.outputs.words import CELL_LIMIT, clean
from planner.outputs.workbook import write
from planner.schema.plan import Assumption, NotConsidered, Plan
from tests.workbook.conftest import written, written_afresh
from tests.workbook.office import to_read
from tests.world.gear import Setup
from tests.world.gear_plans import infeasible, plan
from tests.world.setups import ASYNC, CASES, COMPLETE, MINIMAL, SYNC

SHEETS = ["Summary", "About", "BOM", "Line notes", "Own lines", "Checkpoint", "Power & Cooling",
          "TCO", "Checks", "Notes", "Fingerprint"]  # fmt: skip
PAGES_HIGH = {"About": 1, "Summary": 1, "Own lines": 1, "Power & Cooling": 1, "Checkpoint": 2}
HOSTILE = (
    "=cmd|' /C calc'!A0",
    "+1",
    "-1+1",
    "@SUM(A1)",
    "{=1}",
    "'quoted",
    "_x0041_",
    "a\x00b\x07c\x1bd\ufffe",
    "\ud800 lone",
    "http://example.com/ &amp; <b>",
    "[]:*?/\\",
    "first\r\nsecond\tthird",
    "x" * 40_000,
    "𝔘" * 40_000,
    "&P &D &[Tab]",
)


def opened(content: bytes, *, data_only: bool = False) -> Workbook:
    """Return a workbook, for reading only."""
    return to_read(content, data_only=data_only)


def test_same_plan_and_date_same_bytes() -> None:
    first = written_afresh(plan(ASYNC))
    time.sleep(1.1)
    assert written_afresh(plan(ASYNC)) == first


def test_what_is_not_worked_out_twice_in_a_long_bill_changes_no_byte(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tests hold every formula against the plan; without that the file is the same."""
    some = plan(COMPLETE)
    more = [
        line.model_copy(update={"sku": f"{line.sku}_{number}"})
        for number in range(60)
        for line in some.lines
        if line.parent is None and line.section not in ("Compute", "Storage")
    ]
    assert len(more) > 500
    long = some.model_copy(update={"lines": (*some.lines, *more), "limits": ()})
    monkeypatch.setattr("planner.outputs.workbook.book.CHECKED", False)
    quick = written_afresh(long)
    read = opened(quick, data_only=True)["Fingerprint"]
    told = {row[0]: row[1] for row in read.iter_rows(min_row=6, max_col=2, values_only=True)}
    assert told["BOM"] == told["Sheets that differ"] == 0
    monkeypatch.setattr("planner.outputs.workbook.book.Book.take", lambda *_: None)
    assert written_afresh(long) == quick, "worked out it is 0 too"


def test_another_date_other_bytes() -> None:
    stream = io.BytesIO()
    write(plan(ASYNC), stream, created=datetime(2026, 3, 2))
    assert stream.getvalue() != written(plan(ASYNC))


def hostile_plan(text: str) -> Plan:
    """Return a plan in which every free string is ``text``."""
    everywhere = {"vendor": text, "model": text, "part_number": text, "description": text}
    setup = MINIMAL.change("gpu_b", **everywhere).change("box", notes=(text,), **everywhere)
    return plan(
        setup,
        problem=text,
        description=text,
        message=text,
        warnings=(text,),
        not_considered=(NotConsidered(sku=text, reason=text),),
        assumptions=(Assumption(name=text, label=text, value=text, unit=text, source=text),),
    )


def hostile_complete(text: str) -> Plan:
    """Return a complete bill in which every free string is ``text``, catalog ids included."""
    document = plan(COMPLETE)
    renamed = {"vendor": text, "model": text, "role": text, "unit": text, "lead_time": text}
    lines = tuple(
        line.model_copy(update=renamed | {"part_number": text, "notes": (text,)})
        for line in document.lines
    )
    fabrics = tuple(
        fabric.model_copy(update={"switch_sku": text, "serves": (text,)})
        for fabric in document.fabrics
    )
    racks = tuple(
        group.model_copy(
            update={"devices": tuple(d.model_copy(update={"sku": text}) for d in group.devices)}
        )
        for group in document.racks
    )
    changes = {"lines": lines, "fabrics": fabrics, "racks": racks, "problem": text}
    return document.model_copy(update=changes)


def all_cells(book: Workbook) -> Iterator[Any]:
    return (cell for sheet in book for row in sheet.iter_rows() for cell in row)


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_stays_text(text: str) -> None:
    book = opened(written(hostile_plan(text)))
    harmless = opened(written(hostile_plan("harmless")))
    formulas = [cell.coordinate for cell in all_cells(book) if cell.data_type == "f"]
    assert formulas == [cell.coordinate for cell in all_cells(harmless) if cell.data_type == "f"]
    # The writer escapes what looks like an escape; openpyxl shows that as it is.
    expected = clean(text).replace("_x0041_", "_x005F_x0041_")
    shown = [cell.value for cell in all_cells(book) if cell.data_type == "s"]
    assert shown.count(expected) + shown.count(clean(text)) >= 8
    assert all(len(value.encode("utf-16-le")) // 2 <= CELL_LIMIT for value in shown)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_stays_text_in_a_complete_bill(text: str) -> None:
    formulas = [
        [cell.coordinate for cell in all_cells(book) if cell.data_type == "f"]
        for book in (opened(written(hostile_complete(t))) for t in (text, "harmless"))
    ]
    assert formulas[0] == formulas[1]


def test_a_footer_has_no_codes_but_our_own() -> None:
    content = written(plan(MINIMAL, problem="R&D &P &[Tab]"))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
    assert "&amp;LR&amp;&amp;D &amp;&amp;P &amp;&amp;[Tab]&amp;C" in sheet


def test_clean_keeps_what_fits_and_cuts_the_rest() -> None:
    assert clean("plain ü 漢\nnext") == "plain ü 漢\nnext"
    assert clean("a\x00b\x0bc\ud800") == "abc"
    assert clean("x" * CELL_LIMIT) == "x" * CELL_LIMIT
    for text in ("x" * 40_000, "𝔘" * 20_000, "x𝔘" * 15_000):
        cut = clean(text)
        assert cut.endswith("[cut]")
        assert len(cut.encode("utf-16-le")) // 2 <= CELL_LIMIT
        assert text.startswith(cut.removesuffix(" … [cut]"))


PRINTED = (
    """
Line|Part number|Manufacturer|Model and description|Unit|Quantity|Purchased
Unit list|Discount|Unit net|Extended net|Support, subscription per year|Lead time
""".strip()
    .replace("\n", "|")
    .split("|")
)
"""The columns of the quote: the same, at the same place, whatever the problem."""

FIXED_COLUMNS = [
    *PRINTED,
    *(
        """
Section|Cold spares|Installed|Pack of|Lead time, days|Remark
Extended list|Support, share of net|Support per unit and year|Support per year
kW each|kW total|BTU/h total|RU each|RU total|Racks|kg each|kg total
GPUs each|GPUs total|Read GB/s each|Read GB/s total|Write GB/s each|Write GB/s total
Usable TB each|Usable TB total|Catalog id|Solved quantity|Solved unit list|Solved discount
Solved installed|Solved cold spares|Solved lead time
""".strip()
        .replace("\n", "|")
        .split("|")
    ),
]


@pytest.mark.parametrize("setup", [ASYNC, SYNC, MINIMAL])
def test_a_plan_without_companions_has_no_sheets_and_columns_for_them(setup: Setup) -> None:
    book = opened(written(plan(setup)))
    assert book.sheetnames == SHEETS
    assert [str(cell.value) for cell in book["BOM"][7]] == FIXED_COLUMNS
    names = set(book.defined_names)
    assert not {"discount_rate", "pue_liquid", "bom_facility_power_kw", "heat_air_kw"} & names


@pytest.mark.parametrize("name", sorted(CASES))
def test_no_problem_moves_a_column_of_the_bill(name: str) -> None:
    titles = [cell.value for cell in opened(written(plan(CASES[name])))["BOM"][7]]
    assert titles[: len(FIXED_COLUMNS)] == FIXED_COLUMNS


@pytest.mark.parametrize(
    ("setup", "names"),
    [
        (ASYNC, SHEETS),
        (COMPLETE, [*SHEETS[:7], "Racks", "Fabric", *SHEETS[7:]]),
    ],
)
def test_sheets_print_and_protection(setup: Setup, names: list[str]) -> None:
    book = opened(written(plan(setup)))
    assert book.sheetnames == names
    for sheet in book:
        assert sheet.page_setup.orientation == "landscape"
        assert sheet.print_title_rows
        assert "&P" in (sheet.oddFooter.right.text or "") and "&N" in sheet.oddFooter.right.text
        assert sheet.freeze_panes
        assert sheet.protection.sheet and not sheet.protection.password
    for name in set(names) - {"Racks"}:  # they break where the sheet says
        set_up = book[name].page_setup
        assert book[name].sheet_properties.pageSetUpPr.fitToPage
        high = 1 if set_up.fitToHeight is None else int(set_up.fitToHeight)
        assert (set_up.fitToWidth or 1, high) == (1, PAGES_HIGH.get(name, 0))


def test_the_bill_prints_its_quote_and_no_more() -> None:
    sheet = opened(written(plan(COMPLETE)))["BOM"]
    titles = [cell.value for cell in sheet[7]]
    assert titles[: len(PRINTED)] == PRINTED
    last = get_column_letter(len(PRINTED))
    rows = [cell.row for cell in sheet["A"] if str(cell.value).endswith(".0")]
    area = sheet.print_area.replace("$", "")
    found = re.fullmatch(rf"'BOM'!A1:{last}(\d+)", area)
    assert found is not None and max(rows) <= int(found[1]) <= max(rows) + 3


@pytest.mark.parametrize("setup", [ASYNC, COMPLETE])
def test_formulas_are_locked(setup: Setup) -> None:
    for sheet in opened(written(plan(setup))):
        for row in sheet.iter_rows():
            assert all(cell.protection.locked for cell in row if cell.data_type == "f")


@pytest.mark.parametrize("setup", [ASYNC, COMPLETE])
def test_only_functions_that_old_spreadsheets_know(setup: Setup) -> None:
    content = written(plan(setup))
    text = " ".join(
        str(cell.value)
        for sheet in opened(content)
        for row in sheet.iter_rows()
        for cell in row
        if cell.data_type == "f"
    )
    assert "SUMIF(" in text
    # Excel 2013 knows it, and nothing older can tell a formula from a value pasted over it.
    text = text.replace("_xlfn.ISFORMULA(", "")
    for newer in ("_xlfn", "XLOOKUP", "LET(", "FILTER(", "INDIRECT", "["):
        assert newer not in text


def noted(book: Workbook, line: str) -> str:
    """Return the note of a line by its number."""
    rows = [row for row in book["Line notes"].iter_rows(values_only=True) if row[0] == line]
    assert len(rows) == 1
    return str(rows[0][2])


def bom_row(book: Workbook, sku: str) -> dict[str, Any]:
    sheet = book["BOM"]
    titles = [str(cell.value) for cell in sheet[7]]
    row = next(row for row in sheet.iter_rows() if any(cell.value == sku for cell in row))
    return {title: cell for title, cell in zip(titles, row, strict=True)}


def test_what_is_not_known_is_blank_and_flagged() -> None:
    book = opened(written(plan(SYNC)), data_only=True)
    row = bom_row(book, "flash")
    for title in ("Unit net", "Extended list", "Extended net", "kW each", "kW total"):
        assert row[title].value in (None, ""), title
    for flag in ("price not known", "power not known", "usable capacity not known"):
        assert flag in noted(book, row["Line"].value)


def test_components_follow_their_bundle() -> None:
    content = written(plan(ASYNC))
    row = bom_row(opened(content), "power_supply")
    assert row["Line"].value == "1.2"
    bundle = bom_row(opened(content), "dgx_h100")["Quantity"].coordinate
    assert row["Quantity"].value == f"={bundle}*6"
    assert row["Purchased"].value.endswith("*6")
    assert row["Extended net"].value is None
    assert row["Section"].value == "in line 1.0"


def test_companions_say_what_they_are_for_and_how_they_are_sold() -> None:
    book = opened(written(plan(COMPLETE)), data_only=True)
    fibre, copper = bom_row(book, "fibre_10m"), bom_row(book, "cat6")
    note = noted(book, fibre["Line"].value)
    assert note.startswith("compute fabric, storage fabric; weight not known")
    assert (fibre["Cold spares"].value, fibre["Pack of"].value) == (11, 25)
    assert (fibre["Purchased"].value, copper["Purchased"].value) == (550, 200)
    assert "least order 200" in noted(book, copper["Line"].value)
    assert bom_row(book, "nvaie")["Unit"].value == "licence"
    assert "weight not known" not in noted(book, bom_row(book, "nvaie")["Line"].value)
    text = " ".join(str(cell.value) for cell in all_cells(book))
    assert "keep their solved" in text and "Racks that several lines share" in text


def test_the_total_stands_on_top_and_every_title_has_its_sums() -> None:
    book = opened(written(plan(COMPLETE)), data_only=True)
    titles = [cell.value for cell in book["BOM"][7]]
    net, section = titles.index("Extended net"), titles.index("Section")
    rows = [[cell.value for cell in row] for row in book["BOM"].iter_rows(min_row=8)]
    totals = plan(COMPLETE).totals
    assert totals is not None
    assert (rows[0][0], rows[0][net]) == ("Total", pytest.approx(totals.capex_usd))
    shown = {row[0]: row[net] for row in rows if row[0] in totals.capex_by_section_usd}
    assert shown == pytest.approx(totals.capex_by_section_usd)
    assert {row[section] for row in rows} >= set(shown)


def test_fabrics_show_their_switches() -> None:
    sheet = opened(written(plan(COMPLETE)), data_only=True)["Fabric"]
    rows = {row[0].value: [cell.value for cell in row[1:]] for row in sheet.iter_rows(6)}
    networks = [str(name) for name in rows["Figure"]]
    compute, together = networks.index("compute fabric"), networks.index("Together")
    tiers = ("Leaf switches", "Spine switches", "Core switches")
    assert [rows[tier][compute] for tier in tiers] == [8, 4, 0]
    assert (rows["Switches"][compute], rows["Switches"][together]) == (12, 20)
    assert rows["Parts a port counts as"][networks.index("storage fabric")] == 2
    assert rows["Tiers of switches"][together] is None
    consoles = networks.index("out-of-band network")
    uplinks = rows["Uplinks per leaf"]
    assert (uplinks[compute], uplinks[consoles]) == (32, "–")  # these count in the in-band network
    assert any("uplinks count there" in str(name) for name in rows)


def test_part_numbers_are_text() -> None:
    row = bom_row(opened(written(plan(ASYNC))), "ai400x2")
    assert row["Part number"].value == "0012"


def test_a_plan_without_lines_says_why() -> None:
    book = opened(written(infeasible()), data_only=True)
    text = " ".join(str(cell.value) for row in book["BOM"].iter_rows() for cell in row)
    assert "the racks hold no GPU system" in text
    assert book["Checks"]["A3"].value == "No plan: infeasible"


def test_two_jobs_are_refused() -> None:
    document = plan(ASYNC)
    twice = document.model_copy(update={"jobs": document.jobs * 2})
    with pytest.raises(ValueError, match="one job"):
        written(twice)
