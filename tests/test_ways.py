"""In which way a job runs: set points, precisions, measured rates, laws of scale."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import pytest

from planner.schema.plan import Plan
from tests.oracle.enumerate import best
from tests.test_exactness import disagreements
from tests.world.random_cases import Case, inputs_of, random_case, read
from tests.world.random_hardware import figure
from tests.world.requests import Request
from tests.world.solved import solve

Raw = dict[str, Any]
CHUNKS, SEEDS_PER_CHUNK = 10, 12
MODEL = "dense_70b"


def with_levers(seed: int, case: Case | None = None) -> Case:
    """Return a random problem whose job may choose: curves, rates and laws drawn at random."""
    random, case = Random(f"levers {seed}"), case or random_case(seed)
    documents = copy.deepcopy(dict(case.documents))
    problem, catalog = documents["problem"], documents["catalog"]
    job: Raw = problem["jobs"][0]
    job.setdefault("gpus", {}).pop("max_types", None)
    systems = [item for item in catalog["items"] if item["category"] == "gpu_system"]
    for item in systems:
        if random.random() < 0.7:
            item["power_points"], share = _curve(random)
            if (drawn := item["consumes"].get("it_power")) is not None:
                kw, gpus = float(drawn["value"].split()[0]), item["provides"]["gpus"]["value"]
                item["gpu"]["tdp"] = figure(f"{share * kw / gpus:.4f} kW")
    job["power"] = {"points": "open"}
    training: Raw = job["training"]
    if random.random() < 0.5:
        training.pop("mfu")
        training |= {"model": MODEL, "precision": random.choice((["bf16", "fp8"], ["fp8"]))}
        for item in systems:
            item["achieved"] = _measured(random)
    if "parallelism" in job and random.random() < 0.6:
        job["parallelism"] = _options(random, job["parallelism"])
    law = random.choice(("none", "exponent", "table", "table"))
    if law != "none":
        training["scale"] = _scale(random, law)
    return read(documents)


def _options(random: Random, first: Raw) -> list[Raw]:
    """Return options: the one that is drawn, longer pipelines, wider groups, more replicas."""
    tensor, pipeline = first["tensor"], first["pipeline"]
    others = [
        {"tensor": tensor, "pipeline": pipeline + 1},
        {"tensor": 2 * tensor, "pipeline": pipeline},
        {"tensor": tensor, "pipeline": pipeline, "context": 2},
    ]
    options = [dict(first), *random.sample(others, random.choice((0, 1, 2)))]
    for option in options:
        if random.random() < 0.5:
            option["factor"] = round(random.uniform(0.8, 1.0), 3)
        if random.random() < 0.3:
            option["min_replicas"] = random.choice((2, 3))
        if random.random() < 0.3:
            option["memory"] = {"held": 2, "shared": random.choice((4, 12)), "activations": "5 GB"}
    return options


def _row(random: Random, cap: int) -> tuple[Raw, float]:
    """Return a set point, and a share of the GPUs in the draw of a system."""
    share = (cap / 100) ** random.uniform(0.2, 1.0)
    row: Raw = {"gpu_cap": f"{cap} %", "throughput": round(share, 4)}
    of_gpus = random.uniform(0.4, 0.9)
    if random.random() < 0.5:
        row |= {"low": round(share * 0.95, 4), "high": round(min(1.0, share * 1.03), 4)}
    return row, of_gpus


def _curve(random: Random) -> tuple[list[Raw], float]:
    caps = random.sample((90, 85, 80, 70, 60, 50), random.choice((1, 2, 3)))
    said = {"source": "made_up", "confidence": "low"}
    rows = [_row(random, cap) for cap in caps]
    return [row | said for row, _ in rows], rows[0][1]


def _measured(random: Random) -> list[Raw]:
    said = {"model": MODEL, "source": "made_up", "confidence": "low"}
    return [
        {"precision": precision, "gpus": random.choice((8, 16, 32)), **said}
        | {"rate": f"{random.uniform(200, 900) * (1.5 if precision == 'fp8' else 1.0):.1f} TFLOP/s"}
        for precision in ("bf16", "fp8")
        if random.random() < 0.9
    ]


def _scale(random: Random, law: str) -> Raw:
    if law == "exponent":
        return {"exponent": round(random.uniform(0.01, 0.3), 3), "reference": 16}
    shares, share = [], 1.0
    for gpus in (4, 12, 30, 80):
        shares.append({"gpus": gpus, "share": round(share, 4)})
        share *= random.choice((0.99, 0.9, 0.75))
    return {"table": shares}


def faults(seed: int) -> list[str]:
    """Return what is wrong with the plan of a case with levers, by exhaustive enumeration."""
    case = with_levers(seed)
    truth = best(case.problem, case.items, case.families, case.prices, case.discounts)
    try:
        return disagreements(case, solve(inputs_of(case), explain=False), truth)
    except Exception as error:  # so that one seed does not hide the others
        return [f"{type(error).__name__}: {error}; enumerated {truth}"]


@pytest.mark.exhaustive(keep=2, most=4)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_optimiser_finds_the_enumerated_best_way(chunk: int) -> None:
    seeds = range(7000 + chunk * SEEDS_PER_CHUNK, 7000 + (chunk + 1) * SEEDS_PER_CHUNK)
    found = {seed: faults(seed) for seed in seeds}
    wrong = {seed: said for seed, said in found.items() if said}
    assert not wrong, "\n".join(f"seed {seed}: {said}" for seed, said in wrong.items())


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
