"""Distributions of one quantity, each by its quantiles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


class Shape(Protocol):
    """A distribution of a quantity, in the canonical unit of its field."""

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest value that it can take; infinite where it has no end."""
        ...

    def at(self, shares: Numbers) -> Numbers:
        """Return its quantiles at shares between 0 and 1."""
        ...


@dataclass(frozen=True)
class Uniform:
    """Every value between two ends is as likely as any other."""

    low: float
    high: float

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends."""
        return self.low, self.high

    def at(self, shares: Numbers) -> Numbers:
        """Return quantiles."""
        return self.low + shares * (self.high - self.low)


@dataclass(frozen=True)
class Loguniform:
    """Every factor is as likely as any other of its size, between two ends."""

    low: float
    high: float

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends."""
        return self.low, self.high

    def at(self, shares: Numbers) -> Numbers:
        """Return quantiles."""
        low, high = math.log(self.low), math.log(self.high)
        return np.clip(np.exp(low + shares * (high - low)), self.low, self.high)


@dataclass(frozen=True)
class Triangular:
    """Likeliest at the mode, from there straight down to nothing at both ends."""

    low: float
    mode: float
    high: float

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends."""
        return self.low, self.high

    def at(self, shares: Numbers) -> Numbers:
        """Return quantiles."""
        width, left, right = self.high - self.low, self.mode - self.low, self.high - self.mode
        rising = self.low + np.sqrt(shares * width * left)
        falling = self.high - np.sqrt((1.0 - shares) * width * right)
        return np.where(shares < left / width, rising, falling)


@dataclass(frozen=True)
class Normal:
    """Normal, without what lies outside of least and most."""

    mean: float
    deviation: float
    least: float = -math.inf
    most: float = math.inf

    @property
    def ends(self) -> tuple[float, float]:
        """Where it is cut off."""
        return self.least, self.most

    def at(self, shares: Numbers) -> Numbers:
        """Return quantiles."""
        least, most = ((end - self.mean) / self.deviation for end in self.ends)
        return np.clip(self.mean + self.deviation * _normal(shares, least, most), *self.ends)


@dataclass(frozen=True)
class Lognormal:
    """Normal in the logarithm, without what lies outside of least and most.

    Two thirds of the values lie between ``median / factor`` and ``median * factor``: the factor is
    exp(sigma).
    """

    median: float
    factor: float
    least: float = 0.0
    most: float = math.inf

    @property
    def ends(self) -> tuple[float, float]:
        """Where it is cut off."""
        return max(self.least, 0.0), self.most

    def at(self, shares: Numbers) -> Numbers:
        """Return quantiles."""
        sigma = math.log(self.factor)
        least, most = (
            -math.inf if end <= 0.0 else math.log(end / self.median) / sigma for end in self.ends
        )
        drawn = self.median * np.exp(sigma * _normal(shares, least, most))
        return np.clip(drawn, *self.ends)


@dataclass(frozen=True)
class Discrete:
    """One of several values, each with its probability."""

    values: tuple[float, ...]
    shares: tuple[float, ...]

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest value."""
        return min(self.values), max(self.values)

    def at(self, shares: Numbers) -> Numbers:
        """Return quantiles, in the order in which the values were given."""
        edges = np.cumsum(self.shares)[:-1]
        return np.asarray(self.values, dtype=float)[np.searchsorted(edges, shares, side="right")]


def _normal(shares: Numbers, least: float, most: float) -> Numbers:
    """Return quantiles of the standard normal distribution between two ends."""
    from scipy.special import ndtr, ndtri

    if least > 0.0:  # the far side keeps its digits only where it is near 0
        return -_normal(1.0 - shares, -most, -least)
    below = ndtr(least)
    return np.asarray(ndtri(below + shares * (ndtr(most) - below)), dtype=float)
