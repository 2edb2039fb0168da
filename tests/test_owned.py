"""What is owned stays in the plan: idle or at work, and what that says on the screen.

A GPU system draws 10 kW and a box 5 kW; two boxes serve the job. ``big`` has twice the GPUs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.errors import InputError
from planner.schema.plan import Line, Plan
from tests.world.random_cases import inputs_of
from tests.world.random_hardware import figure
from tests.world.requests import (
    SOURCED,
    Request,
    companion,
    gpu_system,
    group,
    port,
    price,
    store,
    switch,
)
from tests.world.solved import solve


def owner(**rule: object) -> Request:
    """Return a request of somebody who owns two systems where better ones are on offer."""
    request = Request(maximize="gpus")
    request.items.append(gpu_system("big", 16, "15 kW"))
    request.prices["big"] = price("100000")
    request.more["items"] = {"gpu": {"installed": 2, "max": 2} | rule}
    request.site["it_power"] = "61 kW"
    return request


def solved(request: Request) -> Plan:
    return solve(inputs_of(request.case()), explain=False)


def line(plan: Plan, sku: str) -> Line:
    return next(each for each in plan.lines if each.sku == sku)


def with_fabric(request: Request) -> None:
    """Let every system have two ports on a fabric of one switch per 8 ports."""
    request.items += [switch("leaf", [group(8, 400)]), companion("cable", "cable")]
    request.prices["cable"] = price("10")
    request.prices["leaf"] = price("1000")
    for item in request.items:
        if item["category"] == "gpu_system":
            item["ports"] = {"compute": port(2, 400)}
    request.more["network"] = {"compute": {"switches": ["leaf"]}}


def test_idle_systems_draw_power_and_need_no_fabric() -> None:
    request = owner()
    with_fabric(request)
    request.site["it_power"] = "71 kW"
    plan = solved(request)
    # 20 kW stand there, two boxes draw 10, the switch 1: two big ones of 15 kW, on 4 ports.
    assert line(plan, "big").quantity == 2
    idle = line(plan, "gpu")
    assert (idle.quantity, idle.idle, idle.purchased, idle.gpus) == (2, 2, 0, 0)
    assert idle.it_power_kw == pytest.approx(20)
    assert [(fabric.endpoints, fabric.serves) for fabric in plan.fabrics] == [(4, ("big",))]
    assert plan.totals is not None
    assert (plan.totals.gpus, plan.totals.it_power_kw) == (32, pytest.approx(61))


def test_no_more_are_in_the_cluster_than_the_job_may_use() -> None:
    request = owner(installed=4, max=4)
    del request.items[2]
    request.job["gpus"] = {"max": 16}
    with_fabric(request)
    request.site["it_power"] = "60 kW"
    plan = solved(request)
    assert (line(plan, "gpu").quantity, line(plan, "gpu").idle) == (4, 2)
    assert plan.fabrics[0].endpoints == 4
    assert line(plan, "gpu").notes[0] == "2 owned, idle: gpus.max of the job 'train' is 16"


@pytest.mark.parametrize("key", ["fixed", "max"])
def test_less_than_is_owned_is_refused_with_its_line(tmp_path: Path, key: str) -> None:
    path = tmp_path / "problem.yaml"
    path.write_text(
        "name: p\nsite: {pue: 1.2, it_power: 1 MW}\nitems:\n"
        f"  nvidia_dgx_h100: {{installed: 8, {key}: 4}}\n"
        "storage: {delivered_fraction: {read: 1.0, write: 1.0}}\n"
        "jobs: [{name: j, parameters: 70 B}]\nobjective: {maximize: gpus}\n"
    )
    wanted = r"problem.yaml:4: .*the 8 installed stay; .*retire: true"
    with pytest.raises(InputError, match=wanted):
        solve(path)


def with_owned_spares(owned: int) -> Request:
    """Return a job of 32 GPUs on four of the systems that are owned; the others can be spares."""
    request = Request(maximize="goodput")
    request.site["it_power"] = "500 kW"
    request.more["items"] = {
        "gpu": {"installed": owned, "max": owned},
        "box": {"installed": 2, "max": 2},
    }
    request.job |= {"repair": {"share": 0.8, "time": "96 h", "unit": "system"}, "gpus": {"max": 32}}
    return request


@pytest.mark.parametrize("objective", ["goodput", "useful_gpus"])
@pytest.mark.parametrize("indifference", [0.005, 0.1])
@pytest.mark.parametrize("owned", [5, 6, 8])
def test_owned_spares_that_help_stand_by(owned: int, indifference: float, objective: str) -> None:
    request = with_owned_spares(owned)
    request.more["objective"] = {"maximize": objective, "indifference": indifference}
    truth, plan = request.plan(), solve(inputs_of(request.case()))
    assert truth.counts["gpu"] == owned
    repair = plan.jobs[0].repair
    assert repair is not None and repair.spares == owned - 4
    assert plan.jobs[0].goodput == pytest.approx(truth.goodput)
    assert plan.totals.capex_usd == 0.0
    assert not any(line.idle for line in plan.lines)


# Spare parts of bundles, what clusters need for themselves, and what could not be considered.


def bundled(**spares: float) -> Request:
    """Return a request whose box is two nodes of 2 kW and a shelf of 1 kW, which has no price."""
    request = Request(minimize="cost")
    request.items += [
        companion("node", "component", "2 kW"),
        companion("shelf", "component", "1 kW"),
    ]
    parts = [{"id": "node", "quantity": 2}, {"id": "shelf", "quantity": 1}]
    request.items[1] |= {"consumes": {}, "components": parts}
    request.prices["node"] = price("700", support_per_year="10 %")
    request.more["spares"] = spares
    return request


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


def clustered(boxes: int) -> Request:
    """Return a request for so many boxes, three to a cluster, each with two joints of 1 kW."""
    request = Request(minimize="cost")
    request.items.append(switch("joint", [group(8, 100)]))

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
    reasons = plan.not_considered
    assert reasons == {"box": "its clusters need joint of Omega, forbidden by policy"}
    request.more["policy"] = {}
    del request.items[2]["consumes"]["it_power"]
    reasons = solved(request).not_considered
    assert reasons == {"box": "its clusters need joint, whose power draw nobody states"}


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
