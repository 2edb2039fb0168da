"""What a buyer wants of vendors: some required, none too large, some preferred."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.schema.catalog import Item
from planner.schema.problem import Split
from tests.oracle.candidates import enters
from tests.oracle.facility import SLIVER, Whole
from tests.oracle.money import Array, Market, Mask


def holds(market: Market, items: Sequence[Item], counts: Whole) -> Mask:
    """Return where counts (a column for each item) obey the policies."""
    kept = np.ones(len(counts), dtype=bool)
    for vendor in market.problem.policy.require_vendors:
        kept &= _units(items, counts, {vendor}) >= 1
    for split in market.problem.policy.split:
        kept &= _split(market, split, items, counts)
    return kept


def preferred_kinds(market: Market) -> frozenset[str]:
    """Return the categories in which a preferred vendor has something on offer."""
    prefer = market.problem.policy.prefer
    if prefer is None:
        return frozenset()
    return frozenset(
        item.category
        for item in market.catalog.values()
        if item.category in ("gpu_system", "storage")
        and item.vendor in prefer.vendors
        and enters(item, market)
    )


def others(market: Market, items: Sequence[Item], counts: Whole, kinds: frozenset[str]) -> Whole:
    """Return the units from vendors that are not preferred, 0 where none are.

    Where no preferred vendor is on offer, in ``kinds``, there is nothing to prefer.
    """
    prefer = market.problem.policy.prefer
    if prefer is None:
        return np.zeros(len(counts), dtype=np.int64)
    other = [
        item.category in kinds and item.vendor not in prefer.vendors and enters(item, market)
        for item in items
    ]
    return np.asarray(counts[:, other].sum(axis=1))


def _units(items: Sequence[Item], counts: Whole, vendors: set[str]) -> Whole:
    chosen = [item.vendor in vendors for item in items]
    return np.asarray(counts[:, chosen].sum(axis=1))


def _split(market: Market, split: Split, items: Sequence[Item], counts: Whole) -> Mask:
    """Return where no vendor has more than its share of a category."""
    places = [place for place, item in enumerate(items) if item.category == split.category]
    shares: dict[str, Array] = {}
    for place in places:
        item = items[place]
        shares[item.vendor] = shares.get(item.vendor, np.zeros(len(counts))) + counts[:, place]
    total = sum(shares.values(), np.zeros(len(counts)))
    largest = np.max([*shares.values(), np.zeros(len(counts))], axis=0)
    return np.asarray(largest <= split.max_share * total * (1.0 + SLIVER))
