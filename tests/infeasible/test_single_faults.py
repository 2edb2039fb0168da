"""One fault planted in a random problem: named, and every proposed change tried both ways."""

from __future__ import annotations

import pytest

from tests.infeasible.asked import check_one, check_together, explained, named
from tests.infeasible.plant import Planted, still_planted, written

SINGLE = [planted for planted in written() if len(planted.limits) == 1][::2]
"""Every second one: all of them say the same, and take twice as long."""


def test_there_are_enough_problems() -> None:
    assert len(SINGLE) >= 28


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("part", range(9))
def test_it_is_the_faults_that_leave_no_plan(part: int) -> None:
    """Where random problems have changed, `python -m tests.infeasible.plant` plants anew."""
    assert [each.name for each in written()[part::9] if not still_planted(each)] == []


@pytest.mark.exhaustive(keep=4, most=14)
@pytest.mark.parametrize("planted", SINGLE, ids=lambda p: p.name)
def test_a_single_fault(planted: Planted) -> None:
    (path,) = planted.limits
    found = explained(planted)
    assert named(found), "no conflict is named"
    assert all(path in conflict for conflict in named(found)), named(found)
    assert path in {step.path for step in found.changes}
    for step in found.changes:
        check_one(planted.inputs, step)
    if found.combined is not None:
        check_together(planted.inputs, found.combined.steps)
