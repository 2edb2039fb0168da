"""Edges at which a proof would be worth nothing: very large sites, no limits, exact budgets."""

from __future__ import annotations

from typing import Any

import pytest

from planner.inputs import Inputs
from planner.schema.catalog import Family, Item
from planner.schema.prices import Price
from planner.schema.problem import Problem
from tests.world.catalog import figure
from tests.world.solved import solve


def system(name: str, gpus: int) -> Item:
    return Item.model_validate(
        {
            "id": name, "vendor": "V", "model": name, "category": "gpu_system",
            "provides": {"gpus": figure(gpus)},
            "consumes": {"it_power": figure("10 kW"), "rack_units": figure("8 RU")},
            "gpu": {"bf16_dense": figure("1000 TFLOP/s")},
        }
    )  # fmt: skip


STORE = Item.model_validate(
    {
        "id": "store", "vendor": "W", "model": "store", "category": "storage", "family": "files",
        "provides": {
            "read": figure("90 GB/s"), "write": figure("65 GB/s"), "usable": figure("250 TB")
        },
        "consumes": {"it_power": figure("2 kW"), "rack_units": figure("2 RU")},
    }
)  # fmt: skip
FILES = Family.model_validate({"id": "files", "vendor": "W", "name": "files"})


def priced(**usd: float) -> dict[str, Price]:
    rest: dict[str, Any] = {"date": "2026", "source": "made_up", "confidence": "high"}
    return {name: Price.model_validate({"list": f"{p} USD", **rest}) for name, p in usd.items()}


def hall_of(items: list[Item], prices: dict[str, Price], **over: object) -> Inputs:
    problem = {
        "name": "edge",
        "site": {"pue": 1.0},
        "storage": {"delivered_fraction": {"read": 1.0, "write": 1.0}},
        "jobs": (
            {
                "name": "job",
                "lost_time": "none",
                "checkpoint": {"size": "1 TB"},
                "training": {"mfu": 0.4},
            },
        ),
        **over,
    }
    return Inputs(
        problem=Problem.model_validate(problem),
        items=tuple(items),
        families=(FILES,),
        prices=prices,
    )


@pytest.mark.parametrize(("cents_over", "gpus"), [(0, 16), (6, 8), (9, 8), (50, 8)])
def test_a_budget_is_met_to_the_cent_or_not(cents_over: int, gpus: int) -> None:
    prices = priced(large=40e6 + cents_over / 100, small=40e6, store=10e6)
    items = [system("large", 16), system("small", 8), STORE]
    budget, objective = {"capex": "50 MUSD"}, {"maximize": "gpus"}
    plan = solve(hall_of(items, prices, budget=budget, objective=objective))
    assert plan.status == "optimal"
    assert plan.totals is not None
    assert plan.totals.gpus_used == gpus


def test_free_systems_under_a_budget_have_no_end() -> None:
    prices = priced(large=0.0, store=10e6)
    budget, objective = {"capex": "50 MUSD"}, {"maximize": "gpus"}
    inputs = hall_of([system("large", 16), STORE], prices, budget=budget, objective=objective)
    assert solve(inputs).status == "unbounded"
