"""Racks: what fits into one, every device in a rack once, every rack within its limits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from planner.schema.catalog import Item
from planner.schema.layout import RackGroup
from planner.schema.plan import Plan
from planner.verifier.basis import (
    DECIDED,
    RELATIVE,
    Basis,
    Findings,
    RackClassName,
    Space,
    round_up,
    times,
    total,
)

ANY_NUMBER = 10**9
"""Devices without height, draw and weight that fit into a rack."""
REDUNDANT = {"N": (1, 0), "N+1": (1, 1), "2N": (2, 0)}
"""Factor and addition to the units that a load needs."""
Load = tuple[float, float, float]


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

    @property
    def pdus(self) -> int:
        """Known PDUs of all racks."""
        return sum((each.pdus or 0) * each.racks for each in self.sets)


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
    devices: list[tuple[Load, int]] = []
    for component in item.components:
        part = basis.items[component.id]
        height_ru, power_kw = basis.height_ru(part), basis.rated_kw(part)
        if height_ru is None or (rack.power_kw is not None and power_kw is None):
            return None
        load = (height_ru, power_kw or 0.0, basis.weight_kg(part) or 0.0)
        devices.append((load, component.quantity))
    return _first_fit(devices, rack) if all(_holds(rack, each) for each, _ in devices) else 0


def _holds(rack: Space, load: Load) -> bool:
    each = zip(load, rack, strict=True)
    return all(room is None or size <= room * (1 + RELATIVE) for size, room in each)


def _first_fit(kinds: list[tuple[Load, int]], rack: Space) -> int:
    """Return the racks of devices by kind that each go into the first one with room."""
    loads: list[Load] = []
    for (ru, kw, kg), count in kinds:
        number = 0
        for _ in range(count):
            while number < len(loads):
                more = loads[number][0] + ru, loads[number][1] + kw, loads[number][2] + kg
                if _holds(rack, more):
                    loads[number] = more
                    break
                number += 1
            else:
                loads.append((ru, kw, kg))
    return len(loads)


def pdus_of(basis: Basis, load_kw: float | None) -> int | None:
    """Return the PDUs of a rack with a load, None where its draw or their feed is not known."""
    asked = basis.problem.site.rack.pdu if basis.problem.site.rack else None
    if asked is None:
        return 0
    feed = basis.items[asked.item].provides.feed
    if feed is None or load_kw is None:
        return None
    factor, more = REDUNDANT[asked.redundancy]
    return factor * max(1, round_up(load_kw / feed.value)) + more


def own_racks(basis: Basis, standing: Mapping[str, int]) -> Room:
    """Return the racks of GPU systems and storage, which stand in racks of their own."""
    sets, complete = [], True
    for sku, count in standing.items():
        item = basis.items[sku]
        found = fits(basis, item)
        if found is None or found[1] == 0:
            complete = False
            continue
        racks, units = found
        product = item.consumes.racks is not None
        pdus = 0 if product else pdus_of(basis, times(basis.rated_kw(item), units / racks))
        sets.append(RackSet(sku, rack_class(item), -(-count // units) * racks, product, pdus))
    return Room(tuple(sets), complete)


def network_racks(basis: Basis, counts: Mapping[str, int], stated: int | None) -> Room:
    """Return the racks of companions: of products that are racks, and those that devices share.

    Args:
        basis: the problem and the catalogs.
        counts: companions in place.
        stated: racks that devices share in a placement; first-fit places them where it is None.
    """
    rack, sets, complete, sharing = basis.space("network"), [], True, False
    for sku, count in counts.items():
        item = basis.items[sku]
        if item.consumes.racks is not None:
            sets.append(RackSet(sku, "network", item.consumes.racks.value * count, True, 0))
        elif basis.height_ru(item):
            sharing = True
            complete &= rack is not None and _holds(rack, _load(basis, item))
    if rack is not None and sharing:
        racks = shared_racks(basis, counts, rack) if stated is None else stated
        pdus = pdus_of(basis, basis.once("densest", None, lambda: _densest_kw(basis, rack)))
        sets.append(RackSet(None, "network", racks, False, pdus))
    return Room(tuple(sets), complete)


def _load(basis: Basis, item: Item) -> Load:
    """Return height, draw and weight of one network device; 0 of what is not known."""
    height_ru, power_kw = basis.height_ru(item), basis.in_rack_kw(item)
    return height_ru or 0.0, power_kw or 0.0, basis.weight_kg(item) or 0.0


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
        height_ru, power_kw, _ = _load(basis, item)
        if item.consumes.racks is None and height_ru:
            most = max(most, power_kw / height_ru * rack.height_ru)
    return most if rack.power_kw is None else min(most, rack.power_kw)


def shared_racks(basis: Basis, counts: Mapping[str, int], rack: Space) -> int:
    """Return the racks for devices that share them, each in the first with room, largest first."""
    items = [basis.items[sku] for sku in counts if basis.items[sku].consumes.racks is None]
    kinds = [(_load(basis, i), counts[i.id]) for i in items if basis.height_ru(i)]

    def largest(kind: tuple[Load, int]) -> float:
        return -max(size / room for size, room in zip(kind[0], rack, strict=True) if room)

    orders = sorted(kinds, key=largest), sorted(kinds, key=lambda kind: -kind[0][0])
    return min(_first_fit(each, rack) for each in orders)


# The placement of a plan.


def check_racks(
    found: Findings,
    basis: Basis,
    standing: Mapping[str, int],
    counts: Mapping[str, int],
    room: Room,
    plan: Plan,
) -> None:
    """Check the placement: each rack's content, each device once, no rack too many."""
    if basis.problem.site.rack is None:
        found.require(not plan.racks, "racks: a placement, but racks have no size")
        return
    number, placed = 1, Counter[str]()
    for group in plan.racks:
        found.expect(f"racks.{group.first}.first", group.first, number)
        found.require(group.count >= 1 and bool(group.devices), f"racks.{group.first}: empty")
        number = group.first + group.count
        _check_group(found, basis, group)
        for device in group.devices:
            placed[device.sku] += group.count
    expected = _devices(basis, {**standing, **counts}, {each.sku for each in room.sets})
    for sku in sorted({*placed, *expected}):
        found.expect(f"racks: devices {sku}", placed[sku], expected[sku])
    _check_sets(found, basis, room, counts, plan)


def _devices(basis: Basis, counts: Mapping[str, int], known: set[str | None]) -> Counter[str]:
    """Return the devices that stand in racks."""
    devices: Counter[str] = Counter()
    for sku, count in counts.items():
        item = basis.items[sku]
        decided = item.category in DECIDED
        if decided and sku not in known:
            continue  # its racks are not known
        if item.consumes.racks is not None:
            devices[sku] += item.consumes.racks.value * count
        elif item.components and decided:
            for part in item.components:
                devices[part.id] += part.quantity * count
        elif decided or basis.height_ru(item):
            devices[sku] += count
    return devices


def _check_sets(
    found: Findings, basis: Basis, room: Room, counts: Mapping[str, int], plan: Plan
) -> None:
    """Require the racks of each item, and the fewest for devices that share them."""
    left = {each: each.racks for each in room.sets}
    for group in plan.racks:
        skus = {device.sku for device in group.devices}
        may = [
            e for e in left if e.rack_class == group.rack_class and _is_of(basis, e, skus, counts)
        ]
        may = [each for each in may if each.sku in skus] or may
        may.sort(key=lambda each: left[each] <= 0)
        if not may:
            found.fail(f"racks.{group.first}: devices that do not share a rack")
            continue
        left[may[0]] -= group.count
        own = {"product": may[0].product, "pdus": may[0].pdus}
        found.expect(f"racks.{group.first}", group, own)
    rack = basis.space("network")
    for each, count in left.items():
        name = f"racks: racks of {each.sku or 'network devices'}"
        found.expect(name, each.racks - count, each.racks)
        if each.sku is None and rack is not None:
            found.at_most(name, each.racks, shared_racks(basis, counts, rack))


def _is_of(basis: Basis, of: RackSet, skus: set[str], counts: Mapping[str, int]) -> bool:
    """Whether a rack with these devices may be of a set."""
    if of.sku is None:
        return skus <= set(counts) and all(basis.items[s].consumes.racks is None for s in skus)
    parts = {part.id for part in basis.items[of.sku].components}
    return skus == {of.sku} or (bool(skus) and skus <= parts)


def _check_group(found: Findings, basis: Basis, group: RackGroup) -> None:
    """Check the devices of a rack, their sums, positions, and the rack's limits."""
    name, spread, rack = f"racks.{group.first}", 1, basis.space(group.rack_class)
    if group.product:
        item = basis.items[group.devices[0].sku] if len(group.devices) == 1 else None
        if item is None or item.consumes.racks is None:
            found.fail(f"{name}.product: not one product that is a rack of its own")
            return
        spread = item.consumes.racks.value
        height_ru = (basis.height_ru(item) or 0.0) / spread or group.devices[0].rack_units
        rack = Space(height_ru, basis.whole_rack_kw(), None)
    assert rack is not None
    for device in group.devices:
        item = basis.items[device.sku]
        own = {
            "it_power_kw": (basis.in_rack_kw(item) or 0.0) / spread,
            "weight_kg": times(basis.weight_kg(item), 1 / spread),
            "rack_units": rack.height_ru if group.product else basis.height_ru(item),
        }
        found.expect(f"{name}.devices.{device.sku}", device, own)
    weights, power_kw = (
        [d.weight_kg for d in group.devices],
        sum(d.it_power_kw for d in group.devices),
    )
    own = {
        "height_ru": rack.height_ru,
        "power_limit_kw": rack.power_kw,
        "weight_limit_kg": rack.weight_kg,
        "it_power_kw": power_kw,
        "weight_kg": total(weights),
    }
    found.expect(name, group, own)
    found.at_most(f"{name}.it_power_kw", power_kw, rack.power_kw)
    found.at_most(f"{name}.weight_kg", sum(kg for kg in weights if kg is not None), rack.weight_kg)
    spans = sorted((d.position_ru, d.position_ru + d.rack_units, d.sku) for d in group.devices)
    noise = RELATIVE * max(1.0, group.height_ru)
    for low, high, sku in spans:
        inside = low >= 1 - noise and high <= group.height_ru + 1 + noise
        found.require(inside, f"{name}.devices.{sku}: below the bottom or above the top")
    for (_, top, below), (bottom, _, above) in pairwise(spans):
        found.require(bottom >= top - noise, f"{name}.devices.{above}: overlaps {below}")
