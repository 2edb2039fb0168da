"""The bill: units that a cluster needs, racks with PDUs, figures of lines that decide, totals.

How devices share racks is the plan's choice, and checked. Texts, and figures that follow from
others of their line, are left to `assemble`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.schema.catalog import Item
from planner.schema.plan import Line, Plan, RackClassName, RackGroup
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
from planner.verifier.physics import gpus_of

HOURS_PER_YEAR = 8760
BTU_PER_H_PER_KW = 3412.14
HALF_A_CENT = 0.005
SERVED = ("software", "service")
"""Categories that are no hardware."""
ANY_NUMBER = 10**9
"""Devices without height, draw and weight that fit into a rack."""
CLASSES: dict[str, RackClassName] = {"gpu_system": "gpu", "storage": "storage"}
"""Classes of racks other than that of network devices."""
REDUNDANT = {"N": (1, 0), "N+1": (1, 1), "2N": (2, 0)}
"""Factor and addition to the units that a load needs."""
Load = NDArray[np.float64]
"""Height (RU), draw (kW) and weight (kg): of a device, or a rack's room, infinite without limit."""


@dataclass
class Room:
    """Racks by item, those that network devices share under "", and the PDUs in all of them.

    ``products`` are the racks that are products; not ``complete`` where a size or draw is not
    known.
    """

    basis: Basis
    by_item: dict[str, int] = field(default_factory=dict)
    products: int = 0
    pdus: int = 0
    complete: bool = True

    @property
    def racks(self) -> int:
        """Racks in all."""
        return sum(self.by_item.values())

    def add(self, counts: Mapping[str, int], stated: int | None = None) -> None:
        """Add the racks of items: their own, and ``stated`` ones that network devices share.

        Without ``stated`` devices go into the first rack with room.
        """
        basis, rack, sharing = self.basis, space(self.basis, "network"), False
        for sku, count in counts.items():
            item = basis.items[sku]
            product, decided = item.consumes.racks is not None, item.category in DECIDED
            if not product and not decided:
                sharing |= bool(basis.of_unit(item, "rack_units"))
                continue
            each, units = fits(basis, item) or (0, 0)
            units = units if decided else 1
            self.complete &= units > 0
            if units:
                self.by_item[sku] = racks = -(-count // units) * each
                load_kw = times(basis.rated_kw(item), units / each)
                self.products += racks if product else 0
                self.pdus += 0 if product else pdus_of(basis, load_kw) * racks
        if sharing:
            fewest = 0 if rack is None else shared_racks(basis, counts, rack)
            self.complete &= fewest > 0
            if rack is not None:
                self.by_item[""] = fewest if stated is None else stated
                self.pdus += pdus_of(basis, _densest_kw(basis, rack)) * self.by_item[""]


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


# Units of everything.


def build_bill(found: Findings, basis: Basis, cluster: Mapping[str, int], plan: Plan) -> Bill:
    """Units that GPU systems and storage of a cluster bring along; its fabrics are checked.

    The plan decides the trees of its fabrics and, if it has racks, those that devices share.

    Raises:
        ValueError: fabrics cannot be built.
    """
    problem, standing = basis.problem, dict(cluster)
    for sku in problem.items.keys() & basis.items.keys():
        if basis.items[sku].category in DECIDED and basis.owned(sku):
            standing[sku] = max(standing.get(sku, 0), basis.owned(sku))
    room, fabrics = Room(basis), Fabrics(found, basis, cluster, plan)
    room.add(standing)
    own_pdus = room.pdus
    for report in plan.fabrics:
        if report.network == "compute":
            fabrics.compute(report)
    fabrics.storage()
    parts, amounts = fabrics.parts, _amounts(basis, cluster, standing, room)
    measures = {**amounts, "switch": fabrics.switches("compute", "storage"), "": 0.0}
    extras = {
        sku: extra.count or round_up(measures[extra.per or ""] / extra.every)
        for sku, extra in problem.extras.items()
    }
    clusters = _cluster_parts(basis, cluster)
    fabrics.managing(extras, clusters, own_pdus)
    fabrics.finish()
    for counts in (extras, clusters, _cooling(basis, amounts["liquid_kw"])):
        parts.update(counts)
    for sku in problem.software:
        licence = basis.items[sku].licence
        assert licence is not None
        vendors = licence.vendors or {basis.items[s].vendor for s in cluster}
        of = {s: n for s, n in cluster.items() if basis.items[s].vendor in vendors}
        parts[sku] = round_up(_amounts(basis, of, {}, room)[licence.per])
    shared = [g.count for g in plan.racks if g.rack_class == "network" and not g.product]
    room.add(+parts, sum(shared) if plan.racks else None)
    rack = problem.site.rack
    if rack is not None and rack.pdu is not None:
        parts[rack.pdu.item] += room.pdus
    if rack is not None and rack.item is not None:
        parts[rack.item] += room.racks - room.products
    oob = basis.network.out_of_band
    link = by_speed(basis.items[oob.switch])[0].link if oob else None
    if link is not None:  # consoles on reserved management ports
        parts[link.cable] += fabrics.switches(*MANAGED) + room.pdus - own_pdus
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
            bought = {s: max(0, n - basis.owned(s)) for s, n in hardware.items()}
            spent_usd = sum(net_usd.get(each, 0.0) * n for each, n in bought.items())
            amount = math.ceil((spent_usd - HALF_A_CENT) / 100)
        counts[sku] = round_up(amount)
    return counts


# Racks.


def space(basis: Basis, name: RackClassName) -> Load | None:
    """Room of a rack of a class, None where racks have no size."""
    site = basis.problem.site
    if site.rack is None:
        return None
    own = getattr(site.rack_classes, name)
    weight_kg = own.weight_kg or site.rack.weight_kg
    sides = own.height_ru or site.rack.height_ru, own.power_kw or site.rack.power_kw, weight_kg
    return np.array([math.inf if side is None else side for side in sides])


def load_of(basis: Basis, item: Item) -> Load:
    """Height, draw and weight of one device; a switch with every transceiver; 0 where unknown."""
    fitted = 0.0
    for group in item.switch.ports if item.switch else ():
        end = group.link.switch_end if group.link else None
        if end is not None:
            each = basis.rated_kw(basis.items[end.item]) or 0.0
            fitted = max(fitted, -(-group.count // end.links) * each)
    power_kw = total((basis.rated_kw(item), fitted))
    sides = basis.of_unit(item, "rack_units"), power_kw, basis.of_unit(item, "weight_kg")
    return np.array([side or 0.0 for side in sides])


def held(room: Load, load: Load) -> NDArray[np.int64]:
    """Devices of a load that fit into a room, or into each of several."""
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(load > 0, room / load, np.inf).min(axis=-1)
    return np.asarray(np.clip(each, 0, ANY_NUMBER), dtype=np.int64)


def first_fit(kinds: Iterable[tuple[Load, int]], rack: Load) -> int:
    """Racks of devices by kind that each go into the first one with room; 0 if one fits none."""
    rooms, rack = np.zeros((0, 3)), rack * (1 + RELATIVE)
    for load, count in kinds:
        each, alone = held(rooms, load), int(held(rack, load))
        if not alone:
            return 0
        put = np.clip(count - (np.cumsum(each) - each), 0, each)
        full, rest = divmod(count - int(put.sum()), alone)
        more = np.array([*[alone] * full, *[rest] * (rest > 0)]).reshape(-1, 1)
        with np.errstate(invalid="ignore"):
            rooms = np.vstack([rooms - put[:, None] * load, rack - more * load])
    return len(rooms)


def fits(basis: Basis, item: Item) -> tuple[int, int] | None:
    """(Racks, units that they hold) of an item, None where a figure is not known."""
    power_kw, own = basis.rated_kw(item), item.consumes.racks
    if own is not None:
        kept = (power_kw or 0.0) / own.value <= _whole_rack_kw(basis) * (1 + RELATIVE)
        return own.value, int(kept)
    rack = space(basis, CLASSES.get(item.category, "network"))
    if rack is None:
        return None
    parts = basis.parts(item)
    spread = first_fit([(load_of(basis, p), n) for p, n in parts], rack)
    if spread != 1:
        return max(1, spread), int(spread > 0)
    height_ru = basis.of_unit(item, "rack_units")
    if height_ru is None or (power_kw is None and rack[1] < math.inf):
        return None
    weight_kg = sum((basis.of_unit(part, "weight_kg") or 0.0) * n for part, n in parts)
    return 1, int(held(rack * (1 + RELATIVE), np.array([height_ru, power_kw or 0.0, weight_kg])))


def _whole_rack_kw(basis: Basis) -> float:
    """Most that a product may draw that is a rack."""
    rack = basis.problem.site.rack
    return (rack and (rack.whole_rack_power_kw or rack.power_kw)) or math.inf


def pdus_of(basis: Basis, load_kw: float | None) -> int:
    """PDUs of a rack with a load; 0 without any, or where its draw or their feed is not known."""
    asked = basis.problem.site.rack.pdu if basis.problem.site.rack else None
    feed = basis.items[asked.item].provides.feed if asked else None
    if asked is None or feed is None or load_kw is None:
        return 0
    factor, more = REDUNDANT[asked.redundancy]
    return factor * max(1, round_up(load_kw / feed.value)) + more


def _densest_kw(basis: Basis, rack: Load) -> float:
    """Most that a shared rack can draw: its height full of the densest device."""
    problem, network = basis.problem, basis.problem.network
    names = {*problem.extras, problem.site.cooling.cdu}
    names |= set(network.compute.switches) if network.compute else set()
    others = network.storage, network.in_band, network.out_of_band
    names |= {each.switch for each in others if each is not None}
    clusters = [family.cluster for family in basis.inputs.families if family.cluster]
    names |= {part.item for cluster in clusters for part in cluster.parts}
    items = [basis.items[sku] for sku in names if sku]
    loads = [load_of(basis, item) for item in items if item.consumes.racks is None]
    most = max((kw / height_ru * rack[0] for height_ru, kw, _ in loads if height_ru), default=0.0)
    return float(min(most, rack[1]))


def shared_racks(basis: Basis, counts: Mapping[str, int], rack: Load) -> int:
    """Racks for devices that share them, each in the first with room, largest first."""
    items = [basis.items[sku] for sku in counts if basis.items[sku].consumes.racks is None]
    kinds = [(load_of(basis, i), counts[i.id]) for i in items if basis.of_unit(i, "rack_units")]
    orders = (lambda kind: -(kind[0] / rack).max()), (lambda kind: -kind[0][0])
    return min(first_fit(sorted(kinds, key=order), rack) for order in orders)


def check_racks(found: Findings, basis: Basis, plan: Plan, bill: Bill) -> None:
    """Check the placement: each rack's content, each device once, no rack too many."""
    rack, placed = space(basis, "network"), Counter[str]()
    if rack is None:
        found.require(not plan.racks, "racks: a placement, but racks have no size")
        return
    for group in plan.racks:
        _check_group(found, basis, group)
        for device in group.devices:
            placed[device.sku] += group.count
    expected = _devices(basis, {**bill.standing, **bill.companions}, bill.room)
    for sku in sorted({*placed, *expected}):
        found.expect(f"racks: devices {sku}", placed[sku], expected[sku])
    found.expect("racks: racks", sum(group.count for group in plan.racks), bill.room.racks)
    most = shared_racks(basis, bill.companions, rack)
    found.at_most("racks: racks of network devices", bill.room.by_item.get("", 0), most)


def _devices(basis: Basis, counts: Mapping[str, int], room: Room) -> Counter[str]:
    """Devices that stand in racks; a rack that is a product counts for each of its racks."""
    devices, known = Counter[str](), room.by_item.keys()
    for sku, count in counts.items():
        item, own = basis.items[sku], basis.items[sku].consumes.racks
        decided = item.category in DECIDED
        if own is not None and sku in known:
            devices[sku] += count * own.value
        elif sku in known if decided else basis.of_unit(item, "rack_units"):
            for part, quantity in basis.parts(item) if decided else [(item, 1)]:
                devices[part.id] += quantity * count
    return devices


def _check_group(found: Findings, basis: Basis, group: RackGroup) -> None:
    """Check height, draw and weight of a rack's devices against its limits, and their places."""
    name, items = f"racks.{group.first}", [basis.items[d.sku] for d in group.devices]
    rack, product = space(basis, group.rack_class), None
    loads = [load_of(basis, item) for item in items]
    assert rack is not None
    if items[0].consumes.racks is not None:
        product = items[0].consumes.racks.value
        height_ru = loads[0][0] / product or group.height_ru
        rack = np.array([height_ru, _whole_rack_kw(basis), math.inf])
        loads = [np.array([rack[0], *(loads[0][1:] / product)])]
        found.require(len(items) == 1, f"{name}: devices that do not share a rack")
    _, power_kw, known_kg = (float(side) for side in np.sum(loads, axis=0))
    weights = (times(basis.of_unit(item, "weight_kg"), 1 / (product or 1)) for item in items)
    own = {"product": product is not None, "height_ru": float(rack[0]), "it_power_kw": power_kw}
    found.expect(name, group, {**own, "weight_kg": total(weights)})
    found.at_most(f"{name}: kW", power_kw, float(rack[1]))
    found.at_most(f"{name}: kg", known_kg, float(rack[2]))
    placed = zip(group.devices, loads, strict=False)
    spans = sorted((d.position_ru, d.position_ru + load[0], d.sku) for d, load in placed)
    spans = [(0.0, 1.0, "the bottom"), *spans, (float(rack[0]) + 1.0, math.inf, "the top")]
    for (_, top, below), (bottom, _, above) in pairwise(spans):
        found.require(bottom >= top - RELATIVE * rack[0], f"{name}: {above} overlaps {below}")


# Lines and totals.


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
    unit = {
        "it_power_kw": draw_kw,
        "heat_btu_per_h": times(draw_kw, BTU_PER_H_PER_KW),
        "typical_power_kw": basis.typical_kw(item),
        "facility_power_kw": times(draw_kw, basis.pue(item)),
        "rack_units": basis.of_unit(item, "rack_units"),
        "weight_kg": basis.of_unit(item, "weight_kg"),
    }
    return {name: times(each, stands) for name, each in unit.items()} | {
        "quantity": stands,
        "idle": count - working if decided else 0,
        "spares": count if part else basis.spares(item, working),
        "purchased": basis.sale(item).order(count) if part else basis.bought(item, working),
        "gpus": gpus_of(item) * working if item.category == "gpu_system" else 0,
        "nameplate_read_gb_per_s": read,
        "nameplate_write_gb_per_s": write,
        "usable_tb": (usable_tb if working else 0.0) if item.category == "storage" else None,
        "unit_it_power_kw": draw_kw,
        "liquid_share": basis.liquid_share(item),
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
        "support_usd_per_year": Near(sale.support_usd_per_year(net) * bought, bought * cent),
        "subscription_usd_per_year": None if rent is None else Near(rent, bought * cent),
        "lead_time_days": sale.lead_time_days,
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
    sections = plan.totals.capex_by_section_usd if plan.totals else {}
    for name in sorted({*sections, *(line.section for line in lines)}):
        usd = [line.extended_net_usd or 0.0 for line in lines if line.section == name]
        found.expect(f"totals.capex_by_section_usd.{name}", sections.get(name), sum(usd, 0.0))


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


def check_options(found: Findings, basis: Basis, plan: Plan) -> None:
    """Check units bought and list prices of the storage alternatives."""
    report = plan.storage_options
    for number, option in enumerate(report.options if report else ()):
        for each in option.items:
            price = basis.inputs.prices.get(each.sku)
            own = {
                "purchased": basis.bought(basis.items[each.sku], each.units),
                "unit_list_usd": price.list_usd if price else None,
            }
            found.expect(f"storage_options.options[{number}].{each.sku}", each, own)
