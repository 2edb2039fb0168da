"""Fabrics: fat trees, and what they are made of."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product

from planner.schema.catalog import (
    Item,
    LinkEnd,
    Port,
    PortGroup,
    Switch,
)
from planner.schema.problem import ComputeFabric, EthernetFabric, Network
from tests.oracle.facility import SLIVER, Catalog, ceil


@dataclass(frozen=True)
class Tree:
    """Switches by tier, links between tiers, and the ports in use of one spine and one core."""

    leaves: int
    spines: int
    cores: int
    leaf_spine_links: int
    spine_core_links: int
    spine_ports: int
    core_ports: int

    @property
    def upper(self) -> int:
        """Spines and cores."""
        return self.spines + self.cores

    @property
    def switches(self) -> int:
        """All switches."""
        return self.leaves + self.spines + self.cores


def divisors(number: int) -> list[int]:
    """Return all divisors, rising."""
    return [n for n in range(1, number + 1) if number % n == 0]


def split_ports(radix: int, oversubscription: float) -> tuple[int, int]:
    """Return a leaf's downlinks and uplinks."""
    uplinks = ceil(radix / (1.0 + oversubscription))
    return radix - uplinks, uplinks


@cache
def fat_tree(rails: int, per_rail: int, radix: int, oversubscription: float) -> Tree | None:
    """Return the tree over ``per_rail`` leaves of each rail, None where three tiers cannot be."""
    _, uplinks = split_ports(radix, oversubscription)
    leaves = rails * per_rail
    links = leaves * uplinks
    if leaves <= radix:
        enough = max(2, math.ceil(links / radix))
        spines = next((n for n in divisors(uplinks) if n >= enough), None)
        if spines is None:
            return None
        return Tree(leaves, spines, 0, links, 0, links // spines, 0)
    down = radix // 2
    shapes = [(rails // q, q * per_rail) for q in divisors(rails) if q * per_rail <= down]
    # A rail in parts, of which no two are as large with another number of them.
    parts = {math.ceil(per_rail / n): n for n in range(per_rail, 1, -1)}
    shapes += [(rails * n, size) for size, n in parts.items() if size <= down]
    best = None
    for groups, size in sorted(shapes):
        tree = _three_tiers(leaves, groups, size, radix, uplinks)
        fewer = best is None or (tree is not None and tree.upper < best.upper)
        best = tree if tree is not None and fewer else best
    return best


def _three_tiers(leaves: int, groups: int, size: int, radix: int, uplinks: int) -> Tree | None:
    spines = next(n for n in divisors(uplinks) if n >= math.ceil(size * uplinks / (radix // 2)))
    up = size * uplinks // spines
    layers = [
        (spines // b * c, groups * b * up // c)
        for b in divisors(spines)
        for c in divisors(up)
        if groups * b * up <= radix * c
    ]
    if not layers:
        return None
    cores, core_ports = min(layers)
    total = groups * spines
    return Tree(leaves, total, cores, leaves * uplinks, total * up, 2 * up, core_ports)


def group_for(switch: Switch, speed_gbit_per_s: float, form: str | None = None) -> PortGroup | None:
    """Return the slowest port group that is fast enough, of those for a form if there are any.

    A group whose modules go no lower than a speed has none for what is slower.
    """
    special = any(link.form == form for group in switch.ports for link in group.forms)
    fast = [
        g
        for g in switch.ports
        if g.speed_gbit_per_s >= speed_gbit_per_s * (1.0 - SLIVER)
        and (g.slowest_gbit_per_s or 0.0) <= speed_gbit_per_s * (1.0 + SLIVER)
        and (not special or any(link.form == form for link in g.forms))
    ]
    return min(fast, key=lambda g: g.speed_gbit_per_s, default=None)


@dataclass(frozen=True)
class Design:
    """The compute fabric a GPU type belongs to; equal designs are one fabric."""

    switch: str
    group: PortGroup
    ports: int
    rails: int
    rail_group: int = 0


def built(network: Network) -> list[Network]:
    """Return a network for each compute fabric that may be built: the job's switch stands first,
    the others by name, for what the job does not use and its switch does not fit."""
    wanted = network.compute
    if wanted is None:
        return [network]
    found = []
    for switch in wanted.switches:
        others = sorted(set(wanted.switches) - {switch})
        for planes, ratio in product(wanted.planes_allowed, wanted.oversubscriptions):
            one = {"switches": (switch, *others), "planes": planes, "oversubscription": ratio}
            found.append(network.model_copy(update={"compute": wanted.model_copy(update=one)}))
    return found


def planes_of(wanted: ComputeFabric) -> int:
    """Return the planes of a fabric, of which one number is given."""
    assert isinstance(wanted.planes, int)
    return wanted.planes


def ratio_of(wanted: ComputeFabric) -> float:
    """Return the ratio of a fabric, of which one is given."""
    assert isinstance(wanted.oversubscription, float)
    return wanted.oversubscription


def design(item: Item, wanted: ComputeFabric, catalog: Catalog) -> Design | None:
    """Return the design of a GPU type: the first switch whose protocol and speed fit."""
    port, planes = item.ports.compute, planes_of(wanted)
    if port is None:
        return None
    pieces = planes if port.split is not None and port.split.into == planes else 1
    count = port.count * pieces
    if count % (planes * port.rails):
        return None
    for name in wanted.switches:
        switch = switch_of(catalog[name])
        group = group_for(switch, port.speed_gbit_per_s / pieces)
        if port.protocol in (None, switch.protocol) and group is not None:
            return Design(name, group, count, port.rails, port.rail_group or 0)
    return None


def system_end(item: Item, wanted: ComputeFabric, plan: Design) -> LinkEnd | None:
    """Return the transceiver at a GPU type's compute ports: its own, or the switch's usual one."""
    port = item.ports.compute
    own = None if port is None else port.transceiver
    if port is not None and port.split is not None and port.split.into == planes_of(wanted):
        own = port.split.transceiver
    return own or (plan.group.link.system_end if plan.group.link else None)


def switch_of(item: Item) -> Switch:
    """Return what a switch connects."""
    if item.switch is None:
        raise ValueError(f"{item.id} is no switch")
    return item.switch


@dataclass(frozen=True)
class Parts:
    """What a fabric needs: its switches, and all its items by id."""

    switches: int
    counts: Mapping[str, int]


def compute_fabric(
    plan: Design, wanted: ComputeFabric, systems: int, ends: bool = True
) -> Parts | None:
    """Return the compute fabric of so many systems of one design, None where there is none.

    With ``ends`` the systems have the switch's usual transceivers, else none.
    """
    planes, laid = planes_of(wanted), _plane(plan, wanted, systems)
    if laid is None:
        return None
    tree, transceivers = laid
    counts = Counter({plan.switch: planes * tree.switches})
    link = plan.group.link
    if link is not None:
        links = (plan.ports * systems + wanted.manager.ports, planes * tree.leaf_spine_links)
        for amount in (*links, planes * tree.spine_core_links):
            counts[link.cable] += math.ceil(amount / link.links)
        if link.system_end is not None and ends:
            each = math.ceil(plan.ports / link.system_end.links)
            counts[link.system_end.item] += each * systems
        if link.switch_end is not None:
            for used, count in transceivers.items():
                each = math.ceil(used / link.switch_end.links)
                counts[link.switch_end.item] += planes * count * each
    return Parts(planes * tree.switches, counts)


def _plane(
    plan: Design, wanted: ComputeFabric, systems: int
) -> tuple[Tree, Mapping[int, int]] | None:
    """Return the tree of one plane, and its transceivers at switches."""
    radix, ports = plan.group.count, plan.ports // planes_of(wanted)
    down, uplinks = split_ports(radix, ratio_of(wanted))
    if systems <= (radix - wanted.manager.ports) // ports:
        return Tree(1, 0, 0, 0, 0, 0, 0), {radix: 1}
    if plan.rail_group:
        return _rail_groups(plan, wanted, systems)
    per_unit = down * plan.rails // ports
    if per_unit == 0:
        return None
    units = math.ceil((systems + wanted.manager.slots) / per_unit)
    tree = fat_tree(plan.rails, units, radix, ratio_of(wanted))
    return None if tree is None else (tree, switch_ends(tree, down, uplinks))


def _rail_groups(
    plan: Design, wanted: ComputeFabric, systems: int
) -> tuple[Tree, Mapping[int, int]] | None:
    """Return the tree of a plane of rail groups, and its transceivers at switches."""
    radix, each = plan.group.count, plan.ports // planes_of(wanted) // plan.rails
    ratio = ratio_of(wanted)
    held = [n for n in range(1, plan.rail_group + 1) if n * each <= split_ports(radix, ratio)[0]]
    if not held:
        return None
    used = held[-1] * each
    uplinks = ceil(used / ratio)
    size = math.ceil(plan.rail_group / held[-1])
    free = (radix - used - uplinks) * size * plan.rails
    slots = 0 if free >= wanted.manager.ports else wanted.manager.slots
    units = math.ceil((systems + slots) / plan.rail_group)
    leaves = units * plan.rails * size
    if uplinks == 1:
        return None  # one uplink cannot reach two spines
    if units == 1 and leaves <= radix:
        links = leaves * uplinks
        fit = [n for n in divisors(uplinks) if n >= 2 and n * radix >= links]
        tree = Tree(leaves, fit[0], 0, links, 0, links // fit[0], 0) if fit else None
    elif size > radix // 2:
        tree = None
    else:
        tree = _three_tiers(leaves, units * plan.rails, size, radix, uplinks)
    return None if tree is None else (tree, switch_ends(tree, used, uplinks))


def switch_ends(tree: Tree, down: int, uplinks: int) -> Counter[int]:
    """Return how often so many ports at a switch need transceivers together."""
    ends: Counter[int] = Counter()
    pairs = ((down, tree.leaves), (uplinks, tree.leaves), (tree.spine_ports, tree.spines))
    for used, count in (*pairs, (tree.core_ports, tree.cores)):
        ends[used] += count
    return ends


@dataclass(frozen=True)
class Edge:
    """A storage or in-band fabric: its switch and how its ports count."""

    wanted: EthernetFabric
    switch: Switch

    @property
    def base(self) -> PortGroup:
        """The fastest group, which leaves and spines are joined by."""
        return max(self.switch.ports, key=lambda g: g.speed_gbit_per_s)

    @property
    def parts_per_panel(self) -> int:
        """The parts of a whole front panel: a multiple of every group's count."""
        return math.lcm(*(group.count for group in self.switch.ports))

    def parts(self, port: Port | None) -> int:
        """Return the parts that a device's ports take."""
        if port is None:
            return 0
        group = group_for(self.switch, port.speed_gbit_per_s, port.form)
        if group is None:
            raise ValueError(f"no port of {self.wanted.switch} is fast enough")
        return port.count * self.parts_per_panel // group.count

    def carries(self, port: Port | None) -> bool:
        """Return whether some group is fast enough, of a switch of the port's protocol."""
        if port is None:
            return True
        if port.protocol is not None and port.protocol != self.switch.protocol:
            return False
        return group_for(self.switch, port.speed_gbit_per_s, port.form) is not None

    def core(self, parts: int) -> Parts | None:
        """Return switches and what joins them for so many parts of ports in all."""
        if parts == 0:
            return Parts(0, {})
        radix, least = self.base.count, self.wanted.min_switches
        down, uplinks = split_ports(radix, self.wanted.oversubscription)
        # In base ports, of which a front panel has as many as the radix.
        ports = math.ceil(parts * radix / self.parts_per_panel - SLIVER)
        if least == 1 and ports <= radix:
            return Parts(1, {self.wanted.switch: 1})
        if least == 2 and ports <= 2 * down:
            pair = Tree(2, 0, 0, uplinks, 0, 0, 0)
            return self._joined(pair, uplinks)
        leaves = max(least + 1, math.ceil(ports / down)) if down else 0
        tree = fat_tree(1, leaves, radix, self.wanted.oversubscription) if down else None
        return None if tree is None else self._joined(tree, uplinks)

    def _joined(self, tree: Tree, uplinks: int) -> Parts:
        counts = Counter({self.wanted.switch: tree.switches})
        link = self.base.link
        if link is not None:
            for amount in (tree.leaf_spine_links, tree.spine_core_links):
                counts[link.cable] += math.ceil(amount / link.links)
            if link.switch_end is not None:
                for used, count in switch_ends(tree, 0, uplinks).items():
                    each = math.ceil(used / link.switch_end.links)
                    counts[link.switch_end.item] += count * each
        return Parts(tree.switches, counts)
