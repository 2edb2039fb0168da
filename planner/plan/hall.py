"""The hall of a plan: racks with their devices, fabrics, and the cable schedule.

Cables follow from the plan: ends from the fabrics, places from the racks, lengths from the floor
that the problem states. Nothing that is bought depends on them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from planner.case import Case, figures, resolve
from planner.case.fabrics import WORDS, base_group, find_port_group, parts_per_panel, slowest_group
from planner.case.figures import rack_box
from planner.case.items import sum_terms
from planner.case.model import SHARED_RACKS, Fabric
from planner.case.ways import ways_in_plan
from planner.inputs import Inputs
from planner.optimizer.bill import Bill, bill
from planner.optimizer.operate import Run
from planner.schema.catalog import Item, Link, Port, PortGroup, Switch
from planner.schema.plan import (
    Cable,
    CableEnd,
    CableSchedule,
    Device,
    FabricReport,
    NetworkName,
    Plan,
    RackClassName,
    RackGroup,
)
from planner.sizing.fabric import (
    FabricSize,
    SwitchPort,
    Tree,
    free_ports,
    smallest_size,
    split_ports,
    switch_links,
    system_port,
)
from planner.sizing.placement import Box, Filled, Space, pack_own_racks, pack_shared_racks

RU_M = 0.04445
"""A rack unit, EIA-310."""
LATE = ("in_band", "converged", "out_of_band")
"""Networks whose own switches have their consoles on reserved ports."""


# Racks.


def rack_groups(inputs: Inputs, case: Case, run: Run) -> tuple[RackGroup, ...]:
    """The racks of a plan; none where the problem has no rack data."""
    if inputs.problem.site.rack is None:
        return ()
    pdus, counts = dict(case.companions.pdus_per_rack), bill(case, run.units, run.ways).counts
    racks = _Racks(inputs)
    for offer in case.offers():
        count, item, use = round(counts[offer.place]), inputs.item(offer.id), offer.rack_use
        if not count or use is None:
            continue
        name = figures.rack_class(item)
        if item.consumes.racks is not None:
            racks.add_product(item, count, name)
            continue
        parts = [(rack_box(part, inputs), n) for part, n in figures.bundle_parts(item, inputs)]
        space, each = racks.space(name), pdus.get(f"racks.{offer.id}", 0)
        for filled, times in pack_own_racks(parts, count, use, space):
            racks.add(filled, times, space, name, each)
    together: list[tuple[Box, int]] = []
    placed = [each.id for each in case.companions.items if counts[each.id] and not each.stored]
    for item, count in ((inputs.item(sku), round(counts[sku])) for sku in placed):
        if item.consumes.racks is not None:
            racks.add_product(item, count, "network")
        elif (device := rack_box(item, inputs)).rack_units > 0:
            together.append((device, count))
    space, each = racks.space("network"), pdus.get(SHARED_RACKS, 0)
    for filled, times in pack_shared_racks(together, space):
        racks.add(filled, times, space, "network", each)
    return tuple(racks.groups)


class _Racks:
    """The racks of a plan so far, numbered on."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self.groups: list[RackGroup] = []

    def space(self, name: RackClassName) -> Space:
        space = figures.rack_space(self.inputs.problem, name)
        assert space is not None
        return space

    def add(
        self,
        content: Filled,
        count: int,
        space: Space,
        name: RackClassName,
        pdus: int = 0,
        *,
        product: bool = False,
    ) -> None:
        """Add racks with the same content."""
        weights = [box.weight_kg for _, box in content]
        group = RackGroup(
            first=1 + sum(group.count for group in self.groups),
            count=count,
            rack_class=name,
            product=product,
            height_ru=space.height_ru,
            power_limit_kw=space.power_kw,
            weight_limit_kg=space.weight_kg,
            it_power_kw=sum(box.it_power_kw for _, box in content),
            weight_kg=None if None in weights else sum(weight or 0.0 for weight in weights),
            pdus=pdus,
            devices=tuple(Device(position_ru=at, **vars(box)) for at, box in content),
        )
        self.groups.append(group)

    def add_product(self, item: Item, count: int, name: RackClassName) -> None:
        """Add racks that are products: one device that fills its own height."""
        rack, whole = self.inputs.problem.site.rack, rack_box(item, self.inputs)
        assert item.consumes.racks is not None and rack is not None
        racks = item.consumes.racks.value
        height = whole.rack_units / racks if whole.rack_units else rack.height_ru
        weight = None if whole.weight_kg is None else whole.weight_kg / racks
        device = Box(item.id, height, whole.it_power_kw / racks, weight)
        space = Space(height, rack.whole_rack_limit_kw, None)
        self.add(((1.0, device),), racks * count, space, name, product=True)


# Fabrics.


def fabric_reports(case: Case, bill: Bill) -> Iterator[FabricReport]:
    """Yield a report of every fabric that the plan has."""
    for fabric in case.companions.fabrics:
        amount = round(sum_terms(fabric.amount, bill.counts))
        if amount and fabric.network == "out_of_band":
            switches = round(bill.counts["out_of_band.switches"])
            size = FabricSize(switches, 0, Tree(tiers=1, leaves=switches))
            yield _report(fabric, bill, size, amount)
        elif (held := smallest_size(fabric.sizes, amount)) is not None:
            yield _report(fabric, bill, held, amount * fabric.ports_per_amount)


def _report(fabric: Fabric, bill: Bill, size: FabricSize, endpoints: int) -> FabricReport:
    """The report of a fabric of a size, its tree in each plane."""
    counts, planes, serves, tree = bill.counts, fabric.planes, fabric.serves, size.tree
    if fabric.design is not None:
        joined = zip(serves, fabric.amount, strict=True)
        serves = tuple(name for name, (_, count) in joined if counts[count])
    return FabricReport(
        network=fabric.network,
        switch_sku=fabric.switch,
        serves=tuple(sorted(name for name in serves if counts[name])),
        planes=planes,
        tiers=tree.tiers,
        radix=fabric.radix,
        units=size.units,
        endpoints=endpoints,
        capacity=size.capacity * fabric.ports_per_amount,
        leaf_switches=planes * tree.leaves,
        spine_switches=planes * tree.spines,
        core_switches=planes * tree.cores,
        uplinks_per_leaf=tree.uplinks_per_leaf,
        parts_per_port=fabric.parts_per_port,
        oversubscription=fabric.oversubscription,
        system_links=round(sum_terms(fabric.links, counts)),
        leaf_spine_links=planes * tree.leaf_spine_links,
        spine_core_links=planes * tree.spine_core_links,
    )


def switches_text(report: FabricReport) -> str:
    """Switches of a fabric by tier, in words."""
    tiers = (
        (report.leaf_switches, "leaf"),
        (report.spine_switches, "spine"),
        (report.core_switches, "core"),
    )
    parts = [f"{count} {name}" for count, name in tiers if count]
    return f"{WORDS[report.network]}: {', '.join(parts)}"


# Cables.


class _Device(NamedTuple):
    name: str
    sku: str
    rack: int | None = None
    position_ru: float | None = None

    def port(self, name: str) -> CableEnd:
        """An end of a cable at a port."""
        return CableEnd(self.name, name, self.rack, self.position_ru)


_Tiers = dict[str, list[_Device]]
"""Switches of one plane by tier."""
_Devices = Mapping[str, list[_Device]]
_Ports = tuple[list[_Device], str, float, int, str | None]
"""Devices with a port: its name, speed in Gbit/s, number and form."""


def cable_schedule(inputs: Inputs, plan: Plan) -> CableSchedule:
    """Every cable of a plan."""
    build = _Build(inputs, plan, resolve(inputs))
    offers = (*build.case.systems, *build.case.storage)
    devices = {o.id: build.devices(o.id, round(build.counts[o.id])) for o in offers}
    others = _companion_devices(build)
    fabrics = build.case.companions.fabrics
    for fabric in fabrics:
        if fabric.network == "compute":
            _add_compute(build, fabric, devices)
        elif fabric.network != "out_of_band":
            _add_ethernet(build, fabric, devices | others)
    for fabric in fabrics:
        if fabric.network == "out_of_band":
            _add_consoles(build, fabric, devices | others)
    if inputs.problem.site.floor is None:
        build.notes.append("no lengths: the problem gives no site.floor")
    beyond = sum("beyond" in cable.medium for cable in build.cables)
    if beyond:
        build.notes.append(
            f"{beyond:,} links are longer than the modules that are billed reach: they need "
            "single-mode modules and fibres, which cost more"
        )
    return CableSchedule(tuple(build.cables), tuple(build.notes))


class _Build:
    """A plan's devices as they are named and placed, and the cables so far."""

    def __init__(self, inputs: Inputs, plan: Plan, case: Case) -> None:
        self.inputs, self.case, self.items = inputs, case, inputs.by_id
        chosen = {line.sku: line.working for line in plan.lines if line.parent is None}
        units = {offer.id: chosen.get(offer.id, 0) for offer in case.offers()}
        self.counts = bill(case, units, ways_in_plan(case, plan)).counts
        self.racks = plan.racks
        self.cables: list[Cable] = []
        self.notes: list[str] = []
        self.switches: defaultdict[str, list[_Device]] = defaultdict(list)
        places: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        for group in plan.racks:
            for rack in range(group.first, group.first + group.count):
                for device in group.devices:
                    places[device.sku].append((rack, device.position_ru))
        self.places = {sku: iter(sorted(found)) for sku, found in places.items()}

    def devices(self, sku: str, count: int, role: str | None = None) -> list[_Device]:
        """The next devices of an item, in the order of racks."""
        item = self.items[sku]
        parts = item.components[:1]
        placed = self.places.get(parts[0].id if parts else sku, iter(()))
        each = parts[0].quantity if parts else 1
        if item.consumes.racks is not None:
            each = item.consumes.racks.value
        devices = []
        for number in range(1, count + 1):
            rack, position = next(placed, (None, None))
            for _ in range(each - 1):
                next(placed, None)
            name = f"{role or sku}-{number:0{max(2, len(str(count)))}d}"
            devices.append(_Device(name, sku, rack, position))
        return devices

    def tiers(self, fabric: Fabric, tree: Tree, name: str, plane: int = 0) -> _Tiers:
        """The switches of one plane."""
        base = name if fabric.planes == 1 else f"{name}-plane{plane + 1}"
        tiers: _Tiers = {}
        for tier, count in (("leaf", tree.leaves), ("spine", tree.spines), ("core", tree.cores)):
            role = f"{base.replace('_', '-')}-{tier}"
            tiers[tier] = self.devices(fabric.switch, count, role)
            self.switches[fabric.network] += tiers[tier]
        return tiers

    def run(
        self,
        network: NetworkName,
        link: Link | None,
        ends: Iterable[tuple[CableEnd, CableEnd]],
    ) -> None:
        """Add cables of one kind, numbered on; ``link.links`` of their links share one."""
        first = 1 + sum(cable.number for cable in self.cables[-1:])
        item = self.items[link.cable] if link is not None else None
        sku, model, part = (
            (None, None, None) if item is None else (item.id, item.model, item.part_number)
        )
        shared_by = 1 if link is None else link.links
        for count, (lower, upper) in enumerate(ends):
            length = self._length_m(lower, upper)
            whole_m = None if length is None else math.ceil(length - 1e-9)
            medium = self._medium(link, length)
            number = first + count // shared_by
            cable = Cable(number, network, lower, upper, sku, model, part, whole_m, medium)
            self.cables.append(cable)

    def _length_m(self, lower: CableEnd, upper: CableEnd) -> float | None:
        """Run between two ends, m; None without a floor, or where one has no place.

        In one rack along it; else up to the tray, along and across rows, and down.
        """
        floor = self.inputs.problem.site.floor
        if floor is None or lower.rack is None or upper.rack is None:
            return None
        if lower.rack == upper.rack:
            apart_ru = abs((lower.position_ru or 0.0) - (upper.position_ru or 0.0))
            return (apart_ru * RU_M + floor.rack_width_m) * (1.0 + floor.slack)
        up_ru, places = 0.0, []
        for end in (lower, upper):
            rack = end.rack or 0
            group = next(g for g in self.racks if g.first <= rack < g.first + g.count)
            up_ru += max(0.0, group.height_ru - (end.position_ru or 1.0))
            places.append(divmod(rack - 1, floor.racks_per_row))
        (row, place), (other_row, other_place) = places
        across = abs(row - other_row) * floor.row_pitch_m
        across += abs(place - other_place) * floor.rack_width_m
        return (across + up_ru * RU_M + 2.0 * floor.riser_m) * (1.0 + floor.slack)

    def _medium(self, link: Link | None, length: float | None) -> str:
        """Medium of a run of that length: as billed, or why a named part does not reach."""
        named = [end.item for end in (link.switch_end, link.system_end) if end] if link else []
        figures_m = (self.items[name].reach for name in named)
        reach_m = min((each.value for each in figures_m if each is not None), default=math.inf)
        if length is None or length <= reach_m:
            return "as billed"
        return f"single mode: beyond {reach_m:g} m"


def _companion_devices(build: _Build) -> dict[str, list[_Device]]:
    """Extras, parts of clusters and management switches by item."""
    network, devices = build.inputs.problem.network, {}
    counts: defaultdict[str, int] = defaultdict(int)
    for sku in build.inputs.problem.extras:
        counts[sku] += round(build.counts.get(f"extra.{sku}", 0.0))
    for family in build.inputs.families:
        for part in family.cluster.parts if family.cluster is not None else ():
            counts[part.item] += round(build.counts.get(f"cluster.{family.id}.{part.item}", 0.0))
    for sku, count in sorted(counts.items()):
        if build.items[sku].category not in ("gpu_system", "storage"):
            devices[sku] = build.devices(sku, count)
    if network.out_of_band is not None:
        count = round(build.counts["out_of_band.switches"])
        managing = build.devices(network.out_of_band.switch, count, "out-of-band-switch")
        devices["out_of_band.switches"] = build.switches["out_of_band"] = managing
    return devices


# Compute.


def _add_compute(build: _Build, fabric: Fabric, devices: _Devices) -> None:
    design, counts = fabric.design, build.counts
    amount = round(sum_terms(fabric.amount, counts))
    size = smallest_size(fabric.sizes, amount)
    switch = build.items[fabric.switch].switch
    if design is None or size is None or switch is None:
        return
    group = next(g for g in switch.ports if g.count == fabric.radix)
    joined = zip(fabric.serves, fabric.amount, strict=True)
    systems = [each for sku, (_, name) in joined if counts[name] for each in devices[sku]]
    built = [f for f in build.case.companions.fabrics if f.network == "compute"]
    several = sum(counts[f"{f.prefix}.any"] > 0 for f in built) > 1
    name = fabric.prefix if several else "compute"
    planes = [build.tiers(fabric, size.tree, name, plane) for plane in range(design.planes)]
    ends = [
        (
            system.port(f"compute {port * design.planes + plane + 1}"),
            _end(switches, system_port(design, size, number, port)),
        )
        for number, system in enumerate(systems)
        for plane, switches in enumerate(planes)
        for port in range(design.ports_per_system)
    ]
    manager = free_ports(design, size, amount, design.manager_ports)
    for number, place in enumerate(manager, 1):
        ends.append((CableEnd("fabric-manager", f"compute {number}"), _end(planes[0], place)))
    build.run("compute", group.link, ends)
    per_rail = size.units
    if design.rail_group and size.units:
        per_rail = size.tree.leaves // (size.units * design.rails)
    links = [*switch_links(size.tree, size.leaf_down_ports, per_rail)]
    _add_between(build, fabric, group, [(tiers, links) for tiers in planes])


def _end(switches: _Tiers, place: SwitchPort) -> CableEnd:
    return switches[place.tier][place.switch].port(str(place.port + 1))


def _add_between(
    build: _Build,
    fabric: Fabric,
    group: PortGroup,
    planes: list[tuple[_Tiers, list[tuple[SwitchPort, SwitchPort]]]],
) -> None:
    """Add the links between switches, of leaves and spines and of spines and cores apart."""
    for cores in (False, True):
        ends = [
            (_end(switches, lower), _end(switches, upper))
            for switches, links in planes
            for lower, upper in links
            if (upper.tier == "core") == cores
        ]
        build.run(fabric.network, group.link, ends)


# Storage and in-band.


class _Plug(NamedTuple):
    """A port that is plugged into an Ethernet fabric, with its order among those of a speed."""

    order: int
    end: CableEnd
    group: PortGroup
    form: str


def _add_ethernet(build: _Build, fabric: Fabric, devices: _Devices) -> None:
    """Add a storage or in-band fabric: first ports of all devices, then second ones, and so on.

    So the ports of a device are on different leaves as far as leaves go.
    """
    switch = build.items[fabric.switch].switch
    size = smallest_size(fabric.sizes, round(sum_terms(fabric.amount, build.counts)))
    if size is None:
        return
    assert switch is not None
    base, panel = base_group(switch), parts_per_panel(switch)
    down = base.count
    if size.tree.leaves > 1:
        down, _ = split_ports(base.count, fabric.oversubscription)
    role = f"{fabric.network.replace('_', '-')}-leaf"
    leaves = build.devices(fabric.switch, size.tree.leaves, role)
    build.switches[fabric.network] += leaves
    by_kind: defaultdict[tuple[float, str], list[tuple[CableEnd, CableEnd]]] = defaultdict(list)
    links: dict[tuple[float, str], Link | None] = {}
    taken = short = 0  # parts of the ports of all leaves
    plugs = _plugs(build, fabric, switch, devices)
    for plug in sorted(plugs, key=lambda p: (p.group.count, p.form, p.order)):
        parts = panel // plug.group.count
        taken = -(-taken // parts) * parts
        port, part = divmod(taken, fabric.parts_per_port)
        leaf, place = divmod(port, down)
        taken += parts
        if leaf >= len(leaves):
            short += 1
            continue
        sub = f"/{part // parts + 1}" if parts < fabric.parts_per_port else ""
        kind = plug.group.speed_gbit_per_s, plug.form
        links[kind] = plug.group.made_for(plug.form) or plug.group.link
        by_kind[kind].append((plug.end, leaves[leaf].port(f"{place + 1}{sub}")))
    for kind, ends in by_kind.items():
        build.run(fabric.network, links[kind], ends)
    if short:
        build.notes.append(
            f"{short} ports of the {fabric.network} fabric find no port of their speed"
        )
    tiers = build.tiers(fabric, replace(size.tree, leaves=0), fabric.network)
    between = [*switch_links(size.tree, down, size.tree.leaves)]
    _add_between(build, fabric, base, [(tiers | {"leaf": leaves}, between)])


def _plugs(build: _Build, fabric: Fabric, switch: Switch, devices: _Devices) -> Iterator[_Plug]:
    """Yield the ports that are plugged in: of offers, of named extras in-band, uplinks."""
    names = ("storage", "in_band") if fabric.network == "converged" else (fabric.network,)
    offered, extras = {offer.id for offer in build.case.offers()}, build.inputs.problem.extras
    oob, ports = build.inputs.problem.network.out_of_band, list[_Ports]()
    for sku, every in devices.items():
        for name in names if sku in build.items else ():
            port: Port | None = getattr(build.items[sku].ports, name)
            plugged = every if sku in offered else []
            if sku in extras and sku not in offered and name == "in_band":
                plugged = every[: round(build.counts.get(f"extra.{sku}", 0.0))]
            if port is not None:
                speed, label = port.speed_gbit_per_s, name.replace("_", "-")
                ports.append((plugged, label, speed, port.count, port.form))
    if oob is not None and "in_band" in names:
        managing = build.items[oob.switch].switch
        assert managing is not None
        speed = base_group(managing).speed_gbit_per_s
        plugged = devices.get("out_of_band.switches", [])
        ports.append((plugged, "uplink", speed, oob.uplinks, None))
    for plugged, label, speed, count, form in ports:
        group = find_port_group(switch, speed, form)
        assert group is not None
        made = group.made_for(form)
        own = "" if made is None else made.form
        for device in plugged:
            for number in range(count):
                order = number * 1_000_000 + (device.rack or 0)
                yield _Plug(order, device.port(f"{label} {number + 1}"), group, own)


# Out of band.


def _add_consoles(build: _Build, fabric: Fabric, devices: _Devices) -> None:
    """Add the consoles: those counted, rack by rack, then those on the free ports."""
    switch = build.items[fabric.switch].switch
    assert switch is not None
    group, usable = slowest_group(switch), fabric.ports_per_amount
    managing = build.switches["out_of_band"]
    counted, late = _consoles(build, devices)
    taken = [divmod(number, usable) for number in range(len(counted))]
    free = [
        (number, port)
        for number in range(len(managing))
        for port in range(group.count)
        if port >= usable or number * usable + port >= len(counted)
    ]
    ends = [
        (end, managing[number].port(str(port + 1)))
        for end, (number, port) in zip((*counted, *late), (*taken, *free), strict=False)
    ]
    nowhere = CableEnd("no free out-of-band port", "")
    ends += [(end, nowhere) for end in late[len(free) :]]
    build.run("out_of_band", group.link, ends)


def _consoles(build: _Build, devices: _Devices) -> tuple[list[CableEnd], list[CableEnd]]:
    """The consoles that are counted, and those on reserved ports, in the order of racks."""
    counted: list[CableEnd] = []
    late: list[CableEnd] = []
    for sku, found in devices.items():
        port = build.items[sku].ports.out_of_band if sku in build.items else None
        if port is not None:
            counted += [d.port(f"console {n + 1}") for d in found for n in range(port.count)]
    for network, switches in build.switches.items():
        ends = late if network in LATE else counted
        ends += [switch.port("console") for switch in switches]
    rack_data = build.inputs.problem.site.rack
    for group in build.racks if rack_data is not None and rack_data.pdu is not None else ():
        ends = late if group.rack_class == "network" else counted
        for rack in range(group.first, group.first + group.count):
            names = (f"pdu-{rack:03d}-{n + 1}" for n in range(group.pdus))
            ends += [CableEnd(name, "console", rack) for name in names]
    by_rack = [sorted(ends, key=lambda end: end.rack or 0) for ends in (counted, late)]
    return by_rack[0], by_rack[1]
