"""Availability with spares: known answers, the chain of states, slopes, where the formula ends."""

from __future__ import annotations

import math
from random import Random

import pytest

from planner.sizing.availability import (
    availability,
    erlang_b,
    in_rack_waiting,
    log_availability_slopes,
    longest_swap_per_mtti,
    most_spares,
    repair_load,
    swap_factor,
    units_out,
    waiting,
    waiting_odds,
)
from planner.verifier.goodput import longest_swap_share, waiting_share
from tests.oracle.repair import states

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


def test_a_rack_as_unit_without_spares() -> None:
    """The plan of 58 racks with a day of repair runs 0.4 of its time."""
    load = repair_load(LLAMA3, 4096, HARDWARE * DAY_S)
    assert availability(0, load) == pytest.approx(0.398, abs=0.001)


@pytest.mark.parametrize(
    ("days", "rate", "expected"), [(1, LLAMA3, 0.913), (5, LLAMA3, 1.007), (5, 5.8e-4, 1.033)]
)
def test_eight_spare_gpus_in_a_rack_against_none(days: int, rate: float, expected: float) -> None:
    """64 + 2 trays of 4 against 72 GPUs: worth it once a rack's load is about an eighth."""
    out_s = HARDWARE * days * DAY_S
    spared = 64 * availability(2, repair_load(rate, 64, out_s))
    bare = 72 * availability(0, repair_load(rate, 72, out_s))
    assert spared / bare == pytest.approx(expected, abs=0.001)


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
        chain = states(spares, load)
        assert chain[-1] == pytest.approx(waits, rel=1e-10)
        out = sum(count * share for count, share in enumerate(chain))
        assert units_out(spares, load) == pytest.approx(out, rel=1e-10)


def test_slopes() -> None:
    """That for the load by a difference; that for a spare lies between one more and one less."""
    random = Random(44)
    for _ in range(300):
        spares = random.randrange(80)
        load = (spares + 1) / math.exp(random.uniform(math.log(0.3), math.log(5.0)))
        for_spare, for_load = log_availability_slopes(spares, load)
        step = 1e-5
        ends = [math.log(availability(spares, load * math.exp(s))) for s in (-step, step)]
        assert for_load == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=1e-6, abs=1e-9)
        here, more = (math.log(availability(n, load)) for n in (spares, spares + 1))
        assert more - here <= for_spare * (1 + 1e-9) + 1e-15
        if spares:
            assert for_spare <= here - math.log(availability(spares - 1, load)) + 1e-15


def test_a_tangent_bounds_it_everywhere() -> None:
    """Random tangents at whole spares against random other points."""
    random = Random(45)
    for _ in range(5_000):
        spares, other = random.randrange(100), random.randrange(100)
        load, there = ((n + 1) * math.exp(random.uniform(-1.6, 1.2)) for n in (spares, other))
        for_spare, for_load = log_availability_slopes(spares, load)
        tangent = math.log1p(-waiting(spares, load)) + for_spare * (other - spares)
        tangent += for_load * math.log(there / load)
        assert math.log1p(-waiting(other, there)) <= tangent + 1e-12


def test_where_nothing_ever_waits() -> None:
    """So many spares that the formula's inverse has no number: all of the time, slopes of 0."""
    assert availability(2_000, 0.01) == 1.0
    assert waiting_odds(2_000, 0.01) == 0.0
    assert log_availability_slopes(2_000, 0.01)[0] == 0.0


def test_spares_in_each_rack() -> None:
    """Near 1 it is the product of what each rack gives, a rack alone is exact. Far from it more is
    left than of racks that fail by themselves: none fails while all wait."""
    each = waiting(2, 0.05)
    assert in_rack_waiting(1.0, 2, 0.05) == pytest.approx(each, rel=1e-12)
    product = (1.0 - each) ** 50
    assert 1.0 - in_rack_waiting(50.0, 2, 0.05) == pytest.approx(product, abs=1e-5)
    assert 1.0 - in_rack_waiting(50.0, 2, 0.5) > (1.0 - waiting(2, 0.5)) ** 50


def test_swaps_are_the_mean_of_restarts() -> None:
    assert swap_factor(0.78, 120.0, 11_123.0) == pytest.approx(
        0.22 + 0.78 * math.exp(-120.0 / 11_123.0), rel=1e-15
    )
    assert swap_factor(1.0, 60.0, 600.0) == pytest.approx(math.exp(-0.1), rel=1e-15)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.78, 0.99])
def test_how_long_a_swap_may_be(share: float) -> None:
    """The curve bends down just below, up just above; the verifier finds the same place."""
    turn = longest_swap_per_mtti(share)
    assert longest_swap_share(share) == pytest.approx(turn, rel=1e-9)

    def bend(swaps: float) -> float:
        logs = [math.log(1 - share + share * math.exp(-swaps * math.exp(x)))
                for x in (-1e-3, 0.0, 1e-3)]  # fmt: skip
        return logs[0] + logs[2] - 2 * logs[1]

    assert bend(0.98 * turn) < 0.0 < bend(1.02 * turn)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: waiting(-1, 1.0), "spares must be finite and not negative"),
        (lambda: availability(0, 0.0), "load must be positive"),
        (lambda: repair_load(0.0, 8, 1.0), "failures_per_gpu_day must be positive"),
        (lambda: in_rack_waiting(0.0, 1, 1.0), "racks must be positive"),
        (lambda: swap_factor(1.5, 1.0, 1.0), "hardware_share must be above 0 and at most 1"),
        (lambda: swap_factor(0.5, -1.0, 1.0), "swap_s must be finite and not negative"),
    ],
)
def test_refused(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=message):
        call()
