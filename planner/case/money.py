"""Price and draw of one unit of anything in the bill, to the cent, and sums over the bill.

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
from planner.sizing.placement import ALMOST


def discount(item: Item, discounts: Sequence[Discount]) -> float:
    """An item's discount: by item before vendor before category, the latest counts."""
    for key, value in (("item", item.id), ("vendor", item.vendor), ("category", item.category)):
        for entry in reversed(discounts):
            if getattr(entry, key) == value:
                return entry.discount
    return 0.0


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
    most_kw, liquid_kw = figures.it_power_kw(item, inputs) or 0.0, figures.liquid_kw(item, inputs)
    liquid = liquid_kw / most_kw if most_kw else 0.0
    charged_kw = most_kw
    if problem.term is not None and problem.term.energy_basis == "typical":
        charged_kw = figures.typical_power_kw(item, inputs) or 0.0
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
        it_power_kw=most_kw,
        meter_kw=figures.metered_kw(most_kw, liquid, problem.site),
        energy_kw=figures.metered_kw(charged_kw, liquid, problem.site),
        liquid_kw=liquid_kw,
        stated={name: figures.stated(item, inputs, row) or 0.0 for name, row in STATED.items()},
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
    own = inputs.problem.items.get(item.id, NOTHING_ASKED).support_years
    end = next((y for y in (own, term.support_years) if y is not None), term.years)
    return price.support_included_years, min(end, term.years)


def support_factor(item: Item, inputs: Inputs) -> float:
    """Years of support that count in the TCO, discounted."""
    start, end = support_span(item, inputs)
    term = inputs.problem.term
    return discounted_years(start, end, term.discount_rate) if term else 0.0


# Sums over the bill: each once, on decision variables and on numbers alike.


class Part(NamedTuple):
    """Addend of one unit to a sum: of each unit bought, or of each in place."""

    each: Callable[[BillItem, Rates], float | None]
    bought: bool = False

    def adds(self, item: BillItem, rates: Rates) -> float:
        """Addend of a unit; 0 where unknown, and for stored units of a sum over those in place."""
        return (self.each(item, rates) or 0.0) if self.bought or item.stands else 0.0


def _over_term(*parts: Part) -> tuple[Part, ...]:
    """Yearly amounts over the term, discounted."""

    def scaled(part: Part) -> Part:
        return Part(lambda item, rates: part.adds(item, rates) * rates.factor, part.bought)

    return tuple(scaled(part) for part in parts)


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
    "heat_btu_per_h": (Part(lambda item, rates: heat_btu_per_h(item.it_power_kw)),),
    **{name: (_stated_part(name),) for name in STATED if name in _COMPARED},
    "capex_usd": (_CAPEX,),
    "support_usd_per_year": (_SUPPORT,),
    "subscriptions_usd_per_year": (_SUBSCRIPTIONS,),
    "energy_usd_per_year": (_ENERGY,),
    "colocation_usd_per_year": (_COLOCATION,),
    "opex_usd_per_year": (_SUPPORT, _SUBSCRIPTIONS, _ENERGY, _COLOCATION),
    "tco_usd": (_CAPEX, _SUPPORT_PAID, *_over_term(_SUBSCRIPTIONS, _ENERGY, _COLOCATION)),
}
"""By figure, catalog figures as far as anything compares them. Racks are counts of their own, which
the companions know."""


class ItemCounts(Protocol):
    """Counts by item id: whole numbers, or expressions of a model."""

    def __getitem__(self, name: str, /) -> Any: ...


def weights(
    case: Case,
    figure: str,
    units: ItemCounts,
    purchased: ItemCounts,
    items: Sequence[BillItem] | None = None,
) -> list[tuple[float, Any]]:
    """(per unit, count) of everything that adds to a sum over the bill.

    Args:
        figure: which sum.
        units: counts in place by id, numbers or variables of a model. So the money reported is the
            money optimised.
        purchased: the same of units bought.
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
        capped = system.at(way)
        for part in placed:
            less = part.adds(capped, case.rates) - part.adds(system, case.rates)
            counted.append((less, units[way.standing]))
    return [(each, count) for each, count in counted if each != 0.0]
