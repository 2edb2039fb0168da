"""The bill of materials as other programs read it. Columns are only ever added, at the end.

Money is in ``currency``. None is not known, never zero. The customer's edition has none of the
fields named in `MONEY_OF_LINES` and `MONEY_OF_TOTALS`.
"""

from __future__ import annotations

from typing import Literal

from planner.schema.base import Record
from planner.schema.plan import Section

SCHEMA_VERSION = 1


class BillLine(Record):
    """One line.

    ``line`` is the number on the workbook's sheet BOM. A line with a ``parent_line`` is a component
    of a bundle, or what is ordered in one length, ``length_m``, of what its parent counts: its
    power, height and weight are in its parent's too, and so is its money; sums leave it out.
    ``quantity`` is in place; ``purchased`` are the units bought, cold ``spares`` and whole packs
    included, less what is ``installed``. ``extended_list`` and ``extended_net`` are for what is
    purchased. A quote for a unit may come in from ``unit_list_low`` to ``unit_list_high``, before
    any discount; the range of a subscription is for what is purchased, less the discount.
    """

    line: str
    section: Section
    site: str
    period: int
    parent_line: str | None
    sku: str
    manufacturer: str
    part_number: str | None
    model: str
    description: str | None
    unit: str
    quantity: int
    spares: int
    installed: int
    pack: int
    purchased: int
    currency: str | None = None
    unit_list: float | None = None
    discount: float | None = None
    unit_net: float | None = None
    extended_list: float | None = None
    extended_net: float | None = None
    support_per_year: float | None = None
    subscription_per_year: float | None = None
    support_years: float | None = None
    price_source: str | None = None
    price_date: str | None = None
    price_confidence: str | None = None
    lead_time: str | None
    lead_time_days: float | None
    unit_it_power_kw: float | None
    it_power_kw: float | None
    heat_btu_per_h: float | None
    unit_rack_units: float | None
    rack_units: float | None
    racks: int | None
    unit_weight_kg: float | None
    weight_kg: float | None
    role: str | None
    notes: tuple[str, ...]
    length_m: float | None
    unit_list_low: float | None = None
    unit_list_high: float | None = None
    subscription_per_year_low: float | None = None
    subscription_per_year_high: float | None = None
    support_level: str | None = None
    support_from_years: float | None = None
    price_book: str | None = None
    price_valid_until: str | None = None
    category: str | None
    lifecycle: str | None
    min_order: int | None
    typical_power_kw: float | None
    country_of_origin: str | None
    hs_code: str | None
    export_class: str | None
    warranty_years: float | None


class BillTotals(Record):
    """Sums over the lines without a ``parent_line``; None where a line's figure is not known."""

    extended_list: float | None = None
    extended_net: float | None = None
    support_per_year: float | None = None
    subscription_per_year: float | None = None
    it_power_kw: float | None
    heat_btu_per_h: float | None
    rack_units: float | None
    racks: int | None
    weight_kg: float | None


class BillSums(Record):
    """The sums by section, and over all of them with the racks that sections share."""

    sections: dict[Section, BillTotals]
    grand: BillTotals


class Bill(Record):
    """A bill of materials."""

    schema_version: int = SCHEMA_VERSION
    problem: str
    currency: str | None = None
    audience: Literal["internal", "customer", "partner"]
    lines: tuple[BillLine, ...]
    totals: BillSums


MONEY_OF_LINES = frozenset(
    {
        "currency",
        "unit_list",
        "discount",
        "unit_net",
        "extended_list",
        "extended_net",
        "support_per_year",
        "subscription_per_year",
        "support_years",
        "price_source",
        "price_date",
        "price_confidence",
        "unit_list_low",
        "unit_list_high",
        "subscription_per_year_low",
        "subscription_per_year_high",
        "support_level",
        "support_from_years",
        "price_book",
        "price_valid_until",
    }
)
"""Fields of a line that the customer's edition does not have."""

MONEY_OF_TOTALS = frozenset(
    {"extended_list", "extended_net", "support_per_year", "subscription_per_year"}
)
"""Fields of a sum that the customer's edition does not have."""
