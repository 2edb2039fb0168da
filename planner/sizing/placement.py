"""Which device stands where: the racks of one item, and the racks that network devices share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

ALMOST = 1 + 1e-9


@dataclass(frozen=True)
class Box:
    """A device as a rack sees it; a weight of None is not known, so not asked about."""

    sku: str
    rack_units: float
    it_power_kw: float
    weight_kg: float | None


class Space(NamedTuple):
    """What a rack holds: height, and where they are limits power and weight."""

    height_ru: float
    power_kw: float | None
    weight_kg: float | None


class Filled(NamedTuple):
    """A rack's content from the bottom up: the position of each device's lowest unit.

    Position 1.0 is the bottom of the rack.
    """

    boxes: tuple[tuple[float, Box], ...]


@dataclass
class _Load:
    """A rack while it is filled: how many of each device, and what they come to."""

    boxes: Counter[Box] = field(default_factory=Counter)
    height_ru: float = 0.0
    power_kw: float = 0.0
    weight_kg: float = 0.0

    def fits(self, box: Box, space: Space, count: int = 1) -> bool:
        """Return whether so many more stand within height, power and weight."""
        if self.height_ru + count * box.rack_units > space.height_ru * ALMOST:
            return False
        power_kw = self.power_kw + count * box.it_power_kw
        if space.power_kw is not None and power_kw > space.power_kw * ALMOST:
            return False
        weight_kg = self.weight_kg + count * (box.weight_kg or 0.0)
        return space.weight_kg is None or weight_kg <= space.weight_kg * ALMOST

    def add(self, box: Box, count: int = 1) -> None:
        """Put so many more in."""
        self.boxes[box] += count
        self.height_ru += count * box.rack_units
        self.power_kw += count * box.it_power_kw
        self.weight_kg += count * (box.weight_kg or 0.0)

    def filled(self) -> Filled:
        """Return the positions: the heaviest at the bottom, nothing in between."""
        position_ru, placed = 1.0, []
        for box in sorted(self.boxes, key=_bottom_first):
            for _ in range(self.boxes[box]):
                placed.append((position_ru, box))
                position_ru += box.rack_units
        return Filled(tuple(placed))


def mixed(boxes: Iterable[tuple[Box, int]], space: Space) -> list[tuple[Filled, int]]:
    """Return the least racks that devices of all kinds share: contents, and how many have each.

    Args:
        boxes: devices and how many of each; a device of no size at all stands nowhere.
        space: what each rack holds.

    Raises:
        ValueError: a device does not fit into an empty rack.
    """
    counts: Counter[Box] = Counter()
    for box, count in boxes:
        counts[box] += count
    kinds = sorted(counts, key=lambda box: (box.sku, _bottom_first(box)))
    taken = {b: shares(b.rack_units, b.it_power_kw, b.weight_kg, space) for b in kinds}
    for box in kinds:
        if max(taken[box]) > ALMOST:
            raise ValueError(f"{box.sku} does not fit into a rack")
    sized = [box for box in kinds if max(taken[box]) > 0]
    if not sized:
        return []
    from planner.sizing.packing import packing  # numpy, which the checks of a problem do without

    racks = packing(tuple(taken[box] for box in sized)).racks(tuple(counts[box] for box in sized))
    return [(_stacked(zip(sized, pattern, strict=True)), times) for pattern, times in racks]


def shares(
    rack_units: float, it_power_kw: float, weight_kg: float | None, space: Space
) -> tuple[float, float, float]:
    """Return what a device takes of a rack's height, power and weight; 0 where that is no limit."""
    return (
        rack_units / space.height_ru,
        it_power_kw / space.power_kw if space.power_kw else 0.0,
        (weight_kg or 0.0) / space.weight_kg if space.weight_kg else 0.0,
    )


def _stacked(boxes: Iterable[tuple[Box, int]]) -> Filled:
    load = _Load()
    for box, count in boxes:
        load.add(box, count)
    return load.filled()


def uniform(
    parts: Sequence[tuple[Box, int]], units: int, per_rack: int, racks_each: int, space: Space
) -> list[tuple[Filled, int]]:
    """Return the racks of one item: each content, and how many racks have it.

    Either ``per_rack`` units share a rack, with the rest in a last one, or a unit takes
    ``racks_each`` racks, into which its parts go in their order by first-fit.

    Args:
        parts: the item itself, or the components of a bundle with their quantities.
        units: how many units there are.
        per_rack: units in each rack, where a unit takes one rack at most.
        racks_each: racks of each unit.
        space: what each rack holds.

    Raises:
        ValueError: the parts do not take so many racks.
    """
    if units <= 0:
        return []
    if racks_each > 1:
        loads = _fit_loads(parts, space)
        if len(loads) != racks_each:
            raise ValueError(f"{_names(parts)} needs {len(loads)} racks, not {racks_each}")
        contents = Counter(load.filled() for load in loads)
        return [(content, racks * units) for content, racks in contents.items()]
    full, rest = divmod(units, per_rack)
    racks = [(_together(parts, per_rack, space), full)] if full else []
    return [*racks, (_together(parts, rest, space), 1)] if rest else racks


def _bottom_first(box: Box) -> tuple[float, float, str, float]:
    return (-(box.weight_kg or 0.0), -box.it_power_kw, box.sku, -box.rack_units)


def _fit_loads(parts: Iterable[tuple[Box, int]], space: Space) -> list[_Load]:
    """Return racks with every device in the first one that still has room for it."""
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


def _together(parts: Sequence[tuple[Box, int]], units: int, space: Space) -> Filled:
    """Return a rack with all parts of so many units."""
    load = _Load()
    for box, quantity in parts:
        if not load.fits(box, space, units * quantity):
            raise ValueError(f"{units} of {_names(parts)} do not fit into a rack")
        load.add(box, units * quantity)
    return load.filled()


def _names(parts: Sequence[tuple[Box, int]]) -> str:
    return " + ".join(box.sku for box, _ in parts)
