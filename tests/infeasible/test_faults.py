"""One fault planted in a random problem: named, and every proposed change tried both ways."""

from __future__ import annotations

import math
from random import Random

import pytest

from planner.inputs import applied
from planner.levers import Lever
from planner.schema.plan import Combined
from tests.infeasible.plant import (
    Planted,
    check_one,
    check_together,
    explained,
    has_plan,
    lever_of,
    named,
    still_planted,
    written,
)

SINGLE = [planted for planted in written() if len(planted.limits) == 1]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("part", range(9))
def test_planted_problems_have_a_plan_without_their_faults(part: int) -> None:
    """Where random problems have changed, `python -m tests.infeasible.plant` plants anew."""
    assert [each.name for each in written()[part::9] if not still_planted(each)] == []


@pytest.mark.exhaustive(keep=3, most=14)
@pytest.mark.parametrize("planted", SINGLE, ids=lambda p: p.name)
def test_a_planted_fault_is_in_each_conflict_and_repaired(planted: Planted) -> None:
    (path,) = planted.limits
    found = explained(planted)
    assert named(found), "no conflict is named"
    assert all(path in conflict for conflict in named(found)), named(found)
    assert path in {step.path for step in found.changes}
    for step in found.changes:
        check_one(planted.inputs, step)
    if found.combined is not None:
        check_together(planted.inputs, found.combined.steps)


# Two faults planted in a random problem: named, and every proposed change tried both ways.


DOUBLE = [planted for planted in written() if len(planted.limits) == 2]
CHEAPER = 0.97
DRAWS = 6


@pytest.mark.exhaustive(keep=2, most=14)
@pytest.mark.parametrize("planted", DOUBLE, ids=lambda p: p.name)
def test_two_planted_faults_are_named_and_repaired(planted: Planted) -> None:
    found = explained(planted)
    told = {step.path for step in found.combined.steps} if found.combined else set()
    hidden = set(planted.limits) - told.union(*named(found))
    # A fault that another one hides is no cause where a change elsewhere gives a plan with it.
    assert not hidden or found.changes, (named(found), told)
    assert len(hidden) < len(planted.limits)
    assert found.changes or found.combined is not None, "nothing is proposed"
    for step in found.changes:
        check_one(planted.inputs, step)
    if found.combined is not None:
        check_together(planted.inputs, found.combined.steps)
        check_no_cheaper(planted, found.combined)


def check_no_cheaper(planted: Planted, combined: Combined) -> None:
    """No change of the same limits that adds up to less than the bound gives a plan."""
    if combined.bound is None:
        return
    random = Random(planted.seed)
    for _ in range(DRAWS):
        shares = [random.expovariate(1.0) for _ in combined.steps]
        scale = CHEAPER * combined.bound / sum(shares)
        inputs = planted.inputs
        for step, share in zip(combined.steps, shares, strict=True):
            lever = lever_of(planted.inputs, step)
            inputs = applied(inputs, lever.to(moved_by(lever, share * scale)))
        assert not has_plan(inputs), combined


def moved_by(lever: Lever, share: float) -> float:
    """Return where a lever stands that is moved by so much of its value, as changes are counted."""
    assert lever.value is not None
    place = lever.value * (1.0 + lever.looser * share)
    if lever.whole:  # rounded to the tighter side
        place = math.floor(place) if lever.looser > 0 else math.ceil(place)
    return min(max(place, lever.least), lever.most)
