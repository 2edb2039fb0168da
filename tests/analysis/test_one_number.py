"""The best plan of a problem has one value, whichever command states it."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner import api
from planner.analysis import frontier, tornado, uncertain
from planner.analysis.alternatives import rules_table
from planner.analysis.explain import explain
from planner.analysis.request import EXACT_ROWS, Request, SweepOptions
from planner.analysis.sweep import COUNT_PREFIX, Row, rows_of
from planner.analysis.uncertain import Draw
from planner.analysis.variants import Scenario, solve_variants
from planner.case import resolve
from planner.loader import load
from planner.optimizer.objective import natural
from planner.optimizer.optimise import optimise
from planner.shipped import problem_files
from tests.world.solved import solve

SAME = 2e-6


def test_commands_state_one_value_of_the_best_plan() -> None:
    inputs = load(Path(problem_files()["gpt3_octet"]))
    plan = solve(inputs)
    goal, value = plan.objective, plan.objective.value
    assert value is not None

    found: dict[int, Row] = {}
    how = Request(paths=(), jobs=1).rows(EXACT_ROWS)
    solve_variants({"": inputs}, [Scenario(0, ())], how, rows_of, found)
    (row,) = found.values()
    assert row["objective"] == pytest.approx(value, rel=SAME)
    bought = {line.sku: line.quantity for line in plan.lines if f"{COUNT_PREFIX}{line.sku}" in row}
    assert bought
    assert bought == {sku: row[f"{COUNT_PREFIX}{sku}"] for sku in bought}

    compared = rules_table(inputs, plan, api.Options())
    own = next(each for each in compared.rows if each.own and each.plan is not None)
    assert own.plan is not None
    assert own.plan.objective.value == pytest.approx(value, rel=SAME)

    explained = explain(inputs, api.Options(), plan=plan)
    assert explained.plan.objective.value == value
    assert explained.value == pytest.approx(goal.best, rel=SAME)  # limits move the best there is

    certificate = optimise(resolve(inputs))
    assert certificate.best is not None
    assert natural(goal.name, certificate.best) == pytest.approx(goal.best, rel=SAME)


def test_studies_state_the_optimum_of_the_unchanged_problem() -> None:
    inputs = load(Path(problem_files()["light_rule"]))
    plan = solve(inputs)
    options = SweepOptions(jobs=1)
    swings = tornado.study(inputs, ("site.pue=1.2:1.3",), options)
    curve = frontier.study(inputs, options, "cost", points=3)
    drawn = uncertain.study(inputs, ("site.pue=1.2..1.3",), options, Draw(samples=2), plan=plan)
    for study in (swings, curve, drawn):
        assert study.base == pytest.approx(plan.objective.best, rel=SAME)
