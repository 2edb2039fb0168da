"""Most useful work against what is held or limited: storage bandwidth, money, power."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, Literal, get_args

from planner.case import Case
from planner.errors import InputError
from planner.figures import FIGURES, OBJECTIVES, Figure
from planner.inputs import Change, Inputs, applied
from planner.optimizer.joint import Certificate
from planner.optimizer.objective import natural
from planner.optimizer.parametric.cells import covers
from planner.schema.plan import Status
from planner.schema.sensitivity import Frontier, FrontierMark, FrontierPoint
from planner.sizing.demand import VENDOR_RULES
from planner.studies.request import Found, Request, SweepOptions, head_of
from planner.studies.sensitivity.frontier_walk import (
    COST,
    LESS_STORAGE,
    MORE_STORAGE,
    POWER,
    STEP,
    Axis,
    Curve,
    Ended,
    Place,
    Question,
    Stop,
    Walk,
    point,
    settled,
    walk,
    without_dominated,
)
from planner.studies.sensitivity.scenarios import Scenario
from planner.studies.sensitivity.solve import NO_PLAN
from planner.studies.sensitivity.workers import answers


def at_once(tasks: Sequence[Callable[[], Any]], jobs: int) -> list[Any]:
    """Return what each task returns, in order.

    Args:
        tasks: what to do; while the solver works, another task runs.
        jobs: on how many cores, 0 for all.
    """
    count = min(jobs or os.cpu_count() or 1, len(tasks))
    if count < 2:
        return [task() for task in tasks]
    pool = ThreadPoolExecutor(count)
    try:
        return list(pool.map(lambda task: task(), tasks))
    finally:  # where one has failed, or the user has had enough, nobody waits for the others
        pool.shutdown(wait=False, cancel_futures=True)


def cores(case: Case, options: SweepOptions) -> int:
    """Return on how many cores to work at once, 0 for all: while the solver works others may.

    Plans that are enumerated need no solver, and threads would only wait for each other.
    """
    return 1 if covers(case) else options.jobs


LEAST_BEND = 1e-9


def knee(xs: Sequence[float], ys: Sequence[float], *, logarithmic: bool) -> int | None:
    """Return the place of the knee of a rising curve; None where it does not bend.

    Both axes are scaled to run from 0 at the first point to 1 at the last one; the knee is where
    y - x is largest (Kneedle without smoothing; of equals the first).

    Args:
        xs: rising.
        ys: rising.
        logarithmic: whether x counts by its logarithm.
    """
    if len(xs) < 3 or (logarithmic and xs[0] <= 0.0):
        return None
    places = [math.log(x) for x in xs] if logarithmic else list(xs)
    width, height = places[-1] - places[0], ys[-1] - ys[0]
    if width <= 0.0 or height <= 0.0:
        return None
    above = [
        (y - ys[0]) / height - (place - places[0]) / width
        for place, y in zip(places, ys, strict=True)
    ]
    most = max(above)
    return above.index(most) if most > LEAST_BEND else None


def marks(question: Question) -> tuple[FrontierMark, ...]:
    """Return for each rule the best plan that follows it, with the least storage it allows."""
    return tuple(_mark(question, name) for name in VENDOR_RULES)


def _mark(question: Question, name: str) -> FrontierMark:
    inputs = applied(question.inputs, [Change("storage.rule", name, name)])
    label = f"{name} rule"
    try:
        ruled = Question.of(inputs, question.options, needs_draw=False)
    except InputError as error:
        return FrontierMark(name=name, label=label, reason=str(error))
    answer = ruled.solve(ruled.case)
    stop = settled(ruled, LESS_STORAGE, None, answer)
    if stop is None:
        late = answer.status != "infeasible"
        return FrontierMark(name=name, label=label, reason="not settled" if late else NO_PLAN)
    return FrontierMark(name=name, label=label, x=stop.x, y=stop.work, bound=stop.bound)


AXES = {"cost": COST, "power": POWER}
_LIMITED_KNEE = (
    "the point farthest above the straight line from the first point to the last, both axes scaled "
    "to the range they run over"
)


def limited_curve(question: Question, axis: Axis, best: Certificate, most: int) -> Curve:
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
    points = tuple(_limited_points(question, axis, found))
    bend = knee([p.x for p in points], [p.y for p in points], logarithmic=False)
    return Curve(points, bend, len(points) - 1, _LIMITED_KNEE, found.complete, found.stopped)


def _limited_points(question: Question, axis: Axis, found: Walk) -> Iterator[FrontierPoint]:
    """Yield the stops as points, from the least x on."""
    own = question.case.limits[axis.limit]
    for stop in reversed(found.stops):
        to_x = own if stop.level is None else stop.level
        yield point(_limited_place(question, axis, stop), stop, stop.x, to_x, question.options.gap)


def _limited_place(question: Question, axis: Axis, stop: Stop) -> Place:
    """Return the problem file that asks for a stop: its level is a limit there."""
    if stop.level is None or axis.path is None:
        return Place(question.inputs, question.case, stop.bound)
    inputs = applied(question.inputs, [Change(axis.path, stop.level, "")])
    return Place(inputs, question.held(axis, stop.level), stop.bound, axis.path.split(".")[1])


FAR = 30.0
"""How many times the bandwidth of the best plan the storage_curve goes on for."""
LEAST = 2
"""Points to either side of the best: what does its work, and the end."""
_STORAGE_KNEE = (
    "of the points up to the best, the one farthest above the straight line from the first to the "
    "best, with the logarithm of the bandwidth and the work scaled to the range they run over"
)


def storage_curve(question: Question, best: Certificate, most: int) -> Curve:
    """Return the goldilocks storage_curve of a problem.

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
    far = replace(question, reach=FAR * x, known={})
    least, most_write = question.end(LESS_STORAGE), far.end(MORE_STORAGE)
    ends = (_storage_end(LESS_STORAGE, least), _storage_end(MORE_STORAGE, most_write))
    counts = _shares(x, ends, most - 1)
    tasks = (  # the longest first
        partial(_branch, far, MORE_STORAGE, best, top, ends[1], counts[1]),
        partial(_branch, question, LESS_STORAGE, best, top, ends[0], counts[0]),
        partial(marks, question),
    )
    right, left, marked = at_once(tasks, cores(question.case, question.options))
    points = tuple(_storage_points(question, left.stops, right.stops, top.bound))
    highest = max(range(len(points)), key=lambda place: points[place].y)
    rising = points[: highest + 1]
    bend = knee([p.x for p in rising], [p.y for p in rising], logarithmic=True)
    complete = left.complete and right.complete
    late = any(end.status != "optimal" for end in (least, most_write))
    stopped = left.stopped or right.stopped or late
    return Curve(points, bend, highest, _STORAGE_KNEE, complete, stopped, marked)


def _storage_end(axis: Axis, answer: Certificate) -> float:
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


def _storage_points(
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


Against = Literal["storage", "cost", "power"]
AGAINST: tuple[Against, ...] = get_args(Against)
POINTS = 50
HORIZONTAL: dict[Against, Figure] = {
    "storage": FIGURES["delivered_write_gb_per_s"],
    "cost": FIGURES["capex_usd"],
    "power": FIGURES["facility_power_kw"],
}
MESSAGES: dict[str, str] = {
    "infeasible": NO_PLAN,
    "unbounded": "nothing limits useful work: give a power, space or cost budget",
    "no_solution": "the time limit was reached before the ends of the frontier were found",
}
STOPPED = (
    "the search ended before the end of the curve: the time was over, or the solver had no verdict"
)
GAP_NOISE = 1e-9


def study(
    inputs: Inputs,
    options: SweepOptions,
    *,
    against: Against = "storage",
    points: int = POINTS,
    heard: Callable[[], None] = lambda: None,
) -> Frontier:
    """Return the most useful work of a problem against what is held or limited.

    The problem's own limits stay; its objective gives way to useful work. Every point is a plan
    that no other passes, proven to the gap, and verified.

    Args:
        inputs: the problem, catalogs and prices.
        options: how exactly to solve, and how long at most for each plan.
        against: the write bandwidth of the storage bought, capex, or power at the meter.
        points: how many points to find at most; where there are more, they are spread.
        heard: is told of every point that is found.

    Raises:
        InputError: the problem demands what cannot be planned.
        VerificationError: a plan does not agree with its independent re-computation.
    """
    question = Question.of(inputs, options, needs_draw=against == "power")
    question = replace(question, heard=heard)
    head = _head(inputs, question, against)
    try:
        curve = _curve(question, against, points)
    except Ended as ended:
        found = ended.answer.status
        status: Status = "no_solution" if found in ("optimal", "feasible") else found
        return head.model_copy(update={"status": status, "message": MESSAGES[status]})
    return head.model_copy(
        update={
            "status": _status(curve, options.gap),
            "points": curve.points,
            "knee": curve.knee,
            "best": curve.best,
            "knee_rule": curve.knee_rule,
            "complete": curve.complete and not curve.stopped,
            "marks": curve.marks,
            "message": STOPPED if curve.stopped else None,
        }
    )


def _curve(question: Question, against: Against, points: int) -> Curve:
    best = question.best()
    if against == "storage":
        return storage_curve(question, best, points)
    return limited_curve(question, AXES[against], best, points)


def _status(curve: Curve, gap: float) -> Status:
    proven = all(point.gap <= gap + GAP_NOISE for point in curve.points)
    return "optimal" if proven and not curve.stopped else "feasible"


def _head(inputs: Inputs, question: Question, against: Against) -> Frontier:
    """Return the study without points, with the problem's own objective as it stands."""
    base = answers(inputs, [Scenario(0, ())], question.options)[0]
    x, y = HORIZONTAL[against], OBJECTIVES[question.case.objective]
    return Frontier(
        **head_of(inputs, question.options.gap),
        base=base.value,
        base_bound=base.bound,
        status="infeasible",
        x_name=against,
        x_label=x.label,
        x_unit=x.unit,
        y_label=y.label,
        y_unit=y.unit,
        points=(),
    )


def run(request: Request, *, against: Sequence[Against], points: int) -> Found:
    """Tell the most useful work of a problem against storage bandwidth, money or power.

    Args:
        request: the problem, and how to solve.
        against: what work is held against, each once; a frontier for each, for all if empty.
        points: how many plans to find at most for each.

    Raises:
        InputError: the problem is wrong.
    """
    names = dict.fromkeys(against or AGAINST)
    inputs, options = request.inputs, request.each()
    done = count(1)

    def heard() -> None:
        request.progress(next(done), points * len(names))

    tasks = [
        partial(study, inputs, options, against=name, points=points, heard=heard) for name in names
    ]
    case = Question.of(inputs, options, needs_draw=False).case
    found: list[Frontier] = at_once(tasks, cores(case, options))
    return Found(tuple(found), tuple(each.status for each in found), plan=request.plan)
