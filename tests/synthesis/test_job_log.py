"""The jobs' log, and the record of the truth."""

import pytest

from planner.schema.plan import JobPlan
from planner.simulation.history import History, Interruption, Stay
from planner.synthesis.make import events, of_cluster
from tests.synthesis.histories import HISTORY, quality, sampled

PLAN = JobPlan.model_construct(
    gpus_used=64, checkpoint_gb=100.0, interval_s=100.0, mode="async", stall_s=5.0, drain_s=54.0,
    mtti_s=5000.0,
)  # fmt: skip


def test_the_log_tells_when_the_gpus_stop_and_go_on() -> None:
    told = [(at, what) for at, job, what in events(HISTORY) if job == "one"]
    assert told == [
        (0.0, "start"),
        (95.0, "checkpoint_begin"),
        (100.0, "checkpoint_end"),
        (195.0, "checkpoint_begin"),
        (203.0, "failure"),
        (433.3, "resume"),
        (895.0, "checkpoint_begin"),
        (900.0, "checkpoint_end"),
        (1000.0, "end"),
    ]


def test_a_job_that_never_stops_still_tells_of_checkpoints() -> None:
    told = [(at, what) for at, job, what in events(HISTORY) if job == "two"]
    assert told == [
        (0.0, "start"),
        (123.0, "checkpoint_begin"),
        (123.0, "checkpoint_end"),
        (912.5, "checkpoint_begin"),
        (912.5, "checkpoint_end"),
        (1000.0, "end"),
    ]


def test_events_are_in_order_of_time() -> None:
    times = [at for at, _, _ in events(HISTORY)]
    assert times == sorted(times)


def test_planned_stops_are_no_failures() -> None:
    stays = (
        Stay(0, "compute", 0, 10),
        Stay(0, "planned", 10, 20),
        Stay(0, "restart", 20, 30),
        Stay(0, "restore", 30, 35),
        Stay(0, "compute", 35, 50),
    )
    history = History(50, ("one",), stays, (), (Interruption(0, 10, True, 0),))
    assert [(at, what) for at, _, what in events(history)] == [
        (0, "start"), (10, "stop"), (35, "resume"), (50, "end"),
    ]  # fmt: skip


def test_the_truth_is_what_happened() -> None:
    sampler, *_ = sampled(missing=0.1)
    found = of_cluster("here", HISTORY, (PLAN, PLAN), quality(), sampler)
    saved = found.checkpoints
    assert [(one.job, one.start_s, one.end_s, one.size_gb, one.complete) for one in saved] == [
        ("one", 100, 154, 100, True),
        ("two", 123, 154, 62, True),
        ("one", 900, 912.5, 37.5, False),
        ("two", 912.5, 943.5, 62, True),
    ]  # fmt: skip
    assert [one.size_gb for one in found.restores] == [pytest.approx(66.6)]
    assert [(one.job, one.at_s, one.lost_s) for one in found.interruptions] == [("one", 203, 98)]
    assert found.missing == sampler.missing > 0
    assert found.peak_write_gb_per_s == sampler.peak_write_gb_per_s == 3


def test_figures_of_a_job_are_medians_of_what_ran_through() -> None:
    sampler, *_ = sampled()
    one, two = of_cluster("here", HISTORY, (PLAN, PLAN), quality(), sampler).jobs
    assert (one.checkpoints, one.restores, one.restarts, one.mtti_s) == (1, 1, 1, 1000)
    assert one.interval_s is None  # a failure lies between its two
    assert one.overlap is None
    assert (two.interval_s, two.drain_s, two.overlap) == (789.5, 31, pytest.approx(31 / 789.5))
    assert (two.checkpoints, two.restarts, two.mtti_s) == (2, 0, None)
    assert (two.planned_interval_s, two.planned_drain_s, two.gpus) == (100, 54, 64)


def test_a_synchronous_checkpoint_is_written_while_the_gpus_wait() -> None:
    sampler, *_ = sampled()
    plan = PLAN.model_copy(update={"mode": "sync", "drain_s": 0.0})
    found = of_cluster("here", HISTORY, (plan, PLAN), quality(), sampler)
    assert [job.planned_drain_s for job in found.jobs] == [5, 54]
