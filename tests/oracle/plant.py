"""All that follows from counts: what companions consume, and the policies on vendors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.schema.catalog import Item
from planner.schema.problem import Split
from tests.oracle.candidates import enters
from tests.oracle.companions import Companions
from tests.oracle.facility import SLIVER, Whole
from tests.oracle.money import RESOURCES, Array, Market, Mask


class Plant:
    """Companions and policies, worked out once for each purchase of GPU systems.

    ``kinds`` are the categories in which a preferred vendor has something on offer.
    """

    def __init__(
        self, market: Market, items: Sequence[Item], kinds: frozenset[str] = frozenset()
    ) -> None:
        self.market = market
        self.items = items
        self.kinds = kinds
        self.limits = market.limits()
        self.companions = Companions(market, items)
        self._seen: dict[tuple[int, ...], tuple[Array, bool]] = {}

    @property
    def thrifty(self) -> bool:
        """Whether idle GPU systems only consume, so that no more are bought than must be."""
        wanted, gpus = self.market.problem.policy, self.market.problem.job.gpus
        vendors = wanted.require_vendors or wanted.split or wanted.prefer
        spares = gpus.hot != (0, 0.0) or self.market.problem.job.repair is not None
        return not (self.companions.any or vendors or spares)

    def of(self, bought: tuple[int, ...], stores: Whole) -> tuple[Array, Mask]:
        """Return what comes with GPU systems bought and each storage purchase (rows), and where
        that is possible."""
        counts = self._joined(bought, stores)
        rows = [tuple(row) for row in counts.tolist()]
        new = [row for row in rows if row not in self._seen]
        if new:
            units = np.array(new, dtype=np.int64)
            possible, consumed = holds(self.market, self.items, units), np.zeros(RESOURCES)
            self._seen |= dict.fromkeys(new, (consumed, False))
            units = units[possible]
            every, room = self.companions.consumption(units)
            pairs = zip(every, room.tolist(), strict=True)
            self._seen |= zip(map(tuple, units.tolist()), pairs, strict=True)
        found = [self._seen[row] for row in rows]
        return np.array([c for c, _ in found]), np.array([p for _, p in found], dtype=bool)

    def others(self, bought: tuple[int, ...], stores: Whole) -> Whole:
        """Return the units from vendors that are not preferred."""
        return others(self.market, self.items, self._joined(bought, stores), self.kinds)

    def _joined(self, bought: tuple[int, ...], stores: Whole) -> Whole:
        systems = np.tile(np.array(bought, dtype=np.int64), (len(stores), 1))
        return np.hstack([systems, stores])


# Some vendors required, none too large, some preferred.


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
