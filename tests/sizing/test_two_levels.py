"""Two levels of checkpoints: known answers, published overheads, what takes which time."""

import math
from dataclasses import replace

import pytest

from planner.sizing.goodput import (
    TwoLevels,
    derived_stall_s,
    local_part_gb,
    remote_share,
    two_level_loss,
)

HOURLY = TwoLevels(120, 5, 1, 10, 60, 120, 600, 0, 3600, 0.2)
DAILY = TwoLevels(180, 4, 0.5, 3, 70, 120, 610, 0, 43_649, 0.1)


def goodput(levels: TwoLevels) -> float:
    return 1.0 - two_level_loss(levels).total


@pytest.mark.parametrize(("levels", "kept"), [(HOURLY, 0.898107), (DAILY, 0.990470)])
def test_known_answers(levels: TwoLevels, kept: float) -> None:
    assert goodput(levels) == pytest.approx(kept, abs=5e-7)


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
        # Their checkpoint blocks until it is safe, so nothing is lost with its drain.
        tried = (goodput(replace(levels, interval_s=10 * 1.01**step)) for step in range(600))
        share = max(tried) * math.exp(q2 * far_s / 11_131)
        best = max(best, (share, k))
    assert best[1] == every
    assert 1 / best[0] - 1 == pytest.approx(overhead, abs=1e-4)


def test_loss_adds_up_and_each_cause_is_what_its_times_take() -> None:
    levels = replace(HOURLY, restore_s=50, drain_slowdown=0.3)
    parts = two_level_loss(levels)
    assert min(share for cause, share in vars(parts).items() if cause != "waiting") > 0
    swapped = replace(levels, hardware_share=0.8, swap_s=200)
    mended = two_level_loss(swapped, waiting=0.05)
    assert mended.total == pytest.approx(1 - goodput(swapped) * 0.95, rel=1e-12)
    assert mended.waiting > 0 and mended.restart > parts.restart
    assert two_level_loss(replace(levels, restore_s=0)).restore == 0
    assert two_level_loss(replace(levels, stall_s=0, drain_slowdown=0)).stall == 0
    assert two_level_loss(replace(levels, stall_s=121)).total == 1


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
