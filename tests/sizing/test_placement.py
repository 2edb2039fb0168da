"""Devices in racks: everything stands somewhere, nothing overlaps or exceeds."""

from __future__ import annotations

import math
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing.packing import packing
from planner.sizing.placement import Box, Filled, RackUse, Space, mixed, uniform
from tests.oracle.facility import fewest

RACK = Space(42.0, 20.0, 1200.0)


def share(box: Box, space: Space) -> float:
    return max(
        box.rack_units / space.height_ru,
        box.it_power_kw / space.power_kw if space.power_kw else 0.0,
        (box.weight_kg or 0.0) / space.weight_kg if space.weight_kg else 0.0,
    )


def assert_stands(content: Filled, space: Space) -> None:
    """Nothing overlaps or leaves the rack, and power and weight are within it."""
    top_ru = 1.0
    for position_ru, box in content:
        assert position_ru >= top_ru - 1e-6
        top_ru = position_ru + box.rack_units
    assert top_ru - 1.0 <= space.height_ru * (1 + 1e-6)
    if space.power_kw is not None:
        assert sum(box.it_power_kw for _, box in content) <= space.power_kw * (1 + 1e-6)
    if space.weight_kg is not None:
        kg = sum(box.weight_kg or 0.0 for _, box in content)
        assert kg <= space.weight_kg * (1 + 1e-6)


def devices(racks: list[tuple[Filled, int]]) -> Counter[Box]:
    result: Counter[Box] = Counter()
    for content, count in racks:
        for _, box in content:
            result[box] += count
    return result


def skus(content: Filled) -> list[str]:
    return [box.sku for _, box in content]


def number(racks: list[tuple[Filled, int]]) -> int:
    return sum(count for _, count in racks)


def test_the_fewest_racks_share_where_first_fit_takes_more() -> None:
    """By hand: 6 + 4 and 5 + 3 + 2 RU fill two racks of 10; first-fit would begin 6 + 4, 5 + 3."""
    space = Space(10.0, None, None)
    boxes = [(Box(f"{height} RU", height, 0.0, None), 1) for height in (6.0, 5.0, 4.0, 3.0, 2.0)]
    racks = mixed(boxes, space)
    assert sorted(sum(box.rack_units for _, box in rack) for rack, _ in racks) == [10.0, 10.0]
    # 44 and 33 and 12 of 132: 2, 3 and 6 come to 259, and yet they take three racks.
    parts = [(Box(f"{size}", size, 0.0, None), n) for size, n in ((44.0, 2), (33.0, 3), (12.0, 6))]
    assert number(mixed(parts, Space(132.0, None, None))) == 3
    # By first-fit 4 + 4, 3 + 3 + 3 and 3: three racks of 10 for what fills two, 4 + 3 + 3 each.
    parts = [(Box("four", 4.0, 0.0, None), 2), (Box("three", 3.0, 0.0, None), 4)]
    assert number(mixed(parts, space)) == 2


@pytest.mark.parametrize(
    "box", [Box("a", 43.0, 1.0, 1.0), Box("a", 1.0, 21.0, 1.0), Box("a", 1.0, 1.0, 1201.0)]
)
def test_too_large_for_a_rack(box: Box) -> None:
    with pytest.raises(ValueError, match="a does not fit into a rack"):
        mixed([(box, 1)], RACK)


SPACES = st.builds(
    Space,
    height_ru=st.sampled_from([10.0, 42.0, 48.0]),
    power_kw=st.sampled_from([None, 5.0, 17.3]),
    weight_kg=st.sampled_from([None, 400.0]),
)
SHARES = st.floats(0.001, 0.5)


@st.composite
def stocks(draw: st.DrawFn) -> tuple[list[tuple[Box, int]], Space]:
    """Devices of random size, none of more than half a rack."""
    space = draw(SPACES)
    boxes = []
    for number in range(draw(st.integers(1, 6))):
        box = Box(
            f"kind{number}",
            draw(st.one_of(st.just(1.0), SHARES.map(lambda share: share * space.height_ru))),
            draw(SHARES) * (space.power_kw or 10.0),
            draw(st.one_of(st.none(), SHARES.map(lambda share: share * (space.weight_kg or 1e3)))),
        )
        boxes.append((box, draw(st.integers(0, 40))))
    return boxes, space


@given(stocks())
def test_everything_is_placed_once_within_the_bound(
    stock: tuple[list[tuple[Box, int]], Space],
) -> None:
    boxes, space = stock
    racks = mixed(boxes, space)
    for rack, count in racks:
        assert rack
        assert count > 0
        assert_stands(rack, space)
        assert rack[0][0] == 1.0
        weights = [box.weight_kg or 0.0 for _, box in rack]
        assert weights == sorted(weights, reverse=True)
    assert devices(racks) == +Counter(dict(boxes))
    largest = max(share(box, space) for box, _ in boxes)
    total = sum(share(box, space) * count for box, count in boxes)
    assert number(racks) <= math.ceil(total / (1.0 - largest) + 1e-9)


def test_a_bundle_over_several_racks() -> None:
    """Parts in their order by first-fit: the switches go on top of the second rack's trays."""
    space = Space(10.0, None, None)
    tray, switch = Box("tray", 4.0, 1.0, 50.0), Box("switch", 2.0, 1.0, 10.0)
    racks = uniform([(tray, 5), (switch, 3)], 7, RackUse(racks_each=3), space)
    assert [(skus(content), count) for content, count in racks] == [
        (["tray", "tray", "switch"], 14),
        (["tray", "switch"], 7),
    ]
    with pytest.raises(ValueError, match=r"tray \+ switch needs 3 racks, not 2"):
        uniform([(tray, 5), (switch, 3)], 7, RackUse(racks_each=2), space)


# The least racks: exact against trying everything, and prices that hold for all counts.


Shares = tuple[tuple[float, float, float], ...]


def drawn(random: Random) -> tuple[Shares, tuple[int, ...]]:
    """Return kinds as they are in catalogs (rack units, round kW) or of any size, and counts."""
    kinds, round_ones = random.randint(1, 4), random.random() < 0.5
    sides = random.choice(((1, 0, 0), (1, 1, 0), (1, 1, 1)))
    height, power = random.choice((12, 16, 20)), random.choice((5, 8, 10))
    shares = []
    for _ in range(kinds):
        share = [random.uniform(0.02, 0.6) for _ in sides]
        if round_ones:
            units, kw = random.choice((1, 1, 2, 4, 8)), random.choice((0.5, 0.9, 1.7, 2.2))
            share = [units / height, kw / power, random.uniform(0.01, 0.2)]
        shares.append(tuple(s * on for s, on in zip(share, sides, strict=True)))
    most = 9 if kinds < 4 else 5
    return tuple((a, b, c) for a, b, c in shares), tuple(random.randint(0, most) for _ in shares)


def test_racks_are_the_fewest_and_hold_everything() -> None:
    random = Random(20_251_122)
    for _ in range(150):
        shares, counts = drawn(random)
        racks = packing(shares).racks(counts)
        held = [sum(each[kind] * times for each, times in racks) for kind in range(len(counts))]
        assert tuple(held) == counts
        for content, times in racks:
            assert any(content) and times > 0
            for side in zip(*shares, strict=True):
                taken = sum(n * share for n, share in zip(content, side, strict=True))
                assert taken <= 1 + 2e-9
        assert packing(shares).least(counts) == fewest(shares, counts), (shares, counts)


def test_prices_bound_the_racks_of_all_counts() -> None:
    random = Random(7)
    for _ in range(60):
        shares, counts = drawn(random)
        prices = packing(shares).prices_of([n * random.uniform(0.3, 1.0) for n in counts])
        for _ in range(5):
            others = tuple(random.randint(0, 6) for _ in counts)
            assert prices.of(others) <= fewest(shares, others) + 1e-6
        if any(counts):
            found = packing(shares).prices_of(counts)
            assert math.ceil(found.of(counts) - 1e-9) >= fewest(shares, counts) - 1
