"""Purchases of a portfolio as rows of its integer program: units, dependent items, limits, money.

    units in place = owned - retired + bought so far      by item, site and period
    bought until p >= needed in p + spares - owned        for every item of the bill
    power, heat, racks <= limits of site and period;  capital by period and in total;  TCO

Dependent items (switches, cables, racks, licences, spare parts) follow from the units in place by
the rules of the program of one job (`planner.optimizer.counts`); units bought earlier serve later.
Money is in MUSD.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from pulp import LpMaximize, LpProblem, lpSum

from planner.case.figures import weights
from planner.case.job import ROUNDING
from planner.limits import MILLION, SUPPLIES
from planner.optimizer.counts import Counts, Expression, Rows
from planner.portfolio.inputs import Instance, Place
from planner.portfolio.schema import Use

SITE_LIMITS = tuple(limit for limit in SUPPLIES if not limit.path.startswith("budget."))


class Limit(NamedTuple):
    """A limit of the problem: ``used <= most``, or ``used >= most`` of a floor."""

    name: str
    period: int | None
    site: str | None
    unit: str
    used: Expression
    most: float
    floor: bool = False

    @property
    def key(self) -> str:
        """A name that tells it from all others."""
        name = self.name if self.site is None else f"{self.name}.{self.site}"
        return name if self.period is None else f"{name}@{self.period}"

    def use(self, used: float) -> Use:
        """The limit with its use, as in a plan."""
        known = self._asdict() | {"period": None if self.period is None else self.period + 1}
        fields = {name: known[name] for name in ("name", "period", "site", "unit")}
        return Use(used=used, limit=self.most, **fields)


class Purchases(Rows):
    """Variables and rows of everything in place, by site and period.

    Args:
        instance: the portfolio in numbers.
        elastic: whether limits may be missed, at 1 for each time their size.
        moved: the value of a limit to use in place of its own.
    """

    def __init__(
        self,
        instance: Instance,
        *,
        elastic: bool = False,
        moved: Callable[[Limit], float] | None = None,
        sites: Collection[int] | None = None,
    ) -> None:
        super().__init__(LpProblem("portfolio", LpMaximize))
        self.instance, self.elastic, self.moved = instance, elastic, moved
        self.part = sites is not None
        self.places = {
            at: place for at, place in enumerate(instance.places) if sites is None or at in sites
        }
        self.portfolio, self.periods = instance.portfolio, instance.periods
        self.limits: list[Limit] = []
        self.missed: dict[str, Expression] = {}
        self.slack = self.number("slack")
        """By how much floors are passed, as a share: free in the polish alone."""
        self.new: dict[tuple[int, str, int], Expression] = {}
        self.old: dict[tuple[int, str, int], Expression] = {}
        self.units: dict[tuple[int, str, int], Expression] = {}
        self.bought: dict[tuple[int, str, int], Expression] = {}
        self.counts: dict[tuple[int, int], Counts] = {}
        self.family: dict[tuple[int, str], Expression] = {}
        for at, place in self.places.items():
            self.in_place(at, place)
            self.storage_families(at, place)
            for item_id in place.items:
                self.purchases(at, place, item_id)
            for period in self.periods:
                self.supplies(at, place, period)
        self.stock()
        self.money()

    def in_place(self, at: int, place: Place) -> None:
        """X_p = owned - retired + bought until p; counts of the items that depend on them."""
        for offer in place.case.offers():
            sku, top = offer.id, float(place.tops[offer.id])
            first, rule = self.instance.first_arrival(place, sku), self.instance.rule(place, sku)
            stays: Expression = float(place.owned.get(sku, 0))
            bought: list[Expression] = []
            for period in self.periods:
                key = f"{at}.{sku}@{period}"
                if period >= first:
                    self.new[at, sku, period] = self.whole(f"new.{key}", top)
                    bought.append(self.new[at, sku, period])
                if rule.retire and place.owned.get(sku, 0):
                    left = self.whole(f"old.{key}", float(place.owned[sku]))
                    self.row(f"old.{key}", left - stays <= 0.0)
                    stays = left
                    self.old[at, sku, period] = left
                units = lpSum(bought) + stays
                self.units[at, sku, period] = units
                if bought:
                    self.row(f"top.{key}", units <= top)
                    if offer.min_units > 1:
                        some = self.whole(f"some.{key}", 1)
                        self.row(f"least.{key}", units - float(offer.min_units) * some >= 0.0)
                        self.row(f"none.{key}", units - top * some <= 0.0)

        for period in self.periods:
            rows = Rows(self.problem, f"{at}.", f"@{period}")
            self.counts[at, period] = counts = Counts(rows, place.case, place.tops)
            counts.set_counts({sku: self.units[at, sku, period] for sku in place.offers})
            for item in place.case.companions.items:
                counts[item.id]

    def storage_families(self, at: int, place: Place) -> None:
        """Maximum number of storage families at a site, the same in all periods."""
        for family in place.case.families:
            self.family[at, family.id] = self.whole(f"family.{at}.{family.id}", 1)
        chosen = lpSum(self.family[at, family.id] for family in place.case.families)
        self.row(f"families.{at}", chosen <= float(place.case.max_families))
        for period in self.periods:
            for item in place.case.storage:
                most = float(place.tops[item.id]) * self.family[at, item.family]
                units = self.units[at, item.id, period]
                self.row(f"family.{at}.{item.id}@{period}", units - most <= 0.0)
            for family in place.case.families:
                if family.max_units is not None:
                    some = (i.id for i in place.case.storage if i.family == family.id)
                    members = lpSum(self.units[at, name, period] for name in some)
                    row = members <= float(family.max_units)
                    self.row(f"family_units.{at}.{family.id}@{period}", row)

    def purchases(self, at: int, place: Place, item_id: str) -> None:
        """Bought until p >= needed in p + spares in store - owned; whole packs, minimum orders."""
        item, counted = place.items[item_id], item_id not in place.offers
        first = self.instance.first_arrival(place, item_id)
        plain = item.spare_share == 0.0 and item.pack == 1 and item.min_order <= 1
        if not counted and plain:
            for period in self.periods:
                self.bought[at, item_id, period] = self.new.get((at, item_id, period), 0.0)
            return
        so_far: list[Expression] = []
        for period in self.periods:
            key = f"{at}.{item_id}@{period}"
            count = (
                self.counts[at, period][item_id] if counted else self._added(at, item_id, period)
            )
            if period >= first and not isinstance(count, float):
                self.bought[at, item_id, period] = bought = self._order(key, item)
                so_far.append(bought)
            else:
                self.bought[at, item_id, period] = 0.0
            need = lpSum(so_far) - count
            if item.spare_share > 0 and not isinstance(count, float):
                spares = self.whole(f"spares.{key}", None)
                self.row(f"spares.{key}", spares - item.spare_share * count >= -ROUNDING)
                need = need - spares
            owned = float(place.owned.get(item_id, 0)) if counted else 0.0
            self.row(f"bought.{key}", need >= -owned)

    def _added(self, at: int, item_id: str, period: int) -> Expression:
        some = [self.new[at, item_id, q] for q in range(period + 1) if (at, item_id, q) in self.new]
        return lpSum(some) if some else 0.0

    def _order(self, key: str, item: Any) -> Expression:
        """An order: whole packs, nothing or at least the minimum order."""
        packs = self.whole(f"buy.{key}", None)
        bought = float(item.pack) * packs
        if item.min_order > 1:
            least, most = math.ceil(item.min_order / item.pack), 1e5
            some = self.whole(f"ordered.{key}", 1)
            self.row(f"least_order.{key}", packs - float(least) * some >= 0.0)
            self.row(f"no_order.{key}", packs - most * some <= 0.0)
        return bought

    def stock(self) -> None:
        """No more is bought of anything, anywhere and ever, than can be had."""
        stocks: dict[str, tuple[int, list[Expression]]] = {}
        for (at, sku, _), bought in self.bought.items():
            most = self.instance.places[at].items[sku].stock
            if most is not None:
                stocks.setdefault(sku, (most, []))[1].append(bought)
        for sku, (most, parts) in stocks.items():
            self.row(f"stock.{sku}", lpSum(parts) <= float(most))

    def supplies(self, at: int, place: Place, period: int) -> None:
        """Facility power and at the IT load, heat, racks, weight of a site in a period."""
        for limit in SITE_LIMITS:
            most = place.limit(limit.field, period)
            if most is not None:
                used = self.sum_of(at, period, limit.figure)
                self.hold(Limit(limit.name, period, place.name, limit.unit, used, most))

    def sum_of(self, at: int, period: int, figure: str) -> Expression:
        """A sum over everything in place at a site in a period."""
        place, counts = self.instance.places[at], self.counts[at, period]
        return lpSum(each * count for each, count in weights(place.case, figure, counts, counts))

    def hold(self, limit: Limit) -> None:
        """Add a limit; one that may be missed has a variable for it."""
        if self.moved is not None:
            limit = limit._replace(most=self.moved(limit))
        self.limits.append(limit)
        scale = max(abs(limit.most), 1e-9)
        slack: Expression = 0.0
        if self.elastic:
            slack = self.missed[limit.key] = self.number(f"missed.{limit.key}")
        if limit.floor:
            row = (1.0 / scale) * limit.used + slack - self.slack >= limit.most / scale
        else:
            row = (1.0 / scale) * limit.used - slack <= limit.most / scale
        self.row(f"limit.{limit.key}", row)

    # Money, MUSD

    def money(self) -> None:
        """Capital by period of the order; TCO discounted, less resale and residual value."""
        instance, budget = self.instance, self.portfolio.budget
        self.capex: dict[int, Expression] = {}
        paid: dict[int, list[Expression]] = {period: [] for period in self.periods}
        later: list[Expression] = []
        for (at, sku, period), bought in self.bought.items():
            if isinstance(bought, float):
                continue
            place = instance.places[at]
            lead = instance.rule(place, sku).lead
            price = instance.price_usd(place, sku, period - lead) / MILLION
            if price:
                paid[period - lead].append(price * bought)
            more = math.fsum(
                usd / MILLION * instance.discount(p * instance.years)
                for p, usd in enumerate(instance.support_usd(place, sku, period))
            )
            left = instance.residual_share(place, sku, period) * price
            more -= left * instance.discount(len(self.periods) * instance.years)
            if more:
                later.append(more * bought)
        self.capex = {period: lpSum(parts) for period, parts in paid.items()}
        resale = self._resale()
        self.total_capex = lpSum(self.capex.values())
        running = []
        for period in self.periods:
            energy = lpSum(
                self.sum_of(at, period, "energy_usd_per_year") * (instance.years / MILLION)
                for at in self.places
            )
            now = self.capex[period] + energy - resale[period]
            running.append(instance.discount(period * instance.years) * now)
        self.tco = lpSum(running) + lpSum(later)
        given = budget.capex.per_period_usd
        for period in self.periods if given and not self.part else ():
            most = given[min(period, len(given) - 1)] / MILLION
            self.hold(Limit("capex", period, None, "MUSD", self.capex[period], most))
        if budget.capex.total_usd is not None and not self.part:
            most = budget.capex.total_usd / MILLION
            self.hold(Limit("capex", None, None, "MUSD", self.total_capex, most))
        if budget.tco_usd is not None and not self.part:
            self.hold(Limit("tco", None, None, "MUSD", self.tco, budget.tco_usd / MILLION))

    def _resale(self) -> dict[int, Expression]:
        found: dict[int, list[Expression]] = {period: [] for period in self.periods}
        for (at, sku, period), left in self.old.items():
            place = self.instance.places[at]
            before = self.old.get((at, sku, period - 1), float(place.owned[sku]))
            share = self.instance.rule(place, sku).resale
            worth = share * self.instance.price_usd(place, sku, period) / MILLION
            if worth:
                found[period].append(worth * before - worth * left)
        return {period: lpSum(parts) for period, parts in found.items()}
