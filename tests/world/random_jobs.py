"""Random problems with more to decide: repairs, reads, drives, ways to run, money per work."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import replace
from random import Random
from typing import Any

from planner.errors import InputError
from planner.figures import RATIOS
from planner.schema.problem import Budget, Objective, Term
from tests.world.random_cases import Case, inputs_of, random_case, read
from tests.world.random_hardware import Raw, figure, spread, text
from tests.world.solved import solve

MODEL = "dense_70b"


def repaired_case(seed: int, case: Case | None = None, *, wide: bool = False) -> Case:
    """Return the random case of a seed with repairs stated; always the same one."""
    case = case or random_case(seed, wide=wide)
    random = Random(f"repair {seed}")
    documents: dict[str, Any] = deepcopy(dict(case.documents))
    job = documents["problem"]["jobs"][0]
    gpus = job.setdefault("gpus", {})
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
    for name in ("max_types", "whole"):
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


# Drives in GPU systems, and checkpoints on them.


def with_levels(seed: int, case: Case | None = None) -> Case:
    """Return a random case with drives in its GPU systems and a job that may use them."""
    case = case or random_case(seed)
    random, documents = Random(seed), deepcopy(dict(case.documents))
    (job,) = documents["problem"]["jobs"]
    size_gb = _size_gb(job)
    asked = documents["problem"]["items"]
    for item in documents["catalog"]["items"]:
        demanded = {"fixed", "min"} & {*asked.get(item["id"], {})}
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
    own = rate if isinstance(rate, dict) else {"per_gpu_day": rate}
    job["failures"] = own | {"shares": shares}
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


# Set points, measured rates, laws of scale, ways to spread a replica.


def with_levers(seed: int, case: Case | None = None) -> Case:
    """Return a random problem whose job may choose: curves, rates and laws drawn at random."""
    random, case = Random(f"levers {seed}"), case or random_case(seed)
    documents = deepcopy(dict(case.documents))
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


# Mixtures of experts, and systems of which a job uses a number of GPUs by type.


def with_experts(seed: int) -> Case:
    """Return a random case with experts, and systems used in part by type."""
    random, drawn = Random(f"experts {seed}"), random_case(seed)
    documents = deepcopy(dict(drawn.documents))
    job = documents["problem"]["jobs"][0]
    job.setdefault("gpus", {}).pop("max_types", None)
    job["gpus"].pop("per_system", None)
    parameters = (drawn.problem.job.parameters or 20e9) / 1e9
    job["parameters"] = f"{parameters} B"
    options = [_option(random, parameters) for _ in range(random.choice((1, 1, 2, 3)))]
    names = {read_name(option): option for option in options}
    job["parallelism"] = [*names.values()] if len(names) > 1 else options[0]
    systems = [item for item in documents["catalog"]["items"] if item["category"] == "gpu_system"]
    by_type = {
        item["id"]: random.randint(1, int(item["provides"]["gpus"]["value"]))
        for item in systems
        if random.random() < 0.6
    }
    if by_type:
        job["gpus"]["per_system"] = by_type
    return read(documents)


def read_name(option: dict[str, Any]) -> str:
    said = {name: option.get(name) for name in ("tensor", "pipeline", "context", "experts")}
    return f"{said} {option.get('expert_tensor', option['tensor'])}"


def _option(random: Random, parameters: float) -> dict[str, Any]:
    tensor = random.choice((1, 2, 2, 4))
    option: dict[str, Any] = {"tensor": tensor, "pipeline": random.choice((1, 1, 2))}
    if random.random() < 0.3:
        option["context"] = 2
    if random.random() < 0.8:
        option["experts"] = random.choice((2, 3, 4, 8))
        option["expert_parameters"] = f"{parameters * random.uniform(0.3, 1.0):.6g} B"
        if random.random() < 0.6:
            option["expert_tensor"] = random.choice([n for n in (1, 2, 4) if tensor % n == 0])
    if random.random() < 0.4:
        option["memory"] = {"held": 2, "shared": random.choice((4, 12)), "activations": "5 GB"}
    return option


# Money per useful work, as objective or as limit.


NAMES = sorted(RATIOS)


LIMITED = {
    "per_useful_gpu_hour_usd": "usd_per_useful_gpu_hour",
    "per_million_tokens_usd": "usd_per_million_tokens",
}


def ratio_case(seed: int, name: str, case: Case | None = None) -> Case:
    """Return the random case of a seed with a ratio as its objective, and what that needs."""
    random, case = Random(seed), case or random_case(seed)
    problem = case.problem
    goal = Objective.model_construct(minimize=name)  # type: ignore[arg-type]
    if random.random() < 0.3:
        share = round(random.uniform(0.001, 0.05), 4)
        goal = Objective.model_construct(minimize=name, indifference=share)  # type: ignore[arg-type]
    term = problem.term or Term.model_construct(
        years=round(random.uniform(1.0, 6.0), 1),
        electricity_usd_per_kwh=round(random.uniform(0.02, 0.3), 3),
        discount_rate=random.choice((0.0, 0.05)),
    )
    job = problem.job
    given: dict[str, Any] = {}
    if job.training.mfu is None and job.training.model is None:
        given["mfu"] = round(random.uniform(0.2, 0.6), 2)
    if job.parameters is None and job.training.active_parameters is None:
        given["active_parameters"] = random.choice((7e9, 7e10, 1e12))
    job = job.model_copy(update={"training": job.training.model_copy(update=given)})
    update = {"objective": goal, "term": term, "jobs": (job,)}
    return replace(case, problem=problem.model_copy(update=update))


def limited(seed: int, case: Case) -> Case | None:
    """Return a case whose money per useful work may be about what its best plan pays without that
    limit; None where it has no plan."""
    random, objective = Random(f"limited {seed}"), case.problem.objective
    case = ratio_case(seed, NAMES[seed % 2], case)
    if seed % 3:
        case = replace(case, problem=case.problem.model_copy(update={"objective": objective}))
    free = Budget.model_construct(**{**dict(case.problem.budget or ()), **dict.fromkeys(LIMITED)})
    budgeted = replace(case, problem=case.problem.model_copy(update={"budget": free}))
    try:
        totals = solve(inputs_of(budgeted), explain=False).totals
    except InputError:  # what is demanded cannot be planned
        return None
    if totals is None:
        return None
    name, figure = random.choice([*LIMITED.items()])
    paid = getattr(totals, figure)
    assert paid is not None
    held = free.model_copy(update={name: paid * random.choice((0.9, 0.98, 0.999, 1.01))})
    return replace(case, problem=case.problem.model_copy(update={"budget": held}))


# Many of them at once.


def together(seed: int) -> Case:
    """Return a random problem with all levers; one of three waits for repairs, one of four is for
    the least money per useful work."""
    case = with_levels(seed, with_levers(seed))
    case = repaired_case(seed, case) if seed % 3 == 0 else shrinking(case, seed)
    return ratio_case(seed, NAMES[seed // 4 % 2], case) if seed % 4 == 0 else case


def reading_together(seed: int) -> Case:
    case = with_levels(seed, with_levers(seed, reading(seed)))
    case = repaired_case(seed, case) if seed % 2 else shrinking(case, seed)
    return ratio_case(seed, NAMES[seed // 4 % 2], case) if seed % 4 == 0 else case
