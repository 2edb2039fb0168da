"""The bill: how many of each item the plan needs, and every figure of every line."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.figures import STATED
from planner.schema.catalog import Item
from planner.schema.plan import Line, Plan
from planner.schema.prices import SupportShare
from planner.verifier.basis import BTU_PER_H_PER_KW, DECIDED, Basis, cents, is_percentage
from planner.verifier.fabric import check_fabrics, late_consoles, slowest, switches_of
from planner.verifier.ledger import Either, Ledger, agrees, round_up
from planner.verifier.racks import Room, fits, network_racks, own_racks, rack_class

HALF_A_CENT = 0.005
MOST_PER_RACK = 10**6
SECTIONS = {
    "Compute": ("gpu_system",),
    "Storage": ("storage",),
    "Components": ("component",),
    "Network": ("switch", "management"),
    "Optics & cables": ("transceiver", "cable"),
    "Racks & power": ("rack", "pdu", "cdu"),
    "Software": ("software",),
    "Services": ("service",),
}
SECTION_OF = {category: name for name, categories in SECTIONS.items() for category in categories}
_EXTENDED = ("extended_list_usd", "extended_net_usd")
NOT_OF_COMPONENTS = (
    *("unit_list_usd", "unit_net_usd", *_EXTENDED, "support_usd_per_year", "support_share"),
    *("subscription_usd_per_year", "unit_subscription_list_usd", "support_years"),
    *("support_from_years", "support_level", "min_order", "lead_time_days", "price", "idle"),
    *("rack_class", "racks", "units_per_rack", "gpus", "read_gb_per_s", "write_gb_per_s"),
    *("usable_tb", "bulk_tb"),
)
"""Figures that a bundle's line has, and the lines of its components have not."""
MONEY = (*_EXTENDED, "support_usd_per_year", "subscription_usd_per_year")


PRICE_FIELDS = (
    *("date", "confidence", "valid_until", "currency", "low_usd", "high_usd"),
    *("per_year_low_usd", "per_year_high_usd"),
)


@dataclass(frozen=True)
class Bill:
    """Counts by item: ``cluster`` (GPU systems and storage), ``standing`` (idle owned ones
    included), ``companions``; and the racks of everything."""

    cluster: Mapping[str, int]
    standing: Mapping[str, int]
    companions: Mapping[str, int]
    room: Room

    @property
    def in_place(self) -> dict[str, int]:
        """Units of every item in place."""
        return {sku: n for sku, n in {**self.standing, **self.companions}.items() if n > 0}


def read_counts(ledger: Ledger, basis: Basis, plan: Plan) -> dict[str, int]:
    """Return the units of each line in the cluster."""
    counts: dict[str, int] = {}
    for line in plan.lines:
        item, name = basis.items[line.sku], f"lines.{line.sku}"
        if line.parent is not None:
            continue
        elif line.sku in counts:
            ledger.fail(f"{name}: listed twice")
        elif not all(type(n) is int and n >= 0 for n in (line.quantity, line.idle)):
            ledger.fail(f"{name}.quantity: not a whole number of at least 0")
        elif line.idle and line.quantity > (owned := basis.sale(item).owned):
            ledger.fail(f"{name}.idle: {line.idle} of {owned} owned idle, yet units are bought")
        else:
            counts[line.sku] = line.quantity - line.idle
            ledger.require(counts[line.sku] >= 0, f"{name}.idle: more than there are")
    return counts


def count_needed(ledger: Ledger, basis: Basis, plan: Plan, counts: Mapping[str, int]) -> Bill:
    """Return the units that the plan's GPU systems and storage bring along."""
    cluster = {s: n for s, n in counts.items() if basis.items[s].category in DECIDED and n}
    standing = dict(cluster)
    for sku, rule in basis.problem.items.items():
        item = basis.items.get(sku)
        if item is not None and item.category in DECIDED and not rule.retire:
            standing[sku] = max(standing.get(sku, 0), rule.installed)
    standing = {sku: count for sku, count in standing.items() if count}
    own, parts = own_racks(basis, standing), Counter[str]()
    own_pdus = sum((each.pdus or 0) * each.racks for each in own.sets)
    switches = sum(switches_of(r) for r in plan.fabrics if r.network in ("compute", "storage"))
    amounts = _amounts(basis, cluster) | {"rack": own.racks, "switch": switches}
    extras = {
        sku: extra.count or -(-int(amounts[extra.per or ""]) // extra.every)
        for sku, extra in basis.problem.extras.items()
    }
    of_clusters = _of_clusters(basis, cluster)
    parts = check_fabrics(ledger, basis, plan, cluster, extras, of_clusters, own_pdus)
    parts.update(extras)
    parts.update(of_clusters)
    parts.update(_cooling(ledger, basis, standing))
    for sku in basis.problem.software:
        parts[sku] += _licences(ledger, basis, sku, cluster)
    parts = +parts
    shared = network_racks(basis, parts, plan)
    room = Room((*own.sets, *shared.sets), own.complete and shared.complete)
    parts.update(_racks_and_consoles(ledger, basis, plan, room, own_pdus))
    before = dict(+parts)
    for sku in basis.problem.services:
        parts[sku] += _served(ledger, basis, sku, Bill(cluster, standing, before, room))
    return Bill(cluster, standing, dict(+parts), room)


def _amounts(basis: Basis, cluster: Mapping[str, int]) -> dict[str, float]:
    """Return what extras, licences and services are counted by."""
    systems = basis.of_kind(cluster, "gpu_system")
    return {
        "gpu_system": sum(systems.values()),
        "gpu": sum(gpus(basis.items[sku], n) for sku, n in systems.items()),
        "storage_unit": sum(basis.of_kind(cluster, "storage").values()),
    }


def gpus(item: Item, count: int) -> int:
    """Return the GPUs of ``count`` units."""
    provided = item.provides.gpus
    return provided.value * count if item.category == "gpu_system" and provided else 0


def _of_clusters(basis: Basis, cluster: Mapping[str, int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for family in basis.inputs.families:
        units = sum(n for sku, n in cluster.items() if basis.items[sku].family == family.id)
        if family.cluster is None or units <= (
            family.cluster.alone.value if family.cluster.alone else 0
        ):
            continue
        for part in family.cluster.parts:
            found[part.item] += -(-units // family.cluster.max_units.value) * part.quantity
    return found


def _liquid_kw(basis: Basis, standing: Mapping[str, int]) -> float:
    items = [(basis.items[sku], count) for sku, count in standing.items()]
    return sum((basis.rated_kw(i) or 0.0) * basis.liquid_share(i) * n for i, n in items)


def _cooling(ledger: Ledger, basis: Basis, standing: Mapping[str, int]) -> dict[str, int]:
    cooling = basis.problem.site.cooling
    if cooling.cdu is None:
        return {}
    provides = basis.items[cooling.cdu].provides.cooling
    if provides is None:
        ledger.fail(f"site.cooling: {cooling.cdu} states no cooling capacity")
        return {}
    least = round_up(_liquid_kw(basis, standing) / provides.value)
    more = {"N": least, "N+1": least + 1, "2N": 2 * least}
    return {cooling.cdu: more[cooling.redundancy] if least else 0}


def _licences(ledger: Ledger, basis: Basis, sku: str, cluster: Mapping[str, int]) -> int:
    licence = basis.items[sku].licence
    if licence is None:
        ledger.fail(f"software.{sku}: states no licence metric")
        return 0
    of = {
        each: count
        for each, count in cluster.items()
        if licence.vendors is None or basis.items[each].vendor in licence.vendors
    }
    if licence.per != "usable_tb":
        return int(_amounts(basis, of)[licence.per])
    stored = [(basis.items[each].provides.usable, n) for each, n in basis.flash(of).items()]
    return round_up(sum(usable.value * n for usable, n in stored if usable is not None))


def _racks_and_consoles(
    ledger: Ledger, basis: Basis, plan: Plan, room: Room, own_pdus: int
) -> Counter[str]:
    """Return racks and PDUs to buy, and cables of consoles on reserved management ports."""
    found: Counter[str] = Counter()
    rack, oob = basis.problem.site.rack, basis.problem.network.out_of_band
    pdus = 0
    if rack is not None and rack.pdu is not None:
        known = [(each.pdus, each.racks) for each in room.sets]
        ledger.require(all(n is not None for n, _ in known), "site.rack.pdu: a load is not known")
        pdus = sum((each or 0) * racks for each, racks in known)
        found[rack.pdu.item] += pdus
    if rack is not None and rack.item is not None:
        found[rack.item] += sum(each.racks for each in room.sets if not each.product)
    group = slowest(basis.items[oob.switch]) if oob else None
    if group is not None and group.link is not None:
        found[basis.reaching(group.link.cable)] += late_consoles(plan) + pdus - own_pdus
    return found


def _served(ledger: Ledger, basis: Basis, sku: str, bill: Bill) -> int:
    service = basis.items[sku].service
    if service is None:
        ledger.fail(f"services.{sku}: states no metric")
        return 0
    if service.per == "order":
        return 1
    amounts = _amounts(basis, bill.cluster) | {"rack": bill.room.racks}
    if service.per in amounts:
        return int(amounts[service.per])
    if service.per == "liquid_kw":
        return round_up(_liquid_kw(basis, bill.standing))
    if service.per != "hardware":
        return sum(basis.of_kind(bill.companions, service.per).values())
    spent_usd = 0.0
    for each, count in bill.in_place.items():
        item = basis.items[each]
        soft = item.category in ("software", "service")
        if soft if service.of is None else item.category not in service.of:
            continue
        sale = basis.sale(item)
        spent_usd += max(sale.net_usd, default=0.0) * max(0, count - sale.owned)
    return math.ceil((spent_usd - HALF_A_CENT) / 100)


# Lines.


def check_lines(ledger: Ledger, basis: Basis, plan: Plan, bill: Bill) -> None:
    """Recompute every line; require a line for everything needed and none else."""
    needed = bill.in_place
    spare_parts = _spare_parts(basis, bill.cluster)
    components = {
        (sku, part.id): part.quantity
        for sku in bill.standing
        for part in basis.items[sku].components
    }
    parents = {line.sku: line for line in plan.lines if line.parent is None}
    for line in plan.lines:
        item = basis.items[line.sku]
        if line.parent is not None:
            per_unit = components.pop((line.parent, line.sku), None)
            name = f"lines.{line.parent}.{line.sku}"
            if per_unit is None or line.parent not in parents:
                ledger.fail(f"{name}: no component of {line.parent}, or listed twice")
                continue
            _check_component(ledger, basis, name, line, parents[line.parent], per_unit)
        elif item.category == "component":
            count = spare_parts.pop(line.sku, 0)
            own = _counts(basis, item, 0, 0) | {"spares": count}
            own |= {"purchased": basis.sale(item).order(count), "section": "Components"}
            own |= {"racks": Either((None, 0)), "rack_class": None, "units_per_rack": None}
            ledger.require(count > 0, f"lines.{line.sku}: not needed")
            _check_line(ledger, basis, line, own)
        else:
            in_place = needed.pop(line.sku, 0)
            decided = item.category in DECIDED
            working = bill.cluster.get(line.sku, 0) if decided else in_place
            if not decided:
                ledger.require(in_place > 0, f"lines.{line.sku}: not needed")
            own = _counts(basis, item, working, in_place) | _room(basis, item, in_place, bill)
            _check_line(ledger, basis, line, own)
    for sku, count in {**needed, **spare_parts}.items():
        ledger.fail(f"lines.{sku}: missing, {count} needed")
    for parent, sku in components:
        ledger.fail(f"lines.{parent}.{sku}: component without a line")
    idle = {sku: n - bill.cluster.get(sku, 0) for sku, n in bill.standing.items()}
    stated = sorted((each.sku, each.units) for each in plan.idle)
    ledger.same("idle", stated, sorted((sku, n) for sku, n in idle.items() if n))


def _spare_parts(basis: Basis, cluster: Mapping[str, int]) -> Counter[str]:
    """Return the components that lie in store for the bundles of the cluster."""
    found: Counter[str] = Counter()
    for sku, count in cluster.items():
        bundle = basis.items[sku]
        for part in bundle.components:
            own = basis.demand(part.id).spares
            share = basis.sale(bundle).spare_share if own is None else own
            found[part.id] += round_up(share * part.quantity * count)
    return +found


def _counts(basis: Basis, item: Item, working: int, in_place: int) -> dict[str, Any]:
    """Return the counts of a line, and what its working units provide."""
    sale, usable = basis.sale(item), item.provides.usable
    read, write = basis.nameplate(item.id, working)
    stored = item.category == "storage"
    capacity = usable.value * working if usable is not None else None if working else 0.0
    bulk_tb, capacity = (capacity, 0.0) if item.is_bulk else (0.0, capacity)
    own: dict[str, Any] = {
        "section": SECTION_OF[item.category],
        "quantity": in_place,
        "idle": in_place - working,
    }
    own |= {"installed": sale.owned, "pack": sale.pack, "spares": basis.spares(item, working)}
    own |= {"purchased": basis.bought(item, working), "gpus": gpus(item, working)}
    own |= {"read_gb_per_s": read, "write_gb_per_s": write}
    return own | {"usable_tb": capacity if stored else None, "bulk_tb": bulk_tb}


def _room(basis: Basis, item: Item, in_place: int, bill: Bill) -> dict[str, Any]:
    """Return the racks of a line; devices that share racks have none of their own."""
    if item.category not in DECIDED:
        whole = item.consumes.racks
        stands = basis.problem.site.rack is not None and (whole or basis.height_ru(item))
        racks = whole.value * in_place if whole is not None else None
        return {"racks": racks, "units_per_rack": None, "rack_class": "network" if stands else None}
    found = fits(basis, item)
    racks = None
    if found is not None and found[1]:
        racks = -(-in_place // found[1]) * found[0]
    alone = None if found is None or found[0] != 1 else min(found[1], MOST_PER_RACK)
    return {"racks": racks, "units_per_rack": alone, "rack_class": rack_class(item)}


def _check_line(ledger: Ledger, basis: Basis, line: Line, counts: Mapping[str, Any]) -> None:
    item, name = basis.items[line.sku], f"lines.{line.sku}"
    price = basis.sale(item).price
    notes = (basis.demand(line.sku).public_note, None if price is None else price.public_note)
    own = {**counts, "public_notes": tuple(dict.fromkeys(filter(None, notes)))}
    ledger.all_same(name, line, _description(item) | own | _consumption(basis, item, line.quantity))
    _check_money(ledger, basis, name, item, line)


def _description(item: Item) -> dict[str, Any]:
    trade = item.trade
    facts: dict[str, Any] = {"country_of_origin": trade.origin, "hs_code": trade.hs_code}
    facts |= {"export_class": trade.export_class, "warranty_years": trade.warranty_years}
    own = ("category", "vendor", "model", "part_number", "description")
    return {
        **{name: getattr(item, name) for name in own},
        **{name: None if fact is None else fact.value for name, fact in facts.items()},
        **{"site": "site", "period": 0},
        "lifecycle": None if item.lifecycle == "available" else item.lifecycle,
    }


def _consumption(basis: Basis, item: Item, count: int) -> dict[str, Any]:
    """Return power, heat, height and weight, of one unit and of the line."""
    draw_kw = basis.draw_kw(item)
    units = {
        "it_power_kw": draw_kw,
        "heat_btu_per_h": None if draw_kw is None else draw_kw * BTU_PER_H_PER_KW,
        "typical_power_kw": basis.typical_kw(item),
        **{figure: basis.stated(item, figure) for figure in STATED},
    }
    own: dict[str, Any] = {f"unit_{name}": unit for name, unit in units.items()}
    own |= {name: None if unit is None else unit * count for name, unit in units.items()}
    own["facility_power_kw"] = None if draw_kw is None else draw_kw * count * basis.pue(item)
    return {**own, "liquid_share": basis.liquid_share(item)}


def _check_component(
    ledger: Ledger, basis: Basis, name: str, line: Line, parent: Line, per_unit: int
) -> None:
    """Check a component of a bundle: its money, room and bandwidth are in the bundle's line."""
    item = basis.items[line.sku]
    own = _description(item) | _consumption(basis, item, line.quantity) | {"public_notes": ()}
    own |= {"section": "Components", "quantity": per_unit * parent.quantity, "pack": 1}
    own |= {"purchased": per_unit * parent.purchased}
    ledger.all_same(name, line, own)
    for field in NOT_OF_COMPONENTS:
        ledger.require(not getattr(line, field), f"{name}.{field}: counted in the bundle's line")
    spares = Either((0, per_unit * parent.spares))
    ledger.same(f"{name}.spares", line.spares, spares)


def _check_money(ledger: Ledger, basis: Basis, name: str, item: Item, line: Line) -> None:
    """Check prices, discounts, support and subscription of a line."""
    sale, money = basis.sale(item), basis.money
    price, years = sale.price, sale.support_years
    if price is None:
        own: dict[str, Any] = dict.fromkeys(MONEY, Either((None, 0.0)))
        own |= dict.fromkeys(("unit_list_usd", "unit_net_usd", "lead_time_days", "support_share"))
        own |= dict.fromkeys(("support_level", "unit_subscription_list_usd", "min_order", "price"))
        own |= {"support_from_years": 0.0, "support_years": Either((years, None, 0.0))}
        ledger.all_same(name, line, own)
        return
    bought, net = line.purchased, line.unit_net_usd
    net = net if net is not None and agrees(net, Either(sale.net_usd)) else sale.net_usd[0]
    extended = [usd * bought for usd in sale.listed_usd]
    if not is_percentage(item):
        extended = [usd for each in extended for usd in cents(each, money)]
    yearly, share = price.per_year_usd, getattr(sale.support, "share", None)
    included = sale.start if sale.end is None else min(sale.start, sale.end)
    since = (sale.start, 0.0 if sale.end is None else included)
    own = {"unit_list_usd": price.list_usd, "discount": sale.discount, "support_years": years}
    own |= {"unit_net_usd": Either(sale.net_usd), "extended_list_usd": Either(extended)}
    own |= {"extended_net_usd": net * bought, "unit_subscription_list_usd": yearly}
    own |= {"support_usd_per_year": _support(sale.support, net, bought, money)}
    paid = cents((yearly or 0.0) * (1 - sale.discount), money)
    own["subscription_usd_per_year"] = yearly and Either(usd * bought for usd in paid)
    own |= {"support_level": sale.support_level, "support_share": share}
    own |= {"support_from_years": Either(since), "lead_time": price.lead_time}
    own |= {"lead_time_days": price.lead_time_days, "min_order": price.min_order or None}
    ledger.all_same(name, line, own)
    if line.price is None:
        ledger.fail(f"{name}.price: no source of the price")
        return
    own = {key: getattr(price, key) for key in PRICE_FIELDS}
    ledger.all_same(f"{name}.price", line.price, own)


def _support(support: Any, net_usd: float, bought: int, money: Any) -> Either:
    """Return support per year for the units bought, USD, with each rounding that is right."""
    if support is None:
        return Either((0.0,))
    unit = support.share * net_usd if isinstance(support, SupportShare) else support.usd
    return Either(usd * bought for usd in cents(unit, money))
