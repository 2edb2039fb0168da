"""The columns of the bill of materials, and what the plan says of a line in each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from xlsxwriter.utility import xl_col_to_name

from planner.figures import STATED, capital
from planner.outputs import scope
from planner.outputs.audience import Prices
from planner.outputs.restated import listed
from planner.outputs.scope import CORE_SECTIONS
from planner.outputs.words import in_money
from planner.outputs.workbook.cells import (
    DECIMAL_1,
    DECIMAL_1_OR_DASH,
    DECIMAL_2,
    DECIMAL_2_OR_DASH,
    DECIMAL_3,
    DECIMAL_3_OR_DASH,
    DISCOUNT,
    GENERAL,
    INTEGER,
    INTEGER_OR_DASH,
    PERCENT,
    PERCENT_OR_DASH,
    paid,
)
from planner.schema.plan import Line, Plan

PER_UNIT = {
    "gpus": "unit_gpus",
    "read": "unit_read",
    "write": "unit_write",
    "usable": "unit_usable",
}
"""Totals that the plan states per line, and the column of their value per unit."""


def quantity_name(number: int) -> str:
    """Return the defined name of the quantity cell of a line."""
    return f"bom_quantity_{number}"


def working_name(line: Line, number: int) -> str:
    """Return a formula for the units of a line in the cluster, less owned ones that stand idle."""
    return without_idle(line, quantity_name(number))


def without_idle(line: Line, quantity: str) -> str:
    """Return a formula for what is left of a quantity without the line's idle units."""
    return f"MAX(0,{quantity}-{line.idle})" if line.idle else quantity


NAMED = ("unit_net", "unit_power", "power", "unit_rack_units", "racks", "extended_net",
         "unit_gpus", "gpus", "unit_read", "read", "unit_write", "write",
         "unit_usable")  # fmt: skip
"""Cells of a line of GPU systems or storage that have a name, for other sheets to read."""


SPANS = ("support", "support_from", "support_until")
"""Columns whose cells have a name together, ``bom_<key>_column``, where support has its times."""


def figure_name(key: str, number: int) -> str:
    """Return the defined name of a figure of a line of GPU systems or storage.

    Args:
        key: one of `NAMED`.
    """
    return f"bom_{key}_{number}"


def purchased_name(number: int) -> str:
    """Return the defined name of what is bought of a line whose stock is limited."""
    return f"bom_purchased_{number}"


def installed_name(number: int) -> str:
    """Return the defined name of what is installed of a line that a limit holds to it."""
    return f"bom_installed_{number}"


def has_stock(plan: Plan, line: Line) -> bool:
    """Return whether there is a limited stock of what a line buys."""
    return scope.limited(plan, f"stock.{line.sku}")


def job_gpus(plan: Plan) -> int:
    """Return the GPUs of the bill that the job can use, of the types it uses."""
    if not plan.jobs:
        return 0
    job = plan.jobs[0]
    lines = [line for line in scope.own_lines(plan) if line.gpus and line.sku in job.gpu_types]
    return sum(job.most_gpus(line.sku, line.working) for line in lines)


class Paid(NamedTuple):
    """When in the term the support of a line is paid; ``whole`` where it is to the very end."""

    since_years: float
    until_years: float
    whole: bool


def paid_support(plan: Plan, line: Line) -> Paid:
    """Return when a line's support is paid, by default the whole term."""
    years = plan.site.years or 0.0
    since = min(line.support_from_years, years)
    if line.support_years is None:
        return Paid(since, years, True)
    until = since + line.support_years
    return Paid(since, min(until, years), line.support_years > 0 and until > years - 1e-9)


def least_order(line: Line) -> int:
    """Return the units bought at least, 0 where no more is bought than is needed, in packs."""
    need = max(0, line.working + line.spares - line.installed)
    return line.purchased if line.purchased > line.pack * -(-need // line.pack) else 0


def figures(line: Line) -> dict[str, float | None]:
    """Return what the plan says of a line by column, None where it is not known.

    Nothing purchased costs nothing, whether or not there is a price.
    """
    return _money_figures(line) | _physical(line) | _performance(line)


def _money_figures(line: Line) -> dict[str, float | None]:
    bought = line.purchased > 0
    support = line.support_usd_per_year if bought else 0.0
    yearly = line.subscription_usd_per_year
    return {
        "unit_list": listed(line),
        "unit_net": line.unit_net_usd,
        "extended_list": line.extended_list_usd if bought else 0.0,
        "extended_net": line.extended_net_usd if bought else 0.0,
        "unit_support": _each(line.support_usd_per_year, line.purchased),
        "support": support,
        "unit_subscription": _each(yearly, line.purchased),
        "subscription": yearly,
        "yearly": None if support is None else support + (yearly or 0.0),
        "subscription_list": line.unit_subscription_list_usd,
        "support_share": line.support_share,
        "lead_days": line.lead_time_days,
    }


def _physical(line: Line) -> dict[str, float | None]:
    typical = line.unit_typical_power_kw
    typical = line.unit_it_power_kw if typical is None else typical
    return {
        "unit_power": line.unit_it_power_kw,
        "power": line.it_power_kw,
        "unit_typical": typical,
        "liquid_share": line.liquid_share,
        "heat": line.heat_btu_per_h,
        "racks": line.racks,
        **{key: getattr(line, key) for row in STATED.values() for key in (row.of_one, row.name)},
    }


def _performance(line: Line) -> dict[str, float | None]:
    return {
        "gpus": line.gpus or None,
        "read": line.read_gb_per_s or None,
        "write": line.write_gb_per_s or None,
        "usable": line.usable_tb,
        "unit_gpus": _each(line.gpus or None, line.working),
        "unit_read": _each(line.read_gb_per_s or None, line.working),
        "unit_write": _each(line.write_gb_per_s or None, line.working),
        "unit_usable": _each(line.usable_tb, line.working),
    }


def _each(total: float | None, count: int) -> float | None:
    return None if total is None or count == 0 else total / count


_RESTS_ON = {
    "support_paid": "support",
    "yearly": "support",
    "liquid": "power",
    "facility": "power",
    "typical": "unit_typical",
    "metered": "unit_typical",
}
"""Columns of formulas, and the figure of the plan that each is known by."""


def lacking(line: Line, known: Mapping[str, float | None], *, racked: bool) -> set[str]:
    """Return the columns whose sums are incomplete for want of a line's figure.

    Args:
        known: its figures.
        racked: whether some lines of the plan are racks, so that what all take is asked.
    """
    found = {key for key in needed(line) if known[_RESTS_ON.get(key, key)] is None}
    if racked and line.racks is None and line.section in CORE_SECTIONS:
        found.add("racks")
    return found


def needed(line: Line) -> tuple[str, ...]:
    """Return the totals that a line must state for a sum to be complete."""
    keys = ["extended_list", "extended_net", "support", "support_paid", "yearly"]
    keys += ["power", "typical", "liquid", "facility", "metered", "heat"]
    if line.section not in ("Software", "Services"):
        keys += STATED
    # Without a rack's size in the problem nothing can say how many racks a line takes. Companions
    # share racks, which no line of theirs can count.
    if line.rack_units is None and line.racks is None and line.section in CORE_SECTIONS:
        keys.append("racks")
    if line.section == "Storage":
        keys.append("usable")
    return tuple(keys)


@dataclass(frozen=True)
class Column:
    """One column: what it holds, under which band, how wide in characters, how printed.

    ``total`` is the defined name of the column's grand total, empty where nothing is summed;
    ``when`` names what a plan or an edition must have for the column to be there, empty for always;
    ``field`` is that of a line where it holds just what the line says, a text or a number.
    """

    key: str
    band: str
    title: str
    width: float
    number: str = GENERAL
    total: str = ""
    when: str = ""
    field: str = ""


_POWER, _SPACE, _DETAIL = "Power and heat", "Space and weight", "Price in detail, USD"
_PLANT, _TERM = "At the plant", "Support over the term"
_SUBSCRIBED = "Subscriptions, USD"


def _stated(name: str) -> tuple[Column, Column]:
    """Return the columns of what catalogs state: of one unit, and of all of a line."""
    row, unit = STATED[name], STATED[name].figure.unit
    head = capital(unit) if row.figure.names_unit(unit) else unit
    return (
        Column(row.of_one, _SPACE, f"{head} each", 10, DECIMAL_1_OR_DASH),
        Column(name, _SPACE, f"{head} total", 11, DECIMAL_1_OR_DASH, f"bom_{name}"),
    )


# What is printed comes first and is the same for every problem, as is what the next bands hold.
# What only some problems have stands at the end, so that no column before it ever moves.
ALL: tuple[Column, ...] = (
    Column("line", "Item", "Line", 5.5),
    Column("part_number", "Item", "Part number", 20, field="part_number"),
    Column("vendor", "Item", "Manufacturer", 12, field="vendor"),
    Column("model", "Item", "Model and description", 44),
    Column("unit", "Quantity", "Unit", 7, field="unit"),
    Column("quantity", "Quantity", "Quantity", 9.5, INTEGER),
    Column("purchased", "Quantity", "Purchased", 10, INTEGER),
    Column("unit_list", "Price, USD", "Unit list", 13, DECIMAL_2, when="list"),
    Column("discount", "Price, USD", "Discount", 9, DISCOUNT, when="discount"),
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
    *_stated("rack_units"),
    Column("racks", _SPACE, "Racks", 8, INTEGER, "bom_racks"),
    *(column for name in STATED if name != "rack_units" for column in _stated(name)),
    Column("unit_gpus", "Performance", "GPUs each", 8, INTEGER),
    Column("gpus", "Performance", "GPUs total", 9, INTEGER, "bom_gpus"),
    Column("unit_read", "Performance", "Read GB/s each", 10, DECIMAL_2),
    Column("read", "Performance", "Read GB/s total", 11, DECIMAL_1, "bom_read_gb_per_s"),
    Column("unit_write", "Performance", "Write GB/s each", 10, DECIMAL_2),
    Column("write", "Performance", "Write GB/s total", 11, DECIMAL_1, "bom_write_gb_per_s"),
    Column("unit_usable", "Performance", "Usable TB each", 10, DECIMAL_1),
    Column("usable", "Performance", "Usable TB total", 12, DECIMAL_1, "bom_usable_tb"),
    Column("sku", "As solved", "Catalog id", 24, when="inside", field="sku"),
    Column("solved_quantity", "As solved", "Solved quantity", 9.5, INTEGER),
    Column("solved_unit_list", "As solved", "Solved unit list", 13, DECIMAL_2, when="list"),
    Column("solved_discount", "As solved", "Solved discount", 9.5, DISCOUNT, when="discount"),
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
