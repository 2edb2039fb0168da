"""A study without a sheet, charts or a page of its own: what it says in blocks is all of them."""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path
from typing import Any, Literal

import openpyxl
import pytest
from openpyxl.workbook import Workbook

from planner.commands import report_html
from planner.commands.solve import study_sheets
from planner.currency import Currency
from planner.outputs.blocks import (
    PAGE,
    SCREEN,
    Block,
    Column,
    FirstScreen,
    Heading,
    Table,
    Text,
    screen,
)
from planner.outputs.charts import studies
from planner.outputs.workbook import study_sheets as names_of_sheets
from planner.outputs.workbook import write
from planner.outputs.workbook.studies import write_study
from planner.schema.base import InItsUnit, Record
from planner.schema.prices import ShownIn
from planner.schema.sensitivity import Study
from planner.studies.study import Result, whole_text
from tests.workbook.conftest import CREATED
from tests.world.gear_plans import plan
from tests.world.setups import ASYNC, COMPLETE


class Thing(Record):
    """A row of the study."""

    name: str
    kw: float
    usd: float
    worth: InItsUnit


class Things(Study):
    """A study that is a table with words around it."""

    kind: Literal["things"] = "things"
    things: tuple[Thing, ...] = ()
    more: bool = False


def view(study: Things) -> list[Block]:
    things = study.things
    first = Table(
        "Things, the dearest first",
        (
            Column("thing", tuple(each.name for each in things), words=True),
            Column("power", tuple(each.kw for each in things), "kW"),
            Column("price", tuple(each.usd for each in things), "USD"),
            Column("worth", tuple(each.worth for each in things), study.unit),
            Column("share", tuple(each.kw / 4.0 for each in things), "share"),
            Column("bar", tuple("=" for each in things), on=SCREEN),
        ),
        notes=("It is only a table.",),
        items=("=1+1 is no formula",),
    )
    second = Table("More", (Column("count", (1, None)),)) if study.more else Table("None", ())
    only_page = Text(("for pages",), on=PAGE)
    return [Heading(f"Things of {study.problem}"), Text(("", "There are things.")), first,
            Text(("look", "listen"), "What to do", points=True), second, only_page]  # fmt: skip


def first(study: Things) -> FirstScreen:
    return FirstScreen("Things", (("Things", str(len(study.things))),))


THINGS = Result(
    "things", record=f"{__name__}:Things", view=f"{__name__}:view", first=f"{__name__}:first",
    kept="{stem}.things", book="{stem}.things", reported=True,
)  # fmt: skip
"""The row of a registry is enough."""


def made(**more: Any) -> Things:
    things = (Thing(name="box", kw=4.0, usd=25_000.0, worth=8.0),
              Thing(name="'=bag'", kw=0.5, usd=0.25, worth=6.0))  # fmt: skip
    whole: dict[str, Any] = {
        "problem": "hall", "problem_file": "hall.yaml", "scenario": None, "overrides": (),
        "objective": "capex", "sense": "minimize", "unit": "USD", "gap_asked": 1e-3,
        "base": 100.0, "things": things,
    }  # fmt: skip
    return Things(**(whole | more))


EUROS = ShownIn.of(Currency("EUR", 2.0, "2026-11-20", "a bank"))


def opened(study: Things) -> Workbook:
    goal = plan(ASYNC).objective.model_copy(
        update={"name": "capex", "sense": "minimize", "value": 3e6, "unit": "USD"}
    )
    of = plan(ASYNC).model_copy(update={"objective": goal, "currency": study.currency})
    stream = io.BytesIO()
    write_study(stream, of, study_sheets(THINGS, study).values(), created=CREATED)
    return openpyxl.load_workbook(stream)


def lines(book: Workbook) -> list[list[Any]]:
    rows = ([cell.value for cell in row if cell.value is not None] for row in book["Things"])
    return [row for row in rows if row]


def test_a_sheet_has_the_words_and_the_numbers_of_the_blocks() -> None:
    book = opened(made())
    assert book.sheetnames == ["Things"]
    title, _, record, *said = lines(book)
    assert (title, record[0][:26]) == (["Things of hall"], "The figures are a record: ")
    assert said == [
        ["There are things."],
        ["Things, the dearest first"],
        ["Thing", "Power, kW", "Price, USD", "Worth, USD", "Share"],
        ["box", 4, 25_000, 8, 1],
        ["'=bag'", 0.5, 0.25, 6, 0.125],
        ["=1+1 is no formula"],
        ["It is only a table."],
        ["What to do"],
        ["look"],
        ["listen"],
    ]
    sheet = book["Things"]
    row = next(cell.row for (cell, *_) in sheet.iter_rows() if cell.value == "box")
    formats = [cell.number_format for cell in sheet[row]][1:5]
    assert formats == ["#,##0.00", "#,##0", "#,##0.00", "0.00%"]
    assert sheet.auto_filter.ref == f"A{row - 1}:E{row + 1}"
    assert all(cell.data_type != "f" for cells in sheet.iter_rows() for cell in cells)


def test_of_several_tables_none_has_a_filter() -> None:
    book = opened(made(more=True))
    assert book["Things"].auto_filter.ref is None
    assert lines(book)[-3:] == [["More"], ["Count"], [1]]


def test_a_study_of_nothing_has_its_words() -> None:
    assert lines(opened(made(things=())))[3:] == [
        ["There are things."], ["What to do"], ["look"], ["listen"]
    ]  # fmt: skip


def test_amounts_are_in_the_currency_of_the_record() -> None:
    """What was asked for stands over the sheet: it was in dollars, in the other one's name."""
    _, asked, *_, heads, box = lines(opened(made(currency=EUROS)))[:7]
    assert asked[0].endswith("minimize capex = 1.50 MEUR")
    assert heads[2:4] == ["Price, EUR", "Worth, EUR"]
    assert box == ["box", 4, 12_500, 4, 1]


def test_the_whole_of_a_result_is_its_blocks_or_its_text() -> None:
    assert whole_text(THINGS, made(), {}) == screen(view(made()))
    named = Result("words", record="", view=f"{__name__}:in_words")
    assert whole_text(named, made(), {"what": "hall"}) == "words of hall\n"


def in_words(study: Things, what: str) -> str:
    return f"words of {what}\n"


def test_a_report_has_what_the_view_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "FAMILIES", dict(studies.FAMILIES))
    monkeypatch.setitem(report_html._STUDIES, "things", THINGS)
    file = tmp_path / "hall.things.json"
    file.write_text(made().model_dump_json())
    found = report_html.report([file], tmp_path / "hall.html")
    assert found.text == "hall\n  - Things of hall: There are things. look listen for pages"
    page = (tmp_path / "hall.html").read_text()
    for text in (
        "Things, the dearest first",
        ">box<",
        "as the problem stands: capex",
        "<th",
    ):
        assert text in page, text
    assert "<figure" in page and "<svg" not in page


def test_a_plans_workbook_has_the_sheet_and_its_cover_a_link() -> None:
    stream = io.BytesIO()
    sheets = [*study_sheets(THINGS, made()).items(), ("Rules", partial(_blank, name="Rules"))]
    write(plan(COMPLETE), stream, created=CREATED, studies=sheets)
    book = openpyxl.load_workbook(stream)
    names = book.sheetnames
    assert names.index("Rules") < names.index("Things") < names.index("Checks")
    about = book["About"]
    links = {cell.value: about.cell(cell.row, 2).value for row in about.iter_rows()
             for cell in row if cell.hyperlink}  # fmt: skip
    assert links["Things"] == "A study of this plan (a record)"


def _blank(book: Any, name: str) -> None:
    book.sheet(name)


def test_only_a_sheet_of_its_own_is_taken_for_a_study() -> None:
    """What a workbook says of itself cannot keep a sheet of the plan from being compared."""
    given = ("Why", "why", "BOM", "bom", "Data", "Fingerprint", "Sources", "x" * 32, "A:B", "",
             "Things", "=1", "about")  # fmt: skip
    assert names_of_sheets(given) == ("Why", "Things")
    for setup in (ASYNC, COMPLETE):
        stream = io.BytesIO()
        write(plan(setup), stream, created=CREATED, inputs="{}")
        own = openpyxl.load_workbook(stream, read_only=True).sheetnames
        assert names_of_sheets(own) == ()
