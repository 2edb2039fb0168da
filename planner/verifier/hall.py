"""The hall: capacity of a rack, every device in a rack once, every rack within its limits.

How devices share racks is the plan's choice.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from planner.schema.catalog import Item
from planner.schema.plan import Plan, RackClassName, RackGroup
from planner.verifier.basis import (
    DECIDED,
    RELATIVE,
    Basis,
    Findings,
    round_up,
    times,
    total,
)

ANY_NUMBER = 10**9
"""Devices without height, draw and weight that fit into a rack."""
REDUNDANT = {"N": (1, 0), "N+1": (1, 1), "2N": (2, 0)}
"""Factor and addition to the units that a load needs."""
Load = tuple[float, float, float]


class Space(NamedTuple):
    """Capacity of one rack; None is no limit."""

    height_ru: float
    power_kw: float | None
    weight_kg: float | None

    def holds(self, load: Load) -> bool:
        """True if it has room for height, draw and weight."""
        each = zip(load, self, strict=True)
        return all(room is None or size <= room * (1 + RELATIVE) for size, room in each)


class RackSet(NamedTuple):
    """Racks of one item, or of the network devices that share racks (``sku`` is None).

    ``pdus`` are those of one rack, None where a figure is not known.
    """

    sku: str | None
    rack_class: RackClassName
    racks: int
    product: bool
    pdus: int | None


class Room(NamedTuple):
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
    """Class of the racks of an item."""
    if item.category == "gpu_system":
        return "gpu"
    return "storage" if item.category == "storage" else "network"


def space(basis: Basis, name: RackClassName) -> Space | None:
    """Capacity of a rack of a class, None where racks have no size."""
    site = basis.problem.site
    if site.rack is None:
        return None
    own = getattr(site.rack_classes, name)
    height_ru = site.rack.height_ru if own.height_ru is None else own.height_ru
    weight_kg = site.rack.weight_kg if own.weight_kg is None else own.weight_kg
    return Space(height_ru, site.class_power_kw(own), weight_kg)


def whole_rack_kw(basis: Basis) -> float | None:
    """Power limit of a product that is a rack of its own, None for none."""
    rack = basis.problem.site.rack
    return None if rack is None else rack.whole_rack_limit_kw


def fits(basis: Basis, item: Item) -> tuple[int, int] | None:
    """(Racks, units that they hold) of an item, None where a figure is not known."""
    power_kw = basis.rated_kw(item)
    if item.consumes.racks is not None:
        racks, most_kw = item.consumes.racks.value, whole_rack_kw(basis)
        if most_kw is None or power_kw is None:
            return racks, 1
        return racks, int(power_kw / racks <= most_kw * (1 + RELATIVE))
    rack = space(basis, rack_class(item))
    if rack is None:
        return None
    if item.components:
        parts = [(load_of(basis, basis.items[c.id]), c.quantity) for c in item.components]
        spread = _first_fit(parts, rack) if all(rack.holds(each) for each, _ in parts) else 0
        if spread != 1:
            return max(1, spread), int(spread > 0)
    height_ru = basis.stated(item, "rack_units")
    if height_ru is None or (rack.power_kw is not None and power_kw is None):
        return None
    weights = [(basis.stated(basis.items[c.id], "weight_kg"), c.quantity) for c in item.components]
    weight_kg = sum((kg or 0.0) * n for kg, n in weights) or basis.stated(item, "weight_kg")
    sizes = zip((height_ru, power_kw, weight_kg), rack, strict=True)
    rooms = [math.floor(room / size * (1 + RELATIVE)) for size, room in sizes if size and room]
    return 1, min(rooms, default=ANY_NUMBER)


def _first_fit(kinds: Iterable[tuple[Load, int]], rack: Space) -> int:
    """Racks of devices by kind that each go into the first one with room."""
    loads: list[Load] = []
    for (ru, kw, kg), count in kinds:
        number = 0
        for _ in range(count):
            while number < len(loads):
                more = loads[number][0] + ru, loads[number][1] + kw, loads[number][2] + kg
                if rack.holds(more):
                    loads[number] = more
                    break
                number += 1
            else:
                loads.append((ru, kw, kg))
    return len(loads)


def pdus_of(basis: Basis, load_kw: float | None) -> int | None:
    """PDUs of a rack with a load, None where its draw or their feed is not known."""
    asked = basis.problem.site.rack.pdu if basis.problem.site.rack else None
    if asked is None:
        return 0
    feed = basis.items[asked.item].provides.feed
    if feed is None or load_kw is None:
        return None
    factor, more = REDUNDANT[asked.redundancy]
    return factor * max(1, round_up(load_kw / feed.value)) + more


def own_racks(basis: Basis, standing: Mapping[str, int]) -> Room:
    """Racks of GPU systems and storage, which have racks of their own."""
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
    """Racks of companions: of products that are racks, and those that devices share.

    Args:
        basis: the problem and the catalogs.
        counts: companions in place.
        stated: racks that devices share in a placement; first-fit places them where it is None.
    """
    rack, sets, complete, sharing = space(basis, "network"), [], True, False
    for sku, count in counts.items():
        item = basis.items[sku]
        if item.consumes.racks is not None:
            sets.append(RackSet(sku, "network", item.consumes.racks.value * count, True, 0))
        elif basis.stated(item, "rack_units"):
            sharing = True
            complete &= rack is not None and rack.holds(load_of(basis, item))
    if rack is not None and sharing:
        racks = shared_racks(basis, counts, rack) if stated is None else stated
        pdus = pdus_of(basis, densest_kw(basis, rack))
        sets.append(RackSet(None, "network", racks, False, pdus))
    return Room(tuple(sets), complete)


def load_of(basis: Basis, item: Item) -> Load:
    """Height, draw and weight of one network device; 0 where unknown."""
    height_ru, power_kw = basis.stated(item, "rack_units"), basis.in_rack_kw(item)
    return height_ru or 0.0, power_kw or 0.0, basis.stated(item, "weight_kg") or 0.0


def densest_kw(basis: Basis, rack: Space) -> float:
    """Most that a shared rack can draw: its height full of the densest device."""
    problem, most = basis.problem, 0.0
    names = {*problem.extras, problem.site.cooling.cdu}
    names |= set(problem.network.compute.switches) if problem.network.compute else set()
    others = (problem.network.storage, problem.network.in_band, problem.network.out_of_band)
    names |= {each.switch for each in others if each is not None}
    clusters = [family.cluster for family in basis.inputs.families if family.cluster]
    names |= {part.item for cluster in clusters for part in cluster.parts}
    for sku in names - {None}:
        item = basis.items[sku or ""]
        height_ru, power_kw, _ = load_of(basis, item)
        if item.consumes.racks is None and height_ru:
            most = max(most, power_kw / height_ru * rack.height_ru)
    return most if rack.power_kw is None else min(most, rack.power_kw)


def shared_racks(basis: Basis, counts: Mapping[str, int], rack: Space) -> int:
    """Racks for devices that share them, each in the first with room, largest first."""
    items = [basis.items[sku] for sku in counts if basis.items[sku].consumes.racks is None]
    kinds = [(load_of(basis, i), counts[i.id]) for i in items if basis.stated(i, "rack_units")]

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
    """Check the placement: each rack's content, each device once, no rack too many.

    Args:
        found: takes the differences.
        basis: the problem and the catalogs.
        standing: GPU systems and storage in place.
        counts: companions in place.
        room: the racks that both need.
        plan: whose placement is checked.
    """
    if basis.problem.site.rack is None:
        found.require(not plan.racks, "racks: a placement, but racks have no size")
        return
    number, placed, classes, pdus = 1, Counter[str](), Counter[str](), 0
    for group in plan.racks:
        found.expect(f"racks.{group.first}.first", group.first, number)
        found.require(group.count >= 1 and bool(group.devices), f"racks.{group.first}: empty")
        number = group.first + group.count
        classes[group.rack_class] += group.count
        pdus += group.count * group.pdus
        _check_group(found, basis, group)
        for device in group.devices:
            placed[device.sku] += group.count
    own = {each.sku for each in room.sets}
    expected = _devices(basis, {**standing, **counts}, own)
    for sku in sorted({*placed, *expected}):
        found.expect(f"racks: devices {sku}", placed[sku], expected[sku])
    for name in ("gpu", "storage", "network"):
        racks = sum(each.racks for each in room.sets if each.rack_class == name)
        found.expect(f"racks: racks of class {name}", classes[name], racks)
    found.expect("racks: PDUs", pdus, room.pdus)
    rack, shared = space(basis, "network"), [each for each in room.sets if each.sku is None]
    if rack is not None and shared:
        most = shared_racks(basis, counts, rack)
        found.at_most("racks: racks of network devices", shared[0].racks, most)


def _devices(basis: Basis, counts: Mapping[str, int], known: set[str | None]) -> Counter[str]:
    devices: Counter[str] = Counter()
    for sku, count in counts.items():
        item, decided = basis.items[sku], basis.items[sku].category in DECIDED
        if decided and sku not in known:
            continue  # its racks are not known
        if item.consumes.racks is not None:
            devices[sku] += item.consumes.racks.value * count
        elif item.components and decided:
            for part in item.components:
                devices[part.id] += part.quantity * count
        elif decided or basis.stated(item, "rack_units"):
            devices[sku] += count
    return devices


def _check_group(found: Findings, basis: Basis, group: RackGroup) -> None:
    """Check the devices of a rack, their sums, positions, and the rack's limits."""
    name, items = f"racks.{group.first}", [basis.items[d.sku] for d in group.devices]
    whole = [item for item in items if item.consumes.racks is not None]
    found.expect(f"{name}.product", group.product, bool(whole))
    alone = len(whole) == 0 or len(items) == 1
    found.require(alone, f"{name}: devices that do not share a rack")
    spread, rack = 1, space(basis, group.rack_class)
    if whole and whole[0].consumes.racks:
        spread = whole[0].consumes.racks.value
        height_ru = (basis.stated(whole[0], "rack_units") or 0.0) / spread or group.devices[
            0
        ].rack_units
        rack = Space(height_ru, whole_rack_kw(basis), None)
    assert rack is not None
    for device, item in zip(group.devices, items, strict=True):
        own: dict[str, Any] = {
            "it_power_kw": (basis.in_rack_kw(item) or 0.0) / spread,
            "weight_kg": times(basis.stated(item, "weight_kg"), 1 / spread),
            "rack_units": rack.height_ru if whole else basis.stated(item, "rack_units"),
        }
        found.expect(f"{name}.devices.{device.sku}", device, own)
    weights, power_kw = [d.weight_kg for d in group.devices], [d.it_power_kw for d in group.devices]
    own = dict(zip(("height_ru", "power_limit_kw", "weight_limit_kg"), rack, strict=True))
    own |= {"it_power_kw": sum(power_kw), "weight_kg": total(weights)}
    found.expect(name, group, own)
    load = 0.0, sum(power_kw), sum(kg for kg in weights if kg is not None)
    found.require(rack.holds(load), f"{name}: beyond {rack.power_kw} kW or {rack.weight_kg} kg")
    spans = sorted((d.position_ru, d.position_ru + d.rack_units, d.sku) for d in group.devices)
    noise = RELATIVE * max(1.0, group.height_ru)
    for low, high, sku in spans:
        inside = low >= 1 - noise and high <= group.height_ru + 1 + noise
        found.require(inside, f"{name}.devices.{sku}: below the bottom or above the top")
    for (_, top, below), (bottom, _, above) in pairwise(spans):
        found.require(bottom >= top - noise, f"{name}.devices.{above}: overlaps {below}")
