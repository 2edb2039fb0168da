"""Figures and money of one unit of an item, sums over the bill, bounds of counts by them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from planner.case.items import BillItem, Offer, Storage, System
from planner.case.job import ROUNDING
from planner.case.model import AtLeast, Case, Ceil, Companion, Packed, Quantity, Rates, Steps
from planner.currency import Currency, discounted_years
from planner.figures import (
    BTU_PER_H_PER_KW,
    DRAWLESS,
    HEAT_TO_LIQUID,
    IT_POWER,
    OBJECTIVES,
    STATED,
    UNSTATED,
    Stated,
)
from planner.inputs import NOTHING_ASKED, Inputs, needs, once_for_each
from planner.limits import SUPPLIES
from planner.schema.catalog import Item
from planner.schema.prices import Discount, Price
from planner.schema.problem import Problem
from planner.sizing.placement import ALMOST, Box, RackUse, Space
from planner.sizing.placement import rack_use as pack

if TYPE_CHECKING:
    from planner.schema.plan import RackClassName

RACK_CLASSES: dict[str, RackClassName] = {"gpu_system": "gpu", "storage": "storage"}
CLIENT_GB_PER_S_PER_GPU = 1.0
"""One buffered writer thread per GPU moves about 1 GB/s: 8 per DGX in S. Kartik and C. Tartow, VAST
Data, "A Checkpoint on Checkpoints in LLMs", 2024-01-10."""
Majorant = tuple[dict[str, float], float]
"""Factors of the offers' units, and a constant."""
_at_path = cache(attrgetter)


def bundle_parts(item: Item, inputs: Inputs) -> list[tuple[Item, int]]:
    """The item itself, or its components with their quantities."""
    if not item.components:
        return [(item, 1)]
    return [(inputs.by_id[part.id], part.quantity) for part in item.components]


def catalog_figure(item: Item, inputs: Inputs, row: Stated) -> float | None:
    """A catalog figure of one unit, over its parts; None where any part's is not known."""
    if item.category in row.none_of:
        return 0.0
    known = [(_product(part, row), quantity) for part, quantity in bundle_parts(item, inputs)]
    figures = [each * quantity for each, quantity in known if each is not None]
    return sum(figures) if len(figures) == len(known) else None


def _product(part: Item, row: Stated) -> float | None:
    """A figure of an item without parts: 0 where a factor is 0, whatever the others."""
    product: float | None = 1.0
    for path in row.paths:
        figure = _at_path(path)(part)
        factor = UNSTATED.get(path) if figure is None else figure.value
        if factor == 0.0:
            return 0.0
        product = None if product is None or factor is None else product * factor
    return product


@once_for_each
def it_power_kw(item: Item, inputs: Inputs) -> float | None:
    """Maximum draw of one unit, kW; None where any part's is not known."""
    return catalog_figure(item, inputs, IT_POWER)


@once_for_each
def typical_power_kw(item: Item, inputs: Inputs) -> float | None:
    """Typical draw of one unit, kW; of parts without one their maximum."""
    if it_power_kw(item, inputs) is None:
        return None
    drawing = [each for each in bundle_parts(item, inputs) if each[0].category not in DRAWLESS]
    figures = [(p.consumes.typical_power or p.consumes.it_power, n) for p, n in drawing]
    return sum((figure.value * n for figure, n in figures if figure is not None), 0.0)


@once_for_each
def liquid_kw(item: Item, inputs: Inputs) -> float:
    """Heat of one unit to liquid, kW; 0 where the draw is not known."""
    return catalog_figure(item, inputs, HEAT_TO_LIQUID) or 0.0


def meter_kw(item: Item, inputs: Inputs, charged_kw: float | None = None) -> float:
    """Draw of one unit at the meter, kW: at full draw, else at a given one."""
    most_kw, site = it_power_kw(item, inputs) or 0.0, inputs.problem.site
    liquid = liquid_kw(item, inputs) / most_kw if most_kw else 0.0
    draw_kw = most_kw if charged_kw is None else charged_kw
    return draw_kw * (liquid * site.pue_liquid + (1.0 - liquid) * site.pue_air)


def rack_power_kw(item: Item, inputs: Inputs) -> float:
    """Draw of one device in its rack, kW: a switch with all its transceivers.

    The transceivers are lines of their own in the bill; in the rack they draw where they are.
    """
    draw = it_power_kw(item, inputs) or 0.0
    if item.switch is None:
        return draw
    ends = [(g.count, g.link.switch_end) for g in item.switch.ports if g.link is not None]
    fitted = (
        -(-count // end.links) * (it_power_kw(inputs.by_id[end.item], inputs) or 0.0)
        for count, end in ends
        if end is not None
    )
    return draw + max(fitted, default=0.0)


@once_for_each
def rack_units(item: Item, inputs: Inputs) -> float | None:
    """Height of one unit, RU; None where any part's is not known."""
    return catalog_figure(item, inputs, STATED["rack_units"])


def rack_class(item: Item) -> RackClassName:
    """Rack class of an item."""
    return RACK_CLASSES.get(item.category, "network")


def rack_space(problem: Problem, name: RackClassName) -> Space | None:
    """Room in a rack of a class, None without rack data."""
    rack = problem.site.rack
    if rack is None:
        return None
    own = getattr(problem.site.rack_classes, name)
    return Space(
        own.height_ru or rack.height_ru,
        problem.site.class_power_kw(own),
        rack.weight_kg if own.weight_kg is None else own.weight_kg,
    )


def rack_box(item: Item, inputs: Inputs) -> Box:
    """A device in a rack, with its draw there."""
    height, draw_kw = rack_units(item, inputs) or 0.0, rack_power_kw(item, inputs)
    return Box(item.id, height, draw_kw, catalog_figure(item, inputs, STATED["weight_kg"]))


def rack_use(item: Item, inputs: Inputs) -> RackUse | None:
    """Racks of an item; None without rack data, or where it does not fit."""
    site, space = inputs.problem.site, rack_space(inputs.problem, rack_class(item))
    if item.consumes.racks is not None:
        racks, draw = item.consumes.racks.value, it_power_kw(item, inputs)
        limit = site.rack.whole_rack_limit_kw if site.rack is not None else None
        exceeds = limit is not None and draw is not None and draw > racks * limit * ALMOST
        return None if exceeds else RackUse(racks_each=racks)
    if space is None:
        return None
    unknown_draw = space.power_kw is not None and it_power_kw(item, inputs) is None
    if unknown_draw or rack_units(item, inputs) is None:
        return None
    return pack([(rack_box(part, inputs), n) for part, n in bundle_parts(item, inputs)], space)


def endurance_tb_per_day(item: Item, inputs: Inputs) -> float | None:
    """Writes a day that a unit of storage endures, TB; None where nothing limits it.

    The catalog's figure, else the rating of its flash: raw capacity times drive writes a day, of
    several kinds of flash the least, since all of them take all writes.
    """
    storage = inputs.problem.storage
    if storage.endurance == "off":
        return None
    if item.provides.endurance is not None:
        return item.provides.endurance.value
    rated, flash = storage.dwpd.model_dump(), derived_endurance(item, inputs)
    return min((raw_tb * rated[kind] for kind, raw_tb in flash), default=None)


def derived_endurance(item: Item, inputs: Inputs) -> list[tuple[str, float]]:
    """(kind, raw TB) of the flash in a unit whose endurance is derived from it, if it is."""
    storage, raw_tb = inputs.problem.storage, dict[str, float]()
    if storage.endurance != "derived" or item.provides.endurance is not None:
        return []
    for part, quantity in bundle_parts(item, inputs):
        for media in part.media:
            raw_tb[media.type] = raw_tb.get(media.type, 0.0) + quantity * media.raw_tb
    return [(kind, raw) for kind, raw in raw_tb.items() if kind in type(storage.dwpd).model_fields]


# What must be known.


def needs_power(problem: Problem) -> bool:
    """True if draw matters: limited, paid for, cooled by CDUs, or minimised."""
    site = problem.site
    return needs(problem, "draw") or site.feeds is not None or site.cooling.cdu is not None


def least_stated(problem: Problem) -> list[Stated]:
    """Catalog figures that the objective minimises: an item without one would count as nothing."""
    best = OBJECTIVES.get(problem.objective.minimize or "")
    return [row for name, row in STATED.items() if best is not None and best.figure.name == name]


# Money: in whole cents of the currency in which it is shown, so that the bill foots in it.


def discount(item: Item, discounts: Sequence[Discount]) -> float:
    """An item's discount: by item before vendor before category, the latest counts."""
    keys = (("item", item.id), ("vendor", item.vendor), ("category", item.category))
    found = (e for key, value in keys for e in reversed(discounts) if getattr(e, key) == value)
    return next((entry.discount for entry in found), 0.0)


def unit_net_usd(
    item: Item, price: Price, discounts: Sequence[Discount], shown_in: Currency
) -> float:
    """Net price of one unit, USD; in cents, unless it is a percentage."""
    kept = 1.0 - discount(item, discounts)
    if item.is_percentage:
        return price.list_usd * kept
    return shown_in.rounded_usd(shown_in.listed_usd(price.list_usd) * kept)


def support_usd_per_year(
    item: Item, price: Price, discounts: Sequence[Discount], shown_in: Currency
) -> float:
    """Support of one unit per year, USD."""
    net_usd = unit_net_usd(item, price, discounts, shown_in)
    return shown_in.rounded_usd(price.support_usd_per_year(net_usd))


def bill_item(item: Item, inputs: Inputs) -> BillItem:
    """An item of the catalogs as the bill has it."""
    problem = inputs.problem
    rule = problem.items.get(item.id, NOTHING_ASKED)
    price, shown_in = inputs.prices.get(item.id), problem.shown_in
    charged_kw = None
    if problem.term is not None and problem.term.energy_basis == "typical":
        charged_kw = typical_power_kw(item, inputs) or 0.0
    net_usd = support_usd = subscription_usd = 0.0
    if price is not None:
        net_usd = unit_net_usd(item, price, inputs.discounts, shown_in)
        support_usd = shown_in.rounded_usd(price.support_usd_per_year(net_usd))
        yearly = (price.per_year_usd or 0.0) * (1.0 - discount(item, inputs.discounts))
        subscription_usd = shown_in.rounded_usd(yearly)
    return BillItem(
        id=item.id,
        vendor=item.vendor,
        installed=rule.in_place,
        unit_net_usd=net_usd if price else None,
        support_usd_per_year=support_usd,
        subscription_usd_per_year=subscription_usd,
        support_factor=support_factor(item, inputs),
        it_power_kw=it_power_kw(item, inputs) or 0.0,
        meter_kw=meter_kw(item, inputs),
        energy_kw=meter_kw(item, inputs, charged_kw),
        liquid_kw=liquid_kw(item, inputs),
        stated={name: catalog_figure(item, inputs, row) or 0.0 for name, row in STATED.items()},
        # A bundle's spares are of its components: see companions.
        spare_share=0.0 if item.components else problem.spare_share(item.id, item.category),
        pack=price.pack if price else 1,
        min_order=price.min_order if price else 0,
        stock=_stock(item, inputs),
    )


def _stock(item: Item, inputs: Inputs) -> int | None:
    """The most units that can be bought: 0 without a price or too late, None for any."""
    problem, price = inputs.problem, inputs.prices.get(item.id)
    if price is None or item.lifecycle not in problem.consider.lifecycle:
        return 0
    most_days, days = problem.targets.max_lead_time_days, price.lead_time_days
    if most_days is not None and days is not None and days > most_days * ALMOST:
        return 0
    stated = problem.items.get(item.id, NOTHING_ASKED).stock
    return price.stock if stated is None else stated


def support_span(item: Item, inputs: Inputs) -> tuple[float, float]:
    """Start and end of paid support of an item, years of the term."""
    term, price = inputs.problem.term, inputs.prices.get(item.id)
    if term is None or price is None:
        return 0.0, 0.0
    end = term.years if term.support_years is None else min(term.support_years, term.years)
    return price.support_included_years, end


def support_factor(item: Item, inputs: Inputs) -> float:
    """Years of support that count in the TCO, discounted."""
    start, end = support_span(item, inputs)
    term = inputs.problem.term
    return discounted_years(start, end, term.discount_rate) if term else 0.0


class Part(NamedTuple):
    """Addend of one unit to a sum: of each unit bought, or of each in place."""

    each: Callable[[BillItem, Rates], float | None]
    bought: bool = False

    def addend(self, item: BillItem, rates: Rates) -> float:
        """Addend of a unit; 0 where unknown, and for stored units of a sum over those in place."""
        stored = isinstance(item, Companion) and item.stored
        return (self.each(item, rates) or 0.0) if self.bought or not stored else 0.0


def _over_term(part: Part) -> Part:
    """A yearly amount over the term, discounted."""
    return Part(lambda item, rates: part.addend(item, rates) * rates.discounted_years, part.bought)


def _stated_part(name: str) -> Part:
    return Part(lambda item, rates: item.stated[name])


_COMPARED = {limit.figure for limit in SUPPLIES} | {o.figure.name for o in OBJECTIVES.values()}
_CAPEX = Part(lambda item, rates: item.unit_net_usd, bought=True)
_SUPPORT = Part(lambda item, rates: item.support_usd_per_year, bought=True)
_SUBSCRIPTIONS = Part(lambda item, rates: item.subscription_usd_per_year, bought=True)
_ENERGY = Part(lambda item, rates: item.energy_kw * rates.energy_usd_per_kw_year)
_COLOCATION = Part(lambda item, rates: item.it_power_kw * rates.colocation_usd_per_kw_year)
_SUPPORT_PAID = Part(
    lambda item, rates: item.support_usd_per_year * item.support_factor, bought=True
)
SUMS: Mapping[str, tuple[Part, ...]] = {
    "it_power_kw": (Part(lambda item, rates: item.it_power_kw),),
    "facility_power_kw": (Part(lambda item, rates: item.meter_kw),),
    "heat_air_kw": (Part(lambda item, rates: item.it_power_kw - item.liquid_kw),),
    "heat_liquid_kw": (Part(lambda item, rates: item.liquid_kw),),
    "heat_btu_per_h": (Part(lambda item, rates: item.it_power_kw * BTU_PER_H_PER_KW),),
    **{name: (_stated_part(name),) for name in STATED if name in _COMPARED},
    "capex_usd": (_CAPEX,),
    "support_usd_per_year": (_SUPPORT,),
    "subscriptions_usd_per_year": (_SUBSCRIPTIONS,),
    "energy_usd_per_year": (_ENERGY,),
    "colocation_usd_per_year": (_COLOCATION,),
    "opex_usd_per_year": (_SUPPORT, _SUBSCRIPTIONS, _ENERGY, _COLOCATION),
    "tco_usd": (_CAPEX, _SUPPORT_PAID, *map(_over_term, (_SUBSCRIPTIONS, _ENERGY, _COLOCATION))),
}
"""By figure, catalog figures as far as anything compares them. Racks are counts of their own, which
the companions know."""


def weights(
    case: Case,
    figure: str,
    units: Any,
    purchased: Any,
    items: Sequence[BillItem] | None = None,
) -> list[tuple[float, Any]]:
    """(per unit, count) of everything that adds to a sum over the bill.

    ``units`` in place and ``purchased`` by id are numbers, or variables of a model: so the money
    reported is the money optimised. ``items``: those of the bill, where there are no others.
    """
    if figure == "racks":
        return [(factor, units[name]) for factor, name in case.companions.racks]
    parts, rates = SUMS[figure], case.rates
    items = case.bill_items() if items is None else items
    # Counts are read where a unit adds 0, too: the rows of a model do not depend on a 0.
    counted = [
        (part.addend(item, rates), purchased[item.id] if part.bought else units[item.place])
        for part in parts
        for item in items
        if part.each(item, rates) is not None
    ]
    for system, way in case.capped.values():
        capped = system.at_set_point(way)
        for part in (each for each in parts if not each.bought):
            less = part.addend(capped, rates) - part.addend(system, rates)
            counted.append((less, units[way.count_name]))
    return [(each, count) for each, count in counted if each != 0.0]


# Bounds of counts: units of an offer by each limit alone, and counts that follow from them.


UNLIMITED_UNITS = 20_000
"""Units that may be bought at least where no limit holds an item back."""
GENEROUS = 4.0
"""Multiple of a demand that an item which no limit holds back may cover alone."""


def max_units(case: Case, offer: Offer) -> int:
    """The most units of an offer that any plan can hold, idle ones included."""
    bounds = [math.inf if offer.high is None else float(offer.high)]
    limits, use = case.limits, offer.rack_use
    if limits["racks"] is not None and use is not None:
        bounds.append(limits["racks"] // use.racks_each * use.per_rack)
    lowest = at_lowest_set_point(offer)
    for figure, parts in SUMS.items():
        if (limit := limits.get(figure)) is not None:
            each = sum(part.addend(lowest, case.rates) for part in parts)
            # Owned units add nothing to a sum over units bought.
            owned = offer.installed if any(part.bought for part in parts) else 0
            bounds += [owned + limit / each] if each > 0 else []
    least = min(bounds)
    if math.isinf(least):
        return units_without_limit(case, offer)
    return math.floor(least * (1 + ROUNDING) + ROUNDING)


def at_lowest_set_point(offer: Offer) -> Offer:
    """An offer at its lowest power set point."""
    if not isinstance(offer, System):
        return offer
    least = min(offer.ways, key=lambda way: way.power_share)
    return offer.at_set_point(least) if least.power_share < 1.0 else offer


def max_units_in_use(case: Case, system: System) -> int:
    """The most systems that any plan needs for the job: those in use and spares."""
    most = max_units(case, system)
    if case.job.gpus_max is None:
        return most
    fewest = [(way, way.systems_for(case.job.gpus_max)) for way in system.ways]
    needed = max(count + case.job.spare_systems(way, count) for way, count in fewest)
    return min(most, max(needed, system.low, system.min_units))


def units_without_limit(case: Case, offer: Offer) -> int:
    """Units of an offer that no limit holds back.

    Several times the largest demand on this item alone. A plan that reaches it is a sign that
    nothing bounds the problem.
    """
    demands = [0.0, float(offer.low), float(offer.min_units)]
    if isinstance(offer, System):
        gpus = [float(case.job.gpus_min), case.limits["min_useful_gpus"] or 0.0]
        floor = case.useful_pflops_floor() or 0.0
        for way in offer.ways:
            rate = way.tflops_per_gpu * (case.job.mfu or 0.0)
            work = floor * 1000.0 / rate if rate > 0 else 0.0
            demands += [count / way.usable_gpus for count in (*gpus, work)]
    if isinstance(offer, Storage):
        demands += _storage_demands(case, offer)
    return max(UNLIMITED_UNITS, math.ceil(GENEROUS * max(demands)))


def _storage_demands(case: Case, offer: Storage) -> list[float]:
    """Units of a storage item alone that each demand requires."""
    job, rule = case.job, case.rule
    read = [job.gpus_min * job.ingest_per_gpu_gb_per_s / case.delivered_read_share]
    write = [(case.limits["least_write_gb_per_s"] or 0.0) / case.delivered_write_share]
    if rule is not None:
        read.append(job.gpus_min / rule.per_gpus * rule.nameplate_read_gb_per_s)
        write.append(job.gpus_min / rule.per_gpus * rule.nameplate_write_gb_per_s)
    if job.max_restore_s is not None:
        once = job.checkpoint_gb / job.max_restore_s / case.delivered_read_share
        terms = [job.fan_out_terms(way.replica_gpus) for way in case.ways]
        read += [(a + c * job.gpus_min) * once for a, c in terms]
    if job.interval.high_s > 0:
        share = min(job.max_overlap, job.max_blocking)
        write.append(job.checkpoint_gb / (share * job.interval.high_s) / case.delivered_write_share)
    demands = [(job.capacity_needed_tb, offer.usable_tb), (job.bulk_needed_tb, offer.bulk_tb)]
    demands += [
        (need, offer.nameplate_read_gb_per_s or offer.bulk_nameplate_read_gb_per_s) for need in read
    ]
    demands += [(need, offer.nameplate_write_gb_per_s) for need in write]
    return [need / each for need, each in demands if each > 0]


def has_falling_sizes(case: Case) -> bool:
    """True if a larger size of some fabric has less of something than a smaller one."""
    return any(
        after < before
        for each in case.companions.quantities
        if isinstance(each, Steps)
        for one, other in pairwise(each.sizes)
        for before, after in zip(one.outputs, other.outputs, strict=True)
    )


# Of counts that follow from the offers': they keep fabrics small.


@dataclass
class Bounds:
    """Upper bounds of the counts of a case; ``tops`` are the most units of each offer."""

    tops: dict[str, int]
    weights: list[tuple[float, dict[str, float]]]
    majorants: dict[str, Majorant] = field(default_factory=dict)

    @classmethod
    def of_case(cls, case: Case, tops: dict[str, int]) -> Bounds:
        """The bounds of a case whose offers have at most ``tops`` units."""
        limits, offers = case.limits, [at_lowest_set_point(offer) for offer in case.offers()]
        price = {o.id: 0.0 if o.installed else o.unit_net_usd or 0.0 for o in offers}
        uses = ((o.id, o.rack_use) for o in offers)
        racks = {name: use.racks_each / use.per_rack if use else 0.0 for name, use in uses}
        each = (
            (limits["it_power_kw"], {o.id: o.it_power_kw for o in offers}),
            (limits["facility_power_kw"], {o.id: o.meter_kw for o in offers}),
            (limits["capex_usd"], price),
            (limits["racks"], racks),
        )
        joined = [
            (each.id, each.fabric_count(fabric))
            for each in case.multi_fabric_systems
            for fabric in each.fabrics
        ]
        return cls(
            tops,
            [(float(limit), use) for limit, use in each if limit is not None],
            {wired: ({name: 1.0}, 0.0) for name, wired in joined},  # at most all of a type
        )

    def add(self, quantities: Iterable[Quantity]) -> None:
        """Add the majorants of counts that follow from those known so far."""
        for quantity in quantities:
            terms, constant = self.linear(quantity.terms)
            if isinstance(quantity, Packed):
                alone = quantity.packing.alone  # racks that would hold every kind by itself
                shares = zip(alone, quantity.terms, strict=True)
                terms, constant = self.linear((1.0 / n, name) for n, (_, name) in shares)
                self.majorants[quantity.name] = terms, constant + len(alone)
            elif isinstance(quantity, Steps):
                for index, name in enumerate(quantity.outputs):
                    self.majorants[name] = self._steps(quantity, index, terms, constant)
            elif isinstance(quantity, AtLeast):
                self.majorants[quantity.name] = terms, constant + quantity.least
            elif isinstance(quantity, Ceil):
                more = quantity.constant + 1.0 + quantity.if_any
                self.majorants[quantity.name] = terms, constant + more
            else:
                self.majorants[quantity.name] = terms, constant + quantity.constant

    def most(self, terms: Iterable[tuple[float, str]]) -> float:
        """Upper bound of a sum of terms."""
        factors, constant = self.linear(terms)
        best = sum(factor * self.tops[name] for name, factor in factors.items())
        for limit, use in self.weights:
            free = sum(f * self.tops[name] for name, f in factors.items() if use[name] <= 0)
            rates = (f / use[name] for name, f in factors.items() if use[name] > 0)
            best = min(best, free + limit * max(rates, default=0.0) * (1 + ROUNDING))
        return best + constant

    def linear(self, terms: Iterable[tuple[float, str]]) -> Majorant:
        """Majorant of a sum of terms."""
        factors: dict[str, float] = {}
        constant = 0.0
        for factor, name in terms:
            inner, more = self.majorants.get(name, ({name: 1.0}, 0.0))
            constant += factor * more
            for key, value in inner.items():
                factors[key] = factors.get(key, 0.0) + factor * value
        return factors, constant

    def _steps(
        self, quantity: Steps, index: int, terms: dict[str, float], constant: float
    ) -> Majorant:
        """Output <= first + rate * amount, with the steepest rate of any size reached."""
        most = self.most(quantity.terms) + 1.0
        lows = [0, *(size.capacity for size in quantity.sizes[:-1])]
        first = quantity.sizes[0].outputs[index] if quantity.sizes else 0
        sizes = zip(lows, quantity.sizes, strict=False)
        reached = [(low, size.outputs[index]) for low, size in sizes if low < most]
        rate = max(((output - first) / (low + 1) for low, output in reached), default=0.0)
        return {key: rate * value for key, value in terms.items()}, first + rate * constant
