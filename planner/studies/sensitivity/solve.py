"""Answers to scenarios: those that differ in what may be used up alone share one search."""

from __future__ import annotations

import math
import pickle
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.assemble import assemble
from planner.assemble.limits import systems_of_a_step
from planner.assemble.racks import rack_groups
from planner.case import Case, resolve
from planner.case.resolve import limit_at
from planner.errors import InputError, VerificationError
from planner.infeasible import clash
from planner.inputs import Change, Inputs, changed
from planner.levers import Lever
from planner.limits import COUNTED_IN, SUPPLIES, Limit
from planner.loader.vary import applied, check_key, checked
from planner.optimizer import purchase
from planner.optimizer.objective import natural
from planner.optimizer.operate import Run
from planner.optimizer.optimise import Certificate, share, share_given_away
from planner.optimizer.purchase import amounts, given, used
from planner.optimizer.sweep import Found, Sweep
from planner.outputs.words import listed
from planner.schema.plan import Plan
from planner.schema.sensitivity import PLANNED, RowStatus
from planner.studies.request import SweepOptions
from planner.studies.sensitivity.scenarios import (
    COUNT_PREFIX,
    FIELD_OF,
    OF_JOB,
    OF_TOTALS,
    Row,
    Scenario,
)
from planner.verifier import confirms, passed, verify


@dataclass(frozen=True)
class Answer:
    """A scenario's best plan with its proof: value and bound in the objective's own unit.

    ``gap`` is a share, from the best value known to the bound: ``value`` is the best, or what the
    plan gives that `solve` takes of those near it. ``certificate`` says how the bound was proven:
    by work on this scenario ("search"), by what was proven for others ("reused"), or by optimising
    it by itself ("alone"). ``log_value``, ``log_best`` and ``log_bound`` are as the search scales
    them. Where the options have a ``look``, ``seen`` is what it returned and ``numbers`` the
    scenario in numbers, packed into a tenth of the room or not.
    """

    scenario: Scenario
    status: RowStatus
    value: float | None = None
    bound: float | None = None
    gap: float | None = None
    operation: Run | None = None
    certificate: str = ""
    reason: str = ""
    log_value: float | None = None
    log_bound: float | None = None
    log_best: float | None = None
    numbers: Case | bytes = b""
    seen: object = None

    def case(self) -> Case | None:
        """Return the scenario in numbers, None where it did not come with the answer."""
        if not isinstance(self.numbers, bytes):
            return self.numbers
        found: Case | None = pickle.loads(zlib.decompress(self.numbers)) if self.numbers else None
        return found

    def packed(self) -> Answer:
        """Return the answer with its scenario packed."""
        if isinstance(self.numbers, bytes):
            return self
        alone = replace(self.numbers)  # without what it has worked out
        return replace(self, numbers=zlib.compress(pickle.dumps(alone), 1))

    def __getstate__(self) -> dict[str, object]:
        """Return what goes to another process."""
        return dict(vars(self.packed()))


FIELDS: Mapping[str, str] = {limit.path: limit.field for limit in SUPPLIES}
"""Where a problem says what may be used up, and the limit of a case that follows from it alone."""
COUNTED = frozenset(limit.path for limit in SUPPLIES if limit.unit in COUNTED_IN)
"""Those of them that are whole numbers."""

LEAST_SPLIT = 64
HALVED = 512
PIECE = 2500
TOGETHER = 16
"""Groups of few scenarios are worked on so many at a time."""


@dataclass(frozen=True)
class Group:
    """Scenarios that differ in what may be used up, and in nothing else.

    ``shared`` are the other changes; ``paths`` the places of supplies that all of them change.
    """

    base: str
    shared: tuple[Change, ...]
    paths: tuple[str, ...]
    scenarios: tuple[Scenario, ...]


def groups(scenarios: Iterable[Scenario]) -> list[Group]:
    """Return scenarios in groups, each in the order in which its first one stands."""
    found: dict[tuple[object, ...], list[Scenario]] = {}
    parts: dict[tuple[object, ...], tuple[tuple[Change, ...], tuple[str, ...]]] = {}
    for scenario in scenarios:
        supplies = [c for c in scenario.changes if c.path in FIELDS and c.value is not None]
        paths = tuple(sorted({change.path for change in supplies}))
        shared = tuple(c for c in scenario.changes if c not in supplies)
        key = (scenario.base, tuple((c.path, repr(c.value)) for c in shared), paths)
        found.setdefault(key, []).append(scenario)
        parts.setdefault(key, (shared, paths))
    return [Group(some[0].base, *parts[key], tuple(some)) for key, some in found.items()]


def pieces(scenarios: Sequence[Scenario]) -> list[tuple[Scenario, ...]]:
    """Return scenarios in pieces to be worked on one by one, the same whoever works on them.

    A large group falls into compact parts, because what is proven of a scenario serves those near
    it; small groups go several together.
    """
    result: list[tuple[Scenario, ...]] = []
    small: list[Scenario] = []
    count = 0
    for group in groups(scenarios):
        if len(group.scenarios) >= LEAST_SPLIT:
            result += _compact(group)
            continue
        small += group.scenarios
        count += 1
        if count == TOGETHER or len(small) >= LEAST_SPLIT:
            result.append(tuple(small))
            small, count = [], 0
    return [*result, tuple(small)] if small else result


def values(group: Group) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return what each scenario changes its supplies to: a row each, a column for each path."""
    rows = []
    for scenario in group.scenarios:
        last = {change.path: change.value for change in scenario.changes}
        rows.append([float(last[path]) for path in group.paths])
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(group.paths))


def _compact(group: Group) -> list[tuple[Scenario, ...]]:
    """Return a group cut in halves, across its widest side, until the parts are small enough."""
    points = values(group)
    span = np.ptp(points, axis=0)
    scaled = points / np.where(span > 0, span, 1.0)
    halved = HALVED <= len(points) < 2 * PIECE  # two cores are to have something to do
    most = -(-len(points) // 2) if halved else PIECE
    parts = [np.arange(len(points))]
    while any(len(part) > most for part in parts):
        parts = [half for part in parts for half in _halves(part, scaled, most)]
    return [tuple(group.scenarios[i] for i in part.tolist()) for part in parts]


def _halves(
    part: np.ndarray[tuple[int], np.dtype[np.int64]],
    points: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    most: int,
) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    if len(part) <= most:
        return [part]
    side = int(np.argmax(np.ptp(points[part], axis=0)))
    order = part[np.argsort(points[part, side], kind="stable")]
    middle = len(order) // 2
    return [order[:middle], order[middle:]]


@dataclass(frozen=True)
class PreparedGroup:
    """A group ready to be solved: inputs and case under the loosest limits, limits of each.

    ``limits`` has a row for each scenario and a column for each supply that the group changes;
    groups with equal ``check_result_key`` pass or fail the checks alike.
    """

    inputs: Inputs
    case: Case
    group: Group
    options: SweepOptions
    limits: NDArray[np.float64]
    check_result_key: tuple[object, ...]

    @property
    def supplies(self) -> tuple[Limit, ...]:
        """What is limited: the same for all scenarios."""
        return given(self.case.limits)

    @property
    def amounts(self) -> NDArray[np.float64]:
        """What each scenario allows of each supply, in the unit of its row of the model."""
        supplies = self.supplies
        found = np.tile(amounts(supplies, self.case.limits), (len(self.limits), 1))
        for path, column in zip(self.group.paths, self.limits.T, strict=True):
            at = next(n for n, each in enumerate(supplies) if each.field == FIELDS[path])
            found[:, at] = column / supplies[at].scale
        return found

    def case_of(self, place: int) -> Case:
        """Return the case of one scenario; its companions are as far worked out as for all."""
        row = zip(self.group.paths, self.limits[place].tolist(), strict=True)
        changes: dict[str, Any] = {FIELDS[path]: _typed(path, value) for path, value in row}
        own = self.case.limits.with_values(**changes)
        return self.case if own == self.case.limits else self.case.under(own)

    def inputs_of(self, place: int) -> Inputs:
        """Return the inputs of one scenario."""
        inputs = self.inputs
        for change in self.group.scenarios[place].changes:
            if change.path in self.group.paths:
                inputs = changed(inputs, change.path, change.value)
        return inputs


def prepare(
    inputs: Inputs, group: Group, options: SweepOptions, like: PreparedGroup | None = None
) -> PreparedGroup:
    """Return a group ready to be solved.

    Args:
        inputs: those of its base.
        like: another group: where checks tell no difference they are not made again.

    Raises:
        InputError: what the scenarios share does not go together.
    """
    points = values(group)
    most = points.max(axis=0) if len(group.paths) else np.array([])
    loosest = [
        Change(path, _typed(path, value), "")
        for path, value in zip(group.paths, most.tolist(), strict=True)
    ]
    changes = (*group.shared, *loosest)
    check_result_key = group.base, check_key(changes, inputs.problem)
    if like is not None and like.check_result_key == check_result_key:
        top = replace(applied(inputs, changes), warnings=like.inputs.warnings)
    else:
        top = checked(inputs, changes)
    case = resolve(top)
    limits = points.copy()
    for place, path in enumerate(group.paths):
        column = points[:, place].tolist()
        limits[:, place] = [limit_at(top.problem, path, value) for value in column]
    return PreparedGroup(top, case, group, options, limits, check_result_key)


def _typed(path: str, value: float) -> float | int:
    return round(value) if path in COUNTED else value


def solve(asked: PreparedGroup) -> list[Answer]:
    """Return an answer for each scenario of a group, in order."""
    options = asked.options
    sign = 1.0 if asked.case.maximise else -1.0
    found = Sweep(
        asked.case, asked.amounts, asked.supplies, options.gap, options.time_limit_s, options.ties
    ).answers()
    answered = [
        Answer(asked.group.scenarios[place], "unbounded", certificate=each.certificate)
        if each.endless
        else _answer(asked, place, each, sign)
        for place, each in enumerate(found)
    ]
    return [_with_view(asked, *each) for each in enumerate(answered)] if options.look else answered


def _with_view(asked: PreparedGroup, place: int, answer: Answer) -> Answer:
    """Return an answer with its packed scenario and what ``look`` returns of it."""
    case, look = asked.case_of(place), asked.options.look
    return replace(answer, numbers=case, seen=None if look is None else look(case, answer))


def _answer(asked: PreparedGroup, place: int, found: Found, sign: float) -> Answer:
    scenario, case = asked.group.scenarios[place], asked.case
    run = found.operation
    if run is None:
        open_ = math.isfinite(found.bound) or found.bound > 0
        status: RowStatus = "no_solution" if open_ else "infeasible"
        return Answer(scenario, status, certificate=found.certificate)
    value, bound = sign * found.score, sign * found.bound
    gap = share(case, sign * found.best, bound) if math.isfinite(bound) else None
    proven = gap is not None and gap <= asked.options.gap + 1e-9
    return Answer(
        scenario,
        "optimal" if proven else "feasible",
        natural(case.objective, value),
        natural(case.objective, bound) if gap is not None else None,
        gap,
        run,
        found.certificate,
        log_bound=bound if gap is not None else None,
        log_best=sign * found.best,
        log_value=value,
    )


def reason(error: InputError) -> str:
    """Return the lines of an error of the input as one."""
    return "; ".join(finding.text() for finding in error.findings)


MOST = 6
"""So many scenarios of a group are looked into; the rest is told what holds for them, too."""
WORK = 3000.0
NO_PLAN = "no plan meets every limit"


def with_reasons(asked: PreparedGroup, answers: Sequence[Answer]) -> list[Answer]:
    """Return answers with a reason where there is no plan.

    Limits that cannot hold together cannot do so where those of them that are changed are tighter
    yet: so a reason serves more scenarios than the one it was found for.
    """
    places = [place for place, answer in enumerate(answers) if answer.status == "infeasible"]
    if not places:
        return list(answers)
    points, paths = values(asked.group), asked.group.paths
    top = points.max(axis=0) if paths else points[0]
    loose = {place: float((points[place] / top.clip(1e-300)).sum()) for place in places}
    reasons: dict[int, str] = {}
    found = 0
    for place in sorted(places, key=lambda place: (-loose[place], place)):
        if place in reasons or found >= MOST:
            continue
        levers = clash(asked.inputs_of(place), work=WORK)
        found += 1
        columns = [paths.index(lever.path) for lever in levers if lever.path in paths]
        for other in places:
            if other not in reasons and (points[other] <= points[place])[columns].all():
                reasons[other] = name_limits(
                    levers, dict(zip(paths, points[other].tolist(), strict=True))
                )
    found_out = list(answers)
    for place in places:
        found_out[place] = replace(answers[place], reason=reasons.get(place, NO_PLAN))
    return found_out


def name_limits(levers: Sequence[Lever], here: Mapping[str, float]) -> str:
    """Return that limits cannot hold together, with the values of ``here`` where it has any."""
    if not levers:
        return NO_PLAN
    names = []
    for lever in levers:
        value = here.get(lever.path, lever.value)
        names.append(lever.label if value is None else f"{lever.label} {lever.text(value)}")
    if len(names) == 1:
        return f"{names[0]} cannot be met"
    return f"{listed(names)} cannot hold together"


def rows(asked: PreparedGroup, answers: Sequence[Answer]) -> list[Row]:
    """Return the row of each answer of a group; every plan is verified where it is first used."""
    found = [blank(answer) for answer in answers]
    users: dict[int, list[int]] = {}
    for place, answer in enumerate(answers):
        if answer.operation is not None and answer.status in PLANNED:
            users.setdefault(id(answer.operation), []).append(place)
    supplies, allowed = asked.supplies, asked.amounts
    taken = np.zeros_like(allowed)
    for places in users.values():
        try:
            plan = _VerifiedPlan.of(asked, places[0], answers[places[0]])
        except VerificationError as error:
            for place in places:
                found[place] |= {"status": "failed", "reason": str(error)}
            continue
        taken[places] = plan.takes
        for place, names in zip(places, plan.binding(supplies, allowed[places]), strict=True):
            found[place] = plan.row | _answer_cells(answers[place]) | {"binding": names}
    for place, names in _limits_passed(supplies, taken, allowed).items():
        text = f"the plan breaks a limit of this scenario: {names}"
        found[place] = blank(answers[place]) | {"status": "failed", "reason": text}
    return found


def _limits_passed(
    supplies: Sequence[Limit], taken: NDArray[np.float64], allowed: NDArray[np.float64]
) -> dict[int, str]:
    """Return for each scenario the limits that the plan shown for it passes, if any.

    Plans are verified under the loosest limits of their group and those of one scenario; here each
    is held against those of every scenario that it serves, by what it was confirmed to use up.
    """
    tolerance = np.array([each.tolerance for each in supplies])
    over = taken > allowed + tolerance * np.maximum(taken, allowed)
    names = [each.name for each in supplies]
    return {
        int(place): ", ".join(name for name, one in zip(names, over[place], strict=True) if one)
        for place in np.flatnonzero(over.any(axis=1))
    }


def confirmed(inputs: Inputs, case: Case, proven: Certificate, gap: float) -> Plan:
    """Return a plan in figures, confirmed by its independent re-computation.

    Its racks are drawn only where it takes them, its cables and next step where these do not do.

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


def blank(answer: Answer) -> Row:
    """Return the row of a scenario without a plan."""
    return {
        "status": answer.status,
        "bound": answer.bound,
        "certificate": answer.certificate or None,
        "reason": answer.reason or None,
    }


def _answer_cells(answer: Answer) -> Row:
    return {
        "status": answer.status,
        "objective": answer.value,
        "bound": answer.bound,
        "gap": answer.gap,
        "certificate": answer.certificate,
    }


@dataclass(frozen=True)
class _VerifiedPlan:
    """A verified plan: its columns, and what decides under other limits which of them bind.

    It is verified under the loosest limits of its group: what follows from these inputs is worked
    out once for all plans. ``takes`` is what it was confirmed to use up. ``always`` bind wherever
    this plan is kept; ``more`` is what it would take with one more of each GPU system in use.
    """

    row: Row
    takes: NDArray[np.float64]
    always: frozenset[str]
    more: NDArray[np.float64]

    @classmethod
    def of(cls, asked: PreparedGroup, place: int, answer: Answer) -> _VerifiedPlan:
        """Return a plan's columns once its independent re-computation agrees, under the limits of
        the first scenario, too, that it is shown for.

        Raises:
            VerificationError: it does not.
        """
        case, supplies, run = asked.case, asked.supplies, answer.operation
        value, best = answer.log_value, answer.log_best
        assert run is not None and value is not None and best is not None
        certificate = Certificate(
            "optimal" if answer.status == "optimal" else "feasible",
            run,
            value,
            answer.log_bound,
            answer.gap,
            0,
            0.0,
            late=False,
            best=best,
            given_away=share_given_away(case, value, best),
        )
        plan = confirmed(asked.inputs, case, certificate, asked.options.gap)
        if over := passed(asked.inputs_of(place), plan):
            raise VerificationError(over)
        reports = {limit.name: limit for limit in plan.limits}
        takes = np.array([reports[each.name].value / each.scale for each in supplies], dtype=float)
        always = {each.name for each in plan.limits if each.binding} - {s.name for s in supplies}
        more = [used(supplies, bill) for bill in _one_more(case, run)]
        matrix = np.array(more).reshape(len(more), len(supplies))
        return cls(_columns(plan, run), takes, frozenset(always), matrix)

    def binding(self, supplies: Sequence[Limit], allowed: NDArray[np.float64]) -> list[str | None]:
        """Return the names of the limits that hold the plan where it is, under each row of limits.

        Args:
            allowed: how much of each is, a row for each scenario.
        """
        over = self.more[None] > allowed[:, None, :] * (1 + purchase.TOLERANCE)
        texts: dict[tuple[bool, ...], str | None] = {}
        found = []
        rows: list[list[bool]] = np.any(over, axis=1).tolist()
        for broken in map(tuple, rows):
            if broken not in texts:
                names = {each.name for each, one in zip(supplies, broken, strict=True) if one}
                texts[broken] = ", ".join(sorted(self.always | names)) or None
            found.append(texts[broken])
        return found


def _one_more(case: Case, run: Run) -> Iterator[purchase.PurchaseSums]:
    """Yield the bill with more of each GPU system in use: one, or as many as a replica takes."""
    if not case.maximise:
        return
    for system in case.systems:
        if system.id not in run.used:
            continue
        count = run.units[system.id] + systems_of_a_step(case, run, system)
        if system.high is None or count <= system.high:
            with suppress(ValueError):  # no fabric is so large
                yield purchase.bill(case, {**run.units, system.id: count}, run.ways)


def _columns(plan: Plan, run: Run) -> Row:
    storage = [line.working for line in plan.lines if line.category == "storage"]
    worked_out: Row = {"storage_units": sum(storage), "mode": run.mode}
    figures: Row = {
        name: getattr(part, FIELD_OF.get(name, name))
        for part, names in ((plan.totals, OF_TOTALS), (plan.jobs[0], OF_JOB))
        for name in names
        if name not in worked_out
    }
    counts = {COUNT_PREFIX + name: count for name, count in run.units.items() if count}
    return figures | worked_out | counts
