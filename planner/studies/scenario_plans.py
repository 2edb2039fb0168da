"""Best plans of scenarios, proven and verified; those that differ in supplies share a search."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.assemble import assemble
from planner.assemble.limits import systems_of_a_step
from planner.assemble.racks import rack_groups
from planner.case import Case, resolve
from planner.case.resolve import limit_at
from planner.errors import InputError, PlannerError, VerificationError
from planner.infeasible import clash
from planner.inputs import Change, Inputs, changed
from planner.levers import Lever
from planner.limits import COUNTED_IN, SUPPLIES, Limit
from planner.loader.vary import checked
from planner.optimizer import bill as bills
from planner.optimizer.objective import natural
from planner.optimizer.operate import Run
from planner.optimizer.optimise import Certificate, share, share_given_away
from planner.optimizer.sweep import Found, Sweep
from planner.outputs.words import listed
from planner.schema.plan import Plan
from planner.schema.sensitivity import PLANNED, RowStatus
from planner.studies.pool import Lost, Progress, ignore, results
from planner.studies.request import SweepOptions
from planner.studies.scenarios import (
    COUNT_PREFIX,
    FIELD_OF,
    OF_JOB,
    OF_TOTALS,
    Row,
    Scenario,
    error_text,
)
from planner.verifier import confirms, passed, verify

Numbers = NDArray[np.float64]


class Answer(NamedTuple):
    """A scenario's best plan with its proof.

    ``value`` and ``bound`` are in the objective's own unit; ``value`` is the best known, or that of
    the plan that `solve` takes of those near it. ``gap`` is a share, from the best to the bound.
    ``score``, ``score_best`` and ``score_bound`` are as the search scales them. ``certificate``:
    proven by work on this scenario ("search") or by what was proven for others ("reused").
    """

    scenario: Scenario
    status: RowStatus
    value: float | None = None
    bound: float | None = None
    gap: float | None = None
    operation: Run | None = None
    certificate: str = ""
    reason: str = ""
    score: float | None = None
    score_bound: float | None = None
    score_best: float | None = None


# Groups and pieces

FIELDS: Mapping[str, str] = {limit.path: limit.field for limit in SUPPLIES}
"""Limits of a case that follow from one place of the problem alone, by that place."""
COUNTED = frozenset(limit.path for limit in SUPPLIES if limit.unit in COUNTED_IN)
"""Those of them that are whole numbers."""

LEAST_SPLIT, HALVED, PIECE = 64, 512, 2500
"""Scenarios of a group that is split, that is halved for two cores, and at most of one piece."""
TOGETHER = 16
"""Groups of few scenarios in one piece."""


class Group(NamedTuple):
    """Scenarios that differ in supplies alone: ``paths`` are the supplies that all of them change,
    ``shared`` the other changes."""

    base: str
    shared: tuple[Change, ...]
    paths: tuple[str, ...]
    scenarios: tuple[Scenario, ...]

    @property
    def values(self) -> Numbers:
        """Supplies: a row for each scenario, a column for each path."""
        rows = []
        for scenario in self.scenarios:
            last = {change.path: change.value for change in scenario.changes}
            rows.append([float(last[path]) for path in self.paths])
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(self.paths))


def groups(scenarios: Iterable[Scenario]) -> list[Group]:
    """Return scenarios in groups, in the order of their first ones; without those refused."""
    found: dict[tuple[object, ...], list[Scenario]] = {}
    parts: dict[tuple[object, ...], tuple[tuple[Change, ...], tuple[str, ...]]] = {}
    for scenario in scenarios:
        if scenario.refused:
            continue
        supplies = [c for c in scenario.changes if c.path in FIELDS and c.value is not None]
        paths = tuple(sorted({change.path for change in supplies}))
        shared = tuple(c for c in scenario.changes if c not in supplies)
        key = (scenario.base, tuple((c.path, repr(c.value)) for c in shared), paths)
        found.setdefault(key, []).append(scenario)
        parts.setdefault(key, (shared, paths))
    return [Group(some[0].base, *parts[key], tuple(some)) for key, some in found.items()]


def pieces(scenarios: Sequence[Scenario]) -> list[tuple[Scenario, ...]]:
    """Return scenarios in pieces, the same for any number of processes.

    A large group falls into compact parts, since a proof serves scenarios nearby; small groups go
    together. Refused scenarios are in none.
    """
    found: list[tuple[Scenario, ...]] = []
    small: list[Scenario] = []
    count = 0
    for group in groups(scenarios):
        if len(group.scenarios) >= LEAST_SPLIT:
            found += _compact(group)
            continue
        small += group.scenarios
        count += 1
        if count == TOGETHER or len(small) >= LEAST_SPLIT:
            found.append(tuple(small))
            small, count = [], 0
    return [*found, tuple(small)] if small else found


def _compact(group: Group) -> Iterator[tuple[Scenario, ...]]:
    """Yield a group halved across its widest side until the parts are small enough."""
    points = group.values
    span = np.ptp(points, axis=0)
    scaled = points / np.where(span > 0, span, 1.0)
    halved = HALVED <= len(points) < 2 * PIECE
    most = -(-len(points) // 2) if halved else PIECE
    waiting = [np.arange(len(points))]
    while waiting:
        part = waiting.pop(0)
        if len(part) <= most or not group.paths:
            yield tuple(group.scenarios[place] for place in part.tolist())
            continue
        side = int(np.argmax(np.ptp(scaled[part], axis=0)))
        order = part[np.argsort(scaled[part, side], kind="stable")]
        middle = len(order) // 2
        waiting[:0] = [order[:middle], order[middle:]]


# Solving


@dataclass(frozen=True)
class Prepared:
    """A group with inputs and case under its loosest limits.

    ``allowed`` has a row for each scenario and a column for each of the ``supplies``.
    """

    group: Group
    inputs: Inputs
    case: Case
    supplies: tuple[Limit, ...]
    allowed: Numbers
    options: SweepOptions

    def inputs_of(self, place: int) -> Inputs:
        """Return the inputs of one scenario."""
        inputs = self.inputs
        for change in self.group.scenarios[place].changes:
            if change.path in self.group.paths:
                inputs = changed(inputs, change.path, change.value)
        return inputs


def prepare(base: Inputs, group: Group, options: SweepOptions) -> Prepared:
    """Return a group ready to be solved.

    Raises:
        InputError: what the scenarios share does not go together.
    """
    points, paths = group.values, group.paths
    loosest = [
        Change(path, round(column.max()) if path in COUNTED else float(column.max()), "")
        for path, column in zip(paths, points.T, strict=True)
    ]
    top = checked(base, (*group.shared, *loosest))
    case = resolve(top)
    supplies = bills.limited(case.limits)
    allowed = np.tile(bills.allowed(supplies, case.limits), (len(points), 1))
    for path, column in zip(paths, points.T, strict=True):
        at = next(n for n, each in enumerate(supplies) if each.field == FIELDS[path])
        limits = [limit_at(top.problem, path, value) for value in column.tolist()]
        allowed[:, at] = np.array(limits) / supplies[at].scale
    return Prepared(group, top, case, supplies, allowed, options)


def solve(asked: Prepared) -> list[Answer]:
    """Return an answer for each scenario of a group, in order."""
    options = asked.options
    found = Sweep(
        asked.case,
        asked.allowed,
        asked.supplies,
        options.gap,
        options.time_limit_s,
        options.ties,
    ).answers()
    pairs = zip(asked.group.scenarios, found, strict=True)
    return [_answer(asked.case, options.gap, scenario, each) for scenario, each in pairs]


def _answer(case: Case, gap_asked: float, scenario: Scenario, found: Found) -> Answer:
    if found.endless:
        return Answer(scenario, "unbounded", certificate=found.certificate)
    if found.operation is None:
        open_ = math.isfinite(found.bound) or found.bound > 0
        status: RowStatus = "no_solution" if open_ else "infeasible"
        return Answer(scenario, status, certificate=found.certificate)
    sign = 1.0 if case.maximise else -1.0
    score, bound = sign * found.score, sign * found.bound
    known = math.isfinite(bound)
    gap = share(case, sign * found.best, bound) if known else None
    return Answer(
        scenario,
        "optimal" if gap is not None and gap <= gap_asked + 1e-9 else "feasible",
        value=natural(case.objective, score),
        bound=natural(case.objective, bound) if known else None,
        gap=gap,
        operation=found.operation,
        certificate=found.certificate,
        score=score,
        score_bound=bound if known else None,
        score_best=sign * found.best,
    )


def _solved(
    bases: Mapping[str, Inputs], group: Group, options: SweepOptions
) -> Iterator[tuple[Prepared | None, list[Answer]]]:
    """Yield a group's answers, in parts where one scenario has to stand apart."""
    base, scenarios = bases[group.base], group.scenarios
    try:
        asked = prepare(base, group, options)
    except InputError as error:
        yield from _checked(bases, group, options, error)
        return
    try:
        yield asked, solve(asked)
    except Exception as error:
        if len(scenarios) == 1:
            yield None, [failed(scenarios[0], error)]
            return
        for scenario in scenarios:  # one of them broke the solver; the others are solved
            yield from _solved(bases, group._replace(scenarios=(scenario,)), options)


def _checked(
    bases: Mapping[str, Inputs], group: Group, options: SweepOptions, error: InputError
) -> Iterator[tuple[Prepared | None, list[Answer]]]:
    """Yield a group whose loosest limits contradict something; tighter ones may not."""
    if len(group.scenarios) == 1:
        yield None, [Answer(group.scenarios[0], "invalid", reason=error_text(error))]
        return
    sound, refused = [], []
    for each in group.scenarios:
        try:
            checked(bases[group.base], each.changes)
            sound.append(each)
        except InputError as own:
            refused.append(Answer(each, "invalid", reason=error_text(own)))
    yield None, refused
    parts = [tuple(sound)] if refused else [(each,) for each in sound]
    for part in parts:
        if part:
            yield from _solved(bases, group._replace(scenarios=part), options)


def failed(scenario: Scenario, error: Exception) -> Answer:
    """Return the answer of a scenario that ended in an error."""
    text = str(error)
    if not isinstance(error, PlannerError):
        text = f"internal error: {type(error).__name__}: {text}"
    return Answer(scenario, "failed", reason=text)


def _answers_of(
    bases: Mapping[str, Inputs], options: SweepOptions, piece: Sequence[Scenario]
) -> dict[int, Answer]:
    return {
        answer.scenario.index: answer
        for group in groups(piece)
        for _, answers in _solved(bases, group, options)
        for answer in answers
    }


def _rows_of(
    bases: Mapping[str, Inputs], options: SweepOptions, piece: Sequence[Scenario]
) -> dict[int, Row]:
    found: dict[int, Row] = {}
    for group in groups(piece):
        for asked, answers in _solved(bases, group, options):
            try:
                made = rows(asked, answers) if asked else [blank(each) for each in answers]
            except Exception as error:
                made = [blank(failed(each.scenario, error)) for each in answers]
            found |= {a.scenario.index: row for a, row in zip(answers, made, strict=True)}
    return found


def answers(
    inputs: Inputs,
    scenarios: Sequence[Scenario],
    options: SweepOptions,
    progress: Progress = ignore,
) -> list[Answer]:
    """Return an answer for each scenario of a problem, in order."""
    found = {s.index: Answer(s, "invalid", reason=s.refused) for s in scenarios if s.refused}
    do = partial(_answers_of, {"": inputs}, options)
    parts: dict[Hashable, tuple[Scenario, ...]] = dict(enumerate(pieces(scenarios)))
    for key, made in results(do, parts.items(), jobs=options.jobs, dask=options.dask):
        if isinstance(made, Lost):
            made = {s.index: Answer(s, "failed", reason=made.reason) for s in parts[key]}
        found |= made
        progress(len(found), len(scenarios))
    return [found[scenario.index] for scenario in scenarios]


def table_rows(
    bases: Mapping[str, Inputs],
    scenarios: Sequence[Scenario],
    options: SweepOptions,
    found: dict[int, Row],
    progress: Progress = ignore,
) -> None:
    """Fill in the row of each scenario by its index, without the columns of inputs.

    Args:
        found: takes the rows as they come; what is there stays after an interruption.
    """
    found |= {
        s.index: blank(Answer(s, "invalid", reason=s.refused)) for s in scenarios if s.refused
    }
    do = partial(_rows_of, bases, options)
    parts: dict[Hashable, tuple[Scenario, ...]] = dict(enumerate(pieces(scenarios)))
    for key, made in results(do, parts.items(), jobs=options.jobs, dask=options.dask):
        if isinstance(made, Lost):
            lost = made.reason
            made = {s.index: blank(Answer(s, "failed", reason=lost)) for s in parts[key]}
        found |= made
        progress(len(found), len(scenarios))


# Scenarios without a plan

NO_PLAN = "no plan meets every limit"
MOST_EXPLAINED = 6
"""Scenarios of a group whose conflict is searched; the others take over what holds for them."""
WORK = 3000.0


def reasons(asked: Prepared, places: Sequence[int]) -> dict[int, str]:
    """Return the conflicting limits of scenarios without a plan, by their place in a group.

    A conflict holds for every scenario whose changed limits among the conflicting are tighter.
    """
    points, paths = asked.group.values, asked.group.paths
    top = points.max(axis=0)
    loose = {place: float((points[place] / top.clip(1e-300)).sum()) for place in places}
    found: dict[int, str] = {}
    searches = 0
    for place in sorted(places, key=lambda place: (-loose[place], place)):
        if place in found or searches >= MOST_EXPLAINED:
            continue
        levers = clash(asked.inputs_of(place), work=WORK)
        searches += 1
        columns = [paths.index(lever.path) for lever in levers if lever.path in paths]
        for other in places:
            if other not in found and (points[other] <= points[place])[columns].all():
                here = dict(zip(paths, points[other].tolist(), strict=True))
                found[other] = name_limits(levers, here)
    return found


def name_limits(levers: Sequence[Lever], here: Mapping[str, float]) -> str:
    """Return conflicting limits in words, with the values of ``here`` where it has any."""
    if not levers:
        return NO_PLAN
    names = []
    for lever in levers:
        value = here.get(lever.path, lever.value)
        names.append(lever.label if value is None else f"{lever.label} {lever.text(value)}")
    end = "cannot be met" if len(names) == 1 else "cannot hold together"
    return f"{listed(names)} {end}"


def conflict(inputs: Inputs, changes: Sequence[Change], work: float) -> str:
    """Return the limits that conflict after changes, in words."""
    try:
        return name_limits(clash(checked(inputs, changes), work=work), {})
    except InputError:
        return NO_PLAN


# Rows of the table


def blank(answer: Answer) -> Row:
    """Return the row of a scenario without a plan."""
    return {
        "status": answer.status,
        "bound": answer.bound,
        "certificate": answer.certificate or None,
        "reason": answer.reason or None,
    }


def rows(asked: Prepared, answers: Sequence[Answer]) -> list[Row]:
    """Return the row of each answer of a group.

    A plan is verified once, under the loosest limits of the group and those of its first scenario;
    its use of supplies is then compared with the limits of every scenario that it serves.
    """
    without = [place for place, answer in enumerate(answers) if answer.status == "infeasible"]
    why = reasons(asked, without) if without else {}
    found = [blank(answer) for answer in answers]
    for place in without:
        found[place]["reason"] = why.get(place, NO_PLAN)
    users: dict[int, list[int]] = {}
    for place, answer in enumerate(answers):
        if answer.operation is not None and answer.status in PLANNED:
            users.setdefault(id(answer.operation), []).append(place)
    for places in users.values():
        _fill(asked, answers, places, found)
    return found


def _fill(
    asked: Prepared, answers: Sequence[Answer], places: Sequence[int], found: list[Row]
) -> None:
    """Fill in the rows of the scenarios that one plan serves."""
    supplies, allowed = asked.supplies, asked.allowed[places]
    run = answers[places[0]].operation
    assert run is not None
    try:
        plan = _verified(asked, places[0], answers[places[0]])
    except VerificationError as error:
        for place in places:
            found[place] |= {"status": "failed", "reason": str(error)}
        return
    cells = _columns(plan, run)
    reports = {limit.name: limit for limit in plan.limits}
    takes = np.array([reports[each.name].value / each.scale for each in supplies], dtype=float)
    tolerance = np.array([each.tolerance for each in supplies])
    over = np.asarray(takes > allowed + tolerance * np.maximum(takes, allowed))
    names = [each.name for each in supplies]
    always = {each.name for each in plan.limits if each.binding} - set(names)
    more = np.array(
        [
            [spent[each.figure] / each.scale for each in supplies]
            for spent in _one_more(asked.case, run)
        ]
    ).reshape(-1, 1, len(supplies))
    binds = np.any(more > allowed * (1 + bills.TOLERANCE), axis=0)
    for row, place in enumerate(places):
        answer = answers[place]
        if over[row].any():
            broken = ", ".join(name for name, one in zip(names, over[row], strict=True) if one)
            text = f"the plan breaks a limit of this scenario: {broken}"
            found[place] = blank(answer) | {"status": "failed", "reason": text}
            continue
        binding = always | {name for name, one in zip(names, binds[row], strict=True) if one}
        found[place] = cells | {
            "status": answer.status,
            "objective": answer.value,
            "bound": answer.bound,
            "gap": answer.gap,
            "certificate": answer.certificate,
            "binding": ", ".join(sorted(binding)) or None,
        }


def _verified(asked: Prepared, place: int, answer: Answer) -> Plan:
    """Return a verified plan, which keeps the limits of its scenario, too.

    Raises:
        VerificationError: it does not agree with its re-computation, or breaks a limit.
    """
    score, best = answer.score, answer.score_best
    assert score is not None
    assert best is not None
    proven = Certificate(
        "optimal" if answer.status == "optimal" else "feasible",
        answer.operation,
        score,
        answer.score_bound,
        answer.gap,
        iterations=0,
        seconds=0.0,
        late=False,
        best=best,
        given_away=share_given_away(asked.case, score, best),
    )
    plan = confirmed(asked.inputs, asked.case, proven, asked.options.gap)
    if over := passed(asked.inputs_of(place), plan):
        raise VerificationError(over)
    return plan


def confirmed(inputs: Inputs, case: Case, proven: Certificate, gap: float) -> Plan:
    """Return a plan in figures, confirmed by its independent re-computation.

    Racks are packed only where the re-computation needs them, cables drawn where these do not do.

    Raises:
        VerificationError: the re-computation does not agree.
    """
    assert proven.operation is not None
    plan = assemble(inputs, case, proven, solver="highs", gap=gap, drawn=False)
    if confirms(inputs, plan):
        return plan
    plan = plan.model_copy(update={"racks": rack_groups(inputs, case, proven.operation)})
    if not confirms(inputs, plan):
        plan = assemble(inputs, case, proven, solver="highs", gap=gap)
        verify(inputs, plan)
    return plan


def _one_more(case: Case, run: Run) -> Iterator[bills.Bill]:
    """Yield the bill with one step more of each GPU type in use."""
    if not case.maximise:
        return
    for system in case.systems:
        if system.id not in run.used:
            continue
        count = run.units[system.id] + systems_of_a_step(case, run, system)
        if system.high is None or count <= system.high:
            with suppress(ValueError):  # no fabric is so large
                yield bills.bill(case, {**run.units, system.id: count}, run.ways)


def _columns(plan: Plan, run: Run) -> Row:
    storage = sum(line.working for line in plan.lines if line.category == "storage")
    own: Row = {"storage_units": storage, "mode": run.mode}
    figures: Row = {
        name: getattr(part, FIELD_OF.get(name, name))
        for part, names in ((plan.totals, OF_TOTALS), (plan.jobs[0], OF_JOB))
        for name in names
        if name not in own
    }
    counts = {COUNT_PREFIX + name: count for name, count in run.units.items() if count}
    return figures | own | counts
