"""What a plan is worth and takes, from a finished plan or from an operation of the optimiser."""

from __future__ import annotations

from planner.case import Case
from planner.case.figures import it_power_kw
from planner.loader import Inputs
from planner.optimizer.operate import Operation
from planner.optimizer.purchase import bill
from planner.schema.plan import Plan
from planner.schema.why_not import Bought, Figures


def of_plan(plan: Plan) -> Figures | None:
    """Return the figures of a finished plan, None where it has none."""
    totals, job = plan.totals, plan.jobs[0] if plan.jobs else None
    if totals is None or job is None or totals.capex_usd is None:
        return None
    held = bought_in(plan)
    return Figures(
        gpus_used=job.gpus_used,
        goodput=job.goodput,
        useful_gpus=job.useful_gpus,
        useful_pflops=job.useful_pflops,
        days_to_train=job.days_to_train,
        capex_usd=totals.capex_usd,
        tco_usd=totals.tco_usd,
        it_power_kw=totals.it_power_kw,
        facility_power_kw=totals.facility_power_kw,
        systems=sum(each.quantity for each in held if each.category == "gpu_system"),
        appliances=sum(each.quantity for each in held if each.category == "storage"),
    )


def bought_in(plan: Plan) -> tuple[Bought, ...]:
    """Return the GPU systems and storage of a finished plan."""
    sections = {"Compute": "gpu_system", "Storage": "storage"}
    return tuple(
        Bought.model_validate(
            {
                "sku": line.sku,
                "model": line.model,
                "category": sections[line.section],
                "quantity": line.working,
            }
        )
        for line in plan.lines
        if line.parent is None and line.section in sections and line.working
    )


def of_operation(inputs: Inputs, case: Case, operation: Operation) -> Figures:
    """Return the figures of an operation."""
    spent, job = bill(case, operation.units), case.job
    known = _draw_known(inputs, case, operation)
    pflops = operation.useful_pflops(job.mfu) if job.mfu and operation.tflops_per_gpu else None
    trained = job.tokens is not None and job.active_parameters is not None
    return Figures(
        gpus_used=operation.gpus,
        goodput=operation.goodput,
        useful_gpus=operation.useful_gpus,
        useful_pflops=pflops,
        days_to_train=case.days_at_one_pflops() / pflops if pflops and trained else None,
        capex_usd=spent["capex_usd"],
        tco_usd=spent["tco_usd"] if known and inputs.problem.term is not None else None,
        it_power_kw=spent["it_power_kw"] if known else None,
        facility_power_kw=spent["facility_power_kw"] if known else None,
        systems=sum(operation.units[system.id] for system in case.systems),
        appliances=sum(operation.units[item.id] for item in case.storage),
    )


def bought_by(inputs: Inputs, case: Case, operation: Operation) -> tuple[Bought, ...]:
    """Return the GPU systems and storage of an operation."""
    models = {item.id: item.model for item in inputs.items}
    systems = {system.id for system in case.systems}
    return tuple(
        Bought(
            sku=offer.id,
            model=models[offer.id],
            category="gpu_system" if offer.id in systems else "storage",
            quantity=operation.units[offer.id],
        )
        for offer in case.offers()
        if operation.units[offer.id]
    )


def _draw_known(inputs: Inputs, case: Case, operation: Operation) -> bool:
    """Say whether the draw of everything in the bill is known; in the case it is 0 where not."""
    counts = bill(case, operation.units).counts
    held = {good.id for good in case.goods() if counts[good.id]}
    return all(it_power_kw(item, inputs) is not None for item in inputs.items if item.id in held)
