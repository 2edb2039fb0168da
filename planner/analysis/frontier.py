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

import numpy as np

from planner.analysis.pool import run_tasks
from planner.analysis.variants import (
    Scenario,
    certify_operation,
    confirm_plan,
    solve_scenarios,
    study_head,
)
from planner.api import WITHOUT_PLAN, Options
from planner.case import Case, resolve
from planner.case.figures import needs_power
from planner.case.model import ObjectiveName
from planner.figures import FIGURES, OBJECTIVES
from planner.inputs import Change, Inputs, applied
from planner.optimizer import Certificate, optimise
from planner.optimizer.objective import measure, natural
from planner.optimizer.operate import Run
from planner.optimizer.search import END_WORK
from planner.schema.analysis import EXACT_GAP, Frontier, FrontierPoint
from planner.schema.problem import Objective
from planner.terminal import Progress, ignore

Against = Literal["storage", "cost", "power"]
AGAINST: tuple[Against, ...] = get_args(Against)
POINTS = 50

FAR = 30.0
"""Bandwidth at which the storage curve ends, as a multiple of the best plan's."""
END_GAP, FAR_GAP = 1e-6, 0.1
"""Gap to which the ends of a curve are proven; the far end of storage is no plan to buy."""
SAME, GAP_NOISE = 1e-9, 1e-9
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
        return replace(case, limits=case.limits.replace_values(**limit)).share_bills_of(case)


LESS = Axis("least_write", "most_write_gb_per_s", -1, "delivered_write_gb_per_s")
MORE = Axis("most_write", "least_write_gb_per_s", 1, "delivered_write_gb_per_s")
AXES: dict[Against, tuple[Axis, ...]] = {
    "storage": (LESS, MORE),
    "cost": (Axis("cost", "capex_usd", -1, "capex_usd"),),
    "power": (Axis("least_meter", "facility_power_kw", -1, "facility_power_kw"),),
}
CUT = "an end of the curve is not proven: its search was cut; plans beyond it may exist"
STOPPED = "points are missing: their search did not end"


def study(
    inputs: Inputs,
    options: Options,
    against: Against,
    *,
    points: int = POINTS,
    progress: Progress = ignore,
) -> Frontier:
    """The record of `planner.frontier`, each point proven to the gap and verified.

    Args:
        against: delivered write bandwidth, capex, or facility power.
    """
    exact = replace(options, dask=None, jobs=1, gap=min(options.gap, EXACT_GAP))
    base = solve_scenarios(inputs, [Scenario(0, ())], exact)[0]
    ours = _maximise_work(inputs, needs_draw=against == "power")
    case = resolve(ours)
    axes = AXES[against]
    x, y = FIGURES[axes[0].figure], OBJECTIVES[case.objective]
    named = {"x_label": x.label, "x_unit": x.unit, "y_label": y.label, "y_unit": y.unit}
    named |= {"x_name": against, **study_head(inputs, options.gap)}
    answer = optimise(case, gap=min(END_GAP, options.gap), effort=options.effort)
    top = _stop(case, axes[0], answer)
    if isinstance(top, str) or answer.status == "unbounded":
        status = answer.status if answer.status in WITHOUT_PLAN else "no_solution"
        curve: dict[str, Any] = {"status": status, "message": WITHOUT_PLAN[status], "points": ()}
    else:
        curve = _curve(ours, case, options, axes, top, points, progress)
    return Frontier(**named, **curve, base=base.value, base_bound=base.bound)


def _curve(
    inputs: Inputs,
    case: Case,
    options: Options,
    axes: tuple[Axis, ...],
    top: Stop,
    most: int,
    progress: Progress,
) -> dict[str, Any]:
    """Status, points, knee and best of a frontier."""
    places, proven = _places(case, options, axes, top, most)
    found, do = dict[Hashable, Any](), partial(_solved, case, options)
    for at, stop in run_tasks(do, enumerate(places), jobs=options.jobs, dask=options.dask):
        found[at] = stop
        progress(len(found), len(places))
    stops = list[Stop]()
    for axis in axes:
        side = [found[at] for at, (own, _) in enumerate(places) if own is axis]
        kept = without_dominated([top, *(each for each in side if isinstance(each, Stop))])
        stops += kept[1:] if stops and kept[0] is top else kept
    stops.sort(key=lambda stop: stop.x)
    stops = [s for n, s in enumerate(stops) if not n or s.x > stops[n - 1].x * (1.0 + SAME)]
    points = tuple(_point(inputs, case, options.gap, top, stop) for stop in stops)
    best = max(range(len(points)), key=lambda place: points[place].y)
    xs, ys = [p.x for p in points[: best + 1]], [p.y for p in points[: best + 1]]
    stopped = any(not isinstance(s, Stop) and s != "infeasible" for s in found.values())
    close = all(point.gap <= options.gap + GAP_NOISE for point in points)
    return {
        "status": "optimal" if proven and close and not stopped else "feasible",
        "points": points,
        "knee": knee(xs, ys, logarithmic=axes[0] is LESS),
        "best": best,
        "message": STOPPED if stopped else None if proven else CUT,
    }


def _maximise_work(inputs: Inputs, *, needs_draw: bool) -> Inputs:
    """The problem with its measure of useful work as objective, in FLOP/s where known.

    Args:
        needs_draw: leave out items without a known power draw.
    """
    if needs_draw and not needs_power(inputs.problem):
        known = resolve(_with_objective(inputs, {"minimize": "power"}))
        before = {name for name, _ in resolve(inputs).not_considered}
        unknown = [name for name, _ in known.not_considered if name not in before]
        inputs = applied(inputs, [Change(f"items.{each}.exclude", True, "") for each in unknown])
    work, training = inputs.problem.objective.maximize, inputs.problem.job.training
    if work not in ("goodput", "useful_gpus"):
        work = "useful_gpus"
        if training.mfu is not None or training.model is not None:
            ways = resolve(_with_objective(inputs, {"maximize": work, "indifference": 0})).ways
            work = "goodput" if all(way.tflops_per_gpu > 0 for way in ways) else work
    inputs = _with_objective(inputs, {"maximize": work, "indifference": 0})
    if inputs.problem.policy.prefer is not None:
        inputs = applied(inputs, [Change("policy.prefer", None, "null")])
    return inputs


def _with_objective(inputs: Inputs, objective: dict[str, Any]) -> Inputs:
    return applied(inputs, [Change("objective", Objective.model_validate(objective), "")])


# Points


class Stop(NamedTuple):
    """A plan of most work of those with x held at a level; ``bound`` holds for all of them."""

    x: float
    run: Run
    work: float
    bound: float


def _stop(case: Case, axis: Axis, answer: Certificate) -> Stop | str:
    """The best plan of a search as a stop on an axis, or the status of the search without one."""
    run = answer.operation
    if run is None or answer.bound is None or answer.value is None:
        return answer.status
    work, bound = (natural(case.objective, each) for each in (answer.value, answer.bound))
    return Stop(axis.x(case, run), run, work, max(work, bound))


def _solved(case: Case, options: Options, place: tuple[Axis, float]) -> Stop | str:
    """The best plan held at a level of an axis."""
    axis, level = place
    answer = optimise(axis.hold(case, level), gap=options.gap, effort=options.effort)
    return _stop(case, axis, answer)


def _places(
    case: Case, options: Options, axes: Sequence[Axis], top: Stop, most: int
) -> tuple[list[tuple[Axis, float]], bool]:
    """Levels away from the best plan on each side, and whether the ends are proven."""
    far, ends, proven = FAR * top.x, list[float](), True
    for axis in axes:  # the farthest place of any plan, up to ``far``
        held, gap = (LESS.hold(case, far), FAR_GAP) if axis is MORE else (case, END_GAP)
        aimed = replace(held, objective=axis.objective).share_bills_of(held)
        answer = optimise(aimed, gap=gap, effort=options.effort.part(END_WORK), ties=False)
        ends.append(far if answer.operation is None else axis.x(case, answer.operation))
        proven = proven and answer.status == "optimal"
    counts, of_storage = [most - 1], axes[0] is LESS
    if of_storage:  # as many points to a side as its share of the range in decades
        less, more = (abs(math.log(max(top.x, 1e-9) / max(end, 1e-9))) for end in ends)
        part = less / (less + more) if less + more else 0.5
        counts[0] = max(min(round(part * (most - 1)), most - 1 - LEAST), LEAST)
        counts.append(max(most - 1 - counts[0], LEAST))
    places = list[tuple[Axis, float]]()
    for axis, end, count in zip(axes, ends, counts, strict=True):
        if abs(end - top.x) > SAME * abs(top.x):
            spread = np.geomspace if of_storage and min(top.x, end) > 0.0 else np.linspace
            levels = [*spread(top.x, end, count + 1)[1:-1].tolist(), end]
            places += [(axis, level) for level in levels]
    return places, proven


def without_dominated(stops: Sequence[Stop]) -> list[Stop]:
    """Stops of one side, away from the best plan, without those that a later one betters."""
    kept: list[Stop] = []
    for stop in stops:
        while kept and kept[-1].work <= stop.work:
            stop = stop._replace(bound=max(stop.bound, kept.pop().bound))
        kept.append(stop)
    return kept


def _point(inputs: Inputs, case: Case, gap: float, top: Stop, stop: Stop) -> FrontierPoint:
    """Point of a stop: a confirmed plan of the problem, whose plans do no more than ``top``."""
    run, proven = stop.run, certify_operation(case, stop.run, math.log(top.bound))
    plan = confirm_plan(inputs, case, proven, max(gap, proven.gap or 0.0))
    job, totals = plan.jobs[0], plan.totals
    assert totals is not None
    return FrontierPoint(
        x=stop.x,
        y=stop.work,
        bound=stop.bound,
        gap=stop.bound / stop.work - 1.0,
        counts={name: count for name, count in sorted(run.units.items()) if count},
        gpus_in_use=job.gpus_used,
        capex_usd=totals.capex_usd,
        facility_power_kw=totals.facility_power_kw or 0.0,
    )


def knee(xs: Sequence[float], ys: Sequence[float], *, logarithmic: bool) -> int | None:
    """Place of the knee of a rising curve; None where it does not bend.

    Kneedle without smoothing: both axes scaled to 0 to 1, the knee is where y - x is largest.
    """
    if len(xs) < 3 or (logarithmic and xs[0] <= 0.0):
        return None
    places = np.log(xs) if logarithmic else np.array(xs)
    width, height = np.ptp(places), ys[-1] - ys[0]
    if width <= 0.0 or height <= 0.0:
        return None
    above = (np.array(ys) - ys[0]) / height - (places - places[0]) / width
    return int(above.argmax()) if above.max() > 1e-9 else None
