"""All that follows from counts: what companions consume, and whether policies are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.schema.catalog import Item
from tests.oracle import policy
from tests.oracle.companions import Companions
from tests.oracle.facility import Whole
from tests.oracle.money import RESOURCES, Array, Market, Mask


@dataclass(frozen=True)
class Seen:
    """What companions consume with each storage purchase, and which are possible."""

    consumed: Array
    possible: Mask


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
        self._seen: dict[tuple[int, ...], Seen] = {}

    @property
    def thrifty(self) -> bool:
        """Whether idle GPU systems only consume, so that no more are bought than must be."""
        wanted, gpus = self.market.problem.policy, self.market.problem.job.gpus
        vendors = wanted.require_vendors or wanted.split or wanted.prefer
        spares = gpus.hot != (0, 0.0) or self.market.problem.job.repair is not None
        return not (self.companions.any or vendors or spares)

    def of(self, bought: tuple[int, ...], stores: Whole) -> Seen:
        """Return what comes with GPU systems bought and each storage purchase (rows)."""
        if bought not in self._seen:
            counts = self._joined(bought, stores)
            consumed = np.zeros((len(counts), RESOURCES))
            possible = policy.holds(self.market, self.items, counts)
            if self.companions.any:
                consumed, room = self.companions.consumption(counts)
                possible = possible & room
            self._seen[bought] = Seen(consumed, possible)
        return self._seen[bought]

    def others(self, bought: tuple[int, ...], stores: Whole) -> Whole:
        """Return the units from vendors that are not preferred."""
        return policy.others(self.market, self.items, self._joined(bought, stores), self.kinds)

    def _joined(self, bought: tuple[int, ...], stores: Whole) -> Whole:
        systems = np.tile(np.array(bought, dtype=np.int64), (len(stores), 1))
        return np.hstack([systems, stores])
