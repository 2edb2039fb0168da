"""The ways in which the job of a plan runs: found again in the case by what the plan says."""

from __future__ import annotations

from planner.case.model import Case, System, Way
from planner.schema.plan import FabricReport, JobPlan, Plan


def ways_of(case: Case, plan: Plan) -> tuple[str, ...]:
    """Return the ways in which the job of a plan runs, by id; none without a job.

    Of several that differ in nothing that the plan says, the first.
    """
    if not plan.jobs:
        return ()
    job = plan.jobs[0]
    found = (_way_of(case, system, plan, job) for system in case.systems)
    return tuple(way.id for way in found if way is not None)


def _way_of(case: Case, system: System, plan: Plan, job: JobPlan) -> Way | None:
    if system.id not in job.gpu_types:
        return None
    choices = {way.id for way in job.ways if way.gpu_type == system.id}
    left = [way for way in system.ways if not choices or way.choice in choices]
    numbers = _numbers(case, plan, system)
    left = [way for way in left if not numbers or way.fabric in numbers] or left
    most = job.per_system_gpus
    if most is not None:  # of an edited plan as many as its replicas fill
        left = [way for way in left if way.usable_gpus <= most] or left
    return max(left, key=lambda way: way.usable_gpus, default=None)


def _numbers(case: Case, plan: Plan, system: System) -> set[int]:
    """Return the compute fabrics of a type that are built as the plan's is."""
    reports = [f for f in plan.fabrics if f.network == "compute" and system.id in f.serves]
    built = {_built(report) for report in reports}
    return {
        number
        for number in system.fabrics
        for fabric in case.companions.fabrics
        if fabric.prefix == f"compute{number}"
        and (fabric.switch, fabric.planes, fabric.oversubscription, fabric.radix) in built
    }


def _built(report: FabricReport) -> tuple[str, int, float, int]:
    return report.switch_sku, report.planes, report.oversubscription, report.radix
