"""Power and racks of whole units, recomputed from the catalog in plain arithmetic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from planner.schema.catalog import Item
from planner.schema.problem import Rack

SLIVER = 1e-9
"""Sums of decimal figures may land this far (relative) beyond a limit they equal on paper."""

Catalog = Mapping[str, Item]


def power_kw(item: Item, catalog: Catalog) -> float | None:
    """Return the draw of one unit (a bundle's is the sum of its components'), None if unknown."""
    if not item.components:
        return None if item.consumes.it_power is None else item.consumes.it_power.value
    parts = [(power_kw(catalog[c.id], catalog), c.quantity) for c in item.components]
    return None if any(kw is None for kw, _ in parts) else sum((kw or 0.0) * q for kw, q in parts)


def height_ru(item: Item, catalog: Catalog) -> float | None:
    """Return the rack units of one unit, a bundle's summed; None if unknown."""
    if not item.components:
        return None if item.consumes.rack_units is None else item.consumes.rack_units.value
    parts = [(height_ru(catalog[c.id], catalog), c.quantity) for c in item.components]
    return None if any(ru is None for ru, _ in parts) else sum((ru or 0.0) * q for ru, q in parts)


def per_rack(rack: Rack, height: float, draw_kw: float) -> float:
    """Return how many devices of this height and draw one rack holds (may be infinite)."""
    by_height = math.inf if height == 0 else math.floor(rack.height_ru / height + SLIVER)
    if rack.power_kw is None or draw_kw == 0:
        return by_height
    return min(by_height, math.floor(rack.power_kw / draw_kw + SLIVER))


def fits(item: Item, catalog: Catalog, rack: Rack) -> bool:
    """Return whether a unit, or each component of a bundle, can stand in some rack."""
    if item.consumes.racks is not None:
        feed = rack.whole_rack_power_kw or rack.power_kw
        draw = power_kw(item, catalog)
        return feed is None or draw is None or draw <= feed * item.consumes.racks.value
    if item.components:
        return all(fits(catalog[c.id], catalog, rack) for c in item.components)
    height = height_ru(item, catalog)
    return height is None or per_rack(rack, height, power_kw(item, catalog) or 0.0) >= 1


def racks(item: Item, catalog: Catalog, rack: Rack, units: int) -> int:
    """Return the racks that ``units`` of an item take, in racks of their own."""
    if item.consumes.racks is not None:
        return units * item.consumes.racks.value
    height = height_ru(item, catalog)
    if height is None:
        raise ValueError(f"{item.id}: no height")
    each = per_rack(rack, height, power_kw(item, catalog) or 0.0)
    if item.components and each < 1:
        return units * len(_first_fit(_devices(item, catalog), rack))
    return math.ceil(units / each)


def _devices(item: Item, catalog: Catalog) -> Sequence[tuple[float, float]]:
    """Return height and draw of every device of a bundle, kind after kind."""
    parts = [(catalog[c.id], c.quantity) for c in item.components]
    return [
        (height_ru(part, catalog) or 0.0, power_kw(part, catalog) or 0.0)
        for part, quantity in parts
        for _ in range(quantity)
    ]


def _first_fit(devices: Sequence[tuple[float, float]], rack: Rack) -> list[tuple[float, float]]:
    """Return what is left (height, power) in each rack after placing the devices first-fit."""
    power = math.inf if rack.power_kw is None else rack.power_kw
    left: list[tuple[float, float]] = []
    for height, draw_kw in devices:
        for place, (free_ru, free_kw) in enumerate(left):
            if height <= free_ru + SLIVER and draw_kw <= free_kw + SLIVER:
                left[place] = (free_ru - height, free_kw - draw_kw)
                break
        else:
            left.append((rack.height_ru - height, power - draw_kw))
    return left
