"""Studies as sheets of the plan's workbook, and what the audit makes of them."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from planner import api, shipped
from planner.auditor import audit
from planner.commands import solve
from planner.commands.report import report
from planner.commands.solve import deliver
from planner.errors import InputError
from planner.schema.plan import Plan
from planner.studies.registry import STUDIES
from planner.studies.request import Request
from tests.workbook.excel import cached, unlike

PROBLEM = shipped.problem_files()["gpt3_octet"]
NAMES = ("why", "rules", "alternatives")
SHEETS = ("Why", "Why not", "Rules", "Near-optimal")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Path]:
    folder = tmp_path_factory.mktemp("studies")
    inputs, options = api.load(PROBLEM), api.Options()
    plan = api.solve_with(inputs, options)
    sheets = list(solve.sheets(inputs, plan, options, NAMES))
    deliver(plan, inputs, PROBLEM, folder, as_json=True, studies=sheets)
    return plan, folder / "gpt3_octet.xlsx"


@pytest.mark.exhaustive(keep=0)
def test_sheets_stand_before_the_checks_and_on_the_cover(made: tuple[Plan, Path]) -> None:
    book = openpyxl.load_workbook(made[1])
    names = book.sheetnames
    there = [name for name in names if name in SHEETS]
    assert there[:3] == ["Why", "Why not", "Rules"]
    first = names.index(there[0])
    assert names[first : first + len(there) + 1] == [*there, "Checks"]
    listed = {cell.value for row in book["About"].iter_rows() for cell in row}
    assert set(there) <= listed


def test_an_engine_that_follows_excel_finds_no_formula_of_theirs_and_no_other_value(
    made: tuple[Plan, Path],
) -> None:
    content = made[1].read_bytes()
    assert not {sheet for sheet, _ in cached(content)} & set(SHEETS)
    assert unlike(content) == []


@pytest.mark.exhaustive(keep=0)
def test_the_audit_leaves_records_alone(made: tuple[Plan, Path], tmp_path: Path) -> None:
    found = audit(made[1], solve_again=False)
    assert found.edits == ()
    assert found.added_sheets == ()
    book = openpyxl.load_workbook(made[1])
    book["Why"]["A8"].value = "a remark of the reader"
    del book["Rules"]
    edited = tmp_path / "edited.xlsx"
    book.save(edited)
    assert audit(edited, solve_again=False).edits == ()


def test_the_audit_still_sees_edits_elsewhere(made: tuple[Plan, Path], tmp_path: Path) -> None:
    book = openpyxl.load_workbook(made[1])
    book["About"]["A1"].value = "another title"
    edited = tmp_path / "edited.xlsx"
    book.save(edited)
    with pytest.raises(InputError, match="About"):
        audit(edited, solve_again=False)


def test_a_customers_edition_has_no_studies(made: tuple[Plan, Path], tmp_path: Path) -> None:
    inputs, options = api.load(PROBLEM), api.Options()
    sheets = list(solve.sheets(inputs, made[0], options, ("why",)))
    deliver(made[0], inputs, PROBLEM, tmp_path, as_json=True, audience="customer", studies=sheets)
    book = openpyxl.load_workbook(tmp_path / "gpt3_octet.customer.xlsx")
    assert not set(book.sheetnames) & set(SHEETS)


def test_a_problem_without_a_plan_has_no_studies() -> None:
    inputs = api.load(shipped.problem_files()["infeasible_restore"])
    plan = api.solve_with(inputs, api.Options(explain=False))
    assert plan.status == "infeasible"
    assert plan.infeasibility is None
    assert list(solve.sheets(inputs, plan, api.Options(), NAMES)) == []


def test_a_study_workbook_is_no_plan_to_audit(tmp_path: Path) -> None:
    own: dict[str, tuple[str, ...]] = {"step": (), "why_not": (), "weight": (), "keep": ()}
    found = report(STUDIES["explain"], Request((PROBLEM,), folder=tmp_path), own)
    with pytest.raises(InputError, match="record of a study"):
        audit(found.written[0])
