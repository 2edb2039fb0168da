"""Devices in racks: the fewest, the heaviest at the bottom, bundles over several."""

from __future__ import annotations

import math
from random import Random

import pytest

from planner.sizing.packing import packing
from planner.sizing.placement import Box, Filled, RackUse, Space, pack_own_racks, pack_shared_racks
from tests.oracle.facility import fewest

RACK = Space(42.0, 20.0, 1200.0)


def skus(content: Filled) -> list[str]:
    return [box.sku for _, box in content]


def number(racks: list[tuple[Filled, int]]) -> int:
    return sum(count for _, count in racks)


def test_the_fewest_racks_share_where_first_fit_takes_more() -> None:
    """By hand: 6 + 4 and 5 + 3 + 2 RU fill two racks of 10; first-fit would begin 6 + 4, 5 + 3."""
    space = Space(10.0, None, None)
    boxes = [(Box(f"{height} RU", height, 0.0, None), 1) for height in (6.0, 5.0, 4.0, 3.0, 2.0)]
    racks = pack_shared_racks(boxes, space)
    assert sorted(sum(box.rack_units for _, box in rack) for rack, _ in racks) == [10.0, 10.0]
    # 44 and 33 and 12 of 132: 2, 3 and 6 come to 259, and yet they take three racks.
    parts = [(Box(f"{size}", size, 0.0, None), n) for size, n in ((44.0, 2), (33.0, 3), (12.0, 6))]
    assert number(pack_shared_racks(parts, Space(132.0, None, None))) == 3
    # By first-fit 4 + 4, 3 + 3 + 3 and 3: three racks of 10 for what fills two, 4 + 3 + 3 each.
    parts = [(Box("four", 4.0, 0.0, None), 2), (Box("three", 3.0, 0.0, None), 4)]
    assert number(pack_shared_racks(parts, space)) == 2
    light, heavy = Box("light", 2.0, 0.0, 1.0), Box("heavy", 3.0, 0.0, 9.0)
    assert pack_shared_racks([(light, 1), (heavy, 2)], space) == [
        (((1, heavy), (4, heavy), (7, light)), 1)
    ]


@pytest.mark.parametrize(
    "box", [Box("a", 43.0, 1.0, 1.0), Box("a", 1.0, 21.0, 1.0), Box("a", 1.0, 1.0, 1201.0)]
)
def test_a_device_larger_than_a_rack_is_refused(box: Box) -> None:
    with pytest.raises(ValueError, match="a does not fit into a rack"):
        pack_shared_racks([(box, 1)], RACK)


def test_a_bundle_over_several_racks() -> None:
    """Parts in their order by first-fit: the switches go on top of the second rack's trays."""
    space = Space(10.0, None, None)
    tray, switch = Box("tray", 4.0, 1.0, 50.0), Box("switch", 2.0, 1.0, 10.0)
    racks = pack_own_racks([(tray, 5), (switch, 3)], 7, RackUse(racks_each=3), space)
    assert [(skus(content), count) for content, count in racks] == [
        (["tray", "tray", "switch"], 14),
        (["tray", "switch"], 7),
    ]
    with pytest.raises(ValueError, match=r"tray \+ switch needs 3 racks, not 2"):
        pack_own_racks([(tray, 5), (switch, 3)], 7, RackUse(racks_each=2), space)


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
        prices = packing(shares).price_counts([n * random.uniform(0.3, 1.0) for n in counts])
        for _ in range(5):
            others = tuple(random.randint(0, 6) for _ in counts)
            assert prices.bound_racks(others) <= fewest(shares, others) + 1e-6
        if any(counts):
            found = packing(shares).price_counts(counts)
            assert math.ceil(found.bound_racks(counts) - 1e-9) >= fewest(shares, counts) - 1
