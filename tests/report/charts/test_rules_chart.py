"""The picture of rules: each bar what that way costs, each row without a plan why."""

from __future__ import annotations

import pytest

from planner.report.charts.model import Bars
from planner.schema.analysis import (
    Bought,
    Measure,
    Outcome,
    RuleRow,
    RulesTable,
)
from tests.report.charts.samples import charts


def outcome(work: float, capex_usd: float | None, first: float) -> Outcome:
    system = Bought(sku="b300", model="B300", product="DGX B300", quantity=12)
    storage = Bought(sku="ai", model="AI400X3", product="DDN AI400X3", quantity=3)
    return Outcome(
        systems=(system,), storage=(storage,), storage_it_power_kw=9.0,
        it_power_kw=900.0, capex_usd=capex_usd,
        gpus=96, gpus_used=96, useful_pflops=work, days_to_train=None,
        interval_s=600.0, goodput=0.98, objective_value=work, gap=1e-9,
        measured=work, difference=work / first - 1.0,
    )  # fmt: skip


def row(label: str, found: Outcome | None, reason: str | None = None) -> RuleRow:
    return RuleRow(
        group="rule", name=label, label=label, asks=f"what {label} asks", own=label == "needs",
        settings=(), status="optimal" if found else "infeasible", reason=reason, outcome=found,
    )  # fmt: skip


def table(*, priced: bool = True, sense: str = "maximize") -> RulesTable:
    def usd(amount: float) -> float | None:
        return amount if priced else None

    return RulesTable(
        problem="hall", problem_file="hall.yaml", scenario=None, overrides=(),
        objective="useful_work",
        measure=Measure(name="useful_pflops", label="useful work", unit="PFLOP/s", sense=sense),  # type: ignore[arg-type]
        rows=(
            row("needs", outcome(100.0, usd(50e6), 100.0)),
            row("high", outcome(90.0, usd(53e6), 100.0)),
            row("better", outcome(101.0, usd(49e6), 100.0)),
            row("never", None, "the budget is too small"),
        ),
    )  # fmt: skip


def bars(study: RulesTable, panel: int) -> dict[str, list[tuple[int, float, str]]]:
    (chart,) = charts(study)
    return {
        layer.name: [
            (int(at), end, text)
            for at, end, text in zip(layer.rows, layer.ends, layer.texts, strict=True)
        ]
        for layer in chart.panels[panel].layers
        if isinstance(layer, Bars)
    }


def test_bars_are_what_a_rule_costs_in_work_and_in_money() -> None:
    work, money = bars(table(), 0), bars(table(), 1)
    assert work["worse"] == [(0, pytest.approx(-10.0), "-10.0 %")]
    assert work["better"] == [(1, pytest.approx(1.0), "+1.00 %")]
    assert money["worse"] == [(0, pytest.approx(3.0), "+3.00 MUSD")]
    assert money["better"] == [(1, pytest.approx(-1.0), "-1.00 MUSD")]
    (chart,) = charts(table())
    assert chart.panels[0].rows[2] == "never: no plan; the budget is too small"
