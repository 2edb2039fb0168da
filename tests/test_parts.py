"""Spare parts of bundles, what clusters need for themselves, and what could not be considered."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planner import api, shipped
from planner.errors import VerificationError
from planner.loader import load
from planner.loader.catalog_checks import check_family
from planner.outputs.console import render
from planner.schema.catalog import Source
from planner.schema.plan import Line, Plan
from planner.verifier import verify
from tests.world.random_cases import inputs_of
from tests.world.random_hardware import Raw, figure
from tests.world.requests import Request, gpu_system, price, store

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
    return api.solve_inputs(inputs_of(request.case()), explain=False)


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


def test_a_spare_part_on_the_screen() -> None:
    screen = render(solved(bundled(storage=0.3)))
    assert any(row.split()[:4] == ["2", "Beta", "node", "in"] for row in screen.splitlines())


@pytest.mark.parametrize(
    "tamper",
    [
        lambda each: each.model_copy(update={"spares": 3, "purchased": 3}),
        lambda each: each.model_copy(update={"purchased": 1, "extended_net_usd": 700.0}),
        lambda each: each.model_copy(update={"quantity": 1}),
        lambda each: each.model_copy(update={"extended_net_usd": 700.0}),
    ],
)
def test_tampered_spare_parts_are_caught(tamper: Callable[[Line], Line]) -> None:
    inputs = inputs_of(bundled(storage=0.3).case())
    plan = api.solve_inputs(inputs, explain=False)

    def with_lines(change: Callable[[Line], Line | None]) -> Plan:
        lines = [change(line) if line.sku == "node" and not line.parent else line
                 for line in plan.lines]  # fmt: skip
        return plan.model_copy(update={"lines": tuple(line for line in lines if line)})

    with pytest.raises(VerificationError, match=r"node"):
        verify(inputs, with_lines(tamper))
    with pytest.raises(VerificationError, match=r"node: missing, 2 needed"):
        verify(inputs, with_lines(lambda _: None))


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


def test_parts_of_clusters_without_a_price_are_told() -> None:
    plan = solved(clustered(4, priced=False))
    assert plan.totals is not None
    assert plan.totals.capex_usd == pytest.approx(140_000)
    assert "bought, but no price is known, so the cost leaves it out: 4 joint" in plan.warnings


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
    plan = api.solve_inputs(inputs, explain=False)
    counts = {each.sku: each.quantity for each in plan.lines if each.parent is None}
    assert counts["netapp_aff_a90"] >= 13
    assert counts["cisco_9336c_fx2"] == 2 * -(-counts["netapp_aff_a90"] // 12)


@pytest.mark.parametrize(
    ("cluster", "says"),
    [
        ({"parts": [{"item": "nothing", "quantity": 1}]}, "no item 'nothing'"),
        ({"parts": [{"item": "box", "quantity": 1}]}, "'box' is of category storage"),
        ({"parts": [{"item": "joint", "quantity": 1}] * 2}, "lists 'joint' twice"),
        ({"alone": figure(4)}, "alone 4 is more than the 3 units"),
    ],
)
def test_catalogs_with_clusters_that_cannot_be(cluster: Raw, says: str) -> None:
    request = clustered(2)
    parts = [each | SOURCED for each in cluster.get("parts", [])]
    request.families[0]["cluster"] = {"max_units": figure(3)} | cluster | {"parts": parts}
    case = request.case()
    sources = {"made_up": Source(title="drawn for the tests")}
    faults = check_family(case.families[0], sources, {item.id: item for item in case.items})
    assert [text for text, _, _ in faults if says in text] != []


def test_vendors_that_sell_no_gpus_are_told_with_what_helps() -> None:
    request = Request(maximize="gpus")
    request.items.append(gpu_system("dear", 8, "10 kW"))
    request.more["consider"] = {"vendors": ["Beta"]}
    plan = api.solve_inputs(inputs_of(request.case()))
    screen = " ".join(render(plan).split())
    assert "consider.vendors names Beta alone, who sell none" in screen
    assert "add a vendor that does, as in consider.vendors: [Beta, Alpha]" in screen


def test_no_items_are_blamed_that_the_file_does_not_have() -> None:
    request = Request(maximize="gpus")
    del request.prices["gpu"]
    request.items.append(gpu_system("other", 8, "10 kW"))
    del request.items[-1]["gpu"]
    request.prices["other"] = price("1")
    request.more["targets"] = {"min_useful_pflops": 1}
    screen = render(api.solve_inputs(inputs_of(request.case())))
    assert "excluded by items" not in screen
    assert "gpu: no price in the price books" in screen
    assert "other: not known: dense bf16 rate" in screen


def test_products_that_could_not_be_considered_are_one_line() -> None:
    request = Request(maximize="gpus")
    request.items += [gpu_system("new", 8, "9 kW"), gpu_system("secret", 8, "9 kW")]
    request.prices["secret"] = price("9")
    del request.items[-1]["consumes"]["it_power"]
    request.items.append(gpu_system("unwanted", 8, "9 kW"))
    request.more["items"] = {"unwanted": {"exclude": True}}
    wanted = "cannot be planned here (planner catalog --incomplete): "
    wanted += "new (no price in the price books); "
    assert f"known, but {wanted}secret (not known: power draw)" in solved(request).warnings


def test_an_items_own_share_of_cold_spares_takes_the_place_of_its_categorys() -> None:
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
