"""Worth of limits against optima found by enumeration, and where loosening one begins to pay."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from planner.analysis.explain import Prober, marginals, step_of
from planner.analysis.variants import Best
from planner.api import Options
from planner.inputs import Inputs, applied
from planner.levers import Lever, levers
from planner.schema.analysis import Marginal, Moved
from tests.infeasible.plant import drawn
from tests.levers.test_levers import read
from tests.oracle.enumerate import best
from tests.world.solved import solve

SEEDS = (0, 3, 4, 6, 7, 9, 11, 14, 15, 19, 21, 23, 25, 31)
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


@pytest.mark.exhaustive(keep=3, most=8)
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
        step = lever.looser * step_of(lever)
        check(inputs, base, lever, row.looser, step)
        check(inputs, base, lever, row.tighter, -step)


def test_a_step_suits_the_value() -> None:
    """A minute says something of minutes and nothing of days; shares move by a point."""
    some = levers(drawn(SEEDS[0]))[0]

    def step(unit: str, value: float, *, whole: bool = False) -> float:
        return step_of(replace(some, unit=unit, value=value, whole=whole))

    assert [step("s", value) for value in (5.0, 600.0, 14_400.0)] == [0.05, 60.0, 60.0]
    assert [step("s", value) for value in (36_000.0, 86_400.0)] == [3600.0, 3600.0]
    assert step("share", 0.1) == 0.01
    assert step("racks", 260.0, whole=True) == 1.0
    assert step("GPUs", 4032.0, whole=True) == 40.0
    assert step("kW", 10_000.0) == 100.0


@pytest.mark.exhaustive(keep=3, most=7)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_better_plan_exists_at_the_next_step_and_none_before_it(seed: int) -> None:
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
        to, short = (
            float(text) if lever.whole else read(text, lever.unit, rates)
            for text in (step.to_text, step.short_text)
        )
        wanted, width = base.value + sign * step.gain, CLOSE * abs(base.value)
        there, before = (truth(applied(inputs, lever.to(value))) for value in (to, short))
        assert there is not None and before is not None and lever.value is not None
        assert sign * (there - wanted) >= -width, (row.path, step, there)
        assert sign * (before - wanted) < width, (row.path, step, before)
        assert step.setting == f"{row.path}={step.to_text}"
        assert lever.looser_than(to, short) and not lever.looser_than(lever.value, short)
