"""The fabrics between the GPUs: rails, leaves, spines, cores, a manager."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.schema.catalog import Item, PortGroup
from planner.schema.problem import ComputeFabric
from planner.verify.basis import Basis
from planner.verify.tree import Tree, fat_tree, split
from planner.verify.wiring import Bill, Fabric, group_for


@dataclass(frozen=True)
class Plug:
    """What makes GPU types share a fabric: the switch, its group, ports and rails per system."""

    switch: str
    speed_gbit_per_s: float
    radix: int
    ports: int
    rails: int


def plug(basis: Basis, item: Item) -> Plug | None:
    """Return how a GPU type plugs into the compute fabric, None where it does not fit."""
    asked, port = basis.problem.network.compute, item.ports.compute
    if asked is None or port is None or port.count % (asked.planes * port.rails):
        return None
    for name in asked.switches:
        switch = basis.items[name]
        fits = switch.switch and port.protocol in (None, switch.switch.protocol)
        group = group_for(switch, port) if fits else None
        if group is not None:
            return Plug(name, group.speed_gbit_per_s, group.count, port.count, port.rails)
    return None


def compute_fabrics(basis: Basis, counts: Mapping[str, int], bill: Bill) -> list[Fabric] | None:
    """Return the fabrics between the GPU systems, and add their parts to the bill.

    None where a system does not fit any switch, or a tree would be too large.

    Args:
        basis: the problem and the catalogs.
        counts: units of GPU systems and storage.
        bill: takes switches, cables and transceivers.
    """
    asked = basis.problem.network.compute
    if asked is None:
        return []
    shared: dict[Plug, dict[str, int]] = {}
    for sku, count in counts.items():
        if basis.items[sku].category != "gpu_system" or count == 0:
            continue
        how = plug(basis, basis.items[sku])
        if how is None:
            return None
        shared.setdefault(how, {})[sku] = count
    fabrics = []
    for how, systems in shared.items():
        fabric = _fabric(basis, asked, how, systems, bill)
        if fabric is None:
            return None
        fabrics.append(fabric)
    return fabrics


def _fabric(
    basis: Basis, asked: ComputeFabric, how: Plug, systems: Mapping[str, int], bill: Bill
) -> Fabric | None:
    size = _size(asked, how, sum(systems.values()))
    if size is None:
        return None
    units, tree, up, most = size
    planes, count = asked.planes, sum(systems.values())
    group = next(
        group
        for group in _groups(basis.items[how.switch])
        if group.speed_gbit_per_s == how.speed_gbit_per_s
    )
    fabric = Fabric(
        network="compute",
        switch_sku=how.switch,
        serves=frozenset(systems),
        planes=planes,
        tiers=tree.tiers,
        units=units,
        radix=how.radix,
        leaf_switches=planes * tree.leaves,
        spine_switches=planes * tree.spines,
        core_switches=planes * tree.cores,
        endpoints=how.ports * count,
        parts_per_port=1,
        capacity=how.ports * most,
        uplinks_per_leaf=up,
        system_links=how.ports * count + asked.manager.ports,
        leaf_spine_links=planes * tree.leaf_spine_links,
        spine_core_links=planes * tree.spine_core_links,
    )
    _wire(bill, fabric, group, tree)
    for sku, units in systems.items():
        port = basis.items[sku].ports.compute
        own = None if port is None else port.transceiver
        bill.system_ends(group.link, own, how.ports, units)
    return fabric


def _groups(switch: Item) -> tuple[PortGroup, ...]:
    return () if switch.switch is None else switch.switch.ports


def _size(asked: ComputeFabric, how: Plug, systems: int) -> tuple[int, Tree, int, int] | None:
    """Return (units, tree of one plane, uplinks per leaf, most systems it holds).

    There are no units on a single switch.
    """
    ports = how.ports // asked.planes
    alone = (how.radix - asked.manager.ports) // ports
    if asked.single_switch and systems <= alone:
        return 0, Tree(1, leaves=1), 0, alone
    down, up = split(how.radix, asked.oversubscription)
    per_unit = down * how.rails // ports
    if per_unit == 0:
        return None
    units = max(1, -(-(systems + asked.manager.slots) // per_unit))
    tree = fat_tree(units, how.rails, how.radix, up)
    most = units * per_unit - asked.manager.slots
    return None if tree is None else (units, tree, up, most)


def _wire(bill: Bill, fabric: Fabric, group: PortGroup, tree: Tree) -> None:
    link = group.link
    bill.add(fabric.switch_sku, fabric.switches)
    for links in (fabric.system_links, fabric.leaf_spine_links, fabric.spine_core_links):
        bill.cables(link, links)
    down = fabric.radix - fabric.uplinks_per_leaf
    bill.switch_ends(link, down, fabric.leaf_switches)
    bill.switch_ends(link, fabric.uplinks_per_leaf, fabric.leaf_switches)
    bill.switch_ends(link, tree.spine_ports, fabric.spine_switches)
    bill.switch_ends(link, tree.core_ports, fabric.core_switches)
