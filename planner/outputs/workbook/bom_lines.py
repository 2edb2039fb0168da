"""The plan's lines in the order of the sheet, and the figures each row shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from planner.schema.plan import Line, Plan, Section

PER_UNIT = {
    "gpus": "unit_gpus",
    "read": "unit_read",
    "write": "unit_write",
    "usable": "unit_usable",
}
"""Totals that the plan states per line, and the column of their value per unit."""


@dataclass(frozen=True)
class Entry:
    """A line of its own with its number and the components it is made of."""

    number: int
    line: Line
    parts: tuple[Line, ...]


@dataclass(frozen=True)
class Block:
    """One section of the bill of materials."""

    section: Section
    entries: tuple[Entry, ...]


def blocks(plan: Plan) -> list[Block]:
    """Return the sections that have lines; components follow the bundle they belong to."""
    bundles = {_key(line, line.sku) for line in plan.lines if line.parent is None}
    own = [
        line for line in plan.lines if line.parent is None or _key(line, line.parent) not in bundles
    ]
    result: list[Block] = []
    number = 0
    for section in get_args(Section):
        entries: list[Entry] = []
        for line in own:
            if line.section == section:
                number += 1
                entries.append(Entry(number, line, _parts(plan, line)))
        if entries:
            result.append(Block(section, tuple(entries)))
    return result


def quantity_name(number: int) -> str:
    """Return the defined name of the quantity cell of a line."""
    return f"bom_quantity_{number}"


def _key(line: Line, sku: str) -> tuple[str, str, int]:
    return sku, line.site, line.period


def _parts(plan: Plan, bundle: Line) -> tuple[Line, ...]:
    return tuple(
        line
        for line in plan.lines
        if line.parent is not None and _key(line, line.parent) == _key(bundle, bundle.sku)
    )


def figures(line: Line) -> dict[str, float | None]:
    """Return what the number columns show for a line, None where it is not known.

    Nothing purchased costs nothing, whether or not there is a price.
    """
    paid = line.purchased > 0
    return {
        "unit_list": line.unit_list_usd,
        "unit_net": line.unit_net_usd,
        "extended_list": line.extended_list_usd if paid else 0.0,
        "extended_net": line.extended_net_usd if paid else 0.0,
        "unit_support": _each(line.support_usd_per_year, line.purchased),
        "support": line.support_usd_per_year if paid else 0.0,
        "unit_power": line.unit_it_power_kw,
        "power": line.it_power_kw,
        "heat": line.heat_btu_per_h,
        "unit_rack_units": line.unit_rack_units,
        "rack_units": line.rack_units,
        "racks": line.racks,
        "unit_weight": line.unit_weight_kg,
        "weight": line.weight_kg,
        "gpus": line.gpus or None,
        "read": line.read_gb_per_s or None,
        "write": line.write_gb_per_s or None,
        "usable": line.usable_tb,
        "unit_gpus": _each(line.gpus or None, line.quantity),
        "unit_read": _each(line.read_gb_per_s or None, line.quantity),
        "unit_write": _each(line.write_gb_per_s or None, line.quantity),
        "unit_usable": _each(line.usable_tb, line.quantity),
    }


def _each(total: float | None, count: int) -> float | None:
    return None if total is None or count == 0 else total / count


def needed(line: Line) -> tuple[str, ...]:
    """Return the totals that a line must state for a sum to be complete."""
    keys = ["extended_list", "extended_net", "support", "power", "heat", "rack_units", "weight"]
    # Without a rack's size in the problem nothing can say how many racks a line takes.
    if line.rack_units is None and line.racks is None:
        keys.append("racks")
    if line.section == "Storage":
        keys.append("usable")
    return tuple(keys)


_FLAGS = {
    "power": "power not known",
    "rack_units": "rack units not known",
    "weight": "weight not known",
    "usable": "usable capacity not known",
}


def note(line: Line, bundle: int | None) -> str:
    """Return the note of a line: what is not known of it, then its own notes.

    Args:
        line: the line.
        bundle: number of the line whose price and power include this one's, else None.
    """
    notes: list[str] = []
    if bundle is not None:
        notes.append(f"price, power, space and weight are counted in line {bundle}.0")
    elif line.unit_list_usd is None:
        notes.append("price not known")
    known = figures(line)
    wanted = needed(line) if bundle is None else ("power", "rack_units", "weight")
    notes += [text for key, text in _FLAGS.items() if key in wanted and known[key] is None]
    notes += line.notes
    if line.price is not None and line.price.note:
        notes.append(line.price.note)
    return "; ".join(text.rstrip(". ") for text in notes)
