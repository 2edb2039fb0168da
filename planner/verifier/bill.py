"""The bill: units that a cluster needs, every figure of every line, and the totals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from planner.figures import BTU_PER_H_PER_KW, STATED
from planner.schema.catalog import Item
from planner.schema.plan import Line, Plan
from planner.verifier.basis import (
    DECIDED,
    NONE,
    RELATIVE,
    Basis,
    Either,
    Findings,
    Near,
    cent_usd,
    present_years,
    round_up,
    times,
    total,
    value,
)
from planner.verifier.fabric import MANAGED, Fabrics, by_speed
from planner.verifier.hall import REDUNDANT, Room, fits, network_racks, own_racks, rack_class
from planner.verifier.job import HOURS_PER_YEAR
from planner.verifier.physics import gpus_of

HALF_A_CENT = 0.005
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
FREE = {"sku", "parent", "notes", "role", "unit", "price"}
"""Fields of a line that follow from no figure."""
PRICED = """unit_list_usd unit_net_usd extended_list_usd extended_net_usd discount min_order price
    support_usd_per_year support_share unit_subscription_list_usd subscription_usd_per_year
    lead_time lead_time_days"""
"""Fields of a line that are empty without a price."""


class Bill(NamedTuple):
    """Counts by item: ``cluster`` (GPU systems and storage), ``standing`` (idle owned ones
    included), ``companions``; the racks of everything."""

    cluster: Mapping[str, int]
    standing: Mapping[str, int]
    companions: Mapping[str, int]
    room: Room

    @property
    def in_place(self) -> dict[str, int]:
        """Units of every item in place."""
        return {sku: n for sku, n in {**self.standing, **self.companions}.items() if n > 0}


def build_bill(found: Findings, basis: Basis, cluster: Mapping[str, int], plan: Plan) -> Bill:
    """Units that GPU systems and storage of a cluster bring along; its fabrics are checked.

    The plan decides the trees of its fabrics and, if it has racks, those that devices share.

    Raises:
        ValueError: fabrics cannot be built.
    """
    problem, standing = basis.problem, dict(cluster)
    for sku, rule in problem.items.items():
        if sku in basis.items and basis.items[sku].category in DECIDED and rule.in_place:
            standing[sku] = max(standing.get(sku, 0), rule.in_place)
    own, fabrics = own_racks(basis, standing), Fabrics(found, basis, cluster, plan)
    for report in plan.fabrics:
        if report.network == "compute":
            fabrics.compute(report)
    fabrics.storage()
    clusters, parts, extras = _cluster_parts(basis, cluster), fabrics.parts, {}
    for sku, extra in problem.extras.items():
        amount = _amount(basis, extra.per or "", cluster, own)
        if extra.per == "switch":
            amount = fabrics.switches("compute", "storage")
        extras[sku] = extra.count or -(-(amount or 0) // extra.every)
    fabrics.managing(extras, clusters, own.pdus)
    fabrics.finish()
    for counts in (extras, clusters, _cooling(basis, standing), _licences(basis, cluster)):
        parts.update(counts)
    shared = [g.count for g in plan.racks if g.rack_class == "network" and not g.product]
    joint = network_racks(basis, +parts, sum(shared) if plan.racks else None)
    room = Room((*own.sets, *joint.sets), own.complete and joint.complete)
    parts.update(_rack_parts(basis, room))
    oob = basis.network.out_of_band
    link = by_speed(basis.items[oob.switch])[0].link if oob else None
    if link is not None:  # consoles on reserved management ports
        parts[link.cable] += fabrics.switches(*MANAGED) + room.pdus - own.pdus
    before = Bill(cluster, standing, dict(+parts), room)
    nets = {line.sku: line.unit_net_usd or 0.0 for line in plan.lines if line.parent is None}
    parts.update({sku: _served(basis, sku, before, nets) for sku in problem.services})
    return Bill(cluster, standing, dict(+parts), room)


def _amount(basis: Basis, per: str, cluster: Mapping[str, int], room: Room) -> int | None:
    """Count that extras, licences and services follow, None of another measure."""
    systems = basis.of_kind(cluster, "gpu_system")
    stored = sum(basis.of_kind(cluster, "storage").values())
    gpus = sum(gpus_of(basis.items[sku]) * n for sku, n in systems.items())
    known = {"gpu": gpus, "gpu_system": sum(systems.values()), "storage_unit": stored}
    return {**known, "rack": room.racks}.get(per)


def _cluster_parts(basis: Basis, cluster: Mapping[str, int]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for family in basis.inputs.families:
        units = sum(n for sku, n in cluster.items() if basis.items[sku].family == family.id)
        if family.cluster is not None and units > (value(family.cluster.alone) or 0):
            for part in family.cluster.parts:
                counts[part.item] += -(-units // family.cluster.max_units.value) * part.quantity
    return counts


def _liquid_kw(basis: Basis, standing: Mapping[str, int]) -> float:
    items = [(basis.items[sku], count) for sku, count in standing.items()]
    return sum((basis.rated_kw(i) or 0.0) * basis.liquid_share(i) * n for i, n in items)


def _rack_parts(basis: Basis, room: Room) -> dict[str, int]:
    rack, parts = basis.problem.site.rack, {}
    if rack is not None and rack.pdu is not None:
        parts[rack.pdu.item] = room.pdus
    if rack is not None and rack.item is not None:
        parts[rack.item] = sum(each.racks for each in room.sets if not each.product)
    return parts


def _cooling(basis: Basis, standing: Mapping[str, int]) -> dict[str, int]:
    cooling, heat_kw = basis.problem.site.cooling, _liquid_kw(basis, standing)
    if cooling.cdu is None or heat_kw <= 0:
        return {}
    factor, more = REDUNDANT[cooling.redundancy]
    each_kw = value(basis.items[cooling.cdu].provides.cooling)
    return {cooling.cdu: factor * round_up(heat_kw / each_kw) + more}


def _licences(basis: Basis, cluster: Mapping[str, int]) -> dict[str, int]:
    counts = {}
    for sku in basis.problem.software:
        licence = basis.items[sku].licence
        assert licence is not None
        vendors = licence.vendors or {basis.items[s].vendor for s in cluster}
        of = {s: n for s, n in cluster.items() if basis.items[s].vendor in vendors}
        counts[sku] = _amount(basis, licence.per, of, Room((), True)) or 0
        if licence.per == "usable_tb":
            usable = {s: value(basis.items[s].provides.usable) or 0.0 for s in of}
            counts[sku] = round_up(sum(usable[s] * n for s, n in basis.flash(of).items()))
    return counts


def _served(basis: Basis, sku: str, bill: Bill, nets: Mapping[str, float]) -> int:
    service = basis.items[sku].service
    assert service is not None
    amount = _amount(basis, service.per, bill.cluster, bill.room)
    if amount is not None or service.per == "order":
        return 1 if amount is None else amount
    if service.per == "liquid_kw":
        return round_up(_liquid_kw(basis, bill.standing))
    if service.per != "hardware":
        return sum(basis.of_kind(bill.companions, service.per).values())
    spent_usd = sum(
        nets.get(each, 0.0) * max(0, count - basis.sale(basis.items[each]).owned)
        for each, count in bill.in_place.items()
        if basis.items[each].category not in ("software", "service")
    )
    return math.ceil((spent_usd - HALF_A_CENT) / 100)


def _spare_parts(basis: Basis, cluster: Mapping[str, int]) -> Counter[str]:
    """Components that lie in store for the bundles of the cluster."""
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
    needed, stored = bill.in_place, _spare_parts(basis, bill.cluster)
    for line in plan.lines:
        if line.parent is not None:
            continue
        item, name = basis.items[line.sku], f"lines.{line.sku}"
        own = _unit(basis, item, line.quantity) | _money(basis, item, line)
        if item.category == "component":
            count = stored.pop(line.sku, 0)
            own |= _counts(basis, item, 0, 0) | {"spares": count, "racks": NONE}
            own["purchased"] = basis.sale(item).order(count)
        else:
            count = needed.pop(line.sku, 0)
            working = bill.cluster.get(line.sku, 0) if item.category in DECIDED else count
            own |= _counts(basis, item, working, count)
        found.require(count > 0 or line.sku in bill.standing, f"{name}: not needed")
        found.expect(name, line, own)
        priced = line.price is not None or basis.sale(item).price is None
        found.require(priced, f"{name}.price: no source of the price")
    for sku, count in {**needed, **stored}.items():
        found.require(False, f"lines.{sku}: missing, {count} needed")
    _check_components(found, basis, plan, bill)


def _check_components(found: Findings, basis: Basis, plan: Plan, bill: Bill) -> None:
    """Check the lines of components, whose figures and money are in the bundle's line."""
    parents = {line.sku: line for line in plan.lines if line.parent is None}
    components = {
        (sku, part.id): part.quantity
        for sku in bill.standing
        for part in basis.items[sku].components
    }
    for line in plan.lines:
        if line.parent is not None:
            per_unit, parent = components.pop((line.parent, line.sku), 0), parents.get(line.parent)
            name = f"lines.{line.parent}.{line.sku}"
            real = per_unit > 0 and parent is not None
            found.require(real, f"{name}: no component of {line.parent}, or listed twice")
            bought = (parent.quantity, parent.purchased) if parent else (0, 0)
            own = _unit(basis, basis.items[line.sku], line.quantity)
            own |= {"section": "Components", "quantity": per_unit * bought[0]}
            own |= {"purchased": per_unit * bought[1], "pack": 1}
            rest = type(line).model_fields.keys() - own.keys() - FREE
            found.expect(name, line, own | dict.fromkeys(rest, NONE))
    for parent_sku, sku in components:
        found.require(False, f"lines.{parent_sku}.{sku}: component without a line")


def _unit(basis: Basis, item: Item, count: int) -> dict[str, Any]:
    """Product, power, heat, height and weight, of one unit and of the line."""
    draw_kw = basis.draw_kw(item)
    units = {
        "it_power_kw": draw_kw,
        "heat_btu_per_h": times(draw_kw, BTU_PER_H_PER_KW),
        "typical_power_kw": basis.typical_kw(item),
        **{figure: basis.stated(item, figure) for figure in STATED},
    }
    own: dict[str, Any] = {f"unit_{name}": unit for name, unit in units.items()}
    own |= {name: times(unit, count) for name, unit in units.items()}
    product = ("category", "vendor", "model", "part_number", "description")
    own |= {name: getattr(item, name) for name in product}
    return own | {
        "section": SECTION_OF[item.category],
        "site": "site",
        "period": 0,
        "lifecycle": None if item.lifecycle == "available" else item.lifecycle,
        "facility_power_kw": times(own["it_power_kw"], basis.pue(item)),
        "liquid_share": basis.liquid_share(item),
    }


def _counts(basis: Basis, item: Item, working: int, in_place: int) -> dict[str, Any]:
    """Counts and racks of a line, and the supply of its working units."""
    sale, decided = basis.sale(item), item.category in DECIDED
    read, write = basis.nameplate(item.id, working)
    capacity = times(value(item.provides.usable), working) if working else 0.0
    whole, (racks, held) = item.consumes.racks, fits(basis, item) or (1, 0)
    racked, rack = rack_class(item) if decided else None, -(-in_place // (held or 1)) * racks
    if not decided and basis.problem.site.rack is not None:
        racked = "network" if whole or basis.stated(item, "rack_units") else None
    if not decided:
        held, rack = int(whole is not None), in_place * (whole.value if whole else 0)
    return {
        "quantity": in_place,
        "idle": in_place - working,
        "installed": sale.owned,
        "pack": sale.pack,
        "spares": basis.spares(item, working),
        "purchased": basis.bought(item, working),
        "gpus": gpus_of(item) * working if item.category == "gpu_system" else 0,
        "nameplate_read_gb_per_s": read,
        "nameplate_write_gb_per_s": write,
        "usable_tb": (0.0 if item.is_bulk else capacity) if item.category == "storage" else None,
        "bulk_tb": capacity if item.is_bulk else 0.0,
        "racks": rack if held else None,
        "rack_class": racked if in_place else None,
    }


def _money(basis: Basis, item: Item, line: Line) -> dict[str, Any]:
    """Prices, discounts, support and subscription of a line, by its units bought."""
    sale, bought, net = basis.sale(item), line.purchased, line.unit_net_usd or 0.0
    price, years = sale.price, None if sale.end is None else max(0.0, sale.end - sale.start)
    if price is None:
        free = {"support_from_years": 0.0, "support_years": Either((years, None, 0.0))}
        return dict.fromkeys(PRICED.split(), NONE) | free
    money, first = basis.problem.shown_in, 0.0 if sale.end is None else min(sale.start, sale.end)
    cents = bought * (0.5 + 1e-6) * cent_usd(money)
    listed = 0.0 if item.is_percentage else cents if money.code == "USD" else 4 * cents
    yearly = price.per_year_usd
    rent = None if yearly is None else yearly * (1 - sale.discount) * bought
    own = {name: getattr(price, name) for name in ("lead_time", "lead_time_days")}
    return own | {
        "unit_list_usd": price.list_usd,
        "discount": sale.discount,
        "unit_net_usd": basis.net(item),
        "extended_list_usd": Near(price.list_usd * bought, listed),
        "extended_net_usd": net * bought,
        "support_usd_per_year": Near(price.support_usd_per_year(net) * bought, cents),
        "support_share": getattr(price.support_per_year, "share", None),
        "support_years": years,
        "support_from_years": Either((sale.start, first)),
        "unit_subscription_list_usd": yearly,
        "subscription_usd_per_year": None if rent is None else Near(rent, cents),
        "min_order": price.min_order or None,
    }


# Totals.


def check_totals(found: Findings, basis: Basis, plan: Plan, room: Room) -> None:
    """Compare the totals: sums over the lines, money over the term, ratios to the job's work."""
    totals, lines = plan.totals, [line for line in plan.lines if line.parent is None]
    names = ("it_power_kw", "facility_power_kw", "typical_power_kw", *STATED)
    own: dict[str, Any] = {n: total(getattr(line, n) for line in lines) for n in names}
    for name in ("gpus", "nameplate_read_gb_per_s", "nameplate_write_gb_per_s"):
        own[name] = sum(getattr(line, name) for line in lines)
    own["usable_tb"] = total(line.usable_tb for line in lines if line.category == "storage")
    own["gpus_used"], own["racks"] = plan.jobs[0].gpus_used, room.racks if room.complete else None
    draw, liquid = own["it_power_kw"], total(times(x.it_power_kw, x.liquid_share) for x in lines)
    air = None if draw is None or liquid is None else draw - liquid
    noise = RELATIVE * (draw or 0.0)  # of a difference
    own |= {"heat_air_kw": None if air is None else Near(air, noise), "heat_liquid_kw": liquid}
    own["heat_btu_per_h"] = times(draw, BTU_PER_H_PER_KW)
    sections: Counter[str] = Counter()
    for line in lines:
        sections[line.section] += line.extended_net_usd or 0.0  # type: ignore[assignment]
    days = [x.lead_time_days for x in lines if x.purchased and x.lead_time_days is not None]
    own["lead_time_days"] = longest = max(days, default=None)
    late = [x.sku for x in lines if longest and x.purchased and x.lead_time_days == longest]
    own |= {"critical_skus": tuple(dict.fromkeys(late)), "capex_by_section_usd": dict(sections)}
    found.expect("totals", totals, own | _costs(basis, plan, lines, draw))


def _costs(
    basis: Basis, plan: Plan, lines: Sequence[Line], draw_kw: float | None
) -> dict[str, float | None]:
    """Capex, yearly costs, TCO and cost of useful work; energy with a term and known draw."""
    capex, support, rent = (
        sum(getattr(line, name) or 0.0 for line in lines)
        for name in ("extended_net_usd", "support_usd_per_year", "subscription_usd_per_year")
    )
    own: dict[str, float | None] = {"capex_usd": capex, "support_usd_per_year": support}
    names = ("energy_usd_per_year", "colocation_usd_per_year", "opex_usd_per_year", "tco_usd")
    own |= dict.fromkeys((*names, "usd_per_useful_gpu_hour", "usd_per_million_tokens"))
    own["subscriptions_usd_per_year"], term, job = rent, basis.problem.term, plan.jobs[0]
    if term is None or draw_kw is None:
        return own
    basis_of = "typical_power_kw" if term.energy_basis == "typical" else "it_power_kw"
    meter_kw = sum(getattr(x, basis_of) * basis.pue(basis.items[x.sku]) for x in lines)
    energy = meter_kw * HOURS_PER_YEAR * term.electricity_usd_per_kwh
    space = draw_kw * 12 * term.colocation_usd_per_kw_month
    running, rate = rent + energy + space, term.discount_rate
    tco = capex + running * present_years(0.0, term.years, rate)
    for line in lines:
        sale = basis.sale(basis.items[line.sku])
        years = present_years(sale.start, sale.end or 0.0, rate)
        tco += (line.support_usd_per_year or 0.0) * years
    own |= dict(zip(names, (energy, space, support + running, tco), strict=True))
    hours = term.years * HOURS_PER_YEAR
    if job.useful_gpus > 0:
        own["usd_per_useful_gpu_hour"] = tco / (job.useful_gpus * hours)
    if job.active_parameters and job.useful_pflops:
        tokens = job.useful_pflops * 1e15 * hours * 3600 / (6 * job.active_parameters)
        own["usd_per_million_tokens"] = tco / (tokens / 1e6)
    return own
