"""What one unit of anything in the bill costs, to the cent, and what it draws.

A cent is the smallest unit of the currency in which money is shown, so that the bill foots in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from planner.case import figures
from planner.case.model import BillItem, Case, Rates
from planner.currency import Currency
from planner.figures import OBJECTIVES, STATED
from planner.inputs import NOTHING_ASKED, Inputs
from planner.limits import SUPPLIES
from planner.schema.catalog import Item
from planner.schema.prices import Discount, Price
from planner.sizing.facility import discounted_years, heat_btu_per_h


def discount(item: Item, discounts: Sequence[Discount]) -> float:
    """Return an item's discount: by item before vendor before category, the latest counts."""
    for key, value in (("item", item.id), ("vendor", item.vendor), ("category", item.category)):
        for entry in reversed(discounts):
            if getattr(entry, key) == value:
                return entry.discount
    return 0.0


def unit_net_usd(
    item: Item, price: Price, discounts: Sequence[Discount], shown_in: Currency
) -> float:
    """Return what one unit costs after discount, USD; in cents, unless it is a percentage."""
    left = 1.0 - discount(item, discounts)
    if item.is_percentage:
        return price.list_usd * left
    return shown_in.rounded_usd(shown_in.listed_usd(price.list_usd) * left)


def support_usd_per_year(
    item: Item, price: Price, discounts: Sequence[Discount], shown_in: Currency
) -> float:
    """Return what support of one unit costs per year, USD."""
    net_usd = unit_net_usd(item, price, discounts, shown_in)
    return shown_in.rounded_usd(price.support_usd_per_year(net_usd))


def bill_item(item: Item, inputs: Inputs) -> BillItem:
    """Return an item of the catalogs as the bill has it."""
    problem = inputs.problem
    rule = problem.items.get(item.id, NOTHING_ASKED)
    price = inputs.prices.get(item.id)
    typical = problem.term is not None and problem.term.energy_basis == "typical"
    off, shown_in = inputs.discounts, problem.shown_in
    most_kw, liquid_kw = figures.it_power_kw(item, inputs) or 0.0, figures.liquid_kw(item, inputs)
    liquid = liquid_kw / most_kw if most_kw else 0.0
    net_usd = unit_net_usd(item, price, off, shown_in) if price else None
    supported_usd = price.support_usd_per_year(net_usd) if price and net_usd is not None else 0.0
    drawn_kw = (figures.typical_power_kw(item, inputs) or 0.0) if typical else most_kw
    return BillItem(
        id=item.id,
        vendor=item.vendor,
        installed=rule.in_place,
        unit_net_usd=net_usd,
        support_usd_per_year=shown_in.rounded_usd(supported_usd),
        subscription_usd_per_year=subscription_usd_per_year(item, inputs),
        support_factor=support_factor(item, inputs),
        it_power_kw=most_kw,
        meter_kw=figures.metered_kw(most_kw, liquid, problem.site),
        energy_kw=figures.metered_kw(drawn_kw, liquid, problem.site),
        liquid_kw=liquid_kw,
        stated={name: figures.stated(item, inputs, row) or 0.0 for name, row in STATED.items()},
        # A bundle's spares are of its components: see _spare_parts.
        spare_share=0.0 if item.components else problem.spare_share(item.id, item.category),
        pack=price.pack if price else 1,
        min_order=price.min_order if price else 0,
        stock=stock(item, inputs),
    )


def stock(item: Item, inputs: Inputs) -> int | None:
    """Return the most units that can be bought: 0 without a price or too late, None for any."""
    problem = inputs.problem
    rule, price = problem.items.get(item.id, NOTHING_ASKED), inputs.prices.get(item.id)
    if price is None or item.lifecycle not in problem.consider.lifecycle:
        return 0
    if too_late(price, inputs):
        return 0
    return price.stock if rule.stock is None else rule.stock


def too_late(price: Price, inputs: Inputs) -> bool:
    """Say whether what is ordered now comes later than the problem allows."""
    most = inputs.problem.targets.max_lead_time_days
    days = price.lead_time_days
    return most is not None and days is not None and days > most * figures.ALMOST


def subscription_usd_per_year(item: Item, inputs: Inputs) -> float:
    """Return what one unit costs per year after discount, USD to the cent."""
    price = inputs.prices.get(item.id)
    if price is None or price.per_year_usd is None:
        return 0.0
    off = discount(item, inputs.discounts)
    return inputs.problem.shown_in.rounded_usd(price.per_year_usd * (1.0 - off))


def support_span(item: Item, inputs: Inputs) -> tuple[float, float]:
    """Return from when until when support of an item is paid, years of the term."""
    term, price = inputs.problem.term, inputs.prices.get(item.id)
    if term is None or price is None:
        return 0.0, 0.0
    own = inputs.problem.items.get(item.id, NOTHING_ASKED).support_years
    end = next((y for y in (own, term.support_years) if y is not None), term.years)
    return price.support_included_years, min(end, term.years)


def support_factor(item: Item, inputs: Inputs) -> float:
    """Return how many years of support count in the TCO, discounted."""
    start, end = support_span(item, inputs)
    term = inputs.problem.term
    return discounted_years(start, end, term.discount_rate) if term else 0.0


# Sums over the bill: each once, on decision variables and on numbers alike.


class Part(NamedTuple):
    """What one unit adds to a sum: each one that is bought, or each one in place."""

    each: Callable[[BillItem, Rates], float | None]
    bought: bool = False

    def adds(self, item: BillItem, rates: Rates) -> float:
        """Return what a unit adds; what is not known counts for nothing, as does what is stored."""
        return (self.each(item, rates) or 0.0) if self.bought or item.stands else 0.0


def _over_term(*parts: Part) -> tuple[Part, ...]:
    """Return yearly amounts as what they come to over the term, discounted."""

    def scaled(part: Part) -> Part:
        return Part(lambda item, rates: part.adds(item, rates) * rates.factor, part.bought)

    return tuple(scaled(part) for part in parts)


def _of_stated(name: str) -> Part:
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
    "heat_btu_per_h": (Part(lambda item, rates: heat_btu_per_h(item.it_power_kw)),),
    **{name: (_of_stated(name),) for name in STATED if name in _COMPARED},
    "capex_usd": (_CAPEX,),
    "support_usd_per_year": (_SUPPORT,),
    "subscriptions_usd_per_year": (_SUBSCRIPTIONS,),
    "energy_usd_per_year": (_ENERGY,),
    "colocation_usd_per_year": (_COLOCATION,),
    "opex_usd_per_year": (_SUPPORT, _SUBSCRIPTIONS, _ENERGY, _COLOCATION),
    "tco_usd": (_CAPEX, _SUPPORT_PAID, *_over_term(_SUBSCRIPTIONS, _ENERGY, _COLOCATION)),
}
"""By figure, of what catalogs state as far as anything compares it. Racks are counts of their own,
which the companions know."""

Weights = list[tuple[float, Any]]


class ItemCounts(Protocol):
    """Counts by item id: whole numbers, or expressions of a model that come when asked for."""

    def __getitem__(self, name: str, /) -> Any: ...


def weights(
    case: Case, figure: str, units: ItemCounts, purchased: ItemCounts,
    items: Sequence[BillItem] | None = None,
) -> Weights:  # fmt: skip
    """Return (per unit, count) of everything that adds to a sum over the bill.

    Args:
        figure: which sum.
        units: what is in place by id, as something that can be scaled and added: variables of a
            model, or numbers. So the money reported is the money optimised.
        purchased: the same of what is bought.
        items: those of the bill that count, where there are none of the others.
    """
    if figure == "racks":
        return [(factor, units[name]) for factor, name in case.companions.racks]
    parts, items = SUMS[figure], case.bill_items() if items is None else items
    # Counts are asked for where a unit adds nothing, too: no row of a model hangs on a 0.
    counted = [
        (
            each if part.bought or item.stands else 0.0,
            purchased[item.id] if part.bought else units[item.place],
        )
        for part in parts
        for item in items
        if (each := part.each(item, case.rates)) is not None
    ]
    placed = [part for part in parts if not part.bought]
    for system, way in case.capped.values():
        at = system.at(way)
        for part in placed:
            less = part.adds(at, case.rates) - part.adds(system, case.rates)
            counted.append((less, units[way.standing]))
    return [(each, count) for each, count in counted if each != 0.0]
