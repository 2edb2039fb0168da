"""Walking along a frontier, from the plan of most work to the end: one proven plan at a time.

At a level of x the most work is found with its bound; among plans of that work, to the gap, the
one that goes farthest; and from just beyond it on, the same again. That leaves out no plan that is
better by more than the gap. Where there are more such plans than may be shown, the levels are
spread over what is left of the way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from planner.optimizer.joint import Certificate
from planner.optimizer.objective import natural
from planner.optimizer.operate import Operation
from planner.studies.sensitivity.frontier.axis import Axis
from planner.studies.sensitivity.frontier.question import Question

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
    operation: Operation
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
        question: the problem.
        axis: along what.
        first: the stop to begin with, as ``settled`` returns it.
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
        stop = settled(question, axis, level, answer)
        if stop is None:
            found.stopped = answer.status != "infeasible"
            found.complete &= not found.stopped
            break
        strides.append(abs(axis.scale(stop.x) - axis.scale(here)))
        found.stops.append(stop)
    found.stops = without_dominated(found.stops)
    return found


def _too_far(axis: Axis, here: float, end: float, strides: list[float], left: int) -> bool:
    """Say whether strides like those so far do not lead to the end with what is left of them."""
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


def settled(
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
    farther = question.frugal(axis, case, floor).operation
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
