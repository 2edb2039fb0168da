"""Which limits bind: what more GPUs would break, whatever kind of limit it is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.world.random_cases import inputs_of
from tests.world.requests import Request
from tests.world.solved import solve


def hall(maximize: str = "useful_gpus", **more: Any) -> Request:
    """Return a hall with power for 499 systems, and four boxes of storage at most."""
    request = Request(maximize=maximize)
    request.site["it_power"] = "5 MW"
    request.checkpoint["size"] = "1 GB"  # one box less changes nothing of the goodput
    request.more |= {"items": {"box": {"fixed": 4}}} | more
    return request


def binding(request: Request) -> set[str]:
    plan = solve(inputs_of(request.case()))
    assert plan.status == "optimal"
    return {limit.name for limit in plan.limits if limit.binding} - {"items.box.fixed"}


@pytest.mark.parametrize("maximize", ["useful_gpus", "gpus"])
@pytest.mark.parametrize("gpus", [None, 300])
def test_a_target_that_more_gpus_would_miss_binds(maximize: str, gpus: int | None) -> None:
    request = hall(maximize, targets={"min_goodput": 0.9})
    request.more["items"]["gpu"] = {"max": gpus}
    assert binding(request) == {"min_goodput"}


def test_a_target_that_fixed_systems_would_miss_binds() -> None:
    request = hall(targets={"min_goodput": 0.9})
    request.more["items"]["gpu"] = {"fixed": 120}
    assert "min_goodput" in binding(request)


def test_what_storage_must_reach_for_more_gpus_binds() -> None:
    request = hall()
    request.job["ingest_per_gpu"] = "0.01 GB/s"
    assert binding(request) == {"ingest"}
    request = hall()
    request.job["parallelism"] = {"tensor": 8, "pipeline": 1}
    request.job["restore"] |= {"max_time": "4 s", "fan_out": "every_replica"}
    assert binding(request) == {"restore_time"}


def test_supplies_bind_as_before() -> None:
    assert binding(hall(budget={"capex": "3 MUSD"})) == {"capex"}
    assert "it_power" in binding(hall("gpus"))
