"""The best objective of a changed problem, proven, without choosing among equally good plans."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from planner.api import Options
from planner.case import Case, resolve
from planner.errors import InputError
from planner.inputs import Inputs, key_of
from planner.levers import Change, applied
from planner.optimizer.fits import fitted
from planner.optimizer.joint import optimise
from planner.optimizer.measure import measure
from planner.optimizer.objective import natural
from planner.optimizer.operate import Operation

SAME = 1e-9


@dataclass(frozen=True)
class Best:
    """The best plan of a problem with its proof; values in the objective's own unit.

    ``value`` is None where there is no plan, ``bound`` where nothing is proven.
    """

    case: Case
    value: float | None
    bound: float | None
    operation: Operation | None

    @property
    def gpus_used(self) -> int | None:
        """GPUs in use."""
        return None if self.operation is None else self.operation.gpus


@dataclass
class Prober:
    """Solves changed problems, each once; ``undecided`` collects questions that were cut short."""

    inputs: Inputs
    options: Options
    undecided: list[str] = field(default_factory=list)
    _known: dict[tuple[tuple[str, str], ...], Best | None] = field(default_factory=dict)

    def case(self, changes: tuple[Change, ...]) -> Case | None:
        """Return the changed problem in numbers, None where what it demands cannot be had."""
        try:
            case = resolve(applied(self.inputs, changes))
        except InputError:
            return None
        # What is given away to the cheaper of nearly equal plans is no worth of a limit.
        return replace(case, indifference=0.0, policy=replace(case.policy, within=0.0, disliked=()))

    def best(self, changes: tuple[Change, ...]) -> Best | None:
        """Return the best plan of the changed problem; None where that is not settled in time."""
        key = key_of(changes)
        if key not in self._known and self.options.effort.late:
            return None
        if key not in self._known:
            self._known[key] = self._solve(changes)
        return self._known[key]

    def _solve(self, changes: tuple[Change, ...]) -> Best | None:
        case, options = self.case(changes), self.options
        if case is None:
            return Best(resolve(self.inputs), None, None, None)
        answer = optimise(
            case,
            solver=options.solver,
            gap=options.gap,
            effort=options.effort,
            ties=False,
        )
        if answer.operation is None and answer.status != "infeasible":
            return None
        value, bound = (
            None if each is None else natural(case.objective, each)
            for each in (answer.value, answer.bound)
        )
        return Best(case, value, bound, answer.operation)

    def better(self, value: float, than: Best) -> bool:
        """Say whether a value is better than the best by more than its own gap."""
        assert than.value is not None
        width = max(2.0 * self.options.gap, SAME) * abs(than.value)
        return value > than.value + width if than.case.maximise else value < than.value - width

    def still_fits(self, changes: tuple[Change, ...], best: Best) -> bool:
        """Say whether the best plan is one of the changed problem, too, and as good there.

        Once the time is over it is not looked at.
        """
        if self.options.effort.late:
            return False
        case, run = self.case(changes), best.operation
        if case is None or run is None or best.value is None:
            return False
        again = fitted(case, run)
        if again is None:
            return False
        value = natural(case.objective, measure(case, case.objective)(again))
        return abs(value - best.value) <= SAME * abs(best.value)
