"""Small jobs for the simulation, with round numbers, and their runs under given failures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from planner.simulation.job import JobRun, Law
from planner.simulation.run import COUNTS, TIMES, Failures, Runs


def job(**changes: Any) -> JobRun:
    """Every 100 s a checkpoint: 10 s of stall, 20 s of drain; 30 s of restart, 10 s of restore."""
    plain: dict[str, Any] = {
        "name": "job",
        "interval_s": 100.0,
        "stall_s": 10.0,
        "drain_s": 20.0,
        "restart_s": 30.0,
        "restore_s": 10.0,
        "failures": Law(1e9),
    }
    return JobRun(**(plain | changes))


def sync(**changes: Any) -> JobRun:
    """The same, standing still for 20 s until each checkpoint is written."""
    return job(**{"stall_s": 20.0, "drain_s": 0.0, "sync": True} | changes)


def given(
    times: Sequence[float],
    local: Sequence[bool] = (),
    out_s: Sequence[float] = (),
    luck: Sequence[float] = (),
) -> Failures:
    """Return failures of one run at given times, with their effects."""
    count = len(times) + 1

    def filled(values: Sequence[Any], kind: Any) -> Any:
        return np.array([[*values, *[0] * (count - len(values))]], kind)

    at_s = np.array([[*times, math.inf]])
    nought = np.zeros((1, count), np.intp)
    return Failures(at_s, filled(local, bool), filled(out_s, float), nought, filled(luck, float))


def budget(of: JobRun, length_s: float, failures: Failures) -> dict[str, float]:
    """Return seconds and counts of one run that are not 0; the seconds make up its length."""
    found = Runs(of, failures, 0.0, length_s).run()
    values = {name: float(found[name][0]) for name in (*TIMES, *COUNTS)}
    assert math.isclose(sum(values[name] for name in TIMES), length_s, rel_tol=1e-9)
    return {name: value for name, value in values.items() if abs(value) > 1e-7}
