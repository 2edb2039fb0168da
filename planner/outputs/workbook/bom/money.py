"""What a line of the bill costs: at once, by the year, and over the term."""

from __future__ import annotations

from planner.outputs.workbook import formulas
from planner.outputs.workbook.bom.lines import paid_support
from planner.outputs.workbook.bom.page import BomRow
from planner.schema.plan import Line, Plan


def add(row: BomRow, plan: Plan, line: Line, known: dict[str, float | None]) -> None:
    """Write the money of a line.

    Args:
        row: its row.
        plan: the plan.
        line: the line.
        known: its figures.
    """
    if not row.has("unit_list"):
        return
    unit_list, unit_net, discount = row.at("unit_list"), row.at("unit_net"), row.at("discount")
    # A price that is not known may be filled in; one from a price book stays what its source says.
    if line.unit_list_usd is None:
        row.input("unit_list", line)
    else:
        row.put("unit_list", known["unit_list"])
    row.input("discount", line)
    net = f'=IF(ISNUMBER({unit_list}),ROUND({unit_list}*(1-{discount}),2),"")'
    row.work_out("unit_net", net, known["unit_net"])
    if line.support_share is None or line.purchased == 0:
        row.put("unit_support", known["unit_support"])
    else:
        row.put("support_share", line.support_share)
        text = f"=ROUND({row.at('support_share')}*{unit_net},2)"
        row.work_out("unit_support", text, known["unit_support"])
    bought = row.at("purchased")
    for key, unit in (
        ("extended_list", unit_list),
        ("extended_net", unit_net),
        ("support", row.at("unit_support")),
    ):
        text = f'=IF({bought}=0,0,IF(ISNUMBER({unit}),ROUND({unit}*{bought},2),""))'
        row.work_out(key, text, known[key])
    _by_year(row, plan, line, known)


def _unit_subscription(row: BomRow, known: dict[str, float | None]) -> None:
    listed = known["subscription_list"]
    if listed is None:
        row.put("unit_subscription", known["unit_subscription"])
        return
    row.put("subscription_list", listed)
    text = f"=ROUND({row.at('subscription_list')}*(1-{row.at('discount')}),2)"
    row.work_out("unit_subscription", text, known["unit_subscription"])


def _by_year(row: BomRow, plan: Plan, line: Line, known: dict[str, float | None]) -> None:
    """Write the subscription, and what support is worth over the term."""
    if known["unit_subscription"] is not None:
        unit, bought = row.at("unit_subscription"), row.at("purchased")
        _unit_subscription(row, known)
        row.work_out("subscription", f"=ROUND({unit}*{bought},2)", known["subscription"])
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
        row.work_out("support_factor", "=" + formulas.years(until, start))
    text = f'=IF(ISNUMBER({support}),{support}*N({factor}),"")'
    row.work_out("support_paid", text)
