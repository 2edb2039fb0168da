"""What a plan's levers are worth: the best plan without each, found again by other means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planner import api
from planner.analysis.explain import explain
from planner.case import resolve
from planner.inputs import Inputs, changed
from planner.loader import load
from planner.optimizer.objective import natural
from planner.optimizer.optimise import optimise
from planner.report.screen import show
from planner.report.views.explain import view
from planner.schema.analysis import Explanation, Without
from tests.world.files import CATALOG, FILES, PROBLEM

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


def loaded(folder: Path, text: str) -> Inputs:
    catalog = CATALOG.replace("    model: Box 8\n", "    model: Box 8\n" + CURVE, 1)
    catalog = catalog.replace("    gpu:\n", f"    gpu:\n{TDP}", 1)
    for name, content in {**FILES, "own.yaml": catalog, "problem.yaml": text}.items():
        (folder / name).write_text(content, encoding="utf-8")
    return load(folder / "problem.yaml")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Inputs, Explanation]:
    inputs = loaded(tmp_path_factory.mktemp("levers"), LEVERS)
    return inputs, explain(inputs, api.Options())


def best(inputs: Inputs) -> float:
    """Return the most useful work of a problem, solved by itself."""
    case = resolve(inputs)
    value = optimise(case, ties=False).value
    assert value is not None
    return natural(case.objective, value)


def row(found: Explanation, label: str) -> Without:
    return next(each for each in found.without if each.label == label)


def test_each_row_is_the_best_plan_of_the_problem_it_sets(
    found: tuple[Inputs, Explanation],
) -> None:
    inputs, explanation = found
    free: dict[str, Any] = {"100 %": 1.0}
    assert len(explanation.without) >= 3
    for each in explanation.without:
        path, text = each.setting.split("=")
        value = free[text] if text in free else int(text)
        assert each.value == pytest.approx(best(changed(inputs, path, value)), rel=5e-6)
        assert each.change == pytest.approx(each.value - (explanation.value or 0.0), abs=1e-9)
        assert each.change <= 5e-6 * each.value


def test_what_is_decided_is_worth_something_here(found: tuple[Inputs, Explanation]) -> None:
    """A tenth of the rate for a third of the power pays where power is short, and spares do."""
    _, explanation = found
    for label in ("GPUs at full power", "no spares"):
        change = row(explanation, label).change
        assert change is not None and change < -1.0
    screen = show(view(explanation), full=True)
    assert "Value of levers" in screen
    assert "--set 'jobs.0.power.points=100 %'" in " ".join(screen.split())
