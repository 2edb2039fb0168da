"""Most useful work against what is held or limited: storage bandwidth, money, power."""

from __future__ import annotations

from typing import Literal, get_args

from planner.assemble import UNITS
from planner.case import resolve
from planner.inputs import Inputs
from planner.schema.plan import Status
from planner.schema.sensitivity import Frontier
from planner.studies.sensitivity.frontier import limited, storage
from planner.studies.sensitivity.frontier.curve import Curve, Ended
from planner.studies.sensitivity.frontier.question import LABELS, Question
from planner.studies.sensitivity.reasons import NO_PLAN
from planner.studies.sensitivity.scenario import Scenario
from planner.studies.sensitivity.solve import SweepOptions, answers

__all__ = ["AGAINST", "POINTS", "Against", "study"]

Against = Literal["storage", "cost", "power"]
AGAINST: tuple[Against, ...] = get_args(Against)
POINTS = 50
AXIS_LABELS: dict[Against, tuple[str, str]] = {
    "storage": ("delivered write bandwidth", "GB/s"),
    "cost": ("capex", "USD"),
    "power": ("power at the meter", "kW"),
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
    inputs: Inputs, options: SweepOptions, *, against: Against = "storage", points: int = POINTS
) -> Frontier:
    """Return the most useful work of a problem against what is held or limited.

    The problem's own limits stay; its objective gives way to useful work. Every point is a plan
    that no other passes, proven to the gap, and verified.

    Args:
        inputs: the problem, catalogs and prices.
        options: how exactly to solve, and how long at most for each plan.
        against: the write bandwidth of the storage bought, capex, or power at the meter.
        points: how many points to find at most; where there are more, they are spread.

    Raises:
        InputError: the problem demands what cannot be planned.
        VerificationError: a plan does not agree with its independent re-computation.
    """
    question = Question.of(inputs, options, needs_draw=against == "power")
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
        return storage.curve(question, best, points)
    return limited.curve(question, limited.AXES[against], best, points)


def _status(curve: Curve, gap: float) -> Status:
    proven = all(point.gap <= gap + GAP_NOISE for point in curve.points)
    return "optimal" if proven and not curve.stopped else "feasible"


def _head(inputs: Inputs, question: Question, against: Against) -> Frontier:
    """Return the study without points, with the problem's own objective as it stands."""
    asked = resolve(inputs)
    base = answers(inputs, [Scenario(0, ())], question.options)[0]
    (x_label, x_unit), (y_label, y_unit) = AXIS_LABELS[against], LABELS[question.case.objective]
    return Frontier(
        problem=inputs.problem.name,
        problem_file=inputs.problem_file,
        scenario=inputs.scenario,
        overrides=inputs.overrides,
        objective=asked.objective,
        sense="maximize" if asked.maximise else "minimize",
        unit=UNITS[asked.objective],
        gap_asked=question.options.gap,
        base=base.value,
        base_bound=base.bound,
        status="infeasible",
        x_name=against,
        x_label=x_label,
        x_unit=x_unit,
        y_label=y_label,
        y_unit=y_unit,
        points=(),
    )
