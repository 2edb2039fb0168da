"""HiGHS and CBC behind one door, with our own words for status, bound and gap.

PuLP's status is never trusted: it says Optimal on a time limit and Infeasible where HiGHS says
"unbounded or infeasible".
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol

from planner.optimizer.model import Linear, Row, Variable

SolverName = Literal["highs", "cbc"]
Status = Literal["optimal", "infeasible", "unbounded", "limit"]
FEASIBILITY = 1e-7
"""Feasibility tolerances of every solver. At 1e-8 and below HiGHS (1.15.1, 1.16.0) reports optima
that are not, with gap 0; at 1e-6 whole numbers come out one short: see test_tolerance.py."""


def crosses_by_rounding(low: float, high: float) -> bool:
    """Say whether bounds exclude every value, but by no more than the solver's tolerance."""
    return high < low <= high + FEASIBILITY * max(1.0, abs(high))


ENTRIES = 1e6
ITERATIONS_OF_SOLVE = 200
"""What every solve counts besides its iterations: handing over the model, presolve."""
ITERATIONS_OF_NODE = 250
"""What a node of a search takes as long as, whatever its iterations: HiGHS (1.15.1) needs 2 to 4 ms
for one of 0.7 iterations where whole numbers have to meet an equation (800 entries)."""
MOST_WORK = 50_000.0
"""What no search passes, so that each ends: then the best so far is taken, as at a time limit."""
MOST_ITERATIONS = 2**31 - 1
PATIENCE = 0.05
"""How much of the time left a solver may run over: it looks at the clock now and then only."""
LEAST_PATIENCE_S = 0.25


@dataclass
class Effort:
    """How far solving may go: up to a moment where the user gave a time, and for so much work.

    Work is iterations of the simplex method, and nodes as so many, times the entries of the model,
    in millions. It is the same on every machine, however busy, so that an answer depends on a clock
    only where the user asked for one; as a rule a hundred take one to five seconds. What is spent
    counts for the whole that this is a part of, too. ``solves`` counts those of the process, for
    whoever shows how far it is.
    """

    solves: ClassVar[int] = 0

    deadline: float = math.inf
    most_work: float = MOST_WORK
    whole: Effort | None = None
    work: float = 0.0

    @classmethod
    def within(cls, time_limit_s: float | None) -> Effort:
        """Return what a time from now on allows; None: anything."""
        return cls(math.inf if time_limit_s is None else time.monotonic() + time_limit_s)

    @property
    def left_s(self) -> float:
        """Time left, s."""
        return self.deadline - time.monotonic()

    @property
    def left_work(self) -> float:
        """Work left, here and in the whole."""
        here = self.most_work - self.work
        return here if self.whole is None else min(here, self.whole.left_work)

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return self.left_s <= 0.0

    @property
    def over(self) -> bool:
        """Whether time or work is over."""
        return self.left_work <= 0.0 or self.late

    def part(self, most_work: float = MOST_WORK, *, share: float = 1.0) -> Effort:
        """Return a part with so much work at most, and a share of the time left."""
        deadline = self.deadline
        if math.isfinite(deadline):
            deadline = time.monotonic() + share * self.left_s
        return Effort(deadline, most_work, self)

    def spend(self, iterations: int, entries: int, nodes: int = 0) -> None:
        """Count a solve of a model with so many entries; its first node is no search."""
        iterations += ITERATIONS_OF_NODE * max(0, nodes - 1)
        self.count((ITERATIONS_OF_SOLVE + iterations) * entries / ENTRIES)
        Effort.solves += 1

    def count(self, work: float) -> None:
        """Count work, for the whole, too."""
        self.work += work
        if self.whole is not None:
            self.whole.count(work)

    def most_iterations(self, entries: int) -> int:
        """Return how many iterations a solve of a model may take."""
        return max(1, int(min(self.left_work * ENTRIES / max(1, entries), MOST_ITERATIONS)))

    def most_nodes(self, entries: int) -> int:
        """Return how many nodes a search of a model may take."""
        return max(1, self.most_iterations(entries) // ITERATIONS_OF_NODE)


@dataclass(frozen=True)
class Outcome:
    """How a solve ended: status, best values found, proven bound."""

    status: Status
    objective: float | None
    bound: float | None
    values: dict[str, float] = field(default_factory=dict)


class Session(Protocol):
    """One model in a solver, changed in place."""

    name: str

    def add(self, row: Row) -> None:
        """Add a row that the model has gained."""

    def objective(self, expression: Linear, maximise: bool) -> None:
        """Replace the objective."""

    def bounds(self, variable: Variable, low: float, high: float | None) -> None:
        """Replace a variable's bounds."""

    def change(self, row: Row, factors: dict[str, float], right: float) -> None:
        """Replace factors of a ``<=`` row, by variable name, and its right-hand side."""

    def solve(
        self, *, relaxed: bool, gap: float, relative: bool, effort: Effort, careful: bool = False
    ) -> Outcome:
        """Solve the model, or its linear relaxation, to a gap; ``careful``: in another way."""
