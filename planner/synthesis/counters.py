"""Counters of bytes, which only grow, but for when they start again at 0."""

from __future__ import annotations

import numpy as np

from planner.synthesis.faults import Whole
from planner.synthesis.traffic import Floats

_BYTES = 1e9


class Counter:
    """A counter that starts at 0 and is read now and then."""

    def __init__(self, resets_s: Floats) -> None:
        self._resets_s = resets_s
        self._counted = 0

    def read(self, edges_s: Floats, rates_gb_per_s: Floats) -> Whole:
        """Return its values at all edges but the first, where the last call ended.

        Args:
            edges_s: times.
            rates_gb_per_s: what is moved between each two of them.
        """
        moved = np.rint(rates_gb_per_s * np.diff(edges_s) * _BYTES).astype(np.int64)
        values: Whole = self._counted + np.cumsum(moved)
        for at_s in self._resets_s:
            if edges_s[0] < at_s <= edges_s[-1]:
                place = int(np.searchsorted(edges_s, at_s)) - 1
                begin, end = edges_s[place], edges_s[place + 1]
                since = round(float((end - at_s) / (end - begin)) * int(moved[place]))
                values[place:] -= values[place] - since
        self._counted = int(values[-1])
        return values
