"""A sweep: the best plan of every scenario, as rows of one table and a record of its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from planner.figures import OBJECTIVES, objective_unit
from planner.inputs import Inputs
from planner.loader.vary import applied
from planner.schema.plan import Plan
from planner.schema.sensitivity import EXACT_GAP, VARIED, Column, Sweep
from planner.studies.request import SweepOptions, head_of
from planner.studies.scenarios import (
    COUNT_PREFIX,
    NAME,
    PLACE,
    Row,
    Scenario,
    Scenarios,
    columns,
    item_columns,
    types,
)

_OBJECTIVES = ("objective", "objective.maximize", "objective.minimize")


class SweepTable(NamedTuple):
    """A sweep's record, its values by column, and "int", "float" or "str" by column."""

    record: Sweep
    values: dict[str, list[Any]]
    types: Mapping[str, str]


def sweep_table(
    inputs: Inputs,
    scenarios: Scenarios,
    options: SweepOptions,
    rows: Mapping[int, Row],
    base: Plan | None = None,
) -> SweepTable:
    """Return the table of rows in the order of their scenarios.

    Args:
        inputs: the problem itself.
        scenarios: all of them.
        options: those of the sweep.
        rows: by index, as ``table_rows`` returns them; not of all scenarios after an interruption.
        base: the plan of the problem itself.
    """
    places = sorted(rows)
    there = [scenarios[place] for place in places]
    used = {name for row in rows.values() for name in row if name.startswith(COUNT_PREFIX)}
    items = tuple(item_columns(scenarios.bases.values(), used))
    objective = _objective(inputs, scenarios, there)
    unit = objective_unit(objective)
    named = any(scenario.name for scenario in there)
    shown = columns(scenarios.axes, items, unit, named=named)
    kinds = types(shown, _words(scenarios.axes, there))
    values = {column.name: [rows[place].get(column.name) for place in places] for column in shown}
    values[PLACE] = list(places)
    if named:
        values[NAME] = [scenario.name or None for scenario in there]
    for at, column in enumerate(scenarios.axes):
        cells = [scenario.cells[at] for scenario in there]
        if kinds[column.name] == "str":
            values[column.name] = [None if cell is None else str(cell) for cell in cells]
        else:
            values[column.name] = cells
    record = _record(inputs, options, objective, shown, values, len(scenarios), base)
    return SweepTable(record, values, kinds)


def _record(
    inputs: Inputs,
    options: SweepOptions,
    objective: str,
    shown: tuple[Column, ...],
    values: Mapping[str, Sequence[Any]],
    asked: int,
    base: Plan | None,
) -> Sweep:
    proofs = Counter(values["certificate"])
    known = OBJECTIVES.get(objective)
    head = head_of(inputs, options.gap) | {
        "objective": objective,
        "sense": "maximize" if known is None else known.sense,
        "unit": objective_unit(objective),
    }
    if base is not None and objective == base.objective.name:
        exact = options.gap <= EXACT_GAP
        value = base.objective.value if exact else base.objective.best
        head |= {"base": value, "base_bound": base.objective.bound}
    return Sweep(
        **head,
        columns=shown,
        rows=len(values[PLACE]),
        asked=asked,
        statuses=dict(sorted(Counter(values["status"]).items())),
        solved=proofs["search"],
        reused=proofs["reused"],
    )


def _objective(inputs: Inputs, scenarios: Scenarios, there: Sequence[Scenario]) -> str:
    """Return the objective of all scenarios, or ``VARIED``."""
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
    """Return the columns of inputs that hold words: all cells of a column are of one kind."""
    found = set()
    for at, column in enumerate(axes):
        first = next((s.cells[at] for s in there if s.cells[at] is not None), None)
        if isinstance(first, str | bool):
            found.add(column.name)
    return found
