"""Feasibility of changed problems, and irreducible sets of conflicting limits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from planner.case import Case, resolve
from planner.case.model import ObjectiveName
from planner.case.resolve import missing_figure
from planner.errors import InputError
from planner.inputs import Change, Inputs, applied, key_of
from planner.levers import Lever, grid
from planner.limits import BY_NAME
from planner.optimizer.objective import natural
from planner.optimizer.operate import Run
from planner.optimizer.optimise import Certificate, optimise
from planner.optimizer.search import POSSIBLE_WORK, Effort

ANY_GAP = 10.0
"""The gap to the least power that ends the search for any plan."""
MOST_CONFLICTS = 8


class UndecidedError(Exception):
    """Work or time ran out before a question was answered."""


@dataclass(frozen=True)
class Decision:
    """Feasibility of a problem (None: not decided), with a plan."""

    possible: bool | None
    case: Case | None = None
    operation: Run | None = None


@dataclass
class Oracle:
    """Feasibility of a problem with changes: each question once, within one effort for all."""

    inputs: Inputs
    effort: Effort
    _known: dict[tuple[tuple[str, str], ...], Decision] = field(default_factory=dict)

    def possible(self, changes: tuple[Change, ...]) -> bool | None:
        """True if the problem with these changes has a plan; None where it is not decided."""
        key = key_of(changes)
        if key not in self._known:
            self._known[key] = self._answer(changes)
        return self._known[key].possible

    def decided(self, changes: tuple[Change, ...]) -> Decision:
        """Decide whether the problem with these changes has a plan, and find one.

        Raises:
            UndecidedError: work or time ran out.
        """
        if self.possible(changes) is None:
            raise UndecidedError
        return self._known[key_of(changes)]

    def case(self, changes: tuple[Change, ...]) -> Case | None:
        """The changed problem in numbers; None where a demand of it cannot be met."""
        try:
            return resolve(applied(self.inputs, (*changes, *self._left_out)))
        except InputError:
            return None

    @cached_property
    def _left_out(self) -> tuple[Change, ...]:
        """Changes that exclude items without a figure that the problem requires.

        Without a limit some figures would not be required, but the limit is only moved.
        """
        return tuple(
            Change(f"items.{item.id}.exclude", True, "true")
            for item in self.inputs.items
            if item.category in ("gpu_system", "storage")
            and missing_figure(item, self.inputs) is not None
        )

    def _answer(self, changes: tuple[Change, ...]) -> Decision:
        if self.effort.over:
            return Decision(None)
        case = self.case(changes)
        if case is None or not case.systems or not case.storage:
            return Decision(False)
        # The easiest objective: any plan will do.
        found = self.optimum(replace(case, objective="power"), ANY_GAP)
        if found.operation is not None:
            return Decision(True, case, found.operation)
        return Decision(False if found.status == "infeasible" else None)

    def optimum(self, case: Case, gap: float) -> Certificate:
        """The best plan of a case."""
        effort = self.effort.part(POSSIBLE_WORK)
        return optimise(replace(case, indifference=0.0), gap=gap, effort=effort, ties=False)


# Which limits cannot hold together: sets from which none can be left out.


def off(levers: Sequence[Lever]) -> tuple[Change, ...]:
    """The changes that give up all of some levers."""
    return tuple(change for lever in levers for change in lever.off)


def given_up(clash: Sequence[Lever], free: Sequence[Lever]) -> Lever | None:
    """The limit of a conflict to blame first of those that are free; None where all must stay."""
    return next((lever for lever in reversed(clash) if lever in free), None)


def conflicts(
    oracle: Oracle, levers: Sequence[Lever], free: Sequence[Lever]
) -> list[tuple[Lever, ...]]:
    """Conflicts until giving up one limit of each leaves a plan.

    Args:
        oracle: of a problem that has no plan.
        levers: all of them, those to blame last first; without them all there must be a plan.
        free: those that may be given up.

    Raises:
        UndecidedError: work or time ran out.
    """
    found: list[tuple[Lever, ...]] = []
    dropped: list[Lever] = []
    while len(found) < MOST_CONFLICTS and not oracle.decided(off(dropped)).possible:
        kept = [lever for lever in levers if lever not in dropped]
        one = minimal(oracle, kept, off(dropped))
        found += [one] if one else []
        blamed = given_up(one, free)
        if blamed is None:
            break
        dropped.append(blamed)
    return found


def minimal(oracle: Oracle, levers: Sequence[Lever], made: tuple[Change, ...]) -> tuple[Lever, ...]:
    """Levers of which no one can be left out of the conflict (a deletion filter).

    Halves are tried before single ones: most levers have nothing to do with it.

    Args:
        oracle: of a problem that has no plan.
        levers: those that may be part of it, those to blame last first.
        made: changes with which there still is none.

    Raises:
        UndecidedError: work or time ran out.
    """
    needed: list[Lever] = []
    open_, size = list(levers), max(1, len(levers) // 2)
    while open_:
        part, rest = open_[:size], open_[size:]
        without = [lever for lever in levers if lever not in needed and lever not in rest]
        possible = oracle.possible((*off(without), *made))
        if possible is not False and size > 1:
            size //= 2
            continue
        if possible is None:
            raise UndecidedError
        needed += part if possible else []
        open_, size = rest, max(1, len(rest) // 2)
    return tuple(needed)


# The least change of one limit, or of several together.


EXACT = 1e-6
"""Gap to which the least figure of one limit is found."""
SAME_SHARE = 1.01
"""Factor to which the least share of several limits is found."""
MOST_PROBES = 60
MOST_SHARE = 1e9
WORTH_TELLING = 0.99
"""Factor by which a change of several must be smaller than a change of one."""
DIRECT: Mapping[str, ObjectiveName] = {
    "it_power": "power",
    "facility_power": "least_meter",
    "capex": "cost",
    "tco": "tco",
    "per_useful_gpu_hour": "usd_per_useful_gpu_hour",
    "per_million_tokens": "usd_per_million_tokens",
    "gpus_min": "gpus",
    "min_gpus": "gpus",
    "min_useful_gpus": "useful_gpus",
    "min_useful_pflops": "goodput",
}
"""Objectives whose optimum is the tightest value of a limit."""


class Threshold(NamedTuple):
    """Values of a lever a small step apart: with ``enough`` there is a plan, with ``short`` none.

    ``short`` is None where it was not decided that less is not enough.
    """

    enough: float
    short: float | None


class Together(NamedTuple):
    """Levers with their thresholds, None for a choice; the weighted sum of the moves, its bound."""

    moved: tuple[tuple[Lever, Threshold | None], ...]
    weighted: float
    bound: float


def share_of(lever: Lever, found: Threshold | None) -> float:
    """A change as a share of the limit; 1 for a choice."""
    if found is None or lever.value is None:
        return 1.0
    return abs(found.enough - lever.value) / (abs(lever.value) or 1.0)


# One limit.


def threshold(oracle: Oracle, lever: Lever, others: tuple[Change, ...] = ()) -> Threshold | None:
    """The value of a lever from which on there is a plan; None where it alone gives none.

    Args:
        oracle: of a problem that has no plan.
        others: changes made beside it, with which there is no plan either.

    Raises:
        UndecidedError: work or time ran out.
    """
    assert lever.value is not None
    free = oracle.decided((*others, *lever.off))
    if not free.possible or free.case is None:
        return None
    best = _optimum(oracle, free.case, lever)
    if best is None:
        good = _doubled(oracle, lever, others)
        return None if good is None else _between(oracle, lever, others, good)
    place, bound = (min(max(each, lever.least), lever.most) for each in best)
    step = step_at(lever, place)
    enough = on_grid(lever, place, step)
    short = enough - lever.looser * step
    if lever.looser_than(bound, short) and lever.looser_than(short, lever.value):
        if oracle.decided((*others, *lever.to(enough))).possible:
            return Threshold(enough, short)
    return _between(oracle, lever, others, place)


def _optimum(oracle: Oracle, case: Case, lever: Lever) -> tuple[float, float] | None:
    """The least value of a lever that is enough, and one that is not, where an objective finds
    them; None elsewhere."""
    name = DIRECT.get(lever.limit)
    if name is None or lever.path != BY_NAME[lever.limit].path:
        return None
    found = oracle.optimum(replace(case, objective=name), EXACT)
    if found.status != "optimal" or found.best is None or found.bound is None:
        return None
    return natural(name, found.best), natural(name, found.bound)


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
    return bool(oracle.decided((*others, *lever.to(value))).possible)


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
        else:  # the optimum was a hair too good
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


# Several limits.


def move_together(
    oracle: Oracle,
    levers: Sequence[Lever],
    weights: Mapping[str, float],
    known: float,
    choices: Sequence[Lever] = (),
) -> Together | None:
    """A small change of several limits, proven in its largest part; None where none helps, or none
    with a smaller sum than is known.

    Args:
        oracle: of a problem that has no plan.
        levers: those that may be moved.
        weights: cost of a change by a lever's whole value, by path; 1 unless given.
        known: the weighted sum of the smallest change of one lever.
        choices: levers without a value, given up as far as limits alone do not help.

    Raises:
        UndecidedError: work or time ran out.
    """
    movable, given_up = [lever for lever in levers if lever.value is not None], list(choices)
    if not oracle.decided(off([*given_up, *movable])).possible:
        return None
    for choice in choices:
        rest = [each for each in given_up if each is not choice]
        if oracle.decided(off([*rest, *movable])).possible:
            given_up = rest
    made = off(given_up)
    if given_up and oracle.decided(made).possible:
        return Together(tuple((each, None) for each in given_up), float(len(given_up)), 0.0)
    few, many = _least_share(oracle, movable, weights, known, made)
    if many >= min(known * WORTH_TELLING, MOST_SHARE):
        return None
    places = {
        lever: on_grid(lever, place, step_at(lever, place))
        for lever, place in _places(movable, weights, many).items()
    }
    tight = _tightened(oracle, places, weights, made)
    if tight is None:
        return None
    weighted = sum(weights.get(lever.path, 1.0) * share_of(lever, each) for lever, each in tight)
    if not given_up and weighted >= known * WORTH_TELLING:
        return None
    moved = (*tight, *((each, None) for each in given_up))
    return Together(moved, weighted + len(given_up), few)


def _least_share(
    oracle: Oracle,
    levers: Sequence[Lever],
    weights: Mapping[str, float],
    known: float,
    made: tuple[Change, ...],
) -> tuple[float, float]:
    """The weighted shares of all levers with which there is no plan, and with which there is."""

    def helps(share: float) -> bool:
        places = _places(levers, weights, share)
        return bool(oracle.decided((*made, *_changes(places))).possible)

    few, many, most = 0.0, min(known, 0.01), min(known, MOST_SHARE)
    while many < most and not helps(many):
        few, many = many, min(2.0 * many, most)
    while many > few * SAME_SHARE and EXACT < many < MOST_SHARE:
        middle = math.sqrt(few * many) if few else many / 2.0
        few, many = (few, middle) if helps(middle) else (middle, many)
    return few, many


def _places(
    levers: Sequence[Lever], weights: Mapping[str, float], share: float
) -> dict[Lever, float]:
    """The values of levers loosened by a share of them, over their weights."""
    places = {}
    for lever in levers:
        assert lever.value is not None
        width = share / weights.get(lever.path, 1.0) * (abs(lever.value) or 1.0)
        place = min(max(lever.value + lever.looser * width, lever.least), lever.most)
        if lever.whole:  # rounded to the tighter side
            place = float(math.floor(place) if lever.looser > 0 else math.ceil(place))
        if place != lever.value:
            places[lever] = place
    return places


def _tightened(
    oracle: Oracle,
    places: dict[Lever, float],
    weights: Mapping[str, float],
    made: tuple[Change, ...],
) -> tuple[tuple[Lever, Threshold], ...] | None:
    """Each lever moved no further than needed, the others fixed; those of most weight first."""
    final: dict[Lever, Threshold] = {}
    for lever in sorted(places, key=lambda lever: -weights.get(lever.path, 1.0)):
        others = _changes({other: place for other, place in places.items() if other != lever})
        if oracle.possible((*made, *others)):
            del places[lever]
            continue
        try:
            found = threshold(oracle, lever, (*made, *others))
        except UndecidedError:
            found = Threshold(places[lever], None)
        if found is None:
            return None
        places[lever], final[lever] = found.enough, found
    enough = oracle.decided((*made, *_changes(places))).possible
    return tuple(final.items()) if enough else None


def _changes(places: Mapping[Lever, float]) -> tuple[Change, ...]:
    return tuple(change for lever, place in places.items() for change in lever.to(place))
