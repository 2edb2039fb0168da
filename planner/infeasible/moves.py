"""The least change of one limit, or of several together, that makes a plan possible."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
from planner.optimizer.optimise import Certificate
from planner.schema.infeasibility import Named, Step
from planner.sizing.demand import exports_tb

# What moving a lever means to the optimiser: a limit missed at a price, and back again.


_KEPT = (".keep_last", ".milestones")


def price_of(inputs: Inputs, case: Case, lever: Lever, weight: float) -> Elastic | None:
    """Return the lever as a limit that may be missed; None where the optimiser cannot.

    Args:
        case: the problem without the lever, in numbers.
        weight: weight of a change by its whole value.
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
    """Return about the value of a lever from which on it allows an operation; see `price_of`."""
    each, reached = _per_unit(inputs, case, lever), amount(case, run, lever.limit)
    assert each is not None
    place = reached / each
    if lever.limit == "capacity":  # what it leaves for this lever beside the others
        place = lever.loosest + (reached - case.job.capacity_needed_tb) / each
    return min(max(place, lever.least), lever.most)


def weighted_case(case: Case, prices: tuple[Elastic, ...]) -> Case:
    """Return the case that minimises by how much some limits are missed, weighted."""
    return replace(case, objective="overrun", elastic=prices, indifference=0.0)


def bound_of(lever: Lever, missed: float) -> float:
    """Return the value of a lever that is moved by a share of itself, as its limit counts it."""
    assert lever.value is not None
    if lever.limit in LOGARITHMIC:
        return lever.value * math.exp(lever.looser * missed)
    return lever.value + lever.looser * abs(lever.value) * missed


def _per_unit(inputs: Inputs, case: Case, lever: Lever) -> float | None:
    """Change of the limit per unit of a lever; None where that is not fixed."""
    problem = inputs.problem
    if lever.path == "site.feeds.power" and problem.site.feeds is not None:
        return problem.site.feeds.usable_kw / problem.site.feeds.power_kw
    if lever.limit != "capacity":
        return 1.0
    fill = problem.storage.fill_limit
    if lever.path.endswith(_KEPT):
        return case.job.checkpoint_gb / 1e3 / fill
    if ".dataset" in lever.path:
        return 1.0 / fill
    if lever.path.endswith(".exports"):
        return exports_tb(problem.job.parameters, 1) / fill
    return None


# The least change of one limit that makes a plan possible: what is enough and what is not.


_EXACT = 1e-6
_MOST_PROBES = 60


@dataclass(frozen=True)
class Threshold:
    """Values of a lever a small step apart: with ``enough`` there is a plan, with ``short`` none.

    ``short`` is None where it was not decided that less is not enough.
    """

    enough: float
    short: float | None


def threshold(oracle: Oracle, lever: Lever, others: tuple[Change, ...] = ()) -> Threshold | None:
    """Return the value of a lever from which on there is a plan; None where it alone gives none.

    Args:
        oracle: of a problem that has no plan.
        others: changes made beside it, with which there is no plan either.

    Raises:
        UndecidedError: work or time ran out.
    """
    assert lever.value is not None
    free = oracle.decided((*others, *lever.off))
    if not free.possible:
        return None
    hint = _hint_of(oracle, lever, others, free)
    if hint is None:
        good = _doubled(oracle, lever, others)
        return None if good is None else _between(oracle, lever, others, good)
    return _proven(oracle, lever, others, hint) or _between(oracle, lever, others, hint.place)


@dataclass(frozen=True)
class _Hint:
    """The least that a lever must allow, and a value that is proven not to be enough."""

    place: float
    bound: float


def _proven(
    oracle: Oracle, lever: Lever, others: tuple[Change, ...], hint: _Hint
) -> Threshold | None:
    """Return the threshold where the optimiser's proof reaches to the last digit."""
    assert lever.value is not None
    step = step_at(lever, hint.place)
    enough = on_grid(lever, hint.place, step)
    short = enough - lever.looser * step
    if not lever.looser_than(hint.bound, short) or not lever.looser_than(short, lever.value):
        return None
    possible = oracle.decided((*others, *lever.to(enough))).possible
    return Threshold(enough, short) if possible else None


def _hint_of(
    oracle: Oracle, lever: Lever, others: tuple[Change, ...], free: Decision
) -> _Hint | None:
    """Return about the least that the lever must allow, where the optimiser can tell."""
    inputs = applied(oracle.inputs, others)
    demand = None if free.case is None else price_of(inputs, free.case, lever, 1.0)
    if free.case is None or demand is None:
        return None
    case = weighted_case(_within(free.case, lever, free.operation), (demand,))
    effort = oracle.effort.part(HINT_WORK)
    found = least_missed(case, _EXACT, effort)
    if found.operation is None:
        return None
    oracle.remember([found.operation])
    place = place_of(inputs, case, lever, found.operation)
    # What is not proven counts for nothing: the lever itself is not enough.
    missed = 0.0 if found.bound is None or found.status != "optimal" else found.bound
    return _Hint(place, bound_of(lever, missed))


def _within(case: Case, lever: Lever, run: Run | None) -> Case:
    """Return a case that asks for no more of a supply than a plan in hand takes: less is sought."""
    row = BY_NAME.get(lever.limit)
    if row is None or row.group != "supply" or run is None:
        return case
    takes = bill(case, run.units, run.ways)[row.figure] * (1.0 + _EXACT)
    kept: dict[str, Any] = {row.field: takes}
    return replace(case, limits=case.limits.with_values(**kept))


def _doubled(oracle: Oracle, lever: Lever, others: tuple[Change, ...]) -> float | None:
    """Return a value that lets a plan in, found in growing steps."""
    assert lever.value is not None
    width = abs(lever.value) * 0.25 or 1.0
    for _ in range(_MOST_PROBES):
        there = lever.value + lever.looser * width
        there = min(max(there, lever.least), lever.most)
        there = float(round(there)) if lever.whole else there
        if there != lever.value and _possible(oracle, lever, others, there):
            return there
        if there == lever.loosest:
            return None
        width *= 2.0
    return None


def _possible(
    oracle: Oracle, lever: Lever, others: tuple[Change, ...], value: float
) -> bool | None:
    return oracle.decided((*others, *lever.reaching(value))).possible


def _between(
    oracle: Oracle, lever: Lever, others: tuple[Change, ...], good: float
) -> Threshold | None:
    """Narrow the bracket of the least change, to the last digit of a proposal.

    The optimiser's proposal is tried first, then halves.
    """
    assert lever.value is not None
    bad, first = lever.value, True
    for _ in range(_MOST_PROBES):
        step = step_at(lever, good)
        enough = on_grid(lever, good, step)
        short = enough - lever.looser * step
        if lever.looser_than(short, bad):
            half = on_grid(lever, (bad + good) / 2.0, step)
            there = short if first or not lever.looser_than(short, half) else half
            first = False
            if _possible(oracle, lever, others, there):
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
    """Return the step to which a lever is rounded near a value."""
    assert lever.value is not None
    return 1.0 if lever.whole else grid(place - lever.value, place, lever.unit, lever.money)


def on_grid(lever: Lever, value: float, step: float) -> float:
    """Return the next multiple of a step on the looser side, within the lever's reach."""
    count = value / step
    near = round(count)
    if abs(count - near) > 1e-6:
        near = math.ceil(count) if lever.looser > 0 else math.floor(count)
    return min(max(float(f"{near * step:.12g}"), lever.least), lever.most)


# The smallest weighted change of several limits together.


_GAP = 1e-4
_MISSED = 1e-9
_WORTH_TELLING = 0.01
"""A change of several that is smaller than a change of one by less than this is not told."""


@dataclass(frozen=True)
class Together:
    """Levers with the bracket of each; the weighted sum, and its bound."""

    moved: tuple[tuple[Lever, Threshold | None], ...]
    weighted: float | None
    bound: float | None


def move_together(
    oracle: Oracle, levers: Sequence[Lever], weights: Mapping[str, float], known: float
) -> Together | None:
    """Return the smallest weighted change of levers that can be moved.

    None where moving them does not help, or not with less than the known sum.

    Args:
        oracle: of a problem that has no plan.
        weights: weight of a change by a lever's whole value, by path; 1 unless given.
        known: the weighted sum of the smallest change of one lever.

    Raises:
        UndecidedError: work or time ran out.
    """
    movable = _movable(oracle, levers)
    free = oracle.decided(off(movable))
    if not free.possible or free.case is None:
        return None
    prices = (
        price_of(oracle.inputs, free.case, lever, weights.get(lever.path, 1.0)) for lever in movable
    )
    elastic = tuple(price for price in prices if price is not None)
    case = weighted_case(free.case, elastic)
    effort = oracle.effort.part(WEIGHING_WORK)
    found = least_missed(case, _GAP, effort, below=known * (1.0 - _WORTH_TELLING))
    if found.operation is None and found.status != "infeasible":
        raise UndecidedError
    if found.operation is None:
        return None
    reached = _reached(oracle, case, found, movable)
    tight = _tightened(oracle, reached)
    return None if tight is None else Together(tight, _sum(tight, weights), found.bound)


def _movable(oracle: Oracle, levers: Sequence[Lever]) -> list[Lever]:
    """Return the levers the optimiser can weigh, one for each limit: the one that asks for most."""
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


def _reached(
    oracle: Oracle, case: Case, found: Certificate, levers: Sequence[Lever]
) -> list[tuple[Lever, float]]:
    """Return the levers that have to move, each with where to, the smallest change first."""
    assert found.operation is not None
    moved = []
    other = "blocking" if found.operation.mode == "async" else "overlap"
    for lever in levers:
        assert lever.value is not None
        if lever.limit == other:
            continue
        there = place_of(oracle.inputs, case, lever, found.operation)
        share = (there - lever.value) * lever.looser / abs(lever.value)
        if share > _MISSED:
            moved.append((share, lever, on_grid(lever, there, step_at(lever, there))))
    moved.sort(key=lambda entry: entry[0])
    return [(lever, there) for _, lever, there in moved]


def _tightened(
    oracle: Oracle, reached: list[tuple[Lever, float]]
) -> tuple[tuple[Lever, Threshold], ...] | None:
    """Return each lever moved no further than needed, the others fixed."""
    places = dict(reached)
    final: dict[Lever, Threshold] = {}
    for lever, _ in reached:
        others = _changes({other: place for other, place in places.items() if other != lever})
        if oracle.possible(others):
            del places[lever]
            continue
        found = _no_further(oracle, lever, others, places[lever])
        if found is None:
            return None
        places[lever], final[lever] = found.enough, found
    return tuple(final.items()) if final and oracle.decided(_changes(places)).possible else None


def _no_further(
    oracle: Oracle, lever: Lever, others: tuple[Change, ...], place: float
) -> Threshold | None:
    try:
        return threshold(oracle, lever, others)
    except UndecidedError:
        return Threshold(place, None)


def _changes(places: Mapping[Lever, float]) -> tuple[Change, ...]:
    return tuple(change for lever, place in places.items() for change in lever.to(place))


def _sum(
    moved: Sequence[tuple[Lever, Threshold | None]], weights: Mapping[str, float]
) -> float | None:
    return sum(weights.get(lever.path, 1.0) * share_of(lever, found) for lever, found in moved)


def share_of(lever: Lever, found: Threshold | None) -> float:
    """Return a change as a share of the limit, as the optimiser counts it."""
    if found is None or lever.value is None:
        return 1.0
    if lever.limit in LOGARITHMIC:
        return abs(math.log(found.enough / lever.value)) if found.enough else math.inf
    return abs(found.enough - lever.value) / (abs(lever.value) or 1.0)


def one_by_one(
    oracle: Oracle, given_up: Sequence[Lever], levers: Sequence[Lever]
) -> Together | None:
    """Return a change that helps, lever after lever; it need not be the smallest.

    For limits that the optimiser cannot weigh against one another, such as stock or vendors.

    Args:
        oracle: of a problem that has no plan.
        given_up: levers without which there is one.
        levers: all that may be moved; a fixed value has one for each direction.

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


# Levers and thresholds as parts of an explanation.


def name_limit(lever: Lever) -> Named:
    """Return a lever as a limit that is named."""
    return Named(
        path=lever.path,
        label=lever.label,
        text="" if lever.value is None else lever.text(lever.value),
        source=lever.place,
        stated=lever.stated,
    )


def step(lever: Lever, found: Threshold, because: Sequence[Lever]) -> Step:
    """Lever at its least sufficient change, and the conflict that requires it."""
    assert lever.value is not None
    return Step(
        path=lever.path,
        label=lever.label,
        source=lever.place,
        unit=lever.unit,
        value=lever.value,
        least=found.enough,
        not_enough=found.short,
        from_text=lever.text(lever.value),
        to_text=lever.text(found.enough),
        not_enough_text="" if found.short is None else lever.text(found.short),
        what="",
        settings=tuple(change.setting for change in lever.to(found.enough)),
        because=tuple(name_limit(other) for other in because),
    )


def choice_step(lever: Lever) -> Step:
    """Return a choice given up."""
    return Step(
        path=lever.path,
        label=lever.label,
        source=lever.place,
        unit="",
        value=None,
        least=None,
        not_enough=None,
        from_text="",
        to_text="",
        not_enough_text="",
        what=lever.choice,
        settings=tuple(change.setting for change in lever.off),
    )
