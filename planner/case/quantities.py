"""Counts that follow from other counts: sums, ceilings, least counts, sizes in steps, racks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from planner.sizing.packing import Packing, Shares

ROUNDING = 1e-9
Terms = tuple[tuple[float, str], ...]
"""(factor, name of a count) pairs; factors are never negative."""


def ceil(value: float) -> int:
    """The least whole number that is not less, rounding noise aside."""
    return math.ceil(value - ROUNDING)


def total(terms: Iterable[tuple[float, str]], values: Mapping[str, float]) -> float:
    """Sum of terms on numbers."""
    return sum(factor * values[name] for factor, name in terms)


@dataclass(frozen=True)
class Ceil:
    """``name`` = ceil(sum of terms + constant), and ``if_any`` more where that is not 0."""

    name: str
    terms: Terms
    constant: float = 0.0
    if_any: int = 0


@dataclass(frozen=True)
class Sum:
    """``name`` = sum of terms + constant; no variable of its own."""

    name: str
    terms: Terms
    constant: float = 0.0


@dataclass(frozen=True)
class AtLeast:
    """``name`` = the sum of terms, or ``least`` where that is more."""

    name: str
    terms: Terms
    least: int


class Size(NamedTuple):
    """One size: its capacity, and its outputs."""

    capacity: int
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Ramp:
    """Neighbouring sizes whose bounds and outputs grow in equal steps.

    The v-th size (v = 0 .. steps) holds more than ``low + v * stride`` and at most
    ``high + v * stride``; its outputs are ``outputs + v * slopes``.
    """

    steps: int
    low: int
    high: int
    stride: int
    outputs: tuple[int, ...]
    slopes: tuple[int, ...]


@dataclass(frozen=True)
class Steps:
    """``outputs`` of the least size that holds the sum of terms; all 0 where that is 0."""

    name: str
    terms: Terms
    sizes: tuple[Size, ...]
    outputs: tuple[str, ...]

    def size(self, amount: int) -> Size | None:
        """The least size for an amount; None for nothing, or for more than any holds."""
        if amount <= 0:
            return None
        low, high = 0, len(self.sizes)
        while low < high:
            middle = (low + high) // 2
            if self.sizes[middle].capacity >= amount:
                high = middle
            else:
                low = middle + 1
        return self.sizes[low] if low < len(self.sizes) else None

    @property
    def most(self) -> int:
        """The largest capacity."""
        return self.sizes[-1].capacity if self.sizes else 0

    @cached_property
    def falls(self) -> bool:
        """Whether some larger size has less of something than a smaller one."""
        return any(
            after < before
            for one, other in itertools.pairwise(self.sizes)
            for before, after in zip(one.outputs, other.outputs, strict=True)
        )

    @cached_property
    def ramps(self) -> tuple[Ramp, ...]:
        """The sizes as few straight ramps."""
        ramps, first = [], 0
        while first < len(self.sizes):
            last = self._end_of_run(first)
            size = self.sizes[first]
            step = self._step(last) if last > first else (0, 0, *(0 for _ in size.outputs))
            low = self._low(first)
            ramps.append(Ramp(last - first, low, size.capacity, step[0], size.outputs, step[2:]))
            first = last + 1
        return tuple(ramps)

    def _low(self, index: int) -> int:
        return self.sizes[index - 1].capacity if index else 0

    def _step(self, index: int) -> tuple[int, ...]:
        """Change of bounds and outputs from the size before."""
        one, other = self.sizes[index - 1], self.sizes[index]
        changes = (b - a for a, b in zip(one.outputs, other.outputs, strict=True))
        low = self._low(index) - self._low(index - 1)
        return low, other.capacity - one.capacity, *changes

    def _end_of_run(self, first: int) -> int:
        last = first
        if last + 1 < len(self.sizes):
            step = self._step(first + 1)
            if step[0] != step[1]:
                return first
            while last + 1 < len(self.sizes) and self._step(last + 1) == step:
                last += 1
        return last


@dataclass(frozen=True)
class Packed:
    """``name`` = the least racks that hold all counts of the terms, each a kind with its shares.

    Every factor is 1.
    """

    name: str
    terms: Terms
    shares: Shares

    def counts(self, values: Mapping[str, float]) -> tuple[int, ...]:
        """Devices of each kind."""
        return tuple(round(values[name]) for _, name in self.terms)

    @property
    def packing(self) -> Packing:
        """The packing of these kinds; it needs numpy, which the checks of a problem do without."""
        from planner.sizing.packing import packing

        return packing(self.shares)


Quantity = AtLeast | Ceil | Sum | Steps | Packed


def vanishes(quantity: Quantity) -> bool:
    """Whether a quantity is 0 wherever all of its terms are."""
    if isinstance(quantity, (Ceil, Sum)):
        return quantity.constant == 0
    return not isinstance(quantity, AtLeast) or quantity.least <= 0


def evaluate(quantities: Iterable[Quantity], units: Mapping[str, float]) -> dict[str, float]:
    """Every quantity of whole units, with the units themselves; units not named are 0.

    Raises:
        ValueError: an amount is larger than any size holds.
    """
    values = dict(units)
    for quantity in quantities:
        amount = sum((factor * values.get(name, 0) for factor, name in quantity.terms), 0.0)
        for _, name in quantity.terms:
            values.setdefault(name, 0)
        values.update(zip(_outputs(quantity), _values(quantity, amount, values), strict=True))
    return values


def _outputs(quantity: Quantity) -> tuple[str, ...]:
    return quantity.outputs if isinstance(quantity, Steps) else (quantity.name,)


def _values(quantity: Quantity, amount: float, values: Mapping[str, float]) -> tuple[float, ...]:
    """Outputs of a quantity whose terms sum up to an amount."""
    if isinstance(quantity, Sum):
        return (amount + quantity.constant,)
    if isinstance(quantity, AtLeast):
        return (max(amount, quantity.least),)
    if isinstance(quantity, Ceil):
        count = ceil(amount + quantity.constant)
        return (count + (quantity.if_any if count else 0),)
    if isinstance(quantity, Packed):
        return (quantity.packing.least(quantity.counts(values)),)
    size = quantity.size(round(amount))
    if size is None and amount > 0:
        raise ValueError(f"{quantity.name}: {amount:g} is more than any size holds")
    return size.outputs if size else (0,) * len(quantity.outputs)
