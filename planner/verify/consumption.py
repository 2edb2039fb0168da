"""What a line draws, heats, weighs and measures, per unit and in all."""

from __future__ import annotations

from planner.schema.catalog import Item
from planner.schema.plan import Line
from planner.verify.basis import Basis
from planner.verify.ledger import Ledger

BTU_PER_H_PER_KW = 3412.14


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
    power_kw, pue = basis.unit_it_power_kw(item), basis.pue(item)
    heat = None if power_kw is None else power_kw * BTU_PER_H_PER_KW
    pairs = (
        ("unit_it_power_kw", "it_power_kw", power_kw),
        ("unit_heat_btu_per_h", "heat_btu_per_h", heat),
        ("unit_typical_power_kw", "typical_power_kw", basis.unit_typical_power_kw(item)),
        ("unit_rack_units", "rack_units", basis.unit_rack_units(item)),
        ("unit_weight_kg", "weight_kg", basis.unit_weight_kg(item)),
    )
    for unit_field, line_field, unit in pairs:
        ledger.same(f"{name}.{unit_field}", getattr(line, unit_field), unit)
        total = None if unit is None else unit * count
        ledger.same(f"{name}.{line_field}", getattr(line, line_field), total)
    meter_kw = None if power_kw is None else power_kw * count * pue
    ledger.same(f"{name}.facility_power_kw", line.facility_power_kw, meter_kw)
    ledger.same(f"{name}.liquid_share", line.liquid_share, basis.liquid_share(item))
