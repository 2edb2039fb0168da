"""Goodput against a simulation of the failure process that shares no formula with it."""

import math
import random

import pytest

from planner.sizing.goodput import goodput, understated_goodput

FAILURES = 20_000


def one_life(
    interval_s: float,
    stall_s: float,
    drain_s: float,
    restart_s: float,
    life_s: float,
    slowdown: float = 0.0,
) -> float:
    """Return the progress that outlives a job's life from one failure to the next."""
    clock_s = restart_s
    progress_s = durable_s = 0.0
    captured: list[tuple[float, float]] = []
    while clock_s < life_s:
        clock_s += interval_s - stall_s
        slowed_s = drain_s if captured else 0.0
        progress_s += interval_s - stall_s - slowdown * slowed_s
        clock_s += stall_s
        captured.append((clock_s + drain_s, progress_s))
    for safe_at_s, saved_s in captured:
        if safe_at_s <= life_s:
            durable_s = saved_s
    return durable_s


def simulate(
    interval_s: float,
    stall_s: float,
    drain_s: float,
    restart_s: float,
    mtti_s: float,
    seed: int,
    slowdown: float = 0.0,
) -> tuple[float, float]:
    """Return the simulated goodput and its standard error."""
    rng = random.Random(seed)
    lives = [rng.expovariate(1 / mtti_s) for _ in range(FAILURES)]
    times = (interval_s, stall_s, drain_s, restart_s)
    kept = [one_life(*times, life_s, slowdown) for life_s in lives]
    wall_s = math.fsum(lives)
    ratio = math.fsum(kept) / wall_s
    # Delta method for a ratio of means: the residuals kept - ratio x life average to zero.
    squares = math.fsum((k - ratio * life) ** 2 for k, life in zip(kept, lives, strict=True))
    return ratio, math.sqrt(squares) / wall_s


@pytest.mark.parametrize(
    ("interval_s", "stall_s", "drain_s", "restart_s", "mtti_s"),
    [
        (1_800, 50.5, 0, 600, 11_123),
        (1_800, 5, 50.5, 600, 11_123),
        (600, 5, 60, 900, 11_123),
        (3_600, 300, 0, 600, 28_800),
        (3_600, 0.6, 360, 600, 6_480),
        (14_400, 50.5, 0, 600, 11_123),
        (900, 5, 1_500, 600, 11_123),
    ],
)
def test_goodput_matches_the_simulated_failure_process(
    interval_s: float, stall_s: float, drain_s: float, restart_s: float, mtti_s: float
) -> None:
    simulated, standard_error = simulate(
        interval_s, stall_s, drain_s, restart_s, mtti_s, seed=20_240_110
    )
    exact = goodput(interval_s, stall_s, drain_s, restart_s, mtti_s)
    assert standard_error < 0.005
    assert abs(simulated - exact) < 4 * standard_error


@pytest.mark.parametrize(
    ("interval_s", "stall_s", "drain_s", "restart_s", "mtti_s", "slowdown"),
    [
        (1_800, 5, 180, 600, 11_123, 1.0),
        (3_600, 5, 2_000, 600, 6_480, 0.5),
        (900, 30, 870, 300, 2_400, 0.9),
    ],
)
def test_understated_goodput_is_that_of_the_simulation(
    interval_s: float,
    stall_s: float,
    drain_s: float,
    restart_s: float,
    mtti_s: float,
    slowdown: float,
) -> None:
    simulated, standard_error = simulate(
        interval_s, stall_s, drain_s, restart_s, mtti_s, 20_240_110, slowdown
    )
    formula = goodput(interval_s, stall_s, drain_s, restart_s, mtti_s, slowdown)
    missed = understated_goodput(interval_s, drain_s, restart_s, mtti_s, slowdown)
    assert abs(simulated - formula - missed) < 4 * standard_error
    assert simulated - formula > 4 * standard_error
