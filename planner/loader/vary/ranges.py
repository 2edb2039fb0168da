"""Ranges of numbers: exact decimals, each computed when it is asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import overload

from planner.loader.vary.slot import plain

DIGITS = 12
"""Digits of what a range computes: enough for any purpose, few enough to hide rounding."""
PRECISION = 60
ROUNDING = Decimal("1e-9")
"""A step that ends so near to the end of a range, as a share of a step, ends there."""


@dataclass(frozen=True)
class Range(Sequence[str]):
    """The values of a range as texts, each computed when it is asked for.

    ``prefix`` is ``x`` for factors of the value as it stands.
    """

    low: Decimal
    high: Decimal
    size: int
    step: Decimal | None = None
    log: bool = False
    unit: str = ""
    prefix: str = ""

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(self.size))]
        if not -self.size <= index < self.size:
            raise IndexError(index)
        number = plain(self.number(index % self.size))
        return f"{self.prefix}{number} {self.unit}".rstrip()

    def number(self, index: int) -> Decimal:
        """Return a value as a decimal number of the range's unit."""
        if index == 0:
            return self.low
        if self.step is not None:
            return self._stepped(index)
        if index == self.size - 1:
            return self.high
        part = index / (self.size - 1)
        if self.log:
            low, high = math.log(self.low), math.log(self.high)
            return Decimal(f"{math.exp(low + part * (high - low)):.{DIGITS}g}")
        with localcontext(prec=PRECISION):
            number = self.low + (self.high - self.low) * index / (self.size - 1)
        return rounded(number)

    def _stepped(self, index: int) -> Decimal:
        assert self.step is not None
        with localcontext(prec=PRECISION):
            number = self.low + index * self.step
            hit = abs(self.high - number) <= ROUNDING * abs(self.step)
        return self.high if hit else number


def rounded(number: Decimal) -> Decimal:
    """Return a number without digits that units cannot hold."""
    with localcontext(prec=15):
        return +number
