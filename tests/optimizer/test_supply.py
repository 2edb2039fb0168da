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
from planner.currency import USD, discounted_years
from planner.errors import InputError
from planner.figures import HEAT_TO_LIQUID, STATED
from planner.infeasible import explain
from planner.loader import load
from planner.optimizer import optimise
from planner.optimizer.bill import Numbers
from planner.optimizer.useful_work import BestUse
from planner.optimizer.work import Uses
from planner.schema.catalog import Item
from planner.schema.prices import Discount, Price
from planner.shipped import problem_files
from tests.optimizer.cases import furnish
from tests.world.random_cases import inputs_of
from tests.world.requests import Request, gpu_system, price
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
    capped = system.at_set_point(half)
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
def test_spares_packs_and_minimum_orders_are_bought(
    count: int, sold: dict[str, Any], bought: int
) -> None:
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
def test_support_is_paid_for_its_years(
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


def test_the_latest_discount_of_a_vendor_counts() -> None:
    twice = [{"vendor": "Alpha", "discount": share} for share in (0.2, 0.05)]
    assert discount(ITEM, [Discount.model_validate(each) for each in twice]) == 0.05


def test_net_price_and_support_are_in_cents() -> None:
    book = Price.model_validate(price("99999.99", support_per_year="7.5 %"))
    discounts = [Discount.model_validate({"item": "gpu", "discount": 0.15})]
    assert unit_net_usd(ITEM, book, discounts, USD) == 84_999.99  # of 84,999.9915
    assert support_usd_per_year(ITEM, book, discounts, USD) == 6_375.00  # of 6,374.99925
    fixed = Price.model_validate(price("99999.99", support_per_year="123.456 USD"))
    assert support_usd_per_year(ITEM, fixed, discounts, USD) == 123.46


# What the buyer wants of vendors and of money per useful work.


def test_a_companion_of_a_forbidden_vendor_is_an_error() -> None:
    request = furnish(Request(minimize="cost"))
    request.more["policy"] = {"forbid_vendors": ["Net"]}
    with pytest.raises(InputError, match="'edge' comes with this plan, but is from Net"):
        resolve(inputs_of(request.case()))


# What the hall can take, and what storage still does with appliances down.


@pytest.mark.parametrize(
    ("count", "redundancy", "limit_kw"),
    [(4, "N", 200), (4, "N+1", 150), (4, "2N", 100), (2, "N+1", 50), (1, "N", 50)],
)
def test_feeds_leave_what_their_redundancy_leaves(
    count: int, redundancy: str, limit_kw: float
) -> None:
    request = Request(maximize="gpus")
    feeds = {"count": count, "power": "50 kW", "redundancy": redundancy}
    request.site = {"pue": 1.25, "feeds": feeds}
    plan = solve(inputs_of(request.case()), explain=False)
    limit = next(limit for limit in plan.limits if limit.name == "facility_power")
    assert limit.limit == limit_kw
    assert plan.jobs[0].gpus_used == 8 * int((limit_kw / 1.25 - 10) // 10)
    request.site["facility_power"] = "45 kW"  # the lesser of the two counts
    plan = solve(inputs_of(request.case()), explain=False)
    assert next(x for x in plan.limits if x.name == "facility_power").limit == 45


@pytest.mark.parametrize(("limit", "taken"), [("131.9 kW", False), ("132 kW", True)])
def test_a_rack_that_is_a_product_needs_its_power(limit: str, taken: bool) -> None:
    """Left out for a limit that it keeps, it would be lost from the search unseen."""
    inputs = load(problem_files()["full_bill"], settings=(f"site.rack.whole_rack_power={limit}",))
    assert ("nvidia_gb200_nvl72" in {each.id for each in resolve(inputs).systems}) == taken


def test_a_goodput_out_of_reach_tries_few_numbers_of_gpus(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every number of GPUs of a large hall was tried: none was refused for its goodput alone."""
    tried, score_uses = list[int](), BestUse.score_uses

    def counted(self: BestUse, use: Uses) -> tuple[Numbers, Numbers, Numbers]:
        tried.append(len(use.team))
        return score_uses(self, use)

    monkeypatch.setattr(BestUse, "score_uses", counted)
    request = Request(maximize="goodput")
    request.site["it_power"] = "200 MW"
    request.checkpoint |= {"interval": {"policy": "optimal", "min": "1 min", "max": "4 h"}}
    request.more["targets"] = {"min_goodput": 0.999}
    assert optimise(resolve(inputs_of(request.case()))).status == "infeasible"
    assert sum(tried) < 5_000  # of 20,000 systems: 548; 99,956 without the floor in ranges
    request.site["it_power"] = "1 MW"
    found = explain(inputs_of(request.case()))
    least = {step.path: step.least for step in found.changes}  # the floor that one system reaches
    assert least["targets.min_goodput"] == pytest.approx(0.996383, abs=2e-6)
    assert not found.undecided
