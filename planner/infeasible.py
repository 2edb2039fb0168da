"""Why a problem has no plan, and the least change that gives it one; all in whole numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from planner.case import Case, missing_figure, resolve, why_excluded, why_not_wanted
from planner.case.model import ObjectiveName
from planner.errors import InputError
from planner.inputs import Change, Inputs, applied, key_of
from planner.levers import Lever, levers, proposal_step
from planner.limits import BY_NAME
from planner.loader.checks import check_problem
from planner.optimizer import optimise
from planner.optimizer.objective import natural
from planner.optimizer.search import POSSIBLE_WORK, REASONS_WORK, Effort
from planner.paths import job_path
from planner.schema.plan import Combined, Infeasibility, Named, Step

_FACTS = (
    *("site.rack.", "storage.client_limit", "storage.fill_limit", "storage.max_families"),
    *map(job_path, ("checkpoint.stall", "checkpoint.local", "checkpoint.interval", "dataset")),
    *map(job_path, ("checkpoint.keep_last", "restore.restart", "repair.time", "repair.swap")),
)
"""Demands of the job and facts of the plant: blamed only where nothing else will do."""
_SUPPLY = ("items.", "policy.", "consider.")
_BUDGETS = ("site.", "budget.")

ANY_GAP = 10.0
"""The gap to the least power that ends the search for any plan."""
MOST_CONFLICTS = 8
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
    "min_useful_gpus": "useful_gpus",
    "min_useful_pflops": "goodput",
}
"""Objectives whose optimum is the tightest value of a limit."""


class UndecidedError(Exception):
    """Work or time ran out before a question was answered."""


class Decision(NamedTuple):
    """Feasibility of a problem (None: not decided), with its case if it has a plan."""

    possible: bool | None
    case: Case | None = None


class Threshold(NamedTuple):
    """Values of a lever a small step apart: with ``enough`` there is a plan, with ``short`` none.

    ``short`` is None where it was not decided that less is not enough.
    """

    enough: float
    short: float | None


def explain(
    inputs: Inputs,
    *,
    keep: Sequence[str] = (),
    effort: Effort | None = None,
) -> Infeasibility:
    """Conflicting limits of a problem without a plan, and its least relaxations.

    Args:
        inputs: a problem that is known to have none.
        keep: paths that must not be changed.
        effort: work and time limit; ``REASONS_WORK`` holds in any case.
    """
    oracle = Oracle(inputs, (effort or Effort()).part(REASONS_WORK))
    everything = sorted(levers(inputs), key=_blame)
    free = [lever for lever in everything if lever.path not in keep]
    helped, undecided = _single_changes(oracle, free)
    clashes: list[tuple[Lever, ...]] = []
    combined = None
    try:
        clashes = _conflicts(oracle, everything, free) if not undecided else []
    except UndecidedError:
        undecided.append("the conflicting limits")
    try:
        combined = _combined(oracle, free, clashes, helped)
    except UndecidedError:
        undecided.append("the least change of several limits")
    return Infeasibility(
        reasons=_reasons(oracle, everything),
        conflicts=tuple(tuple(map(_lever_name, each)) for each in clashes),
        changes=tuple(_step(*each) for each in helped),
        combined=combined,
        undecided=tuple(undecided),
    )


def _blame(lever: Lever) -> int:
    """The key by which levers are sorted: those to blame last come first."""
    if not lever.stated:
        return 0
    ranks = ((_SUPPLY, 1), (_FACTS, 2), (_BUDGETS, 3))
    return next((rank for starts, rank in ranks if lever.path.startswith(starts)), 4)


# Feasibility of changed problems.


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
        """The answer for the problem with these changes; UndecidedError without one."""
        if self.possible(changes) is None:
            raise UndecidedError
        return self._known[key_of(changes)]

    def case(self, changes: tuple[Change, ...]) -> Case | None:
        """The changed problem in numbers; None where a demand of it cannot be met."""
        try:
            return resolve(applied(self.inputs, (*changes, *self._lift_exclusions)))
        except InputError:
            return None

    @cached_property
    def _lift_exclusions(self) -> tuple[Change, ...]:
        """Changes that exclude items without a figure that the problem requires: without a limit
        some figures would not be required, but the limit is only moved."""
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
        easy = replace(case, objective="power", indifference=0.0)
        effort = self.effort.part(POSSIBLE_WORK)
        found = optimise(easy, gap=ANY_GAP, effort=effort, ties=False)
        if found.operation is not None:
            return Decision(True, case)
        return Decision(False if found.status == "infeasible" else None)

    def tightest(self, case: Case, lever: Lever) -> tuple[float, float] | None:
        """The least value of a lever that is enough, and one that is not, where an objective finds
        them; None elsewhere."""
        name = DIRECT.get(lever.limit)
        if name is None or lever.path != BY_NAME[lever.limit].path:
            return None
        asked, effort = replace(case, objective=name, indifference=0.0), self.effort
        found = optimise(asked, gap=EXACT, effort=effort.part(POSSIBLE_WORK), ties=False)
        if found.status != "optimal" or found.best is None or found.bound is None:
            return None
        return natural(name, found.best), natural(name, found.bound)


# Which limits cannot hold together: sets from which none can be left out.


def removing_changes(levers: Sequence[Lever]) -> tuple[Change, ...]:
    """The changes that give up all of some levers."""
    return tuple(change for lever in levers for change in lever.off)


def _given_up(clash: Sequence[Lever], free: Sequence[Lever]) -> Lever | None:
    """The limit of a conflict to blame first of those that are free; None where all must stay."""
    return next((lever for lever in reversed(clash) if lever in free), None)


def _conflicts(
    oracle: Oracle, levers: Sequence[Lever], free: Sequence[Lever]
) -> list[tuple[Lever, ...]]:
    """Conflicts until giving up one limit of each leaves a plan; without all of them there must be
    one."""
    found: list[tuple[Lever, ...]] = []
    dropped: list[Lever] = []
    while len(found) < MOST_CONFLICTS and not oracle.decided(removing_changes(dropped)).possible:
        one = minimal_conflict(
            oracle, [each for each in levers if each not in dropped], removing_changes(dropped)
        )
        found += [one] if one else []
        blamed = _given_up(one, free)
        if blamed is None:
            break
        dropped.append(blamed)
    return found


def minimal_conflict(
    oracle: Oracle, levers: Sequence[Lever], made: tuple[Change, ...]
) -> tuple[Lever, ...]:
    """A minimal set of conflicting levers: a deletion filter, halves first.

    Args:
        oracle: of a problem that has no plan, with the changes ``made`` neither.
        levers: candidates, the ones to blame last first.

    Raises:
        UndecidedError: work or time ran out.
    """
    needed: list[Lever] = []
    open_, size = list(levers), max(1, len(levers) // 2)
    while open_:
        part, rest = open_[:size], open_[size:]
        without = [lever for lever in levers if lever not in needed and lever not in rest]
        possible = oracle.possible((*removing_changes(without), *made))
        if possible is not False and size > 1:
            size //= 2
            continue
        if possible is None:
            raise UndecidedError
        needed += part if possible else []
        open_, size = rest, max(1, len(rest) // 2)
    return tuple(needed)


# The least change of one limit.


def _single_changes(
    oracle: Oracle, everything: Sequence[Lever]
) -> tuple[list[tuple[Lever, Threshold | None]], list[str]]:
    """The levers that help alone, and the paths that were not decided."""
    helped: list[tuple[Lever, Threshold | None]] = []
    undecided: list[str] = []
    for lever in everything:
        try:
            if lever.value is not None and (found := find_threshold(oracle, lever)) is not None:
                helped.append((lever, found))
            elif lever.value is None and oracle.decided(lever.off).possible:
                # Without some choices nothing would limit the purchase: no problem to propose.
                findings = check_problem(applied(oracle.inputs, lever.off))
                bounded = all(finding.code != "unbounded" for finding in findings)
                helped += [(lever, None)] if bounded else []
        except UndecidedError:
            undecided.append(lever.path)
    helped.sort(key=lambda entry: (_blame(entry[0]) < 3, _share(*entry)))
    return helped, undecided


def _share(lever: Lever, found: Threshold | None) -> float:
    """A change as a share of the limit; 1 for a choice."""
    if found is None or lever.value is None:
        return 1.0
    return abs(found.enough - lever.value) / (abs(lever.value) or 1.0)


def find_threshold(
    oracle: Oracle, lever: Lever, others: tuple[Change, ...] = ()
) -> Threshold | None:
    """The value of a lever from which on there is a plan; None where it alone gives none.

    The problem of ``oracle`` has no plan, with the changes ``others`` neither.

    Raises:
        UndecidedError: work or time ran out.
    """
    assert lever.value is not None
    free = oracle.decided((*others, *lever.off))
    if not free.possible or free.case is None:
        return None
    best = oracle.tightest(free.case, lever)
    if best is None:
        good = _doubled(oracle, lever, others)
        return None if good is None else _between(oracle, lever, others, good, lever.value)
    place, bound = (min(max(each, lever.least), lever.most) for each in best)
    step = _step_at(lever, place)
    short = _next_multiple(lever, place, step) - lever.looser * step
    proven = lever.looser_than(bound, short) and lever.looser_than(short, lever.value)
    return _between(oracle, lever, others, place, short if proven else lever.value)


def _doubled(oracle: Oracle, lever: Lever, others: tuple[Change, ...]) -> float | None:
    """A value that lets a plan in, found in growing steps."""
    assert lever.value is not None
    width = abs(lever.value) * 0.25 or 1.0
    for _ in range(MOST_PROBES):
        there = min(max(lever.value + lever.looser * width, lever.least), lever.most)
        there = float(round(there)) if lever.whole else there
        if there != lever.value and oracle.decided((*others, *lever.to(there))).possible:
            return there
        if there == lever.loosest:
            return None
        width *= 2.0
    return None


def _between(
    oracle: Oracle, lever: Lever, others: tuple[Change, ...], good: float, bad: float
) -> Threshold | None:
    """The threshold to the last digit of a proposal: next to a hint first, then by halving."""
    first = True
    for _ in range(MOST_PROBES):
        step = _step_at(lever, good)
        enough = _next_multiple(lever, good, step)
        short = enough - lever.looser * step
        if lever.looser_than(short, bad):
            half = _next_multiple(lever, (bad + good) / 2.0, step)
            there = short if first or not lever.looser_than(short, half) else half
            first = False
            if oracle.decided((*others, *lever.to(there))).possible:
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


def _step_at(lever: Lever, place: float) -> float:
    """The step to which a lever is rounded near a value."""
    assert lever.value is not None
    return (
        1.0 if lever.whole else proposal_step(place - lever.value, place, lever.unit, lever.money)
    )


def _next_multiple(lever: Lever, value: float, step: float) -> float:
    """The next multiple of a step on the looser side, within the lever's reach."""
    count = value / step
    near = round(count)
    if abs(count - near) > 1e-6:
        near = math.ceil(count) if lever.looser > 0 else math.floor(count)
    return min(max(float(f"{near * step:.12g}"), lever.least), lever.most)


# The least change of several limits together.


def _combined(
    oracle: Oracle,
    free: Sequence[Lever],
    clashes: Sequence[Sequence[Lever]],
    helped: Sequence[tuple[Lever, Threshold | None]],
) -> Combined | None:
    """A change of several limits, smaller than every change of one and proven in its largest part;
    None where there is none.

    Where no change of one helps, the choices to blame are given up as far as limits alone do not
    help; then all limits move by the same share, and each back as far as it can.
    """
    known = min((_share(*each) for each in helped), default=math.inf)
    movable = [lever for lever in free if lever.value is not None]
    blamed = [] if helped else [_given_up(each, free) for each in clashes]
    choices = [lever for lever in blamed if lever is not None and lever.value is None]
    if not oracle.decided(removing_changes([*choices, *movable])).possible:
        return None
    for choice in list(choices):
        rest = [each for each in choices if each is not choice]
        if oracle.decided(removing_changes([*rest, *movable])).possible:
            choices = rest
    made, least, tight = removing_changes(choices), 0.0, dict[Lever, Threshold]()
    if not choices or not oracle.decided(made).possible:
        least, many = _least_share(oracle, movable, known, made)
        if many >= min(known * WORTH_TELLING, MOST_SHARE):
            return None
        found = _tightened(oracle, _places(movable, many), made)
        if found is None:
            return None
        tight = found
    moved = sum(_share(*each) for each in tight.items())
    if len(tight) + len(choices) < 2 or (not choices and moved >= known * WORTH_TELLING):
        return None
    steps = (*(_step(*each) for each in tight.items()), *(_step(each, None) for each in choices))
    return Combined(steps=steps, share=moved + len(choices), bound=least)


def _least_share(
    oracle: Oracle,
    levers: Sequence[Lever],
    known: float,
    made: tuple[Change, ...],
) -> tuple[float, float]:
    """The shares of all levers with which there is no plan, and with which there is."""

    def helps(share: float) -> bool:
        places = _places(levers, share)
        return bool(oracle.decided((*made, *_changes(places))).possible)

    few, many, most = 0.0, min(known, 0.01), min(known, MOST_SHARE)
    while many < most and not helps(many):
        few, many = many, min(2.0 * many, most)
    while many > few * SAME_SHARE and EXACT < many < MOST_SHARE:
        middle = math.sqrt(few * many) if few else many / 2.0
        few, many = (few, middle) if helps(middle) else (middle, many)
    return few, many


def _places(levers: Sequence[Lever], share: float) -> dict[Lever, float]:
    """The values of levers loosened by a share of them."""
    places = {}
    for lever in levers:
        assert lever.value is not None
        width = share * (abs(lever.value) or 1.0)
        place = min(max(lever.value + lever.looser * width, lever.least), lever.most)
        if lever.whole:  # rounded to the tighter side
            place = float(math.floor(place) if lever.looser > 0 else math.ceil(place))
        if place != lever.value:
            places[lever] = place
    return places


def _tightened(
    oracle: Oracle,
    loose: Mapping[Lever, float],
    made: tuple[Change, ...],
) -> dict[Lever, Threshold] | None:
    """Each lever moved no further than needed, the others fixed."""
    places = {lever: _next_multiple(lever, at, _step_at(lever, at)) for lever, at in loose.items()}
    final: dict[Lever, Threshold] = {}
    for lever in list(places):
        others = _changes({other: place for other, place in places.items() if other != lever})
        if oracle.possible((*made, *others)):
            del places[lever]
            continue
        try:
            found = find_threshold(oracle, lever, (*made, *others))
        except UndecidedError:
            found = Threshold(places[lever], None)
        if found is None:
            return None
        places[lever], final[lever] = found.enough, found
    return final if oracle.decided((*made, *_changes(places))).possible else None


def _changes(places: Mapping[Lever, float]) -> tuple[Change, ...]:
    return tuple(change for lever, place in places.items() for change in lever.to(place))


# The record.


def _lever_name(lever: Lever) -> Named:
    text = "" if lever.value is None else lever.text(lever.value)
    limit = BY_NAME.get(lever.limit)
    if limit is not None and limit.file_unit == "number" and limit.unit not in lever.label:
        text = f"{text} {limit.unit}"  # the file has it in the name of the key
    return Named(
        path=lever.path, label=lever.label, text=text, source=lever.place, stated=lever.stated
    )


def _step(lever: Lever, found: Threshold | None) -> Step:
    """A lever moved to its threshold, or a choice given up."""
    least, short = (None, None) if found is None else found
    return Step(
        path=lever.path,
        label=lever.label,
        source=lever.place,
        unit="" if least is None else lever.unit,
        value=None if least is None else lever.value,
        least=least,
        not_enough=short,
        from_text="" if least is None or lever.value is None else lever.text(lever.value),
        to_text="" if least is None else lever.text(least),
        not_enough_text="" if short is None else lever.text(short),
        what=lever.choice if least is None else "",
        settings=tuple(c.setting for c in (lever.off if least is None else lever.to(least))),
    )


def _reasons(oracle: Oracle, everything: Sequence[Lever]) -> tuple[str, ...]:
    """Causes that no limit can remove, such as no product on offer.

    Products that the problem does not want come last.
    """
    reasons: list[str] = []
    case, inputs = oracle.case(()), oracle.inputs
    if case is None:
        return ()
    for offers, kind, what in (
        (case.systems, "gpu_system", "GPU system"),
        (case.storage, "storage", "storage item"),
    ):
        if not offers:
            names: dict[str, list[str]] = {}
            for item in sorted(inputs.items, key=lambda i: why_not_wanted(i, inputs.problem) or ""):
                reason = why_excluded(item, inputs) if item.category == kind else None
                if reason is not None:
                    names.setdefault(reason, []).append(item.id)
            each = (f"{', '.join(skus)}: {reason}" for reason, skus in names.items())
            reasons.append(f"no {what} is on offer: {'; '.join(each) or 'the catalogs hold none'}")
    if oracle.possible(removing_changes(everything)) is False:
        reasons.append("even without any of its limits the problem has no plan")
    return tuple(reasons)
