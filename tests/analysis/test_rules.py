"""The argument as a table: rows are plans of their own, reasons where there is none, sentences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from planner import api
from planner.analysis import rules as asks
from planner.analysis.rules import argument, rules_table
from planner.currency import USD
from planner.schema.analysis import (
    Bought,
    Measure,
    Outcome,
    RuleRow,
    RulesTable,
)
from planner.schema.plan import Plan

PROBLEMS = Path(__file__).parents[2] / "problems"
WORK = Measure(name="useful_pflops", label="useful work", unit="PFLOP/s", sense="maximize")
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
    inputs = api.load(path, settings=settings)
    base = api.solve_with(inputs, api.Options())
    return Made(path, settings, base, rules_table(inputs, base, api.Options()))


def outcome(**changes: Any) -> Outcome:
    figures: dict[str, Any] = {
        "systems": (Bought(sku="g", model="G", product="Anvil G", quantity=10),),
        "storage": (Bought(sku="s", model="S", product="Stow S", quantity=5),),
        "storage_it_power_kw": 10.0, "it_power_kw": 100.0, "capex_usd": 9e6, "gpus": 80,
        "gpus_used": 80, "useful_pflops": 78.0, "days_to_train": None,
        "interval_s": 600.0, "goodput": 0.97,
        "objective_value": 78.0, "gap": 1e-6, "measured": 78.0, "difference": 0.0,
    }  # fmt: skip
    return Outcome(**figures | changes)


def row(name: str, group: str = "rule", **changes: Any) -> RuleRow:
    known: dict[str, Any] = {"asks": "", "own": False, "settings": (), "status": "optimal"}
    return RuleRow.model_validate({"group": group, "name": name, "label": name} | known | changes)


def test_a_minimising_problem_is_measured_by_its_cost() -> None:
    found = made("enterprise_1MW")
    assert found.table.measure == COST
    light, high = found.row("light").outcome, found.row("high").outcome
    demand = found.table.rows[0].outcome
    assert light is not None and high is not None and demand is not None
    assert demand.measured == found.base.objective.value
    assert high.measured is not None and demand.measured is not None
    assert high.difference == pytest.approx(high.measured / demand.measured - 1)
    assert high.difference > 0


def test_rows_are_law_rules_other_mode_and_each_storage() -> None:
    groups = [each.group for each in made("enterprise_1MW").table.rows]
    assert groups == sorted(groups, key=["demand", "rule", "mode", "variant", "vendor"].index)
    names = {each.name for each in made("enterprise_1MW").table.rows}
    assert {"demand", "light", "medium", "high", "good", "better", "best", "sync"} <= names
    assert {"DDN", "NetApp", "VAST Data", "WEKA"} <= names
    assert {"ddn_exascaler", "ddn_exascaler_hybrid_io"} <= names


def test_a_problems_own_rule_is_marked() -> None:
    found = made("enterprise_1MW", "storage.rule=medium")
    assert [each.name for each in found.table.rows if each.own] == ["medium"]
    assert found.table.rows[0].settings == ("storage.rule=demand",)
    assert found.row("sync").settings == ("storage.rule=demand", "jobs.0.checkpoint.mode=sync")
    assert found.table.overrides == ("storage.rule=medium",)
    medium = found.row("medium").outcome
    assert medium is not None
    assert medium.objective_value == found.base.objective.value


def test_a_rule_of_ones_own_is_a_row() -> None:
    rule = "storage.rule={name: house, read: 0.2 GB/s, write: 0.1 GB/s}"
    inputs = api.load(PROBLEMS / "enterprise_1MW.yaml", settings=(rule,))
    own = list(asks.row_questions(inputs))[1]
    assert (own.name, own.changes) == ("house", ())
    assert own.asks.startswith("0.2 GB/s read and 0.1 GB/s write for each GPU")


def test_the_worst_rule_and_both_ends_of_the_vendors_are_named() -> None:
    worse = outcome(difference=-0.05, measured=74.1, gpus_used=72, storage_it_power_kw=40.0)
    rows = (
        row("demand", "demand", outcome=outcome()),
        row("fine", outcome=outcome(difference=0.004)),
        row("heavy", outcome=worse),
        row("same", "vendor", outcome=outcome(difference=5e-5, gap=1e-4)),
        row("other", "vendor", outcome=outcome(difference=-0.01, measured=77.22)),
        row("none", "vendor", status="infeasible", reason="too small"),
    )
    assert argument(rows, WORK, USD) == (
        "heavy rule: 5.0 % less useful work (74.10 instead of 78), "
        "72 GPUs in use instead of 80, storage 40 kW instead of 10 kW",
        "same: useful work equal within the gap",
        "other: 1.0 % less useful work (77.22 instead of 78)",
    )
