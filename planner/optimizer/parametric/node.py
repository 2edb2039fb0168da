"""A part of the plans: a box of the model's columns, and what is proven of it for each scenario."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.optimizer.parametric.rows import Vector


@dataclass(eq=False)
class Node:
    """One of the parts into which the plans of a mode are divided.

    ``bounds`` holds what is proven of the part for each scenario: no plan in it is better; -inf:
    none is in it. ``fails`` counts searches that brought no better plan.
    """

    mode: int
    low: Vector
    high: Vector
    bounds: Vector
    fails: int = 0

    def prove(self, bounds: Vector) -> None:
        """Take over bounds for each scenario where they are closer."""
        np.minimum(self.bounds, bounds, out=self.bounds)

    def within(self, low: Vector, high: Vector) -> Node:
        """Return a smaller part."""
        return Node(self.mode, low, high, self.bounds.copy())


def below(limits: NDArray[np.float64], most: Vector) -> NDArray[np.bool_]:
    """Say for each row of limits whether none of them is looser than ``most``."""
    return np.asarray(np.all(limits <= most * (1 + 1e-12), axis=1))
