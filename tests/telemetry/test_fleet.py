"""The study of a fleet: its findings against the truth that the fleet was made from."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from planner import api
from planner.errors import InputError
from planner.outputs import fleet_text
from planner.outputs.blocks import screen
from planner.outputs.charts.fleet import charts
from planner.schema.telemetry import (
    Characterization,
    ClusterStorage,
    FleetStudy,
    JobFound,
    Measured,
)
from planner.studies.fleet_storage import add_storage
from planner.telemetry import characterize
from planner.telemetry.fleet import ListedJob, match_jobs, read_jobs, study_fleet
from tests.telemetry.fleet import Model, fleet, write_fleet
from tests.world.commands import ran

MODELS = fleet(seed=5)
PROBLEM = Path(__file__).resolve().parents[2] / "problems" / "10MW.yaml"


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
        assert job.law_gb_per_s == pytest.approx(job.size_gb / (law.overlap.value * job.interval_s))
        assert job.demand_gb_per_s == pytest.approx(job.size_gb / (0.1 * job.interval_s))


def test_shares_under_ten_percent_are_those_of_the_truth(study: FleetStudy) -> None:
    overlaps = truth("drain_s") / truth("interval_s")
    assert study.under_limit_jobs.value == np.mean(overlaps < 0.1)
    low, high = study.under_limit_jobs.low, study.under_limit_jobs.high
    assert low is not None and high is not None and low < study.under_limit_jobs.value < high
    counts = np.array([job.checkpoints for job in study.jobs])
    expected = counts[overlaps < 0.1].sum() / counts.sum()
    assert study.under_limit_checkpoints == pytest.approx(expected)
    wanted = 12 * 86_400 / truth("interval_s")
    assert counts.sum() == pytest.approx(wanted.sum(), rel=0.03)


def test_demand_of_a_cluster_is_the_sum_of_its_jobs(study: FleetStudy) -> None:
    for each in study.storage:
        own = [model for model in MODELS if model.cluster == each.cluster]
        demand = sum(model.size_gb / (0.1 * model.interval_s) for model in own)
        assert each.demand_gb_per_s == pytest.approx(demand, rel=0.02)
        assert each.gpus == sum(model.gpus for model in own)


def test_the_study_is_tables_and_pictures(study: FleetStudy) -> None:
    text = screen(fleet_text.blocks(study))
    for title in (*fleet_text.FINDINGS.values(), "Storage for an overlap of 10 %"):
        assert title in text
    assert max(map(len, text.splitlines())) <= 100
    assert [chart.name for chart in charts(study)] == ["model_size", "per_gpu", "interval"]


def test_storage_that_suffices_delivers_and_takes_the_least_power(study: FleetStudy) -> None:
    """No more power than any appliance of the catalogs by itself; a DGX B200 takes 14.3 kW."""
    inputs = api.load(
        PROBLEM, settings=("consider.gpu_systems=[nvidia_dgx_b200]", "storage.endurance=off")
    )
    one = ClusterStorage(cluster="c", gpus=1024, demand_gb_per_s=76.7, seen_gb_per_s=400.0)
    (found,) = add_storage(study.model_copy(update={"storage": (one,)}), inputs).storage
    delivered = inputs.problem.storage.delivered_fraction.write
    stores = {
        item.model: (item.provides.write.value, item.consumes.it_power.value, item.min_units)
        for item in inputs.items
        if item.category == "storage" and item.provides.write and item.consumes.it_power
    }

    def least_kw(rate: float) -> float:
        return min(
            max(math.ceil(rate / (delivered * write)), least.value if least else 1) * kw
            for write, kw, least in stores.values()
        )

    assert found.enough is not None and found.enough_kw is not None
    count, model = found.enough.split(" x ")
    write, kw, _ = stores[model]
    assert int(count) * write * delivered >= 76.7
    assert found.enough_kw == pytest.approx(int(count) * kw)
    assert found.enough_kw <= least_kw(76.7) + 1e-9
    assert found.seen_kw is not None and found.seen_kw <= least_kw(400.0) + 1e-9
    assert found.gpus_more == pytest.approx((found.seen_kw - found.enough_kw) / (14.3 / 8))


def found_job(name: str, cluster: str, parameters: float) -> JobFound:
    plain = Measured(value=1.0)
    return JobFound(
        name=name,
        cluster=cluster,
        start_s=0.0,
        end_s=1.0,
        segments=(),
        checkpoints=5,
        size_gb=Measured(value=14.0 * parameters / 1e9),
        interval_s=plain,
        drain_s=plain,
        overlap=plain,
        write_gb_per_s=plain,
        peak_gb_per_s=plain,
        bytes_per_parameter=14.0,
        parameters=Measured(value=parameters),
        observed_s=1.0,
    )


def test_jobs_are_matched_by_name_else_by_cluster_and_size() -> None:
    listed = [
        ListedJob("a-9", "b", 8, 1e9),
        ListedJob("x", "a", 8, 7e10),
        ListedJob("y", "a", 8, 9e10),
        ListedJob("z", "a", 8, 4e11),
    ]
    found = [
        found_job("a-1", "a", 8e10),
        found_job("a-2", "a", 7.2e10),
        found_job("a-3", "a", 1e13),
        found_job("a-9", "a", 7e10),
        found_job("a-4", "a", 8.8e10),
        found_job("b-1", "b", 4e11),
    ]
    matched, unknown = match_jobs(found, listed)
    names = [[job.name for job in parts] for parts in matched]
    assert names == [["a-9"], ["a-1", "a-2"], ["a-4"], []] or names == [
        ["a-9"],
        ["a-2"],
        ["a-1", "a-4"],
        [],
    ]
    assert unknown == ["a-3", "b-1"]


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


def test_too_few_jobs_have_no_trend() -> None:
    record = Characterization(
        traces=(), clock="unix", read_as="rate", clusters=(), jobs=(), bursts=0, checkpoints=0
    )
    study = study_fleet(record, [ListedJob("a", "c", 8, 1e9)])
    assert study.unmatched == ("a",) and study.law is None and study.bandwidth is None
    assert "too few jobs" in fleet_text.law_text(study)


def test_the_command_writes_the_study(tmp_path: Path) -> None:
    models: list[Model] = [
        replace(model, cluster=f"c{number % 2}") for number, model in enumerate(MODELS[:8:2])
    ]
    traces, listed = write_fleet(models, tmp_path, days=4.0, seed=2)
    out = tmp_path / "found"
    done = ran("characterize", str(traces), "--jobs", str(listed), "-o", str(out))
    assert done.code == 0, done.err
    assert "Demand law" in done.out
    names = {path.name for path in out.iterdir()}
    pictures = {f"fleet.{name}.png" for name in ("model_size", "per_gpu", "interval")}
    assert names >= {"fleet.fleet.csv", *pictures}
    record = Characterization.model_validate_json(
        (out / "fleet.characterization.json").read_bytes()
    )
    assert record.study is not None and len(record.study.jobs) == 4
