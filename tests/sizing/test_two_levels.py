"""Two levels of checkpoints: known answers, the two one-level limits, a simulation."""

import math
import random
from dataclasses import replace

import pytest

from planner.sizing import two_levels
from planner.sizing.two_levels import (
    TwoLevels,
    best_interval_s,
    derived_stall_s,
    first_order_goodput,
    goodput,
    local_part_gb,
    loss,
    remote_share,
)

HOURLY = TwoLevels(120, 5, 1, 10, 60, 120, 600, 0, 3600, 0.2)
DAILY = TwoLevels(180, 4, 0.5, 3, 70, 120, 610, 0, 43_649, 0.1)


@pytest.mark.parametrize(
    ("levels", "goes_on", "anew"),
    [(HOURLY, 0.898208, 0.898107), (DAILY, 0.990471, 0.990470)],
)
def test_known_answers(levels: TwoLevels, goes_on: float, anew: float) -> None:
    assert goodput(levels) == pytest.approx(goes_on, abs=5e-7)
    assert goodput(replace(levels, drain_restarts=True)) == pytest.approx(anew, abs=5e-7)


@pytest.mark.parametrize(
    ("blocked_s", "far_s", "q2", "every", "overhead"),
    [(5, 50, 0.2, 6, 0.0728), (1, 50, 0.1, 21, 0.0440)],
)
def test_published_two_level_overheads(
    blocked_s: float, far_s: float, q2: float, every: int, overhead: float
) -> None:
    """Benoit et al. 2017 have sum(sqrt(2 rate cost)), 0.0692 and 0.0427; theirs is first order."""
    best = (0.0, 0)
    for k in range(1, 40):
        levels = TwoLevels(300, k, blocked_s, 0, far_s, 0, 0, 0, 11_131, q2, 1.0)
        interval_s = best_interval_s(levels, 10, 5000)
        # Their checkpoint blocks until it is safe, so nothing is lost with its drain.
        share = goodput(replace(levels, interval_s=interval_s)) * math.exp(q2 * far_s / 11_131)
        best = max(best, (share, k))
    assert best[1] == every
    assert 1 / best[0] - 1 == pytest.approx(overhead, abs=1e-4)


def test_loss_adds_up_and_each_cause_is_what_its_times_take() -> None:
    levels = replace(HOURLY, restore_s=50, drain_slowdown=0.3)
    parts = loss(levels)
    assert parts.total == pytest.approx(1 - goodput(levels), rel=1e-12)
    assert min(share for cause, share in vars(parts).items() if cause != "waiting") > 0
    swapped = replace(levels, hardware_share=0.8, swap_s=200)
    mended = loss(swapped, waiting=0.05)
    assert mended.total == pytest.approx(1 - goodput(swapped) * 0.95, rel=1e-12)
    assert mended.waiting > 0 and mended.restart > parts.restart
    assert loss(replace(levels, restore_s=0)).restore == 0
    assert loss(replace(levels, stall_s=0, drain_slowdown=0)).stall == 0
    assert loss(replace(levels, stall_s=121)).total == 1
    assert goodput(replace(levels, stall_s=121)) == 0


def test_first_order_is_near_where_failures_are_rare() -> None:
    rare = replace(DAILY, mtti_s=1e6)
    assert first_order_goodput(rare) == pytest.approx(goodput(rare), abs=1e-5)


def test_what_needs_the_remote_level() -> None:
    shares = {"software": 0.22, "gpu": 0.6, "node": 0.15, "rack": 0.03}
    recovers = {"software": "yes", "gpu": "yes", "node": "peer", "rack": "no"}
    assert remote_share(shares, recovers, copies=2) == pytest.approx(0.03)  # type: ignore[arg-type]
    assert remote_share(shares, recovers, copies=1) == pytest.approx(0.18)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the shares add up to"):
        remote_share({"software": 0.97}, {"software": "no"}, 1)
    with pytest.raises(ValueError, match="each class needs"):
        remote_share({"software": 1.0}, {"gpu": "no"}, 1)


def test_stall_and_local_part_follow_from_the_state_of_one_gpu() -> None:
    assert derived_stall_s(0.5, 13_800, 3072, 25) == pytest.approx(0.5 + 13_800 / 3072 / 25)
    assert local_part_gb(13_800, 2, 8, 3072) == pytest.approx(2 * 13_800 / 384)


def restarted(restart_s: float, levels: TwoLevels, rng: random.Random) -> list[float]:
    """Return the times that restarts take until one ends; a failure begins it anew, with a swap
    or without."""
    times: list[float] = []
    while True:
        left, swaps = rng.expovariate(1 / levels.mtti_s), rng.random() < levels.hardware_share
        lasts_s = restart_s + levels.swap_s * swaps
        times.append(min(left, lasts_s))
        if left >= lasts_s:
            return times


def one_life(levels: TwoLevels, start_s: float, fails_at_s: float) -> list[float]:
    """Return when the captures of a life are safe locally, those that make it."""
    first = start_s + levels.interval_s + levels.local_drain_s
    count = math.floor((fails_at_s - first) / levels.interval_s) + 1
    return [first + number * levels.interval_s for number in range(max(0, count))]


def one_renewal(levels: TwoLevels, rng: random.Random) -> tuple[float, float]:
    """Return how long it is to the next failure that needs the remote level, and the work kept.

    Written from the rules alone: captures, drains, failures of two kinds, restarts. Shares no
    formula with what it checks.
    """
    far_s = levels.restart_s + levels.restore_s
    clock = math.fsum(restarted(far_s, levels, rng))
    cycles, ends = 0, list[float]()
    while True:
        fails_at = clock + rng.expovariate(1 / levels.mtti_s)
        for safe in one_life(levels, clock, fails_at):
            cycles += 1
            if cycles % levels.every == 0:
                ends.append(safe + levels.drain_s)
        clock, needs_remote = fails_at, rng.random() < levels.remote_share
        if not needs_remote:
            *failed, last = restarted(levels.local_restart_s, levels, rng)
            for left in failed:
                clock, needs_remote = clock + left, rng.random() < levels.remote_share
                if needs_remote:
                    break
            else:
                clock += last
        if needs_remote:
            safe_cycles = levels.every * sum(end <= clock for end in ends)
            return clock, safe_cycles * (levels.interval_s - levels.stall_s)


@pytest.mark.parametrize(
    "levels",
    [
        HOURLY,
        replace(HOURLY, every=1, remote_share=0.6),
        replace(HOURLY, local_drain_s=110),
        replace(HOURLY, hardware_share=0.7, swap_s=900),
    ],
)
def test_goodput_matches_the_simulated_failure_process(levels: TwoLevels) -> None:
    rng = random.Random(20_240_110)
    renewals = [one_renewal(levels, rng) for _ in range(6000)]
    wall_s = math.fsum(clock for clock, _ in renewals)
    share = math.fsum(work for _, work in renewals) / wall_s
    squares = math.fsum((work - share * clock) ** 2 for clock, work in renewals)
    error = math.sqrt(squares) / wall_s
    assert error < 0.004
    # A failure during a remote restart starts it anew, and its renewal has kept nothing.
    assert abs(share - goodput(levels)) < 4 * error


def test_best_interval_is_the_best_of_many_and_keeps_to_its_bounds() -> None:
    for low, high in ((20.0, 3000.0), (200.0, 3000.0), (20.0, 60.0)):
        best_s = best_interval_s(HOURLY, low, high)
        every = [low * (high / low) ** (step / 400) for step in range(401)]
        shares = [goodput(replace(HOURLY, interval_s=i)) for i in every]
        assert goodput(replace(HOURLY, interval_s=best_s)) >= max(shares) * (1 - 1e-12)
    with pytest.raises(ValueError, match="above high_s"):
        best_interval_s(HOURLY, 2.0, 1.0)


@pytest.mark.parametrize("anew", [True, False])
def test_restarts_that_see_fewer_failures(anew: bool) -> None:
    """The factors with restarts over a longer time between failures, the rest as before."""
    levels = replace(HOURLY, drain_restarts=anew)
    rate, q2 = 1.0 / levels.mtti_s, levels.remote_share
    far_s = levels.restart_s + levels.restore_s

    def log_kept(per_s: float) -> float:
        near, lag = per_s * levels.local_restart_s, rate * levels.local_drain_s
        return (
            two_levels.kept(rate * levels.interval_s, near, lag, levels.every, q2)
            + two_levels.drained(rate * levels.drain_s, near, q2, anew)
            + two_levels.restarted(per_s * far_s, q2)
        )

    for share in (0.5, 0.1, 1e-3):
        expected = log_kept((1.0 - share) * rate) - log_kept(rate)
        assert two_levels.log_spared(levels, share * rate) == pytest.approx(expected, rel=1e-9)
    assert two_levels.log_spared(levels, 0.0) == 0.0
