"""One unit of each item in the plan's units: draw, heat, size, bandwidth, and how it is bought."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from planner.currency import Currency
from planner.figures import DRAW, STATED, UNSTATED, Stated
from planner.schema.catalog import Item, ServiceCount
from planner.schema.prices import Price, SupportMoney, SupportShare
from planner.schema.problem import Job, Problem, Quantity
from planner.verifier.ledger import Either, round_up

if TYPE_CHECKING:
    from planner.inputs import Inputs

T = TypeVar("T")
RackClassName = Literal["gpu", "storage", "network"]

DECIDED = ("gpu_system", "storage")
"""Categories whose counts a plan decides; all other counts follow."""
DRAWLESS = ("cable", "rack", "pdu", "software", "service")
BTU_PER_H_PER_KW = 3412.14
HALF_CENT_NOISE = 1e-6
RACK_UNIT_M = 1.75 * 0.0254
NO_DEMAND = Quantity()


class Space(NamedTuple):
    """Capacity of one rack; None is no limit."""

    height_ru: float
    power_kw: float | None
    weight_kg: float | None


@dataclass(frozen=True)
class Sale:
    """How an item is bought: unit price, pack, units owned, cold-spare share, support.

    ``net_usd`` has every value that rounding half a cent leaves open; empty without a price.
    Support is paid from ``start`` to ``end`` years of the term (no ``end`` without a term).
    """

    price: Price | None
    discount: float
    listed_usd: tuple[float, ...]
    net_usd: tuple[float, ...]
    pack: int
    min_order: int
    owned: int
    spare_share: float
    support_level: str | None
    support: SupportShare | SupportMoney | None
    start: float
    end: float | None

    def order(self, count: int) -> int:
        """Return the units to buy so that ``count`` are there, owned ones included."""
        wanted = count - self.owned
        if wanted <= 0:
            return 0
        return max(-(-wanted // self.pack), -(-self.min_order // self.pack)) * self.pack

    @property
    def support_years(self) -> float | None:
        """Years of the term for which support is paid."""
        return None if self.end is None else max(0.0, self.end - self.start)


@dataclass(frozen=True)
class Basis:
    """Problem, items and prices that a plan is judged by.

    ``power_share`` is the share of its rated power at which a GPU system of the job is provisioned.
    """

    problem: Problem
    items: Mapping[str, Item]
    inputs: Inputs
    memo: dict[Any, Any]
    power_share: Mapping[str, float]

    @classmethod
    def of(cls, inputs: Inputs) -> Basis:
        """Return the basis of inputs."""
        memo: dict[Any, Any] = inputs.once("verify", inputs.problem, dict)
        return cls(inputs.problem, inputs.by_id, inputs, memo, {})

    def with_job(self, job: Job, power_share: Mapping[str, float]) -> Basis:
        """Return the basis with the job's chosen option and set points."""
        problem = self.problem.model_copy(update={"jobs": (job,)})
        return replace(self, problem=problem, power_share=power_share)

    @property
    def job(self) -> Job:
        """The job."""
        return self.problem.jobs[0]

    @property
    def money(self) -> Currency:
        """The currency to whose smallest unit prices are rounded."""
        return self.problem.shown_in

    def once(self, name: str, item: Item | None, work: Callable[[], T]) -> T:
        """Return a figure that follows from the inputs, computed at its first use."""
        key = name, None if item is None else item.id
        if key not in self.memo:
            self.memo[key] = work()
        found: T = self.memo[key]
        return found

    def demand(self, sku: str) -> Quantity:
        """Return the problem's rule for the count of an item."""
        return self.problem.items.get(sku, NO_DEMAND)

    def of_kind(self, counts: Mapping[str, int], category: str) -> dict[str, int]:
        """Return the counts of one category."""
        return {s: n for s, n in counts.items() if n and self.items[s].category == category}

    def flash(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Return the counts of storage that checkpoints may be on."""
        stored = self.of_kind(counts, "storage")
        return {sku: count for sku, count in stored.items() if not self.items[sku].is_bulk}

    # Power, heat, size.

    def total(self, item: Item, own: Callable[[Item], float | None]) -> float | None:
        """Return a figure of one unit; of a bundle the sum over its components."""
        if not item.components:
            return own(item)
        parts = [(self.total(self.items[c.id], own), c.quantity) for c in item.components]
        known = [each * quantity for each, quantity in parts if each is not None]
        return sum(known) if len(known) == len(parts) else None

    def rated_kw(self, item: Item) -> float | None:
        """Return the maximum draw of one unit at full power, kW; None if not known."""
        if item.category in DRAWLESS:
            return 0.0
        return self.once("rated", item, lambda: self.total(item, self._own_kw))

    def _own_kw(self, item: Item) -> float | None:
        provided = item.consumes.design_power
        if self.problem.site.power_basis == "design" and provided is not None:
            return provided.value
        return None if item.consumes.it_power is None else item.consumes.it_power.value

    def draw_kw(self, item: Item) -> float | None:
        """Return the draw of one unit at its set point, kW; None if not known."""
        rated = self.rated_kw(item)
        return None if rated is None else rated * self.power_share.get(item.id, 1.0)

    def typical_kw(self, item: Item) -> float | None:
        """Return the typical draw of one unit, kW; the maximum where no typical one is known."""
        if item.category in DRAWLESS:
            return 0.0

        def own(part: Item) -> float | None:
            typical = part.consumes.typical_power
            return self._own_kw(part) if typical is None else typical.value

        typical, most = self.total(item, own), self.draw_kw(item)
        if item.id in self.power_share and typical is not None and most is not None:
            return min(typical, most)
        return typical

    def liquid_share(self, item: Item) -> float:
        """Return the share of a unit's heat that goes to liquid, by its components' draw."""
        if not self.rated_kw(item):
            return 0.0
        if not item.components:
            return item.consumes.liquid_share.value if item.consumes.liquid_share else 0.0
        parts = [(self.items[c.id], c.quantity) for c in item.components]
        draws = [quantity * (self.rated_kw(part) or 0.0) for part, quantity in parts]
        each = zip(parts, draws, strict=True)
        return sum(self.liquid_share(part) * kw for (part, _), kw in each) / sum(draws)

    def pue(self, item: Item) -> float:
        """Return facility power per IT power of a unit, by where its heat goes."""
        liquid, site = self.liquid_share(item), self.problem.site
        return liquid * site.pue_liquid + (1 - liquid) * site.pue_air

    def stated(self, item: Item, figure: str) -> float | None:
        """Return a figure of the table ``STATED`` for one unit at its set point."""
        row = STATED[figure]
        if item.category in row.none_of:
            return 0.0
        rated = self.once(
            figure, item, lambda: self.total(item, lambda one: self._product(one, row))
        )
        share = self.power_share.get(item.id, 1.0) if row.follows_draw else 1.0
        return None if rated is None else rated * share

    def _product(self, item: Item, row: Stated) -> float | None:
        factors: list[float | None] = []
        for path in row.of:
            part, name = path.split(".")
            figure = getattr(getattr(item, part), name)
            own = UNSTATED.get(path) if figure is None else figure.value
            factors.append(self._own_kw(item) if path == DRAW else own)
        if 0.0 in factors:
            return 0.0
        return None if None in factors else math.prod(f for f in factors if f is not None)

    def height_ru(self, item: Item) -> float | None:
        """Return the height of one unit in rack units."""
        return self.stated(item, "rack_units")

    def weight_kg(self, item: Item) -> float | None:
        """Return the weight of one unit in kg."""
        return self.stated(item, "weight_kg")

    def in_rack_kw(self, item: Item) -> float | None:
        """Return the draw of one device in its rack, kW: a switch with every transceiver."""
        return self.once("in_rack", item, lambda: self._in_rack_kw(item))

    def _in_rack_kw(self, item: Item) -> float | None:
        own, fitted = self.rated_kw(item), 0.0
        for group in item.switch.ports if item.switch else ():
            end = group.link.switch_end if group.link else None
            if end is not None:
                each = self.rated_kw(self.items[self.reaching(end.item)]) or 0.0
                fitted = max(fitted, -(-group.count // end.links) * each)
        return None if own is None else own + fitted

    # Racks and the hall.

    def space(self, name: RackClassName) -> Space | None:
        """Return the capacity of a rack of a class, None where racks have no size."""
        site = self.problem.site
        if site.rack is None:
            return None
        own = getattr(site.rack_classes, name)
        power_kw = site.rack.power_kw if own.power_kw is None else own.power_kw
        if power_kw is None:
            known = [group.power_kw for group in site.positions if group.power_kw is not None]
            power_kw = min(known, default=None)
        height_ru = site.rack.height_ru if own.height_ru is None else own.height_ru
        weight_kg = site.rack.weight_kg if own.weight_kg is None else own.weight_kg
        return Space(height_ru, power_kw, weight_kg)

    def whole_rack_kw(self) -> float | None:
        """Return the power limit of a product that is a rack of its own, None for none."""
        rack, positions = self.problem.site.rack, self.problem.site.positions
        if rack is None or rack.whole_rack_power_kw is not None or not positions:
            return None if rack is None else rack.whole_rack_power_kw or rack.power_kw
        known = [group.power_kw for group in positions]
        return None if None in known else max(power for power in known if power is not None)

    def hall_m(self) -> float | None:
        """Return the longest cable run in the hall, m; None where its rows are not given."""
        floor, rack = self.problem.site.floor, self.problem.site.rack
        if floor is None or floor.rows is None or rack is None:
            return None
        return self.once("hall", None, self._hall_m)

    def _hall_m(self) -> float:
        floor, rack = self.problem.site.floor, self.problem.site.rack
        assert floor is not None
        assert floor.rows is not None
        assert rack is not None
        classes = self.problem.site.rack_classes
        own = (classes.gpu.height_ru, classes.storage.height_ru, classes.network.height_ru)
        high_ru = max(rack.height_ru, *(each or 0.0 for each in own))
        for item in self.items.values():
            if item.consumes.racks is not None and item.consumes.rack_units is not None:
                high_ru = max(high_ru, item.consumes.rack_units.value / item.consumes.racks.value)
        across_m = (floor.racks_per_row - 1) * floor.rack_width_m
        across_m += (floor.rows - 1) * floor.row_pitch_m
        across_m += 2 * (floor.riser_m + (high_ru - 1) * RACK_UNIT_M)
        return max(across_m, high_ru * RACK_UNIT_M + floor.rack_width_m) * (1 + floor.slack)

    def reaching(self, sku: str) -> str:
        """Return the part that reaches through the hall, by way of ``beyond``."""
        longest = self.hall_m()
        item = self.items[sku]
        for _ in self.items if longest is not None else ():
            if not item.beyond or not item.reach or item.reach.value >= (longest or 0.0):
                break
            item = self.items[item.beyond]
        return item.id

    # Bandwidth.

    def nameplate(self, sku: str, count: float) -> tuple[float, float]:
        """Return the (read, write) nameplate bandwidth of ``count`` units, GB/s.

        A table of sizes is linear between rows, proportional below its first one.
        """
        item = self.items[sku]
        if item.category != "storage" or item.is_bulk or count == 0:
            return 0.0, 0.0
        if item.sizes is None:
            read, write = item.provides.read, item.provides.write
            return (read.value * count if read else 0.0), (write.value * count if write else 0.0)
        rows = item.sizes.rows
        if count < rows[0].units:
            share = count / rows[0].units
            return rows[0].read * share, rows[0].write * share
        for low, high in pairwise(rows):
            if low.units <= count < high.units:
                part = (count - low.units) / (high.units - low.units)
                read_gb = low.read + part * (high.read - low.read)
                return read_gb, low.write + part * (high.write - low.write)
        last = rows[-1]
        return (last.read, last.write) if count == last.units else (0.0, 0.0)

    # Money.

    def sale(self, item: Item) -> Sale:
        """Return how an item is bought."""
        return self.once("sale", item, lambda: self._sale(item))

    def _sale(self, item: Item) -> Sale:
        price, asked, term = (
            self.inputs.prices.get(item.id),
            self.demand(item.id),
            self.problem.term,
        )
        discount, money = self.discount(item), self.money
        listed: tuple[float, ...] = ()
        net: tuple[float, ...] = ()
        if price is not None and is_percentage(item):
            listed, net = (price.list_usd,), (price.list_usd * (1 - discount),)
        elif price is not None:
            usual = money.code == "USD"
            listed = (price.list_usd,) if usual else cents(price.list_usd, money)
            net = tuple(usd for one in listed for usd in cents(one * (1 - discount), money))
        level, support, start = self._support(price, asked)
        years = None
        if term is not None:
            years = term.support_years if asked.support_years is None else asked.support_years
            years = term.years if years is None else min(years, term.years)
        share = self.problem.spares.get(item.category, 0.0)
        return Sale(
            price,
            discount,
            listed,
            net,
            pack=1 if price is None else price.pack,
            min_order=0 if price is None else price.min_order,
            owned=0 if asked.retire else asked.installed,
            spare_share=share if asked.spares is None else asked.spares,
            support_level=level,
            support=support,
            start=start,
            end=years,
        )

    def _support(
        self, price: Price | None, asked: Quantity
    ) -> tuple[str | None, SupportShare | SupportMoney | None, float]:
        """Return the level of support, its price per year, and the years included in the price."""
        term = self.problem.term
        everywhere = None if term is None else term.support_level
        offered = set() if price is None else {*price.support_levels, price.support_level}
        level = None if price is None else price.support_level
        if everywhere == "none" or (everywhere is not None and everywhere in offered):
            level = everywhere
        level = asked.support_level or level
        if price is None:
            return level, None, 0.0
        if level in price.support_levels:
            return (
                level,
                price.support_levels[level].per_year,
                price.support_levels[level].included_years,
            )
        return (
            level,
            None if level == "none" else price.support_per_year,
            price.support_included_years,
        )

    def discount(self, item: Item) -> float:
        """Return the share off the list price; the most specific discount counts, then the last."""
        found = 0.0
        for key, wanted in (
            ("category", item.category),
            ("vendor", item.vendor),
            ("item", item.id),
        ):
            for entry in self.inputs.discounts:
                found = entry.discount if getattr(entry, key) == wanted else found
        return found

    def spares(self, item: Item, count: int) -> int:
        """Return the cold spares beside ``count`` units; of a bundle components lie in store."""
        return 0 if item.components else round_up(self.sale(item).spare_share * count)

    def bought(self, item: Item, count: int) -> int:
        """Return the units to buy so that ``count`` are in the cluster."""
        return self.sale(item).order(count + self.spares(item, count))


def is_percentage(item: Item) -> bool:
    """Whether a price is per 100 USD of hardware, which no cents round."""
    service: ServiceCount | None = item.service
    return service is not None and service.per == "hardware"


def cents(amount_usd: float, money: Currency) -> Either:
    """Return an amount in whole cents of a currency, in USD; both neighbours of half a cent."""
    parts = 10**money.decimals
    exact = amount_usd / money.usd * parts
    below = math.floor(exact)
    if abs(exact - below - 0.5) <= max(HALF_CENT_NOISE, 1e-15 * exact):
        return Either((below / parts * money.usd, (below + 1) / parts * money.usd))
    return Either((round(exact) / parts * money.usd,))


def present_years(start: float, end: float, rate: float) -> float:
    """Return the present value of 1 per year from ``start`` to ``end``, each paid at its end."""
    years = range(1, math.ceil(end) + 1)
    return sum(max(0.0, min(y, end) - max(y - 1, start)) / (1 + rate) ** y for y in years)
