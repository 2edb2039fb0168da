"""One limit as the rules state it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

COUNTED = 1e-9
TIMED = 1e-7


@dataclass(frozen=True)
class Limit:
    """What the plan reaches and what is allowed, in ``unit``.

    ``tolerance`` is relative. A limit need not be listed where it cannot matter, for example the
    most units of an item that is not bought. ``exact`` limits ask for equality.
    """

    name: str
    value: float | None
    sense: Literal["<=", ">="]
    limit: float
    unit: str
    tolerance: float = COUNTED
    must_be_listed: bool = True
    exact: bool = False

    def slack(self) -> float:
        """Return how much is left, negative where the limit is broken."""
        if self.value is None:
            return float("-inf")
        left = self.limit - self.value
        return left if self.sense == "<=" else -left

    def holds(self) -> bool:
        """Return whether the plan keeps the limit, within the tolerance."""
        if self.value is None:
            return False
        allowed = self.tolerance * max(abs(self.value), abs(self.limit))
        return self.slack() >= -allowed and (not self.exact or abs(self.slack()) <= allowed)

    def text(self) -> str:
        """Return the limit in words."""
        if self.value is None:
            return f"a figure is not known, allowed is {self.sense} {self.limit:.12g} {self.unit}"
        sense = "=" if self.exact else self.sense
        return f"{self.value:.12g} {self.unit} is to be {sense} {self.limit:.12g} {self.unit}"
