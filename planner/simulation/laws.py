"""Times from one failure to the next, and times of repair: how they are distributed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
Kind = Literal["exponential", "weibull", "lognormal", "constant", "empirical"]


@dataclass(frozen=True)
class Law:
    """A distribution of times.

    Attributes:
        mean_s: mean, s.
        kind: exponential (without memory), Weibull, log-normal, constant, or measured times drawn
            with replacement (empirical).
        spread: shape of a Weibull law (below 1: in bunches), standard deviation of the logarithm of
            a log-normal law.
        measured_s: measured times, stretched to the mean when they are drawn.
    """

    mean_s: float
    kind: Kind = "exponential"
    spread: float = 1.0
    measured_s: tuple[float, ...] = ()

    def draw(self, generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Return independent times, s."""
        if self.kind == "weibull":
            scale = self.mean_s / math.gamma(1.0 + 1.0 / self.spread)
            return scale * generator.weibull(self.spread, shape)
        if self.kind == "lognormal":
            middle = math.log(self.mean_s) - self.spread**2 / 2.0
            return generator.lognormal(middle, self.spread, shape)
        if self.kind == "constant":
            return np.full(shape, self.mean_s)
        if self.kind == "empirical":
            measured = np.array(self.measured_s)
            return generator.choice(measured * (self.mean_s / measured.mean()), shape)
        return generator.exponential(self.mean_s, shape)

    def scaled(self, mean_s: float) -> Law:
        """Return the law with another mean."""
        return replace(self, mean_s=mean_s)

    @property
    def variation(self) -> float:
        """Standard deviation over mean."""
        if self.kind == "weibull":
            first, second = (math.gamma(1.0 + power / self.spread) for power in (1.0, 2.0))
            return math.sqrt(max(0.0, second / first**2 - 1.0))
        if self.kind == "lognormal":
            return math.sqrt(math.expm1(self.spread**2))
        if self.kind == "empirical":
            measured = np.array(self.measured_s)
            return float(measured.std() / measured.mean())
        return 1.0 if self.kind == "exponential" else 0.0


def empirical(measured_s: tuple[float, ...]) -> Law:
    """Return the law of measured times with their own mean."""
    return Law(math.fsum(measured_s) / len(measured_s), "empirical", measured_s=measured_s)
