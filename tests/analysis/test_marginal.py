"""What limits are worth, against differences of optima found by exhaustive enumeration."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.analysis.explain import step_of
from planner.inputs import Inputs, applied
from planner.levers import Lever, levers
from planner.schema.explanation import Marginal, Moved
from tests.analysis.explaining import worths
from tests.infeasible.plant import drawn
from tests.oracle.enumerate import best
from tests.world.solved import solve

SEEDS = (0, 3, 4, 6, 7, 9, 11, 14, 15, 19, 21, 23, 25, 31)
CLOSE = 2e-5


def truth(inputs: Inputs) -> float | None:
    """Return the best objective of a problem that prefers nobody and gives nothing away."""
    policy = inputs.problem.policy.model_copy(update={"prefer": None})
    objective = inputs.problem.objective.model_copy(update={"indifference": 0.0})
    problem = inputs.problem.model_copy(update={"policy": policy, "objective": objective})
    found = best(problem, inputs.items, inputs.families, inputs.prices, inputs.discounts)
    return None if found is None else found.top


def check(inputs: Inputs, base: float, lever: Lever, moved: Moved, place: float) -> None:
    if moved.known == "at_its_end":
        return
    expected = truth(applied(inputs, lever.to(place)))
    if expected is None:
        assert moved.known == "no_plan", (lever.path, moved)
        return
    assert moved.change is not None, (lever.path, moved, expected)
    assert moved.change_least is not None
    assert moved.change_most is not None
    width = CLOSE * max(abs(expected), abs(base))
    assert moved.change == pytest.approx(expected - base, abs=width), (lever.path, moved)
    assert moved.change_least - width <= expected - base <= moved.change_most + width
    assert moved.change_most - moved.change_least <= width


@pytest.mark.exhaustive(keep=3, most=8)
@pytest.mark.parametrize("seed", SEEDS)
def test_worths_are_differences_of_enumerated_optima(seed: int) -> None:
    inputs = drawn(seed)
    base = truth(inputs)
    assert base is not None, "the seed has no plan"
    plan = solve(inputs)
    found, rows = worths(inputs, plan)
    assert found.value == pytest.approx(base, rel=CLOSE)
    known = {lever.path: lever for lever in levers(inputs)}
    assert rows
    for row in rows:
        lever = known[row.path]
        step = step_of(lever, {})
        check(inputs, base, lever, row.looser, _place(lever, row, lever.looser * step))
        check(inputs, base, lever, row.tighter, _place(lever, row, -lever.looser * step))


def test_a_step_suits_the_value() -> None:
    """A minute says something of minutes and nothing of days; shares move by a point."""
    some = levers(drawn(SEEDS[0]))[0]

    def step(unit: str, value: float, *, whole: bool = False) -> float:
        return step_of(replace(some, unit=unit, value=value, whole=whole), {})

    assert [step("s", value) for value in (5.0, 600.0, 14_400.0)] == [0.05, 60.0, 60.0]
    assert [step("s", value) for value in (36_000.0, 86_400.0)] == [3600.0, 3600.0]
    assert step("share", 0.1) == 0.01
    assert step("racks", 260.0, whole=True) == 1.0
    assert step("GPUs", 4032.0, whole=True) == 40.0
    assert step("kW", 10_000.0) == 100.0


def _place(lever: Lever, row: Marginal, step: float) -> float:
    return min(max(row.value + step, lever.least), lever.most)
