"""How times between failures, and times of repair, are spread: without memory, in bunches, always
the same, with a few long ones, or as measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Exponential:
    """Failures without memory."""

    mean_s: float

    def gaps(self, draw: np.random.Generator, shape: tuple[int, int]) -> Array:
        """Return times between interruptions, s."""
        return draw.exponential(self.mean_s, shape)

    def scaled(self, mean_s: float) -> Exponential:
        """Return the same kind of failures with another mean, s."""
        return Exponential(mean_s)

    @property
    def variation(self) -> float:
        """Standard deviation over mean."""
        return 1.0


@dataclass(frozen=True)
class Weibull:
    """Failures that come in bunches (``shape`` below 1) or with wear (above 1)."""

    mean_s: float
    shape: float

    def gaps(self, draw: np.random.Generator, shape: tuple[int, int]) -> Array:
        """Return times between interruptions, s."""
        scale = self.mean_s / math.gamma(1.0 + 1.0 / self.shape)
        return scale * draw.weibull(self.shape, shape)

    def scaled(self, mean_s: float) -> Weibull:
        """Return the same kind of failures with another mean, s."""
        return Weibull(mean_s, self.shape)

    @property
    def variation(self) -> float:
        """Standard deviation over mean."""
        first, second = (math.gamma(1.0 + power / self.shape) for power in (1.0, 2.0))
        return math.sqrt(max(0.0, second / first**2 - 1.0))


@dataclass(frozen=True)
class Empirical:
    """Failures as far apart as measured ones, drawn with replacement."""

    measured_s: tuple[float, ...]

    @property
    def mean_s(self) -> float:
        """Mean time between interruptions, s."""
        return math.fsum(self.measured_s) / len(self.measured_s)

    def gaps(self, draw: np.random.Generator, shape: tuple[int, int]) -> Array:
        """Return times between interruptions, s."""
        return draw.choice(np.array(self.measured_s), shape)

    def scaled(self, mean_s: float) -> Empirical:
        """Return the same failures stretched to another mean, s."""
        factor = mean_s / self.mean_s
        return Empirical(tuple(gap * factor for gap in self.measured_s))

    @property
    def variation(self) -> float:
        """Standard deviation over mean."""
        mean = self.mean_s
        squares = math.fsum((gap - mean) ** 2 for gap in self.measured_s)
        return math.sqrt(squares / len(self.measured_s)) / mean


@dataclass(frozen=True)
class Constant:
    """Always the same time."""

    mean_s: float

    def gaps(self, draw: np.random.Generator, shape: tuple[int, int]) -> Array:
        """Return times, s; nothing is drawn."""
        return np.full(shape, self.mean_s)

    def scaled(self, mean_s: float) -> Constant:
        """Return another time, s, that is always the same."""
        return Constant(mean_s)

    @property
    def variation(self) -> float:
        """Standard deviation over mean."""
        return 0.0


@dataclass(frozen=True)
class LogNormal:
    """Most times short, a few very long; ``sigma`` is the standard deviation of their logarithm."""

    mean_s: float
    sigma: float

    def gaps(self, draw: np.random.Generator, shape: tuple[int, int]) -> Array:
        """Return times, s."""
        middle = math.log(self.mean_s) - self.sigma**2 / 2.0
        return draw.lognormal(middle, self.sigma, shape)

    def scaled(self, mean_s: float) -> LogNormal:
        """Return the same spread about another mean, s."""
        return LogNormal(mean_s, self.sigma)

    @property
    def variation(self) -> float:
        """Standard deviation over mean."""
        return math.sqrt(math.expm1(self.sigma**2))


Failures: TypeAlias = Exponential | Weibull | Empirical
Law: TypeAlias = Failures | Constant | LogNormal
