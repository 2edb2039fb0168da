"""What the buyer wants of vendors and of money per useful work."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pytest

from planner.case import resolve
from planner.errors import InputError
from planner.schema.plan import Plan
from tests.optimizer.cases import furnish
from tests.world.random_cases import inputs_of
from tests.world.random_hardware import Raw
from tests.world.requests import Request, gpu_system, price, store
from tests.world.solved import solve


def rivals(**objective: str) -> Request:
    """Return a request with a second GPU system and a second store, both of Gamma, both dearer."""
    request = Request(**objective)
    request.items += [gpu_system("other", 8, "12 kW"), store("vault", "safe", draw="6 kW")]
    request.items[2]["vendor"] = request.items[3]["vendor"] = "Gamma"
    request.families.append({"id": "safe", "vendor": "Gamma", "name": "safe"})
    request.prices |= {"other": price("110000"), "vault": price("15000")}
    request.site["it_power"] = "60 kW"
    return request


def plan_of(request: Request) -> Plan:
    return solve(inputs_of(request.case()))


def bill(plan: Plan) -> dict[str, int]:
    return {line.sku: line.working for line in plan.lines if line.section in {"Compute", "Storage"}}


def cheapest(policy: Raw, **storage: Raw) -> Plan:
    request = rivals(minimize="cost")
    request.more |= {"targets": {"min_gpus": 16}, "policy": policy}
    request.storage |= storage
    return plan_of(request)


def test_a_required_vendor_sells_something() -> None:
    assert bill(cheapest({})) == {"gpu": 2, "box": 2}
    plan = cheapest({"require_vendors": ["Gamma"]})
    # A store more: two boxes and a vault would be two families, so both stores are vaults; or one
    # system of Gamma, which the job must use, and so both: 20,000 USD more than the 10,000 here.
    assert bill(plan) == {"gpu": 2, "vault": 2}
    (limit,) = (limit for limit in plan.limits if limit.name == "require_vendor.0")
    assert (limit.value, limit.sense, limit.limit, limit.unit) == (2, ">=", 1, "units")


def test_a_required_vendor_of_systems_may_be_idle() -> None:
    plan = cheapest({"require_vendors": ["Gamma", "Beta"]})
    assert bill(plan) == {"gpu": 0, "other": 2, "box": 2} or bill(plan) == {"other": 2, "box": 2}


def test_a_companion_of_a_forbidden_vendor_is_an_error() -> None:
    request = furnish(Request(minimize="cost"))
    request.more["policy"] = {"forbid_vendors": ["Net"]}
    with pytest.raises(InputError, match="'edge' comes with this plan, but is from Net"):
        resolve(inputs_of(request.case()))


# Preferred vendors.


# Money per useful work.

TERM = {"years": 3, "electricity": "0.1 USD/kWh"}
RATIOS = {"per_useful_gpu_hour": 1.0, "per_million_tokens": 1.0}


def ratio_request(budget: Raw | None = None, **items: Any) -> Request:
    request = Request(minimize="power")
    request.checkpoint["interval"] = {"policy": "optimal", "min": "60 s", "max": "4 h"}
    request.job |= {"parameters": "7 B", "training": {"mfu": 0.4}}
    request.site["it_power"] = "75 kW"
    request.more |= {"term": TERM, "items": items}
    if budget:
        request.more["budget"] = budget
    return request


def ratio(plan: Plan, name: str) -> float:
    assert plan.totals is not None
    value = getattr(plan.totals, f"usd_{name}")
    assert value is not None
    return float(value)


@cache
def every_purchase() -> tuple[Plan, ...]:
    """Return the plan of every purchase, each run as well as it can be."""
    found = []
    for gpu in range(1, 8):
        for box in range(1, 4):
            request = ratio_request(gpu={"fixed": gpu}, box={"fixed": box})
            request.more["objective"] = {"maximize": "useful_gpus"}
            plan = solve(inputs_of(request.case()), explain=False)
            if plan.status == "optimal":
                found.append(plan)
    assert len(found) > 10
    return tuple(found)


@pytest.mark.exhaustive(keep=0)
@pytest.mark.parametrize("name", RATIOS)
def test_a_budget_on_useful_work_is_met_to_the_cent_or_not(name: str) -> None:
    least = min(ratio(plan, name) for plan in every_purchase())
    scale = 1 if least > 1 else 1e-4  # a cent, or a hundredth of one where ratios are small
    above = math.ceil(least / (0.01 * scale)) * 0.01 * scale
    plan = plan_of(ratio_request({name: f"{above:.9g} USD"}))
    assert plan.status == "optimal"
    assert least * (1 - 1e-6) <= ratio(plan, name) <= above * (1 + 1e-6)
    (limit,) = (limit for limit in plan.limits if limit.name == name)
    assert limit.value == ratio(plan, name)
    below = above - 0.01 * scale
    refused = plan_of(ratio_request({name: f"{below:.9g} USD"}))
    assert refused.status == "infeasible"
    assert "the budget" in (refused.message or "") or "budget." in (refused.message or "")
