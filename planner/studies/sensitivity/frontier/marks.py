"""Where vendors' rules land on the goldilocks curve."""

from __future__ import annotations

from planner.errors import InputError
from planner.inputs import Change, applied
from planner.schema.sensitivity import FrontierMark
from planner.sizing.rules import VENDOR_RULES
from planner.studies.sensitivity.frontier.axis import LESS_STORAGE
from planner.studies.sensitivity.frontier.question import Question
from planner.studies.sensitivity.frontier.walk import settled
from planner.studies.sensitivity.reasons import NO_PLAN


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
