"""Purchases of a portfolio as rows of its integer program: units, dependent items, limits, money.

    units in place = owned + bought so far - retired      by item, site and period
    bought until p >= needed in p + spares - owned        for every item of the bill
    power, heat, racks <= limits of site and period;  capital by period and in total;  TCO

Dependent items (switches, cables, racks, licences, spare parts) follow from the units in place by
the rules of the program of one job (`planner.optimizer.counts`); units bought earlier serve later.
Money is in MUSD.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from typing import Any

from pulp import LpMaximize, LpProblem, lpSum

from planner.case.figures import weights
from planner.case.items import Offer
from planner.case.job import ROUNDING
from planner.limits import MILLION, named
from planner.optimizer.counts import Counts, Expression, Rows
from planner.portfolio.instance import Instance, Place, layers
from planner.portfolio.schema import Use


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
        moved: Callable[[Use], float] | None = None,
        sites: Collection[int] | None = None,
    ) -> None:
        super().__init__(LpProblem("portfolio", LpMaximize))
        self.instance, self.elastic, self.moved = instance, elastic, moved
        self.part = sites is not None
        self.places = {
            at: place for at, place in enumerate(instance.places) if sites is None or at in sites
        }
        self.portfolio, self.periods = instance.portfolio, instance.periods
        self.limits: list[tuple[Use, Expression]] = []
        """Each with its use."""
        self.missed: dict[str, Expression] = {}
        self.slack = self.number("slack")
        """By how much floors are passed, as a share: free in the polish alone."""
        self.new: dict[tuple[int, str, int], Expression] = {}
        self.units: dict[tuple[int, str, int], Expression] = {}
        self.bought: dict[tuple[int, str, int], Expression] = {}
        self.counts: dict[tuple[int, int], Counts] = {}
        self.family: dict[tuple[int, str], Expression] = {}
        self.gone: dict[tuple[int, str, int, int], Expression] = {}
        """Units that are retired, by the period after their arrival, 0 if owned, and that."""
        self.labour: dict[int, list[Expression]] = {}
        """Cost of rewiring by period, MUSD."""
        for at, place in self.places.items():
            self.in_place(at, place)
            self.storage_families(at, place)
            for item_id in place.items:
                self.purchases(at, place, item_id)
            for use in instance.limits():
                if use.site == place.name and use.period is not None:
                    figure = named(use.name).figure
                    self.hold(use, self.sum_of(at, use.period - 1, figure))
            self.rewiring(at, place)
        self.stock()
        self.money()

    def in_place(self, at: int, place: Place) -> None:
        """X_p = owned + bought until p - retired; counts of the items that depend on them."""
        for offer in place.case.offers():
            first, owned = self.instance.first_arrival(place, offer.id), self.owned(at, offer.id)
            terms: list[Expression] = []
            for period in self.periods:
                key, top = f"{at}.{offer.id}@{period}", float(place.tops[offer.id])
                terms += (-1.0 * gone for gone in self._retired(at, place, offer, period))
                if period >= first:
                    self.new[at, offer.id, period] = new = self.whole(f"new.{key}", top)
                    terms.append(new)
                self.units[at, offer.id, period] = units = lpSum(terms) + owned
                if period >= first:
                    self.row(f"top.{key}", units <= top)
                if period >= first and offer.min_units > 1:
                    some = self.whole(f"some.{key}", 1)
                    self.row(f"least.{key}", units - float(offer.min_units) * some >= 0.0)
                    self.row(f"none.{key}", units - top * some <= 0.0)
        for period in self.periods:
            rows = Rows(self.problem, f"{at}.", f"@{period}")
            self.counts[at, period] = counts = Counts(rows, place.case, place.tops)
            counts.set_counts({sku: self.units[at, sku, period] for sku in place.offers})
            for item in place.case.companions.items:
                counts[item.id]

    def owned(self, at: int, sku: str) -> float:
        """Owned units of an item at a site."""
        return float(self.places[at].owned.get(sku, 0))

    def _retired(self, at: int, place: Place, offer: Offer, period: int) -> Iterator[Expression]:
        """Yield the units that are retired in a period, of each period in which they arrived."""
        sku, first = offer.id, self.instance.first_arrival(place, offer.id)
        if not self.instance.rule(place, sku).retire:
            return
        cohorts = [0] if self.owned(at, sku) else []
        cohorts += range(first + 1, period + 1) if offer.sold_plainly else ()
        for since in cohorts:
            key = f"{at}.{sku}.{since}@{period}"
            self.gone[at, sku, since, period] = gone = self.whole(
                f"gone.{key}", float(place.tops[sku])
            )
            earlier = [self.gone.get((at, sku, since, q), 0.0) for q in range(period)]
            there = self.new[at, sku, since - 1] if since else self.owned(at, sku)
            self.row(f"gone.{key}", lpSum(earlier) + gone - there <= 0.0)
            yield gone

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
        if not counted and item.sold_plainly:
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

    def sum_of(self, at: int, period: int, figure: str) -> Expression:
        """A sum over everything in place at a site in a period."""
        place, counts = self.instance.places[at], self.counts[at, period]
        return lpSum(each * count for each, count in weights(place.case, figure, counts, counts))

    def hold(self, use: Use, used: Expression) -> None:
        """Add a limit; one that may be missed has a variable for it."""
        if self.moved is not None:
            use = use.model_copy(update={"limit": self.moved(use)})
        scale = max(abs(use.limit), 1e-9)
        self.limits.append((use, used))
        slack: Expression = 0.0
        if self.elastic:
            slack = self.missed[use.key] = self.number(f"missed.{use.key}")
        if use.is_floor:
            row = (1.0 / scale) * used + slack - self.slack >= use.limit / scale
        else:
            row = (1.0 / scale) * used - slack <= use.limit / scale
        self.row(f"limit.{use.key}", row)

    def rewiring(self, at: int, place: Place) -> None:
        """Add |kind - kind before| <= most anew,  moved >= links before - most (1 - anew).

        Of each layer of a fabric whose links cost something to lay anew.
        """
        for fabric in place.case.companions.fabrics:
            usd = self.instance.rule(place, fabric.switch).rewiring_usd
            if not usd or not fabric.sizes:
                continue
            sizes = layers(fabric)
            first = place.wired_before.get(fabric.prefix, ((0, 0), (0, 0)))
            for number, layer in enumerate(("below", "above")):
                most, most_links = (float(max(s[number][n] for s in sizes)) for n in (0, 1))
                kind, links = map(float, first[number])
                for period in self.periods:
                    counts, name = self.counts[at, period], f"{fabric.prefix}.{layer}"
                    now, key = counts[name], f"{at}.{name}@{period}"
                    if not isinstance(links, float) or links:
                        anew = self.whole(f"anew.{key}", 1)
                        moved = self.number(f"rewired.{key}", most_links)
                        gone = most * (1.0 - counts[f"{fabric.prefix}.any"])
                        self.row(f"anew.{key}", now - kind - most * anew <= 0.0)
                        self.row(f"anew_less.{key}", kind - now - most * anew - gone <= 0.0)
                        row = links - moved + most_links * anew <= most_links
                        self.row(f"rewired.{key}", row)
                        self.labour.setdefault(period, []).append(usd / MILLION * moved)
                    kind, links = now, counts[f"{name}.links"]

    # Money, MUSD

    def money(self) -> None:
        """Capital by period of the order; TCO discounted, less resale and residual value."""
        instance, later = self.instance, list[Expression]()
        paid = {period: self.labour.get(period, []) for period in self.periods}
        for (at, sku, period), bought in self.bought.items():
            if isinstance(bought, float):
                continue
            place, ordered = self.places[at], period - instance.rule(self.places[at], sku).lead
            price = instance.price_usd(place, sku, ordered) / MILLION
            if price:
                paid[ordered].append(price * bought)
            more = instance.later_usd(place, sku, period, period) / MILLION
            if more:
                later.append(more * bought)
        for (at, sku, since, period), gone in self.gone.items():
            usd = instance.discount(period) * instance.resale_usd(self.places[at], sku, period)
            if since:
                usd += instance.later_usd(self.places[at], sku, since - 1, period)
            later.append((-usd / MILLION) * gone)
        self.capex = {period: lpSum(parts) for period, parts in paid.items()}
        self.total_capex = lpSum(self.capex.values())
        discounted = [
            instance.discount(p) * (self.capex[p] + self._energy(p)) for p in self.periods
        ]
        self.tco = lpSum([*discounted, *later])
        for use in instance.limits():
            if use.name in ("capex", "tco") and not self.part:
                capex = self.total_capex if use.period is None else self.capex[use.period - 1]
                self.hold(use, self.tco if use.name == "tco" else capex)

    def _energy(self, period: int) -> Expression:
        usd = (self.sum_of(at, period, "energy_usd_per_year") for at in self.places)
        return lpSum((self.instance.years / MILLION) * each for each in usd)
