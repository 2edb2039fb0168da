"""Random problems whose hardware is mended: spares, trays, swaps."""

from __future__ import annotations

import math
from copy import deepcopy
from random import Random
from typing import Any

from tests.world.random_cases import Case, random_case, read
from tests.world.random_hardware import Raw, figure, spread, text


def repaired_case(seed: int, case: Case | None = None, *, wide: bool = False) -> Case:
    """Return the random case of a seed with repairs stated; always the same one."""
    case = case or random_case(seed, wide=wide)
    random = Random(f"repair {seed}")
    documents: dict[str, Any] = deepcopy(dict(case.documents))
    job = documents["problem"]["jobs"][0]
    gpus = job.setdefault("gpus", {})
    gpus.pop("hot_spares", None)
    gpus.pop("max_types", None)
    job["repair"] = _repair(random)
    for item in documents["catalog"]["items"]:
        if item["category"] == "gpu_system":
            _trays(random, item)
    if random.random() < 0.7:
        documents["problem"]["objective"].pop("indifference", None)
    return read(documents)


def _repair(random: Random) -> Raw:
    """Return a repair whose load on small clusters of failing GPUs is next to nothing, or large."""
    repair: Raw = {}
    if random.random() < 0.75:
        share = random.choice((1.0, 0.78, round(random.uniform(0.05, 0.95), 2)))
        repair |= {"share": share, "time": _time(random)}
    else:  # one or two classes of failures, as their sum and mean
        shares = [round(random.uniform(0.05, 0.45), 2) for _ in range(random.randint(1, 2))]
        hours = [share * float(_time(random).split()[0]) for share in shares]
        share = round(sum(shares), 2)
        repair |= {"share": share, "time": f"{sum(hours) / share:.4g} h"}
    if random.random() < 0.5:
        repair["unit"] = "tray"
    if random.random() < 0.4:
        repair["swap"] = f"{math.exp(random.uniform(0.0, 7.0)):.4g} s"
    if random.random() < 0.3:
        repair["spares"] = random.choice((0, 1, 2, 3, 5))
    return repair


def _time(random: Random) -> str:
    return f"{math.exp(random.uniform(math.log(0.1), math.log(200.0))):.4g} h"


def _trays(random: Random, item: Raw) -> None:
    size = int(item["provides"]["gpus"]["value"])
    trays = [count for count in range(1, size) if size % count == 0]
    if trays and random.random() < 0.7:
        item["spare_unit"] = {"tray": figure(random.choice(trays))}


def shrinking(case: Case, seed: int) -> Case:
    """Return a case whose job goes on with fewer replicas where units are short.

    Repairs are long and failures many, so that it does; replicas fill a part of a system, or span
    several.
    """
    random, documents = Random(f"shrinking {seed}"), deepcopy(dict(case.documents))
    job = documents["problem"]["jobs"][0]
    gpus = job.setdefault("gpus", {})
    for name in ("hot_spares", "max_types", "whole"):
        gpus.pop(name, None)
    if "parallelism" not in job:
        job["parallelism"] = {"tensor": random.choice((1, 1, 2)), "pipeline": random.choice((1, 3))}
    job["repair"] = _repair(random) | {"when_short": "shrink"}
    if random.random() < 0.7:
        rate = f"{math.exp(random.uniform(math.log(1e-3), math.log(0.2))):.3g}"
        shares = job.get("failures", {})
        shares = {"shares": shares["shares"]} if "shares" in shares else {}
        job["failures"] = {"per_gpu_day": float(rate)} | shares
    for item in documents["catalog"]["items"]:
        if item["category"] == "gpu_system":
            _trays(random, item)
    return read(documents)


# Random problems whose job reads data all the time.


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
