"""Interruption rates and checkpoint intervals against published and derived tables."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing.goodput import (
    FAILURES_PER_GPU_DAY,
    daly_s,
    exact_compute_s,
    exact_period_s,
    mtti_s,
    young_s,
)

ratios = st.floats(-9, 1).map(lambda exponent: 10.0**exponent)


@pytest.mark.parametrize(
    ("preset", "gpus", "expected_h"),
    [
        ("llama3", 1_024, 49.5),
        ("llama3", 16_384, 3.09),
        ("rsc1", 1_024, 28.8),
        ("rsc1", 16_384, 1.80),
        ("rsc1", 131_072, 0.225),
        ("rsc1", 100_000, 17.7 / 60),
        ("rsc2", 1_024, 80),
        ("rsc2", 16_384, 5.0),
        ("shared_research", 1_024, 7.9),
        ("shared_research", 16_384, 0.49),
        ("mlcommons", 1_024, 48.8),
        ("mlcommons", 16_384, 3.05),
        ("mlcommons", 100_000, 0.5),
        ("mlcommons", 1_000_000, 3 / 60),
    ],
)
def test_published_times_to_interruption(preset: str, gpus: int, expected_h: float) -> None:
    actual_h = mtti_s(FAILURES_PER_GPU_DAY[preset].value, gpus) / 3600
    assert actual_h == pytest.approx(expected_h, rel=8e-3)


@pytest.mark.parametrize(
    ("preset", "raw"),
    [
        ("llama3", 419 / 54 / 16_384),
        ("rsc1", 6.50e-3 / 8),
        ("rsc2", 2.34e-3 / 8),
        ("mlcommons", 24 / 50_000),
        ("shared_research", 24 / 7.9 / 1_024),
    ],
)
def test_presets_follow_from_the_raw_observations(preset: str, raw: float) -> None:
    assert FAILURES_PER_GPU_DAY[preset].value == pytest.approx(raw, rel=2e-3)


def test_presets_are_named_and_sourced() -> None:
    assert set(FAILURES_PER_GPU_DAY) == {"rsc2", "llama3", "mlcommons", "rsc1", "shared_research"}
    assert all(name == preset.name for name, preset in FAILURES_PER_GPU_DAY.items())
    assert all(preset.source and preset.meaning for preset in FAILURES_PER_GPU_DAY.values())


@pytest.mark.parametrize(
    ("stall_s", "mtti", "young", "daly", "exact"),
    [
        (50.5, 11_123, 1_059.9, 1_026.5, 1_026.5),
        (300, 11_123, 2_583.4, 2_387.2, 2_387.4),
        (5, 11_123, 333.5, 330.2, 330.2),
        (600, 7_200, 2_939.4, 2_553.0, 2_553.8),
        (10, 1_080, 147.0, 140.4, 140.4),
    ],
)
def test_compute_time_between_checkpoints(
    stall_s: float, mtti: float, young: float, daly: float, exact: float
) -> None:
    assert young_s(stall_s, mtti) == pytest.approx(young, abs=0.05)
    assert daly_s(stall_s, mtti) == pytest.approx(daly, abs=0.05)
    assert exact_compute_s(stall_s, mtti) == pytest.approx(exact, abs=0.05)
    assert exact_period_s(stall_s, mtti) == pytest.approx(exact + stall_s, abs=0.05)


def test_daly_stops_at_the_time_to_interruption() -> None:
    assert daly_s(2_000, 1_000) == 1_000
    assert daly_s(1e6, 1_000) == 1_000
    assert daly_s(1_999.999, 1_000) == pytest.approx(
        1_000 * (2 * (1 + 1 / 3 + 1 / 9) - 2), rel=1e-5
    )


def lambert_w0(x: float) -> float:
    """Solve w exp(w) = x on the principal branch by bisection."""
    low, high = -1.0, 0.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * math.exp(middle) < x else (low, middle)
    return (low + high) / 2


@given(st.floats(-4, 1).map(lambda exponent: 10.0**exponent))
def test_exact_period_is_the_lambert_closed_form(ratio: float) -> None:
    closed_form = 1 + ratio + lambert_w0(-math.exp(-(1 + ratio)))
    assert exact_period_s(ratio, 1.0) == pytest.approx(closed_form, rel=1e-8)


@given(ratios)
def test_exact_period_satisfies_stationarity(ratio: float) -> None:
    z = exact_period_s(ratio, 1.0)
    if z < 0.1:
        deficit = sum((-1) ** k * z**k / math.factorial(k) for k in range(2, 14))
    else:
        deficit = z - 1 + math.exp(-z)
    assert deficit == pytest.approx(ratio, rel=1e-12)


@given(st.floats(1e-30, 1e-9))
def test_exact_period_keeps_its_digits_for_tiny_stalls(ratio: float) -> None:
    # I = sqrt(2 s M) + s/3 + O(s**1.5), from the series of the stationarity condition.
    assert exact_period_s(ratio, 1.0) == pytest.approx(math.sqrt(2 * ratio) + ratio / 3, rel=1e-9)


@given(ratios, st.floats(1, 1e7))
def test_period_scales_with_time_and_holds_stall_and_compute(ratio: float, mtti: float) -> None:
    stall = ratio * mtti
    period = exact_period_s(stall, mtti)
    assert period == pytest.approx(mtti * exact_period_s(ratio, 1.0), rel=1e-9)
    assert period > stall
    assert exact_compute_s(stall, mtti) == pytest.approx(period - stall, rel=1e-9)
    assert exact_compute_s(stall, mtti) <= min(mtti, young_s(stall, mtti)) * (1 + 1e-12)


@given(st.floats(1e-9, 1e-3))
def test_young_and_daly_approach_the_exact_optimum(ratio: float) -> None:
    exact = exact_compute_s(ratio, 1.0)
    assert abs(daly_s(ratio, 1.0) - exact) <= abs(young_s(ratio, 1.0) - exact)
    assert daly_s(ratio, 1.0) == pytest.approx(exact, rel=ratio)


def test_no_stall_means_saving_all_the_time() -> None:
    assert young_s(0, 3_600) == daly_s(0, 3_600) == exact_period_s(0, 3_600) == 0
    assert exact_compute_s(0, 3_600) == 0


@given(st.floats(1e-6, 1), st.integers(1, 10**6), st.integers(2, 10))
def test_time_to_interruption_falls_with_the_gpus(rate: float, gpus: int, factor: int) -> None:
    assert mtti_s(rate, gpus * factor) * factor == pytest.approx(mtti_s(rate, gpus))


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_impossible_rates_and_times_are_refused_by_name(bad: float) -> None:
    with pytest.raises(ValueError, match="failures_per_gpu_day must be positive"):
        mtti_s(bad, 8)
    for interval in (young_s, daly_s, exact_period_s, exact_compute_s):
        with pytest.raises(ValueError, match="mtti_s must be positive"):
            interval(5, bad)
        with pytest.raises(ValueError, match="stall_s must be finite and not negative"):
            interval(-1, 3_600)
