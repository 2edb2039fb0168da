"""Fabrics recomputed: leaves are the fewest that hold the ports, every link has its parts.

How leaves share spines is the plan's choice, and checked.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from planner.schema.catalog import FormLink, Item, Link, LinkEnd, PortGroup
from planner.schema.plan import FabricReport, Plan
from planner.schema.problem import ComputeFabric, EthernetFabric
from planner.verifier.basis import DECIDED, Basis, Findings, round_up

MANAGED = ("in_band", "converged", "out_of_band")
"""Networks whose own switches have their consoles on reserved ports."""
WASTE = 3.0
"""Most switches of a tier above leaves, as a multiple of the fewest by ports."""


class Devices(NamedTuple):
    """``units`` devices with ``ports`` of one speed each, in rails where they are GPU systems."""

    sku: str
    units: int
    ports: int
    speed: float
    end: LinkEnd | None = None
    form: str | None = None
    protocol: str | None = None
    rails: int = 1
    rail_group: int | None = None

    def served(self, switch: Item) -> tuple[PortGroup, Link | None] | None:
        """Port group of a switch that serves these ports and its link, None if none."""
        if switch.switch is None or self.protocol not in (None, switch.switch.protocol):
            return None
        made = {group.speed_gbit_per_s: group.made_for(self.form) for group in switch.switch.ports}
        forms = {speed: link for speed, link in made.items() if link is not None}
        taking = [
            group
            for group in switch.switch.ports
            if (group.slowest_gbit_per_s or 0.0) <= self.speed <= group.speed_gbit_per_s
            and (not forms or group.speed_gbit_per_s in forms)
        ]
        group = min(taking, key=lambda each: each.speed_gbit_per_s, default=None)
        return None if group is None else (group, forms.get(group.speed_gbit_per_s, group.link))


def by_speed(switch: Item) -> list[PortGroup]:
    """Port groups of a switch, the slowest first."""
    return sorted(switch.switch.ports if switch.switch else (), key=lambda g: g.speed_gbit_per_s)


def plug_of(basis: Basis, *skus: str) -> Devices | None:
    """One GPU system as compute fabrics see it, with the protocol that any of several types needs.

    None without ports, where planes do not divide them, or where types differ in all but speed.
    """
    asked, plugs = basis.network.compute, []
    planes = asked.planes_allowed[0] if asked else 1
    for sku in skus:
        port = basis.items[sku].ports.compute
        split = port.split if port and port.split and port.split.into == planes else None
        lanes = split.into if split else 1
        if port is None or lanes * port.count % (planes * port.rails):
            return None
        end = split.transceiver if split and lanes > 1 else port.transceiver
        sides = lanes * port.count, port.speed_gbit_per_s / lanes, end, None, port.protocol
        plugs.append(Devices(sku, 1, *sides, port.rails, port.rail_group))
    protocols = {plug.protocol for plug in plugs} - {None}
    alike = {(plug.ports, plug.rails, plug.rail_group) for plug in plugs}
    if len(alike) != 1 or len(protocols) > 1:
        return None
    fastest = max(plugs, key=lambda plug: plug.speed)
    return fastest._replace(protocol=next(iter(protocols), None))


def choose_fabric(found: Findings, basis: Basis, plan: Plan) -> Basis:
    """The basis with the planes and the ratio of the compute fabric that the plan states."""
    asked, types = basis.network.compute, set(plan.jobs[0].gpu_types)
    built = [f for f in plan.fabrics if f.network == "compute" and types & set(f.serves)]
    if asked is None or not built:
        return basis
    found.require(len(built) == 1, "jobs.gpu_types: not in one compute fabric")
    one = {"planes": built[0].planes, "oversubscription": built[0].oversubscription}
    for name, allowed in zip(one, (asked.planes_allowed, asked.oversubscriptions), strict=True):
        text = f"fabrics.compute.{built[0].switch_sku}.{name}: {one[name]!r} is not asked for"
        found.require(one[name] in allowed, text)
    chosen = basis.network.model_copy(update={"compute": asked.model_copy(update=one)})
    return replace(basis, network=chosen)


def compute_leaves(
    asked: ComputeFabric, plug: Devices, radix: int, systems: int
) -> tuple[int, int, int, int, int]:
    """(Leaves of a plane, ports down and up of each, units, most systems); a switch is no unit.

    Raises:
        ValueError: the ports of one system do not fit on a leaf.
    """
    (ratio, *_), slots = asked.oversubscriptions, asked.manager.slots
    up, ports = round_up(radix / (1 + ratio)), plug.ports // asked.planes_allowed[0]
    alone, on_rail, down = (radix - asked.manager.ports) // ports, ports // plug.rails, radix - up
    if systems <= alone:
        return 1, radix, 0, 0, alone
    if down < on_rail:
        raise ValueError("fabrics.compute: a leaf has too few ports for one system")
    per_unit, leaves = down * plug.rails // ports, 1
    if plug.rail_group is not None:
        per_unit = plug.rail_group
        together = min(per_unit, down // on_rail)
        down, leaves = together * on_rail, -(-per_unit // together)
        up = round_up(down / ratio)
        if asked.manager.ports <= plug.rails * leaves * (radix - down - up):
            slots = 0
    units = max(1, -(-(systems + slots) // per_unit))
    return plug.rails * leaves * units, down, up, units, units * per_unit - slots


class Fabrics:
    """The fabrics of a cluster, checked one by one; ``parts`` count their switches and cables."""

    def __init__(
        self, found: Findings, basis: Basis, counts: Mapping[str, int], plan: Plan
    ) -> None:
        self.found, self.basis, self.counts, self.plan = found, basis, counts, plan
        self.left = list(plan.fabrics)
        self.parts: Counter[str] = Counter()

    def switches(self, *networks: str) -> int:
        """All switches of some networks."""
        mine = [r for r in self.plan.fabrics if r.network in networks]
        return sum(r.leaf_switches + r.spine_switches + r.core_switches for r in mine)

    def finish(self) -> None:
        """Require that every fabric was asked for, and each GPU type in one compute fabric."""
        for report in self.left:
            name = f"fabrics.{report.network}.{report.switch_sku}"
            self.found.require(False, f"{name}: the problem has no such fabric, or listed twice")
        compute = [each for each in self.plan.fabrics if each.network == "compute"]
        served = sorted(sku for each in compute for sku in each.serves)
        systems = sorted(self.basis.of_kind(self.counts, "gpu_system"))
        own = systems if self.basis.network.compute else []
        self.found.expect("fabrics.compute.serves", served, own)

    def compute(self, report: FabricReport) -> None:
        """Check a compute fabric.

        Raises:
            ValueError: the systems do not share it, or the switch does not fit.
        """
        asked, name = self.basis.network.compute, f"fabrics.compute.{report.switch_sku}"
        switch, plug = self.basis.items[report.switch_sku], plug_of(self.basis, *report.serves)
        if asked is None or plug is None:
            raise ValueError(f"{name}.serves: systems with other ports, or none")
        each = [plug_of(self.basis, sku) for sku in report.serves]
        served = plug.served(switch)
        alike = all(one and one.served(switch) == served for one in each)
        if served is None or not alike or report.switch_sku not in asked.switches:
            raise ValueError(f"{name}.switch_sku: not a switch for these ports")
        ports, link = served
        systems = sum(self.counts.get(sku, 0) for sku in report.serves)
        leaves, down, up, units, most = compute_leaves(asked, plug, ports.count, systems)
        links = plug.ports * systems + asked.manager.ports
        own = {"endpoints": plug.ports * systems, "capacity": plug.ports * most}
        own |= {"parts_per_port": 1, "system_links": links}
        self._check(report, ports, (leaves, up), own, alone=not units)
        self._ends(_switch_end(link), down, asked.planes_allowed[0] * leaves)
        self._cables(link, links)
        if asked.manager.transceiver is not None:
            self._ends(LinkEnd(item=asked.manager.transceiver), asked.manager.ports)
        for one in each:
            end = (one.end if one else None) or (link.system_end if link else None)
            self._ends(end, plug.ports, self.counts.get(one.sku, 0) if one else 0)

    def storage(self) -> None:
        """Check the storage fabric, unless management shares it."""
        network = self.basis.network
        if network.storage is not None and network.converged is None:
            self._edge("storage", network.storage, self._plugged(self.counts, "storage"))

    def managing(self, extras: Mapping[str, int], clusters: Mapping[str, int], pdus: int) -> None:
        """Check the fabrics that management is on: of extras, and of parts of storage clusters."""
        network, everything = self.basis.network, {**self.counts, **extras}
        managed = self._plugged(everything, "in_band")
        if network.out_of_band is not None:
            consoles = self._plugged(everything, "out_of_band")
            managed += self._out_of_band(consoles + self._plugged(clusters, "out_of_band"), pdus)
        if network.converged is not None:
            managed = self._plugged(self.counts, "storage") + managed
            self._edge("converged", network.converged, managed)
        elif network.in_band is not None:
            self._edge("in_band", network.in_band, managed)

    def _plugged(self, counts: Mapping[str, int], network: str) -> list[Devices]:
        ports = [(s, n, getattr(self.basis.items[s].ports, network)) for s, n in counts.items()]
        return [
            Devices(s, n, p.count, p.speed_gbit_per_s, p.transceiver, p.form, p.protocol)
            for s, n, p in ports
            if p is not None and n
        ]

    def _edge(self, network: str, asked: EthernetFabric, devices: Sequence[Devices]) -> None:
        switch = self.basis.items[asked.switch]
        served = [(device, port) for device in devices if (port := device.served(switch))]
        if len(served) < len(devices):
            raise ValueError(f"fabrics.{network}: a port fits no port of {asked.switch}")
        if not devices:
            return
        groups, ratio = by_speed(switch), asked.oversubscription
        base, whole = groups[-1], math.lcm(*(group.count for group in groups))
        parts = sum(d.units * d.ports * (whole // group.count) for d, (group, _) in served)
        per_port, up = whole // base.count, round_up(base.count / (1 + ratio))
        used, down, leaves = parts / per_port, base.count - up, int(asked.min_switches)
        if leaves == 1 and used <= base.count:
            down, up = base.count, 0
        alone = used <= leaves * down
        if not alone:
            leaves = max(leaves + 1, math.ceil(used / max(1, down)))
        own: dict[str, float] = {"endpoints": parts, "parts_per_port": per_port}
        own["capacity"] = leaves * down * per_port
        links = sum(device.units * device.ports for device in devices)
        own |= {"system_links": links, "oversubscription": ratio}
        report = self._stated(network, asked.switch, devices)
        self._check(report, base, (leaves, up), own, alone=alone)
        together: Counter[tuple[float, str]] = Counter()
        kinds: dict[tuple[float, str], Link | None] = {}
        for device, (group, link) in served:  # cables are rounded up per port group and form
            key = group.speed_gbit_per_s, link.form if isinstance(link, FormLink) else ""
            together[key] += device.units * device.ports
            kinds[key] = link
            end = (None if key[1] else device.end) or (link.system_end if link else None)
            self._ends(end, device.ports, device.units)
        for key, link in kinds.items():
            self._cables(link, together[key])
            self._ends(_switch_end(link), together[key])

    def _out_of_band(self, devices: Sequence[Devices], pdus: int) -> list[Devices]:
        """Check out-of-band management; its switches are devices of the in-band fabric."""
        asked = self.basis.network.out_of_band
        assert asked is not None
        item = self.basis.items[asked.switch]
        slow, top = by_speed(item)[0], by_speed(item)[-1]
        ports = sum(device.units * device.ports for device in devices) + pdus
        ports += self.switches("compute", "storage")
        usable = slow.count - asked.reserve_ports
        if not ports or usable <= 0 or item.switch is None:
            return []
        leaves = -(-ports // usable)
        own = {"endpoints": ports, "parts_per_port": 1, "capacity": leaves * usable}
        report = self._stated("out_of_band", asked.switch, devices)
        self._check(report, slow, (leaves, 0), own | {"system_links": ports}, alone=True)
        self._cables(slow.link and slow.link.model_copy(update={"links": 1}), ports)
        end, speed = _switch_end(top.link), top.speed_gbit_per_s
        one = Devices(item.id, leaves, asked.uplinks, speed, end, protocol=item.switch.protocol)
        return [one] if asked.uplinks else []

    def _stated(self, network: str, switch: str, devices: Collection[Devices]) -> FabricReport:
        """The report of a fabric, which serves the GPU systems and storage among its devices."""
        for report in self.left:
            if (report.network, report.switch_sku) == (network, switch):
                skus = {device.sku for device in devices}
                own = sorted(s for s in skus if self.basis.items[s].category in DECIDED)
                self.found.expect(f"fabrics.{network}.serves", sorted(report.serves), own)
                return report
        raise ValueError(f"fabrics.{network}.{switch}: missing")

    def _check(
        self,
        report: FabricReport,
        group: PortGroup,
        leaf: tuple[int, int],
        own: Mapping[str, float],
        *,
        alone: bool,
    ) -> None:
        """Check a fabric's report; add switches, cables between them, and their transceivers.

        ``leaf`` are leaves of one plane, and ports up of each; ``alone`` have no spines: one, or
        two joined to each other. ``own`` are fields that follow from the devices of the fabric.
        """
        self.left.remove(report)
        name, asked = f"fabrics.{report.network}.{report.switch_sku}", self.basis.network.compute
        planes = asked.planes_allowed[0] if asked and report.network == "compute" else 1
        (leaves, up), radix = leaf, group.count
        spines, cores = report.spine_switches // planes, report.core_switches // planes
        links, above = leaves * up, report.spine_core_links // planes
        if alone:
            spines, cores, links, above = 0, 0, up, 0
        elif not cores:
            enough = [n for n in range(max(2, -(-links // radix)), up + 1) if up % n == 0]
            spines, above = (enough[0] if enough and leaves <= radix else 0), 0
            self.found.require(spines > 0, f"{name}.core_switches: {leaves} leaves need cores")
        else:
            fits = links <= above <= min(spines * radix // 2, cores * radix)
            even = above % max(1, spines) == 0 and above % cores == 0
            text = f"{links} links from leaves, {above} between {spines} spines and {cores} cores"
            label = f"{name}.spine_switches, core_switches, spine_core_links"
            self.found.require(fits and even, f"{label}: {text}")
            most = WASTE * -(-2 * links // radix) + leaves + WASTE * -(-links // radix) + up
            self.found.at_most(f"{name}: spines and cores", spines + cores, most)
        tree = {"leaf_switches": leaves, "spine_switches": spines, "core_switches": cores}
        tree |= {"leaf_spine_links": links, "spine_core_links": above}
        tree = {field: planes * count for field, count in tree.items()}
        tree |= {"radix": radix, "uplinks_per_leaf": up, "planes": planes}
        self.found.expect(name, report, {**own, **tree})
        self.parts[report.switch_sku] += planes * (leaves + spines + cores)
        of_spine = (2 * above if cores else links) // max(1, spines)
        for between in (links, above):
            self._cables(group.link, planes * between)
        for ports, count in (up, leaves), (of_spine, spines), (above // max(1, cores), cores):
            self._ends(_switch_end(group.link), ports, planes * count)

    def _cables(self, link: Link | None, links: int) -> None:
        if link is not None and links:
            self.parts[link.cable] += -(-links // link.links)

    def _ends(self, end: LinkEnd | None, ports: int, devices: int = 1) -> None:
        if end is not None and ports * devices:
            self.parts[end.item] += -(-ports // end.links) * devices


def _switch_end(link: Link | None) -> LinkEnd | None:
    return link.switch_end if link else None
