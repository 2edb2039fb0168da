"""Devices in racks: the racks of one item, and the racks that network devices share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
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


class Filled(NamedTuple):
    """A rack's content from the bottom up: the position of each device's lowest unit, from 1.0."""

    boxes: tuple[tuple[float, Box], ...]


@dataclass
class _Load:
    """A rack while it is filled: how many of each device, and their sums."""

    boxes: Counter[Box] = field(default_factory=Counter)
    height_ru: float = 0.0
    power_kw: float = 0.0
    weight_kg: float = 0.0

    def fits(self, box: Box, space: Space, count: int = 1) -> bool:
        """True if ``count`` more fit into height, power and weight."""
        if self.height_ru + count * box.rack_units > space.height_ru * ALMOST:
            return False
        power_kw = self.power_kw + count * box.it_power_kw
        if space.power_kw is not None and power_kw > space.power_kw * ALMOST:
            return False
        weight_kg = self.weight_kg + count * (box.weight_kg or 0.0)
        return space.weight_kg is None or weight_kg <= space.weight_kg * ALMOST

    def add(self, box: Box, count: int = 1) -> None:
        """Put ``count`` more in."""
        self.boxes[box] += count
        self.height_ru += count * box.rack_units
        self.power_kw += count * box.it_power_kw
        self.weight_kg += count * (box.weight_kg or 0.0)

    def filled(self) -> Filled:
        """Positions without gaps, the heaviest at the bottom."""
        position_ru, placed = 1.0, []
        for box in sorted(self.boxes, key=_bottom_first):
            for _ in range(self.boxes[box]):
                placed.append((position_ru, box))
                position_ru += box.rack_units
        return Filled(tuple(placed))


def _bottom_first(box: Box) -> tuple[float, float, str, float]:
    return (-(box.weight_kg or 0.0), -box.it_power_kw, box.sku, -box.rack_units)


def rack_use(parts: Parts, space: Space) -> RackUse | None:
    """Racks of one unit of an item, or units to a rack; None where a part fits into none."""
    taken = [(box.shares(space), quantity) for box, quantity in parts]
    if any(max(share) > ALMOST for share, _ in taken):
        return None
    unit = max(sum(share[side] * quantity for share, quantity in taken) for side in range(3))
    if unit <= ALMOST:
        most = min(1.0 / unit, MOST_PER_RACK) if unit else MOST_PER_RACK
        return RackUse(per_rack=int(most * ALMOST))
    return RackUse(racks_each=len(_fit_loads(parts, space)))


def uniform(parts: Parts, units: int, use: RackUse, space: Space) -> list[tuple[Filled, int]]:
    """Racks of one item: each content, and how many racks have it.

    Either ``use.per_rack`` units share a rack, the rest in a last one, or a unit takes several
    racks, its parts in their order by first-fit.

    Raises:
        ValueError: the parts do not take that many racks.
    """
    if units <= 0:
        return []
    if use.racks_each > 1:
        loads = _fit_loads(parts, space)
        if len(loads) != use.racks_each:
            raise ValueError(f"{_names(parts)} needs {len(loads)} racks, not {use.racks_each}")
        contents = Counter(load.filled() for load in loads)
        return [(content, racks * units) for content, racks in contents.items()]
    full, rest = divmod(units, use.per_rack)
    racks = [(_together(parts, use.per_rack, space), full)] if full else []
    return [*racks, (_together(parts, rest, space), 1)] if rest else racks


def mixed(boxes: Iterable[tuple[Box, int]], space: Space) -> list[tuple[Filled, int]]:
    """The least racks that devices of all kinds share: contents, and how many racks have each.

    Args:
        boxes: devices and how many of each; a device without size stands nowhere.
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
    contents = []
    for pattern, times in racks:
        load = _Load()
        for box, count in zip(sized, pattern, strict=True):
            load.add(box, count)
        contents.append((load.filled(), times))
    return contents


def _fit_loads(parts: Parts, space: Space) -> list[_Load]:
    """Racks with every device in the first one that still has room for it."""
    loads: list[_Load] = []
    for box, count in parts:
        if not _Load().fits(box, space):
            raise ValueError(f"{box.sku} does not fit into a rack")
        # A rack without room for one has none for the next of its kind either.
        index = 0
        for _ in range(count):
            while index < len(loads) and not loads[index].fits(box, space):
                index += 1
            if index == len(loads):
                loads.append(_Load())
            loads[index].add(box)
    return loads


def _together(parts: Parts, units: int, space: Space) -> Filled:
    """A rack with all parts of a number of units."""
    load = _Load()
    for box, quantity in parts:
        if not load.fits(box, space, units * quantity):
            raise ValueError(f"{units} of {_names(parts)} do not fit into a rack")
        load.add(box, units * quantity)
    return load.filled()


def _names(parts: Parts) -> str:
    return " + ".join(box.sku for box, _ in parts)
