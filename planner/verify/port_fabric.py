"""The storage and the in-band fabric, whose ports differ in speed; and out-of-band management."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planner.schema.catalog import Item, LinkEnd, PortGroup
from planner.schema.problem import EthernetFabric, OutOfBand
from planner.verify.basis import DECIDED, Basis
from planner.verify.tree import Tree, fat_tree, split
from planner.verify.wiring import Bill, Fabric, fastest, slowest


@dataclass(frozen=True)
class Plugged:
    """``units`` devices with so many ports of one speed each."""

    sku: str
    units: int
    ports: int
    speed_gbit_per_s: float
    end: LinkEnd | None = None


def plugged(basis: Basis, units: Mapping[str, int], network: str) -> list[Plugged]:
    """Return the devices that have ports on a network.

    Args:
        basis: the catalogs.
        units: devices by item.
        network: ``storage``, ``in_band`` or ``out_of_band``.
    """
    result = []
    for sku, count in units.items():
        port = getattr(basis.items[sku].ports, network)
        if port is not None and count > 0:
            speed = port.speed_gbit_per_s
            result.append(Plugged(sku, count, port.count, speed, port.transceiver))
    return result


def port_fabric(
    basis: Basis, network: str, asked: EthernetFabric, devices: Iterable[Plugged], bill: Bill
) -> list[Fabric] | None:
    """Return the fabric (none without ports), and add its parts to the bill.

    None where a port is faster than the switch, or the tree would be too large.

    Args:
        basis: the catalogs.
        network: its name.
        asked: what the problem says of it.
        devices: everything that is plugged in.
        bill: takes switches, cables and transceivers.
    """
    devices, switch = list(devices), basis.items[asked.switch]
    base = fastest(switch)
    if not devices:
        return []
    if base is None or switch.switch is None:
        return None
    by_group = _by_group(switch, devices)
    if by_group is None:
        return None
    whole = math.lcm(*(group.count for group in switch.switch.ports))
    parts = sum(ports * (whole // group.count) for group, ports in by_group)
    size = _size(asked, base.count, whole // base.count, parts)
    if size is None:
        return None
    tree, up, most = size
    fabric = Fabric(
        network=network,
        switch_sku=asked.switch,
        serves=_served(basis, devices),
        planes=1,
        tiers=tree.tiers,
        units=tree.leaves if tree.tiers > 1 else 0,
        radix=base.count,
        leaf_switches=tree.leaves,
        spine_switches=tree.spines,
        core_switches=tree.cores,
        endpoints=parts,
        parts_per_port=whole // base.count,
        capacity=most * (whole // base.count),
        uplinks_per_leaf=up,
        system_links=sum(ports for _, ports in by_group),
        leaf_spine_links=tree.leaf_spine_links,
        spine_core_links=tree.spine_core_links,
    )
    _wire_devices(bill, switch, by_group, devices)
    _wire_switches(bill, fabric, base, tree)
    return [fabric]


def _served(basis: Basis, devices: list[Plugged]) -> frozenset[str]:
    """Return the GPU systems and storage among the devices."""
    skus = (device.sku for device in devices)
    return frozenset(sku for sku in skus if basis.items[sku].category in DECIDED)


def _by_group(switch: Item, devices: list[Plugged]) -> list[tuple[PortGroup, int]] | None:
    """Return each group in use with the ports it serves, None where a port is too fast."""
    ports: Counter[float] = Counter()
    groups: dict[float, PortGroup] = {}
    for device in devices:
        group = slowest(switch, device.speed_gbit_per_s)
        if group is None:
            return None
        groups[group.speed_gbit_per_s] = group
        ports[group.speed_gbit_per_s] += device.units * device.ports
    return [(groups[speed], count) for speed, count in ports.items()]


def _size(
    asked: EthernetFabric, radix: int, parts_per_port: int, parts: int
) -> tuple[Tree, int, int] | None:
    """Return the tree, the uplinks of a leaf, and the base ports there are for devices.

    A pair of leaves is joined by its uplinks.
    """
    down, up = split(radix, asked.oversubscription)
    if asked.min_switches == 1 and parts <= radix * parts_per_port:
        return Tree(1, leaves=1), 0, radix
    if asked.min_switches == 2 and parts <= 2 * down * parts_per_port:
        return Tree(1, leaves=2, leaf_spine_links=up), up, 2 * down
    if down == 0:
        return None
    leaves = max(asked.min_switches + 1, -(-parts // (down * parts_per_port)))
    tree = fat_tree(leaves, 1, radix, up)
    return None if tree is None else (tree, up, leaves * down)


def _wire_devices(
    bill: Bill, switch: Item, by_group: list[tuple[PortGroup, int]], devices: list[Plugged]
) -> None:
    for group, ports in by_group:
        bill.cables(group.link, ports)
        bill.switch_ends(group.link, ports)
    for device in devices:
        served_by = slowest(switch, device.speed_gbit_per_s)
        if served_by is not None:
            bill.system_ends(served_by.link, device.end, device.ports, device.units)


def _wire_switches(bill: Bill, fabric: Fabric, base: PortGroup, tree: Tree) -> None:
    bill.add(fabric.switch_sku, fabric.switches)
    for links in (fabric.leaf_spine_links, fabric.spine_core_links):
        bill.cables(base.link, links)
    bill.switch_ends(base.link, fabric.uplinks_per_leaf, fabric.leaf_switches)
    bill.switch_ends(base.link, tree.spine_ports, fabric.spine_switches)
    bill.switch_ends(base.link, tree.core_ports, fabric.core_switches)


def out_of_band(
    basis: Basis, asked: OutOfBand, devices: Iterable[Plugged], others: int, bill: Bill
) -> list[Fabric] | None:
    """Return the management switches, and add them and their cables to the bill.

    Args:
        basis: the catalogs.
        asked: what the problem says of them.
        devices: the devices with management ports.
        others: ports of switches and PDUs.
        bill: takes switches and cables.
    """
    switch, devices = basis.items[asked.switch], list(devices)
    group, top = slowest(switch), fastest(switch)
    if group is None or top is None or group.count <= asked.reserve_ports:
        return None
    if any(device.speed_gbit_per_s > top.speed_gbit_per_s for device in devices):
        return None
    ports = sum(device.units * device.ports for device in devices) + others
    if ports == 0:
        return []
    switches = -(-ports // (group.count - asked.reserve_ports))
    bill.add(asked.switch, switches)
    if group.link is not None:
        bill.add(group.link.cable, ports)
    return [
        Fabric(
            network="out_of_band",
            switch_sku=asked.switch,
            serves=_served(basis, devices),
            planes=1,
            tiers=1,
            units=0,
            radix=group.count,
            leaf_switches=switches,
            spine_switches=0,
            core_switches=0,
            endpoints=ports,
            parts_per_port=1,
            capacity=switches * (group.count - asked.reserve_ports),
            uplinks_per_leaf=0,
            system_links=ports,
            leaf_spine_links=0,
            spine_core_links=0,
        )
    ]


def oob_uplinks(basis: Basis, asked: OutOfBand, switches: int) -> Plugged | None:
    """Return the OOB switches as devices of the in-band fabric."""
    top = fastest(basis.items[asked.switch])
    if top is None or switches == 0 or asked.uplinks == 0:
        return None
    end = top.link.switch_end if top.link else None
    return Plugged(asked.switch, switches, asked.uplinks, top.speed_gbit_per_s, end)
