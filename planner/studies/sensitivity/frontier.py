"""Most useful work against what is held or limited: storage bandwidth, money, power."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

from planner.errors import InputError
from planner.figures import FIGURES, OBJECTIVES, Figure
from planner.inputs import Change, Inputs, applied
from planner.optimizer.objective import natural
from planner.optimizer.optimise import Certificate
from planner.processes import Progress, ignore
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
    settle_stop,
    walk,
    without_dominated,
)
from planner.studies.sensitivity.scenarios import Scenario
from planner.studies.sensitivity.solve import NO_PLAN, Answer
from planner.studies.sensitivity.workers import answers
from planner.studies.workforce import Waiting, run_tasks

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


def rule_marks(question: Question) -> tuple[FrontierMark, ...]:
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
    stop = settle_stop(ruled, LESS_STORAGE, None, answer)
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
        axis: money or power.
        best: its plan of most work.
        most: how many points to find.
    """
    first = settle_stop(question, axis, None, best)
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


@dataclass(frozen=True)
class StorageStart:
    """Where the walk along the storage frontier starts: the best plan, and how far it may go.
    ``ends`` are the least and the most bandwidth of any plan; ``late`` says that one is not proven.
    """

    question: Question
    best: Certificate
    top: Stop
    far: Question
    ends: tuple[float, float]
    late: bool

    @classmethod
    def of(cls, question: Question, best: Certificate) -> StorageStart:
        """Return it for the best plan of a problem."""
        if best.operation is None or best.value is None or best.bound is None:
            raise Ended(best)
        x = LESS_STORAGE.x(question.case, best.operation)
        name = question.case.objective
        top = Stop(x, x, best.operation, natural(name, best.value), natural(name, best.bound))
        far = replace(question, reach=FAR * x)
        least, most = question.end(LESS_STORAGE), far.end(MORE_STORAGE)
        ends = (_storage_end(LESS_STORAGE, least), _storage_end(MORE_STORAGE, most))
        late = any(end.status != "optimal" for end in (least, most))
        return cls(question, best, top, far, ends, late)


@dataclass(frozen=True)
class Side:
    """One side of the best plan, from it on: points with where each begins, or ends."""

    stops: tuple[Stop, ...]
    points: tuple[FrontierPoint, ...]
    complete: bool
    stopped: bool


def storage_side(start: StorageStart, axis: Axis, most: int) -> Side:
    """Return one side of the goldilocks curve of a problem, best plan and all.

    Args:
        start: where it begins.
        axis: less storage or more.
        most: how many points there are to be on both sides.
    """
    less, more = _shares(start.top.x, start.ends, most - 1)
    if axis is LESS_STORAGE:
        found = _branch(start.question, axis, start.best, start.top, start.ends[0], less)
    else:
        found = _branch(start.far, axis, start.best, start.top, start.ends[1], more)
    points = tuple(_storage_points(start, axis, found.stops))
    stopped = found.stopped or start.late
    return Side(tuple(found.stops), points, found.complete, stopped)


def storage_curve(left: Side, right: Side, marked: tuple[FrontierMark, ...]) -> Curve:
    """Return the goldilocks curve of both its sides; the best plan may begin both."""
    begun = 1 if left.stops[0] == right.stops[0] else 0
    points = (*reversed(left.points), *right.points[begun:])
    highest = max(range(len(points)), key=lambda place: points[place].y)
    rising = points[: highest + 1]
    bend = knee([p.x for p in rising], [p.y for p in rising], logarithmic=True)
    complete = left.complete and right.complete
    stopped = left.stopped or right.stopped
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
    first = settle_stop(question, axis, None, best)
    assert first is not None
    found = walk(question, axis, replace(first, level=top.x), end, most)
    aside = [stop for stop in found.stops if axis.direction * (stop.x - top.x) > STEP * top.x]
    found.stops = without_dominated([top, *aside])
    return found


def _storage_points(
    start: StorageStart, axis: Axis, stops: Sequence[Stop]
) -> Iterator[FrontierPoint]:
    """Yield stops as points.

    No problem file holds a bandwidth, so they are verified as plans of the problem itself.
    """
    question = start.question
    place, gap = Place(question.inputs, question.case, start.top.bound), question.options.gap
    for stop in stops:
        assert stop.level is not None
        ends = (stop.x, stop.level) if axis is LESS_STORAGE else (stop.level, stop.x)
        yield point(place, stop, *ends, gap)


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
    "no_solution": "the search ended before the ends of the frontier were found",
}
STOPPED = (
    "the search ended before the end of the curve: the time was over, or the solver had no verdict"
)
GAP_NOISE = 1e-9


Part = Literal["less", "more", "marks", "cost", "power"]
PARTS: Mapping[Against, tuple[Part, ...]] = {
    "storage": ("less", "more", "marks"),
    "cost": ("cost",),
    "power": ("power",),
}
"""What each frontier is made of, each by itself."""


@dataclass(frozen=True)
class Parts:
    """Computes parts of a problem's frontiers, each by itself, so that every process gets the same.

    What parts have in common is computed once in a process.
    """

    inputs: Inputs
    options: SweepOptions
    points: int

    def __getstate__(self) -> dict[str, object]:
        """Return what another process needs."""
        return {"inputs": self.inputs, "options": self.options, "points": self.points}

    def __call__(self, part: Part) -> Side | Curve | tuple[FrontierMark, ...] | Status:
        """Return a part, or how the search for it ended without one."""
        try:
            return self._found(part)
        except Ended as ended:
            return ended.answer.status

    def _found(self, part: Part) -> Side | Curve | tuple[FrontierMark, ...]:
        if part == "cost" or part == "power":
            question = self.question(part)
            best = self._best_drawn if part == "power" else self._best
            return limited_curve(question, AXES[part], best, self.points)
        if part == "marks":
            return rule_marks(self._storage_start.question)
        axis = LESS_STORAGE if part == "less" else MORE_STORAGE
        return storage_side(self._storage_start, axis, self.points)

    def question(self, against: Against) -> Question:
        """Return what is asked along an axis.

        Raises:
            InputError: the problem demands what cannot be planned.
        """
        return self._by_draw if against == "power" else self._any

    @cached_property
    def _any(self) -> Question:
        return Question.of(self.inputs, self.options, needs_draw=False)

    @cached_property
    def _by_draw(self) -> Question:
        return Question.of(self.inputs, self.options, needs_draw=True)

    @cached_property
    def _best(self) -> Certificate:
        return self._any.best()

    @cached_property
    def _best_drawn(self) -> Certificate:
        same = self._by_draw.inputs == self._any.inputs
        return self._best if same else self._by_draw.best()

    @cached_property
    def _storage_start(self) -> StorageStart:
        return StorageStart.of(self._any, self._best)


SECONDS_ALONE = 1.0
"""So long one process works on frontiers alone: what is asked for takes longer, as a rule."""


def study(
    inputs: Inputs,
    options: SweepOptions,
    *,
    against: Sequence[Against] = AGAINST,
    points: int = POINTS,
    progress: Progress = ignore,
) -> list[Frontier]:
    """Return the most useful work of a problem against what is held or limited.

    The problem's own limits stay; its objective gives way to useful work. Every point is a plan
    that no other passes, proven to the gap, and verified.

    Args:
        options: how exactly to solve, how long at most for each plan, and who works.
        against: the write bandwidth of the storage bought, capex, or power at the meter.
        points: how many points to find at most; where there are more, they are spread.
        progress: is called with how many of how many points, at most, are found.

    Raises:
        InputError: the problem demands what cannot be planned.
        VerificationError: a plan does not agree with its independent re-computation.
    """
    parts = Parts(inputs, options, points)
    asked = {name: parts.question(name) for name in against}
    base = answers(inputs, [Scenario(0, ())], replace(options, dask=None))[0]
    tasks = [(part, part) for name in against for part in PARTS[name]]
    sizes: dict[Hashable, int] = {part: _size(part, points) for part, _ in tasks}
    found = dict(
        run_tasks(
            parts, Waiting(tasks), sizes, progress,
            jobs=options.jobs, dask=options.dask, alone_s=SECONDS_ALONE,
        )
    )  # fmt: skip
    heads = {name: _head(inputs, asked[name], name, base) for name in against}
    return [
        _frontier(heads[name], [found[part] for part in PARTS[name]], options.gap)
        for name in against
    ]


def _size(part: Part, points: int) -> int:
    """Return how many points a part has at most."""
    share = {"less": points // 2, "more": points - points // 2, "marks": 0}
    return share.get(part, points)


def _frontier(head: Frontier, parts: Sequence[Any], gap: float) -> Frontier:
    """Return a frontier of its parts, or how the search for one of them ended."""
    ended: Any = next((part for part in parts if isinstance(part, str)), None)
    if ended is not None:
        status: Status = "no_solution" if ended in ("optimal", "feasible") else ended
        return head.model_copy(update={"status": status, "message": MESSAGES[status]})
    curve: Curve = parts[0] if len(parts) == 1 else storage_curve(*parts)
    return head.model_copy(
        update={
            "status": _status(curve, gap),
            "points": curve.points,
            "knee": curve.knee,
            "best": curve.best,
            "knee_rule": curve.knee_rule,
            "complete": curve.complete and not curve.stopped,
            "marks": curve.marks,
            "message": STOPPED if curve.stopped else None,
        }
    )


def _status(curve: Curve, gap: float) -> Status:
    proven = all(point.gap <= gap + GAP_NOISE for point in curve.points)
    return "optimal" if proven and not curve.stopped else "feasible"


def _head(inputs: Inputs, question: Question, against: Against, base: Answer) -> Frontier:
    """Return the study without points, with the problem's own objective as it stands."""
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
        against: what work is held against, each once; a frontier for each, for all if empty.
        points: how many plans to find at most for each.

    Raises:
        InputError: the problem is wrong.
    """
    names = tuple(dict.fromkeys(against or AGAINST))
    found = study(
        request.inputs, request.each(), against=names, points=points, progress=request.progress
    )
    return Found(tuple(found), tuple(each.status for each in found), plan=request.plan)
