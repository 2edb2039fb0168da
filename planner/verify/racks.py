"""How many racks a line takes, worked out device by device."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.schema.catalog import Item
from planner.schema.plan import RackClassName
from planner.schema.problem import Rack
from planner.verify.basis import Basis

# Twelve units of a twelfth of a rack fill it, whatever the floats say.
_NOISE = 1e-9
_ENOUGH_FOR_ANY_PLAN = 10**9


@dataclass(frozen=True)
class Placement:
    """So many racks hold so many units of an item; no units where one unit does not fit."""

    racks: int
    units: int

    def racks_for(self, count: int) -> int | None:
        """Return the racks that ``count`` units take, None where one unit does not fit."""
        return -(-count // self.units) * self.racks if self.units else None


@dataclass(frozen=True)
class Space:
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
        rack.power_kw if own.power_kw is None else own.power_kw,
        rack.weight_kg if own.weight_kg is None else own.weight_kg,
    )


def place(basis: Basis, item: Item) -> Placement | None:
    """Return how an item fills racks, or None where a figure or the rack is not known.

    Args:
        basis: the problem and the catalogs.
        item: the item, alone in its racks.
    """
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
    feed_kw = rack.power_kw if rack.whole_rack_power_kw is None else rack.whole_rack_power_kw
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
