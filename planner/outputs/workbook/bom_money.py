"""What a line of the bill costs: at once, by the year, and over the term."""

from __future__ import annotations

from planner.outputs.workbook import annuity
from planner.outputs.workbook.bom_lines import paid_support
from planner.outputs.workbook.bom_page import BomRow
from planner.schema.plan import Line, Plan

_DISCOUNT: dict[str, object] = {
    "validate": "decimal",
    "criteria": "between",
    "minimum": 0,
    "maximum": 1,
    "error_title": "Discount",
    "error_message": "A share of the list price between 0 % and 100 %.",
}


def add(row: BomRow, plan: Plan, line: Line, known: dict[str, float | None]) -> None:
    """Write the money of a line.

    Args:
        row: its row.
        plan: the plan.
        line: the line.
        known: its figures.
    """
    unit_list, unit_net, discount = row.at("unit_list"), row.at("unit_net"), row.at("discount")
    # A price that is not known may be filled in; one from a price book stays what its source says.
    priced = line.unit_list_usd is not None
    row.put("unit_list", known["unit_list"], "formula" if priced else "input")
    row.put("discount", line.discount, "input")
    row.validate("discount", _DISCOUNT)
    net = f'=IF(ISNUMBER({unit_list}),ROUND({unit_list}*(1-{discount}),2),"")'
    row.work_out("unit_net", net, known["unit_net"])
    row.put("unit_support", known["unit_support"])
    bought = row.at("purchased")
    for key, unit in (
        ("extended_list", unit_list),
        ("extended_net", unit_net),
        ("support", row.at("unit_support")),
    ):
        text = f'=IF({bought}=0,0,IF(ISNUMBER({unit}),ROUND({unit}*{bought},2),""))'
        row.work_out(key, text, known[key])
    _by_year(row, plan, line, known)


def _by_year(row: BomRow, plan: Plan, line: Line, known: dict[str, float | None]) -> None:
    """Write the subscription, and what support is worth over the term."""
    if known["unit_subscription"] is not None:
        row.put("unit_subscription", known["unit_subscription"])
        unit, bought = row.at("unit_subscription"), row.at("purchased")
        row.work_out("subscription", f"=ROUND({unit}*{bought},2)", known["subscription"])
    row.put("lead_days", known["lead_days"])
    if not row.has("support_paid"):
        return
    support, factor = row.at("support"), row.at("support_factor")
    if known["support"] != 0:
        paid = paid_support(plan, line)
        since, until = row.at("support_from"), row.at("support_until")
        row.put("support_from", paid.since_years)
        ends = "=years" if paid.whole else f"=MIN(years,{paid.until_years!r})"
        row.work_out("support_until", ends, paid.until_years)
        start = f"MIN({since},{until})" if paid.since_years > 0 else ""
        text = "=" + annuity.years_formula(until, start)
        row.work_out("support_factor", text, known["support_factor"])
    text = f'=IF(ISNUMBER({support}),{support}*N({factor}),"")'
    row.work_out("support_paid", text, known["support_paid"])
