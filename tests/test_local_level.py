"""The local level of checkpoints: the optimiser against enumeration over N, I, k and purchases."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import pytest

from tests.test_exactness import faults
from tests.world.random_cases import Case, random_case, read
from tests.world.random_hardware import figure, spread, text

CHUNKS = 8
SEEDS_PER_CHUNK = 12


def with_levels(seed: int) -> Case:
    """Return a random case with drives in its GPU systems and a job that may use them."""
    random, documents = Random(seed), copy.deepcopy(dict(random_case(seed).documents))
    (job,) = documents["problem"]["jobs"]
    size_gb = _size_gb(job)
    for item in documents["catalog"]["items"]:
        if item["category"] == "gpu_system" and "components" not in item and random.random() < 0.9:
            item["local"] = _drives(random, size_gb)
    checkpoint = job["checkpoint"]
    checkpoint["mode"] = random.choice(("async", "async", "open"))
    if random.random() < 0.5:
        checkpoint |= {"stall": "derived", "stall_overhead": text(spread(random, 0.1, 10), "s")}
    local, shares = _level(random)
    checkpoint["local"] = local
    rate = job.get("failures", {})
    job["failures"] = (rate if isinstance(rate, dict) else {"rate": rate}) | {"shares": shares}
    remote = job["restore"].pop("restart")
    job["restart"] = {"local": text(spread(random, 10, 1500), "s"), "remote": remote}
    return read(documents)


def _size_gb(job: dict[str, Any]) -> float:
    if "size" in job["checkpoint"]:
        return float(job["checkpoint"]["size"].split()[0])
    share = float(job.get("trained_share", 1.0))
    return float(job["parameters"].split()[0]) * share * float(job.get("bytes_per_parameter", 14))


def _drives(random: Random, size_gb: float) -> dict[str, Any]:
    drives = {
        "write": figure(text(size_gb * spread(random, 0.001, 0.3), "GB/s")),
        "capacity": figure(text(size_gb / 1000 * spread(random, 0.1, 30), "TB")),
    }
    if random.random() < 0.9:
        drives["copy"] = figure(text(size_gb * spread(random, 0.001, 0.3), "GB/s"))
    if random.random() < 0.3:
        drives["endurance"] = figure(text(size_gb / 1000 * spread(random, 3, 1000), "TB/day"))
    return drives


def _level(random: Random) -> tuple[dict[str, Any], dict[str, float]]:
    """Return a local level and the shares of classes of failures."""
    names = ["software", "node", "rack"][: random.randint(2, 3)]
    parts = [spread(random, 0.02, 1) for _ in names]
    shares = [round(part / sum(parts), 6) for part in parts[:-1]]
    shares.append(round(1.0 - sum(shares), 6))
    kinds = ["yes", random.choice(("yes", "peer")), "no"]
    recovers = dict(zip(names, [*kinds[: len(names) - 1], "no"], strict=True))
    local: dict[str, Any] = {
        "use": random.choice(("open", "open", "yes")),
        "copies": random.randint(1, 3),
        "recovers": recovers,
        "drain": random.choice(("continues", "restarts")),
    }
    kind = random.random()
    if kind < 0.3:
        local["k"] = random.randint(1, 40)
    elif kind < 0.6:
        local["k"] = sorted({random.randint(1, 60) for _ in range(random.randint(2, 6))})
    return local, dict(zip(names, shares, strict=True))


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_optimiser_finds_the_enumerated_best(chunk: int) -> None:
    seeds = range(5000 + chunk * SEEDS_PER_CHUNK, 5000 + (chunk + 1) * SEEDS_PER_CHUNK)
    found = {seed: faults(with_levels(seed)) for seed in seeds}
    wrong = {seed: said for seed, said in found.items() if said}
    assert not wrong, "\n".join(f"seed {seed}: {said}" for seed, said in wrong.items())
