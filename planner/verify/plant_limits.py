"""Power, heat, space, money and time to delivery."""

from __future__ import annotations

from collections.abc import Iterator

from planner.schema.problem import Budget, Problem, Site
from planner.verify.limit import TIMED, Limit
from planner.verify.running import Ratios
from planner.verify.totals import TotalFigures


def plant_limits(problem: Problem, totals: TotalFigures, ratios: Ratios) -> Iterator[Limit]:
    """Yield the limits of the site, of the budget and of the delivery.

    Args:
        problem: the user's problem.
        totals: the plan's sums as re-computed.
        ratios: what the cluster's work costs, as re-computed.
    """
    site, cooling = problem.site, problem.site.cooling
    plant = (
        ("it_power", totals.it_power_kw, site.it_power_kw, "kW"),
        ("facility_power", totals.facility_power_kw, facility_limit_kw(site), "kW"),
        ("heat_air", totals.heat_air_kw, cooling.air_limit_kw, "kW"),
        ("heat_liquid", totals.heat_liquid_kw, cooling.liquid_limit_kw, "kW"),
        ("racks", totals.racks, site.racks, "racks"),
    )
    for name, value, limit, unit in plant:
        if limit is not None:
            yield Limit(name, value, "<=", limit, unit)
    yield from _money(problem.budget, totals, ratios)
    longest_days, limit = totals.lead_time_days, problem.targets.max_lead_time_days
    if limit is not None:
        # Without a stated lead time nothing is known to be late.
        known = longest_days is not None
        yield Limit("lead_time", longest_days or 0.0, "<=", limit, "days", must_be_listed=known)


def _money(budget: Budget, totals: TotalFigures, ratios: Ratios) -> Iterator[Limit]:
    sums = (
        ("capex", totals.capex_usd, budget.capex_usd, "USD"),
        ("opex", totals.opex_usd_per_year, budget.opex_usd_per_year, "USD/year"),
        ("tco", totals.tco_usd, budget.tco_usd, "USD"),
        ("support", totals.support_usd_per_year, budget.support_usd_per_year, "USD/year"),
        ("subscriptions", totals.subscriptions_usd_per_year,
         budget.subscriptions_usd_per_year, "USD/year"),
        ("energy", totals.energy_usd_per_year, budget.energy_usd_per_year, "USD/year"),
        ("colocation", totals.colocation_usd_per_year, budget.colocation_usd_per_year,
         "USD/year"),
    )  # fmt: skip
    for name, value, limit, unit in sums:
        if limit is not None:
            yield Limit(name, value, "<=", limit, unit)
    work = (
        ("per_useful_gpu_hour", ratios.usd_per_useful_gpu_hour, budget.per_useful_gpu_hour_usd,
         "USD/h"),
        ("per_million_tokens", ratios.usd_per_million_tokens, budget.per_million_tokens_usd,
         "USD"),
    )  # fmt: skip
    for name, value, limit, unit in work:
        if limit is not None:
            yield Limit(name, value, "<=", limit, unit, TIMED)


def facility_limit_kw(site: Site) -> float | None:
    """Return what the site may draw at the meter with the redundancy of its feeds kept, kW."""
    limits = [] if site.facility_power_kw is None else [site.facility_power_kw]
    if site.feeds is not None:
        power_kw, count = site.feeds.power_kw, site.feeds.count
        left = {"N": count, "N+1": count - 1, "2N": count / 2}
        limits.append(power_kw * left[site.feeds.redundancy])
    return min(limits, default=None)
