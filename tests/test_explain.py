"""`planner explain` of problems that have a plan: screen, JSON, workbook, and wrong usage."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest
from openpyxl.workbook import Workbook

from planner import shipped
from planner.levers import levers
from planner.loader import load
from planner.schema.analysis import Explanation, Marginal
from planner.schema.plan import Plan
from planner.terminal import STANDARD
from tests.report.hostile import TEXTS, lay_out
from tests.world.commands import once, ran
from tests.world.solved import solve

PROBLEMS = {
    name: str(shipped.problem_files()[name])
    for name in ("megatron_1t", "gpt3_octet", "enterprise_1MW")
}
NAMES = ("small", "megatron_1t", "gpt3_octet")
HOSTILE = (
    "equals", "command", "link", "tab", "newline", "control", "noncharacter", "lines", "marks",
    "override", "sheet_name", "escape", "long",
)  # fmt: skip
CLOSE = 2e-5


@pytest.fixture(params=NAMES)
def problem(request: pytest.FixtureRequest, small: str) -> str:
    return PROBLEMS.get(request.param, small)


def explained(*arguments: str) -> Explanation:
    done = once("explain", *arguments, "--json")
    assert done.err == ""
    return Explanation.model_validate_json(done.out)


def solved(problem: str, *settings: str) -> Plan:
    return solve(problem, settings=("objective.indifference=0", *settings), explain=False)


def row_of(found: Explanation, path: str) -> Marginal:
    (row,) = [row for row in found.marginals if row.path == path]
    return row


def test_marginals_are_the_movable_levers_of_the_problem(problem: str) -> None:
    found, inputs = explained(problem), load(Path(problem))
    movable = {lever.path: lever for lever in levers(inputs) if lever.value is not None}
    assert {row.path for row in found.marginals} == set(movable)
    tight = {limit.name for limit in found.plan.limits if limit.binding}
    for row in found.marginals:
        lever = movable[row.path]
        assert (row.label, row.value, row.source) == (lever.label, lever.value, lever.place)
        assert row.text == lever.text(row.value)
        assert row.binding == (lever.limit in tight)
    binding = [row.binding for row in found.marginals]
    assert binding == sorted(binding, reverse=True)


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("small", "items.gpu_box.max"),
        ("small", "jobs.0.checkpoint.stall"),
        ("megatron_1t", "jobs.0.restore.restart"),
        ("megatron_1t", "jobs.0.gpus.min"),
        ("gpt3_octet", "budget.capex"),
        ("enterprise_1MW", "targets.max_days_to_train"),
    ],
)
def test_the_settings_give_what_is_said_of_them(name: str, path: str, small: str) -> None:
    problem = PROBLEMS.get(name, small)
    row = row_of(explained(problem), path)
    for moved in (row.looser, row.tighter):
        plan = solved(problem, moved.setting)
        if moved.known == "no_plan":
            assert plan.status == "infeasible"
        else:
            assert plan.objective.value == pytest.approx(moved.value, rel=CLOSE)


# The workbook.


def book_of(path: Path) -> Workbook:
    return openpyxl.load_workbook(path)


def no_formula(book: Workbook) -> bool:
    return all(cell.data_type != "f" for sheet in book for row in sheet.iter_rows() for cell in row)


@pytest.mark.parametrize("name", ["small", "gpt3_octet", "megatron_1t"])
def test_the_workbook_has_every_limit_and_item(name: str, small: str, tmp_path: Path) -> None:
    problem = PROBLEMS.get(name, small)
    done, found = ran("explain", problem, "-o", str(tmp_path / "new")), explained(problem)
    stem = Path(problem).stem
    path = tmp_path / "new" / f"{stem}.explanation.xlsx"
    assert done.code == 0 and str(path) in done.err
    assert done.out == once("explain", problem).out
    ends = {each.name.removeprefix(f"{stem}.explanation.") for each in path.parent.iterdir()}
    assert ends == {"json", "html", "xlsx"}
    book = book_of(path)
    assert book.sheetnames == ["Explanation"]
    assert no_formula(book)
    texts = {str(cell.value) for sheet in book for row in sheet.iter_rows() for cell in row}
    for row in found.marginals:
        assert {row.label, row.text} <= texts
    assert found.why_not is not None
    assert {item.model for item in found.why_not.items} <= texts


# Names from elsewhere.


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text(name: str, tmp_path: Path) -> None:
    path = lay_out(tmp_path, TEXTS[name])
    done = ran("explain", str(path), "-o", str(tmp_path / "out"), "-q")
    assert (done.code, done.err) == (0, "")
    assert all(line.isprintable() for line in done.out.split("\n"))
    assert name == "long" or max(map(len, done.out.splitlines())) <= STANDARD
    book = book_of(tmp_path / "out" / "problem.explanation.xlsx")
    assert no_formula(book)


# Settings and scenarios.


def test_settings_and_scenarios_reach_the_explanation(small: str) -> None:
    whole = explained(small)
    half = explained(small, "--scenario", "half_power", "--set", "site.pue=1.3")
    assert half.plan.provenance.scenario == "half_power"
    assert half.plan.provenance.overrides == ("site.pue=1.3",)
    here, there = (row_of(found, "site.facility_power") for found in (whole, half))
    assert (here.value, there.value) == (2000.0, 1000.0)
    assert here.source != there.source
    screen = once("explain", small, "--scenario", "half_power").out
    assert screen.startswith("Why this plan: Small hall, scenario half_power\n")
