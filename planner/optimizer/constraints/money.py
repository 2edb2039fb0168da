"""Budgets: capex, opex per year and TCO, each <= its limit. One more unit is one more dollar.

Rows are in millions of USD so that their numbers are of the size solvers like.
"""

from __future__ import annotations

from planner.optimizer import costs
from planner.optimizer.context import Build
from planner.optimizer.model import total


def add(build: Build) -> None:
    """Add a row for each budget the problem gives."""
    case, limits = build.case, build.case.limits
    budgets = (
        ("capex", limits.capex_usd, costs.capex_usd(case, build.purchased)),
        (
            "opex_per_year",
            limits.opex_usd_per_year,
            costs.opex_usd_per_year(case, build.units, build.purchased),
        ),
        ("tco", limits.tco_usd, costs.tco_usd(case, build.units, build.purchased)),
    )
    for name, limit, weights in budgets:
        if limit is not None:
            spent = total((usd / costs.MILLION) * units for usd, units in weights)
            build.model.row(
                name,
                spent,
                "<=",
                limit / costs.MILLION,
                unit="MUSD",
                origin=f"budget.{name}",
                relaxable=True,
            )
