"""Heat of an IT load."""

import pytest

from planner.sizing.facility import heat_btu_per_h


@pytest.mark.parametrize(
    ("power_kw", "expected_btu_per_h"),
    [(2.2, 7_507), (10.2, 34_804), (0, 0)],
    ids=["T15 AI400X2", "DGX H100", "off"],
)
def test_heat(power_kw: float, expected_btu_per_h: float) -> None:
    assert heat_btu_per_h(power_kw) == pytest.approx(expected_btu_per_h, abs=0.5)
