"""The fabrics of a problem: switches, links, cables and transceivers as counts of the systems."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from planner.case.bounds import Bounds
from planner.case.cabling import longest_run_m, part_that_reaches
from planner.case.figures import (
    FabricKey,
    base_group,
    compute_port,
    fabric_keys,
    group_for,
    parts_per_panel,
)
from planner.case.model import Case, Fabric, LeafKind, NetworkName, Storage, System
from planner.case.quantities import Ceil, Packed, Quantity, Size, Steps, Sum, Terms
from planner.inputs import Inputs
from planner.schema.catalog import Item, Link, LinkEnd, Port, PortGroup, Switch
from planner.schema.problem import ComputeFabric, EthernetFabric, OutOfBand, StorageFabric
from planner.sizing.fabric import (
    ComputeDesign,
    FabricSize,
    PortDesign,
    bundle_sizes,
    bundle_uplinks,
    compute_sizes,
    port_sizes,
    split_ports,
)


class CompanionsBuilder:
    """Counts and needs as they are collected.

    ``offers`` can be in the cluster; ``placed`` is all that stands in racks and is cooled.
    """

    def __init__(self, inputs: Inputs, case: Case, tops: dict[str, int]) -> None:
        self.inputs = inputs
        self.items = inputs.by_id
        self.longest_run_m = longest_run_m(inputs)
        self.offers = (*case.systems, *case.storage)
        self.placed = case.offers()
        self.bounds = Bounds.of(case, tops)
        self.bounds.follow(case.rewired)
        self.bounded = 0
        self.quantities: list[Quantity] = []
        self.needs: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
        self.roles: defaultdict[str, list[str]] = defaultdict(list)
        self.fabrics: list[Fabric] = []
        self.racks: list[tuple[float, str]] = []
        self.standing: list[tuple[float | None, float | None, str]] = []
        self.own_racks: list[tuple[float, str]] = []
        self.pdus: list[tuple[float, str]] = []
        self.pdus_per_rack: list[tuple[str, int]] = []
        self.switches: list[tuple[float, str]] = []
        self.extras: list[tuple[Item, str]] = []
        self.of_clusters: list[tuple[Item, str]] = []
        self.shared: Packed | None = None
        self.shared_pdus_per_rack = 0

    def sum(self, name: str, terms: Terms, constant: float = 0.0) -> str:
        """Add a count that is a sum, and return its name."""
        self.quantities.append(Sum(name, terms, constant))
        return name

    def ceil(self, name: str, terms: Terms, constant: float = 0.0, if_any: int = 0) -> str:
        """Add a count that is rounded up, and return its name."""
        self.quantities.append(Ceil(name, terms, constant, if_any))
        return name

    def most(self, terms: Terms) -> int:
        """Return an upper bound of a sum of terms; larger fabrics are not looked at."""
        self.bounds.add(self.quantities[self.bounded :])
        self.bounded = len(self.quantities)
        return int(self.bounds.most(terms)) + 1

    def need(self, item_id: str, factor: float, name: str, role: str) -> None:
        """Say that ``factor`` units of an item are needed for each of a count, and what for."""
        self.needs[item_id].append((factor, name))
        self.roles[item_id].append(role)

    def need_part(self, item_id: str, factor: float, name: str, role: str) -> None:
        """Say the same of a cable or transceiver: of the one that reaches through the hall."""
        self.need(part_that_reaches(item_id, self.items, self.longest_run_m), factor, name, role)

    def item(self, item_id: str) -> Item:
        """Return an item of the catalogs."""
        return self.items[item_id]


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


def add_compute(builder: CompanionsBuilder, fabric: ComputeFabric) -> None:
    """Add the compute fabrics: one for each set of GPU types that can share it.

    A plan builds one of those that a type may join; the others then join none of its systems.
    """
    systems = [offer for offer in builder.offers if isinstance(offer, System)]
    keys: dict[int, FabricKey] = {}
    for each in systems:
        known = fabric_keys(builder.item(each.id), builder.inputs)
        keys |= zip(each.fabrics, known, strict=True)
    for number, key in sorted(keys.items()):
        serves = tuple(system for system in systems if number in system.fabrics)
        design = ComputeDesign(
            radix=_group(builder, key).count,
            oversubscription=key.oversubscription,
            ports_per_system=key.ports // key.planes,
            rails=key.rails,
            planes=key.planes,
            manager_slots=fabric.manager.slots,
            manager_ports=fabric.manager.ports,
            single_switch=fabric.single_switch,
            leaf_pair=fabric.leaf_pair,
            rail_group=key.rail_group,
        )
        _add_compute(builder, number, key, design, serves)


def _add_compute(
    builder: CompanionsBuilder,
    number: int,
    key: FabricKey,
    design: ComputeDesign,
    serves: tuple[System, ...],
) -> None:
    item, prefix = builder.item(key.switch), f"compute{number}"
    assert item.switch is not None
    link = _group(builder, key).link or NO_LINK
    amount: Terms = tuple((1.0, system.wired(number)) for system in serves)
    sizes = compute_sizes(design, builder.most(amount))
    each_end = None if link.switch_end is None else link.switch_end.links
    full = [_per_size(size, design.planes, each_end) for size in sizes]
    outputs = tuple(f"{prefix}.{name}" for name in OUTPUTS)
    builder.quantities.append(Steps(prefix, amount, tuple(full), outputs))
    switches, some, leaf_spine, spine_core, ends = outputs
    builder.need(item.id, 1.0, switches, WORDS["compute"])
    builder.switches.append((1.0, switches))
    each = float(design.planes * design.ports_per_system)
    system_links = tuple((each, name) for _, name in amount)
    if design.manager_ports:
        system_links = (*system_links, (float(design.manager_ports), some))
    _need_cables(builder, "compute", f"{prefix}.system_cables", link, system_links)
    _need_cables(builder, "compute", f"{prefix}.leaf_cables", link, ((1.0, leaf_spine),))
    _need_cables(builder, "compute", f"{prefix}.core_cables", link, ((1.0, spine_core),))
    if link.switch_end is not None:
        builder.need_part(link.switch_end.item, 1.0, ends, WORDS["compute"])
    manager = builder.inputs.problem.network.compute
    if manager is not None and manager.manager.transceiver is not None:
        ports_of_it = float(manager.manager.ports)
        builder.need_part(manager.manager.transceiver, ports_of_it, some, WORDS["compute"])
    ends_of = (_end(compute_port(builder.item(s.id), design.planes), link) for s in serves)
    ports = [(name, int(each), end) for (_, name), end in zip(amount, ends_of, strict=True)]
    _need_system_ends(builder, "compute", ports)
    builder.fabrics.append(
        Fabric(
            network="compute",
            switch=item.id,
            serves=tuple(system.id for system in serves),
            prefix=prefix,
            amount=amount,
            links=system_links,
            sizes=sizes,
            planes=design.planes,
            radix=design.radix,
            parts_per_port=1,
            ports_per_amount=design.planes * design.ports_per_system,
            oversubscription=design.oversubscription,
            design=design,
        )
    )


def _group(builder: CompanionsBuilder, key: FabricKey) -> PortGroup:
    switch = builder.item(key.switch).switch
    assert switch is not None
    return next(g for g in switch.ports if g.speed_gbit_per_s == key.speed_gbit_per_s)


@lru_cache(maxsize=16_384)
def _per_size(size: FabricSize, planes: int, each_end: int | None, *, fitted: bool = True) -> Size:
    """Return a size's outputs; where leaves are ``fitted``, with transceivers in every port for
    systems.

    Args:
        size: the size of one plane.
        planes: how many there are.
        each_end: the links of each transceiver at a switch, None where none are bought.
        fitted: whether ports for systems have theirs whatever is connected.
    """
    ends = _uplink_ends(size, each_end)
    if fitted:
        ends += size.tree.leaves * _modules(size.leaf_down_ports, each_end)
    return _sized(size, planes, ends)


def _sized(size: FabricSize, planes: int, ends: int) -> Size:
    """Return a size with its outputs over all planes; ``ends`` are transceivers of one plane."""
    tree = size.tree
    switches = tree.leaves + tree.spines + tree.cores
    each = (switches, 0, tree.leaf_spine_links, tree.spine_core_links, ends)
    counts = [planes * count for count in each]
    counts[OUTPUTS.index("any")] = 1
    return Size(size.capacity, tuple(counts))


def _uplink_ends(size: FabricSize, each_end: int | None) -> int:
    """Return the transceivers of links between switches, both ends, of one plane."""
    tree = size.tree
    leaf = tree.leaves * _modules(tree.uplinks_per_leaf, each_end)
    spine = tree.spines * _modules(tree.spine_down_ports + tree.spine_up_ports, each_end)
    return leaf + spine + tree.cores * _modules(tree.core_ports, each_end)


def _ends(links: int, end: LinkEnd | None) -> int:
    return _modules(links, None if end is None else end.links)


def _modules(links: int, each: int | None) -> int:
    """Return transceivers of so many links each; none where none are bought."""
    return 0 if each is None else -(-links // each)


def _need_cables(
    builder: CompanionsBuilder, network: NetworkName, name: str, link: Link, links: Terms
) -> None:
    if link is NO_LINK:
        return
    if link.links == 1:
        builder.sum(name, links)
    else:
        builder.ceil(name, tuple((factor / link.links, key) for factor, key in links))
    builder.need_part(link.cable, 1.0, name, WORDS[network])


def _need_system_ends(
    builder: CompanionsBuilder, network: NetworkName, ports: list[tuple[str, int, LinkEnd | None]]
) -> None:
    """Need transceivers at devices: (name of their count, ports of one device, their end)."""
    for name, count, end in ports:
        if end is None:
            continue
        builder.need_part(end.item, float(_ends(count, end)), name, WORDS[network])


class _Attached(NamedTuple):
    """Ports of one kind of device: the count of devices, ports each, their group and own end.

    What is at the far end of ``outside`` ports is not bought. ``form`` is that of the ports where
    the group has a link for it.
    """

    name: str
    ports: int
    group: PortGroup
    end: LinkEnd | None
    outside: bool = False
    form: str = ""

    @property
    def link(self) -> Link:
        """What these ports are linked by."""
        return self.group.made_for(self.form) or self.group.link or NO_LINK


def add_ethernet(builder: CompanionsBuilder, network: NetworkName, fabric: EthernetFabric) -> None:
    """Add the storage fabric, the in-band one or both in one: leaves and spines of one model."""
    item = builder.item(fabric.switch)
    assert item.switch is not None
    switch, base = item.switch, base_group(item.switch)
    panel = parts_per_panel(switch)
    attached = _attached(builder, network, switch)
    if fabric.edge is not None:
        name = builder.sum(f"{network}.edge", (), 1.0)
        group = group_for(switch, fabric.edge.speed_gbit_per_s)
        assert group is not None  # the checks refuse an edge that is faster
        attached.append(_Attached(name, fabric.edge.ports, group, None, outside=True))
    if not attached:
        return
    shape = _Shape(item.id, base, panel // base.count, fabric)
    amount = tuple((float(a.ports * (panel // a.group.count)), a.name) for a in attached)
    ratio = fabric.storage_oversubscription if isinstance(fabric, StorageFabric) else None
    if ratio is None:
        built = _one_kind(builder, network, shape, amount)
    else:
        built = _two_kinds(builder, network, shape, amount, ratio)
    builder.need(item.id, 1.0, f"{network}.switches", WORDS[network])
    if network == "storage":
        builder.switches.append((1.0, f"{network}.switches"))
    _attach(builder, network, attached)
    serves = tuple(sorted({a.name for a in attached if a.name in builder.items}))
    links = tuple((float(a.ports), a.name) for a in attached)
    builder.fabrics.append(replace(built, serves=serves, links=links))


class _Shape(NamedTuple):
    """What leaves and spines are made of, and how ports count."""

    switch: str
    base: PortGroup
    parts_per_port: int
    asked: EthernetFabric

    def fabric(self, network: NetworkName, amount: Terms, sizes: tuple[FabricSize, ...]) -> Fabric:
        """Return the fabric, without what it serves."""
        return Fabric(
            network=network,
            switch=self.switch,
            serves=(),
            prefix=network,
            amount=amount,
            links=(),
            sizes=sizes,
            planes=1,
            radix=self.base.count,
            parts_per_port=self.parts_per_port,
            ports_per_amount=1,
            oversubscription=self.asked.oversubscription,
        )


def _one_kind(
    builder: CompanionsBuilder, network: NetworkName, shape: _Shape, amount: Terms
) -> Fabric:
    """Add leaves and spines of which every leaf takes any device."""
    design = PortDesign(
        radix=shape.base.count,
        parts_per_port=shape.parts_per_port,
        oversubscription=shape.asked.oversubscription,
        min_switches=shape.asked.min_switches,
    )
    sizes = port_sizes(design, builder.most(amount))
    uplink = shape.base.link or NO_LINK
    each_end = None if uplink.switch_end is None else uplink.switch_end.links
    full = tuple(_per_size(size, 1, each_end, fitted=False) for size in sizes)
    outputs = tuple(f"{network}.{name}" for name in OUTPUTS)
    builder.quantities.append(Steps(network, amount, full, outputs))
    _, _, leaf_spine, spine_core, ends_name = outputs
    _need_cables(builder, network, f"{network}.leaf_cables", uplink, ((1.0, leaf_spine),))
    _need_cables(builder, network, f"{network}.core_cables", uplink, ((1.0, spine_core),))
    if uplink.switch_end is not None:
        builder.need_part(uplink.switch_end.item, 1.0, ends_name, WORDS[network])
    return shape.fabric(network, amount, sizes)


def _two_kinds(
    builder: CompanionsBuilder, network: NetworkName, shape: _Shape, amount: Terms, ratio: float
) -> Fabric:
    """Add leaves of storage and leaves of all else, of a ratio each, below the same spines."""
    radix, ratios = shape.base.count, (shape.asked.oversubscription, ratio)
    uplink, each = shape.base.link or NO_LINK, bundle_uplinks(radix, ratios)
    storage = {offer.id for offer in builder.offers if isinstance(offer, Storage)}
    kinds, bundles = [], []
    for which, oversubscription in zip(("leaves", "storage_leaves"), ratios, strict=True):
        terms = tuple(t for t in amount if (t[1] in storage) == (which == "storage_leaves"))
        down, up = split_ports(radix, oversubscription)
        if not terms:
            continue
        name, holds = f"{network}.{which}", down * shape.parts_per_port
        least, most = shape.asked.min_switches, _most_leaves(radix, up, each, terms, holds, builder)
        counts = range(least, max(least, most) + 1) if holds else ()
        sizes = tuple(Size(count * holds, (count,)) for count in counts)
        builder.quantities.append(Steps(f"{name}_of", terms, sizes, (name,)))
        kinds.append(LeafKind(name, down, up))
        bundles.append((float(up // each), name))
    most = builder.most(tuple(bundles))
    trees = bundle_sizes(radix, each, most)
    upper = tuple(_upper(size, uplink.switch_end) for size in trees)
    outputs = tuple(f"{network}.{name}" for name in ("upper", "spine_core", "upper_ends"))
    builder.quantities.append(Steps(f"{network}.bundles", tuple(bundles), upper, outputs))
    above, spine_core, ends = outputs
    leaves = tuple((1.0, kind.name) for kind in kinds)
    builder.sum(f"{network}.switches", (*leaves, (1.0, above)))
    links = tuple((float(kind.up), kind.name) for kind in kinds)
    _need_cables(builder, network, f"{network}.leaf_cables", uplink, links)
    _need_cables(builder, network, f"{network}.core_cables", uplink, ((1.0, spine_core),))
    if uplink.switch_end is not None:
        end = uplink.switch_end
        builder.need_part(end.item, 1.0, ends, WORDS[network])
        for kind in kinds:
            builder.need_part(end.item, float(_ends(kind.up, end)), kind.name, WORDS[network])
    built = shape.fabric(network, amount, trees)
    return replace(built, kinds=tuple(kinds), bundles=tuple(bundles))


def _most_leaves(
    radix: int, uplinks: int, each: int, terms: Terms, holds: int, builder: CompanionsBuilder
) -> int:
    """Return the leaves for all that can be attached, or as many as any tree joins."""
    bundles, needed = uplinks // each, -(-builder.most(terms) // holds) if holds else 0
    if needed <= radix:
        return needed
    return len(bundle_sizes(radix, each, min(needed * bundles, radix * radix))) // bundles


def _upper(size: FabricSize, end: LinkEnd | None) -> Size:
    """Return the switches above the leaves, the links between them and their transceivers."""
    tree = size.tree
    ends = tree.spines * _ends(tree.spine_down_ports + tree.spine_up_ports, end)
    ends += tree.cores * _ends(tree.core_ports, end)
    return Size(size.capacity, (tree.spines + tree.cores, tree.spine_core_links, ends))


def _attached(builder: CompanionsBuilder, network: NetworkName, switch: Switch) -> list[_Attached]:
    """Return what is attached to the storage or the in-band fabric, or to both in one."""
    result = []
    for name in ("storage", "in_band") if network == "converged" else (network,):
        for offer in builder.offers:
            port: Port | None = getattr(builder.item(offer.id).ports, name)
            if port is not None:
                result.append(_attach_port(offer.id, port, switch))
    if network != "storage":
        for item, name in builder.extras:
            port = item.ports.in_band
            if port is not None:
                result.append(_attach_port(name, port, switch))
        oob = builder.inputs.problem.network.out_of_band
        if oob is not None and oob.uplinks:
            result.append(_uplinks(builder, oob, switch))
    return result


def _uplinks(builder: CompanionsBuilder, oob: OutOfBand, switch: Switch) -> _Attached:
    """Return what a management switch attaches to the in-band fabric: its fastest ports."""
    managing = builder.item(oob.switch).switch
    assert managing is not None
    fastest = base_group(managing)
    group = group_for(switch, fastest.speed_gbit_per_s)
    assert group is not None
    end = fastest.link.switch_end if fastest.link is not None else None
    return _Attached("out_of_band.switches", oob.uplinks, group, end)


def _attach_port(name: str, port: Port, switch: Switch) -> _Attached:
    group = group_for(switch, port.speed_gbit_per_s, port.form)
    assert group is not None  # the checks and ``why_not`` refuse what no port is fast enough for
    own = group.made_for(port.form)
    form = own.form if own is not None else ""
    return _Attached(name, port.count, group, port.transceiver, form=form)


def _end(port: Port | None, link: Link) -> LinkEnd | None:
    """Return the transceiver at a device: its own, or the usual one of the switch."""
    own = port.transceiver if port is not None else None
    return own or link.system_end


def _attach(builder: CompanionsBuilder, network: NetworkName, attached: list[_Attached]) -> None:
    """Add cables and transceivers of the ports of devices, by port group and form."""
    by_group: defaultdict[tuple[float, str], list[_Attached]] = defaultdict(list)
    for one in attached:
        by_group[one.group.speed_gbit_per_s, one.form].append(one)
    for (speed, form), members in sorted(by_group.items()):
        link, kind = members[0].link, f"{speed:g}{form}"
        terms = tuple((float(one.ports), one.name) for one in members)
        _need_cables(builder, network, f"{network}.cables_{kind}", link, terms)
        inside = [one for one in members if not one.outside]
        # A link for a form has both its ends: a port's own transceiver is for the usual link.
        ports = [
            (one.name, one.ports, link.system_end if form else one.end or link.system_end)
            for one in inside
        ]
        _need_system_ends(builder, network, ports)
        if link.switch_end is not None:
            each = link.switch_end.links
            ends = tuple((factor / each, name) for factor, name in terms)
            name = builder.ceil(f"{network}.ends_{kind}", ends)
            builder.need_part(link.switch_end.item, 1.0, name, WORDS[network])


def add_out_of_band(builder: CompanionsBuilder, network: OutOfBand) -> None:
    """Add the management switches: one port for everything that has a console."""
    item = builder.item(network.switch)
    assert item.switch is not None
    group = min(item.switch.ports, key=lambda group: group.speed_gbit_per_s)
    terms: list[tuple[float, str]] = []
    for offer in builder.offers:
        port = builder.item(offer.id).ports.out_of_band
        if port is not None:
            terms.append((float(port.count), offer.id))
    for extra, name in (*builder.extras, *builder.of_clusters):
        if extra.ports.out_of_band is not None:
            terms.append((float(extra.ports.out_of_band.count), name))
    terms += [(factor, name) for factor, name in (*builder.switches, *builder.pdus)]
    usable = group.count - network.reserve_ports
    switches = builder.ceil("out_of_band.switches", tuple((f / usable, key) for f, key in terms))
    builder.need(item.id, 1.0, switches, WORDS["out_of_band"])
    builder.fabrics.append(
        Fabric(
            network="out_of_band",
            switch=item.id,
            serves=tuple(name for _, name in terms if name in builder.items),
            prefix="out_of_band",
            amount=tuple(terms),
            links=tuple(terms),
            sizes=(),
            planes=1,
            radix=group.count,
            parts_per_port=1,
            ports_per_amount=usable,
            oversubscription=1.0,
        )
    )


def add_console_cables(builder: CompanionsBuilder, network: OutOfBand) -> None:
    """Add a cable for every console: those counted as ports, and those on reserved ports.

    These are the switches of the in-band fabric and of management itself, and the PDUs of the racks
    that network devices share.
    """
    item = builder.item(network.switch)
    assert item.switch is not None
    link = min(item.switch.ports, key=lambda group: group.speed_gbit_per_s).link
    if link is None:
        return
    counted = next(fabric for fabric in builder.fabrics if fabric.network == "out_of_band")
    reserved = [
        (1.0, f"{fabric.prefix}.switches")
        for fabric in builder.fabrics
        if fabric.network in ("in_band", "converged", "out_of_band")
    ]
    if builder.shared is not None and builder.shared_pdus_per_rack:
        reserved.append((float(builder.shared_pdus_per_rack), builder.shared.name))
    cables = builder.sum("out_of_band.cables", (*counted.amount, *reserved))
    builder.need_part(link.cable, 1.0, cables, WORDS["out_of_band"])
