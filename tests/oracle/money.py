"""What units cost, and what a purchase adds up to: power, heat, racks, weight and money."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import numpy.typing as npt

from planner.inputs import Inputs
from planner.schema.catalog import Family, Item
from planner.schema.prices import Discount, Price
from planner.schema.problem import Problem
from planner.verifier.basis import DECIDED, Basis, present_years
from tests.oracle import facility
from tests.oracle.facility import Whole

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
HOURS_PER_YEAR = 8760.0
MONTHS_PER_YEAR = 12.0
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

    @property
    def by_id(self) -> Mapping[str, Item]:
        """The catalog, as inputs have it."""
        return self.catalog

    @cached_property
    def basis(self) -> Basis:
        """The same as the verifier reads it."""
        inputs = cast(Inputs, self)
        return Basis(inputs, self.problem.job, self.problem.network, {})

    def unit_net_usd(self, item: Item) -> float:
        """Return the price of one unit after the most specific discount, in whole cents."""
        net_usd = self.basis.sale(item).net_usd or 0.0
        return net_usd if item.is_percentage else round(net_usd, 2)

    def support_usd(self, item: Item) -> float:
        """Return support per unit and year."""
        return round(self.basis.sale(item).support_usd_per_year(self.unit_net_usd(item)), 2)

    def subscription_usd(self, item: Item) -> float:
        """Return the subscription per unit and year."""
        sale = self.basis.sale(item)
        yearly = sale.price.per_year_usd if sale.price else None
        return round((yearly or 0.0) * (1.0 - sale.discount), 2)

    def owned(self, item: Item) -> int:
        """Return what is installed and not retired."""
        return self.basis.owned(item.id)

    def in_place(self, item: Item, units: Whole) -> Whole:
        """Return what stands there with so many in the cluster: never less than is owned."""
        decided = item.category in DECIDED
        return np.maximum(units, self.owned(item)) if decided else units

    def purchased(self, item: Item, units: Whole) -> Whole:
        """Return what is bought for so many to use: spares, less installed, in whole packs."""
        share = 0.0 if item.components else self.basis.sale(item).spare_share
        return self.ordered(item, units + facility.up(units * share))

    def spare_parts(self, bundle: Item, units: Whole) -> dict[str, Whole]:
        """Return the components in store for so many bundles in the cluster."""
        usual, found = self.basis.sale(bundle).spare_share, {}
        for part in bundle.components:
            own = self.basis.rule(part.id).spares
            share = usual if own is None else own
            if share:
                found[part.id] = facility.up(share * part.quantity * units)
        return found

    def ordered(self, item: Item, wanted: Whole) -> Whole:
        """Return what is bought where so many are wanted: less what is owned, whole packs."""
        sale, missing = self.basis.sale(item), np.maximum(0, wanted - self.owned(item))
        packs = -(-np.maximum(missing, sale.min_order) // sale.pack)
        return np.asarray(np.where(missing > 0, packs * sale.pack, 0), dtype=np.int64)

    def for_sale(self, item: Item) -> bool:
        """Return whether an item is sold: it has a price and a lifecycle that is considered."""
        chosen = item.category in ("gpu_system", "storage")
        if chosen and item.lifecycle not in self.problem.consider.lifecycle:
            return False
        return item.id in self.prices

    def _in_time(self, item: Item) -> bool:
        longest = self.problem.targets.max_lead_time_days
        return longest is None or (self.basis.sale(item).lead_time_days or 0.0) <= longest

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
        own = self.basis.rule(item.id).stock
        stock = self.prices[item.id].stock if own is None else own
        return np.asarray(bought <= (math.inf if stock is None else stock))

    def consumption(
        self, item: Item, units: Whole, racks: Whole, power_share: float = 1.0
    ) -> Array:
        """Return every resource (columns) of so many units (rows) of an item in the cluster.

        ``power_share`` is what of its rated power a unit is provisioned for.
        """
        used, units, pue = units, self.in_place(item, units), self.basis.pue(item)
        term, found = self.problem.term, np.zeros((len(units), RESOURCES))
        draw_kw = (self.basis.rated_kw(item) or 0.0) * power_share
        liquid, typical_kw = self.basis.liquid_share(item), self.basis.typical_kw(item) or 0.0
        kg = self.basis.of_unit(item, "weight_kg") or 0.0
        each = {POWER: draw_kw, FACILITY: draw_kw * pue, LIQUID: draw_kw * liquid, WEIGHT: kg}
        each[AIR] = draw_kw - each[LIQUID]
        if term is not None:
            typical_kw = typical_kw if power_share == 1.0 else min(typical_kw, draw_kw)
            paid_kw = typical_kw if term.energy_basis == "typical" else draw_kw
            each[ENERGY] = paid_kw * pue * term.electricity_usd_per_kwh * HOURS_PER_YEAR
            each[COLOCATION] = draw_kw * term.colocation_usd_per_kw_month * MONTHS_PER_YEAR
        for column, amount in each.items():
            found[:, column] = amount * units
        found[:, RACKS] = racks
        return self._paid(item, self.purchased(item, used), found)

    def in_store(self, item: Item, parts: Whole) -> Array:
        """Return every resource of so many spare parts: they only cost money."""
        return self._paid(item, self.ordered(item, parts), np.zeros((len(parts), RESOURCES)))

    def _paid(self, item: Item, bought: Whole, found: Array) -> Array:
        """Return resources with the money for what is bought, and what follows from it."""
        term, sale = self.problem.term, self.basis.sale(item)
        found[:, CAPEX] = self.unit_net_usd(item) * bought
        found[:, SUPPORT] = self.support_usd(item) * bought
        found[:, SUBSCRIPTIONS] = self.subscription_usd(item) * bought
        found[:, TCO] = found[:, CAPEX]
        if term is not None:
            running = found[:, [SUBSCRIPTIONS, ENERGY, COLOCATION]].sum(axis=1)
            found[:, TCO] += running * present_years(0.0, term.years, term.discount_rate)
            years = present_years(sale.start, sale.end or 0.0, term.discount_rate)
            found[:, TCO] += found[:, SUPPORT] * years
        found[:, OPEX] = found[:, SUPPORT : COLOCATION + 1].sum(axis=1)
        return found

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


def within(consumed: Array, limits: Array) -> Mask:
    """Return, row by row, whether every resource stays within its limit."""
    allowed = limits * (1.0 + facility.SLIVER) + facility.SLIVER
    return np.asarray((consumed <= allowed).all(axis=-1))
