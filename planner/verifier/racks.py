"""The racks that items take, device by device, the racks of the room by content, and their PDUs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from planner.schema.catalog import Item
from planner.schema.plan import RackClassName
from planner.schema.site import Rack
from planner.verifier.basis import DECIDED, Basis, at_least, at_most

# Twelve units of a twelfth of a rack fill it, whatever the floats say.
_NOISE = 1e-9
_ENOUGH_FOR_ANY_PLAN = 10**9


class Placement(NamedTuple):
    """So many racks hold so many units of an item; no units where one unit does not fit."""

    racks: int
    units: int

    def racks_for(self, count: int) -> int | None:
        """Return the racks that ``count`` units take, None where one unit does not fit."""
        return -(-count // self.units) * self.racks if self.units else None


class Space(NamedTuple):
    """What one rack of a class holds; None is no limit."""

    height_ru: float
    power_kw: float | None
    weight_kg: float | None


def rack_class(item: Item) -> RackClassName:
    """Return the class of the racks an item stands in."""
    classes: dict[str, RackClassName] = {"gpu_system": "gpu", "storage": "storage"}
    return classes.get(item.category, "network")


def space(basis: Basis, name: RackClassName) -> Space | None:
    """Return what a rack of a class holds, None where racks have no size."""
    rack, own = basis.problem.site.rack, getattr(basis.problem.site.rack_classes, name)
    if rack is None:
        return None
    return Space(
        rack.height_ru if own.height_ru is None else own.height_ru,
        _class_kw(basis, rack.power_kw if own.power_kw is None else own.power_kw),
        rack.weight_kg if own.weight_kg is None else own.weight_kg,
    )


def _class_kw(basis: Basis, given_kw: float | None) -> float | None:
    """Return what a rack may draw: as given, else what every position of the hall gives."""
    groups = basis.problem.site.positions
    if given_kw is not None or not groups:
        return given_kw
    powers = [group.power_kw for group in groups if group.power_kw is not None]
    return min(powers) if powers else None


def product_limit_kw(basis: Basis) -> float | None:
    """Return what a product that is a rack may draw, None for no limit."""
    site = basis.problem.site
    if site.rack is None:
        return None
    if site.rack.whole_rack_power_kw is not None:
        return site.rack.whole_rack_power_kw
    if not site.positions:
        return site.rack.power_kw
    most: float | None = 0.0
    for group in site.positions:
        most = None if most is None or group.power_kw is None else max(most, group.power_kw)
    return most


def place(basis: Basis, item: Item) -> Placement | None:
    """Return how an item fills racks, or None where a figure or the rack is not known.

    Args:
        item: the item, alone in its racks.
    """
    rests_on = item, basis.problem.site
    return basis.known.kept("place", item.id, rests_on, lambda: _place(basis, item))


def _place(basis: Basis, item: Item) -> Placement | None:
    if item.consumes.racks is not None:
        return _place_whole_rack(basis, item, basis.problem.site.rack)
    rack = space(basis, rack_class(item))
    if rack is None:
        return None
    if item.components:
        return _place_bundle(basis, item, rack)
    return _place_device(basis, item, rack)


def _place_whole_rack(basis: Basis, item: Item, rack: Rack | None) -> Placement:
    """A product that is a rack stands anywhere its feed is strong enough."""
    assert item.consumes.racks is not None
    racks, draw_kw = item.consumes.racks.value, basis.unit_it_power_kw(item)
    if rack is None or draw_kw is None:
        return Placement(racks, 1)
    feed_kw = product_limit_kw(basis)
    enough = feed_kw is None or draw_kw / racks <= feed_kw * (1 + _NOISE)
    return Placement(racks, 1 if enough else 0)


def _place_device(basis: Basis, item: Item, rack: Space) -> Placement | None:
    height_ru, power_kw = basis.unit_rack_units(item), basis.unit_it_power_kw(item)
    if height_ru is None or (rack.power_kw is not None and power_kw is None):
        return None
    fits = _how_often(height_ru, rack.height_ru)
    if rack.power_kw is not None and power_kw is not None:
        fits = min(fits, _how_often(power_kw, rack.power_kw))
    weight_kg = _known_weight_kg(basis, item)
    if rack.weight_kg is not None and weight_kg is not None:
        fits = min(fits, _how_often(weight_kg, rack.weight_kg))
    return Placement(1, fits)


def _known_weight_kg(basis: Basis, item: Item) -> float | None:
    """Return the weight of an item; of a bundle, that of the components whose weight is known."""
    if not item.components:
        return basis.unit_weight_kg(item)
    parts = [(basis.unit_weight_kg(basis.items[c.id]), c.quantity) for c in item.components]
    known = [weight * quantity for weight, quantity in parts if weight is not None]
    return sum(known) if known else None


def _how_often(part: float, whole: float) -> int:
    if part == 0:
        return _ENOUGH_FOR_ANY_PLAN
    return math.floor(whole / part * (1 + _NOISE))


def _place_bundle(basis: Basis, item: Item, rack: Space) -> Placement | None:
    """Place the components first-fit; a bundle within one rack is placed like one device."""
    racks: list[_Load] = []
    for component in item.components:
        part = basis.items[component.id]
        height_ru, power_kw = basis.unit_rack_units(part), basis.unit_it_power_kw(part)
        if height_ru is None or (rack.power_kw is not None and power_kw is None):
            return None
        device = (height_ru, power_kw or 0.0, basis.unit_weight_kg(part) or 0.0)
        if not _fits((0.0, 0.0, 0.0), device, rack):
            return Placement(1, 0)
        for _ in range(component.quantity):
            _put(racks, device, rack)
    return Placement(len(racks), 1) if len(racks) > 1 else _place_device(basis, item, rack)


_Load = tuple[float, float, float]
"""Height in RU, power in kW, weight in kg."""


def _put(racks: list[_Load], device: _Load, rack: Space) -> None:
    """Put a device into the first rack that still takes it."""
    for index, filled in enumerate(racks):
        if _fits(filled, device, rack):
            racks[index] = _added(filled, device)
            return
    racks.append(device)


def _added(filled: _Load, device: _Load) -> _Load:
    return filled[0] + device[0], filled[1] + device[1], filled[2] + device[2]


def _fits(filled: _Load, device: _Load, rack: Space) -> bool:
    limits = (rack.height_ru, rack.power_kw, rack.weight_kg)
    return all(
        limit is None or load <= limit * (1 + _NOISE)
        for load, limit in zip(_added(filled, device), limits, strict=True)
    )


class RackSet(NamedTuple):
    """Racks with the same kind of content: those of one item, or the mixed ones of the network.

    ``sku`` is None for the mixed ones; ``product`` racks are products of their own; ``load_kw``
    is what one rack's PDUs must carry, None where it is not known.
    """

    sku: str | None
    rack_class: RackClassName
    racks: int
    product: bool
    load_kw: float | None


class Room(NamedTuple):
    """Racks, and whether they are all: not where a figure or the size of racks is not known."""

    sets: tuple[RackSet, ...]
    complete: bool


def own_racks(basis: Basis, counts: Mapping[str, int]) -> Room:
    """Return the racks of GPU systems and storage."""
    sets, complete = [], True
    for sku, count in counts.items():
        item = basis.items[sku]
        if count == 0 or item.category not in DECIDED:
            continue
        placement, power_kw = place(basis, item), basis.unit_it_power_kw(item)
        racks = None if placement is None else placement.racks_for(count)
        if placement is None or racks is None:
            complete = False
            continue
        product = item.consumes.racks is not None
        load_kw = None if power_kw is None else power_kw * placement.units / placement.racks
        sets.append(RackSet(sku, rack_class(item), racks, product, load_kw))
    return Room(tuple(sets), complete)


def network_racks(basis: Basis, companions: Mapping[str, int], shared: int) -> Room:
    """Return the racks of companions.

    Args:
        companions: units of everything that follows from the GPU systems and the storage.
        shared: racks that the plan's placement has for what shares them.
    """
    sets, sharing, complete = [], False, True
    rack = space(basis, "network")
    for sku, count in companions.items():
        item = basis.items[sku]
        if item.consumes.racks is not None:
            racks = item.consumes.racks.value * count
            sets.append(RackSet(sku, "network", racks, True, basis.rack_power_kw(item)))
        elif basis.unit_rack_units(item):
            sharing = True
            complete = (
                complete and rack is not None and max(shares(basis, item, rack)) <= 1 + _NOISE
            )
    if rack is not None and sharing:
        most_kw = basis.known.kept("most_kw", "", (basis.problem,), lambda: _most_kw(basis, rack))
        sets.append(RackSet(None, "network", shared, False, most_kw))
    return Room(tuple(sets), complete)


def shares(basis: Basis, item: Item, rack: Space) -> tuple[float, ...]:
    """Return the shares of a rack's height, power and weight that one unit takes, where known."""
    pairs = (
        (basis.unit_rack_units(item), rack.height_ru),
        (basis.rack_power_kw(item), rack.power_kw),
        (basis.unit_weight_kg(item), rack.weight_kg),
    )
    return tuple(0.0 if not part or whole is None else part / whole for part, whole in pairs)


def first_fit(basis: Basis, companions: Mapping[str, int]) -> int:
    """Return the racks that companions take where each goes into the first one with room for it.

    The largest go first, or the highest, whichever takes fewer. Fewer yet may do; a plan that has
    more has not looked.
    """
    rack = space(basis, "network")
    if rack is None:
        return 0
    items = [basis.items[sku] for sku in companions if basis.items[sku].consumes.racks is None]
    kinds = [(shares(basis, i, rack), companions[i.id]) for i in items if basis.unit_rack_units(i)]
    return _first_fit(tuple(kinds))


@lru_cache(maxsize=1024)
def _first_fit(kinds: tuple[tuple[tuple[float, ...], int], ...]) -> int:
    return min(
        _in_turn(sorted(kinds, key=lambda kind: -max(kind[0]))),
        _in_turn(sorted(kinds, key=lambda kind: -kind[0][0])),
    )


def _in_turn(kinds: Sequence[tuple[tuple[float, ...], int]]) -> int:
    """Return the racks of kinds that are placed in this order; racks filled alike go together."""
    alike: list[tuple[tuple[float, ...], int]] = []
    for share, left in kinds:
        filled: list[tuple[tuple[float, ...], int]] = []
        for used, racks in alike:
            each = _fit(used, share, left)
            full = min(racks, left // each) if each else 0
            rest = min(left - full * each, each) if full < racks else 0
            left -= full * each + rest
            for taken, count in ((each, full), (rest, 1 if rest else 0)):
                if count:
                    filled.append((_more(used, taken, share), count))
            if racks > full + (rest > 0):
                filled.append((used, racks - full - (rest > 0)))
        empty = (0.0,) * len(share)
        while left:
            each = max(1, _fit(empty, share, left))
            filled.append((_more(empty, each, share), left // each))
            left %= each
        alike = filled
    return sum(racks for _, racks in alike)


def _more(used: tuple[float, ...], taken: int, share: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(u + taken * s for u, s in zip(used, share, strict=True))


def _fit(filled: tuple[float, ...], share: tuple[float, ...], most: int) -> int:
    """Return how many of a kind, at most so many, still fit."""
    room = [at_most((1 + _NOISE - f) / s) for f, s in zip(filled, share, strict=True) if s > 0]
    return max(0, min([most, *room]))


def _most_kw(basis: Basis, rack: Space) -> float:
    """Return what no mixed rack draws more than: its power, or its height at the densest kind's."""
    densest = 0.0
    for item in _kinds(basis):
        height_ru, power_kw = basis.unit_rack_units(item), basis.rack_power_kw(item)
        if height_ru and power_kw is not None:
            densest = max(densest, power_kw / height_ru)
    most_kw = densest * rack.height_ru
    return most_kw if rack.power_kw is None else min(most_kw, rack.power_kw)


def _kinds(basis: Basis) -> Iterator[Item]:
    """Yield every switch, CDU and extra that the problem names and that has a height."""
    for sku in sorted(set(_named(basis))):
        item = basis.items[sku]
        if item.consumes.racks is None and basis.unit_rack_units(item):
            yield item


def _named(basis: Basis) -> Iterator[str]:
    problem = basis.problem
    network = problem.network
    if network.compute is not None:
        yield from network.compute.switches
    for fabric in (network.storage, network.in_band, network.out_of_band):
        if fabric is not None:
            yield fabric.switch
    if problem.site.cooling.cdu is not None:
        yield problem.site.cooling.cdu
    yield from problem.extras
    yield from basis.parts_of_clusters()


def pdus_per_rack(basis: Basis, racks: RackSet) -> int | None:
    """Return the PDUs of one rack, None where its load is not known."""
    asked = None if basis.problem.site.rack is None else basis.problem.site.rack.pdu
    if asked is None or racks.product:
        return 0
    feed = basis.items[asked.item].provides.feed
    if feed is None or racks.load_kw is None:
        return None
    least = max(1, at_least(racks.load_kw / feed.value))
    return {"N": least, "N+1": least + 1, "2N": 2 * least}[asked.redundancy]


def pdus(basis: Basis, sets: Iterable[RackSet]) -> int | None:
    """Return the PDUs of racks, None where a load is not known."""
    total = 0
    for each in sets:
        per_rack = pdus_per_rack(basis, each)
        if per_rack is None:
            return None
        total += per_rack * each.racks
    return total
