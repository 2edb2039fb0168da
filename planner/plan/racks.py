"""Placement of a plan: every rack with its devices, and its position in the hall.

That every rack has a position is decided with the purchase (`rack_positions` in docs/model.md);
here one is chosen. Racks take the weakest positions that they may, so that the strong ones stay
free; where that leaves a rack without any, others move up.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from planner.case import Case, figures
from planner.case.figures import box
from planner.inputs import Inputs
from planner.optimizer.bill import bill
from planner.optimizer.operate import Run
from planner.schema.catalog import Item
from planner.schema.layout import (
    Device,
    RackClassName,
    RackGroup,
    RackPlaces,
)
from planner.schema.problem import RackPositions
from planner.sizing.placement import Box, Filled, Space, mixed, uniform


@dataclass(frozen=True)
class _Racks:
    """A number of racks with the same content."""

    content: Filled
    count: int
    space: Space
    rack_class: RackClassName
    pdus: int
    product: bool = False


def rack_groups(inputs: Inputs, case: Case, run: Run) -> tuple[RackGroup, ...]:
    """The racks of a plan in their positions; none where the problem has no rack data."""
    if inputs.problem.site.rack is None:
        return ()
    pdus = dict(case.companions.pdus_per_rack)
    racks: list[_Racks] = []
    counts = bill(case, run.units, run.ways).counts
    for offer in case.offers():
        count, item, use = round(counts[offer.place]), inputs.item(offer.id), offer.rack_use
        if not count or use is None:
            continue
        name = figures.class_of(item)
        space = figures.rack_space(inputs.problem, name)
        assert space is not None
        if item.consumes.racks is not None:
            racks.append(_products(inputs, item, count, name))
            continue
        parts = [(box(part, inputs), n) for part, n in figures.parts(item, inputs)]
        each = pdus.get(f"racks.{offer.id}", 0)
        racks += [
            _Racks(*filled, space, name, each) for filled in uniform(parts, count, use, space)
        ]
    space = figures.rack_space(inputs.problem, "network")
    assert space is not None
    together: list[tuple[Box, int]] = []
    for companion in case.companions.items:
        count, item = round(counts[companion.id]), inputs.item(companion.id)
        if count == 0 or companion.stored:
            continue
        if item.consumes.racks is not None:
            racks.append(_products(inputs, item, count, "network"))
        elif (device := box(item, inputs)).rack_units > 0:
            together.append((device, count))
    each = case.companions.shared_pdus_per_rack
    racks += [_Racks(*filled, space, "network", each) for filled in mixed(together, space)]
    return _positioned(inputs, tuple(_numbered(racks)))


def _products(inputs: Inputs, item: Item, count: int, name: RackClassName) -> _Racks:
    """Racks that are products: one device that fills its own height."""
    site, whole = inputs.problem.site, box(item, inputs)
    assert item.consumes.racks is not None and site.rack is not None
    racks = item.consumes.racks.value
    height = whole.rack_units / racks if whole.rack_units else site.rack.height_ru
    weight = None if whole.weight_kg is None else whole.weight_kg / racks
    device = Box(item.id, height, whole.it_power_kw / racks, weight)
    space = Space(height, site.whole_rack_limit_kw, None)
    return _Racks(Filled(((1.0, device),)), racks * count, space, name, 0, product=True)


def _numbered(racks: list[_Racks]) -> Iterator[RackGroup]:
    first = 1
    for group in racks:
        boxes = group.content.boxes
        weights = [box.weight_kg for _, box in boxes]
        yield RackGroup(
            first=first,
            count=group.count,
            rack_class=group.rack_class,
            product=group.product,
            height_ru=group.space.height_ru,
            power_limit_kw=group.space.power_kw,
            weight_limit_kg=group.space.weight_kg,
            it_power_kw=sum(box.it_power_kw for _, box in boxes),
            weight_kg=None if None in weights else sum(weight or 0.0 for weight in weights),
            pdus=group.pdus,
            devices=tuple(
                Device(
                    sku=box.sku,
                    position_ru=position,
                    rack_units=box.rack_units,
                    it_power_kw=box.it_power_kw,
                    weight_kg=box.weight_kg,
                )
                for position, box in boxes
            ),
        )
        first += group.count


# Positions in the hall.


def _positioned(inputs: Inputs, racks: Sequence[RackGroup]) -> tuple[RackGroup, ...]:
    """Racks with their positions; as they are without groups of positions."""
    groups = inputs.problem.site.positions
    if not groups:
        return tuple(racks)

    def strength(number: int) -> tuple[float, float, int]:
        power, height = groups[number].power_kw, groups[number].height_ru
        return math.inf if power is None else power, math.inf if height is None else height, number

    taken = spread(
        [rack.count for rack in racks],
        [_allowed(inputs, rack, groups) for rack in racks],
        [group.count for group in groups],
        sorted(range(len(groups)), key=strength),
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


def _allowed(inputs: Inputs, rack: RackGroup, groups: Sequence[RackPositions]) -> set[int]:
    """Groups of positions that take a rack: by its class, or its own draw and height."""
    power_kw: float | None = rack.power_limit_kw
    height_ru: float | None = rack.height_ru
    if rack.product:
        item = inputs.item(rack.devices[0].sku)
        assert item.consumes.racks is not None
        each = item.consumes.racks.value
        power_kw = (figures.it_power_kw(item, inputs) or 0.0) / each
        height_ru = (figures.rack_units(item, inputs) or 0.0) / each
    return {number for number, group in enumerate(groups) if group.takes(power_kw, height_ru)}


Step = tuple[int, int]
"""A kind of racks, and the group that it goes into."""


def spread(
    counts: Sequence[int],
    allowed: Sequence[set[int]],
    room: Sequence[int],
    order: Sequence[int],
) -> list[Counter[int]]:
    """Racks of each kind by group of positions; fewer only where not all can be placed.

    Args:
        counts: racks of each kind.
        allowed: the groups that take each kind.
        room: positions of each group.
        order: the groups, the ones to be taken first in front.
    """
    held: list[Counter[int]] = [Counter() for _ in counts]
    free = list(room)
    for kind, count in enumerate(counts):
        missing = count
        while missing > 0:
            path = _path(kind, held, allowed, free, order)
            if path is None:
                break
            moves = [(other, before, after) for (_, before), (other, after) in pairwise(path)]
            freed = (held[other][before] for other, before, _ in moves)
            moved = min(missing, free[path[-1][1]], *freed)
            for other, before, after in moves:
                held[other][before] -= moved
                held[other][after] += moved
            held[kind][path[0][1]] += moved
            free[path[-1][1]] -= moved
            missing -= moved
    return [+each for each in held]


def _path(
    kind: int,
    held: Sequence[Counter[int]],
    allowed: Sequence[set[int]],
    free: Sequence[int],
    order: Sequence[int],
) -> list[Step] | None:
    """The shortest chain of moves to a free position: each a kind of racks and its new group."""
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
