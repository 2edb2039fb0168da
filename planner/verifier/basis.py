"""Comparison of a plan with its recomputation, and the figures of one unit of each item."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from planner.currency import Currency
from planner.figures import DRAW, STATED, UNSTATED
from planner.schema.catalog import Item
from planner.schema.job import Job
from planner.schema.prices import Price, SupportMoney, SupportShare
from planner.schema.problem import Problem, Quantity

if TYPE_CHECKING:
    from planner.inputs import Inputs

T = TypeVar("T")
RackClassName = Literal["gpu", "storage", "network"]
RELATIVE = 1e-9
"""Above the noise of summing floats in another order, below any real difference."""
NEARLY_ZERO = 1e-12
DECIDED = ("gpu_system", "storage")
"""Categories whose counts a plan decides; all other counts follow."""
DRAWLESS = ("cable", "rack", "pdu", "software", "service")
BTU_PER_H_PER_KW = 3412.14
RACK_UNIT_M = 1.75 * 0.0254
HALF_CENT_NOISE = 1e-6


class Either(tuple[Any, ...]):
    """Values of which each is right, such as both neighbours of half a cent."""

    __slots__ = ()


class Difference(NamedTuple):
    """A value of which rounding leaves ``noise``, such as a small difference of large values."""

    value: float
    noise: float

    @classmethod
    def of(cls, share: float, scale: float) -> Difference:
        """Return a share found as a difference of shares near 1, times ``scale``."""
        return cls(scale * share, scale * NEARLY_ZERO)


class Recheck(NamedTuple):
    """Wrong figures, and broken limits as (name, text)."""

    disagreements: tuple[str, ...]
    breaches: tuple[tuple[str, str], ...]


class Findings:
    """Every difference and every broken limit of one plan."""

    def __init__(self) -> None:
        self.disagreements: list[str] = []
        self.breaches: list[tuple[str, str]] = []

    def fail(self, text: str) -> None:
        """Add a difference."""
        self.disagreements.append(text)

    def require(self, holds: bool, text: str) -> None:
        """Add a difference unless ``holds``."""
        if not holds:
            self.fail(text)

    def require_all(self, rules: Mapping[str, bool]) -> None:
        """Add the text of each rule that does not hold."""
        self.disagreements += [text for text, holds in rules.items() if not holds]

    def breach(self, name: str, text: str) -> None:
        """Add a broken limit."""
        self.breaches.append((name, text))

    def expect(self, path: str, stated: Any, own: Any) -> None:
        """Compare a value of the plan with its recomputation.

        ``own`` may be a mapping: of fields of a record, or of the keys of a mapping.
        """
        if stated is own or stated == own:
            return
        if isinstance(own, dict) and stated is not None:
            keyed = isinstance(stated, dict)
            values = stated if keyed else vars(stated)
            if keyed and stated.keys() != own.keys():
                self.fail(f"{path}: plan says {sorted(stated)}, recomputed {sorted(own)}")
                return
            for name, value in own.items():
                self.expect(f"{path}.{name}", values[name], value)
        elif not agrees(stated, own):
            self.fail(f"{path}: plan says {write(stated)}, recomputed {write(own)}")

    def at_most(self, path: str, stated: float, most: float | None) -> None:
        """Require that a value is at most another one, within ``RELATIVE``."""
        if most is not None and not stated <= most + RELATIVE * max(abs(stated), abs(most)):
            self.fail(f"{path}: plan says {write(stated)}, at most {write(most)} possible")


def agrees(stated: Any, own: Any) -> bool:
    """Whether two values are the same; an unknown figure (None) equals an unknown one only."""
    if isinstance(own, Either):
        return any(agrees(stated, each) for each in own)
    if isinstance(own, Difference):
        near = isinstance(stated, float | int) and abs(stated - own.value) <= own.noise
        return near or agrees(stated, own.value)
    if isinstance(stated, float | int) and isinstance(own, float | int):
        if isinstance(stated, int) and isinstance(own, int):
            return stated == own
        return math.isclose(stated, own, rel_tol=RELATIVE, abs_tol=NEARLY_ZERO)
    return bool(stated == own)


def write(value: Any) -> str:
    """Return a value as messages show it."""
    if isinstance(value, Either):
        return " or ".join(map(write, value))
    if isinstance(value, Difference):
        return write(value.value)
    if value is None:
        return "not known"
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def round_up(amount: float) -> int:
    """Return the least whole number that is not less, but for float noise."""
    return math.ceil(amount - RELATIVE * max(1.0, abs(amount)))


def value(figure: Any) -> Any:
    """Return the value of a catalog figure, None where it is not stated."""
    return None if figure is None else figure.value


def times(figure: float | None, factor: float | None) -> float | None:
    """Return a product, None where a factor is not known."""
    return None if figure is None or factor is None else figure * factor


def total(parts: Iterable[float | None]) -> float | None:
    """Return a sum, None where a part is not known."""
    found = list(parts)
    return None if None in found else sum(each for each in found if each is not None)


class Space(NamedTuple):
    """Capacity of one rack; None is no limit."""

    height_ru: float
    power_kw: float | None
    weight_kg: float | None


@dataclass(frozen=True)
class Sale:
    """How an item is bought; prices have every value that rounding half a cent leaves open.

    ``net_usd`` is empty without a price. Support is paid from ``start`` to ``end`` years of the
    term (no ``end`` without a term).
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
        return 0 if wanted <= 0 else -(-max(wanted, self.min_order) // self.pack) * self.pack


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

    def once(self, name: str, item: Item | None, work: Callable[[], T]) -> T:
        """Return a figure that follows from the inputs, computed at its first use."""
        key = name, None if item is None else item.id
        if key not in self.memo:
            self.memo[key] = work()
        found: T = self.memo[key]
        return found

    def rule(self, sku: str) -> Quantity:
        """Return the problem's rule for the count of an item."""
        return self.problem.items.get(sku, Quantity())

    def of_kind(self, counts: Mapping[str, int], category: str) -> dict[str, int]:
        """Return the counts of one category."""
        return {s: n for s, n in counts.items() if n and self.items[s].category == category}

    def flash(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Return the counts of storage that checkpoints may be on."""
        stored = self.of_kind(counts, "storage")
        return {sku: count for sku, count in stored.items() if not self.items[sku].is_bulk}

    # Power, heat, size.

    def of_unit(self, item: Item, own: Callable[[Item], float | None]) -> float | None:
        """Return a figure of one unit; of a bundle the sum over its components."""
        if not item.components:
            return own(item)
        parts = ((self.of_unit(self.items[c.id], own), c.quantity) for c in item.components)
        return total(times(each, quantity) for each, quantity in parts)

    def rated_kw(self, item: Item) -> float | None:
        """Return the maximum draw of one unit at full power, kW; None if not known."""
        if item.category in DRAWLESS:
            return 0.0
        return self.once("rated", item, lambda: self.of_unit(item, self._own_kw))

    def _own_kw(self, item: Item) -> float | None:
        own: float | None = value(item.consumes.it_power)
        return own

    def draw_kw(self, item: Item) -> float | None:
        """Return the draw of one unit at its set point, kW; None if not known."""
        return times(self.rated_kw(item), self.power_share.get(item.id, 1.0))

    def typical_kw(self, item: Item) -> float | None:
        """Return the typical draw of one unit, kW; the maximum where no typical one is known."""
        if item.category in DRAWLESS:
            return 0.0

        def own(part: Item) -> float | None:
            typical = part.consumes.typical_power
            return self._own_kw(part) if typical is None else typical.value

        typical, most = self.of_unit(item, own), self.draw_kw(item)
        if item.id in self.power_share and typical is not None and most is not None:
            return min(typical, most)
        return typical

    def liquid_share(self, item: Item) -> float:
        """Return the share of a unit's heat that goes to liquid, by its components' draw."""
        if not self.rated_kw(item):
            return 0.0
        if not item.components:
            return value(item.consumes.liquid_share) or 0.0
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

        def own(part: Item) -> float | None:
            known = {path: value(_at(part, path)) for path in row.paths}
            factors = [UNSTATED.get(p) if own is None else own for p, own in known.items()]
            if DRAW in row.paths:
                factors[row.paths.index(DRAW)] = self._own_kw(part)
            if 0.0 in factors:
                return 0.0
            return None if None in factors else math.prod(f for f in factors if f is not None)

        rated = self.once(figure, item, lambda: self.of_unit(item, own))
        return times(rated, self.power_share.get(item.id, 1.0) if row.follows_draw else 1.0)

    def height_ru(self, item: Item) -> float | None:
        """Return the height of one unit in rack units."""
        return self.stated(item, "rack_units")

    def weight_kg(self, item: Item) -> float | None:
        """Return the weight of one unit in kg."""
        return self.stated(item, "weight_kg")

    def in_rack_kw(self, item: Item) -> float | None:
        """Return the draw of one device in its rack, kW: a switch with every transceiver."""
        fitted = 0.0
        for group in item.switch.ports if item.switch else ():
            end = group.link.switch_end if group.link else None
            if end is not None:
                each = self.rated_kw(self.items[end.item]) or 0.0
                fitted = max(fitted, -(-group.count // end.links) * each)
        return total((self.rated_kw(item), fitted))

    # Racks and the hall.

    def space(self, name: RackClassName) -> Space | None:
        """Return the capacity of a rack of a class, None where racks have no size."""
        site = self.problem.site
        if site.rack is None:
            return None
        own = getattr(site.rack_classes, name)
        height_ru, power_kw, weight_kg = (
            getattr(site.rack, field) if getattr(own, field) is None else getattr(own, field)
            for field in Space._fields
        )
        return Space(height_ru, power_kw, weight_kg)

    def whole_rack_kw(self) -> float | None:
        """Return the power limit of a product that is a rack of its own, None for none."""
        rack = self.problem.site.rack
        return None if rack is None else rack.whole_rack_power_kw or rack.power_kw

    # Bandwidth.

    def nameplate(self, sku: str, count: float) -> tuple[float, float]:
        """Return the (read, write) nameplate bandwidth of ``count`` units, GB/s.

        A table of sizes is linear between rows, proportional below its first one.
        """
        item = self.items[sku]
        if item.category != "storage" or item.is_bulk or count == 0:
            return 0.0, 0.0
        if item.sizes is None:
            each = value(item.provides.read), value(item.provides.write)
            return (each[0] or 0.0) * count, (each[1] or 0.0) * count
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
        price, asked = self.inputs.prices.get(item.id), self.rule(item.id)
        term, money, discount = self.problem.term, self.problem.shown_in, self._discount(item)
        listed: tuple[float, ...] = () if price is None else (price.list_usd,)
        net: tuple[float, ...] = tuple(usd * (1 - discount) for usd in listed)
        if price is not None and not is_percentage(item):
            listed = listed if money.code == "USD" else cents(price.list_usd, money)
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
        """Return level and price per year of support, and the years included in the price."""
        term = self.problem.term
        everywhere = None if term is None else term.support_level
        if price is None:
            known = everywhere if everywhere == "none" else None
            return asked.support_level or known, None, 0.0
        level = price.support_level
        if everywhere == "none" or everywhere in (*price.support_levels, level):
            level = everywhere or level
        level = asked.support_level or level
        if level in price.support_levels:
            offer = price.support_levels[level]
            return level, offer.per_year, offer.included_years
        per_year = None if level == "none" else price.support_per_year
        return level, per_year, price.support_included_years

    def _discount(self, item: Item) -> float:
        """Return the share off the list price: the most specific entry counts, then the last."""
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


def _at(item: Item, path: str) -> Any:
    part, name = path.split(".")
    return getattr(getattr(item, part), name)


def is_percentage(item: Item) -> bool:
    """Whether a price is per 100 USD of hardware, which no cents round."""
    return item.service is not None and item.service.per == "hardware"


def cents(amount_usd: float, money: Currency) -> Either:
    """Return an amount in whole cents of a currency, in USD; both neighbours of half a cent."""
    parts = 10**money.decimals
    exact = amount_usd / money.usd * parts
    below = math.floor(exact)
    half = abs(exact - below - 0.5) <= max(HALF_CENT_NOISE, 1e-15 * exact)
    near = (below, below + 1) if half else (round(exact),)
    return Either(each / parts * money.usd for each in near)


def present_years(start: float, end: float, rate: float) -> float:
    """Return the present value of 1 per year from ``start`` to ``end``, each paid at its end."""
    years = range(1, math.ceil(end) + 1)
    return sum(max(0.0, min(y, end) - max(y - 1, start)) / (1 + rate) ** y for y in years)
