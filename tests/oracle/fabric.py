"""Fabrics: fat trees, and what they are made of."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import NamedTuple

from planner.schema.catalog import Item, Link, LinkEnd, Port, PortGroup
from planner.schema.problem import ComputeFabric, EthernetFabric, Network
from planner.verifier.basis import Basis
from planner.verifier.fabric import Devices, Plug, by_speed, compute_leaves, plug_of
from tests.oracle.facility import SLIVER, ceil


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


class Design(NamedTuple):
    """The compute fabric a GPU type belongs to; equal designs are one fabric."""

    switch: str
    group: PortGroup
    ports: int
    rails: int
    rail_group: int | None = None


def design(item: Item, basis: Basis) -> Design | None:
    """Return the design of a GPU type: the first switch whose protocol and speed fit."""
    wanted, plug = basis.network.compute, plug_of(basis, item.id)
    for name in wanted.switches if wanted and plug else ():
        group = plug.group_of(basis.items[name]) if plug else None
        if group is not None and plug is not None:
            return Design(name, group, plug.ports, plug.rails, plug.rail_group)
    return None


def system_end(item: Item, wanted: ComputeFabric, plan: Design) -> LinkEnd | None:
    """Return the transceiver at a GPU type's compute ports: its own, or the switch's usual one."""
    port = item.ports.compute
    own = None if port is None else port.transceiver
    if port is not None and port.split is not None and port.split.into == wanted.planes_allowed[0]:
        own = port.split.transceiver
    return own or (plan.group.link.system_end if plan.group.link else None)


class Parts(NamedTuple):
    """What a fabric needs: its switches, and all its items by id."""

    switches: int
    counts: Mapping[str, int]


def compute_fabric(plan: Design, wanted: ComputeFabric, systems: int) -> Parts | None:
    """Return the compute fabric of so many systems of one design, but for transceivers of these;
    None where there is none."""
    planes, radix = wanted.planes_allowed[0], plan.group.count
    plug = Plug(plan.ports, 0.0, plan.rails, plan.rail_group, None)
    try:
        leaves, down, up, units, _ = compute_leaves(wanted, plug, radix, systems)
    except ValueError:
        return None
    if not units:
        tree: Tree | None = Tree(1, 0, 0, 0, 0, 0, 0)
    elif plan.rail_group is None:
        tree = fat_tree(plan.rails, units, radix, wanted.oversubscriptions[0])
    else:
        tree = _rail_groups(leaves, units * plan.rails, radix, up, alone=units == 1)
    if tree is None:
        return None
    links = (plan.ports * systems + wanted.manager.ports, planes * tree.leaf_spine_links)
    counts = Counter({plan.switch: planes * tree.switches})
    _join(counts, plan.group, (*links, planes * tree.spine_core_links))
    _fit(counts, plan.group, switch_ends(tree, down, up), planes)
    return Parts(planes * tree.switches, counts)


def _rail_groups(leaves: int, groups: int, radix: int, up: int, *, alone: bool) -> Tree | None:
    """Return the tree of a plane of rail groups; one uplink cannot reach two spines."""
    size, links = leaves // groups, leaves * up
    if up > 1 and alone and leaves <= radix:
        fit = [n for n in divisors(up) if n >= 2 and n * radix >= links]
        return Tree(leaves, fit[0], 0, links, 0, links // fit[0], 0) if fit else None
    if up == 1 or size > radix // 2:
        return None
    return _three_tiers(leaves, groups, size, radix, up)


def _join(counts: Counter[str], group: PortGroup, links: Iterable[int]) -> None:
    for amount in links if group.link is not None else ():
        assert group.link is not None
        counts[group.link.cable] += math.ceil(amount / group.link.links)


def _fit(counts: Counter[str], group: PortGroup, ends: Counter[int], planes: int) -> None:
    end = group.link.switch_end if group.link else None
    for used, count in ends.items() if end is not None else ():
        assert end is not None
        counts[end.item] += planes * count * math.ceil(used / end.links)


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
    item: Item

    @property
    def groups(self) -> list[PortGroup]:
        """The ways to use the front panel, the fastest, which joins switches, last."""
        return by_speed(self.item)

    @property
    def parts_per_panel(self) -> int:
        """The parts of a whole front panel: a multiple of every group's count."""
        return math.lcm(*(group.count for group in self.groups))

    def served(self, port: Port) -> tuple[PortGroup, Link | None] | None:
        """Return the ports that a device's ports use, and their link."""
        speed, protocol = port.speed_gbit_per_s, port.protocol
        return Devices("", 1, 1, speed, form=port.form, protocol=protocol).served(self.item)

    def parts(self, port: Port) -> int:
        """Return the parts that a device's ports take."""
        found = self.served(port)
        if found is None:
            raise ValueError(f"no port of {self.wanted.switch} is fast enough")
        return port.count * self.parts_per_panel // found[0].count

    def core(self, parts: int) -> Parts | None:
        """Return switches and what joins them for so many parts of ports in all."""
        if parts == 0:
            return Parts(0, {})
        radix, least = self.groups[-1].count, self.wanted.min_switches
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
        counts, base = Counter({self.wanted.switch: tree.switches}), self.groups[-1]
        _join(counts, base, (tree.leaf_spine_links, tree.spine_core_links))
        _fit(counts, base, switch_ends(tree, 0, uplinks), 1)
        return Parts(tree.switches, counts)
