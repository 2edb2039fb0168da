"""Measured figures in short: digits, ranges, moments."""

from __future__ import annotations

import pytest

from planner.outputs.telemetry_words import day, instant, measured, moment, most, span, stated
from planner.schema.telemetry import Measured


@pytest.mark.parametrize(
    ("value", "low", "high", "unit", "text"),
    [
        (13_800.0, 13_758.6, 13_841.4, "GB", "13.8 TB ±0.3 %"),
        (13_800.0, None, None, "GB", "13.8 TB"),
        (13_800.0, 13_799.99, 13_800.01, "GB", "13.8 TB ±0.1 %"),
        (0.0764, 0.0733, 0.0794, "share", "7.6 ±0.3 %"),
        (0.0114, 0.0110, 0.0118, "share", "1.14 ±0.04 %"),
        (10_800.0, 8_300.0, 14_000.0, "s", "3.00 h ±30 %"),
        (10_800.0, 8_300.0, 30_000.0, "s", "3.00 (2.31 to 8.33) h"),
        (10_800.0, 8_300.0, None, "s", "3.00 h (≥ 2.31)"),
        (11.0, None, 20.0, "s", "11.0 s (≤ 20.0)"),
        (0.0, 0.0, 3.0, "GB/s", "0 (0 to 3) GB/s"),
        (1.008e12, None, None, "parameters", "1.01 T"),
        (4.74e-4, None, None, "1/GPU/day", "0.000474 1/GPU/day"),
        (float("nan"), None, None, "GB", "-"),
        (5.0, float("-inf"), float("inf"), "GB", "5.00 GB"),
    ],
)
def test_a_figure_with_its_range(
    value: float, low: float | None, high: float | None, unit: str, text: str
) -> None:
    assert measured(Measured(value=value, low=low, high=high), unit) == text


def test_what_is_only_bounded_is_told_by_its_bound() -> None:
    assert most(Measured(value=11.0, high=20.0), "s") == "< 20.0 s"
    assert most(Measured(value=11.0), "s") == "< 11.0 s"


@pytest.mark.parametrize(
    ("value", "half", "unit", "text", "ends"),
    [
        (13_800.0, 41.4, "GB", "13.8 TB", "13.76 to 13.84 TB"),
        (662.0, 1.3, "s", "662 s", "661 to 663 s"),
        (14_400.0, 3_000.0, "s", "14400 s", "11,400 to 17,400 s"),
        (50.55, 0.02, "s", "50.55 s", "50.53 to 50.57 s"),
        (5.9e-4, 1.2e-4, "1/GPU/day", "0.00059 1/GPU/day", "0.000470 to 0.000710 1/GPU/day"),
    ],
)
def test_a_problem_file_has_as_many_digits_as_the_range_gives_sense_to(
    value: float, half: float, unit: str, text: str, ends: str
) -> None:
    found = Measured(value=value, low=value - half, high=value + half)
    assert (stated(found, unit), span(found, unit)) == (text, ends)


def test_moments_have_dates_only_where_the_clock_has() -> None:
    assert moment(1_709_251_200.0, "unix") == "2024-03-01 00:00"
    assert day(1_709_251_200.0, "unix") == "2024-03-01"
    assert instant(1_709_251_200.5, "unix") == "2024-03-01T00:00:00.500Z"
    assert moment(7_200.0, "zero") == "2.0 h after zero"
    assert instant(7_200.0, "zero") is None
    assert instant(1e30, "unix") is None and moment(1e30, "unix") == "1e+30 s"
