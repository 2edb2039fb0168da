"""The argument as a table: rows are plans of their own, reasons where there is none, sentences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from planner import api
from planner.outputs.compare_text import render_rules
from planner.schema.comparison import Bought, Measure, Outcome, RuleRow, RulesTable
from planner.schema.plan import Plan
from planner.studies.compare import rules as asks
from planner.studies.compare.rules import argument, rules_table, variants, why_none

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
        "storage_units": 5, "storage_it_power_kw": 10.0, "storage_capex_usd": 1e6,
        "it_power_kw": 100.0, "facility_power_kw": 120.0, "capex_usd": 9e6, "gpus": 80,
        "gpus_used": 80, "useful_gpus": 78.0, "useful_pflops": 78.0, "days_to_train": None,
        "mode": "async", "interval_s": 600.0, "overlap": 0.05, "goodput": 0.97,
        "objective_value": 78.0, "gap": 1e-6, "measured": 78.0, "difference": 0.0,
    }  # fmt: skip
    return Outcome(**figures | changes)


def row(name: str, group: str = "rule", **changes: Any) -> RuleRow:
    known: dict[str, Any] = {"asks": "", "own": False, "settings": (), "status": "optimal"}
    return RuleRow.model_validate({"group": group, "name": name, "label": name} | known | changes)


@pytest.mark.exhaustive(keep=0)
def test_each_row_is_what_solving_with_its_settings_gives() -> None:
    found = made("enterprise_1MW")
    for each in found.table.rows:
        plan = api.solve(found.path, settings=each.settings)
        assert each.status == plan.status
        assert each.outcome is not None
        assert each.outcome.objective_value == plan.objective.value
        bought = {line.sku: line.quantity for line in plan.lines if line.section == "Storage"}
        assert {item.sku: item.quantity for item in each.outcome.storage} == bought
        assert plan.totals is not None
        assert each.outcome.capex_usd == plan.totals.capex_usd


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


def test_the_rows_are_the_law_the_rules_the_other_mode_and_each_storage() -> None:
    groups = [each.group for each in made("enterprise_1MW").table.rows]
    assert groups == sorted(groups, key=["demand", "rule", "mode", "variant", "vendor"].index)
    names = {each.name for each in made("enterprise_1MW").table.rows}
    assert {"demand", "light", "medium", "high", "good", "better", "best", "sync"} <= names
    assert {"DDN", "NetApp", "VAST Data", "WEKA"} <= names
    assert {"ddn_exascaler", "ddn_exascaler_hybrid_io"} <= names


@pytest.mark.exhaustive(keep=0)
def test_rules_without_a_plan_say_why_in_few_words() -> None:
    found = made("gpt3_octet")
    high = found.row("high")
    assert (high.status, high.outcome) == ("infeasible", None)
    assert high.reason is not None and len(high.reason) < 120
    assert found.base.message is None
    assert found.row("good").outcome is not None


def test_storage_that_the_problem_does_not_consider_has_no_plan() -> None:
    hybrid = made("gpt3_octet").row("ddn_exascaler_hybrid_io")
    assert hybrid.status is None
    assert hybrid.settings == ()
    assert hybrid.reason == "the problem does not consider it (consider.storage_families)"


@pytest.mark.exhaustive(keep=0)
def test_storage_beside_an_item_that_is_demanded_has_no_plan() -> None:
    found = made("enterprise_1MW", "items.wekapod_nitro_155.required=true")
    assert found.row("WEKA").outcome is not None
    reason = "the problem asks for WEKApod Nitro 155, which is other storage"
    assert {found.row(name).reason for name in ("DDN", "NetApp", "ddn_exascaler")} == {reason}


def test_storage_that_cannot_be_planned_says_what_is_missing() -> None:
    inputs = api.load(PROBLEMS / "enterprise_1MW.yaml", settings=("policy.forbid_vendors=[DDN]",))
    reason = why_none(inputs, ("ddn_exascaler",))
    assert reason == "none of it can be planned: vendor DDN is forbidden by policy"


def test_a_problem_with_a_rule_is_marked_and_the_other_rows_go_by_the_law() -> None:
    found = made("enterprise_1MW", "storage.rule=medium")
    assert [each.name for each in found.table.rows if each.own] == ["medium"]
    assert found.table.rows[0].settings == ("storage.rule=demand",)
    assert found.row("sync").settings == ("storage.rule=demand", "jobs.0.checkpoint.mode=sync")
    assert found.table.overrides == ("storage.rule=medium",)
    medium = found.row("medium").outcome
    assert medium is not None
    assert medium.objective_value == found.base.objective.value


def test_a_rule_of_ones_own_is_a_row() -> None:
    rule = "storage.rule={name: house, read: 20 GB/s, write: 10 GB/s, per_gpus: 128}"
    inputs = api.load(PROBLEMS / "enterprise_1MW.yaml", settings=(rule,))
    own = asks.row_questions(inputs)[1]
    assert (own.name, own.settings) == ("house", ())
    assert own.asks.startswith("20 GB/s read and 10 GB/s write for every 128 GPUs")


def test_a_synchronous_problem_is_asked_to_be_asynchronous() -> None:
    found = made("megatron_1t")
    assert found.row("async").settings == ("jobs.0.checkpoint.mode=async",)
    assert not [each for each in found.table.rows if each.name == "sync"]
    assert "vendor" not in {each.group for each in found.table.rows}, "there is one vendor only"


def test_a_change_that_the_loader_would_refuse_is_told() -> None:
    found = made("megatron_1t", "jobs.0.checkpoint.stall=5 h")
    reason = found.row("async").reason
    assert reason is not None
    assert reason.startswith("the stall of 18000 s is not shorter than the interval")


def test_variants_are_found_by_what_the_hardware_gives_and_takes() -> None:
    inputs = api.load(PROBLEMS / "enterprise_1MW.yaml")
    pairs = [(plain.id, variant.id) for plain, variant in variants(inputs)]
    assert pairs == [("ddn_exascaler", "ddn_exascaler_hybrid_io")]


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
    assert argument(rows, WORK) == (
        "heavy rule: 5.0 % less useful work (74.1 PFLOP/s instead of 78 PFLOP/s), "
        "72 GPUs in use instead of 80, storage 40 kW instead of 10 kW",
        "same: useful work equal within the gap",
        "other: 1.0 % less useful work (77.2 PFLOP/s instead of 78 PFLOP/s)",
    )


def test_a_table_without_the_laws_plan_says_so() -> None:
    rows = (row("demand", "demand", status="infeasible", reason="it is too small"), row("a"))
    told = argument(rows, WORK)
    assert told == ("There is no plan by the demand law: it is too small.",)


def test_the_table_survives_json() -> None:
    table = made("gpt3_octet").table
    assert RulesTable.model_validate_json(table.model_dump_json()) == table


@pytest.mark.parametrize("problem", ["enterprise_1MW", "gpt3_octet", "megatron_1t"])
def test_the_screen_fits_and_names_every_row(problem: str) -> None:
    table = made(problem).table
    text = render_rules(table)
    *lines, command = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert command.strip().startswith("planner solve ")
    assert command.endswith(f"{problem}.yaml --set storage.rule=light")
    for each in table.rows:
        assert each.label in text
