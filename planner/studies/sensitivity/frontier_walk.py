"""Walking along a frontier, from the plan of most work to the end: one proven plan at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from planner.case import Case, resolve
from planner.case.model import ObjectiveName
from planner.case.suitability import needs_power
from planner.inputs import Change, Inputs, applied
from planner.optimizer.effort import MOST_WORK
from planner.optimizer.objective import measure, natural
from planner.optimizer.operate import Run
from planner.optimizer.optimise import Certificate, optimise, share
from planner.processes import tell
from planner.schema.plan import Plan
from planner.schema.problem import Objective
from planner.schema.sensitivity import FrontierMark, FrontierPoint
from planner.studies.request import SweepOptions
from planner.studies.sensitivity.solve import confirmed
from planner.studies.why_not.question import case_no_worse

Work = Literal["goodput", "useful_gpus"]
END_GAP = 1e-6
"""How exactly the end of a frontier is proven, as a share."""
FAR_GAP = 0.1
"""The same of the far end of a curve, which is beyond any plan worth building."""
END_WORK = 60.0
"""Search effort of an end, or of how far a step goes: some seconds."""


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
        return case.under(case.limits.with_values(**limit))

    def solve(
        self,
        case: Case,
        gap: float | None = None,
        known: Sequence[Run] = (),
        most_work: float = MOST_WORK,
    ) -> Certificate:
        """Return the first best plan of a case with its proof, or the incumbent of so much work."""
        gap = self.options.gap if gap is None else gap
        effort = self.options.effort.part(most_work)
        return optimise(case, gap=gap, effort=effort, ties=False, known=known)

    def best(self) -> Certificate:
        """Return the best plan of all, proven closely; of equal ones the first by tie-breaks."""
        gap = min(END_GAP, self.options.gap)
        return optimise(self.case, gap=gap, effort=self.options.effort)

    def work(self, operation: Run) -> float:
        """Return an operation's useful work."""
        return math.exp(measure(self.case, self.case.objective)(operation))

    def farthest(self, axis: Axis, case: Case, floor: float, start: Run) -> Run | None:
        """Return the plan farthest along an axis among those that do at least this much work.

        Args:
            axis: along what.
            floor: the work, in its own unit.
            start: a plan that does it.
        """
        within = self._within_reach(case)
        case = _aimed(case_no_worse(within, floor), axis)
        return self.solve(case, known=[start], most_work=END_WORK).operation

    def cheapest(self, axis: Axis, operation: Run) -> Run:
        """Return the cheapest plan with the work and the place of another, and no other systems."""
        systems = tuple(
            replace(system, high=operation.units[system.id]) for system in self.case.systems
        )
        here, work = axis.x(self.case, operation), self.work(operation)
        fewer = replace(self.case, systems=systems).billed_as(self.case)
        fixed = self._limited(fewer, axis, here)
        found = self.solve(case_no_worse(fixed, work), known=[operation]).operation
        return operation if found is None else found

    def end(self, axis: Axis) -> Certificate:
        """Return the plan that goes farthest along an axis, whatever it works."""
        gap = END_GAP if self.reach is None else FAR_GAP
        case = _aimed(self._within_reach(self.case), axis)
        return self.solve(case, gap, most_work=END_WORK)

    def _within_reach(self, case: Case) -> Case:
        return case if self.reach is None else self._limited(case, LESS_STORAGE, self.reach)


def _aimed(case: Case, axis: Axis) -> Case:
    """Return the case that goes as far along an axis as it can."""
    return replace(case, objective=axis.objective).billed_as(case)


def _asking_for(work: ObjectiveName) -> list[Change]:
    """Return the change that makes useful work the objective, nothing given away."""
    goal = Objective.model_validate({"maximize": work, "indifference": 0})
    return [Change("objective", goal, f"{{maximize: {work}, indifference: 0}}")]


def _work(inputs: Inputs) -> Work:
    """Return how useful work is measured: as the problem does, else in FLOP/s where known."""
    asked = inputs.problem.objective.maximize
    if asked in ("goodput", "useful_gpus"):
        return "goodput" if asked == "goodput" else "useful_gpus"
    training = inputs.problem.job.training
    if training.mfu is None and training.model is None:
        return "useful_gpus"
    ways = resolve(applied(inputs, _asking_for("useful_gpus"))).ways
    return "goodput" if all(way.tflops_per_gpu > 0 for way in ways) else "useful_gpus"


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

    def x(self, case: Case, operation: Run) -> float:
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


class Ended(Exception):  # noqa: N818
    """The search ended without a frontier: there is no plan, no proof, or no end to it."""

    def __init__(self, answer: Certificate) -> None:
        super().__init__(answer.status)
        self.answer = answer


@dataclass(frozen=True)
class Curve:
    """Points from the least x on, which of them bends most and is best, and whether all are there.

    ``stopped`` says that the search ended before the end of the curve. ``marks`` are further plans
    to show beside them.
    """

    points: tuple[FrontierPoint, ...]
    knee: int | None
    best: int
    knee_rule: str
    complete: bool
    stopped: bool
    marks: tuple[FrontierMark, ...] = ()


@dataclass(frozen=True)
class Place:
    """A problem that a plan is verified against, and what no plan of it passes in useful work.

    ``held`` is the limit of it that the study, not the problem, has set; it is not told as binding.
    """

    inputs: Inputs
    case: Case
    bound: float
    held: str = ""


def point(place: Place, stop: Stop, from_x: float, to_x: float | None, gap: float) -> FrontierPoint:
    """Return the point of a stop.

    Args:
        place: a problem of which it is a plan.
        stop: what was found.
        from_x: where the stretch begins on which it is the best.
        to_x: where that ends, None where it does not.

    Raises:
        VerificationError: the plan does not agree with its independent re-computation.
    """
    plan = _plan(place, stop, gap)
    job, totals = plan.jobs[0], plan.totals
    assert totals is not None
    return FrontierPoint(
        x=stop.x,
        y=stop.work,
        bound=stop.bound,
        gap=stop.bound / stop.work - 1.0,
        from_x=from_x,
        to_x=to_x,
        counts={name: count for name, count in sorted(stop.operation.units.items()) if count},
        gpu_type=" + ".join(job.gpu_types),
        storage_family=" + ".join(job.storage_families),
        gpus_in_use=job.gpus_used,
        goodput=job.goodput,
        useful_gpus=job.useful_gpus,
        useful_pflops=job.useful_pflops or 0.0,
        capex_usd=totals.capex_usd,
        facility_power_kw=totals.facility_power_kw or 0.0,
        write_gb_per_s=job.delivered_write_gb_per_s,
        interval_s=job.interval_s,
        overlap=job.overlap if job.mode == "async" else None,
        binding=_binding(plan, place.held),
    )


def _binding(plan: Plan, held: str) -> tuple[str, ...]:
    return tuple(limit.name for limit in plan.limits if limit.binding and limit.name != held)


def _plan(place: Place, stop: Stop, gap: float) -> Plan:
    """Return a stop as a plan of the problem in figures, under its bound, confirmed."""
    case = place.case
    value = measure(case, case.objective)(stop.operation)
    bound = max(math.log(place.bound), value)
    distance = share(case, value, bound)
    proven = Certificate("optimal", stop.operation, value, bound, distance, 0, 0.0, False)
    return confirmed(place.inputs, case, proven, max(gap, distance))


FLOOR_NOISE = 2e-7
"""Floors are asked for a little tighter, because plans may miss them by less."""
STRIDES = 4
"""From so many strides the length of the way is told; with so few left there is none to try."""


@dataclass(frozen=True)
class Stop:
    """A plan of most work: ``bound`` holds for all plans that keep x at ``level``.

    ``level`` is None where nothing is held.
    """

    level: float | None
    x: float
    operation: Run
    work: float
    bound: float


@dataclass
class Walk:
    """The stops of a walk in their order, and whether nothing between them was left out.

    ``stopped`` says that the search ended before the end, for want of time or of a verdict.
    """

    stops: list[Stop]
    complete: bool = True
    stopped: bool = False


def walk(question: Question, axis: Axis, first: Stop, end: float, most: int) -> Walk:
    """Walk from a plan of most work to the end.

    Args:
        axis: along what.
        first: the stop to begin with, as ``settle_stop`` returns it.
        end: the farthest place at which there is a plan.
        most: how many stops to make.
    """
    found, strides = Walk([first]), list[float]()
    while not axis.reached(found.stops[-1].x, end):
        left = most - len(found.stops)
        if left < 1:
            found.complete = False
            break
        here = found.stops[-1].x
        if found.complete and _too_far(axis, here, end, strides, left):
            found.complete = False
        level = axis.beyond(here) if found.complete else _spread(axis, here, end, left)
        answer = question.solve(question.held(axis, level))
        stop = settle_stop(question, axis, level, answer)
        if stop is None:
            found.stopped = answer.status != "infeasible"
            found.complete &= not found.stopped
            break
        strides.append(abs(axis.scale(stop.x) - axis.scale(here)))
        found.stops.append(stop)
        tell(len(found.stops))
    found.stops = without_dominated(found.stops)
    return found


def _too_far(axis: Axis, here: float, end: float, strides: list[float], left: int) -> bool:
    """Return whether the strides left, as long as those so far, do not lead to the end."""
    if left > STRIDES > len(strides):
        return False
    if not strides:
        return True
    stride = sum(strides) / len(strides)
    return abs(axis.scale(end) - axis.scale(here)) > stride * left


def _spread(axis: Axis, here: float, end: float, left: int) -> float:
    """Return the next of so many levels, evenly spread in their logarithm; the last is the end."""
    if left == 1:
        return end
    if min(here, end) <= 0.0:
        return here + (end - here) / left
    level = here * math.pow(end / here, 1.0 / left)
    nearest = axis.beyond(here)
    return min(level, nearest) if axis.direction < 0 else max(level, nearest)


def settle_stop(
    question: Question, axis: Axis, level: float | None, answer: Certificate
) -> Stop | None:
    """Return the stop of an answer: of plans of its work, to the gap, the farthest along the axis.

    None where the answer has no plan, or no proof.
    """
    if answer.operation is None or answer.bound is None or answer.value is None:
        return None
    case, name = question.held(axis, level), question.case.objective
    bound, work = natural(name, answer.bound), natural(name, answer.value)
    floor = min(work, bound / (1.0 + question.options.gap) * (1.0 + FLOOR_NOISE))
    operation = answer.operation
    farther = question.farthest(axis, case, floor, operation)
    if farther is not None:
        ahead = axis.x(case, farther) - axis.x(case, operation)
        # At the same place more work is better, and nothing else counts.
        if axis.direction * ahead > 0 or (ahead == 0 and question.work(farther) > work):
            operation = farther
    if axis.objective != "cost":  # money does not tell plans at one place apart there
        operation = question.cheapest(axis, operation)
    work = question.work(operation)
    return Stop(level, axis.x(case, operation), operation, work, max(bound, work))


def without_dominated(stops: list[Stop]) -> list[Stop]:
    """Return the stops without those that a later one betters; that one then stands for them."""
    kept: list[Stop] = []
    for stop in stops:
        while kept and kept[-1].work <= stop.work:
            passed = kept.pop()
            stop = replace(stop, level=passed.level, bound=max(stop.bound, passed.bound))
        kept.append(stop)
    return kept
