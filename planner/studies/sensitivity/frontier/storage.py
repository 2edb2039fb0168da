"""The goldilocks curve: most useful work against the write bandwidth of the storage bought.

Left of the best plan the bandwidth may be so much at most, right of it must be so much at least,
under the same limits: too little storage costs goodput, too much costs GPUs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from planner.optimizer.joint import Certificate
from planner.optimizer.objective import natural
from planner.schema.sensitivity import FrontierPoint
from planner.studies.sensitivity.frontier.axis import LESS_STORAGE, MORE_STORAGE, STEP, Axis
from planner.studies.sensitivity.frontier.cores import at_once
from planner.studies.sensitivity.frontier.curve import Curve, Ended
from planner.studies.sensitivity.frontier.knee import knee
from planner.studies.sensitivity.frontier.marks import marks
from planner.studies.sensitivity.frontier.points import Place, point
from planner.studies.sensitivity.frontier.question import Question
from planner.studies.sensitivity.frontier.walk import Stop, Walk, settled, walk, without_dominated

FAR = 30.0
"""How many times the bandwidth of the best plan the curve goes on for."""
LEAST = 2
"""Points to either side of the best: what does its work, and the end."""
KNEE_RULE = (
    "of the points up to the best, the one farthest above the straight line from the first to the "
    "best, with the logarithm of the bandwidth and the work scaled to the range they run over"
)


def curve(question: Question, best: Certificate, most: int) -> Curve:
    """Return the goldilocks curve of a problem.

    Args:
        question: the problem.
        best: its plan of most work.
        most: how many points to find.
    """
    if best.operation is None or best.value is None or best.bound is None:
        raise Ended(best)
    x = LESS_STORAGE.x(question.case, best.operation)
    name = question.case.objective
    top = Stop(x, x, best.operation, natural(name, best.value), natural(name, best.bound))
    far = replace(question, reach=FAR * x)
    least, most_write = question.end(LESS_STORAGE), far.end(MORE_STORAGE)
    ends = (_place(LESS_STORAGE, least), _place(MORE_STORAGE, most_write))
    counts = _shares(x, ends, most - 1)
    tasks = (  # the longest first
        partial(_branch, far, MORE_STORAGE, best, top, ends[1], counts[1]),
        partial(_branch, question, LESS_STORAGE, best, top, ends[0], counts[0]),
        partial(marks, question),
    )
    right, left, marked = at_once(tasks, question.options.jobs)
    points = tuple(_points(question, left.stops, right.stops, top.bound))
    highest = max(range(len(points)), key=lambda place: points[place].y)
    rising = points[: highest + 1]
    bend = knee([p.x for p in rising], [p.y for p in rising], logarithmic=True)
    complete = left.complete and right.complete
    late = any(end.status != "optimal" for end in (least, most_write))
    stopped = left.stopped or right.stopped or late
    return Curve(points, bend, highest, KNEE_RULE, complete, stopped, marked)


def _place(axis: Axis, answer: Certificate) -> float:
    if answer.value is None:
        raise Ended(answer)
    return axis.natural(answer.value)


def _shares(x: float, ends: tuple[float, float], most: int) -> tuple[int, int]:
    """Return how many points go to either side: as many as its share of the range in decades."""
    low, high = max(ends[0], 1e-9), max(ends[1], x)
    whole = math.log(high / low)
    share = math.log(x / low) / whole if whole > 0 else 0.5
    left = max(min(round(share * most), most - LEAST), LEAST)
    return left, max(most - left, LEAST)


def _branch(
    question: Question, axis: Axis, best: Certificate, top: Stop, end: float, most: int
) -> Walk:
    """Return one side of the best plan, beginning with that plan where nothing betters it.

    Next to it stands what does its work, to the gap, with the least storage or the most.
    """
    first = settled(question, axis, None, best)
    assert first is not None
    found = walk(question, axis, replace(first, level=top.x), end, most)
    aside = [stop for stop in found.stops if axis.direction * (stop.x - top.x) > STEP * top.x]
    found.stops = without_dominated([top, *aside])
    return found


def _points(
    question: Question, left: list[Stop], right: list[Stop], bound: float
) -> Iterator[FrontierPoint]:
    """Yield the stops as points, from the least bandwidth on; the best plan begins both sides.

    No problem file holds a bandwidth, so they are verified as plans of the problem itself.
    """
    place, gap = Place(question.inputs, question.case, bound), question.options.gap
    for stop in reversed(left):
        assert stop.level is not None
        yield point(place, stop, stop.x, stop.level, gap)
    for stop in right[1:] if left[0] is right[0] else right:
        assert stop.level is not None
        yield point(place, stop, stop.level, stop.x, gap)
