"""Goodput against known answers, its own approximations and its algebraic properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing.goodput import (
    best_interval_s,
    goodput,
    goodput_loss,
)

GOODPUT_TABLE = [  # interval, stall, drain, restart, MTTI (all s), goodput
    (1_800, 50.5, 0, 600, 11_123, 0.84840),
    (1_800, 5, 50.5, 600, 11_123, 0.86652),
    (600, 5, 60, 900, 11_123, 0.88535),
    (3_600, 300, 0, 600, 28_800, 0.84283),
    (3_600, 0.6, 360, 600, 6_480, 0.64473),
    (14_400, 50.5, 0, 600, 11_123, 0.46133),
]

mttis = st.floats(60, 1e7)
ratios = st.floats(1e-6, 3)
shares = st.floats(0, 0.99)


@pytest.mark.parametrize(("i", "s", "d", "r", "m", "exact"), GOODPUT_TABLE)
def test_goodput_table(i: float, s: float, d: float, r: float, m: float, exact: float) -> None:
    assert goodput(i, s, d, r, m) == pytest.approx(exact, abs=6e-6)


@given(st.floats(-15, -3).map(lambda exponent: 10.0**exponent))
def test_frequent_saves_lose_half_an_interval_per_failure(z: float) -> None:
    loss = goodput_loss(z, 0, 0, 0, 0, 1.0)
    # 1 - z/(exp(z) - 1) = z/2 - z**2/12 + O(z**4)
    assert loss.rework == pytest.approx(z / 2 - z**2 / 12, rel=1e-9)


@given(st.floats(0, 1), st.floats(1, 60), st.floats(1, 600))
def test_slowdown_while_draining_acts_as_a_longer_stall(
    slowdown: float, stall: float, drain: float
) -> None:
    slowed = goodput(1_800, stall, drain, 600, 11_123, drain_slowdown=slowdown)
    stalled = goodput(1_800, stall + slowdown * drain, drain, 600, 11_123)
    assert slowed == pytest.approx(stalled, rel=1e-12)


@given(mttis, ratios, shares, ratios, ratios, ratios, st.floats(0, 1))
def test_losses_add_up_to_what_is_lost(
    mtti: float,
    z: float,
    stall_share: float,
    drain: float,
    restart: float,
    restore: float,
    slowdown: float,
) -> None:
    interval = z * mtti
    stall, drain_time = stall_share * interval, drain * mtti
    loss = goodput_loss(interval, stall, drain_time, restart * mtti, restore * mtti, mtti, slowdown)
    kept = goodput(interval, stall, drain_time, (restart + restore) * mtti, mtti, slowdown)
    assert loss.total == pytest.approx(1 - kept, abs=1e-12)
    parts = (loss.stall, loss.rework, loss.drain, loss.restart, loss.restore)
    assert all(0 <= part <= 1 for part in parts)


def test_a_stall_as_long_as_the_interval_loses_everything() -> None:
    loss = goodput_loss(60, 60, 10, 600, 14, 3_600)
    assert (loss.stall, loss.total) == (1.0, 1.0)


@given(st.floats(0.1, 600), st.floats(600, 1e6), st.floats(0, 300), st.floats(0, 3_600))
def test_best_interval_beats_its_neighbours(
    stall: float, mtti: float, drain: float, restart: float
) -> None:
    best = best_interval_s(stall, mtti, 1e-3, 1e9)

    def at(factor: float) -> float:
        return goodput(best * factor, stall, drain, restart, mtti)

    assert at(1.0) > at(1.01)
    assert at(1.0) > at(0.99)


@given(st.floats(0.1, 60), st.floats(600, 1e6), st.floats(60, 7_200), st.floats(1, 20))
def test_clamped_interval_beats_a_grid_between_the_bounds(
    stall: float, mtti: float, low: float, spread: float
) -> None:
    best = best_interval_s(stall, mtti, low, low * spread)
    assert low <= best <= low * spread
    top = goodput(best, stall, 10, 600, mtti)
    for step in range(21):
        other = low * spread ** (step / 20)
        assert top >= goodput(other, stall, 10, 600, mtti) * (1 - 1e-12)
