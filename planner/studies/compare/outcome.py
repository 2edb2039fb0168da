"""A plan in the figures of one row, and what rows are measured by."""

from __future__ import annotations

from collections.abc import Iterable

from planner.outputs import scope
from planner.outputs.words import product
from planner.schema.comparison import Bought, Measure, Outcome
from planner.schema.plan import Line, ObjectiveReport, Plan

_COSTS = {"cost": "capital cost", "tco": "cost over the term", "power": "IT power"}


def measure_of(objective: ObjectiveReport, *, flops: bool) -> Measure:
    """Return what plans for this objective are measured by: useful work, or what is to be least.

    Args:
        objective: the objective of the problem.
        flops: whether useful work is known in PFLOP/s.
    """
    if objective.sense == "minimize":
        values = {"name": objective.name, "label": _COSTS[objective.name], "sense": "minimize"}
        return Measure.model_validate(values | {"unit": objective.unit})
    if flops and objective.name != "useful_gpus":
        return Measure(name="useful_pflops", label="useful work", unit="PFLOP/s", sense="maximize")
    return Measure(name="useful_gpus", label="useful work", unit="useful GPUs", sense="maximize")


def measured(plan: Plan, measure: Measure) -> float | None:
    """Return a plan's value in a measure, None where there is no plan or it is not known."""
    if not plan.jobs:
        return None
    if measure.sense == "minimize":
        return plan.objective.value
    return plan.jobs[0].useful_pflops if measure.unit == "PFLOP/s" else plan.jobs[0].useful_gpus


def outcome(plan: Plan, measure: Measure, reference: float | None) -> Outcome | None:
    """Return what a plan buys and does, None where there is no plan.

    Args:
        plan: the plan.
        measure: what it is measured by.
        reference: the value in that measure to tell the difference from, where there is one.
    """
    if plan.totals is None or not plan.jobs:
        return None
    job, totals, value = plan.jobs[0], plan.totals, measured(plan, measure)
    storage = _of_section(plan, "Storage")
    return Outcome(
        systems=_bought(_of_section(plan, "Compute")),
        storage=_bought(storage),
        storage_units=sum(line.working for line in storage),
        storage_it_power_kw=total(line.it_power_kw for line in storage),
        storage_capex_usd=total(line.extended_net_usd for line in storage),
        it_power_kw=totals.it_power_kw,
        facility_power_kw=totals.facility_power_kw,
        capex_usd=totals.capex_usd,
        gpus=totals.gpus,
        gpus_used=job.gpus_used,
        useful_gpus=job.useful_gpus,
        useful_pflops=job.useful_pflops,
        days_to_train=job.days_to_train,
        mode=job.mode,
        interval_s=job.interval_s,
        overlap=job.overlap,
        goodput=job.goodput,
        objective_value=plan.objective.value,
        gap=plan.objective.gap,
        measured=value,
        difference=value / reference - 1.0 if value is not None and reference else None,
    )


def _of_section(plan: Plan, section: str) -> list[Line]:
    return [line for line in scope.own_lines(plan) if line.section == section]


def _bought(lines: list[Line]) -> tuple[Bought, ...]:
    return tuple(
        Bought(sku=line.sku, model=line.model, product=product(line), quantity=line.working)
        for line in lines
        if line.working
    )


def total(values: Iterable[float | None]) -> float | None:
    """Return a sum, None where a part of it is not known."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    return sum(known) if len(known) == len(listed) else None
