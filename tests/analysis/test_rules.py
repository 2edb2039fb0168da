"""Storage by other rules: rows are plans of their own, reasons where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pytest

from planner import api
from planner.analysis.alternatives import row_questions, rules_table
from planner.loader import load
from planner.schema.analysis import Measure, RuleRow, RulesTable
from planner.schema.plan import Plan

PROBLEMS = Path(__file__).parents[2] / "problems"
COST = Measure(name="cost", label="capex", unit="USD", sense="minimize")


@dataclass(frozen=True)
class Made:
    """A table with the plan it stands on."""

    path: Path
    settings: tuple[str, ...]
    base: Plan
    table: RulesTable

    def row(self, name: str) -> RuleRow:
        return next(row for row in self.table.rows if row.name == name)


@lru_cache
def made(problem: str, *settings: str) -> Made:
    path = PROBLEMS / f"{problem}.yaml"
    inputs = load(path, settings=settings)
    base = api.solve_with(inputs, api.Options())
    return Made(path, settings, base, rules_table(inputs, base, api.Options()))


def test_a_minimising_problem_is_measured_by_its_cost() -> None:
    found = made("enterprise_1MW")
    assert found.table.measure == COST
    high, demand = found.row("high"), found.table.rows[0]
    assert high.plan is not None and demand.plan is not None
    assert demand.measured == found.base.objective.value
    assert high.measured is not None and demand.measured is not None
    assert high.difference == pytest.approx(high.measured / demand.measured - 1)
    assert high.difference > 0


def test_rows_are_law_rules_and_the_other_mode() -> None:
    groups = [each.group for each in made("enterprise_1MW").table.rows]
    assert groups == sorted(groups, key=["demand", "rule", "mode"].index)
    names = {each.name for each in made("enterprise_1MW").table.rows}
    assert {"demand", "light", "medium", "high", "good", "better", "best", "sync"} <= names


def test_a_problems_own_rule_is_marked() -> None:
    found = made("enterprise_1MW", "storage.rule=medium")
    assert [each.name for each in found.table.rows if each.own] == ["medium"]
    assert found.table.rows[0].settings == ("storage.rule=demand",)
    assert found.row("sync").settings == ("storage.rule=demand", "jobs.0.checkpoint.mode=sync")
    assert found.table.overrides == ("storage.rule=medium",)
    medium = found.row("medium").plan
    assert medium is not None
    assert medium.objective.value == found.base.objective.value


def test_a_rule_of_ones_own_is_a_row() -> None:
    rule = "storage.rule={name: house, read: 0.2 GB/s, write: 0.1 GB/s}"
    inputs = load(PROBLEMS / "enterprise_1MW.yaml", settings=(rule,))
    own = list(row_questions(inputs))[1]
    assert (own.name, own.changes) == ("house", ())
