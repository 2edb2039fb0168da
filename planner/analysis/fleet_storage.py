"""The storage that a fleet's checkpoints require, in watts and in GPUs, by the planner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from planner import api
from planner.errors import InputError
from planner.inputs import Inputs
from planner.schema.job import Job
from planner.schema.plan import Line, Plan
from planner.schema.problem import Problem
from planner.schema.telemetry import ClusterStorage, FleetStudy

_INTERVAL_S = 1800.0
"""Interval of the job that stands for a cluster's demand; only size over interval counts."""

_KEPT = {"name", "site", "catalogs", "prices", "consider", "storage", "jobs", "objective"}


def add_storage(
    study: FleetStudy, inputs: Inputs, progress: Callable[[int, int], None] | None = None
) -> FleetStudy:
    """A study with the storage of least power that suffices, for each cluster.

    The planner minimises power twice for each cluster, for its demand at the overlap limit and for
    the bandwidth that was seen; the GPUs are those of the table, the items those of the problem's
    catalogs. Limits, budgets and networks of the problem are left out.

    Args:
        study: the study of the fleet.
        inputs: a problem with the catalogs to choose from.
        progress: called with the number of clusters that are done, and of all.
    """
    found = []
    for place, cluster in enumerate(study.storage, start=1):
        found.append(_with_storage(cluster, study.limit, inputs))
        if progress is not None:
            progress(place, len(study.storage))
    return study.model_copy(update={"storage": tuple(found)})


def _with_storage(cluster: ClusterStorage, limit: float, inputs: Inputs) -> ClusterStorage:
    rates = (cluster.demand_gb_per_s, max(cluster.seen_gb_per_s, cluster.demand_gb_per_s))
    enough, seen = (_least_power(cluster.gpus, rate, limit, inputs) for rate in rates)
    enough_kw, seen_kw = _storage_kw(enough), _storage_kw(seen)
    more = None
    if enough is not None and enough_kw is not None and seen_kw is not None:
        gpus = sum(line.gpus or 0 for line in _lines(enough, "Compute"))
        per_gpu_kw = sum(line.it_power_kw or 0.0 for line in _lines(enough, "Compute")) / gpus
        more = (seen_kw - enough_kw) / per_gpu_kw
    stores = [] if enough is None else _lines(enough, "Storage")
    names = ", ".join(f"{line.working:,} x {line.model}" for line in stores)
    return cluster.model_copy(
        update={
            "enough": names or None,
            "enough_kw": enough_kw,
            "seen_kw": seen_kw,
            "gpus_more": more,
        }
    )


def _lines(plan: Plan, section: str) -> list[Line]:
    return [line for line in plan.lines if line.section == section]


def _storage_kw(plan: Plan | None) -> float | None:
    if plan is None:
        return None
    return sum(line.it_power_kw or 0.0 for line in _lines(plan, "Storage"))


def _least_power(gpus: int, write_gb_per_s: float, limit: float, inputs: Inputs) -> Plan | None:
    """Plan of least power that delivers a write bandwidth to some GPUs; None where the
    catalogs hold none."""
    size_gb = write_gb_per_s * limit * _INTERVAL_S
    job = Job.model_validate(
        {
            "name": "fleet",
            "gpus": {"min": gpus},
            "checkpoint": {
                "size": f"{size_gb:.9g} GB",
                "mode": "async",
                "stall": "0 s",
                "interval": {"policy": "fixed", "every": f"{_INTERVAL_S:g} s"},
                "max_overlap": f"{100 * limit:.9g} %",
            },
        }
    )
    old = inputs.problem
    bare = {name: getattr(old, name) for name in _KEPT - {"site", "jobs", "objective"}}
    site = type(old.site).model_validate({"pue": old.site.pue})
    objective = type(old.objective).model_validate({"minimize": "power"})
    problem = Problem.model_construct(**bare, site=site, jobs=(job,), objective=objective)
    try:
        plan = api.solve_with(replace(inputs, problem=problem), api.Options(explain=False))
    except InputError:
        return None
    return plan if plan.jobs else None
