"""The bill: units that a cluster needs, every figure of every line, and the totals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from planner.figures import STATED
from planner.schema.catalog import Item
from planner.schema.plan import Line, Plan
from planner.schema.prices import SupportShare
from planner.verifier.basis import (
    BTU_PER_H_PER_KW,
    DECIDED,
    RELATIVE,
    Basis,
    Difference,
    Either,
    Findings,
    agrees,
    cents,
    is_percentage,
    present_years,
    round_up,
    times,
    total,
    value,
)
from planner.verifier.fabric import MANAGED, Fabrics, UnbuildableError, by_speed
from planner.verifier.job import HOURS_PER_YEAR
from planner.verifier.racks import REDUNDANT, Room, fits, network_racks, own_racks, rack_class
from planner.verifier.rates import gpus_of

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
NOT_OF_COMPONENTS = (
    *("unit_list_usd", "unit_net_usd", "extended_list_usd", "extended_net_usd", "support_share"),
    *("subscription_usd_per_year", "unit_subscription_list_usd", "support_years", "support_level"),
    *("support_usd_per_year", "support_from_years", "min_order", "lead_time_days", "price", "idle"),
    *("rack_class", "racks", "units_per_rack", "gpus", "read_gb_per_s", "write_gb_per_s"),
    *("usable_tb", "bulk_tb", "spares", "discount", "installed", "lead_time"),
)
"""Figures that a bundle's line has, and the lines of its components have not."""
PRICE_FIELDS = (
    *("date", "confidence", "valid_until", "currency", "low_usd", "high_usd"),
    *("per_year_low_usd", "per_year_high_usd"),
)


@dataclass(frozen=True)
class Bill:
    """Counts by item: ``cluster`` (GPU systems and storage), ``standing`` (idle owned ones
    included), ``companions``; the racks of everything, and the fabrics."""

    cluster: Mapping[str, int]
    standing: Mapping[str, int]
    companions: Mapping[str, int]
    room: Room
    fabrics: Fabrics

    @property
    def in_place(self) -> dict[str, int]:
        """Units of every item in place."""
        return {sku: n for sku, n in {**self.standing, **self.companions}.items() if n > 0}


def build_bill(found: Findings, basis: Basis, cluster: Mapping[str, int], plan: Plan) -> Bill:
    """Return the units that GPU systems and storage of a cluster bring along.

    The plan decides the trees of its fabrics and, if it has racks, those that devices share.

    Raises:
        UnbuildableError: fabrics, cooling or licences cannot be counted.
    """
    standing = dict(cluster)
    for sku, rule in basis.problem.items.items():
        if sku in basis.items and basis.items[sku].category in DECIDED and not rule.retire:
            standing[sku] = max(standing.get(sku, 0), rule.installed)
    standing = {sku: count for sku, count in standing.items() if count}
    own, fabrics = own_racks(basis, standing), Fabrics(found, basis, cluster, plan)
    for report in plan.fabrics:
        if report.network == "compute":
            fabrics.compute(report.switch_sku, report.serves)
    fabrics.storage()
    clusters, parts = _of_clusters(basis, cluster), fabrics.parts
    extras = _extras(basis, cluster, own, fabrics)
    fabrics.managing(extras, clusters, own.pdus)
    for counts in (extras, clusters, _cooling(basis, standing)):
        parts.update(counts)
    for sku in basis.problem.software:
        parts[sku] += _licences(basis, sku, cluster)
    shared = [g.count for g in plan.racks if g.rack_class == "network" and not g.product]
    joint = network_racks(basis, +parts, sum(shared) if plan.racks else None)
    room = Room((*own.sets, *joint.sets), own.complete and joint.complete)
    _add_racks(basis, parts, room, own, fabrics)
    before = Bill(cluster, standing, dict(+parts), room, fabrics)
    services = {sku: _served(basis, sku, before) for sku in basis.problem.services}
    parts.update(services)
    return Bill(cluster, standing, dict(+parts), room, fabrics)


def _amount(basis: Basis, per: str, cluster: Mapping[str, int], room: Room) -> int | None:
    """Return what extras, licences and services are counted by, None of another measure."""
    systems = basis.of_kind(cluster, "gpu_system")
    match per:
        case "gpu_system":
            return sum(systems.values())
        case "gpu":
            return sum(gpus_of(basis.items[sku]) * n for sku, n in systems.items())
        case "storage_unit":
            return sum(basis.of_kind(cluster, "storage").values())
        case "rack":
            return room.racks
    return None


def _extras(
    basis: Basis, cluster: Mapping[str, int], own: Room, fabrics: Fabrics
) -> dict[str, int]:
    counts = {}
    for sku, extra in basis.problem.extras.items():
        amount = _amount(basis, extra.per or "", cluster, own)
        if extra.per == "switch":
            amount = fabrics.switches("compute", "storage")
        counts[sku] = extra.count or -(-(amount or 0) // extra.every)
    return counts


def _of_clusters(basis: Basis, cluster: Mapping[str, int]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for family in basis.inputs.families:
        units = sum(n for sku, n in cluster.items() if basis.items[sku].family == family.id)
        if family.cluster is None or units <= (value(family.cluster.alone) or 0):
            continue
        for part in family.cluster.parts:
            counts[part.item] += -(-units // family.cluster.max_units.value) * part.quantity
    return counts


def _liquid_kw(basis: Basis, standing: Mapping[str, int]) -> float:
    items = [(basis.items[sku], count) for sku, count in standing.items()]
    return sum((basis.rated_kw(i) or 0.0) * basis.liquid_share(i) * n for i, n in items)


def _cooling(basis: Basis, standing: Mapping[str, int]) -> dict[str, int]:
    cooling = basis.problem.site.cooling
    if cooling.cdu is None:
        return {}
    provides = basis.items[cooling.cdu].provides.cooling
    if provides is None:
        raise UnbuildableError(f"site.cooling: {cooling.cdu} states no cooling capacity")
    least = round_up(_liquid_kw(basis, standing) / provides.value)
    factor, more = REDUNDANT[cooling.redundancy]
    return {cooling.cdu: factor * least + more if least else 0}


def _licences(basis: Basis, sku: str, cluster: Mapping[str, int]) -> int:
    licence = basis.items[sku].licence
    if licence is None:
        raise UnbuildableError(f"software.{sku}: states no licence metric")
    vendors = licence.vendors
    of = {s: n for s, n in cluster.items() if vendors is None or basis.items[s].vendor in vendors}
    if licence.per != "usable_tb":
        return _amount(basis, licence.per, of, Room((), True)) or 0
    stored = [(value(basis.items[each].provides.usable), n) for each, n in basis.flash(of).items()]
    return round_up(sum((usable or 0.0) * n for usable, n in stored))


def _add_racks(basis: Basis, parts: Counter[str], room: Room, own: Room, fabrics: Fabrics) -> None:
    """Add racks and PDUs to buy, and cables of consoles on reserved management ports."""
    rack, oob = basis.problem.site.rack, basis.problem.network.out_of_band
    if rack is not None and rack.pdu is not None:
        if any(each.pdus is None for each in room.sets):
            raise UnbuildableError("site.rack.pdu: a load is not known")
        parts[rack.pdu.item] += room.pdus
    if rack is not None and rack.item is not None:
        parts[rack.item] += sum(each.racks for each in room.sets if not each.product)
    group = by_speed(basis.items[oob.switch])[0] if oob else None
    if group is not None and group.link is not None:
        late = fabrics.switches(*MANAGED) + room.pdus - own.pdus
        parts[group.link.cable] += late


def _served(basis: Basis, sku: str, bill: Bill) -> int:
    service = basis.items[sku].service
    if service is None:
        raise UnbuildableError(f"services.{sku}: states no metric")
    if service.per == "order":
        return 1
    amount = _amount(basis, service.per, bill.cluster, bill.room)
    if amount is not None:
        return amount
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


def spare_parts(basis: Basis, cluster: Mapping[str, int]) -> Counter[str]:
    """Return the components that lie in store for the bundles of the cluster."""
    counts: Counter[str] = Counter()
    for sku, count in cluster.items():
        bundle = basis.items[sku]
        for part in bundle.components:
            own = basis.rule(part.id).spares
            share = basis.sale(bundle).spare_share if own is None else own
            counts[part.id] += round_up(share * part.quantity * count)
    return +counts


# Lines.


def check_lines(found: Findings, basis: Basis, plan: Plan, bill: Bill) -> None:
    """Recompute every line; require a line for everything needed and none else."""
    needed, stored = bill.in_place, spare_parts(basis, bill.cluster)
    components = {
        (sku, part.id): part.quantity
        for sku in bill.standing
        for part in basis.items[sku].components
    }
    parents = {line.sku: line for line in plan.lines if line.parent is None}
    for line in plan.lines:
        item, name = basis.items[line.sku], f"lines.{line.sku}"
        own = {"section": SECTION_OF[item.category]} | _description(item)
        own |= _consumption(basis, item, line.quantity)
        if line.parent is not None:
            per_unit = components.pop((line.parent, line.sku), None)
            name = f"lines.{line.parent}.{line.sku}"
            if per_unit is None or line.parent not in parents:
                found.fail(f"{name}: no component of {line.parent}, or listed twice")
                continue
            found.expect(name, line, own | _of_component(parents[line.parent], per_unit))
            for field in NOT_OF_COMPONENTS:
                text = f"{name}.{field}: counted in the bundle's line"
                found.require(not getattr(line, field), text)
            continue
        if item.category == "component":
            count, in_place, working = stored.pop(line.sku, 0), 0, 0
            own |= _counts(basis, item, 0, 0) | {"spares": count}
            own |= {"purchased": basis.sale(item).order(count), "racks": Either((None, 0))}
        else:
            in_place = working = needed.pop(line.sku, 0)
            if item.category in DECIDED:
                working = bill.cluster.get(line.sku, 0)
            own |= _counts(basis, item, working, in_place) | _room(basis, item, in_place)
            count = in_place or item.category in DECIDED
        found.require(count > 0, f"lines.{line.sku}: not needed")
        found.expect(name, line, own | _money(basis, item, line))
        if line.price is None and basis.sale(item).price is not None:
            found.fail(f"{name}.price: no source of the price")
    for sku, count in {**needed, **stored}.items():
        found.fail(f"lines.{sku}: missing, {count} needed")
    for parent, sku in components:
        found.fail(f"lines.{parent}.{sku}: component without a line")
    idle = {sku: n - bill.cluster.get(sku, 0) for sku, n in bill.standing.items()}
    stated = sorted((each.sku, each.units) for each in plan.idle)
    found.expect("idle", stated, sorted((sku, n) for sku, n in idle.items() if n))


def _description(item: Item) -> dict[str, Any]:
    own = ("category", "vendor", "model", "part_number", "description")
    return {
        **{name: getattr(item, name) for name in own},
        "country_of_origin": value(item.trade.origin),
        "hs_code": value(item.trade.hs_code),
        "export_class": value(item.trade.export_class),
        "warranty_years": value(item.trade.warranty_years),
        "lifecycle": None if item.lifecycle == "available" else item.lifecycle,
        "site": "site",
        "period": 0,
    }


def _consumption(basis: Basis, item: Item, count: int) -> dict[str, Any]:
    """Return power, heat, height and weight, of one unit and of the line."""
    draw_kw = basis.draw_kw(item)
    units = {
        "it_power_kw": draw_kw,
        "heat_btu_per_h": times(draw_kw, BTU_PER_H_PER_KW),
        "typical_power_kw": basis.typical_kw(item),
        **{figure: basis.stated(item, figure) for figure in STATED},
    }
    own: dict[str, Any] = {f"unit_{name}": unit for name, unit in units.items()}
    own |= {name: times(unit, count) for name, unit in units.items()}
    own["facility_power_kw"] = times(own["it_power_kw"], basis.pue(item))
    return {**own, "liquid_share": basis.liquid_share(item)}


def _of_component(parent: Line, per_unit: int) -> dict[str, Any]:
    """Return the counts of a component: its money, room and bandwidth are in the bundle's line."""
    return {
        "section": "Components",
        "quantity": per_unit * parent.quantity,
        "purchased": per_unit * parent.purchased,
        "pack": 1,
        "public_notes": (),
    }


def _counts(basis: Basis, item: Item, working: int, in_place: int) -> dict[str, Any]:
    """Return the counts of a line, and what its working units provide."""
    sale, stored = basis.sale(item), item.category == "storage"
    read, write = basis.nameplate(item.id, working)
    capacity = times(value(item.provides.usable), working) if working else 0.0
    return {
        "quantity": in_place,
        "idle": in_place - working,
        "installed": sale.owned,
        "pack": sale.pack,
        "spares": basis.spares(item, working),
        "purchased": basis.bought(item, working),
        "gpus": gpus_of(item) * working if item.category == "gpu_system" else 0,
        "read_gb_per_s": read,
        "write_gb_per_s": write,
        "usable_tb": (0.0 if item.is_bulk else capacity) if stored else None,
        "bulk_tb": capacity if item.is_bulk else 0.0,
        "rack_class": None,
        "units_per_rack": None,
    }


def _room(basis: Basis, item: Item, in_place: int) -> dict[str, Any]:
    """Return the racks of a line; devices that share racks have none of their own."""
    whole, found = item.consumes.racks, fits(basis, item)
    if item.category not in DECIDED:
        stands = basis.problem.site.rack is not None and (whole or basis.height_ru(item))
        racks = None if whole is None else whole.value * in_place
        return {"racks": racks, "rack_class": "network" if stands else None}
    held = found is not None and found[1] > 0
    alone = None if found is None or found[0] != 1 else min(found[1], MOST_PER_RACK)
    return {
        "racks": -(-in_place // found[1]) * found[0] if found is not None and held else None,
        "units_per_rack": alone,
        "rack_class": rack_class(item),
    }


def _money(basis: Basis, item: Item, line: Line) -> dict[str, Any]:
    """Return prices, discounts, support and subscription of a line, by its units bought."""
    sale, money, price = basis.sale(item), basis.problem.shown_in, basis.sale(item).price
    notes = basis.rule(line.sku).public_note, None if price is None else price.public_note
    public = {"public_notes": tuple(dict.fromkeys(filter(None, notes)))}
    years = None if sale.end is None else max(0.0, sale.end - sale.start)
    if price is None:
        nothing = (
            *("unit_list_usd", "unit_net_usd", "lead_time", "lead_time_days", "support_share"),
            *("support_level", "unit_subscription_list_usd", "min_order", "price"),
        )
        free = ("extended_list_usd", "extended_net_usd", "support_usd_per_year")
        unpaid = dict.fromkeys((*free, "subscription_usd_per_year"), Either((None, 0.0)))
        since = {"support_from_years": 0.0, "support_years": Either((years, None, 0.0))}
        return public | dict.fromkeys(nothing) | unpaid | since | {"discount": 0.0}
    bought, net = line.purchased, line.unit_net_usd
    net = net if net is not None and agrees(net, Either(sale.net_usd)) else sale.net_usd[0]
    extended = [usd * bought for usd in sale.listed_usd]
    if not is_percentage(item):
        extended = [usd for each in extended for usd in cents(each, money)]
    yearly, support = price.per_year_usd, sale.support
    unit = support.share * net if isinstance(support, SupportShare) else support and support.usd
    paid = cents((yearly or 0.0) * (1 - sale.discount), money)
    included = sale.start if sale.end is None else min(sale.start, sale.end)
    return public | {
        "unit_list_usd": price.list_usd,
        "discount": sale.discount,
        "unit_net_usd": Either(sale.net_usd),
        "extended_list_usd": Either(extended),
        "extended_net_usd": net * bought,
        "support_usd_per_year": Either(usd * bought for usd in cents(unit or 0.0, money)),
        "support_level": sale.support_level,
        "support_share": getattr(support, "share", None),
        "support_years": years,
        "support_from_years": Either((sale.start, 0.0 if sale.end is None else included)),
        "unit_subscription_list_usd": yearly,
        "subscription_usd_per_year": yearly and Either(usd * bought for usd in paid),
        "lead_time": price.lead_time,
        "lead_time_days": price.lead_time_days,
        "min_order": price.min_order or None,
        "price": {key: getattr(price, key) for key in PRICE_FIELDS},
    }


# Totals.


class Paid(NamedTuple):
    """What is paid for an item: once, and per year; ``days`` until it is there if it is bought."""

    item: Item
    capex_usd: float
    support_usd: float
    subscription_usd: float
    days: float | None


def paid_by(basis: Basis, plan: Plan) -> list[Paid]:
    """Return what the lines of a plan say is paid."""
    return [
        Paid(
            basis.items[line.sku],
            line.extended_net_usd or 0.0,
            line.support_usd_per_year or 0.0,
            line.subscription_usd_per_year or 0.0,
            line.lead_time_days if line.purchased > 0 else None,
        )
        for line in plan.lines
        if line.parent is None
    ]


def totals_of(
    basis: Basis, bill: Bill, paid: Sequence[Paid], figures: Mapping[str, Any], used: int
) -> dict[str, Any]:
    """Return every total by name: sums over all in place, money over the term, ratios.

    Args:
        basis: the problem and the catalogs.
        bill: units in place.
        paid: what is paid for each.
        figures: those of the job.
        used: GPUs in use.
    """
    sums = _sums(basis, bill)
    own = sums | _costs(basis, paid, sums)
    own |= {"gpus_used": used, "usd_per_useful_gpu_hour": None, "usd_per_million_tokens": None}
    term, active, tco_usd = basis.problem.term, figures["active_parameters"], own["tco_usd"]
    if term is not None and tco_usd is not None and figures["useful_gpus"] > 0:
        hours = term.years * HOURS_PER_YEAR
        own["usd_per_useful_gpu_hour"] = tco_usd / (figures["useful_gpus"] * hours)
        if active and figures["useful_pflops"]:
            tokens = figures["useful_pflops"] * 1e15 * hours * 3600 / (6 * active)
            own["usd_per_million_tokens"] = tco_usd / (tokens / 1e6)
    return own


def check_totals(found: Findings, plan: Plan, own: Mapping[str, Any], paid: Sequence[Paid]) -> None:
    """Compare the totals, of sections and of the slowest deliveries too."""
    if plan.totals is None:
        found.fail("totals: missing")
        return
    sections: Counter[str] = Counter()
    for each in paid:
        sections[SECTION_OF[each.item.category]] += each.capex_usd  # type: ignore[assignment]
    found.expect("totals.capex_by_section_usd", plan.totals.capex_by_section_usd, dict(sections))
    longest = own["lead_time_days"]
    late = sorted(p.item.id for p in paid if longest is not None and p.days == longest)
    found.expect("totals.critical_skus", sorted(plan.totals.critical_skus), late)
    names = type(plan.totals).model_fields
    values = {name: each for name, each in own.items() if name in names}
    for all_heat, to_air in (
        ("it_power_kw", "heat_air_kw"),
        ("heat_btu_per_h", "heat_air_btu_per_h"),
    ):
        if own[to_air] is not None:  # all heat less that to liquid
            values[to_air] = Difference(own[to_air], RELATIVE * own[all_heat])
    found.expect("totals", plan.totals, values)


def _sums(basis: Basis, bill: Bill) -> dict[str, Any]:
    """Return sums over everything in place; None where a part is not known."""
    units = [(_of_unit(basis, basis.items[sku]), n) for sku, n in bill.in_place.items()]
    names = _of_unit(basis, next(iter(basis.items.values())))
    sums: dict[str, Any] = {n: total(times(each[n], count) for each, count in units) for n in names}
    for name in ("it_power_kw", "heat_air_kw", "heat_liquid_kw"):
        heat = name.replace("it_power_kw", "heat_btu_per_h").replace("_kw", "_btu_per_h")
        sums[heat] = times(sums[name], BTU_PER_H_PER_KW)
    cluster, plates = bill.cluster, [basis.nameplate(sku, n) for sku, n in bill.cluster.items()]
    usable = [(value(basis.items[s].provides.usable), n) for s, n in basis.flash(cluster).items()]
    return sums | {
        "gpus": _amount(basis, "gpu", cluster, bill.room),
        "read_gb_per_s": sum(read for read, _ in plates),
        "write_gb_per_s": sum(write for _, write in plates),
        "usable_tb": total(times(each, count) for each, count in usable),
        "racks": bill.room.racks if bill.room.complete else None,
    }


def _of_unit(basis: Basis, item: Item) -> dict[str, float | None]:
    """Return what one unit adds to each sum."""
    draw, typical, liquid = basis.draw_kw(item), basis.typical_kw(item), basis.liquid_share(item)
    return {
        "it_power_kw": draw,
        "facility_power_kw": times(draw, basis.pue(item)),
        "typical_power_kw": typical,
        "typical_facility_kw": times(typical, basis.pue(item)),
        "heat_liquid_kw": times(draw, liquid),
        "heat_air_kw": times(draw, 1 - liquid),
        **{figure: basis.stated(item, figure) for figure in STATED},
    }


def _costs(basis: Basis, paid: Sequence[Paid], sums: Mapping[str, Any]) -> dict[str, Any]:
    """Return capex, yearly costs and TCO; energy and TCO only with a term and known draw."""
    capex, support = sum(p.capex_usd for p in paid), sum(p.support_usd for p in paid)
    yearly, term = sum(p.subscription_usd for p in paid), basis.problem.term
    own: dict[str, Any] = {
        "capex_usd": capex,
        "support_usd_per_year": support,
        "subscriptions_usd_per_year": yearly,
        "lead_time_days": max((p.days for p in paid if p.days is not None), default=None),
    }
    names = ("energy_usd_per_year", "colocation_usd_per_year", "opex_usd_per_year", "tco_usd")
    own |= dict.fromkeys(names)
    if term is None:
        return own
    typical = term.energy_basis == "typical"
    meter_kw = sums["typical_facility_kw" if typical else "facility_power_kw"]
    if meter_kw is None or sums["it_power_kw"] is None:
        return own
    energy = meter_kw * HOURS_PER_YEAR * term.electricity_usd_per_kwh
    colocation = sums["it_power_kw"] * 12 * term.colocation_usd_per_kw_month
    running, rate = yearly + energy + colocation, term.discount_rate
    tco = capex + running * present_years(0.0, term.years, rate)
    for each in paid:
        if each.support_usd:
            sale = basis.sale(each.item)
            tco += each.support_usd * present_years(sale.start, sale.end or 0.0, rate)
    return own | dict(zip(names, (energy, colocation, support + running, tco), strict=True))
