"""How many units go into a rack, or how many racks a unit takes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

ROUNDING = 1e-9


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
    """Something that stands in a rack."""

    rack_units: float
    it_power_kw: float
    quantity: int = 1


def rack_use(devices: Iterable[Device], height_ru: float, power_kw: float | None) -> RackUse | None:
    """Return how an item made of ``devices`` uses racks, or None where it does not fit.

    Args:
        devices: the item itself, or the components of a bundle in their order.
        height_ru: usable height of a rack, RU.
        power_kw: power a rack can feed, kW, or None where that is no limit.
    """
    parts = list(devices)
    limit_kw = math.inf if power_kw is None else power_kw
    if any(_too_large(part, height_ru, limit_kw) for part in parts):
        return None
    height = sum(part.rack_units * part.quantity for part in parts)
    power = sum(part.it_power_kw * part.quantity for part in parts)
    by_height = math.inf if height == 0 else height_ru / height
    by_power = math.inf if power == 0 else limit_kw / power
    per_rack = min(by_height, by_power)
    if per_rack + ROUNDING >= 1:
        return RackUse(per_rack=int(min(per_rack, 1e6) + ROUNDING))
    return RackUse(racks_each=_first_fit(parts, height_ru, limit_kw))


def _too_large(part: Device, height_ru: float, limit_kw: float) -> bool:
    return part.rack_units > height_ru + ROUNDING or part.it_power_kw > limit_kw + ROUNDING


def _first_fit(parts: list[Device], height_ru: float, limit_kw: float) -> int:
    racks: list[tuple[float, float]] = []
    for part in parts:
        for _ in range(part.quantity):
            for index, (height, power) in enumerate(racks):
                fits = height + part.rack_units <= height_ru + ROUNDING
                if fits and power + part.it_power_kw <= limit_kw + ROUNDING:
                    racks[index] = (height + part.rack_units, power + part.it_power_kw)
                    break
            else:
                racks.append((part.rack_units, part.it_power_kw))
    return len(racks)
