"""Services of a purchase order: counted by hand, verified, enumerated; what customers see."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planner import api
from planner.currency import shown_in
from planner.errors import InputError, VerificationError
from planner.loader.checks import check_problem
from planner.outputs.audience import Audience, for_audience
from planner.outputs.bill import bill
from planner.outputs.console import render
from planner.schema.plan import Line, Plan
from planner.verifier import verify
from tests.oracle.test_bill import Bill, bill_of_two, companion, group, port, switch
from tests.workbook.conftest import made
from tests.workbook.office import to_read
from tests.world.random_cases import inputs_of
from tests.world.random_hardware import Raw, figure


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
    plan = api.solve_inputs(inputs_of(request.case()))
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
    with shown_in(plan.shown_in):
        row = next(row for row in bill(plan, "customer").lines if row.sku == "help")
        cents = 10.0**plan.shown_in.decimals
        assert row.unit_net is not None and row.unit_net == row.extended_net
        assert row.unit_net * cents == round(row.unit_net * cents)


@pytest.mark.parametrize("code", ["USD", "JPY"])
def test_the_bill_shows_a_percentage_with_all_its_digits(code: str) -> None:
    """8.875 % was shown as 8.88, and divided by the rate as 8.87499999999999."""
    request = served("hardware", "8.875")
    request.more["exchange"] = {"JPY": {"usd": 0.0067, "on": "2026-11-20", "source": "BOJ"}}
    request.more["currency"] = code
    source = made(solved(request))
    price = next(
        each for each in source.book.inputs
        if each.of.kind == "unit_list" and each.value in (8.875, float(f"{8.875 / 0.0067:.15g}"))
    )  # fmt: skip
    cell = to_read(source.content)[price.sheet][price.cell]
    assert cell.number_format.startswith("#,##0.00##")


@pytest.mark.parametrize("audience", ["internal", "customer"])
def test_a_bill_with_a_tax_is_not_said_to_be_without(audience: Audience) -> None:
    taxed, plain = solved(served("hardware", "10")), solved(bill_of_two())
    said = [" ".join(map(str, made(each, audience).book.cells.values())) for each in (taxed, plain)]
    assert "with no taxes but those listed" in said[0] and "without taxes" not in said[0]
    assert "without taxes" in said[1]


def test_of_some_hardware_only() -> None:
    plan = solved(fabric(served("hardware", "10", of=["storage", "switch"])))
    assert line_of(plan).quantity == 210  # 2 x 10,000 + 1,000


def test_what_is_owned_is_not_freighted_and_spares_are_left_out() -> None:
    request = served("hardware", "1")
    request.more["items"] = {"gpu": {"installed": 1}}
    request.more["spares"] = {"storage": "50 %"}
    plan = solved(request)
    assert line_of(plan, "box").purchased == 3
    assert line_of(plan).quantity == 1_200  # one system of 100,000, two stores in place
    assert request.plan().capex_usd == pytest.approx(100_000 + 30_000 + 1_200)


def test_software_and_services_are_no_hardware() -> None:
    request = served("hardware", "1")
    request.add(companion("suite", "software", licence={"per": "gpu"}), "500")
    request.add(companion("course", "service", service={"per": "order"}), "9000")
    request.more["software"] = ["suite"]
    request.more["services"] = ["course", "help"]
    plan = solved(request)
    assert line_of(plan).quantity == 2_200
    assert plan.totals is not None
    assert plan.totals.capex_usd == pytest.approx(220_000 + 8_000 + 9_000 + 2_200)


def test_a_service_by_the_year_is_an_operating_cost() -> None:
    request = served("gpu", "0")
    request.prices["help"]["per_year"] = "12 USD"
    request.more["term"] = {"years": 2, "electricity": "0 USD/kWh"}
    totals = solved(request).totals
    assert totals is not None
    assert totals.subscriptions_usd_per_year == pytest.approx(16 * 12)
    assert totals.tco_usd == pytest.approx(220_000 + 2 * 16 * 12)


def test_a_service_counts_in_what_is_best() -> None:
    """8 systems of 1 GPU at 12,000 beat one of 8 at 100,000, but not with 1,000 for each."""
    request = served("gpu_system", "1000")
    request.items[0]["provides"]["gpus"] = figure(8)
    small = {**request.items[0], "id": "small", "provides": {"gpus": figure(4)}}
    request.items.append(small)
    request.prices["small"] = {**request.prices["gpu"], "list": "49500 USD"}
    assert line_of(solved(request), "gpu").quantity == 2
    request.more["services"] = []
    assert line_of(solved(request), "small").quantity == 4


def test_a_percentage_stays_within_a_budget() -> None:
    request = served("hardware", "2")
    request.more["objective"] = {"maximize": "gpus"}
    request.more.pop("targets")
    request.more["budget"] = {"capex": "224400 USD"}
    assert line_of(solved(request), "gpu").quantity == 2
    request.more["budget"] = {"capex": "224399 USD"}
    assert line_of(solved(request), "gpu").quantity == 1


def test_the_verifier_counts_services_itself() -> None:
    request = served("hardware", "2")
    plan, inputs = solved(request), inputs_of(request.case())
    for change in ({"quantity": 2_199, "purchased": 2_199}, {"extended_net_usd": 4_399.0}):
        lines = tuple(
            line.model_copy(update=change) if line.sku == "help" else line for line in plan.lines
        )
        with pytest.raises(VerificationError):
            verify(inputs, plan.model_copy(update={"lines": lines}))


def test_customers_do_not_see_what_the_hardware_costs() -> None:
    plan = solved(served("hardware", "2"))
    shown = for_audience(plan, "customer", "none")
    line = line_of(shown)
    assert (line.quantity, line.unit, line.role) == (1, "order", "once for the order")
    row = next(row for row in bill(plan, "customer", "none").lines if row.sku == "help")
    assert (row.quantity, row.purchased, row.extended_net) == (1, 1, None)


def test_the_screen_names_services_without_counting_dollars() -> None:
    screen = render(solved(served("hardware", "2")))
    assert " help " in screen
    assert "2,200" not in screen


def test_a_service_without_a_price_is_an_error_that_says_what_to_do() -> None:
    request = served("order", "1")
    del request.prices["help"]
    with pytest.raises(InputError, match=r"no price in the price books.*a book of your own"):
        api.solve_inputs(inputs_of(request.case()))


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["helq"], "no service 'helq' in the catalogs in use"),
        (["gpu"], "'gpu' is of category gpu_system, expected service"),
    ],
)
def test_a_name_that_is_no_service_is_told(names: list[str], said: str) -> None:
    request = served("order", "1")
    request.more["services"] = names
    findings = check_problem(inputs_of(request.case()))
    assert said in " ".join(finding.message for finding in findings)


@pytest.mark.parametrize(
    ("service", "said"),
    [
        ({"per": "rack", "of": ["switch"]}, "of goes with per: hardware"),
        ({"per": "hardware", "of": ["software"]}, "software and services are no hardware"),
    ],
)
def test_counts_that_make_no_sense_are_refused(service: Raw, said: str) -> None:
    request = bill_of_two()
    request.add(companion("help", "service", service=service), "1")
    with pytest.raises(ValueError, match=said):
        request.case()
