"""Interruption rates and checkpoint intervals against published and derived tables."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing.goodput import (
    FAILURES_PER_GPU_DAY,
    exact_period_s,
    in_rack_waiting,
    most_spares,
    mtti_s,
    repair_load,
    waiting,
    waiting_odds,
)
from planner.verifier.physics import waiting_share


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


# Availability with spares: known answers, the chain of states, where the formula ends.


LLAMA3 = 4.74e-4
HARDWARE = 0.78
"""Share of the interruptions of Llama 3 that took hardware out."""
DAY_S = 86_400.0


@pytest.mark.parametrize(
    ("spares", "load", "expected"),
    [(0, 1.0, 0.5), (2, 1.5, 0.865672), (5, 1.5144, 0.996312)],
)
def test_known_answers(spares: int, load: float, expected: float) -> None:
    assert 1.0 - waiting(spares, load) == pytest.approx(expected, abs=1e-6)


def test_the_spare_domains_of_a_published_simulation() -> None:
    """32,000 GPUs in domains of 32, 5 days for hardware and 3 h for software: 90 spares do."""
    hardware = repair_load(LLAMA3, 32_000, HARDWARE * 5 * DAY_S)
    software = repair_load(LLAMA3, 32_000, (1.0 - HARDWARE) * 3 * 3600.0)
    load = hardware + software
    assert load == pytest.approx(59.6, abs=0.05)
    waits = [waiting(spares, load) for spares in (70, 80, 90)]
    assert waits == pytest.approx([0.0182, 0.00142, 3.4e-5], rel=0.02)
    assert most_spares(load, 0.001) in range(80, 90)


def test_recursion_and_poisson_give_the_same_share() -> None:
    random = Random(43)
    for _ in range(300):
        spares = random.randrange(120)
        load = math.exp(random.uniform(math.log(0.01), math.log(150.0)))
        assert waiting(spares, load) == pytest.approx(waiting_share(spares, load), rel=1e-12)
    assert waiting_odds(2_000, 0.01) == 0.0


def test_spares_in_each_rack() -> None:
    """Near 1 it is the product of what each rack gives, a rack alone is exact. Far from it more is
    left than of racks that fail by themselves: none fails while all wait."""
    each = waiting(2, 0.05)
    assert in_rack_waiting(1.0, 2, 0.05) == pytest.approx(each, rel=1e-12)
    product = (1.0 - each) ** 50
    assert 1.0 - in_rack_waiting(50.0, 2, 0.05) == pytest.approx(product, abs=1e-5)
    assert 1.0 - in_rack_waiting(50.0, 2, 0.5) > (1.0 - waiting(2, 0.5)) ** 50
