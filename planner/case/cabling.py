"""Longest run of a link in the hall, and the cables and modules that reach that far.

Places of racks follow from the purchase, and the purchase must not follow from them again. So the
parts of links are chosen by the longest run of the hall (`site.floor` with its ``rows``): a fact of
the site, the same for every purchase. See docs/model.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from planner.inputs import Inputs
from planner.schema.catalog import Item
from planner.schema.problem import Floor

RU_M = 0.04445
"""A rack unit, EIA-310."""


def across_m(floor: Floor, one: int, other: int) -> float:
    """Distance from rack to rack along a row and across rows, m; racks are numbered from 1."""
    (row, place), (other_row, other_place) = (
        divmod(rack - 1, floor.racks_per_row) for rack in (one, other)
    )
    return abs(row - other_row) * floor.row_pitch_m + abs(place - other_place) * floor.rack_width_m


def inside_m(floor: Floor, apart_ru: float) -> float:
    """Run between two devices of a rack, m."""
    return (apart_ru * RU_M + floor.rack_width_m) * (1.0 + floor.slack)


def between_m(floor: Floor, across: float, up_ru: float) -> float:
    """Run between devices of two racks, m.

    Args:
        across: distance from rack to rack, m.
        up_ru: from the two devices to the tops of their racks, together.
    """
    return (across + up_ru * RU_M + 2.0 * floor.riser_m) * (1.0 + floor.slack)


def longest_run_m(inputs: Inputs) -> float | None:
    """Longest run between any two devices in the hall, m; None without the number of rows."""
    floor, rack = inputs.problem.site.floor, inputs.problem.site.rack
    if floor is None or floor.rows is None or rack is None:
        return None
    classes = inputs.problem.site.rack_classes
    own = (classes.gpu, classes.storage, classes.network)
    heights = [rack.height_ru, *(each.height_ru for each in own if each.height_ru is not None)]
    heights += [
        item.consumes.rack_units.value / item.consumes.racks.value
        for item in inputs.items
        if item.consumes.racks is not None and item.consumes.rack_units is not None
    ]
    tallest = max(heights)
    across = across_m(floor, 1, floor.rows * floor.racks_per_row)
    far = between_m(floor, across, 2.0 * (tallest - 1.0))
    return max(far, inside_m(floor, tallest))


def part_that_reaches(item_id: str, items: Mapping[str, Item], run_m: float | None) -> str:
    """A cable or module of a link, or its successor (``beyond``) that reaches; else the last one.

    Args:
        item_id: the part that a switch's links name.
        run_m: the longest run, m; None keeps the part.
    """
    seen: set[str] = set()
    while run_m is not None and item_id not in seen:
        seen.add(item_id)
        item = items.get(item_id)
        reach = None if item is None else item.reach
        if item is None or item.beyond is None or reach is None or reach.value >= run_m:
            break
        item_id = item.beyond
    return item_id
