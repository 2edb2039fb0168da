"""A portfolio in numbers: sites with their offers, ways to place jobs, prices over time.

Sites, jobs and periods count from 0.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from planner.case.figures import support_span
from planner.case.items import BillItem, Offer, System
from planner.case.job import Way
from planner.case.model import Case
from planner.currency import Currency
from planner.inputs import Document, Inputs
from planner.optimizer.useful_work import UsefulWork
from planner.portfolio.schema import MarketRule, Portfolio, PortfolioSite
from planner.sizing.facility import HOURS_PER_YEAR

SECONDS_PER_YEAR = 3600.0 * HOURS_PER_YEAR


@dataclass(frozen=True, eq=False)
class Column:
    """A way in which a job can run: at a site, on a type of GPU system.

    ``systems`` are those that an inference job takes, ``work`` the useful work of a training job.
    """

    job: int
    site: int
    system: System
    way: Way | None
    work: UsefulWork | None
    case: Case | None
    systems: int

    @property
    def name(self) -> str:
        """A name for variables and rows."""
        spares = f".{self.work.team.spares}" if self.work and self.work.team.spares else ""
        return f"{self.job}.{self.site}.{self.way.id if self.way else self.system.id}{spares}"


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
        """A limit of the site in a period, counted from 0."""
        site, found = self.site, self.case.limits[field]
        changes: Mapping[int, float] = {}
        if field == "facility_power_kw":
            found, changes = site.facility_power_kw, site.facility_power_from
        elif field == "racks":
            found, changes = site.racks, site.racks_from
        begun = [first for first in changes if first <= period + 1]
        found = float(changes[max(begun)]) if begun else found
        return site.left_at_meter_kw(found) if field == "facility_power_kw" else found


@dataclass(frozen=True)
class Instance:
    """A portfolio in numbers; periods count from 0."""

    portfolio: Portfolio
    document: Document
    places: tuple[Place, ...]
    columns: tuple[Column, ...]
    settings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def periods(self) -> range:
        """All periods."""
        return range(self.portfolio.periods.count)

    @property
    def years(self) -> float:
        """The length of a period, years."""
        return self.portfolio.periods.years

    @property
    def period_s(self) -> float:
        """The length of a period, s."""
        return self.years * SECONDS_PER_YEAR

    def discount(self, at_years: float) -> float:
        """The present value of a dollar paid at a time, years from the start."""
        return float((1.0 + self.portfolio.term.discount_rate) ** -at_years)

    def window(self, job: int) -> range:
        """The periods in which a job runs."""
        asked = self.portfolio.jobs[job]
        return range(asked.window.first - 1, self.portfolio.last_of(asked))

    def rule(self, place: Place, item_id: str) -> MarketRule:
        """The market rule of an item."""
        return self.portfolio.rule(item_id, place.inputs.item(item_id).category)

    def price_usd(self, place: Place, item_id: str, period: int) -> float:
        """The net price of a unit ordered in a period, USD to the cent."""
        price, trend = (
            place.items[item_id].unit_net_usd or 0.0,
            self.rule(place, item_id).price_trend,
        )
        if not trend:
            return price
        shown: Currency = place.inputs.problem.shown_in
        return shown.rounded_usd(price * (1.0 + trend) ** (period * self.years))

    def first_arrival(self, place: Place, item_id: str) -> int:
        """The first period in which a unit that is bought can be in use."""
        rule = self.rule(place, item_id)
        return rule.available_from - 1 + rule.lead

    def support_usd(self, place: Place, item_id: str, arrives: int) -> list[float]:
        """Support and subscription of a unit in each period, USD."""
        item = place.items[item_id]
        span = support_span(place.inputs.item(item_id), place.inputs)
        end = span[1] if span[1] < self.years * len(self.periods) else math.inf
        found = [0.0] * min(arrives, len(self.periods))
        for period in self.periods[arrives:]:
            age = (period - arrives) * self.years
            paid = max(0.0, min(age + self.years, end) - max(age, span[0]))
            subscription = item.subscription_usd_per_year * self.years
            found.append(item.support_usd_per_year * paid + subscription)
        return found

    def residual_share(self, place: Place, item_id: str, arrives: int) -> float:
        """The share of its price that a unit is worth at the end."""
        loss = self.rule(place, item_id).residual_loss
        if loss is None:
            return 0.0
        return float((1.0 - loss) ** ((len(self.periods) - arrives) * self.years))

    def start(self, period: int) -> str | None:
        """The day on which a period begins, None without a start."""
        first = self.portfolio.periods.start
        if first is None:
            return None
        day = datetime.date.fromisoformat(first)
        month = day.month - 1 + period * self.portfolio.periods.months
        year, month = day.year + month // 12, month % 12 + 1
        return datetime.date(year, month, min(day.day, 28)).isoformat()
