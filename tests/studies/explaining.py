"""Worth of each limit of a plan, as an explanation has it, without its other questions."""

from __future__ import annotations

from planner.api import Options
from planner.inputs import Inputs
from planner.schema.explanation import Marginal
from planner.schema.plan import Plan
from planner.studies.explain import Questions, marginal, questions_of, step_of, without_worth


def marginals(inputs: Inputs, plan: Plan) -> tuple[Questions, tuple[Marginal, ...]]:
    """Return what questions about a plan start from, and what a step of each limit is worth."""
    about = questions_of(inputs, plan, Options(), {})
    prober, base = about.prober()
    slack = [lever for lever in about.limits if lever.limit not in about.binding]
    idle, known = without_worth(prober, base, slack), prober.runs[1:]
    rows = []
    for lever in about.limits:
        prober, _ = about.prober(known)
        binds, step = lever.limit in about.binding, step_of(lever, {})
        rows.append(marginal(prober, base, lever, step, binds=binds, idle=lever.path in idle))
    return about, tuple(rows)
