"""The examiner examined: volumes are exact, the truth is consistent, the scorer sees errors."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tests.telemetry.cases import CLASSES, random_case
from tests.telemetry.files import NAMES, table, write_csv, write_parquet
from tests.telemetry.flow import Background, Drains, Flow, freely, in_pieces, shared
from tests.telemetry.perfect import perfect
from tests.telemetry.sampling import Faults, Sampling, Trace
from tests.telemetry.score import score
from tests.telemetry.timeline import Job
from tests.telemetry.truth import Case, Truth, made

DAY_S = 86_400.0
JOB = Job("a", 1000.0, 1800.0, 100.0, 500.0, 1.9 * DAY_S, jitter_s=20.0, noise=0.05, drift=0.05)
OTHER = replace(JOB, name="b", size_gb=700.0, interval_s=1400.0, drain_s=60.0, ramp=True)
PAIR = Case("pair", 5, 2 * DAY_S, (JOB, OTHER))
BUSY = Background(1.0, 0.4, 0.2, 0.3, 2.0, (1.0, 20.0), 2.0, (100.0, 900.0), 4.0)


def case_of(**changes: object) -> Case:
    return replace(PAIR, **changes)


@cache
def taken(case: Case) -> tuple[Trace, Truth]:
    return made(case)


def moved(trace: Trace) -> float:
    return float(np.nansum(trace.write)) * trace.sample_s


@pytest.mark.parametrize("most", [None, 12.0])
def test_volume_in_the_samples_is_what_jobs_wrote(most: float | None) -> None:
    trace, truth = taken(case_of(most_gb_per_s=most))
    assert moved(trace) == pytest.approx(truth.checkpoints.size_gb.sum(), rel=1e-9)
    assert truth.checkpoints.complete.all() and truth.checkpoints.clear.all()


@pytest.mark.parametrize("most", [None, 12.0])
def test_each_lone_drain_holds_its_size(most: float | None) -> None:
    trace, truth = taken(case_of(most_gb_per_s=most))
    done = np.concatenate(([0.0], np.cumsum(trace.write) * trace.sample_s))
    written = truth.checkpoints
    first = np.searchsorted(trace.time_s, written.start_s, "right") - 1
    last = np.searchsorted(trace.time_s, written.end_s, "left")
    lone = np.ones(len(first), dtype=bool)
    lone[1:] &= first[1:] >= np.maximum.accumulate(last)[:-1]
    lone[:-1] &= last[:-1] <= first[1:]
    assert lone.sum() > 100
    assert (done[last] - done[first])[lone] == pytest.approx(written.size_gb[lone])


def test_rates_add_or_share_one_maximum() -> None:
    zeros = np.zeros(2)
    drains = Drains(
        np.array([0.0, 50.0]), np.array([1000.0, 500.0]), np.array([10.0, 10.0]),
        np.full(2, np.inf), zeros, zeros.astype(bool),
    )  # fmt: skip
    pieces = in_pieces(drains, np.random.default_rng(1))
    owner, flow = freely(drains, pieces)
    assert [flow.end_s[owner == n].max() for n in (0, 1)] == pytest.approx([100, 100])
    owner, flow = shared(drains, pieces, 10.0)
    # 50 s alone, then 5 GB/s each: both have 500 GB to go and take 100 s for them
    assert [flow.end_s[owner == n].max() for n in (0, 1)] == pytest.approx([150, 150])
    assert flow.moved_gb(np.array([0.0, 50.0, 100.0, 150.0])) == pytest.approx([0, 500, 1000, 1500])


def test_drains_that_slow_down_reach_the_next_one() -> None:
    drains = Drains(
        np.array([0.0, 50.0, 110.0]), np.full(3, 1000.0), np.full(3, 10.0),
        np.array([np.inf, np.inf, 200.0]), np.zeros(3), np.zeros(3, dtype=bool),
    )  # fmt: skip
    owner, flow = shared(drains, in_pieces(drains, np.random.default_rng(1)), 10.0)
    assert flow.moved_gb(np.array([200.0]))[0] == pytest.approx(2000)  # busy all the time
    gb = np.bincount(owner, flow.gb_per_s * (flow.end_s - flow.start_s))
    assert gb[:2] == pytest.approx([1000, 1000])
    assert 0 < gb[2] < 1000  # broken off


def test_flow_is_integrated_exactly() -> None:
    flow = Flow(np.array([3.0, 5.0]), np.array([9.0, 25.0]), np.array([2.0, 1.0]))
    edges = np.arange(0.0, 40.0, 10.0)
    assert np.diff(flow.moved_gb(edges)) == pytest.approx([12 + 5, 10, 5])


def test_truth_of_jobs_follows_from_their_checkpoints() -> None:
    _, truth = taken(case_of(background=BUSY))
    for n, job in enumerate(truth.jobs):
        written = truth.checkpoints
        mine = (written.job == n) & written.complete
        gaps = np.diff(written.start_s[mine])
        assert job.interval_s == pytest.approx(np.median(gaps))
        assert job.drain_s == pytest.approx(np.median((written.end_s - written.start_s)[mine]))
        assert job.overlap == pytest.approx(job.drain_s / job.interval_s)
        assert written.size_gb[mine] == pytest.approx(job.size_gb)
        assert job.checkpoints == mine.sum() and job.restarts == 0 and job.mtti_s is None


def test_after_a_failure_the_rhythm_starts_anew() -> None:
    job = replace(
        JOB,
        end_s=19 * DAY_S,
        mtti_s=6 * 3600.0,
        again=0.2,
        fan_out=2.0,
        read_gb_per_s=50.0,
        jitter_s=0.0,
    )
    trace, truth = taken(case_of(jobs=(job,), length_s=20 * DAY_S, seed=3))
    true = truth.jobs[0]
    assert true.restarts > true.breaks > 0
    assert not truth.checkpoints.complete.all()  # some were broken off
    gaps = np.diff(truth.checkpoints.start_s)
    assert np.all(gaps > job.interval_s - 1e-6)
    restores = trace.read.sum() * trace.sample_s / (2 * job.size_gb)
    assert restores == pytest.approx(round(restores), abs=1e-6)
    assert true.restarts - 1 <= restores <= true.restarts + 2


def test_counters_are_what_has_flowed() -> None:
    trace, _ = taken(case_of(sampling=Sampling(form="counter")))
    rates, _ = taken(PAIR)
    assert len(trace.time_s) == len(rates.time_s) + 1
    assert np.diff(trace.write) / 1e10 == pytest.approx(rates.write, abs=1e-6)


def test_counters_begin_again() -> None:
    sampling, faults = Sampling(form="counter"), Faults(resets=3)
    trace, _ = taken(case_of(sampling=sampling, faults=faults, background=BUSY))
    assert (np.diff(trace.write) < 0).sum() == 3
    assert trace.write.min() >= 0


def test_irregular_samples_lose_nothing() -> None:
    trace, truth = taken(case_of(sampling=Sampling(jitter=0.3)))
    lasts = np.diff(trace.time_s)
    assert 0.5 < lasts.std() < 3
    assert trace.write[:-1] @ lasts == pytest.approx(truth.checkpoints.size_gb.sum(), rel=1e-3)


@pytest.mark.parametrize("blank", [False, True])
def test_missing_samples_are_gone_and_marked(blank: bool) -> None:
    faults = Faults(single=0.002, stretches_per_day=2.0, outages=1, blank=blank)
    trace, truth = taken(case_of(faults=faults))
    whole, all_true = taken(PAIR)
    gone = np.isnan(trace.write).sum() if blank else len(whole.time_s) - len(trace.time_s)
    assert gone > 360
    written = truth.checkpoints
    assert 0 < written.clear.sum() < len(written.clear) == len(all_true.checkpoints.clear)
    times = trace.time_s[~np.isnan(trace.write)]
    for start, end in zip(
        written.start_s[written.clear], written.end_s[written.clear], strict=True
    ):
        count = np.searchsorted(times, end) - np.searchsorted(times, start - 10)
        assert count * 10 == pytest.approx(end - start + 10, abs=10)


def test_clock_steps_move_the_times_of_samples_and_of_the_truth() -> None:
    trace, truth = taken(case_of(faults=Faults(steps=3), seed=8))
    whole, _ = taken(case_of(seed=8))
    off = trace.time_s - whole.time_s
    assert (np.diff(off) != 0).sum() == 3
    written = truth.checkpoints
    for start in written.start_s[written.clear]:
        seen = (trace.time_s >= start - 10) & (trace.time_s < start + 20)
        assert trace.write[seen].max() > 1


def test_rows_come_twice() -> None:
    trace, _ = taken(case_of(faults=Faults(repeated=0.01)))
    assert 100 < (np.diff(trace.time_s) == 0).sum() < 250


@pytest.mark.parametrize("kind", CLASSES)
def test_a_perfect_result_scores_full_marks(kind: str) -> None:
    trace, truth = made(random_case(kind, 1))
    assert len(trace.time_s) == len(trace.write) == len(trace.read) > 1000
    assert np.nanmin(trace.write) >= -1e-6
    result = score(truth, *perfect(truth))
    assert result.misses() == []
    assert (result.found, result.false, result.assigned) == (1, 0, 1)


def test_the_same_case_gives_the_same_trace() -> None:
    first, second = (made(random_case("everything", 4))[0] for _ in range(2))
    assert np.array_equal(first.write, second.write, equal_nan=True)
    assert np.array_equal(first.time_s, second.time_s)


def test_errors_are_seen() -> None:
    _, truth = taken(PAIR)
    record, columns = perfect(truth)
    job = record.jobs[0]
    wrong = job.model_copy(
        update={
            "size_gb": job.size_gb.model_copy(update={"value": 1.06 * job.size_gb.value}),
            "interval_s": job.interval_s.model_copy(update={"value": 2 * job.interval_s.value}),
            "overlap": job.overlap.model_copy(update={"value": job.overlap.value + 0.03}),
        }
    )
    worse = record.model_copy(update={"jobs": (wrong, *record.jobs[1:])})
    said = score(truth, worse, columns).misses()
    assert said == ["a size +6.0%", "a interval +100.0%", "a overlap +3.0%"]
    fewer = record.model_copy(update={"jobs": record.jobs[1:]})
    assert score(truth, fewer, columns).misses() == ["1 jobs for 2", "a not matched"]


def test_checkpoints_not_found_and_made_up_are_counted() -> None:
    _, truth = taken(PAIR)
    record, columns = perfect(truth)
    kept = {name: column[::2] for name, column in columns.items()}
    assert score(truth, record, kept).found == pytest.approx(0.5, abs=0.01)
    doubled = {name: np.concatenate((column, column)) for name, column in columns.items()}
    assert score(truth, record, doubled).false == pytest.approx(0.5)
    late = {**columns, "start_s": columns["start_s"] + 65}
    assert score(truth, record, late).found < 0.7
    fat = {**columns, "size_gb": columns["size_gb"] * 1.11}
    assert score(truth, record, fat).found == 0


def test_tables_hold_what_the_trace_holds(tmp_path: Path) -> None:
    trace, _ = taken(case_of(faults=Faults(single=0.01, blank=True)))
    names = ("Time", "w", "r")
    columns = table(trace, names, "iso", 1e9, cluster="east")
    for read in (
        pyarrow.csv.read_csv(write_csv(tmp_path / "t.csv", columns)),
        pq.read_table(write_parquet(tmp_path / "t.parquet", columns)),
    ):
        assert read["w"].null_count == np.isnan(trace.write).sum() > 100
        assert np.nansum(read["w"].to_numpy()) / 1e8 == pytest.approx(moved(trace))
        first = read["Time"][0].as_py()
        first = first if isinstance(first, datetime) else datetime.fromisoformat(first)
        assert first.replace(tzinfo=UTC).timestamp() == trace.time_s[0]
        assert read["cluster"][0].as_py() == "east"
    bare = table(trace, reads=False)
    assert tuple(bare.column_names) == NAMES["rate"][:2]
    assert bare["time_s"].to_numpy() == pytest.approx(trace.time_s)
