"""Whether some plan of a case does so much work: answered by enumeration, or left open."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from planner.case import Case
from planner.case.bounds import cap_in_use
from planner.case.model import Limits
from planner.limits import Limit
from planner.optimizer.goals import goal_of
from planner.optimizer.objective import LOGARITHMIC
from planner.optimizer.operate import Run
from planner.optimizer.parametric import cells
from planner.optimizer.parametric.plans import Plans
from planner.optimizer.parametric.search import SLACK, Search
from planner.optimizer.purchase import amounts, given

CLOSE = 1e-9
"""A score that is so much less than a floor is still as good."""


class Reach:
    """Asks of a case, under limits that differ, whether some plan does so much work.

    What is found out of cells for one question serves the next, where nothing is looser then.
    """

    def __init__(self) -> None:
        self.search: Search | None = None

    def plan(self, case: Case, floor: float) -> Run | Literal["none", "open"]:
        """Return a plan of a case whose score is a floor at least, or that there is none.

        "open" where enumeration does not tell.
        """
        if not cells.covers(case) or case.objective not in LOGARITHMIC:
            return "open"
        supplies = given(case.limits)
        limits = np.array([amounts(supplies, case.limits)]).reshape(1, len(supplies))
        if self.search is None or not _is_tighter(case, self.search.case):
            self.search = Search(case, limits, supplies, 0.0)
        goals = {mode: goal_of(case, None, 0.0) for mode in case.job.modes}
        plans = Plans(case, goals, supplies, limits)
        least = floor - CLOSE

        def most() -> float:  # one is enough
            return math.inf if plans.score[0] >= least else least

        # What scores less is not taken in, and closes a cell: its bound stays below the floor.
        known = [each.under(case, plans, least - 2.0 * CLOSE) for each in self.search.cells]
        bound = max(each.answer(0, limits[0] * (1 + SLACK), most) for each in known)
        best = int(plans.best[0])
        if best >= 0 and plans.scores[best] >= least:
            return plans.run(best) or "open"
        return "none" if bound <= least else "open"


def _is_tighter(case: Case, other: Case) -> bool:
    """Say whether a case differs from another in limits alone, and none of them is looser."""
    if case.billed is not other.billed or case.job is not other.job:
        return False
    supplies = given(case.limits)
    if supplies != given(other.limits) or case.objective != other.objective:
        return False
    if _rest(case, supplies) != _rest(other, supplies):
        return False
    now, then = amounts(supplies, case.limits), amounts(supplies, other.limits)
    pairs = zip(case.systems, other.systems, strict=True)
    fewer = all(cap_in_use(case, one) <= cap_in_use(other, same) for one, same in pairs)
    return fewer and bool(np.all(now <= then))


def _rest(case: Case, supplies: Sequence[Limit]) -> Limits:
    """Return what limits a case beside some supplies, and how much storage it may have."""
    each: dict[str, None] = dict.fromkeys([limit.field for limit in supplies])
    return case.limits.with_values(**each, most_write_gb_per_s=None, least_write_gb_per_s=None)
