"""What is bought for what stands in place, what it costs over time, and when it comes."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from planner.case import resolve
from planner.case.figures import (
    discount,
    support_factor,
    support_span,
    support_usd_per_year,
    unit_net_usd,
)
from planner.case.items import BillItem, System
from planner.case.job import Way
from planner.case.model import Case
from planner.case.ways import ways_in_plan
from planner.currency import USD, discounted_years
from planner.errors import InputError
from planner.figures import HEAT_TO_LIQUID, STATED
from planner.optimizer.bill import bill
from planner.schema.catalog import Item
from planner.schema.plan import Plan
from planner.schema.prices import Discount, Price
from tests.optimizer.cases import furnish
from tests.world.random_cases import inputs_of
from tests.world.random_hardware import Raw
from tests.world.requests import Request, gpu_system, price, store
from tests.world.solved import solve

TERM = {"years": 4, "electricity": "0.1 USD/kWh"}
NOTHING: dict[str, Any] = dict.fromkeys((field.name for field in fields(BillItem)), 0.0)
PLAIN = BillItem(
    **NOTHING | {"id": "good", "vendor": "V", "installed": 0, "unit_net_usd": 1.0, "pack": 1,
                 "min_order": 0, "stock": None}
)  # fmt: skip


OF_THE_DRAW = {"it_power_kw", "meter_kw", "energy_kw", "liquid_kw", "stated"}
OF_THE_ITEM = {
    "id", "vendor", "installed", "unit_net_usd", "support_usd_per_year", "support_factor",
    "subscription_usd_per_year", "spare_share", "pack", "min_order", "stock",
}  # fmt: skip


def test_a_power_cap_scales_what_follows_the_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new field is in one of the two sets: no other test finds it forgotten."""
    monkeypatch.setitem(STATED, "heat_liquid_kw", HEAT_TO_LIQUID)
    assert {field.name for field in fields(BillItem)} == OF_THE_DRAW | OF_THE_ITEM
    given: dict[str, Any] = dict.fromkeys((field.name for field in fields(System)), 10.0)
    system = System(**given | {"stated": {"heat_liquid_kw": 10.0, "weight_kg": 10.0}})
    half = Way(**dict.fromkeys((field.name for field in fields(Way)), 1) | {"power_share": 0.5})
    capped = system.provisioned_for(half)
    changed = {name for name, value in vars(system).items() if getattr(capped, name) != value}
    assert changed == OF_THE_DRAW
    assert capped.stated == {"heat_liquid_kw": 5.0, "weight_kg": 10.0}
    assert {getattr(capped, name) for name in OF_THE_DRAW - {"stated"}} == {5.0}


@pytest.mark.parametrize(
    ("count", "sold", "bought"),
    [
        (7, {}, 7),
        (7, {"installed": 3}, 4),
        (7, {"installed": 9}, 0),
        (20, {"spare_share": 0.05}, 21),
        (21, {"spare_share": 0.05}, 23),  # 1.05 spares are two
        (60, {"spare_share": 0.05}, 63),  # 0.05 * 60 is 3.0000000000000004 of a spare
        (20, {"spare_share": 0.1, "installed": 5}, 17),
        (7, {"pack": 4}, 8),
        (8, {"pack": 4}, 8),
        (9, {"pack": 4, "installed": 1}, 8),
        (3, {"min_order": 10}, 10),
        (0, {"min_order": 10}, 0),
        (3, {"min_order": 10, "installed": 3}, 0),
        (3, {"min_order": 10, "pack": 4}, 12),  # ten in packs of four
        (13, {"min_order": 10, "pack": 4}, 16),
        (100, {"spare_share": 0.02, "installed": 40, "pack": 25, "min_order": 80}, 100),
        (0, {"spare_share": 0.5, "pack": 4}, 0),
    ],
)
def test_what_is_bought(count: int, sold: dict[str, Any], bought: int) -> None:
    assert replace(PLAIN, **sold).purchased(count) == bought


def test_the_next_pack_is_not_bought_where_stock_ends() -> None:
    request = Request(maximize="gpus")
    request.more["items"] = {"gpu": {"stock": 3}}
    request.prices["gpu"]["pack"] = 2
    plan = solve(inputs_of(request.case()), explain=False)
    assert {line.sku: line.purchased for line in plan.lines}["gpu"] == 2
    assert {limit.name: limit.value for limit in plan.limits}["stock.gpu"] == 2


# Money over time.


@pytest.mark.parametrize(
    ("term_years", "included", "span"),
    [
        (None, None, (0.0, 4.0)),
        (3, None, (0.0, 3.0)),
        (0, None, (0.0, 0.0)),
        (9, None, (0.0, 4.0)),  # never beyond the term
        (3, 1.5, (1.5, 3.0)),
        (3, 5.0, (5.0, 3.0)),  # all of it is in the price
    ],
)
def test_support_years(
    term_years: float | None, included: float | None, span: tuple[float, float]
) -> None:
    request = Request(minimize="tco")
    request.more["term"] = TERM | {"discount_rate": 0.1}
    request.job["gpus"] = {"min": 8}
    request.prices["gpu"]["support_per_year"] = "10 %"
    if term_years is not None:
        request.more["term"]["support_years"] = term_years
    if included is not None:
        request.prices["gpu"]["support_included_years"] = included
    inputs = inputs_of(request.case())
    gpu = next(item for item in inputs.items if item.id == "gpu")
    assert support_span(gpu, inputs) == span
    paid = sum(max(0.0, min(t, span[1]) - max(t - 1, span[0])) / 1.1**t for t in range(1, 5))
    assert support_factor(gpu, inputs) == pytest.approx(paid)
    plan = solve(inputs, explain=False)
    line = next(line for line in plan.lines if line.sku == "gpu")
    assert line.support_years == pytest.approx(max(0.0, span[1] - span[0]))
    assert plan.totals is not None
    energy = 20 * 1.25 * 8760 * 0.1
    running = energy * discounted_years(0, 4, 0.1)
    assert plan.totals.tco_usd == pytest.approx(120_000 + 10_000 * paid + running)


# Money: cents, discounts, and that the money reported is the money optimised.


ITEM = Item.model_validate(gpu_system("gpu", 8, "10 kW"))


@pytest.mark.parametrize(
    ("given_discounts", "expected"),
    [
        ((), 0.0),
        (({"category": "gpu_system", "discount": 0.1},), 0.1),
        (({"vendor": "Alpha", "discount": 0.2}, {"category": "gpu_system", "discount": 0.5}), 0.2),
        (({"item": "gpu", "discount": 0.0}, {"vendor": "Alpha", "discount": 0.2}), 0.0),
        (({"vendor": "Alpha", "discount": 0.2}, {"vendor": "Alpha", "discount": 0.05}), 0.05),
        (({"vendor": "Beta", "discount": 0.2}, {"item": "box", "discount": 0.3}), 0.0),
        (({"category": "storage", "discount": 0.4},), 0.0),
    ],
)
def test_the_most_specific_and_latest_discount_counts(
    given_discounts: tuple[dict[str, object], ...], expected: float
) -> None:
    assert discount(ITEM, [Discount.model_validate(d) for d in given_discounts]) == expected


def test_net_price_and_support_are_in_cents() -> None:
    book = Price.model_validate(price("99999.99", support_per_year="7.5 %"))
    discounts = [Discount.model_validate({"item": "gpu", "discount": 0.15})]
    assert unit_net_usd(ITEM, book, discounts, USD) == 84_999.99  # of 84,999.9915
    assert support_usd_per_year(ITEM, book, discounts, USD) == 6_375.00  # of 6,374.99925
    fixed = Price.model_validate(price("99999.99", support_per_year="123.456 USD"))
    assert support_usd_per_year(ITEM, fixed, discounts, USD) == 123.46


def check_money(case: Case, plan: Plan) -> None:
    """Compare a plan's money with the bill of its purchase."""
    totals = plan.totals
    assert totals is not None
    lines = {line.sku: line.working for line in plan.lines if line.parent is None}
    units = {offer.id: lines.get(offer.id, 0) for offer in case.offers()}
    spent = bill(case, units, ways_in_plan(case, plan))
    assert spent["capex_usd"] == pytest.approx(totals.capex_usd, rel=1e-9)
    if totals.it_power_kw is not None:
        assert spent["it_power_kw"] == pytest.approx(totals.it_power_kw, rel=1e-9)
    if totals.tco_usd is not None:
        assert spent["tco_usd"] == pytest.approx(totals.tco_usd, rel=1e-9)
    reported = {"cost": totals.capex_usd, "tco": totals.tco_usd, "power": totals.it_power_kw}
    if plan.objective.name in reported:
        assert plan.objective.value == pytest.approx(reported[plan.objective.name], rel=1e-9)


def test_installed_units_cost_energy_only() -> None:
    request = Request(minimize="tco")
    request.prices["gpu"] = price("100000.01", support_per_year="10 %")
    request.more |= {
        "items": {"gpu": {"installed": 2}},
        "term": {"years": 3, "electricity": "0.1 USD/kWh"},
    }
    request.job["gpus"] = {"min": 24}
    inputs = inputs_of(request.case())
    plan = solve(inputs, explain=False)
    check_money(resolve(inputs), plan)
    assert plan.totals is not None
    assert plan.totals.capex_usd == pytest.approx(100_000.01 + 2 * 10_000)
    assert plan.totals.support_usd_per_year == pytest.approx(10_000.0)
    energy = (3 * 10 + 2 * 5) * 1.25 * 8760 * 0.1
    assert plan.totals.energy_usd_per_year == pytest.approx(energy)


# What the buyer wants of vendors and of money per useful work.


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


def bill_policies(plan: Plan) -> dict[str, int]:
    return {line.sku: line.working for line in plan.lines if line.section in {"Compute", "Storage"}}


def cheapest(policy: Raw, **storage: Raw) -> Plan:
    request = rivals(minimize="cost")
    request.more["policy"] = policy
    request.job["gpus"] = {"min": 16}
    request.storage |= storage
    return plan_of(request)


def test_a_required_vendor_sells_something() -> None:
    assert bill_policies(cheapest({})) == {"gpu": 2, "box": 2}
    plan = cheapest({"require_vendors": ["Gamma"]})
    # A store more: two boxes and a vault would be two families, so both stores are vaults; or one
    # system of Gamma, which the job must use, and so both: 20,000 USD more than the 10,000 here.
    assert bill_policies(plan) == {"gpu": 2, "vault": 2}
    (limit,) = (limit for limit in plan.limits if limit.name == "require_vendor.0")
    assert (limit.value, limit.sense, limit.limit, limit.unit) == (2, ">=", 1, "units")


def test_a_companion_of_a_forbidden_vendor_is_an_error() -> None:
    request = furnish(Request(minimize="cost"))
    request.more["policy"] = {"forbid_vendors": ["Net"]}
    with pytest.raises(InputError, match="'edge' comes with this plan, but is from Net"):
        resolve(inputs_of(request.case()))
