"""What moving a lever means to the optimiser: a limit missed at a price, and back again."""

from __future__ import annotations

import math
from dataclasses import replace

from planner.case import Case
from planner.case.model import Elastic
from planner.inputs import Inputs
from planner.levers import Lever
from planner.optimizer.objective import can_be_missed
from planner.optimizer.operate import LOGARITHMIC, Operation, amount
from planner.sizing.demand import WEIGHTS_ONLY_BYTES_PER_PARAMETER

_KEPT = (".keep_last", ".milestones")


def price_of(inputs: Inputs, case: Case, lever: Lever, weight: float) -> Elastic | None:
    """Return the lever as a limit that may be missed; None where the optimiser cannot.

    Args:
        inputs: the problem as it stands.
        case: the problem without the lever, in numbers.
        lever: a lever that can be moved.
        weight: what a change by its whole value counts.
    """
    each = _per_unit(inputs, case, lever)
    if not lever.value or each is None or not can_be_missed(case, lever.limit):
        return None
    if lever.limit == "capacity":
        need_tb = case.job.capacity_needed_tb + each * (lever.value - lever.loosest)
        return Elastic(lever.limit, need_tb, each * lever.value, weight)
    value = each * lever.value
    return Elastic(lever.limit, value, abs(value), weight)


def place_of(inputs: Inputs, case: Case, lever: Lever, run: Operation) -> float:
    """Return about where a lever must stand to let an operation in, for `price_of` it."""
    each, reached = _per_unit(inputs, case, lever), amount(case, run, lever.limit)
    assert each is not None
    place = reached / each
    if lever.limit == "capacity":  # what it leaves for this lever beside the others
        place = lever.loosest + (reached - case.job.capacity_needed_tb) / each
    return min(max(place, lever.least), lever.most)


def weighed(case: Case, prices: tuple[Elastic, ...]) -> Case:
    """Return the case in which as little as can be is missed of some limits."""
    return replace(case, objective="overrun", elastic=prices, indifference=0.0)


def bound_of(lever: Lever, missed: float) -> float:
    """Return where a lever stands that is moved by so much of its value, as it is counted."""
    assert lever.value is not None
    if lever.limit in LOGARITHMIC:
        return lever.value * math.exp(lever.looser * missed)
    return lever.value + lever.looser * abs(lever.value) * missed


def _per_unit(inputs: Inputs, case: Case, lever: Lever) -> float | None:
    """Return how much of its limit one unit of a lever is; None where that is not fixed."""
    problem = inputs.problem
    if lever.path == "site.feeds.power" and problem.site.feeds is not None:
        return problem.site.feeds.usable_kw / problem.site.feeds.power_kw
    if lever.limit != "capacity":
        return 1.0
    fill = problem.storage.fill_limit
    if lever.path.endswith(_KEPT):
        return case.job.checkpoint_gb / 1e3 / fill
    if lever.path.endswith(".dataset"):
        return 1.0 / fill
    if lever.path.endswith(".exports"):
        parameters = problem.job.parameters or 0.0
        return WEIGHTS_ONLY_BYTES_PER_PARAMETER * parameters / 1e12 / fill
    return None
