"""Samples get lost, counters start again, clocks are set: as often as asked, and as recorded."""

from itertools import groupby

import numpy as np
import pytest

from tests.synthesis.histories import READ_GB, WRITTEN_GB, sampled


@pytest.mark.parametrize("share", [0.01, 0.05, 0.6])
def test_as_many_samples_are_lost_as_asked(share: float) -> None:
    sampler, time, *_ = sampled(sample_s=0.001, missing=share)
    assert sampler.done == 1_000_000
    assert sampler.missing == 1_000_000 - len(time)
    assert sampler.missing / 1_000_000 == pytest.approx(share, rel=0.15)


def test_samples_are_lost_alone_and_in_stretches() -> None:
    _, time, *_ = sampled(sample_s=0.01, missing=0.05)
    kept = set(np.rint(100 * time).astype(int).tolist())
    runs = [
        len(list(run)) for gone, run in groupby(range(100_000), lambda k: k not in kept) if gone
    ]
    assert runs.count(1) > 1000
    assert max(runs) > 60


def test_what_is_left_is_as_it_was() -> None:
    _, time, write, reads = sampled()
    _, left, fewer, less = sampled(missing=0.3)
    at = np.searchsorted(time, left)
    assert 0 < len(left) < len(time)
    assert (time[at] == left).all()
    assert (write[at] == fewer).all()
    assert (reads[at] == less).all()


@pytest.mark.parametrize("faults", [{}, {"jitter_s": 3.0}, {"missing": 0.2}, {"clock_steps": 4}])
def test_counters_differ_by_the_volume(faults: dict[str, float]) -> None:
    _, time, write, reads = sampled(counter=True, **faults)
    assert write.dtype == reads.dtype == np.int64
    assert write[0] == reads[0] == 0
    assert (np.diff(write) >= 0).all()
    assert write[-1] == pytest.approx(1e9 * WRITTEN_GB, abs=200)
    assert reads[-1] == pytest.approx(1e9 * READ_GB, abs=200)
    if "missing" not in faults:
        assert len(time) == 101
        assert time[-1] == 1000 or "clock_steps" in faults


def test_counters_and_rates_are_of_the_same_samples() -> None:
    faults = {"jitter_s": 3.0, "noise": 0.1, "background_gb_per_s": 0.3}
    _, time, rates, _ = sampled(**faults)
    _, ends, counts, _ = sampled(counter=True, **faults)
    assert (ends[:-1] == time).all()
    assert np.allclose(np.diff(counts) / np.diff(ends) / 1e9, rates, atol=1e-8)


def test_counters_that_start_again_lose_part_of_one_sample() -> None:
    _, ends, plain, _ = sampled(counter=True, background_gb_per_s=1.0)
    sampler, again, counts, reads = sampled(counter=True, background_gb_per_s=1.0, resets=5)
    assert (again == ends).all()
    falls = np.flatnonzero(np.diff(counts) < 0)
    assert (falls == np.flatnonzero(np.diff(reads) < 0)).all()
    assert list(falls) == [int(at_s // 10) for at_s in sampler.resets_s]
    for fall in falls:
        end, moved = ends[fall + 1], plain[fall + 1] - plain[fall]
        at_s = next(at for at in sampler.resets_s if ends[fall] < at <= end)
        assert counts[fall + 1] == pytest.approx(moved * (end - at_s) / 10, abs=1)
    steady = np.setdiff1d(np.arange(len(ends) - 1), falls)
    assert (np.diff(counts)[steady] == np.diff(plain)[steady]).all()


def test_two_resets_in_one_sample() -> None:
    sampler, ends, counts, _ = sampled(
        counter=True, sample_s=500.0, background_gb_per_s=1.0, resets=2, seed=3
    )
    _, _, plain, _ = sampled(counter=True, sample_s=500.0, background_gb_per_s=1.0, seed=3)
    last = sampler.resets_s[-1]
    place = int(last // 500)
    left = (ends[place + 1] - last) / 500 * (plain[place + 1] - plain[place])
    assert counts[place + 1] == pytest.approx(left, abs=1)


def test_the_clock_is_set_as_recorded_and_the_rates_stay() -> None:
    _, time, write, _ = sampled()
    sampler, stamped, same, _ = sampled(clock_steps=4)
    assert (write == same).all()
    steps = sampler.steps
    assert len(steps.at_s) == 4
    assert ((np.abs(steps.by_s) >= 1) & (np.abs(steps.by_s) <= 60)).all()
    ahead = [
        sum(by for at, by in zip(steps.at_s, steps.by_s, strict=True) if at <= t) for t in time
    ]
    assert (stamped - time == ahead).all()
    assert ahead[-1] != 0


def test_clocks_go_both_ways() -> None:
    sampler, stamped, *_ = sampled(clock_steps=60)
    assert (sampler.steps.by_s > 0).any()
    assert (np.diff(stamped) < 0).any()


def test_one_fault_does_not_change_another() -> None:
    _, time, write, _ = sampled(missing=0.2, background_gb_per_s=1.0)
    _, stamped, again, _ = sampled(missing=0.2, background_gb_per_s=1.0, clock_steps=1)
    assert len(time) == len(stamped)
    assert (write == again).all()
    _, _, counts, _ = sampled(counter=True, missing=0.2, background_gb_per_s=1.0)
    assert len(counts) == len(write) + 1


def test_seeds_differ() -> None:
    _, time, write, _ = sampled(missing=0.2, background_gb_per_s=1.0)
    _, other, less, _ = sampled(missing=0.2, background_gb_per_s=1.0, seed=2)
    assert not np.array_equal(time, other)
    assert not np.array_equal(write, less)
