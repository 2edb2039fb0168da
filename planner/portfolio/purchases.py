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
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from pulp import LpMaximize, LpProblem, lpSum

from planner.case.figures import weights
from planner.case.items import Offer
from planner.case.job import ROUNDING
from planner.limits import MILLION, named
from planner.optimizer.counts import Counts, Expression, Rows
from planner.portfolio.instance import Instance, Place, layers
from planner.portfolio.schema import Use


class Limit(NamedTuple):
    """A limit of the problem and its use: at most its amount, of a floor at least."""

    use: Use
    used: Expression

    @property
    def key(self) -> str:
        """A name that tells it from all others."""
        name = self.use.name if self.use.site is None else f"{self.use.name}.{self.use.site}"
        return name if self.use.period is None else f"{name}@{self.use.period - 1}"


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
        self.gone: dict[tuple[int, str, int, int], Expression] = {}
        """Units bought that are retired, by the periods of their arrival and of that."""
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
            stays = self._owned_left(at, place, offer.id)
            bought = self._bought_left(at, place, offer)
            for period in self.periods:
                key, top = f"{at}.{offer.id}@{period}", float(place.tops[offer.id])
                self.units[at, offer.id, period] = units = lpSum(bought[period]) + stays[period]
                if not bought[period]:
                    continue
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

    def _owned_left(self, at: int, place: Place, sku: str) -> list[Expression]:
        """Owned units of an item in each period."""
        owned = float(place.owned.get(sku, 0))
        stays: list[Expression] = [owned] * len(self.periods)
        for period in self.periods if owned and self.instance.rule(place, sku).retire else ():
            key = f"{at}.{sku}@{period}"
            self.old[at, sku, period] = stays[period] = left = self.whole(f"old.{key}", owned)
            self.row(f"old.{key}", left - (stays[period - 1] if period else owned) <= 0.0)
        return stays

    def _bought_left(self, at: int, place: Place, offer: Offer) -> list[list[Expression]]:
        """Terms of the units of an item bought that stand in each period."""
        sku, top, terms = offer.id, float(place.tops[offer.id]), list[Expression]()
        first, found = self.instance.first_arrival(place, sku), list[list[Expression]]()
        retired: dict[int, list[Expression]] = {}
        for period in self.periods:
            if self.instance.rule(place, sku).retire and offer.sold_plainly:
                for since in range(first, period):
                    gone = self.whole(f"gone.{at}.{sku}.{since}@{period}", top)
                    self.gone[at, sku, since, period] = gone
                    retired.setdefault(since, []).append(gone)
                    terms.append(-1.0 * gone)
            if period >= first:
                self.new[at, sku, period] = new = self.whole(f"new.{at}.{sku}@{period}", top)
                terms.append(new)
            found.append([*terms])
        for since, gone in retired.items():
            self.row(f"gone.{at}.{sku}.{since}", lpSum(gone) - self.new[at, sku, since] <= 0.0)
        return found

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
        limit, scale = Limit(use, used), max(abs(use.limit), 1e-9)
        self.limits.append(limit)
        slack: Expression = 0.0
        if self.elastic:
            slack = self.missed[limit.key] = self.number(f"missed.{limit.key}")
        if use.is_floor:
            row = (1.0 / scale) * used + slack - self.slack >= use.limit / scale
        else:
            row = (1.0 / scale) * used - slack <= use.limit / scale
        self.row(f"limit.{limit.key}", row)

    def rewiring(self, at: int, place: Place) -> None:
        """Add |kind - kind before| <= most anew,  moved >= links before - most (1 - anew).

        Of each layer of a fabric whose links cost something to lay anew.
        """
        for fabric in place.case.companions.fabrics:
            usd = self.instance.rule(place, fabric.switch).rewiring_usd
            if not usd or not fabric.sizes:
                continue
            sizes = [layers(fabric, size.tree) for size in fabric.sizes]
            first = place.wired_before.get(fabric.prefix, ((0, 0), (0, 0)))
            for number, layer in enumerate(("below", "above")):
                most, most_links = (float(max(s[number][n] for s in sizes)) for n in (0, 1))
                kind, links = map(float, first[number])
                for period in self.periods:
                    counts, name = self.counts[at, period], f"{fabric.prefix}.{layer}"
                    now, key = counts[name], f"{at}.{name}@{period}"
                    if not isinstance(links, float) or links:
                        anew, moved = self.whole(f"anew.{key}", 1), self.number(f"rewired.{key}")
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
            less = instance.later_usd(self.places[at], sku, since, period) / MILLION
            later.append(-less * gone)
        self.capex = {period: lpSum(parts) for period, parts in paid.items()}
        self.total_capex = lpSum(self.capex.values())
        discounted = [
            instance.discount(p) * (self.capex[p] + self._energy(p) - self._resale(p))
            for p in self.periods
        ]
        self.tco = lpSum([*discounted, *later])
        for use in instance.limits():
            if use.name in ("capex", "tco") and not self.part:
                capex = self.total_capex if use.period is None else self.capex[use.period - 1]
                self.hold(use, self.tco if use.name == "tco" else capex)

    def _energy(self, period: int) -> Expression:
        usd = (self.sum_of(at, period, "energy_usd_per_year") for at in self.places)
        return lpSum((self.instance.years / MILLION) * each for each in usd)

    def _resale(self, period: int) -> Expression:
        parts: list[Expression] = []
        for (at, sku, when), left in self.old.items():
            owned = float(self.places[at].owned[sku])
            if when == period:
                before = self.old.get((at, sku, period - 1), owned)
                parts.append(self._worth(at, sku, period) * (before - left))
        for (at, sku, _, when), gone in self.gone.items():
            if when == period:
                parts.append(self._worth(at, sku, period) * gone)
        return lpSum(parts)

    def _worth(self, at: int, sku: str, period: int) -> float:
        """What retiring a unit pays, MUSD."""
        return self.instance.resale_usd(self.places[at], sku, period) / MILLION
