"""Ways to run a job: whole replicas, set points, precisions, measured rates, laws of scale."""

from __future__ import annotations

import copy
from pathlib import Path
from random import Random
from typing import Any

import pytest

from planner.case import resolve
from planner.report.plan import PARTS, render
from planner.schema.job import Parallelism
from planner.schema.plan import Plan
from tests.oracle.enumerate import best
from tests.test_exactness import disagreements
from tests.world.random_cases import inputs_of, random_case, read
from tests.world.random_hardware import figure
from tests.world.requests import Request, gpu_system, price, two_systems
from tests.world.solved import solve


def rack_hall(**job: object) -> Request:
    """Return a hall of 490 kW with racks of 72 GPUs, 120 kW each, and boxes of 5 kW."""
    request = Request(maximize="gpus")
    request.items[0] = gpu_system("gpu", 72, "120 kW")
    request.site["it_power"] = "490 kW"
    request.job |= {"parallelism": {"tensor": 8, "pipeline": 8}} | job
    return request


def solved(request: Request) -> Plan:
    plan = solve(inputs_of(request.case()))
    assert plan.status == "optimal", plan.message
    truth = request.plan()
    assert plan.jobs[0].gpus_used == truth.gpus_used
    return plan


def test_four_racks_hold_four_replicas_and_the_rest_stands_idle() -> None:
    plan = solved(rack_hall())
    job = plan.jobs[0]
    assert (job.gpus_used, job.replicas, job.systems_used) == (256, 4, 4)
    assert job.usable_gpus_by_type == {"gpu": 64}


def test_a_tensor_group_keeps_to_its_domain(tmp_path: Path) -> None:
    request = rack_hall(parallelism={"tensor": 16, "pipeline": 4})
    request.items.append(gpu_system("small", 8, "10 kW"))
    request.prices["small"] = price("1")
    plan = solved(request)
    reasons = plan.not_considered
    assert "a tensor group of 16 GPUs does not fit into the 8" in reasons["small"]
    del request.items[0]
    plan = solve(inputs_of(request.case()))
    assert plan.status == "infeasible"
    assert "tensor group of 16 GPUs" in render(plan, PARTS)


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("seed", [38, 46, 51, 62, 83, 149, 162, 188, 219, 244, 245])
def test_least_replicas_of_random_mixtures_are_those_of_enumeration(seed: int) -> None:
    random, documents = Random(seed), copy.deepcopy(dict(random_case(seed).documents))
    problem = documents["problem"]
    job = problem["jobs"][0]
    job.setdefault("gpus", {})["max_types"] = 2
    job["parallelism"]["min_replicas"] = random.choice((2, 3, 4, 6))
    for item in documents["catalog"]["items"]:
        if item["category"] == "gpu_system" and random.random() < 0.7:
            demand = problem.setdefault("items", {}).setdefault(item["id"], {})
            demand.setdefault("max", random.choice((1, 2, 3)))
    case = read(documents)
    truth = best(case.problem, case.items, case.families, case.prices, case.discounts)
    plan = solve(inputs_of(case), explain=False)
    assert not disagreements(case, plan, truth)


# Memory: the weights of a replica have to fit into its GPUs.


@pytest.mark.parametrize(
    ("parameters", "precision", "taken"),
    [
        ("320 B", "bf16", "small"),  # 80 GB each: it just fits
        ("320.001 B", "bf16", "large"),
        ("640 B", "fp8", "small"),
        ("640.001 B", "fp8", "large"),
        ("769 B", "bf16", "silent"),  # whose memory nobody states
    ],
)
def test_weights_fit_to_the_last_byte_or_not(parameters: str, precision: str, taken: str) -> None:
    request = two_systems(parameters, tensor=8, pipeline=1)
    request.job["training"] = {"mfu": 0.5, "precision": precision}
    plan = solve(inputs_of(request.case()))
    assert {line.sku for line in plan.lines if line.section == "Compute"} == {taken}


# Mixtures of experts, and systems of which a job uses a number of GPUs by type.


ROUTED = 58 * 256 * 3 * 7168 * 2048
"""Parameters in the routed experts of DeepSeek-V3: layers, experts, matrices and their sizes."""


@pytest.mark.parametrize(
    ("degrees", "gpus"),
    [
        ({"tensor": 1, "pipeline": 16, "experts": 64}, 1024),  # DeepSeek-V3, arXiv 2412.19437
        ({"tensor": 8, "pipeline": 1, "experts": 1}, 8),
        ({"tensor": 8, "pipeline": 2, "experts": 8}, 128),  # experts over groups of 8 as well
        ({"tensor": 8, "pipeline": 2, "experts": 8, "expert_tensor": 1}, 16),
        ({"tensor": 4, "pipeline": 1, "context": 3, "experts": 8, "expert_tensor": 1}, 24),
        ({"tensor": 2, "pipeline": 3, "context": 2, "experts": 6, "expert_tensor": 1}, 36),
    ],
)
def test_a_replica_holds_whole_tensor_and_expert_groups(degrees: dict[str, int], gpus: int) -> None:
    option = Parallelism(**degrees, expert_parameters=ROUTED)
    assert option.replica_gpus == gpus
    stage = degrees["tensor"] * degrees.get("context", 1)
    inside = degrees["experts"] * degrees.get("expert_tensor", degrees["tensor"])
    whole = [n for n in range(1, 2000) if n % stage == 0 and n % inside == 0]
    assert gpus == degrees["pipeline"] * whole[0]


def test_parameters_per_gpu_of_deepseek_v3() -> None:
    """671 B parameters over 16 stages: 10.2 B of routed experts over 64 GPUs, 1.1 B on each."""
    option = Parallelism(tensor=1, pipeline=16, experts=64, expert_parameters=ROUTED)
    held = option.parameters_per_gpu(671e9)
    assert held == pytest.approx((671e9 - ROUTED) / 16 + ROUTED / 1024)
    assert held == pytest.approx(1.71e9, rel=0.01)


def request(**option: Any) -> Request:
    """Systems of 8 GPUs of 80 GB, and 100 B parameters, of which 90 B are in experts."""
    found = Request(maximize="useful_gpus")
    found.site["it_power"] = "200 kW"
    found.items[0]["gpu"]["memory"] = figure("80 GB")
    experts = {"tensor": 2, "pipeline": 2, "experts": 4, "expert_tensor": 1}
    found.job["parallelism"] = experts | {"expert_parameters": "90 B"} | option
    found.job["parameters"] = "100 B"
    return found


def planned(asked: Request) -> Plan:
    return solve(inputs_of(asked.case()), explain=False)


def test_memory_counts_the_parameters_of_experts() -> None:
    """(10/2 + 90/4)/2 B = 13.75 B of 4 bytes: 55 GB of the 72 that may be used; 6 bytes do not fit.

    Without experts a GPU would hold 25 B.
    """
    memory = {"held": 4, "shared": 0.001, "activations": "1 GB"}
    assert planned(request(memory=memory)).status == "optimal"
    asked = request(memory=memory).case()
    job = asked.problem.job
    assert job.parallelism is not None
    held = job.parallelism.parameters_per_gpu(job.parameters or 0.0)
    assert held == pytest.approx(13.75e9)
    more = resolve(inputs_of(request(memory=memory | {"held": 6}).case()))
    assert not more.systems


# In which way a job runs: set points, precisions, measured rates, laws of scale.


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
