"""Whether a changed problem has a plan at all, and which limits cannot hold together."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from planner.case import Case, resolve
from planner.case.resolve import missing_figure
from planner.errors import InputError
from planner.inputs import Inputs, key_of
from planner.levers import Change, Lever, applied
from planner.optimizer.effort import POSSIBLE_WORK, Effort
from planner.optimizer.operate import Run
from planner.optimizer.optimise import Certificate, fitted, optimise

ANY_GAP = 10.0
"""The gap to the least power that ends the search for any plan: it goes on to a twentieth of it, so
that a plan draws at most twice the least, and soon fits the next question, too."""
MOST_PLANS = 12
"""Plans kept to be tried on the next questions."""
MOST_CONFLICTS = 8


class UndecidedError(Exception):
    """Work or time ran out before a question was answered."""


@dataclass(frozen=True)
class Decision:
    """Whether there is a plan (None: not decided), and one of them."""

    possible: bool | None
    case: Case | None = None
    operation: Run | None = None


@dataclass
class Oracle:
    """Whether a problem with changes has a plan: each question once, within an effort for all."""

    inputs: Inputs
    effort: Effort
    _plans: deque[Run] = field(default_factory=lambda: deque(maxlen=MOST_PLANS))
    _known: dict[tuple[tuple[str, str], ...], Decision] = field(default_factory=dict)

    def remember(self, runs: Sequence[Run]) -> None:
        """Keep plans of the problem, changed in whatever way, to be tried on the next questions."""
        self._plans.extend(runs)

    def possible(self, changes: tuple[Change, ...]) -> bool | None:
        """Whether the problem with these changes has a plan; None where it is not decided."""
        key = key_of(changes)
        if key not in self._known:
            self._known[key] = self._answer(changes)
        return self._known[key].possible

    def decided(self, changes: tuple[Change, ...]) -> Decision:
        """Whether the problem with these changes has a plan, and one.

        Raises:
            UndecidedError: work or time ran out.
        """
        if self.possible(changes) is None:
            raise UndecidedError
        return self._known[key_of(changes)]

    def case(self, changes: tuple[Change, ...]) -> Case | None:
        """The changed problem in numbers; None where a demand of it cannot be met."""
        try:
            return resolve(applied(self.inputs, (*changes, *self._left_out)))
        except InputError:
            return None

    @cached_property
    def _left_out(self) -> tuple[Change, ...]:
        """What keeps items out that lack a figure the problem asks for.

        Without a limit some would not be asked for, but the limit is only to be moved.
        """
        return tuple(
            Change(f"items.{item.id}.exclude", True, "true")
            for item in self.inputs.items
            if item.category in ("gpu_system", "storage")
            and missing_figure(item, self.inputs) is not None
        )

    def _answer(self, changes: tuple[Change, ...]) -> Decision:
        if self.effort.over:
            return Decision(None)
        case = self.case(changes)
        if case is None or not case.systems or not case.storage:
            return Decision(False)
        for run in reversed(self._plans):
            if (again := fitted(case, run)) is not None:
                return Decision(True, case, again)
        # The easiest objective: any plan will do.
        found = self.optimum(replace(case, objective="power"), ANY_GAP)
        if found.operation is not None:
            return Decision(True, case, found.operation)
        return Decision(False if found.status == "infeasible" else None)

    def optimum(self, case: Case, gap: float) -> Certificate:
        """The best plan of a case, kept for the next questions."""
        effort = self.effort.part(POSSIBLE_WORK)
        found = optimise(replace(case, indifference=0.0), gap=gap, effort=effort, ties=False)
        if found.operation is not None:
            self._plans.append(found.operation)
        return found


# Which limits cannot hold together: sets from which none can be left out.


def off(levers: Sequence[Lever]) -> tuple[Change, ...]:
    """The changes that give up all of some levers."""
    return tuple(change for lever in levers for change in lever.off)


def given_up(clash: Sequence[Lever], free: Sequence[Lever]) -> Lever | None:
    """The limit of a conflict to blame first of those that are free; None where all must stay."""
    return next((lever for lever in reversed(clash) if lever in free), None)


def conflicts(
    oracle: Oracle, levers: Sequence[Lever], free: Sequence[Lever]
) -> list[tuple[Lever, ...]]:
    """Conflicts until giving up one limit of each leaves a plan.

    Args:
        oracle: of a problem that has no plan.
        levers: all of them, those to blame last first; without them all there must be a plan.
        free: those that may be given up.

    Raises:
        UndecidedError: work or time ran out.
    """
    found: list[tuple[Lever, ...]] = []
    dropped: list[Lever] = []
    while len(found) < MOST_CONFLICTS and not oracle.decided(off(dropped)).possible:
        kept = [lever for lever in levers if lever not in dropped]
        one = minimal(oracle, kept, off(dropped))
        found += [one] if one else []
        blamed = given_up(one, free)
        if blamed is None:
            break
        dropped.append(blamed)
    return found


def minimal(oracle: Oracle, levers: Sequence[Lever], made: tuple[Change, ...]) -> tuple[Lever, ...]:
    """Levers of which no one can be left out of the conflict (a deletion filter).

    Halves are tried before single ones: most levers have nothing to do with it.

    Args:
        oracle: of a problem that has no plan.
        levers: those that may be part of it, those to blame last first.
        made: changes with which there still is none.

    Raises:
        UndecidedError: work or time ran out.
    """
    needed: list[Lever] = []
    open_, size = list(levers), max(1, len(levers) // 2)
    while open_:
        part, rest = open_[:size], open_[size:]
        without = [lever for lever in levers if lever not in needed and lever not in rest]
        possible = oracle.possible((*off(without), *made))
        if possible is not False and size > 1:
            size //= 2
            continue
        if possible is None:
            raise UndecidedError
        needed += part if possible else []
        open_, size = rest, max(1, len(rest) // 2)
    return tuple(needed)
