"""The smallest weighted change of several limits together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.case import Case
from planner.infeasible.conflict import off
from planner.infeasible.moves import place_of, price_of, weighed
from planner.infeasible.oracle import Oracle, UndecidedError
from planner.infeasible.single import Threshold, on_grid, step_at, threshold
from planner.levers import Change, Lever
from planner.optimizer.joint import Certificate, optimise
from planner.optimizer.operate import LOGARITHMIC

_GAP = 1e-4
_MISSED = 1e-9
_WORTH_TELLING = 0.01
"""A change of several that is smaller than a change of one by less than this is not told."""
_WEIGHING = 1000.0
"""The work that weighing limits against one another may take; see ``Effort``."""


@dataclass(frozen=True)
class Together:
    """Levers with what is enough of each and what is not; the weighted sum, and its bound."""

    moved: tuple[tuple[Lever, Threshold | None], ...]
    weighted: float | None
    bound: float | None


def together(
    oracle: Oracle, levers: Sequence[Lever], weights: Mapping[str, float], known: float
) -> Together | None:
    """Return the smallest weighted change of levers that can be moved.

    None where moving them does not help, or not with less than what is known already.

    Args:
        oracle: of a problem that has no plan.
        levers: what may be moved.
        weights: what a change of a lever's whole value counts, by path; 1 unless given.
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
    case = weighed(free.case, elastic)
    effort = oracle.effort.part(_WEIGHING)
    found = optimise(case, solver=oracle.solver, gap=_GAP, effort=effort, ties=False)
    if found.operation is None and found.status != "infeasible":
        raise UndecidedError
    if found.operation is None or (found.value or 0.0) > known * (1.0 - _WORTH_TELLING):
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
    """Return each lever no further than it must, with the others where they are."""
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
        levers: all that may be moved; what is fixed has one for each way.

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
