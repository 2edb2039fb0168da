"""The least change of one limit, or of several together, that makes a plan possible.

A change too small by one step of a readable grid is proven not to be enough (decision 16).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from planner.case import Case
from planner.case.model import Elastic
from planner.infeasible.oracle import Decision, Oracle, UndecidedError, off
from planner.inputs import Inputs
from planner.levers import Change, Lever, applied
from planner.levers.model import grid
from planner.limits import BY_NAME
from planner.optimizer.bill import bill
from planner.optimizer.effort import HINT_WORK, WEIGHING_WORK
from planner.optimizer.elastic import can_be_missed, least_missed
from planner.optimizer.operate import LOGARITHMIC, Run, amount
from planner.sizing.demand import exports_tb

EXACT = 1e-6
"""Gap to which the least move of one limit is found."""
GAP = 1e-4
"""Gap to which the least move of several is found."""
MOST_PROBES = 60
MISSED = 1e-9
"""Share by which a limit that is kept may seem missed."""
WORTH_TELLING = 0.01
"""Share by which a change of several must be smaller than a change of one."""


class Threshold(NamedTuple):
    """Values of a lever a small step apart: with ``enough`` there is a plan, with ``short`` none.

    ``short`` is None where it was not decided that less is not enough.
    """

    enough: float
    short: float | None


class Together(NamedTuple):
    """Levers with their thresholds, None for a choice; the weighted sum of the moves, its bound."""

    moved: tuple[tuple[Lever, Threshold | None], ...]
    weighted: float | None
    bound: float | None


# A lever as a limit that the optimiser may miss at a price


def price_of(inputs: Inputs, case: Case, lever: Lever, weight: float) -> Elastic | None:
    """A lever as a limit that may be missed; None where the optimiser cannot.

    Args:
        case: the problem without the lever, in numbers.
        weight: cost of a change by its whole value.
    """
    each = _per_unit(inputs, case, lever)
    if not lever.value or each is None or not can_be_missed(case, lever.limit):
        return None
    if lever.limit == "capacity":
        need_tb = case.job.capacity_needed_tb + each * (lever.value - lever.loosest)
        return Elastic(lever.limit, need_tb, each * lever.value, weight)
    value = each * lever.value
    return Elastic(lever.limit, value, abs(value), weight)


def place_of(inputs: Inputs, case: Case, lever: Lever, run: Run) -> float:
    """About the value of a lever from which on it allows an operation; see `price_of`."""
    each, reached = _per_unit(inputs, case, lever), amount(case, run, lever.limit)
    assert each is not None
    place = reached / each
    if lever.limit == "capacity":  # what it leaves for this lever beside the others
        place = lever.loosest + (reached - case.job.capacity_needed_tb) / each
    return min(max(place, lever.least), lever.most)


def _per_unit(inputs: Inputs, case: Case, lever: Lever) -> float | None:
    """Amount of its limit in one unit of a lever; None where that is not fixed."""
    problem = inputs.problem
    if lever.path == "site.feeds.power" and problem.site.feeds is not None:
        return problem.site.feeds.usable_kw / problem.site.feeds.power_kw
    if lever.limit != "capacity":
        return 1.0
    fill = problem.storage.fill_limit
    if lever.path.endswith((".keep_last", ".milestones")):
        return case.job.checkpoint_gb / 1e3 / fill
    if ".dataset" in lever.path:
        return 1.0 / fill
    return exports_tb(problem.job.parameters, 1) / fill if lever.path.endswith(".exports") else None


def weighted_case(case: Case, prices: tuple[Elastic, ...]) -> Case:
    """The case that minimises the weighted misses of some limits."""
    return replace(case, objective="overrun", elastic=prices, indifference=0.0)


def share_of(lever: Lever, found: Threshold | None) -> float:
    """A change as a share of the limit, as the optimiser counts it; 1 for a choice."""
    if found is None or lever.value is None:
        return 1.0
    if lever.limit in LOGARITHMIC:
        return abs(math.log(found.enough / lever.value)) if found.enough else math.inf
    return abs(found.enough - lever.value) / (abs(lever.value) or 1.0)


# The least change of one limit


def threshold(oracle: Oracle, lever: Lever, others: tuple[Change, ...] = ()) -> Threshold | None:
    """The value of a lever from which on there is a plan; None where it alone gives none.

    Args:
        oracle: of a problem that has no plan.
        others: changes made beside it, with which there is no plan either.

    Raises:
        UndecidedError: work or time ran out.
    """
    free = oracle.decided((*others, *lever.off))
    if not free.possible:
        return None
    hint = _hint(oracle, lever, others, free)
    if hint is None:
        good = _doubled(oracle, lever, others)
        return None if good is None else _between(oracle, lever, others, good)
    place, bound = hint
    return _proven(oracle, lever, others, place, bound) or _between(oracle, lever, others, place)


def _hint(
    oracle: Oracle, lever: Lever, others: tuple[Change, ...], free: Decision
) -> tuple[float, float] | None:
    """About the least value that is enough, and one proven not to be; None where the optimiser
    cannot tell."""
    assert lever.value is not None
    inputs = applied(oracle.inputs, others)
    price = None if free.case is None else price_of(inputs, free.case, lever, 1.0)
    if free.case is None or price is None:
        return None
    case = weighted_case(_within(free.case, lever, free.operation), (price,))
    found = least_missed(case, EXACT, oracle.effort.part(HINT_WORK))
    if found.operation is None:
        return None
    oracle.remember([found.operation])
    # A bound that is not proven is none: the lever itself is not enough.
    missed = 0.0 if found.bound is None or found.status != "optimal" else found.bound
    bound = lever.value + lever.looser * abs(lever.value) * missed
    if lever.limit in LOGARITHMIC:
        bound = lever.value * math.exp(lever.looser * missed)
    return place_of(inputs, case, lever, found.operation), bound


def _within(case: Case, lever: Lever, run: Run | None) -> Case:
    """The case with no more of a supply than a plan in hand takes: less is sought."""
    row = BY_NAME.get(lever.limit)
    if row is None or row.group != "supply" or run is None:
        return case
    kept: dict[str, Any] = {row.field: bill(case, run.units, run.ways)[row.figure] * (1.0 + EXACT)}
    return replace(case, limits=case.limits.with_values(**kept))


def _proven(
    oracle: Oracle, lever: Lever, others: tuple[Change, ...], place: float, bound: float
) -> Threshold | None:
    """The threshold where the optimiser's proof reaches to the last digit."""
    assert lever.value is not None
    step = step_at(lever, place)
    enough = on_grid(lever, place, step)
    short = enough - lever.looser * step
    if not lever.looser_than(bound, short) or not lever.looser_than(short, lever.value):
        return None
    possible = oracle.decided((*others, *lever.to(enough))).possible
    return Threshold(enough, short) if possible else None


def _doubled(oracle: Oracle, lever: Lever, others: tuple[Change, ...]) -> float | None:
    """A value that lets a plan in, found in growing steps."""
    assert lever.value is not None
    width = abs(lever.value) * 0.25 or 1.0
    for _ in range(MOST_PROBES):
        there = min(max(lever.value + lever.looser * width, lever.least), lever.most)
        there = float(round(there)) if lever.whole else there
        if there != lever.value and _reached(oracle, lever, others, there):
            return there
        if there == lever.loosest:
            return None
        width *= 2.0
    return None


def _reached(oracle: Oracle, lever: Lever, others: tuple[Change, ...], value: float) -> bool:
    return bool(oracle.decided((*others, *lever.reaching(value))).possible)


def _between(
    oracle: Oracle, lever: Lever, others: tuple[Change, ...], good: float
) -> Threshold | None:
    """The threshold to the last digit of a proposal: next to a hint first, then by halving."""
    assert lever.value is not None
    bad, first = lever.value, True
    for _ in range(MOST_PROBES):
        step = step_at(lever, good)
        enough = on_grid(lever, good, step)
        short = enough - lever.looser * step
        if lever.looser_than(short, bad):
            half = on_grid(lever, (bad + good) / 2.0, step)
            there = short if first or not lever.looser_than(short, half) else half
            first = False
            if _reached(oracle, lever, others, there):
                good = there
            else:
                bad = there
        elif oracle.decided((*others, *lever.to(enough))).possible:
            return Threshold(enough, bad)
        elif enough == lever.loosest:
            return None
        else:  # the optimiser's word was a hair too good
            bad, good = enough, min(max(enough + lever.looser * step, lever.least), lever.most)
    return None


def step_at(lever: Lever, place: float) -> float:
    """The step to which a lever is rounded near a value."""
    assert lever.value is not None
    return 1.0 if lever.whole else grid(place - lever.value, place, lever.unit, lever.money)


def on_grid(lever: Lever, value: float, step: float) -> float:
    """The next multiple of a step on the looser side, within the lever's reach."""
    count = value / step
    near = round(count)
    if abs(count - near) > 1e-6:
        near = math.ceil(count) if lever.looser > 0 else math.floor(count)
    return min(max(float(f"{near * step:.12g}"), lever.least), lever.most)


# The least change of several limits


def move_together(
    oracle: Oracle, levers: Sequence[Lever], weights: Mapping[str, float], known: float
) -> Together | None:
    """The smallest weighted change of levers; None where none helps with less than is known.

    Args:
        oracle: of a problem that has no plan.
        weights: cost of a change by a lever's whole value, by path; 1 unless given.
        known: the weighted sum of the smallest change of one lever.

    Raises:
        UndecidedError: work or time ran out.
    """
    movable = movable_of(oracle, levers)
    free = oracle.decided(off(movable))
    if not free.possible or free.case is None:
        return None
    prices = (
        price_of(oracle.inputs, free.case, lever, weights.get(lever.path, 1.0)) for lever in movable
    )
    case = weighted_case(free.case, tuple(price for price in prices if price is not None))
    effort = oracle.effort.part(WEIGHING_WORK)
    found = least_missed(case, GAP, effort, below=known * (1.0 - WORTH_TELLING))
    if found.operation is None:
        if found.status != "infeasible":
            raise UndecidedError
        return None
    tight = _tightened(oracle, _moved(oracle, case, found.operation, movable))
    if tight is None:
        return None
    weighted = sum(weights.get(lever.path, 1.0) * share_of(lever, each) for lever, each in tight)
    return Together(tight, weighted, found.bound)


def movable_of(oracle: Oracle, levers: Sequence[Lever]) -> list[Lever]:
    """The levers that the optimiser can weigh, of each limit the one that asks for most."""
    chosen: dict[str, tuple[float, Lever]] = {}
    case = oracle.case(())
    for lever in levers:
        price = None if case is None else price_of(oracle.inputs, case, lever, 1.0)
        if price is None:
            continue
        # Of levers that share a capacity, the largest part; of ceilings and floors, the tightest.
        asks = price.scale if lever.limit == "capacity" else -lever.looser * price.value
        if lever.limit not in chosen or asks > chosen[lever.limit][0]:
            chosen[lever.limit] = asks, lever
    return [lever for _, lever in chosen.values()]


def _moved(oracle: Oracle, case: Case, run: Run, levers: Sequence[Lever]) -> dict[Lever, float]:
    """The levers that an operation moves, with their values there, the smallest change first."""
    moved = []
    other = "blocking" if run.mode == "async" else "overlap"
    for lever in levers:
        assert lever.value is not None
        if lever.limit == other:
            continue
        there = place_of(oracle.inputs, case, lever, run)
        share = (there - lever.value) * lever.looser / abs(lever.value)
        if share > MISSED:
            moved.append((share, lever, on_grid(lever, there, step_at(lever, there))))
    moved.sort(key=lambda entry: entry[0])
    return {lever: there for _, lever, there in moved}


def _tightened(
    oracle: Oracle, places: dict[Lever, float]
) -> tuple[tuple[Lever, Threshold], ...] | None:
    """Each lever moved no further than needed, the others fixed."""
    final: dict[Lever, Threshold] = {}
    for lever in list(places):
        others = _changes({other: place for other, place in places.items() if other != lever})
        if oracle.possible(others):
            del places[lever]
            continue
        try:
            found = threshold(oracle, lever, others)
        except UndecidedError:
            found = Threshold(places[lever], None)
        if found is None:
            return None
        places[lever], final[lever] = found.enough, found
    return tuple(final.items()) if final and oracle.decided(_changes(places)).possible else None


def _changes(places: Mapping[Lever, float]) -> tuple[Change, ...]:
    return tuple(change for lever, place in places.items() for change in lever.to(place))


def one_by_one(
    oracle: Oracle, given_up: Sequence[Lever], levers: Sequence[Lever]
) -> Together | None:
    """A change that helps, lever after lever; it need not be the smallest.

    For limits that the optimiser cannot weigh against one another, such as stock or vendors.

    Args:
        oracle: of a problem that has no plan.
        given_up: levers without which there is one.
        levers: all that may be moved; a fixed value has one for each way.

    Raises:
        UndecidedError: work or time ran out.
    """
    moved: list[tuple[Lever, Threshold | None]] = []
    made: tuple[Change, ...] = ()
    for number, lever in enumerate(given_up):
        others = (*made, *off(given_up[number + 1 :]))
        if oracle.decided(others).possible:
            continue
        if lever.value is None:
            moved.append((lever, None))
            made = (*made, *lever.off)
            continue
        ways = ((one, threshold(oracle, one, others)) for one in levers if one.path == lever.path)
        best = min((w for w in ways if w[1] is not None), key=lambda w: share_of(*w), default=None)
        if best is None or best[1] is None:
            return None
        moved.append(best)
        made = (*made, *best[0].to(best[1].enough))
    return Together(tuple(moved), None, None) if oracle.decided(made).possible else None
