"""A stop of a walk as a point of a frontier: a complete plan, verified."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.assemble import assemble
from planner.case import Case
from planner.inputs import Inputs
from planner.optimizer.joint import Certificate, share
from planner.optimizer.measure import measure
from planner.schema.plan import Plan
from planner.schema.sensitivity import FrontierPoint
from planner.studies.sensitivity.frontier.walk import Stop
from planner.verify import verify


@dataclass(frozen=True)
class Place:
    """A problem that a plan is verified against, and what no plan of it passes in useful work.

    ``held`` is the limit of it that the study, not the problem, has set; it is not told as binding.
    """

    inputs: Inputs
    case: Case
    bound: float
    held: str = ""


def point(place: Place, stop: Stop, from_x: float, to_x: float | None, gap: float) -> FrontierPoint:
    """Return the point of a stop.

    Args:
        place: a problem of which it is a plan.
        stop: what was found.
        from_x: where the stretch begins on which it is the best.
        to_x: where that ends, None where it does not.
        gap: the gap that was asked for.

    Raises:
        VerificationError: the plan does not agree with its independent re-computation.
    """
    plan = _plan(place, stop, gap)
    job, totals = plan.jobs[0], plan.totals
    assert totals is not None
    return FrontierPoint(
        x=stop.x,
        y=stop.work,
        bound=stop.bound,
        gap=stop.bound / stop.work - 1.0,
        from_x=from_x,
        to_x=to_x,
        counts={name: count for name, count in sorted(stop.operation.units.items()) if count},
        gpu_type=" + ".join(job.gpu_types),
        storage_family=" + ".join(job.storage_families),
        gpus_in_use=job.gpus_used,
        goodput=job.goodput,
        useful_gpus=job.useful_gpus,
        useful_pflops=job.useful_pflops or 0.0,
        capex_usd=totals.capex_usd,
        facility_power_kw=totals.facility_power_kw or 0.0,
        write_gb_per_s=job.delivered_write_gb_per_s,
        interval_s=job.interval_s,
        overlap=job.overlap if job.mode == "async" else None,
        binding=_binding(plan, place.held),
    )


def _binding(plan: Plan, held: str) -> tuple[str, ...]:
    return tuple(limit.name for limit in plan.limits if limit.binding and limit.name != held)


def _plan(place: Place, stop: Stop, gap: float) -> Plan:
    """Return a stop as a complete plan of the problem, under its bound, verified."""
    case = place.case
    value = measure(case, case.objective)(stop.operation)
    bound = max(math.log(place.bound), value)
    distance = share(case, value, bound)
    proven = Certificate("optimal", stop.operation, value, bound, distance, 0, 0.0, False)
    plan = assemble(place.inputs, case, proven, solver="highs", gap=max(gap, distance))
    verify(place.inputs, plan)
    return plan
