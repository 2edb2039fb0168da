"""Whose restart it is: reads of several jobs, breaks that are none, ranges by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from planner.schema.telemetry import JobFound
from planner.telemetry.bursts import Bursts
from planner.telemetry.characterize import cluster
from planner.telemetry.raw import Raw, ReadOptions, poisson
from planner.telemetry.restarts import Breaks, Holes, JobGaps, Restores, find_breaks, mtti, restores
from planner.telemetry.tracking import INFERRED, WHOLE, Track
from tests.world.commands import ran

DAY_S = 86_400.0
NONE = np.zeros(0)
NO_HOLES = Holes(NONE, NONE)


def bursts(start: list[float], size: list[float], lasts: float = 20.0) -> Bursts:
    begin, gb = np.array(start, dtype=float), np.array(size, dtype=float)
    rate, none = gb / lasts, np.zeros(len(begin))
    span = np.full(len(begin), lasts)
    return Bursts(begin, begin + lasts, gb, rate, rate, span, none, none, none, none.astype(bool))


def tried(breaks_s: list[tuple[float, float]], size_gb: float, broken: bool = True) -> JobGaps:
    start, end = np.array(breaks_s, dtype=float).reshape(-1, 2).T
    return JobGaps(start, end, np.full(len(start), broken), size_gb, 600.0, 30.0)


def owned(jobs: list[JobGaps], reads: Bursts) -> list[tuple[list[int], int, int]]:
    found: list[Restores] = restores(jobs, reads, 50_000.0)
    return [(one.reads.tolist(), one.doubtful, one.possible) for one in found]


def test_a_read_is_of_the_job_whose_size_it_has() -> None:
    """Both jobs are away at the same time; the second's replicas read twice its checkpoint."""
    jobs = [tried([(0, 1400), (10_000, 11_400)], 100.0), tried([(100, 1500), (10_100, 11_500)], 70)]
    reads = bursts([400, 700, 10_400, 10_700], [100, 140, 100, 140])
    assert owned(jobs, reads) == [([0, 2], 0, 0), ([1, 3], 0, 0)]


def test_of_equal_reads_it_is_the_jobs_whose_rhythm_starts_anew() -> None:
    jobs = [tried([(0, 1020), (9000, 10_020)], 100.0), tried([(100, 1700), (9100, 10_700)], 101.0)]
    reads = bursts([400, 1080, 9400, 10_080], [100, 100, 100, 100])
    assert owned(jobs, reads) == [([0, 2], 0, 0), ([1, 3], 0, 0)]


def test_a_read_that_suits_both_is_told() -> None:
    jobs = [tried([(0, 1020)], 100.0), tried([(10, 1030)], 100.0)]
    assert owned(jobs, bursts([400], [100])) == [([0], 1, 0), ([], 0, 1)]


def test_a_read_outside_of_breaks_is_nobodys() -> None:
    jobs = [tried([(0, 1020)], 100.0)]
    assert owned(jobs, bursts([400, 5000, 9000], [100, 100, 100])) == [([0], 0, 0)]


def test_small_reads_are_no_restores() -> None:
    assert owned([tried([(0, 1020)], 100.0)], bursts([400], [20])) == [([], 0, 0)]


@pytest.mark.parametrize(("begins", "read"), [(400.0, [0]), (300.0, [])])
def test_where_a_break_may_be_hidden_only_a_read_with_the_rhythm_behind_it_counts(
    begins: float, read: list[int]
) -> None:
    sure = tried([(20_000, 21_020)], 100.0)
    hidden = tried([(0, 1020)], 100.0, broken=False)
    both = JobGaps(
        np.concatenate((hidden.start_s, sure.start_s)),
        np.concatenate((hidden.end_s, sure.end_s)),
        np.array([False, True]), 100.0, 600.0, 30.0,
    )  # fmt: skip
    ((reads, _, _),) = owned([both], bursts([begins, 20_400], [100, 100]))
    assert reads == [*read, 1]


def track(times: list[float], kinds: list[int] | None = None) -> Track:
    every = np.array(times, dtype=float)
    sorts = np.array(kinds or [WHOLE] * len(times), dtype=np.int8)
    return Track(100.0, 20.0, 600.0, 30.0, 0.006, every, np.arange(len(times)), sorts)


def test_checkpoints_told_apart_from_others_are_no_gap() -> None:
    """Only the first and the last stand alone, and another job's read lies in between."""
    times = [600.0 * n for n in range(1, 8)]
    kinds = [WHOLE, *[INFERRED] * 5, WHOLE]
    (found,) = find_breaks(
        [track(times, kinds)], NO_HOLES, bursts([], []), bursts([1300], [100]), 5e3
    )
    assert not found.broken.any() and found.kept.all() and not len(found.reads)


def test_a_checkpoint_put_late_is_no_break() -> None:
    times = [600.0, 1200.0, 1950.0, 2400.0, 3000.0]
    (found,) = find_breaks([track(times)], NO_HOLES, bursts([], []), None, 5e3)
    assert found.steps.tolist() == [1, 1, 1, 1] and not found.broken.any()
    (late,) = find_breaks([track([600, 1200, 1950, 2550])], NO_HOLES, bursts([], []), None, 5e3)
    assert late.broken.tolist() == [False, True, False]


def counted(whole: int, attempts: list[int], **doubts: int) -> Breaks:
    steps = np.array([whole, *(0 for _ in attempts)])
    broken = steps == 0
    none = np.zeros(len(steps))
    many = np.array([0, *attempts])
    return Breaks(none, none, steps, ~broken, broken, ~broken, many, ~broken & broken, **doubts)


def test_mtti_is_what_the_share_of_whole_intervals_says() -> None:
    found = mtti(track([600, 1200]), counted(90, [1] * 10))
    assert found is not None and found.low is not None and found.high is not None
    assert found.value == pytest.approx(-600 / math.log(0.9))
    low, high = poisson(10)
    assert found.value / found.low == pytest.approx(high / 10)
    assert found.value / found.high == pytest.approx(low / 10)
    assert mtti(track([600, 1200]), counted(90, [])) is None


def test_doubts_and_bunches_widen_the_range_of_mtti() -> None:
    plain = mtti(track([600, 1200]), counted(90, [1] * 10))
    unsure = mtti(track([600, 1200]), counted(90, [1] * 10, doubtful=3, possible=4))
    bunched = mtti(track([600, 1200]), counted(90, [5, 5]))
    assert plain and unsure and bunched
    assert plain.low and plain.high and unsure.low and unsure.high and bunched.low and bunched.high
    assert unsure.value / unsure.low == pytest.approx(poisson(14)[1] / 10)
    assert unsure.value / unsure.high == pytest.approx(poisson(7)[0] / 10)
    assert bunched.low < plain.low and bunched.high > plain.high
    none_sure = mtti(track([600, 1200]), counted(90, [1, 1], doubtful=2))
    assert none_sure is not None and none_sure.high is None


Pulses = list[tuple[float, float, float]]


def rates(pulses: Pulses, days: float, noise_seed: int) -> np.ndarray:
    """Return samples of 10 s of pulses (start, how long, how much)."""
    edges = np.arange(int(days * DAY_S / 10) + 1) * 10.0
    flow = np.zeros(len(edges))
    for start, lasts, size in pulses:
        flow += np.clip((edges - start) / lasts, 0, 1) * size
    noise = np.random.default_rng(noise_seed).normal(1, 0.1, len(edges) - 1)
    return np.diff(flow) / 10 + noise


def lived(
    gaps: tuple[float, ...], size: float, days: float, mtti_s: float, seed: int
) -> tuple[Pulses, Pulses]:
    """Return the writes and restores of a job whose gaps return in turn, anew after a failure."""
    random = np.random.default_rng(seed)
    writes, reads = [], []
    now, turn, fails = 0.0, 0, float(random.exponential(mtti_s))
    while now < days * DAY_S:
        due = now + gaps[turn % len(gaps)]
        if fails < due + 40:
            reads.append((fails + 300, 20.0, size))
            now, turn = fails + 320, 0
            fails = now + float(random.exponential(mtti_s))
        else:
            writes.append((due, 40.0, size))
            now, turn = due, turn + 1
    return writes, reads


def jobs_in(writes: Pulses, reads: Pulses, days: float) -> tuple[JobFound, ...]:
    written, read = rates(writes, days, 1), rates(reads, days, 2)
    time = 10.0 * np.arange(len(written)) + 1.7e9
    return cluster(Raw("c", "trace", time, written, read, True, True), ReadOptions()).jobs


def test_a_job_of_short_and_long_intervals_in_turn_is_one() -> None:
    writes, reads = lived((500.0, 700.0), 2000.0, 5, 20_000.0, 3)
    (job,) = jobs_in(writes, reads, 5)
    assert job.interval_s.value == pytest.approx(600, rel=0.01)
    assert job.checkpoints == pytest.approx(len(writes), abs=3)
    assert job.restarts == pytest.approx(len(reads), abs=1)


def test_two_jobs_of_one_size_and_interval_that_fail_apart_stay_two() -> None:
    parts = [lived((600.0,), 2000.0, 5, 20_000.0, seed) for seed in (4, 5)]
    writes, reads = ([one for part in parts for one in part[way]] for way in (0, 1))
    assert len(jobs_in(writes, reads, 5)) >= 2


def test_no_override_is_made_of_reads_that_may_be_anothers(small: str, tmp_path: Path) -> None:
    """Two jobs fail together and read the same, and go on when neither read is just over."""
    days, random = 4, np.random.default_rng(6)
    writes: Pulses = []
    reads: Pulses = []
    now = 0.0
    while now < (days - 0.5) * DAY_S:
        many = int(random.integers(12, 40))
        for size, interval, offset in ((2000.0, 600.0, 0.0), (2300.0, 620.0, 250.0)):
            begun = now + offset + interval * np.arange(1, many)
            writes += [(float(start), 40.0, size) for start in begun]
        now += 620.0 * many + float(random.uniform(900, 1400))
        reads += [(now - 400.0, 20.0, 4600.0), (now - 300.0, 20.0, 4600.0)]
    written, read = rates(writes, days, 1), rates(reads, days, 2)
    path = tmp_path / "two.csv"
    lines = ["time,write_gb_per_s,read_gb_per_s"]
    lines += [
        f"{10 * n},{w:.4f},{r:.4f}" for n, (w, r) in enumerate(zip(written, read, strict=True))
    ]
    path.write_text("\n".join(lines))
    arguments = ("characterize", str(path), "--problem", small, "--gpus", "1000")
    found = ran(*arguments, "--json")
    assert found.code == 0, found.err
    record = json.loads(found.out)
    assert any(job["contested"] for job in record["jobs"])
    for job in record["jobs"]:
        out = json.loads(ran(*arguments, "--json", "--job", job["name"]).out)["calibration"]
        made = any(one["path"] == "jobs.0.failures.per_gpu_day" for one in out["overrides"])
        said = any("may be this job's or another's" in text for text in out["not_measured"])
        assert made == (not job["contested"]) and said == bool(job["contested"])
    assert "restoring reads that suit two jobs" in " ".join(
        ran("characterize", str(path)).out.split()
    )
