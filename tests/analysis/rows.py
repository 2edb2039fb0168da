"""Rows of a sweep's table, in the order of their scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planner.analysis.request import SweepOptions
from planner.analysis.sweep import Row
from planner.analysis.sweep import rows_of as made
from planner.analysis.variants import Answer, Scenario, answers, solve_variants
from planner.inputs import Inputs


def rows_of(
    inputs: Inputs, scenarios: Sequence[Scenario], options: SweepOptions | None = None
) -> list[Row]:
    """Return the row of each scenario of a problem, solved in this process."""
    found: dict[int, Row] = {}
    how = replace(options or SweepOptions(), jobs=1)
    solve_variants({"": inputs}, scenarios, how, made, found)
    return [found[scenario.index] for scenario in scenarios]


def answers_of(
    inputs: Inputs, scenarios: Sequence[Scenario], options: SweepOptions
) -> list[Answer]:
    """Return the answer of each scenario of a problem, solved in this process."""
    return answers(inputs, scenarios, replace(options, jobs=1))
