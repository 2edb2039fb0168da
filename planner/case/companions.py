"""The companions (dependent items) of a problem, derived in one order without circles.

Racks and PDUs of GPU systems and storage, compute and storage fabric, extras, clusters,
out-of-band, in-band, CDUs, software, the racks that network devices share, services, and last the
cold spares of bundles. The rules are in docs/model.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from planner.case import figures, suitability
from planner.case.builder import CompanionsBuilder, Term
from planner.case.fabrics import add_compute, add_console_cables, add_ethernet, add_out_of_band
from planner.case.model import BillItem, Case, Companion, Companions, Storage, System
from planner.case.money import bill_item, unit_net_usd
from planner.case.quantities import AtLeast, Size, Steps
from planner.case.racks import add_own_racks, add_shared_racks
from planner.inputs import NOTHING_ASKED, Inputs, refusal
from planner.schema.catalog import Category, Item

MOST_CLUSTERS = 5_000
"""Clusters of a storage family in one plan; more are not planned (docs/model.md)."""
SERVICE_WORDS = {
    "gpu_system": "GPU system",
    "gpu": "GPU",
    "storage_unit": "storage unit",
    "pdu": "rack PDU",
}
HALF_A_CENT = 0.005 / 100
"""Half of the least step of a sum of money in hundreds of USD: the error of floats."""


def derive_companions(inputs: Inputs, case: Case, tops: dict[str, int]) -> Companions:
    """Derive the companions of a case's offers.

    Args:
        case: the problem in numbers, without companions yet.
        tops: the most units of each offer that a plan can hold.

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
        shared=builder.shared,
        shared_pdus_per_rack=builder.shared_pdus_per_rack,
        pdus_per_rack=tuple(builder.pdus_per_rack),
        fabrics=tuple(builder.fabrics),
        missing=_missing(inputs),
    )


# What follows from offers: extras, clusters, CDUs, software.


def _per(builder: CompanionsBuilder, per: str) -> list[Term]:
    """Terms of a count that extras, licences and services follow."""
    offers = builder.offers
    if per == "gpu_system":
        return [(1.0, offer.id) for offer in offers if isinstance(offer, System)]
    if per == "gpu":
        return [(float(offer.gpus), offer.id) for offer in offers if isinstance(offer, System)]
    if per == "storage_unit":
        return [(1.0, offer.id) for offer in offers if isinstance(offer, Storage)]
    if per == "usable_tb":
        return [(offer.usable_tb, offer.id) for offer in offers if isinstance(offer, Storage)]
    return builder.own_racks if per == "rack" else builder.switches


def _add_extras(builder: CompanionsBuilder) -> None:
    for item_id, extra in sorted(builder.inputs.problem.extras.items()):
        name, role = f"extra.{item_id}", "as asked for"
        if extra.count is not None:
            builder.sum(name, (), float(extra.count))
        else:
            terms = _per(builder, extra.per or "")
            builder.ceil(name, tuple((factor / extra.every, key) for factor, key in terms))
        if extra.per is not None:
            words = extra.per.replace("_", " ")
            role = f"one per {words}" if extra.every == 1 else f"one per {extra.every} {words}s"
        builder.need(item_id, 1.0, name, role)
        builder.extras.append((builder.item(item_id), name))


def _add_clusters(builder: CompanionsBuilder) -> None:
    """Add the parts of each cluster of a storage family."""
    for family in sorted(builder.inputs.families, key=lambda family: family.id):
        stores = (o for o in builder.offers if isinstance(o, Storage) and o.family == family.id)
        units = tuple((1.0, offer.id) for offer in stores)
        cluster = family.cluster
        if not units or cluster is None or not cluster.parts:
            continue
        each, most = cluster.max_units.value, builder.most(units)
        # Where a limit is taken away for a question, nothing else ends this.
        clusters = min(MOST_CLUSTERS, -(-most // each))
        parts = tuple(part.quantity for part in cluster.parts)
        sizes = _cluster_sizes(each, parts, clusters, cluster.alone and cluster.alone.value)
        name = f"cluster.{family.id}"
        outputs = tuple(f"{name}.{part.item}" for part in cluster.parts)
        builder.quantities.append(Steps(name, units, sizes, outputs))
        for part, output in zip(cluster.parts, outputs, strict=True):
            builder.need(part.item, 1.0, output, f"{part.quantity} in each {family.name}")
            builder.of_clusters.append((builder.item(part.item), output))


@lru_cache(maxsize=256)
def _cluster_sizes(
    each: int, parts: tuple[int, ...], clusters: int, alone: int | None
) -> tuple[Size, ...]:
    """Sizes of 1, 2, ... clusters of ``each`` units; up to ``alone`` units need no part."""
    numbers = range(1, clusters + 1)
    sizes = [Size(number * each, tuple(number * part for part in parts)) for number in numbers]
    if alone is not None:
        few = Size(alone, (0,) * len(parts))
        sizes = [few, *(size for size in sizes if size.capacity > few.capacity)]
    return tuple(sizes)


def _add_cdus(builder: CompanionsBuilder) -> None:
    cooling = builder.inputs.problem.site.cooling
    if cooling.cdu is None:
        return
    capacity = builder.item(cooling.cdu).provides.cooling
    assert capacity is not None
    heat = tuple((o.liquid_kw / capacity.value, o.place) for o in builder.placed if o.liquid_kw > 0)
    name = builder.ceil("cdus", heat, if_any=1 if cooling.redundancy == "N+1" else 0)
    each = 2.0 if cooling.redundancy == "2N" else 1.0
    builder.need(cooling.cdu, each, name, f"{cooling.redundancy} for liquid")


def _add_software(builder: CompanionsBuilder) -> None:
    vendor_of = {offer.id: offer.vendor for offer in builder.offers}
    for item_id in sorted(set(builder.inputs.problem.software)):
        licence, name = builder.item(item_id).licence, f"licence.{item_id}"
        assert licence is not None
        terms = tuple(
            (factor, offer)
            for factor, offer in _per(builder, licence.per)
            if licence.vendors is None or vendor_of[offer] in licence.vendors
        )
        if licence.per == "usable_tb":
            builder.ceil(name, terms)
        else:
            builder.sum(name, terms)
        builder.need(item_id, 1.0, name, f"per {licence.per.replace('_', ' ')}")


# Services, counted last: from everything else in the order.


def _add_services(builder: CompanionsBuilder) -> None:
    counted = [
        (item_id, _service_count(builder, item_id))
        for item_id in sorted(set(builder.inputs.problem.services))
    ]
    for item_id, (name, role) in counted:
        builder.need(item_id, 1.0, name, role)


def _service_count(builder: CompanionsBuilder, item_id: str) -> tuple[str, str]:
    """Add the count of a service; return its name and role."""
    service, name = builder.item(item_id).service, f"service.{item_id}"
    assert service is not None
    per = service.per
    if per == "order":
        return builder.sum(name, (), 1.0), "once for the order"
    if per == "hardware":
        return _add_hundreds_of_usd(builder, name, service.of), "per 100 USD of hardware"
    if per == "liquid_kw":
        heat = tuple((offer.liquid_kw, offer.place) for offer in builder.placed if offer.liquid_kw)
        return builder.ceil(name, heat), "per kW of heat to liquid"
    if per == "rack":
        return builder.sum(name, tuple(builder.racks)), "per rack"
    if per in ("gpu_system", "gpu", "storage_unit"):
        terms = _per(builder, per)
    else:
        kinds = [each for each in sorted(builder.needs) if builder.item(each).category == per]
        terms = [term for each in kinds for term in builder.needs[each]]
    return builder.sum(name, tuple(terms)), f"per {SERVICE_WORDS.get(per, per)}"


def _add_hundreds_of_usd(
    builder: CompanionsBuilder, name: str, categories: tuple[Category, ...] | None
) -> str:
    """Add every 100 USD, or part of it, that the hardware in place costs which is not owned."""
    terms: list[Term] = []
    owned_usd, inputs = 0.0, builder.inputs
    for item_id, place, installed in _hardware(builder, name):
        item, price = builder.item(item_id), inputs.prices.get(item_id)
        counts = item.category not in ("software", "service")
        if categories is not None:
            counts = item.category in categories
        if price is None or not counts:
            continue
        net_usd = unit_net_usd(item, price, inputs.discounts, inputs.problem.shown_in)
        if net_usd:
            terms.append((net_usd / 100, place))
            owned_usd += net_usd * installed
    return builder.ceil(name, tuple(terms), -owned_usd / 100 - HALF_A_CENT)


def _hardware(builder: CompanionsBuilder, name: str) -> Iterator[tuple[str, str, int]]:
    """Yield (item, count in place that is never less than owned, owned) of all that has a count."""
    for offer in builder.placed:
        yield offer.id, offer.place, offer.installed
    for item_id in sorted(builder.needs):
        installed = builder.inputs.problem.items.get(item_id, NOTHING_ASKED).in_place
        place, terms = f"{name}.{item_id}", tuple(builder.needs[item_id])
        if installed:
            builder.quantities.append(AtLeast(place, terms, installed))
        else:
            builder.sum(place, terms)
        yield item_id, place, installed


# The items.


def _companions(builder: CompanionsBuilder) -> Iterator[Companion]:
    for item_id in sorted(builder.needs):
        item = builder.item(item_id)
        # Parts that a catalog requires of a cluster may have no price: noted, and not left out.
        of_cluster = item in [part for part, _ in builder.of_clusters]
        _refuse_unusable(builder.inputs, item, priced=not of_cluster)
        billed = bill_item(item, builder.inputs)
        yield Companion(
            **vars(_unlimited_without_price(billed) if of_cluster else billed),
            terms=tuple(builder.needs[item_id]),
            roles=tuple(builder.roles[item_id]),
            racks_each=item.consumes.racks.value if item.consumes.racks else 0,
        )


def _spare_parts(builder: CompanionsBuilder) -> Iterator[Companion]:
    """Yield the cold spares of bundles: of their components, each rounded up for each bundle."""
    problem = builder.inputs.problem
    parts: defaultdict[str, list[Term]] = defaultdict(list)
    roles: defaultdict[str, list[str]] = defaultdict(list)
    for offer in builder.offers:
        bundle = builder.item(offer.id)
        for part in bundle.components:
            share = problem.items.get(part.id, NOTHING_ASKED).spares
            if share is None:
                share = problem.spare_share(bundle.id, bundle.category)
            if share:
                terms = ((share * part.quantity, offer.id),)
                count = builder.ceil(f"spare.{offer.id}.{part.id}", terms)
                parts[part.id].append((1.0, count))
                roles[part.id].append(f"cold spares of {bundle.model}")
    for part_id, counted in sorted(parts.items()):
        billed = replace(bill_item(builder.item(part_id), builder.inputs), spare_share=0.0)
        yield Companion(
            **vars(_unlimited_without_price(billed)),
            terms=tuple(counted),
            roles=tuple(roles[part_id]),
            racks_each=0,
            stored=True,
        )


def _unlimited_without_price(item: BillItem) -> BillItem:
    """An item whose stock is unlimited where it has no price: its cost is then unknown."""
    return item if item.unit_net_usd is not None else replace(item, stock=None)


def _refuse_unusable(inputs: Inputs, item: Item, *, priced: bool) -> None:
    """Raise where a companion cannot be bought or lacks a figure that matters."""
    problem = inputs.problem
    installed = problem.items.get(item.id, NOTHING_ASKED).in_place > 0
    message = fix = ""
    if priced and item.id not in inputs.prices and not installed:
        message, fix = "has no price in the price books", "give its price in a book of your own"
    elif item.vendor in problem.policy.forbid_vendors:
        message, fix = f"is from {item.vendor}, which policy forbids", "name another item"
    elif suitability.needs_power(problem) and figures.it_power_kw(item, inputs) is None:
        message, fix = "has no power draw", "give consumes.it_power in a catalog of your own"
    for row in suitability.least_stated(problem) if not message else ():
        if figures.stated(item, inputs, row) is None:
            message = f"does not state what is to be least, {row.figure.label}"
            fix = f"give {' and '.join(row.asked)} in a catalog of your own"
    if message:
        raise refusal(inputs, item.id, message, fix)


def _missing(inputs: Inputs) -> tuple[str, ...]:
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
        ("CDUs", problem.site.cooling.cdu or not _has_liquid(inputs)),
        ("software licences", problem.software),
        ("spares", problem.spares),
    )
    return tuple(name for name, given in parts if not given)


def _has_liquid(inputs: Inputs) -> bool:
    return any(
        item.category == "gpu_system" and figures.liquid_kw(item, inputs) > 0
        for item in inputs.items
        if suitability.why_not(item, inputs) is None
    )
