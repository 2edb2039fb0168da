"""What fabrics are made of: trees by even spread, the plugs of devices, units of each part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from planner.schema.catalog import Item, Link, LinkEnd, Port, PortGroup
from planner.schema.problem import ComputeFabric, EthernetFabric
from planner.verifier.basis import Basis, at_least, divisors


@dataclass(frozen=True)
class Tree:
    """Switches, links between tiers, and the ports in use of each spine and core.

    ``groups`` are those of leaves with spines of their own.
    """

    tiers: int
    leaves: int
    spines: int = 0
    cores: int = 0
    leaf_spine_links: int = 0
    spine_core_links: int = 0
    spine_ports: int = 0
    core_ports: int = 0
    groups: int = 1


@dataclass
class PartCounts:
    """Units by item, added up fabric by fabric; ``reaching`` names what parts of links are."""

    units: Counter[str] = field(default_factory=Counter)
    reaching: Callable[[str], str] = str

    def add(self, sku: str, count: int) -> None:
        """Add units of an item; none leave no trace."""
        if count > 0:
            self.units[sku] += count

    def cables(self, link: Link | None, links: int) -> None:
        """Add the cables of one kind that carry so many links."""
        if link is not None:
            self.add(self.reaching(link.cable), -(-links // link.links))

    def optics(self, end: LinkEnd | None, ports: int, devices: int = 1) -> None:
        """Add the transceivers of so many ports on each of ``devices``."""
        if end is not None:
            self.add(self.reaching(end.item), -(-ports // end.links) * devices)

    def switch_ends(self, link: Link | None, ports: int, devices: int = 1) -> None:
        """Add the transceivers at the switch end of links."""
        self.optics(link.switch_end if link else None, ports, devices)

    def system_ends(
        self, link: Link | None, own: LinkEnd | None, ports: int, devices: int = 1
    ) -> None:
        """Add the transceivers at the device end of links: its own, or the switch's usual."""
        self.optics(own or (link.system_end if link else None), ports, devices)


class Plug(NamedTuple):
    """What makes GPU types share a fabric: the switch, its group, ports and rails per system."""

    switch: str
    speed_gbit_per_s: float
    radix: int
    ports: int
    rails: int
    rail_group: int | None

    @property
    def order(self) -> tuple[str, float, int, int, int]:
        """In this order fabrics take the switches of a model."""
        return self.switch, self.speed_gbit_per_s, self.ports, self.rails, self.rail_group or 0


class Plugged(NamedTuple):
    """``units`` devices with so many ports of one speed each; no ``sku`` is the customer's edge.

    Switches of out-of-band management are told apart, for others may be of their model.
    """

    sku: str
    units: int
    ports: int
    speed_gbit_per_s: float
    end: LinkEnd | None = None
    form: str | None = None
    protocol: str | None = None
    manages: bool = False

    def served(self, switch: Item) -> tuple[PortGroup, Link | None] | None:
        """Return the ports of a switch that serve these, and what links the two."""
        if switch.switch is None or self.protocol not in (None, switch.switch.protocol):
            return None
        groups = switch.switch.ports
        fitting = {g.speed_gbit_per_s: f for g in groups for f in g.forms if f.form == self.form}
        fast = [
            group
            for group in groups
            if _linked(group, self.speed_gbit_per_s)
            and (not fitting or group.speed_gbit_per_s in fitting)
        ]
        if not fast:
            return None
        group = min(fast, key=lambda each: each.speed_gbit_per_s)
        return group, fitting.get(group.speed_gbit_per_s, group.link)


class Wiring(NamedTuple):
    """By what the links of a fabric run: the tree of one plane, and what is plugged into it.

    ``leaves`` are (number, ports to devices, uplinks) of each kind of leaf, those of storage last;
    of a compute fabric those of one plane. ``per_rail`` leaves in a row are of one rail (and unit,
    where systems are in rail groups). ``group`` are the ports of links between switches.
    """

    group: PortGroup
    tree: Tree
    leaves: tuple[tuple[int, int, int], ...]
    per_rail: int
    plug: Plug | None = None
    devices: tuple[Plugged, ...] = ()


@dataclass(frozen=True)
class Fabric:
    """One fabric as it follows from the counts, under the names the plan gives its figures.

    ``serves`` are the GPU systems and storage it connects; ``endpoints`` and ``capacity`` are in
    parts of a base port.
    """

    network: str
    switch_sku: str
    serves: frozenset[str]
    planes: int
    tiers: int
    units: int
    radix: int
    leaf_switches: int
    spine_switches: int
    core_switches: int
    endpoints: int
    parts_per_port: int
    capacity: int
    uplinks_per_leaf: int
    system_links: int
    leaf_spine_links: int
    spine_core_links: int
    wiring: Wiring | None = None

    @property
    def switches(self) -> int:
        """All its switches."""
        return self.leaf_switches + self.spine_switches + self.core_switches


def _linked(group: PortGroup, speed_gbit_per_s: float) -> bool:
    """Say whether a port comes up with a group's: neither too fast nor slower than it goes down."""
    return not (
        speed_gbit_per_s > group.speed_gbit_per_s
        or (group.slowest_gbit_per_s is not None and speed_gbit_per_s < group.slowest_gbit_per_s)
    )


def slowest(switch: Item, port_gbit_per_s: float | None = None) -> PortGroup | None:
    """Return the slowest group; of a port's speed, the slowest that such a port comes up with."""
    groups = () if switch.switch is None else switch.switch.ports
    if port_gbit_per_s is not None:
        groups = tuple(group for group in groups if _linked(group, port_gbit_per_s))
    return min(groups, key=lambda group: group.speed_gbit_per_s, default=None)


def fastest(switch: Item) -> PortGroup | None:
    """Return the fastest group of a switch."""
    groups = () if switch.switch is None else switch.switch.ports
    return max(groups, key=lambda group: group.speed_gbit_per_s, default=None)


def planes_of_port(asked: ComputeFabric, port: Port) -> int:
    """Return how many ports each port is: one on every plane where it can be split so, else 1."""
    return port.split.into if port.split and port.split.into == planes_of(asked) else 1


def planes_of(asked: ComputeFabric) -> int:
    """Return the planes of a fabric: of several allowed, those that the plan says stand first."""
    return asked.planes_allowed[0]


def oversubscription_of(asked: ComputeFabric | EthernetFabric) -> float:
    """Return the ratio of a fabric's leaves: of several allowed, the plan's stands first."""
    if isinstance(asked, ComputeFabric):
        return asked.oversubscriptions[0]
    return asked.oversubscription


def plug(basis: Basis, item: Item) -> Plug | None:
    """Return how a GPU type plugs into the compute fabric, None where it does not fit.

    Into the first switch that it fits: the plan's stands before the others, which are by name.
    """
    asked, port = basis.problem.network.compute, item.ports.compute
    if asked is None or port is None:
        return None
    lanes = planes_of_port(asked, port)
    ports, speed = lanes * port.count, port.speed_gbit_per_s / lanes
    if ports % (planes_of(asked) * port.rails):
        return None
    for name in asked.switches:
        switch = basis.items[name]
        fits = switch.switch and port.protocol in (None, switch.switch.protocol)
        group = slowest(switch, speed) if fits else None
        if group is not None:
            served = group.speed_gbit_per_s
            return Plug(name, served, group.count, ports, port.rails, port.rail_group)
    return None


def split(radix: int, oversubscription: float) -> tuple[int, int]:
    """Return a leaf's (downlinks, uplinks)."""
    up = at_least(radix / (1 + oversubscription))
    return radix - up, up


def fat_tree(leaves_per_rail: int, rails: int, radix: int, up: int) -> Tree | None:
    """Return the tree over so many leaves, None where there is none.

    Args:
        leaves_per_rail: leaves of one rail; all of them where there are no rails.
        rails: rails, each with leaves of its own; 1 for none.
        radix: ports of a switch.
        up: uplinks of a leaf.
    """
    leaves = rails * leaves_per_rail
    if leaves <= radix:
        return two_tiers(leaves, radix, up)
    trees = [
        (tree.spines + tree.cores, groups, tree)
        for groups, group_leaves in _leaf_groups(leaves_per_rail, rails, radix // 2)
        if (tree := three_tiers(leaves, groups, group_leaves, radix, up)) is not None
    ]
    return min(trees, key=lambda entry: entry[:2])[2] if trees else None


def three_tiers(leaves: int, groups: int, group_leaves: int, radix: int, up: int) -> Tree | None:
    """Return groups of leaves with spines of their own below cores, None where there is none."""
    enough = [s for s in divisors(up) if s >= -(-group_leaves * up // (radix // 2))]
    if not enough:
        return None
    spines = enough[0]
    spine_up = group_leaves * up // spines
    choices = [
        (spines // b * c, groups * b * spine_up // c)
        for b in divisors(spines)
        for c in divisors(spine_up)
        if groups * b * spine_up <= radix * c
    ]
    if not choices:
        return None
    cores, core_ports = min(choices)
    return Tree(
        tiers=3,
        leaves=leaves,
        spines=groups * spines,
        cores=cores,
        leaf_spine_links=leaves * up,
        spine_core_links=groups * spines * spine_up,
        spine_ports=2 * spine_up,
        core_ports=core_ports,
        groups=groups,
    )


def two_tiers(leaves: int, radix: int, up: int) -> Tree | None:
    """Return leaves below common spines, None where one uplink would have to reach two."""
    links = leaves * up
    enough = [s for s in divisors(up) if s >= max(2, -(-links // radix))]
    if not enough:
        return None
    spines = enough[0]
    return Tree(2, leaves, spines, leaf_spine_links=links, spine_ports=links // spines)


def _leaf_groups(leaves_per_rail: int, rails: int, down: int) -> list[tuple[int, int]]:
    """Return the ways to give leaves spines in common: groups, and the leaves of each.

    Whole rails together, or every rail in shares: of groups as large only the fewest count.
    """
    together = [q for q in divisors(rails) if q * leaves_per_rail <= down]
    found = [(rails // q, q * leaves_per_rail) for q in together]
    for most in range(1, min(down, leaves_per_rail - 1) + 1):
        per_rail = -(-leaves_per_rail // most)
        found.append((rails * per_rail, -(-leaves_per_rail // per_rail)))
    return list(set(found))
