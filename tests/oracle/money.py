"""What units cost, and what the five resources of a purchase add up to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.schema.catalog import Item
from planner.schema.prices import Discount, Price, SupportShare
from planner.schema.problem import Problem
from tests.oracle import facility

Array = npt.NDArray[np.float64]
HOURS_PER_YEAR = 8760.0
POWER, RACKS, CAPEX, OPEX, TCO = range(5)


@dataclass(frozen=True)
class Market:
    """Everything that turns a count into money, power and racks."""

    problem: Problem
    catalog: Mapping[str, Item]
    prices: Mapping[str, Price]
    discounts: Sequence[Discount]

    def unit_net_usd(self, item: Item) -> float:
        """Return the price of one unit after the most specific discount, in whole cents."""
        price = self.prices[item.id]
        return round(price.list_usd * (1.0 - self._discount(item)), 2)

    def _discount(self, item: Item) -> float:
        for key, value in (("item", item.id), ("vendor", item.vendor), ("category", item.category)):
            for discount in self.discounts:
                if getattr(discount, key) == value:
                    return discount.discount
        return 0.0

    def support_usd(self, item: Item) -> float:
        """Return support per unit and year."""
        support = self.prices[item.id].support_per_year
        if support is None:
            return 0.0
        if isinstance(support, SupportShare):
            return round(support.share * self.unit_net_usd(item), 2)
        return support.usd

    def consumption(self, item: Item, units: int) -> Array:
        """Return IT power, racks, capex, opex per year and TCO of ``units`` of an item."""
        problem = self.problem
        installed = problem.items[item.id].installed if item.id in problem.items else 0
        bought = max(0, units - installed)
        draw_kw = (facility.power_kw(item, self.catalog) or 0.0) * units
        capex = self.unit_net_usd(item) * bought if bought else 0.0
        opex = self.support_usd(item) * bought if bought else 0.0
        years = 0.0
        if problem.term is not None:
            years = problem.term.years
            hourly = draw_kw * problem.site.pue * problem.term.electricity_usd_per_kwh
            opex += hourly * HOURS_PER_YEAR
        return np.array([draw_kw, self._racks(item, units), capex, opex, capex + years * opex])

    def _racks(self, item: Item, units: int) -> float:
        site = self.problem.site
        if site.racks is None or site.rack is None:
            return 0.0
        return float(facility.racks(item, self.catalog, site.rack, units))

    def limits(self) -> Array:
        """Return the budgets in the order of ``consumption``, infinite where there is none."""
        site, budget = self.problem.site, self.problem.budget
        feeds = [math.inf if site.it_power_kw is None else site.it_power_kw]
        if site.facility_power_kw is not None:
            feeds.append(site.facility_power_kw / site.pue)
        rest = (site.racks, budget.capex_usd, budget.opex_usd_per_year, budget.tco_usd)
        return np.array([min(feeds), *(math.inf if value is None else value for value in rest)])


def within(consumed: Array, limits: Array) -> npt.NDArray[np.bool_]:
    """Return, row by row, whether every resource stays within its limit."""
    allowed = limits * (1.0 + facility.SLIVER) + facility.SLIVER
    return np.asarray((consumed <= allowed).all(axis=-1))
