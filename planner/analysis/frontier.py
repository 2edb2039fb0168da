"""Most useful work against storage bandwidth, capex or facility power, each point proven.

Levels are spread along an axis, from its end to the plan of most work. At each level the best plan
within it is found and proven: no plan with less of the axis does more work.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

from planner.analysis.pool import all_results
from planner.analysis.request import SweepOptions, head_of
from planner.analysis.variants import NO_PLAN, Scenario, answers, case_no_worse, confirmed
from planner.case import Case, resolve
from planner.case.figures import needs_power
from planner.case.model import ObjectiveName
from planner.errors import InputError
from planner.figures import FIGURES, OBJECTIVES
from planner.inputs import Change, Inputs, applied
from planner.optimizer.objective import measure, natural
from planner.optimizer.operate import Run
from planner.optimizer.optimise import Certificate, optimise, share
from planner.optimizer.search import END_WORK
from planner.schema.analysis import EXACT_GAP, Frontier, FrontierMark, FrontierPoint
from planner.schema.problem import Objective
from planner.sizing.checkpoint import VENDOR_RULES
from planner.terminal import Progress, ignore

Against = Literal["storage", "cost", "power"]
AGAINST: tuple[Against, ...] = get_args(Against)
POINTS = 50

FAR = 30.0
"""Bandwidth at which the storage curve ends, as a multiple of the best plan's."""
END_GAP, FAR_GAP = 1e-6, 0.1
"""Gap to which the ends of a curve are proven; the far end of storage is no plan to buy."""
SAME, GAP_NOISE, FLOOR_NOISE = 1e-9, 1e-9, 2e-7
LEAST = 2
"""Points to either side of the best plan on the storage curve."""


class Axis(NamedTuple):
    """A direction away from the plan of most work.

    Attributes:
        objective: brings x to its end.
        limit: field of the case's limits that holds x at a level: at no more (``direction`` -1) or
            no less (1).
        figure: the axis as a figure of a plan.
    """

    objective: ObjectiveName
    limit: str
    direction: int
    figure: str

    def x(self, case: Case, run: Run) -> float:
        """Place of an operation."""
        return -self.direction * natural(self.objective, measure(case, self.objective)(run))

    def hold(self, case: Case, level: float) -> Case:
        """A case held at a level."""
        limit: dict[str, Any] = {self.limit: level}
        return case.under(case.limits.with_values(**limit))


LESS = Axis("least_write", "most_write_gb_per_s", -1, "delivered_write_gb_per_s")
MORE = Axis("most_write", "least_write_gb_per_s", 1, "delivered_write_gb_per_s")
COST = Axis("cost", "capex_usd", -1, "capex_usd")
POWER = Axis("least_meter", "facility_power_kw", -1, "facility_power_kw")
AXES: dict[Against, tuple[Axis, ...]] = {
    "storage": (LESS, MORE),
    "cost": (COST,),
    "power": (POWER,),
}


class Question(NamedTuple):
    """A problem of most useful work, its case, and how exactly to solve it."""

    inputs: Inputs
    case: Case
    options: SweepOptions


def question_of(inputs: Inputs, options: SweepOptions, *, needs_draw: bool = False) -> Question:
    """A problem with useful work as its objective.

    Args:
        needs_draw: leave out items without a known power draw.
    """
    if needs_draw and not needs_power(inputs.problem):
        least = Objective.model_validate({"minimize": "power"})
        known = resolve(applied(inputs, [Change("objective", least, "")]))
        before = {name for name, _ in resolve(inputs).not_considered}
        unknown = [name for name, _ in known.not_considered if name not in before]
        inputs = applied(inputs, [Change(f"items.{each}.exclude", True, "") for each in unknown])
    inputs = applied(inputs, [_maximise_work(_measure_of_work(inputs))])
    if inputs.problem.policy.prefer is not None:
        inputs = applied(inputs, [Change("policy.prefer", None, "null")])
    return Question(inputs, resolve(inputs), options)


def _maximise_work(work: str) -> Change:
    return Change("objective", Objective.model_validate({"maximize": work, "indifference": 0}), "")


def _measure_of_work(inputs: Inputs) -> str:
    """The problem's measure of useful work, else in FLOP/s where known."""
    asked = inputs.problem.objective.maximize
    if asked in ("goodput", "useful_gpus"):
        return asked
    training = inputs.problem.job.training
    if training.mfu is None and training.model is None:
        return "useful_gpus"
    ways = resolve(applied(inputs, [_maximise_work("useful_gpus")])).ways
    return "goodput" if all(way.tflops_per_gpu > 0 for way in ways) else "useful_gpus"


# Points


class Stop(NamedTuple):
    """A plan of most work of those with x held at a level; ``bound`` holds for all of them."""

    x: float
    run: Run
    work: float
    bound: float


def stop_of(case: Case, axis: Axis, answer: Certificate) -> Stop | str:
    """The best plan of a search as a stop on an axis, or the status of the search without one."""
    run = answer.operation
    if run is None or answer.bound is None or answer.value is None:
        return answer.status
    work, bound = (natural(case.objective, each) for each in (answer.value, answer.bound))
    return Stop(axis.x(case, run), run, work, max(work, bound))


def end_of(question: Question, axis: Axis, far: float) -> tuple[float, bool]:
    """Farthest place of any plan up to ``far``, and whether it is proven: its search is cut after
    ``END_WORK``."""
    case, gap = question.case, END_GAP
    if axis is MORE:
        case, gap = LESS.hold(case, far), FAR_GAP
    aimed = replace(case, objective=axis.objective).billed_as(case)
    effort = question.options.effort.part(END_WORK)
    answer = optimise(aimed, gap=gap, effort=effort, ties=False)
    if answer.operation is None:
        return far, False
    return axis.x(question.case, answer.operation), answer.status == "optimal"


def levels(start: float, end: float, count: int, *, logarithmic: bool) -> list[float]:
    """Places from ``start`` (left out) to ``end``, evenly spread."""
    if count < 1 or abs(end - start) <= SAME * abs(start):
        return []
    if logarithmic and min(start, end) > 0.0:
        return [start * math.pow(end / start, n / count) for n in range(1, count)] + [end]
    return [start + (end - start) * n / count for n in range(1, count)] + [end]


def _point(question: Question, top: Stop, stop: Stop) -> FrontierPoint:
    """Point of a stop: a confirmed plan of the problem, whose plans do no more than ``top``."""
    case, run = question.case, stop.run
    score = measure(case, case.objective)(run)
    most = max(math.log(top.bound), score)
    apart = share(case, score, most)
    proven = Certificate("optimal", run, score, most, apart, 0, 0.0, late=False)
    plan = confirmed(question.inputs, case, proven, max(question.options.gap, apart))
    job, totals = plan.jobs[0], plan.totals
    assert totals is not None
    return FrontierPoint(
        x=stop.x,
        y=stop.work,
        bound=stop.bound,
        gap=stop.bound / stop.work - 1.0,
        counts={name: count for name, count in sorted(run.units.items()) if count},
        gpus_in_use=job.gpus_used,
        goodput=job.goodput,
        capex_usd=totals.capex_usd,
        facility_power_kw=totals.facility_power_kw or 0.0,
        binding=tuple(each.name for each in plan.limits if each.binding),
    )


def without_dominated(stops: Sequence[Stop]) -> list[Stop]:
    """Stops of one side, away from the best plan, without those that a later one betters."""
    kept: list[Stop] = []
    for stop in stops:
        while kept and kept[-1].work <= stop.work:
            stop = stop._replace(bound=max(stop.bound, kept.pop().bound))
        kept.append(stop)
    return kept


def rule_mark(question: Question, name: str) -> FrontierMark:
    """Best plan that follows a vendor's rule, to the gap, with the least storage it allows."""
    mark, options = FrontierMark(name=name, label=f"{name} rule"), question.options
    try:
        inputs = applied(question.inputs, [Change("storage.rule", name, name)])
        case = question_of(inputs, options).case
    except InputError as error:
        return mark.model_copy(update={"reason": str(error)})
    answer = optimise(case, gap=options.gap, effort=options.effort, ties=False)
    stop = stop_of(case, LESS, answer)
    if isinstance(stop, str):
        why = NO_PLAN if answer.status == "infeasible" else "not settled"
        return mark.model_copy(update={"reason": why})
    floor = min(stop.work, stop.bound / (1.0 + options.gap) * (1.0 + FLOOR_NOISE))
    least = case_no_worse(case, floor, LESS.objective)
    run = optimise(least, gap=END_GAP, effort=options.effort.part(END_WORK), ties=False).operation
    run = stop.run if run is None else run
    work = natural(case.objective, measure(case, case.objective)(run))
    return mark.model_copy(update={"x": LESS.x(case, run), "y": work, "bound": stop.bound})


def knee(xs: Sequence[float], ys: Sequence[float], *, logarithmic: bool) -> int | None:
    """Place of the knee of a rising curve; None where it does not bend.

    Kneedle without smoothing: both axes scaled to 0 to 1, the knee is where y - x is largest.
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
    return above.index(max(above)) if max(above) > 1e-9 else None


# The study

MESSAGES: dict[str, str] = {
    "infeasible": NO_PLAN,
    "unbounded": "nothing limits useful work: give a power, space or cost budget",
    "no_solution": "the search ended before the best plan was found",
}
CUT = "an end of the curve is not proven: its search was cut; plans beyond it may exist"
STOPPED = "points are missing: the time was over before their search ended"


def study(
    inputs: Inputs,
    options: SweepOptions,
    against: Against,
    *,
    points: int = POINTS,
    progress: Progress = ignore,
) -> Frontier:
    """Most useful work of a problem against one limited figure; its own limits stay.

    Every point is proven to the gap, and verified.

    Args:
        options: how exactly to solve, how long at most for each plan, and in which processes.
        against: delivered write bandwidth, capex, or facility power.
        points: at most.
        progress: called with the number of points searched and of all.

    Raises:
        InputError: the problem cannot be planned.
        VerificationError: a plan does not agree with its re-computation.
    """
    exact = replace(options, dask=None, jobs=1, gap=min(options.gap, EXACT_GAP))
    base = answers(inputs, [Scenario(0, ())], exact)[0]
    question = question_of(inputs, options, needs_draw=against == "power")
    x, y = FIGURES[AXES[against][0].figure], OBJECTIVES[question.case.objective]
    head = Frontier(
        **head_of(inputs, options.gap),
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
    return head.model_copy(update=_curve(question, against, points, progress))


def _curve(question: Question, against: Against, most: int, progress: Progress) -> dict[str, Any]:
    """Status, points and marks of a frontier."""
    options, axes = question.options, AXES[against]
    answer = optimise(question.case, gap=min(END_GAP, options.gap), effort=options.effort)
    top = stop_of(question.case, axes[0], answer)
    if isinstance(top, str) or answer.status == "unbounded":
        status = answer.status if answer.status in MESSAGES else "no_solution"
        return {"status": status, "message": MESSAGES[status]}
    of_storage = against == "storage"
    places, proven = _places(question, against, top, most)
    rules: dict[Hashable, Task] = {name: name for name in VENDOR_RULES} if of_storage else {}
    how: dict[str, Any] = {"jobs": options.jobs, "dask": options.dask}
    found = all_results(partial(_solved, question), places | rules, progress, **how)
    stopped, stops = False, list[Stop]()
    for axis in axes:
        some = [found[key] for key, task in places.items() if task[0] is axis]
        stopped = stopped or any(isinstance(s, str) and s != "infeasible" for s in some)
        side = without_dominated([top, *(s for s in some if isinstance(s, Stop))])
        stops += side[1:] if stops and side[0] is top else side
    stops.sort(key=lambda stop: stop.x)
    stops = [s for n, s in enumerate(stops) if not n or s.x > stops[n - 1].x * (1.0 + SAME)]
    points = tuple(_point(question, top, stop) for stop in stops)
    best = max(range(len(points)), key=lambda place: points[place].y)
    xs, ys = [p.x for p in points[: best + 1]], [p.y for p in points[: best + 1]]
    proven = proven and not stopped
    close = all(point.gap <= options.gap + GAP_NOISE for point in points)
    return {
        "status": "optimal" if proven and close else "feasible",
        "points": points,
        "knee": knee(xs, ys, logarithmic=of_storage),
        "best": best,
        "marks": tuple(found[rule] for rule in rules),
        "message": STOPPED if stopped else None if proven else CUT,
    }


Place = tuple[Axis, float]
"""A level on an axis."""
Task = Place | str
"""A place on an axis, or a vendor's rule."""


def _places(
    question: Question, against: Against, top: Stop, most: int
) -> tuple[dict[Hashable, Place], bool]:
    """Levels away from the best plan on each side, and whether the ends are proven."""
    axes, of_storage = AXES[against], against == "storage"
    ends = [end_of(question, axis, FAR * top.x) for axis in axes]
    counts = [most - 1]
    if of_storage:  # as many points to a side as its share of the range in decades
        less, more = (abs(math.log(max(top.x, 1e-9) / max(end, 1e-9))) for end, _ in ends)
        part = less / (less + more) if less + more else 0.5
        counts[0] = max(min(round(part * (most - 1)), most - 1 - LEAST), LEAST)
        counts.append(max(most - 1 - counts[0], LEAST))
    places: dict[Hashable, Place] = {}
    for axis, (end, _), count in zip(axes, ends, counts, strict=True):
        for number, level in enumerate(levels(top.x, end, count, logarithmic=of_storage)):
            places[axis.limit, number] = axis, level
    return places, all(proven for _, proven in ends)


def _solved(question: Question, task: Task) -> Stop | FrontierMark | str:
    """The best plan held at a level, or that by a rule."""
    if isinstance(task, str):
        return rule_mark(question, task)
    axis, level = task
    case, options = axis.hold(question.case, level), question.options
    answer = optimise(case, gap=options.gap, effort=options.effort)
    return stop_of(question.case, axis, answer)
