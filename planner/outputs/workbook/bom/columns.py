"""The columns of the bill of materials, in order."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

from xlsxwriter.utility import xl_col_to_name

from planner.outputs import scope
from planner.outputs.audience import Prices
from planner.outputs.words import in_money
from planner.outputs.workbook.formats import (
    DECIMAL_1,
    DECIMAL_1_OR_DASH,
    DECIMAL_2,
    DECIMAL_2_OR_DASH,
    DECIMAL_3,
    DECIMAL_3_OR_DASH,
    GENERAL,
    INTEGER,
    INTEGER_OR_DASH,
    PERCENT,
    PERCENT_OR_DASH,
    paid,
)
from planner.schema.plan import Plan


@dataclass(frozen=True)
class Column:
    """One column: what it holds, under which band, how wide in characters, how printed.

    ``total`` is the defined name of the column's grand total, empty where nothing is summed;
    ``when`` names what a plan or an edition must have for the column to be there, empty for always.
    """

    key: str
    band: str
    title: str
    width: float
    number: str = GENERAL
    total: str = ""
    when: str = ""


_POWER, _SPACE, _DETAIL = "Power and heat", "Space and weight", "Price in detail, USD"
_PLANT, _TERM = "At the plant", "Support over the term"
_SUBSCRIBED = "Subscriptions, USD"

# What is printed comes first and is the same for every problem, as is what the next bands hold.
# What only some problems have stands at the end, so that no column before it ever moves.
ALL: tuple[Column, ...] = (
    Column("line", "Item", "Line", 5.5),
    Column("part_number", "Item", "Part number", 20),
    Column("vendor", "Item", "Manufacturer", 12),
    Column("model", "Item", "Model and description", 44),
    Column("unit", "Quantity", "Unit", 7),
    Column("quantity", "Quantity", "Quantity", 9.5, INTEGER),
    Column("purchased", "Quantity", "Purchased", 10, INTEGER),
    Column("unit_list", "Price, USD", "Unit list", 13, DECIMAL_2, when="list"),
    Column("discount", "Price, USD", "Discount", 9, PERCENT_OR_DASH, when="discount"),
    Column("unit_net", "Price, USD", "Unit net", 13, DECIMAL_2, when="net"),
    Column("extended_net", "Price, USD", "Extended net", 16, DECIMAL_2_OR_DASH, "bom_capex_usd",
           "net"),
    Column("yearly", "Price, USD", "Support, subscription per year", 14.5, DECIMAL_2_OR_DASH,
           "bom_yearly_usd", "net"),
    Column("lead_time", "Delivery", "Lead time", 12),
    Column("section", "Count", "Section", 14),
    Column("spares", "Count", "Cold spares", 8, INTEGER_OR_DASH),
    Column("installed", "Count", "Installed", 9.5, INTEGER_OR_DASH),
    Column("pack", "Count", "Pack of", 7, INTEGER),
    Column("lead_days", "Count", "Lead time, days", 9, INTEGER_OR_DASH),
    Column("remark", "Count", "Remark", 24, when="inside"),
    Column("extended_list", _DETAIL, "Extended list", 16, DECIMAL_2, "bom_list_usd", "list"),
    Column("support_share", _DETAIL, "Support, share of net", 9, PERCENT, when="net"),
    Column("unit_support", _DETAIL, "Support per unit and year", 12.5, DECIMAL_2, when="net"),
    Column("support", _DETAIL, "Support per year", 14.5, DECIMAL_2, "bom_support_usd_per_year",
           "net"),
    Column("unit_power", _POWER, "kW each", 9, DECIMAL_3_OR_DASH),
    Column("power", _POWER, "kW total", 10, DECIMAL_1_OR_DASH, "bom_it_power_kw"),
    Column("heat", _POWER, "BTU/h total", 12, INTEGER_OR_DASH, "bom_heat_btu_per_h"),
    Column("unit_rack_units", _SPACE, "RU each", 8, DECIMAL_1_OR_DASH),
    Column("rack_units", _SPACE, "RU total", 10, DECIMAL_1_OR_DASH, "bom_rack_units"),
    Column("racks", _SPACE, "Racks", 8, INTEGER, "bom_racks"),
    Column("unit_weight", _SPACE, "kg each", 10, DECIMAL_1),
    Column("weight", _SPACE, "kg total", 11, DECIMAL_1, "bom_weight_kg"),
    Column("unit_gpus", "Performance", "GPUs each", 8, INTEGER),
    Column("gpus", "Performance", "GPUs total", 9, INTEGER, "bom_gpus"),
    Column("unit_read", "Performance", "Read GB/s each", 10, DECIMAL_2),
    Column("read", "Performance", "Read GB/s total", 11, DECIMAL_1, "bom_read_gb_per_s"),
    Column("unit_write", "Performance", "Write GB/s each", 10, DECIMAL_2),
    Column("write", "Performance", "Write GB/s total", 11, DECIMAL_1, "bom_write_gb_per_s"),
    Column("unit_usable", "Performance", "Usable TB each", 10, DECIMAL_1),
    Column("usable", "Performance", "Usable TB total", 12, DECIMAL_1, "bom_usable_tb"),
    Column("sku", "As solved", "Catalog id", 24, when="inside"),
    Column("solved_quantity", "As solved", "Solved quantity", 9.5, INTEGER),
    Column("solved_unit_list", "As solved", "Solved unit list", 13, DECIMAL_2, when="list"),
    Column("solved_discount", "As solved", "Solved discount", 9.5, PERCENT, when="discount"),
    Column("solved_installed", "As solved", "Solved installed", 9.5, INTEGER, when="inside"),
    Column("solved_spares", "As solved", "Solved cold spares", 9.5, INTEGER, when="inside"),
    Column("solved_lead_time", "As solved", "Solved lead time", 14, when="inside"),
    Column("unit_typical", _PLANT, "Typical kW each", 9, DECIMAL_3_OR_DASH, when="typical"),
    Column("typical", _PLANT, "Typical kW total", 10, DECIMAL_1_OR_DASH, "bom_typical_power_kw",
           "typical"),
    Column("liquid_share", _PLANT, "Heat to liquid", 8, PERCENT_OR_DASH, when="liquid"),
    Column("liquid", _PLANT, "Liquid kW", 10, DECIMAL_1_OR_DASH, "bom_heat_liquid_kw", "liquid"),
    Column("facility", _PLANT, "kW at the meter", 10, DECIMAL_1_OR_DASH, "bom_facility_power_kw",
           "facility"),
    Column("metered", _PLANT, "Typical kW at meter", 10, DECIMAL_1_OR_DASH, "bom_energy_kw",
           "metered"),
    Column("subscription_list", _SUBSCRIBED, "Per unit and year, list", 12.5, DECIMAL_2,
           when="subscription_list"),
    Column("unit_subscription", _SUBSCRIBED, "Per unit and year, net", 12.5, DECIMAL_2,
           when="subscription"),
    Column("subscription", _SUBSCRIBED, "Subscription per year", 14.5, DECIMAL_2_OR_DASH,
           "bom_subscriptions_usd_per_year", "subscription"),
    Column("support_from", _TERM, "Paid from year", 8, DECIMAL_2, when="over_time"),
    Column("support_until", _TERM, "Paid until year", 8, DECIMAL_2, when="over_time"),
    Column("support_factor", _TERM, "Years, discounted", 11, DECIMAL_3, when="over_time"),
    Column("support_paid", _TERM, "Support over the term", 15, DECIMAL_2_OR_DASH,
           "bom_support_usd_over_term", "over_time"),
    Column("length", "Cables", "Length, m", 8, DECIMAL_1, when="lengths"),
)  # fmt: skip

LAST_PRINTED = "lead_time"
"""The last column of the quote; those to its right are for the screen and for formulas."""


_MONEY = frozenset(
    (
        "unit_list", "unit_net", "extended_net", "yearly", "extended_list", "unit_support",
        "support", "solved_unit_list", "subscription_list", "unit_subscription", "subscription",
        "support_paid",
    )
)  # fmt: skip
"""Columns of amounts."""


def _in_its_currency(column: Column) -> Column:
    number = paid(column.number) if column.key in _MONEY else column.number
    return replace(column, band=in_money(column.band), number=number)


class Columns:
    """The columns that a plan needs, and where they are."""

    def __init__(self, shown: Collection[str]) -> None:
        there = (column for column in ALL if not column.when or column.when in shown)
        self.listed = tuple(map(_in_its_currency, there))
        self.index = {column.key: index for index, column in enumerate(self.listed)}
        self.number = {column.key: column.number for column in self.listed}
        self.width = {column.key: column.width for column in self.listed}
        self.summed = tuple(column for column in self.listed if column.total)
        self.last = len(self.listed) - 1
        self.every = frozenset(range(len(self.listed)))

    def has(self, key: str) -> bool:
        """Return whether the column is there."""
        return key in self.index

    def at(self, key: str, row: int) -> str:
        """Return the address of a cell.

        Args:
            key: the column's key.
            row: zero-based row.
        """
        return f"{self.letters[key]}{row + 1}"

    def span(self, key: str, first: int, last: int) -> str:
        """Return the absolute range of a column between two zero-based rows, both included."""
        letter = self.letters[key]
        return f"${letter}${first + 1}:${letter}${last + 1}"

    @cached_property
    def letters(self) -> dict[str, str]:
        """The letter of each column by key."""
        return {key: xl_col_to_name(index) for key, index in self.index.items()}


def find_needs(plan: Plan, prices: Prices = "all") -> frozenset[str]:
    """Return what a plan and an edition have that needs columns of its own.

    Args:
        plan: the plan.
        prices: which prices the edition shows.
    """
    full, solved = scope.complete(plan), bool(plan.jobs)
    has = {
        "inside": prices == "all",
        "net": prices != "none",
        "list": prices in ("all", "discount", "list+net"),
        "discount": prices in ("all", "discount"),
        "subscription": prices != "none" and scope.subscribed(plan),
        "subscription_list": prices in ("all", "discount") and scope.subscribed(plan),
        "over_time": prices == "all" and solved and scope.over_time(plan),
        "typical": full or plan.site.energy_basis == "typical",
        "liquid": scope.cooled_by_liquid(plan),
        "facility": solved and (full or scope.two_pues(plan)),
        "lengths": bool(plan.cabling),
        "metered": solved and plan.site.energy_basis == "typical",
    }
    return frozenset(key for key, there in has.items() if there)
