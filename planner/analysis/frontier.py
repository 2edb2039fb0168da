"""Most useful work against storage bandwidth, capex or facility power, each point proven.

A walk goes from the plan of most work along an axis to the end: each step limits the axis a little
further, solves for the most work, and of plans of that work takes the one farthest along the axis.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

from planner.analysis.pool import Progress, all_results, ignore
from planner.analysis.questions import case_no_worse
from planner.analysis.request import Found, Request, SweepOptions, head_of
from planner.analysis.variants import NO_PLAN, Answer, Scenario, answers, confirmed
from planner.case import Case, resolve
from planner.case.model import ObjectiveName
from planner.case.suitability import needs_power
from planner.errors import InputError
from planner.figures import FIGURES, OBJECTIVES
from planner.inputs import Change, Inputs, applied
from planner.optimizer.effort import END_WORK, MOST_WORK
from planner.optimizer.objective import measure, natural
from planner.optimizer.operate import Run
from planner.optimizer.optimise import Certificate, optimise, share
from planner.schema.analysis import (
    EXACT_GAP,
    Frontier,
    FrontierMark,
    FrontierPoint,
)
from planner.schema.plan import Plan, Status
from planner.schema.problem import Objective
from planner.sizing.demand import VENDOR_RULES

Against = Literal["storage", "cost", "power"]
AGAINST: tuple[Against, ...] = get_args(Against)
POINTS = 50

STEP = 1e-7
"""Least relative distance of two places on an axis."""
FLOOR_NOISE = 2e-7
"""Relative tightening of floors, which plans may miss by less."""
GAP_NOISE = 1e-9
END_GAP, FAR_GAP = 1e-6, 0.1
"""Gap to which the end of a curve is proven; the far end of the storage curve is no plan to buy."""
FAR = 30.0
"""Bandwidth at which the storage curve ends, as a multiple of the best plan's."""
LEAST = 2
"""Points to either side of the best plan."""
STRIDES = 4
"""Strides from which the length of the walk is estimated."""


class Axis(NamedTuple):
    """A direction away from the plan of most work.

    Attributes:
        objective: brings x to its end.
        limit: field of the case's limits that holds x at a level: at no more (``direction`` -1) or
            no less (1).
        path: the same limit in a problem file, where there is one.
        logarithmic: whether places are spaced evenly in the logarithm of x.
    """

    objective: ObjectiveName
    limit: str
    path: str | None
    direction: int
    logarithmic: bool

    def x(self, case: Case, run: Run) -> float:
        """Place of an operation."""
        return self.natural(measure(case, self.objective)(run))

    def natural(self, score: float) -> float:
        """Place of a score of the objective."""
        return -self.direction * natural(self.objective, score)

    def apart(self, one: float, other: float) -> float:
        """Distance of two places on the scale of evenly spaced places."""
        return abs(math.log(one / other) if self.logarithmic else one - other)

    def hold(self, case: Case, level: float | None) -> Case:
        """A case held at a level; None holds nothing."""
        if level is None:
            return case
        limit: dict[str, Any] = {self.limit: level}
        return case.under(case.limits.with_values(**limit))


LESS = Axis("least_write", "most_write_gb_per_s", None, -1, logarithmic=True)
MORE = Axis("most_write", "least_write_gb_per_s", None, 1, logarithmic=True)
COST = Axis("cost", "capex_usd", "budget.capex", -1, logarithmic=False)
POWER = Axis("least_meter", "facility_power_kw", "site.facility_power", -1, logarithmic=False)
LIMITED = {"cost": COST, "power": POWER}


class EndedError(Exception):
    """The search ended without a frontier; ``status`` says how."""

    def __init__(self, status: str) -> None:
        super().__init__(status)
        self.status = status


class Stop(NamedTuple):
    """A plan of most work; ``bound`` holds for all plans with x at ``level`` (None: any x)."""

    level: float | None
    x: float
    run: Run
    work: float
    bound: float


class Question(NamedTuple):
    """A problem of most useful work, its case, and how exactly to solve it.

    ``reach_gb_per_s`` limits the write bandwidth where there may be ever more.
    """

    inputs: Inputs
    case: Case
    options: SweepOptions
    reach_gb_per_s: float | None = None

    def solve(
        self,
        case: Case,
        gap: float | None = None,
        known: Sequence[Run] = (),
        most_work: float = MOST_WORK,
    ) -> Certificate:
        """Best plan of a case with its proof; equally good plans are not told apart."""
        gap = self.options.gap if gap is None else gap
        effort = self.options.effort.part(most_work)
        return optimise(case, gap=gap, effort=effort, ties=False, known=known)

    def best(self) -> Certificate:
        """Plan of most work, of equal ones the first by tie-breaks."""
        gap = min(END_GAP, self.options.gap)
        return optimise(self.case, gap=gap, effort=self.options.effort)

    def work(self, run: Run) -> float:
        """Useful work of an operation."""
        return math.exp(measure(self.case, self.case.objective)(run))

    def aimed(self, case: Case, axis: Axis) -> Case:
        """A case, within reach, that goes as far along an axis as it can."""
        return replace(case, objective=axis.objective).billed_as(case)

    def end(self, axis: Axis) -> tuple[float, bool]:
        """Farthest place of any plan, and whether it is proven.

        Raises:
            EndedError: there is none.
        """
        gap = END_GAP if self.reach_gb_per_s is None else FAR_GAP
        case = self.aimed(LESS.hold(self.case, self.reach_gb_per_s), axis)
        answer = self.solve(case, gap, most_work=END_WORK)
        if answer.value is None:
            raise EndedError(answer.status)
        return axis.natural(answer.value), answer.status == "optimal"


def question_of(inputs: Inputs, options: SweepOptions, *, needs_draw: bool = False) -> Question:
    """A problem with useful work as its objective.

    Args:
        needs_draw: leave out items without a known power draw.
    """
    inputs = _with_known_draw(inputs) if needs_draw else inputs
    inputs = applied(inputs, [_most(_measure_of_work(inputs))])
    if inputs.problem.policy.prefer is not None:
        inputs = applied(inputs, [Change("policy.prefer", None, "null")])
    return Question(inputs, resolve(inputs), options)


def _most(work: str) -> Change:
    goal = Objective.model_validate({"maximize": work, "indifference": 0})
    return Change("objective", goal, f"{{maximize: {work}, indifference: 0}}")


def _measure_of_work(inputs: Inputs) -> str:
    """The problem's measure of useful work, else in FLOP/s where known."""
    asked = inputs.problem.objective.maximize
    if asked in ("goodput", "useful_gpus"):
        return asked
    training = inputs.problem.job.training
    if training.mfu is None and training.model is None:
        return "useful_gpus"
    ways = resolve(applied(inputs, [_most("useful_gpus")])).ways
    return "goodput" if all(way.tflops_per_gpu > 0 for way in ways) else "useful_gpus"


def _with_known_draw(inputs: Inputs) -> Inputs:
    if needs_power(inputs.problem):
        return inputs
    least = Objective.model_validate({"minimize": "power"})
    known = resolve(applied(inputs, [Change("objective", least, "{minimize: power}")]))
    before = {name for name, _ in resolve(inputs).not_considered}
    unknown = [name for name, _ in known.not_considered if name not in before]
    return applied(inputs, [Change(f"items.{name}.exclude", True, "true") for name in unknown])


# Walking along an axis


class Walk(NamedTuple):
    """The stops of a walk; ``complete`` if none was left out, ``stopped`` before its end."""

    stops: list[Stop]
    complete: bool
    stopped: bool


def walk(question: Question, axis: Axis, first: Stop, end: float, most: int) -> Walk:
    """Walk from a plan of most work to the end.

    Args:
        first: as ``settle`` returns it.
        end: the farthest place at which there is a plan.
        most: stops at most; where there are more they are spread.
    """
    stops, strides = [first], list[float]()
    complete, stopped = True, False
    while axis.direction * (stops[-1].x - end) < -2.0 * STEP * abs(end):
        here, left = stops[-1].x, most - len(stops)
        complete = complete and left >= 1 and not _too_far(axis, here, end, strides, left)
        if left < 1:
            break
        level = here * (1.0 + axis.direction * STEP)
        if not complete:
            level = _spread(axis, here, end, left, level)
        answer = question.solve(axis.hold(question.case, level))
        stop = settle(question, axis, level, answer)
        if stop is None:
            stopped = answer.status != "infeasible"
            complete = complete and not stopped
            break
        strides.append(axis.apart(stop.x, here))
        stops.append(stop)
    return Walk(without_dominated(stops), complete, stopped)


def _too_far(axis: Axis, here: float, end: float, strides: Sequence[float], left: int) -> bool:
    """Whether strides as long as those so far do not lead to the end."""
    if left > STRIDES > len(strides):
        return False
    return not strides or axis.apart(end, here) > sum(strides) / len(strides) * left


def _spread(axis: Axis, here: float, end: float, left: int, nearest: float) -> float:
    """Next of ``left`` levels, evenly spread in their logarithm; the last is the end."""
    if left == 1:
        return end
    if min(here, end) <= 0.0:
        return here + (end - here) / left
    level = here * math.pow(end / here, 1.0 / left)
    return min(level, nearest) if axis.direction < 0 else max(level, nearest)


def settle(question: Question, axis: Axis, level: float | None, answer: Certificate) -> Stop | None:
    """Of plans with the work of an answer, to the gap, the farthest along the axis.

    None where the answer has no plan, or no proof.
    """
    if answer.operation is None or answer.bound is None or answer.value is None:
        return None
    case, name = axis.hold(question.case, level), question.case.objective
    bound, work, run = natural(name, answer.bound), natural(name, answer.value), answer.operation
    floor = min(work, bound / (1.0 + question.options.gap) * (1.0 + FLOOR_NOISE))
    reached = LESS.hold(case, question.reach_gb_per_s)
    aimed = question.aimed(case_no_worse(reached, floor), axis)
    farther = question.solve(aimed, known=[run], most_work=END_WORK).operation
    if farther is not None:
        ahead = axis.x(case, farther) - axis.x(case, run)
        if axis.direction * ahead > 0 or (ahead == 0 and question.work(farther) > work):
            run = farther
    if axis is not COST:
        run = _cheapest(question, axis, run)
    work = question.work(run)
    return Stop(level, axis.x(case, run), run, work, max(bound, work))


def _cheapest(question: Question, axis: Axis, run: Run) -> Run:
    """Cheapest plan with the work and the place of another, and no other systems."""
    case = question.case
    systems = tuple(replace(system, high=run.units[system.id]) for system in case.systems)
    fixed = axis.hold(replace(case, systems=systems).billed_as(case), axis.x(case, run))
    found = question.solve(case_no_worse(fixed, question.work(run)), known=[run]).operation
    return run if found is None else found


def without_dominated(stops: Sequence[Stop]) -> list[Stop]:
    """Stops without those that a later one betters, which then stands for them."""
    kept: list[Stop] = []
    for stop in stops:
        while kept and kept[-1].work <= stop.work:
            passed = kept.pop()
            stop = stop._replace(level=passed.level, bound=max(stop.bound, passed.bound))
        kept.append(stop)
    return kept


# Curves


class Curve(NamedTuple):
    """Points from the least x on; ``stopped`` if the search ended before the end of the curve."""

    points: tuple[FrontierPoint, ...]
    complete: bool
    stopped: bool


class Start(NamedTuple):
    """The best plan, from which both sides of the storage curve start, and the ends of x."""

    best: Certificate
    top: Stop
    far: Question
    ends: tuple[float, float]
    proven: bool


def storage_start(question: Question) -> Start:
    """Start of the storage curve.

    Raises:
        EndedError: there is no plan, no proof, or no end.
    """
    best, name = question.best(), question.case.objective
    if best.operation is None or best.value is None or best.bound is None:
        raise EndedError(best.status)
    x = LESS.x(question.case, best.operation)
    top = Stop(x, x, best.operation, natural(name, best.value), natural(name, best.bound))
    far = question._replace(reach_gb_per_s=FAR * x)
    (low, low_proven), (high, high_proven) = question.end(LESS), far.end(MORE)
    return Start(best, top, far, (low, high), low_proven and high_proven)


def storage_side(question: Question, start: Start, axis: Axis, most: int) -> Curve:
    """One side of the storage curve from the best plan on.

    Args:
        most: points on both sides together.
    """
    less = _points_below(start.top.x, start.ends, most - 1)
    below = axis is LESS
    asked, end, count = question, start.ends[0], less
    if not below:
        asked, end, count = start.far, start.ends[1], max(most - 1 - less, LEAST)
    first = settle(asked, axis, None, start.best)
    assert first is not None
    found = walk(asked, axis, first._replace(level=start.top.x), end, count)
    aside = [s for s in found.stops if axis.direction * (s.x - start.top.x) > STEP * start.top.x]
    points = []
    for stop in without_dominated([start.top, *aside]):
        assert stop.level is not None
        ends = (stop.x, stop.level) if below else (stop.level, stop.x)
        plan = _plan(question.inputs, question.case, stop, start.top.bound, question.options.gap)
        points.append(_point(plan, stop, *ends))
    return Curve(tuple(points), found.complete, found.stopped or not start.proven)


def _points_below(x: float, ends: tuple[float, float], most: int) -> int:
    """Points below x: as many as its share of the range in decades."""
    low, high = max(ends[0], 1e-9), max(ends[1], x)
    whole = math.log(high / low)
    part = math.log(x / low) / whole if whole > 0 else 0.5
    return max(min(round(part * most), most - LEAST), LEAST)


def limited_curve(question: Question, axis: Axis, most: int) -> Curve:
    """Frontier against money or power.

    Raises:
        EndedError: there is no plan, no proof, or no end.
    """
    best = question.best()
    first = settle(question, axis, None, best)
    if first is None:
        raise EndedError(best.status)
    end, proven = question.end(axis)
    found = walk(question, axis, first, end, most)
    points = []
    assert axis.path is not None
    for stop in reversed(found.stops):
        inputs, held, to_x = question.inputs, "", question.case.limits[axis.limit]
        if stop.level is not None:
            inputs = applied(inputs, [Change(axis.path, stop.level, "")])
            held, to_x = axis.path.split(".")[1], stop.level
        case = axis.hold(question.case, stop.level)
        plan = _plan(inputs, case, stop, stop.bound, question.options.gap)
        points.append(_point(plan, stop, stop.x, to_x, held))
    return Curve(tuple(points), found.complete, found.stopped or not proven)


def _plan(inputs: Inputs, case: Case, stop: Stop, bound: float, gap: float) -> Plan:
    """A stop as a confirmed plan of a problem whose plans do ``bound`` at most."""
    score = measure(case, case.objective)(stop.run)
    most = max(math.log(bound), score)
    apart = share(case, score, most)
    proven = Certificate("optimal", stop.run, score, most, apart, 0, 0.0, late=False)
    return confirmed(inputs, case, proven, max(gap, apart))


def _point(
    plan: Plan, stop: Stop, from_x: float, to_x: float | None, held: str = ""
) -> FrontierPoint:
    """Point of a stop; ``held`` is the limit of the frontier, not of the problem."""
    job, totals = plan.jobs[0], plan.totals
    assert totals is not None
    return FrontierPoint(
        x=stop.x,
        y=stop.work,
        bound=stop.bound,
        gap=stop.bound / stop.work - 1.0,
        from_x=from_x,
        to_x=to_x,
        counts={name: count for name, count in sorted(stop.run.units.items()) if count},
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
        binding=tuple(each.name for each in plan.limits if each.binding and each.name != held),
    )


def rule_mark(question: Question, name: str) -> FrontierMark:
    """Best plan that follows a vendor's rule, with the least storage it allows."""
    inputs = applied(question.inputs, [Change("storage.rule", name, name)])
    label = f"{name} rule"
    try:
        ruled = question_of(inputs, question.options)
    except InputError as error:
        return FrontierMark(name=name, label=label, reason=str(error))
    answer = ruled.solve(ruled.case)
    stop = settle(ruled, LESS, None, answer)
    if stop is None:
        why = NO_PLAN if answer.status == "infeasible" else "not settled"
        return FrontierMark(name=name, label=label, reason=why)
    return FrontierMark(name=name, label=label, x=stop.x, y=stop.work, bound=stop.bound)


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
    "no_solution": "the search ended before the ends of the frontier were found",
}
STOPPED = (
    "the search ended before the end of the curve: the time was over, or the solver had no verdict"
)
_HORIZONTAL: dict[Against, str] = {
    "storage": "delivered_write_gb_per_s",
    "cost": "capex_usd",
    "power": "facility_power_kw",
}
_KNEE_RULES: dict[bool, str] = {
    True: "of the points up to the best, the one farthest above the straight line from the first "
    "to the best, with the logarithm of the bandwidth and the work scaled to the range they run "
    "over",
    False: "the point farthest above the straight line from the first point to the last, both axes "
    "scaled to the range they run over",
}


def study(
    inputs: Inputs,
    options: SweepOptions,
    *,
    against: Sequence[Against] = AGAINST,
    points: int = POINTS,
    progress: Progress = ignore,
) -> list[Frontier]:
    """Most useful work of a problem against what is held or limited; its own limits stay.

    Every point is proven to the gap, and verified.

    Args:
        options: how exactly to solve, how long at most for each plan, and in which processes.
        against: delivered write bandwidth, capex, or facility power.
        points: at most; where there are more, they are spread.
        progress: called with the parts done.

    Raises:
        InputError: the problem demands what cannot be planned.
        VerificationError: a plan does not agree with its re-computation.
    """
    asked = {name: question_of(inputs, options, needs_draw=name == "power") for name in against}
    exact = replace(options, dask=None, jobs=1, gap=min(options.gap, EXACT_GAP))
    base = answers(inputs, [Scenario(0, ())], exact)[0]
    tasks: dict[Hashable, tuple[Hashable, Question, Start | str | None]] = {}
    for name in against:
        if name != "storage":
            tasks[name] = (name, asked[name], None)
            continue
        try:
            start = storage_start(asked[name])
        except EndedError as ended:
            tasks["less"] = ("less", asked[name], ended.status)
        else:
            parts = ("less", "more", *VENDOR_RULES)
            tasks |= {part: (part, asked[name], start) for part in parts}
    how: dict[str, Any] = {"jobs": options.jobs, "dask": options.dask, "alone_s": 0.0}
    found = all_results(partial(_part, points), tasks, progress, **how)
    heads = [_head(inputs, asked[name], name, base) for name in against]
    return [_frontier(head, found, options.gap) for head in heads]


def _part(
    points: int, asked: tuple[str, Question, Start | str | None]
) -> Curve | FrontierMark | str:
    """Part of a frontier, or how the search for it ended without one."""
    part, question, start = asked
    if isinstance(start, str):
        return start
    if start is not None:
        if part not in ("less", "more"):
            return rule_mark(question, part)
        return storage_side(question, start, LESS if part == "less" else MORE, points)
    try:
        return limited_curve(question, LIMITED[part], points)
    except EndedError as ended:
        return ended.status


def _head(inputs: Inputs, question: Question, against: Against, base: Answer) -> Frontier:
    """Record without points, with the problem's own objective."""
    x, y = FIGURES[_HORIZONTAL[against]], OBJECTIVES[question.case.objective]
    status: Status = "infeasible"
    return Frontier(
        **head_of(inputs, question.options.gap),
        base=base.value,
        base_bound=base.bound,
        status=status,
        x_name=against,
        x_label=x.label,
        x_unit=x.unit,
        y_label=y.label,
        y_unit=y.unit,
        points=(),
    )


def _frontier(head: Frontier, found: Mapping[Hashable, Any], gap: float) -> Frontier:
    of_storage = head.x_name == "storage"
    curve = found["less" if of_storage else head.x_name]
    if isinstance(curve, str):
        status: Any = "no_solution" if curve in ("optimal", "feasible") else curve
        return head.model_copy(update={"status": status, "message": MESSAGES[status]})
    points, complete, stopped = curve
    if of_storage:  # both sides may begin with the best plan
        more = found["more"]
        begun = 1 if points[0] == more.points[0] else 0
        points = (*reversed(points), *more.points[begun:])
        complete, stopped = complete and more.complete, stopped or more.stopped
    best = max(range(len(points)), key=lambda place: points[place].y)
    rising = points[: best + 1] if of_storage else points
    proven = all(point.gap <= gap + GAP_NOISE for point in points) and not stopped
    return head.model_copy(
        update={
            "status": "optimal" if proven else "feasible",
            "points": points,
            "knee": knee([p.x for p in rising], [p.y for p in rising], logarithmic=of_storage),
            "best": best if of_storage else len(points) - 1,
            "knee_rule": _KNEE_RULES[of_storage],
            "complete": complete and not stopped,
            "marks": tuple(found[rule] for rule in VENDOR_RULES) if of_storage else (),
            "message": STOPPED if stopped else None,
        }
    )


def run(request: Request, *, against: Sequence[Against], points: int) -> Found:
    """Frontiers of a problem, all three where ``against`` is empty.

    Raises:
        InputError: the problem is wrong.
    """
    names = tuple(dict.fromkeys(against or AGAINST))
    found = study(
        request.inputs, request.each(), against=names, points=points, progress=request.progress
    )
    return Found(tuple(found), tuple(each.status for each in found), plan=request.plan)
