"""How a rack is drawn: which rows each device takes, and which racks are drawn at all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.schema.plan import Device, RackGroup

ACROSS = 5
"""Racks drawn side by side, which is what a printed page holds."""

MOST_DRAWN = 40
"""Groups of equal racks that are drawn at most; the table holds all of them."""

# Positions are sums of heights: what is a whole number but for rounding is one.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Block:
    """Devices drawn as one block of whole rows, from RU ``lowest`` to ``highest``, both included.

    More than one device stands in it only where several share a row.
    """

    devices: tuple[Device, ...]
    lowest: int
    highest: int


@dataclass(frozen=True)
class Run:
    """Equal devices one above the other, from RU ``lowest`` to ``highest``."""

    device: Device
    count: int
    lowest: float
    highest: float


def rows(group: RackGroup) -> int:
    """Return the rows a rack is drawn with: its height in RU, rounded up."""
    return max(1, math.ceil(group.height_ru - _ROUNDING))


def height_ru(group: RackGroup, device: Device) -> float:
    """Return a device's height; a product that is a rack and states none fills the rack."""
    return device.rack_units or (group.height_ru if group.product else 0.0)


def highest_ru(group: RackGroup, device: Device) -> float:
    """Return the highest RU a device takes."""
    return device.position_ru + max(height_ru(group, device) - 1, 0.0)


def used_ru(group: RackGroup) -> float:
    """Return the height that a rack's devices take together, RU."""
    return math.fsum(height_ru(group, device) for device in group.devices)


def blocks(group: RackGroup) -> list[Block]:
    """Return what is drawn of a rack, from the bottom up, without overlap.

    A device takes every row it reaches into, but for those that the device under it has already;
    one that has no row of its own then shares the block under it.
    """
    top = rows(group)
    result: list[Block] = []
    for device in sorted(group.devices, key=lambda device: device.position_ru):
        bottom = device.position_ru - 1
        first = min(max(math.floor(bottom + _ROUNDING), 0), top - 1) + 1
        last = math.ceil(bottom + height_ru(group, device) - _ROUNDING)
        last = min(max(last, first), top)
        taken = result[-1].highest if result else 0
        if last <= taken:
            result[-1] = replace(result[-1], devices=(*result[-1].devices, device))
        else:
            result.append(Block((device,), max(first, taken + 1), last))
    return result


def runs(group: RackGroup) -> list[Run]:
    """Return a rack's devices from the bottom up, equal neighbours together."""
    result: list[Run] = []
    for device in group.devices:
        top = highest_ru(group, device)
        if result and _continues(result[-1], device):
            result[-1] = replace(result[-1], count=result[-1].count + 1, highest=top)
        else:
            result.append(Run(device, 1, device.position_ru, top))
    return result


def _continues(run: Run, device: Device) -> bool:
    one = run.device
    same = (one.sku, one.rack_units, one.it_power_kw, one.weight_kg) == (
        device.sku,
        device.rack_units,
        device.it_power_kw,
        device.weight_kg,
    )
    return same and abs(run.highest + 1 - device.position_ru) < _ROUNDING


def drawn(groups: Sequence[RackGroup]) -> list[RackGroup]:
    """Return the groups to draw, in their order: where they are too many, the largest."""
    if len(groups) <= MOST_DRAWN:
        return list(groups)
    largest = sorted(range(len(groups)), key=lambda index: (-groups[index].count, index))
    return [groups[index] for index in sorted(largest[:MOST_DRAWN])]


def bands(groups: Sequence[RackGroup]) -> list[list[RackGroup]]:
    """Return the groups in rows of racks drawn side by side."""
    return [list(groups[first : first + ACROSS]) for first in range(0, len(groups), ACROSS)]
