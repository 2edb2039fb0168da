"""What the buyer wants of vendors and of money per useful work."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pytest

from planner.case import resolve
from planner.errors import InputError
from planner.optimizer.stores import largest_share
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


@pytest.mark.parametrize(
    ("category", "share", "expected"),
    [
        ("gpu_system", "50 %", {"gpu": 1, "other": 1, "box": 2}),
        ("gpu_system", "100 %", {"gpu": 2, "box": 2}),
        ("storage", "50 %", {"gpu": 2, "box": 1, "vault": 1}),
    ],
)
def test_no_vendor_has_more_than_its_share(
    category: str, share: str, expected: dict[str, int]
) -> None:
    request = rivals(minimize="cost")
    split = {"category": category, "max_share": share}
    request.more |= {"targets": {"min_gpus": 16}, "policy": {"split": [split]}}
    request.job["gpus"] = {"max_types": 2}
    request.storage["max_families"] = 2
    request.site["it_power"] = "100 kW"
    plan = plan_of(request)
    assert bill(plan) == expected
    (limit,) = (limit for limit in plan.limits if limit.name == "split.0")
    units = {"gpu": 0, "other": 0, "box": 0, "vault": 0} | expected
    case = resolve(inputs_of(request.case()))
    assert limit.value == pytest.approx(largest_share(case.policy.splits[0], units))
    assert limit.value <= limit.limit == float(share.split()[0]) / 100


# Preferred vendors.


@pytest.mark.parametrize(
    ("vendors", "within", "expected"),
    [
        (["Gamma"], "0 %", {"gpu": 2, "box": 2}),
        (["Gamma"], "4.5 %", {"gpu": 2, "box": 2}),  # two vaults cost 10,000 of 220,000 more
        (["Gamma"], "4.6 %", {"gpu": 2, "vault": 2}),
        (["Gamma"], "13.6 %", {"gpu": 2, "vault": 2}),
        (["Gamma"], "13.7 %", {"other": 2, "vault": 2}),  # and two systems 20,000
        (["Gamma", "Alpha"], "13.7 %", {"gpu": 2, "vault": 2}),
        (["Gamma", "Beta"], "13.7 %", {"other": 2, "box": 2}),
        (["Alpha", "Beta"], "13.7 %", {"gpu": 2, "box": 2}),
    ],
)
def test_preferred_vendors_within_a_share_of_the_cost(
    vendors: list[str], within: str, expected: dict[str, int]
) -> None:
    plan = cheapest({"prefer": {"vendors": vendors, "within": within}})
    assert plan.status == "optimal"
    assert bill(plan) == expected
    assert plan.objective.gap is not None
    assert plan.objective.gap <= float(within.split()[0]) / 100 + plan.objective.gap_asked


def test_among_the_preferred_the_best_is_taken() -> None:
    """What ``within`` gives away goes to the vendors, not to a worse plan of the same vendors."""
    request = rivals(maximize="useful_gpus")
    request.site["it_power"] = "90 kW"
    request.more["policy"] = {"prefer": {"vendors": ["Gamma"], "within": "40 %"}}
    preferred = plan_of(request)
    assert {line.vendor for line in preferred.lines} == {"Gamma"}
    del request.more["policy"]
    request.more["consider"] = {"vendors": ["Gamma"]}
    alone = plan_of(request)
    assert bill(preferred) == bill(alone)
    assert preferred.objective.value == pytest.approx(alone.objective.value, rel=1e-5)


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
