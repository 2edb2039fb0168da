"""Power, heat, space and money of the whole plan, as formulas over defined names."""

from __future__ import annotations

from planner.outputs.workbook.book import Book, Scalar
from planner.outputs.workbook.checkpoint_rows import Result, Results
from planner.outputs.workbook.formats import (
    DECIMAL_1,
    DECIMAL_1_OR_DASH,
    DECIMAL_2,
    INTEGER,
    INTEGER_OR_DASH,
)
from planner.sizing.facility import HOURS_PER_YEAR


def section(book: Book) -> Results:
    """Return the totals; a sum that lacks a line's figure carries its flag."""
    return ("Totals", (*_site(book), *_money(book)))


def _from_bom(book: Book, name: str, label: str, unit: str, number: str) -> Result:
    bom = f"bom_{name}"
    value = book.value(bom)
    return Result(
        name, label, unit, value, bom, "total of BOM", number, flag=f"{bom}_flag", cross=True
    )


def _site(book: Book) -> tuple[Result, ...]:
    it_power_kw = book.number("bom_it_power_kw") or 0.0
    return (
        _from_bom(book, "it_power_kw", "IT power", "kW", DECIMAL_1),
        Result(
            "facility_power_kw",
            "Facility power",
            "kW",
            it_power_kw * book.plan.site.pue,
            "it_power_kw*pue",
            "IT power x PUE",
            DECIMAL_1,
            flag="bom_it_power_kw_flag",
        ),
        _from_bom(book, "heat_btu_per_h", "Heat", "BTU/h", INTEGER),
        _from_bom(book, "racks", "Racks", "racks", INTEGER_OR_DASH),
        _from_bom(book, "weight_kg", "Weight", "kg", INTEGER),
        _from_bom(book, "usable_tb", "Usable capacity", "TB", DECIMAL_1_OR_DASH),
    )


def _money(book: Book) -> tuple[Result, ...]:
    energy, opex, tco = _running_costs(book)
    return (
        _from_bom(book, "capex_usd", "Capex", "USD", DECIMAL_2),
        _from_bom(book, "support_usd_per_year", "Support per year", "USD/year", DECIMAL_2),
        Result(
            "energy_usd_per_year",
            "Energy per year",
            "USD/year",
            energy,
            f"facility_power_kw*{HOURS_PER_YEAR:g}*electricity_usd_per_kwh",
            f"facility power x {HOURS_PER_YEAR:,.0f} h x electricity price",
            DECIMAL_2,
            ("electricity_usd_per_kwh",),
            "bom_it_power_kw_flag",
        ),
        Result(
            "opex_usd_per_year",
            "Opex per year",
            "USD/year",
            opex,
            "support_usd_per_year+energy_usd_per_year",
            "support + energy",
            DECIMAL_2,
            ("energy_usd_per_year",),
            "bom_it_power_kw_flag&bom_support_usd_per_year_flag",
        ),
        Result(
            "tco_usd",
            "Total cost of ownership (TCO)",
            "USD",
            tco,
            "capex_usd+years*opex_usd_per_year",
            "capex + years x opex per year",
            DECIMAL_2,
            ("years", "opex_usd_per_year"),
            "bom_it_power_kw_flag&bom_support_usd_per_year_flag&bom_capex_usd_flag",
        ),
    )


def _running_costs(book: Book) -> tuple[Scalar, Scalar, Scalar]:
    """Return energy and opex per year and TCO in USD, None where an input is not given."""
    site = book.plan.site
    if site.electricity_usd_per_kwh is None:
        return None, None, None
    it_power_kw = book.number("bom_it_power_kw") or 0.0
    energy = it_power_kw * site.pue * HOURS_PER_YEAR * site.electricity_usd_per_kwh
    opex = energy + (book.number("bom_support_usd_per_year") or 0.0)
    if site.years is None:
        return energy, opex, None
    return energy, opex, (book.number("bom_capex_usd") or 0.0) + site.years * opex
