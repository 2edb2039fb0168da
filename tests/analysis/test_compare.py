"""Plans side by side: known differences, every kind of file, every refusal, the workbook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from planner import api
from planner.analysis.compare import compare, read_sides, rule_rows, rules_table
from planner.inputs import inputs_to_text
from planner.loader import load
from planner.report.exports import attach_inputs
from planner.schema.analysis import Comparison, FigureRow, LineRow
from planner.workbook.audit import audit
from tests.workbook.conftest import Made, shipped
from tests.workbook.excel import saved_with
from tests.world.commands import Ran, ran
from tests.world.solved import solved

PROBLEMS = Path(__file__).parents[2] / "problems"
OFFICE = "enterprise_1MW"
DEMANDED = "vast_ceres_4cn_2x3015"
"""The storage that it buys where no rule says how much."""


def edited(source: Made, path: Path, edits: dict[tuple[str, str], float]) -> Path:
    """Save a workbook with values typed into its cells."""
    typed = {source.input(*key).place: value for key, value in edits.items()}
    return saved_with(source.content, path, typed)


def written(folder: Path, name: str, problem: str, *settings: str) -> Path:
    """Write a solved plan as `planner solve` does."""
    path = folder / f"{name}.plan.json"
    inputs = load(PROBLEMS / f"{problem}.yaml", settings=settings)
    plan = solved(problem, *settings)
    path.write_text(attach_inputs(plan, inputs_to_text(inputs)).model_dump_json())
    return path


def compared(*paths: Path) -> Comparison:
    return compare(read_sides(paths, api.Options()))


def figure(found: Comparison, name: str) -> FigureRow:
    return next(row for row in (*found.figures, *found.inputs) if row.name == name)


def line(found: Comparison, sku: str) -> LineRow:
    return next(row for row in found.lines if row.sku == sku)


def test_lines_totals_and_job_figures_differ_by_what_the_plans_say(tmp_path: Path) -> None:
    base = written(tmp_path, "base", OFFICE)
    found = compared(base, written(tmp_path, "high", OFFICE, "storage.rule=high"))
    first, second = solved(OFFICE), solved(OFFICE, "storage.rule=high")
    more, fewer = (line(found, sku).quantity for sku in ("wekapod_nitro_155", DEMANDED))
    assert (more.values, more.changes) == ((0, 27), (0, 27))
    assert (fewer.values, fewer.changes) == ((1, 0), (0, -1))
    assert first.totals is not None and second.totals is not None
    capex = figure(found, "capex_usd").series
    assert capex.values == (first.totals.capex_usd, second.totals.capex_usd)
    assert capex.changes[1] == pytest.approx(
        (second.totals.capex_usd or 0) - (first.totals.capex_usd or 0)
    )
    assert figure(found, "storage.rule").series.values == ("the job's demand", "high rule")
    assert figure(found, "gpus_used").equal
    assert not figure(found, "capex_usd").equal
    same = compared(base, base)
    assert all(row.equal for row in (*same.inputs, *same.lines, *same.figures, *same.limits))


def test_a_workbook_gives_its_plan_and_an_edited_one_its_edited_plan(tmp_path: Path) -> None:
    source = shipped("megatron_1t")
    whole = edited(source, tmp_path / "whole.xlsx", {})
    other = edited(source, tmp_path / "other.xlsx", {("figure", "interval_s"): 7200.0})
    found = compared(whole, other)
    assert (found.sides[0].edits, found.sides[0].status) == ((), "optimal")
    assert figure(found, "interval_s").series.values == (14400.0, 7200.0)
    (edit,) = found.sides[1].edits
    assert edit.endswith(": 2 h instead of 4 h")
    plan = audit(other, solve_again=False).edited
    assert plan is not None
    assert figure(found, "goodput").series.values[1] == plan.jobs[0].goodput


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Ran]:
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: ran("compare", *map(str, arguments))


REFUSED = {
    "one file": (("good.plan.json",), "there must be two files or more to compare"),
    "a kind unknown": (("good.plan.json", "a.txt"), "a.txt: a file named '.txt' holds no plan"),
    "no file": (("good.plan.json", "gone.json"), "gone.json: there is no such file"),
    "other JSON": (("good.plan.json", "other.json"), "other.json: the file holds no plan"),
    "no text": (("good.plan.json", "bytes.json"), "bytes.json: this is no JSON"),
    "no workbook": (("good.plan.json", "no.xlsx"), "no.xlsx: the file is damaged, or no"),
    "settings for plans": (
        ("good.plan.json", "good.plan.json", "--set", "a=b"),
        "--set and --scenario change problem files",
    ),
    "rules of a plan": (("--rules", "good.plan.json"), "--rules takes one problem file"),
    "rules of two": (("--rules", "a.yaml", "b.yaml"), "comparisons of one problem file"),
    "no folder": (("good.plan.json", "good.plan.json", "-o", "a.txt"), "cannot write"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_compared_is_one_line(
    case: str, run: Callable[..., Ran], tmp_path: Path
) -> None:
    written(tmp_path, "good", "megatron_1t")
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "other.json").write_text('{"bill": []}')
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "no.xlsx").write_text("PK")
    arguments, message = REFUSED[case]
    ran = run(*arguments)
    assert ran.code == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert ran.out == ""


# Storage by other rules: rows are plans of their own, reasons where there is none.


def test_rows_of_rules_are_plans_of_their_own() -> None:
    inputs = load(PROBLEMS / f"{OFFICE}.yaml", settings=("storage.rule=medium",))
    base = solved(OFFICE, "storage.rule=medium")
    table = rules_table(inputs, base, api.Options())
    rows = {row.name: row for row in table.rows}
    assert [row.name for row in table.rows if row.own] == ["medium"]
    assert table.overrides == ("storage.rule=medium",)
    assert table.rows[0].settings == ("storage.rule=demand",)
    assert rows["sync"].settings == ("storage.rule=demand", "jobs.0.checkpoint.mode=sync")
    medium, high = rows["medium"].plan, rows["high"]
    assert medium is not None and medium.objective.value == base.objective.value
    demand = table.rows[0].measured
    assert high.measured == pytest.approx(solved(OFFICE, "storage.rule=high").objective.value)
    assert high.measured is not None and demand is not None
    assert high.difference == pytest.approx(high.measured / demand - 1)


def test_a_rule_of_ones_own_is_a_row() -> None:
    rule = "storage.rule={name: house, read: 0.2 GB/s, write: 0.1 GB/s}"
    inputs = load(PROBLEMS / "enterprise_1MW.yaml", settings=(rule,))
    name, _, changes = list(rule_rows(inputs))[1]
    assert (name, changes) == ("house", ())
