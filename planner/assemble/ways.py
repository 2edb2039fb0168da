"""The way in which the job runs and its source; a case as large as edited counts need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from planner.case import Case, System, figures, resolve
from planner.case.choices import ASSUMED, FULL, Choice, peak_tflops
from planner.case.model import Limits, Offer
from planner.case.resolve import with_companions
from planner.inputs import Inputs, needs
from planner.optimizer.operate import Run
from planner.paths import of_job
from planner.schema.catalog import Item
from planner.schema.plan import WayPlan
from planner.schema.problem import Job

OWN_CURVE = "the problem's own curve (jobs[].power.curve)"


def chosen(inputs: Inputs, case: Case, operation: Run) -> list[tuple[System, Choice]]:
    """Return what was chosen on each type in use."""
    job, found = inputs.problem.job, []
    for system, way in case.in_use(operation.used, operation.ways):
        item = inputs.item(system.id)
        every = {each.id_of(item, job): each for each in figures.choices_on(item, inputs)}
        found.append((system, every[way.choice]))
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
    if job.training.mfu is not None and len(case.systems) > 1 and needs(inputs.problem, "rate"):
        yield (
            f"one MFU of {100.0 * job.training.mfu:g} % is assumed of {len(case.systems)} types of "
            f"GPU system; {of_job('training.model', job.name)} takes what was "
            "measured on each"
        )
    if not asked(inputs):
        return
    yield from _uneven(inputs, case, operation)
    for system, choice in chosen(inputs, case, operation):
        row, model = choice.measured, models[system.id]
        if row is not None and row.source == ASSUMED:
            yield f"the rate of {model} is assumed: {row.note}"
            continue
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


def _uneven(inputs: Inputs, case: Case, operation: Run) -> Iterator[str]:
    """Yield of how many micro-batches a step is, where copies of the model do not share all."""
    job = inputs.problem.job
    given = None if job.training.scale is None else job.training.scale.micro_batches
    filled = min((way.gpus_max or 0 for _, way in case.in_use(operation.used, operation.ways)))
    if given is None or filled % operation.gpus == 0:
        return
    each = filled // operation.gpus
    copies = given * operation.gpus / filled
    taken, shared = (f"{count:,.1f}".removesuffix(".0") for count in (each * copies, copies))
    yield (
        f"a step takes {taken} micro-batches, {each:,} for each of {shared} copies of the model, "
        f"as they do not share {given:,} evenly: its batch is smaller than "
        f"{of_job('training.scale.micro_batches', job.name)} says"
    )


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
        rate_low_tflops=None if row is None else row.low_tflops,
        rate_high_tflops=None if row is None else row.high_tflops,
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


def _title(inputs: Inputs, item: Item, source: str) -> str:
    known = inputs.item_sources.get(item.id, {}).get(source)
    return source if known is None else known.title


_SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
_CLOSE = (1, 2, 4, 8, 16)
"""Steps that are worked out, to either side: so many units, and these shares of the units there."""

OfferT = TypeVar("OfferT", bound=Offer)


def enlarged(inputs: Inputs, counts: Mapping[str, int]) -> Case:
    """Return a case without limits on sums, its fabrics as large as these counts need.

    Fabrics are worked out only as far as limits let a plan grow; an edited one may go further.

    Args:
        counts: the units in the cluster, by item.
    """
    case = resolve(inputs)

    def grown(offer: OfferT) -> OfferT:
        return replace(offer, low=counts.get(offer.id, 0), high=counts.get(offer.id, 0))

    def there(offer: Offer) -> bool:
        return offer.id in counts or offer.installed > 0

    larger = replace(
        case,
        limits=Limits.of({}),
        systems=tuple(grown(system) for system in case.systems if there(system)),
        storage=tuple(grown(item) for item in case.storage if there(item)),
    )
    return replace(case, companions=with_companions(inputs, larger).companions)
