"""In which way a job runs: set points, precisions, measured rates, laws of scale."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import pytest

from planner import api
from tests.oracle.enumerate import best
from tests.test_exactness import disagreements
from tests.world.random_cases import Case, inputs_of, random_case, read

Raw = dict[str, Any]
CHUNKS, SEEDS_PER_CHUNK = 10, 12
MODEL = "dense_70b"


def with_levers(seed: int) -> Case:
    """Return a random problem whose job may choose: curves, rates and laws drawn at random."""
    random, case = Random(f"levers {seed}"), random_case(seed)
    documents = copy.deepcopy(dict(case.documents))
    problem, catalog = documents["problem"], documents["catalog"]
    job: Raw = problem["jobs"][0]
    job.setdefault("gpus", {}).pop("max_types", None)
    systems = [item for item in catalog["items"] if item["category"] == "gpu_system"]
    for item in systems:
        if random.random() < 0.7:
            item["power_points"] = _curve(random)
    job["power"] = {"points": "open", "reading": random.choice(("low", "middle", "high"))}
    if random.random() < 0.5:
        job["power"]["curve"] = [_row(random, cap) for cap in (90, 75)]
    training: Raw = job["training"]
    if random.random() < 0.5:
        training.pop("mfu")
        training |= {"model": MODEL, "precision": random.choice((["bf16", "fp8"], ["fp8"]))}
        for item in systems:
            item["achieved"] = _measured(random)
    parallel = "parallelism" in job
    law = random.choice(("none", "exponent", "table", "bubble" if parallel else "table"))
    if law != "none":
        training["scale"] = _scale(random, law)
    return read(documents)


def _row(random: Random, cap: int) -> Raw:
    share = (cap / 100) ** random.uniform(0.2, 1.0)
    row: Raw = {"gpu_cap": f"{cap} %", "throughput": round(share, 4)}
    row["power"] = round(1.0 - random.uniform(0.4, 0.9) * (1.0 - cap / 100), 4)
    if random.random() < 0.5:
        row |= {"low": round(share * 0.95, 4), "high": round(min(1.0, share * 1.03), 4)}
    return row


def _curve(random: Random) -> list[Raw]:
    caps = random.sample((90, 85, 80, 70, 60, 50), random.choice((1, 2, 3)))
    said = {"source": "made_up", "confidence": "low"}
    return [_row(random, cap) | said for cap in caps]


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
    if law == "bubble":
        return {"micro_batches": random.choice((8, 64)), "interleave": random.choice((1, 2))}
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
        return disagreements(case, api.solve_inputs(inputs_of(case), explain=False), truth)
    except Exception as error:  # so that one seed does not hide the others
        return [f"{type(error).__name__}: {error}; enumerated {truth}"]


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_optimiser_finds_the_enumerated_best_way(chunk: int) -> None:
    seeds = range(7000 + chunk * SEEDS_PER_CHUNK, 7000 + (chunk + 1) * SEEDS_PER_CHUNK)
    found = {seed: faults(seed) for seed in seeds}
    wrong = {seed: said for seed, said in found.items() if said}
    assert not wrong, "\n".join(f"seed {seed}: {said}" for seed, said in wrong.items())
