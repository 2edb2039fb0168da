"""The placement of a plan: every rack with its devices and their positions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from planner.assemble.positions import placed
from planner.case import Case, figures
from planner.case.model import Offer
from planner.inputs import Inputs
from planner.optimizer.operate import Run
from planner.optimizer.purchase import bill
from planner.schema.catalog import Item
from planner.schema.plan import Device, RackClassName, RackGroup
from planner.sizing.placement import Box, Filled, Space, mixed, uniform


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
        figures.weight_kg(item, inputs),
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
