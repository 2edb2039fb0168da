"""The bulk tier: data sets beside flash, bought in the same optimum, against enumeration."""

from __future__ import annotations

import itertools
from functools import cache, cached_property
from random import Random
from typing import Any

import numpy as np
import pytest

from planner import api
from planner.case import resolve
from planner.inputs import Inputs
from planner.schema.catalog import Item
from planner.schema.job import Job
from planner.schema.plan import Plan
from planner.verifier import recheck
from tests.oracle.operation import goodput
from tests.test_edges import STORE, hall_of, priced, system
from tests.world.catalog import figure

SIZE_GB, INTERVAL_S, FILL = 1000.0, 1800.0, 0.85
KW = {"gpu": 10.0, "store": 2.0, "disk": 1.5, "dense": 1.0}


def bulk(name: str, read: float, usable_tb: float) -> Item:
    fields: dict[str, Any] = {"id": name, "vendor": "B", "model": name, "category": "storage"}
    fields |= {"family": "files", "tier": "bulk"}
    fields["provides"] = {"read": figure(f"{read} GB/s"), "usable": figure(f"{usable_tb} TB")}
    fields["consumes"] = {"it_power": figure(f"{KW[name]} kW"), "rack_units": figure("4 RU")}
    return Item.model_validate(fields)


DISK, DENSE = bulk("disk", 4, 900), bulk("dense", 30, 1300)
ITEMS = [system("gpu", 8), STORE, DISK, DENSE]


class Draw:
    """A random hall with a bulk tier."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.usd = {
            "gpu": 300_000.0,
            "store": random.choice((200_000.0, 500_000.0)),
            "disk": random.uniform(40_000, 150_000),
            "dense": random.uniform(60_000, 500_000),
        }
        self.capex_usd = random.uniform(1.5e6, 4.5e6)
        self.it_kw = random.uniform(30, 110)
        self.dataset_tb = random.choice((0.0, 500.0, 1500.0, 3000.0)) + 100
        self.staged_tb = random.choice((0.0, 100.0))
        self.ingest = random.choice((0.0, 0.1, 0.4, 0.8))
        self.lost = random.choice((0.0, 0.05))

    def inputs(self) -> Inputs:
        job = {
            "name": "job",
            "lost_time": self.lost,
            "checkpoint": {
                "size": f"{SIZE_GB / 1000} TB",
                "interval": {"policy": "fixed", "every": f"{INTERVAL_S} s"},
                "milestones": 20,
            },
            "training": {"mfu": 0.4},
            "ingest_per_gpu": f"{self.ingest} GB/s",
            "dataset": {
                "size": f"{self.dataset_tb} TB", "tier": "bulk", "staged": f"{self.staged_tb} TB"
            },
        }  # fmt: skip
        return hall_of(
            ITEMS,
            priced(**self.usd),
            jobs=(job,),
            site={"pue": 1.0, "it_power": f"{self.it_kw} kW"},
            budget={"capex": f"{self.capex_usd} USD"},
            objective={"maximize": "useful_gpus", "indifference": 0},
        )

    @cached_property
    def plan(self) -> Plan:
        return api.solve_with(self.inputs(), api.Options(explain=False))

    def best(self) -> float:
        """Return the most useful GPUs of any purchase, by trying each."""
        best = 0.0
        for gpu, store, disk, dense in itertools.product(
            range(13), range(1, 5), range(6), range(5)
        ):
            units = {"gpu": gpu, "store": store, "disk": disk, "dense": dense}
            usd = sum(self.usd[name] * count for name, count in units.items())
            if usd > self.capex_usd or sum(KW[n] * c for n, c in units.items()) > self.it_kw:
                continue
            archived_tb = 20 * SIZE_GB / 1000
            if 900 * disk + 1300 * dense < (self.dataset_tb + archived_tb) / FILL:
                continue
            if 250 * store < (3 * SIZE_GB / 1000 + self.staged_tb) / FILL:
                continue
            for used in range(1, gpu + 1):
                best = max(best, self.useful(used, store, disk, dense))
        return best

    def useful(self, used: int, store: int, disk: int, dense: int) -> float:
        gpus, ports = 8 * used, 8.0 * used
        asked = gpus * self.ingest
        if asked > min(90 * store, ports, 4 * disk + 30 * dense, 0.9 * 65 * store):
            return 0.0
        write, read = min(65 * store, ports), min(90 * store, ports)
        drain_s = SIZE_GB / write
        if drain_s > 0.1 * INTERVAL_S:
            return 0.0
        mtti_s = 86_400 / (4.74e-4 * gpus)
        every_s, stall_s, drained_s, restart_s = (
            np.array([each]) for each in (INTERVAL_S, 5.0, drain_s, 600 + SIZE_GB / read)
        )
        kept = goodput(every_s, stall_s, drained_s, restart_s, mtti_s)[0]
        return float(gpus * kept * (1.0 - self.lost))


@cache
def drawn(seed: int) -> Draw:
    return Draw(seed)


@pytest.mark.parametrize("seed", range(24))
def test_the_optimum_with_a_bulk_tier_is_the_enumerated_one(seed: int) -> None:
    draw = drawn(seed)
    plan, best = draw.plan, draw.best()
    if not best:
        assert plan.status == "infeasible"
        return
    assert plan.status == "optimal"
    assert plan.jobs[0].useful_gpus == pytest.approx(best, rel=5e-6)


def test_draws_reach_ingest_both_items_and_no_plan() -> None:
    plans = [drawn(seed).plan for seed in range(24)]
    found = [plan for plan in plans if plan.jobs]
    bought = {line.sku for plan in found for line in plan.lines if line.bulk_tb}
    assert bought == {"disk", "dense"}
    assert any(plan.jobs[0].ingest_demand_gb_per_s for plan in found)
    tight = {limit.name for plan in found for limit in plan.limits if limit.binding}
    assert tight >= {"bulk_capacity", "bulk_read"}


def test_verifier_refuses_too_little_bulk() -> None:
    draw = drawn(3)
    plan = draw.plan
    lines = tuple(
        line.model_copy(update={"quantity": line.quantity - 1}) if line.bulk_tb else line
        for line in plan.lines
    )
    found = recheck(draw.inputs(), plan.model_copy(update={"lines": lines})).disagreements
    assert any("bulk" in text for text in found)


def test_bulk_items_are_left_out_without_such_a_data_set() -> None:
    prices = priced(gpu=1e5, store=1e5, disk=1e5, dense=1e5)
    case = resolve(hall_of(ITEMS, prices, objective={"maximize": "gpus"}))
    assert {item.id for item in case.storage} == {"store"}
    assert dict(case.not_considered)["disk"] == "bulk storage, and no data set is on the bulk tier"


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"size": "10 TB", "tier": "bulk", "staged": "20 TB"}, "more than size"),
        ({"size": "10 TB", "staged": "2 TB"}, "staged needs tier: bulk"),
    ],
)
def test_a_data_set_that_contradicts_itself_is_refused(given: dict[str, str], wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        Job.model_validate({"name": "x", "parameters": "1 B", "dataset": given})
