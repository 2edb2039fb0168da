"""Availability with spares: known answers, the chain of states, where the formula ends."""

from __future__ import annotations

import math
from random import Random

import pytest

from planner.sizing.availability import (
    availability,
    erlang_b,
    in_rack_waiting,
    most_spares,
    repair_load,
    waiting,
    waiting_odds,
)
from planner.verifier.physics import waiting_share

LLAMA3 = 4.74e-4
HARDWARE = 0.78
"""Share of the interruptions of Llama 3 that took hardware out."""
DAY_S = 86_400.0


@pytest.mark.parametrize(
    ("spares", "load", "expected"),
    [(0, 1.0, 0.5), (2, 1.5, 0.865672), (5, 1.5144, 0.996312)],
)
def test_known_answers(spares: int, load: float, expected: float) -> None:
    assert availability(spares, load) == pytest.approx(expected, abs=1e-6)


def test_the_spare_domains_of_a_published_simulation() -> None:
    """32,000 GPUs in domains of 32, 5 days for hardware and 3 h for software: 90 spares do."""
    hardware = repair_load(LLAMA3, 32_000, HARDWARE * 5 * DAY_S)
    software = repair_load(LLAMA3, 32_000, (1.0 - HARDWARE) * 3 * 3600.0)
    load = hardware + software
    assert load == pytest.approx(59.6, abs=0.05)
    waits = [waiting(spares, load) for spares in (70, 80, 90)]
    assert waits == pytest.approx([0.0182, 0.00142, 3.4e-5], rel=0.02)
    assert most_spares(load, 0.001) in range(80, 90)


def test_four_ways_to_the_same_share() -> None:
    """Recursion, inverse, Poisson's law and the chain of states agree, far from where any ends."""
    random = Random(43)
    for _ in range(300):
        spares = random.randrange(120)
        load = math.exp(random.uniform(math.log(0.01), math.log(150.0)))
        waits = waiting(spares, load)
        assert erlang_b(spares + 1, load) == waits
        assert availability(spares, load) == pytest.approx(1.0 - waits, abs=1e-13)
        assert waiting_share(spares, load) == pytest.approx(waits, rel=1e-12)


def test_where_nothing_ever_waits() -> None:
    """So many spares that the formula's inverse has no number: all of the time."""
    assert availability(2_000, 0.01) == 1.0
    assert waiting_odds(2_000, 0.01) == 0.0


def test_spares_in_each_rack() -> None:
    """Near 1 it is the product of what each rack gives, a rack alone is exact. Far from it more is
    left than of racks that fail by themselves: none fails while all wait."""
    each = waiting(2, 0.05)
    assert in_rack_waiting(1.0, 2, 0.05) == pytest.approx(each, rel=1e-12)
    product = (1.0 - each) ** 50
    assert 1.0 - in_rack_waiting(50.0, 2, 0.05) == pytest.approx(product, abs=1e-5)
    assert 1.0 - in_rack_waiting(50.0, 2, 0.5) > (1.0 - waiting(2, 0.5)) ** 50
