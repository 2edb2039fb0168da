"""What is ordered by length: every cable laid once more, and held to what the plan orders.

Devices stand where the racks of the plan say; which of them a link joins follows from the rules in
docs/model.md. Its run, the length on offer that it needs, and the copper that serves in place of
fibres are worked out here from the catalogs and the hall alone.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from planner.schema.catalog import FormLink, Item, Link, PortGroup
from planner.schema.plan import Line, PartByLength, Plan, RackGroup
from planner.verifier.basis import DECIDED, Basis, Ledger, divisors
from planner.verifier.companions import Companions
from planner.verifier.links import Fabric, Plugged, Wiring, slowest
from planner.verifier.money import sale

_RACK_UNIT_M = 1.75 * 0.0254
_STEP_M = 5
_NOISE = 1e-9
_RESERVED = ("in_band", "converged", "out_of_band")
"""Networks whose own switches have their consoles on reserved ports."""

Place = tuple[int, float | None] | None
"""A rack and the lowest rack unit there; None for what has no rack, or stands outside."""
Run = tuple[Place, Place]
"""The two ends of a link."""
Order = tuple[str, str, str | None, float | None, int]
"""SKU of the line that counts it, own SKU, part number, length (m), cables it is in place of."""


def check_cabling(
    ledger: Ledger, basis: Basis, counts: Mapping[str, int], companions: Companions, plan: Plan
) -> None:
    """Check the parts by length of a plan: each by its catalog, all of them by the links.

    Cables are laid where everything that they join is right so far.

    Args:
        counts: units of GPU systems and storage in the cluster.
        companions: what comes with them, and its fabrics.
    """
    floor = basis.problem.site.floor
    if basis.hall_m() is None or floor is None or floor.rows is None:
        ledger.require(not plan.cabling, "cabling: the problem does not give the rows of its hall")
        return
    right = not ledger.disagreements
    lines = {line.sku: line for line in plan.lines if line.parent is None}
    stated: Counter[Order] = Counter()
    for part in plan.cabling:
        _check_part(ledger, basis, part)
        ledger.require(part.counted_as in lines, f"{_name(part)}: the bill has no such line")
        order = part.counted_as, part.sku, part.part_number, part.length_m, part.in_place_of
        ledger.require(order not in stated, f"{_name(part)}: it is listed twice")
        stated[order] += part.quantity
    racks = sum(group.count for group in plan.racks)
    if right and racks <= floor.rows * floor.racks_per_row:
        laid = _Laying(basis, counts, companions, plan).run()
        _compare(ledger, stated, _ordered(basis, lines, laid))


def _name(part: PartByLength) -> str:
    length = "" if part.length_m is None else f" of {part.length_m:g} m"
    return f"cabling.{part.counted_as}.{part.sku}{length}"


def _check_part(ledger: Ledger, basis: Basis, part: PartByLength) -> None:
    """Compare a part with the catalogs and its price."""
    name, item = _name(part), basis.items.get(part.sku)
    if item is None:
        ledger.fail(f"{name}: no such item in the catalogs")
        return
    for figure in ("vendor", "category"):
        ledger.equal(f"{name}.{figure}", getattr(part, figure), getattr(item, figure))
    without = None if item.lengths is None else item.lengths.model
    ledger.equal(f"{name}.model", part.model, without or item.model)
    unit = sale(basis, item).unit
    net_usd = (None,) if unit is None else unit.net_usd
    ledger.one_of(f"{name}.unit_net_usd", part.unit_net_usd, net_usd)


def _compare(ledger: Ledger, stated: Mapping[Order, int], expected: Mapping[Order, int]) -> None:
    """Require as many of every part and length as the links ask for, and nothing else."""
    for order in sorted({*stated, *expected}, key=repr):
        counted_as, sku, number, length_m, in_place_of = order
        has, needs = stated.get(order), expected.get(order)
        if has != needs:
            length = "" if length_m is None else f" of {length_m:g} m"
            instead = f", in place of {in_place_of}" if in_place_of > 1 else ""
            ledger.fail(
                f"cabling.{counted_as}.{sku}{length} ({number}){instead}: the plan orders "
                f"{has or 0}, its links take {needs or 0}"
            )


@dataclass
class _Laid:
    """Cables by what the bill counts and what is ordered; what copper makes unnecessary.

    The latter are transceivers, by the fibres in whose place copper goes and their own SKU.
    """

    cables: Counter[Order] = field(default_factory=Counter)
    spared: Counter[tuple[str, str]] = field(default_factory=Counter)


def _ordered(basis: Basis, lines: Mapping[str, Line], laid: _Laid) -> dict[Order, int]:
    """Return what is ordered: no line of which units are owned, and none that counts others too."""
    covered: Counter[str] = Counter()
    for (counted_as, *_, in_place_of), count in laid.cables.items():
        covered[counted_as] += count * in_place_of
    whole = {
        sku
        for sku, count in covered.items()
        if sku in lines and lines[sku].quantity == count and not lines[sku].installed
    }
    expected = {order: count for order, count in laid.cables.items() if order[0] in whole}
    spared: Counter[str] = Counter()
    for (fibre, sku), count in laid.spared.items():
        spared[sku] += count if fibre in whole else 0
    for sku, count in (+spared).items():
        line = lines.get(sku)
        if line is not None and not line.installed:
            order = sku, sku, basis.items[sku].part_number, None, 1
            expected[order] = line.quantity - count
    return expected


class _Laying:
    """The devices of a plan where they stand, and the cables between them, fabric by fabric."""

    def __init__(
        self, basis: Basis, counts: Mapping[str, int], companions: Companions, plan: Plan
    ) -> None:
        floor = basis.problem.site.floor
        assert floor is not None
        self.basis, self.floor, self.plan = basis, floor, plan
        self.fabrics, self.laid = companions.fabrics, _Laid()
        self.part = cache(basis.through_the_hall)
        self.net_usd = cache(self._net_usd)
        self.group_of: dict[int, RackGroup] = {}
        self.hall: dict[int, tuple[int, int]] = {}
        standing: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        for group in plan.racks:
            for rack in range(group.first, group.first + group.count):
                position = group.position(rack)
                self.group_of[rack] = group
                number = rack if position is None else position[1]
                self.hall[rack] = divmod(number - 1, floor.racks_per_row)
                for device in group.devices:
                    standing[device.sku].append((rack, device.position_ru))
        self.left = {sku: iter(sorted(places)) for sku, places in standing.items()}
        kinds = [sorted(s for s in counts if basis.items[s].category == kind) for kind in DECIDED]
        self.devices = {sku: self.take(sku, counts[sku]) for sku in (*kinds[0], *kinds[1])}
        for sku in sorted({*companions.extras, *companions.of_clusters}):
            more = companions.extras.get(sku, 0) + companions.of_clusters.get(sku, 0)
            self.devices[sku] = self.take(sku, more)
        self.managing: list[Place] = []
        self.consoles: list[Place] = []
        self.reserved: list[Place] = []

    def run(self) -> _Laid:
        """Lay everything."""
        managed = next((f for f in self.fabrics if f.network == "out_of_band"), None)
        if managed is not None:
            self.managing = self.take(managed.switch_sku, managed.switches)
        for sku, places in self.devices.items():
            port = self.basis.items[sku].ports.out_of_band
            for place in places if port is not None else ():
                self.consoles += [place] * (port.count if port is not None else 0)
        self.reserved += self.managing
        for fabric in sorted(self.fabrics, key=_plug_order):
            if fabric.network == "compute":
                self._compute(fabric)
            elif fabric.network != "out_of_band":
                self._ports(fabric)
        if managed is not None:
            self._management(managed)
        return self.laid

    def take(self, sku: str, count: int) -> list[Place]:
        """Return where the next units of an item stand, rack by rack from the bottom."""
        item = self.basis.items[sku]
        first = item.components[0] if item.components else None
        each = 1 if first is None else first.quantity
        if item.consumes.racks is not None:
            each = item.consumes.racks.value
        left = self.left.get(sku if first is None else first.id, iter(()))
        found: list[Place] = []
        for _ in range(count):
            own = [next(left, None) for _ in range(each)]
            found.append(own[0])
        return found

    def run_m(self, one: Place, other: Place) -> int | None:
        """Return the run of a cable in whole metres; None where an end has no place."""
        if one is None or other is None:
            return None
        floor = self.floor
        if one[0] == other[0]:
            way_m = abs((one[1] or 0.0) - (other[1] or 0.0)) * _RACK_UNIT_M + floor.rack_width_m
        else:
            (row, along), (to_row, to_along) = self.hall[one[0]], self.hall[other[0]]
            way_m = abs(row - to_row) * floor.row_pitch_m
            way_m += abs(along - to_along) * floor.rack_width_m
            for rack, unit in (one, other):
                top = self.group_of[rack].height_ru
                way_m += floor.riser_m + max(0.0, top - (unit or 1.0)) * _RACK_UNIT_M
        return math.ceil(way_m * (1.0 + floor.slack) - _NOISE)

    def pull(self, link: Link | None, runs: Sequence[Run]) -> None:
        """Order the cables of links of one kind, of which each carries so many in a row."""
        for first in range(0, len(runs) if link is not None else 0, link.links if link else 1):
            assert link is not None
            known = [self.run_m(*run) for run in runs[first : first + link.links]]
            longest = max((run for run in known if run is not None), default=None)
            sku = self.part(link.cable)
            number, length_m = _sold(self.basis.items[sku], longest)
            self.laid.cables[sku, sku, number, length_m, 1] += 1

    def between(self, group: PortGroup, links: Iterable[tuple[_Socket, _Socket]]) -> None:
        """Lay links between switches: copper from cage to cage where it serves, else as counted."""
        link = group.link
        end = None if link is None else link.switch_end
        if link is None or end is None or link.links != 1 or not group.copper:
            self.pull(link, [(one.place, other.place) for one, other in links])
            return
        cages: defaultdict[object, list[Run]] = defaultdict(list)
        for one, other in links:
            key = one.switch, one.port // end.links, other.switch, other.port // end.links
            cages[key].append((one.place, other.place))
        for runs in cages.values():
            known = [run for run in (self.run_m(*each) for each in runs) if run is not None]
            copper = None
            if len(known) == len(runs) == end.links:
                copper = self._copper(group, link, max(known))
            if copper is None:
                self.pull(link, runs)
                continue
            number, length_m = _sold(copper, max(known))
            fibre = self.part(link.cable)
            self.laid.cables[fibre, copper.id, number, length_m, len(runs)] += 1
            self.laid.spared[fibre, self.part(end.item)] += 2

    def _copper(self, group: PortGroup, link: Link, run_m: int) -> Item | None:
        """Return the cheapest copper that reaches so far and costs no more than what it spares."""
        assert link.switch_end is not None
        each = link.switch_end.links
        fibre, module = (self.net_usd(self.part(sku)) for sku in (link.cable, link.switch_end.item))
        best: tuple[float, Item] | None = None
        for copper in group.copper:
            item, usd = self.basis.items[copper.cable], self.net_usd(copper.cable)
            offered = () if item.lengths is None else item.lengths.offered
            reaches = any(one.length_m >= run_m for one in offered)
            reaches = reaches and (item.reach is None or item.reach.value >= run_m)
            if usd is None or fibre is None or module is None or copper.links != each:
                continue
            if reaches and usd <= each * fibre + 2 * module and (best is None or usd < best[0]):
                best = usd, item
        return None if best is None else best[1]

    def _net_usd(self, sku: str) -> float | None:
        """Return what one costs; a price on half a cent as the plan rounds it."""
        if sku not in self.basis.prices:
            return None
        unit = sale(self.basis, self.basis.items[sku]).unit
        stated = (line.unit_net_usd for line in self.plan.lines if line.sku == sku)
        usd = next(stated, None)
        return min(unit.net_usd) if usd is None and unit is not None else usd

    def _switches(self, fabric: Fabric, plane: str, leaves: int | None = None) -> _Switches:
        """Return the switches of a plane where they stand, and note their consoles."""
        assert fabric.wiring is not None
        tree = fabric.wiring.tree
        counts = tree.leaves if leaves is None else leaves, tree.spines, tree.cores
        tiers = tuple(self.take(fabric.switch_sku, count) for count in counts)
        into = self.reserved if fabric.network in _RESERVED else self.consoles
        for tier in tiers:
            into += tier
        return _Switches(f"{fabric.network}.{fabric.switch_sku}.{plane}", tiers)

    def _compute(self, fabric: Fabric) -> None:
        """Lay a compute fabric: systems in order, neighbouring ports on different rails."""
        wiring, asked = fabric.wiring, self.basis.problem.network.compute
        assert wiring is not None
        assert wiring.plug is not None
        assert asked is not None
        ports = wiring.plug.ports // fabric.planes
        systems = [place for sku in sorted(fabric.serves) for place in self.devices[sku]]
        name = "-".join(sorted(fabric.serves))
        planes = [self._switches(fabric, f"{name}.{plane}") for plane in range(fabric.planes)]
        runs: list[Run] = []
        for number, system in enumerate(systems):
            leaves = [_leaf(fabric, wiring, number, port) for port in range(ports)]
            for switches in planes:
                runs += [(system, switches.tiers[0][leaf]) for leaf in leaves]
        runs += [(None, None)] * asked.manager.ports
        self.pull(wiring.group.link, runs)
        down = wiring.leaves[0][1]
        for lay in (_below_spines, _below_cores):
            links = [link for each in planes for link in lay(wiring, each, _one_kind(each, down))]
            self.between(wiring.group, links)

    def _ports(self, fabric: Fabric) -> None:
        """Lay a storage or in-band fabric: first ports of all devices, then second ones, ..."""
        wiring, switch = fabric.wiring, self.basis.items[fabric.switch_sku]
        assert wiring is not None
        of_kinds = [self.take(fabric.switch_sku, count) for count, _, _ in wiring.leaves]
        for places in of_kinds:
            into = self.reserved if fabric.network in _RESERVED else self.consoles
            into += places
        upper = self._switches(fabric, "", leaves=0)
        leaves = [place for places in of_kinds for place in places]
        switches = _Switches(upper.name, (leaves, *upper.tiers[1:]))
        taken, by_kind = [0] * len(wiring.leaves), defaultdict[object, list[Run]](list)
        links: dict[object, Link | None] = {}
        for parts, form, _, kind, link, place in sorted(
            self._plugged(fabric, wiring, switch), key=lambda each: each[:3]
        ):
            parts = -parts
            start = -(-taken[kind] // parts) * parts
            leaf = start // fabric.parts_per_port // wiring.leaves[kind][1]
            taken[kind] = start + parts
            if leaf < len(of_kinds[kind]):
                by_kind[parts, form].append((place, of_kinds[kind][leaf]))
                links[parts, form] = link
        for key, runs in by_kind.items():
            self.pull(links[key], runs)
        if len(wiring.leaves) == 1:
            bundles = _one_kind(switches, wiring.leaves[0][1])
        else:
            bundles = list(_bundles(wiring))
        for lay in (_below_spines, _below_cores):
            self.between(wiring.group, list(lay(wiring, switches, bundles)))

    def _plugged(
        self, fabric: Fabric, wiring: Wiring, switch: Item
    ) -> Iterator[tuple[int, str, int, int, Link | None, Place]]:
        """Yield the ports of devices: parts (negative), form, order, kind of leaf, link, place."""
        whole = math.lcm(*(group.count for group in switch.switch.ports)) if switch.switch else 1
        for device in sorted(wiring.devices, key=self._rank):
            served = device.served(switch)
            assert served is not None
            group, link = served
            form = link.form if isinstance(link, FormLink) else ""
            stored = len(wiring.leaves) > 1 and self._rank(device)[0] == 1
            places: Sequence[Place] = [None]
            if device.sku:
                places = self.managing if device.manages else self.devices[device.sku]
            for place in places[: device.units]:
                rack = 0 if place is None else place[0]
                for port in range(device.ports):
                    order = port * 1_000_000 + rack
                    yield -(whole // group.count), form, order, int(stored), link, place

    def _rank(self, device: Plugged) -> tuple[int, str]:
        """Return where a device comes: GPU systems, storage, extras, management, outside."""
        if not device.sku or device.manages:
            return (3 if device.sku else 4), device.sku
        category = self.basis.items[device.sku].category
        return (DECIDED.index(category) if category in DECIDED else 2), device.sku

    def _management(self, fabric: Fabric) -> None:
        """Lay the consoles: those counted rack by rack, then the others on what ports are left."""
        assert fabric.wiring is not None
        rack = self.basis.problem.site.rack
        for group in self.plan.racks if rack is not None and rack.pdu is not None else ():
            into = self.reserved if group.rack_class == "network" else self.consoles
            for number in range(group.first, group.first + group.count):
                into += [(number, None)] * group.pdus
        counted, late = (
            sorted(places, key=lambda place: 0 if place is None else place[0])
            for places in (self.consoles, self.reserved)
        )
        usable = fabric.wiring.leaves[0][1]
        runs = [(end, self.managing[n // usable]) for n, end in enumerate(counted)]
        free: list[Place] = []
        for number, place in enumerate(self.managing):
            used = min(usable, max(0, len(counted) - number * usable))
            free += [place] * (fabric.radix - used)
        free += [None] * max(0, len(late) - len(free))
        runs += list(zip(late, free, strict=False))
        ports = slowest(self.basis.items[fabric.switch_sku])
        self.pull(None if ports is None else ports.link, runs)


def _plug_order(fabric: Fabric) -> tuple[bool, tuple[str, float, int, int, int] | None]:
    """Return in which order fabrics take switches of one model: compute before all others."""
    plug = None if fabric.wiring is None else fabric.wiring.plug
    return plug is None, None if plug is None else plug.order


class _Socket(NamedTuple):
    """A port of a switch: the switch by name, its place, and the number of the port from 0."""

    switch: object
    place: Place
    port: int


class _Switches(NamedTuple):
    """The switches of one plane by tier: leaves, spines, cores."""

    name: str
    tiers: tuple[Sequence[Place], ...]

    def at(self, tier: int, switch: int, port: int) -> _Socket:
        """Return a port."""
        return _Socket((self.name, tier, switch), self.tiers[tier][switch], port)


Uplinks = Sequence[tuple[int, int]]
"""The leaf and its first port of each bundle of uplinks that is spread over spines."""


def _one_kind(switches: _Switches, down: int) -> Uplinks:
    """Return the uplinks of leaves that are all alike: behind the ports to devices."""
    return [(leaf, down) for leaf in range(len(switches.tiers[0]))]


def _bundles(wiring: Wiring) -> Iterator[tuple[int, int]]:
    """Yield the bundles of leaves of several ratios, leaf by leaf."""
    together = math.gcd(*(up for _, _, up in wiring.leaves))
    leaf = 0
    for count, down, up in wiring.leaves:
        for _ in range(count):
            yield from ((leaf, first) for first in range(down, down + up, together))
            leaf += 1


def _leaf(fabric: Fabric, wiring: Wiring, system: int, port: int) -> int:
    """Return the leaf of its plane that a port of a system is plugged into."""
    plug, tree = wiring.plug, wiring.tree
    assert plug is not None
    ports = plug.ports // fabric.planes
    if fabric.units == 0:
        return (system * ports + port) % tree.leaves
    on_rail, rail = ports // plug.rails, port % plug.rails
    systems_of_leaf = wiring.leaves[0][1] // on_rail
    if plug.rail_group is None:
        return rail * fabric.units + system // systems_of_leaf
    unit, within = divmod(system, plug.rail_group)
    return (unit * plug.rails + rail) * wiring.per_rail + within // systems_of_leaf


def _below_spines(
    wiring: Wiring, switches: _Switches, uplinks: Uplinks
) -> Iterator[tuple[_Socket, _Socket]]:
    """Yield the links from leaves to spines, or from leaf to leaf where two stand alone."""
    tree = wiring.tree
    if tree.tiers == 1:
        down = wiring.leaves[0][1]
        for link in range(tree.leaf_spine_links):
            yield switches.at(0, 0, down + link), switches.at(0, 1, down + link)
        return
    up = tree.leaf_spine_links // tree.leaves
    spines = tree.spines // tree.groups
    ports = tree.spine_ports if tree.cores == 0 else tree.spine_ports // 2
    most, each = ports * spines // up, up // spines
    shares = max(1, -(-wiring.per_rail // most))
    for number, (leaf, first) in enumerate(uplinks):
        if shares == 1:  # whole rails have spines in common
            group, place = divmod(number, most)
        else:
            rail, within = divmod(number, wiring.per_rail)
            group, place = rail * shares + within // most, within % most
        for link in range(up):
            spine = group * spines + link // each
            upper = switches.at(1, spine, place * each + link % each)
            yield switches.at(0, leaf, first + link), upper


def _below_cores(
    wiring: Wiring, switches: _Switches, _: Uplinks
) -> Iterator[tuple[_Socket, _Socket]]:
    """Yield the links from spines to cores: ``together`` spines of a group share their cores."""
    tree = wiring.tree
    if tree.cores == 0:
        return
    spines, up = tree.spines // tree.groups, tree.spine_ports // 2
    # So many spines have a whole number of cores in common, which divides their uplinks.
    together = min(
        b
        for b in divisors(spines)
        if tree.cores * b % spines == 0 and up % (tree.cores * b // spines) == 0
    )
    cores = tree.cores * together // spines
    each = up // cores
    for group in range(tree.groups):
        for spine in range(spines):
            bundle, place = divmod(spine, together)
            for link in range(up):
                core, lane = divmod(link, each)
                port = (group * together + place) * each + lane
                lower = switches.at(1, group * spines + spine, up + link)
                yield lower, switches.at(2, bundle * cores + core, port)


def _sold(item: Item, run_m: int | None) -> tuple[str | None, float | None]:
    """Return part number and length of the least on offer that a run needs."""
    if run_m is None:
        return item.part_number, None
    offered = () if item.lengths is None else item.lengths.offered
    if not offered:
        return item.part_number, float(-(-run_m // _STEP_M) * _STEP_M)
    enough = [one for one in offered if one.length_m >= run_m]
    if not enough:
        return None, float(run_m)
    least = min(enough, key=lambda one: one.length_m)
    return least.part_number, least.length_m
