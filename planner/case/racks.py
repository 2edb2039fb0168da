"""How many units go into a rack, or how many racks a unit takes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from planner.case.quantities import ROUNDING
from planner.sizing import placement
from planner.sizing.placement import Space


@dataclass(frozen=True)
class RackUse:
    """Either several units share a rack (``per_rack``) or a unit takes several racks.

    Racks are not shared between items, so the placement this counts always exists.
    """

    per_rack: int = 1
    racks_each: int = 1

    def racks(self, units: int) -> int:
        """Return the racks that ``units`` of the item take."""
        return -(-units // self.per_rack) * self.racks_each


@dataclass(frozen=True)
class Device:
    """Something that stands in a rack; a weight of None is not known, so not asked about."""

    rack_units: float
    it_power_kw: float
    weight_kg: float | None = None
    quantity: int = 1


def shares(device: Device, space: Space) -> tuple[float, float, float]:
    """Return the shares of a rack's height, power and weight that one device takes."""
    return placement.shares(device.rack_units, device.it_power_kw, device.weight_kg, space)


def rack_use(devices: Iterable[Device], space: Space) -> RackUse | None:
    """Return how an item made of ``devices`` uses racks, or None where it does not fit.

    Args:
        devices: the item itself, or the components of a bundle in their order.
        space: what a rack holds.
    """
    parts = list(devices)
    taken = [shares(part, space) for part in parts]
    if any(max(share) > 1 + ROUNDING for share in taken):
        return None
    quantities = [part.quantity for part in parts]
    whole = [
        sum(share[side] * n for share, n in zip(taken, quantities, strict=True))
        for side in range(3)
    ]
    per_rack = math.inf if max(whole) == 0 else 1.0 / max(whole)
    if per_rack + ROUNDING >= 1:
        return RackUse(per_rack=int(min(per_rack, 1e6) * (1 + ROUNDING)))
    return RackUse(racks_each=_first_fit(taken, quantities))


def _first_fit(taken: list[tuple[float, float, float]], quantities: list[int]) -> int:
    racks: list[tuple[float, ...]] = []
    for share, quantity in zip(taken, quantities, strict=True):
        for _ in range(quantity):
            for index, filled in enumerate(racks):
                more = tuple(a + b for a, b in zip(filled, share, strict=True))
                if max(more) <= 1 + ROUNDING:
                    racks[index] = more
                    break
            else:
                racks.append(share)
    return len(racks)
