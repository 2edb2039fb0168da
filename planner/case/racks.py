"""Racks of a plan as counts: own racks, shared racks of network devices, PDUs."""

from __future__ import annotations

import math

from planner.case import figures
from planner.case.builder import CompanionsBuilder
from planner.case.quantities import ROUNDING, Packed
from planner.inputs import named_items, refusal
from planner.schema.problem import Redundancy
from planner.sizing.placement import Space


def add_own_racks(builder: CompanionsBuilder) -> None:
    """Add the racks of GPU systems and storage, each item in its own."""
    for offer in builder.placed:
        use = offer.rack_use
        if use is None:
            continue
        product = builder.item(offer.id).consumes.racks is not None
        name = f"racks.{offer.id}"
        if product or use.per_rack == 1:
            builder.sum(name, ((float(use.racks_each), offer.place),))
        else:
            builder.ceil(name, ((1.0 / use.per_rack, offer.place),))
        builder.racks.append((1.0, name))
        builder.own_racks.append((1.0, name))
        if not product:
            load = offer.it_power_kw * use.per_rack / use.racks_each
            each = _furnish(builder, name, load)
            builder.pdus += [(float(each), name)] if each else []


def add_shared_racks(builder: CompanionsBuilder) -> None:
    """Add the racks of companions: products of their own, and those that the others share."""
    space = figures.rack_space(builder.inputs.problem, "network")
    shared: list[tuple[str, tuple[float, float, float]]] = []
    for item_id in sorted(builder.needs):
        item, needs = builder.item(item_id), tuple(builder.needs[item_id])
        name = f"count.{item_id}"
        if item.consumes.racks is not None:
            builder.sum(name, needs)
            racks = builder.sum(f"racks.{item_id}", ((float(item.consumes.racks.value), name),))
            builder.racks.append((1.0, racks))
            continue
        box = figures.box(item, builder.inputs)
        if space is None or box.rack_units == 0:
            continue
        taken = box.shares(space)
        if max(taken) > 1 + ROUNDING:
            fix = "give site.rack_classes.network more height, power or weight"
            message = "does not fit into a rack of class network"
            raise refusal(builder.inputs, item_id, message, fix)
        shared.append((builder.sum(name, needs), taken))
    if shared and space is not None:
        kinds = tuple((1.0, name) for name, _ in shared)
        builder.shared = Packed("racks.network", kinds, tuple(taken for _, taken in shared))
        builder.quantities.append(builder.shared)
        builder.racks.append((1.0, builder.shared.name))
        load_kw = _shared_load_kw(builder, space)
        builder.shared_pdus_per_rack = _furnish(builder, builder.shared.name, load_kw)


def _furnish(builder: CompanionsBuilder, racks: str, load_kw: float) -> int:
    """Add the furniture of every rack of a count: the rack itself, and PDUs; return the latter."""
    rack = builder.inputs.problem.site.rack
    if rack is None:
        return 0
    if rack.item is not None:
        builder.need(rack.item, 1.0, racks, "every rack")
    if rack.pdu is None:
        return 0
    feed = builder.item(rack.pdu.item).provides.feed
    assert feed is not None
    each = pdus_per_rack(load_kw, feed.value, rack.pdu.redundancy)
    builder.need(rack.pdu.item, float(each), racks, f"{rack.pdu.redundancy} in every rack")
    builder.pdus_per_rack.append((racks, each))
    return each


def pdus_per_rack(load_kw: float, feed_kw: float, redundancy: Redundancy) -> int:
    """PDUs of a rack with a load."""
    least = max(1, math.ceil(load_kw / feed_kw - ROUNDING))
    return {"N": least, "N+1": least + 1, "2N": 2 * least}[redundancy]


def _shared_load_kw(builder: CompanionsBuilder, space: Space) -> float:
    """The most that a shared rack draws, kW: its power, or its height at the densest."""
    inputs = builder.inputs
    names = {name for _, name, _ in named_items(inputs)}
    names |= set(inputs.problem.extras)
    clusters = [family.cluster for family in inputs.families if family.cluster]
    names |= {part.item for cluster in clusters for part in cluster.parts}
    kinds = [builder.item(name) for name in names]
    boxes = [figures.box(item, inputs) for item in kinds if item.consumes.racks is None]
    densities = [box.it_power_kw / box.rack_units for box in boxes if box.rack_units > 0]
    most = space.height_ru * max(densities, default=0.0)
    return most if space.power_kw is None else min(most, space.power_kw)
