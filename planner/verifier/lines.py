"""The bill of materials, line by line: counts, money, power, heat, height and weight."""

from __future__ import annotations

from collections.abc import Mapping

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
    is_percentage,
    ordered,
    purchased,
    sale,
    spare_parts,
    subscription_usd_per_year,
    support_usd_per_year,
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
    """Re-compute every line, and require one for everything that is needed."""
    _check_needed(ledger, basis, companions, plan)
    standing = {each.sku: each for each in companions.room.sets if each.sku is not None}
    parts = spare_parts(basis, decisions.counts)
    for line in plan.lines:
        if line.parent is None and basis.items[line.sku].category == "component":
            _check_spare_parts(ledger, basis, line, parts.pop(line.sku, 0))
            _check_public_notes(ledger, basis, line)
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
    known = sale(basis, item)
    _check_description(ledger, basis, name, item, line, "Components")
    for field in ("quantity", "idle", "racks", "rack_class", "gpus", "usable_tb"):
        ledger.require(not getattr(line, field), f"{name}.{field}: the parts lie in store")
    ledger.require(count > 0, f"{name}: nothing in the plan needs it")
    counts = {
        "installed": known.owned,
        "spares": count,
        "pack": known.pack,
        "purchased": ordered(basis, item, count),
    }
    ledger.all_equal(name, vars(line), counts)
    check_line_money(ledger, basis, name, item, line)
    check_consumption(ledger, basis, name, item, line)


def _check_line(
    ledger: Ledger, basis: Basis, decisions: Decisions, line: Line, standing: dict[str, RackSet]
) -> None:
    item, name = basis.items[line.sku], f"lines.{line.sku}"
    known = sale(basis, item)
    # Companions are counted one by one; of what the plan decides more may stand than is used.
    working = decisions.counts.get(line.sku, line.quantity)
    in_place = decisions.standing.get(line.sku, line.quantity)
    alone, share = standing.get(line.sku), basis.provisioned.get(line.sku)
    rests_on = working, in_place, None if alone is None else alone.racks, share
    if basis.right.get(id(line)) == (line, rests_on):
        return
    before = len(ledger.disagreements)
    _check_description(ledger, basis, name, item, line, _SECTIONS[item.category])
    counts = {
        "quantity": in_place,
        "idle": in_place - working,
        "installed": known.owned,
        "spares": cold_spares(basis, item, working),
        "pack": known.pack,
        "purchased": purchased(basis, item, working),
    }
    ledger.all_equal(name, vars(line), counts)
    check_line_money(ledger, basis, name, item, line)
    check_consumption(ledger, basis, name, item, line)
    if item.category in DECIDED:
        placement = place(basis, item)
        racks = None if placement is None else placement.racks_for(line.quantity)
        ledger.same(f"{name}.racks", line.racks, racks)
        _check_units_per_rack(ledger, name, line, placement)
        ledger.equal(f"{name}.rack_class", line.rack_class, rack_class(item))
    else:
        _check_companion_racks(ledger, basis, name, item, line, alone)
    _check_provisions(ledger, name, item, line, working)
    _check_public_notes(ledger, basis, line)
    if len(ledger.disagreements) == before:
        basis.right[id(line)] = line, rests_on


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
    alone: RackSet | None,
) -> None:
    """Companions that share racks with others have no number of racks of their own."""
    whole = item.consumes.racks
    racks = None if alone is None else alone.racks
    if whole is not None:
        racks = whole.value * line.quantity
    stands = basis.problem.site.rack is not None and (whole or basis.unit_rack_units(item))
    ledger.all_same(name, vars(line), {"racks": racks})
    expected = {"units_per_rack": None, "rack_class": "network" if stands else None}
    ledger.all_equal(name, vars(line), expected)


def _check_description(
    ledger: Ledger, basis: Basis, name: str, item: Item, line: Line, section: str
) -> None:
    expected = basis.known.kept("expected", item.id, (item,), lambda: _description_of(item))
    ledger.equal(f"{name}.section", line.section, section)
    ledger.all_equal(name, vars(line), expected)


def _description_of(item: Item) -> Mapping[str, object]:
    """Return what a line repeats of the catalog, whatever its count."""
    trade = {
        "country_of_origin": item.trade.origin,
        "hs_code": item.trade.hs_code,
        "export_class": item.trade.export_class,
        "warranty_years": item.trade.warranty_years,
    }
    return {
        "category": item.category,
        "vendor": item.vendor,
        "model": item.model,
        "part_number": item.part_number,
        "description": item.description,
        "site": "site",
        "period": 0,
        "lifecycle": None if item.lifecycle == "available" else item.lifecycle,
        **{field: None if each is None else each.value for field, each in trade.items()},
    }


def _check_provisions(ledger: Ledger, name: str, item: Item, line: Line, working: int) -> None:
    read, write = nameplate_gb_per_s(item, working) if working else (0.0, 0.0)
    usable = usable_tb(item, working) if working else 0.0
    ledger.all_equal(name, vars(line), {"gpus": gpus(item, working)})
    provided = {
        "read_gb_per_s": read,
        "write_gb_per_s": write,
        "usable_tb": usable if item.category == "storage" else None,
    }
    ledger.all_same(name, vars(line), provided)


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
        _check_public_notes(ledger, basis, line)
    for parent, part in expected:
        ledger.fail(f"lines.{parent}.{part}: the component has no line")


def _check_component(
    ledger: Ledger, basis: Basis, name: str, line: Line, parent: Line, per_unit: int
) -> None:
    item = basis.items[line.sku]
    _check_description(ledger, basis, name, item, line, "Components")
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
        name: the line's place in the plan.
    """
    known, said = sale(basis, item), vars(line)
    start, end = known.start, known.end
    years = None if end is None else max(0.0, end - start)
    price, unit = known.price, known.unit
    if price is None or unit is None:
        _check_no_money(ledger, name, line)
        ledger.one_of(f"{name}.support_years", line.support_years, (years, None, 0.0))
        ledger.same(f"{name}.support_from_years", line.support_from_years, 0.0)
        ledger.same(f"{name}.lead_time_days", line.lead_time_days, None)
        return
    ledger.all_same(name, said, {"unit_list_usd": unit.list_usd, "discount": unit.discount})
    net_usd = line.unit_net_usd if line.unit_net_usd in unit.net_usd else unit.net_usd[0]
    assert net_usd is not None
    bought = line.purchased
    extended = [each * bought for each in unit.listed_usd]
    if not is_percentage(item):
        extended = [usd for each in extended for usd in cents(each, basis.money)]
    ledger.any_of(name, said, {"unit_net_usd": unit.net_usd, "extended_list_usd": extended})
    ledger.all_same(name, said, {"extended_net_usd": net_usd * bought})
    paid = {
        "support_usd_per_year": support_usd_per_year(known.support, net_usd, bought, basis.money),
        "subscription_usd_per_year": subscription_usd_per_year(
            price, unit.discount, bought, basis.money
        ),
    }
    ledger.any_of(name, said, paid)
    ledger.all_same(name, said, {"unit_subscription_list_usd": price.per_year_usd})
    ledger.all_equal(name, said, {"support_level": known.support_level})
    share = getattr(known.support, "share", None)
    ledger.all_same(name, said, {"support_share": share, "support_years": years})
    # What the price includes may outlast the support that is asked for.
    since = (start, 0.0 if end is None else min(start, end))
    ledger.any_of(name, said, {"support_from_years": since})
    ledger.all_equal(name, said, {"lead_time": price.lead_time})
    ledger.all_same(name, said, {"lead_time_days": price.lead_time_days})
    if line.price is None:
        ledger.fail(f"{name}.price: where the price comes from is missing")
    else:
        _check_note(ledger, name, price, line, line.price)


def _check_note(ledger: Ledger, name: str, price: Price, line: Line, note: PriceNote) -> None:
    """Check where the price comes from, and what a quote may come in between, as the book says."""
    exact = {
        "date": price.date,
        "confidence": price.confidence,
        "valid_until": price.valid_until,
        "currency": price.currency,
    }
    ledger.all_equal(f"{name}.price", vars(note), exact)
    ledger.all_equal(name, vars(line), {"min_order": price.min_order or None})
    ends = {
        "low_usd": price.low_usd,
        "high_usd": price.high_usd,
        "per_year_low_usd": price.per_year_low_usd,
        "per_year_high_usd": price.per_year_high_usd,
    }
    ledger.all_same(f"{name}.price", vars(note), ends)


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
        name: the line's place in the plan.
    """
    count, figures = line.quantity, basis.of_unit(item)
    power_kw = basis.drawn_kw(item)
    heat = None if power_kw is None else power_kw * BTU_PER_H_PER_KW
    units = {
        "it_power_kw": power_kw,
        "heat_btu_per_h": heat,
        "typical_power_kw": basis.typically_drawn_kw(item),
        **{stated: basis.unit_stated(item, stated) for stated in STATED},
    }
    computed: dict[str, float | None] = {}
    for field, unit in units.items():
        computed[f"unit_{field}"] = unit
        computed[field] = None if unit is None else unit * count
    computed["facility_power_kw"] = None if power_kw is None else power_kw * count * figures.pue
    computed["liquid_share"] = figures.liquid_share
    ledger.all_same(name, vars(line), computed)
