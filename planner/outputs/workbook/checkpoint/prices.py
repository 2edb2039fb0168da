"""The inputs of cost: what power, room and time are paid with."""

from __future__ import annotations

from planner.outputs import scope
from planner.outputs.workbook.checkpoint.rows import NOT_GIVEN, Input
from planner.outputs.workbook.formats import DECIMAL_1, DECIMAL_2, DECIMAL_3, PERCENT_2
from planner.schema.plan import Plan


def inputs(plan: Plan, *, money: bool) -> tuple[Input, ...]:
    """Return the inputs of cost, each where the plan has it; without money the PUE alone."""
    site = plan.site
    two = scope.two_pues(plan)
    label = "Power usage effectiveness (PUE)"
    rows = [
        Input(
            "pue",
            f"{label} of heat to air" if two else label,
            "",
            site.pue,
            DECIMAL_3,
            low=1.0,
            high=5.0,
        )
    ]
    if two:
        kind = f"{label} of heat to liquid"
        rows.append(Input("pue_liquid", kind, "", site.pue_liquid, DECIMAL_3, low=1.0, high=5.0))
    if not money:
        return tuple(rows)
    rows += [
        Input(
            "electricity_usd_per_kwh",
            "Electricity price",
            "USD/kWh",
            site.electricity_usd_per_kwh,
            DECIMAL_3,
            NOT_GIVEN if site.electricity_usd_per_kwh is None else "",
        ),
        Input(
            "years",
            "Term",
            "years",
            site.years,
            DECIMAL_1,
            NOT_GIVEN if site.years is None else "",
            low=0.01,
            high=50.0,
        ),
        *_rates(plan),
    ]
    return tuple(rows)


def _rates(plan: Plan) -> tuple[Input, ...]:
    """Return the prices of time, room and tokens, each where the plan has it."""
    site = plan.site
    rows = []
    if site.colocation_usd_per_kw_month > 0 or scope.limited(plan, "colocation"):
        label, unit = "Colocation price", "USD/kW/month"
        price = site.colocation_usd_per_kw_month
        rows.append(Input("colocation_usd_per_kw_month", label, unit, price, DECIMAL_2))
    if scope.over_time(plan):
        rate, note = site.discount_rate, "what is paid later counts less; 0 for none"
        rows.append(
            Input("discount_rate", "Discount rate", "share", rate, PERCENT_2, note, high=1.0)
        )
    return tuple(rows)
