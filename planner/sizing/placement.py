"""Devices in racks: the racks of one item, and the racks that network devices share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

ALMOST = 1 + 1e-9
MOST_PER_RACK = 1_000_000
"""Units to a rack of an item without size."""


class Space(NamedTuple):
    """Height of a rack, and its power and weight where they are limits."""

    height_ru: float
    power_kw: float | None
    weight_kg: float | None


@dataclass(frozen=True)
class Box:
    """A device in a rack; an unknown weight (None) counts as 0."""

    sku: str
    rack_units: float
    it_power_kw: float
    weight_kg: float | None

    def shares(self, space: Space) -> tuple[float, float, float]:
        """Shares of a rack's height, power and weight; 0 where that is no limit."""
        return (
            self.rack_units / space.height_ru,
            self.it_power_kw / space.power_kw if space.power_kw else 0.0,
            (self.weight_kg or 0.0) / space.weight_kg if space.weight_kg else 0.0,
        )


Parts = Sequence[tuple[Box, int]]
"""An item as a rack holds it: itself, or the components of a bundle with their quantities."""


class RackUse(NamedTuple):
    """Either several units share a rack (``per_rack``) or a unit takes several racks.

    Racks are not shared between items, so the placement this counts always exists.
    """

    per_rack: int = 1
    racks_each: int = 1

    def racks(self, units: int) -> int:
        """Racks of a number of units."""
        return -(-units // self.per_rack) * self.racks_each


Filled = tuple[tuple[float, Box], ...]
"""A rack's content from the bottom up: the position of each device's lowest unit, from 1.0."""


def _filled(boxes: Mapping[Box, int]) -> Filled:
    """A rack with positions without gaps, the heaviest at the bottom."""
    position_ru, placed = 1.0, []
    for box in sorted(boxes, key=_bottom_first):
        for _ in range(boxes[box]):
            placed.append((position_ru, box))
            position_ru += box.rack_units
    return tuple(placed)


def _bottom_first(box: Box) -> tuple[float, float, str, float]:
    return (-(box.weight_kg or 0.0), -box.it_power_kw, box.sku, -box.rack_units)


def _largest_share(boxes: Iterable[tuple[Box, int]], space: Space) -> float:
    """The largest of the shares of height, power and weight that devices take together."""
    taken = [(box.shares(space), count) for box, count in boxes]
    return max(sum(share[side] * count for share, count in taken) for side in range(3))


def _first_fit(parts: Parts, space: Space) -> list[Counter[Box]]:
    """Racks with every device in the first one that still has room for it."""
    racks: list[Counter[Box]] = []
    for box, count in parts:
        if max(box.shares(space)) > ALMOST:
            raise ValueError(f"{box.sku} does not fit into a rack")
        for _ in range(count):
            for rack in racks:
                if _largest_share([*rack.items(), (box, 1)], space) <= ALMOST:
                    break
            else:
                rack = Counter()
                racks.append(rack)
            rack[box] += 1
    return racks


def rack_use(parts: Parts, space: Space) -> RackUse | None:
    """Racks of one unit of an item, or units to a rack; None where a part fits into none."""
    if any(max(box.shares(space)) > ALMOST for box, _ in parts):
        return None
    unit = _largest_share(parts, space)
    if unit <= ALMOST:
        most = min(1.0 / unit, MOST_PER_RACK) if unit else MOST_PER_RACK
        return RackUse(per_rack=int(most * ALMOST))
    return RackUse(racks_each=len(_first_fit(parts, space)))


def pack_own_racks(
    parts: Parts, units: int, use: RackUse, space: Space
) -> list[tuple[Filled, int]]:
    """Racks of one item: each content, and how many racks have it.

    Either ``use.per_rack`` units share a rack, the rest in a last one, or a unit takes several
    racks, its parts in their order by first-fit.

    Raises:
        ValueError: the parts do not take that many racks.
    """
    names = " + ".join(box.sku for box, _ in parts)
    if units <= 0:
        return []
    if use.racks_each > 1:
        loads = _first_fit(parts, space)
        if len(loads) != use.racks_each:
            raise ValueError(f"{names} needs {len(loads)} racks, not {use.racks_each}")
        contents = Counter(_filled(load) for load in loads)
        return [(content, racks * units) for content, racks in contents.items()]
    full, rest = divmod(units, use.per_rack)
    found = []
    for together, racks in ((use.per_rack, full), (rest, min(1, rest))):
        boxes: Counter[Box] = Counter()
        for box, quantity in parts:
            boxes[box] += quantity * together
        if racks and _largest_share(boxes.items(), space) > ALMOST:
            raise ValueError(f"{together} of {names} do not fit into a rack")
        found += [(_filled(boxes), racks)] if racks else []
    return found


def pack_shared_racks(boxes: Iterable[tuple[Box, int]], space: Space) -> list[tuple[Filled, int]]:
    """The least racks that devices of all kinds share: contents, and how many racks have each.

    Args:
        boxes: devices and how many of each; a device without size takes no rack.
        space: height, power and weight of each rack.

    Raises:
        ValueError: a device does not fit into an empty rack.
    """
    counts: Counter[Box] = Counter()
    for box, count in boxes:
        counts[box] += count
    kinds = sorted(counts, key=lambda box: (box.sku, _bottom_first(box)))
    taken = {box: box.shares(space) for box in kinds}
    for box in kinds:
        if max(taken[box]) > ALMOST:
            raise ValueError(f"{box.sku} does not fit into a rack")
    sized = [box for box in kinds if max(taken[box]) > 0]
    if not sized:
        return []
    from planner.sizing.packing import packing  # numpy, which the checks of a problem do without

    racks = packing(tuple(taken[box] for box in sized)).racks(tuple(counts[box] for box in sized))
    patterns = ((zip(sized, pattern, strict=True), times) for pattern, times in racks)
    return [(_filled({b: n for b, n in boxes if n}), times) for boxes, times in patterns]
