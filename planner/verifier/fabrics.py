"""Every fabric, written out once more: fat trees, switches, cables and ends; and its report.

The compute fabrics join the GPUs, rail by rail; the storage and the in-band fabric join ports that
differ in speed; out-of-band management uplinks to the latter.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from planner.schema.catalog import FormLink, Item, Link, PortGroup
from planner.schema.plan import FabricReport, Plan
from planner.schema.problem import ComputeFabric, EthernetFabric, OutOfBand, StorageFabric
from planner.verifier.basis import DECIDED, Basis, Ledger, at_least, close
from planner.verifier.links import (
    Fabric,
    PartCounts,
    Plug,
    Plugged,
    Tree,
    Wiring,
    fastest,
    fat_tree,
    oversubscription_of,
    planes_of,
    planes_of_port,
    plug,
    slowest,
    split,
    three_tiers,
    two_tiers,
)

_REPORTED = (
    "planes",
    "tiers",
    "units",
    "radix",
    "leaf_switches",
    "spine_switches",
    "core_switches",
    "endpoints",
    "parts_per_port",
    "capacity",
    "uplinks_per_leaf",
    "system_links",
    "leaf_spine_links",
    "spine_core_links",
)


def with_fabric(ledger: Ledger, basis: Basis, plan: Plan) -> Basis:
    """Return what a plan is judged by where its compute fabric is built as it says.

    The problem allows a set of switches, and may allow several numbers of planes and ratios: what
    the plan says stands first in each, the others by name.
    """
    network = basis.problem.network
    asked, types = network.compute, set(plan.jobs[0].gpu_types if plan.jobs else ())
    built = [f for f in plan.fabrics if f.network == "compute" and types & set(f.serves)]
    if asked is None or not built:
        return basis
    said = built[0]
    for name, value, allowed in (
        ("switch_sku", said.switch_sku, asked.switches),
        ("planes", said.planes, asked.planes_allowed),
        ("oversubscription", said.oversubscription, asked.oversubscriptions),
    ):
        if value not in allowed:
            ledger.fail(
                f"fabrics.compute.{name}: {value!r} is not among {', '.join(map(str, allowed))}"
            )
            return basis
    others = sorted(set(asked.switches) - {said.switch_sku})
    chosen = asked.model_copy(
        update={
            "switches": (said.switch_sku, *others),
            "planes": said.planes,
            "oversubscription": said.oversubscription,
        }
    )
    compute = network.model_copy(update={"compute": chosen})
    return replace(basis, problem=basis.problem.model_copy(update={"network": compute}))


def compute_fabrics(
    basis: Basis, counts: Mapping[str, int], bill: PartCounts
) -> list[Fabric] | None:
    """Return the fabrics between the GPU systems, and add their parts to the bill.

    None where a system does not fit any switch, or a tree would be too large.

    Args:
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
        fabric = _build_compute(basis, asked, how, systems, bill)
        if fabric is None:
            return None
        fabrics.append(fabric)
    return fabrics


def _build_compute(
    basis: Basis, asked: ComputeFabric, how: Plug, systems: Mapping[str, int], bill: PartCounts
) -> Fabric | None:
    size = _size_compute(asked, how, sum(systems.values()))
    if size is None:
        return None
    units, tree, down, up, most = size
    planes, count = planes_of(asked), sum(systems.values())
    group = next(
        group
        for group in _compute_groups(basis.items[how.switch])
        if group.speed_gbit_per_s == how.speed_gbit_per_s
    )
    per_rail = units if how.rail_group is None else tree.leaves // max(1, units * how.rails)
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
        wiring=Wiring(group, tree, ((tree.leaves, down, up),), max(1, per_rail), how),
    )
    _wire_compute(bill, fabric, group, tree, down)
    if asked.manager.transceiver is not None:
        bill.add(bill.reaching(asked.manager.transceiver), asked.manager.ports)
    for sku, units in systems.items():
        port = basis.items[sku].ports.compute
        own = None if port is None else port.transceiver
        if port is not None and port.split is not None and planes_of_port(asked, port) > 1:
            own = port.split.transceiver
        bill.system_ends(group.link, own, how.ports, units)
    return fabric


def _compute_groups(switch: Item) -> tuple[PortGroup, ...]:
    return () if switch.switch is None else switch.switch.ports


def _size_compute(
    asked: ComputeFabric, how: Plug, systems: int
) -> tuple[int, Tree, int, int, int] | None:
    """Return units, tree of one plane, down- and uplinks per leaf, and the most systems it holds.

    There are no units on a single switch, and none on a pair of leaves.
    """
    ports, ratio = how.ports // planes_of(asked), oversubscription_of(asked)
    alone = (how.radix - asked.manager.ports) // ports
    if asked.single_switch and systems <= alone:
        return 0, Tree(1, leaves=1), how.radix, 0, alone
    down, up = split(how.radix, ratio)
    pair = (2 * down - asked.manager.ports) // ports
    if asked.leaf_pair and systems <= pair:
        return 0, Tree(1, leaves=2, leaf_spine_links=up), down, up, pair
    if how.rail_group is not None:
        return _size_rail_groups(asked, how, how.rail_group, ports // how.rails, systems)
    per_unit = down * how.rails // ports
    if per_unit == 0:
        return None
    units = max(1, -(-(systems + asked.manager.slots) // per_unit))
    tree = fat_tree(units, how.rails, how.radix, up)
    most = units * per_unit - asked.manager.slots
    return None if tree is None else (units, tree, down, up, most)


def _size_rail_groups(
    asked: ComputeFabric, how: Plug, unit: int, on_rail: int, systems: int
) -> tuple[int, Tree, int, int, int] | None:
    """Return the same of a fabric of rail groups: ``unit`` systems, ``on_rail`` ports on a rail."""
    ratio = oversubscription_of(asked)
    together = min(unit, split(how.radix, ratio)[0] // on_rail)
    up = at_least(together * on_rail / ratio)
    if up < 2:
        return None
    down, leaves = together * on_rail, -(-unit // together)
    spare = how.rails * leaves * (how.radix - down - up)
    slots = asked.manager.slots if asked.manager.ports > spare else 0
    units = max(1, -(-(systems + slots) // unit))
    of_rails, groups = how.rails * leaves, how.rails * units
    if units == 1 and of_rails <= how.radix:
        tree = two_tiers(of_rails, how.radix, up)
    else:
        tree = three_tiers(groups * leaves, groups, leaves, how.radix, up)
    return None if tree is None else (units, tree, down, up, units * unit - slots)


def _wire_compute(
    bill: PartCounts, fabric: Fabric, group: PortGroup, tree: Tree, down: int
) -> None:
    link = group.link
    bill.add(fabric.switch_sku, fabric.switches)
    for links in (fabric.system_links, fabric.leaf_spine_links, fabric.spine_core_links):
        bill.cables(link, links)
    bill.switch_ends(link, down, fabric.leaf_switches)
    bill.switch_ends(link, fabric.uplinks_per_leaf, fabric.leaf_switches)
    bill.switch_ends(link, tree.spine_ports, fabric.spine_switches)
    bill.switch_ends(link, tree.core_ports, fabric.core_switches)


def plugged(basis: Basis, units: Mapping[str, int], network: str) -> list[Plugged]:
    """Return the devices that have ports on a network.

    Args:
        network: ``storage``, ``in_band`` or ``out_of_band``.
    """
    result = []
    for sku, count in units.items():
        port = getattr(basis.items[sku].ports, network)
        if port is not None and count > 0:
            speed, spoken = port.speed_gbit_per_s, port.protocol
            form, end = port.form, port.transceiver
            result.append(Plugged(sku, count, port.count, speed, end, form, spoken))
    return result


def port_fabric(
    basis: Basis, network: str, asked: EthernetFabric, devices: Iterable[Plugged], bill: PartCounts
) -> list[Fabric] | None:
    """Return the fabric (none without ports), and add its parts to the bill.

    None where a port does not fit the switch, or the tree would be too large.

    Args:
        asked: what the problem says of it.
        devices: everything that is plugged in.
        bill: takes switches, cables and transceivers.
    """
    devices, switch = list(devices), basis.items[asked.switch]
    if asked.edge is not None:
        devices.append(Plugged("", 1, asked.edge.ports, asked.edge.speed_gbit_per_s))
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
    ratio = asked.storage_oversubscription if isinstance(asked, StorageFabric) else None
    if ratio is not None:
        return _apart(basis, network, asked, ratio, devices, whole, bill)
    size = _size_ports(asked, base.count, whole // base.count, parts)
    if size is None:
        return None
    tree, up, most = size
    leaves = tree.leaves, most // tree.leaves, up
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
        wiring=Wiring(base, tree, (leaves,), tree.leaves, devices=tuple(devices)),
    )
    _wire_devices(bill, switch, devices)
    _wire_switches(bill, fabric, base, tree)
    return [fabric]


def _apart(
    basis: Basis,
    network: str,
    asked: EthernetFabric,
    ratio: float,
    devices: list[Plugged],
    whole: int,
    bill: PartCounts,
) -> list[Fabric] | None:
    """Return the fabric in which storage has leaves of its own: all leaves below common spines.

    Every leaf's uplinks are so many bundles as are whole in both kinds, each spread evenly.
    """
    switch = basis.items[asked.switch]
    base = fastest(switch)
    assert base is not None
    (down, up), (storage_down, storage_up) = (
        split(base.count, each) for each in (asked.oversubscription, ratio)
    )
    together, per_port = math.gcd(up, storage_up), whole // base.count
    of = [device for device in devices if _is_storage(basis, device)]
    others = [device for device in devices if not _is_storage(basis, device)]
    groups = [_by_group(switch, some) or [] for some in (others, of)]
    parts = [sum(n * (whole // group.count) for group, n in some) for some in groups]
    leaves = []
    for some, ports in zip(parts, (down, storage_down), strict=True):
        if some and ports == 0:
            return None
        leaves.append(max(asked.min_switches, -(-some // (ports * per_port))) if some else 0)
    bundles = (leaves[0] * up + leaves[1] * storage_up) // together
    tree = fat_tree(bundles, 1, base.count, together) if together > 1 else None
    if tree is None:  # a single uplink does not reach two spines
        return None
    kinds = ((leaves[0], down, up), (leaves[1], storage_down, storage_up))
    fabric = Fabric(
        network=network,
        switch_sku=asked.switch,
        serves=_served(basis, devices),
        planes=1,
        tiers=tree.tiers,
        units=sum(leaves),
        radix=base.count,
        leaf_switches=sum(leaves),
        spine_switches=tree.spines,
        core_switches=tree.cores,
        endpoints=sum(parts),
        parts_per_port=per_port,
        capacity=(leaves[0] * down + leaves[1] * storage_down) * per_port,
        uplinks_per_leaf=max(n for n, count in zip((up, storage_up), leaves, strict=True) if count),
        system_links=sum(n for some in groups for _, n in some),
        leaf_spine_links=leaves[0] * up + leaves[1] * storage_up,
        spine_core_links=tree.spine_core_links,
        wiring=Wiring(base, tree, kinds, tree.leaves, devices=tuple(devices)),
    )
    _wire_devices(bill, switch, devices)
    bill.add(fabric.switch_sku, fabric.switches)
    for links in (fabric.leaf_spine_links, fabric.spine_core_links):
        bill.cables(base.link, links)
    for count, uplinks in zip(leaves, (up, storage_up), strict=True):
        bill.switch_ends(base.link, uplinks, count)
    bill.switch_ends(base.link, tree.spine_ports, tree.spines)
    bill.switch_ends(base.link, tree.core_ports, tree.cores)
    return [fabric]


def _is_storage(basis: Basis, device: Plugged) -> bool:
    return bool(device.sku) and basis.items[device.sku].category == "storage"


def _served(basis: Basis, devices: list[Plugged]) -> frozenset[str]:
    """Return the GPU systems and storage among the devices."""
    skus = (device.sku for device in devices if device.sku)
    return frozenset(sku for sku in skus if basis.items[sku].category in DECIDED)


def _by_group(switch: Item, devices: list[Plugged]) -> list[tuple[PortGroup, int]] | None:
    """Return each group in use with the ports it serves, None where a port fits none."""
    ports: Counter[float] = Counter()
    groups: dict[float, PortGroup] = {}
    for device in devices:
        served = device.served(switch)
        if served is None:
            return None
        groups[served[0].speed_gbit_per_s] = served[0]
        ports[served[0].speed_gbit_per_s] += device.units * device.ports
    return [(groups[speed], count) for speed, count in ports.items()]


def _size_ports(
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


def _wire_devices(bill: PartCounts, switch: Item, devices: list[Plugged]) -> None:
    """Add cables and ends of all devices: rounded up for each group and each form by itself."""
    together: dict[tuple[float, str], tuple[Link | None, int]] = {}
    for device in devices:
        served = device.served(switch)
        if served is None:
            continue
        group, link = served
        fixed = isinstance(link, FormLink)
        key = group.speed_gbit_per_s, link.form if isinstance(link, FormLink) else ""
        together[key] = link, together.get(key, (link, 0))[1] + device.units * device.ports
        if device.sku:
            bill.system_ends(link, None if fixed else device.end, device.ports, device.units)
    for link, ports in together.values():
        bill.cables(link, ports)
        bill.switch_ends(link, ports)


def _wire_switches(bill: PartCounts, fabric: Fabric, base: PortGroup, tree: Tree) -> None:
    bill.add(fabric.switch_sku, fabric.switches)
    for links in (fabric.leaf_spine_links, fabric.spine_core_links):
        bill.cables(base.link, links)
    bill.switch_ends(base.link, fabric.uplinks_per_leaf, fabric.leaf_switches)
    bill.switch_ends(base.link, tree.spine_ports, fabric.spine_switches)
    bill.switch_ends(base.link, tree.core_ports, fabric.core_switches)


def out_of_band(
    basis: Basis, asked: OutOfBand, devices: Iterable[Plugged], others: int, bill: PartCounts
) -> list[Fabric] | None:
    """Return the management switches, and add them and their cables to the bill.

    Args:
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
    usable = group.count - asked.reserve_ports
    switches = -(-ports // usable)
    bill.add(asked.switch, switches)
    if group.link is not None:
        bill.add(bill.reaching(group.link.cable), ports)
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
            capacity=switches * usable,
            uplinks_per_leaf=0,
            system_links=ports,
            leaf_spine_links=0,
            spine_core_links=0,
            wiring=Wiring(group, Tree(1, switches), ((switches, usable, 0),), switches),
        )
    ]


def oob_uplinks(basis: Basis, asked: OutOfBand, switches: int) -> Plugged | None:
    """Return the OOB switches as devices of the in-band fabric."""
    managing = basis.items[asked.switch]
    top = fastest(managing)
    if top is None or managing.switch is None or switches == 0 or asked.uplinks == 0:
        return None
    return Plugged(
        asked.switch,
        switches,
        asked.uplinks,
        top.speed_gbit_per_s,
        end=top.link.switch_end if top.link else None,
        protocol=managing.switch.protocol,
        manages=True,
    )


def check_fabrics(ledger: Ledger, basis: Basis, fabrics: Iterable[Fabric], plan: Plan) -> None:
    """Require a report of every fabric, with the right figures, and of no other.

    Args:
        fabrics: those that the systems' ports ask for.
    """
    left = list(fabrics)
    for report in plan.fabrics:
        name = f"fabrics.{report.network}.{report.switch_sku}"
        fabric = next((each for each in left if _matches(each, report)), None)
        if fabric is None:
            ledger.fail(f"{name}: the plan's systems have no such fabric, or it is listed twice")
        else:
            left.remove(fabric)
            _check_report(ledger, name, report, fabric)
            _check_oversubscription(ledger, basis, name, report, fabric)
    for fabric in left:
        ledger.fail(f"fabrics.{fabric.network}.{fabric.switch_sku}: missing")


def _matches(fabric: Fabric, report: FabricReport) -> bool:
    """Compute fabrics may share a switch model; what they serve tells them apart."""
    if (fabric.network, fabric.switch_sku) != (report.network, report.switch_sku):
        return False
    return fabric.network != "compute" or fabric.serves == set(report.serves)


def _check_report(ledger: Ledger, name: str, report: FabricReport, fabric: Fabric) -> None:
    for figure in _REPORTED:
        ledger.equal(f"{name}.{figure}", getattr(report, figure), getattr(fabric, figure))
    ledger.equal(f"{name}.serves", sorted(report.serves), sorted(fabric.serves))


def _check_oversubscription(
    ledger: Ledger, basis: Basis, name: str, report: FabricReport, fabric: Fabric
) -> None:
    network = basis.problem.network
    named = "storage" if fabric.network == "converged" else fabric.network
    asked = getattr(network, named)
    wanted = 1.0
    if isinstance(asked, (ComputeFabric, EthernetFabric)):
        wanted = oversubscription_of(asked)
    ledger.require(
        close(report.oversubscription, wanted),
        f"{name}.oversubscription: the plan says {report.oversubscription!r}, asked is {wanted!r}",
    )
