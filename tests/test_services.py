"""Services of a purchase order: counted by hand, verified, enumerated; what customers see."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planner.report.exports import bill
from planner.schema.plan import Line, Plan
from tests.world.random_cases import inputs_of
from tests.world.random_hardware import figure
from tests.world.requests import Bill, bill_of_two, companion, group, port, switch
from tests.world.solved import solve


def served(per: str, amount: str, **more: object) -> Bill:
    """Return the cheapest two systems, 220,000 USD, with one service."""
    request = bill_of_two()
    request.add(companion("help", "service", service={"per": per, **more}), amount)
    request.more["services"] = ["help"]
    return request


def fabric(request: Bill) -> Bill:
    """Connect the two systems with 4 links each to one switch of 1,000 USD, cables of 10 USD."""
    request.add(switch("leaf", [group(8, 400)]), "1000")
    request.add(companion("cable", "cable"), "10")
    request.ports("compute", port(4, 400, rails=4), None)
    request.more["network"] = {"compute": {"switches": ["leaf"]}}
    return request


def liquid(request: Bill) -> Bill:
    request.items[0]["consumes"]["liquid_share"] = figure(0.775)
    return request


def racked(request: Bill) -> Bill:
    request.site["rack"] = {"height": "10 RU"}
    return request


def same(request: Bill) -> Bill:
    return request


def solved(request: Bill) -> Plan:
    plan = solve(inputs_of(request.case()))
    assert plan.totals is not None
    return plan


def line_of(plan: Plan, sku: str = "help") -> Line:
    return next(line for line in plan.lines if line.sku == sku)


@pytest.mark.parametrize(
    ("per", "amount", "arrange", "quantity", "hardware_usd"),
    [
        ("order", "700", same, 1, 220_000),
        ("gpu_system", "70", same, 2, 220_000),
        ("gpu", "7", same, 16, 220_000),
        ("storage_unit", "70", same, 2, 220_000),
        ("switch", "70", fabric, 1, 221_080),
        ("cable", "3", fabric, 8, 221_080),
        ("rack", "70", racked, 3, 220_000),  # a system of 10 RU each, two stores of 2 RU together
        ("liquid_kw", "40", liquid, 16, 220_000),  # 15.5 kW, rounded up
        ("hardware", "2", same, 2_200, 220_000),
        ("hardware", "0.5", fabric, 2_211, 221_080),  # 2,210.8 hundreds, rounded up
    ],
)
def test_a_service_is_counted_by_what_it_says(
    per: str, amount: str, arrange: Callable[[Bill], Bill], quantity: int, hardware_usd: float
) -> None:
    request = arrange(served(per, amount))
    plan = solved(request)
    line = line_of(plan)
    assert (line.section, line.quantity, line.purchased) == ("Services", quantity, quantity)
    assert plan.totals is not None
    expected = pytest.approx(hardware_usd + quantity * float(amount))
    assert plan.totals.capex_usd == expected
    assert request.plan().capex_usd == expected
    assert (line.it_power_kw, line.weight_kg, line.racks) == (0.0, 0.0, None)


@pytest.mark.parametrize("code", ["USD", "JPY"])
def test_a_percentage_is_not_rounded_to_cents_of_the_currency(code: str) -> None:
    """A sales tax of 8.875 % was 8.88 %, and one of 10 % in yen 9.997 %."""
    request = served("hardware", "8.875")
    request.more["exchange"] = {"JPY": {"usd": 0.0065, "on": "2026-11-20", "source": "BOJ"}}
    request.more["currency"] = code
    plan = solved(request)
    line = line_of(plan)
    assert line.extended_net_usd == pytest.approx(0.08875 * 220_000, abs=0.01)
    assert line.extended_list_usd == line.extended_net_usd
    row = next(row for row in bill(plan, "customer").lines if row.sku == "help")
    cents = 10.0**plan.shown_in.decimals
    assert row.unit_net is not None and row.unit_net == row.extended_net
    assert row.unit_net * cents == round(row.unit_net * cents)


def test_what_is_owned_is_not_freighted_and_spares_are_left_out() -> None:
    request = served("hardware", "1")
    request.more["items"] = {"gpu": {"installed": 1}}
    request.more["spares"] = {"storage": "50 %"}
    plan = solved(request)
    assert line_of(plan, "box").purchased == 3
    assert line_of(plan).quantity == 1_200  # one system of 100,000, two stores in place
    assert request.plan().capex_usd == pytest.approx(100_000 + 30_000 + 1_200)


def test_a_percentage_stays_within_a_budget() -> None:
    request = served("hardware", "2")
    request.more["objective"] = {"maximize": "gpus"}
    request.job.pop("gpus")
    request.more["budget"] = {"capex": "224400 USD"}
    assert line_of(solved(request), "gpu").quantity == 2
    request.more["budget"] = {"capex": "224399 USD"}
    assert line_of(solved(request), "gpu").quantity == 1
