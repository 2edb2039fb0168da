"""Power, heat and energy conversions."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing.facility import (
    heat_btu_per_h,
    it_power_kw,
)


@pytest.mark.parametrize(
    ("power_kw", "expected_btu_per_h"),
    [(2.2, 7_507), (10.2, 34_804), (0, 0)],
    ids=["T15 AI400X2", "DGX H100", "off"],
)
def test_heat(power_kw: float, expected_btu_per_h: float) -> None:
    assert heat_btu_per_h(power_kw) == pytest.approx(expected_btu_per_h, abs=0.5)


def test_ten_megawatts_at_a_pue_of_one_and_a_quarter() -> None:
    assert it_power_kw(10_000, 1.25) == pytest.approx(8_000)


@given(st.floats(0, 1e6), st.floats(1, 3))
def test_the_meter_and_the_it_load_convert_back_and_forth(power_kw: float, pue: float) -> None:
    assert it_power_kw(power_kw * pue, pue) == pytest.approx(power_kw)
    assert it_power_kw(power_kw, pue) <= power_kw


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_impossible_power_and_pue_are_refused_by_name(bad: float) -> None:
    with pytest.raises(ValueError, match="it_power_kw must be finite and not negative"):
        heat_btu_per_h(bad)
    with pytest.raises(ValueError, match="pue must be at least 1"):
        it_power_kw(100, bad)
    with pytest.raises(ValueError, match="pue must be at least 1"):
        it_power_kw(100, 0.99)
