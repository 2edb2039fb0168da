"""The local level of checkpoints: optimum, verifier, workbook, screens and what is refused.

The optimiser stands against enumeration over purchases, N, k and the interval of each.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cache
from random import Random
from typing import Any

import pytest

from planner import shipped
from planner.errors import InputError
from planner.loader import load
from planner.schema.operation import LocalPlan
from planner.schema.plan import Plan
from tests.test_exactness import faults
from tests.world.random_cases import Case, random_case, read
from tests.world.random_hardware import figure, spread, text
from tests.world.solved import solved as solved_once

CHUNKS = 16
FIRST_SEED = 5030
SEEDS_PER_CHUNK = 6


def with_levels(seed: int, case: Case | None = None) -> Case:
    """Return a random case with drives in its GPU systems and a job that may use them."""
    case = case or random_case(seed)
    random, documents = Random(seed), copy.deepcopy(dict(case.documents))
    (job,) = documents["problem"]["jobs"]
    size_gb = _size_gb(job)
    asked = documents["problem"]["items"]
    for item in documents["catalog"]["items"]:
        demanded = {"fixed", "min", "required"} & {*asked.get(item["id"], {})}
        if item["category"] == "gpu_system" and (demanded or random.random() < 0.9):
            item["local"] = _drives(random, size_gb)
            if demanded:  # without the figure it could not be planned at all
                item["local"].setdefault("copy", figure(text(size_gb * 0.01, "GB/s")))
    checkpoint = job["checkpoint"]
    checkpoint["mode"] = random.choice(("async", "async", "open"))
    if random.random() < 0.5:
        checkpoint |= {"stall": "derived", "stall_overhead": text(spread(random, 0.1, 10), "s")}
    local, shares = _level(random)
    checkpoint["local"] = local | {"restart": text(spread(random, 10, 500), "s")}
    rate = job.get("failures", {})
    job["failures"] = (rate if isinstance(rate, dict) else {"rate": rate}) | {"shares": shares}
    return read(documents)


def _size_gb(job: dict[str, Any]) -> float:
    if "size" in job["checkpoint"]:
        return float(job["checkpoint"]["size"].split()[0])
    return float(job["parameters"].split()[0]) * float(job.get("bytes_per_parameter", 14))


def _drives(random: Random, size_gb: float) -> dict[str, Any]:
    drives = {
        "write": figure(text(size_gb * spread(random, 0.003, 0.3), "GB/s")),
        "capacity": figure(text(size_gb / 1000 * spread(random, 0.5, 50), "TB")),
    }
    if random.random() < 0.9:
        drives["copy"] = figure(text(size_gb * spread(random, 0.001, 0.3), "GB/s"))
    if random.random() < 0.3:
        drives["capacity"] = figure(text(size_gb / 1000 * spread(random, 3, 1000), "TB"))
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
        "use": random.choice(("open", "open", "open", "yes")),
        "copies": random.randint(1, 3),
        "recovers": recovers,
        "keep": random.choice((2, 3)),
    }
    kind = random.random()
    if kind < 0.3:
        local["k"] = random.randint(1, 40)
    elif kind < 0.6:
        local["k"] = sorted({random.randint(1, 60) for _ in range(random.randint(2, 6))})
    return local, dict(zip(names, shares, strict=True))


@pytest.mark.exhaustive(keep=2, most=5)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_optimiser_finds_the_enumerated_best(chunk: int) -> None:
    first = FIRST_SEED + chunk * SEEDS_PER_CHUNK
    seeds = range(first, first + SEEDS_PER_CHUNK)
    found = {seed: faults(with_levels(seed)) for seed in seeds}
    wrong = {seed: said for seed, said in found.items() if said}
    assert not wrong, "\n".join(f"seed {seed}: {said}" for seed, said in wrong.items())


def test_room_and_wear_are_of_one_type_where_several_are_in_use() -> None:
    """Of two types the one with the larger part has the larger drives."""
    assert faults(with_levels(95_047)) == []


PROBLEM = "local_level"


@cache
def solved(scenario: str | None = None) -> Plan:
    return solved_once(PROBLEM, scenario=scenario, explain=False)


def local_of(plan: Plan) -> LocalPlan:
    local = plan.jobs[0].local
    assert local is not None
    return local


def test_the_level_leaves_storage_little_to_do() -> None:
    """The finding: drains of few MB/s per GPU, within 10 % of the time between them."""
    near, alone = solved().jobs[0], solved("storage_alone").jobs[0]
    assert local_of(solved()).every > 8 and alone.local is None
    assert near.overlap <= 0.1 * (1 + 1e-7)
    assert near.delivered_write_gb_per_s < alone.delivered_write_gb_per_s / 5
    assert 1000 * near.delivered_write_gb_per_s / near.gpus_used < 15
    assert near.goodput > alone.goodput + 0.01
    assert near.interval_s < alone.interval_s


JOB = "jobs.frontier-1t"
LOCAL = f"{JOB}.checkpoint.local"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({f"{JOB}.checkpoint.stall": "5 s"}, "stall_overhead adds to a derived stall"),
        ({f"{JOB}.failures.shares.rack": "4 %"}, "add up to 101 %"),
        ({f"{JOB}.checkpoint.mode": "sync"}, "is for checkpoints that drain while GPUs go on"),
        ({f"{LOCAL}.recovers.pdu": "no"}, "name different classes: pdu"),
        ({f"{LOCAL}.recovers.rack": "yes"}, "survives every class of failures"),
        ({f"{LOCAL}.k": "some"}, "'some' is not known here; expected one of: open"),
        ({f"{LOCAL}.k": "0"}, "k"),
        ({f"{LOCAL}.copies": "0"}, "copies"),
    ],
)
def test_what_does_not_fit_together_is_refused(settings: Mapping[str, str], said: str) -> None:
    file = shipped.problem_files()[PROBLEM]
    with pytest.raises(InputError) as caught:
        load(file, settings=tuple(f"{path}={value}" for path, value in settings.items()))
    assert said in str(caught.value)
