"""What an explanation asks first of a plan, in the order in which one process answers it."""

from __future__ import annotations

from planner.api import Options
from planner.inputs import Inputs
from planner.schema.explanation import Marginal
from planner.schema.plan import Plan
from planner.studies.worth import Worths


def marginals(inputs: Inputs, plan: Plan) -> tuple[Worths, tuple[Marginal, ...]]:
    """Return the questions about a plan, and what a step of each limit is worth."""
    worths = Worths.of(inputs, plan, Options(), {})
    idle = worths.idle()
    return worths, tuple(worths.limit(place, idle)[0] for place in range(len(worths.movable)))
