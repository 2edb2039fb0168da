"""The bill: units that a cluster needs, the figures of every line that decide, and the totals.

Texts, and figures that follow from others of their line, are left to `assemble`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from planner.figures import BTU_PER_H_PER_KW
from planner.schema.catalog import Item
from planner.schema.plan import Line, Plan
from planner.verifier.basis import (
    DECIDED,
    RELATIVE,
    Basis,
    Findings,
    Near,
    present_years,
    round_up,
    times,
    total,
    value,
)
from planner.verifier.fabric import MANAGED, Fabrics, by_speed
from planner.verifier.hall import REDUNDANT, Room, network_racks, own_racks
from planner.verifier.physics import gpus_of

HOURS_PER_YEAR = 8760
HALF_A_CENT = 0.005
SERVED = ("software", "service")
"""Categories that are no hardware."""


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
    parts, amounts = fabrics.parts, _amounts(basis, cluster, standing, own)
    measures = {**amounts, "switch": fabrics.switches("compute", "storage"), "": 0.0}
    extras = {
        sku: extra.count or round_up(measures[extra.per or ""] / extra.every)
        for sku, extra in problem.extras.items()
    }
    clusters = _cluster_parts(basis, cluster)
    fabrics.managing(extras, clusters, own.pdus)
    fabrics.finish()
    for counts in (extras, clusters, _cooling(basis, amounts["liquid_kw"])):
        parts.update(counts)
    for sku in problem.software:
        licence = basis.items[sku].licence
        assert licence is not None
        vendors = licence.vendors or {basis.items[s].vendor for s in cluster}
        of = {s: n for s, n in cluster.items() if basis.items[s].vendor in vendors}
        parts[sku] = round_up(_amounts(basis, of, {}, own)[licence.per])
    shared = [g.count for g in plan.racks if g.rack_class == "network" and not g.product]
    joint = network_racks(basis, +parts, sum(shared) if plan.racks else None)
    room, rack = Room((*own.sets, *joint.sets), own.complete and joint.complete), problem.site.rack
    if rack is not None and rack.pdu is not None:
        parts[rack.pdu.item] += room.pdus
    if rack is not None and rack.item is not None:
        parts[rack.item] += sum(each.racks for each in room.sets if not each.product)
    oob = basis.network.out_of_band
    link = by_speed(basis.items[oob.switch])[0].link if oob else None
    if link is not None:  # consoles on reserved management ports
        parts[link.cable] += fabrics.switches(*MANAGED) + room.pdus - own.pdus
    parts.update(_services(basis, amounts | {"rack": room.racks}, {**standing, **+parts}, plan))
    return Bill(cluster, standing, dict(+parts), room)


def _amounts(
    basis: Basis, cluster: Mapping[str, int], standing: Mapping[str, int], room: Room
) -> dict[str, float]:
    """Amounts that extras, licences and services follow, by their measure."""
    systems, flash = basis.of_kind(cluster, "gpu_system"), basis.flash(cluster)
    usable = {sku: value(basis.items[sku].provides.usable) or 0.0 for sku in flash}
    return {
        "gpu": sum(gpus_of(basis.items[sku]) * n for sku, n in systems.items()),
        "gpu_system": sum(systems.values()),
        "storage_unit": sum(basis.of_kind(cluster, "storage").values()),
        "usable_tb": sum(usable[sku] * n for sku, n in flash.items()),
        "liquid_kw": sum(basis.liquid_kw(basis.items[sku]) * n for sku, n in standing.items()),
        "rack": room.racks,
        "order": 1,
    }


def _cluster_parts(basis: Basis, cluster: Mapping[str, int]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for family in basis.inputs.families:
        units = sum(n for sku, n in cluster.items() if basis.items[sku].family == family.id)
        if family.cluster is not None and units > (value(family.cluster.alone) or 0):
            for part in family.cluster.parts:
                counts[part.item] += -(-units // family.cluster.max_units.value) * part.quantity
    return counts


def _cooling(basis: Basis, heat_kw: float) -> dict[str, int]:
    cooling = basis.problem.site.cooling
    if cooling.cdu is None or heat_kw <= 0:
        return {}
    factor, more = REDUNDANT[cooling.redundancy]
    each_kw = value(basis.items[cooling.cdu].provides.cooling)
    return {cooling.cdu: factor * round_up(heat_kw / each_kw) + more}


def _services(
    basis: Basis, amounts: Mapping[str, float], in_place: Mapping[str, int], plan: Plan
) -> dict[str, int]:
    """Units of each service: by amounts, counts of companions, or 100 USD of hardware bought."""
    counts, net_usd = {}, {line.sku: line.unit_net_usd or 0.0 for line in plan.lines}
    for sku in basis.problem.services:
        service = basis.items[sku].service
        assert service is not None
        amount = amounts.get(service.per, sum(basis.of_kind(in_place, service.per).values()))
        if service.per == "hardware":
            hardware = {s: n for s, n in in_place.items() if basis.items[s].category not in SERVED}
            bought = {s: max(0, n - basis.rule(s).in_place) for s, n in hardware.items()}
            spent_usd = sum(net_usd.get(each, 0.0) * n for each, n in bought.items())
            amount = math.ceil((spent_usd - HALF_A_CENT) / 100)
        counts[sku] = round_up(amount)
    return counts


# Lines.


def check_lines(found: Findings, basis: Basis, plan: Plan, bill: Bill) -> None:
    """Recompute every line; require a line for everything needed and none else."""
    needed, stored = bill.in_place, stored_parts(basis, bill.cluster)
    lines = [line for line in plan.lines if line.parent is None]
    for line in lines:
        item, name = basis.items[line.sku], f"lines.{line.sku}"
        count = (stored if item.category == "component" else needed).pop(line.sku, 0)
        found.require(count > 0 or line.sku in bill.standing, f"{name}: not needed")
        working = bill.cluster.get(line.sku, 0) if item.category in DECIDED else count
        found.expect(name, line, _units(basis, item, working, count) | _money(basis, item, line))
    for sku, count in {**needed, **stored}.items():
        found.require(False, f"lines.{sku}: missing, {count} needed")
    own = [
        (line.sku, part.id, part.quantity * line.quantity, part.quantity * line.purchased)
        for line in lines
        if line.sku in bill.standing
        for part in basis.items[line.sku].components
    ]
    parts = [line for line in plan.lines if line.parent is not None]
    stated = [(line.parent, line.sku, line.quantity, line.purchased) for line in parts]
    found.expect("lines of components", sorted(stated), sorted(own))


def stored_parts(basis: Basis, cluster: Mapping[str, int]) -> Counter[str]:
    """Spare components of bundles, which lie in store, by item."""
    stored = Counter[str]()
    for sku, count in cluster.items():
        for part in basis.items[sku].components:
            share = basis.rule(part.id).spares
            share = basis.sale(basis.items[sku]).spare_share if share is None else share
            stored[part.id] += round_up(share * part.quantity * count)
    return +stored


def _units(basis: Basis, item: Item, working: int, count: int) -> dict[str, Any]:
    """Counts, supply, power, height and weight of a line."""
    decided, part = item.category in DECIDED, item.category == "component"
    read, write = basis.nameplate(item.id, working)
    draw_kw, stands = basis.draw_kw(item), 0 if part else count
    usable_tb = 0.0 if item.is_bulk else times(value(item.provides.usable), working)
    return {
        "quantity": stands,
        "idle": count - working if decided else 0,
        "spares": count if part else basis.spares(item, working),
        "purchased": basis.sale(item).order(count) if part else basis.bought(item, working),
        "gpus": gpus_of(item) * working if item.category == "gpu_system" else 0,
        "nameplate_read_gb_per_s": read,
        "nameplate_write_gb_per_s": write,
        "usable_tb": (usable_tb if working else 0.0) if item.category == "storage" else None,
        "unit_it_power_kw": draw_kw,
        "it_power_kw": times(draw_kw, stands),
        "heat_btu_per_h": times(times(draw_kw, stands), BTU_PER_H_PER_KW),
        "typical_power_kw": times(basis.typical_kw(item), stands),
        "liquid_share": basis.liquid_share(item),
        "facility_power_kw": times(times(draw_kw, stands), basis.pue(item)),
        "rack_units": times(basis.of_unit(item, "rack_units"), stands),
        "weight_kg": times(basis.of_unit(item, "weight_kg"), stands),
    }


def _money(basis: Basis, item: Item, line: Line) -> dict[str, Any]:
    """Prices, support and subscription of a line, by its units bought."""
    sale, bought, net = basis.sale(item), line.purchased, line.unit_net_usd or 0.0
    price = sale.price
    if price is None or sale.net_usd is None:
        return {"extended_net_usd": None, "support_usd_per_year": None}
    cent = basis.cent(1 if basis.problem.shown_in.code == "USD" else 2)
    rent = times(price.per_year_usd, (1 - sale.discount) * bought)
    return {
        "unit_list_usd": price.list_usd,
        "unit_net_usd": Near(sale.net_usd, 0.0 if item.is_percentage else cent),
        "extended_net_usd": net * bought,
        "support_usd_per_year": Near(price.support_usd_per_year(net) * bought, bought * cent),
        "subscription_usd_per_year": None if rent is None else Near(rent, bought * cent),
        "lead_time_days": price.lead_time_days,
    }


# Totals.


def check_totals(found: Findings, basis: Basis, plan: Plan, room: Room) -> None:
    """Compare the totals: sums over the lines, money over the term, ratios to the job's work."""
    lines = [line for line in plan.lines if line.parent is None]
    sums = ("it_power_kw", "facility_power_kw", "typical_power_kw", "rack_units", "weight_kg")
    own: dict[str, Any] = {n: total(getattr(line, n) for line in lines) for n in sums}
    for name in ("gpus", "nameplate_read_gb_per_s", "nameplate_write_gb_per_s"):
        own[name] = sum(getattr(line, name) for line in lines)
    own["usable_tb"] = total(line.usable_tb for line in lines if line.category == "storage")
    own["gpus_used"], own["racks"] = plan.jobs[0].gpus_used, room.racks if room.complete else None
    draw, liquid = own["it_power_kw"], total(times(x.it_power_kw, x.liquid_share) for x in lines)
    air = None if draw is None or liquid is None else Near(draw - liquid, RELATIVE * draw)
    days = [x.lead_time_days for x in lines if x.purchased and x.lead_time_days is not None]
    own["heat_btu_per_h"] = times(draw, BTU_PER_H_PER_KW)
    own |= {"heat_liquid_kw": liquid, "heat_air_kw": air, "lead_time_days": max(days, default=None)}
    found.expect("totals", plan.totals, own | _costs(basis, plan, lines, draw))


def _costs(
    basis: Basis, plan: Plan, lines: list[Line], draw_kw: float | None
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
