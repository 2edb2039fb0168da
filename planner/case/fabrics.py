"""Dependent items while they are collected, and the fabrics: ports, switches, links as counts."""

from __future__ import annotations

import math
from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

from planner.case.figures import Bounds
from planner.case.items import System, Terms
from planner.case.model import (
    SHARED_RACKS,
    Case,
    Ceil,
    Fabric,
    Quantity,
    Size,
    Steps,
    Sum,
)
from planner.inputs import Inputs
from planner.schema.catalog import Item, Link, LinkEnd, Port, PortGroup, Switch
from planner.schema.plan import NetworkName
from planner.schema.problem import ComputeFabric, EthernetFabric, OutOfBand
from planner.sizing.fabric import (
    ComputeDesign,
    FabricSize,
    PortDesign,
    compute_sizes,
    port_sizes,
)

OUTPUTS = ("switches", "any", "leaf_spine", "spine_core", "ends")
"""Switches of all tiers, 1 where there is a fabric, links between switches, their transceivers."""
WORDS: dict[NetworkName, str] = {
    "compute": "compute",
    "storage": "storage",
    "converged": "storage and in-band",
    "in_band": "in-band",
    "out_of_band": "out-of-band",
}
NO_LINK = Link.model_construct(cable="", links=1, switch_end=None, system_end=None)


Term = tuple[float, str]

# Counts and needs while they are collected.


class CompanionsBuilder:
    """Quantities in working order, and the items that they need.

    ``offers`` can be in the cluster; ``placed`` are in racks and cooled.
    ``switches``: those with a counted console; ``extras``, ``of_clusters``: items with the name of
    their count.
    """

    def __init__(self, inputs: Inputs, case: Case, tops: dict[str, int]) -> None:
        self.inputs = inputs
        self.items = inputs.by_id
        self.offers = (*case.systems, *case.storage)
        self.placed = case.offers()
        self.bounds = Bounds.of_case(case, tops)
        self.bounded = 0
        self.quantities: list[Quantity] = []
        self.needs: defaultdict[str, list[Term]] = defaultdict(list)
        self.roles: defaultdict[str, list[str]] = defaultdict(list)
        self.fabrics: list[Fabric] = []
        self.racks: list[Term] = []
        self.pdus_per_rack: dict[str, int] = {}
        self.switches: list[Term] = []
        self.extras: list[tuple[Item, str]] = []
        self.of_clusters: list[tuple[Item, str]] = []

    def add_sum(self, name: str, terms: Terms, constant: float = 0.0) -> str:
        """Add a count that is a sum, and return its name."""
        self.quantities.append(Sum(name, terms, constant))
        return name

    def add_ceil(self, name: str, terms: Terms, constant: float = 0.0, if_any: int = 0) -> str:
        """Add a count that is rounded up, and return its name."""
        self.quantities.append(Ceil(name, terms, constant, if_any))
        return name

    def upper_bound(self, terms: Terms) -> int:
        """Upper bound of a sum of terms; larger fabrics are not derived."""
        self.bounds.add(self.quantities[self.bounded :])
        self.bounded = len(self.quantities)
        return int(self.bounds.most(terms)) + 1

    def require(self, item_id: str, factor: float, name: str, role: str) -> None:
        """Require ``factor`` units of an item for each of a count."""
        self.needs[item_id].append((factor, name))
        self.roles[item_id].append(role)


# Ports of items and of switches.


def find_port_group(
    switch: Switch, speed_gbit_per_s: float, form: str | None = None
) -> PortGroup | None:
    """The slowest port group that takes a port, None for none.

    Of a switch with links for the form of a port only the groups that have one are tried.
    """
    made_for = [group for group in switch.ports if group.made_for(form)]
    taking = [group for group in made_for or switch.ports if group.takes(speed_gbit_per_s)]
    return min(taking, key=lambda group: group.speed_gbit_per_s, default=None)


def base_group(switch: Switch) -> PortGroup:
    """The fastest port group: the ports that others are parts of."""
    return max(switch.ports, key=lambda group: group.speed_gbit_per_s)


def slowest_group(switch: Switch) -> PortGroup:
    """The slowest port group, which takes consoles."""
    return min(switch.ports, key=lambda group: group.speed_gbit_per_s)


def parts_per_panel(switch: Switch) -> int:
    """Parts of a whole front panel, so that every port is a whole number of them."""
    return math.lcm(*(group.count for group in switch.ports))


def compute_port(item: Item, planes: int) -> Port | None:
    """Compute ports of a GPU system in a fabric of several planes.

    Ports that can be split into as many are several slower ones each, one to a plane.
    """
    port = item.ports.compute
    if port is None or port.split is None or port.split.into != planes:
        return port
    return port.model_copy(
        update={
            "count": port.count * planes,
            "speed_gbit_per_s": port.speed_gbit_per_s / planes,
            "transceiver": port.split.transceiver,
        }
    )


def is_compatible(switch: Switch, port: Port) -> bool:
    """True if a switch has the protocol of a port; a port without one takes any."""
    return port.protocol in (None, switch.protocol)


class FabricKey(NamedTuple):
    """GPU types with the same key can share a compute fabric."""

    switch: str
    speed_gbit_per_s: float
    ports: int
    rails: int
    rail_group: int
    planes: int
    oversubscription: float


def _groups(port: Port, inputs: Inputs) -> list[tuple[str, PortGroup]]:
    """Switches of the compute fabric that take a port, with their port group."""
    fabric = inputs.problem.network.compute
    taking = []
    for name in fabric.switches if fabric is not None else ():
        switch = inputs.by_id[name].switch
        assert switch is not None
        group = (
            find_port_group(switch, port.speed_gbit_per_s) if is_compatible(switch, port) else None
        )
        if group is not None:
            taking.append((name, group))
    return taking


def fabric_keys(item: Item, inputs: Inputs) -> tuple[FabricKey, ...]:
    """The compute fabrics that a GPU system may join, sorted: none without any."""
    fabric = inputs.problem.network.compute
    if item.category != "gpu_system" or fabric is None:
        return ()
    keys = set()
    for planes in fabric.planes_allowed:
        port = compute_port(item, planes)
        if port is None or port.count % (port.rails * planes):
            continue
        of_port = port.count, port.rails, port.rail_group or 0, planes
        keys |= {
            FabricKey(switch, group.speed_gbit_per_s, *of_port, ratio)
            for switch, group in _groups(port, inputs)
            for ratio in fabric.oversubscriptions
        }
    return tuple(sorted(keys))


def no_compute_fabric(item: Item, inputs: Inputs) -> str | None:
    """Why a GPU system cannot join the compute fabric, None where it can."""
    fabric = inputs.problem.network.compute
    if fabric is None or item.category != "gpu_system" or fabric_keys(item, inputs):
        return None
    port = compute_port(item, fabric.planes_allowed[0])
    if port is None:
        return "not known: compute ports, for network.compute"
    if not _groups(port, inputs):
        kind = f"{port.protocol} " if port.protocol else ""
        return f"no switch of network.compute has {kind}ports of {port.speed_gbit_per_s:g} Gb/s"
    return f"its {port.count} compute ports do not spread evenly over {port.rails} rails and planes"


def no_port_group(item: Item, inputs: Inputs) -> str | None:
    """Why a storage or in-band port fits no port of its switch, None where it does."""
    network = inputs.problem.network
    in_band = network.in_band or network.converged
    for name, fabric in (("storage", network.storage), ("in_band", in_band)):
        port: Port | None = getattr(item.ports, name)
        if fabric is None or port is None:
            continue
        switch = inputs.by_id[fabric.switch]
        assert switch.switch is not None
        if not is_compatible(switch.switch, port):
            kind = name.replace("_", "-")
            return f"{switch.id}, which its {kind} ports go to, has no {port.protocol} ports"
        if find_port_group(switch.switch, port.speed_gbit_per_s, port.form) is None:
            form = f" {port.form}" if port.form else ""
            return f"no port of {switch.id} takes one of {port.speed_gbit_per_s:g} Gb/s{form}"
    return None


# Links: cables and transceivers.


def _need_cables(
    builder: CompanionsBuilder, network: NetworkName, name: str, link: Link, links: Terms
) -> None:
    """Require the cables of links, ``link.links`` of which share one."""
    if link is NO_LINK:
        return
    if link.links == 1:
        builder.add_sum(name, links)
    else:
        builder.add_ceil(name, tuple((factor / link.links, key) for factor, key in links))
    builder.require(link.cable, 1.0, name, WORDS[network])


def _need_ends(
    builder: CompanionsBuilder, network: NetworkName, end: LinkEnd | None, links: int, name: str
) -> None:
    """Require the transceivers of ``links`` links at each of a count."""
    if end is not None:
        builder.require(end.item, float(-(-links // end.links)), name, WORDS[network])


@lru_cache(maxsize=16_384)
def _outputs_of(size: FabricSize, planes: int, each_end: int | None, *, fitted: bool) -> Size:
    """Outputs of a plane's size over all planes.

    ``each_end``: links of each transceiver at a switch, None where none are bought. ``fitted``:
    ports for systems have transceivers whatever is connected.
    """
    tree, ends = size.tree, 0
    if each_end is not None:
        by_tier = (
            (tree.leaves, tree.uplinks_per_leaf),
            (tree.spines, tree.spine_down_ports + tree.spine_up_ports),
            (tree.cores, tree.core_ports),
            (tree.leaves if fitted else 0, size.leaf_down_ports),
        )
        ends = sum(switches * -(-links // each_end) for switches, links in by_tier)
    switches = planes * (tree.leaves + tree.spines + tree.cores)
    links = planes * tree.leaf_spine_links, planes * tree.spine_core_links
    return Size(size.capacity, (switches, 1, *links, planes * ends))


def _add_tree(builder: CompanionsBuilder, fabric: Fabric, link: Link) -> None:
    """Add a fabric of equal leaves: its sizes, switches, and the links between switches."""
    network, prefix, end = fabric.network, fabric.prefix, link.switch_end
    each_end, fitted = None if end is None else end.links, network == "compute"
    sizes = tuple(_outputs_of(s, fabric.planes, each_end, fitted=fitted) for s in fabric.sizes)
    switches, _, leaf_spine, spine_core, ends = outputs = tuple(f"{prefix}.{o}" for o in OUTPUTS)
    builder.quantities.append(Steps(prefix, fabric.amount, sizes, outputs))
    builder.fabrics.append(fabric)
    builder.require(fabric.switch, 1.0, switches, WORDS[network])
    if network in ("compute", "storage"):
        builder.switches.append((1.0, switches))
    if fitted:
        _need_cables(builder, network, f"{prefix}.system_cables", link, fabric.links)
    _need_cables(builder, network, f"{prefix}.leaf_cables", link, ((1.0, leaf_spine),))
    _need_cables(builder, network, f"{prefix}.core_cables", link, ((1.0, spine_core),))
    if end is not None:
        builder.require(end.item, 1.0, ends, WORDS[network])


def add_compute(builder: CompanionsBuilder, asked: ComputeFabric) -> None:
    """Add the compute fabrics: one for each set of GPU types that can share it.

    A plan builds one of those that a type may join; the others then join none of its systems.
    """
    systems = [offer for offer in builder.offers if isinstance(offer, System)]
    keys: dict[int, FabricKey] = {}
    for each in systems:
        known = fabric_keys(builder.items[each.id], builder.inputs)
        keys |= zip(each.fabrics, known, strict=True)
    for number, key in sorted(keys.items()):
        serves = [system for system in systems if number in system.fabrics]
        _add_compute(builder, asked, number, key, serves)


def _add_compute(
    builder: CompanionsBuilder,
    asked: ComputeFabric,
    number: int,
    key: FabricKey,
    serves: list[System],
) -> None:
    switch, manager = builder.items[key.switch].switch, asked.manager
    assert switch is not None
    group = next(g for g in switch.ports if g.speed_gbit_per_s == key.speed_gbit_per_s)
    design = ComputeDesign(
        radix=group.count,
        oversubscription=key.oversubscription,
        ports_per_system=key.ports // key.planes,
        rails=key.rails,
        planes=key.planes,
        manager_slots=manager.slots,
        manager_ports=manager.ports,
        rail_group=key.rail_group,
    )
    prefix, ports = f"compute{number}", design.planes * design.ports_per_system
    amount: Terms = tuple((1.0, system.fabric_count(number)) for system in serves)
    links = tuple((float(ports), name) for _, name in amount)
    if manager.ports:
        links = (*links, (float(manager.ports), f"{prefix}.any"))
    most = builder.upper_bound(amount)
    sizes = compute_sizes(design, most)
    fabric = Fabric(
        network="compute",
        switch=key.switch,
        serves=tuple(system.id for system in serves),
        prefix=prefix,
        amount=amount,
        links=links,
        radix=design.radix,
        oversubscription=design.oversubscription,
        sizes=sizes,
        largest=bool(sizes) and sizes[-1].capacity < most,
        planes=design.planes,
        ports_per_amount=ports,
        design=design,
    )
    link = group.link or NO_LINK
    _add_tree(builder, fabric, link)
    if manager.transceiver is not None:
        role = WORDS["compute"]
        builder.require(manager.transceiver, float(manager.ports), f"{prefix}.any", role)
    for system, (_, name) in zip(serves, amount, strict=True):
        port = compute_port(builder.items[system.id], design.planes)
        own = port.transceiver if port is not None else None
        _need_ends(builder, "compute", own or link.system_end, ports, name)


class _Attached(NamedTuple):
    """Ports of one kind of device: the count of devices, ports each, their group and own end.

    ``form`` is that of the ports where the group has a link for it.
    """

    name: str
    ports: int
    group: PortGroup
    end: LinkEnd | None
    form: str = ""


def add_ethernet(builder: CompanionsBuilder, network: NetworkName, asked: EthernetFabric) -> None:
    """Add the storage fabric, the in-band one or both in one: leaves and spines of one model."""
    item = builder.items[asked.switch]
    assert item.switch is not None
    base, panel = base_group(item.switch), parts_per_panel(item.switch)
    attached = _attached(builder, network, item.switch)
    if not attached:
        return
    parts, ratio = panel // base.count, asked.oversubscription
    amount = tuple((float(a.ports * (panel // a.group.count)), a.name) for a in attached)
    most = builder.upper_bound(amount)
    sizes = port_sizes(PortDesign(base.count, parts, ratio, asked.min_switches), most)
    fabric = Fabric(
        network=network,
        switch=item.id,
        serves=tuple(sorted({each.name for each in attached if each.name in builder.items})),
        prefix=network,
        amount=amount,
        links=tuple((float(each.ports), each.name) for each in attached),
        radix=base.count,
        oversubscription=ratio,
        sizes=sizes,
        largest=bool(sizes) and sizes[-1].capacity < most,
        parts_per_port=parts,
    )
    _add_tree(builder, fabric, base.link or NO_LINK)
    by_group: defaultdict[tuple[float, str], list[_Attached]] = defaultdict(list)
    for one in attached:
        by_group[one.group.speed_gbit_per_s, one.form].append(one)
    for (speed, form), members in sorted(by_group.items()):
        group, kind = members[0].group, f"{speed:g}{form}"
        link = group.made_for(form) or group.link or NO_LINK
        terms = tuple((float(one.ports), one.name) for one in members)
        _need_cables(builder, network, f"{network}.cables_{kind}", link, terms)
        for one in members:
            # A link for a form has both its ends: a port's own transceiver is for the usual link.
            end = link.system_end if form else one.end or link.system_end
            _need_ends(builder, network, end, one.ports, one.name)
        if link.switch_end is not None:
            each = link.switch_end.links
            ends = tuple((factor / each, name) for factor, name in terms)
            name = builder.add_ceil(f"{network}.ends_{kind}", ends)
            builder.require(link.switch_end.item, 1.0, name, WORDS[network])


def _attached(builder: CompanionsBuilder, network: NetworkName, switch: Switch) -> list[_Attached]:
    """Devices on the storage or the in-band fabric, or on both in one."""
    ports: list[tuple[str, Port | None]] = []
    for name in ("storage", "in_band") if network == "converged" else (network,):
        ports += [(o.id, getattr(builder.items[o.id].ports, name)) for o in builder.offers]
    if network != "storage":
        ports += [(name, item.ports.in_band) for item, name in builder.extras]
    attached = []
    for name, port in ports:
        if port is not None:
            group = find_port_group(switch, port.speed_gbit_per_s, port.form)
            assert group is not None  # `no_port_group` refuses ports that are too fast
            made = group.made_for(port.form)
            form = made.form if made else ""
            attached.append(_Attached(name, port.count, group, port.transceiver, form))
    oob = builder.inputs.problem.network.out_of_band
    if network != "storage" and oob is not None and oob.uplinks:
        managing = builder.items[oob.switch].switch  # management switches by their fastest ports
        assert managing is not None
        fastest = base_group(managing)
        group = find_port_group(switch, fastest.speed_gbit_per_s)
        assert group is not None
        end = fastest.link.switch_end if fastest.link is not None else None
        attached.append(_Attached("out_of_band.switches", oob.uplinks, group, end))
    return attached


def add_out_of_band(builder: CompanionsBuilder, network: OutOfBand) -> None:
    """Add the management switches: one port for everything that has a console."""
    item = builder.items[network.switch]
    assert item.switch is not None
    devices = [(builder.items[offer.id], offer.id) for offer in builder.offers]
    devices += [*builder.extras, *builder.of_clusters]
    ports = [(device.ports.out_of_band, name) for device, name in devices]
    terms = tuple((float(port.count), name) for port, name in ports if port is not None)
    pdus = [(float(each), racks) for racks, each in builder.pdus_per_rack.items()]
    terms = (*terms, *builder.switches, *pdus)
    radix = slowest_group(item.switch).count
    usable = radix - network.reserve_ports
    switches = builder.add_ceil(
        "out_of_band.switches", tuple((f / usable, key) for f, key in terms)
    )
    builder.require(item.id, 1.0, switches, WORDS["out_of_band"])
    builder.fabrics.append(
        Fabric(
            network="out_of_band",
            switch=item.id,
            serves=tuple(name for _, name in terms if name in builder.items),
            prefix="out_of_band",
            amount=terms,
            links=terms,
            radix=radix,
            oversubscription=1.0,
            ports_per_amount=usable,
        )
    )


def add_console_cables(builder: CompanionsBuilder, network: OutOfBand) -> None:
    """Add a cable for every console: those counted as ports, and those on reserved ports.

    These are the switches of the in-band fabric and of management itself, and the PDUs of the racks
    that network devices share.
    """
    switch = builder.items[network.switch].switch
    assert switch is not None
    link = slowest_group(switch).link
    if link is None:
        return
    counted = next(fabric for fabric in builder.fabrics if fabric.network == "out_of_band")
    reserved = [
        (1.0, f"{fabric.prefix}.switches")
        for fabric in builder.fabrics
        if fabric.network in ("in_band", "converged", "out_of_band")
    ]
    if each := builder.pdus_per_rack.get(SHARED_RACKS):
        reserved.append((float(each), SHARED_RACKS))
    cables = builder.add_sum("out_of_band.cables", (*counted.amount, *reserved))
    builder.require(link.cable, 1.0, cables, WORDS["out_of_band"])
