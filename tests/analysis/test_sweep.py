"""`planner sweep` as a user runs it: its table, bad scenarios, an interruption."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from planner import files
from planner.analysis import variants
from planner.schema.analysis import VARIED, Sweep
from tests.world.commands import Ran, ran
from tests.world.solved import solve

PIECES = "site.pue=1.1:1.5:log:20"
"""Two pieces of work: each scenario is a problem of its own, and 16 of them go together."""


def swept(small: str, folder: Path, *arguments: str) -> Ran:
    return ran("sweep", small, "-o", str(folder), "--workers", "1", *arguments)


def table(folder: Path) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = pq.read_table(folder / "problem.sweep.parquet").to_pylist()
    return read


def record(folder: Path) -> Sweep:
    return Sweep.model_validate_json((folder / "problem.sweep.json").read_text())


def test_the_table_says_what_went_in_and_what_came_out(small: str, tmp_path: Path) -> None:
    best = "objective.indifference=0"
    feeds = ("--vary", "site.facility_power=300kW,1MW")
    done = swept(small, tmp_path, *feeds, "--gap", "2e-6", "--set", best)
    assert done.code == 0
    low, high = table(tmp_path)
    plan = solve(small, settings=("site.facility_power=300 kW", best))
    assert low["site.facility_power [kW]"] == 300.0 and high["site.facility_power [kW]"] == 1000.0
    assert low["status"] == "optimal" and low["certificate"] in ("search", "reused")
    assert low["objective"] == pytest.approx(plan.objective.value, rel=4e-6)
    assert low["objective"] <= low["bound"] <= low["objective"] * (1 + 2.1e-6)
    assert plan.totals is not None
    assert low["gpus"] == plan.totals.gpus == 8 * low["units.gpu_box"]
    assert low["goodput"] == pytest.approx(plan.jobs[0].goodput)
    study = record(tmp_path)
    assert [column.name for column in study.columns] == list(low)
    assert (study.rows, study.asked, study.statuses) == (2, 2, {"optimal": 2})


def test_what_is_wrong_in_the_middle_spoils_only_its_own_row(small: str, tmp_path: Path) -> None:
    feeds, sizes = "site.facility_power=1 kW,1 MW,2 MW", "jobs.0.gpus.max=null,1"
    done = swept(small, tmp_path, "--vary", feeds, "--vary", sizes)
    none, _, some, *_ = rows = table(tmp_path)
    assert done.code == 0
    assert [row["status"] for row in rows] == ["infeasible", "infeasible"] + 2 * [
        "optimal",
        "infeasible",
    ]
    assert none["reason"] == "no plan meets every limit"
    assert some["objective"] <= rows[4]["objective"]


def stop_after(monkeypatch: pytest.MonkeyPatch, pieces: int) -> None:
    """Have the user interrupt a sweep after so many pieces."""
    run_tasks = variants.run_tasks

    def interrupted(*given: Any, **named: Any) -> Iterator[Any]:
        yield from islice(run_tasks(*given, **named), pieces)
        raise KeyboardInterrupt

    monkeypatch.setattr(variants, "run_tasks", interrupted)


def test_an_interrupted_sweep_leaves_the_table_of_what_is_done(
    small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept(small, tmp_path / "whole", "--vary", PIECES)
    stop_after(monkeypatch, 1)
    done = swept(small, tmp_path, "--vary", PIECES)
    assert done.code == 130
    assert "interrupted after 16 of 20 scenarios; they are written" in done.err
    assert table(tmp_path) == table(tmp_path / "whole")[:16]
    assert (record(tmp_path).rows, record(tmp_path).asked) == (16, 20)


def test_what_ends_before_anything_is_done_leaves_nothing(
    small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "put_in_place", [])
    stop_after(monkeypatch, 0)
    done = swept(small, tmp_path / "new", "--vary", PIECES)
    assert (done.code, done.out) == (130, "")
    assert done.err.startswith("planner: interrupted: nothing was written")
    assert not (tmp_path / "new").exists()


def test_objectives_can_be_varied_and_are_not_compared(small: str, tmp_path: Path) -> None:
    both = ("--vary", "objective={maximize: useful_gpus},{minimize: cost}")
    done = swept(small, tmp_path, *both, "--set", "jobs.0.gpus={min: 8}")
    assert done.code == 0 and "best of all" not in done.out
    first, second = table(tmp_path)
    assert first["objective (varied)"] == "{maximize: useful_gpus}"
    assert first["objective"] == pytest.approx(first["useful_gpus"])
    assert second["objective"] == pytest.approx(second["capex_usd"])
    study = record(tmp_path)
    assert (study.objective, study.unit) == (VARIED, "")
    swept(small, tmp_path, "--vary", "objective.maximize=gpus,gpus")
    assert (record(tmp_path).objective, record(tmp_path).unit) == ("gpus", "GPUs")
