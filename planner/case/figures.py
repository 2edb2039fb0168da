"""Figures of an item as the problem needs them; None where not known."""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING

from planner.figures import DRAWLESS, HEAT_TO_LIQUID, IT_POWER, STATED, UNSTATED, Stated
from planner.inputs import Inputs, once_for_each
from planner.schema.base import Bandwidth
from planner.schema.catalog import Figure, Item
from planner.schema.problem import Problem, Site
from planner.sizing.placement import ALMOST, Box, RackUse, Space
from planner.sizing.placement import rack_use as pack

if TYPE_CHECKING:
    from planner.schema.layout import RackClassName

RACK_CLASSES: dict[str, RackClassName] = {"gpu_system": "gpu", "storage": "storage"}
CLIENT_GB_PER_S_PER_GPU = 1.0
"""One buffered writer thread per GPU moves about 1 GB/s: 8 per DGX in S. Kartik and C. Tartow, VAST
Data, "A Checkpoint on Checkpoints in LLMs", 2024-01-10."""

_at_path = cache(attrgetter)


def parts(item: Item, inputs: Inputs) -> list[tuple[Item, int]]:
    """The item itself, or its components with their quantities."""
    if not item.components:
        return [(item, 1)]
    return [(inputs.by_id[part.id], part.quantity) for part in item.components]


def stated(item: Item, inputs: Inputs, row: Stated) -> float | None:
    """A catalog figure of one unit, over its parts; None where any part's is not known."""
    if item.category in row.none_of:
        return 0.0
    total = 0.0
    for part, quantity in parts(item, inputs):
        each = _product(part, inputs, row)
        if each is None:
            return None
        total += each * quantity
    return total


def _product(part: Item, inputs: Inputs, row: Stated) -> float | None:
    """A figure of an item without parts: 0 where a factor is 0, whatever the others."""
    product: float | None = 1.0
    for path in row.paths:
        figure = _at_path(path)(part)
        factor = UNSTATED.get(path) if figure is None else figure.value
        if factor == 0.0:
            return 0.0
        product = None if product is None or factor is None else product * factor
    return product


# Power and heat.


@once_for_each
def it_power_kw(item: Item, inputs: Inputs) -> float | None:
    """Maximum draw of one unit, kW; None where any part's is not known."""
    return stated(item, inputs, IT_POWER)


@once_for_each
def typical_power_kw(item: Item, inputs: Inputs) -> float | None:
    """Typical draw of one unit, kW; of parts without one their maximum."""
    if it_power_kw(item, inputs) is None:
        return None
    typical = 0.0
    for part, quantity in parts(item, inputs):
        figure = part.consumes.typical_power or part.consumes.it_power
        if figure is not None and part.category not in DRAWLESS:
            typical += figure.value * quantity
    return typical


@once_for_each
def liquid_kw(item: Item, inputs: Inputs) -> float:
    """Heat of one unit to liquid, kW; 0 where the draw is not known."""
    return stated(item, inputs, HEAT_TO_LIQUID) or 0.0


def meter_kw(item: Item, inputs: Inputs) -> float:
    """Draw of one unit at the meter, kW, at full draw."""
    most = it_power_kw(item, inputs) or 0.0
    return metered_kw(most, liquid_kw(item, inputs) / most if most else 0.0, inputs.problem.site)


def metered_kw(draw_kw: float, liquid: float, site: Site) -> float:
    """Draw at the meter, kW, of a draw with a share of liquid-cooled heat."""
    return draw_kw * (liquid * site.pue_liquid + (1.0 - liquid) * site.pue_air)


def rack_power_kw(item: Item, inputs: Inputs) -> float:
    """Draw of one device in its rack, kW: a switch with all its transceivers.

    The transceivers are lines of their own in the bill; in the rack they draw where they are.
    """
    draw = it_power_kw(item, inputs) or 0.0
    if item.switch is None:
        return draw
    fitted = [0.0]
    for group in item.switch.ports:
        end = group.link.switch_end if group.link is not None else None
        if end is not None:
            module = inputs.by_id[end.item]
            fitted.append(-(-group.count // end.links) * (it_power_kw(module, inputs) or 0.0))
    return draw + max(fitted)


# Racks.


@once_for_each
def rack_units(item: Item, inputs: Inputs) -> float | None:
    """Height of one unit, RU; None where any part's is not known."""
    return stated(item, inputs, STATED["rack_units"])


def class_of(item: Item) -> RackClassName:
    """Class of racks that an item stands in."""
    return RACK_CLASSES.get(item.category, "network")


def rack_space(problem: Problem, name: RackClassName) -> Space | None:
    """Room in a rack of a class, None without rack data."""
    rack = problem.site.rack
    if rack is None:
        return None
    own = getattr(problem.site.rack_classes, name)
    return Space(
        own.height_ru or rack.height_ru,
        problem.site.class_power_kw(own),
        rack.weight_kg if own.weight_kg is None else own.weight_kg,
    )


def box(item: Item, inputs: Inputs) -> Box:
    """A device as it stands in a rack, with all that it draws there."""
    height, draw_kw = rack_units(item, inputs) or 0.0, rack_power_kw(item, inputs)
    return Box(item.id, height, draw_kw, stated(item, inputs, STATED["weight_kg"]))


def rack_use(item: Item, inputs: Inputs) -> RackUse | None:
    """Racks of an item; None without rack data, or where it does not fit."""
    site, space = inputs.problem.site, rack_space(inputs.problem, class_of(item))
    if item.consumes.racks is not None:
        racks, draw = item.consumes.racks.value, it_power_kw(item, inputs)
        limit = site.rack.whole_rack_limit_kw if site.rack is not None else None
        exceeds = limit is not None and draw is not None and draw > racks * limit * ALMOST
        return None if exceeds else RackUse(racks_each=racks)
    if space is None:
        return None
    boxes = []
    for part, quantity in parts(item, inputs):
        height, power = part.consumes.rack_units, part.consumes.it_power
        if height is None or (power is None and space.power_kw is not None):
            return None
        weight = part.consumes.weight.value if part.consumes.weight else None
        each = Box(part.id, height.value, power.value if power else 0.0, weight)
        boxes.append((each, quantity))
    return pack(boxes, space)


# Storage and clients.


def endurance_tb_per_day(item: Item, inputs: Inputs) -> float | None:
    """Writes a day that a unit of storage endures, TB; None where nothing limits it.

    The catalog's figure, else the rating of its flash: raw capacity times drive writes a day, of
    several kinds of flash the least, since all of them take all writes.
    """
    storage = inputs.problem.storage
    if storage.endurance == "off":
        return None
    if item.provides.endurance is not None:
        return item.provides.endurance.value
    rated, flash = storage.dwpd.model_dump(), derived_endurance(item, inputs)
    return min((raw_tb * rated[kind] for kind, raw_tb in flash), default=None)


def derived_endurance(item: Item, inputs: Inputs) -> list[tuple[str, float]]:
    """(kind, raw TB) of the flash in a unit whose endurance is derived from it, if it is."""
    storage, raw_tb = inputs.problem.storage, dict[str, float]()
    if storage.endurance != "derived" or item.provides.endurance is not None:
        return []
    for part, quantity in parts(item, inputs):
        for media in part.media:
            raw_tb[media.type] = raw_tb.get(media.type, 0.0) + quantity * media.raw_tb
    return [(kind, raw) for kind, raw in raw_tb.items() if kind in type(storage.dwpd).model_fields]


def client_gb_per_s(figure: Figure[Bandwidth] | None, gpus: int) -> float:
    """Client bandwidth of one GPU system, GB/s, before the family's factor."""
    return figure.value if figure else CLIENT_GB_PER_S_PER_GPU * gpus
