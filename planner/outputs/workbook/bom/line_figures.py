"""What the plan says of a line of the bill, by column, and what its cells are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.outputs import scope
from planner.outputs.restated import listed
from planner.outputs.scope import CORE_SECTIONS
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
    """Return a formula for the units of a line in the cluster: without owned ones that stand idle.

    Args:
        line: the line.
        number: its number.
    """
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
        number: the line's number.
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


@dataclass(frozen=True)
class Paid:
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
        "unit_rack_units": line.unit_rack_units,
        "rack_units": line.rack_units,
        "racks": line.racks,
        "unit_weight": line.unit_weight_kg,
        "weight": line.weight_kg,
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


def lacking(line: Line, known: Mapping[str, float | None]) -> set[str]:
    """Return the columns whose sums are incomplete for want of a line's figure.

    Args:
        line: the line.
        known: its figures.
    """
    return {key for key in needed(line) if known[_RESTS_ON.get(key, key)] is None}


def needed(line: Line) -> tuple[str, ...]:
    """Return the totals that a line must state for a sum to be complete."""
    keys = ["extended_list", "extended_net", "support", "support_paid", "yearly", "rack_units"]
    keys += ["power", "typical", "liquid", "facility", "metered", "heat"]
    if line.section not in ("Software", "Services"):
        keys.append("weight")
    # Without a rack's size in the problem nothing can say how many racks a line takes. Companions
    # share racks, which no line of theirs can count.
    if line.rack_units is None and line.racks is None and line.section in CORE_SECTIONS:
        keys.append("racks")
    if line.section == "Storage":
        keys.append("usable")
    return tuple(keys)
