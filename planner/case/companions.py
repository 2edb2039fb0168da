"""Companions (dependent items): racks, PDUs, CDUs, software, services, extras, clusters, spares.

The rules are in docs/model.md.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from planner.case import figures
from planner.case.fabrics import (
    CompanionsBuilder,
    Term,
    add_compute,
    add_console_cables,
    add_ethernet,
    add_out_of_band,
)
from planner.case.figures import bill_item, least_stated, needs_power, unit_net_usd
from planner.case.items import BillItem, Storage, System
from planner.case.job import ROUNDING
from planner.case.model import (
    SHARED_RACKS,
    AtLeast,
    Case,
    Companion,
    Companions,
    Packed,
    Size,
    Steps,
    Sum,
)
from planner.figures import IT_POWER
from planner.inputs import NOTHING_ASKED, Inputs, named_items, refusal
from planner.schema.catalog import Item
from planner.sizing.placement import Space

MOST_CLUSTERS = 5_000
"""Clusters of a storage family in one plan; more are not planned (docs/model.md)."""
SERVICE_UNITS = {
    "order": "order",
    "gpu_system": "GPU system",
    "gpu": "GPU",
    "storage_unit": "storage unit",
    "switch": "switch",
    "cable": "cable",
    "pdu": "PDU",
    "rack": "rack",
    "liquid_kw": "kW to liquid",
    "hardware": "100 USD of hardware",
}
"""Unit of a service, by the count that it follows."""
HALF_A_CENT = 0.005 / 100
"""Half of the least step of a sum of money in hundreds of USD: the error of floats."""


def derive_companions(inputs: Inputs, case: Case, tops: dict[str, int]) -> Companions:
    """Derive the companions of a case's offers, of which a plan has at most ``tops`` units.

    Raises:
        InputError: a companion cannot be bought, or lacks a figure that matters.
    """
    builder = CompanionsBuilder(inputs, case, tops)
    network = inputs.problem.network
    for offer in builder.placed:
        if offer.installed:  # owned units are in place even where fewer are in the cluster
            builder.quantities.append(AtLeast(offer.place, ((1.0, offer.id),), offer.installed))
    add_own_racks(builder)
    if network.compute is not None:
        add_compute(builder, network.compute)
    if network.storage is not None and network.converged is None:
        add_ethernet(builder, "storage", network.storage)
    _add_extras(builder)
    _add_clusters(builder)
    if network.out_of_band is not None:
        add_out_of_band(builder, network.out_of_band)
    if network.converged is not None:
        add_ethernet(builder, "converged", network.converged)
    elif network.in_band is not None:
        add_ethernet(builder, "in_band", network.in_band)
    _add_cdus(builder)
    _add_software(builder)
    add_shared_racks(builder)
    if network.out_of_band is not None:
        add_console_cables(builder, network.out_of_band)
    _add_services(builder)
    items = (*_companions(builder), *_spare_parts(builder))  # spare parts add counts
    return Companions(
        quantities=tuple(builder.quantities),
        items=items,
        racks=tuple(builder.racks),
        pdus_per_rack=tuple(builder.pdus_per_rack.items()),
        fabrics=tuple(builder.fabrics),
        missing=_missing(inputs, case),
    )


# Racks and PDUs.


def add_own_racks(builder: CompanionsBuilder) -> None:
    """Add the racks of GPU systems and storage, each item in its own."""
    for offer in builder.placed:
        use = offer.rack_use
        if use is None:
            continue
        product = builder.items[offer.id].consumes.racks is not None
        name = f"racks.{offer.id}"
        if product or use.per_rack == 1:
            builder.add_sum(name, ((float(use.racks_each), offer.place),))
        else:
            builder.add_ceil(name, ((1.0 / use.per_rack, offer.place),))
        builder.racks.append((1.0, name))
        if not product:
            _furnish(builder, name, offer.it_power_kw * use.per_rack / use.racks_each)


def add_shared_racks(builder: CompanionsBuilder) -> None:
    """Add the racks of companions: products of their own, and those that the others share."""
    space = figures.rack_space(builder.inputs.problem, "network")
    shared: list[tuple[str, tuple[float, float, float]]] = []
    for item_id in sorted(builder.needs):
        item, needs = builder.items[item_id], tuple(builder.needs[item_id])
        name = f"count.{item_id}"
        if item.consumes.racks is not None:
            builder.add_sum(name, needs)
            racks = builder.add_sum(f"racks.{item_id}", ((float(item.consumes.racks.value), name),))
            builder.racks.append((1.0, racks))
            continue
        box = figures.rack_box(item, builder.inputs)
        if space is None or box.rack_units == 0:
            continue
        taken = box.shares(space)
        if max(taken) > 1 + ROUNDING:
            fix = "give site.rack_classes.network more height, power or weight"
            message = "does not fit into a rack of class network"
            raise refusal(builder.inputs, item_id, message, fix)
        shared.append((builder.add_sum(name, needs), taken))
    if shared and space is not None:
        kinds = tuple((1.0, name) for name, _ in shared)
        shares = tuple(taken for _, taken in shared)
        builder.quantities.append(Packed(SHARED_RACKS, kinds, shares))
        builder.racks.append((1.0, SHARED_RACKS))
        _furnish(builder, SHARED_RACKS, _shared_load_kw(builder, space))


def _furnish(builder: CompanionsBuilder, racks: str, load_kw: float) -> None:
    """Add the furniture of every rack of a count: the rack itself, and PDUs."""
    rack = builder.inputs.problem.site.rack
    if rack is not None and rack.item is not None:
        builder.require(rack.item, 1.0, racks, "every rack")
    if rack is None or rack.pdu is None:
        return
    feed, redundancy = builder.items[rack.pdu.item].provides.feed, rack.pdu.redundancy
    assert feed is not None
    least = max(1, math.ceil(load_kw / feed.value - ROUNDING))
    each = {"N": least, "N+1": least + 1, "2N": 2 * least}[redundancy]
    builder.require(rack.pdu.item, float(each), racks, f"{redundancy} in every rack")
    builder.pdus_per_rack[racks] = each


def _shared_load_kw(builder: CompanionsBuilder, space: Space) -> float:
    """The most that a shared rack draws, kW: its power, or its height at the densest."""
    inputs = builder.inputs
    names = {name for _, name, _ in named_items(inputs)} | set(inputs.problem.extras)
    clusters = [family.cluster for family in inputs.families if family.cluster]
    names |= {part.item for cluster in clusters for part in cluster.parts}
    kinds = [builder.items[name] for name in names]
    boxes = [figures.rack_box(item, inputs) for item in kinds if item.consumes.racks is None]
    densities = [box.it_power_kw / box.rack_units for box in boxes if box.rack_units > 0]
    most = space.height_ru * max(densities, default=0.0)
    return most if space.power_kw is None else min(most, space.power_kw)


# Extras, clusters, CDUs, software, services.


def _counted_terms(builder: CompanionsBuilder, per: str) -> list[Term]:
    """Terms of a count that extras, licences and services follow; racks and switches so far."""
    offers = builder.offers
    if per == "gpu_system":
        return [(1.0, offer.id) for offer in offers if isinstance(offer, System)]
    if per == "gpu":
        return [(float(offer.gpus), offer.id) for offer in offers if isinstance(offer, System)]
    if per == "storage_unit":
        return [(1.0, offer.id) for offer in offers if isinstance(offer, Storage)]
    if per == "usable_tb":
        return [(offer.usable_tb, offer.id) for offer in offers if isinstance(offer, Storage)]
    return builder.racks if per == "rack" else builder.switches


def _add_extras(builder: CompanionsBuilder) -> None:
    for item_id, extra in sorted(builder.inputs.problem.extras.items()):
        name, role = f"extra.{item_id}", "as asked for"
        if extra.per is None:
            builder.add_sum(name, (), float(extra.count or 0))
        else:
            terms, words = _counted_terms(builder, extra.per), extra.per.replace("_", " ")
            builder.add_ceil(name, tuple((factor / extra.every, key) for factor, key in terms))
            role = f"one per {words}" if extra.every == 1 else f"one per {extra.every} {words}s"
        builder.require(item_id, 1.0, name, role)
        builder.extras.append((builder.items[item_id], name))


def _add_clusters(builder: CompanionsBuilder) -> None:
    """Add the parts of each cluster of a storage family."""
    for family in sorted(builder.inputs.families, key=lambda family: family.id):
        stores = (o for o in builder.offers if isinstance(o, Storage) and o.family == family.id)
        units = tuple((1.0, offer.id) for offer in stores)
        cluster = family.cluster
        if not units or cluster is None or not cluster.parts:
            continue
        each = cluster.max_units.value
        # Where a limit is taken away for a question, nothing else ends this.
        clusters = min(MOST_CLUSTERS, -(-builder.upper_bound(units) // each))
        parts = tuple(part.quantity for part in cluster.parts)
        sizes = _cluster_sizes(each, parts, clusters, cluster.alone.value if cluster.alone else 0)
        name = f"cluster.{family.id}"
        outputs = tuple(f"{name}.{part.item}" for part in cluster.parts)
        builder.quantities.append(Steps(name, units, sizes, outputs))
        for part, output in zip(cluster.parts, outputs, strict=True):
            builder.require(part.item, 1.0, output, f"{part.quantity} in each {family.name}")
            builder.of_clusters.append((builder.items[part.item], output))


@lru_cache(maxsize=256)
def _cluster_sizes(
    each: int, parts: tuple[int, ...], clusters: int, alone: int
) -> tuple[Size, ...]:
    """Sizes of 1, 2, ... clusters of ``each`` units; up to ``alone`` units need no part."""
    numbers = range(alone // each + 1, clusters + 1)
    sizes = (Size(number * each, tuple(number * part for part in parts)) for number in numbers)
    return (*([Size(alone, (0,) * len(parts))] if alone else ()), *sizes)


def _add_cdus(builder: CompanionsBuilder) -> None:
    cooling = builder.inputs.problem.site.cooling
    if cooling.cdu is None:
        return
    capacity = builder.items[cooling.cdu].provides.cooling
    assert capacity is not None
    heat = tuple((o.liquid_kw / capacity.value, o.place) for o in builder.placed if o.liquid_kw > 0)
    name = builder.add_ceil("cdus", heat, if_any=1 if cooling.redundancy == "N+1" else 0)
    each = 2.0 if cooling.redundancy == "2N" else 1.0
    builder.require(cooling.cdu, each, name, f"{cooling.redundancy} for liquid")


def _add_software(builder: CompanionsBuilder) -> None:
    vendor_of = {offer.id: offer.vendor for offer in builder.offers}
    for item_id in sorted(set(builder.inputs.problem.software)):
        licence, name = builder.items[item_id].licence, f"licence.{item_id}"
        assert licence is not None
        terms = tuple(
            (factor, offer)
            for factor, offer in _counted_terms(builder, licence.per)
            if licence.vendors is None or vendor_of[offer] in licence.vendors
        )
        (builder.add_ceil if licence.per == "usable_tb" else builder.add_sum)(name, terms)
        builder.require(item_id, 1.0, name, f"per {licence.per.replace('_', ' ')}")


def _add_services(builder: CompanionsBuilder) -> None:
    companions = sorted(builder.needs)  # no service counts another
    for item_id in sorted(set(builder.inputs.problem.services)):
        service, name = builder.items[item_id].service, f"service.{item_id}"
        assert service is not None
        per, role = service.per, f"per {SERVICE_UNITS[service.per]}"
        if per == "order":
            builder.add_sum(name, (), 1.0)
            role = "once for the order"
        elif per == "hardware":
            _add_hundreds_of_usd(builder, name, companions)
        elif per == "liquid_kw":
            heat = ((offer.liquid_kw, offer.place) for offer in builder.placed if offer.liquid_kw)
            builder.add_ceil(name, tuple(heat))
            role = "per kW of heat to liquid"
        elif per in ("gpu_system", "gpu", "storage_unit", "rack"):
            builder.add_sum(name, tuple(_counted_terms(builder, per)))
        else:
            kinds = [each for each in companions if builder.items[each].category == per]
            builder.add_sum(name, tuple(term for each in kinds for term in builder.needs[each]))
        builder.require(item_id, 1.0, name, role)


def _add_hundreds_of_usd(builder: CompanionsBuilder, name: str, companions: list[str]) -> None:
    """Add every 100 USD, or part of it, that the hardware in place costs which is not owned."""
    inputs, terms, owned_usd = builder.inputs, list[Term](), 0.0
    placed = [(offer.place, offer.id) for offer in builder.placed]
    for place, item_id in (*placed, *(("", each) for each in companions)):
        item, price = builder.items[item_id], inputs.prices.get(item_id)
        if price is None or item.category in ("software", "service"):
            continue
        installed = inputs.problem.items.get(item_id, NOTHING_ASKED).in_place
        net_usd = unit_net_usd(item, price, inputs.discounts, inputs.problem.shown_in)
        if not place:  # a companion, with a count that is never less than owned
            place, needed = f"{name}.{item_id}", tuple(builder.needs[item_id])
            count = AtLeast(place, needed, installed) if installed else Sum(place, needed)
            builder.quantities.append(count)
        terms.append((net_usd / 100, place))
        owned_usd += net_usd * installed
    builder.add_ceil(name, tuple(terms), -owned_usd / 100 - HALF_A_CENT)


def _companions(builder: CompanionsBuilder) -> Iterator[Companion]:
    for item_id in sorted(builder.needs):
        item, inputs = builder.items[item_id], builder.inputs
        # Parts that a catalog requires of a cluster may have no price: noted, and not left out.
        of_cluster = item in [part for part, _ in builder.of_clusters]
        _refuse_unusable(inputs, item, priced=not of_cluster)
        yield Companion(
            **vars(_part(inputs, item) if of_cluster else bill_item(item, inputs)),
            terms=tuple(builder.needs[item_id]),
            roles=tuple(builder.roles[item_id]),
        )


def _spare_parts(builder: CompanionsBuilder) -> Iterator[Companion]:
    """Yield the cold spares of bundles: of their components, each rounded up for each bundle."""
    problem = builder.inputs.problem
    counted: defaultdict[str, list[tuple[Term, str]]] = defaultdict(list)
    for offer in builder.offers:
        bundle = builder.items[offer.id]
        for part in bundle.components:
            share = problem.items.get(part.id, NOTHING_ASKED).spares
            if share is None:
                share = problem.spare_share(bundle.id, bundle.category)
            if share:
                terms = ((share * part.quantity, offer.id),)
                count = builder.add_ceil(f"spare.{offer.id}.{part.id}", terms)
                counted[part.id].append(((1.0, count), f"cold spares of {bundle.model}"))
    for part_id, spares in sorted(counted.items()):
        billed = replace(_part(builder.inputs, builder.items[part_id]), spare_share=0.0)
        terms, roles = zip(*spares, strict=True)
        yield Companion(**vars(billed), terms=terms, roles=roles, stored=True)


def _part(inputs: Inputs, item: Item) -> BillItem:
    """A part in the bill: without a price its cost is unknown, and its stock unlimited."""
    billed = bill_item(item, inputs)
    return billed if billed.unit_net_usd is not None else replace(billed, stock=None)


def _refuse_unusable(inputs: Inputs, item: Item, *, priced: bool) -> None:
    """Raise where a companion cannot be bought or lacks a figure that matters."""
    problem = inputs.problem
    owned = problem.items.get(item.id, NOTHING_ASKED).in_place > 0
    if priced and item.id not in inputs.prices and not owned:
        fix = "give its price in a book of your own"
        raise refusal(inputs, item.id, "has no price in the price books", fix)
    if item.vendor in problem.policy.forbid_vendors:
        message = f"is from {item.vendor}, which policy forbids"
        raise refusal(inputs, item.id, message, "name another item")
    for row in (*([IT_POWER] if needs_power(problem) else []), *least_stated(problem)):
        if figures.catalog_figure(item, inputs, row) is None:
            fix = f"give {' and '.join(row.asked)} in a catalog of your own"
            raise refusal(inputs, item.id, f"does not state its {row.figure.label}", fix)


def _missing(inputs: Inputs, case: Case) -> tuple[str, ...]:
    """Parts of the bill that are out of scope because the problem does not ask for them."""
    problem = inputs.problem
    network, rack = problem.network, problem.site.rack
    parts = (
        ("compute fabric", network.compute),
        ("storage fabric", network.storage),
        ("in-band management", network.in_band or network.converged),
        ("out-of-band management", network.out_of_band),
        ("racks", rack.item if rack else None),
        ("rack PDUs", rack.pdu if rack else None),
        ("CDUs", problem.site.cooling.cdu or not any(s.liquid_kw > 0 for s in case.systems)),
        ("software licences", problem.software),
        ("spares", problem.spares),
    )
    return tuple(name for name, given in parts if not given)
