"""Distribution of times from one failure to the next, and of times of repair."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
Kind = Literal["exponential", "weibull", "empirical"]


@dataclass(frozen=True)
class Law:
    """A distribution of times.

    Attributes:
        mean_s: mean, s.
        kind: exponential (without memory), Weibull, or measured times drawn with replacement.
        shape: of a Weibull law; below 1 failures come in bunches.
        measured_s: measured times, stretched to the mean when drawn.
    """

    mean_s: float
    kind: Kind = "exponential"
    shape: float = 1.0
    measured_s: tuple[float, ...] = ()

    def draw(self, generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Draw independent times, s."""
        if self.kind == "weibull":
            scale = self.mean_s / math.gamma(1.0 + 1.0 / self.shape)
            return scale * generator.weibull(self.shape, shape)
        if self.kind == "empirical":
            measured = np.array(self.measured_s)
            return generator.choice(measured * (self.mean_s / measured.mean()), shape)
        return generator.exponential(self.mean_s, shape)

    def scaled(self, mean_s: float) -> Law:
        """The law with another mean, s."""
        return replace(self, mean_s=mean_s)

    @property
    def variation(self) -> float:
        """Standard deviation over mean."""
        if self.kind == "weibull":
            first, second = (math.gamma(1.0 + power / self.shape) for power in (1.0, 2.0))
            return math.sqrt(max(0.0, second / first**2 - 1.0))
        if self.kind == "empirical":
            measured = np.array(self.measured_s)
            return float(measured.std() / measured.mean())
        return 1.0


def empirical(measured_s: tuple[float, ...]) -> Law:
    """Law of measured times with their own mean."""
    return Law(math.fsum(measured_s) / len(measured_s), "empirical", measured_s=measured_s)
