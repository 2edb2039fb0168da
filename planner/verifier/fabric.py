"""Fabrics: ports, switches, links and their parts, by conservation over each reported fabric.

Every port that devices have ends on a leaf, every uplink on a spine, no switch has more links than
ports, leaves have the uplinks that the oversubscription asks for. Leaves are the fewest that hold
the ports. How leaves share spines is the plan's choice: only ports, even spread and waste are
checked there.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from planner.schema.catalog import FormLink, Item, Link, LinkEnd, PortGroup
from planner.schema.plan import FabricReport, Plan
from planner.schema.problem import ComputeFabric, EthernetFabric, StorageFabric
from planner.verifier.basis import DECIDED, Basis
from planner.verifier.ledger import Ledger, divisors, round_up

MANAGED = ("in_band", "converged", "out_of_band")
"""Networks whose own switches have their consoles on reserved ports."""
WASTE = 3.0
"""Most switches of a tier above leaves, as a multiple of the fewest by ports."""


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
        groups = [g for g in switch.switch.ports if g.takes(self.speed)]
        made = {
            g.speed_gbit_per_s: f
            for g in switch.switch.ports
            for f in g.forms
            if f.form == self.form
        }
        groups = [g for g in groups if g.speed_gbit_per_s in made] if made else groups
        if not groups:
            return None
        group = min(groups, key=lambda each: each.speed_gbit_per_s)
        return group, made.get(group.speed_gbit_per_s, group.link)


@dataclass
class Parts:
    """Units of switches, cables and transceivers that links need."""

    basis: Basis
    units: Counter[str]

    def cables(self, link: Link | None, links: int) -> None:
        """Add cables for links of one kind."""
        if link is not None and links:
            self.units[self.basis.reaching(link.cable)] += -(-links // link.links)

    def ends(self, end: LinkEnd | None, ports: int, devices: int = 1) -> None:
        """Add transceivers for the ports of each device."""
        if end is not None and ports * devices:
            self.units[self.basis.reaching(end.item)] += -(-ports // end.links) * devices

    def switches(self, report: FabricReport, link: Link | None, ports: Sequence[int]) -> None:
        """Add switches, cables between them, and their transceivers.

        Args:
            ports: fitted ports per switch: leaf to devices (0 if counted apart), leaf uplinks,
                spine, core.
        """
        self.units[report.switch_sku] += switches_of(report)
        for links in (report.leaf_spine_links, report.spine_core_links):
            self.cables(link, links)
        end = link.switch_end if link else None
        counts = (
            report.leaf_switches,
            report.leaf_switches,
            report.spine_switches,
            report.core_switches,
        )
        for each, count in zip(ports, counts, strict=True):
            self.ends(end, each, count)


def switches_of(report: FabricReport) -> int:
    """Return all switches of a fabric."""
    return report.leaf_switches + report.spine_switches + report.core_switches


def split(radix: int, oversubscription: float) -> tuple[int, int]:
    """Return a leaf's (ports to devices, uplinks)."""
    up = round_up(radix / (1 + oversubscription))
    return radix - up, up


def fastest(switch: Item) -> PortGroup | None:
    """Return the fastest port group of a switch."""
    groups = switch.switch.ports if switch.switch else ()
    return max(groups, key=lambda each: each.speed_gbit_per_s, default=None)


def slowest(switch: Item) -> PortGroup | None:
    """Return the slowest port group of a switch."""
    groups = switch.switch.ports if switch.switch else ()
    return min(groups, key=lambda each: each.speed_gbit_per_s, default=None)


def name_of(report: FabricReport) -> str:
    """Return a fabric's place in the plan."""
    return f"fabrics.{report.network}.{report.switch_sku}"


# The tree of any fabric.


def check_tree(
    ledger: Ledger, name: str, report: FabricReport, leaves: int, up: int, planes: int = 1
) -> tuple[int, int]:
    """Check spines and cores above leaves; return the ports in use of one spine and one core.

    Args:
        leaves: bundles of ``up`` uplinks in one plane, each spread over the spines it has.
    """
    radix, links = report.radix, leaves * up
    spines, cores = report.spine_switches // planes, report.core_switches // planes
    own = {"spine_switches": spines * planes, "core_switches": cores * planes}
    own |= {"leaf_spine_links": links * planes, "tiers": 3 if cores else 2}
    if not cores:
        own["spine_core_links"] = 0
    ledger.all_same(name, report, own)
    if not cores:
        enough = [s for s in divisors(up) if s >= max(2, -(-links // radix))]
        fewest = enough[0] if enough and leaves <= radix else 0
        ledger.same(f"{name}.spine_switches", report.spine_switches, planes * fewest)
        return (links // spines if spines else 0), 0
    above = report.spine_core_links // planes
    fits = links <= above <= min(spines * radix // 2, cores * radix)
    even = (
        above % max(1, spines) == 0 and above % cores == 0 and report.spine_core_links % planes == 0
    )
    text = f"{links} links from leaves, {above} between {spines} spines and {cores} cores"
    label = f"{name}.spine_switches, core_switches, spine_core_links"
    ledger.require(fits and even, f"{label}: {text}")
    ledger.at_most(f"{name}.spine_core_links", above, WASTE * links)
    ledger.at_most(f"{name}.spine_switches", spines, WASTE * -(-2 * links // radix) + leaves)
    ledger.at_most(f"{name}.core_switches", cores, WASTE * -(-links // radix) + up)
    return 2 * above // max(1, spines), above // cores


class Plug(NamedTuple):
    """How one GPU system plugs into a compute fabric: ports, their speed, rails."""

    ports: int
    speed: float
    rails: int
    rail_group: int | None
    protocol: str | None


def choose_fabric(ledger: Ledger, basis: Basis, plan: Plan) -> Basis:
    """Return the basis with the planes and the ratio of the compute fabric that the plan states.

    The job is in one fabric; its switch is checked with the report.
    """
    network, types = basis.problem.network, set(plan.jobs[0].gpu_types if plan.jobs else ())
    built = [f for f in plan.fabrics if f.network == "compute" and types & set(f.serves)]
    if network.compute is None or not built:
        return basis
    said, asked = built[0], network.compute
    ledger.require(len(built) == 1, "jobs.gpu_types: not in one compute fabric")
    for name, value, allowed in (
        ("planes", said.planes, asked.planes_allowed),
        ("oversubscription", said.oversubscription, asked.oversubscriptions),
    ):
        ledger.require(value in allowed, f"{name_of(said)}.{name}: {value!r} is not asked for")
    one = {"planes": said.planes, "oversubscription": said.oversubscription}
    chosen = network.model_copy(update={"compute": asked.model_copy(update=one)})
    return replace(basis, problem=basis.problem.model_copy(update={"network": chosen}))


def planes_of(asked: ComputeFabric) -> int:
    """Return the planes of a fabric: the plan's, once it is chosen."""
    return asked.planes_allowed[0]


def shared_plug(basis: Basis, skus: Collection[str]) -> Plug | None:
    """Return how GPU systems of one fabric plug in, with the protocol that any of them needs and
    the speed of the fastest; None where their ports differ or are missing."""
    plugs = [plug_of(basis, sku) for sku in skus]
    known = [plug for plug in plugs if plug is not None]
    protocols = {plug.protocol for plug in known} - {None}
    alike = {plug._replace(protocol=None, speed=0.0) for plug in known}
    if len(known) < len(plugs) or len(alike) != 1 or len(protocols) > 1:
        return None
    speed = max(plug.speed for plug in known)
    return alike.pop()._replace(protocol=next(iter(protocols), None), speed=speed)


def plug_of(basis: Basis, sku: str, planes: int | None = None) -> Plug | None:
    """Return how a GPU system plugs in, None without ports or where planes do not divide them.

    Args:
        planes: of the fabric; the plan's if None.
    """
    asked, port = basis.problem.network.compute, basis.items[sku].ports.compute
    if asked is None or port is None:
        return None
    planes = planes_of(asked) if planes is None else planes
    lanes = port.split.into if port.split and port.split.into == planes else 1
    if lanes * port.count % (planes * port.rails):
        return None
    speed = port.speed_gbit_per_s / lanes
    return Plug(lanes * port.count, speed, port.rails, port.rail_group, port.protocol)


def port_group(basis: Basis, plug: Plug, switch_sku: str) -> PortGroup | None:
    """Return the port group of a switch for a plug, None where it does not fit."""
    devices = Devices("", 0, plug.ports, plug.speed, protocol=plug.protocol)
    switch = basis.items[switch_sku]
    if switch.switch is None or devices.protocol not in (None, switch.switch.protocol):
        return None
    groups = [group for group in switch.switch.ports if group.takes(plug.speed)]
    return min(groups, key=lambda each: each.speed_gbit_per_s, default=None)


def compute_leaves(
    asked: ComputeFabric, plug: Plug, radix: int, systems: int
) -> tuple[int, int, tuple[int, int, int]]:
    """Return ports to devices and uplinks of a leaf; leaves of a plane, units, most systems.

    There are no units on a single switch, and none on a pair of leaves.
    """
    (ratio, *_), planes = asked.oversubscriptions, planes_of(asked)
    down, up = split(radix, ratio)
    slots, ports = asked.manager.slots, plug.ports // planes
    alone = (radix - asked.manager.ports) // ports
    pair = (2 * down - asked.manager.ports) // ports
    if asked.single_switch and systems <= alone:
        return radix, 0, (1, 0, alone)
    if asked.leaf_pair and systems <= pair:
        return down, up, (2, 0, pair)
    if plug.rail_group is None:
        per_unit = max(1, down * plug.rails // ports)
        units = max(1, -(-(systems + slots) // per_unit))
        return down, up, (plug.rails * units, units, units * per_unit - slots)
    on_rail, per_unit = ports // plug.rails, plug.rail_group
    together = max(1, min(per_unit, down // on_rail))
    down = together * on_rail
    up, leaves = round_up(down / ratio), -(-per_unit // together)
    if asked.manager.ports <= plug.rails * leaves * (radix - down - up):
        slots = 0
    units = max(1, -(-(systems + slots) // per_unit))
    return down, up, (plug.rails * leaves * units, units, units * per_unit - slots)


def plugged(basis: Basis, counts: Mapping[str, int], network: str) -> list[Devices]:
    """Return the devices with ports on a network."""
    found = []
    for sku, count in counts.items():
        port = getattr(basis.items[sku].ports, network)
        if port is not None and count:
            speed, end = port.speed_gbit_per_s, port.transceiver
            found.append(Devices(sku, count, port.count, speed, end, port.form, port.protocol))
    return found


class _Check:
    """Every reported fabric, checked; ``parts`` adds up the units that they need."""

    def __init__(self, ledger: Ledger, basis: Basis, counts: Mapping[str, int], plan: Plan) -> None:
        self.ledger, self.basis, self.counts, self.plan = ledger, basis, counts, plan
        self.network, self.parts = basis.problem.network, Parts(basis, Counter())

    def run(self, others: Mapping[str, int], of_clusters: Mapping[str, int], pdus: int) -> None:
        """Check all fabrics, and that none is missing."""
        reports: dict[str, list[FabricReport]] = {}
        for report in self.plan.fabrics:
            reports.setdefault(report.network, []).append(report)
        for report in reports.pop("compute", []):
            self.compute(report)
        self.serves()
        everything, managing = {**self.counts, **others}, 0
        if self.network.out_of_band is not None:
            devices = plugged(self.basis, everything, "out_of_band")
            devices += plugged(self.basis, of_clusters, "out_of_band")
            managing = self.out_of_band(devices, pdus, reports.pop("out_of_band", []))
        converged, in_band = self.network.converged, self.network.in_band
        stored = plugged(self.basis, self.counts, "storage")
        managed = plugged(self.basis, everything, "in_band") + self.uplinks(managing)
        wanted: list[tuple[str, EthernetFabric | None, list[Devices]]] = [
            ("storage", None if converged else self.network.storage, stored),
            ("converged", converged, stored + managed),
            ("in_band", None if converged else in_band, managed),
        ]
        for name, asked, devices in wanted:
            if asked is None:
                continue
            if asked.edge is not None:
                devices = [*devices, Devices("", 1, asked.edge.ports, asked.edge.speed_gbit_per_s)]
            found = reports.pop(name, [])
            self.ledger.same(f"fabrics.{name}: number", len(found), int(bool(devices)))
            for report in found[:1]:
                self.ports(asked, devices, report)
        for name in reports:
            self.ledger.fail(f"fabrics.{name}: the problem has no such fabric")

    def serves(self) -> None:
        """Require each GPU type in one compute fabric, those with the same ports in the same."""
        reports = [report for report in self.plan.fabrics if report.network == "compute"]
        served = [sku for report in reports for sku in report.serves]
        systems = self.basis.of_kind(self.counts, "gpu_system") if self.network.compute else {}
        self.ledger.same("fabrics.compute.serves", sorted(served), sorted(systems))
        plugs = [(r.switch_sku, shared_plug(self.basis, r.serves)) for r in reports if r.serves]
        once = len(set(plugs)) == len(plugs)
        self.ledger.require(once, "fabrics.compute: one fabric listed as two")

    def compute(self, report: FabricReport) -> None:
        """Check a compute fabric."""
        ledger, asked, name = self.ledger, self.network.compute, name_of(report)
        plug = shared_plug(self.basis, report.serves)
        if asked is None or plug is None:
            ledger.fail(f"{name}.serves: systems with other ports, or none")
            return
        group = port_group(self.basis, plug, report.switch_sku)
        each = [plug_of(self.basis, sku) for sku in report.serves]
        groups = [one and port_group(self.basis, one, report.switch_sku) for one in each]
        alike = all(one == group for one in groups)
        if group is None or not alike or report.switch_sku not in asked.switches:
            ledger.fail(f"{name}.switch_sku: not a switch for these ports")
            return
        systems = sum(self.counts.get(sku, 0) for sku in report.serves)
        links = plug.ports * systems + asked.manager.ports
        planes, (ratio, *_) = planes_of(asked), asked.oversubscriptions
        own: dict[str, object] = {"planes": planes, "radix": group.count, "parts_per_port": 1}
        own |= {"endpoints": plug.ports * systems, "system_links": links}
        ledger.all_same(name, report, own | {"oversubscription": ratio})
        down, up, (leaves, units, most) = compute_leaves(asked, plug, group.count, systems)
        above = 0, 0
        if units:
            few = plug.rail_group is not None or not report.core_switches or leaves > group.count
            ledger.require(few, f"{name}.core_switches: {leaves} leaves need no cores")
            above = check_tree(ledger, name, report, leaves, up, planes)
        else:
            _check_no_spines(ledger, name, report, planes * up)
        own = {"leaf_switches": planes * leaves, "units": units, "uplinks_per_leaf": up}
        ledger.all_same(name, report, own | {"capacity": plug.ports * most})
        self.parts.cables(group.link, report.system_links)
        self.parts.switches(report, group.link, (down, up, *above))
        if asked.manager.transceiver is not None:
            self.parts.ends(LinkEnd(item=asked.manager.transceiver), asked.manager.ports)
        for sku in report.serves:
            port = self.basis.items[sku].ports.compute
            own_end = None if port is None else port.transceiver
            if port is not None and port.split is not None and port.count != plug.ports:
                own_end = port.split.transceiver
            end = own_end or (group.link.system_end if group.link else None)
            self.parts.ends(end, plug.ports, self.counts.get(sku, 0))

    def ports(
        self, asked: EthernetFabric, devices: Sequence[Devices], report: FabricReport
    ) -> None:
        """Check a storage, in-band or converged fabric."""
        ledger, basis, name = self.ledger, self.basis, name_of(report)
        switch, base = basis.items[asked.switch], fastest(basis.items[asked.switch])
        served = [(device, found) for device in devices if (found := device.served(switch))]
        if base is None or switch.switch is None or len(served) < len(devices):
            ledger.fail(f"{name}: a port fits no port of {asked.switch}")
            return
        whole = math.lcm(*(group.count for group in switch.switch.ports))
        per_port, sums, links = whole // base.count, [0, 0], 0
        for device, (group, _) in served:
            links += device.units * device.ports
            sums[self.is_stored(device)] += device.units * device.ports * (whole // group.count)
        own: dict[str, object] = {"switch_sku": asked.switch, "planes": 1, "radix": base.count}
        own |= {"parts_per_port": per_port, "endpoints": sum(sums), "system_links": links}
        ledger.all_same(name, report, own | {"oversubscription": asked.oversubscription})
        ledger.same(f"{name}.serves", sorted(report.serves), _decided(basis, devices))
        self.wire(served)
        ratio = asked.storage_oversubscription if isinstance(asked, StorageFabric) else None
        if ratio is not None:
            ratios = (asked.oversubscription, ratio)
            self.apart(asked.min_switches, ratios, report, base, [n / per_port for n in sums])
            return
        (down, up), used = split(base.count, asked.oversubscription), sum(sums) / per_port
        leaves = max(asked.min_switches + 1, math.ceil(used / max(1, down)))
        if asked.min_switches == 1 and used <= base.count:
            leaves, down, up = 1, base.count, 0
        elif asked.min_switches == 2 and used <= 2 * down:
            leaves = 2
        above, tall = (0, 0), leaves > asked.min_switches
        if tall:
            above = check_tree(ledger, name, report, leaves, up)
        else:
            _check_no_spines(ledger, name, report, up)
        own = {
            "leaf_switches": leaves,
            "capacity": leaves * down * per_port,
            "uplinks_per_leaf": up,
        }
        ledger.all_same(name, report, own | {"units": leaves if tall else 0})
        self.parts.switches(report, base.link, (0, up, *above))

    def is_stored(self, device: Devices) -> bool:
        """Whether devices are storage."""
        return bool(device.sku) and self.basis.items[device.sku].category == "storage"

    def apart(
        self,
        least: int,
        ratios: tuple[float, float],
        report: FabricReport,
        base: PortGroup,
        used: Sequence[float],
    ) -> None:
        """Check a fabric in which storage has leaves of its own ratio, all below common spines."""
        kinds = []
        for ports, ratio in zip(used, ratios, strict=True):
            down, up = split(base.count, ratio)
            leaves = max(least, math.ceil(ports / max(1, down))) if ports else 0
            kinds.append((leaves, down, up))
        together = math.gcd(*(up for _, _, up in kinds))
        bundles = sum(leaves * up for leaves, _, up in kinds) // together
        name = name_of(report)
        above = check_tree(self.ledger, name, report, bundles, together)
        leaves = sum(leaves for leaves, _, _ in kinds)
        own = {"leaf_switches": leaves, "units": leaves}
        own["uplinks_per_leaf"] = max(up for n, _, up in kinds if n)
        own["capacity"] = sum(n * down for n, down, _ in kinds) * report.parts_per_port
        self.ledger.all_same(name, report, own)
        self.parts.switches(report, base.link, (0, 0, *above))
        for count, _, up in kinds:
            self.parts.ends(base.link.switch_end if base.link else None, up, count)

    def wire(self, served: Sequence[tuple[Devices, tuple[PortGroup, Link | None]]]) -> None:
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
                self.parts.ends(end, device.ports, device.units)
        for key, ports in together.items():
            link = links[key]
            self.parts.cables(link, ports)
            self.parts.ends(link.switch_end if link else None, ports)

    def out_of_band(
        self, devices: Sequence[Devices], pdus: int, reports: Sequence[FabricReport]
    ) -> int:
        """Check out-of-band management; return its switches."""
        asked = self.network.out_of_band
        assert asked is not None
        switches = sum(switches_of(r) for r in self.plan.fabrics if r.network not in MANAGED)
        ports = sum(device.units * device.ports for device in devices) + switches + pdus
        group, top = (
            slowest(self.basis.items[asked.switch]),
            fastest(self.basis.items[asked.switch]),
        )
        self.ledger.same("fabrics.out_of_band: number", len(reports), int(ports > 0))
        if not reports or group is None or top is None or group.count <= asked.reserve_ports:
            return 0
        usable, name = group.count - asked.reserve_ports, name_of(reports[0])
        leaves = -(-ports // usable)
        own: dict[str, object] = {"switch_sku": asked.switch, "planes": 1, "radix": group.count}
        own |= {"leaf_switches": leaves, "capacity": leaves * usable, "endpoints": ports}
        own |= {"system_links": ports, "parts_per_port": 1, "units": 0, "uplinks_per_leaf": 0}
        self.ledger.all_same(name, reports[0], own | {"oversubscription": 1.0})
        _check_no_spines(self.ledger, name, reports[0], 0)
        self.ledger.same(f"{name}.serves", sorted(reports[0].serves), _decided(self.basis, devices))
        fast = any(device.speed > top.speed_gbit_per_s for device in devices)
        self.ledger.require(not fast, f"{name}: a management port is faster than the switch")
        self.parts.units[asked.switch] += leaves
        if group.link is not None:
            self.parts.units[self.basis.reaching(group.link.cable)] += ports
        return leaves

    def uplinks(self, managing: int) -> list[Devices]:
        """Return management switches as devices of the in-band fabric."""
        asked = self.network.out_of_band
        item = self.basis.items[asked.switch] if asked is not None else None
        top = fastest(item) if item is not None else None
        if asked is None or item is None or item.switch is None or top is None:
            return []
        end, protocol = top.link.switch_end if top.link else None, item.switch.protocol
        speed, units = top.speed_gbit_per_s, managing if asked.uplinks else 0
        one = Devices(item.id, units, asked.uplinks, speed, end, protocol=protocol)
        return [one] if units else []


def _check_no_spines(ledger: Ledger, name: str, report: FabricReport, links: int) -> None:
    """Require that one switch, or two joined by ``links``, have no others above them."""
    own = {"tiers": 1, "spine_switches": 0, "core_switches": 0, "spine_core_links": 0}
    ledger.all_same(name, report, own | {"leaf_spine_links": links})


def _decided(basis: Basis, devices: Sequence[Devices]) -> list[str]:
    """Return the GPU systems and storage among devices."""
    skus = {device.sku for device in devices if device.sku}
    return sorted(sku for sku in skus if basis.items[sku].category in DECIDED)


def check_fabrics(
    ledger: Ledger,
    basis: Basis,
    plan: Plan,
    counts: Mapping[str, int],
    others: Mapping[str, int],
    of_clusters: Mapping[str, int],
    pdus: int,
) -> Counter[str]:
    """Check every reported fabric and that none is missing; return the parts they need.

    Args:
        ledger: takes differences.
        basis: the problem and the catalogs.
        plan: the plan, whose reports are checked.
        counts: GPU systems and storage in the cluster.
        others: extras.
        of_clusters: what storage clusters need for themselves.
        pdus: those of the racks of GPU systems and storage.
    """
    check = _Check(ledger, basis, counts, plan)
    check.run(others, of_clusters, pdus)
    return check.parts.units


def late_consoles(plan: Plan) -> int:
    """Return the switches whose consoles are on reserved management ports."""
    return sum(switches_of(r) for r in plan.fabrics if r.network in MANAGED)
