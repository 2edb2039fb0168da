"""What one stage of the search optimises, what it has found, and the parts still open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from planner.optimizer.master import Bounds, Master
from planner.optimizer.model import Linear
from planner.optimizer.operate import Operation
from planner.optimizer.solver import Outcome

MOST_PASSED = 1e-6


@dataclass(frozen=True)
class Goal:
    """What a stage optimises: on the model, on a feasible operation, and how exactly.

    ``value`` and ``expression`` are in the same scale. ``allowed`` says whether an operation meets
    every floor, those of earlier stages included; ``prefer`` orders uses of the same purchase.
    """

    name: str
    expression: Linear
    maximise: bool
    value: Callable[[Operation], float]
    allowed: Callable[[Operation], bool]
    prefer: Callable[[Operation], float]
    gap: float
    relative: bool

    def width(self, value: float) -> float:
        """Return the absolute gap allowed at ``value``."""
        return self.gap * max(abs(value), 1e-9) if self.relative else self.gap

    def better(self, one: float, other: float) -> bool:
        """Say whether ``one`` is better than ``other``."""
        return one > other if self.maximise else one < other

    def beyond(self, value: float, bound: float) -> float:
        """Return how much better than ``value`` a bound is; less than 0 where it is passed."""
        return bound - value if self.maximise else value - bound

    def disproves(self, value: float, bound: float) -> bool:
        """Say whether a plan's value passes a bound by more than the solver's tolerance."""
        return -self.beyond(value, bound) > MOST_PASSED * max(1.0, abs(value))


@dataclass
class Found:
    """Where a stage ended: the best operation, the proven bound, and whether it was stopped.

    ``untouched`` is the cheapest of the best, where the operation kept is another.
    """

    operation: Operation | None = None
    value: float | None = None
    bound: float | None = None
    stopped: bool = False
    unbounded: bool = False
    untouched: Operation | None = None

    def closed(self, goal: Goal, bound: float) -> bool:
        """Say whether ``bound`` leaves no more than the goal's gap."""
        if self.value is None:
            return False
        return goal.beyond(self.value, bound) <= goal.width(self.value)

    def take(self, goal: Goal, operation: Operation) -> None:
        """Keep an operation that the goal allows if it is better than the one kept."""
        if not goal.allowed(operation):
            return
        value = goal.value(operation)
        if self.value is None or goal.better(value, self.value):
            self.operation, self.value = operation, value


@dataclass
class Node:
    """A part of the search: narrowed bounds, and the bound proven so far."""

    bound: float
    bounds: Bounds = field(default_factory=dict)


def solve(master: Master, goal: Goal, *, relaxed: bool, careful: bool = False) -> Outcome:
    """Solve the model as it stands, or its relaxation, as exactly as the goal asks."""
    gap, relative = goal.gap / 4.0, goal.relative
    return master.solve(relaxed=relaxed, gap=gap, relative=relative, careful=careful)
