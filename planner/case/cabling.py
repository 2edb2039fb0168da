"""How long a link can be in the hall, and which of its parts then reach: decided before purchase.

Where racks stand follows from what is bought, and what is bought must not follow from that again.
So the parts of links are chosen by the longest run that the hall has at all (`site.floor` with its
``rows``): a fact of the site, the same for every purchase. See docs/model.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from planner.inputs import Inputs
from planner.schema.catalog import Item
from planner.schema.site import Floor

RU_M = 0.04445
"""A rack unit, EIA-310."""


def across_m(floor: Floor, one: int, other: int) -> float:
    """Return the way from rack to rack, m: along a row and across rows.

    Args:
        floor: how racks stand.
        one: the number of a rack, from 1.
        other: that of the other one.
    """
    (row, place), (other_row, other_place) = (
        divmod(rack - 1, floor.racks_per_row) for rack in (one, other)
    )
    return abs(row - other_row) * floor.row_pitch_m + abs(place - other_place) * floor.rack_width_m


def inside_m(floor: Floor, apart_ru: float) -> float:
    """Return the run between two devices of a rack, m.

    Args:
        floor: how racks stand.
        apart_ru: how far apart their positions are.
    """
    return (apart_ru * RU_M + floor.rack_width_m) * (1.0 + floor.slack)


def between_m(floor: Floor, across: float, up_ru: float) -> float:
    """Return the run between devices of two racks, m.

    Args:
        floor: how racks stand.
        across: the way from rack to rack, m.
        up_ru: from the two devices to the tops of their racks, together.
    """
    return (across + up_ru * RU_M + 2.0 * floor.riser_m) * (1.0 + floor.slack)


def longest_run_m(inputs: Inputs) -> float | None:
    """Return the longest run that any two devices in the hall can have, m.

    None where the problem does not say how many rows there are.
    """
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
    """Return a part of links, or what takes its place where links are so long.

    The last one of those that follow one another (``beyond``) is taken where none reaches.

    Args:
        item_id: a transceiver or a cable as a switch's links name it.
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
