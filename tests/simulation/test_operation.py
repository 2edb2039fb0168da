"""Repair with spares, shrinking, spares inside racks, local copies: simulated event by event, the
job does what theory says."""

from __future__ import annotations

import numpy as np

from planner.simulation.job import Array, JobRun, Law, RepairUnits
from planner.simulation.run import Runs, draw_failures, warm_s

HOUR = 3600.0


def run(jobs: list[JobRun], failures: int, lanes: int = 300, seed: int = 1) -> dict[str, Array]:
    """Return shares of time by variant, over runs of so many failures each; of ``kept`` with less
    noise.

    Failures that came, and units that they took out, less what was to be expected of them, are
    nought on average; what of the differences between runs follows from them is taken off.
    """
    mean_s = jobs[0].failures.mean_s
    begin_s = max(warm_s(job) for job in jobs)
    length_s = failures * mean_s
    given = draw_failures(jobs[0], begin_s + length_s, seed, lanes)
    each = [Runs(job, given, begin_s, begin_s + length_s).run() for job in jobs]
    found = {name: np.stack([one[name] for one in each]) for name in each[0]}
    shares = {name: values.mean(1) / length_s for name, values in found.items()}
    for number, job in enumerate(jobs):
        seen = {name: values[number] for name, values in found.items()}
        out = job.hardware_share
        used = (length_s - seen["repair"]) / mean_s
        surplus = np.stack([seen["failures"] - used, seen["taken"] - out * used], 1) / failures
        if job.units is not None and job.units.shrinks:  # fewer fail while fewer run
            surplus = (seen["taken"] - out * seen["failures"])[:, None] / failures
        kept = seen["kept"] / length_s
        follows = np.linalg.lstsq(surplus - surplus.mean(0), kept - kept.mean())[0]
        shares["kept"][number] = (kept - surplus @ follows).mean()
    return shares


def plain(mean_s: float = HOUR, **changes: object) -> JobRun:
    """A job that computes and restarts, and hardly loses anything by failures."""
    common: dict[str, object] = {
        "name": "job", "interval_s": 1.0, "stall_s": 0.0, "drain_s": 0.01, "restore_s": 0.0,
        "restart_s": 0.0, "failures": Law(mean_s),
    }  # fmt: skip
    return JobRun(**(common | changes))  # type: ignore[arg-type]


def test_spares_inside_racks_are_bounded_from_below() -> None:
    for spares, load, racks in ((2, 0.3, 8), (3, 0.5, 20), (1, 0.1, 6)):
        repair, units = Law(load * racks * HOUR), RepairUnits((1.0,) * (spares + 1), racks=racks)
        job = plain(hardware_share=1.0, repair=repair, units=units)
        waits = run([job], 300)["repair"][0]
        lost = 1.0
        for places in range(1, spares + 2):  # a loss system (Erlang) with one place more
            lost = load * lost / (places + load * lost)
        bound = 1.0 - 1.0 / (1.0 + racks * lost / (1.0 - lost))
        assert 0.5 * bound < waits < 1.04 * bound
