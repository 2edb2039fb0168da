"""What units cost, and what a purchase adds up to: power, heat, racks, weight and money."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.schema.catalog import Family, Item
from planner.schema.prices import Discount, Price, SupportShare
from planner.schema.problem import Problem, Quantity, Term
from tests.oracle import facility
from tests.oracle.facility import Whole

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
HOURS_PER_YEAR = 8760.0
MONTHS_PER_YEAR = 12.0
DAYS_PER_WEEK, DAYS_PER_MONTH = 7.0, 30.4375
POWER, FACILITY, LIQUID, AIR, RACKS, CAPEX = range(6)
SUPPORT, SUBSCRIPTIONS, ENERGY, COLOCATION, OPEX, TCO, WEIGHT = range(6, 13)
RESOURCES = 13


@dataclass(frozen=True)
class Market:
    """Everything that turns a count into money, power and racks."""

    problem: Problem
    catalog: Mapping[str, Item]
    prices: Mapping[str, Price]
    discounts: Sequence[Discount]
    families: Sequence[Family] = ()

    def unit_net_usd(self, item: Item) -> float:
        """Return the price of one unit after the most specific discount, in whole cents."""
        price = self.prices.get(item.id)
        if price is None:
            return 0.0
        net_usd = price.list_usd * (1.0 - self._discount(item))
        percent = item.service is not None and item.service.per == "hardware"
        return net_usd if percent else round(net_usd, 2)

    def _discount(self, item: Item) -> float:
        for key, value in (("item", item.id), ("vendor", item.vendor), ("category", item.category)):
            for discount in self.discounts:
                if getattr(discount, key) == value:
                    return discount.discount
        return 0.0

    def support_usd(self, item: Item) -> float:
        """Return support per unit and year."""
        price = self.prices.get(item.id)
        if price is None or price.support_per_year is None:
            return 0.0
        if isinstance(price.support_per_year, SupportShare):
            return round(price.support_per_year.share * self.unit_net_usd(item), 2)
        return price.support_per_year.usd

    def subscription_usd(self, item: Item) -> float:
        """Return the subscription per unit and year."""
        price = self.prices.get(item.id)
        if price is None or price.per_year_usd is None:
            return 0.0
        return round(price.per_year_usd * (1.0 - self._discount(item)), 2)

    def quantity(self, item: Item) -> Quantity:
        """Return what the user says of an item's count."""
        return self.problem.items.get(item.id, Quantity())

    def owned(self, item: Item) -> int:
        """Return what is installed and not retired."""
        quantity = self.quantity(item)
        return quantity.installed if not quantity.retire else 0

    def in_place(self, item: Item, units: Whole) -> Whole:
        """Return what stands there with so many in the cluster: never less than is owned."""
        if item.category not in ("gpu_system", "storage"):
            return units
        return np.where(units < self.owned(item), self.owned(item), units)

    def purchased(self, item: Item, units: Whole) -> Whole:
        """Return what is bought for so many to use: spares, less installed, in whole packs."""
        share = 0.0 if item.components else self._stored(item, item.id)
        return self.ordered(item, units + facility.up(units * share))

    def spare_parts(self, bundle: Item, units: Whole) -> dict[str, Whole]:
        """Return the components in store for so many bundles in the cluster."""
        shares = [(part, self._stored(bundle, part.id)) for part in bundle.components]
        return {p.id: facility.up(share * p.quantity * units) for p, share in shares if share}

    def _stored(self, item: Item, part: str) -> float:
        """Return the share of an item, or of a part of it, that lies in store."""
        asked = [self.problem.items[key].spares for key in (part, item.id)
                 if key in self.problem.items]  # fmt: skip
        said = [share for share in asked if share is not None]
        return said[0] if said else self.problem.spares.get(item.category, 0.0)

    def ordered(self, item: Item, wanted: Whole) -> Whole:
        """Return what is bought where so many are wanted: less what is owned, whole packs."""
        missing = np.maximum(0, wanted - self.owned(item))
        price = self.prices.get(item.id)
        pack, least = (1, 0) if price is None else (price.pack, price.min_order)
        packs = -(-np.maximum(missing, least) // pack)
        return np.asarray(np.where(missing > 0, packs * pack, 0), dtype=np.int64)

    def for_sale(self, item: Item) -> bool:
        """Return whether an item is sold: it has a price and a lifecycle that is considered."""
        chosen = item.category in ("gpu_system", "storage")
        if chosen and item.lifecycle not in self.problem.consider.lifecycle:
            return False
        return item.id in self.prices

    def _in_time(self, item: Item) -> bool:
        longest = self.problem.targets.max_lead_time_days
        return longest is None or lead_time_days(self.prices[item.id]) <= longest

    def available(self, item: Item, units: Whole) -> Mask:
        """Return where the purchase for so many in place is possible: sale, stock, lead time."""
        return self._to_be_had(item, self.purchased(item, units))

    def in_stock(self, item: Item, parts: Whole) -> Mask:
        """Return where so many spare parts can be had; those without a price always can."""
        bought = self.ordered(item, parts)
        return self._to_be_had(item, bought) | np.asarray(item.id not in self.prices)

    def _to_be_had(self, item: Item, bought: Whole) -> Mask:
        if not (self.for_sale(item) and self._in_time(item)):
            return np.asarray(bought == 0)
        own = self.quantity(item).stock
        stock = self.prices[item.id].stock if own is None else own
        return np.asarray(bought <= (math.inf if stock is None else stock))

    def consumption(
        self, item: Item, units: Whole, racks: Whole, power_share: float = 1.0
    ) -> Array:
        """Return every resource (columns) of so many units (rows) of an item in the cluster.

        ``power_share`` is what of its rated power a unit is provisioned for.
        """
        used, units = units, self.in_place(item, units)
        site, term = self.problem.site, self.problem.term
        found = np.zeros((len(units), RESOURCES))
        draw_kw = (facility.power_kw(item, self.catalog) or 0.0) * power_share
        liquid_kw = facility.liquid_kw(item, self.catalog) * power_share
        liquid = liquid_kw / draw_kw if draw_kw else 0.0
        pue = liquid * site.pue_liquid + (1.0 - liquid) * site.pue_air
        for column, each in ((POWER, draw_kw), (FACILITY, draw_kw * pue), (LIQUID, liquid_kw)):
            found[:, column] = each * units
        found[:, AIR] = found[:, POWER] - found[:, LIQUID]
        found[:, RACKS] = racks
        found[:, WEIGHT] = facility.floor_kg(item, self.catalog) * units
        if term is not None:
            typical_kw = facility.typical_kw(item, self.catalog)
            if power_share != 1.0:
                typical_kw = min(typical_kw, draw_kw)
            paid_kw = typical_kw if term.energy_basis == "typical" else draw_kw
            hourly = paid_kw * pue * term.electricity_usd_per_kwh
            found[:, ENERGY] = hourly * HOURS_PER_YEAR * units
            monthly = draw_kw * term.colocation_usd_per_kw_month
            found[:, COLOCATION] = monthly * MONTHS_PER_YEAR * units
        return self._paid(item, self.purchased(item, used), found)

    def in_store(self, item: Item, parts: Whole) -> Array:
        """Return every resource of so many spare parts: they only cost money."""
        return self._paid(item, self.ordered(item, parts), np.zeros((len(parts), RESOURCES)))

    def _paid(self, item: Item, bought: Whole, found: Array) -> Array:
        """Return resources with the money for what is bought, and what follows from it."""
        term = self.problem.term
        found[:, CAPEX] = self.unit_net_usd(item) * bought
        found[:, SUPPORT] = self.support_usd(item) * bought
        found[:, SUBSCRIPTIONS] = self.subscription_usd(item) * bought
        found[:, TCO] = found[:, CAPEX]
        if term is not None:
            running = found[:, [SUBSCRIPTIONS, ENERGY, COLOCATION]].sum(axis=1)
            found[:, TCO] += running * annuity(0.0, term.years, term.discount_rate)
            found[:, TCO] += found[:, SUPPORT] * self._supported(item, term)
        found[:, OPEX] = found[:, SUPPORT : COLOCATION + 1].sum(axis=1)
        return found

    def _supported(self, item: Item, term: Term) -> float:
        """Return the years (at present value) for which an item's support is paid."""
        asked = self.quantity(item).support_years
        asked = term.support_years if asked is None else asked
        end = term.years if asked is None else min(asked, term.years)
        price = self.prices.get(item.id)
        start = 0.0 if price is None else price.support_included_years
        return annuity(start, end, term.discount_rate)

    def limits(self) -> Array:
        """Return the budgets in the order of ``consumption``, infinite where there is none."""
        site, budget = self.problem.site, self.problem.budget
        given = {
            POWER: site.it_power_kw,
            FACILITY: site.facility_limit_kw,
            LIQUID: site.cooling.liquid_limit_kw,
            AIR: site.cooling.air_limit_kw,
            RACKS: site.racks,
            CAPEX: budget.capex_usd,
            OPEX: budget.opex_usd_per_year,
            TCO: budget.tco_usd,
            WEIGHT: site.weight_limit_kg,
        }
        values = [given.get(column) for column in range(RESOURCES)]
        return np.array([math.inf if value is None else float(value) for value in values])


def annuity(start: float, end: float, rate: float) -> float:
    """Return the present value of a dollar a year from ``start`` to ``end``, paid at year ends."""
    years = range(1, math.ceil(end) + 1)
    return sum(max(0.0, min(t, end) - max(t - 1, start)) / (1.0 + rate) ** t for t in years)


def lead_time_days(price: Price) -> float:
    """Return the upper end of a price's lead time in days, 0 where none is stated."""
    if price.lead_time is None:
        return 0.0
    span, unit = price.lead_time.split()
    return int(span.split("-")[-1]) * (DAYS_PER_WEEK if unit == "weeks" else DAYS_PER_MONTH)


def within(consumed: Array, limits: Array) -> Mask:
    """Return, row by row, whether every resource stays within its limit."""
    allowed = limits * (1.0 + facility.SLIVER) + facility.SLIVER
    return np.asarray((consumed <= allowed).all(axis=-1))
