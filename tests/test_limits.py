"""The table of limits is complete: each is a row, a lever, a check, a cell, or says why not."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any

import pytest

from planner.case.figures import SUMS
from planner.case.items import BillItem
from planner.case.model import Rates
from planner.figures import FIGURES, STATED
from planner.inputs import Inputs, value_at
from planner.levers import levers
from planner.limits import (
    BY_NAME,
    LIMITS,
)
from planner.schema.plan import Plan
from planner.workbook import write
from tests.optimizer.limited import everything_limited
from tests.world.random_cases import inputs_of
from tests.world.requests import Request
from tests.world.solved import solve

LOCAL = {
    name: "of the local level of checkpoints" for name in ("local_fits", "local_lag", "local_room")
}
BULK = {name: "of the bulk tier" for name in ("bulk_capacity", "bulk_read", "staging")}
BULK["burst_recovery"] = "of storage with write buffers"
NOT_NOW = {
    "blocking": "of the other way to save checkpoints",
    **LOCAL,
    **BULK,
    "rule_read": "of a vendor's rule",
    "rule_write": "of a vendor's rule",
    "gpu_types": "where the user asks for a number of types",
}
WITHOUT_LEVER = {
    "drain_fits": "follows from interval, stall and bandwidth",
    "endurance": "follows from products",
    "replica_fits": "follows from the parallelism, which has levers of its own",
    **NOT_NOW,
}
TRY = "give {} a value in everything_limited() of tests/optimizer.limited.py"


def test_each_limit_has_its_place_in_the_file() -> None:
    for limit in LIMITS:
        if limit.path and "*" not in limit.path:
            value_at(everything(), limit.path)  # a KeyError where the problem has no such place


@cache
def everything() -> Inputs:
    request = everything_limited()
    request.job["gpus"] |= {"max_types": 1}
    request.checkpoint["interval"] = {"policy": "optimal", "min": "60 s", "max": "4 h"}
    return inputs_of(request.case())


@cache
def solved() -> Plan:
    return solve(everything(), explain=False)


SINGLE = [limit for limit in LIMITS if "*" not in limit.name]


def test_each_limit_is_reported() -> None:
    reports = {each.name: each for each in solved().limits}
    unreported = {"blocking", "rule_read", "rule_write", *LOCAL, *BULK}
    for limit in SINGLE:
        if limit.reported and limit.name not in unreported:
            report = reports[limit.name]
            assert (report.unit, report.sense) == (limit.unit, limit.sense), limit.name
            assert report.label.startswith(limit.label)


def test_each_limit_is_a_lever() -> None:
    known = {lever.limit: lever for lever in levers(everything())}
    for limit in SINGLE:
        lever = known.get(limit.name)
        if lever is None:
            assert limit.name in WITHOUT_LEVER, f"{limit.name}: {TRY.format(limit.path)}"
        elif lever.path == limit.path and limit.group != "storage":
            assert (lever.looser, lever.label) == (limit.looser, limit.demand)
            assert lever.text(lever.value or 0.0)


def test_each_editable_limit_is_a_cell_and_no_other() -> None:
    book = write(solved(), io.BytesIO(), created=datetime(2026, 3, 1))
    keys = {each.of.key for each in book.inputs if each.of.kind == "limit"}
    reported = {limit.name for limit in solved().limits}
    assert {name for name in reported if name in BY_NAME and BY_NAME[name].editable} == {
        key for key in keys if key in BY_NAME
    }
    assert "weight" in keys


HUNGRY = BillItem(
    id="good", vendor="V", installed=0, unit_net_usd=1.0, support_usd_per_year=1.0,
    subscription_usd_per_year=1.0, support_factor=1.0, it_power_kw=4.0, meter_kw=6.0,
    energy_kw=5.0, liquid_kw=1.0, stated=dict.fromkeys(STATED, 1.0), spare_share=0.0, pack=1,
    min_order=0, stock=None,
)  # fmt: skip


@pytest.mark.parametrize("figure", SUMS)
def test_a_sum_over_the_bill_needs_what_it_is_made_of(figure: str) -> None:
    """What the table of figures says it needs is what its value hangs on."""
    left = {name: 0.0 if row.follows_draw else 1.0 for name, row in STATED.items()}
    fed = replace(HUNGRY, it_power_kw=0.0, meter_kw=0.0, energy_kw=0.0, liquid_kw=0.0, stated=left)
    paid, free = Rates(1.0, 1.0, 1.0, 1.0), Rates(0.0, 0.0, 0.0, 0.0)

    def value(item: BillItem, rates: Rates) -> float:
        return sum(part.adds(item, rates) for part in SUMS[figure])

    hangs = {"draw": value(HUNGRY, paid) != value(fed, paid),
             "term": value(HUNGRY, paid) != value(HUNGRY, free)}  # fmt: skip
    assert {what for what, there in hangs.items() if there} == set(FIGURES[figure].needs)


# Which limits bind: what more GPUs would break, whatever kind of limit it is.


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


def test_what_storage_must_reach_for_more_gpus_binds() -> None:
    request = hall()
    request.job["ingest_per_gpu"] = "0.01 GB/s"
    assert binding(request) == {"ingest"}
    request = hall()
    request.job["parallelism"] = {"tensor": 8, "pipeline": 1}
    request.job["restore"] |= {"max_time": "4 s", "fan_out": "every_replica"}
    assert binding(request) == {"restore_time"}
