"""Fabrics recomputed: leaves are the fewest that hold the ports, every link has its parts.

How leaves share spines is the plan's choice, and checked.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from planner.schema.catalog import (
    FormLink,
    Item,
    Link,
    LinkEnd,
    PortGroup,
)
from planner.schema.plan import Plan
from planner.schema.problem import ComputeFabric, EthernetFabric
from planner.verifier.basis import DECIDED, Basis, Findings, round_up

MANAGED = ("in_band", "converged", "out_of_band")
"""Networks whose own switches have their consoles on reserved ports."""
WASTE = 3.0
"""Most switches of a tier above leaves, as a multiple of the fewest by ports."""


class UnbuildableError(ValueError):
    """The stated counts and switches make no fabric."""


class Leaves(NamedTuple):
    """Leaves of one kind in a plane: their number, ports to devices and uplinks of each."""

    number: int
    down: int
    up: int


class Tree(NamedTuple):
    """Switches above the leaves of a plane, and links between spines and cores."""

    spines: int = 0
    cores: int = 0
    links: int = 0


class Devices(NamedTuple):
    """``units`` devices with ``ports`` of one speed each; the customer's edge has no ``sku``."""

    sku: str
    units: int
    ports: int
    speed: float
    end: LinkEnd | None = None
    form: str | None = None
    protocol: str | None = None

    def served(self, switch: Item) -> tuple[PortGroup, Link | None] | None:
        """Return the port group of a switch that serves these ports and its link, None if none."""
        if switch.switch is None or self.protocol not in (None, switch.switch.protocol):
            return None
        forms = {
            group.speed_gbit_per_s: link
            for group in switch.switch.ports
            for link in group.forms
            if link.form == self.form
        }
        groups = [group for group in switch.switch.ports if group.takes(self.speed)]
        groups = [g for g in groups if not forms or g.speed_gbit_per_s in forms]
        if not groups:
            return None
        group = min(groups, key=lambda each: each.speed_gbit_per_s)
        return group, forms.get(group.speed_gbit_per_s, group.link)


def name_of(network: str, switch: str, serves: Collection[str]) -> tuple[str, str]:
    """Return the name of a fabric, and the first GPU type of a compute one: these may share a kind
    of switch."""
    return f"fabrics.{network}.{switch}", min(serves, default="") if network == "compute" else ""


def split(radix: int, oversubscription: float) -> tuple[int, int]:
    """Return a leaf's (ports to devices, uplinks)."""
    up = round_up(radix / (1 + oversubscription))
    return radix - up, up


def by_speed(switch: Item) -> list[PortGroup]:
    """Return the port groups of a switch, the slowest first.

    Raises:
        UnbuildableError: it has none.
    """
    groups = sorted(switch.switch.ports if switch.switch else (), key=lambda g: g.speed_gbit_per_s)
    if not groups:
        raise UnbuildableError(f"fabrics: {switch.id} is no switch")
    return groups


class Plug(NamedTuple):
    """How one GPU system plugs into a compute fabric: ports, their speed, rails."""

    ports: int
    speed: float
    rails: int
    rail_group: int | None
    protocol: str | None

    def group_of(self, switch: Item) -> PortGroup | None:
        """Return the port group of a switch that it fits, None without one."""
        served = Devices("", 0, self.ports, self.speed, protocol=self.protocol).served(switch)
        return None if served is None else served[0]


def plug_of(basis: Basis, sku: str, planes: int) -> Plug | None:
    """Return how a GPU system plugs in, None without ports or where planes do not divide them."""
    port = basis.items[sku].ports.compute
    if port is None:
        return None
    lanes = port.split.into if port.split and port.split.into == planes else 1
    if lanes * port.count % (planes * port.rails):
        return None
    speed = port.speed_gbit_per_s / lanes
    return Plug(lanes * port.count, speed, port.rails, port.rail_group, port.protocol)


def shared_plug(basis: Basis, skus: Collection[str]) -> Plug | None:
    """Return how GPU systems of one fabric plug in, with the protocol that any of them needs and
    the speed of the fastest; None where their ports differ or are missing."""
    asked = basis.problem.network.compute
    planes = asked.planes_allowed[0] if asked else 1
    plugs = [plug_of(basis, sku, planes) for sku in skus]
    known = [plug for plug in plugs if plug is not None]
    protocols = {plug.protocol for plug in known} - {None}
    alike = {plug._replace(protocol=None, speed=0.0) for plug in known}
    if len(known) < len(plugs) or len(alike) != 1 or len(protocols) > 1:
        return None
    speed = max(plug.speed for plug in known)
    return alike.pop()._replace(protocol=next(iter(protocols), None), speed=speed)


def choose_fabric(found: Findings, basis: Basis, plan: Plan) -> Basis:
    """Return the basis with the planes and the ratio of the compute fabric that the plan states.

    The job is in one fabric; its switch is checked with the report.
    """
    network, types = basis.problem.network, set(plan.jobs[0].gpu_types if plan.jobs else ())
    built = [f for f in plan.fabrics if f.network == "compute" and types & set(f.serves)]
    if network.compute is None or not built:
        return basis
    stated, asked = built[0], network.compute
    found.require(len(built) == 1, "jobs.gpu_types: not in one compute fabric")
    one = {"planes": stated.planes, "oversubscription": stated.oversubscription}
    for name, allowed in zip(one, (asked.planes_allowed, asked.oversubscriptions), strict=True):
        text = f"fabrics.compute.{stated.switch_sku}.{name}: {one[name]!r} is not asked for"
        found.require(one[name] in allowed, text)
    chosen = network.model_copy(update={"compute": asked.model_copy(update=one)})
    return replace(basis, problem=basis.problem.model_copy(update={"network": chosen}))


def compute_leaves(
    asked: ComputeFabric, plug: Plug, radix: int, systems: int
) -> tuple[Leaves, int, int]:
    """Return the leaves of a plane, units, most systems; a switch or a pair of leaves is no unit.

    Raises:
        UnbuildableError: the ports of one system do not fit on a leaf.
    """
    (ratio, *_), planes = asked.oversubscriptions, asked.planes_allowed[0]
    down, up = split(radix, ratio)
    slots, ports = asked.manager.slots, plug.ports // planes
    alone = (radix - asked.manager.ports) // ports
    if systems <= alone:
        return Leaves(1, radix, 0), 0, alone
    on_rail = ports // plug.rails
    if down < on_rail:
        raise UnbuildableError("fabrics.compute: a leaf has too few ports for one system")
    per_unit, leaves = down * plug.rails // ports, 1
    if plug.rail_group is not None:
        per_unit = plug.rail_group
        together = min(per_unit, down // on_rail)
        down, leaves = together * on_rail, -(-per_unit // together)
        up = round_up(down / ratio)
        if asked.manager.ports <= plug.rails * leaves * (radix - down - up):
            slots = 0
    units = max(1, -(-(systems + slots) // per_unit))
    return Leaves(plug.rails * leaves * units, down, up), units, units * per_unit - slots


class Fabrics:
    """The fabrics of a cluster: ``reports`` under the plan's names, ``parts`` that they need."""

    def __init__(
        self, found: Findings, basis: Basis, counts: Mapping[str, int], plan: Plan
    ) -> None:
        self.found, self.basis, self.counts = found, basis, counts
        self.stated = {name_of(r.network, r.switch_sku, r.serves): r for r in plan.fabrics}
        self.reports: list[dict[str, Any]] = []
        self.parts: Counter[str] = Counter()

    def switches(self, *networks: str) -> int:
        """Return all switches of some networks."""
        tiers = ("leaf_switches", "spine_switches", "core_switches")
        mine = [report for report in self.reports if report["network"] in networks]
        return sum(report[tier] for report in mine for tier in tiers)

    def compute(self, switch: str, serves: Sequence[str]) -> None:
        """Add a compute fabric of one kind of switch.

        Raises:
            UnbuildableError: the systems do not share it, or the switch does not fit.
        """
        asked, name = self.basis.problem.network.compute, f"fabrics.compute.{switch}"
        plug = shared_plug(self.basis, serves) if serves else None
        if asked is None or plug is None:
            raise UnbuildableError(f"{name}.serves: systems with other ports, or none")
        item, planes = self.basis.items[switch], asked.planes_allowed[0]
        group, each = plug.group_of(item), [shared_plug(self.basis, (sku,)) for sku in serves]
        alike = all(one and one.group_of(item) == group for one in each)
        if group is None or not alike or switch not in asked.switches:
            raise UnbuildableError(f"{name}.switch_sku: not a switch for these ports")
        systems = sum(self.counts.get(sku, 0) for sku in serves)
        leaves, units, most = compute_leaves(asked, plug, group.count, systems)
        tree = self._tree((name, min(serves)), [leaves], group.count, planes) if units else Tree()
        if tree.cores and plug.rail_group is None and leaves.number <= group.count:
            raise UnbuildableError(f"{name}.core_switches: {leaves.number} leaves need no cores")
        links = plug.ports * systems + asked.manager.ports
        self._add(
            group,
            [leaves],
            tree,
            planes,
            network="compute",
            switch_sku=switch,
            serves=sorted(serves),
            units=units,
            endpoints=plug.ports * systems,
            parts_per_port=1,
            capacity=plug.ports * most,
            oversubscription=asked.oversubscriptions[0],
            system_links=links,
        )
        self._ends(_switch_end(group), leaves.down, planes * leaves.number)
        self._cables(group.link, links)
        if asked.manager.transceiver is not None:
            self._ends(LinkEnd(item=asked.manager.transceiver), asked.manager.ports)
        for sku in serves:
            port = self.basis.items[sku].ports.compute
            own = None if port is None else port.transceiver
            if port is not None and port.split is not None and port.count != plug.ports:
                own = port.split.transceiver
            end = own or (group.link.system_end if group.link else None)
            self._ends(end, plug.ports, self.counts.get(sku, 0))

    def storage(self) -> None:
        """Add the storage fabric, unless management shares it."""
        network = self.basis.problem.network
        if network.storage is not None and network.converged is None:
            self._edge("storage", network.storage, self._plugged(self.counts, "storage"))

    def managing(self, extras: Mapping[str, int], clusters: Mapping[str, int], pdus: int) -> None:
        """Add the fabrics that management is on.

        Args:
            extras: units by item, with ports of their own.
            clusters: what storage clusters need for themselves.
            pdus: those of the racks of GPU systems and storage.
        """
        network, everything = self.basis.problem.network, {**self.counts, **extras}
        uplinks: list[Devices] = []
        if network.out_of_band is not None:
            consoles = [self._plugged(each, "out_of_band") for each in (everything, clusters)]
            uplinks = self._out_of_band([*consoles[0], *consoles[1]], pdus)
        managed = self._plugged(everything, "in_band") + uplinks
        if network.converged is not None:
            stored = self._plugged(self.counts, "storage")
            self._edge("converged", network.converged, stored + managed)
        elif network.in_band is not None:
            self._edge("in_band", network.in_band, managed)

    def _plugged(self, counts: Mapping[str, int], network: str) -> list[Devices]:
        """Return the devices with ports on a network."""
        ports = [(s, n, getattr(self.basis.items[s].ports, network)) for s, n in counts.items()]
        return [
            Devices(s, n, p.count, p.speed_gbit_per_s, p.transceiver, p.form, p.protocol)
            for s, n, p in ports
            if p is not None and n
        ]

    def _edge(self, network: str, asked: EthernetFabric, devices: Sequence[Devices]) -> None:
        """Add a storage, in-band or converged fabric."""
        switch, name = self.basis.items[asked.switch], f"fabrics.{network}.{asked.switch}"
        if asked.edge is not None:
            devices = [*devices, Devices("", 1, asked.edge.ports, asked.edge.speed_gbit_per_s)]
        served = [(device, port) for device in devices if (port := device.served(switch))]
        if len(served) < len(devices):
            raise UnbuildableError(f"fabrics.{network}: a port fits no port of {asked.switch}")
        if not devices:
            return
        groups = by_speed(switch)
        base, whole = groups[-1], math.lcm(*(group.count for group in groups))
        parts = sum(d.units * d.ports * (whole // group.count) for d, (group, _) in served)
        self._wire(served)
        per_port, least = whole // base.count, asked.min_switches
        down, up = split(base.count, asked.oversubscription)
        leaves = max(least + 1, math.ceil(parts / per_port / max(1, down)))
        used, small = parts / per_port, None
        if least == 1 and used <= base.count:
            small = Leaves(1, base.count, 0)
        elif least == 2 and used <= 2 * down:
            small = Leaves(2, down, up)
        kinds = [Leaves(leaves if parts else 0, down, up) if small is None else small]
        self._add(
            base,
            kinds,
            self._tree((name, ""), kinds, base.count, 1) if small is None else Tree(),
            1,
            network=network,
            switch_sku=asked.switch,
            serves=self._decided(devices),
            units=sum(each.number for each in kinds) if small is None else 0,
            endpoints=parts,
            parts_per_port=per_port,
            capacity=sum(each.number * each.down for each in kinds) * per_port,
            oversubscription=asked.oversubscription,
            system_links=sum(device.units * device.ports for device in devices),
        )

    def _out_of_band(self, devices: Sequence[Devices], pdus: int) -> list[Devices]:
        """Add out-of-band management; return its switches as devices of the in-band fabric."""
        asked = self.basis.problem.network.out_of_band
        assert asked is not None
        item = self.basis.items[asked.switch]
        groups = by_speed(item)
        slow, top = groups[0], groups[-1]
        ports = sum(device.units * device.ports for device in devices) + pdus
        ports += self.switches("compute", "storage")
        usable = slow.count - asked.reserve_ports
        if not ports or usable <= 0 or item.switch is None:
            return []
        if any(device.speed > top.speed_gbit_per_s for device in devices):
            raise UnbuildableError("fabrics.out_of_band: a port is faster than the switch")
        leaves = -(-ports // usable)
        self._add(
            slow,
            [Leaves(leaves, usable, 0)],
            Tree(),
            1,
            network="out_of_band",
            switch_sku=asked.switch,
            serves=self._decided(devices),
            units=0,
            endpoints=ports,
            parts_per_port=1,
            capacity=leaves * usable,
            oversubscription=1.0,
            system_links=ports,
        )
        if slow.link is not None:
            self.parts[slow.link.cable] += ports
        end, speed = _switch_end(top), top.speed_gbit_per_s
        one = Devices(item.id, leaves, asked.uplinks, speed, end, protocol=item.switch.protocol)
        return [one] if asked.uplinks else []

    def _decided(self, devices: Sequence[Devices]) -> list[str]:
        """Return the GPU systems and storage among devices."""
        skus = {device.sku for device in devices if device.sku}
        return sorted(sku for sku in skus if self.basis.items[sku].category in DECIDED)

    def _tree(self, key: tuple[str, str], kinds: Sequence[Leaves], radix: int, planes: int) -> Tree:
        """Return the tree that the plan states, checked: no switch has more links than ports,
        spread is even, and two tiers have the fewest spines."""
        found, name = self.found, key[0]
        if key not in self.stated:
            raise UnbuildableError(f"{name}: missing")
        report, links = self.stated[key], sum(each.number * each.up for each in kinds)
        up = math.gcd(*(each.up for each in kinds))
        leaves = links // up
        spines, cores = report.spine_switches // planes, report.core_switches // planes
        if not cores:
            least = max(2, -(-links // radix))
            enough = [n for n in range(least, up + 1) if up % n == 0]
            fewest = enough[0] if enough and leaves <= radix else 0
            found.expect(f"{name}.spine_switches", report.spine_switches, planes * fewest)
            if not fewest:
                raise UnbuildableError(f"{name}.core_switches: {leaves} leaves need cores")
            return Tree(fewest)
        above = report.spine_core_links // planes
        fits = links <= above <= min(spines * radix // 2, cores * radix)
        even = above % max(1, spines) == 0 and above % cores == 0
        text = f"{links} links from leaves, {above} between {spines} spines and {cores} cores"
        label = f"{name}.spine_switches, core_switches, spine_core_links"
        found.require(fits and even, f"{label}: {text}")
        found.at_most(f"{name}.spine_core_links", above, WASTE * links)
        found.at_most(f"{name}.spine_switches", spines, WASTE * -(-2 * links // radix) + leaves)
        found.at_most(f"{name}.core_switches", cores, WASTE * -(-links // radix) + up)
        return Tree(spines, cores, above)

    # Parts.

    def _add(
        self, group: PortGroup, kinds: Sequence[Leaves], tree: Tree, planes: int, **more: Any
    ) -> None:
        """Add a fabric's report, switches, cables between them, and their transceivers.

        Args:
            group: the ports that switches are joined by.
            kinds: the leaves of one plane.
            tree: above them.
            planes: alike.
            more: fields of the report.
        """
        links = sum(each.number * each.up for each in kinds) if tree.spines else kinds[0].up
        leaves = sum(each.number for each in kinds)
        own = {
            "planes": planes,
            "radix": group.count,
            "tiers": 1 + bool(tree.spines) + bool(tree.cores),
            "leaf_switches": planes * leaves,
            "spine_switches": planes * tree.spines,
            "core_switches": planes * tree.cores,
            "uplinks_per_leaf": max(each.up for each in kinds if each.number),
            "leaf_spine_links": planes * links,
            "spine_core_links": planes * tree.links,
        }
        self.reports.append({**own, **more})
        self.parts[more["switch_sku"]] += planes * (leaves + tree.spines + tree.cores)
        for between in (links, tree.links):
            self._cables(group.link, planes * between)
        of_spine = (2 * tree.links if tree.cores else links) // max(1, tree.spines)
        of_core = tree.links // max(1, tree.cores)
        uplinks = [(each.up, each.number) for each in kinds]
        for fitted, count in (*uplinks, (of_spine, tree.spines), (of_core, tree.cores)):
            self._ends(_switch_end(group), fitted, planes * count)

    def _cables(self, link: Link | None, links: int) -> None:
        if link is not None and links:
            self.parts[link.cable] += -(-links // link.links)

    def _ends(self, end: LinkEnd | None, ports: int, devices: int = 1) -> None:
        if end is not None and ports * devices:
            self.parts[end.item] += -(-ports // end.links) * devices

    def _wire(self, served: Sequence[tuple[Devices, tuple[PortGroup, Link | None]]]) -> None:
        """Add cables and transceivers of device ports, rounded up per port group and form."""
        together: Counter[tuple[float, str]] = Counter()
        links: dict[tuple[float, str], Link | None] = {}
        for device, (group, link) in served:
            form = link.form if isinstance(link, FormLink) else ""
            together[group.speed_gbit_per_s, form] += device.units * device.ports
            links[group.speed_gbit_per_s, form] = link
            own = None if form else device.end
            if device.sku:
                end = own or (link.system_end if link else None)
                self._ends(end, device.ports, device.units)
        for key, ports in together.items():
            link = links[key]
            self._cables(link, ports)
            self._ends(link.switch_end if link else None, ports)


def _switch_end(group: PortGroup) -> LinkEnd | None:
    return group.link.switch_end if group.link else None


def check_fabrics(found: Findings, plan: Plan, fabrics: Fabrics) -> None:
    """Compare the plan's fabrics, and require each GPU type in one compute fabric."""
    stated = dict(fabrics.stated)
    found.require(len(stated) == len(plan.fabrics), "fabrics: one listed twice")
    for own in fabrics.reports:
        key = name_of(own["network"], own["switch_sku"], own["serves"])
        name, report = key[0], stated.pop(key, None)
        if report is None:
            found.fail(f"{name}: missing")
            continue
        found.expect(f"{name}.serves", sorted(report.serves), own.pop("serves"))
        found.expect(name, report, own)
    for name, _ in stated:
        found.fail(f"{name}: the problem has no such fabric, or it is not needed")
    basis, counts = fabrics.basis, fabrics.counts
    systems = basis.of_kind(counts, "gpu_system") if basis.problem.network.compute else {}
    served = [sku for each in plan.fabrics if each.network == "compute" for sku in each.serves]
    found.expect("fabrics.compute.serves", sorted(served), sorted(systems))
    compute = [each for each in plan.fabrics if each.network == "compute" and each.serves]
    plugs = [(each.switch_sku, shared_plug(basis, each.serves)) for each in compute]
    found.require(len(set(plugs)) == len(plugs), "fabrics.compute: one fabric listed as two")
