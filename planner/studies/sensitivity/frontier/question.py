"""What a frontier asks: the problem with useful work as its objective, and how it is solved."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from planner.case import Case, resolve, with_kit
from planner.case.figures import needs_power
from planner.case.model import ObjectiveName
from planner.errors import SolverError
from planner.inputs import Change, Inputs, applied
from planner.optimizer.joint import Certificate, optimise
from planner.optimizer.measure import measure
from planner.optimizer.operate import Operation
from planner.schema.problem import Objective
from planner.studies.sensitivity.frontier.axis import LESS_STORAGE, Axis
from planner.studies.sensitivity.solve import SweepOptions
from planner.studies.why_not.floors import keeping

Work = Literal["goodput", "useful_gpus"]
LABELS: dict[str, tuple[str, str]] = {
    "goodput": ("useful work", "PFLOP/s"),
    "useful_gpus": ("useful GPUs", "GPUs"),
}
END_GAP = 1e-6
"""How exactly the end of a frontier is proven, as a share."""


@dataclass(frozen=True)
class Question:
    """A problem whose useful work is to be most, its case, and how exactly to solve it.

    ``reach`` is how much write bandwidth is looked for where there may be ever more, GB/s.
    """

    inputs: Inputs
    case: Case
    options: SweepOptions
    reach: float | None = None

    @classmethod
    def of(cls, inputs: Inputs, options: SweepOptions, *, needs_draw: bool) -> Question:
        """Return the question of a problem.

        Args:
            inputs: the problem, catalogs and prices.
            options: how exactly to solve.
            needs_draw: leave out what has no known power draw.
        """
        if needs_draw:
            inputs = _with_known_draw(inputs)
        inputs = applied(inputs, _asking_for(_work(inputs)))
        if inputs.problem.policy.prefer is not None:  # what it gives away is no part of a frontier
            inputs = applied(inputs, [Change("policy.prefer", None, "null")])
        return cls(inputs, resolve(inputs), options)

    def held(self, axis: Axis, level: float | None) -> Case:
        """Return the case with an axis held at a level; None holds nothing."""
        return self.case if level is None else self._limited(self.case, axis, level)

    def _limited(self, case: Case, axis: Axis, level: float) -> Case:
        limit: dict[str, Any] = {axis.limit: level}
        return with_kit(self.inputs, replace(case, limits=replace(case.limits, **limit)))

    def solve(self, case: Case, gap: float | None = None) -> Certificate:
        """Return the first best plan of a case with its proof.

        Where the solver contradicts itself nothing is known of the case, which is no end of the
        study: the other cases stand on their own.
        """
        gap = self.options.gap if gap is None else gap
        try:
            return optimise(case, gap=gap, effort=self.options.effort, ties=False)
        except SolverError:
            return Certificate("no_solution", None, None, None, None, 0, 0.0, False)

    def best(self) -> Certificate:
        """Return the best plan of all, proven closely; of equal ones the first by tie-breaks."""
        gap = min(END_GAP, self.options.gap)
        return optimise(self.case, gap=gap, effort=self.options.effort)

    def work(self, operation: Operation) -> float:
        """Return an operation's useful work."""
        return math.exp(measure(self.case, self.case.objective)(operation))

    def frugal(self, axis: Axis, case: Case, floor: float) -> Certificate:
        """Return the plan that goes farthest along an axis of those that do so much work."""
        within = self._within_reach(case)
        return self.solve(replace(keeping(within, floor), objective=axis.objective))

    def cheapest(self, axis: Axis, operation: Operation) -> Operation:
        """Return the cheapest plan with the work and the place of another, and no other systems."""
        systems = tuple(
            replace(system, high=operation.units[system.id]) for system in self.case.systems
        )
        here = axis.x(self.case, operation)
        fixed = self._limited(replace(self.case, systems=systems), axis, here)
        found = self.solve(keeping(fixed, self.work(operation))).operation
        return operation if found is None else found

    def end(self, axis: Axis) -> Certificate:
        """Return the plan that goes farthest along an axis, whatever it works."""
        within = self._within_reach(self.case)
        return self.solve(replace(within, objective=axis.objective), END_GAP)

    def _within_reach(self, case: Case) -> Case:
        return case if self.reach is None else self._limited(case, LESS_STORAGE, self.reach)


def _asking_for(work: ObjectiveName) -> list[Change]:
    """Return the change that makes useful work the objective, nothing given away."""
    goal = Objective.model_validate({"maximize": work, "indifference": 0})
    return [Change("objective", goal, f"{{maximize: {work}, indifference: 0}}")]


def _work(inputs: Inputs) -> Work:
    """Return how useful work is measured: as the problem does, else in FLOP/s where known."""
    asked = inputs.problem.objective.maximize
    if asked in ("goodput", "useful_gpus"):
        return "goodput" if asked == "goodput" else "useful_gpus"
    if inputs.problem.job.training.mfu is None:
        return "useful_gpus"
    systems = resolve(applied(inputs, _asking_for("useful_gpus"))).systems
    return "goodput" if all(system.tflops_per_gpu > 0 for system in systems) else "useful_gpus"


def _with_known_draw(inputs: Inputs) -> Inputs:
    """Return the inputs without what has no known draw, where power did not matter before."""
    if needs_power(inputs.problem):
        return inputs
    least = Objective.model_validate({"minimize": "power"})
    known = resolve(applied(inputs, [Change("objective", least, "{minimize: power}")]))
    left_out = {name for name, _ in resolve(inputs).not_considered}
    return applied(
        inputs,
        [
            Change(f"items.{name}.exclude", True, "true")
            for name, _ in known.not_considered
            if name not in left_out
        ],
    )
