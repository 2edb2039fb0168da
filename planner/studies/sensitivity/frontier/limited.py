"""Most useful work against money or power: every plan that no other passes, to the gap."""

from __future__ import annotations

from collections.abc import Iterator

from planner.inputs import Change, applied
from planner.optimizer.joint import Certificate
from planner.schema.sensitivity import FrontierPoint
from planner.studies.sensitivity.frontier.axis import COST, POWER, Axis
from planner.studies.sensitivity.frontier.curve import Curve, Ended
from planner.studies.sensitivity.frontier.knee import knee
from planner.studies.sensitivity.frontier.points import Place, point
from planner.studies.sensitivity.frontier.question import Question
from planner.studies.sensitivity.frontier.walk import Stop, Walk, settled, walk

AXES = {"cost": COST, "power": POWER}
KNEE_RULE = (
    "the point farthest above the straight line from the first point to the last, both axes scaled "
    "to the range they run over"
)


def curve(question: Question, axis: Axis, best: Certificate, most: int) -> Curve:
    """Return the frontier of a problem against money or power.

    Args:
        question: the problem.
        axis: money or power.
        best: its plan of most work.
        most: how many points to find.
    """
    first = settled(question, axis, None, best)
    last = question.end(axis)
    if first is None or last.value is None:
        raise Ended(best if first is None else last)
    found = walk(question, axis, first, axis.natural(last.value), most)
    found.stopped |= last.status != "optimal"
    points = tuple(_points(question, axis, found))
    bend = knee([p.x for p in points], [p.y for p in points], logarithmic=False)
    return Curve(points, bend, len(points) - 1, KNEE_RULE, found.complete, found.stopped)


def _points(question: Question, axis: Axis, found: Walk) -> Iterator[FrontierPoint]:
    """Yield the stops as points, from the least x on."""
    own = getattr(question.case.limits, axis.limit)
    for stop in reversed(found.stops):
        to_x = own if stop.level is None else stop.level
        yield point(_place(question, axis, stop), stop, stop.x, to_x, question.options.gap)


def _place(question: Question, axis: Axis, stop: Stop) -> Place:
    """Return the problem file that asks for a stop: its level is a limit there."""
    if stop.level is None or axis.path is None:
        return Place(question.inputs, question.case, stop.bound)
    inputs = applied(question.inputs, [Change(axis.path, stop.level, "")])
    return Place(inputs, question.held(axis, stop.level), stop.bound, axis.path.split(".")[1])
