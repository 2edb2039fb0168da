"""Runs short enough to be worked out by hand."""

from __future__ import annotations

import pytest

from planner.simulation.job import LocalCopies, RepairUnits
from tests.simulation.worlds import budget, given, job, sync


def test_failures_at_equal_times() -> None:
    """510 s apart: first 5 captures, the last of which has drained 10 of 20 s: 360 s kept, 10 lost
    since the capture and 90 before it. Then 470 s are left: 360 kept, 70 lost since the capture."""
    found = budget(job(), 1545.0, given((510.0, 1020.0, 1530.0)))
    assert found == pytest.approx(
        {"kept": 1080.0, "rework": 150.0, "drain": 90.0, "capture": 130.0, "restart": 75.0,
         "restore": 20.0, "failures": 3.0}
    )  # fmt: skip


def test_a_failure_during_restart_or_restore_starts_it_again() -> None:
    found = budget(job(), 300.0, given((50.0, 70.0, 105.0)))
    assert found == pytest.approx(
        {"rework": 50.0, "restart": 20.0 + 30.0 + 30.0, "restore": 5.0 + 10.0, "kept": 145.0,
         "capture": 10.0, "failures": 3.0}
    )  # fmt: skip


def test_synchronous_checkpoints_are_safe_when_written() -> None:
    found = budget(sync(), 1025.0, given((510.0, 1020.0)))
    assert found == pytest.approx(
        {"kept": 720.0, "rework": 80.0, "capture": 180.0, "restart": 35.0, "restore": 10.0,
         "failures": 2.0}
    )  # fmt: skip


def test_a_failure_while_writing_loses_the_checkpoint() -> None:
    found = budget(sync(), 200.0, given((190.0,)))
    assert found == pytest.approx(
        {"kept": 80.0, "capture": 30.0, "rework": 80.0, "restart": 10.0, "failures": 1.0}
    )


def test_computing_slows_while_a_checkpoint_drains() -> None:
    found = budget(job(drain_slowdown=0.5), 360.0, given((350.0,)))
    assert found == pytest.approx(
        {"kept": 250.0, "rework": 40.0, "slowdown": 30.0, "capture": 30.0, "restart": 10.0,
         "failures": 1.0}
    )  # fmt: skip


def test_drains_longer_than_the_interval_make_every_interval_longer() -> None:
    """A drain of 120 s after 90 s of computing: each interval is 130 s."""
    found = budget(job(drain_s=120.0), 1140.0, given(()))
    assert found == pytest.approx(
        {"kept": 9 * 90.0, "capture": 90.0, "wait": 8 * 30.0, "waits": 8.0}
    )


LOCAL = LocalCopies(settle_s=15.0, every=3, restart_s=12.0)
"""Captures end at 100, 200, 300 s; the third drains from 315 to 335 s."""


@pytest.mark.parametrize(
    ("at_s", "near", "expected"),
    [
        (250.0, True, {"kept": 180.0, "rework": 50.0, "restart": 12.0}),
        (205.0, True, {"kept": 90.0, "rework": 5.0, "drain": 90.0, "restart": 12.0}),
        (250.0, False, {"rework": 50.0, "drain": 180.0, "restart": 30.0, "restore": 10.0}),
        (330.0, False, {"rework": 30.0, "drain": 270.0, "restart": 30.0, "restore": 10.0}),
        (340.0, False, {"kept": 270.0, "rework": 40.0, "restart": 30.0, "restore": 10.0}),
    ],
)
def test_a_failure_goes_back_to_the_level_that_survives(
    at_s: float, near: bool, expected: dict[str, float]
) -> None:
    length_s = at_s + (12.0 if near else 40.0)
    found = budget(job(local=LOCAL), length_s, given((at_s,), (near,)))
    captures = 10.0 * (at_s // 100)
    others = {"capture": captures, "failures": 1.0} | ({} if near else {"far": 1.0})
    assert found == pytest.approx(expected | others)


def test_a_drain_begins_anew_at_a_local_restart() -> None:
    """Struck at 320 s, 5 s into the drain: it would end anew at 332 + 20 s; at 340 s the local
    copies are lost as well."""
    found = budget(job(local=LOCAL), 380.0, given((320.0, 340.0), (True, False)))
    assert found.get("kept", 0.0) == 0.0
    assert found["far"] == 1.0


def test_a_job_waits_while_more_units_are_out_than_spares() -> None:
    """The second failure takes the spare's successor: out until 50 + 400 s, then a restart."""
    units = RepairUnits((1.0, 1.0), swap_s=5.0)
    found = budget(job(units=units), 500.0, given((50.0, 60.0), out_s=(400.0, 700.0)))
    assert found == pytest.approx(
        {"rework": 50.0, "restart": 10.0 + 35.0, "repair": 390.0, "restore": 10.0, "kept": 5.0,
         "failures": 2.0, "taken": 2.0, "short_of_units": 1.0}
    )  # fmt: skip


def test_a_job_shrinks_and_grows_with_its_units() -> None:
    """At 50 s one of 4 replicas is out until 300 s. Restart to 90 s, captures end at 190 and 290 s,
    the first after 300 s at 390 s; safe at 410 s, then a restart with all of them to 450 s."""
    units = RepairUnits((1.0, 0.75))
    found = budget(job(units=units), 460.0, given((50.0,), out_s=(250.0,)))
    assert found == pytest.approx(
        {"rework": 50.0, "restart": 60.0, "restore": 20.0, "kept": 0.75 * 270.0 + 10.0,
         "short": 0.25 * 270.0, "capture": 30.0, "wait": 20.0, "failures": 1.0, "taken": 1.0,
         "grown": 1.0}
    )  # fmt: skip
