"""The study of a fleet: its findings against the truth that the fleet was made from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.analysis.fleet import ListedJob, match_jobs, read_jobs, study_fleet
from planner.errors import InputError
from planner.report import telemetry as fleet_text
from planner.schema.operation import FleetStudy, JobFound, Measured
from planner.telemetry import characterize

SAMPLE_S, BYTES_PER_PARAMETER = 10.0, 14.0


@dataclass(frozen=True)
class Model:
    name: str
    cluster: str
    parameters: float
    gpus: int
    size_gb: float
    interval_s: float
    drain_s: float

    @property
    def write_gb_per_s(self) -> float:
        return self.size_gb / self.drain_s


def fleet(seed: int, models: int = 40, clusters: int = 18) -> list[Model]:
    """Return models from 100 billion to 2 trillion parameters. Larger ones checkpoint more seldom
    than in proportion to their size, so that they need less bandwidth; GPUs follow bandwidth."""
    luck = np.random.default_rng(seed)
    found = []
    for number, parameters in enumerate(np.geomspace(1e11, 2e12, models)):
        size_gb = BYTES_PER_PARAMETER * parameters / 1e9
        interval_s = 900.0 * (parameters / 1e11) ** 1.3 * luck.lognormal(0.0, 0.3)
        overlap = float(np.clip(luck.lognormal(np.log(0.065), 0.35), 0.03, 0.25))
        gpus = round(size_gb / (overlap * interval_s) / 0.004 * luck.lognormal(0.0, 0.3))
        cluster = f"c{number % clusters:02}"
        drain_s = overlap * interval_s
        name = f"model-{number:02}"
        found.append(Model(name, cluster, parameters, gpus, size_gb, interval_s, drain_s))
    return found


def write_fleet(models: list[Model], folder: Path, days: float, seed: int) -> tuple[Path, Path]:
    """Write the traces of all clusters into one Parquet file, and the table of jobs as CSV."""
    luck = np.random.default_rng(seed)
    edges = np.arange(0.0, days * 86_400 + SAMPLE_S, SAMPLE_S)
    tables = []
    for cluster in dict.fromkeys(model.cluster for model in models):
        moved = np.zeros(len(edges))
        for model in models:
            if model.cluster == cluster:
                first = luck.uniform(0.0, model.interval_s)
                starts = np.arange(first, edges[-1], model.interval_s)
                moved += written(model, starts, edges)
        rate = np.diff(moved) / SAMPLE_S
        rate += 0.3 * np.abs(1.0 + 0.1 * luck.standard_normal(len(rate)))
        columns = {
            "cluster": pa.array([cluster] * len(rate)).dictionary_encode(),
            "time": 1_767_225_600 + edges[:-1],
            "write_gb_per_s": rate,
        }
        tables.append(pa.table(columns))
    traces, listed = folder / "fleet.parquet", folder / "jobs.csv"
    pq.write_table(pa.concat_tables(tables, promote_options="default").unify_dictionaries(), traces)
    rows = (f"{m.name},{m.cluster},{m.gpus},{m.parameters / 1e9:.6g} B" for m in models)
    listed.write_text("\n".join(("job,cluster,GPUs,parameters", *rows)) + "\n", "utf-8")
    return traces, listed


def written(model: Model, starts: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return what a model has written by each time, GB."""
    place = np.clip(np.searchsorted(starts, edges, "right") - 1, 0, None)
    since = np.clip((edges - starts[place]) / model.drain_s, 0.0, 1.0)
    return model.size_gb * (place + since)


MODELS = fleet(seed=5)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_fleet(MODELS, tmp_path_factory.mktemp("fleet"), days=12.0, seed=1)


@pytest.fixture(scope="module")
def study(files: tuple[Path, Path]) -> FleetStudy:
    traces, listed = files
    return study_fleet(characterize([traces])[0], read_jobs(listed))


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
        told = "independent" if name == "per_gpu" else "decreases"
        assert fleet_text.trend_text(trend).startswith(f"{told}: exponent"), name


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
