"""The cable schedule: from which port of which device, in which rack, to which, and how long.

Everything follows from the plan: who is connected from the fabrics, places from its racks, lengths
from the floor that the problem gives. Nothing that is bought depends on it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from planner.assemble.cable_lengths import cut_to_length
from planner.case import Case, cabling, resolve
from planner.case.model import Fabric
from planner.case.ports import base_group, group_for, parts_per_panel, slowest_group
from planner.case.ways import ways_in_plan
from planner.inputs import Inputs
from planner.optimizer.purchase import standing
from planner.schema.beside import Cable, CableEnd, CableSchedule, NetworkOfCable
from planner.schema.catalog import Item, Link, Port, PortGroup, Switch
from planner.schema.plan import Plan, RackGroup
from planner.sizing.fabric import (
    FabricSize,
    SwitchPort,
    Tree,
    free_ports,
    smallest,
    split_ports,
    switch_links,
    system_port,
)

DAC_M, ACC_M = 2.0, 5.0
"""Most of passive and of active copper at 800 Gb/s: NVIDIA MCP4Y10 (2 m) and MCA4J80 (5 m)."""
MULTIMODE_M = 100.0
"""Modules that reach no further are multimode: 50 m of NVIDIA's at 400 and 800 Gb/s."""
LATE = ("in_band", "converged", "out_of_band")
"""Networks whose own switches have their consoles on reserved ports."""


class _Device(NamedTuple):
    """One device and where it stands."""

    name: str
    sku: str
    rack: int | None = None
    position_ru: float | None = None

    def port(self, name: str) -> CableEnd:
        return CableEnd(self.name, name, self.rack, self.position_ru)


@dataclass
class _Build:
    """A plan's devices as they are named and placed, and the cables so far.

    ``hall`` are the numbers of racks' positions, where they are not those of the racks; ``run_m``
    is the longest run in the hall, where that is known.
    """

    inputs: Inputs
    case: Case
    values: Mapping[str, float]
    racks: tuple[RackGroup, ...]
    items: Mapping[str, Item]
    places: dict[str, Iterator[tuple[int, float]]]
    cables: list[Cable] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    switches: dict[str, list[_Device]] = field(default_factory=lambda: defaultdict(list))
    run_m: float | None = None
    hall: dict[int, int] = field(default_factory=dict)
    between: dict[int, PortGroup] = field(default_factory=dict)

    def part(self, item_id: str) -> str:
        """Return the part of links that reaches through the hall, where its rows are given."""
        return cabling.part_that_reaches(item_id, self.items, self.run_m)

    def devices(self, sku: str, count: int, role: str | None = None) -> list[_Device]:
        """Return the next devices of an item, in the order in which they stand in racks."""
        item = self.items[sku]
        parts = item.components[:1]
        placed = self.places.get(parts[0].id if parts else sku, iter(()))
        each = parts[0].quantity if parts else 1
        if item.consumes.racks is not None:
            each = item.consumes.racks.value
        found = []
        for number in range(1, count + 1):
            rack, position = next(placed, (None, None))
            for _ in range(each - 1):
                next(placed, None)
            name = f"{role or sku}-{number:0{max(2, len(str(count)))}d}"
            found.append(_Device(name, sku, rack, position))
        return found


def links_of(inputs: Inputs, plan: Plan) -> tuple[Cable, ...]:
    """Return the links of a plan."""
    return cable_schedule(inputs, plan).cables


def cable_schedule(inputs: Inputs, plan: Plan, case: Case | None = None) -> CableSchedule:
    """Return every cable of a plan.

    Args:
        case: the same inputs in numbers, where they are at hand.
    """
    case = resolve(inputs) if case is None else case
    build = _placed(inputs, plan, case)
    units = {offer.id: round(build.values[offer.id]) for offer in case.offers()}
    systems = {o.id: build.devices(o.id, units[o.id]) for o in (*case.systems, *case.storage)}
    others = _others(build)
    for fabric in case.companions.fabrics:
        if fabric.network == "compute":
            _compute(build, fabric, systems)
        elif fabric.network != "out_of_band":
            _ethernet(build, fabric, systems | others)
    for fabric in case.companions.fabrics:
        if fabric.network == "out_of_band":
            _out_of_band(build, fabric, systems | others)
    if inputs.problem.site.floor is None:
        build.notes.append("no lengths: the problem gives no site.floor")
    positions = _positions(plan)
    build.cables = [
        replace(
            cable, lower=_standing(cable.lower, positions), upper=_standing(cable.upper, positions)
        )
        for cable in build.cables
    ]
    notes = (*build.notes, *_too_long(build), *_unlike_the_bill(build, plan))
    cables = build.cables
    if build.run_m is not None:
        cables = cut_to_length(inputs, cables, build.between)
    return CableSchedule(tuple(cables), notes)


def _positions(plan: Plan) -> dict[int, tuple[str, int]]:
    """Return the position of each rack, where the hall has groups of them: name and number."""
    found = {}
    for group in plan.racks:
        for rack in range(group.first, group.first + group.count):
            position = group.position(rack)
            if position is not None:
                found[rack] = position
    return found


def _standing(end: CableEnd, positions: Mapping[int, tuple[str, int]]) -> CableEnd:
    known = positions.get(end.rack) if end.rack is not None else None
    return end if known is None else replace(end, position=known[0])


def _placed(inputs: Inputs, plan: Plan, case: Case) -> _Build:
    """Return what a plan's devices are named and placed by, without cables yet."""
    chosen = {line.sku: line.working for line in plan.lines if line.parent is None}
    units = {offer.id: chosen.get(offer.id, 0) for offer in case.offers()}
    places: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for group in plan.racks:
        for rack in range(group.first, group.first + group.count):
            for device in group.devices:
                places[device.sku].append((rack, device.position_ru))
    return _Build(
        inputs=inputs,
        case=case,
        values=standing(case, units, ways_in_plan(case, plan))[0],
        racks=plan.racks,
        items=inputs.by_id,
        places={sku: iter(sorted(found)) for sku, found in places.items()},
        run_m=cabling.longest_run_m(inputs),
        hall={rack: number for rack, (_, number) in _positions(plan).items()},
    )


def _others(build: _Build) -> dict[str, list[_Device]]:
    """Return extras, parts of clusters and management switches by item."""
    network, found = build.inputs.problem.network, {}
    of_clusters: defaultdict[str, int] = defaultdict(int)
    for family in build.inputs.families:
        for part in family.cluster.parts if family.cluster is not None else ():
            count = build.values.get(f"cluster.{family.id}.{part.item}", 0.0)
            of_clusters[part.item] += round(count)
    for sku in sorted({*build.inputs.problem.extras, *of_clusters}):
        count = _extra(build, sku) + of_clusters[sku]
        if build.items[sku].category not in ("gpu_system", "storage"):
            found[sku] = build.devices(sku, count)
    if network.out_of_band is not None:
        count = round(build.values["out_of_band.switches"])
        role = "out-of-band-switch"
        found["out_of_band.switches"] = build.devices(network.out_of_band.switch, count, role)
        build.switches["out_of_band"] = found["out_of_band.switches"]
    return found


def _extra(build: _Build, sku: str) -> int:
    """Return the units of an item that the problem asks for by name."""
    return round(build.values.get(f"extra.{sku}", 0.0))


class _Runs:
    """Cables of one kind, numbered on; ``links`` of them share one."""

    def __init__(
        self,
        build: _Build,
        network: NetworkOfCable,
        link: Link | None,
        between: PortGroup | None = None,
    ) -> None:
        self.build, self.network, self.link, self.between = build, network, link, between
        sku = build.part(link.cable) if link is not None else None
        self.item = build.items[sku] if sku is not None else None
        self.count = 0
        self.first = 1 + sum(c.number for c in build.cables[-1:])

    def add(self, lower: CableEnd, upper: CableEnd) -> None:
        """Add a link."""
        number = self.first + self.count // (self.link.links if self.link is not None else 1)
        self.count += 1
        length = _length_m(lower, upper, self.build)
        if self.between is not None:
            self.build.between[len(self.build.cables)] = self.between
        self.build.cables.append(
            Cable(
                number=number,
                network=self.network,
                lower=lower,
                upper=upper,
                sku=self.item.id if self.item is not None else None,
                model=self.item.model if self.item is not None else None,
                part_number=self.item.part_number if self.item is not None else None,
                length_m=None if length is None else math.ceil(length - 1e-9),
                medium=_medium(self.build, self.link, lower, upper, length),
            )
        )


def _length_m(lower: CableEnd, upper: CableEnd, build: _Build) -> float | None:
    """Return the run between two ends, m; None without a floor, or where one has no place."""
    floor = build.inputs.problem.site.floor
    if floor is None or lower.rack is None or upper.rack is None:
        return None
    if lower.rack == upper.rack:
        apart_ru = abs((lower.position_ru or 0.0) - (upper.position_ru or 0.0))
        return cabling.inside_m(floor, apart_ru)
    up_ru = sum(_up_ru(build, end) for end in (lower, upper))
    one, other = (build.hall.get(rack, rack) for rack in (lower.rack, upper.rack))
    return cabling.between_m(floor, cabling.across_m(floor, one, other), up_ru)


def _up_ru(build: _Build, end: CableEnd) -> float:
    """Return how far it is from a device to the top of its rack, RU."""
    rack = end.rack or 0
    group = next(g for g in build.racks if g.first <= rack < g.first + g.count)
    return max(0.0, group.height_ru - (end.position_ru or 1.0))


def _medium(
    build: _Build, link: Link | None, lower: CableEnd, upper: CableEnd, length: float | None
) -> str:
    """Return the medium that a run of that length needs, or why a named part does not reach."""
    names = [end.item for end in (link.switch_end, link.system_end) if end] if link else []
    ends = [build.items[build.part(name)] for name in names]
    if link is not None and not ends and upper.device.startswith("out-of-band"):
        return "copper"
    if not ends or length is None:
        return "as billed"
    if lower.rack == upper.rack and length <= ACC_M and build.run_m is None:
        return "DAC" if length <= DAC_M else "ACC"
    reach = min(end.reach.value if end.reach is not None else math.inf for end in ends)
    if length > reach:
        other = "single mode: " if build.run_m is None else ""
        return f"{other}beyond {reach:g} m"
    words = " ".join(end.description or "" for end in ends)
    if "single mode" in words or "multimode" in words:
        return "single mode" if "single mode" in words else "multimode"
    return "multimode" if reach <= MULTIMODE_M else "single mode"


def _too_long(build: _Build) -> Iterator[str]:
    beyond = [cable for cable in build.cables if "beyond" in cable.medium]
    if beyond and build.run_m is not None:
        yield f"{len(beyond):,} links are longer than any modules on offer reach"
    elif beyond:
        yield (
            f"{len(beyond):,} links are longer than the modules that are billed reach: they need "
            "single-mode modules and fibres, which cost more"
        )


def _unlike_the_bill(build: _Build, plan: Plan) -> Iterator[str]:
    """Say where the bill holds another number of cables in place."""
    pulled: defaultdict[str, set[int]] = defaultdict(set)
    for cable in build.cables:
        if cable.sku is not None:
            pulled[cable.sku].add(cable.number)
    for line in plan.lines:
        found = len(pulled[line.sku])
        if build.items[line.sku].category == "cable" and found != line.quantity:
            if line.sku not in build.inputs.problem.extras:
                yield f"the bill has {line.quantity:,} of {line.model}, the schedule {found:,}"


def _compute(build: _Build, fabric: Fabric, devices: Mapping[str, list[_Device]]) -> None:
    design = fabric.design
    amount = round(sum(factor * build.values[name] for factor, name in fabric.amount))
    size = smallest(fabric.sizes, amount)
    if design is None or size is None:
        return
    item = build.items[fabric.switch]
    assert item.switch is not None
    group = next(g for g in item.switch.ports if g.count == fabric.radix)
    joined = zip(fabric.serves, fabric.amount, strict=True)
    names = [name for name, (_, count) in joined if build.values[count]]
    systems = [device for name in names for device in devices[name]]
    name = fabric.prefix if _compute_fabrics(build) > 1 else "compute"
    planes = [_tiers(build, fabric, size.tree, name, plane) for plane in range(design.planes)]
    runs = _Runs(build, "compute", group.link)
    for number, system in enumerate(systems):
        for plane, switches in enumerate(planes):
            for port in range(design.ports_per_system):
                end = system_port(design, size, number, port)
                label = f"compute {port * design.planes + plane + 1}"
                runs.add(system.port(label), _at(switches, end))
    places = free_ports(design, size, amount, design.manager_ports)
    for number, place in enumerate(places, 1):
        runs.add(CableEnd("fabric-manager", f"compute {number}"), _at(planes[0], place))
    per_rail = size.units
    if design.rail_group and size.units:
        per_rail = size.tree.leaves // (size.units * design.rails)
    _between(build, fabric, size, planes, group, size.leaf_down_ports, per_rail)


def _compute_fabrics(build: _Build) -> int:
    fabrics = build.case.companions.fabrics
    return sum(f.network == "compute" and build.values[f"{f.prefix}.any"] > 0 for f in fabrics)


_Tiers = dict[str, list[_Device]]


def _tiers(build: _Build, fabric: Fabric, tree: Tree, name: str, plane: int) -> _Tiers:
    """Return the switches of one plane by tier."""
    found: _Tiers = {}
    base = name if fabric.planes == 1 else f"{name}-plane{plane + 1}"
    for tier, count in (("leaf", tree.leaves), ("spine", tree.spines), ("core", tree.cores)):
        role = f"{base.replace('_', '-')}-{tier}"
        found[tier] = build.devices(fabric.switch, count, role)
        build.switches[fabric.network] += found[tier]
    return found


def _at(switches: _Tiers, place: SwitchPort) -> CableEnd:
    return switches[place.tier][place.switch].port(str(place.port + 1))


def _between(
    build: _Build,
    fabric: Fabric,
    size: FabricSize,
    planes: list[_Tiers],
    group: PortGroup,
    down: int,
    per_rail: int,
) -> None:
    """Add the links between switches, of leaves and spines and of spines and cores apart."""
    links = list(switch_links(size.tree, down, per_rail))
    for upper in ("spine", "core"):
        runs = _Runs(build, fabric.network, group.link, group)
        for switches in planes:
            for one, other in links:
                if (other.tier == "core") == (upper == "core"):
                    runs.add(_at(switches, one), _at(switches, other))


class _Plug(NamedTuple):
    """One port that is plugged into an Ethernet fabric; no device is the customer's edge."""

    order: int
    device: _Device | None
    label: str
    group: PortGroup
    parts: int
    form: str = ""


@dataclass
class _Leaves:
    """Leaves of one ratio, and how many parts of their ports are taken."""

    switches: list[_Device]
    down: int
    up: int
    taken: int = 0

    def take(self, parts: int, per_port: int) -> CableEnd | None:
        """Return the next port of so many parts, or None where none is left."""
        self.taken = -(-self.taken // parts) * parts
        port, part = divmod(self.taken, per_port)
        leaf, place = divmod(port, self.down)
        self.taken += parts
        sub = f"/{part // parts + 1}" if parts < per_port else ""
        return self.switches[leaf].port(f"{place + 1}{sub}") if leaf < len(self.switches) else None


def _ethernet(build: _Build, fabric: Fabric, devices: Mapping[str, list[_Device]]) -> None:
    """Add a storage or in-band fabric: first ports of all devices, then second ones, and so on.

    So the ports of a device are on different leaves as far as leaves go.
    """
    item = build.items[fabric.switch]
    assert item.switch is not None
    base = base_group(item.switch)
    kinds, size = _leaves(build, fabric, base)
    if size is None:
        return
    stored = {offer.id for offer in build.case.storage} if fabric.kinds else set()
    found = _plugs(build, fabric, item.switch, devices)
    by_kind: dict[tuple[float, str], _Runs] = {}
    short = 0
    for plug in sorted(found, key=lambda p: (-p.parts, p.form, p.order)):
        leaves = kinds[-1 if plug.device is not None and plug.device.sku in stored else 0]
        upper = leaves.take(plug.parts, fabric.parts_per_port)
        if upper is None:
            short += 1
            continue
        kind = plug.group.speed_gbit_per_s, plug.form
        if kind not in by_kind:
            link = plug.group.made_for(plug.form) or plug.group.link
            by_kind[kind] = _Runs(build, fabric.network, link)
        lower = plug.device.port(plug.label) if plug.device else CableEnd("customer", plug.label)
        by_kind[kind].add(lower, upper)
    if short:
        build.notes.append(
            f"{short} ports of the {fabric.network} fabric find no port of their speed"
        )
    upper_tiers = _tiers(build, fabric, replace(size.tree, leaves=0), fabric.network, 0)
    if not fabric.kinds:
        tiers = upper_tiers | {"leaf": kinds[0].switches}
        _between(build, fabric, size, [tiers], base, kinds[0].down, size.tree.leaves)
    else:
        _between_bundles(build, fabric, size, kinds, upper_tiers, base)


def _leaves(
    build: _Build, fabric: Fabric, base: PortGroup
) -> tuple[list[_Leaves], FabricSize | None]:
    """Return the leaves of each ratio, those of storage last, and the size of the tree above."""
    terms = fabric.bundles if fabric.kinds else fabric.amount
    amount = round(sum(factor * build.values[name] for factor, name in terms))
    size = smallest(fabric.sizes, amount)
    role = f"{fabric.network.replace('_', '-')}-leaf"
    if size is None:
        return [], None
    if not fabric.kinds:
        down, up = base.count, 0
        if size.tree.leaves > 1:
            down, up = split_ports(base.count, fabric.oversubscription)
        kinds = [_Leaves(build.devices(fabric.switch, size.tree.leaves, role), down, up)]
    else:
        kinds = []
        for kind in fabric.kinds:
            own = f"{role}-storage" if kind.name.endswith("storage_leaves") else role
            count = round(build.values[kind.name])
            kinds.append(_Leaves(build.devices(fabric.switch, count, own), kind.down, kind.up))
    for each in kinds:
        build.switches[fabric.network] += each.switches
    return kinds, size


def _between_bundles(
    build: _Build,
    fabric: Fabric,
    size: FabricSize,
    kinds: list[_Leaves],
    upper: _Tiers,
    base: PortGroup,
) -> None:
    """Add the links above leaves of two ratios: each has so many bundles of uplinks."""
    each = size.tree.uplinks_per_leaf
    bundles = [
        (leaf, kind.down + first)
        for kind in kinds
        for leaf in kind.switches
        for first in range(0, kind.up, each)
    ]
    links = list(switch_links(size.tree, 0, size.tree.leaves))
    for tier in ("spine", "core"):
        runs = _Runs(build, fabric.network, base.link, base)
        for one, other in links:
            if other.tier != tier:
                continue
            lower = _at(upper, one) if one.tier == "spine" else None
            if lower is None:
                leaf, first = bundles[one.switch]
                lower = leaf.port(str(first + one.port + 1))
            runs.add(lower, _at(upper, other))


def _plugs(
    build: _Build, fabric: Fabric, switch: Switch, devices: Mapping[str, list[_Device]]
) -> Iterator[_Plug]:
    """Yield the ports that are plugged in, with their order among those of a speed."""
    network, panel = build.inputs.problem.network, parts_per_panel(switch)
    names = ("storage", "in_band") if fabric.network == "converged" else (fabric.network,)

    def plugged(
        device: _Device | None, label: str, speed: float, count: int, form: str | None = None
    ) -> Iterator[_Plug]:
        group = group_for(switch, speed, form)
        assert group is not None
        made = group.made_for(form)
        own = made.form if made is not None else ""
        for port in range(count):
            order = port * 1_000_000 + (device.rack or 0 if device else 0)
            yield _Plug(order, device, f"{label} {port + 1}", group, panel // group.count, own)

    for sku, found in devices.items():
        for name in names:
            port: Port | None = (
                getattr(build.items[sku].ports, name) if sku in build.items else None
            )
            extra = sku in build.inputs.problem.extras
            offered = any(sku == offer.id for offer in build.case.offers())
            if port is not None and (offered or (extra and name == "in_band")):
                label = name.replace("_", "-")
                for device in found if offered else found[: _extra(build, sku)]:
                    speed, form = port.speed_gbit_per_s, port.form
                    yield from plugged(device, label, speed, port.count, form)
    oob = network.out_of_band
    if oob is not None and "in_band" in names:
        managing = build.items[oob.switch].switch
        assert managing is not None
        for device in devices.get("out_of_band.switches", ()):
            speed = base_group(managing).speed_gbit_per_s
            yield from plugged(device, "uplink", speed, oob.uplinks)
    asked = network.in_band if fabric.network == "in_band" else network.storage
    if asked is not None and asked.edge is not None:
        yield from plugged(None, "edge", asked.edge.speed_gbit_per_s, asked.edge.ports)


def _out_of_band(build: _Build, fabric: Fabric, devices: Mapping[str, list[_Device]]) -> None:
    """Add the consoles: those counted, rack by rack, then those on what ports are left."""
    item = build.items[fabric.switch]
    assert item.switch is not None
    managing = build.switches["out_of_band"]
    group = slowest_group(item.switch)
    counted, late = _consoles(build, devices)
    usable, runs = fabric.ports_per_amount, _Runs(build, "out_of_band", group.link)
    for number, end in enumerate(counted):
        switch, port = divmod(number, usable)
        runs.add(end, managing[switch].port(str(port + 1)))
    left = [
        (switch, port)
        for switch in range(len(managing))
        for port in range(group.count)
        if port >= usable or switch * usable + port >= len(counted)
    ]
    for number, end in enumerate(late):
        if number < len(left):
            switch, port = left[number]
            runs.add(end, managing[switch].port(str(port + 1)))
        else:
            runs.add(end, CableEnd("no free out-of-band port", ""))


def _consoles(
    build: _Build, devices: Mapping[str, list[_Device]]
) -> tuple[list[CableEnd], list[CableEnd]]:
    """Return the consoles that are counted, and those on reserved ports, in the order of racks."""
    counted: list[CableEnd] = []
    late: list[CableEnd] = []
    for sku, found in devices.items():
        port = build.items[sku].ports.out_of_band if sku in build.items else None
        for device in found if port is not None else ():
            counted += [device.port(f"console {n + 1}") for n in range(port.count if port else 0)]
    for network, switches in build.switches.items():
        into = late if network in LATE else counted
        into += [switch.port("console") for switch in switches]
    pdu = build.inputs.problem.site.rack.pdu if build.inputs.problem.site.rack else None
    for group in build.racks if pdu is not None else ():
        into = late if group.rack_class == "network" else counted
        for rack in range(group.first, group.first + group.count):
            names = (f"pdu-{rack:03d}-{n + 1}" for n in range(group.pdus))
            into += [CableEnd(name, "console", rack) for name in names]
    by_rack = [sorted(ends, key=lambda end: end.rack or 0) for ends in (counted, late)]
    return by_rack[0], by_rack[1]
