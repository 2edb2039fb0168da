"""Budgets: capex, each kind of yearly money, opex and TCO, each <= its limit.

One more unit is one more dollar. Rows are in millions of USD so that their numbers are of the size
solvers like.
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.optimizer import costs
from planner.optimizer.context import Build
from planner.optimizer.costs import Weights
from planner.optimizer.model import total


def add(build: Build) -> None:
    """Add a row for each budget the problem gives, and what stock asks of purchases."""
    for name, limit, weights, origin in _budgets(build):
        spent = total((usd / costs.MILLION) * units for usd, units in weights)
        right = limit / costs.MILLION
        path = f"budget.{origin}"
        build.model.row(name, spent, "<=", right, unit="MUSD", origin=path, relaxable=True)
    for item in build.case.bill_items():
        if item.stock is not None:
            build.purchased[item.id]  # its rows hold the stock


def _budgets(build: Build) -> Iterator[tuple[str, float, Weights, str]]:
    case, limits, units, bought = build.case, build.case.limits, build.units, build.purchased
    if limits.capex_usd is not None:
        yield "capex", limits.capex_usd, costs.capex_usd(case, bought), "capex"
    if limits.support_usd_per_year is not None:
        weights = costs.support_usd_per_year(case, bought)
        yield "support", limits.support_usd_per_year, weights, "support_per_year"
    if limits.subscriptions_usd_per_year is not None:
        weights = costs.subscriptions_usd_per_year(case, bought)
        yield "subscriptions", limits.subscriptions_usd_per_year, weights, "subscriptions_per_year"
    if limits.energy_usd_per_year is not None:
        weights = costs.energy_usd_per_year(case, units)
        yield "energy", limits.energy_usd_per_year, weights, "energy_per_year"
    if limits.colocation_usd_per_year is not None:
        weights = costs.colocation_usd_per_year(case, units)
        yield "colocation", limits.colocation_usd_per_year, weights, "colocation_per_year"
    if limits.opex_usd_per_year is not None:
        weights = costs.opex_usd_per_year(case, units, bought)
        yield "opex", limits.opex_usd_per_year, weights, "opex_per_year"
    if limits.tco_usd is not None:
        yield "tco", limits.tco_usd, costs.tco_usd(case, units, bought), "tco"
