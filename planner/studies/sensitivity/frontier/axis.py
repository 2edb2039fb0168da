"""What useful work is held against: money, power, or the write bandwidth of the storage bought."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.case import Case
from planner.case.model import ObjectiveName
from planner.optimizer.measure import measure
from planner.optimizer.objective import natural
from planner.optimizer.operate import Operation

STEP = 1e-7
"""The least share by which one place lies beyond another."""


@dataclass(frozen=True)
class Axis:
    """A way to walk along a frontier, away from the plan of most work.

    ``objective`` brings x to its end, ``limit`` is the field of the case's limits that holds x at
    no more (``direction`` -1) or no less (1) than a level; ``path`` is the same limit in a problem
    file, where it has one. Places are spaced evenly in x, or in its logarithm.
    """

    objective: ObjectiveName
    limit: str
    path: str | None
    direction: int
    logarithmic: bool

    def x(self, case: Case, operation: Operation) -> float:
        """Return where an operation lies."""
        return self.natural(measure(case, self.objective)(operation))

    def natural(self, value: float) -> float:
        """Return a value of the objective, as the model scales it, as a place."""
        return -self.direction * natural(self.objective, value)

    def beyond(self, x: float) -> float:
        """Return the level next to a place, away from the plan of most work."""
        return x * (1.0 + self.direction * STEP)

    def reached(self, x: float, end: float) -> bool:
        """Say whether a place is the end or lies beyond it."""
        return self.direction * (x - end) >= -2.0 * STEP * abs(end)

    def scale(self, x: float) -> float:
        """Return a place on the scale on which steps are of about one size."""
        return math.log(x) if self.logarithmic else x


COST = Axis("cost", "capex_usd", "budget.capex", -1, logarithmic=False)
POWER = Axis("least_meter", "facility_power_kw", "site.facility_power", -1, logarithmic=False)
LESS_STORAGE = Axis("least_write", "most_write_gb_per_s", None, -1, logarithmic=True)
MORE_STORAGE = Axis("most_write", "least_write_gb_per_s", None, 1, logarithmic=True)
