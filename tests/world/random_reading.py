"""Random problems whose job reads data all the time."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import Any

from tests.world.random_cases import Case, random_case, read
from tests.world.random_hardware import spread, text


def reading(seed: int, case: Case | None = None) -> Case:
    """Return the random case of a seed with data to read.

    A system can mostly read about what its GPUs ask for. Some of the storage drawn feeds a few
    systems, some more than there are.
    """
    case = case or random_case(seed)
    random, documents = Random(f"reading {seed}"), deepcopy(dict(case.documents))
    problem: dict[str, Any] = documents["problem"]
    job: dict[str, Any] = problem["jobs"][0]
    items = documents["catalog"]["items"]
    gpus = random.choice([_value(i, "gpus") for i in items if i["category"] == "gpu_system"])
    stores = [_value(i, "read") for i in items if "read" in i.get("provides", {})]
    each = random.choice(stores or [20.0]) * spread(random, 0.03, 0.5) / gpus
    job["ingest_per_gpu"] = text(each, "GB/s")
    stages = {"tensor": random.choice((1, 2, 4)), "pipeline": random.choice((1, 2, 4))}
    job.setdefault("parallelism", stages)
    if random.random() < 0.8:
        port = text(gpus * each * spread(random, 0.8, 4), "GB/s")
        limit = problem["storage"].get("client_limit", {})
        problem["storage"]["client_limit"] = limit | {"read": port}
    return read(documents)


def _value(item: dict[str, Any], figure: str) -> float:
    return float(str(item["provides"][figure]["value"]).split()[0])
