"""Where loosening a limit begins to pay: there a better plan exists, a step before it none."""

from __future__ import annotations

from functools import cache

import pytest

from planner.analysis.variants import Best
from planner.inputs import Inputs, applied
from planner.levers import Lever, levers, read
from planner.schema.explanation import Marginal, NextStep
from tests.analysis.explaining import worths
from tests.analysis.test_marginal import truth
from tests.infeasible.plant import drawn
from tests.world.solved import solve

CLOSE = 2e-5
SEEDS = (0, 3, 4, 6, 7, 9, 11, 14, 15, 19, 21, 23, 25, 31)


def explained(inputs: Inputs) -> tuple[Best, list[Marginal]]:
    base, rows = worths(inputs, solve(inputs))
    return base, [row for row in rows if row.next_step is not None]


def lever_of(inputs: Inputs, path: str) -> Lever:
    (lever,) = [lever for lever in levers(inputs) if lever.path == path]
    return lever


def read_of(lever: Lever, text: str) -> float:
    return read(text, lever.unit, {lever.money.code: lever.money})


def at(inputs: Inputs, lever: Lever, text: str) -> Inputs:
    """Return the problem with a lever where a text says."""
    value = float(text) if lever.whole else read_of(lever, text)
    return applied(inputs, lever.to(value))


@cache
def drawn_steps(seed: int) -> tuple[Inputs, Best, tuple[Marginal, ...]]:
    inputs = drawn(seed)
    base, rows = explained(inputs)
    return inputs, base, tuple(rows)


@pytest.mark.exhaustive(keep=3, most=7)
@pytest.mark.parametrize("seed", SEEDS)
def test_where_it_begins_to_pay_in_drawn_problems(seed: int) -> None:
    inputs, base, rows = drawn_steps(seed)
    assert base.value is not None
    sign = 1.0 if inputs.problem.objective.maximize is not None else -1.0
    for row in rows:
        step, lever = row.next_step, lever_of(inputs, row.path)
        assert step is not None
        wanted, width = base.value + sign * step.gain, CLOSE * abs(base.value)
        there = truth(at(inputs, lever, step.to_text))
        short = truth(at(inputs, lever, step.short_text))
        assert there is not None
        assert short is not None
        assert sign * (there - wanted) >= -width, (row.path, step, there)
        assert sign * (short - wanted) < width, (row.path, step, short)
        assert step.setting == f"{row.path}={step.to_text}"
        _check_order(lever, step)


def _check_order(lever: Lever, step: NextStep) -> None:
    """The value, what does not pay yet and what does stand in this order."""
    to, short = (float(t) if lever.whole else read_of(lever, t)
                 for t in (step.to_text, step.short_text))  # fmt: skip
    assert lever.value is not None
    assert lever.looser_than(to, short)
    assert not lever.looser_than(lever.value, short)


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("seed", SEEDS)
def test_only_what_binds_has_a_next_step(seed: int) -> None:
    assert all(row.binding for row in drawn_steps(seed)[2])
