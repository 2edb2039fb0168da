"""Measured figures in short: digits, ranges, moments."""

from __future__ import annotations

import pytest

from planner.report.words import most, span, stated
from planner.schema.telemetry import Measured


def test_what_is_only_bounded_is_told_by_its_bound() -> None:
    assert most(Measured(value=11.0, high=20.0), "s") == "< 20 s"
    assert most(Measured(value=11.0), "s") == "< 11 s"


@pytest.mark.parametrize(
    ("value", "half", "unit", "text", "ends"),
    [
        (13_800.0, 41.4, "GB", "13.8 TB", "13.76 TB to 13.84 TB"),
        (662.0, 1.3, "s", "662 s", "660.7 s to 663.3 s"),
        (14_400.0, 3_000.0, "s", "14400 s", "11400 s to 17400 s"),
        (50.55, 0.02, "s", "50.55 s", "50.53 s to 50.57 s"),
        (
            5.9e-4,
            1.2e-4,
            "1/GPU/day",
            "0.00059 1/GPU/day",
            "0.00047 1/GPU/day to 0.00071 1/GPU/day",
        ),
    ],
)
def test_a_problem_file_has_digits_within_the_range(
    value: float, half: float, unit: str, text: str, ends: str
) -> None:
    found = Measured(value=value, low=value - half, high=value + half)
    assert (stated(found, unit), span(found, unit)) == (text, ends)
