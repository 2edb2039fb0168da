"""A sweep: the best plan of every scenario, as rows of one table and a record of its columns.

Scenarios are named ones of the problem file, times rows of a table, times a grid.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from planner import removed
from planner.analysis.tornado import Field, limit_labels, path_label
from planner.analysis.variants import (
    Answer,
    Prepared,
    Scenario,
    confirm_plan,
    solve_many,
    study_head,
)
from planner.api import NO_PLAN, Options, solve_with
from planner.errors import Finding, InputError, StoppedError, VerificationError, did_you_mean
from planner.figures import FIGURES, OBJECTIVES, objective_unit
from planner.inputs import Inputs, applied
from planner.loader import NoPathError, load, scenario_names
from planner.loader.axes import MOST, Axis, refuse_overlap, values
from planner.optimizer.operate import Run
from planner.schema.analysis import EXACT_GAP, PLANNED, VARIED, Column, Kind, SweepTable
from planner.schema.plan import Plan
from planner.terminal import Progress, ignore, interrupt_handled
from planner.verifier import passed

# Scenarios


class Scenarios(list[Scenario]):
    """Scenarios by place: bases first, then axes, the last of them fastest.

    ``axes`` are the table's columns of inputs, ``bases`` the problems that scenarios change.
    """

    axes: tuple[Column, ...]
    bases: dict[str, Inputs]


def read_scenarios(
    inputs: Inputs,
    *,
    vary: Sequence[str] = (),
    named: Sequence[str] | None = None,
    problem: Path | None = None,
) -> Scenarios:
    """Read the scenarios of a sweep.

    Args:
        vary: each as ``PATH=VALUES``; the last one goes fastest.
        named: scenarios of the problem file, an empty sequence for all; None for none.

    Raises:
        InputError: an argument cannot be read, or a named scenario is wrong.
    """
    if not vary and named is None:
        message = "nothing is varied"
        fix = "give --vary site.facility_power=5MW:15MW:1MW, or --scenarios"
        raise InputError(Finding("vary", message, fix=fix))
    found, grids = Scenarios(), list[list[Axis]]()
    found.bases = {"": inputs}
    if named is not None and problem is not None:
        found.bases = _load_scenarios(inputs, problem, named)
    for base in found.bases.values():
        axes = [values(base, option) for option in vary]
        refuse_overlap(axis.variable for axis in axes)
        grids.append(axes)
    counts = [len(grids), *(len(axis.readings) for axis in grids[0])]
    if prod(counts) > MOST:
        factors = " x ".join(f"{count:,}" for count in counts if count > 1)
        message = f"{factors} are {prod(counts):,} scenarios, more than {MOST:,}"
        raise InputError(Finding("vary", message, fix="take larger steps or fewer paths"))
    for name, axes in zip(found.bases, grids, strict=True):
        points = (zip(axis.readings, axis.cells, strict=True) for axis in axes)
        for chosen in product(*points):
            changes = tuple(change for reading, _ in chosen for change in reading.changes)
            cells = tuple(cell for _, cell in chosen)
            found.append(Scenario(len(found), changes, base=name, cells=cells))
    known, columns = limit_labels(inputs), list[Column]()
    for axis in grids[0]:
        path, unit = axis.variable.path, axis.unit
        words = path_label(inputs, path, known)
        name = f"{path} [{unit}]" if unit else path
        name = f"{name} (varied)" if name in {PLACE, NAME, *COLUMNS} else name
        columns.append(Column(name=name, label=words, unit=unit, kind="input", path=path))
    found.axes = tuple(columns)
    return found


def _load_scenarios(inputs: Inputs, problem: Path, names: Sequence[str]) -> dict[str, Inputs]:
    """Named scenarios of a problem file (none named: all), with its settings on top."""
    there = scenario_names(problem)
    unknown = next((name for name in names if name not in there), None)
    message, fix = "", ""
    if inputs.scenario is not None:
        message, fix = "a named scenario does not go with --scenario", "give the one or the other"
    elif not there:
        message = f"{problem.name} has no scenarios"
        fix = "add scenarios: {half_power: {site: {facility_power: 5 MW}}}"
    elif unknown is not None:
        message = f"no scenario '{unknown[:60]}'"
        fix = did_you_mean(unknown, there) or "known: " + ", ".join(there)
        fix = removed.SCENARIO_TABLES if unknown.endswith(".csv") else fix
    if message:
        raise InputError(Finding("scenario", message, "--scenarios", fix=fix))
    return {
        name: load(problem, settings=inputs.overrides, scenario=name)
        for name in dict.fromkeys(names or there)
    }


# Columns of the table

Row = dict[str, Any]
"""A row of the table: number, text or None by column name."""
COUNT_PREFIX = "units."
PLACE, NAME = "scenario", "name"
_TEXT, _WHOLE, _NUMBER = "str", "int", "float"
_NAMES: tuple[tuple[Kind, str, str], ...] = (
    ("answer", _TEXT, "status"),
    ("answer", _NUMBER, "objective bound gap"),
    ("answer", _TEXT, "certificate"),
    ("total", _NUMBER, "capex_usd opex_usd_per_year tco_usd it_power_kw facility_power_kw"),
    ("total", _WHOLE, "racks gpus storage_units"),
    ("job", _TEXT, "gpu_type storage_family"),
    ("job", _WHOLE, "gpus_in_use"),
    ("job", _TEXT, "mode"),
    ("job", _NUMBER, "interval_s stall_s drain_s overlap restore_s mtti_s goodput useful_gpus"),
    ("job", _NUMBER, "useful_pflops write_gb_per_s read_gb_per_s days_to_train"),
    ("text", _TEXT, "reason"),
)
COLUMNS: Mapping[str, tuple[Kind, str]] = {
    name: (kind, form) for kind, form, names in _NAMES for name in names.split()
}
"""Kind and type of columns besides inputs and bought items, which stand before the totals."""
FIELD_OF = {
    "gpus_in_use": "gpus_used",
    "write_gb_per_s": "delivered_write_gb_per_s",
    "read_gb_per_s": "delivered_read_gb_per_s",
}
"""Fields of a plan that have another name in the table."""
_LABELS = {
    "bound": "bound of the objective",
    "gap": "proven gap",
    "gpu_type": "GPU type",
    "storage_family": "storage family",
    "mode": "checkpoint mode",
}
_OBJECTIVES = ("objective", "objective.maximize", "objective.minimize")


def _columns(
    scenarios: Scenarios, used: Collection[str], unit: str, *, named: bool
) -> tuple[Column, ...]:
    """Columns of a table in order.

    Args:
        used: names of columns with units in any row.
        unit: of the objective.
        named: whether scenarios have names.
    """
    made = []
    for name, (kind, _) in COLUMNS.items():
        figure = FIGURES.get(FIELD_OF.get(name, name))
        text, own = _LABELS.get(name, name), {"gap": "share"}.get(name, "")
        if figure is not None and name not in _LABELS and name != "objective":
            text, own = figure.label, figure.unit
        own = unit if name in ("objective", "bound") else own
        made.append(Column(name=name, label=text, unit=own, kind=kind))
    items = {item.id: item for base in scenarios.bases.values() for item in base.items}
    bought = [items[name] for name in items if COUNT_PREFIX + name in used]
    counts = [
        Column(name=COUNT_PREFIX + item.id, label=item.product, unit="units", kind="count")
        for item in sorted(bought, key=lambda item: (item.category, item.id))
    ]
    return (
        Column(name=PLACE, label=PLACE, kind="text"),
        *([Column(name=NAME, label=NAME, kind="text")] if named else []),
        *scenarios.axes,
        *(column for column in made if column.kind == "answer"),
        *counts,
        *(column for column in made if column.kind != "answer"),
    )


# Rows


def make_rows(asked: Prepared | None, answers: Sequence[Answer]) -> list[Row]:
    """Rows of the answers of a group.

    A plan is verified once, under the loosest limits of the group and those of its first scenario;
    its use of supplies is then compared with the limits of every scenario that it serves.
    """
    found: list[Row] = []
    users: dict[int, list[int]] = {}
    for place, answer in enumerate(answers):
        reason = NO_PLAN if answer.status == "infeasible" else answer.reason or None
        row = {"status": answer.status, "bound": answer.bound, "reason": reason}
        found.append({**row, "certificate": answer.certificate or None})
        if asked is not None and answer.operation is not None and answer.status in PLANNED:
            users.setdefault(id(answer.operation), []).append(place)
    for places in users.values():
        assert asked is not None
        _fill(asked, answers, places, found)
    return found


def _fill(
    asked: Prepared, answers: Sequence[Answer], places: Sequence[int], found: list[Row]
) -> None:
    """Fill in the rows of the scenarios that one plan serves."""
    run, proof = answers[places[0]].operation, answers[places[0]].proof
    assert run is not None
    assert proof is not None
    try:
        plan = confirm_plan(asked.inputs, asked.case, proof, asked.options.gap)
        if over := passed(asked.inputs_of(places[0]), plan):
            raise VerificationError(over)
    except VerificationError as error:
        for place in places:
            found[place] |= {"status": "failed", "reason": str(error)}
        return
    cells, value = _cells(plan, run), {limit.name: limit.value for limit in plan.limits}
    takes = [(each, value[each.name] / each.scale) for each in asked.supplies]
    for place in places:
        answer, broken = answers[place], list[str]()
        for (each, taken), most in zip(takes, asked.allowed[place].tolist(), strict=True):
            if taken > most + each.tolerance * max(taken, most):
                broken.append(each.name)
        if broken:
            text = f"the plan breaks a limit of this scenario: {', '.join(broken)}"
            found[place] |= {"status": "failed", "reason": text}
            continue
        found[place] = cells | {
            "status": answer.status,
            "objective": answer.value,
            "bound": answer.bound,
            "gap": answer.gap,
            "certificate": answer.certificate,
        }


def _cells(plan: Plan, run: Run) -> Row:
    storage = sum(line.working for line in plan.lines if line.category == "storage")
    own: Row = {"storage_units": storage, "mode": run.mode}
    parts = {"total": plan.totals, "job": plan.jobs[0]}
    figures: Row = {
        name: getattr(parts[kind], FIELD_OF.get(name, name))
        for name, (kind, _) in COLUMNS.items()
        if kind in parts and name not in own
    }
    counts = {COUNT_PREFIX + name: count for name, count in run.units.items() if count}
    return figures | own | counts


# The table and its record


def study(
    inputs: Inputs, scenarios: Scenarios, options: Options, progress: Progress = ignore
) -> SweepTable:
    """The table of `planner.sweep`; to ``EXACT_GAP`` its rows are the plans of `solve`."""
    options, found = replace(options, ties=options.gap <= EXACT_GAP), dict[int, Row]()
    try:
        found.update(solve_many(scenarios.bases, scenarios, options, make_rows, progress))
    except KeyboardInterrupt:
        if not found:
            raise
        interrupt_handled()
    base = solve_with(inputs, Options(gap=options.gap, explain=False))
    record = _table(inputs, scenarios, options, found, base)
    if record.rows < record.asked:
        done = f"interrupted after {record.rows:,} of {record.asked:,} scenarios"
        raise StoppedError(done, record)
    return record


def _table(
    inputs: Inputs,
    scenarios: Scenarios,
    options: Options,
    found: Mapping[int, Row],
    base: Plan,
) -> SweepTable:
    """Table of rows by index, not of all scenarios after an interruption."""
    places = sorted(found)
    there = [scenarios[place] for place in places]
    used = {name for row in found.values() for name in row if name.startswith(COUNT_PREFIX)}
    objective = _objective(inputs, scenarios, there)
    named = any(scenario.base for scenario in there)
    unit = objective_unit(objective)
    shown = _columns(scenarios, used, unit, named=named)
    values = {column.name: [found[place].get(column.name) for place in places] for column in shown}
    values[PLACE] = list(places)
    kinds = {name: form for name, (_, form) in COLUMNS.items()} | {PLACE: _WHOLE, NAME: _TEXT}
    kinds = {column.name: kinds.get(column.name, _WHOLE) for column in shown}
    if named:
        values[NAME] = [scenario.base or None for scenario in there]
    for at, column in enumerate(scenarios.axes):  # the cells of an input are of one kind
        cells = [scenario.cells[at] for scenario in there]
        first = next((cell for cell in cells if cell is not None), None)
        kinds[column.name] = _TEXT if isinstance(first, str | bool) else _NUMBER
        if kinds[column.name] == _TEXT:
            cells = [None if cell is None else str(cell) for cell in cells]
        values[column.name] = cells
    proofs, known = Counter(values["certificate"]), OBJECTIVES.get(objective)
    head = study_head(inputs, options.gap) | {
        "objective": objective,
        "sense": "maximize" if known is None else known.sense,
        "unit": unit,
    }
    if objective == base.objective.name:
        exact = options.gap <= EXACT_GAP
        value = base.objective.value if exact else base.objective.best
        head |= {"base": value, "base_bound": base.objective.bound}
    return SweepTable(
        **head,
        columns=shown,
        rows=len(places),
        asked=len(scenarios),
        statuses=dict(sorted(Counter(values["status"]).items())),
        solved=proofs["search"],
        reused=proofs["reused"],
        table={name: tuple(column) for name, column in values.items()},
        types=kinds,
        start=_start(inputs, scenarios.axes),
    )


def _start(inputs: Inputs, columns: Sequence[Column]) -> dict[str, Any]:
    """Varied inputs of a problem as it is, by path."""
    found: dict[str, Any] = {}
    for column in columns:
        with suppress(NoPathError):
            base = Field(inputs, column.path).base
            paid = base is not None and "USD" in column.unit
            found[column.path] = inputs.problem.shown_in.convert(base or 0.0) if paid else base
    return found


def _objective(inputs: Inputs, scenarios: Scenarios, there: Sequence[Scenario]) -> str:
    """Objective of all scenarios, or ``VARIED``."""
    goals = {base.problem.objective.name for base in scenarios.bases.values()}
    if any(column.path in _OBJECTIVES for column in scenarios.axes):
        goals = {applied(scenarios.bases[s.base], s.changes).problem.objective.name for s in there}
    return VARIED if len(goals) > 1 else next(iter(goals), inputs.problem.objective.name)
