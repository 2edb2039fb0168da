"""At which position of the hall each rack stands, where `site.racks` are groups of positions.

That every rack has one is decided with the purchase (`rack_positions` in docs/model.md); here one
is chosen. Racks take the weakest positions that they may, so that what asks for little leaves the
strong ones; where that leaves a rack without any, others move up.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from planner.case import figures
from planner.inputs import Inputs
from planner.schema.plan import RackGroup, RackPlaces
from planner.schema.site import RackPositions


def placed(inputs: Inputs, racks: Sequence[RackGroup]) -> tuple[RackGroup, ...]:
    """Return racks with the positions that they take; as they are without groups of positions.

    Args:
        inputs: the problem and the catalogs.
        racks: the racks, numbered.
    """
    groups = inputs.problem.site.positions
    if not groups:
        return tuple(racks)
    allowed = [_allowed(inputs, rack, groups) for rack in racks]
    taken = spread(
        [rack.count for rack in racks],
        allowed,
        [group.count for group in groups],
        sorted(range(len(groups)), key=lambda number: (*_strength(groups[number]), number)),
    )
    used = [0] * len(groups)
    starts = [1 + sum(group.count for group in groups[:number]) for number in range(len(groups))]
    result = []
    for rack, own in zip(racks, taken, strict=True):
        places = []
        for number in sorted(own):
            places.append(
                RackPlaces(
                    group=groups[number].name or f"group {number + 1}",
                    first=used[number] + 1,
                    count=own[number],
                    hall_first=starts[number] + used[number],
                )
            )
            used[number] += own[number]
        result.append(rack.model_copy(update={"places": tuple(places)}))
    return tuple(result)


def _strength(group: RackPositions) -> tuple[float, float]:
    power, height = group.power_kw, group.height_ru
    return math.inf if power is None else power, math.inf if height is None else height


def _allowed(inputs: Inputs, rack: RackGroup, groups: Sequence[RackPositions]) -> set[int]:
    """Return the groups in which a rack may stand: by its class, or its own draw and height."""
    power_kw: float | None = rack.power_limit_kw
    height_ru: float | None = rack.height_ru
    if rack.product:
        item = inputs.item(rack.devices[0].sku)
        assert item.consumes.racks is not None
        each = item.consumes.racks.value
        power_kw = (figures.it_power_kw(item, inputs) or 0.0) / each
        height_ru = (figures.rack_units(item, inputs) or 0.0) / each
    return {number for number, group in enumerate(groups) if group.takes(power_kw, height_ru)}


def spread(
    counts: Sequence[int],
    allowed: Sequence[set[int]],
    room: Sequence[int],
    order: Sequence[int],
) -> list[Counter[int]]:
    """Return how many of each kind stand in which group; fewer only where there is no way for all.

    Args:
        counts: how many there are of each kind.
        allowed: the groups in which each kind may stand.
        room: how many each group takes.
        order: the groups, the ones to be taken first in front.
    """
    held: list[Counter[int]] = [Counter() for _ in counts]
    free = list(room)
    for kind, count in enumerate(counts):
        left = count
        while left > 0:
            path = _path(kind, held, allowed, free, order)
            if path is None:
                break
            moved = min([left, free[path[-1][1]], *(held[k][g] for k, g in _freed(path))])
            for (k, g), (_, before) in zip(path[1:], path[:-1], strict=True):
                held[k][before] -= moved
                held[k][g] += moved
            held[kind][path[0][1]] += moved
            free[path[-1][1]] -= moved
            left -= moved
    return [+each for each in held]


Step = tuple[int, int]
"""A kind, and the group that it goes into."""


def _freed(path: Sequence[Step]) -> list[Step]:
    """Return who leaves which group along a path."""
    return [(kind, before) for (kind, _), (_, before) in zip(path[1:], path[:-1], strict=True)]


def _path(
    kind: int,
    held: Sequence[Counter[int]],
    allowed: Sequence[set[int]],
    free: Sequence[int],
    order: Sequence[int],
) -> list[Step] | None:
    """Return the shortest way to a free place: who goes where, and whom that moves on."""
    paths: list[list[Step]] = [[(kind, group)] for group in order if group in allowed[kind]]
    seen = {path[0][1] for path in paths}
    for path in paths:  # grows while it is walked
        group = path[-1][1]
        if free[group] > 0:
            return path
        for other, own in enumerate(held):
            for further in order if own[group] > 0 else ():
                if further in allowed[other] and further not in seen:
                    seen.add(further)
                    paths.append([*path, (other, further)])
    return None
