"""`planner sweep` as a user runs it: its table, bad scenarios, interruptions, workers that die."""

from __future__ import annotations

import csv
import errno
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from planner import api, whole_files
from planner.commands import sweep as command
from planner.outputs import sweep_files
from planner.processes import Processes
from planner.schema.sensitivity import VARIED, Sweep
from planner.studies.request import SweepOptions
from planner.studies.sensitivity.journal import Journal
from planner.studies.sensitivity.scenarios import Row, scenarios
from planner.studies.sensitivity.solve import pieces
from planner.studies.sensitivity.workers import Numbered, Work, Workers
from tests.world.commands import Ran, ran

POWER = "site.facility_power=100kW:400kW:lin:130"
PIECES = "site.pue=1.1:1.5:lin:40"
"""Three pieces of work: each scenario is a problem of its own, and 16 of them go together."""
FILES = (".sweep.parquet", ".sweep.csv", ".sweep.json")


def swept(small: str, folder: Path, *arguments: str) -> Ran:
    return ran("sweep", small, "-o", str(folder), "--no-workbook", "--jobs", "1", *arguments)


def table(folder: Path) -> list[dict[str, Any]]:
    return sweep_files.load(folder / "problem.sweep.parquet")


def record(folder: Path) -> Sweep:
    return Sweep.model_validate_json((folder / "problem.sweep.json").read_text())


def test_the_table_says_what_went_in_and_what_came_out(small: str, tmp_path: Path) -> None:
    best = "objective.indifference=0"
    feeds = ("--vary", "site.facility_power=300kW,1MW")
    done = swept(small, tmp_path, *feeds, "--gap", "2e-6", "--set", best)
    assert done.code == 0
    low, high = table(tmp_path)
    plan = api.solve(small, settings=("site.facility_power=300 kW", best))
    assert low["site.facility_power [kW]"] == 300.0 and high["site.facility_power [kW]"] == 1000.0
    assert low["status"] == "optimal" and low["certificate"] in ("search", "reused", "alone")
    assert low["objective"] == pytest.approx(plan.objective.value, rel=4e-6)
    assert low["objective"] <= low["bound"] <= low["objective"] * (1 + 2.1e-6)
    assert plan.totals is not None
    assert low["gpus"] == plan.totals.gpus == 8 * low["units.gpu_box"]
    assert low["goodput"] == pytest.approx(plan.jobs[0].goodput)
    assert "facility_power" in low["binding"]
    study = record(tmp_path)
    assert [column.name for column in study.columns] == list(low)
    assert (study.rows, study.asked, study.statuses) == (2, 2, {"optimal": 2})


def test_csv_and_parquet_hold_the_same(small: str, tmp_path: Path) -> None:
    swept(small, tmp_path, "--vary", POWER, "--vary", "storage.rule=demand,light")
    rows = table(tmp_path)
    with (tmp_path / "problem.sweep.csv").open(newline="") as stream:
        read = list(csv.DictReader(stream))
    assert len(read) == len(rows) == 260
    for text, row in zip(read, rows, strict=True):
        for name, value in row.items():
            shown = text[name]
            assert (shown == "" and value is None) or shown == str(value) or float(shown) == value
    assert {row["storage.rule"] for row in rows} == {"demand", "light"}


def test_what_is_wrong_in_the_middle_spoils_only_its_own_row(small: str, tmp_path: Path) -> None:
    file = tmp_path / "scenarios.csv"
    file.write_text(
        "name,site.facility_power,targets.min_goodput,jobs.0.gpus.max\n"
        "fine,1 MW,,\n"
        "no unit,12,,\n"
        "too little,1 kW,,\n"
        "contradiction,1 MW,,1\n"
        "high,1 MW,99.9999 %,\n"
        "also fine,2 MW,,\n"
    )
    done = swept(small, tmp_path, "--scenarios", str(file))
    rows = {row["name"]: row for row in table(tmp_path)}
    assert done.code == 0
    assert {name: row["status"] for name, row in rows.items()} == {
        "fine": "optimal", "no unit": "invalid", "too little": "infeasible",
        "contradiction": "invalid", "high": "invalid", "also fine": "optimal",
    }  # fmt: skip
    assert "scenarios.csv:3" in rows["no unit"]["reason"] and "kW" in rows["no unit"]["reason"]
    assert "power at the meter 1 kW" in rows["too little"]["reason"]
    assert "jobs.0.gpus.max" in rows["contradiction"]["reason"] or rows["contradiction"]["reason"]
    assert "goodput" in rows["high"]["reason"]
    assert rows["fine"]["objective"] <= rows["also fine"]["objective"]


def test_catalogs_prices_and_named_scenarios_can_be_varied(small: str, tmp_path: Path) -> None:
    swept(small, tmp_path, "--vary", "prices.*.list=x1,x2", "--named", "all")
    rows = table(tmp_path)
    assert [row["name"] for row in rows] == ["half_power"] * 2
    assert rows[1]["capex_usd"] == pytest.approx(2 * rows[0]["capex_usd"], rel=0.2)
    swept(small, tmp_path, "--vary", "catalog.gpu_box.consumes.it_power=x1,x1.5")
    one, other = table(tmp_path)
    assert one["it_power_kw"] / one["gpus"] < other["it_power_kw"] / other["gpus"]


@pytest.mark.exhaustive(keep=0)
def test_every_number_of_processes_gives_the_same_bytes(small: str, tmp_path: Path) -> None:
    for jobs in ("1", "2"):
        ran("sweep", small, "--vary", PIECES, "-o", str(tmp_path / jobs), "--no-workbook",
            "--jobs", jobs)  # fmt: skip
    for suffix in FILES:
        one, two = ((tmp_path / jobs / f"problem{suffix}").read_bytes() for jobs in ("1", "2"))
        assert one == two, suffix


def test_a_workbook_and_pictures_come_with_it(small: str, tmp_path: Path) -> None:
    done = ran("sweep", small, "--vary", "site.facility_power=200kW:400kW:50kW",
               "-o", str(tmp_path), "--jobs", "1")  # fmt: skip
    assert done.code == 0
    book = openpyxl.load_workbook(tmp_path / "problem.sweep.xlsx")
    assert book.sheetnames == ["Sweep", "Sweep data"]
    assert book["Sweep data"].auto_filter.ref is not None
    assert (tmp_path / "problem.sweep.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "problem.sweep.svg").read_text()
    assert record(tmp_path).base is not None


class Stops:
    """Does some pieces and then ends as its user or the system would have it."""

    def __init__(self, work: Work, pieces: int, error: BaseException) -> None:
        self.work, self.left, self.error = work, pieces, error

    def rows(self, pieces: Iterable[Numbered]) -> Iterator[tuple[int, list[Row]]]:
        for number, piece in pieces:
            if not self.left:
                raise self.error
            self.left -= 1
            yield number, self.work.rows(piece)


def test_where_no_scenario_has_a_plan_nothing_is_drawn(small: str, tmp_path: Path) -> None:
    vary = ("--vary", "site.facility_power=1kW,2kW", "--jobs", "1", "-o", str(tmp_path))
    done = ran("sweep", small, *vary)
    assert "infeasible" in done.out or "no plan" in done.out, done.err
    assert {path.suffix for path in tmp_path.iterdir()} >= {".csv", ".xlsx"}
    assert not [*tmp_path.glob("*.png")]


def stop_after(monkeypatch: pytest.MonkeyPatch, pieces: int, error: BaseException) -> None:
    from contextlib import nullcontext

    def workers(work: Work, count: int, *, kept: bool) -> Any:
        return nullcontext(Stops(work, pieces, error))

    monkeypatch.setattr(command, "Workers", workers)


def test_an_interrupted_sweep_leaves_a_table_and_goes_on(
    small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept(small, tmp_path / "whole", "--vary", PIECES)
    with monkeypatch.context() as patch:
        stop_after(patch, 1, KeyboardInterrupt())
        done = swept(small, tmp_path, "--vary", PIECES)
    assert done.code == 130
    assert "interrupted after 16 of 40 scenarios, which are in the files and kept in" in done.err
    assert "the same command goes on from there" in done.err
    partial = table(tmp_path)
    whole = table(tmp_path / "whole")
    assert partial == [row for row in whole if row["scenario"] in {r["scenario"] for r in partial}]
    assert (record(tmp_path).rows, record(tmp_path).asked) == (16, 40)
    with monkeypatch.context() as patch:
        stop_after(patch, 2, AssertionError("a piece was done again"))
        assert swept(small, tmp_path, "--vary", PIECES).code == 0
    for suffix in FILES:
        there = (tmp_path / f"problem{suffix}").read_bytes()
        assert there == (tmp_path / "whole" / f"problem{suffix}").read_bytes()
    assert not (tmp_path / ".problem.sweep.partial").exists()


def test_another_sweep_takes_no_rows_of_one_that_was_interrupted(
    small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        stop_after(patch, 1, KeyboardInterrupt())
        swept(small, tmp_path, "--vary", PIECES)
    assert swept(small, tmp_path, "--vary", "site.facility_power=1MW,2MW").code == 0
    assert [row["site.facility_power [kW]"] for row in table(tmp_path)] == [1000.0, 2000.0]


def test_a_full_disk_is_one_line_and_loses_nothing_that_is_done(
    small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save, saved = sweep_files.save, []

    def full(path: Path, rows: Any) -> None:
        if saved:
            path.write_bytes(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        saved.append(path)
        save(path, rows)

    with monkeypatch.context() as patch:
        patch.setattr(sweep_files, "save", full)
        done = swept(small, tmp_path, "--vary", PIECES)
    assert done.code == 2
    assert done.err.count("\n") == 1 and "no space left" in done.err and "is kept" in done.err
    assert not list(tmp_path.glob("problem*")), "nothing half-written"
    assert len(list((tmp_path / ".problem.sweep.partial").glob("*.parquet"))) == 1
    assert swept(small, tmp_path, "--vary", PIECES).code == 0
    assert Counter(row["status"] for row in table(tmp_path)) == {"optimal": 40}


@pytest.mark.exhaustive(keep=0)
def test_a_worker_that_is_killed_takes_nothing_with_it(small: str) -> None:
    inputs = api.load(Path(small))
    some = list(scenarios(inputs, vary=("site.pue=1.1:1.5:lin:80",)))
    parts = list(enumerate(pieces(some)))
    found: dict[int, list[Row]] = {}
    with Workers(Work({"": inputs}, SweepOptions(jobs=2)), alone_s=None) as workers:
        for number, rows in workers.rows(parts):
            if not found:
                assert isinstance(workers.others, Processes)
                os.kill(workers.others.pids[0], signal.SIGKILL)
            found[number] = rows
    assert sorted(found) == [number for number, _ in parts]
    alone = Work({"": inputs}, SweepOptions())
    assert all(found[number] == alone.rows(piece) for number, piece in parts[:2])
    assert {row["status"] for rows in found.values() for row in rows} == {"optimal"}


def test_a_link_where_pieces_are_kept_is_not_followed(small: str, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "key").write_text("mine")
    (mine / "00000000.parquet").write_text("mine")
    out = tmp_path / "out"
    out.mkdir()
    partial = out / ".problem.sweep.partial"
    partial.symlink_to(mine)
    done = swept(small, out, "--vary", POWER)
    assert done.code == 2 and done.err.count("\n") == 1
    assert "this is a link" in done.err and "remove the link" in done.err
    assert {path.name: path.read_text() for path in mine.iterdir()} == {
        "key": "mine", "00000000.parquet": "mine",
    }  # fmt: skip
    partial.unlink()
    partial.mkdir()
    (partial / "00000000.new").symlink_to(mine / "key")
    done = swept(small, out, "--vary", POWER)
    assert done.code == 2 and "00000000.new: a sweep keeps nothing but plain files" in done.err
    assert (mine / "key").read_text() == "mine" and partial.is_dir()


def test_what_no_sweep_put_there_stays(small: str, tmp_path: Path) -> None:
    partial = tmp_path / ".problem.sweep.partial"
    partial.mkdir()
    (partial / "notes.txt").write_text("mine")
    (partial / "00000007.parquet").write_text("of another sweep")
    assert swept(small, tmp_path, "--vary", "site.pue=1.1,1.2").code == 0
    assert [path.name for path in partial.iterdir()] == ["notes.txt"]


def test_of_two_sweeps_into_one_folder_one_is_refused(small: str, tmp_path: Path) -> None:
    partial = tmp_path / ".problem.sweep.partial"
    with closing(Journal(partial, "of another sweep")) as other:
        other.put(0, [{"status": "optimal"}])
        done = swept(small, tmp_path, "--vary", PIECES)
        assert done.code == 2 and done.err.count("\n") == 1
        said = f"another sweep is writing these results (process {os.getpid()}); wait for its end"
        assert said in done.err
        assert other.has(0), "it took away what the other one keeps"
    assert not list(tmp_path.glob("problem*"))
    assert swept(small, tmp_path, "--vary", "site.pue=1.1,1.2").code == 0  # its lock went with it
    assert not partial.exists()


def test_a_lock_of_a_killed_sweep_keeps_nobody_out(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from planner.studies.sensitivity.journal import Journal\n"
        "Journal(Path(sys.argv[1]), 'same').put(0, [{'status': 'optimal'}])\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", script, tmp_path / "kept"], check=False, timeout=60)
    with closing(Journal(tmp_path / "kept", "same")) as journal:
        assert journal.values(0) == {"status": ["optimal"]}


def test_a_piece_that_did_not_get_onto_the_disk_is_done_again(tmp_path: Path) -> None:
    with closing(Journal(tmp_path / "kept", "same")) as journal:
        journal.put(3, [{"status": "optimal"}])
        assert journal.has(3) and not journal.has(4)
        path = tmp_path / "kept" / "00000003.parquet"
        path.write_bytes(path.read_bytes()[:-9])
        assert not journal.has(3)
        path.write_bytes(b"")
        assert not journal.has(3)


def test_what_ends_before_anything_is_done_leaves_nothing(
    small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_files, "put_in_place", [])
    stop_after(monkeypatch, 0, KeyboardInterrupt())
    done = swept(small, tmp_path / "new", "--vary", PIECES)
    assert (done.code, done.out) == (130, "")
    said = "nothing was written or changed; the same command starts from the beginning"
    assert done.err == f"planner: interrupted: {said}\n"
    assert not (tmp_path / "new").exists()


def test_an_interruption_while_results_are_written_keeps_what_is_done(
    small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(command, "_write", stopped)
        done = swept(small, tmp_path, "--vary", PIECES)
    assert (done.code, done.err.count("\n")) == (130, 1)
    assert "what is done is kept in" in done.err and "goes on from there" in done.err
    with monkeypatch.context() as patch:
        stop_after(patch, 0, AssertionError("a piece was done again"))
        assert swept(small, tmp_path, "--vary", PIECES).code == 0


def test_objectives_can_be_varied_and_are_not_compared(small: str, tmp_path: Path) -> None:
    both = ("--vary", "objective={maximize: useful_gpus},{minimize: cost}")
    done = swept(small, tmp_path, *both, "--set", "targets={min_gpus: 8}")
    assert done.code == 0 and "best of all" not in done.out
    first, second = table(tmp_path)
    assert first["objective (varied)"] == "{maximize: useful_gpus}"
    assert first["objective"] == pytest.approx(first["useful_gpus"])
    assert second["objective"] == pytest.approx(second["capex_usd"])
    study = record(tmp_path)
    assert (study.objective, study.unit) == (VARIED, "")
    swept(small, tmp_path, "--vary", "objective.maximize=gpus,gpus")
    assert (record(tmp_path).objective, record(tmp_path).unit) == ("gpus", "GPUs")


def test_a_name_that_is_no_text_is_refused_before_anything_is_solved(
    small: str, tmp_path: Path
) -> None:
    odd = tmp_path / os.fsdecode(b"a\xff.yaml")
    odd.write_bytes(Path(small).read_bytes())
    done = swept(str(odd), tmp_path / "out", "--vary", POWER)
    assert done.code == 2 and done.err.count("\n") == 1
    assert "the name of the problem file is not text; rename it" in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing is varied"),
        (("--vary", "site.facility_powr=1MW:2MW:1MW"), "facility_power"),
        (("--vary", "site.facility_power=1MW:2MW"), "site.facility_power"),
        (("--vary", "site.facility_power=1:2:1"), "kW"),
        (("--scenarios", "nowhere.csv"), "nowhere.csv"),
        (("--named", "nobody"), "nobody"),
        (("--vary", "site.pue=1.1,1.2", "--jobs", "-1"), "--jobs"),
        (("--vary", "site.pue=1.1,1.2", "--gap", "2"), "--gap"),
        (("--vary", "site.pue=1.1,1.2", "--dask", "tcp://127.0.0.1:1"), "no Dask scheduler"),
        (("--vary", "site.pue=1.1,1.2", "--dask", "nonsense://"), "no Dask scheduler"),
        (("--vary", "site.pue=1.1,1.2", "--dask", "tls://127.0.0.1:1"), "needs certificates"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...],
    said: str,
) -> None:  # fmt: skip
    monkeypatch.setattr("planner.studies.workforce.SECONDS_TO_CONNECT", 1)
    done = ran("sweep", small, "-o", str(tmp_path), "--no-workbook", *arguments)
    assert done.code == 2 and said in done.err
    assert done.err.startswith("planner: ") and done.err.count("\n") == 1
    assert not list(tmp_path.glob("problem*"))


def test_json_is_the_record(small: str, tmp_path: Path) -> None:
    done = swept(small, tmp_path, "--vary", "site.pue=1.1,1.2", "--json", "--quiet")
    assert json.loads(done.out) == json.loads((tmp_path / "problem.sweep.json").read_text())
    assert done.err == ""


def test_a_script_needs_no_guard_to_use_several_processes(small: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from pathlib import Path\n"
        "from planner import api\n"
        "from planner.studies.sensitivity.scenarios import scenarios\n"
        "from planner.studies.request import SweepOptions\n"
        "from planner.studies.sensitivity.workers import answers\n"
        f"inputs = api.load(Path({small!r}))\n"
        "some = list(scenarios(inputs, vary=('site.pue=1.1:1.5:lin:20',)))\n"
        "print(len(answers(inputs, some, SweepOptions(jobs=2))))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "20\n", "")
