"""Spare parts of bundles, what clusters need for themselves, and what could not be considered."""

from __future__ import annotations

import pytest

from planner import shipped
from planner.loader import load
from planner.schema.plan import Plan
from tests.world.random_cases import inputs_of
from tests.world.random_hardware import Raw, figure
from tests.world.requests import Request, price, store
from tests.world.solved import solve

SOURCED = {"source": "made_up", "confidence": "low"}


def part(name: str, category: str, draw: str, **more: object) -> Raw:
    consumes = {"it_power": figure(draw), "rack_units": figure("1 RU")}
    item: Raw = {"id": name, "vendor": "Beta", "model": name, "category": category}
    return item | {"consumes": consumes} | more


def bundled(**spares: float) -> Request:
    """Return a request whose box is two nodes of 2 kW and a shelf of 1 kW, which has no price."""
    request = Request(minimize="cost")
    request.items += [part("node", "component", "2 kW"), part("shelf", "component", "1 kW")]
    parts = [{"id": "node", "quantity": 2}, {"id": "shelf", "quantity": 1}]
    request.items[1] |= {"consumes": {}, "components": parts}
    request.prices["node"] = price("700", support_per_year="10 %")
    request.more["spares"] = spares
    return request


def solved(request: Request) -> Plan:
    return solve(inputs_of(request.case()), explain=False)


def of_parts(plan: Plan) -> list[tuple[str, int, int, float | None]]:
    lines = [each for each in plan.lines if each.section == "Components" and each.parent is None]
    return [(each.sku, each.quantity, each.purchased, each.extended_net_usd) for each in lines]


def test_cold_spares_of_a_bundle_are_of_its_components() -> None:
    plan = solved(bundled(storage=0.3))
    # Two boxes: 0.3 x 4 nodes are two, 0.3 x 2 shelves are one, and no third box.
    assert of_parts(plan) == [("node", 0, 2, 1400.0), ("shelf", 0, 1, None)]
    box = next(each for each in plan.lines if each.sku == "box")
    assert (box.quantity, box.spares, box.purchased) == (2, 0, 2)
    assert plan.totals is not None
    assert plan.totals.capex_usd == pytest.approx(100_000 + 20_000 + 1400)
    assert plan.totals.support_usd_per_year == pytest.approx(140)
    assert plan.totals.it_power_kw == pytest.approx(20)
    assert "bought, but no price is known, so the cost leaves it out: 1 shelf" in plan.warnings


def test_spare_parts_come_in_packs_and_some_may_be_there() -> None:
    request = bundled(storage=0.6)
    request.prices["node"]["pack"] = 4
    # 0.6 x 4 nodes are three: a pack of four.
    assert of_parts(solved(request))[0] == ("node", 0, 4, 2800.0)
    assert of_parts(solved(bundled(gpu_system=0.6))) == []


def clustered(boxes: int, *, priced: bool = True) -> Request:
    """Return a request for so many boxes, three to a cluster, each with two joints of 1 kW."""
    request = Request(minimize="cost")
    joint = part("joint", "switch", "1 kW")
    panel = {"protocol": "ethernet", "ports": [{"count": 8, "speed": "100 Gb/s"}], **SOURCED}
    request.items.append(joint | {"switch": panel})
    if priced:
        request.prices["joint"] = price("500")
    parts = [{"item": "joint", "quantity": 2, **SOURCED}]
    cluster = {"max_units": figure(3), "alone": figure(1), "parts": parts}
    request.families[0]["cluster"] = cluster
    request.checkpoint["max_overlap"] = 0.2
    request.more["items"] = {"box": {"fixed": boxes}}
    request.site |= {"it_power": "90 kW", "racks": 9, "rack": {"height": "12 RU"}}
    return request


@pytest.mark.parametrize(("boxes", "joints"), [(1, 0), (2, 2), (3, 2), (4, 4), (7, 6)])
def test_each_cluster_has_parts_of_its_own(boxes: int, joints: int) -> None:
    plan = solved(clustered(boxes))
    assert sum(each.quantity for each in plan.lines if each.sku == "joint") == joints
    assert plan.totals is not None
    assert plan.totals.it_power_kw == pytest.approx(10 + 5 * boxes + joints)
    assert plan.totals.capex_usd == pytest.approx(100_000 + 10_000 * boxes + 500 * joints)
    standing = [device.sku for group in plan.racks for device in group.devices * group.count]
    assert standing.count("joint") == joints


def test_storage_whose_clusters_cannot_be_had_is_left_out() -> None:
    request = clustered(2)
    request.more["items"] = {}
    request.items[-1]["vendor"] = "Omega"
    request.more["policy"] = {"forbid_vendors": ["Omega"]}
    request.families.append({"id": "fs2", "vendor": "Beta", "name": "fs2"})
    request.items.append(store("other", "fs2"))
    request.prices["other"] = price("20000")
    plan = solved(request)
    reasons = {entry.sku: entry.reason for entry in plan.not_considered}
    assert reasons == {"box": "its clusters need joint of Omega, forbidden by policy"}
    request.more["policy"] = {}
    del request.items[2]["consumes"]["it_power"]
    reasons = {entry.sku: entry.reason for entry in solved(request).not_considered}
    assert reasons == {"box": "its clusters need joint, whose power draw nobody states"}


def test_a_plan_of_many_ha_pairs_is_several_clusters() -> None:
    """NetApp: 12 HA pairs are the most of a cluster, not of a plan."""
    settings = ("consider.storage_families=[netapp_ontap]", "items.netapp_aff_a90={min: 13}")
    inputs = load(shipped.problem_files()["10MW"], settings=settings)
    plan = solve(inputs, explain=False)
    counts = {each.sku: each.quantity for each in plan.lines if each.parent is None}
    assert counts["netapp_aff_a90"] >= 13
    assert counts["cisco_9336c_fx2"] == 2 * -(-counts["netapp_aff_a90"] // 12)


def test_an_items_own_spare_share_replaces_its_categorys() -> None:
    """Of the bundle for all its components, of a component for itself, and of a plain item."""
    request = bundled(storage=0.6)
    request.more["items"] = {"box": {"fixed": 2, "spares": 1.0}}
    assert stored(solved(request)) == {"box": 0, "node": 4, "shelf": 2}
    request.more["items"]["node"] = {"spares": 0.25}
    assert stored(solved(request)) == {"box": 0, "node": 1, "shelf": 2}
    request.more["items"]["shelf"] = {"spares": 0}
    assert stored(solved(request)) == {"box": 0, "node": 1}
    plain = clustered(4)
    plain.more["items"]["joint"] = {"spares": 0.3}
    plan = solved(plain)
    assert [(each.quantity, each.spares) for each in plan.lines if each.sku == "joint"] == [(4, 2)]
    assert plan.totals is not None
    assert plan.totals.capex_usd == pytest.approx(100_000 + 40_000 + 500 * 6)


def stored(plan: Plan) -> dict[str, int]:
    """Return what lies in store by item, of the storage and its parts."""
    shown = [each for each in plan.lines if each.parent is None and each.sku != "gpu"]
    return {each.sku: each.spares for each in shown}
