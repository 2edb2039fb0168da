"""Dependent items and services, counted by hand and by enumeration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from planner.case import resolve
from planner.case.figures import rack_power_kw
from planner.errors import VerificationError
from planner.loader import load
from planner.optimizer.bill import bill as bill_of
from planner.report.exports import bill
from planner.schema.plan import Line, Plan
from planner.verifier import faults, verify
from tests.optimizer.cases import furnish
from tests.test_exactness import faults as enumerated_faults
from tests.world.random_cases import inputs_of, random_case
from tests.world.random_hardware import figure
from tests.world.requests import (
    Bill,
    Request,
    bill_of_two,
    companion,
    gpu_system,
    group,
    port,
    price,
    switch,
)
from tests.world.solved import solve

PROBLEMS = Path(__file__).parent.parent / "problems"


def counts(request: Request, gpu: int = 3, box: int = 2, **more: int) -> Mapping[str, float]:
    """Return everything that comes with so many systems and boxes."""
    case = resolve(inputs_of(request.case()))
    units = {offer.id: 0 for offer in case.offers()} | {"gpu": gpu, "box": box} | more
    return bill_of(case, units, ()).counts


def furnished(**objective: str) -> Request:
    request = furnish(Request(**(objective or {"minimize": "cost"})))
    request.site["it_power"] = "900 kW"
    return request


def test_everything_that_comes_with_three_systems() -> None:
    found = counts(furnished())
    # Compute: one unit of 4 leaves and 2 spines holds 3 systems and the manager; 12 + 1 cables to
    # systems, 16 between switches, fitted by the pair: 4 x (2 + 2) at leaves, 2 x 4 at spines.
    # Storage: 3 x 2 + 2 x 2 / 2 ports of 200 Gb/s on a pair joined by 4 cables: 2 x 2 and 3 twins.
    # In-band: 3 + 3 x 2 half ports on a pair joined by 2 cables: 2 twins.
    expected = {
        "spider": 6,
        "edge": 2 + 2,
        "fibre": (13 + 16) + (6 + 4) + 2,
        "twin": 24 + (4 + 3) + 2,
        "optic": 12 + 6,
        "thin": 4 + (3 + 6) + 22 + (2 + 3 + 6),
        "tick": 3,
        "suite": 24,
        "server": 2,
        "pump": 3,
    }
    # Out of band: 3 + 2 devices, 6 + 2 switches and 9 PDUs of the 3 racks, on 8 of 12 ports each;
    # cables besides to the 2 in-band switches, its own 3, and 6 PDUs of the racks these stand in.
    assert {name: found[name] for name in expected} == expected
    assert found["out_of_band.switches"] == 3


def test_a_type_that_no_switch_fits_is_left_out() -> None:
    request = furnished()
    wrong = {
        "blind": None,
        "fast": port(4, 800),
        "ether": port(4, 400, protocol="ethernet"),
    }
    for name, given in wrong.items():
        request.items.append(gpu_system(name, 8, "10 kW"))
        request.prices[name] = price("1")
        if given is not None:
            request.items[-1]["ports"] = {"compute": given}
    case = resolve(inputs_of(request.case()))
    reasons = dict(case.not_considered)
    assert set(reasons) == set(wrong)
    assert reasons["blind"] == "not known: compute ports, for network.compute"
    assert reasons["fast"] == "no switch of network.compute has ports of 800 Gb/s"
    assert reasons["ether"] == "no switch of network.compute has ethernet ports of 400 Gb/s"


def test_xdr_modules_do_not_link_ndr_ports() -> None:
    """NVIDIA: transceivers with lanes of 200 Gb/s cannot go down to 100 Gb/s."""
    inputs = load(PROBLEMS / "10MW.yaml", settings=("network.compute.switches=[nvidia_q3400]",))
    left_out = dict(resolve(inputs).not_considered)
    for name, speed in (("nvidia_dgx_b200", 400), ("nvidia_gb200_nvl72", 400)):
        assert left_out[name] == f"no switch of network.compute has ports of {speed} Gb/s"
    assert "nvidia_gb300_nvl72" not in left_out
    first = "network.compute.switches=[nvidia_q3400, nvidia_qm9700]"
    fabrics = resolve(load(PROBLEMS / "10MW.yaml", settings=(first,))).companions.fabrics
    served = {name: fabric.switch for fabric in fabrics for name in fabric.serves if fabric.design}
    assert served["nvidia_dgx_b200"] == served["nvidia_gb200_nvl72"] == "nvidia_qm9700"
    assert served["nvidia_dgx_b300"] == "nvidia_q3400"


def test_a_switch_draws_with_its_whole_transceivers() -> None:
    """Seven ports take four twin transceivers of 0.02 kW."""
    request = furnished()
    spider = next(item for item in request.items if item["id"] == "spider")
    spider["switch"]["ports"][0]["count"] = 7
    inputs = inputs_of(request.case())
    assert rack_power_kw(inputs.item("spider"), inputs) == pytest.approx(1.0 + 4 * 0.02)


def test_a_fabric_has_an_end() -> None:
    request = furnished(minimize="cost")
    request.site["it_power"] = "90 MW"
    # Radix 8 in three tiers holds 128 ports, 4 to a system: 32 systems, one of them the manager.
    request.job["gpus"] = {"min": 31 * 8}
    inputs = inputs_of(request.case())
    full = solve(inputs)
    assert full.status == "optimal"
    at = next(n for n, each in enumerate(full.limits) if each.name == "fabric.compute")
    row = full.limits[at]
    assert (row.value, row.limit, row.unit, row.binding) == (31 * 4, 31 * 4, "ports", True)
    wider = row.model_copy(update={"limit": 32.0 * 4, "slack": 4.0, "binding": False})
    limits = (*full.limits[:at], wider, *full.limits[at + 1 :])
    wrong = faults(inputs, full.model_copy(update={"limits": limits}))
    assert any(text.startswith("limits.fabric.compute") for text in wrong)
    request.job["gpus"] = {"min": 31 * 8 + 1}
    plan = solve(inputs_of(request.case()), explain=False)
    assert plan.status == "infeasible"
    with pytest.raises(ValueError, match="larger than three tiers"):
        counts(request, gpu=32)


# Which compute fabric is built is decided with the plan: switches are a set, other lists too.


SEVERAL = (5484, 7069, 8793)
"""Random problems with several switches; the job of some runs on two types at once."""


@pytest.mark.parametrize("seed", [*SEVERAL, 10595])
def test_enumeration_chooses_the_fabric_too(seed: int) -> None:
    """Of types that stand idle some have other ports, and a fabric of the job's switches."""
    assert not enumerated_faults(random_case(seed))


def test_a_plan_with_a_switch_that_is_not_allowed_is_refused() -> None:
    case = random_case(SEVERAL[0])
    inputs = inputs_of(case)
    plan = solve(inputs, explain=False)
    compute = next(f for f in plan.fabrics if f.network == "compute")
    assert case.problem.network.compute is not None
    others = tuple(n for n in case.problem.network.compute.switches if n != compute.switch_sku)
    network = case.problem.network
    left = network.compute.model_copy(update={"switches": others})  # type: ignore[union-attr]
    problem = case.problem.model_copy(
        update={"network": network.model_copy(update={"compute": left})}
    )
    with pytest.raises(VerificationError, match=r"fabrics\.compute\.fabric_\d\.switch_sku"):
        verify(inputs_of(replace(case, problem=problem)), plan)
    assert not [text for text in faults(inputs, plan) if text.startswith("fabrics")]


# Services of a purchase order: counted by hand, verified, enumerated; what customers see.


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
