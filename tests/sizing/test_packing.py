"""The least racks: exact against trying everything, and prices that hold for all counts."""

from __future__ import annotations

import math
from random import Random

from planner.sizing.packing import Packing, packing
from tests.oracle.netracks import fewest

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


def test_by_hand_where_first_fit_takes_more() -> None:
    """First-fit begins 4 + 4 and 3 + 3 + 3 of 10; twice 4 + 3 + 3 is all of it."""
    kinds = Packing(((0.4, 0.0, 0.0), (0.3, 0.0, 0.0)))
    assert kinds.racks((2, 4)) == (((1, 2), 2),)
    assert kinds.least((200, 400)) == 200
