"""Runs short enough to be worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.simulation.history import Interruption
from planner.simulation.record import record
from planner.simulation.world import Planned
from tests.simulation.worlds import budgets, given, job, sync, world


def test_failures_at_equal_times() -> None:
    """510 s apart: first 5 captures, the last of which has drained 10 of 20 s: 360 s kept, 10 lost
    since the capture and 90 before it. Then 470 s are left: 360 kept, 70 lost since the capture."""
    of = world()
    struck = given(of, 1545.0, [(510.0, 1020.0, 1530.0)])
    (budget,) = budgets(of, struck, 1545.0)
    assert budget == pytest.approx(
        {"kept": 1080.0, "rework": 150.0, "drain": 90.0, "capture": 130.0, "restart": 75.0,
         "restore": 20.0, "failures": 3.0}
    )  # fmt: skip
    history, _ = record(of, struck, 1545.0)
    assert history.interruptions == (
        Interruption(0, 510.0, False, 100.0),
        Interruption(0, 1020.0, False, 70.0),
        Interruption(0, 1530.0, False, 70.0),
    )
    broken = [each for each in history.transfers if not each.complete]
    assert [(each.start_s, each.end_s, each.stretches[0][2]) for each in broken] == [
        (500.0, 510.0, 10.0)
    ]


def test_a_failure_during_restart_or_restore_starts_it_again() -> None:
    of = world()
    (budget,) = budgets(of, given(of, 300.0, [(50.0, 70.0, 105.0)]), 300.0)
    assert budget == pytest.approx(
        {"rework": 50.0, "restart": 20.0 + 30.0 + 30.0, "restore": 5.0 + 10.0, "kept": 145.0,
         "capture": 10.0, "failures": 3.0}
    )  # fmt: skip


def test_synchronous_checkpoints_are_safe_when_written() -> None:
    of = world(sync())
    (budget,) = budgets(of, given(of, 1025.0, [(510.0, 1020.0)]), 1025.0)
    assert budget == pytest.approx(
        {"kept": 720.0, "rework": 80.0, "capture": 180.0, "restart": 35.0, "restore": 10.0,
         "failures": 2.0}
    )  # fmt: skip


def test_a_failure_while_writing_loses_what_is_being_written() -> None:
    of = world(sync())
    (budget,) = budgets(of, given(of, 200.0, [(190.0,)]), 200.0)
    assert budget == pytest.approx(
        {"kept": 80.0, "capture": 30.0, "rework": 80.0, "restart": 10.0, "failures": 1.0}
    )


def test_computing_slows_while_a_checkpoint_drains() -> None:
    of = world(job(drain_slowdown=0.5))
    (budget,) = budgets(of, given(of, 360.0, [(350.0,)]), 360.0)
    assert budget == pytest.approx(
        {"kept": 250.0, "rework": 40.0, "slowdown": 30.0, "capture": 30.0, "restart": 10.0,
         "failures": 1.0}
    )  # fmt: skip


PLANNED = {
    "while computing": (
        245.0, (), 400.0,
        {"kept": 260.0, "capture": 30.0, "wait": 20.0, "planned": 50.0, "restart": 30.0,
         "restore": 10.0, "stops": 1.0},
    ),
    "while a checkpoint drains": (
        210.0, (), 300.0,
        {"kept": 190.0, "capture": 30.0, "wait": 30.0, "planned": 50.0, "stops": 1.0},
    ),
    "during a capture": (
        195.0, (), 230.0,
        {"kept": 180.0, "capture": 20.0, "wait": 20.0, "planned": 10.0, "stops": 1.0},
    ),
    "a failure while it saves": (
        245.0, (250.0,), 300.0,
        {"kept": 180.0, "rework": 45.0, "capture": 25.0, "planned": 50.0, "failures": 1.0,
         "stops": 1.0},
    ),
    "a failure while it stands": (
        245.0, (280.0,), 330.0,
        {"kept": 225.0, "capture": 30.0, "wait": 20.0, "planned": 50.0, "restart": 5.0,
         "stops": 1.0},
    ),
    "while it is restarted": (
        245.0, (240.0,), 330.0,
        {"kept": 180.0, "capture": 20.0, "rework": 40.0, "restart": 5.0 + 30.0, "restore": 5.0,
         "planned": 50.0, "failures": 1.0, "stops": 1.0},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANNED)
def test_a_planned_stop(name: str) -> None:
    """At 245 s (or 210, 195) the job saves for 10 s, drains for 20 s and stands still for 50 s."""
    at, failures, length_s, expected = PLANNED[name]
    of = world(planned=Planned(at, 50.0))
    (budget,) = budgets(of, given(of, length_s, [failures]), length_s)
    assert budget == pytest.approx(expected)


def test_synchronous_checkpoints_before_a_planned_stop() -> None:
    of = world(sync(), planned=Planned(130.0, 50.0))
    (budget,) = budgets(of, given(of, 200.0), 200.0)
    assert budget == pytest.approx({"kept": 110.0, "capture": 40.0, "planned": 50.0, "stops": 1.0})


def test_an_outage_makes_a_drain_longer() -> None:
    """5 s at 10 GB/s, 10 s at 5 GB/s, 10 s at 10 GB/s: safe at 125 and not at 120 s."""
    of = world()
    struck = given(of, 125.0, changes=((105.0, 1), (115.0, 2)))
    history, _ = record(of, struck, 125.0)
    assert history.transfers[0].stretches == (
        (100.0, 105.0, 10.0), (105.0, 115.0, 5.0), (115.0, 125.0, 10.0),
    )  # fmt: skip
    assert history.transfers[0].complete
    for failure, lost in ((124.0, 114.0), (126.0, 26.0)):
        struck = given(of, 200.0, [(failure,)], ((105.0, 1), (115.0, 2)))
        (budget,) = budgets(of, struck, 200.0)
        assert budget["rework"] + budget.get("drain", 0.0) == pytest.approx(lost)


def test_with_all_appliances_down_nothing_moves_and_the_gpus_wait() -> None:
    """50 GB arrive before the outage of 100 s, 150 GB after it: the next capture waits 30 s."""
    of = world()
    struck = given(of, 230.0, changes=((105.0, 0), (205.0, 2)))
    (budget,) = budgets(of, struck, 230.0)
    assert budget == pytest.approx({"kept": 180.0, "capture": 20.0, "wait": 30.0, "waits": 1.0})


def test_an_outage_while_reading_back_and_while_writing_synchronously() -> None:
    of = world(sync())
    struck = given(of, 220.0, [(10.0,)], ((45.0, 1), (55.0, 2)))
    (budget,) = budgets(of, struck, 220.0)
    assert budget["restore"] == pytest.approx(15.0)
    struck = given(of, 130.0, (), ((90.0, 0), (100.0, 2)))
    (budget,) = budgets(of, struck, 130.0)
    assert budget == pytest.approx({"kept": 100.0, "capture": 30.0})


def test_checkpoints_that_never_drain_in_time_make_every_interval_longer() -> None:
    """A drain of 120 s after 90 s of computing: each interval is 130 s."""
    of = world(job(checkpoint_gb=1200.0))
    (budget,) = budgets(of, given(of, 1140.0), 1140.0)
    assert budget == pytest.approx(
        {"kept": 9 * 90.0, "capture": 90.0, "wait": 8 * 30.0, "waits": 8.0}
    )


def test_two_jobs_share_equally() -> None:
    """B drains alone for 5 s, both for 30 s at half the rate, A the last 50 GB alone in 5 s."""
    of = world(job(), job(name="b", stall_s=5.0, interval_s=95.0))
    history, _ = record(of, given(of, 150.0), 150.0)
    moved = {each.job: each.stretches for each in history.transfers}
    assert moved == {
        0: ((100.0, 130.0, 5.0), (130.0, 135.0, 10.0)),
        1: ((95.0, 100.0, 10.0), (100.0, 130.0, 5.0)),
    }
    for failure, safe in ((134.0, False), (136.0, True)):
        budget = budgets(of, given(of, 150.0, [(failure,)]), 150.0)[0]
        assert budget.get("kept", 0.0) == (90.0 if safe else 0.0)


def test_what_clients_cannot_take_is_left_to_the_others() -> None:
    slow = job(client_write_gb_per_s=2.0, checkpoint_gb=20.0)
    of = world(slow, job(name="b", checkpoint_gb=160.0))
    history, _ = record(of, given(of, 130.0), 130.0)
    assert [each.stretches for each in history.transfers] == [
        ((100.0, 110.0, 2.0),),
        ((100.0, 110.0, 8.0), (110.0, 118.0, 10.0)),
    ]
    budgets(of, given(of, 600.0, [(115.0, 333.0), (251.0,)]), 600.0)


def test_a_drain_and_a_restore_share_the_appliances_time() -> None:
    """Job A reads back from 130 s on, job B writes from 130 s on: half the time for each."""
    other = job(name="b", interval_s=130.0, checkpoint_gb=100.0)
    of = world(job(restore_gb=100.0), other)
    history, _ = record(of, given(of, 160.0, [(100.0,)]), 160.0)
    (read,) = [each for each in history.transfers if each.kind == "restore"]
    (write,) = [each for each in history.transfers if each.job == 1]
    assert read.stretches == ((130.0, 140.0, 10.0),)
    assert write.stretches == ((130.0, 140.0, 5.0), (140.0, 145.0, 10.0))


def test_jobs_that_never_meet_run_as_they_do_alone() -> None:
    of = world(job(), job(name="b", interval_s=1000.0, checkpoint_gb=10.0))
    struck = given(of, 900.0, [(333.0, 612.0)])
    alone = replace(of, jobs=of.jobs[:1])
    assert (
        budgets(of, struck, 900.0)[0]
        == budgets(alone, given(alone, 900.0, [(333.0, 612.0)]), 900.0)[0]
    )
