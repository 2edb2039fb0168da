"""From what is in place to what is bought: cold spares, installed units, packs, least orders."""

from __future__ import annotations

from collections.abc import Mapping

from planner.schema.catalog import Item
from planner.verify.basis import Basis
from planner.verify.whole import at_least


def cold_spares(basis: Basis, item: Item, count: int) -> int:
    """Return how many more than ``count`` units lie in store; of bundles their components do."""
    if item.components:
        return 0
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
    return ordered(basis, item, count + cold_spares(basis, item, count))


def spare_parts(basis: Basis, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the components that lie in store for the bundles of the cluster, by item.

    Args:
        basis: the problem and the catalogs.
        counts: units of GPU systems and storage in the cluster.
    """
    result: dict[str, int] = {}
    for sku, count in counts.items():
        bundle = basis.items[sku]
        share = basis.problem.spares.get(bundle.category, 0.0)
        for part in bundle.components:
            spare = at_least(share * part.quantity * count)
            if spare > 0:
                result[part.id] = result.get(part.id, 0) + spare
    return result


def ordered(basis: Basis, item: Item, count: int) -> int:
    """Return how many units are bought where so many are to be there, in store or in place."""
    pack, price = pack_size(basis, item), basis.prices.get(item.id)
    wanted = count - owned(basis, item)
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
