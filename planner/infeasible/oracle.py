"""Whether a changed problem has a plan at all: asked once, remembered, in whole numbers."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from functools import cached_property

from planner.case import Case, figures, resolve
from planner.errors import InputError
from planner.inputs import Inputs, key_of
from planner.levers import Change, applied
from planner.optimizer.joint import fitted, optimise
from planner.optimizer.operate import Operation
from planner.optimizer.solver import Effort, SolverName

QUESTION = 500.0
"""The work that one question may take; see ``Effort``."""
MOST_PLANS = 12
"""Plans kept to be tried on the next questions."""


class UndecidedError(Exception):
    """Work or time ran out before a question was answered."""


@dataclass(frozen=True)
class Answer:
    """Whether there is a plan (None: not decided), and one of them."""

    possible: bool | None
    case: Case | None = None
    operation: Operation | None = None


@dataclass
class Oracle:
    """Asks whether a problem with changes has a plan.

    Args:
        inputs: the problem as it stands.
        solver: which solver to ask.
        effort: how far to go in all; questions beyond it are not decided.
    """

    inputs: Inputs
    solver: SolverName
    effort: Effort
    _plans: deque[Operation] = field(default_factory=lambda: deque(maxlen=MOST_PLANS))
    _known: dict[tuple[tuple[str, str], ...], Answer] = field(default_factory=dict)

    def ask(self, changes: tuple[Change, ...]) -> Answer:
        """Return whether the problem with these changes has a plan."""
        key = key_of(changes)
        if key not in self._known:
            self._known[key] = self._answer(changes)
        return self._known[key]

    def possible(self, changes: tuple[Change, ...]) -> bool | None:
        """Say whether the problem with these changes has a plan; None where it is not decided."""
        return self.ask(changes).possible

    def decided(self, changes: tuple[Change, ...]) -> Answer:
        """Return the same, but no answer that is open.

        Raises:
            UndecidedError: work or time ran out.
        """
        answer = self.ask(changes)
        if answer.possible is None:
            raise UndecidedError
        return answer

    @cached_property
    def _left_out(self) -> tuple[Change, ...]:
        """What keeps items out that lack a figure the problem asks for.

        Without a limit some would not be asked for, but the limit is only to be moved.
        """
        return tuple(
            Change(f"items.{item.id}.exclude", True, "true")
            for item in self.inputs.items
            if item.category in ("gpu_system", "storage")
            and figures.missing_figure(item, self.inputs) is not None
        )

    def _answer(self, changes: tuple[Change, ...]) -> Answer:
        if self.effort.over:
            return Answer(None)
        case = self.case(changes)
        if case is None or not case.systems or not case.storage:
            return Answer(False)
        for run in reversed(self._plans):
            if (again := fitted(case, run)) is not None:
                return Answer(True, case, again)
        # The easiest objective: any plan will do.
        least = replace(case, objective="power", indifference=0.0)
        effort = self.effort.part(QUESTION)
        found = optimise(least, solver=self.solver, gap=0.9, effort=effort, ties=False)
        if found.operation is not None:
            self._plans.append(found.operation)
            return Answer(True, case, found.operation)
        return Answer(False if found.status == "infeasible" else None)

    def case(self, changes: tuple[Change, ...]) -> Case | None:
        """Return the changed problem in numbers; None where what it demands cannot be had."""
        try:
            return resolve(applied(self.inputs, (*changes, *self._left_out)))
        except InputError:
            return None
