"""Worth of limits against optima found by enumeration, and where loosening one begins to pay."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from planner import api
from planner.analysis.explain import Prober, choose_step, explain, marginals
from planner.analysis.variants import Best
from planner.api import Options
from planner.case import resolve
from planner.inputs import Inputs, applied, changed
from planner.levers import Lever, levers
from planner.loader import load
from planner.optimizer import optimise
from planner.optimizer.objective import natural
from planner.schema.analysis import Marginal, Moved
from tests.infeasible.plant import drawn
from tests.levers.test_levers import read
from tests.oracle.enumerate import best
from tests.world.files import CATALOG, FILES, PROBLEM
from tests.world.solved import solve

SEEDS = (0, 3, 4, 6, 9, 15, 19, 23)
CLOSE = 2e-5


@cache
def worths(seed: int) -> tuple[Inputs, Best, tuple[Marginal, ...]]:
    """A drawn problem, its best plan, and the worth of each limit."""
    inputs = drawn(seed)
    plan = solve(inputs)
    prober = Prober(inputs, Options(), plan)
    return inputs, prober.base, marginals(prober)


def truth(inputs: Inputs) -> float | None:
    """Best objective of a problem that prefers nobody and gives nothing away."""
    policy = inputs.problem.policy.model_copy(update={"prefer": None})
    objective = inputs.problem.objective.model_copy(update={"indifference": 0.0})
    problem = inputs.problem.model_copy(update={"policy": policy, "objective": objective})
    found = best(problem, inputs.items, inputs.families, inputs.prices, inputs.discounts)
    return None if found is None else found.top


def check(inputs: Inputs, base: float, lever: Lever, moved: Moved, step: float) -> None:
    """Compare a move with the difference of enumerated optima."""
    if moved.known == "at_its_end":
        return
    place = min(max((lever.value or 0.0) + step, lever.least), lever.most)
    expected = truth(applied(inputs, lever.to(place)))
    if expected is None:
        assert moved.known == "no_plan", (lever.path, moved)
        return
    width = CLOSE * max(abs(expected), abs(base))
    assert moved.change == pytest.approx(expected - base, abs=width), (lever.path, moved)


@pytest.mark.exhaustive(keep=2, most=8)
@pytest.mark.parametrize("seed", SEEDS)
def test_worths_are_differences_of_enumerated_optima(seed: int) -> None:
    inputs, found, rows = worths(seed)
    base = truth(inputs)
    assert base is not None, "the seed has no plan"
    assert found.value == pytest.approx(base, rel=CLOSE)
    known = {lever.path: lever for lever in levers(inputs)}
    assert rows
    for row in rows:
        lever = known[row.path]
        step = lever.looser * choose_step(lever)
        check(inputs, base, lever, row.looser, step)
        check(inputs, base, lever, row.tighter, -step)


@pytest.mark.exhaustive(keep=3, most=7)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_next_step_gives_a_better_plan(seed: int) -> None:
    inputs, base, rows = worths(seed)
    known = {lever.path: lever for lever in levers(inputs)}
    assert base.value is not None
    sign = 1.0 if inputs.problem.objective.maximize is not None else -1.0
    for row in rows:
        step, lever = row.next_step, known[row.path]
        if step is None:
            continue
        assert row.binding
        rates = {lever.money.code: lever.money}
        to = float(step.to_text) if lever.whole else read(step.to_text, lever.unit, rates)
        there = truth(applied(inputs, lever.to(to)))
        assert there is not None and lever.value is not None
        wanted, width = base.value + sign * step.gain, CLOSE * abs(base.value)
        assert sign * (there - wanted) >= -width, (row.path, step, there)
        assert step.setting == f"{row.path}={step.to_text}"
        assert lever.looser_than(to, lever.value)


# What a plan's levers are worth: the best plan without each, found again by other means.


CURVE = """\
    power_points:
      - {of: training, gpu_cap: 60 %, throughput: 90 %, source: sheet, confidence: low}
"""
TDP = "      tdp: {value: 0.9375 kW, source: sheet, confidence: high}\n"
"""At a cap of 60 % a system of 10 kW draws 70 %."""
LEVERS = PROBLEM.replace(
    "    failures: llama3\n",
    "    failures: llama3\n    repair: {share: 78 %, time: 100 h}\n    power: {points: open}\n",
).replace("facility_power: 2 MW", "facility_power: 0.3 MW")


def test_value_of_a_lever_is_the_loss_without_it(tmp_path: Path) -> None:
    """A tenth of the rate for a third of the power pays where power is short, and spares do."""
    catalog = CATALOG.replace("    model: Box 8\n", "    model: Box 8\n" + CURVE, 1)
    catalog = catalog.replace("    gpu:\n", f"    gpu:\n{TDP}", 1)
    for name, content in {**FILES, "own.yaml": catalog, "problem.yaml": LEVERS}.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    inputs = load(tmp_path / "problem.yaml")
    explanation = explain(inputs, api.Options())
    assert len(explanation.without) >= 3
    for each in explanation.without:
        path, text = each.setting.split("=")
        case = resolve(changed(inputs, path, 1.0 if text == "100 %" else int(text)))
        best = optimise(case, ties=False).value
        assert best is not None and explanation.value is not None and each.change is not None
        value = explanation.value + each.change
        assert value == pytest.approx(natural(case.objective, best), rel=5e-6)
        assert each.change <= 5e-6 * value
        if each.label in ("GPUs at full power", "no spares"):
            assert each.change < -1.0
