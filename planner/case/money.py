"""Unit prices after discount, to the cent."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

from planner.schema.catalog import Item
from planner.schema.prices import Discount, Price


def cents(amount_usd: float) -> float:
    """Return an amount rounded to cents, halves away from zero, as spreadsheets do."""
    exact = Decimal(f"{amount_usd:.15g}")  # 15 digits: what was written, not its float
    return float(exact.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP))


def discount(item: Item, discounts: Sequence[Discount]) -> float:
    """Return an item's discount: by item before vendor before category, the latest counts."""
    for key, value in (("item", item.id), ("vendor", item.vendor), ("category", item.category)):
        for entry in reversed(discounts):
            if getattr(entry, key) == value:
                return entry.discount
    return 0.0


def unit_net_usd(item: Item, price: Price, discounts: Sequence[Discount]) -> float:
    """Return what one unit costs after discount, USD."""
    return cents(price.list_usd * (1.0 - discount(item, discounts)))


def support_usd_per_year(item: Item, price: Price, discounts: Sequence[Discount]) -> float:
    """Return what support of one unit costs per year, USD."""
    return cents(price.support_usd_per_year(unit_net_usd(item, price, discounts)))
