"""Worth of each limit of a plan, as an explanation has it, without its other questions."""

from __future__ import annotations

from planner.analysis.explain import Best, Prober, marginals
from planner.api import Options
from planner.inputs import Inputs
from planner.schema.explanation import Marginal
from planner.schema.plan import Plan


def worths(inputs: Inputs, plan: Plan) -> tuple[Best, tuple[Marginal, ...]]:
    """Return the best there is, and what a step of each limit is worth."""
    prober = Prober(inputs, Options(), plan)
    return prober.base, marginals(prober, plan, {})
