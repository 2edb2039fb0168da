"""The racks of a plan by what stands in them, and the PDUs of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from planner.schema.catalog import Item
from planner.schema.plan import RackClassName
from planner.verify.basis import DECIDED, Basis
from planner.verify.racks import Space, place, rack_class, space
from planner.verify.whole import at_least, at_most

_EIGHTH = 0.125 + 1e-9


@dataclass(frozen=True)
class RackSet:
    """Racks with the same kind of content: those of one item, or the mixed ones of the network.

    ``sku`` is None for the mixed ones; ``product`` racks are products of their own; ``load_kw``
    is what one rack's PDUs must carry, None where it is not known.
    """

    sku: str | None
    rack_class: RackClassName
    racks: int
    product: bool
    load_kw: float | None


@dataclass(frozen=True)
class Room:
    """Racks, and whether they are all: not where a figure or the size of racks is not known."""

    sets: tuple[RackSet, ...]
    complete: bool


def own_racks(basis: Basis, counts: Mapping[str, int]) -> Room:
    """Return the racks of GPU systems and storage."""
    sets, complete = [], True
    for sku, count in counts.items():
        item = basis.items[sku]
        if count == 0 or item.category not in DECIDED:
            continue
        placement, power_kw = place(basis, item), basis.unit_it_power_kw(item)
        racks = None if placement is None else placement.racks_for(count)
        if placement is None or racks is None:
            complete = False
            continue
        product = item.consumes.racks is not None
        load_kw = None if power_kw is None else power_kw * placement.units / placement.racks
        sets.append(RackSet(sku, rack_class(item), racks, product, load_kw))
    return Room(tuple(sets), complete)


def network_racks(basis: Basis, companions: Mapping[str, int]) -> Room:
    """Return the racks of companions.

    Args:
        basis: the problem and the catalogs.
        companions: units of everything that follows from the GPU systems and the storage.
    """
    sets, mixed, complete = [], 0.0, True
    rack = space(basis, "network")
    for sku, count in companions.items():
        item, power_kw = basis.items[sku], basis.rack_power_kw(basis.items[sku])
        if item.consumes.racks is not None:
            racks = item.consumes.racks.value * count
            sets.append(RackSet(sku, "network", racks, True, power_kw))
        elif basis.unit_rack_units(item):
            share = 0.0 if rack is None else rack_share(basis, item, rack)
            complete = complete and rack is not None and share <= 1 + 1e-9
            if _EIGHTH < share <= 1 + 1e-9:
                sets.append(_by_kind(sku, count, at_most(1 / share), power_kw))
            mixed += share * count if share <= _EIGHTH else 0.0
    if rack is not None and mixed > 0:
        sets.append(_mixed(basis, mixed, rack))
    return Room(tuple(sets), complete)


def _by_kind(sku: str, count: int, each: int, power_kw: float | None) -> RackSet:
    """Return the racks of devices too large to share one with others."""
    load_kw = None if power_kw is None else each * power_kw
    return RackSet(sku, "network", -(-count // each), False, load_kw)


def rack_share(basis: Basis, item: Item, rack: Space) -> float:
    """Return the largest share of a rack's height, power or weight that one unit takes."""
    shares = [(basis.unit_rack_units(item) or 0.0) / rack.height_ru]
    pairs = (
        (basis.rack_power_kw(item), rack.power_kw),
        (basis.unit_weight_kg(item), rack.weight_kg),
    )
    shares += [part / whole for part, whole in pairs if part is not None and whole is not None]
    return max(shares)


def _mixed(basis: Basis, filled: float, rack: Space) -> RackSet:
    kinds = [item for item in _kinds(basis) if rack_share(basis, item, rack) <= _EIGHTH]
    largest = max(rack_share(basis, item, rack) for item in kinds)
    load_kw = rack.power_kw
    loads = [_stacked_kw(basis, item, rack) for item in kinds]
    known = [load for load in loads if load is not None]
    if len(known) == len(loads):
        load_kw = min(max(known), max(known) if load_kw is None else load_kw)
    return RackSet(None, "network", at_least(filled / (1 - largest)), False, load_kw)


def _stacked_kw(basis: Basis, item: Item, rack: Space) -> float | None:
    """Return the draw of a rack full of one kind, None where it is not known."""
    height_ru, power_kw = basis.unit_rack_units(item), basis.rack_power_kw(item)
    if not height_ru or power_kw is None:
        return None
    return at_most(rack.height_ru / height_ru) * power_kw


def _kinds(basis: Basis) -> Iterator[Item]:
    """Yield every switch, CDU and extra that the problem names and that has a height."""
    for sku in sorted(set(_named(basis))):
        item = basis.items[sku]
        if item.consumes.racks is None and basis.unit_rack_units(item):
            yield item


def _named(basis: Basis) -> Iterator[str]:
    problem = basis.problem
    network = problem.network
    if network.compute is not None:
        yield from network.compute.switches
    for fabric in (network.storage, network.in_band, network.out_of_band):
        if fabric is not None:
            yield fabric.switch
    if problem.site.cooling.cdu is not None:
        yield problem.site.cooling.cdu
    yield from problem.extras
    yield from basis.parts_of_clusters()


def pdus_per_rack(basis: Basis, racks: RackSet) -> int | None:
    """Return the PDUs of one rack, None where its load is not known."""
    asked = None if basis.problem.site.rack is None else basis.problem.site.rack.pdu
    if asked is None or racks.product:
        return 0
    feed = basis.items[asked.item].provides.feed
    if feed is None or racks.load_kw is None:
        return None
    least = max(1, at_least(racks.load_kw / feed.value))
    return {"N": least, "N+1": least + 1, "2N": 2 * least}[asked.redundancy]


def pdus(basis: Basis, sets: Iterable[RackSet]) -> int | None:
    """Return the PDUs of racks, None where a load is not known."""
    total = 0
    for each in sets:
        per_rack = pdus_per_rack(basis, each)
        if per_rack is None:
            return None
        total += per_rack * each.racks
    return total
