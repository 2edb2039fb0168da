"""Inputs varied one at a time: which of them the best plan depends on most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from planner.assemble import UNITS
from planner.case import resolve
from planner.errors import Finding, InputError
from planner.inputs import Inputs
from planner.schema.plan import Status
from planner.schema.sensitivity import PLANNED, End, Swing, Tornado
from planner.studies.sensitivity.reasons import NO_PLAN
from planner.studies.sensitivity.scenario import Scenario
from planner.studies.sensitivity.solve import Answer, SweepOptions, answers
from planner.studies.sensitivity.tornado.defaults import defaults
from planner.studies.sensitivity.tornado.span import Side, Span, asked
from planner.studies.sensitivity.tornado.why import why
from planner.studies.sensitivity.tornado.width import width

__all__ = ["BY", "study"]

BY = 0.2
MOST_EXPLAINED = 6
"""So many ends without a plan are told why; finding it out takes longer than solving."""


def study(
    inputs: Inputs,
    ranges: Sequence[str] = (),
    options: SweepOptions | None = None,
    *,
    by: float = BY,
    told: Callable[[int, int], None] | None = None,
) -> Tornado:
    """Return what the best plan does when one input goes from low to high, all else as it stands.

    Args:
        inputs: the problem, catalogs and prices.
        ranges: what to vary, each as ``PATH=LOW:HIGH`` or ``PATH=+-20%``; none for every number
            that may matter.
        options: how exactly to solve, and how long at most for each end.
        by: where no ranges are given, how far to go to either side, as a share.
        told: hears how many ends of how many are solved.

    Raises:
        InputError: a range cannot be read, or an input is varied twice.
    """
    options = options or SweepOptions()
    base = answers(inputs, [Scenario(0, ())], options)[0]
    counts = {} if base.operation is None else base.operation.units
    spans = [asked(inputs, each) for each in ranges] or defaults(inputs, by, counts)
    _refuse_twice(spans)
    sides = [side for span in spans for side in (span.low, span.high)]
    scenarios = [Scenario(place, side.changes) for place, side in enumerate(sides)]
    heard = None if told is None else partial(_passed_on, told, len(scenarios))
    found = _explained(inputs, answers(inputs, scenarios, options, heard))
    swings = [
        _swing(span, found[2 * place], found[2 * place + 1]) for place, span in enumerate(spans)
    ]
    return _head(inputs, base, options, swings)


def _passed_on(told: Callable[[int, int], None], asked: int, done: int) -> None:
    told(done, asked)


def _refuse_twice(spans: Sequence[Span]) -> None:
    paths = [span.path for span in spans]
    twice = [path for place, path in enumerate(paths) if path in paths[:place]]
    if twice:
        raise InputError(Finding("vary", f"'{twice[0]}' is varied twice", fix="vary it once"))


def _explained(inputs: Inputs, found: Sequence[Answer]) -> list[tuple[Answer, str]]:
    """Return answers with why there is no plan, where there is none."""
    told, left = [], MOST_EXPLAINED
    for answer in found:
        reason = answer.reason
        if answer.status == "infeasible" and not reason:
            reason = why(inputs, answer.scenario.changes) if left else NO_PLAN
            left = max(0, left - 1)
        told.append((answer, reason))
    return told


def _swing(span: Span, low: tuple[Answer, str], high: tuple[Answer, str]) -> Swing:
    middle, least, most = width(low[0], high[0])
    return Swing(
        path=span.path,
        label=span.label,
        unit=span.unit,
        base_text=span.base_text,
        low=_end(span.low, *low),
        high=_end(span.high, *high),
        width=middle,
        least_width=least,
        most_width=most,
    )


def _end(side: Side, answer: Answer, reason: str) -> End:
    units = {} if answer.operation is None else answer.operation.units
    return End(
        text=side.text,
        value=side.value,
        status=answer.status,
        objective=answer.value,
        bound=answer.bound,
        counts={name: count for name, count in sorted(units.items()) if count},
        reason=reason,
    )


def _head(inputs: Inputs, base: Answer, options: SweepOptions, swings: Sequence[Swing]) -> Tornado:
    """Return the record, the widest swing first and those without a plan at an end last."""
    case = resolve(inputs)
    status = _status(base, swings)
    return Tornado(
        problem=inputs.problem.name,
        problem_file=inputs.problem_file,
        scenario=inputs.scenario,
        overrides=inputs.overrides,
        objective=case.objective,
        sense="maximize" if case.maximise else "minimize",
        unit=UNITS[case.objective],
        gap_asked=options.gap,
        base=base.value,
        base_bound=base.bound,
        status=status,
        swings=tuple(sorted(swings, key=_rank)),
        message=None if status in PLANNED else base.reason or MESSAGES[status],
    )


MESSAGES: dict[Status, str] = {
    "infeasible": NO_PLAN,
    "unbounded": "nothing limits the purchase: give a power, space or cost budget",
    "no_solution": "the problem as it stands was not solved",
}


def _rank(swing: Swing) -> tuple[bool, float]:
    return swing.width is None, -(swing.width or 0.0)


def _status(base: Answer, swings: Sequence[Swing]) -> Status:
    """Return how the study ended: the base decides, then whether every end is proven."""
    if base.status in ("failed", "invalid", "no_solution"):
        return "no_solution"
    if base.status in ("infeasible", "unbounded"):
        return "infeasible" if base.status == "infeasible" else "unbounded"
    ends = [end.status for swing in swings for end in (swing.low, swing.high)]
    proven = all(status in ("optimal", "infeasible", "unbounded", "invalid") for status in ends)
    return "optimal" if base.status == "optimal" and proven else "feasible"
