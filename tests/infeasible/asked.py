"""What must be true of an explanation, asked of the exhaustive enumeration.

It shares no code with what is tested.
"""

from __future__ import annotations

from planner.inputs import Inputs, applied
from planner.levers import Lever, levers
from planner.schema.plan import Infeasibility, Step
from tests.infeasible.plant import Planted, has_plan
from tests.world.solved import solve


def explained(planted: Planted) -> Infeasibility:
    plan = solve(planted.inputs)
    assert plan.status == "infeasible"
    assert plan.infeasibility is not None
    assert not plan.infeasibility.undecided
    return plan.infeasibility


def named(found: Infeasibility) -> list[set[str]]:
    return [{limit.path for limit in conflict.limits} for conflict in found.conflicts]


def lever_of(inputs: Inputs, step: Step) -> Lever:
    return next(
        lever
        for lever in levers(inputs)
        if lever.path == step.path
        and (step.least is None or (step.least - (step.value or 0.0)) * lever.looser > 0)
    )


def moved(inputs: Inputs, step: Step, value: float | None) -> Inputs:
    lever = lever_of(inputs, step)
    return applied(inputs, lever.off if value is None else lever.to(value))


def check_one(inputs: Inputs, step: Step) -> None:
    """A change is enough, and a little less is not."""
    assert has_plan(moved(inputs, step, step.least)), step
    if step.not_enough is not None:
        assert not has_plan(moved(inputs, step, step.not_enough)), step


def check_together(inputs: Inputs, steps: tuple[Step, ...]) -> None:
    """Changes together are enough, and none of them may be a little less."""
    whole = inputs
    for step in steps:
        whole = moved(whole, step, step.least)
    assert has_plan(whole), steps
    for step in steps:
        if step.not_enough is None:
            continue
        less = inputs
        for other in steps:
            less = moved(less, other, other.not_enough if other is step else other.least)
        assert not has_plan(less), (step, steps)
