"""From what is in place to what is bought: cold spares, installed units, packs, least orders."""

from __future__ import annotations

from planner.schema.catalog import Item
from planner.verify.basis import Basis
from planner.verify.whole import at_least


def cold_spares(basis: Basis, item: Item, count: int) -> int:
    """Return how many more than ``count`` units lie in store."""
    return at_least(basis.problem.spares.get(item.category, 0.0) * count)


def pack_size(basis: Basis, item: Item) -> int:
    """Return how many units are sold together."""
    price = basis.prices.get(item.id)
    return 1 if price is None else price.pack


def purchased(basis: Basis, item: Item, count: int) -> int:
    """Return how many units are bought so that ``count`` are in the cluster.

    Args:
        basis: the problem and the prices.
        item: the item.
        count: its units in the cluster.
    """
    pack, price = pack_size(basis, item), basis.prices.get(item.id)
    wanted = count + cold_spares(basis, item, count) - owned(basis, item)
    if wanted <= 0:
        return 0
    least = 0 if price is None else price.min_order
    return max(-(-wanted // pack), -(-least // pack)) * pack


def owned(basis: Basis, item: Item) -> int:
    """Return how many units are there already and stay."""
    asked = basis.demanded(item.id)
    return 0 if asked.retire else asked.installed


def stock(basis: Basis, item: Item) -> int | None:
    """Return how many units there are to buy, None where nothing limits them."""
    asked, price = basis.demanded(item.id).stock, basis.prices.get(item.id)
    if asked is not None:
        return asked
    return None if price is None else price.stock
