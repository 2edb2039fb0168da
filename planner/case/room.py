"""Racks: those of one item, and those that network devices share; with their PDUs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from planner.case import figures
from planner.case.quantities import ROUNDING, Packed
from planner.case.racks import Device, shares
from planner.inputs import refusal
from planner.schema.catalog import Item
from planner.schema.problem import Redundancy
from planner.sizing.placement import Space

if TYPE_CHECKING:
    from planner.case.companions import Kitting


def add_own_racks(kitting: Kitting) -> None:
    """Add the racks of GPU systems and storage, each item in its own."""
    for offer in kitting.placed:
        use = offer.rack_use
        if use is None:
            continue
        product = kitting.item(offer.id).consumes.racks is not None
        name = f"racks.{offer.id}"
        if product or use.per_rack == 1:
            kitting.sum(name, ((float(use.racks_each), offer.place),))
        else:
            kitting.ceil(name, ((1.0 / use.per_rack, offer.place),))
        kitting.racks.append((1.0, name))
        kitting.own_racks.append((1.0, name))
        if not product:
            load = offer.it_power_kw * use.per_rack / use.racks_each
            _furnish(kitting, name, load, own=True)


def _furnish(kitting: Kitting, racks: str, load_kw: float, *, own: bool = False) -> int:
    """Add what every rack of a count gets: the rack itself, and PDUs for its load."""
    rack = kitting.inputs.problem.site.rack
    if rack is None:
        return 0
    if rack.item is not None:
        kitting.need(rack.item, 1.0, racks, "every rack")
    if rack.pdu is None:
        return 0
    feed = kitting.item(rack.pdu.item).provides.feed
    assert feed is not None
    each = pdus_per_rack(load_kw, feed.value, rack.pdu.redundancy)
    kitting.need(rack.pdu.item, float(each), racks, f"{rack.pdu.redundancy} in every rack")
    kitting.pdus_per_rack.append((racks, each))
    if own:
        kitting.pdus.append((float(each), racks))
    return each


def pdus_per_rack(load_kw: float, feed_kw: float, redundancy: Redundancy) -> int:
    """Return the PDUs of a rack with a load."""
    least = max(1, math.ceil(load_kw / feed_kw - ROUNDING))
    return {"N": least, "N+1": least + 1, "2N": 2 * least}[redundancy]


def add_shared_racks(kitting: Kitting) -> None:
    """Add the racks of companions: products of their own, and those that the others share."""
    space = figures.rack_space(kitting.inputs.problem, "network")
    shared: list[tuple[str, tuple[float, float, float]]] = []
    for item_id in sorted(kitting.needs):
        item = kitting.item(item_id)
        name = f"count.{item_id}"
        if item.consumes.racks is not None:
            terms = ((float(item.consumes.racks.value), name),)
            kitting.sum(name, tuple(kitting.needs[item_id]))
            kitting.racks.append((1.0, kitting.sum(f"racks.{item_id}", terms)))
            continue
        taken = _shares(kitting, item, space)
        if taken is not None:
            shared.append((kitting.sum(name, tuple(kitting.needs[item_id])), taken))
    if shared and space is not None:
        kinds = tuple((1.0, name) for name, _ in shared)
        kitting.shared = Packed("racks.network", kinds, tuple(taken for _, taken in shared))
        kitting.quantities.append(kitting.shared)
        kitting.racks.append((1.0, kitting.shared.name))
        load_kw = _shared_load(kitting, space)
        kitting.shared_pdus_per_rack = _furnish(kitting, kitting.shared.name, load_kw)


def named_kinds(kitting: Kitting) -> list[Item]:
    """Return every device that the problem names as a companion, in the plan or not."""
    problem = kitting.inputs.problem
    network = problem.network
    names = set(problem.extras)
    clusters = [family.cluster for family in kitting.inputs.families if family.cluster]
    names |= {part.item for cluster in clusters for part in cluster.parts}
    if network.compute is not None:
        names |= set(network.compute.switches)
    for fabric in (network.storage, network.in_band, network.out_of_band):
        if fabric is not None:
            names.add(fabric.switch)
    if problem.site.cooling.cdu is not None:
        names.add(problem.site.cooling.cdu)
    kinds = [kitting.item(name) for name in sorted(names)]
    return [item for item in kinds if item.consumes.racks is None]


def device(kitting: Kitting, item: Item) -> Device:
    """Return a companion as something that stands in a rack."""
    weight = figures.weight_kg(item, kitting.inputs)
    height = figures.rack_units(item, kitting.inputs) or 0.0
    return Device(height, figures.rack_power_kw(item, kitting.inputs), weight)


def _shares(kitting: Kitting, item: Item, space: Space | None) -> tuple[float, float, float] | None:
    """Return what a companion takes of a rack's height, power and weight; None: it needs none."""
    thing = device(kitting, item)
    if space is None or thing.rack_units == 0:
        return None
    taken = shares(thing, space)
    if max(taken) > 1 + ROUNDING:
        fix = "give site.rack_classes.network more height, power or weight"
        raise refusal(kitting.inputs, item.id, "does not fit into a rack of class network", fix)
    return taken


def _shared_load(kitting: Kitting, space: Space) -> float:
    """Return what no shared rack draws more than, kW: its power, or its height at the densest."""
    devices = [device(kitting, item) for item in named_kinds(kitting)]
    densities = [each.it_power_kw / each.rack_units for each in devices if each.rack_units > 0]
    most = space.height_ru * max(densities, default=0.0)
    return most if space.power_kw is None else min(most, space.power_kw)
