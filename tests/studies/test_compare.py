"""Plans side by side: known differences, every kind of file, every refusal, the workbook."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import openpyxl
import pytest

from planner import api, cli
from planner.errors import InputError
from planner.inputs import inputs_to_text
from planner.outputs import plan_json, words
from planner.outputs.compare_text import render_comparison, status
from planner.schema.comparison import Comparison, FigureRow, LimitRow, LineRow, Side
from planner.studies.compare.differences import input_figures
from planner.studies.compare.side_by_side import compare, read_sides
from planner.workbook.audit import audit
from tests.workbook.conftest import Made, shipped
from tests.workbook.excel import saved_with
from tests.world.solved import solved

PROBLEMS = Path(__file__).parents[2] / "problems"
OFFICE = "enterprise_1MW"
DEMANDED = "vast_ceres_4cn_2x3015"
"""The storage that it buys where no rule says how much."""
INFEASIBLE = PROBLEMS / "infeasible_restore.yaml"


def edited(source: Made, path: Path, edits: dict[tuple[str, str], float]) -> Path:
    """Save a workbook with values typed into its cells."""
    cells = {source.input(*key): value for key, value in edits.items()}
    if not edits:
        path.write_bytes(source.content)
        return path
    typed = {(cell.sheet, cell.cell): value for cell, value in cells.items()}
    return saved_with(source.content, path, typed)


def written(folder: Path, name: str, problem: str, *settings: str) -> Path:
    """Write a solved plan as `planner solve` does."""
    path = folder / f"{name}.plan.json"
    inputs = api.load(PROBLEMS / f"{problem}.yaml", settings=settings)
    path.write_bytes(plan_json.to_bytes(solved(problem, *settings), inputs_to_text(inputs)))
    return path


@pytest.fixture
def plans(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Plans of one problem: as it is, with more storage, and by an earlier deadline."""
    return (
        written(tmp_path, "base", OFFICE),
        written(tmp_path, "high", OFFICE, "storage.rule=high"),
        written(tmp_path, "sooner", OFFICE, "targets.max_days_to_train=22 days"),
    )


def compared(*paths: Path, settings: tuple[str, ...] = ()) -> Comparison:
    return compare(read_sides(paths, settings=settings))


def figure(found: Comparison, name: str) -> FigureRow:
    return next(row for row in (*found.figures, *found.inputs) if row.name == name)


def line(found: Comparison, sku: str) -> LineRow:
    return next(row for row in found.lines if row.sku == sku)


def limit(found: Comparison, name: str) -> LimitRow:
    return next(row for row in found.limits if row.name == name)


def test_lines_totals_and_job_figures_differ_by_what_the_plans_say(
    plans: tuple[Path, Path, Path],
) -> None:
    found = compared(*plans[:2])
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
    assert figure(found, "gpus_used").equal
    assert not figure(found, "capex_usd").equal


def test_limits_in_one_plan_only_are_told(plans: tuple[Path, Path, Path]) -> None:
    found = compared(*plans[:2])
    rule, overlap = limit(found, "rule_read"), limit(found, "overlap")
    assert rule.sides[0] is None and rule.sides[1] is not None
    assert overlap.sides[0] is not None and overlap.sides[1] is None
    assert not rule.equal and not overlap.equal


def test_what_a_plan_gives_away_is_told_as_on_its_own_screen() -> None:
    plan = solved("10MW")
    assert plan.objective.given_away is not None
    side = Side(
        key="A", source="x", kind="plan", problem="p", status="optimal", message=None,
        given_away=plan.objective.given_away,
    )  # fmt: skip
    assert words.status(plan).replace("below", "behind").startswith(status(side))
    against = side.model_copy(update={"verdict": ("goodput is 40 %",)})
    assert status(against) == "not to be built as it is: goodput is 40 %"
    assert status(side.model_copy(update={"given_away": 0.0})) == "proven best"


def test_limits_that_follow_from_a_plan_are_no_inputs() -> None:
    """The interval and the time between failures, which bound a local level, are decided."""
    one, two = (solved("local_level", scenario=name) for name in ("one_copy", None))
    allowed = [{row.name: row.limit for row in plan.limits} for plan in (one, two)]
    decided = {name for name in allowed[0] if name.startswith("local_") or name == "drain_fits"}
    assert allowed[0]["local_fits"] != allowed[1]["local_fits"]
    names = {row.name for row in input_figures((one, two))}
    assert not {f"limits.{name}" for name in decided} & names
    assert "limits.overlap" in names


def test_the_same_plan_twice_has_no_difference(plans: tuple[Path, Path, Path]) -> None:
    found = compared(plans[0], plans[0])
    rows = (*found.inputs, *found.lines, *found.figures, *found.limits)
    assert all(row.equal for row in rows)
    text = render_comparison(found)
    assert text.count("the same in all") == 4


def test_all_lists_what_is_the_same_too(plans: tuple[Path, Path, Path]) -> None:
    found = compared(plans[0], plans[0])
    text = render_comparison(found, everything=True)
    assert "the same in all" not in text
    assert "4 CNodes + 2 x DF-3015" in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_first_is_what_the_others_are_told_from(plans: tuple[Path, Path, Path]) -> None:
    there = figure(compared(plans[0], plans[1]), "capex_usd").series
    back = figure(compared(plans[1], plans[0]), "capex_usd").series
    assert back.values == tuple(reversed(there.values))
    assert there.changes[1] is not None and back.changes[1] is not None
    assert back.changes[1] == -there.changes[1] < 0


def test_three_plans_stand_side_by_side(plans: tuple[Path, Path, Path]) -> None:
    found = compared(*plans)
    assert [side.key for side in found.sides] == ["A", "B", "C"]
    assert len(figure(found, "capex_usd").series.values) == 3
    text = render_comparison(found)
    assert max(map(len, text.splitlines())) <= 100
    heads = [row for row in text.splitlines() if " ".join(row.split()) == "A B C B - A C - A"]
    assert len(heads) >= 2


def test_a_problem_file_is_solved_with_its_settings(plans: tuple[Path, Path, Path]) -> None:
    problem = PROBLEMS / f"{OFFICE}.yaml"
    found = compared(plans[0], problem, settings=("storage.rule=high",))
    assert line(found, "wekapod_nitro_155").quantity.values == (0, 27)
    assert line(found, DEMANDED).quantity.values == (1, 0)
    assert figure(found, "overrides").series.values == ("nothing", "storage.rule=high")
    assert figure(found, "rule").series.values == ("what the job needs", "high rule")


def test_a_workbook_gives_its_plan_and_an_edited_one_its_edited_plan(tmp_path: Path) -> None:
    source = shipped("megatron_1t")
    whole = edited(source, tmp_path / "whole.xlsx", {})
    other = edited(source, tmp_path / "other.xlsx", {("figure", "interval_s"): 7200.0})
    found = compared(whole, other)
    assert [side.kind for side in found.sides] == ["workbook", "workbook"]
    assert (found.sides[0].edits, found.sides[0].status) == ((), "optimal")
    assert figure(found, "interval_s").series.values == (14400.0, 7200.0)
    (edit,) = found.sides[1].edits
    assert edit.endswith(": 2.0 h instead of 4.0 h")
    plan = audit(other, solve_again=False).edited
    assert plan is not None
    assert figure(found, "goodput").series.values[1] == plan.jobs[0].goodput


def test_an_edit_that_breaks_a_limit_is_told(tmp_path: Path) -> None:
    source = shipped(OFFICE)
    path = edited(source, tmp_path / "few.xlsx", {("quantity", "nvidia_dgx_b200"): 16})
    found = compared(edited(source, tmp_path / "whole.xlsx", {}), path)
    assert any(text.startswith("days to train") for text in found.sides[1].broken)
    assert "breaks: days to train" in render_comparison(found)


def test_a_workbook_that_cannot_run_has_no_plan(tmp_path: Path) -> None:
    source = shipped(OFFICE)
    path = edited(source, tmp_path / "none.xlsx", {("quantity", "nvidia_dgx_b200"): 0})
    found = compared(edited(source, tmp_path / "whole.xlsx", {}), path)
    assert found.sides[1].status == "infeasible"
    assert found.sides[1].message == "no GPU system of a type that the job uses is left"


@pytest.mark.exhaustive(keep=0)
def test_a_plan_that_is_none_is_shown_as_none(plans: tuple[Path, Path, Path]) -> None:
    found = compared(plans[0], INFEASIBLE)
    assert found.sides[1].status == "infeasible"
    text = " ".join(render_comparison(found).split())
    assert "(no plan)" in text and "no plan meets every limit" in text
    assert "Bill" not in text, "one plan alone has nothing to be told from"


def test_the_comparison_survives_json(plans: tuple[Path, Path, Path]) -> None:
    found = compared(*plans)
    assert Comparison.model_validate_json(found.model_dump_json()) == found


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., Ran]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLANNER_DEBUG", "1")

    def runner(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["planner", "compare", *map(str, arguments)])
        code = cli._run(cli.app)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return runner


def test_the_command_prints_and_writes_nothing_unasked(
    run: Callable[..., Ran], plans: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    before = sorted(tmp_path.iterdir())
    ran = run(*plans[:2])
    assert (ran.code, ran.err) == (0, "")
    assert "Inputs that differ" in ran.out
    assert sorted(tmp_path.iterdir()) == before
    assert json.loads(run(*plans[:2], "--json").out)["schema_version"] == 1


def test_the_workbook_of_the_command_holds_the_same_numbers(
    run: Callable[..., Ran], plans: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    ran = run(*plans, "-o", "out")
    assert ran.err == "wrote out/compare.html and out/compare.xlsx\n"
    document = openpyxl.load_workbook(tmp_path / "out" / "compare.xlsx")
    assert document.sheetnames == ["Comparison", "Comparison data"]
    found = compared(*plans)
    cells = [c for sheet in document for row in sheet.iter_rows(values_only=True) for c in row]
    for each in (row for row in found.figures if not row.equal):
        assert each.label in cells
        assert all(value in cells for value in each.series.values if isinstance(value, str))
    assert "WEKApod Nitro 155" in cells


@pytest.mark.exhaustive(keep=0)
def test_exit_codes(run: Callable[..., Ran], plans: tuple[Path, Path, Path]) -> None:
    assert run(plans[0], INFEASIBLE).code == 0
    assert run(INFEASIBLE, INFEASIBLE).code == 3
    assert run("--rules", PROBLEMS / "megatron_1t.yaml").code == 0


def test_the_rules_command_writes_its_workbook(run: Callable[..., Ran], tmp_path: Path) -> None:
    problem = PROBLEMS / "megatron_1t.yaml"
    ran = run("--rules", problem, "--scenario", "half_hourly", "-o", "out", "--json")
    written = {Path(each).name for each in re.findall(r"out\S*\.\w+", ran.err)}
    assert written == {
        f"megatron_1t.half_hourly.rules.{end}" for end in ("html", "json", "png", "svg", "xlsx")
    }
    assert json.loads(ran.out)["scenario"] == "half_hourly"
    assert openpyxl.load_workbook(tmp_path / "out" / "megatron_1t.half_hourly.rules.xlsx")
    assert run("--rules", problem, "-q", "-o", "out").err == ""


REFUSED = {
    "one file": (("good.plan.json",), "there must be two files or more to compare"),
    "many files": (("good.plan.json",) * 10, "at most 9 files fit side by side"),
    "a kind unknown": (("good.plan.json", "a.txt"), "a.txt: a file named '.txt' holds no plan"),
    "no kind": (("good.plan.json", "a"), "a: its name does not say what it holds"),
    "no file": (("good.plan.json", "gone.json"), "gone.json: there is no such file"),
    "other JSON": (("good.plan.json", "other.json"), "other.json: the file holds no plan"),
    "no text": (("good.plan.json", "bytes.json"), "bytes.json: this is no JSON"),
    "a later plan": (("good.plan.json", "later.json"), "a plan of version 99"),
    "a folder": (("good.plan.json", "folder.json"), "folder.json: is a folder, not a file"),
    "no workbook": (("good.plan.json", "no.xlsx"), "no.xlsx: not a whole .xlsx file"),
    "settings for plans": (("good.plan.json", "good.plan.json", "--set", "a=b"),
                           "--set and --scenario change problem files"),
    "a scenario for plans": (("good.plan.json", "good.plan.json", "--scenario", "a"),
                             "--set and --scenario change problem files"),
    "rules of a plan": (("--rules", "good.plan.json"), "--rules takes one problem file"),
    "rules of two": (("--rules", "a.yaml", "b.yaml"), "--rules takes one problem file"),
    "rules and near": (("--rules", "a.yaml", "--near", "1 %"), "are different comparisons"),
    "rules of no file": (("--rules", "gone.yaml"), "gone.yaml: no such problem file"),
    "no folder": (("good.plan.json", "good.plan.json", "-o", "a.txt"), "cannot write"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_compared_is_one_line(
    case: str, run: Callable[..., Ran], tmp_path: Path
) -> None:
    good = written(tmp_path, "good", "megatron_1t")
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "other.json").write_text('{"bill": []}')
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    later = json.loads(good.read_text()) | {"schema_version": 99}
    (tmp_path / "later.json").write_text(json.dumps(later))
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "no.xlsx").write_text("PK")
    arguments, message = REFUSED[case]
    ran = run(*arguments)
    assert ran.code == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert ran.out == ""


def test_nothing_is_solved_before_all_files_are_known_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_sides([PROBLEMS / "10MW.yaml", tmp_path / "gone.json"])
