"""Solved plans of small problems that list every kind of limit and figure between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from planner.inputs import Inputs
from planner.schema.plan import Plan
from tests.world.catalog import ITEMS, inputs_of
from tests.world.solved import solve
from tests.world.tampering import put

STORAGE = {"delivered_fraction": {"read": 0.8, "write": 0.8}}
RACK = {"height": "48 RU", "power": "45 kW"}


class Known(NamedTuple):
    """Inputs and the plan solved from them."""

    inputs: Inputs
    plan: Plan


def _solved(inputs: Inputs) -> Known:
    plan = solve(inputs)
    assert plan.status == "optimal"
    return Known(inputs, plan)


def _problem(name: str, job: dict[str, Any], **more: Any) -> Known:
    job = {"name": name, "lost_time": "none", **job}
    asked = {"name": name, "storage": STORAGE, **more, "jobs": (job,)}
    return _solved(inputs_of(asked, ITEMS))


@cache
def everything() -> Known:
    """Return a small cluster with every kind of companion."""
    return _solved(inputs_of())


@cache
def limited() -> Known:
    """Return a plan with most kinds of limits: asynchronous, owned units, training."""
    job = {
        "parameters": "70 B",
        "bytes_per_parameter": 14.0,
        "parallelism": {"tensor": 8, "pipeline": 4},
        "checkpoint": {"keep_last": 5},
        "restore": {"max_time": "60 s"},
        "training": {"tokens": "2 T", "mfu": 0.4},
        "gpus": {"min": 100, "max": 512, "whole": "systems"},
        "dataset": "100 TB",
        "ingest_per_gpu": "0.1 GB/s",
    }
    targets = {"min_goodput": 0.5, "min_useful_gpus": 100, "min_useful_pflops": 1}
    return _problem(
        "limited",
        job,
        site={"facility_power": "1 MW", "it_power": "800 kW", "pue": 1.25, "racks": 60}
        | {"rack": RACK},
        budget={"capex": "20 MUSD", "opex_per_year": "3 MUSD", "tco": "40 MUSD"},
        term={"years": 4, "electricity": "0.08 USD/kWh"},
        items={"box": {"installed": 1, "min": 2, "max": 9}, "gpu_a": {"min": 1}},
        targets={**targets, "max_days_to_train": "2000 day"},
        objective={"maximize": "goodput"},
    )


@cache
def sync_bundle() -> Known:
    """Return a plan with synchronous checkpoints of one replica and a bundle over two racks."""
    job = {
        "parameters": "7 B",
        "parallelism": {"tensor": 8, "pipeline": 2},
        "checkpoint": {
            "mode": "sync",
            "writers": "one_replica",
            "interval": {"policy": "fixed", "every": "10 min"},
        },
        "failures": {"per_gpu_day": 0.5},
        "gpus": {"min": 32},
    }
    return _problem(
        "sync_bundle",
        job,
        site={"it_power": "300 kW", "pue": 1.3, "racks": 10, "rack": RACK},
        term={"years": 3, "electricity": "0.1 USD/kWh"},
        items={"bundle": {"fixed": 1}},
        objective={"minimize": "tco"},
    )


@cache
def vendor_rule() -> Known:
    """Return a plan by a rule per GPU: whole replicas, a fixed interval."""
    job = {
        "parameters": "40 B",
        "parallelism": {"tensor": 4, "pipeline": 3},
        "checkpoint": {"interval": {"policy": "fixed", "every": "103 s"}},
        "restore": {"fan_out": "every_replica", "max_time": "200 s"},
        "failures": {"per_gpu_day": 0.1},
        "gpus": {"whole": "replicas", "min": 84},
    }
    return _problem(
        "vendor_rule",
        job,
        site={"pue": 1.2, "rack": {"height": "40 RU"}},
        storage={**STORAGE, "rule": "light"},
        items={"box": {"exclude": True}, "bundle": {"exclude": True}},
        objective={"minimize": "cost"},
    )


@cache
def two_types() -> Known:
    """Return a plan of two GPU types and two storage families, slowed while it drains."""
    job = {
        "parameters": "40 B",
        "parallelism": {"tensor": 8, "pipeline": 2},
        "checkpoint": {"size": "400 GB", "mode": "open", "drain_slowdown": 0.05},
        "restore": {"fan_out": "sharded_optimizer"},
        "gpus": {"max_types": 2, "whole": "systems"},
    }
    least = {"gpu_a": {"min": 4}, "gpu_c": {"min": 4}, "box": {"min": 1}, "shelf": {"min": 4}}
    return _problem(
        "two_types",
        job,
        site={"facility_power": "500 kW", "pue": 1.2, "rack": {"height": "48 RU"}},
        storage={**STORAGE, "max_families": 2},
        items=least,
        objective={"maximize": "useful_gpus"},
    )


KNOWN = {f.__name__: f for f in (everything, limited, sync_bundle, vendor_rule, two_types)}


# Solved plans that screens, files and pages are tested on.


Solved = Callable[[], Known]
CASES: dict[str, Solved] = {
    "complete": everything,
    "async": limited,
    "sync": sync_bundle,
    "minimal": vendor_rule,
}


def plan(solved: Solved) -> Plan:
    """Return the plan of a case."""
    return solved().plan


def infeasible() -> Plan:
    """Return the answer to a problem without a plan."""
    inputs = limited().inputs
    asked = put(inputs.problem, ("site", "facility_power_kw"), 1.0)
    return solve(replace(inputs, problem=asked))
