"""The command line: every command and option, streams, exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import highspy
import pytest

from planner import cli, optimizer, process, removed, shipped
from planner.optimizer.search import Point, Search
from planner.report import exports
from planner.schema.plan import Plan
from tests.world.commands import Ran, ran, script

HALL = str(shipped.problem_files()["10MW"])
HEAVY = {
    "pulp",
    "highspy",
    "pandas",
    "xlsxwriter",
    "openpyxl",
    "matplotlib",
    "scipy",
    "pyarrow",
}


Runner = Callable[..., Ran]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Runner:
    """Run the command line in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["planner"])
    return ran


# Help and version.


def test_the_surface_stays_small() -> None:
    """At most 13 commands and 150 parameters: what is rare is a function of `import planner`."""
    found = script("make_commands").commands()
    assert len({name.split()[0] for name in found}) <= 13
    assert sum(len(command.params) for command in found.values()) <= 150


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(name.split(), now) for name, now in (removed.COMMANDS | removed.OPTIONS).items()],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_removed_names_its_successor(run: Runner, arguments: list[str], words: str) -> None:
    ran = run(*["sweep"][: arguments[0].startswith("-")], *arguments)
    assert (ran.code, ran.err.partition("; ")[2]) == (2, f"it is now {words} [usage]\n")


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom planner import cli, process\nsys.argv = ['planner', '--help']\n"
        "process.run(cli.app)\nprint(sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(re.findall(r"'([a-z0-9_]+)'", done.stderr))
    assert "typer" in loaded
    assert not HEAVY & loaded


# Solve.


def test_solve_prints_a_screen_and_writes_two_files(run: Runner, tmp_path: Path) -> None:
    ran = run("solve", HALL)
    assert ran.code == 0
    assert ran.err == "wrote 10MW.xlsx and 10MW.plan.json\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["10MW.plan.json", "10MW.xlsx"]
    for label in ("Objective", "Buy", "Cost", "Limits", "Storage", "Notes", "More"):
        assert re.search(rf"^{label}\b", ran.out, re.MULTILINE), label
    assert len(ran.out.splitlines()) <= 45
    assert max(map(len, ran.out.splitlines())) <= 110
    plan = exports.read_plan((tmp_path / "10MW.plan.json").read_bytes()).plan
    assert plan.status == "optimal"
    assert zipfile.is_zipfile(tmp_path / "10MW.xlsx")


def test_quiet_writes_no_message_and_full_shows_all(run: Runner, small: str) -> None:
    quiet, full = run("solve", small, "--quiet"), run("solve", small, "--full")
    assert quiet.err == ""
    assert quiet.out.startswith("Small hall")
    shown = run("solve", small, "-q", "--show", "lines", "--show", "notes,proof")
    assert shown.out == full.out
    assert len(full.out) > len(quiet.out)


def test_settings_scenarios_gap_and_solver_reach_the_plan(run: Runner) -> None:
    ran = run(
        "solve", HALL, "--json", "-q", "--scenario", "half_power", "--set", "budget.capex=90 MUSD",
        "--set", "name=Half", "--set", "network={}", "--gap", "0.1 %", "--solver", "cbc",
    )  # fmt: skip
    plan = Plan.model_validate_json(ran.out)
    assert (ran.code, ran.err, plan.problem) == (0, "", "Half")
    assert [each.limit for each in plan.limits if each.name == "facility_power"] == [5000.0]
    assert plan.totals is not None
    assert plan.totals.capex_usd is not None
    assert plan.totals.capex_usd <= 90e6
    assert 0.001 <= plan.objective.gap_asked < 0.0012
    assert plan.provenance.solver == "cbc"
    assert (plan.provenance.scenario, plan.provenance.overrides) == (
        "half_power",
        ("budget.capex=90 MUSD", "name=Half", "network={}"),
    )


def test_save_model_writes_a_readable_model(run: Runner, tmp_path: Path) -> None:
    ran = run("solve", HALL, "--json", "-q", "--save-model", "models/master.mps")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    read = highs.readModel(str(tmp_path / "models/master.mps"))
    assert read != highspy.HighsStatus.kError
    highs.setOptionValue("mip_rel_gap", 1e-9)
    highs.run()
    proven = Plan.model_validate_json(ran.out).objective.program
    assert proven is not None
    # The program as its first stage ended: useful work below its tangents.
    assert highs.getInfo().objective_function_value == pytest.approx(proven.bound, rel=2e-6)


def test_time_limit_with_a_plan_is_exit_code_5(
    run: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The clock runs out right after the first plan."""
    take = Search.take

    def stop(self: Search, point: Point | None) -> None:
        take(self, point)
        if self.found[0] is not None:
            self.effort.most_work = 0.0

    monkeypatch.setattr(Search, "take", stop)
    ran = run("solve", HALL, "--json")
    plan = Plan.model_validate_json(ran.out)
    assert (ran.code, plan.status) == (5, "feasible")
    assert plan.objective.gap is not None
    assert plan.objective.gap > plan.objective.gap_asked
    assert (tmp_path / "10MW.xlsx").is_file()
    assert "not proven" in " ".join(run("solve", HALL).out.split())


def test_unlimited_purchases_are_exit_code_2(
    run: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "open.yaml").write_text(
        "name: open\nsite: {pue: 1.2}\nstorage: {delivered_fraction: {read: 1, write: 1}}\n"
        "jobs: [{name: j, checkpoint: {size: 1 TB}}]\nobjective: {maximize: gpus}\n"
    )
    ran = run("solve", "open.yaml")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("planner: open.yaml:5: objective.maximize: nothing limits")
    found = optimizer.Certificate("unbounded")
    monkeypatch.setattr(optimizer, "optimise", lambda *_, **__: found)
    ran = run("solve", HALL)
    assert ran.code == 2
    assert "nothing limits" in ran.out


def test_internal_errors_are_exit_code_1(
    run: Runner, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a slip")

    monkeypatch.setattr(optimizer, "optimise", broken)
    with pytest.raises(ZeroDivisionError):
        run("solve", HALL)
    monkeypatch.setattr(sys, "argv", ["planner", "solve", HALL])
    assert process.run(cli.app) == 1
    said = capsys.readouterr().err
    assert "internal error: ZeroDivisionError: a slip" in said
    assert "Traceback" not in said


# The other commands.


@pytest.mark.parametrize("name", sorted(shipped.problem_files()))
def test_every_example_works_from_anywhere(run: Runner, name: str) -> None:
    assert run("init", name, "-o", "sub/folder").code == 0
    ran = run("check", f"sub/folder/{name}.yaml")
    assert ran.code == 0, ran.out


def test_catalog_lists_items_by_vendor_category_and_file(run: Runner) -> None:
    ran = run("catalog")
    assert (ran.code, ran.err) == (0, "")
    assert re.search(r"^nvidia_dgx_h100 +gpu_system +NVIDIA .* 8 GPUs +310", ran.out, re.MULTILINE)
    rows = json.loads(run("catalog", "--json").out)
    assert {"id", "category", "vendor", "model", "per_unit", "list_price"} <= set(rows[0])
    ids = [row["id"] for row in rows]
    assert len(ids) == len(set(ids)) == len(ran.out.splitlines()) - 1
    vendors = json.loads(run("catalog", "ddn", "--json").out)
    assert {row["vendor"] for row in vendors} == {"DDN"}
    assert {row["category"] for row in json.loads(run("catalog", "cdu", "--json").out)} == {"cdu"}
    weka = str(shipped.catalog_files()["storage_weka"])
    assert {row["vendor"] for row in json.loads(run("catalog", weka, "--json").out)} == {"WEKA"}


def test_catalog_item_has_paths_and_units(run: Runner) -> None:
    ran = run("catalog", "nvidia_dgx_b200")
    assert (ran.code, ran.err) == (0, "")
    assert "\n  consumes.it_power: 14.3 kW  [medium] " in ran.out
    assert "\n  ports.compute: count 8; speed_gbit_per_s 400; " in ran.out


def test_catalog_check_warns_of_old_and_implausible_figures(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795305600")  # 2026-11-22
    ran = run("catalog", "--check")
    assert (ran.code, ran.err) == (0, "")
    last = ran.out.splitlines()[-1]
    assert re.fullmatch(r"valid: \d+ items, \d+ figures, each with its source; \d+ warnings", last)
    old = json.loads(run("catalog", "--check", "--json").out)
    assert {(each["code"], each["severity"]) for each in old} == {("old-price", "warning")}
    weka = shipped.catalog_files()["storage_weka"].read_text()
    (tmp_path / "bad.yaml").write_text(
        weka.replace("write: {value: 32 GB/s", "write: {value: 32 TB/s")
    )
    ran = run("catalog", "--check", "bad.yaml")
    assert re.search(r"^warning: bad\.yaml:\d+: wekapod_nitro_155: read per write", ran.out, re.M)
    (tmp_path / "bad.yaml").write_text(
        weka.replace("write: {value: 32 GB/s", "write: {value: 32 kW")
    )
    assert run("catalog", "--check", "bad.yaml").code == 2
