"""How items use racks, by hand and against a placement that is tried out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.case import resolve
from planner.case.racks import Device, RackUse, rack_use
from planner.optimizer import purchase
from tests.optimizer.cases import inputs_of
from tests.oracle.hardware import figure
from tests.oracle.test_oracle import Request


@pytest.mark.parametrize(
    ("device", "height_ru", "power_kw", "expected"),
    [
        (Device(8, 10.2), 48, None, RackUse(per_rack=6)),
        (Device(8, 10.2), 48, 45, RackUse(per_rack=4)),  # 45 kW feed four, not five
        (Device(10, 14.3), 48, 45, RackUse(per_rack=3)),
        (Device(8, 15.0), 48, 45, RackUse(per_rack=3)),  # exactly full
        (Device(48, 45.0), 48, 45, RackUse(per_rack=1)),
        (Device(0.1, 0.3), 0.3, 0.9, RackUse(per_rack=3)),  # 0.3 / 0.1 is 2.9999999999999996
        (Device(49, 1.0), 48, 45, None),
        (Device(8, 45.1), 48, 45, None),
        (Device(8, 45.1), 48, None, RackUse(per_rack=6)),
        (Device(0, 0.0), 48, 45, RackUse(per_rack=1_000_000)),
    ],
)
def test_single_devices(
    device: Device, height_ru: float, power_kw: float | None, expected: RackUse | None
) -> None:
    assert rack_use([device], height_ru, power_kw) == expected


def test_bundles_share_a_rack_where_they_fit() -> None:
    parts = [Device(1, 0.8, 3), Device(3, 1.0, 2)]  # 9 RU, 4.4 kW
    assert rack_use(parts, 48, None) == RackUse(per_rack=5)
    assert rack_use(parts, 48, 9.0) == RackUse(per_rack=2)


def test_larger_bundles_are_placed_first_fit() -> None:
    # 20, 11 and 11 RU fill a rack of 48 to 42; three of 11 go to the next.
    assert rack_use([Device(20, 1), Device(11, 1, 5)], 48, None) == RackUse(racks_each=2)
    # By power: 30 + 10, 30 + 10, 30 of at most 45 kW.
    assert rack_use([Device(1, 30, 3), Device(1, 10, 2)], 48, 45) == RackUse(racks_each=3)
    assert rack_use([Device(1, 1), Device(49, 1)], 48, None) is None


@pytest.mark.parametrize(("units", "racks"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2), (9, 3)])
def test_units_round_up_to_racks(units: int, racks: int) -> None:
    assert RackUse(per_rack=4).racks(units) == racks
    assert RackUse(racks_each=3).racks(units) == 3 * units


halves = st.integers(1, 60).map(lambda n: n / 2)
devices = st.builds(Device, halves, halves, st.integers(1, 6))


@given(st.lists(devices, min_size=1, max_size=4), st.integers(20, 60), st.integers(20, 60))
def test_racks_hold_what_they_are_said_to_hold(
    parts: list[Device], height_ru: int, power_kw: int
) -> None:
    use = rack_use(parts, height_ru, power_kw)
    if use is None:
        assert any(p.rack_units > height_ru or p.it_power_kw > power_kw for p in parts)
        return
    height = sum(p.rack_units * p.quantity for p in parts)
    power = sum(p.it_power_kw * p.quantity for p in parts)
    if use.racks_each == 1:
        assert use.per_rack * height <= height_ru
        assert use.per_rack * power <= power_kw
        more = use.per_rack + 1
        assert more * height > height_ru or more * power > power_kw
    else:
        assert height > height_ru or power > power_kw
        assert use.racks_each * height_ru >= height
        assert use.racks_each * power_kw >= power
        assert use.racks_each <= sum(p.quantity for p in parts)


def test_whole_racks_of_a_system_count_as_such() -> None:
    request = Request(maximize="gpus")
    request.site |= {"racks": 6, "rack": {"height": "48 RU", "power": "45 kW"}}
    request.items[0]["consumes"]["racks"] = figure(2)
    case = resolve(inputs_of(request.case()))
    assert case.systems[0].rack_use == RackUse(racks_each=2)
    # Three systems in two racks each; boxes of 2 RU and 5 kW, nine to a rack.
    assert purchase.racks(case, {"gpu": 3, "box": 9}) == 6 + 1
    assert purchase.broken_rows(case, {"gpu": 2, "box": 2}) == []
    assert purchase.broken_rows(case, {"gpu": 3, "box": 1}) == ["racks"]
