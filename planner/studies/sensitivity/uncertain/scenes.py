"""Points as scenarios, and what the planned purchase and every candidate do in each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.case import Case, resolve
from planner.case.resolve import with_kit
from planner.errors import InputError
from planner.loader.change import Change
from planner.loader.inputs import Inputs
from planner.loader.vary.apply import applied
from planner.optimizer.operate import Operation
from planner.optimizer.purchase import given
from planner.schema.sensitivity import PLANNED
from planner.studies.sensitivity.scenario import Scenario
from planner.studies.sensitivity.solve import Answer
from planner.studies.sensitivity.uncertain.bought import Tried, operated, tried
from planner.studies.sensitivity.uncertain.outcomes import Figures, figures, worth
from planner.studies.sensitivity.uncertain.shapes import Numbers
from planner.studies.sensitivity.uncertain.unknown import Unknown

ROOM = 4
"""Fabrics are worked out for so many times the limits: for purchases made under other ones."""
_REFUSED = frozenset({"invalid", "failed"})


@dataclass(frozen=True)
class Scene:
    """What a scenario brings.

    ``best`` are the figures of its best plan, ``worths`` what each candidate is worth in it (nan
    where it breaks a limit), both empty where there is no plan. ``bought`` is what becomes of the
    planned purchase, None where none was planned or the scenario's input was refused.
    """

    answer: Answer
    best: Figures
    bought: Tried | None
    bought_figures: Figures
    worths: tuple[float, ...]


def scenarios(unknowns: Sequence[Unknown], values: Numbers) -> list[Scenario]:
    """Return a scenario for each row of values, a column for each input."""
    return [_scenario(unknowns, index, row) for index, row in enumerate(values.tolist())]


def _scenario(unknowns: Sequence[Unknown], index: int, row: Sequence[float]) -> Scenario:
    changes: list[Change] = []
    refused = []
    for unknown, number in zip(unknowns, row, strict=True):
        made, fault = unknown.drawn(number)
        changes += made
        refused += [fault] if fault else []
    return Scenario(index, tuple(changes), refused="; ".join(refused))


def values(unknowns: Sequence[Unknown], points: Numbers) -> Numbers:
    """Return points of the unit cube as values of the inputs."""
    columns = [unknown.shape.at(points[:, place]) for place, unknown in enumerate(unknowns)]
    return np.column_stack(columns)


def scenes(
    inputs: Inputs,
    answers: Sequence[Answer],
    planned: Operation | None,
    candidates: Sequence[Operation],
) -> Iterator[Scene]:
    """Yield what each scenario brings.

    Args:
        inputs: the problem as it stands.
        answers: the best plan of each scenario.
        planned: the plan of the problem as it stands, None where it has none.
        candidates: the purchases that are compared.
    """
    for answer in answers:
        case = None if answer.status in _REFUSED else _case(inputs, answer.scenario)
        yield (
            Scene(answer, {}, None, {}, ())
            if case is None
            else _scene(case, answer, planned, candidates)
        )


def _scene(
    case: Case, answer: Answer, planned: Operation | None, candidates: Sequence[Operation]
) -> Scene:
    bought = None if planned is None else tried(case, planned)
    run = None if bought is None else bought.run
    best: Figures = {}
    worths: tuple[float, ...] = ()
    if answer.operation is not None and answer.status in PLANNED:
        best = figures(case, answer.operation)
        worths = tuple(_worth(case, candidate) for candidate in candidates)
    return Scene(answer, best, bought, {} if run is None else figures(case, run), worths)


def _worth(case: Case, candidate: Operation) -> float:
    run = operated(case, candidate)
    return np.nan if run is None else worth(case, run)


def _case(inputs: Inputs, scenario: Scenario) -> Case | None:
    """Return a scenario in numbers, None where its input is refused."""
    try:
        there = applied(inputs, scenario.changes)
        case = resolve(there)
        return replace(case, kit=with_kit(there, _roomy(case)).kit)
    except InputError:
        return None


def _roomy(case: Case) -> Case:
    """Return a case with room for what was bought for another one, to work out its fabrics."""
    supplies = given(case.limits)
    wide = {each.field: ROOM * getattr(case.limits, each.field) for each in supplies}
    return replace(case, limits=replace(case.limits, **wide))
