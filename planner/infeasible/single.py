"""The least change of one limit that makes a plan possible: what is enough and what is not."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.infeasible.moves import bound_of, place_of, price_of, weighed
from planner.infeasible.oracle import Answer, Oracle
from planner.levers import Change, Lever, applied
from planner.levers.numbers import grid
from planner.optimizer.joint import optimise

_EXACT = 1e-6
_MOST_PROBES = 60
_HINT = 200.0
"""The work that the optimiser's hint may take; see ``Effort``."""


@dataclass(frozen=True)
class Threshold:
    """Where a lever lets a plan in: ``enough`` does, ``short`` does not, a small step apart.

    ``short`` is None where it was not decided that less is not enough.
    """

    enough: float
    short: float | None


def threshold(oracle: Oracle, lever: Lever, others: tuple[Change, ...] = ()) -> Threshold | None:
    """Return where a lever that can be moved lets a plan in; None where it alone never does.

    Args:
        oracle: of a problem that has no plan.
        lever: what is moved.
        others: changes made beside it, with which there is no plan either.

    Raises:
        UndecidedError: work or time ran out.
    """
    assert lever.value is not None
    free = oracle.decided((*others, *lever.off))
    if not free.possible:
        return None
    hint = _reached(oracle, lever, others, free)
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


def _reached(
    oracle: Oracle, lever: Lever, others: tuple[Change, ...], free: Answer
) -> _Hint | None:
    """Return about the least that the lever must allow, where the optimiser can tell."""
    inputs = applied(oracle.inputs, others)
    demand = None if free.case is None else price_of(inputs, free.case, lever, 1.0)
    if free.case is None or demand is None:
        return None
    case = weighed(free.case, (demand,))
    effort = oracle.effort.part(_HINT)
    found = optimise(case, solver=oracle.solver, gap=_EXACT, effort=effort, ties=False)
    if found.operation is None:
        return None
    place = place_of(inputs, case, lever, found.operation)
    # What is not proven counts for nothing: the lever itself is not enough.
    missed = 0.0 if found.bound is None or found.status != "optimal" else found.bound
    return _Hint(place, bound_of(lever, missed))


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
    """Bring what is enough and what is not together, to the last digit of a proposal.

    What the optimiser said is tried first, then halves.
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
    """Return how fine a lever is told that is moved to about a place."""
    assert lever.value is not None
    return 1.0 if lever.whole else grid(place - lever.value, place, lever.unit)


def on_grid(lever: Lever, value: float, step: float) -> float:
    """Return the next multiple of a step on the looser side, within the lever's reach."""
    count = value / step
    near = round(count)
    if abs(count - near) > 1e-6:
        near = math.ceil(count) if lever.looser > 0 else math.floor(count)
    return min(max(float(f"{near * step:.12g}"), lever.least), lever.most)
