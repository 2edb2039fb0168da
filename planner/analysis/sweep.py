"""A sweep: the best plan of every scenario, as rows of one table and a record of its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from planner.analysis.pool import Progress, ignore
from planner.analysis.request import SweepOptions, head_of
from planner.analysis.scenarios import (
    COLUMNS,
    COUNT_PREFIX,
    FIELD_OF,
    NAME,
    PLACE,
    Scenarios,
    columns,
    types,
)
from planner.analysis.variants import (
    NO_PLAN,
    Answer,
    Prepared,
    Scenario,
    confirmed,
    name_limits,
    solve_variants,
)
from planner.case import Case
from planner.errors import VerificationError
from planner.figures import OBJECTIVES, objective_unit
from planner.infeasible import clash
from planner.inputs import Inputs, applied
from planner.optimizer import bill as bills
from planner.optimizer.operate import Run
from planner.plan.limits import systems_of_a_step
from planner.schema.analysis import (
    EXACT_GAP,
    PLANNED,
    VARIED,
    Column,
    Sweep,
)
from planner.schema.plan import Plan
from planner.verifier import passed

Row = dict[str, Any]
"""A row of the table: number, text or None by column name."""
MOST_EXPLAINED = 6
"""Scenarios of a group whose conflict is searched; the others take over what holds for them."""
_OBJECTIVES = ("objective", "objective.maximize", "objective.minimize")


def table_rows(
    bases: Mapping[str, Inputs],
    scenarios: Sequence[Scenario],
    options: SweepOptions,
    found: dict[int, Row],
    progress: Progress = ignore,
) -> None:
    """Solve scenarios as rows by index, without the columns of inputs.

    Args:
        found: filled with the rows as they come; an interruption keeps them.
    """
    solve_variants(bases, scenarios, options, rows, found, progress)


def rows(asked: Prepared | None, answers: Sequence[Answer]) -> list[Row]:
    """Rows of the answers of a group.

    A plan is verified once, under the loosest limits of the group and those of its first scenario;
    its use of supplies is then compared with the limits of every scenario that it serves.
    """
    found = [_blank(answer) for answer in answers]
    if asked is None:
        return found
    without = [place for place, answer in enumerate(answers) if answer.status == "infeasible"]
    why = _reasons(asked, without) if without else {}
    for place in without:
        found[place]["reason"] = why.get(place, NO_PLAN)
    users: dict[int, list[int]] = {}
    for place, answer in enumerate(answers):
        if answer.operation is not None and answer.status in PLANNED:
            users.setdefault(id(answer.operation), []).append(place)
    for places in users.values():
        _fill(asked, answers, places, found)
    return found


def _blank(answer: Answer, **other: str) -> Row:
    return {
        "status": answer.status,
        "bound": answer.bound,
        "certificate": answer.certificate or None,
        "reason": answer.reason or None,
    } | other


def _fill(
    asked: Prepared, answers: Sequence[Answer], places: Sequence[int], found: list[Row]
) -> None:
    """Fill in the rows of the scenarios that one plan serves."""
    supplies, allowed = asked.supplies, asked.allowed[places]
    first = answers[places[0]]
    run, proof = first.operation, first.proof
    assert run is not None
    assert proof is not None
    try:
        plan = confirmed(asked.inputs, asked.case, proof, asked.options.gap)
        if over := passed(asked.inputs_of(places[0]), plan):
            raise VerificationError(over)
    except VerificationError as error:
        for place in places:
            found[place] |= {"status": "failed", "reason": str(error)}
        return
    cells = _cells(plan, run)
    reports = {limit.name: limit for limit in plan.limits}
    names = np.array([each.name for each in supplies])
    takes = np.array([reports[each.name].value / each.scale for each in supplies], dtype=float)
    tolerance = np.array([each.tolerance for each in supplies])
    over_limit = takes > allowed + tolerance * np.maximum(takes, allowed)
    always = {each.name for each in plan.limits if each.binding} - set(names.tolist())
    spent = _one_more(asked.case, run)
    more = np.array([[one[each.figure] / each.scale for each in supplies] for one in spent])
    more = more.reshape(-1, 1, len(supplies))
    binds = np.any(more > allowed * (1 + bills.TOLERANCE), axis=0)
    for row, place in enumerate(places):
        answer = answers[place]
        if over_limit[row].any():
            text = f"the plan breaks a limit of this scenario: {', '.join(names[over_limit[row]])}"
            found[place] = _blank(answer, status="failed", reason=text)
            continue
        found[place] = cells | {
            "status": answer.status,
            "objective": answer.value,
            "bound": answer.bound,
            "gap": answer.gap,
            "certificate": answer.certificate,
            "binding": ", ".join(sorted(always | set(names[binds[row]].tolist()))) or None,
        }


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


def _cells(plan: Plan, run: Run) -> Row:
    storage = sum(line.working for line in plan.lines if line.category == "storage")
    own: Row = {"storage_units": storage, "mode": run.mode}
    parts = {"total": plan.totals, "job": plan.jobs[0]}
    figures: Row = {
        name: getattr(parts[kind], FIELD_OF.get(name, name))
        for name, kind in COLUMNS.items()
        if kind in parts and name not in own
    }
    counts = {COUNT_PREFIX + name: count for name, count in run.units.items() if count}
    return figures | own | counts


def _reasons(asked: Prepared, places: Sequence[int]) -> dict[int, str]:
    """Conflicting limits of scenarios without a plan, by their place in a group.

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
        levers = clash(asked.inputs_of(place))
        searches += 1
        if levers is None:
            found[place] = name_limits(None, {})
            continue
        moved = [paths.index(lever.path) for lever in levers if lever.path in paths]
        for other in places:
            if other not in found and (points[other] <= points[place])[moved].all():
                here = dict(zip(paths, points[other].tolist(), strict=True))
                found[other] = name_limits(levers, here)
    return found


# The table and its record


class SweepTable(NamedTuple):
    """Record of a sweep, its values by column, and "int", "float" or "str" by column."""

    record: Sweep
    values: dict[str, list[Any]]
    types: Mapping[str, str]


def sweep_table(
    inputs: Inputs,
    scenarios: Scenarios,
    options: SweepOptions,
    found: Mapping[int, Row],
    base: Plan | None = None,
) -> SweepTable:
    """Table of rows in the order of their scenarios.

    Args:
        inputs: the problem itself.
        options: those of the sweep.
        found: rows by index; not of all scenarios after an interruption.
        base: the plan of the problem itself.
    """
    places = sorted(found)
    there = [scenarios[place] for place in places]
    used = {name for row in found.values() for name in row if name.startswith(COUNT_PREFIX)}
    objective = _objective(inputs, scenarios, there)
    named = any(scenario.name for scenario in there)
    unit = objective_unit(objective)
    shown = columns(scenarios.axes, scenarios.bases.values(), used, unit, named=named)
    kinds = types(shown, _words(scenarios.axes, there))
    values = {column.name: [found[place].get(column.name) for place in places] for column in shown}
    values[PLACE] = list(places)
    if named:
        values[NAME] = [scenario.name or None for scenario in there]
    for at, column in enumerate(scenarios.axes):
        cells: list[Any] = [scenario.cells[at] for scenario in there]
        if kinds[column.name] == "str":
            cells = [None if cell is None else str(cell) for cell in cells]
        values[column.name] = cells
    proofs, known = Counter(values["certificate"]), OBJECTIVES.get(objective)
    head = head_of(inputs, options.gap) | {
        "objective": objective,
        "sense": "maximize" if known is None else known.sense,
        "unit": unit,
    }
    if base is not None and objective == base.objective.name:
        exact = options.gap <= EXACT_GAP
        value = base.objective.value if exact else base.objective.best
        head |= {"base": value, "base_bound": base.objective.bound}
    record = Sweep(
        **head,
        columns=shown,
        rows=len(places),
        asked=len(scenarios),
        statuses=dict(sorted(Counter(values["status"]).items())),
        solved=proofs["search"],
        reused=proofs["reused"],
    )
    return SweepTable(record, values, kinds)


def _objective(inputs: Inputs, scenarios: Scenarios, there: Sequence[Scenario]) -> str:
    """Objective of all scenarios, or ``VARIED``."""
    varied = any(column.path in _OBJECTIVES for column in scenarios.axes)
    if not varied and set(scenarios.bases) == {""}:
        return inputs.problem.objective.name
    found: dict[tuple[str, str], str] = {}
    for scenario in there:
        if scenario.refused:
            continue
        changes = [change for change in scenario.changes if change.path in _OBJECTIVES]
        key = (scenario.base, repr(changes))
        if key not in found:
            base = scenarios.bases[scenario.base]
            found[key] = applied(base, changes).problem.objective.name
    goals = set(found.values())
    return VARIED if len(goals) > 1 else next(iter(goals), inputs.problem.objective.name)


def _words(axes: Sequence[Column], there: Sequence[Scenario]) -> set[str]:
    """Columns of inputs that hold words: all cells of a column are of one kind."""
    found = set()
    for at, column in enumerate(axes):
        first = next((s.cells[at] for s in there if s.cells[at] is not None), None)
        if isinstance(first, str | bool):
            found.add(column.name)
    return found
