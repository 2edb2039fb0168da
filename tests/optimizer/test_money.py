"""Money: cents, discounts, and that the money reported is the money optimised."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.case import resolve
from planner.case.figures import discount, support_usd_per_year, unit_net_usd
from planner.case.model import Case
from planner.case.ways import ways_in_plan
from planner.currency import USD
from planner.optimizer.bill import bill
from planner.schema.catalog import Item
from planner.schema.plan import Plan
from planner.schema.prices import Discount, Price
from tests.world.random_cases import inputs_of
from tests.world.requests import Request, gpu_system, price
from tests.world.solved import solve

ITEM = Item.model_validate(gpu_system("gpu", 8, "10 kW"))


@given(st.integers(0, 10**11))
def test_tenths_of_a_cent_round_like_decimals(tenths: int) -> None:
    exact = (Decimal(tenths) / 1000).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
    assert USD.rounded_usd(tenths / 1000) == float(exact)


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
        "targets": {"min_gpus": 24},
        "term": {"years": 3, "electricity": "0.1 USD/kWh"},
    }
    inputs = inputs_of(request.case())
    plan = solve(inputs, explain=False)
    check_money(resolve(inputs), plan)
    assert plan.totals is not None
    assert plan.totals.capex_usd == pytest.approx(100_000.01 + 2 * 10_000)
    assert plan.totals.support_usd_per_year == pytest.approx(10_000.0)
    energy = (3 * 10 + 2 * 5) * 1.25 * 8760 * 0.1
    assert plan.totals.energy_usd_per_year == pytest.approx(energy)
