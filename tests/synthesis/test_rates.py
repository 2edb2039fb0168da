"""Rates of a trace are what was moved over the time of each sample, to the byte."""

import numpy as np
import pytest

from planner.simulation.history import History
from planner.synthesis import samples
from planner.synthesis.samples import background, read, volume, written
from tests.synthesis.histories import HISTORY, READ_GB, WRITTEN_GB, lengths, sampled


@pytest.mark.parametrize("sample_s", [10.0, 0.7, 1.0, 333.0, 1000.0])
def test_rates_times_seconds_are_the_volume(sample_s: float) -> None:
    _, time, write, reads = sampled(sample_s=sample_s)
    end = len(time) * sample_s
    moved = written(HISTORY).by(np.array([end]))[0]
    assert np.sum(write * sample_s) == pytest.approx(moved, abs=1e-6)
    assert np.sum(reads * sample_s) == pytest.approx(min(READ_GB, 2 * (end - 400)), abs=1e-6)


def test_all_of_it_is_written_and_read() -> None:
    _, time, write, reads = sampled()
    assert list(time) == list(np.arange(0, 1000, 10))
    assert 10 * write.sum() == pytest.approx(WRITTEN_GB, abs=1e-7)
    assert 10 * reads.sum() == pytest.approx(READ_GB, abs=1e-7)


def test_a_sample_holds_the_mean_of_what_falls_into_it() -> None:
    _, time, write, reads = sampled()
    at = dict(zip(time, zip(write, reads, strict=True), strict=True))
    assert at[90] == (0, 0)
    assert at[100] == (3, 0)
    assert at[120] == (pytest.approx((3 * 3 + 7 * (1 + 2)) / 10), 0)
    assert at[150] == (pytest.approx(4 * 3 / 10), 0)
    assert at[430] == (0, pytest.approx(3.3 * 2 / 10))
    assert at[910] == (pytest.approx((2.5 * 3 + 7.5 * 2) / 10), 0)


def test_nothing_is_left_where_nothing_moves() -> None:
    pairs = [(0.1 * k, 0.1 * k + 0.35, 0.1 + k / 7) for k in range(500)]
    moved = volume([*pairs, (2000.0, 2001.0, 1.0)])
    assert np.all(np.diff(moved.by(np.linspace(51, 1999, 200))) == 0)
    assert moved.by(np.array([60.0]))[0] == pytest.approx(sum(0.35 * rate for *_, rate in pairs))


def test_no_zero_has_a_sign() -> None:
    _, _, write, reads = sampled(noise=1.0)
    assert (write >= 0).all()
    assert not np.signbit(write).any()
    assert not np.signbit(reads).any()


def test_an_empty_run_moves_nothing() -> None:
    _, time, write, reads = sampled(History(1000.0, ("one",), (), (), ()))
    assert len(time) == 100
    assert not write.any()
    assert not reads.any()


def test_jittered_samples_are_as_long_as_their_times_say() -> None:
    _, time, write, reads = sampled(jitter_s=4.9)
    spans = lengths(time)
    assert len(time) == 100
    assert spans.min() > 0
    assert 1 < np.abs(time - np.arange(0, 1000, 10)).max() <= 4.9
    assert np.sum(write * spans) == pytest.approx(WRITTEN_GB, abs=1e-6)
    assert np.sum(reads * spans) == pytest.approx(READ_GB, abs=1e-6)


def test_training_data_are_read_while_a_job_computes() -> None:
    data = read(HISTORY, (0.5, 0.0))
    computing = 95.0 + 95.0 + 461.7 + 100.0
    assert data.by(np.array([1000.0]))[0] == pytest.approx(READ_GB + 0.5 * computing)
    assert np.diff(data.by(np.array([203.0, 400.0])))[0] == 0


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    faults = {"jitter_s": 2.0, "noise": 0.1, "missing": 0.2, "background_gb_per_s": 1.0}
    whole = sampled(**faults, clock_steps=3)
    counted = sampled(**faults, counter=True, resets=40)
    monkeypatch.setattr(samples, "BLOCK", 7)
    for before, after in ((whole, sampled(**faults, clock_steps=3)),
                          (counted, sampled(**faults, counter=True, resets=40))):  # fmt: skip
        for one, other in zip(before[1:], after[1:], strict=True):
            assert one.shape == other.shape
            assert np.allclose(one, other, rtol=1e-12, atol=2)


def test_other_traffic_has_the_mean_and_swings_by_day() -> None:
    days = 200
    flow = background(2.0, 86_400.0 * days, np.random.default_rng(1))
    hours = np.diff(flow.by(np.arange(24 * days + 1) * 3600.0)) / 3600
    assert hours.mean() == pytest.approx(2.0, rel=0.03)
    assert hours.min() >= 0.4 * 2.0
    by_hour = hours.reshape(days, 24).mean(axis=0)
    assert by_hour.max() - by_hour.min() == pytest.approx(1.6, rel=0.2)
    assert not background(0.0, 1e6, np.random.default_rng(1)).by(np.arange(10.0)).any()


def test_noise_is_a_share_of_the_rate() -> None:
    _, _, plain, _ = sampled(sample_s=0.1)
    _, _, noisy, _ = sampled(sample_s=0.1, noise=0.05)
    flowing = plain > 0
    ratio = noisy[flowing] / plain[flowing]
    assert np.std(ratio) == pytest.approx(0.05, rel=0.1)
    assert np.mean(ratio) == pytest.approx(1.0, abs=0.01)
    assert not noisy[~flowing].any()
