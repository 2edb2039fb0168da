"""Questions about one case that enumeration answers without a model, or leaves open."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from planner.case import Case
from planner.optimizer.joint import Certificate, share
from planner.optimizer.objective import LOGARITHMIC
from planner.optimizer.operate import Run
from planner.optimizer.parametric import cells
from planner.optimizer.parametric.search import Search
from planner.optimizer.purchase import amounts, given

CLOSE = 1e-9
"""A score that is so much less than a floor is still as good."""


def enumerated(case: Case, gap: float) -> Certificate | None:
    """Return the best plan of a case with its proof, None where enumeration does not settle it."""
    if not cells.covers(case) or case.objective not in LOGARITHMIC:
        return None
    search = _search(case, gap)

    def most() -> float:
        score = float(search.plans.score[0])
        return score + search.width(score)

    bound = _proved(search, most)
    if not bound <= most():
        return None
    best = int(search.plans.best[0])
    if best < 0:
        return Certificate("infeasible", None, None, None, None, 0, 0.0, late=False)
    run, score = search.plans.plans[best], search.plans.scores[best]
    bound = max(bound, score)
    return Certificate("optimal", run, score, bound, share(case, score, bound), 0, 0.0, late=False)


def reaching(case: Case, floor: float) -> Run | Literal["none", "open"]:
    """Return a plan of a case whose score is a floor at least, or that there is none.

    "open" where enumeration does not tell.
    """
    if not cells.covers(case) or case.objective not in LOGARITHMIC:
        return "open"
    search = _search(case, 0.0)

    def most() -> float:  # one is enough
        return math.inf if search.plans.score[0] >= floor - CLOSE else floor - CLOSE

    bound = _proved(search, most)
    best = int(search.plans.best[0])
    if best >= 0 and search.plans.scores[best] >= floor - CLOSE:
        return search.plans.plans[best]
    return "none" if bound <= floor - CLOSE else "open"


def _search(case: Case, gap: float) -> Search:
    supplies = given(case.limits)
    limits = np.array([amounts(supplies, case.limits)]).reshape(1, len(supplies))
    return Search(case, limits, supplies, gap)


def _proved(search: Search, most: Callable[[], float]) -> float:
    """Return what no plan's score passes; it is worked on until that is no more than ``most``."""
    return max(each.answer(0, search.limits[0], most) for each in search.cells)
