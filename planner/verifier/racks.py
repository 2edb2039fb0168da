"""Racks: what fits into one, every device in a rack once, every rack within its limits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from planner.schema.catalog import Item
from planner.schema.plan import Plan, RackGroup
from planner.schema.site import RackPositions
from planner.verifier.basis import DECIDED, Basis, RackClassName, Space
from planner.verifier.ledger import RELATIVE, Ledger, round_up

ANY_NUMBER = 10**9
"""Devices without height, draw and weight that fit into a rack."""


@dataclass(frozen=True)
class RackSet:
    """Racks of one item, or of the network devices that share racks (``sku`` is None).

    ``pdus`` are those of one rack, None where a figure is not known.
    """

    sku: str | None
    rack_class: RackClassName
    racks: int
    product: bool
    pdus: int | None


@dataclass(frozen=True)
class Room:
    """All racks of a plan; not ``complete`` where a size or draw is not known."""

    sets: tuple[RackSet, ...]
    complete: bool

    @property
    def racks(self) -> int:
        """Racks in all."""
        return sum(each.racks for each in self.sets)


def rack_class(item: Item) -> RackClassName:
    """Return the class of the racks of an item."""
    if item.category == "gpu_system":
        return "gpu"
    return "storage" if item.category == "storage" else "network"


def fits(basis: Basis, item: Item) -> tuple[int, int] | None:
    """Return (racks, units that they hold) of an item, None where a figure is not known."""
    return basis.once("fits", item, lambda: _fits(basis, item))


def _fits(basis: Basis, item: Item) -> tuple[int, int] | None:
    power_kw = basis.rated_kw(item)
    if item.consumes.racks is not None:
        racks, most_kw = item.consumes.racks.value, basis.whole_rack_kw()
        if most_kw is None or power_kw is None:
            return racks, 1
        return racks, int(power_kw / racks <= most_kw * (1 + RELATIVE))
    rack = basis.space(rack_class(item))
    if rack is None:
        return None
    if item.components:
        spread = _racks_of_bundle(basis, item, rack)
        if spread != 1:
            return None if spread is None else (max(1, spread), int(spread > 0))
    height_ru = basis.height_ru(item)
    if height_ru is None or (rack.power_kw is not None and power_kw is None):
        return None
    parts = [(basis.weight_kg(basis.items[c.id]), c.quantity) for c in item.components]
    weight_kg = sum(kg * n for kg, n in parts if kg is not None) or basis.weight_kg(item)
    sizes = zip((height_ru, power_kw, weight_kg), rack, strict=True)
    rooms = [math.floor(room / size * (1 + RELATIVE)) for size, room in sizes if size and room]
    return 1, min(rooms, default=ANY_NUMBER)


def _racks_of_bundle(basis: Basis, item: Item, rack: Space) -> int | None:
    """Return the racks of a bundle whose components go into the first rack with room; 0 if none."""
    loads: list[tuple[float, ...]] = []
    for component in item.components:
        part = basis.items[component.id]
        height_ru, power_kw = basis.height_ru(part), basis.rated_kw(part)
        if height_ru is None or (rack.power_kw is not None and power_kw is None):
            return None
        device = (height_ru, power_kw or 0.0, basis.weight_kg(part) or 0.0)
        if not _holds(rack, device):
            return 0
        for _ in range(component.quantity):
            for number, load in enumerate(loads):
                more = tuple(map(sum, zip(load, device, strict=True)))
                if _holds(rack, more):
                    loads[number] = more
                    break
            else:
                loads.append(device)
    return len(loads)


def _holds(rack: Space, load: tuple[float, ...]) -> bool:
    each = zip(load, rack, strict=True)
    return all(room is None or size <= room * (1 + RELATIVE) for size, room in each)


def pdus_of(basis: Basis, load_kw: float | None) -> int | None:
    """Return the PDUs of a rack with a load, None where its draw or their feed is not known."""
    asked = basis.problem.site.rack.pdu if basis.problem.site.rack else None
    if asked is None:
        return 0
    feed = basis.items[asked.item].provides.feed
    if feed is None or load_kw is None:
        return None
    least = max(1, round_up(load_kw / feed.value))
    return {"N": least, "N+1": least + 1, "2N": 2 * least}[asked.redundancy]


def own_racks(basis: Basis, standing: Mapping[str, int]) -> Room:
    """Return the racks of GPU systems and storage, which stand in racks of their own."""
    sets, complete = [], True
    for sku, count in standing.items():
        item = basis.items[sku]
        if not count or item.category not in DECIDED:
            continue
        found, draw_kw = fits(basis, item), basis.rated_kw(item)
        if found is None or found[1] == 0:
            complete = False
            continue
        racks, units = found
        product = item.consumes.racks is not None
        load_kw = None if draw_kw is None else draw_kw * units / racks
        pdus = 0 if product else pdus_of(basis, load_kw)
        sets.append(RackSet(sku, rack_class(item), -(-count // units) * racks, product, pdus))
    return Room(tuple(sets), complete)


def network_racks(basis: Basis, counts: Mapping[str, int], plan: Plan) -> Room:
    """Return the racks of companions: of products that are racks, and those that devices share.

    The shared ones are those of the placement; without a placement, the rest of the total.
    """
    rack, sets, complete, sharing = basis.space("network"), [], True, False
    for sku, count in counts.items():
        item = basis.items[sku]
        if item.consumes.racks is not None:
            sets.append(RackSet(sku, "network", item.consumes.racks.value * count, True, 0))
        elif basis.height_ru(item):
            sharing = True
            complete &= rack is not None and max(_shares(basis, item, rack)) <= 1 + RELATIVE
    if rack is not None and sharing:
        shared = [g for g in plan.racks if g.rack_class == "network" and not g.product]
        racks = sum(group.count for group in shared)
        if not plan.racks:
            racks = first_fit(basis, counts, rack)
        pdus = pdus_of(basis, basis.once("densest", None, lambda: _densest_kw(basis, rack)))
        sets.append(RackSet(None, "network", racks, False, pdus))
    return Room(tuple(sets), complete)


def _shares(basis: Basis, item: Item, rack: Space) -> tuple[float, ...]:
    """Return the shares of a rack's height, power and weight that one device takes."""
    sizes = basis.height_ru(item), basis.in_rack_kw(item), basis.weight_kg(item)
    each = zip(sizes, rack, strict=True)
    return tuple(size / room if size and room is not None else 0.0 for size, room in each)


def _densest_kw(basis: Basis, rack: Space) -> float:
    """Return the most that a shared rack can draw: its height full of the densest device."""
    problem, most = basis.problem, 0.0
    names = {*problem.extras, problem.site.cooling.cdu}
    names |= set(problem.network.compute.switches) if problem.network.compute else set()
    others = (problem.network.storage, problem.network.in_band, problem.network.out_of_band)
    names |= {each.switch for each in others if each is not None}
    clusters = [family.cluster for family in basis.inputs.families if family.cluster]
    names |= {part.item for cluster in clusters for part in cluster.parts}
    for sku in names - {None}:
        item = basis.items[sku or ""]
        height_ru, power_kw = basis.height_ru(item), basis.in_rack_kw(item)
        if item.consumes.racks is None and height_ru and power_kw is not None:
            most = max(most, power_kw / height_ru * rack.height_ru)
    return most if rack.power_kw is None else min(most, rack.power_kw)


def first_fit(basis: Basis, counts: Mapping[str, int], rack: Space) -> int:
    """Return the racks for devices that share them, each in the first with room, largest first."""
    devices = [basis.items[sku] for sku in counts if basis.items[sku].consumes.racks is None]
    kinds = [(_shares(basis, i, rack), counts[i.id]) for i in devices if basis.height_ru(i)]
    orders = (lambda kind: -max(kind[0])), (lambda kind: -kind[0][0])
    found = []
    for order in orders:
        loads: list[tuple[float, ...]] = []
        for share, count in sorted(kinds, key=order):
            number = 0
            for _ in range(count):
                while number < len(loads) and not _room(loads[number], share):
                    number += 1
                if number == len(loads):
                    loads.append((0.0,) * len(share))
                loads[number] = tuple(map(sum, zip(loads[number], share, strict=True)))
        found.append(len(loads))
    return min(found)


def _room(load: tuple[float, ...], share: tuple[float, ...]) -> bool:
    return all(used + more <= 1 + RELATIVE for used, more in zip(load, share, strict=True))


def check_racks(
    ledger: Ledger,
    basis: Basis,
    standing: Mapping[str, int],
    counts: Mapping[str, int],
    room: Room,
    plan: Plan,
) -> None:
    """Check the placement: each rack's content, each device once, no rack too many."""
    if basis.problem.site.rack is None:
        ledger.require(not plan.racks, "racks: a placement, but racks have no size")
        return
    number = 1
    for group in plan.racks:
        ledger.same(f"racks.{group.first}.first", group.first, number)
        ledger.require(group.count >= 1 and bool(group.devices), f"racks.{group.first}: empty")
        number = group.first + group.count
        _check_group(ledger, basis, group)
    placed: Counter[str] = Counter()
    for group in plan.racks:
        for device in group.devices:
            placed[device.sku] += group.count
    expected = _devices(basis, {**standing, **counts}, {each.sku for each in room.sets})
    for sku in sorted({*placed, *expected}):
        ledger.same(f"racks: devices {sku}", placed[sku], expected[sku])
    _check_sets(ledger, basis, room, counts, plan)
    _check_places(ledger, basis, plan)


def _devices(basis: Basis, counts: Mapping[str, int], known: set[str | None]) -> Counter[str]:
    """Return the devices that stand in racks."""
    found: Counter[str] = Counter()
    for sku, count in counts.items():
        item = basis.items[sku]
        decided = item.category in DECIDED
        if decided and sku not in known:
            continue  # its racks are not known
        if item.consumes.racks is not None:
            found[sku] += item.consumes.racks.value * count
        elif item.components and decided:
            for part in item.components:
                found[part.id] += part.quantity * count
        elif decided or basis.height_ru(item):
            found[sku] += count
    return found


def _check_sets(
    ledger: Ledger, basis: Basis, room: Room, counts: Mapping[str, int], plan: Plan
) -> None:
    """Require the racks of each item, and the fewest for devices that share them."""
    left = {each: each.racks for each in room.sets}
    for group in plan.racks:
        skus = {device.sku for device in group.devices}
        may = [
            e for e in left if e.rack_class == group.rack_class and _is_of(basis, e, skus, counts)
        ]
        own = [each for each in may if each.sku in skus]
        may = sorted(own or may, key=lambda each: left[each] <= 0)
        if not may:
            ledger.fail(f"racks.{group.first}: devices that do not share a rack")
            continue
        left[may[0]] -= group.count
        expected = {"product": may[0].product, "pdus": may[0].pdus}
        ledger.all_same(f"racks.{group.first}", group, expected)
    for each, count in left.items():
        name = f"racks: racks of {each.sku or 'network devices'}"
        ledger.same(name, each.racks - count, each.racks)
        rack = basis.space("network")
        if each.sku is None and rack is not None:
            ledger.at_most(name, each.racks, first_fit(basis, counts, rack))


def _is_of(basis: Basis, of: RackSet, skus: set[str], counts: Mapping[str, int]) -> bool:
    """Whether a rack with these devices may be of a set."""
    if of.sku is None:
        own = {sku for sku in skus if basis.items[sku].consumes.racks is not None}
        return skus <= set(counts) and not own
    parts = {part.id for part in basis.items[of.sku].components}
    return skus == {of.sku} or (bool(skus) and skus <= parts)


def _check_group(ledger: Ledger, basis: Basis, group: RackGroup) -> None:
    """Check the devices of a rack, their sums, positions, and the rack's limits."""
    name, spread = f"racks.{group.first}", 1
    rack = basis.space(group.rack_class)
    if group.product:
        item = basis.items[group.devices[0].sku] if len(group.devices) == 1 else None
        if item is None or item.consumes.racks is None:
            ledger.fail(f"{name}.product: not one product that is a rack of its own")
            return
        spread = item.consumes.racks.value
        height_ru = (basis.height_ru(item) or 0.0) / spread or group.devices[0].rack_units
        rack = Space(height_ru, basis.whole_rack_kw(), None)
    assert rack is not None
    own = {"height_ru": rack.height_ru, "power_limit_kw": rack.power_kw}
    ledger.all_same(name, group, {**own, "weight_limit_kg": rack.weight_kg})
    for device in group.devices:
        item = basis.items[device.sku]
        weight_kg, height = basis.weight_kg(item), rack.height_ru
        own = {"it_power_kw": (basis.in_rack_kw(item) or 0.0) / spread}
        own["weight_kg"] = None if weight_kg is None else weight_kg / spread
        own["rack_units"] = height if group.product else basis.height_ru(item)
        ledger.all_same(f"{name}.devices.{device.sku}", device, own)
    _check_load(ledger, name, group, rack)


def _check_load(ledger: Ledger, name: str, group: RackGroup, rack: Space) -> None:
    weights = [device.weight_kg for device in group.devices]
    known_kg = sum(kg for kg in weights if kg is not None)
    power_kw = sum(device.it_power_kw for device in group.devices)
    sums = {"it_power_kw": power_kw, "weight_kg": None if None in weights else known_kg}
    ledger.all_same(name, group, sums)
    ledger.at_most(f"{name}.it_power_kw", power_kw, rack.power_kw)
    ledger.at_most(f"{name}.weight_kg", known_kg, rack.weight_kg)
    spans = sorted((d.position_ru, d.position_ru + d.rack_units, d.sku) for d in group.devices)
    noise = RELATIVE * max(1.0, group.height_ru)
    for low, high, sku in spans:
        inside = low >= 1 - noise and high <= group.height_ru + 1 + noise
        ledger.require(inside, f"{name}.devices.{sku}: below the bottom or above the top")
    for (_, top, below), (bottom, _, above) in pairwise(spans):
        ledger.require(bottom >= top - noise, f"{name}.devices.{above}: overlaps {below}")


def takes(group: RackPositions, power_kw: float | None, height_ru: float) -> bool:
    """Whether a rack of a draw and height may stand at a position of a group."""
    strong = group.power_kw is None or (power_kw is not None and power_kw <= group.power_kw)
    return strong and (group.height_ru is None or height_ru <= group.height_ru)


def rack_needs(basis: Basis, sku: str | None, name: RackClassName) -> tuple[float | None, float]:
    """Return the power and height that a position must have for a rack of an item or class."""
    item = None if sku is None else basis.items[sku]
    if item is not None and item.consumes.racks is not None:
        racks = item.consumes.racks.value
        return (basis.rated_kw(item) or 0.0) / racks, (basis.height_ru(item) or 0.0) / racks
    rack = basis.space(name)
    assert rack is not None
    return rack.power_kw, rack.height_ru


def _check_places(ledger: Ledger, basis: Basis, plan: Plan) -> None:
    """Require one position of the hall for every rack, and no position for two."""
    groups = basis.problem.site.positions
    first = {}
    before = 0
    for number, group in enumerate(groups, 1):
        first[group.name or f"group {number}"] = before, group
        before += group.count
    taken: set[int] = set()
    within = all(limit.slack >= 0 for limit in plan.limits)
    for rack in plan.racks:
        name = f"racks.{rack.first}.places"
        if within and groups:
            ledger.same(f"{name}: racks", sum(each.count for each in rack.places), rack.count)
        for each in rack.places:
            if each.group not in first or each.first < 1 or each.count < 1:
                ledger.fail(f"{name}: no position {each.group}-{each.first:02d}")
                continue
            offset, group = first[each.group]
            last = each.first + each.count - 1
            ledger.require(last <= group.count, f"{name}: no position {each.group}-{last:02d}")
            ledger.same(f"{name}.hall_first", each.hall_first, offset + each.first)
            needs = rack_needs(
                basis, rack.devices[0].sku if rack.product else None, rack.rack_class
            )
            ledger.require(takes(group, *needs), f"{name}: {each.group} takes no such rack")
            here = set(range(each.hall_first, each.hall_first + each.count))
            ledger.require(not here & taken, f"{name}: a position of {each.group} is taken twice")
            taken |= here
