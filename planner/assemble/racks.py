"""The placement of a plan: every rack with its devices, and where in the hall it stands.

That every rack has one is decided with the purchase (`rack_positions` in docs/model.md); here one
is chosen. Racks take the weakest positions that they may, so that what asks for little leaves the
strong ones; where that leaves a rack without any, others move up.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.case import Case, figures
from planner.case.model import Offer
from planner.figures import STATED
from planner.inputs import Inputs
from planner.optimizer.bill import bill
from planner.optimizer.operate import Run
from planner.schema.catalog import Item
from planner.schema.plan import Device, RackClassName, RackGroup, RackPlaces
from planner.schema.site import RackPositions
from planner.sizing.placement import Box, Filled, Space, mixed, uniform


def placed(inputs: Inputs, racks: Sequence[RackGroup]) -> tuple[RackGroup, ...]:
    """Return racks with the positions that they take; as they are without groups of positions."""
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
    """Return the moves of a path as kinds of racks and the groups that they leave."""
    return [(kind, before) for (kind, _), (_, before) in zip(path[1:], path[:-1], strict=True)]


def _path(
    kind: int,
    held: Sequence[Counter[int]],
    allowed: Sequence[set[int]],
    free: Sequence[int],
    order: Sequence[int],
) -> list[Step] | None:
    """Return the shortest chain of moves to a free place: each a kind of rack and its new group."""
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


@dataclass(frozen=True)
class _Racks:
    """So many racks with the same content."""

    content: Filled
    count: int
    space: Space
    rack_class: RackClassName
    pdus: int
    product: bool = False


def rack_groups(inputs: Inputs, case: Case, operation: Run) -> tuple[RackGroup, ...]:
    """Return the placement; nothing where the problem says nothing of its racks."""
    if inputs.problem.site.rack is None:
        return ()
    known = inputs.by_id
    pdus = dict(case.companions.pdus_per_rack)
    racks: list[_Racks] = []
    counts = bill(case, operation.units, operation.ways).counts
    for offer in case.offers():
        count = round(counts[offer.place])
        if count and offer.rack_use is not None:
            racks += _own(inputs, offer, known[offer.id], count, pdus)
    racks += _companions(inputs, case, operation, known)
    return placed(inputs, tuple(_numbered(racks)))


def _own(
    inputs: Inputs, offer: Offer, item: Item, count: int, pdus: dict[str, int]
) -> Iterator[_Racks]:
    name = figures.class_of(item)
    use = offer.rack_use
    assert use is not None
    if item.consumes.racks is not None:
        yield from _products(inputs, item, count, name)
        return
    space = figures.rack_space(inputs.problem, name)
    assert space is not None
    parts = [(_box(part, inputs), n) for part, n in figures.parts(item, inputs)]
    for content, racks in uniform(parts, count, use.per_rack, use.racks_each, space):
        yield _Racks(content, racks, space, name, pdus.get(f"racks.{offer.id}", 0))


def _products(inputs: Inputs, item: Item, count: int, name: RackClassName) -> Iterator[_Racks]:
    """Yield racks that are products: one device that fills its own height."""
    assert item.consumes.racks is not None
    racks = item.consumes.racks.value
    rack = inputs.problem.site.rack
    assert rack is not None
    whole = _box(item, inputs)
    height = whole.rack_units / racks if whole.rack_units else rack.height_ru
    weight = None if whole.weight_kg is None else whole.weight_kg / racks
    box = Box(item.id, height, whole.it_power_kw / racks, weight)
    space = Space(height, inputs.problem.site.whole_rack_limit_kw, None)
    yield _Racks(Filled(((1.0, box),)), racks * count, space, name, 0, product=True)


def _box(item: Item, inputs: Inputs) -> Box:
    return Box(
        item.id,
        figures.rack_units(item, inputs) or 0.0,
        figures.rack_power_kw(item, inputs),
        figures.stated(item, inputs, STATED["weight_kg"]),
    )


def _companions(
    inputs: Inputs,
    case: Case,
    operation: Run,
    known: Mapping[str, Item],
) -> Iterator[_Racks]:
    counts = bill(case, operation.units, operation.ways).counts
    space = figures.rack_space(inputs.problem, "network")
    assert space is not None
    together: list[tuple[Box, int]] = []
    for companion in case.companions.items:
        count, item = round(counts[companion.id]), known[companion.id]
        box = _box(item, inputs)
        if count == 0 or companion.stored:
            continue
        if item.consumes.racks is not None:
            yield from _products(inputs, item, count, "network")
        elif box.rack_units > 0:
            together.append((box, count))
    for content, racks in mixed(together, space):
        yield _Racks(content, racks, space, "network", case.companions.shared_pdus_per_rack)


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
