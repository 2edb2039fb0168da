"""Interruption rates and checkpoint intervals against published and derived tables."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing.goodput import (
    FAILURES_PER_GPU_DAY,
    exact_period_s,
    mtti_s,
)


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
