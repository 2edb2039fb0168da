"""The bill of materials, line by line: counts, money, power, heat, height and weight."""

from __future__ import annotations

from planner.figures import STATED
from planner.schema.catalog import Component, Item
from planner.schema.plan import Line, Plan, PriceNote
from planner.schema.prices import Price
from planner.verifier.basis import DECIDED, Basis, Ledger, gpus, nameplate_gb_per_s, usable_tb
from planner.verifier.companions import Companions
from planner.verifier.decisions import Decisions
from planner.verifier.money import (
    cents,
    cold_spares,
    ordered,
    owned,
    pack_size,
    purchased,
    spare_parts,
    subscription_usd_per_year,
    support_asked,
    support_sold,
    support_usd_per_year,
    support_years,
    unit_money,
)
from planner.verifier.racks import Placement, RackSet, place, rack_class
from planner.verifier.totals import BTU_PER_H_PER_KW

_MOST_PER_RACK = 10**6
"""What has no height stands in a rack in any number; so many are said."""

_SECTIONS = {
    "gpu_system": "Compute",
    "storage": "Storage",
    "component": "Components",
    "switch": "Network",
    "management": "Network",
    "transceiver": "Optics & cables",
    "cable": "Optics & cables",
    "rack": "Racks & power",
    "pdu": "Racks & power",
    "cdu": "Racks & power",
    "software": "Software",
    "service": "Services",
}
_NOTHING_OF_ITS_OWN = (
    "support_share",
    "unit_subscription_list_usd",
    "support_years",
    "support_from_years",
    "support_level",
    "lead_time_days",
    "min_order",
    "rack_class",
    "price",
)

MONEY_FIELDS = (
    "extended_list_usd",
    "extended_net_usd",
    "support_usd_per_year",
    "subscription_usd_per_year",
)


def check_lines(
    ledger: Ledger, basis: Basis, decisions: Decisions, companions: Companions, plan: Plan
) -> None:
    """Re-compute every line, and require one for everything that is needed.

    Args:
        ledger: takes the disagreements.
        basis: the problem and the catalogs.
        decisions: what the plan decided.
        companions: what must come with it.
        plan: the plan to check.
    """
    _check_needed(ledger, basis, companions, plan)
    standing = {each.sku: each for each in companions.room.sets if each.sku is not None}
    parts = spare_parts(basis, decisions.counts)
    for line in plan.lines:
        if line.parent is None and basis.items[line.sku].category == "component":
            _check_spare_parts(ledger, basis, line, parts.pop(line.sku, 0))
        elif line.parent is None:
            _check_line(ledger, basis, decisions, line, standing)
    for sku, count in parts.items():
        ledger.fail(f"lines.{sku}: missing, {count} are to lie in store")
    listed = {line.sku for line in plan.lines if line.parent is None}
    for sku, count in decisions.standing.items():
        if count > 0 and sku not in listed:
            ledger.fail(f"lines.{sku}: missing, {count} are installed and stay")
    stated = {each.sku: each.units for each in plan.idle}
    unused = {sku: n - decisions.counts.get(sku, 0) for sku, n in decisions.standing.items()}
    ledger.equal("idle", stated, {sku: count for sku, count in unused.items() if count > 0})
    ledger.equal("idle: entries", len(plan.idle), len(stated))
    _check_components(ledger, basis, decisions, plan)
    for line in plan.lines:
        _check_public_notes(ledger, basis, line)


def _check_public_notes(ledger: Ledger, basis: Basis, line: Line) -> None:
    """Require that what leaves the house is what problem and price book have for everybody."""
    allowed: list[str] = []
    if line.parent is None:
        price = basis.prices.get(line.sku)
        allowed += [basis.demanded(line.sku).public_note or ""]
        allowed += [] if price is None else [price.public_note or ""]
    expected = tuple(dict.fromkeys(filter(None, allowed)))
    ledger.equal(f"lines.{line.sku}.public_notes", line.public_notes, expected)


def _check_needed(ledger: Ledger, basis: Basis, companions: Companions, plan: Plan) -> None:
    """Require the companions in exactly the number that follows, and no others."""
    for problem in companions.problems:
        ledger.fail(problem)
    missing = dict(companions.counts)
    for line in plan.lines:
        if line.parent is not None:
            continue
        if basis.items[line.sku].category not in (*DECIDED, "component"):
            needed = missing.pop(line.sku, 0)
            ledger.equal(f"lines.{line.sku}.quantity", line.quantity, needed)
            ledger.require(needed > 0, f"lines.{line.sku}: nothing in the plan needs it")
    for sku, count in missing.items():
        ledger.fail(f"lines.{sku}: missing, the plan needs {count}")


def _check_spare_parts(ledger: Ledger, basis: Basis, line: Line, count: int) -> None:
    """Check components that lie in store: nothing of them is in place or gives anything."""
    item, name = basis.items[line.sku], f"lines.{line.sku}"
    _check_description(ledger, name, item, line, "Components")
    for field in ("quantity", "idle", "racks", "rack_class", "gpus", "usable_tb"):
        ledger.require(not getattr(line, field), f"{name}.{field}: the parts lie in store")
    ledger.require(count > 0, f"{name}: nothing in the plan needs it")
    ledger.equal(f"{name}.installed", line.installed, owned(basis, item))
    ledger.equal(f"{name}.spares", line.spares, count)
    ledger.equal(f"{name}.pack", line.pack, pack_size(basis, item))
    ledger.equal(f"{name}.purchased", line.purchased, ordered(basis, item, count))
    check_line_money(ledger, basis, name, item, line)
    check_consumption(ledger, basis, name, item, line)


def _check_line(
    ledger: Ledger, basis: Basis, decisions: Decisions, line: Line, standing: dict[str, RackSet]
) -> None:
    item, name = basis.items[line.sku], f"lines.{line.sku}"
    # Companions are counted one by one; of what the plan decides more may stand than is used.
    working = decisions.counts.get(line.sku, line.quantity)
    in_place = decisions.standing.get(line.sku, line.quantity)
    _check_description(ledger, name, item, line, _SECTIONS[item.category])
    ledger.equal(f"{name}.quantity", line.quantity, in_place)
    ledger.equal(f"{name}.idle", line.idle, in_place - working)
    ledger.equal(f"{name}.installed", line.installed, owned(basis, item))
    ledger.equal(f"{name}.spares", line.spares, cold_spares(basis, item, working))
    ledger.equal(f"{name}.pack", line.pack, pack_size(basis, item))
    bought = purchased(basis, item, working)
    ledger.equal(f"{name}.purchased", line.purchased, bought)
    check_line_money(ledger, basis, name, item, line)
    check_consumption(ledger, basis, name, item, line)
    if item.category in DECIDED:
        placement = place(basis, item)
        racks = None if placement is None else placement.racks_for(line.quantity)
        ledger.same(f"{name}.racks", line.racks, racks)
        _check_units_per_rack(ledger, name, line, placement)
        ledger.equal(f"{name}.rack_class", line.rack_class, rack_class(item))
    else:
        _check_companion_racks(ledger, basis, name, item, line, standing)
    _check_provisions(ledger, name, item, line, working)


def _check_units_per_rack(
    ledger: Ledger, name: str, line: Line, placement: Placement | None
) -> None:
    """Require what an edited count of the line is held against: as many units as fit a rack."""
    fits = None if placement is None or placement.racks != 1 else placement.units
    if fits is not None:
        fits = min(fits, _MOST_PER_RACK)
    ledger.equal(f"{name}.units_per_rack", line.units_per_rack, fits)


def _check_companion_racks(
    ledger: Ledger,
    basis: Basis,
    name: str,
    item: Item,
    line: Line,
    standing: dict[str, RackSet],
) -> None:
    """Companions that share racks with others have no number of racks of their own."""
    alone, whole = standing.get(line.sku), item.consumes.racks
    racks = None if alone is None else alone.racks
    if whole is not None:
        racks = whole.value * line.quantity
    ledger.same(f"{name}.racks", line.racks, racks)
    ledger.equal(f"{name}.units_per_rack", line.units_per_rack, None)
    stands = basis.problem.site.rack is not None and (whole or basis.unit_rack_units(item))
    ledger.equal(f"{name}.rack_class", line.rack_class, "network" if stands else None)


def _check_description(ledger: Ledger, name: str, item: Item, line: Line, section: str) -> None:
    expected = {
        "section": section,
        "category": item.category,
        "vendor": item.vendor,
        "model": item.model,
        "part_number": item.part_number,
        "description": item.description,
        "site": "site",
        "period": 0,
    }
    for field, value in expected.items():
        ledger.equal(f"{name}.{field}", getattr(line, field), value)
    sold = None if item.lifecycle == "available" else item.lifecycle
    ledger.equal(f"{name}.lifecycle", line.lifecycle, sold)
    for field, figure in (
        ("country_of_origin", item.trade.origin),
        ("hs_code", item.trade.hs_code),
        ("export_class", item.trade.export_class),
        ("warranty_years", item.trade.warranty_years),
    ):
        stated = None if figure is None else figure.value
        ledger.equal(f"{name}.{field}", getattr(line, field), stated)


def _check_provisions(ledger: Ledger, name: str, item: Item, line: Line, working: int) -> None:
    read, write = nameplate_gb_per_s(item, working) if working else (0.0, 0.0)
    ledger.equal(f"{name}.gpus", line.gpus, gpus(item, working))
    ledger.same(f"{name}.read_gb_per_s", line.read_gb_per_s, read)
    ledger.same(f"{name}.write_gb_per_s", line.write_gb_per_s, write)
    usable = usable_tb(item, working) if working else 0.0
    usable = usable if item.category == "storage" else None
    ledger.same(f"{name}.usable_tb", line.usable_tb, usable)


def _check_components(ledger: Ledger, basis: Basis, decisions: Decisions, plan: Plan) -> None:
    """Require each bundle's components exactly once, in the right number, without money."""
    expected: dict[tuple[str, str], Component] = {}
    for sku, count in decisions.standing.items():
        if count > 0:
            expected |= {(sku, part.id): part for part in basis.items[sku].components}
    parents = {line.sku: line for line in plan.lines if line.parent is None}
    for line in plan.lines:
        if line.parent is None:
            continue
        name = f"lines.{line.parent}.{line.sku}"
        component = expected.pop((line.parent, line.sku), None)
        if component is None:
            ledger.fail(f"{name}: is not a component of {line.parent}, or is listed twice")
        else:
            _check_component(ledger, basis, name, line, parents[line.parent], component.quantity)
    for parent, part in expected:
        ledger.fail(f"lines.{parent}.{part}: the component has no line")


def _check_component(
    ledger: Ledger, basis: Basis, name: str, line: Line, parent: Line, per_unit: int
) -> None:
    item = basis.items[line.sku]
    _check_description(ledger, name, item, line, "Components")
    ledger.equal(f"{name}.quantity", line.quantity, per_unit * parent.quantity)
    ledger.equal(f"{name}.purchased", line.purchased, per_unit * parent.purchased)
    ledger.one_of(f"{name}.spares", line.spares, (0, per_unit * parent.spares))
    ledger.equal(f"{name}.pack", line.pack, 1)
    check_consumption(ledger, basis, name, item, line)
    for field in ("unit_list_usd", "unit_net_usd", *MONEY_FIELDS, *_NOTHING_OF_ITS_OWN):
        value = getattr(line, field)
        ledger.require(not value, f"{name}.{field}: the money is in the bundle's line, not here")
    for field in (
        "gpus",
        "read_gb_per_s",
        "write_gb_per_s",
        "usable_tb",
        "racks",
        "units_per_rack",
        "idle",
    ):
        value = getattr(line, field)
        ledger.require(not value, f"{name}.{field}: counted in the bundle's line, not here")


def check_line_money(ledger: Ledger, basis: Basis, name: str, item: Item, line: Line) -> None:
    """Re-compute the money of a line that has a price, and require none where it has not.

    Args:
        ledger: takes the disagreements.
        basis: the problem and the prices.
        name: the line's place in the plan.
        item: what the line is for.
        line: the line to check.
    """
    start, end = support_years(basis, item.id)
    years = None if end is None else max(0.0, end - start)
    price = basis.prices.get(line.sku)
    if price is None:
        _check_no_money(ledger, name, line)
        ledger.one_of(f"{name}.support_years", line.support_years, (years, None, 0.0))
        ledger.same(f"{name}.support_from_years", line.support_from_years, 0.0)
        ledger.same(f"{name}.lead_time_days", line.lead_time_days, None)
        return
    unit = unit_money(basis, item, price)
    ledger.same(f"{name}.unit_list_usd", line.unit_list_usd, unit.list_usd)
    ledger.same(f"{name}.discount", line.discount, unit.discount)
    ledger.one_of(f"{name}.unit_net_usd", line.unit_net_usd, unit.net_usd)
    net_usd = line.unit_net_usd if line.unit_net_usd in unit.net_usd else unit.net_usd[0]
    assert net_usd is not None
    bought = line.purchased
    extended = [usd for each in unit.listed_usd for usd in cents(each * bought, basis.money)]
    ledger.one_of(f"{name}.extended_list_usd", line.extended_list_usd, extended)
    ledger.same(f"{name}.extended_net_usd", line.extended_net_usd, net_usd * bought)
    sold, _ = support_sold(basis, item.id)
    support = support_usd_per_year(sold, net_usd, bought, basis.money)
    ledger.one_of(f"{name}.support_usd_per_year", line.support_usd_per_year, support)
    yearly = subscription_usd_per_year(price, unit.discount, bought, basis.money)
    ledger.one_of(f"{name}.subscription_usd_per_year", line.subscription_usd_per_year, yearly)
    ledger.same(
        f"{name}.unit_subscription_list_usd", line.unit_subscription_list_usd, price.per_year_usd
    )
    ledger.equal(f"{name}.support_level", line.support_level, support_asked(basis, item.id))
    share = getattr(sold, "share", None)
    ledger.same(f"{name}.support_share", line.support_share, share)
    ledger.same(f"{name}.support_years", line.support_years, years)
    # What the price includes may outlast the support that is asked for.
    since = (start, 0.0 if end is None else min(start, end))
    ledger.one_of(f"{name}.support_from_years", line.support_from_years, since)
    ledger.equal(f"{name}.lead_time", line.lead_time, price.lead_time)
    ledger.same(f"{name}.lead_time_days", line.lead_time_days, price.lead_time_days)
    if line.price is None:
        ledger.fail(f"{name}.price: where the price comes from is missing")
    else:
        ledger.equal(f"{name}.price.date", line.price.date, price.date)
        ledger.equal(f"{name}.price.confidence", line.price.confidence, price.confidence)
        ledger.equal(f"{name}.price.valid_until", line.price.valid_until, price.valid_until)
        ledger.equal(f"{name}.price.currency", line.price.currency, price.currency)
        ledger.equal(f"{name}.min_order", line.min_order, price.min_order or None)
        _check_range(ledger, name, price, line.price)


def _check_range(ledger: Ledger, name: str, price: Price, note: PriceNote) -> None:
    """Check between what a quote may come in, as far as the book says so."""
    for field in ("low_usd", "high_usd", "per_year_low_usd", "per_year_high_usd"):
        ledger.same(f"{name}.price.{field}", getattr(note, field), getattr(price, field))


def _check_no_money(ledger: Ledger, name: str, line: Line) -> None:
    """Without a price no money is known; nothing bought costs nothing, or is left open."""
    ledger.same(f"{name}.unit_list_usd", line.unit_list_usd, None)
    ledger.same(f"{name}.unit_net_usd", line.unit_net_usd, None)
    for field in MONEY_FIELDS:
        ledger.one_of(f"{name}.{field}", getattr(line, field), (None, 0.0))
    for field in ("support_share", "unit_subscription_list_usd", "support_level", "min_order"):
        ledger.equal(f"{name}.{field}", getattr(line, field), None)
    ledger.require(line.price is None, f"{name}.price: the item has no price")


def check_consumption(ledger: Ledger, basis: Basis, name: str, item: Item, line: Line) -> None:
    """Check power, heat, height and weight, per unit and for the line.

    Args:
        ledger: takes the disagreements.
        basis: the problem and the catalogs.
        name: the line's place in the plan.
        item: what the line is for.
        line: the line to check.
    """
    count = line.quantity
    power_kw, pue = basis.drawn_kw(item), basis.pue(item)
    heat = None if power_kw is None else power_kw * BTU_PER_H_PER_KW
    pairs = (
        ("unit_it_power_kw", "it_power_kw", power_kw),
        ("unit_heat_btu_per_h", "heat_btu_per_h", heat),
        ("unit_typical_power_kw", "typical_power_kw", basis.typically_drawn_kw(item)),
        *((row.of_one, name, basis.unit_stated(item, name)) for name, row in STATED.items()),
    )
    for unit_field, line_field, unit in pairs:
        ledger.same(f"{name}.{unit_field}", getattr(line, unit_field), unit)
        total = None if unit is None else unit * count
        ledger.same(f"{name}.{line_field}", getattr(line, line_field), total)
    meter_kw = None if power_kw is None else power_kw * count * pue
    ledger.same(f"{name}.facility_power_kw", line.facility_power_kw, meter_kw)
    ledger.same(f"{name}.liquid_share", line.liquid_share, basis.liquid_share(item))
