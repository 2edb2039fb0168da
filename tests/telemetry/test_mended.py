"""What a job's log says of repair, restart levels and classes of failures, as overrides."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from planner.loader import load_with_findings
from planner.schema.problem import Problem
from planner.schema.telemetry import Override
from planner.shipped import problem_files
from planner.telemetry import calibration
from planner.telemetry.calibration import JobLog, read_log

HOUR_S, DAY_S = 3600.0, 86_400.0
KINDS = {"software": 0.25, "gpu": 0.5, "node": 0.2, "rack": 0.05}


def made(path: Path, failures: int = 400, seed: int = 1) -> Path:
    """Write the log of a job that fails every 10 h; 80 % take a unit out for 30 h, 90 % come back
    from the local level in 100 s, the others in 700 s."""
    luck, rows = random.Random(seed), [(0.0, "job", "start", "", "", "")]
    for number in range(1, failures + 1):
        at = number * 10 * HOUR_S
        kind = luck.choices(list(KINDS), list(KINDS.values()))[0]
        rows.append((at, "job", "failure", "", "", kind))
        if luck.random() < 0.8:
            back = at + luck.expovariate(1 / (30 * HOUR_S))
            rows.append((at, "job", "unit_out", f"u{number}", "", ""))
            if back < (failures + 1) * 10 * HOUR_S:
                rows.append((back, "job", "unit_back", f"u{number}", "", ""))
        near = luck.random() < 0.9
        level, lasting = ("local", 100.0) if near else ("remote", 700.0)
        rows.append((at + lasting + luck.uniform(-5, 5), "job", "resume", "", level, ""))
    rows.append(((failures + 1) * 10 * HOUR_S, "job", "end", "", "", ""))
    lines = [",".join(map(str, row)) for row in rows]
    path.write_text("\n".join(["time,job,event,unit,level,class", *lines]) + "\n")
    return path


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> JobLog:
    return read_log(made(tmp_path_factory.mktemp("log") / "job.log.csv"))


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_with_findings(problem_files()["local_level"])[0].problem


def test_repairs_of_a_log(log: JobLog) -> None:
    said = log.repairs
    assert said.repair_s is not None
    assert said.share is not None
    for measured, true in ((said.repair_s, 30 * HOUR_S), (said.share, 0.8)):
        assert measured.low is not None
        assert measured.high is not None
        assert measured.low < true < measured.high
        assert measured.value == pytest.approx(true, rel=0.15)


def test_a_repair_that_has_not_ended_counts(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        "time,job,event,unit\n0,a,start,\n10,a,failure,\n10,a,unit_out,x\n20,a,failure,\n"
        "20,a,unit_out,y\n110,a,unit_back,x\n1020,a,end,\n"
    )
    said = read_log(path).repairs
    assert said.repair_s is not None
    assert said.share is not None
    assert said.repair_s.value == 100.0 + 1000.0  # one ended in all that time
    assert (said.out, said.share.value) == (2, 1.0)


def test_restarts_by_level(log: JobLog) -> None:
    assert log.local_restart_s is not None
    assert log.remote_restart_s is not None
    assert log.local_restart_s.value == pytest.approx(100.0, abs=3)
    assert log.remote_restart_s.value == pytest.approx(700.0, abs=3)


def test_they_become_overrides_of_a_problem_that_has_them(log: JobLog, problem: Problem) -> None:
    job = problem.job
    made = [*calibration._repair(job, log), *calibration._classes(job, log)]
    paths = {each.path for each in made if isinstance(each, Override)}
    shares = {f"jobs.0.failures.shares.{name}" for name in KINDS}
    assert shares <= paths
    assert job.repair is None or {"jobs.0.repair.share", "jobs.0.repair.time"} <= paths
    assert all(isinstance(each, Override) for each in made)
