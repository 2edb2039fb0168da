"""In which way the job runs: set point, precision, rate; who says so, and what is unsure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.case import Case, System, figures, resolve
from planner.case.choices import FULL, Choice, peak_tflops
from planner.inputs import Inputs, needs_flops
from planner.optimizer.operate import Run
from planner.paths import of_job
from planner.schema.catalog import Item
from planner.schema.live import WayRow, Ways
from planner.schema.plan import Plan, WayPlan
from planner.schema.problem import Job

OWN_CURVE = "the problem's own curve (jobs[].power.curve)"


def chosen(inputs: Inputs, case: Case, operation: Run) -> list[tuple[System, Choice]]:
    """Return what was chosen on each type in use."""
    job, found = inputs.problem.job, []
    for system, way in case.in_use(operation.used, operation.ways):
        item = inputs.item(system.id)
        every = {each.id_of(item, job): each for each in figures.choices_on(item, inputs)}
        found.append((system, every[way.id]))
    return found


def asked(inputs: Inputs) -> bool:
    """Say whether the problem says anything of how the job runs on a type."""
    job = inputs.problem.job
    levers = (job.power, job.training.model, job.training.scale, len(job.options) > 1)
    return any(levers) or not all(option.plain for option in job.options)


def way_fields(inputs: Inputs, case: Case, operation: Run) -> dict[str, Any]:
    """Return what a job's plan says of its ways and of the rate that goes with them.

    Of several types the slowest sets the pace, and its rate is told.
    """
    if not asked(inputs):
        return {"tflops_per_gpu": operation.tflops_per_gpu, "mfu": case.job.mfu}
    running = chosen(inputs, case, operation)
    rates = {way.id: way.tflops_per_gpu for _, way in case.in_use(operation.used, operation.ways)}
    job, ids = inputs.problem.job, list(rates)
    slowest = min(range(len(ids)), key=lambda place: rates[ids[place]])
    system, choice = running[slowest]
    peak = peak_tflops(inputs.item(system.id), choice.precision)
    rate, mfu = choice.rate_tflops or 0.0, case.job.mfu
    if choice.measured is not None and peak:
        rate, mfu = peak, choice.measured.rate_tflops / peak
    whole = rate * (mfu or 0.0) * choice.left
    now = operation.tflops_per_gpu * (case.job.mfu or 0.0)
    scale = now / whole if whole and job.training.scale else 1.0
    return {
        "tflops_per_gpu": rate,
        "mfu": mfu,
        "scale_share": scale,
        "rate_share": choice.left * scale,
        "ways": tuple(_way(inputs, system, each) for system, each in running),
    }


FAR_FROM_MEASURED = 2.0
"""A rate measured on so many times fewer GPUs says little without a law of scale."""


def way_warnings(inputs: Inputs, case: Case, operation: Run) -> Iterator[str]:
    """Yield what is unsure of the rate that the plan counts on, and of its set points."""
    job = inputs.problem.job
    models = {item.id: item.model for item in inputs.items}
    if job.training.mfu is not None and len(case.systems) > 1 and needs_flops(inputs.problem):
        yield (
            f"one MFU of {100.0 * job.training.mfu:g} % is assumed of {len(case.systems)} types of "
            f"GPU system; {of_job('training.model', job.name)} takes what was "
            "measured on each"
        )
    if not asked(inputs):
        return
    for system, choice in chosen(inputs, case, operation):
        row, model = choice.measured, models[system.id]
        alone = row is not None and job.training.scale is None
        if row is not None and alone and operation.gpus > FAR_FROM_MEASURED * row.gpus:
            yield (
                f"the rate of {model} was measured on {row.gpus:,} GPUs and counts for "
                f"{operation.gpus:,} as it is; "
                f"{of_job('training.scale', job.name)} takes off what scale costs"
            )
        if choice.point is not FULL and choice.point.confidence == "low":
            yield f"the power curve of {model} is weakly known: see its range and its source"
    if job.power is not None:
        yield from _without_curve(inputs, case, models)


def _without_curve(inputs: Inputs, case: Case, models: dict[str, str]) -> Iterator[str]:
    """Yield which types run at full power because nobody knows what a cap costs them."""
    asked_caps = inputs.problem.job.power
    names = [
        models[system.id]
        for system in case.systems
        if all(each.point is FULL for each in figures.choices_on(inputs.item(system.id), inputs))
    ]
    if names and asked_caps is not None and asked_caps.asked != (1.0,):
        yield (
            f"no power curve is known for {', '.join(names)}: at full power only; "
            f"{of_job('power.curve', inputs.problem.job.name)} takes one"
        )


def _way(inputs: Inputs, system: System, choice: Choice) -> WayPlan:
    point, row = choice.point, choice.measured
    item = inputs.item(system.id)
    curve = None if point is FULL else OWN_CURVE
    if point.source is not None:
        curve = _title(inputs, item, point.source)
    return WayPlan(
        id=choice.id_of(item, inputs.problem.job),
        gpu_type=system.id,
        precision=choice.precision,
        gpu_cap=point.gpu_cap,
        gpu_limit_w=None if item.gpu.tdp is None else 1000.0 * point.gpu_cap * item.gpu.tdp.value,
        power_share=point.power,
        rated_it_power_kw=figures.it_power_kw(item, inputs),
        throughput=point.throughput,
        throughput_low=point.low,
        throughput_high=point.high,
        curve=curve,
        curve_confidence=point.confidence,
        curve_note=point.note,
        rate_tflops=None if row is None else row.rate_tflops,
        rate_gpus=None if row is None else row.gpus,
        rate_source=None if row is None else _title(inputs, item, row.source),
        rate_confidence=None if row is None else row.confidence,
        rate_note=None if row is None else row.note,
        **_spread(item, inputs.problem.job, choice),
    )


def _spread(item: Item, job: Job, choice: Choice) -> dict[str, Any]:
    """Return how a replica is spread on a type."""
    option = choice.option
    if option is None:
        return {}
    return {
        "tensor": option.tensor,
        "pipeline": option.pipeline,
        "context": option.context,
        "experts": option.experts,
        "expert_tensor": option.expert_tensor,
        "expert_parameters": option.expert_parameters,
        "option_factor": option.factor,
        "min_replicas": figures.least_replicas(item, job.spread(option)) or 1,
    }


def way_table(inputs: Inputs, plan: Plan) -> Ways | None:
    """Return the ways in which a plan's job may run on its GPU systems with the same replicas.

    None where the problem says nothing of how the job runs, or it runs on several types: one cell
    cannot choose for both.
    """
    if not plan.jobs or len(plan.jobs[0].ways) != 1:
        return None
    job, case = plan.jobs[0], resolve(inputs)
    system = next(each for each in case.systems if each.id == job.gpu_type)
    taken = system.way(job.way_ids)
    item, asked_job = inputs.item(system.id), inputs.problem.job
    every = {each.id_of(item, asked_job): each for each in figures.choices_on(item, inputs)}
    law = case.job.scale
    mfu = (case.job.mfu or 0.0) / (job.mfu or 1.0)
    rows = []
    for way in system.ways:
        choice = every[way.id]
        if choice.option != every[taken.id].option:
            continue
        share = 1.0 if law is None else law.share(job.gpus_used, way.bubble)
        rated, usual = figures.it_power_kw(item, inputs), figures.typical_power_kw(item, inputs)
        most = None if rated is None else choice.point.power * rated
        tdp = item.gpu.tdp
        rows.append(
            WayRow(
                id=way.id,
                label=f"{choice.precision} at {100.0 * choice.point.gpu_cap:.4g} % power",
                gpu_cap=choice.point.gpu_cap,
                gpu_limit_w=None if tdp is None else 1000.0 * choice.point.gpu_cap * tdp.value,
                power_kw=most,
                typical_kw=most if usual is None or most is None else min(usual, most),
                tflops_per_gpu=way.tflops_per_gpu * share * mfu,
            )
        )
    return Ways(
        sku=system.id,
        chosen=next(row.label for row in rows if row.id == taken.id),
        rows=tuple(rows),
        gpus_used=job.gpus_used,
        exponent=0.0 if law is None or law.table else law.exponent,
        bubble=0.0 if law is None or law.table or law.exponent else taken.bubble,
    )


def _title(inputs: Inputs, item: Item, source: str) -> str:
    known = inputs.item_sources.get(item.id, {}).get(source)
    return source if known is None else known.title
