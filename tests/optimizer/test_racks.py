"""How items use racks, by hand and against a placement that is tried out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planner.case import resolve
from planner.optimizer.bill import bill
from planner.optimizer.stores import broken_limits
from planner.sizing.placement import Box, RackUse, Space, rack_use
from tests.world.random_cases import inputs_of
from tests.world.random_hardware import figure
from tests.world.requests import Request

FULL = Space(48, 45, None)


def device(rack_units: float, it_power_kw: float, weight_kg: float | None = None) -> Box:
    return Box("device", rack_units, it_power_kw, weight_kg)


def test_bundles_share_a_rack_where_they_fit() -> None:
    parts = [(device(1, 0.8, 20), 3), (device(3, 1.0), 2)]  # 9 RU, 4.4 kW, 60 kg known
    assert rack_use(parts, Space(48, None, None)) == RackUse(per_rack=5)
    assert rack_use(parts, Space(48, 9.0, None)) == RackUse(per_rack=2)
    assert rack_use(parts, Space(48, 9.0, 119)) == RackUse(per_rack=1)


def test_larger_bundles_are_placed_first_fit() -> None:
    # 20, 11 and 11 RU fill a rack of 48 to 42; three of 11 go to the next.
    tall = [(device(20, 1), 1), (device(11, 1), 5)]
    assert rack_use(tall, Space(48, None, None)) == RackUse(racks_each=2)
    # By power: 30 + 10, 30 + 10, 30 of at most 45 kW.
    hungry = [(device(1, 30), 3), (device(1, 10), 2)]
    assert rack_use(hungry, FULL) == RackUse(racks_each=3)
    # By weight: 600 + 300, 600 + 300 of at most 1,000 kg.
    heavy = [(device(1, 1, 600), 2), (device(1, 1, 300), 2)]
    assert rack_use(heavy, Space(48, 45, 1000)) == RackUse(racks_each=2)
    assert rack_use([(device(1, 1), 1), (device(49, 1), 1)], Space(48, None, None)) is None


halves = st.integers(1, 60).map(lambda n: n / 2)
devices = st.tuples(st.builds(device, halves, halves, halves), st.integers(1, 6))
sizes = st.integers(20, 60)


@given(st.lists(devices, min_size=1, max_size=4), sizes, sizes, sizes)
def test_racks_hold_what_they_are_said_to_hold(
    parts: list[tuple[Box, int]], height_ru: int, power_kw: int, weight_kg: int
) -> None:
    limits = (height_ru, power_kw, weight_kg)
    use = rack_use(parts, Space(*limits))
    sides = [(box.rack_units, box.it_power_kw, box.weight_kg or 0.0) for box, _ in parts]
    if use is None:
        assert any(x > limit for side in sides for x, limit in zip(side, limits, strict=True))
        return
    counts = [count for _, count in parts]
    whole = [sum(s[n] * count for s, count in zip(sides, counts, strict=True)) for n in range(3)]
    if use.racks_each == 1:
        pairs = list(zip(whole, limits, strict=True))
        assert all(use.per_rack * x <= limit for x, limit in pairs)
        assert any((use.per_rack + 1) * x > limit for x, limit in pairs)
    else:
        assert any(x > limit for x, limit in zip(whole, limits, strict=True))
        assert all(use.racks_each * limit >= x for x, limit in zip(whole, limits, strict=True))
        assert use.racks_each <= sum(counts)


def test_whole_racks_of_a_system_count_as_such() -> None:
    request = Request(maximize="gpus")
    request.site |= {"racks": 6, "rack": {"height": "48 RU", "power": "45 kW"}}
    request.items[0]["consumes"]["racks"] = figure(2)
    case = resolve(inputs_of(request.case()))
    assert case.systems[0].rack_use == RackUse(racks_each=2)
    # Three systems in two racks each; boxes of 2 RU and 5 kW, nine to a rack.
    assert bill(case, {"gpu": 3, "box": 9}, ())["racks"] == 6 + 1
    assert broken_limits(case, {"gpu": 2, "box": 2}, ()) == []
    assert broken_limits(case, {"gpu": 3, "box": 1}, ()) == ["racks"]
