"""Small worlds for simulation: one appliance or two, 10 GB/s, a job with round numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from planner.simulation.history import NAMES
from planner.simulation.lanes import Lanes
from planner.simulation.operation import Empirical
from planner.simulation.record import record
from planner.simulation.world import Appliances, Disturbances, JobRun, World, planned_times

TWO = (Appliances(2, 5.0, 10.0),)
"""Two appliances that write 10 GB/s and read 20 GB/s together."""


def job(**changes: Any) -> JobRun:
    """Every 100 s a checkpoint of 200 GB: 10 s of stall, 20 s of drain; 30 s of restart, 10 s of
    restore."""
    plain: dict[str, Any] = {
        "name": "job", "interval_s": 100.0, "stall_s": 10.0, "checkpoint_gb": 200.0,
        "restore_gb": 200.0, "restart_s": 30.0, "failures": Empirical((1e9,)),
    }  # fmt: skip
    return JobRun(**(plain | changes))


def sync(**changes: Any) -> JobRun:
    """The same, standing still for 20 s until each checkpoint is written."""
    return job(**{"stall_s": 20.0, "sync": True} | changes)


def world(*jobs: JobRun, **more: Any) -> World:
    return World(jobs or (job(),), more.pop("appliances", TWO), **more)


def given(
    of: World,
    length_s: float,
    failures: Sequence[Sequence[float]] = ((),),
    changes: Sequence[tuple[float, int]] = (),
) -> Disturbances:
    """Return the disturbances of one run: when each job fails; when how many appliances are up."""
    (kind,) = of.appliances
    up = np.array([[kind.count, *(count for _, count in changes)]], float)
    struck = [
        [*(failures[at] if at < len(failures) else ()), math.inf] for at in range(len(of.jobs))
    ]
    return Disturbances(
        tuple(np.array([times], float) for times in struck),
        planned_times(of.planned, length_s),
        np.array([[*(time for time, _ in changes), math.inf]]),
        up * kind.write_gb_per_s,
        up * kind.read_gb_per_s,
        kind.count - up,
    )


def budgets(of: World, struck: Disturbances, length_s: float) -> list[dict[str, float]]:
    """Return where each job's time went, which three ways to simulate it must agree on: recorded,
    in lanes, and in lanes with whole cycles skipped."""
    _, recorded = record(of, struck, length_s)
    found = [
        {name: float(getattr(budget, name)) for name in NAMES if getattr(budget, name)}
        for budget in recorded
    ]
    for skip in (False, True):
        lanes = Lanes(of, struck, length_s, skip=skip).run()
        for number, budget in enumerate(found):
            for name in NAMES:
                assert math.isclose(
                    lanes[name][number, 0, 0], budget.get(name, 0.0), rel_tol=1e-9, abs_tol=1e-7
                ), (skip, number, name)
    return found
