"""Power, heat and space of the whole plan, as formulas over defined names."""

from __future__ import annotations

from planner.outputs import scope
from planner.outputs.workbook.book import Book
from planner.outputs.workbook.checkpoint import money as checkpoint_money
from planner.outputs.workbook.checkpoint.rows import Result, Results, from_bom
from planner.outputs.workbook.formats import (
    DECIMAL_1,
    DECIMAL_1_OR_DASH,
    INTEGER,
    INTEGER_OR_DASH,
)


def section(book: Book) -> Results:
    """Return the totals; a sum that lacks a line's figure carries its flag."""
    money = checkpoint_money.rows(book) if book.money else ()
    return ("Totals", (*_power(book), *_heat(book), *_space(book), *money))


def _power(book: Book) -> tuple[Result, ...]:
    rows = [from_bom(book, "it_power_kw", "IT power", "kW", DECIMAL_1)]
    if book.has("bom_typical_power_kw"):
        label = "IT power, typical (the maximum where it is not known)"
        rows.append(from_bom(book, "typical_power_kw", label, "kW", DECIMAL_1))
    rows.append(_facility(book))
    if book.has("bom_energy_kw"):
        label = "Typical power at the meter"
        label += ", what energy is charged on" if book.money else ""
        rows.append(from_bom(book, "energy_kw", label, "kW", DECIMAL_1))
    return tuple(rows)


def _facility(book: Book) -> Result:
    if book.has("bom_facility_power_kw"):
        row = from_bom(book, "facility_power_kw", "Facility power", "kW", DECIMAL_1)
        return row.explained("total of BOM: every line's IT power x its PUE")
    return Result(
        "facility_power_kw",
        "Facility power",
        "kW",
        "it_power_kw*pue",
        "IT power x PUE",
        DECIMAL_1,
        flag="bom_it_power_kw_flag",
        plan=book.total("facility_power_kw"),
    )


def _heat(book: Book) -> tuple[Result, ...]:
    rows = [from_bom(book, "heat_btu_per_h", "Heat", "BTU/h", INTEGER)]
    liquid = book.has("bom_heat_liquid_kw")
    if liquid:
        rows.append(from_bom(book, "heat_liquid_kw", "Heat to liquid", "kW", DECIMAL_1))
    if liquid or scope.limited(book.plan, "heat_air"):
        rows.append(
            Result(
                "heat_air_kw",
                "Heat to air",
                "kW",
                "it_power_kw-heat_liquid_kw" if liquid else "it_power_kw",
                "IT power less what goes to liquid; 1 kW is 3,412.14 BTU/h",
                DECIMAL_1,
                flag="bom_it_power_kw_flag",
                plan=book.total("heat_air_kw"),
            )
        )
    return tuple(rows)


def _space(book: Book) -> tuple[Result, ...]:
    rows = [
        from_bom(book, "racks", "Racks", "racks", INTEGER_OR_DASH),
        from_bom(book, "weight_kg", "Weight", "kg", INTEGER),
        from_bom(book, "usable_tb", "Usable capacity", "TB", DECIMAL_1_OR_DASH),
    ]
    if book.has("bom_lead_time_days"):
        row = from_bom(book, "lead_time_days", "Longest lead time of what is bought", "days")
        rows.append(row.explained("the upper end of what the suppliers say, on BOM"))
    return tuple(rows)
