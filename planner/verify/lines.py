"""The bill of materials, line by line."""

from __future__ import annotations

from planner.schema.catalog import Component, Item
from planner.schema.plan import Line, Plan
from planner.verify.bandwidth import gpus, nameplate_gb_per_s, usable_tb
from planner.verify.basis import Basis
from planner.verify.decisions import Decisions
from planner.verify.ledger import Ledger
from planner.verify.money import cents, support_usd_per_year, unit_money
from planner.verify.racks import place

BTU_PER_H_PER_KW = 3412.14

_SECTIONS = {"gpu_system": "Compute", "storage": "Storage", "component": "Components"}
_MONEY_FIELDS = ("extended_list_usd", "extended_net_usd", "support_usd_per_year")


def check_lines(ledger: Ledger, basis: Basis, decisions: Decisions, plan: Plan) -> None:
    """Re-compute every line.

    Args:
        ledger: takes the disagreements.
        basis: the problem and the catalogs.
        decisions: what the plan decided.
        plan: the plan to check.
    """
    for line in plan.lines:
        if line.parent is None:
            _check_line(ledger, basis, line)
    _check_components(ledger, basis, decisions, plan)


def _check_line(ledger: Ledger, basis: Basis, line: Line) -> None:
    item, name = basis.items[line.sku], f"lines.{line.sku}"
    _check_description(ledger, name, item, line, _SECTIONS[item.category])
    installed = basis.demanded(line.sku).installed
    ledger.equal(f"{name}.installed", line.installed, installed)
    ledger.equal(f"{name}.purchased", line.purchased, max(0, line.quantity - installed))
    _check_money(ledger, basis, name, item, line)
    _check_consumption(ledger, basis, name, item, line)
    _check_racks(ledger, basis, name, item, line)
    _check_provisions(ledger, name, item, line)


def _check_description(ledger: Ledger, name: str, item: Item, line: Line, section: str) -> None:
    expected = {
        "section": section,
        "vendor": item.vendor,
        "model": item.model,
        "part_number": item.part_number,
        "description": item.description,
        "site": "site",
        "period": 0,
    }
    for field, value in expected.items():
        ledger.equal(f"{name}.{field}", getattr(line, field), value)


def _check_money(ledger: Ledger, basis: Basis, name: str, item: Item, line: Line) -> None:
    price = basis.prices.get(line.sku)
    if price is None:
        _check_no_money(ledger, name, line)
        return
    unit = unit_money(basis, item, price)
    ledger.same(f"{name}.unit_list_usd", line.unit_list_usd, unit.list_usd)
    ledger.same(f"{name}.discount", line.discount, unit.discount)
    ledger.one_of(f"{name}.unit_net_usd", line.unit_net_usd, unit.net_usd)
    net_usd = line.unit_net_usd if line.unit_net_usd in unit.net_usd else unit.net_usd[0]
    assert net_usd is not None
    bought = line.purchased
    extended = cents(unit.list_usd * bought)
    ledger.one_of(f"{name}.extended_list_usd", line.extended_list_usd, extended)
    ledger.same(f"{name}.extended_net_usd", line.extended_net_usd, net_usd * bought)
    support = support_usd_per_year(price, net_usd, bought)
    ledger.one_of(f"{name}.support_usd_per_year", line.support_usd_per_year, support)
    ledger.equal(f"{name}.lead_time", line.lead_time, price.lead_time)
    if line.price is None:
        ledger.fail(f"{name}.price: where the price comes from is missing")
    else:
        ledger.equal(f"{name}.price.date", line.price.date, price.date)
        ledger.equal(f"{name}.price.confidence", line.price.confidence, price.confidence)


def _check_no_money(ledger: Ledger, name: str, line: Line) -> None:
    """Without a price nothing is bought; nothing bought costs nothing, or is left open."""
    ledger.same(f"{name}.unit_list_usd", line.unit_list_usd, None)
    ledger.same(f"{name}.unit_net_usd", line.unit_net_usd, None)
    for field in _MONEY_FIELDS:
        ledger.one_of(f"{name}.{field}", getattr(line, field), (None, 0.0))
    ledger.require(line.price is None, f"{name}.price: the item has no price")


def _check_consumption(ledger: Ledger, basis: Basis, name: str, item: Item, line: Line) -> None:
    """Check power, heat, height and weight, per unit and for the line."""
    count = line.quantity
    power_kw = basis.unit_it_power_kw(item)
    heat = None if power_kw is None else power_kw * BTU_PER_H_PER_KW
    pairs = (
        ("unit_it_power_kw", "it_power_kw", power_kw),
        ("unit_heat_btu_per_h", "heat_btu_per_h", heat),
        ("unit_rack_units", "rack_units", basis.unit_rack_units(item)),
        ("unit_weight_kg", "weight_kg", basis.unit_weight_kg(item)),
    )
    for unit_field, line_field, unit in pairs:
        ledger.same(f"{name}.{unit_field}", getattr(line, unit_field), unit)
        total = None if unit is None else unit * count
        ledger.same(f"{name}.{line_field}", getattr(line, line_field), total)


def _check_racks(ledger: Ledger, basis: Basis, name: str, item: Item, line: Line) -> None:
    placement = place(basis, item)
    racks = None if placement is None else placement.racks_for(line.quantity)
    ledger.same(f"{name}.racks", line.racks, racks)


def _check_provisions(ledger: Ledger, name: str, item: Item, line: Line) -> None:
    read, write = nameplate_gb_per_s(item, line.quantity)
    ledger.equal(f"{name}.gpus", line.gpus, gpus(item, line.quantity))
    ledger.same(f"{name}.read_gb_per_s", line.read_gb_per_s, read)
    ledger.same(f"{name}.write_gb_per_s", line.write_gb_per_s, write)
    usable = usable_tb(item, line.quantity) if item.category == "storage" else None
    ledger.same(f"{name}.usable_tb", line.usable_tb, usable)


def _check_components(ledger: Ledger, basis: Basis, decisions: Decisions, plan: Plan) -> None:
    """Require each bundle's components exactly once, in the right number, without money."""
    expected: dict[tuple[str, str], Component] = {}
    for sku, count in decisions.counts.items():
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
    _check_consumption(ledger, basis, name, item, line)
    for field in ("unit_list_usd", "unit_net_usd", *_MONEY_FIELDS):
        value = getattr(line, field)
        ledger.require(not value, f"{name}.{field}: the money is in the bundle's line, not here")
    for field in ("gpus", "read_gb_per_s", "write_gb_per_s", "usable_tb", "racks"):
        value = getattr(line, field)
        ledger.require(not value, f"{name}.{field}: counted in the bundle's line, not here")
