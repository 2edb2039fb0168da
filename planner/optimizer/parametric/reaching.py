"""Whether some plan of a case does so much work: answered by enumeration, or left open."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from planner.case import Case
from planner.optimizer.objective import LOGARITHMIC
from planner.optimizer.operate import Run
from planner.optimizer.parametric import cells
from planner.optimizer.parametric.search import Search
from planner.optimizer.purchase import amounts, given

CLOSE = 1e-9
"""A score that is so much less than a floor is still as good."""


def reaching(case: Case, floor: float) -> Run | Literal["none", "open"]:
    """Return a plan of a case whose score is a floor at least, or that there is none.

    "open" where enumeration does not tell.
    """
    if not cells.covers(case) or case.objective not in LOGARITHMIC:
        return "open"
    supplies = given(case.limits)
    limits = np.array([amounts(supplies, case.limits)]).reshape(1, len(supplies))
    search = Search(case, limits, supplies, 0.0)

    def most() -> float:  # one is enough
        return math.inf if search.plans.score[0] >= floor - CLOSE else floor - CLOSE

    bound = max(each.answer(0, search.limits[0], most) for each in search.cells)
    best = int(search.plans.best[0])
    if best >= 0 and search.plans.scores[best] >= floor - CLOSE:
        return search.plans.run(best) or "open"
    return "none" if bound <= floor - CLOSE else "open"
