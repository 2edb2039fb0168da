"""The companions of a problem: who needs what, worked out in one order without circles.

Racks and PDUs of GPU systems and storage, compute and storage fabric, extras, out-of-band, in-band,
CDUs, software, and last the racks that network devices share. The rules are in docs/model.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from planner.case import figures
from planner.case.bounds import Bounds
from planner.case.fabrics import add_compute, add_ethernet, add_out_of_band
from planner.case.goods import GoodFields, good_fields
from planner.case.kit import Companion, Fabric, Kit
from planner.case.model import Case, Storage, System
from planner.case.quantities import AtLeast, Ceil, Packed, Quantity, Size, Steps, Sum, Terms
from planner.case.room import add_own_racks, add_shared_racks
from planner.inputs import Inputs, refusal
from planner.schema.catalog import Item
from planner.schema.problem import Extra


class Kitting:
    """Counts and needs as they are collected.

    ``offers`` can be in the cluster; ``placed`` is all that stands in racks and is cooled.
    """

    def __init__(self, inputs: Inputs, case: Case, tops: dict[str, int]) -> None:
        self.inputs = inputs
        self.items = {item.id: item for item in inputs.items}
        self.offers = (*case.systems, *case.storage)
        self.placed = case.offers()
        self.bounds = Bounds.of(case, tops)
        self.bounded = 0
        self.quantities: list[Quantity] = []
        self.needs: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
        self.roles: defaultdict[str, list[str]] = defaultdict(list)
        self.fabrics: list[Fabric] = []
        self.racks: list[tuple[float, str]] = []
        self.own_racks: list[tuple[float, str]] = []
        self.bought_racks: list[tuple[float, str]] = []
        self.pdus: list[tuple[float, str]] = []
        self.pdus_per_rack: list[tuple[str, int]] = []
        self.switches: list[tuple[float, str]] = []
        self.extras: list[tuple[Item, str]] = []
        self.of_clusters: list[tuple[Item, str]] = []
        self.shared: Packed | None = None
        self.shared_pdus_per_rack = 0

    def sum(self, name: str, terms: Terms, constant: float = 0.0) -> str:
        """Add a count that is a sum, and return its name."""
        self.quantities.append(Sum(name, terms, constant))
        return name

    def ceil(self, name: str, terms: Terms, constant: float = 0.0, if_any: int = 0) -> str:
        """Add a count that is rounded up, and return its name."""
        self.quantities.append(Ceil(name, terms, constant, if_any))
        return name

    def most(self, terms: Terms) -> int:
        """Return an upper bound of a sum of terms; larger fabrics are not looked at."""
        self.bounds.add(self.quantities[self.bounded :])
        self.bounded = len(self.quantities)
        return int(self.bounds.most(terms)) + 1

    def need(self, item_id: str, factor: float, name: str, role: str) -> None:
        """Say that ``factor`` units of an item are needed for each of a count, and what for."""
        self.needs[item_id].append((factor, name))
        self.roles[item_id].append(role)

    def item(self, item_id: str) -> Item:
        """Return an item of the catalogs."""
        return self.items[item_id]


def kit(inputs: Inputs, case: Case, tops: dict[str, int]) -> Kit:
    """Return the companions of a case's offers.

    Args:
        inputs: the problem and the catalogs.
        case: the problem in numbers, without companions yet.
        tops: the most units of each offer that a plan can hold.

    Raises:
        InputError: a companion cannot be bought, or lacks a figure that matters.
    """
    kitting = Kitting(inputs, case, tops)
    network = inputs.problem.network
    _add_places(kitting)
    add_own_racks(kitting)
    if network.compute is not None:
        add_compute(kitting, network.compute)
    if network.storage is not None:
        add_ethernet(kitting, "storage", network.storage)
    _add_extras(kitting)
    _add_clusters(kitting)
    if network.out_of_band is not None:
        add_out_of_band(kitting, network.out_of_band)
    if network.in_band is not None:
        add_ethernet(kitting, "in_band", network.in_band)
    _add_cdus(kitting)
    _add_software(kitting)
    add_shared_racks(kitting)
    companions = (*_companions(kitting), *_spare_parts(kitting))
    return Kit(
        quantities=tuple(kitting.quantities),
        companions=companions,
        racks=tuple(kitting.racks),
        shared=kitting.shared,
        shared_pdus_per_rack=kitting.shared_pdus_per_rack,
        pdus_per_rack=tuple(kitting.pdus_per_rack),
        fabrics=tuple(kitting.fabrics),
        missing=_missing(inputs),
    )


def _add_places(kitting: Kitting) -> None:
    """Add what stands in place of everything owned: never less than is there."""
    for offer in kitting.placed:
        if offer.installed:
            kitting.quantities.append(AtLeast(offer.place, ((1.0, offer.id),), offer.installed))


def _companions(kitting: Kitting) -> tuple[Companion, ...]:
    result = []
    for item_id in sorted(kitting.needs):
        item = kitting.item(item_id)
        # What a catalog says a cluster needs may have no price: it is told, and not left out.
        catalogued = item in [part for part, _ in kitting.of_clusters]
        _refuse_unusable(kitting.inputs, item, priced=not catalogued)
        racks, good = item.consumes.racks, good_fields(item, kitting.inputs)
        good = _unpriced_too(good) if catalogued else good
        result.append(
            Companion(
                **good,
                terms=tuple(kitting.needs[item_id]),
                roles=tuple(kitting.roles[item_id]),
                racks_each=racks.value if racks else 0,
            )
        )
    return tuple(result)


MOST_CLUSTERS = 5_000
"""Clusters of a storage family in one plan; more are not planned (docs/model.md)."""


def _add_clusters(kitting: Kitting) -> None:
    """Add what each cluster of a storage family needs for itself."""
    for family in sorted(kitting.inputs.families, key=lambda family: family.id):
        stores = (o for o in kitting.offers if isinstance(o, Storage) and o.family == family.id)
        units = tuple((1.0, offer.id) for offer in stores)
        cluster = family.cluster
        if not units or cluster is None or not cluster.parts:
            continue
        each, most = cluster.max_units.value, kitting.most(units)
        # Where a limit is taken away for a question, nothing else ends this.
        counts = range(1, min(MOST_CLUSTERS, -(-most // each)) + 1)
        sizes = [
            Size(number * each, tuple(number * part.quantity for part in cluster.parts))
            for number in counts
        ]
        if cluster.alone is not None:
            few = Size(cluster.alone.value, (0,) * len(cluster.parts))
            sizes = [few, *(size for size in sizes if size.capacity > few.capacity)]
        name = f"cluster.{family.id}"
        outputs = tuple(f"{name}.{part.item}" for part in cluster.parts)
        kitting.quantities.append(Steps(name, units, tuple(sizes), outputs))
        for part, output in zip(cluster.parts, outputs, strict=True):
            kitting.need(part.item, 1.0, output, f"{part.quantity} in each {family.name}")
            kitting.of_clusters.append((kitting.item(part.item), output))


def _spare_parts(kitting: Kitting) -> Iterator[Companion]:
    """Yield the cold spares of bundles: of their components, each rounded up for each bundle."""
    inputs = kitting.inputs
    parts: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
    roles: defaultdict[str, list[str]] = defaultdict(list)
    for offer in kitting.offers:
        bundle = kitting.item(offer.id)
        share = inputs.problem.spares.get(bundle.category, 0.0)
        for part in bundle.components if share else ():
            terms = ((share * part.quantity, offer.id),)
            parts[part.id].append((1.0, kitting.ceil(f"spare.{offer.id}.{part.id}", terms)))
            roles[part.id].append(f"cold spares of {bundle.model}")
    for part_id, counted in sorted(parts.items()):
        stored = Companion(
            **_unpriced_too(good_fields(kitting.item(part_id), inputs)),
            terms=tuple(counted),
            roles=tuple(roles[part_id]),
            racks_each=0,
            stored=True,
        )
        yield replace(
            stored, it_power_kw=0.0, meter_kw=0.0, energy_kw=0.0, liquid_kw=0.0, spare_share=0.0
        )


def _unpriced_too(good: GoodFields) -> GoodFields:
    """Return what can be had without a price as well: what it costs is told to be unknown."""
    return good if good["unit_net_usd"] is not None else {**good, "stock": None}


def _refuse_unusable(inputs: Inputs, item: Item, *, priced: bool) -> None:
    """Raise where a companion cannot be bought or lacks a figure that matters."""
    rule = inputs.problem.items.get(item.id)
    installed = rule is not None and rule.in_place > 0
    message = fix = None
    if priced and item.id not in inputs.prices and not installed:
        message, fix = "has no price in the price books", "give its price in a book of your own"
    elif item.vendor in inputs.problem.policy.forbid_vendors:
        message, fix = f"is from {item.vendor}, which policy forbids", "name another item"
    elif figures.needs_power(inputs.problem) and figures.it_power_kw(item, inputs) is None:
        message, fix = "has no power draw", "give consumes.it_power in a catalog of your own"
    if message is not None and fix is not None:
        raise refusal(inputs, item.id, message, fix)


def _add_extras(kitting: Kitting) -> None:
    for item_id, extra in sorted(kitting.inputs.problem.extras.items()):
        name = f"extra.{item_id}"
        if extra.count is not None:
            kitting.sum(name, (), float(extra.count))
        else:
            terms = _per(kitting, extra)
            kitting.ceil(name, tuple((factor / extra.every, key) for factor, key in terms))
        kitting.need(item_id, 1.0, name, _extra_role(extra))
        kitting.extras.append((kitting.item(item_id), name))


def _extra_role(extra: Extra) -> str:
    if extra.per is None:
        return "as asked for"
    many = f"{extra.every} " if extra.every > 1 else ""
    return f"one per {many}{extra.per.replace('_', ' ')}{'s' if many else ''}"


def _per(kitting: Kitting, extra: Extra) -> list[tuple[float, str]]:
    offers = kitting.offers
    if extra.per == "gpu_system":
        return [(1.0, offer.id) for offer in offers if isinstance(offer, System)]
    if extra.per == "gpu":
        return [(float(offer.gpus), offer.id) for offer in offers if isinstance(offer, System)]
    if extra.per == "storage_unit":
        return [(1.0, offer.id) for offer in offers if isinstance(offer, Storage)]
    return kitting.own_racks if extra.per == "rack" else kitting.switches


def _add_cdus(kitting: Kitting) -> None:
    cooling = kitting.inputs.problem.site.cooling
    if cooling.cdu is None:
        return
    capacity = kitting.item(cooling.cdu).provides.cooling
    assert capacity is not None
    heat = tuple((o.liquid_kw / capacity.value, o.place) for o in kitting.placed if o.liquid_kw > 0)
    if_any = 1 if cooling.redundancy == "N+1" else 0
    name = kitting.ceil("cdus", heat, if_any=if_any)
    each, role = (2.0 if cooling.redundancy == "2N" else 1.0), f"{cooling.redundancy} for liquid"
    kitting.need(cooling.cdu, each, name, role)


def _add_software(kitting: Kitting) -> None:
    for item_id in sorted(set(kitting.inputs.problem.software)):
        licence = kitting.item(item_id).licence
        assert licence is not None
        needing = [
            offer
            for offer in kitting.offers
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
            kitting.ceil(name, tuple(terms))
        else:
            kitting.sum(name, tuple(terms))
        kitting.need(item_id, 1.0, name, f"per {licence.per.replace('_', ' ')}")


def _missing(inputs: Inputs) -> tuple[str, ...]:
    """Return what the bill leaves out because the problem does not ask for it."""
    problem = inputs.problem
    network, rack = problem.network, problem.site.rack
    parts = (
        ("compute fabric", network.compute),
        ("storage fabric", network.storage),
        ("in-band management", network.in_band),
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
        if figures.why_not(item, inputs) is None
    )
