"""What a job keeps with fewer replicas, state by state: known answers, the simulation, what a plan
says where its formula is off."""

from __future__ import annotations

import math

import pytest

from planner.simulation.job import FailureClass, LocalCopies, RepairUnits, shares_of
from planner.simulation.laws import Law
from planner.sizing.goodput import goodput
from planner.sizing.states import Rhythm, kept
from tests.simulation.closed_forms import one_level, shrunk
from tests.simulation.test_operation import HOUR, plain, run


def rhythm(hardware_share: float, swap_s: float = 0.0) -> Rhythm:
    """Return 600 s between captures that are safe 30 s later, restarts of 200 s."""
    return Rhythm(600.0, 590.0, 30.0, ((1.0, 200.0),), hardware_share, swap_s, 9000.0)


def test_where_nothing_is_taken_out_it_is_the_goodput() -> None:
    expected = goodput(600.0, 10.0, 30.0, 200.0, HOUR)
    assert kept([5, 0], 1 / HOUR / 5, rhythm(0.0)) == pytest.approx(expected, rel=1e-12)


HARD = (
    ([2, 1, 1, 0, 0], 0.8, 1.0, 0.25, 0.1, 0.02, 0.05),
    ([2, 2, 1, 1, 0], 1.0, 2.0, 0.25, 0.3, 0.1, 0.0),
    ([8, 7, 6, 5, 4, 0], 0.7, 4.0, 0.3, 0.3, 0.2, 0.0),
)
"""Replicas by units out; share of hardware; repair, restart, interval, drain and swap, in mean
times between failures: jobs of which the formula is 1 to 4 % off."""


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("job", HARD)
def test_the_simulation_keeps_as_much(
    job: tuple[list[int], float, float, float, float, float, float],
) -> None:
    running, share, *times = job
    repair_s, restart_s, interval_s, drain_s, swap_s = (each * HOUR for each in times)
    kinds = (FailureClass(1.0 - share), FailureClass(share, 1.0, Law(repair_s)))
    simulated = plain(
        classes=kinds, units=RepairUnits(shares_of(running), swap_s), restart_s=restart_s,
        interval_s=interval_s, drain_s=drain_s,
    )  # fmt: skip
    found = run([simulated], 500, 600, 3)["kept"][0]
    how = Rhythm(interval_s, interval_s, drain_s, ((1.0, restart_s),), share, swap_s, repair_s)
    exact = kept(running, 1 / HOUR / running[0], how)
    assert found == pytest.approx(exact, rel=0.004)
    load = share * repair_s / HOUR
    parts = (interval_s, restart_s, drain_s)
    runs, seen, restarts = shrunk(running, load, repair_s, share, restart_s, (0.0, 0.0), *parts)
    passes = math.exp(-restarts * restart_s / HOUR)
    passes *= 1.0 - share + share * math.exp(-seen * swap_s / HOUR)
    law = runs * one_level(interval_s, 0.0, drain_s, passes, seen / HOUR)
    assert abs(law / found - 1.0) > 0.01


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    ("running", "every", "anew"),
    [([4, 3, 2, 1, 0], 5, False), ([4, 3, 2, 1, 0], 5, True), ([2, 2, 1, 1, 0], 1, True)],
)
def test_on_two_levels_too(running: list[int], every: int, anew: bool) -> None:
    """Every failure takes a unit out for two hours, swapped in 12 minutes; restarts of 3 and 24."""
    far, near_s, far_s, drain_s = 0.3, HOUR / 20, 0.4 * HOUR, 0.3 * HOUR
    interval_s, safe_s, swap_s, repair_s = 0.3 * HOUR, HOUR / 10, HOUR / 5, 2 * HOUR
    repair = Law(repair_s)
    kinds = (FailureClass(1.0 - far, 1.0, repair, local=True), FailureClass(far, 1.0, repair))
    simulated = plain(
        classes=kinds, units=RepairUnits(shares_of(running), swap_s), restart_s=far_s,
        interval_s=interval_s, drain_s=drain_s,
        local=LocalCopies(safe_s, every, near_s, not anew),
    )  # fmt: skip
    restarts = ((1.0 - far, near_s), (far, far_s))
    how = Rhythm(
        interval_s, interval_s, safe_s, restarts, 1.0, swap_s, repair_s, every, drain_s, anew
    )
    exact = kept(running, 1 / HOUR / running[0], how)
    assert run([simulated], 500, 600, 3)["kept"][0] == pytest.approx(exact, rel=0.004)
