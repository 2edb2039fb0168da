"""Goodput against known answers, its own approximations and its algebraic properties."""

import math
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planner.sizing.goodput import (
    FAILURES_PER_GPU_DAY,
    FIRST_ORDER_VALID_BELOW,
    best_interval_s,
    days_to_train,
    first_order_goodput,
    goodput,
    goodput_loss,
    mtti_s,
    understated_goodput,
    useful_gpus,
    useful_pflops,
    young_s,
)


def meta_ettr(interval_s: float, blocking_s: float, restart_s: float, mtti_s: float) -> float:
    """Return Meta's first-order ETTR of synchronous checkpoints (arXiv 2410.21680, HPCA'25)."""
    return (1 - (restart_s + interval_s / 2) / mtti_s) / (1 + blocking_s / interval_s)


# interval, stall, drain, restart, MTTI (all s) -> exact, first order, Meta's form
GOODPUT_TABLE = [
    (1_800, 50.5, 0, 600, 11_123, 0.84840, 0.84087, 0.84153),
    (1_800, 5, 50.5, 600, 11_123, 0.86652, 0.85821, 0.86275),
    (600, 5, 60, 900, 11_123, 0.88535, 0.87933, 0.88474),
    (3_600, 300, 0, 600, 28_800, 0.84283, 0.84028, 0.84615),
    (3_600, 0.6, 360, 600, 6_480, 0.64473, 0.57398, 0.62952),
    (14_400, 50.5, 0, 600, 11_123, 0.46133, 0.29770, 0.29771),
]

mttis = st.floats(60, 1e7)
ratios = st.floats(1e-6, 3)
shares = st.floats(0, 0.99)


@pytest.mark.parametrize(("i", "s", "d", "r", "m", "exact", "first", "meta"), GOODPUT_TABLE)
def test_goodput_table(
    i: float, s: float, d: float, r: float, m: float, exact: float, first: float, meta: float
) -> None:
    assert goodput(i, s, d, r, m) == pytest.approx(exact, abs=6e-6)
    assert first_order_goodput(i, s, d, r, m) == pytest.approx(first, abs=6e-6)
    assert meta_ettr(i, s, r, m) == pytest.approx(meta, abs=1.1e-5)


@given(mttis, ratios, st.floats(0, 0.9), ratios)
def test_without_a_drain_it_is_dalys_total_time(
    mtti: float, z: float, stall_share: float, restart_ratio: float
) -> None:
    interval, restart = z * mtti, restart_ratio * mtti
    stall = stall_share * interval
    solve_s = 1e6
    wall_s = (
        mtti * math.exp(restart / mtti) * math.expm1(interval / mtti) * solve_s / (interval - stall)
    )
    assert goodput(interval, stall, 0, restart, mtti) == pytest.approx(solve_s / wall_s, rel=1e-9)


@pytest.mark.parametrize(
    ("nodes", "per_node_day", "restart_s", "blocking_s", "interval_s", "expected"),
    [
        (2_000, 6.5e-3, 300, 0, 3_600, 0.684),
        (2_000, 6.5e-3, 300, 0, 300, 0.932),
        (1_500, 6.5e-3, 300, 10, 7.02 * 60, 0.921),
        (1_500, 6.5e-3, 300, 300, 38.4 * 60, 0.740),
        (1_500, 1.0e-3, 300, 300, 98 * 60, 0.898),
    ],
)
def test_meta_published_ettr(
    nodes: int,
    per_node_day: float,
    restart_s: float,
    blocking_s: float,
    interval_s: float,
    expected: float,
) -> None:
    mtti = mtti_s(per_node_day / 8, 8 * nodes)
    if blocking_s:
        assert young_s(blocking_s, mtti) == pytest.approx(interval_s, rel=2e-3)
    assert meta_ettr(interval_s, blocking_s, restart_s, mtti) == pytest.approx(expected, abs=6e-4)


@given(mttis, ratios, shares, ratios, ratios, st.floats(0, 1))
def test_goodput_is_a_share_and_never_beats_the_running_share(
    mtti: float, z: float, stall_share: float, drain: float, restart: float, slowdown: float
) -> None:
    interval = z * mtti
    value = goodput(interval, stall_share * interval, drain * mtti, restart * mtti, mtti, slowdown)
    assert 0 <= value <= 1 - stall_share + 1e-12


@given(mttis, ratios, st.floats(0.01, 0.8), ratios, ratios, st.floats(1.001, 1.2))
def test_more_stall_drain_or_restart_means_less_goodput(
    mtti: float, z: float, stall_share: float, drain: float, restart: float, growth: float
) -> None:
    interval = z * mtti
    stall, drain_time, restart_time = stall_share * interval, drain * mtti, restart * mtti
    base = goodput(interval, stall, drain_time, restart_time, mtti)
    extra = (growth - 1) * mtti
    assert goodput(interval, stall * growth, drain_time, restart_time, mtti) < base
    assert goodput(interval, stall, drain_time + extra, restart_time, mtti) < base
    assert goodput(interval, stall, drain_time, restart_time + extra, mtti) < base
    assert goodput(interval, stall, drain_time, restart_time, mtti * growth) > base


@given(mttis, ratios, shares, ratios, ratios, st.floats(1e-3, 1e3))
def test_goodput_does_not_depend_on_the_unit_of_time(
    mtti: float, z: float, stall_share: float, drain: float, restart: float, factor: float
) -> None:
    times = [z * mtti, stall_share * z * mtti, drain * mtti, restart * mtti, mtti]
    scaled = [time * factor for time in times]
    assert goodput(*scaled) == pytest.approx(goodput(*times), rel=1e-9)


@given(st.floats(-15, -3).map(lambda exponent: 10.0**exponent))
def test_frequent_saves_lose_half_an_interval_per_failure(z: float) -> None:
    loss = goodput_loss(z, 0, 0, 0, 0, 1.0)
    # 1 - z/(exp(z) - 1) = z/2 - z**2/12 + O(z**4)
    assert loss.rework == pytest.approx(z / 2 - z**2 / 12, rel=1e-9)


@pytest.mark.parametrize("z", [0.0099999999, 0.01, 0.0100000001, 0.5, 5.0, 50.0, 500.0])
def test_rework_factor_is_continuous_and_does_not_overflow(z: float) -> None:
    assert goodput(z, 0, 0, 0, 1.0) == pytest.approx(z / math.expm1(z), rel=1e-12)


def test_hopeless_inputs_give_zero() -> None:
    assert goodput(60, 60, 10, 600, 3_600) == 0.0
    assert goodput(60, 90, 10, 600, 3_600) == 0.0
    assert goodput(60, 30, 60, 600, 3_600, drain_slowdown=0.5) == 0.0
    assert goodput(1e6, 0, 0, 0, 1.0) == 0.0
    assert goodput(60, 5, 10, 1e6, 1.0) == 0.0


@given(st.floats(0, 1), st.floats(1, 60), st.floats(1, 600))
def test_slowdown_while_draining_acts_as_a_longer_stall(
    slowdown: float, stall: float, drain: float
) -> None:
    slowed = goodput(1_800, stall, drain, 600, 11_123, drain_slowdown=slowdown)
    stalled = goodput(1_800, stall + slowdown * drain, drain, 600, 11_123)
    assert slowed == pytest.approx(stalled, rel=1e-12)
    assert first_order_goodput(1_800, stall, drain, 600, 11_123, slowdown) == pytest.approx(
        first_order_goodput(1_800, stall + slowdown * drain, drain, 600, 11_123)
    )


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


def test_losses_are_split_by_the_logarithm_of_each_factor() -> None:
    loss = goodput_loss(1_800, 5, 50.5, 500, 100, 11_123)
    kept = goodput(1_800, 5, 50.5, 600, 11_123)
    assert loss.restart == pytest.approx((1 - kept) * (500 / 11_123) / -math.log(kept))
    assert loss.restore == pytest.approx(loss.restart / 5)
    assert loss.drain == pytest.approx(loss.restart * 50.5 / 500)
    assert loss.stall == pytest.approx((1 - kept) * math.log(1 - 5 / 1_800) / math.log(kept))
    z = 1_800 / 11_123
    assert loss.rework == pytest.approx((1 - kept) * math.log(z / math.expm1(z)) / math.log(kept))


def test_small_losses_take_their_first_order_size() -> None:
    mtti = 1e9
    loss = goodput_loss(3_600, 5e-5, 50, 600, 14, mtti)
    assert loss.rework == pytest.approx(1_800 / mtti, rel=1e-4)
    assert loss.drain == pytest.approx(50 / mtti, rel=1e-4)
    assert loss.restart == pytest.approx(600 / mtti, rel=1e-4)
    assert loss.restore == pytest.approx(14 / mtti, rel=1e-4)
    assert loss.stall == pytest.approx(5e-5 / 3_600, rel=1e-4)


def test_a_stall_that_fills_the_interval_loses_everything_to_the_stall() -> None:
    loss = goodput_loss(60, 60, 10, 600, 14, 3_600)
    assert (loss.stall, loss.total) == (1.0, 1.0)


def test_nothing_lost_leaves_nothing_to_split() -> None:
    assert goodput_loss(1e-200, 0, 0, 0, 0, 1e200).total == 0.0


@given(mttis, st.floats(1e-4, 0.3), shares, st.floats(0, 0.15), st.floats(0, 0.15))
def test_first_order_is_low_by_little_where_it_is_valid(
    mtti: float, z: float, stall_share: float, drain: float, restart: float
) -> None:
    lost_per_mtti = restart + z / 2 + drain
    assume(lost_per_mtti < FIRST_ORDER_VALID_BELOW)
    args = (z * mtti, stall_share * z * mtti, drain * mtti, restart * mtti, mtti)
    error = goodput(*args) - first_order_goodput(*args)
    # exp(-x) - (1 - x) bounds the error, since z/(exp(z) - 1) <= exp(-z/2).
    assert -1e-12 <= error <= math.exp(-lost_per_mtti) - (1 - lost_per_mtti) + 1e-12
    assert error < 0.011


def test_first_order_turns_negative_where_it_is_not_valid() -> None:
    assert first_order_goodput(20_000, 50, 0, 3_600, 11_123) < 0
    assert 0 < goodput(20_000, 50, 0, 3_600, 11_123) < 1


@given(st.floats(0.1, 600), st.floats(600, 1e6), st.floats(0, 300), st.floats(0, 3_600))
def test_best_interval_beats_its_neighbours_whatever_the_drain_and_restart(
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


def test_goodput_has_one_peak_in_the_interval() -> None:
    values = [goodput(20 * 1.1**k, 5, 50.5, 600, 11_123) for k in range(80)]
    signs = [later > earlier for earlier, later in pairwise(values)]
    assert signs == sorted(signs, reverse=True)
    assert signs[0]
    assert not signs[-1]


def test_slowdown_moves_the_best_interval_as_a_longer_stall_does() -> None:
    stall, drain, slowdown, mtti = 5.0, 50.0, 0.2, 11_123.0
    best = best_interval_s(stall + slowdown * drain, mtti, 1, 1e6)

    def at(interval: float) -> float:
        return goodput(interval, stall, drain, 600, mtti, slowdown)

    assert at(best) > max(at(best * 0.98), at(best * 1.02))


def test_llama3_scale_useful_work() -> None:
    mtti = mtti_s(FAILURES_PER_GPU_DAY["llama3"].value, 16_384)
    kept = goodput(1_800, 5, 50.5, 600, mtti)
    assert useful_gpus(16_384, 1) == 16_384
    assert useful_gpus(16_384, 0) == 0
    assert useful_gpus(16_384, kept) == pytest.approx(16_384 * 0.8666, rel=1e-3)
    assert useful_pflops(16_384, 989, 0.41, kept) == pytest.approx(
        useful_gpus(16_384, kept) * 0.40549, rel=1e-9
    )


def test_llama3_token_rate() -> None:
    pflops = useful_pflops(16_384, 400, 1.0, 1.0)
    assert pflops == pytest.approx(6_553.6)
    tokens_per_day = 2.70e6 * 86_400
    assert days_to_train(405e9, tokens_per_day, pflops) == pytest.approx(1, rel=2e-3)


@given(st.floats(1e9, 1e13), st.floats(1e9, 1e14), st.floats(1, 1e6))
def test_days_to_train_scale_with_work_over_rate(
    parameters: float, tokens: float, pflops: float
) -> None:
    days = days_to_train(parameters, tokens, pflops)
    assert days * 86_400 * pflops * 1e15 == pytest.approx(6 * parameters * tokens)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_impossible_times_are_refused_by_name(bad: float) -> None:
    with pytest.raises(ValueError, match="interval_s must be positive"):
        goodput(bad, 5, 50, 600, 3_600)
    with pytest.raises(ValueError, match="stall_s must be"):
        goodput(600, bad, 50, 600, 3_600)
    with pytest.raises(ValueError, match="drain_s must be"):
        goodput(600, 5, bad, 600, 3_600)
    with pytest.raises(ValueError, match="restart_s must be"):
        first_order_goodput(600, 5, 50, bad, 3_600)
    with pytest.raises(ValueError, match="restore_s must be"):
        goodput_loss(600, 5, 50, 600, bad, 3_600)
    with pytest.raises(ValueError, match="drain_slowdown must lie between"):
        goodput(600, 5, 50, 600, 3_600, bad)
    with pytest.raises(ValueError, match="goodput must lie between"):
        useful_gpus(8, bad)
    with pytest.raises(ValueError, match="useful_pflops must be"):
        days_to_train(1e9, 1e9, bad)


def test_crossed_bounds_and_impossible_shares_are_refused() -> None:
    with pytest.raises(ValueError, match=r"low_s 100 is above high_s 50"):
        best_interval_s(5, 3_600, 100, 50)
    with pytest.raises(ValueError, match="drain_slowdown must lie between 0 and 1"):
        goodput(600, 5, 50, 600, 3_600, 1.01)
    with pytest.raises(ValueError, match="goodput must lie between 0 and 1"):
        useful_gpus(8, 1.01)
    with pytest.raises(ValueError, match="mfu must be above 0"):
        useful_pflops(8, 989, 1.2, 0.9)


def test_what_a_slowdown_understates_by_hand() -> None:
    """Slowed by half for 200 s, once per 10,000 s, kept with exp(-(600 + 2,000 + 200)/10,000)."""
    missed = understated_goodput(2_000, 200, 600, 10_000, 0.5)
    assert missed == pytest.approx(0.5 * 200 / 10_000 * math.exp(-0.28), rel=1e-12)
    assert understated_goodput(2_000, 200, 600, 10_000) == 0.0
    assert understated_goodput(2_000, 0, 600, 10_000, 0.5) == 0.0


def test_the_exact_goodput_with_a_slowdown_is_not_log_concave() -> None:
    """Why plans are proven by the formula, which is: see docs/sizing.md."""

    def exact(log_mtti: float) -> float:
        mtti_s = math.exp(log_mtti)
        kept = goodput(1_000, 0, 800, 0, mtti_s, 1.0)
        return math.log(kept + understated_goodput(1_000, 800, 0, mtti_s, 1.0))

    def formula(log_mtti: float) -> float:
        return math.log(goodput(1_000, 0, 800, 0, math.exp(log_mtti), 1.0))

    middle, step = math.log(100_000.0), 0.5
    bends = {
        curve: curve(middle - step) + curve(middle + step) - 2 * curve(middle)
        for curve in (exact, formula)
    }
    assert bends[formula] < 0 < bends[exact]
