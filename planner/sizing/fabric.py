"""Fat trees: switches and links of each size of a fabric, and the two ports of each link.

Switches of a tier and their ports are numbered from 0. A leaf has its ports to systems first, then
its uplinks.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

ROUNDING = 1e-9


@dataclass(frozen=True)
class Tree:
    """Switches and links of one fabric (of one plane).

    Links run between switches only; those to devices are not counted here. Ports are those in use,
    per switch. In a tree of unequal groups they are those of a full group. ``groups`` are those of
    leaves with spines of their own, in three tiers.
    """

    tiers: int
    leaves: int
    spines: int = 0
    cores: int = 0
    uplinks_per_leaf: int = 0
    leaf_spine_links: int = 0
    spine_core_links: int = 0
    spine_down_ports: int = 0
    spine_up_ports: int = 0
    core_ports: int = 0
    groups: int = 0


@dataclass(frozen=True)
class ComputeDesign:
    """A compute fabric to be sized; ports and manager are those of one plane.

    ``rail_group`` systems make up a unit whose leaves on a rail have spines of their own, and no
    system is split between leaves of a rail; 0 for a tree without such groups.
    """

    radix: int
    oversubscription: float
    ports_per_system: int
    rails: int = 1
    planes: int = 1
    manager_slots: int = 0
    manager_ports: int = 0
    rail_group: int = 0


@dataclass(frozen=True)
class PortDesign:
    """A storage or in-band fabric to be sized, for devices of mixed speeds.

    ``radix`` counts base ports, each worth ``parts_per_port`` parts; up to ``min_switches`` leaves
    stand without spines.
    """

    radix: int
    parts_per_port: int
    oversubscription: float
    min_switches: int = 2


class FabricSize(NamedTuple):
    """One size a fabric can have: the most systems, or port parts, that it holds.

    ``units`` of leaves are 0 where there are no spines. The tree is that of one plane; in a pair
    without spines ``leaf_spine_links`` are the links that join the two. ``leaf_down_ports`` are
    those of each leaf that are fitted for systems (compute).
    """

    capacity: int
    units: int
    tree: Tree
    leaf_down_ports: int = 0


def split_ports(radix: int, oversubscription: float) -> tuple[int, int]:
    """Ports of a leaf down to devices and up to spines.

    Args:
        oversubscription: ports down per port up, 1 for none.
    """
    # A ratio such as 5/3 is no exact float: 64/(1 + 5/3) must not become 25 uplinks.
    up = math.ceil(radix / (1.0 + oversubscription) * (1.0 - ROUNDING))
    return radix - up, up


@lru_cache(maxsize=65_536)
def fat_tree(leaves_per_rail: int, rails: int, radix: int, up: int) -> Tree | None:
    """The fat tree over all leaves, or None where three tiers are not enough.

    Every leaf has the same number of links to every spine of its group, every spine to every core
    it is joined to, and every core to every group.

    Args:
        leaves_per_rail: leaves of each rail, of all leaves without rails.
        rails: rails, 1 for none; a group holds whole rails as long as one fits.
        radix: ports of every switch.
        up: uplinks of a leaf.
    """
    leaves = leaves_per_rail * rails
    if leaves > radix:
        return _three_tiers(leaves_per_rail, rails, radix, up)
    spines = _divisor_from(up, max(2, _ceil_div(leaves * up, radix)))
    if spines is None:  # a single uplink cannot reach two spines
        return None
    return Tree(
        tiers=2,
        leaves=leaves,
        spines=spines,
        uplinks_per_leaf=up,
        leaf_spine_links=leaves * up,
        spine_down_ports=leaves * up // spines,
    )


def _three_tiers(leaves_per_rail: int, rails: int, radix: int, up: int) -> Tree | None:
    """The tree with the fewest spines and cores; of equals, the one with fewest groups.

    Groupings that have as many spines as the best has switches are not looked at further.
    """
    best: tuple[int, int] | None = None
    tree = None
    for groups, group_leaves in _groupings(leaves_per_rail, rails, radix // 2):
        spines = _divisor_from(up, _ceil_div(group_leaves * up, radix // 2))
        if best is not None and spines is not None and groups * spines >= best[0]:
            continue
        found = _grouped(leaves_per_rail * rails, groups, group_leaves, radix, up)
        if found is not None:
            rank = found.spines + found.cores, groups
            if best is None or rank < best:
                best, tree = rank, found
    return tree


def _grouped(leaves: int, groups: int, group_leaves: int, radix: int, up: int) -> Tree | None:
    spines = _divisor_from(up, _ceil_div(group_leaves * up, radix // 2))
    if spines is None:  # more leaves than a spine has ports down
        return None
    spine_up = group_leaves * up // spines
    cores = _cores(groups, spines, spine_up, radix)
    if cores is None:
        return None
    links = groups * spines * spine_up
    return Tree(
        tiers=3,
        leaves=leaves,
        spines=groups * spines,
        cores=cores,
        uplinks_per_leaf=up,
        leaf_spine_links=leaves * up,
        spine_core_links=links,
        spine_down_ports=spine_up,  # a spine is not oversubscribed
        spine_up_ports=spine_up,
        core_ports=links // cores,
        groups=groups,
    )


def _groupings(leaves_per_rail: int, rails: int, down: int) -> list[tuple[int, int]]:
    """The ways to put leaves below common spines: groups, and the leaves of each.

    Whole rails to a group, or each rail in equal shares.
    """
    together = [q for q in _divisors(rails) if q * leaves_per_rail <= down]
    found = [(rails // q, q * leaves_per_rail) for q in reversed(together)]
    shares = (_ceil_div(leaves_per_rail, most) for most in range(down, 0, -1))
    each = dict.fromkeys(h for h in shares if h > 1)
    return found + [(rails * h, _ceil_div(leaves_per_rail, h)) for h in each]


def _cores(groups: int, spines: int, spine_up: int, radix: int) -> int | None:
    """The fewest cores, or None where no core has a port for every group.

    A core is joined to ``b`` spines of every group, by one ``c``-th of the uplinks of each, which
    takes ``groups * b * spine_up / c`` of its ports; there are ``spines / b * c`` such cores.
    """
    fewest: int | None = None
    for b in _divisors(spines):
        c = _divisor_from(spine_up, _ceil_div(groups * b * spine_up, radix))
        if c is None:
            break  # more spines per core need more ports still
        cores = spines // b * c
        fewest = cores if fewest is None else min(fewest, cores)
    return fewest


@lru_cache(maxsize=256)
def compute_sizes(design: ComputeDesign, most: int) -> tuple[FabricSize, ...]:
    """Every size of a compute fabric for 1 to ``most`` systems, by rising capacity.

    The last holds ``most`` or is the largest there is. A size that holds no more systems than a
    smaller one is left out.
    """
    return tuple(_rising(_compute_trees(design), most))


def _compute_trees(design: ComputeDesign) -> Iterator[FabricSize]:
    """A fabric of one switch, then trees of 1, 2, 3, ... units up to the largest."""
    down, up = split_ports(design.radix, design.oversubscription)
    alone = (design.radix - design.manager_ports) // design.ports_per_system
    yield FabricSize(alone, 0, Tree(tiers=1, leaves=1), design.radix)
    if design.rail_group:
        yield from _rail_groups(design, down)
        return
    per_unit = down * design.rails // design.ports_per_system
    units = 0
    while per_unit > 0:
        units += 1
        tree = fat_tree(units, design.rails, design.radix, up)
        if tree is None:
            return
        yield FabricSize(per_unit * units - design.manager_slots, units, tree, down)


def _rail_groups(design: ComputeDesign, down: int) -> Iterator[FabricSize]:
    """Yield units of rail groups: one below spines that it has alone, several below cores.

    A leaf takes as many whole systems of its rail as it can, and has uplinks for them alone. The
    manager needs no system's place where the leaves of one unit have ports left for it.
    """
    radix = design.radix
    on_rail = design.ports_per_system // design.rails
    per_leaf = min(design.rail_group, down // on_rail)
    used = per_leaf * on_rail
    up = math.ceil(used / design.oversubscription * (1.0 - ROUNDING))
    if up < 2:  # nothing fits, or a single uplink cannot reach two spines
        return
    group_leaves = _ceil_div(design.rail_group, per_leaf)
    unit_leaves = design.rails * group_leaves
    left = unit_leaves * (radix - used - up)
    slots = 0 if design.manager_ports <= left else design.manager_slots
    units = 0
    while True:
        units += 1
        tree: Tree | None
        if units == 1 and unit_leaves <= radix:
            tree = fat_tree(unit_leaves, 1, radix, up)
        else:
            tree = _grouped(units * unit_leaves, units * design.rails, group_leaves, radix, up)
        if tree is None:
            return
        yield FabricSize(units * design.rail_group - slots, units, tree, used)


@lru_cache(maxsize=256)
def port_sizes(design: PortDesign, most_parts: int) -> tuple[FabricSize, ...]:
    """Every size of a storage or in-band fabric for 1 to ``most_parts`` port parts.

    The last holds ``most_parts`` or is the largest there is. A size that holds no more than a
    smaller one is left out.
    """
    return tuple(_rising(_port_candidates(design), most_parts))


def _port_candidates(design: PortDesign) -> Iterator[FabricSize]:
    down, up = split_ports(design.radix, design.oversubscription)
    if design.min_switches == 1:
        yield FabricSize(design.radix * design.parts_per_port, 0, Tree(tiers=1, leaves=1))
    else:
        yield FabricSize(2 * down * design.parts_per_port, 0, _pair(up))
    leaves = design.min_switches
    while down > 0:
        leaves += 1
        tree = fat_tree(leaves, 1, design.radix, up)
        if tree is None:
            return
        yield FabricSize(leaves * down * design.parts_per_port, leaves, tree)


def _pair(up: int) -> Tree:
    """Two leaves without spines, joined by as many links as one has uplinks."""
    return Tree(tiers=1, leaves=2, uplinks_per_leaf=up, leaf_spine_links=up)


def smallest_size(sizes: Sequence[FabricSize], amount: int) -> FabricSize | None:
    """The smallest size for a number of systems or parts; None where there are none.

    Raises:
        ValueError: even the largest size is too small.
    """
    if amount <= 0:
        return None
    index = bisect_left(sizes, amount, key=lambda size: size.capacity)
    if index == len(sizes):
        largest = sizes[-1].capacity if sizes else 0
        raise ValueError(f"the fabric holds at most {largest}, not {amount}")
    return sizes[index]


def _rising(candidates: Iterator[FabricSize], most: int) -> Iterator[FabricSize]:
    """Yield the sizes that hold more than all before, up to the first that holds ``most``."""
    held = 0
    for size in candidates:
        if held >= most:
            return
        if size.capacity > held:
            held = size.capacity
            yield size


@lru_cache(maxsize=4_096)
def _divisors(number: int) -> tuple[int, ...]:
    """All divisors, rising."""
    low = [n for n in range(1, math.isqrt(number) + 1) if number % n == 0]
    return tuple(low + [number // n for n in reversed(low) if n * n != number])


def _divisor_from(number: int, least: int) -> int | None:
    """The smallest divisor that is at least ``least``, or None."""
    divisors = _divisors(number)
    index = bisect_left(divisors, least)
    return divisors[index] if index < len(divisors) else None


def _ceil_div(number: int, by: int) -> int:
    return -(-number // by)


Tier = Literal["leaf", "spine", "core"]
"""A switch's tier."""


class SwitchPort(NamedTuple):
    """A port of a switch: its tier, its number in the tier, the port's number."""

    tier: Tier
    switch: int
    port: int


Link = tuple[SwitchPort, SwitchPort]
"""The lower and the upper end of a link between switches."""


def system_port(design: ComputeDesign, size: FabricSize, system: int, port: int) -> SwitchPort:
    """Switch port of a port of a system, in one plane.

    Neighbouring ports of a system are on different rails.
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
    """Ports of leaves in one plane that neither systems nor uplinks use.

    Args:
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
    """The group of a leaf and its place there: whole rails together, or a rail in shares."""
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
