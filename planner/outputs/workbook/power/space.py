"""Rows of the sheet ``Power & Cooling`` on racks: how many, how dense, how heavy."""

from __future__ import annotations

from planner.outputs.workbook.book import Book
from planner.outputs.workbook.checkpoint.rows import Result
from planner.outputs.workbook.formats import DECIMAL_1, DECIMAL_2, INTEGER_OR_DASH
from planner.outputs.workbook.power.rows import Rows, ratio, same
from planner.schema.plan import RackGroup


def section(book: Book) -> Rows:
    """Return the rows on racks; what the placement says of single racks is as solved."""
    how = "from BOM; 0 where the problem says nothing of racks"
    mean_kw = ratio(
        "kw_per_rack",
        "Mean power of a rack",
        ("it_power_kw", "racks"),
        how="IT power / racks, optics and cables included",
        unit="kW",
        flag="bom_it_power_kw_flag",
    )
    mean_kg = ratio(
        "kg_per_rack",
        "Mean weight of a rack",
        ("weight_kg", "racks"),
        how="weight on BOM / racks; the racks' own weight where BOM has it",
        unit="kg",
        number=DECIMAL_1,
        flag="bom_weight_kg_flag",
    )
    return (
        "Racks",
        (
            same("racks", "Racks", "racks", how, INTEGER_OR_DASH, "bom_racks_flag"),
            mean_kw,
            *_extreme(book, "densest_rack_kw", "Densest rack", "kW"),
            mean_kg,
            *_extreme(book, "heaviest_rack_kg", "Heaviest rack", "kg"),
        ),
    )


def _extreme(book: Book, name: str, label: str, unit: str) -> tuple[Result, ...]:
    """Return the rack that draws or weighs most, where the plan places anything."""

    def figure(group: RackGroup) -> float | None:
        return group.it_power_kw if unit == "kW" else group.weight_kg

    known = [(value, group) for group in book.plan.racks if (value := figure(group)) is not None]
    if not known:
        return ()
    value, group = max(known, key=lambda pair: pair[0])
    limit = group.power_limit_kw if unit == "kW" else group.weight_limit_kg
    how = f"as solved: {_which(group)}" + ("" if limit is None else f", limit {limit:,g} {unit}")
    every = len(book.plan.racks)
    if len(known) < every:
        how += f"; not known of {every - len(known):,} of {every:,} kinds of rack"
    number = DECIMAL_2 if unit == "kW" else DECIMAL_1
    return (Result(name, label, unit, "", how, number, plan=value),)


def _which(group: RackGroup) -> str:
    if group.count == 1:
        return f"rack {group.first:,}"
    return f"racks {group.first:,} to {group.first + group.count - 1:,}, each"
