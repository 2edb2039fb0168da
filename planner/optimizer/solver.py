"""HiGHS and CBC behind one door, with our own words for status, bound and gap.

PuLP's status is never trusted: it says Optimal on a time limit and Infeasible where HiGHS says
"unbounded or infeasible".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

from planner.optimizer.model import Linear, Model, Row, Variable

SolverName = Literal["highs", "cbc"]
Status = Literal["optimal", "infeasible", "unbounded", "limit"]
FEASIBILITY = 1e-8
"""Within the range (1e-6 to 1e-8) in which HiGHS was measured to tell the truth. At 1e-7 its
presolve lost the optimum of a model with companions (gap 0 reported): see test_solver.py."""


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
        self, *, relaxed: bool, gap: float, relative: bool, deadline: float, careful: bool = False
    ) -> Outcome:
        """Solve the model, or its linear relaxation, to a gap; ``careful``: slower, another way."""


def session(name: SolverName, model: Model) -> Session:
    """Return a session of the named solver for ``model``."""
    if name == "cbc":
        from planner.optimizer.cbc import CbcSession

        return CbcSession(model)
    from planner.optimizer.highs import HighsSession

    return HighsSession(model)
