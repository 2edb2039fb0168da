"""Fabrics of the enumerator against published reference architectures and hand-worked trees."""

from __future__ import annotations

import pytest

from planner.schema.catalog import PortGroup, Switch
from planner.schema.problem import ComputeFabric, EthernetFabric
from tests.oracle.fabric import Design, Edge, Parts, compute_fabric, fat_tree
from tests.world.random_hardware import Raw

LINK: Raw = {
    "cable": "cable",
    "switch_end": {"item": "twin", "links": 2},
    "system_end": {"item": "flat"},
}


def group(radix: int, speed: int = 400) -> PortGroup:
    return PortGroup.model_validate({"speed": f"{speed} Gb/s", "count": radix, "link": LINK})


def fabric(systems: int, radix: int, ports: int, rails: int, **wanted: object) -> Parts:
    request = ComputeFabric.model_validate({"switches": ("leaf",)} | wanted)
    found = compute_fabric(Design("leaf", group(radix), ports, rails), request, systems)
    assert found is not None
    return found


# DGX SuperPOD H100 RA-11333-001 V11, Table 4: systems, leaf, spine, system and leaf-spine cables.
H100 = [
    (31, 8, 4, 252, 256),
    (63, 16, 8, 508, 512),
    (95, 24, 16, 764, 768),
    (127, 32, 16, 1020, 1024),
]


@pytest.mark.parametrize(("systems", "leaf", "spine", "nodes", "links"), H100)
def test_h100_superpod(systems: int, leaf: int, spine: int, nodes: int, links: int) -> None:
    found = fabric(systems, 64, 8, 8, manager={"slots": 1, "ports": 4}, single_switch=False)
    assert found.switches == leaf + spine
    assert found.counts["cable"] == nodes + links
    assert found.counts["flat"] == systems * 8
    # Two links each: half of all ports of leaves, and of the ports in use of spines.
    assert found.counts["twin"] == leaf * 32 + links // 2


# DGX SuperPOD B200 and B300 XDR reference architectures: radix, systems, leaf, spine, core.
SUPERPODS = [
    (64, 64, 16, 8, 0),
    (64, 128, 32, 16, 0),
    (64, 256, 64, 32, 0),
    (64, 512, 128, 128, 64),
    (64, 1024, 256, 256, 128),
    (64, 2048, 512, 512, 256),
    (144, 72, 8, 4, 0),
    (144, 144, 16, 8, 0),
    (144, 288, 32, 18, 0),
    (144, 576, 64, 36, 0),
    (144, 1296, 144, 72, 0),
]


@pytest.mark.parametrize(("radix", "systems", "leaf", "spine", "core"), SUPERPODS)
def test_superpods(radix: int, systems: int, leaf: int, spine: int, core: int) -> None:
    tree = fat_tree(8, leaf // 8, radix, 1.0)
    assert tree is not None
    assert (tree.leaves, tree.spines, tree.cores) == (leaf, spine, core)
    assert tree.leaf_spine_links == systems * 8
    assert tree.spine_core_links == (systems * 8 if core else 0)
    found = fabric(systems, radix, 8, 8)
    assert found.switches == leaf + spine + core
    assert found.counts["cable"] == systems * 8 * (3 if core else 2)


def test_planes_are_fabrics_of_their_own() -> None:
    # DGX SuperPOD B300 with Spectrum-X: two planes of radix 128, 8 of 16 ports on each.
    found = fabric(512, 128, 16, 8, planes=2)
    assert found.switches == 128 + 64
    assert found.counts["cable"] == 2 * 512 * 16


GB200 = [(2, 64, 48, 18), (4, 128, 96, 36), (8, 256, 192, 72), (16, 512, 384, 144)]


@pytest.mark.parametrize(("units", "leaf", "spine", "core"), GB200)
def test_gb200_superpod(units: int, leaf: int, spine: int, core: int) -> None:
    request = ComputeFabric.model_validate({"switches": ("leaf",)})
    found = compute_fabric(Design("leaf", group(64), 72, 4, 8), request, 8 * units)
    assert found is not None
    assert found.switches == leaf + spine + core
    assert found.counts["cable"] == 3 * 72 * 8 * units
    # Nine and nine twin modules at a leaf, 24 at a spine, half of a core's ports.
    assert found.counts["twin"] == leaf * 18 + spine * 24 + 72 * 8 * units // 2


def test_two_leaves_stand_without_spines() -> None:
    # Radix 128, two planes of 8 ports: 16 systems of 8 fill 64 ports of each of two leaves.
    found = fabric(16, 128, 16, 8, planes=2, leaf_pair=True, single_switch=False)
    assert found.switches == 2 * 2
    assert found.counts["cable"] == 16 * 16 + 2 * 64
    assert fabric(17, 128, 16, 8, planes=2, leaf_pair=True, single_switch=False).switches > 4


def test_single_switch_as_far_as_it_goes() -> None:
    wanted = {"manager": {"slots": 1, "ports": 2}}
    # (16 - 2)/4 systems on one switch: 3 * 4 + 2 cables, half a transceiver for every port.
    alone = fabric(3, 16, 4, 4, **wanted)
    assert alone == Parts(1, {"leaf": 1, "cable": 14, "flat": 12, "twin": 8})
    # Four and the manager's slot are one unit of 8: 4 leaves, 4 * 8/16 = 2 spines.
    tree = fabric(4, 16, 4, 4, **wanted)
    assert tree.counts["leaf"] == 4 + 2
    assert tree.counts["cable"] == 18 + 32
    assert tree.counts["twin"] == 4 * (4 + 4) + 2 * 8


def test_three_tiers_with_small_switches() -> None:
    # Radix 4: two links up, two down. Six leaves: groups of 2 leaves, 2 spines each, links 12.
    tree = fat_tree(1, 6, 4, 1.0)
    assert tree is not None
    # Each of the 6 spines has two uplinks; a core joins four of them at most.
    assert (tree.leaves, tree.spines, tree.cores) == (6, 6, 4)
    assert (tree.leaf_spine_links, tree.spine_core_links) == (12, 12)
    assert fat_tree(1, 9, 4, 1.0) is None


def test_no_tree_with_one_uplink() -> None:
    assert fat_tree(1, 2, 4, 3.0) is None


def edge(least: int, **more: object) -> Edge:
    wanted = EthernetFabric.model_validate({"switch": "leaf", "min_switches": least} | more)
    ports = [{"speed": "200 Gb/s", "count": 8, "link": LINK}, {"speed": "100 Gb/s", "count": 12}]
    sourced = {"source": "made_up", "confidence": "low"}
    switch = {"protocol": "ethernet", "ports": tuple(ports)} | sourced
    return Edge(wanted, Switch.model_validate(switch))


def test_ports_count_in_parts_of_a_front_panel() -> None:
    # 24 parts: a port of 200 Gb/s is 3 of them, one of 100 Gb/s is 2.
    one = edge(1)
    assert one.parts_per_panel == 24
    assert one.core(0) == Parts(0, {})
    assert one.core(24) == Parts(1, {"leaf": 1})
    # 25 parts are more than 8 ports: 3 leaves of 4 downlinks, 12 links, 2 spines of 6 ports.
    many = one.core(25)
    assert many is not None
    assert many.counts == {"leaf": 5, "cable": 12, "twin": 3 * 2 + 2 * 3}


def test_two_switches_stand_without_spines() -> None:
    # Two leaves of 4 downlinks hold 24 parts, joined by 4 cables with 2 twins at each end.
    pair = edge(2).core(1)
    assert pair is not None
    assert {name: n for name, n in pair.counts.items() if n} == {"leaf": 2, "cable": 4, "twin": 4}
    assert edge(2).core(24) == pair
    three = edge(2).core(25)
    assert three is not None
    assert three.switches == 3 + 2
