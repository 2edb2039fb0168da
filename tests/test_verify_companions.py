"""The verifier's own count of companions: published fabrics, and a bill worked out by hand."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from planner.inputs import Inputs
from planner.verifier.basis import Basis, at_least, at_most, divisors
from planner.verifier.companions import Companions, count_companions
from planner.verifier.fabrics import compute_fabrics
from planner.verifier.links import Fabric, PartCounts, Tree, fat_tree, split
from planner.verifier.money import present_years
from planner.verifier.racks import RackSet, Room, _in_turn, first_fit
from tests.oracle.test_bill import Bill, companion
from tests.world.catalog import FIBRE, GPU_PORTS, THIN, hardware, inputs_of, port, problem, switch
from tests.world.random_cases import inputs_of as random_inputs
from tests.world.random_hardware import figure


def counted(inputs: Inputs, **counts: int) -> Companions:
    """Return the companions of counts, where a placement has four racks for those that share."""
    return count_companions(Basis.from_inputs(inputs), counts, 4)


def fabric_of(systems: int, radix: int, *, slots: int = 0, ports: int = 0) -> Fabric:
    """Return the fabric of systems with eight ports on eight rails."""
    items = hardware()
    items["weave"] = switch("infiniband", ("400 Gbit/s", radix, FIBRE))
    items["gpu_a"]["ports"] = {"compute": port(8, "400 Gbit/s", rails=8)}
    compute = {
        "switches": ("weave",),
        "single_switch": False,
        "manager": {"slots": slots, "ports": ports},
    }
    basis = Basis.from_inputs(inputs_of(problem(network={"compute": compute}), items))
    fabrics = compute_fabrics(basis, {"gpu_a": systems}, PartCounts())
    assert fabrics is not None
    (fabric,) = fabrics
    return fabric


# NVIDIA DGX SuperPOD H100 reference architecture RA-11333-001 V11, table 4.
@pytest.mark.parametrize(
    ("systems", "leaves", "spines", "system_links", "between"),
    [(31, 8, 4, 252, 256), (63, 16, 8, 508, 512), (95, 24, 16, 764, 768),
     (127, 32, 16, 1020, 1024)],
)  # fmt: skip
def test_the_published_h100_fabrics(
    systems: int, leaves: int, spines: int, system_links: int, between: int
) -> None:
    fabric = fabric_of(systems, 64, slots=1, ports=4)
    assert (fabric.leaf_switches, fabric.spine_switches) == (leaves, spines)
    assert (fabric.system_links, fabric.leaf_spine_links) == (system_links, between)


# NVIDIA DGX SuperPOD B200 reference architecture: three tiers.
@pytest.mark.parametrize(
    ("systems", "leaves", "spines", "cores"),
    [(64, 16, 8, 0), (128, 32, 16, 0), (256, 64, 32, 0),
     (512, 128, 128, 64), (1024, 256, 256, 128), (2048, 512, 512, 256)],
)  # fmt: skip
def test_the_published_b200_fabrics(systems: int, leaves: int, spines: int, cores: int) -> None:
    fabric = fabric_of(systems, 64)
    found = (fabric.leaf_switches, fabric.spine_switches, fabric.core_switches)
    assert found == (leaves, spines, cores)
    assert fabric.system_links == fabric.leaf_spine_links == 8 * systems
    assert fabric.spine_core_links == (8 * systems if cores else 0)


# NVIDIA DGX SuperPOD B300 XDR reference architecture: 144 ports.
@pytest.mark.parametrize(
    ("systems", "leaves", "spines"),
    [(72, 8, 4), (144, 16, 8), (288, 32, 18), (576, 64, 36), (1296, 144, 72)],
)
def test_the_published_b300_fabrics(systems: int, leaves: int, spines: int) -> None:
    fabric = fabric_of(systems, 144)
    assert (fabric.leaf_switches, fabric.spine_switches, fabric.core_switches) == (
        leaves, spines, 0,
    )  # fmt: skip


def test_every_tree_spreads_its_links_evenly_and_fits_its_switches() -> None:
    for radix in (4, 6, 16, 40):
        for oversubscription in (1.0, 1.5, 3.0):
            down, up = split(radix, oversubscription)
            for rails in (1, 2, 4):
                for unit in range(1, 60):
                    _check_tree(fat_tree(unit, rails, radix, up), rails * unit, radix, up)
            assert down + up == radix and up >= 1


def _check_tree(tree: Tree | None, leaves: int, radix: int, up: int) -> None:
    if tree is None:
        return
    assert tree.leaves == leaves and tree.leaf_spine_links == leaves * up
    assert tree.spines * tree.spine_ports >= tree.leaf_spine_links + tree.spine_core_links
    assert tree.spine_ports <= radix and tree.core_ports <= radix
    assert tree.cores * tree.core_ports == tree.spine_core_links


def test_a_tree_without_a_second_spine_or_with_too_many_leaves_is_none() -> None:
    assert fat_tree(2, 1, 4, 1) is None
    assert fat_tree(8, 1, 4, 2) == Tree(3, 8, 8, 4, 16, 16, 4, 4, groups=4)
    assert fat_tree(9, 1, 4, 2) is None


# 11 systems and the manager's slot are 3 units of 4: 12 leaves with 8 uplinks, 8 spines.
# Storage: 22 ports of 2 parts and 20 of 1 are 64 parts, 8 leaves of 8, 4 spines.
# Out of band: 11 + 2·5 + 1 devices' ports, 20 + 12 switches, 3·4 + 4 PDUs, 10 to a switch.
# In band: 22 + 5 + 2 ports and 7·2 uplinks, 4 leaves of 12 parts with 2 uplinks, 2 spines.
BY_HAND = {
    "weave": 12 + 8,
    "mesh": (8 + 4) + (4 + 2),
    "tick": 7,
    "fibre": (90 + 96) + (22 + 32) + 8,
    "thin_fibre": 20 + 43,
    # And consoles on reserved ports: 6 + 7 switches and the PDUs of 4 racks.
    "copper": 70 + (6 + 7 + 4 * 3),
    "optic": 88 + 22,
    # Half the ports: leaves to systems, leaves to spines, spines; twice over, and in band.
    "twin_optic": (48 + 48 + 48) + (11 + 16 + 16) + (4 + 4),
    "thin_optic": 5 + 11,
    # One per 4 racks: 3 of GPU systems, 1 of boxes.
    "keeper": 1,
    # 11 · 10.2 kW · 0.6 is more than one cools; one more for N+1.
    "pump": 2 + 1,
    "suite": 88,
    "pool": 1250,
    # Network: 20 + 18·2 + 7 + 2 RU of switches and keepers and 3·30 of pumps are 155 of 42 each.
    "frame": 3 + 1 + 4,
    # Loads of 40.8, 44 and 20 kW on 17.3 kW each, and one more in every rack.
    "strip": 3 * 4 + 4 + 4 * 3,
}


def test_the_companions_of_a_small_cluster() -> None:
    found = counted(inputs_of(), gpu_a=11, box=5)
    assert not found.problems
    assert dict(found.counts) == BY_HAND
    assert found.room.sets == (
        RackSet("gpu_a", "gpu", 3, False, pytest.approx(40.8)),
        RackSet("box", "storage", 1, False, pytest.approx(44)),
        RackSet(None, "network", 4, False, 20.0),
    )
    assert first_fit(Basis.from_inputs(inputs_of()), found.counts) == 4


def one_by_one(kinds: Sequence[tuple[tuple[float, ...], int]]) -> int:
    """Return the racks of devices each of which goes into the first rack with room for it."""
    racks: list[list[float]] = []
    for share, count in kinds:
        for _ in range(count):
            fits = (
                rack for rack in racks if all(r + s <= 1 for r, s in zip(rack, share, strict=True))
            )
            rack = next(fits, None)
            if rack is None:
                rack = [0.0] * len(share)
                racks.append(rack)
            rack[:] = [r + s for r, s in zip(rack, share, strict=True)]
    return len(racks)


@pytest.mark.parametrize("seed", range(40))
def test_racks_filled_alike_are_those_filled_one_by_one(seed: int) -> None:
    draw = random.Random(seed)
    parts = [1 / 2, 1 / 4, 1 / 8, 3 / 8, 1 / 16, 5 / 64, 0.0]  # exact: no rounding decides
    kinds = [
        ((draw.choice(parts[:-1]), draw.choice(parts), draw.choice(parts)), draw.randint(0, 40))
        for _ in range(draw.randint(1, 6))
    ]
    assert _in_turn(kinds) == one_by_one(kinds)


def test_the_highest_go_first_where_that_takes_fewer_racks() -> None:
    """Two of half a rack's power fill one rack, and three of 3/8 of its height two more; but of
    the high ones two and a strong one fill one, and the other two another."""
    strong, high = ((1 / 4, 1 / 2, 0.0), 2), ((3 / 8, 1 / 8, 0.0), 3)
    assert (_in_turn([strong, high]), _in_turn([high, strong])) == (3, 2)
    items = {"strong": (2, "8 kW", 2), "high": (3, "2 kW", 3)}
    request = Bill(minimize="cost")
    request.more["items"] = {"gpu": {"fixed": 2}}
    request.site |= {"it_power": "100 kW", "rack": {"height": "200 RU"}, "racks": 9}
    request.site["rack_classes"] = {"network": {"height": "8 RU", "power": "16 kW"}}
    for name, (height, draw, count) in items.items():
        item = companion(name, "management", draw)
        item["consumes"]["rack_units"] = figure(f"{height} RU")
        request.add(item, "10")
        request.more.setdefault("extras", {})[name] = {"count": count}
    basis = Basis.from_inputs(random_inputs(request.case()))
    assert first_fit(basis, {"strong": 2, "high": 3}) == 2


@pytest.mark.parametrize(
    ("systems", "network", "expected"),
    [
        # 16 ports less the manager's 2 take one system of 8; the switch is cabled to the full.
        (1, {"manager": {"slots": 1, "ports": 2}}, {"weave": 1, "fibre": 10, "twin_optic": 8}),
        (2, {}, {"weave": 1, "fibre": 16, "twin_optic": 8, "optic": 16}),
        # Two planes of 4 ports: each a switch that holds 4 systems.
        (4, {"planes": 2}, {"weave": 2, "fibre": 32, "twin_optic": 16}),
        # One unit of 4 systems a plane has 4 leaves with 8 uplinks and 2 spines: 5 need two.
        (5, {"planes": 2}, {"weave": 2 * (4 + 2), "fibre": 40 + 2 * 32}),
        # Three times oversubscribed: 12 down, 4 up; a unit of 6, so 4 leaves and 2 spines.
        (6, {"oversubscription": 3.0}, {"weave": 4 + 2, "fibre": 48 + 16}),
    ],
)
def test_compute_fabrics_by_hand(
    systems: int, network: dict[str, Any], expected: dict[str, int]
) -> None:
    compute = {"switches": ("weave",), **network}
    inputs = inputs_of(problem(network={"compute": compute}))
    found = counted(inputs, gpu_a=systems).counts
    assert {sku: found.get(sku, 0) for sku in expected} == expected


def test_types_with_other_ports_have_fabrics_of_their_own() -> None:
    inputs = inputs_of(problem(network={"compute": {"switches": ("weave",)}}))
    found = counted(inputs, gpu_a=2, gpu_b=4)
    assert [(f.serves, f.leaf_switches) for f in found.fabrics] == [({"gpu_a"}, 1), ({"gpu_b"}, 1)]


def test_the_first_switch_that_fits_is_taken() -> None:
    compute = {"switches": ("mesh", "weave")}
    assert "mesh" not in counted(inputs_of(problem(network={"compute": compute})), gpu_a=2).counts
    items = hardware()
    items["gpu_a"]["ports"] = {**GPU_PORTS, "compute": port(8, "800 Gbit/s", rails=4)}
    found = counted(inputs_of(problem(network={"compute": compute}), items), gpu_a=2)
    assert any("network.compute" in text for text in found.problems)


@pytest.mark.parametrize(
    ("boxes", "fewest", "switches"),
    # Ports of one part: 16 on one switch, 2·8 on two, else leaves of 8 with spines.
    [(0, 1, 0), (4, 1, 1), (5, 1, 3 + 2), (1, 2, 2), (4, 2, 2), (5, 2, 3 + 2), (9, 2, 5 + 4)],
)
def test_leaves_may_stand_without_spines(boxes: int, fewest: int, switches: int) -> None:
    network = {"storage": {"switch": "mesh", "min_switches": fewest}}
    found = counted(inputs_of(problem(network=network)), box=boxes)
    assert found.counts.get("mesh", 0) == switches


def test_two_leaves_are_joined_by_their_uplinks() -> None:
    found = counted(inputs_of(problem(network={"storage": {"switch": "mesh"}})), box=1)
    assert found.counts["fibre"] == 4
    assert found.counts["twin_optic"] == 2 * 2
    assert found.fabrics[0].leaf_spine_links == 4


def test_a_cable_of_several_links_is_rounded_up_for_each_kind() -> None:
    items = hardware()
    link = {**FIBRE, "links": 3}
    items["weave"] |= switch("infiniband", ("400 Gbit/s", 4, link))
    items["gpu_a"]["ports"] = {"compute": port(1, "400 Gbit/s")}
    network = {"compute": {"switches": ("weave",)}}
    found = counted(inputs_of(problem(network=network), items), gpu_a=15)
    # 8 leaves with 2 downlinks each: 15 cables of systems, 16 links up, 16 to the cores.
    assert found.fabrics[0].tiers == 3
    assert found.counts["fibre"] == 5 + 6 + 6


def test_port_groups_of_one_count_are_wired_apart() -> None:
    items = hardware()
    items["mesh"] |= switch("ethernet", ("200 Gbit/s", 16, FIBRE), ("100 Gbit/s", 16, THIN))
    network = {"storage": {"switch": "mesh", "min_switches": 1}}
    found = counted(inputs_of(problem(network=network), items), gpu_a=2, box=1).counts
    assert (found["fibre"], found["thin_fibre"]) == (4, 4)
    assert (found["optic"], found["twin_optic"], found["thin_optic"]) == (4, 2, 1)


def test_a_port_of_another_protocol_fits_no_switch() -> None:
    network = {"storage": {"switch": "mesh"}}
    for protocol, fits in (("ethernet", True), ("infiniband", False)):
        items = hardware()
        items["box"]["ports"] = {"storage": port(2, "100 Gbit/s", protocol=protocol)}
        found = counted(inputs_of(problem(network=network), items), gpu_a=2, box=1)
        assert any("network.storage" in text for text in found.problems) is not fits


def test_a_port_slower_than_modules_go_fits_no_switch() -> None:
    for down_to, fits in (("50 Gbit/s", True), ("100 Gbit/s", True), ("200 Gbit/s", False)):
        items = hardware()
        for name, protocol in (("mesh", "ethernet"), ("weave", "infiniband")):
            changed = switch(protocol, ("400 Gbit/s", 16, FIBRE))
            changed["switch"]["ports"][0]["down_to"] = down_to
            items[name] |= changed
        items["gpu_a"]["ports"] = {"compute": port(2, "100 Gbit/s")}
        items["box"]["ports"] = {"storage": port(2, "100 Gbit/s")}
        network = {"compute": {"switches": ("weave",)}, "storage": {"switch": "mesh"}}
        found = counted(inputs_of(problem(network=network), items), gpu_a=2, box=1)
        for name in ("compute", "storage"):
            assert any(f"network.{name}" in text for text in found.problems) is not fits


@pytest.mark.parametrize(("redundancy", "pumps"), [("N", 2), ("N+1", 3), ("2N", 4)])
def test_pumps_by_redundancy(redundancy: str, pumps: int) -> None:
    asked = problem()
    asked["site"] = {**asked["site"], "cooling": {"cdu": "pump", "redundancy": redundancy}}
    assert counted(inputs_of(asked), gpu_a=11, box=5).counts["pump"] == pumps
    assert "pump" not in counted(inputs_of(asked), box=5).counts


@pytest.mark.parametrize(
    ("extra", "count"),
    [
        ({"count": 5}, 5),
        ({"per": "gpu_system", "every": 4}, 3),
        ({"per": "gpu", "every": 88}, 1),
        ({"per": "storage_unit", "every": 2}, 3),
        ({"per": "rack"}, 4),
        ({"per": "switch", "every": 10}, 4),
    ],
)
def test_extras_by_what_they_are_for(extra: dict[str, Any], count: int) -> None:
    inputs = inputs_of(problem(extras={"keeper": extra}))
    assert counted(inputs, gpu_a=11, box=5).counts["keeper"] == count


def test_without_any_companion_section_there_are_none() -> None:
    site = {"pue": 1.2, "rack": {"height": "48 RU", "power": "45 kW"}}
    bare = problem(site=site, network={}, software=(), extras={})
    found = counted(inputs_of(bare), gpu_a=11, box=5)
    assert (found.counts, found.fabrics, found.problems) == ({}, (), ())
    assert sum(each.racks for each in found.room.sets) == 4


def test_products_that_are_racks_bring_their_own() -> None:
    items = hardware()
    consumes = {**items["gpu_a"]["consumes"], "racks": {"value": 2, "source": "s"} | {
        "confidence": "high"}}  # fmt: skip
    items["gpu_a"] |= {"consumes": consumes}
    found = counted(inputs_of(items=items), gpu_a=3, box=5)
    assert found.room.sets[0] == RackSet("gpu_a", "gpu", 6, True, 5.1)
    network = sum(each.racks for each in found.room.sets if each.rack_class == "network")
    assert found.counts["frame"] == 1 + network


def test_a_heavy_item_fills_a_rack_by_its_weight() -> None:
    asked = problem()
    rack = {**asked["site"]["rack"], "weight": "400 kg"}
    asked["site"] = {**asked["site"], "rack": rack}
    found = counted(inputs_of(asked), gpu_a=12)
    # Three of 130 kg.
    assert found.room.sets[0].racks == 4


def test_racks_of_unknown_size_are_not_counted() -> None:
    asked = problem(extras={"keeper": {"per": "rack"}})
    asked["site"] = {"pue": 1.2}
    found = counted(inputs_of(asked), gpu_a=2)
    assert found.room == Room((), complete=False)
    assert "keeper" not in found.counts and "frame" not in found.counts


@pytest.mark.parametrize(
    ("start", "end", "rate", "worth"),
    [
        (0.0, 4.0, 0.0, 4.0),
        (1.0, 3.5, 0.0, 2.5),
        (3.0, 2.0, 0.1, 0.0),
        (0.0, 2.0, 0.1, 1 / 1.1 + 1 / 1.21),
        (0.5, 2.25, 0.1, 0.5 / 1.1 + 1 / 1.21 + 0.25 / 1.331),
    ],
)
def test_what_years_are_worth(start: float, end: float, rate: float, worth: float) -> None:
    assert present_years(start, end, rate) == pytest.approx(worth, rel=1e-12)


def test_whole_numbers_past_noise() -> None:
    assert at_least(3 * 0.1 / 0.1) == 3 and at_most(0.3 / 0.1) == 3
    assert at_least(3.001) == 4 and at_most(2.999) == 2
    assert divisors(12) == [1, 2, 3, 4, 6, 12]
