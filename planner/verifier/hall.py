"""The hall: capacity of a rack, every device in a rack once, every rack within its limits.

How devices share racks is the plan's choice.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.schema.catalog import Item
from planner.schema.plan import Plan, RackClassName, RackGroup
from planner.verifier.basis import DECIDED, RELATIVE, Basis, Findings, round_up, times, total

ANY_NUMBER = 10**9
"""Devices without height, draw and weight that fit into a rack."""
CLASSES: dict[str, RackClassName] = {"gpu_system": "gpu", "storage": "storage"}
"""Classes of racks other than that of network devices."""
REDUNDANT = {"N": (1, 0), "N+1": (1, 1), "2N": (2, 0)}
"""Factor and addition to the units that a load needs."""
Load = NDArray[np.float64]
"""Height (RU), draw (kW) and weight (kg): of a device, or a rack's room, infinite without limit."""


class RackSet(NamedTuple):
    """Racks of one item, or of the network devices that share racks (``sku`` is None).

    ``pdus`` are those of one rack, None where a figure is not known.
    """

    sku: str | None
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


def space(basis: Basis, name: RackClassName) -> Load | None:
    """Room of a rack of a class, None where racks have no size."""
    site = basis.problem.site
    if site.rack is None:
        return None
    own = getattr(site.rack_classes, name)
    weight_kg = own.weight_kg or site.rack.weight_kg
    sides = own.height_ru or site.rack.height_ru, site.class_power_kw(own), weight_kg
    return np.array([math.inf if side is None else side for side in sides])


def load_of(basis: Basis, item: Item) -> Load:
    """Height, draw and weight of one device; a switch with every transceiver; 0 where unknown."""
    fitted = 0.0
    for group in item.switch.ports if item.switch else ():
        end = group.link.switch_end if group.link else None
        if end is not None:
            each = basis.rated_kw(basis.items[end.item]) or 0.0
            fitted = max(fitted, -(-group.count // end.links) * each)
    power_kw = total((basis.rated_kw(item), fitted))
    sides = basis.of_unit(item, "rack_units"), power_kw, basis.of_unit(item, "weight_kg")
    return np.array([side or 0.0 for side in sides])


def held(room: Load, load: Load) -> NDArray[np.int64]:
    """Devices of a load that fit into a room, or into each of several."""
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(load > 0, room / load, np.inf).min(axis=-1)
    return np.asarray(np.clip(each, 0, ANY_NUMBER), dtype=np.int64)


def first_fit(kinds: Iterable[tuple[Load, int]], rack: Load) -> int:
    """Racks of devices by kind that each go into the first one with room; 0 if one fits none."""
    rooms, rack = np.zeros((0, 3)), rack * (1 + RELATIVE)
    for load, count in kinds:
        each, alone = held(rooms, load), int(held(rack, load))
        if not alone:
            return 0
        put = np.clip(count - (np.cumsum(each) - each), 0, each)
        full, rest = divmod(count - int(put.sum()), alone)
        more = np.array([*[alone] * full, *[rest] * (rest > 0)]).reshape(-1, 1)
        with np.errstate(invalid="ignore"):
            rooms = np.vstack([rooms - put[:, None] * load, rack - more * load])
    return len(rooms)


def fits(basis: Basis, item: Item) -> tuple[int, int] | None:
    """(Racks, units that they hold) of an item, None where a figure is not known."""
    power_kw, site_rack, own = basis.rated_kw(item), basis.problem.site.rack, item.consumes.racks
    if own is not None:
        most_kw = None if site_rack is None else site_rack.whole_rack_limit_kw
        kept = most_kw is None or (power_kw or 0.0) / own.value <= most_kw * (1 + RELATIVE)
        return own.value, int(kept)
    rack = space(basis, CLASSES.get(item.category, "network"))
    if rack is None:
        return None
    parts = basis.parts(item)
    spread = first_fit([(load_of(basis, p), n) for p, n in parts], rack) if item.components else 1
    if spread != 1:
        return max(1, spread), int(spread > 0)
    height_ru = basis.of_unit(item, "rack_units")
    if height_ru is None or (power_kw is None and rack[1] < math.inf):
        return None
    weight_kg = sum((basis.of_unit(part, "weight_kg") or 0.0) * n for part, n in parts)
    return 1, int(held(rack * (1 + RELATIVE), np.array([height_ru, power_kw or 0.0, weight_kg])))


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
    sets = []
    for sku, count in standing.items():
        item = basis.items[sku]
        racks, units = fits(basis, item) or (0, 0)
        if units:
            product = item.consumes.racks is not None
            pdus = 0 if product else pdus_of(basis, times(basis.rated_kw(item), units / racks))
            sets.append(RackSet(sku, -(-count // units) * racks, product, pdus))
    return Room(tuple(sets), len(sets) == len(standing))


def network_racks(basis: Basis, counts: Mapping[str, int], stated: int | None) -> Room:
    """Racks of companions: products that are racks, and ``stated`` shared ones, None: first-fit."""
    rack, sets, sharing = space(basis, "network"), [], []
    for sku, count in counts.items():
        item = basis.items[sku]
        if item.consumes.racks is not None:
            sets.append(RackSet(sku, item.consumes.racks.value * count, True, 0))
        elif basis.of_unit(item, "rack_units"):
            sharing.append(load_of(basis, item))
    if rack is None or not sharing:
        return Room(tuple(sets), not sharing)
    racks = shared_racks(basis, counts, rack) if stated is None else stated
    sets.append(RackSet(None, racks, False, pdus_of(basis, _densest_kw(basis, rack))))
    return Room(tuple(sets), all(held(rack * (1 + RELATIVE), load) for load in sharing))


def _densest_kw(basis: Basis, rack: Load) -> float:
    """Most that a shared rack can draw: its height full of the densest device."""
    problem, network = basis.problem, basis.problem.network
    names = {*problem.extras, problem.site.cooling.cdu}
    names |= set(network.compute.switches) if network.compute else set()
    others = network.storage, network.in_band, network.out_of_band
    names |= {each.switch for each in others if each is not None}
    clusters = [family.cluster for family in basis.inputs.families if family.cluster]
    names |= {part.item for cluster in clusters for part in cluster.parts}
    items = [basis.items[sku] for sku in names if sku]
    loads = [load_of(basis, item) for item in items if item.consumes.racks is None]
    most = max((kw / height_ru * rack[0] for height_ru, kw, _ in loads if height_ru), default=0.0)
    return float(min(most, rack[1]))


def shared_racks(basis: Basis, counts: Mapping[str, int], rack: Load) -> int:
    """Racks for devices that share them, each in the first with room, largest first."""
    items = [basis.items[sku] for sku in counts if basis.items[sku].consumes.racks is None]
    kinds = [(load_of(basis, i), counts[i.id]) for i in items if basis.of_unit(i, "rack_units")]
    orders = (lambda kind: -(kind[0] / rack).max()), (lambda kind: -kind[0][0])
    return min(first_fit(sorted(kinds, key=order), rack) for order in orders)


# The placement of a plan.


def check_racks(
    found: Findings,
    basis: Basis,
    standing: Mapping[str, int],
    companions: Mapping[str, int],
    room: Room,
    plan: Plan,
) -> None:
    """Check the placement: each rack's content, each device once, no rack too many."""
    rack, placed, racks = space(basis, "network"), Counter[str](), 0
    if rack is None:
        found.require(not plan.racks, "racks: a placement, but racks have no size")
        return
    for group in plan.racks:
        racks += group.count
        _check_group(found, basis, group)
        for device in group.devices:
            placed[device.sku] += group.count
    expected = _devices(basis, {**standing, **companions}, room)
    for sku in sorted({*placed, *expected}):
        found.expect(f"racks: devices {sku}", placed[sku], expected[sku])
    found.expect("racks: racks", racks, room.racks)
    for each in room.sets:
        if each.sku is None:
            most = shared_racks(basis, companions, rack)
            found.at_most("racks: racks of network devices", each.racks, most)


def _devices(basis: Basis, counts: Mapping[str, int], room: Room) -> Counter[str]:
    """Devices that stand in racks; a rack that is a product counts for each of its racks."""
    devices, known = Counter[str](), {each.sku for each in room.sets}
    for sku, count in counts.items():
        item, own = basis.items[sku], basis.items[sku].consumes.racks
        decided = item.category in DECIDED
        if own is not None and sku in known:
            devices[sku] += count * own.value
        elif sku in known if decided else basis.of_unit(item, "rack_units"):
            for part, quantity in basis.parts(item) if decided else [(item, 1)]:
                devices[part.id] += quantity * count
    return devices


def _check_group(found: Findings, basis: Basis, group: RackGroup) -> None:
    """Check height, draw and weight of a rack's devices against its limits, and their places."""
    name, items = f"racks.{group.first}", [basis.items[d.sku] for d in group.devices]
    rack, site_rack, product = space(basis, group.rack_class), basis.problem.site.rack, None
    loads = [load_of(basis, item) for item in items]
    assert rack is not None and site_rack is not None
    if items[0].consumes.racks is not None:
        product = items[0].consumes.racks.value
        most_kw = site_rack.whole_rack_limit_kw or math.inf
        rack = np.array([loads[0][0] / product or group.height_ru, most_kw, math.inf])
        loads = [np.array([rack[0], *(loads[0][1:] / product)])]
        found.require(len(items) == 1, f"{name}: devices that do not share a rack")
    _, power_kw, known_kg = (float(side) for side in np.sum(loads, axis=0))
    weights = (times(basis.of_unit(item, "weight_kg"), 1 / (product or 1)) for item in items)
    own = {"product": product is not None, "height_ru": float(rack[0]), "it_power_kw": power_kw}
    found.expect(name, group, {**own, "weight_kg": total(weights)})
    found.at_most(f"{name}: kW", power_kw, float(rack[1]))
    found.at_most(f"{name}: kg", known_kg, float(rack[2]))
    placed = zip(group.devices, loads, strict=False)
    spans = sorted((d.position_ru, d.position_ru + load[0], d.sku) for d, load in placed)
    spans = [(0.0, 1.0, "the bottom"), *spans, (float(rack[0]) + 1.0, math.inf, "the top")]
    for (_, top, below), (bottom, _, above) in pairwise(spans):
        found.require(bottom >= top - RELATIVE * rack[0], f"{name}: {above} overlaps {below}")
