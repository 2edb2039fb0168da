"""Goodput against known answers, its own approximations and its algebraic properties."""

from __future__ import annotations

import math
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing.availability import (
    FAILURES_PER_GPU_DAY,
    longest_swap_per_mtti,
    remote_share,
    repair_load,
    spares_needed,
    waiting_odds,
    waiting_share,
)
from planner.sizing.goodput import (
    NEVER_WAITS,
    Local,
    Numbers,
    Times,
    best_interval_s,
    erlang_b,
    goodput,
    goodput_loss,
    kept_by_swaps,
)
from planner.verifier.physics import waiting_share as waiting_by_poisson


class Levels(NamedTuple):
    """Checkpoints of one job on one level, or on two; times in seconds."""

    interval: float
    stall: float
    drain: float
    restart: float
    restore: float
    mtti: float
    every: int = 1
    local_drain: float = 0.0
    near: float = 0.0
    far: float = 1.0
    slowdown: float = 0.0
    hardware: float = 0.0
    swap: float = 0.0


def one(value: float) -> Numbers:
    return np.array([float(value)])


def times_of(of: Levels) -> tuple[Times, Numbers]:
    """The times of levels, and the share that swaps leave."""
    local, swaps = None, kept_by_swaps(of.hardware, of.swap, one(of.mtti))
    if of.far < 1.0:
        held = of.every, of.far, of.near, of.hardware, of.swap
        local, swaps = Local(*held, one(of.local_drain), one(1) > 0), one(1)
    stopped = one(of.stall + of.slowdown * of.drain / of.every)
    recovery, restore = one(of.restart + of.restore), one(of.restore)
    return Times(one(of.stall), stopped, one(of.drain), recovery, restore, one(0), local), swaps


def losses(of: Levels, waiting: float = 0.0) -> dict[str, float]:
    times, swaps = times_of(of)
    return goodput_loss(times, one(of.interval), one(of.mtti), swaps=swaps, waiting=waiting)


GOODPUT_TABLE = [  # interval, stall, drain, restart, MTTI (all s), goodput
    (1_800, 50.5, 0, 600, 11_123, 0.84840),
    (1_800, 5, 50.5, 600, 11_123, 0.86652),
    (600, 5, 60, 900, 11_123, 0.88535),
    (3_600, 300, 0, 600, 28_800, 0.84283),
    (3_600, 0.6, 360, 600, 6_480, 0.64473),
    (14_400, 50.5, 0, 600, 11_123, 0.46133),
]

mttis = st.floats(60, 1e7)
ratios = st.floats(1e-6, 3)
shares = st.floats(0, 0.99)


@pytest.mark.parametrize(("i", "s", "d", "r", "m", "exact"), GOODPUT_TABLE)
def test_goodput_of_one_level_has_its_known_values(
    i: float, s: float, d: float, r: float, m: float, exact: float
) -> None:
    assert goodput(i, s, d, r, m) == pytest.approx(exact, abs=6e-6)


@given(mttis, ratios, shares, ratios, ratios, ratios, st.floats(0, 1))
def test_losses_add_up_to_the_lost_goodput(
    mtti: float,
    z: float,
    stall_share: float,
    drain: float,
    restart: float,
    restore: float,
    slowdown: float,
) -> None:
    interval = z * mtti
    stall, drain_time = stall_share * interval, drain * mtti
    levels = Levels(interval, stall, drain_time, restart * mtti, restore * mtti, mtti)
    loss = losses(levels._replace(slowdown=slowdown))
    kept = goodput(interval, stall, drain_time, (restart + restore) * mtti, mtti, slowdown)
    assert sum(loss.values()) == pytest.approx(1 - kept, abs=1e-12)
    assert all(0 <= part <= 1 for part in loss.values())


@given(st.floats(0.1, 60), st.floats(600, 1e6), st.floats(60, 7_200), st.floats(1, 20))
def test_clamped_interval_beats_a_grid_between_the_bounds(
    stall: float, mtti: float, low: float, spread: float
) -> None:
    best = best_interval_s(stall, mtti, low, low * spread)
    assert low <= best <= low * spread
    top = goodput(best, stall, 10, 600, mtti)
    for step in range(21):
        other = low * spread ** (step / 20)
        assert top >= goodput(other, stall, 10, 600, mtti) * (1 - 1e-12)


# Two levels of checkpoints: known answers, published overheads, what takes which time.


HOURLY = Levels(120, 1, 60, 600, 0, 3600, 5, 10, 120, 0.2)
DAILY = Levels(180, 0.5, 70, 610, 0, 43_649, 4, 3, 120, 0.1)


def kept_by(levels: Levels) -> float:
    return 1.0 - sum(losses(levels).values())


@pytest.mark.parametrize(("levels", "kept"), [(HOURLY, 0.898107), (DAILY, 0.990470)])
def test_known_answers_of_two_levels(levels: Levels, kept: float) -> None:
    assert kept_by(levels) == pytest.approx(kept, abs=5e-7)


@pytest.mark.parametrize(
    ("blocked_s", "far_s", "q2", "every", "overhead"),
    [(5, 50, 0.2, 6, 0.0728), (1, 50, 0.1, 21, 0.0440)],
)
def test_published_two_level_overheads(
    blocked_s: float, far_s: float, q2: float, every: int, overhead: float
) -> None:
    """Benoit et al. 2017 have sum(sqrt(2 rate cost)), 0.0692 and 0.0427; theirs is first order."""
    best, intervals = (0.0, 0), 10 * 1.01 ** np.arange(600)
    for k in range(1, 40):
        times, _ = times_of(Levels(300, blocked_s, far_s, 0, 0, 11_131, k, 0, 0, q2, 1.0))
        kept = np.exp(times.log_kept(intervals, one(11_131)).max())
        # Their checkpoint blocks until it is safe, so nothing is lost with its drain.
        best = max(best, (float(kept) * math.exp(q2 * far_s / 11_131), k))
    assert best[1] == every
    assert 1 / best[0] - 1 == pytest.approx(overhead, abs=1e-4)


def test_a_loss_without_its_times_is_zero() -> None:
    levels = HOURLY._replace(restore=50, slowdown=0.3)
    parts = losses(levels)
    assert min(share for cause, share in parts.items() if cause != "waiting") > 0
    swapped = levels._replace(hardware=0.8, swap=200)
    mended = losses(swapped, waiting=0.05)
    assert sum(mended.values()) == pytest.approx(1 - kept_by(swapped) * 0.95, rel=1e-12)
    assert mended["waiting"] > 0 and mended["restart"] > parts["restart"]
    assert losses(levels._replace(restore=0))["restore"] == 0
    assert losses(levels._replace(stall=0, slowdown=0))["stall"] == 0
    assert losses(levels._replace(stall=121))["stall"] == 1


def test_remote_share_counts_failures_without_a_local_copy() -> None:
    shares = {"software": 0.22, "gpu": 0.6, "node": 0.15, "rack": 0.03}
    recovers = {"software": "yes", "gpu": "yes", "node": "peer", "rack": "no"}
    assert remote_share(shares, recovers, copies=2) == pytest.approx(0.03)  # type: ignore[arg-type]
    assert remote_share(shares, recovers, copies=1) == pytest.approx(0.18)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the shares add up to"):
        remote_share({"software": 0.97}, {"software": "no"}, 1)
    with pytest.raises(ValueError, match="each class needs"):
        remote_share({"software": 1.0}, {"gpu": "no"}, 1)


# Interruption rates and checkpoint intervals against published and derived tables.


@pytest.mark.parametrize(
    ("preset", "raw"),
    [
        ("llama3", 419 / 54 / 16_384),
        ("rsc1", 6.50e-3 / 8),
        ("rsc2", 2.34e-3 / 8),
        ("mlcommons", 24 / 50_000),
        ("shared_research", 24 / 7.9 / 1_024),
    ],
)
def test_presets_follow_from_the_raw_observations(preset: str, raw: float) -> None:
    assert FAILURES_PER_GPU_DAY[preset].value == pytest.approx(raw, rel=2e-3)


def lambert_w0(x: float) -> float:
    """Solve w exp(w) = x on the principal branch by bisection."""
    low, high = -1.0, 0.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * math.exp(middle) < x else (low, middle)
    return (low + high) / 2


@given(st.floats(-4, 1).map(lambda exponent: 10.0**exponent))
def test_exact_period_is_the_lambert_closed_form(ratio: float) -> None:
    closed_form = 1 + ratio + lambert_w0(-math.exp(-(1 + ratio)))
    assert best_interval_s(ratio, 1.0) == pytest.approx(closed_form, rel=1e-8)


# Availability with spares: known answers, the chain of states, where the formula ends.


LLAMA3 = 4.74e-4
HARDWARE = 0.78
"""Share of the interruptions of Llama 3 that took hardware out."""
DAY_S = 86_400.0


@pytest.mark.parametrize(
    ("spares", "load", "expected"),
    [(0, 1.0, 0.5), (2, 1.5, 0.865672), (5, 1.5144, 0.996312)],
)
def test_known_answers_with_spares(spares: int, load: float, expected: float) -> None:
    assert 1.0 - waiting_share(spares, load) == pytest.approx(expected, abs=1e-6)


def test_the_longest_swap_that_a_proof_allows() -> None:
    """Of half the failures g = 1 + exp(-g) times the MTTI; where all take hardware out, any."""
    each = [longest_swap_per_mtti(share) for share in (1e-12, 0.5, 1.0)]
    assert each == pytest.approx([1.0, 1.278465, 700.0], rel=1e-6)


def test_the_spare_domains_of_a_published_simulation() -> None:
    """32,000 GPUs in domains of 32, 5 days for hardware and 3 h for software: 90 spares do."""
    hardware = repair_load(LLAMA3, 32_000, HARDWARE * 5 * DAY_S)
    software = repair_load(LLAMA3, 32_000, (1.0 - HARDWARE) * 3 * 3600.0)
    load = hardware + software
    assert load == pytest.approx(59.6, abs=0.05)
    waits = [waiting_share(spares, load) for spares in (70, 80, 90)]
    assert waits == pytest.approx([0.0182, 0.00142, 3.4e-5], rel=0.02)
    assert spares_needed(load, 0.001) in range(80, 90)


def test_recursion_and_poisson_give_the_same_share() -> None:
    random = Random(43)
    for _ in range(300):
        spares = random.randrange(120)
        load = math.exp(random.uniform(math.log(0.01), math.log(150.0)))
        found = waiting_share(spares, load)
        assert found == pytest.approx(waiting_by_poisson(spares, load), rel=1e-12)
    assert waiting_odds(2_000, 0.01) == 0.0


def test_spares_in_racks_agree_with_racks_that_fail_alone() -> None:
    """Near 1 it is the product of what each rack gives, a rack alone is exact. Far from it more is
    left than of racks that fail by themselves: none fails while all wait."""
    each = waiting_share(2, 0.05)
    product = (1.0 - each) ** 50
    assert 1.0 / (1.0 + 50.0 * waiting_odds(2, 0.05)) == pytest.approx(product, abs=1e-5)
    assert 1.0 / (1.0 + 50.0 * waiting_odds(2, 0.5)) > (1.0 - waiting_share(2, 0.5)) ** 50


def test_far_more_spares_than_units_in_repair_take_no_memory() -> None:
    found = erlang_b(np.array([2.0, 1e9]), np.array([0.5, 30.0]))
    assert found[0] == pytest.approx(waiting_share(2, 0.5), rel=1e-12)
    assert found[1] < NEVER_WAITS
