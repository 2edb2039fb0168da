"""The companions of a problem: who needs what, worked out in one order without circles.

Racks and PDUs of GPU systems and storage, compute and storage fabric, extras, out-of-band, in-band,
CDUs, software, and last the racks that network devices share. The rules are in docs/model.md.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from planner.case import figures, suitability
from planner.case.cabling import longest_run_m
from planner.case.fabrics import (
    CompanionsBuilder,
    add_compute,
    add_console_cables,
    add_ethernet,
    add_out_of_band,
)
from planner.case.model import (
    BillItem,
    Case,
    Companion,
    Companions,
    Positions,
    Storage,
    System,
)
from planner.case.money import bill_item, unit_net_usd
from planner.case.quantities import ROUNDING, AtLeast, Packed, RackDevice, Size, Steps, shares
from planner.figures import STATED
from planner.inputs import NOTHING_ASKED, Inputs, named_fabrics, named_facilities, refusal
from planner.schema.catalog import Category, Item
from planner.schema.problem import Extra
from planner.schema.site import RackPositions, Redundancy
from planner.sizing.placement import Space

MOST_CLUSTERS = 5_000
"""Clusters of a storage family in one plan; more are not planned (docs/model.md)."""


def derive_companions(inputs: Inputs, case: Case, tops: dict[str, int]) -> Companions:
    """Return the companions of a case's offers.

    Args:
        case: the problem in numbers, without companions yet.
        tops: the most units of each offer that a plan can hold.

    Raises:
        InputError: a companion cannot be bought, or lacks a figure that matters.
    """
    builder = CompanionsBuilder(inputs, case, tops)
    network = inputs.problem.network
    _add_places(builder)
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
    companions = (*_companions(builder), *_spare_parts(builder))
    return Companions(
        quantities=tuple(builder.quantities),
        items=companions,
        racks=tuple(builder.racks),
        positions=tuple(_positions(builder)),
        shared=builder.shared,
        shared_pdus_per_rack=builder.shared_pdus_per_rack,
        pdus_per_rack=tuple(builder.pdus_per_rack),
        fabrics=tuple(builder.fabrics),
        missing=_missing(inputs),
    )


def _add_places(builder: CompanionsBuilder) -> None:
    """Add what stands in place of everything owned: never less than is there."""
    for offer in builder.placed:
        if offer.installed:
            builder.quantities.append(AtLeast(offer.place, ((1.0, offer.id),), offer.installed))


def _companions(builder: CompanionsBuilder) -> tuple[Companion, ...]:
    result = []
    for item_id in sorted(builder.needs):
        terms, roles = tuple(builder.needs[item_id]), tuple(builder.roles[item_id])
        item = builder.item(item_id)
        # What a catalog says a cluster needs may have no price: it is told, and not left out.
        catalogued = item in [part for part, _ in builder.of_clusters]
        _refuse_unusable(builder.inputs, item, priced=not catalogued)
        racks, billed = item.consumes.racks, bill_item(item, builder.inputs)
        billed = _unpriced_too(billed) if catalogued else billed
        result.append(
            Companion(
                **vars(billed),
                terms=terms,
                roles=roles,
                racks_each=racks.value if racks else 0,
            )
        )
    return tuple(result)


def _add_clusters(builder: CompanionsBuilder) -> None:
    """Add what each cluster of a storage family needs for itself."""
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
    """Return what so many units in a cluster, with so many of each part, come to; ``alone`` so many
    units need no part."""
    numbers = range(1, clusters + 1)
    sizes = [Size(number * each, tuple(number * part for part in parts)) for number in numbers]
    if alone is not None:
        few = Size(alone, (0,) * len(parts))
        sizes = [few, *(size for size in sizes if size.capacity > few.capacity)]
    return tuple(sizes)


def _spare_parts(builder: CompanionsBuilder) -> Iterator[Companion]:
    """Yield the cold spares of bundles: of their components, each rounded up for each bundle."""
    inputs = builder.inputs
    parts: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
    roles: defaultdict[str, list[str]] = defaultdict(list)
    for offer in builder.offers:
        bundle = builder.item(offer.id)
        usual = inputs.problem.spare_share(bundle.id, bundle.category)
        for part in bundle.components:
            own = inputs.problem.items.get(part.id, NOTHING_ASKED).spares
            share = usual if own is None else own
            if not share:
                continue
            terms = ((share * part.quantity, offer.id),)
            parts[part.id].append((1.0, builder.ceil(f"spare.{offer.id}.{part.id}", terms)))
            roles[part.id].append(f"cold spares of {bundle.model}")
    for part_id, counted in sorted(parts.items()):
        billed = replace(bill_item(builder.item(part_id), inputs), spare_share=0.0)
        yield Companion(
            **vars(_unpriced_too(billed)),
            terms=tuple(counted),
            roles=tuple(roles[part_id]),
            racks_each=0,
            stored=True,
        )


def _unpriced_too(item: BillItem) -> BillItem:
    """Return an item with its stock unlimited where it has no price: its cost is then unknown."""
    return item if item.unit_net_usd is not None else replace(item, stock=None)


def _refuse_unusable(inputs: Inputs, item: Item, *, priced: bool) -> None:
    """Raise where a companion cannot be bought or lacks a figure that matters."""
    rule = inputs.problem.items.get(item.id)
    installed = rule is not None and rule.in_place > 0
    message = fix = None
    if priced and item.id not in inputs.prices and not installed:
        message, fix = "has no price in the price books", "give its price in a book of your own"
    elif item.vendor in inputs.problem.policy.forbid_vendors:
        message, fix = f"is from {item.vendor}, which policy forbids", "name another item"
    elif suitability.needs_power(inputs.problem) and figures.it_power_kw(item, inputs) is None:
        message, fix = "has no power draw", "give consumes.it_power in a catalog of your own"
    for row in suitability.least_stated(inputs.problem) if message is None else ():
        if figures.stated(item, inputs, row) is None:
            message = f"does not state what is to be least, {row.figure.label}"
            fix = f"give {' and '.join(row.asked)} in a catalog of your own"
    if message is not None and fix is not None:
        raise refusal(inputs, item.id, message, f"{fix}{_because_of_the_hall(inputs, item)}")


def _because_of_the_hall(inputs: Inputs, item: Item) -> str:
    """Return why a part of links is there that no switch names: what it stands in for."""
    run_m = longest_run_m(inputs)
    for other in inputs.items if run_m is not None else ():
        if other.beyond == item.id and other.reach is not None and run_m is not None:
            return (
                f"; it stands in for {other.id}, which reaches {other.reach.value:g} m, and runs "
                f"in the hall (site.floor) get as long as {run_m:.0f} m"
            )
    return ""


def _add_extras(builder: CompanionsBuilder) -> None:
    for item_id, extra in sorted(builder.inputs.problem.extras.items()):
        name = f"extra.{item_id}"
        if extra.count is not None:
            builder.sum(name, (), float(extra.count))
        else:
            terms = _per(builder, extra)
            builder.ceil(name, tuple((factor / extra.every, key) for factor, key in terms))
        builder.need(item_id, 1.0, name, _extra_role(extra))
        builder.extras.append((builder.item(item_id), name))


def _extra_role(extra: Extra) -> str:
    if extra.per is None:
        return "as asked for"
    many = f"{extra.every} " if extra.every > 1 else ""
    return f"one per {many}{extra.per.replace('_', ' ')}{'s' if many else ''}"


def _per(builder: CompanionsBuilder, extra: Extra) -> list[tuple[float, str]]:
    offers = builder.offers
    if extra.per == "gpu_system":
        return [(1.0, offer.id) for offer in offers if isinstance(offer, System)]
    if extra.per == "gpu":
        return [(float(offer.gpus), offer.id) for offer in offers if isinstance(offer, System)]
    if extra.per == "storage_unit":
        return [(1.0, offer.id) for offer in offers if isinstance(offer, Storage)]
    return builder.own_racks if extra.per == "rack" else builder.switches


def _add_cdus(builder: CompanionsBuilder) -> None:
    cooling = builder.inputs.problem.site.cooling
    if cooling.cdu is None:
        return
    capacity = builder.item(cooling.cdu).provides.cooling
    assert capacity is not None
    heat = tuple((o.liquid_kw / capacity.value, o.place) for o in builder.placed if o.liquid_kw > 0)
    if_any = 1 if cooling.redundancy == "N+1" else 0
    name = builder.ceil("cdus", heat, if_any=if_any)
    each, role = (2.0 if cooling.redundancy == "2N" else 1.0), f"{cooling.redundancy} for liquid"
    builder.need(cooling.cdu, each, name, role)


def _add_software(builder: CompanionsBuilder) -> None:
    for item_id in sorted(set(builder.inputs.problem.software)):
        licence = builder.item(item_id).licence
        assert licence is not None
        needing = [
            offer
            for offer in builder.offers
            if licence.vendors is None or offer.vendor in licence.vendors
        ]
        if licence.per in ("gpu", "gpu_system"):
            per_gpu = licence.per == "gpu"
            terms = [
                (float(offer.gpus) if per_gpu else 1.0, offer.id)
                for offer in needing
                if isinstance(offer, System)
            ]
        else:
            per_unit = licence.per == "storage_unit"
            terms = [
                (1.0 if per_unit else offer.usable_tb, offer.id)
                for offer in needing
                if isinstance(offer, Storage)
            ]
        name = f"licence.{item_id}"
        if licence.per == "usable_tb":
            builder.ceil(name, tuple(terms))
        else:
            builder.sum(name, tuple(terms))
        builder.need(item_id, 1.0, name, f"per {licence.per.replace('_', ' ')}")


def _add_services(builder: CompanionsBuilder) -> None:
    """Add what the order has besides hardware and software: it is counted last, from all of it."""
    counted = [
        (item_id, _service_terms(builder, item_id))
        for item_id in sorted(set(builder.inputs.problem.services))
    ]
    for item_id, (name, role) in counted:
        builder.need(item_id, 1.0, name, role)


def _service_terms(builder: CompanionsBuilder, item_id: str) -> tuple[str, str]:
    """Return the count of a service, by its name, and what it is for."""
    service, name = builder.item(item_id).service, f"service.{item_id}"
    assert service is not None
    per = service.per
    if per == "order":
        return builder.sum(name, (), 1.0), "once for the order"
    if per == "hardware":
        return _per_hundred_usd(builder, name, service.of), "per 100 USD of hardware"
    if per == "liquid_kw":
        heat = tuple((offer.liquid_kw, offer.place) for offer in builder.placed if offer.liquid_kw)
        return builder.ceil(name, heat), "per kW of heat to liquid"
    if per == "rack":
        return builder.sum(name, tuple(builder.racks)), "per rack"
    if per in ("gpu_system", "gpu", "storage_unit"):
        terms = _per(builder, Extra.model_construct(per=per, every=1))
        return builder.sum(name, tuple(terms)), f"per {SERVICE_WORDS.get(per, per)}"
    kinds = [each for each in sorted(builder.needs) if builder.item(each).category == per]
    terms = [term for each in kinds for term in builder.needs[each]]
    return builder.sum(name, tuple(terms)), f"per {SERVICE_WORDS.get(per, per)}"


SERVICE_WORDS = {"gpu_system": "GPU system", "gpu": "GPU", "storage_unit": "storage unit",
                 "pdu": "rack PDU"}  # fmt: skip
HALF_A_CENT = 0.005 / 100
"""Half of the least step of a sum of money in hundreds of USD: what floats may be off by."""


def _per_hundred_usd(builder: CompanionsBuilder, name: str, of: tuple[Category, ...] | None) -> str:
    """Add every 100 USD, or part of it, that the hardware in place costs which is not owned."""
    terms: list[tuple[float, str]] = []
    owned_usd = 0.0
    for item_id, place, installed in _hardware(builder, name):
        item = builder.item(item_id)
        price = builder.inputs.prices.get(item_id)
        counts = item.category not in ("software", "service") if of is None else item.category in of
        if price is None or not counts:
            continue
        inputs = builder.inputs
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
        rule = builder.inputs.problem.items.get(item_id)
        installed = 0 if rule is None else rule.in_place
        place, terms = f"{name}.{item_id}", tuple(builder.needs[item_id])
        if installed:
            builder.quantities.append(AtLeast(place, terms, installed))
        else:
            builder.sum(place, terms)
        yield item_id, place, installed


def _missing(inputs: Inputs) -> tuple[str, ...]:
    """Return what the bill leaves out because the problem does not ask for it."""
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
        builder.standing.append(_stands(builder, builder.item(offer.id), name))
        builder.own_racks.append((1.0, name))
        if not product:
            load = offer.it_power_kw * use.per_rack / use.racks_each
            _furnish(builder, name, load, own=True)


def _stands(
    builder: CompanionsBuilder, item: Item, name: str
) -> tuple[float | None, float | None, str]:
    """Return what racks of an item ask of their positions: draw, height, and their count."""
    inputs = builder.inputs
    if item.consumes.racks is None:
        space = figures.rack_space(inputs.problem, figures.class_of(item))
        assert space is not None
        return space.power_kw, space.height_ru, name
    racks = item.consumes.racks.value
    draw, height = figures.it_power_kw(item, inputs), figures.rack_units(item, inputs)
    return (draw or 0.0) / racks, (height or 0.0) / racks or None, name


def _positions(builder: CompanionsBuilder) -> Iterator[Positions]:
    """Yield the racks that some positions take and others do not, for every union of positions."""
    groups = builder.inputs.problem.site.positions
    needs = [
        (frozenset(n for n, group in enumerate(groups) if group.takes(power, height)), name)
        for power, height, name in builder.standing
    ]
    unions = {frozenset[int]()} if groups else set()
    for allowed, _ in needs:
        unions |= {union | allowed for union in unions}
    for union in sorted(unions, key=sorted):
        racks = tuple((1.0, name) for allowed, name in needs if allowed <= union)
        if racks and len(union) < len(groups):
            words = " or ".join(_words(groups[n]) for n in sorted(union)) or "no kind"
            label = ".".join(["rack_positions", "_".join(map(str, sorted(union))) or "none"])
            yield Positions(label, words, racks, sum(groups[n].count for n in union))


def _words(group: RackPositions) -> str:
    """Return a group of positions in words."""
    power = "any power" if group.power_kw is None else f"{group.power_kw:g} kW"
    return power if group.height_ru is None else f"{power} and {group.height_ru:g} RU"


def _furnish(builder: CompanionsBuilder, racks: str, load_kw: float, *, own: bool = False) -> int:
    """Add what every rack of a count gets: the rack itself, and PDUs for its load."""
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
    if own:
        builder.pdus.append((float(each), racks))
    return each


def pdus_per_rack(load_kw: float, feed_kw: float, redundancy: Redundancy) -> int:
    """Return the PDUs of a rack with a load."""
    least = max(1, math.ceil(load_kw / feed_kw - ROUNDING))
    return {"N": least, "N+1": least + 1, "2N": 2 * least}[redundancy]


def add_shared_racks(builder: CompanionsBuilder) -> None:
    """Add the racks of companions: products of their own, and those that the others share."""
    space = figures.rack_space(builder.inputs.problem, "network")
    shared: list[tuple[str, tuple[float, float, float]]] = []
    for item_id in sorted(builder.needs):
        item = builder.item(item_id)
        name = f"count.{item_id}"
        if item.consumes.racks is not None:
            terms = ((float(item.consumes.racks.value), name),)
            builder.sum(name, tuple(builder.needs[item_id]))
            builder.racks.append((1.0, builder.sum(f"racks.{item_id}", terms)))
            builder.standing.append(_stands(builder, item, f"racks.{item_id}"))
            continue
        taken = _shares(builder, item, space)
        if taken is not None:
            shared.append((builder.sum(name, tuple(builder.needs[item_id])), taken))
    if shared and space is not None:
        kinds = tuple((1.0, name) for name, _ in shared)
        builder.shared = Packed("racks.network", kinds, tuple(taken for _, taken in shared))
        builder.quantities.append(builder.shared)
        builder.racks.append((1.0, builder.shared.name))
        builder.standing.append((space.power_kw, space.height_ru, builder.shared.name))
        load_kw = _shared_load(builder, space)
        builder.shared_pdus_per_rack = _furnish(builder, builder.shared.name, load_kw)


def named_kinds(builder: CompanionsBuilder) -> list[Item]:
    """Return every kind of thing that the problem names as a companion, in the plan or not."""
    inputs = builder.inputs
    names = {name for _, name, *_ in (*named_fabrics(inputs), *named_facilities(inputs))}
    names |= set(inputs.problem.extras)
    clusters = [family.cluster for family in inputs.families if family.cluster]
    names |= {part.item for cluster in clusters for part in cluster.parts}
    kinds = [builder.item(name) for name in sorted(names)]
    return [item for item in kinds if item.consumes.racks is None]


def device(builder: CompanionsBuilder, item: Item) -> RackDevice:
    """Return a companion as something that stands in a rack."""
    weight = figures.stated(item, builder.inputs, STATED["weight_kg"])
    height = figures.rack_units(item, builder.inputs) or 0.0
    return RackDevice(height, figures.rack_power_kw(item, builder.inputs), weight)


def _shares(
    builder: CompanionsBuilder, item: Item, space: Space | None
) -> tuple[float, float, float] | None:
    """Return what a companion takes of a rack's height, power and weight; None: it needs none."""
    thing = device(builder, item)
    if space is None or thing.rack_units == 0:
        return None
    taken = shares(thing, space)
    if max(taken) > 1 + ROUNDING:
        fix = "give site.rack_classes.network more height, power or weight"
        raise refusal(builder.inputs, item.id, "does not fit into a rack of class network", fix)
    return taken


def _shared_load(builder: CompanionsBuilder, space: Space) -> float:
    """Return what no shared rack draws more than, kW: its power, or its height at the densest."""
    devices = [device(builder, item) for item in named_kinds(builder)]
    densities = [each.it_power_kw / each.rack_units for each in devices if each.rack_units > 0]
    most = space.height_ru * max(densities, default=0.0)
    return most if space.power_kw is None else min(most, space.power_kw)
