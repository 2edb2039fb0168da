"""Power, space and money."""

from __future__ import annotations

from collections.abc import Iterator

from planner.schema.problem import Problem
from planner.verify.limit import Limit
from planner.verify.totals import TotalFigures


def plant_limits(problem: Problem, totals: TotalFigures) -> Iterator[Limit]:
    """Yield the limits of the site and of the budget.

    Args:
        problem: the user's problem.
        totals: the plan's sums as re-computed.
    """
    site, budget = problem.site, problem.budget
    if site.it_power_kw is not None:
        yield Limit("it_power", totals.it_power_kw, "<=", site.it_power_kw, "kW")
    if site.facility_power_kw is not None:
        value, limit = totals.facility_power_kw, site.facility_power_kw
        yield Limit("facility_power", value, "<=", limit, "kW")
    if site.racks is not None:
        yield Limit("racks", totals.racks, "<=", site.racks, "racks")
    if budget.capex_usd is not None:
        yield Limit("capex", totals.capex_usd, "<=", budget.capex_usd, "USD")
    if budget.opex_usd_per_year is not None:
        value, limit = totals.opex_usd_per_year, budget.opex_usd_per_year
        yield Limit("opex", value, "<=", limit, "USD/year")
    if budget.tco_usd is not None:
        yield Limit("tco", totals.tco_usd, "<=", budget.tco_usd, "USD")
