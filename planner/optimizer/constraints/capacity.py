"""Usable capacity, ingest and write endurance.

    sum_k usable_k x_k >= TB needed;   N g <= Br;   86400 S / I <= sum_k endurance_k x_k

Endurance counts where every storage item bought states it: one unit of an item that does not
lifts the limit. One more unit of capacity needed is one more TB of appliances.
"""

from __future__ import annotations

import math

from planner.optimizer.context import Build
from planner.optimizer.curves import NegativeExp
from planner.optimizer.model import Linear, combination, total

DAY_S = 86_400.0


def add(build: Build) -> None:
    """Add the rows."""
    case, job = build.case, build.case.job
    usable = total(item.usable_tb * build.units[item.id] for item in case.storage)
    build.model.row("capacity", usable, ">=", job.capacity_needed_tb)
    if job.ingest_per_gpu_gb_per_s > 0:
        row = build.read - job.ingest_per_gpu_gb_per_s * build.gpus
        build.model.row("ingest", row, ">=", 0.0)
    if any(item.endurance_tb_per_day is not None for item in case.storage):
        _endurance(build)


def _volume_tb_per_day(build: Build) -> Linear:
    """Return TB written per day: a constant, linear in N, or a convex function of log I."""
    job = build.case.job
    shortest, longest = build.interval_range_s
    per_interval = job.checkpoint_gb / 1000.0 * DAY_S
    if job.interval.policy == "fixed" or (
        job.interval.policy == "optimal" and not build.case.needs_goodput
    ):
        return combination([], per_interval / longest)
    most = per_interval / shortest
    volume = build.model.var("write_volume", 0.0, most)
    log_volume = math.log(per_interval) - build.i
    domain = (math.log(per_interval / longest), math.log(most))
    build.model.link("write_volume", -1 * volume, log_volume, NegativeExp(), domain)
    return volume


def _endurance(build: Build) -> None:
    most = build.case.job.checkpoint_gb / 1000.0 * DAY_S / build.interval_range_s[0]
    endured = total(
        (most if item.endurance_tb_per_day is None else item.endurance_tb_per_day)
        * build.units[item.id]
        for item in build.case.storage
    )
    row = endured - _volume_tb_per_day(build)
    build.model.row("endurance", row, ">=", 0.0)
