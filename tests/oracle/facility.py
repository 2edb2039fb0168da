"""Power, heat and racks of whole units, recomputed from the catalog in plain arithmetic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from planner.schema.catalog import Item
from planner.schema.problem import Site

SLIVER = 1e-9
"""Sums of decimal figures may land this far (relative) beyond a limit they equal on paper."""
PASSIVE = ("transceiver", "cable", "rack", "pdu", "software", "service")
"""What stands in no rack unit of its own; all but transceivers draw nothing."""

Catalog = Mapping[str, Item]
Whole = npt.NDArray[np.int64]
ClassName = Literal["gpu", "storage", "network"]


@dataclass(frozen=True)
class Space:
    """What one rack of a class holds, infinite where the site does not say."""

    height_ru: float
    power_kw: float
    weight_kg: float


@dataclass(frozen=True)
class Standing:
    """How an item stands: so many units in a rack, or one unit over several racks.

    ``own`` marks a product that is a rack (or several); ``pdus`` are those of one rack.
    """

    per_rack: float
    racks_each: int
    own: bool
    pdus: int

    def racks(self, units: Whole) -> Whole:
        """Return the racks of so many units."""
        if self.racks_each > 1 or self.own:
            return units * self.racks_each
        return up(units / self.per_rack)


def up(amount: npt.NDArray[np.floating[Any]]) -> Whole:
    """Return amounts rounded up, forgiving what decimal figures leave behind."""
    return np.asarray(np.ceil(amount - SLIVER), dtype=np.int64)


def ceil(amount: float) -> int:
    """Return an amount rounded up, forgiving what decimal figures leave behind."""
    return math.ceil(amount - SLIVER)


def _figure(item: Item, catalog: Catalog, name: str) -> float | None:
    """Return what one unit consumes, a bundle's components summed; None if unknown."""
    if not item.components:
        figure = getattr(item.consumes, name)
        return None if figure is None else float(figure.value)
    parts = [(_figure(catalog[c.id], catalog, name), c.quantity) for c in item.components]
    return None if any(f is None for f, _ in parts) else sum((f or 0.0) * q for f, q in parts)


def power_kw(item: Item, catalog: Catalog) -> float | None:
    """Return the draw of one unit (a bundle's is the sum of its components'), None if unknown."""
    if item.category in PASSIVE and item.category != "transceiver":
        return 0.0
    return _figure(item, catalog, "it_power")


def height_ru(item: Item, catalog: Catalog) -> float | None:
    """Return the rack units of one unit, a bundle's summed; None if unknown."""
    return 0.0 if item.category in PASSIVE else _figure(item, catalog, "rack_units")


def weight_kg(item: Item, catalog: Catalog) -> float | None:
    """Return the weight of one unit, None if unknown; of a bundle what is known of it."""
    if not item.components:
        return _figure(item, catalog, "weight")
    parts = [(weight_kg(catalog[c.id], catalog), c.quantity) for c in item.components]
    known = [kg * quantity for kg, quantity in parts if kg is not None]
    return sum(known) if known else None


def floor_kg(item: Item, catalog: Catalog) -> float:
    """Return what one unit weighs on the floor; nothing where any part of it is not known."""
    if item.category in ("transceiver", "cable", "software", "service"):
        return 0.0
    return _figure(item, catalog, "weight") or 0.0


def typical_kw(item: Item, catalog: Catalog) -> float:
    """Return the typical draw of one unit, the maximum where it is not known."""
    if item.components:
        return sum(typical_kw(catalog[c.id], catalog) * c.quantity for c in item.components)
    if item.consumes.typical_power is not None and item.category not in PASSIVE:
        return item.consumes.typical_power.value
    return power_kw(item, catalog) or 0.0


def liquid_kw(item: Item, catalog: Catalog) -> float:
    """Return the part of one unit's draw that heats a liquid."""
    if item.components:
        return sum(liquid_kw(catalog[c.id], catalog) * c.quantity for c in item.components)
    share = item.consumes.liquid_share
    return 0.0 if share is None else (power_kw(item, catalog) or 0.0) * share.value


def space(site: Site, name: ClassName) -> Space | None:
    """Return what a rack of a class holds, None where the site gives no rack."""
    if site.rack is None:
        return None
    found = []
    for key in ("height_ru", "power_kw", "weight_kg"):
        own = getattr(getattr(site.rack_classes, name), key)
        value = getattr(site.rack, key) if own is None else own
        found.append(math.inf if value is None else float(value))
    return Space(*found)


def class_of(item: Item) -> ClassName:
    """Return the class of racks an item stands in."""
    return "gpu" if item.category == "gpu_system" else "storage"


def per_rack(item: Item, catalog: Catalog, rack: Space) -> float:
    """Return how many units one rack holds by height, power and weight (may be infinite)."""
    needs = (height_ru(item, catalog), power_kw(item, catalog), weight_kg(item, catalog))
    holds = (rack.height_ru, rack.power_kw, rack.weight_kg)
    ratios = [hold / need for hold, need in zip(holds, needs, strict=True) if need]
    least = min(ratios, default=math.inf)
    return least if least == math.inf else math.floor(least + SLIVER)


def fits(item: Item, catalog: Catalog, site: Site) -> bool:
    """Return whether a unit, or each component of a bundle, can stand in some rack."""
    rack = space(site, class_of(item))
    if rack is None or site.rack is None:
        return True
    if item.consumes.racks is not None:
        feed, draw = site.rack.whole_rack_limit_kw, power_kw(item, catalog)
        allowed = math.inf if feed is None else feed * item.consumes.racks.value * (1.0 + SLIVER)
        return draw is None or draw <= allowed
    parts = [catalog[c.id] for c in item.components] or [item]
    return all(height_ru(p, catalog) is None or per_rack(p, catalog, rack) >= 1 for p in parts)


def standing(item: Item, catalog: Catalog, site: Site) -> Standing | None:
    """Return how GPU systems or storage of a kind stand, None where that is not known."""
    if item.consumes.racks is not None:
        return Standing(1.0, item.consumes.racks.value, own=True, pdus=0)
    rack = space(site, class_of(item))
    if rack is None or height_ru(item, catalog) is None:
        return None
    each, draw_kw = per_rack(item, catalog, rack), power_kw(item, catalog) or 0.0
    if each >= 1:
        load_kw = each * draw_kw if draw_kw else 0.0
        return Standing(each, 1, own=False, pdus=pdus(site, catalog, load_kw))
    count = len(_first_fit(_devices(item, catalog), rack)) or 1  # what fits no rack is not bought
    return Standing(1.0, count, own=False, pdus=pdus(site, catalog, draw_kw / count))


def pdus(site: Site, catalog: Catalog, load_kw: float) -> int:
    """Return the PDUs of a rack that must carry ``load_kw``."""
    if site.rack is None or site.rack.pdu is None:
        return 0
    feed = catalog[site.rack.pdu.item].provides.feed
    if feed is None:
        raise ValueError(f"{site.rack.pdu.item}: no feed")
    enough = max(1, ceil(load_kw / feed.value))
    return {"N": enough, "N+1": enough + 1, "2N": 2 * enough}[site.rack.pdu.redundancy]


def _devices(item: Item, catalog: Catalog) -> Sequence[tuple[float, float, float]]:
    """Return height, draw and weight of every device of a bundle, kind after kind."""
    parts = [(catalog[c.id], c.quantity) for c in item.components]
    return [
        (
            height_ru(part, catalog) or 0.0,
            power_kw(part, catalog) or 0.0,
            weight_kg(part, catalog) or 0.0,
        )
        for part, quantity in parts
        for _ in range(quantity)
    ]


def _first_fit(
    devices: Sequence[tuple[float, float, float]], rack: Space
) -> list[tuple[float, ...]]:
    """Return what is left (height, power, weight) in each rack, the devices placed first-fit."""
    left: list[tuple[float, ...]] = []
    empty = (rack.height_ru, rack.power_kw, rack.weight_kg)
    for device in devices:
        for place, free in enumerate(left):
            if all(need <= room + SLIVER for need, room in zip(device, free, strict=True)):
                left[place] = tuple(f - n for f, n in zip(free, device, strict=True))
                break
        else:
            left.append(tuple(f - n for f, n in zip(empty, device, strict=True)))
    return left
