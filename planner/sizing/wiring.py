"""Which port of which switch each link of a fabric takes: from systems to leaves, and upwards.

The counts are those of `planner/sizing/fabric.py`; here every link has its two ends. Switches of a
tier and their ports are numbered from 0. A leaf has its ports to systems first, then its uplinks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from planner.sizing.fabric import ComputeDesign, FabricSize, Tree

Tier = Literal["leaf", "spine", "core"]
"""A switch's tier."""


@dataclass(frozen=True)
class SwitchPort:
    """A port of a switch: its tier, its number in the tier, the port's number."""

    tier: Tier
    switch: int
    port: int


Link = tuple[SwitchPort, SwitchPort]
"""The lower and the upper end of a link between switches."""


def system_port(design: ComputeDesign, size: FabricSize, system: int, port: int) -> SwitchPort:
    """Return where a port of a system is plugged in, in one plane.

    Args:
        design: what the fabric was sized for.
        size: the size it has.
        system: number of the system.
        port: number of its port in the plane; neighbouring ports are on different rails.
    """
    tree, number = size.tree, system * design.ports_per_system + port
    if size.units == 0:  # a switch alone, or a pair that shares every system
        return SwitchPort("leaf", number % tree.leaves, number // tree.leaves)
    on_rail = design.ports_per_system // design.rails
    rail, place = port % design.rails, port // design.rails
    per_leaf = size.leaf_down_ports // on_rail
    if not design.rail_group:
        unit, within = divmod(system, per_leaf)
        return SwitchPort("leaf", rail * size.units + unit, within * on_rail + place)
    unit, within = divmod(system, design.rail_group)
    group_leaves = tree.leaves // (size.units * design.rails)
    leaf = (unit * design.rails + rail) * group_leaves + within // per_leaf
    return SwitchPort("leaf", leaf, within % per_leaf * on_rail + place)


def free_ports(
    design: ComputeDesign, size: FabricSize, systems: int, count: int
) -> tuple[SwitchPort, ...]:
    """Return ports of leaves in one plane that neither systems nor uplinks use.

    Args:
        design: what the fabric was sized for.
        size: the size it has.
        systems: systems in it, numbered from 0.
        count: how many ports are wanted, as for the fabric manager.

    Raises:
        ValueError: there are fewer.
    """
    ports = range(design.ports_per_system)
    used = {system_port(design, size, n, port) for n in range(systems) for port in ports}
    up = size.tree.uplinks_per_leaf
    found: list[SwitchPort] = []
    for leaf in reversed(range(size.tree.leaves)):
        reserved = range(size.leaf_down_ports, size.leaf_down_ports + up)
        for port in reversed(range(design.radix)):
            place = SwitchPort("leaf", leaf, port)
            if port not in reserved and place not in used and len(found) < count:
                found.append(place)
    if len(found) < count:
        raise ValueError(f"{len(found)} ports are free, not {count}")
    return tuple(found)


def switch_links(tree: Tree, leaf_down_ports: int, leaves_per_rail: int) -> Iterator[Link]:
    """Yield the links between the switches of one plane.

    Args:
        tree: the switches.
        leaf_down_ports: ports of each leaf before its uplinks.
        leaves_per_rail: leaves of each rail, one rail after the other; of rail groups the leaves of
            a group.
    """
    up = tree.uplinks_per_leaf
    if tree.tiers == 1:
        for link in range(tree.leaf_spine_links):
            port = leaf_down_ports + link
            yield SwitchPort("leaf", 0, port), SwitchPort("leaf", 1, port)
        return
    groups = tree.groups or 1
    spines = tree.spines // groups
    each = up // spines
    group_leaves = tree.spine_down_ports * spines // up
    for leaf in range(tree.leaves):
        group, place = _group(leaf, group_leaves, leaves_per_rail)
        for link in range(up):
            spine, lane = divmod(link, each)
            upper = SwitchPort("spine", group * spines + spine, place * each + lane)
            yield SwitchPort("leaf", leaf, leaf_down_ports + link), upper
    if tree.cores:
        yield from _core_links(tree, groups, spines)


def _group(leaf: int, group_leaves: int, leaves_per_rail: int) -> tuple[int, int]:
    """Return the group of a leaf and its place there: whole rails together, or a rail in shares."""
    if leaves_per_rail <= group_leaves:
        return divmod(leaf, group_leaves)
    rail, place = divmod(leaf, leaves_per_rail)
    shares = -(-leaves_per_rail // group_leaves)
    share, within = divmod(place, group_leaves)
    return rail * shares + share, within


def _core_links(tree: Tree, groups: int, spines: int) -> Iterator[Link]:
    """Yield links of spines to cores: ``together`` spines of a group share ``cores`` cores."""
    up = tree.spine_up_ports
    together, cores = next(
        (b, c)
        for b in range(1, spines + 1)
        if spines % b == 0
        for c in range(1, up + 1)
        if up % c == 0 and spines // b * c == tree.cores and groups * b * up == tree.core_ports * c
    )
    each = up // cores
    for group in range(groups):
        for spine in range(spines):
            bundle, place = divmod(spine, together)
            for link in range(up):
                core, lane = divmod(link, each)
                port = (group * together + place) * each + lane
                lower = SwitchPort("spine", group * spines + spine, tree.spine_down_ports + link)
                yield lower, SwitchPort("core", bundle * cores + core, port)
