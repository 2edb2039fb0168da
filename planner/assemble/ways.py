"""In which way the job runs: set point, precision and rate, with who says so."""

from __future__ import annotations

from typing import Any

from planner.case import Case, System, figures
from planner.case.choices import FULL, Choice, peak_tflops
from planner.inputs import Inputs
from planner.optimizer.operate import Run
from planner.schema.catalog import Item
from planner.schema.plan import WayPlan

OWN_CURVE = "the problem's own curve (jobs[].power.curve)"


def chosen(inputs: Inputs, case: Case, operation: Run) -> list[tuple[System, Choice]]:
    """Return what was chosen on each type in use."""
    job, found = inputs.problem.job, []
    for system, way in case.in_use(operation.used, operation.ways):
        item = _item(inputs, system.id)
        every = {each.id_of(item, job): each for each in figures.choices_on(item, inputs)}
        found.append((system, every[way.id]))
    return found


def asked(inputs: Inputs) -> bool:
    """Say whether the problem says anything of how the job runs on a type."""
    job = inputs.problem.job
    return bool(job.power or job.training.model or job.training.scale)


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
    peak = peak_tflops(_item(inputs, system.id), choice.precision)
    rate, mfu = choice.rate_tflops or 0.0, case.job.mfu
    if choice.measured is not None and peak:
        rate, mfu = peak, choice.measured.rate_tflops / peak
    whole = rate * (mfu or 0.0) * choice.point.throughput
    now = operation.tflops_per_gpu * (case.job.mfu or 0.0)
    scale = now / whole if whole and job.training.scale else 1.0
    return {
        "tflops_per_gpu": rate,
        "mfu": mfu,
        "scale_share": scale,
        "rate_share": choice.point.throughput * scale,
        "ways": tuple(_way(inputs, system, each) for system, each in running),
    }


def _way(inputs: Inputs, system: System, choice: Choice) -> WayPlan:
    point, row = choice.point, choice.measured
    item = _item(inputs, system.id)
    curve = None if point is FULL else OWN_CURVE
    if point.source is not None:
        curve = _title(inputs, item, point.source)
    return WayPlan(
        id=choice.id_of(item, inputs.problem.job),
        gpu_type=system.id,
        precision=choice.precision,
        gpu_cap=point.gpu_cap,
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
    )


def _item(inputs: Inputs, sku: str) -> Item:
    return next(item for item in inputs.items if item.id == sku)


def _title(inputs: Inputs, item: Item, source: str) -> str:
    known = inputs.item_sources.get(item.id, {}).get(source)
    return source if known is None else known.title
