"""Usable capacity, ingest and write endurance.

    sum_k usable_k x_k >= TB needed;   N g <= Br;   86400 S / I <= sum_k endurance_k x_k

Endurance is checked for families whose every item states it. One more unit of capacity needed is
one more TB of appliances.
"""

from __future__ import annotations

import math

from planner.case import FamilyOffer, Storage
from planner.optimizer.context import Build
from planner.optimizer.curves import NegativeExp
from planner.optimizer.model import Linear, combination

DAY_S = 86_400.0


def add(build: Build) -> None:
    """Add the rows."""
    case, job = build.case, build.case.job
    usable = combination(
        (item.usable_tb, variable)
        for item in case.storage
        for (name, _, _), variable in build.counts.items()
        if name == item.id
    )
    build.model.row("capacity", usable, ">=", job.capacity_needed_tb, unit="TB", relaxable=True)
    if job.ingest_per_gpu_gb_per_s > 0:
        row = build.read - job.ingest_per_gpu_gb_per_s * build.gpus
        origin = "jobs.0.ingest_per_gpu"
        build.model.row("ingest", row, ">=", 0.0, unit="GB/s", origin=origin, relaxable=True)
    rated = [family for family in case.families if _rated(build, family)]
    if rated:
        volume = _volume_tb_per_day(build)
        for family in rated:
            _endurance(build, family, volume)


def _items(build: Build, family: FamilyOffer) -> list[Storage]:
    return [item for item in build.case.storage if item.family == family.id]


def _rated(build: Build, family: FamilyOffer) -> bool:
    return all(item.endurance_tb_per_day is not None for item in _items(build, family))


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


def _endurance(build: Build, family: FamilyOffer, volume: Linear) -> None:
    rated = [(i.endurance_tb_per_day or 0.0) * build.units[i.id] for i in _items(build, family)]
    most = build.case.job.checkpoint_gb / 1000.0 * DAY_S / build.interval_range_s[0]
    row = sum(rated) - volume - most * build.serves[family.id]
    build.model.row(f"endurance_{family.id}", row, ">=", -most, unit="TB/day", relaxable=True)
