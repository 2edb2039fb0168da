"""How good a plan with a given item can be at most: linear programs on one master, no search.

The relaxation only ever allows more, so its value bounds every plan that holds the item. One model
serves all items: each is demanded for a moment, and the tangents it needs stay for the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from planner.case import Case, Storage
from planner.case.model import Mode, Offer
from planner.optimizer.build import build
from planner.optimizer.master import Master, session
from planner.optimizer.model import Variable
from planner.optimizer.objective import EXPRESSIONS
from planner.optimizer.solver import Effort, Outcome, SolverName

FIRST_ROUNDS = 12
ROUNDS = 4
VIOLATION = 1e-5

Bound = float | Literal["no plan"] | None
"""In the model's scale; None where the solver gave no verdict."""


def bounds_with(
    case: Case, ids: Iterable[str], solver: SolverName, effort: Effort
) -> Mapping[str, Bound]:
    """Return for each item a value of the objective that no plan with it passes.

    Args:
        case: the problem in numbers.
        ids: GPU systems (which are then to be in use) and storage items.
        solver: which solver to ask.
        effort: how far to go; beyond it nothing is told any more.
    """
    if effort.over:  # building the models alone takes its time
        return dict.fromkeys(ids)
    probes = [_Probe.of(case, mode, solver, effort) for mode in case.job.modes]
    return {name: _over_modes(case, [probe.bound(name) for probe in probes]) for name in ids}


def _over_modes(case: Case, bounds: list[Bound]) -> Bound:
    """Return the bound of plans in any mode."""
    known = [bound for bound in bounds if not isinstance(bound, str)]
    if not known:
        return "no plan"
    if any(bound is None for bound in known):
        return None
    pick = max if case.maximise else min
    return pick(bound for bound in known if bound is not None)


@dataclass
class _Probe:
    """The relaxation of one mode, cut until its tangents hold."""

    case: Case
    master: Master
    offers: Mapping[str, Offer]

    @classmethod
    def of(cls, case: Case, mode: Mode, solver: SolverName, effort: Effort) -> _Probe:
        problem = build(case, mode)
        expression = EXPRESSIONS[case.objective](problem)
        master = Master(problem, session(solver, problem.model), effort)
        master.objective(expression, case.maximise)
        probe = cls(case, master, {offer.id: offer for offer in case.offers()})
        probe._cut(FIRST_ROUNDS)
        return probe

    def bound(self, name: str) -> Bound:
        """Return the bound of plans with an item; the model is afterwards as it was."""
        wanted = list(self._demanded(self.offers[name]))
        for variable, least in wanted:
            low, high = self.master.original(variable)
            self.master.session.bounds(variable, max(low, min(least, high)), high)
        outcome = self._cut(ROUNDS)
        for variable, _ in wanted:
            self.master.session.bounds(variable, *self.master.original(variable))
        return "no plan" if outcome.status == "infeasible" else outcome.bound

    def _demanded(self, offer: Offer) -> Iterator[tuple[Variable, float]]:
        """Yield each variable that holding an item raises, with its least value."""
        problem = self.master.build
        if isinstance(offer, Storage):
            yield problem.serves[offer.family], 1.0
            counts = [self.master.build.counts[key] for key in problem.case.keys(offer.id)]
            if len(counts) == 1:  # of several none is known to be the one that rises
                yield counts[0], float(max(1, offer.min_units))
        else:
            yield problem.type_used[offer.id], 1.0
            yield problem.used[offer.id], 1.0

    def _cut(self, rounds: int) -> Outcome:
        """Solve the relaxation, adding tangents where it breaks links; return the last outcome."""
        outcome = self.master.solve(relaxed=True, gap=0.0, relative=False)
        for _ in range(rounds):
            if not outcome.values or not self.master.cut(outcome.values, VIOLATION):
                break
            outcome = self.master.solve(relaxed=True, gap=0.0, relative=False)
        return outcome
