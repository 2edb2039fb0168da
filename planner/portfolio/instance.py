"""A portfolio in numbers: sites with their offers, ways to place jobs, prices and limits by period.

Sites, jobs and periods count from 0.
"""

from __future__ import annotations

import calendar
import datetime
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, product

from planner.case.items import BillItem, Offer, System, sum_terms
from planner.case.job import Way
from planner.case.model import Case, Fabric
from planner.inputs import Document, Inputs
from planner.limits import MILLION, SUPPLIES
from planner.optimizer.bill import bill
from planner.optimizer.useful_work import UsefulWork
from planner.portfolio.schema import (
    MarketRule,
    Order,
    Portfolio,
    PortfolioSite,
    TrainingJob,
    Use,
)
from planner.sizing.fabric import smallest_size
from planner.units import HOURS_PER_YEAR

SECONDS_PER_YEAR = 3600.0 * HOURS_PER_YEAR
SITE_LIMITS = tuple(limit for limit in SUPPLIES if not limit.path.startswith("budget."))
Layers = tuple[tuple[int, int], tuple[int, int]]
"""Kind and links of the layers of a fabric, below and above its spines."""
_LimitRow = tuple[str, int | None, str | None, str, float | None]


@dataclass(frozen=True, eq=False)
class Column:
    """A way in which a job can run: at a site, on a type of GPU system.

    ``name`` is that of its variables and rows, ``systems`` are those that an inference job takes.
    """

    name: str
    job: int
    site: int
    system: System
    systems: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainingColumn(Column):
    """A way in which a training job can run, with its useful work."""

    way: Way
    work: UsefulWork
    case: Case


@dataclass(frozen=True)
class Place:
    """A site in numbers: its case, whose offers are not owned, and its installed base."""

    name: str
    site: PortfolioSite
    inputs: Inputs
    case: Case
    owned: Mapping[str, int]
    tops: Mapping[str, int]

    @cached_property
    def items(self) -> Mapping[str, BillItem]:
        """Every item of a possible bill, by id."""
        return {item.id: item for item in self.case.bill_items()}

    @cached_property
    def offers(self) -> Mapping[str, Offer]:
        """GPU systems and storage, by id."""
        return {offer.id: offer for offer in self.case.offers()}

    def limit(self, field: str, period: int) -> float | None:
        """A limit of the site in a period."""
        if field != "facility_power_kw":
            return self.case.limits[field]
        begun = [first for first in self.site.facility_power_from if first <= period + 1]
        first_kw, later_kw = self.site.facility_power_kw, self.site.facility_power_from
        return self.site.left_at_meter_kw(later_kw[max(begun)] if begun else first_kw)

    def wired(self, units: Mapping[str, int]) -> dict[str, Layers]:
        """Layers of the fabrics of GPU systems and storage, by the prefix of the fabric.

        Raises:
            ValueError: three tiers are not enough.
        """
        counts, found = bill(self.case, units, ()).counts, dict[str, Layers]()
        for fabric in (each for each in self.case.companions.fabrics if each.sizes):
            size = smallest_size(fabric.sizes, round(sum_terms(fabric.amount, counts)))
            if size is not None:
                found[fabric.prefix] = layers(fabric)[fabric.sizes.index(size)]
        return found

    @cached_property
    def wired_before(self) -> Mapping[str, Layers]:
        """The same before the first period: of owned units, where their switch is owned, too."""
        try:
            wired = self.wired({sku: self.owned.get(sku, 0) for sku in self.offers})
        except ValueError:
            return {}
        fabrics = (each for each in self.case.companions.fabrics if each.prefix in wired)
        return {f.prefix: wired[f.prefix] for f in fabrics if self.owned.get(f.switch)}


@lru_cache(maxsize=64)
def layers(fabric: Fabric) -> tuple[Layers, ...]:
    """The layers of each size of a fabric; kinds count from 1.

    One is laid anew where its kind changes: tiers or spines of a leaf, cores. A switch alone counts
    its ports as links.
    """
    trees = [size.tree for size in fabric.sizes]
    kinds = [((t.tiers, t.spines // (t.groups or 1)), t.cores) for t in trees]
    below, above = ([*dict.fromkeys(kind[side] for kind in kinds)] for side in (0, 1))
    return tuple(
        (
            (1 + below.index(kind), fabric.planes * (tree.leaf_spine_links or fabric.radix)),
            (1 + above.index(cores), fabric.planes * tree.spine_core_links),
        )
        for tree, (kind, cores) in zip(trees, kinds, strict=True)
    )


@dataclass(frozen=True)
class Instance:
    """A portfolio in numbers."""

    portfolio: Portfolio
    document: Document
    places: tuple[Place, ...]
    columns: tuple[Column, ...]
    settings: tuple[str, ...] = ()
    scenario: str | None = None
    left_out: tuple[str, ...] = ()

    @property
    def periods(self) -> range:
        """All periods."""
        return range(self.portfolio.periods.count)

    @property
    def years(self) -> float:
        """The length of a period, years."""
        return self.portfolio.periods.years

    def start(self, period: int) -> str | None:
        """The day on which a period begins, None without a start."""
        first = self.portfolio.periods.start
        if first is None:
            return None
        day = datetime.date.fromisoformat(first)
        month = day.month - 1 + period * self.portfolio.periods.months
        year, month = day.year + month // 12, month % 12 + 1
        last = calendar.monthrange(year, month)[1]
        return datetime.date(year, month, min(day.day, last)).isoformat()

    def window(self, job: int) -> range:
        """The periods in which a job runs."""
        asked = self.portfolio.jobs[job]
        return range(asked.window.first - 1, self.portfolio.last_of(asked))

    # Money

    def discount(self, period: int) -> float:
        """The present value of a dollar paid at the start of a period."""
        return float((1.0 + self.portfolio.term.discount_rate) ** -(period * self.years))

    def rule(self, place: Place, item_id: str) -> MarketRule:
        """The market rule of an item."""
        return self.portfolio.rule(item_id, place.inputs.item(item_id).category)

    def first_arrival(self, place: Place, item_id: str) -> int:
        """The first period in which a unit that is bought can be in use."""
        rule = self.rule(place, item_id)
        return rule.available_from - 1 + rule.lead

    def price_usd(self, place: Place, item_id: str, period: int) -> float:
        """The net price of a unit ordered in a period, USD to the cent."""
        price = place.items[item_id].unit_net_usd or 0.0
        trend = self.rule(place, item_id).price_trend
        change = float((1.0 + trend) ** (period * self.years))
        return place.inputs.problem.shown_in.rounded_usd(price * change) if trend else price

    def support_usd_per_year(self, place: Place, item_id: str, period: int) -> float:
        """Support of a unit ordered in a period: a share of its price then, or an amount."""
        price = place.inputs.prices.get(item_id)
        net_usd = self.price_usd(place, item_id, period)
        usd = price.support_usd_per_year(net_usd) if price else 0.0
        return place.inputs.problem.shown_in.rounded_usd(usd)

    def later_usd(self, place: Place, item_id: str, arrives: int, begin: int) -> float:
        """Support and subscription of a unit from a period on, less its residual value, discounted.

        Args:
            place: its site.
            item_id: the item.
            arrives: the period from which it stands.
            begin: the first period that counts.
        """
        price, rule, end = (
            place.inputs.prices.get(item_id),
            self.rule(place, item_id),
            len(self.periods),
        )
        yearly = self.support_usd_per_year(place, item_id, arrives - rule.lead)
        rent = place.items[item_id].subscription_usd_per_year * self.years
        start, parts = price.support_included_years if price else 0.0, list[float]()
        for period in range(begin, end):
            age = (period - arrives) * self.years
            paid = max(0.0, age + self.years - max(age, start))
            parts.append((yearly * paid + rent) * self.discount(period))
        if rule.residual_loss is not None:
            left = float((1.0 - rule.residual_loss) ** ((end - arrives) * self.years))
            usd = self.price_usd(place, item_id, arrives - rule.lead)
            parts.append(-left * usd * self.discount(end))
        return math.fsum(parts)

    def resale_usd(self, place: Place, item_id: str, period: int) -> float:
        """What retiring a unit at the start of a period pays."""
        return self.rule(place, item_id).resale * self.price_usd(place, item_id, period)

    def order(self, place: Place, item_id: str, arrives: int, quantity: int) -> Order:
        """An order of units that arrive in a period."""
        item, ordered = place.inputs.item(item_id), arrives - self.rule(place, item_id).lead
        price = self.price_usd(place, item_id, ordered)
        return Order(
            period=ordered + 1,
            arrives=arrives + 1,
            date=self.start(ordered),
            site=place.name,
            item=item_id,
            model=item.product,
            part_number=item.part_number,
            category=item.category,
            quantity=quantity,
            unit_net_usd=price,
            extended_usd=round(price * quantity, 2),
            support_usd_per_year=self.support_usd_per_year(place, item_id, ordered) * quantity,
        )

    # Limits

    def limits(self) -> Iterator[Use]:
        """Yield every limit of the problem, none of it used; periods count from 1."""
        rows = chain(self._site_limits(), self._budgets(), self._floors())
        for name, period, site, unit, limit in rows:
            if limit is not None:
                yield Use(name=name, period=period, site=site, unit=unit, used=0.0, limit=limit)

    def _site_limits(self) -> Iterator[_LimitRow]:
        for place, period, limit in product(self.places, self.periods, SITE_LIMITS):
            most = place.limit(limit.field, period)
            yield limit.name, period + 1, place.name, limit.unit, most

    def _budgets(self) -> Iterator[_LimitRow]:
        budget, given = self.portfolio.budget, self.portfolio.budget.capex.per_period_usd
        for period in self.periods if given else ():
            most = given[min(period, len(given) - 1)] / MILLION
            yield "capex", period + 1, None, "MUSD", most
        for name, usd in ("capex", budget.capex.total_usd), ("tco", budget.tco_usd):
            yield name, None, None, "MUSD", usd and usd / MILLION

    def _floors(self) -> Iterator[_LimitRow]:
        for number, job in enumerate(self.portfolio.jobs):
            if not isinstance(job, TrainingJob):
                continue
            for period in self.window(number):
                yield f"work_of_{job.name}", period + 1, None, "PFLOP/s", job.min_useful_pflops
            if job.tokens is not None:
                by, count = job.tokens.by or self.portfolio.last_of(job), job.tokens.count / 1e12
                yield f"tokens_of_{job.name}", by, None, "T", count
