"""The bill of materials, line by line."""

from __future__ import annotations

from planner.schema.catalog import Component, Item
from planner.schema.plan import Line, Plan
from planner.verify.bandwidth import gpus, nameplate_gb_per_s, usable_tb
from planner.verify.basis import DECIDED, Basis
from planner.verify.companions import Companions
from planner.verify.consumption import check_consumption
from planner.verify.decisions import Decisions
from planner.verify.ledger import Ledger
from planner.verify.line_money import MONEY_FIELDS, check_line_money
from planner.verify.purchases import cold_spares, ordered, owned, pack_size, purchased, spare_parts
from planner.verify.racks import Placement, place, rack_class
from planner.verify.room import RackSet

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
}
_NOTHING_OF_ITS_OWN = (
    "support_share",
    "unit_subscription_list_usd",
    "support_years",
    "support_from_years",
    "lead_time_days",
    "rack_class",
    "price",
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
    told = {each.sku: each.units for each in plan.idle}
    unused = {sku: n - decisions.counts.get(sku, 0) for sku, n in decisions.standing.items()}
    ledger.equal("idle", told, {sku: count for sku, count in unused.items() if count > 0})
    ledger.equal("idle: entries", len(plan.idle), len(told))
    _check_components(ledger, basis, decisions, plan)


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
    for field in ("gpus", "read_gb_per_s", "write_gb_per_s", "usable_tb", "racks",
                  "units_per_rack", "idle"):  # fmt: skip
        value = getattr(line, field)
        ledger.require(not value, f"{name}.{field}: counted in the bundle's line, not here")
