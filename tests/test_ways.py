"""In which way a job runs: set points, precisions, measured rates, laws of scale."""

from __future__ import annotations

from typing import Any

import pytest

from planner.schema.plan import Plan
from tests.world.random_cases import inputs_of
from tests.world.random_hardware import figure
from tests.world.requests import Request
from tests.world.solved import solve

Raw = dict[str, Any]
MODEL = "dense_70b"


# Known answers: a system of 8 GPUs of 1 kW draws 10 kW, so a cap of 50 % leaves 6 kW of it. Two
# stores take 10 of the 50 kW: four systems at full power, six at the cap.


def capped(points: Any, throughput: str, **row: Any) -> Request:
    """Return the small request with the GPUs' power and a curve of one point."""
    request = Request(maximize="goodput")
    request.items[0]["gpu"]["tdp"] = figure("1 kW")
    request.job["training"] = {"mfu": "40 %"}
    own = {"of": "training", "gpu_cap": "50 %", "throughput": throughput}
    request.items[0]["power_points"] = [own | {"source": "made_up", "confidence": "low"} | row]
    request.job["power"] = {"points": points}
    return request


def planned(request: Request) -> Plan:
    return solve(inputs_of(request.case()), explain=False)


@pytest.mark.parametrize(
    ("points", "throughput", "systems", "kw"),
    [
        ("open", "80 %", 6, 36.0),
        ("open", "60 %", 4, 40.0),
        ("100 %", "80 %", 4, 40.0),
        ("50 %", "60 %", 6, 36.0),
        (["100 %", "50 %"], "80 %", 6, 36.0),
    ],
)
def test_a_cap_is_taken_where_more_gpus_do_more(
    points: Any, throughput: str, systems: int, kw: float
) -> None:
    plan = planned(capped(points, throughput))
    (line,) = (line for line in plan.lines if line.sku == "gpu")
    assert (line.quantity, line.it_power_kw) == (systems, pytest.approx(kw))
    (way,) = plan.jobs[0].ways
    at_cap = kw / systems < 10.0
    assert way.power_share == pytest.approx(0.6 if at_cap else 1.0)
    share = float(throughput.split()[0]) / 100 if at_cap else 1.0
    useful = plan.jobs[0].useful_gpus * 1000.0 * 0.4 * share / 1000.0
    assert plan.jobs[0].useful_pflops == pytest.approx(useful)
    assert any("cap the GPUs at 50 %" in note for note in line.notes) == at_cap


def measured_request(**scale: Any) -> Request:
    request = Request(maximize="goodput")
    request.items[0]["achieved"] = [
        {"model": MODEL, "precision": "bf16", "gpus": gpus, "rate": f"{rate} TFLOP/s"}
        | {"source": "made_up", "confidence": "low"}
        for gpus, rate in ((8, 500), (16, 420), (16, 400))
    ]
    request.job["training"] = {"model": MODEL} | ({"scale": scale} if scale else {})
    return request


def test_the_slowest_rate_on_the_most_gpus_counts() -> None:
    job = planned(measured_request()).jobs[0]
    assert (job.ways[0].rate_tflops, job.ways[0].rate_gpus) == (400.0, 16)
    assert (job.tflops_per_gpu, job.mfu) == (1000.0, pytest.approx(0.4))
    assert job.useful_pflops == pytest.approx(job.useful_gpus * 0.4)


@pytest.mark.parametrize(
    ("scale", "share"),
    [
        ({"exponent": 0.1}, 2.0**-0.1),
        ({"table": [{"gpus": 16, "share": 0.9}, {"gpus": 64, "share": 0.5}]}, (0.5 / 0.9) ** 0.5),
        ({"table": [{"gpus": 2, "share": 1.0}, {"gpus": 8, "share": 0.8}]}, 0.8**0.5),
    ],
)
def test_scale_counts_from_where_the_rate_was_measured(scale: Raw, share: float) -> None:
    job = planned(measured_request(**scale)).jobs[0]
    assert job.gpus_used == 32
    assert job.scale_share == pytest.approx(share)
    assert job.useful_pflops == pytest.approx(job.useful_gpus * 0.4 * share)


# Replicas: four systems of 8 GPUs at most.


def spread(*options: Raw, memory_gb: float | None = None, **job: Any) -> Request:
    request = Request(maximize="goodput")
    request.job |= {"parameters": "10 B", "parallelism": list(options), **job}
    if memory_gb is not None:
        request.items[0]["gpu"]["memory"] = figure(f"{memory_gb} GB")
    return request


@pytest.mark.parametrize(
    ("options", "replica", "gpus"),
    [
        ([{"tensor": 4, "pipeline": 3}], 12, 24),
        ([{"tensor": 4, "pipeline": 3}, {"tensor": 4, "pipeline": 2}], 8, 32),
        ([{"tensor": 4, "pipeline": 3}, {"tensor": 4, "pipeline": 2, "factor": "70 %"}], 12, 24),
        ([{"tensor": 4, "pipeline": 3}, {"tensor": 4, "pipeline": 2, "factor": "80 %"}], 8, 32),
        ([{"tensor": 8, "pipeline": 1, "context": 2}, {"tensor": 8, "pipeline": 3}], 16, 32),
        ([{"tensor": 8, "pipeline": 1, "min_replicas": 5}, {"tensor": 8, "pipeline": 3}], 24, 24),
    ],
)
def test_the_plan_takes_the_option_that_does_most(
    options: list[Raw], replica: int, gpus: int
) -> None:
    job = planned(spread(*options)).jobs[0]
    assert (job.replica_gpus, job.gpus_used) == (replica, gpus)
