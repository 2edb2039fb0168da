"""The study of a fleet: its findings against the truth that the fleet was made from."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from planner.analysis.fleet import ListedJob, match_jobs, read_jobs, study_fleet
from planner.errors import InputError
from planner.report.views import telemetry as fleet_text
from planner.schema.operation import FleetStudy, JobFound, Measured
from planner.telemetry import characterize
from tests.telemetry.fleet import fleet, write_fleet

MODELS = fleet(seed=5)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_fleet(MODELS, tmp_path_factory.mktemp("fleet"), days=12.0, seed=1)


@pytest.fixture(scope="module")
def study(files: tuple[Path, Path]) -> FleetStudy:
    traces, listed = files
    return study_fleet(characterize([traces]).record, read_jobs(listed))


def truth(name: str) -> np.ndarray:
    return np.array([getattr(model, name) for model in MODELS])


def slope(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def test_every_model_is_found_on_its_cluster(study: FleetStudy) -> None:
    assert {model.cluster for model in MODELS} == {each.cluster for each in study.storage}
    assert (len(study.jobs), len(study.storage)) == (40, 18)
    assert not study.unmatched and not study.unknown
    for job, model in zip(study.jobs, MODELS, strict=True):
        assert (job.name, job.cluster, job.gpus) == (model.name, model.cluster, model.gpus)
        assert job.size_gb == pytest.approx(model.size_gb, rel=0.01), job
        assert job.interval_s == pytest.approx(model.interval_s, rel=0.01), job
        assert job.drain_s == pytest.approx(model.drain_s, rel=0.05), job


def test_the_three_findings_are_those_of_the_truth(study: FleetStudy) -> None:
    """Bandwidth falls with model size, bandwidth per GPU does not depend on it, the interval and
    the size make the demand."""
    parameters, write = truth("parameters"), truth("write_gb_per_s")
    expected = {
        "bandwidth": slope(parameters, write),
        "per_gpu": slope(parameters, write / truth("gpus")),
        "interval": slope(truth("interval_s"), write),
    }
    for name, exponent in expected.items():
        trend = getattr(study, name)
        assert trend.exponent.value == pytest.approx(exponent, abs=0.02), name
        assert trend.jobs == 40
    assert study.bandwidth is not None and study.per_gpu is not None and study.interval is not None
    assert fleet_text.trend_text(study.bandwidth).startswith("decreases: exponent")
    assert fleet_text.trend_text(study.per_gpu).startswith("independent: exponent")
    assert fleet_text.trend_text(study.interval).startswith("decreases: exponent")


def test_the_demand_law_is_that_of_the_truth(study: FleetStudy) -> None:
    law = study.law
    assert law is not None and law.size_exponent is not None and law.interval_exponent is not None
    size, interval = truth("size_gb"), truth("interval_s")
    matrix = np.column_stack([np.ones(40), np.log(size), -np.log(interval)])
    _, c, b = np.linalg.lstsq(matrix, np.log(truth("write_gb_per_s")))[0]
    assert law.size_exponent.value == pytest.approx(c, abs=0.02)
    assert law.interval_exponent.value == pytest.approx(b, abs=0.02)
    for exponent in (law.size_exponent, law.interval_exponent):
        assert exponent.low is not None and exponent.high is not None
        assert exponent.low < 1.0 < exponent.high
    overlaps = truth("drain_s") / interval
    assert law.overlap.value == pytest.approx(math.exp(np.log(overlaps).mean()), rel=0.02)
    for job in study.jobs:
        assert job.demand_gb_per_s == pytest.approx(job.size_gb / (0.1 * job.interval_s))


def test_demand_of_a_cluster_is_the_sum_of_its_jobs(study: FleetStudy) -> None:
    for each in study.storage:
        own = [model for model in MODELS if model.cluster == each.cluster]
        demand = sum(model.size_gb / (0.1 * model.interval_s) for model in own)
        assert each.demand_gb_per_s == pytest.approx(demand, rel=0.02)
        assert each.gpus == sum(model.gpus for model in own)


def test_jobs_are_matched_by_name_else_by_cluster_and_size() -> None:
    listed = [ListedJob("a-9", "b", 8, 1e9), ListedJob("x", "a", 8, 7e10)]
    found = [
        JobFound.model_construct(name=name, cluster="a", parameters=Measured(value=parameters))
        for name, parameters in (("a-1", 8e10), ("a-2", 7.2e10), ("a-3", 1e13), ("a-9", 7e10))
    ]
    matched, unknown = match_jobs(found, listed)
    assert [[job.name for job in parts] for parts in matched] == [["a-9"], ["a-1", "a-2"]]
    assert unknown == ["a-3"]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("job,cluster,gpus\na,b,8\n", r"jobs\.csv:1: no column 'parameters'; columns: job, cl"),
        ("job,cluster,gpus,parameters\na,b,0,7 B\n", r"jobs\.csv:2: gpus: '0' is no number above"),
        ("job,cluster,gpus,parameters\na,b,8,7 B\na,b,8,big\n", r":3: parameters: 'big' is no"),
    ],
)
def test_a_wrong_table_of_jobs_is_one_line(tmp_path: Path, text: str, match: str) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError, match=match):
        read_jobs(path)
