"""Units to buy and prices as the buyer sees them: packs, spares, discounts, cents, support."""

from __future__ import annotations

import math
from collections.abc import Mapping

from planner.currency import Currency
from planner.schema.catalog import Item
from planner.schema.prices import Price, SupportMoney, SupportShare
from planner.schema.problem import Quantity, Term
from planner.verifier.basis import Basis, Sale, UnitMoney, at_least

# Half a cent may be rounded either way; the floats do not tell on which side it lies.
_HALF_CENT_NOISE = 1e-6
_FLOAT_NOISE = 1e-15


def sale(basis: Basis, item: Item) -> Sale:
    """Return how an item is bought, which plans of the same inputs share."""
    found = basis.sold.get(item.id)
    if found is not None and found.item is item:
        return found
    found = basis.known.sales.get(item.id)
    price, asked = basis.prices.get(item.id), basis.demanded(item.id)
    known = found is not None and found.item is item
    if found is None or not known or found.price is not price or found.asked is not asked:
        found = basis.known.sales[item.id] = _sale(basis, item, price, asked)
    basis.sold[item.id] = found
    return found


def _sale(basis: Basis, item: Item, price: Price | None, asked: Quantity) -> Sale:
    spares, term = basis.problem.spares, basis.problem.term
    level = _support_asked(price, term, asked)
    support, start = _support_sold(price, level)
    end = None if term is None else _support_ends(term, asked)
    return Sale(
        item=item,
        price=price,
        asked=asked,
        unit=None if price is None else _unit_money(basis, item, price),
        pack=1 if price is None else price.pack,
        owned=0 if asked.retire else asked.installed,
        kept_in_store=spares.get(item.category, 0.0) if asked.spares is None else asked.spares,
        support_level=level,
        support=support,
        start=start,
        end=end,
        support_counts=0.0
        if term is None or end is None
        else present_years(start, end, term.discount_rate),
    )


def cold_spares(basis: Basis, item: Item, count: int) -> int:
    """Return how many more than ``count`` units lie in store; of bundles their components do."""
    if item.components:
        return 0
    return at_least(sale(basis, item).kept_in_store * count)


def purchased(basis: Basis, item: Item, count: int) -> int:
    """Return how many units are bought so that ``count`` are in the cluster.

    Args:
        count: its units in the cluster.
    """
    return ordered(basis, item, count + cold_spares(basis, item, count))


def spare_parts(basis: Basis, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the components that lie in store for the bundles of the cluster, by item.

    Args:
        counts: units of GPU systems and storage in the cluster.
    """
    result: dict[str, int] = {}
    for sku, count in counts.items():
        bundle = basis.items[sku]
        whole = sale(basis, bundle).kept_in_store
        for part in bundle.components:
            own = basis.demanded(part.id).spares
            share = whole if own is None else own
            spare = at_least(share * part.quantity * count)
            if spare > 0:
                result[part.id] = result.get(part.id, 0) + spare
    return result


def ordered(basis: Basis, item: Item, count: int) -> int:
    """Return how many units are bought where so many are to be there, in store or in place."""
    known = sale(basis, item)
    wanted = count - known.owned
    if wanted <= 0:
        return 0
    pack, least = known.pack, 0 if known.price is None else known.price.min_order
    return max(-(-wanted // pack), -(-least // pack)) * pack


def owned(basis: Basis, item: Item) -> int:
    """Return how many units are there already and stay."""
    return sale(basis, item).owned


def stock(basis: Basis, item: Item) -> int | None:
    """Return how many units there are to buy, None where nothing limits them."""
    asked, price = basis.demanded(item.id).stock, basis.prices.get(item.id)
    if asked is not None:
        return asked
    return None if price is None else price.stock


def discount_share(basis: Basis, item: Item) -> float:
    """Return the share taken off an item's list price; the most specific discount counts."""
    ways = (
        ("item", item.id),
        ("vendor", item.vendor),
        ("category", item.category),
    )
    for key, wanted in ways:
        found = [entry.discount for entry in basis.discounts if getattr(entry, key) == wanted]
        if found:
            return found[-1]
    return 0.0


def is_percentage(item: Item) -> bool:
    """Say whether a price is so many USD for every 100 of hardware, which no cents round."""
    return item.service is not None and item.service.per == "hardware"


def _unit_money(basis: Basis, item: Item, price: Price) -> UnitMoney:
    """Return the list price, the discount and the net price of one unit, USD."""
    discount = discount_share(basis, item)
    if is_percentage(item):
        whole = (price.list_usd * (1 - discount),)
        return UnitMoney(price.list_usd, discount, whole, (price.list_usd,))
    # In another currency a bill lists whole cents of it, and takes discounts off these.
    usual = basis.money.code == "USD"
    listed = (price.list_usd,) if usual else cents(price.list_usd, basis.money)
    nets = tuple(net for each in listed for net in cents(each * (1 - discount), basis.money))
    return UnitMoney(price.list_usd, discount, nets, listed)


def _support_asked(price: Price | None, term: Term | None, asked: Quantity) -> str | None:
    """Return the level of support that an item is to be bought with, None for no name."""
    offered = set() if price is None else {*price.support_levels, price.support_level}
    everywhere = None if term is None else term.support_level
    if asked.support_level is not None:
        return asked.support_level
    if everywhere == "none" or (everywhere is not None and everywhere in offered):
        return everywhere
    return None if price is None else price.support_level


def _support_sold(
    price: Price | None, level: str | None
) -> tuple[SupportShare | SupportMoney | None, float]:
    """Return what support of an item costs, and how many years of it are in its price."""
    if price is None:
        return None, 0.0
    if level in price.support_levels:
        sold = price.support_levels[level]
        return sold.per_year, sold.included_years
    if level == "none":
        return None, price.support_included_years
    return price.support_per_year, price.support_included_years


def _support_ends(term: Term, asked: Quantity) -> float:
    """Return when support is no longer paid, in years of the term."""
    years = term.support_years if asked.support_years is None else asked.support_years
    return term.years if years is None else min(years, term.years)


def support_usd_per_year(
    support: SupportShare | SupportMoney | None,
    unit_net_usd: float,
    purchased: int,
    money: Currency,
) -> tuple[float, ...]:
    """Return support per year for the purchased units, USD, with every rounding allowed."""
    match support:
        case None:
            return (0.0,)
        case SupportShare():
            return tuple(unit * purchased for unit in cents(support.share * unit_net_usd, money))
        case SupportMoney():
            return tuple(unit * purchased for unit in cents(support.usd, money))


def cents(amount_usd: float, money: Currency) -> tuple[float, ...]:
    """Return an amount of USD in whole cents; both neighbours where it lies half-way between two.

    A cent is the smallest unit of the currency in which money is shown.
    """
    parts = 10**money.decimals
    exact = amount_usd / money.usd * parts
    below = math.floor(exact)
    if abs(exact - below - 0.5) <= max(_HALF_CENT_NOISE, _FLOAT_NOISE * exact):
        return below / parts * money.usd, (below + 1) / parts * money.usd
    return (round(exact) / parts * money.usd,)


def subscription_usd_per_year(
    price: Price, discount: float, purchased: int, money: Currency
) -> tuple[float | None, ...]:
    """Return subscriptions per year for the purchased units, USD, with every rounding allowed."""
    if price.per_year_usd is None:
        return (None,)
    return tuple(unit * purchased for unit in cents(price.per_year_usd * (1 - discount), money))


def present_years(start: float, end: float, rate: float) -> float:
    """Return what a payment per year from ``start`` to ``end`` counts at the start of the term.

    Each year is paid at its end.
    """
    total, year = 0.0, 1
    while year - 1 < end:
        part = min(year, end) - max(year - 1, start)
        total += max(0.0, part) / (1 + rate) ** year
        year += 1
    return total
