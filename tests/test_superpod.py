"""A published cluster as a whole bill: NVIDIA's DGX SuperPOD of 127 DGX H100."""

from __future__ import annotations

import pytest

from planner.schema.plan import Line, Plan
from tests.world.solved import solve

SUPERPOD = """\
name: DGX SuperPOD of 127 DGX H100
site:
  it_power: 3 MW
  pue: 1.3
  racks: 60
  rack:
    height: 48 RU
    power: 45 kW
    item: rack_48u
    pdu: {item: pdu_raritan_px3_5878, redundancy: N+1}
items: {nvidia_dgx_h100: {fixed: 127}, ddn_ai400x2_turbo: {fixed: 8}}
consider: {gpu_systems: [nvidia_dgx_h100], storage_families: [ddn_exascaler]}
storage: {delivered_fraction: {read: 0.8, write: 0.8}}
network:
  compute: {switches: [nvidia_qm9700], manager: {slots: 1, ports: 4}}
  out_of_band: {switch: nvidia_sn2201, reserve_ports: 0}
extras: {nvidia_ufm_appliance: {count: 2}}
spares: {cable: 5 %}
jobs: [{name: train, parameters: 405 B}]
objective: {minimize: cost}
"""


@pytest.fixture(scope="module")
def superpod(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    problem = tmp_path_factory.mktemp("superpod") / "problem.yaml"
    problem.write_text(SUPERPOD, "utf-8")
    plan = solve(problem)
    assert plan.status == "optimal"
    return plan


def line_of(plan: Plan, sku: str) -> Line:
    return next(line for line in plan.lines if line.sku == sku)


@pytest.mark.parametrize(
    ("sku", "in_place", "purchased"),
    [
        ("nvidia_dgx_h100", 127, 127),
        ("nvidia_qm9700", 32 + 16, 48),
        ("nvidia_mfp7e10", 1020 + 1024, 2044 + 103),  # system and switch cables; 102.2 spares
        ("nvidia_mma4z00_ns", 1536, 1536),  # twin ports: 512 + 512 at leaves, 512 at spines
        ("nvidia_mma4z00_ns_flt", 508, 508),
        ("nvidia_ufm_appliance", 2, 2),
    ],
)
def test_the_published_superpod_is_the_bill(
    superpod: Plan, sku: str, in_place: int, purchased: int
) -> None:
    line = line_of(superpod, sku)
    assert (line.quantity, line.purchased) == (in_place, purchased)


def test_the_fabric_of_the_superpod(superpod: Plan) -> None:
    fabric = next(f for f in superpod.fabrics if f.network == "compute")
    switches = (fabric.leaf_switches, fabric.spine_switches, fabric.core_switches)
    links = (fabric.system_links, fabric.leaf_spine_links, fabric.spine_core_links)
    assert (fabric.tiers, fabric.units, switches) == (2, 4, (32, 16, 0))
    assert links == (1020, 1024, 0)
    # Four units of 32 hold 127 systems beside the manager, on 8 ports each.
    assert (fabric.endpoints, fabric.capacity) == (127 * 8, 127 * 8)


def test_the_racks_of_the_superpod(superpod: Plan) -> None:
    groups = [group for group in superpod.racks if group.rack_class == "gpu"]
    assert sum(group.count for group in groups) == 32
    assert sorted({len(group.devices) for group in groups}) == [3, 4]
    assert sum(group.count * group.pdus for group in groups) == 96  # 40.8 kW: two of 34.5, one more
    everywhere = sum(group.count * group.pdus for group in superpod.racks)
    assert line_of(superpod, "pdu_raritan_px3_5878").quantity == everywhere
    assert superpod.totals is not None
    assert line_of(superpod, "rack_48u").quantity == superpod.totals.racks


def test_management_ports_of_the_superpod(superpod: Plan) -> None:
    boxes = [group for group in superpod.racks if group.rack_class == "storage"]
    fabric = next(f for f in superpod.fabrics if f.network == "out_of_band")
    # Systems, two per appliance, switches, PDUs of the racks of both, two per fabric manager.
    pdus = 96 + sum(group.count * group.pdus for group in boxes)
    assert fabric.endpoints == 127 + 2 * 8 + 48 + pdus + 2 * 2
    assert fabric.leaf_switches == -(-fabric.endpoints // 48)
    # Its own switches and the PDUs of network racks are on reserved ports, each with its cable.
    beside = sum(
        group.count * group.pdus for group in superpod.racks if group.rack_class == "network"
    )
    assert line_of(superpod, "cable_cat6").quantity == (
        fabric.endpoints + fabric.leaf_switches + beside
    )
