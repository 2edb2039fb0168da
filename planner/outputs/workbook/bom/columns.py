"""The columns of the bill of materials, in order."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

from xlsxwriter.utility import xl_col_to_name

from planner.outputs import scope
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
)
from planner.schema.plan import Plan


@dataclass(frozen=True)
class Column:
    """One column: what it holds, under which band, how wide in characters, how printed.

    ``total`` is the defined name of the column's grand total, empty where nothing is summed;
    ``when`` names what a plan must have for the column to be there, empty for always; ``wide`` is
    the width where the bill is complete, 0 for the same.
    """

    key: str
    band: str
    title: str
    width: float
    number: str = GENERAL
    total: str = ""
    when: str = ""
    wide: float = 0.0


_COMPLETE = "complete"
_POWER, _TERM = "Power and heat", "Support over the term"

ALL: tuple[Column, ...] = (
    Column("line", "Item", "Line", 6),
    Column("section", "Item", "Section", 12),
    Column("vendor", "Item", "Manufacturer", 13),
    Column("part_number", "Item", "Part number", 16),
    Column("model", "Item", "Model and description", 35, wide=40),
    Column("quantity", "Quantity", "Quantity", 9.5, INTEGER),
    Column("unit", "Quantity", "Unit", 9, when="unit"),
    Column("spares", "Quantity", "Cold spares", 7.5, INTEGER_OR_DASH, when="spares"),
    Column("installed", "Quantity", "Installed", 9.5, INTEGER),
    Column("pack", "Quantity", "Pack of", 6.5, INTEGER, when="pack"),
    Column("purchased", "Quantity", "Purchased", 10.5, INTEGER),
    Column("unit_list", "Price, USD", "Unit list", 13.5, DECIMAL_2, when="money"),
    Column("discount", "Price, USD", "Discount", 9.5, PERCENT, when="money"),
    Column("unit_net", "Price, USD", "Unit net", 13.5, DECIMAL_2, when="money"),
    Column(
        "extended_list", "Cost, USD", "Extended list", 16, DECIMAL_2, "bom_list_usd", when="money"
    ),
    Column(
        "extended_net", "Cost, USD", "Extended net", 16, DECIMAL_2, "bom_capex_usd", when="money"
    ),
    Column("support_share", "Cost, USD", "Support, share of net", 8, PERCENT, when="support_share"),
    Column("unit_support", "Cost, USD", "Support per unit and year", 12.5, DECIMAL_2, when="money"),
    Column("support", "Cost, USD", "Support per year", 14.5, DECIMAL_2, "bom_support_usd_per_year",
           when="money"),
    Column("subscription_list", "Cost, USD", "Subscription per unit and year, list", 12.5,
           DECIMAL_2, when="subscription"),
    Column("unit_subscription", "Cost, USD", "Subscription per unit and year, net", 12.5,
           DECIMAL_2, when="subscription"),
    Column("subscription", "Cost, USD", "Subscription per year", 14.5, DECIMAL_2_OR_DASH,
           "bom_subscriptions_usd_per_year", "subscription"),
    Column("support_from", _TERM, "Paid from year", 8, DECIMAL_2, when="over_time"),
    Column("support_until", _TERM, "Paid until year", 8, DECIMAL_2, when="over_time"),
    Column("support_factor", _TERM, "Years, discounted", 11, DECIMAL_3, when="over_time"),
    Column("support_paid", _TERM, "Support over the term", 15, DECIMAL_2_OR_DASH,
           "bom_support_usd_over_term", "over_time"),
    Column("unit_power", _POWER, "kW each", 9, DECIMAL_3_OR_DASH),
    Column("power", _POWER, "kW total", 10, DECIMAL_1_OR_DASH, "bom_it_power_kw"),
    Column("unit_typical", _POWER, "Typical kW each", 9, DECIMAL_3_OR_DASH, when="typical"),
    Column("typical", _POWER, "Typical kW total", 10, DECIMAL_1_OR_DASH, "bom_typical_power_kw",
           "typical"),
    Column("liquid_share", _POWER, "Heat to liquid", 8, PERCENT_OR_DASH, when="liquid"),
    Column("liquid", _POWER, "Liquid kW", 10, DECIMAL_1_OR_DASH, "bom_heat_liquid_kw", "liquid"),
    Column("facility", _POWER, "kW at the meter", 10, DECIMAL_1_OR_DASH, "bom_facility_power_kw",
           "facility"),
    Column(
        "metered", _POWER, "Typical kW at meter", 10, DECIMAL_1_OR_DASH, "bom_energy_kw", "metered"
    ),
    Column("heat", _POWER, "BTU/h total", 12, INTEGER_OR_DASH, "bom_heat_btu_per_h"),
    Column("unit_rack_units", "Space and weight", "RU each", 8, DECIMAL_1_OR_DASH),
    Column("rack_units", "Space and weight", "RU total", 10, DECIMAL_1_OR_DASH, "bom_rack_units"),
    Column("racks", "Space and weight", "Racks", 8, INTEGER, "bom_racks"),
    Column("unit_weight", "Space and weight", "kg each", 10, DECIMAL_1),
    Column("weight", "Space and weight", "kg total", 11, DECIMAL_1, "bom_weight_kg"),
    Column("lead_time", "Delivery", "Lead time", 14),
    Column("lead_days", "Delivery", "Lead time, days", 8, INTEGER_OR_DASH, when="lead_days"),
    Column("remark", "Delivery", "Remark", 24, when="money"),
    Column("price_source", "Source of the price", "Price source", 17, wide=60, when="money"),
    Column("price_date", "Source of the price", "Price date", 11.5, when="money"),
    Column("confidence", "Source of the price", "Confi-\ndence", 9, when="money"),
    Column("note", "Notes", "Note", 36, wide=96),
    Column("unit_gpus", "Performance", "GPUs each", 8, INTEGER),
    Column("gpus", "Performance", "GPUs total", 9, INTEGER, "bom_gpus"),
    Column("unit_read", "Performance", "Read GB/s each", 10, DECIMAL_2),
    Column("read", "Performance", "Read GB/s total", 11, DECIMAL_1, "bom_read_gb_per_s"),
    Column("unit_write", "Performance", "Write GB/s each", 10, DECIMAL_2),
    Column("write", "Performance", "Write GB/s total", 11, DECIMAL_1, "bom_write_gb_per_s"),
    Column("unit_usable", "Performance", "Usable TB each", 10, DECIMAL_1),
    Column("usable", "Performance", "Usable TB total", 12, DECIMAL_1, "bom_usable_tb"),
    Column("sku", "As solved", "Catalog id", 24),
    Column("solved_quantity", "As solved", "Solved quantity", 9.5, INTEGER),
    Column("solved_unit_list", "As solved", "Solved unit list", 13.5, DECIMAL_2, when="money"),
    Column("solved_discount", "As solved", "Solved discount", 9.5, PERCENT, when="money"),
    Column("solved_installed", "As solved", "Solved installed", 9.5, INTEGER, when="money"),
    Column("solved_spares", "As solved", "Solved cold spares", 9.5, INTEGER, when="money"),
    Column("solved_lead_time", "As solved", "Solved lead time", 14, when="money"),
)  # fmt: skip


class Columns:
    """The columns that a plan needs, and where they are."""

    def __init__(self, shown: Collection[str]) -> None:
        needed = (column for column in ALL if not column.when or column.when in shown)
        wide = _COMPLETE in shown
        self.listed = tuple(
            replace(column, width=column.wide) if wide and column.wide else column
            for column in needed
        )
        self.index = {column.key: index for index, column in enumerate(self.listed)}
        self.number = {column.key: column.number for column in self.listed}
        self.width = {column.key: column.width for column in self.listed}
        self.summed = tuple(column for column in self.listed if column.total)
        self.last = len(self.listed) - 1

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


def find_needs(plan: Plan, *, money: bool = True) -> frozenset[str]:
    """Return what a plan has that needs columns of its own.

    Args:
        plan: the plan.
        money: whether this edition shows any.
    """
    lines = scope.own_lines(plan)
    full, solved = scope.complete(plan), bool(plan.jobs)
    has = {
        _COMPLETE: full,
        "money": money,
        "unit": any(line.unit != "each" for line in lines),
        "spares": money or any(line.spares for line in lines),
        "pack": any(line.pack > 1 for line in lines),
        "support_share": money and any(line.support_share is not None for line in lines),
        "subscription": money and scope.subscribed(plan),
        "lead_days": money
        or (
            any(line.lead_time_days is not None for line in lines)
            and (full or scope.limited(plan, "lead_time"))
        ),
        "over_time": money and solved and scope.over_time(plan),
        "typical": full or plan.site.energy_basis == "typical",
        "liquid": scope.cooled_by_liquid(plan),
        "facility": solved and (full or scope.two_pues(plan)),
        "metered": solved and plan.site.energy_basis == "typical",
    }
    return frozenset(key for key, there in has.items() if there)
