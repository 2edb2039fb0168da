"""Configurations of the job by GPU type and their rates; cases for edited counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from planner.case import Case, System, figures, resolve
from planner.case.model import Limits, Offer
from planner.case.resolve import with_companions
from planner.case.ways import FULL, Choice, choices_on, least_replicas, peak_tflops
from planner.inputs import Inputs
from planner.optimizer.operate import Run
from planner.schema.catalog import Item
from planner.schema.job import Job
from planner.schema.operation import WayPlan

OWN_CURVE = "the problem's own curve (jobs[].power.curve)"
OfferT = TypeVar("OfferT", bound=Offer)


def ways_in_use(inputs: Inputs, case: Case, run: Run) -> list[tuple[System, Choice]]:
    """Each GPU system in use with its set point, precision and parallelism."""
    job, in_use = inputs.problem.job, []
    for system, way in case.in_use(run.used, run.ways):
        item = inputs.item(system.id)
        by_id = {each.id_of(item, job): each for each in choices_on(item, inputs)}
        in_use.append((system, by_id[way.choice]))
    return in_use


def is_stated(inputs: Inputs) -> bool:
    """Whether the problem states power, measured rates, scale or parallelism options."""
    job = inputs.problem.job
    levers = (job.power, job.training.model, job.training.scale, len(job.options) > 1)
    return any(levers) or not all(option.plain for option in job.options)


def way_fields(inputs: Inputs, case: Case, run: Run) -> dict[str, Any]:
    """Fields of the job's plan on its rate; of several types those of the slowest."""
    if not is_stated(inputs):
        return {"tflops_per_gpu": run.tflops_per_gpu, "mfu": case.job.mfu}
    in_use = ways_in_use(inputs, case, run)
    rates = [way.tflops_per_gpu for _, way in case.in_use(run.used, run.ways)]
    system, choice = in_use[rates.index(min(rates))]
    peak = peak_tflops(inputs.item(system.id), choice.precision)
    rate, mfu = choice.rate_tflops or 0.0, case.job.mfu
    if choice.measured is not None and peak:
        rate, mfu = peak, choice.measured.rate_tflops / peak
    unscaled = rate * (mfu or 0.0) * choice.rate_share
    actual = run.tflops_per_gpu * (case.job.mfu or 0.0)
    scale = actual / unscaled if unscaled and inputs.problem.job.training.scale else 1.0
    return {
        "tflops_per_gpu": rate,
        "mfu": mfu,
        "scale_share": scale,
        "rate_share": choice.rate_share * scale,
        "ways": tuple(_way(inputs, system, each) for system, each in in_use),
    }


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
        **_parallelism(item, inputs.problem.job, choice),
    )


def _parallelism(item: Item, job: Job, choice: Choice) -> dict[str, Any]:
    option = choice.option
    if option is None:
        return {}
    names = ("tensor", "pipeline", "context", "experts", "expert_tensor", "expert_parameters")
    return {
        **{name: getattr(option, name) for name in names},
        "option_factor": option.factor,
        "min_replicas": least_replicas(item, job.spread(option)) or 1,
    }


def _title(inputs: Inputs, item: Item, source: str) -> str:
    known = inputs.item_sources.get(item.id, {}).get(source)
    return source if known is None else known.title


def enlarged(inputs: Inputs, counts: Mapping[str, int]) -> Case:
    """A case without limits on sums, its fabrics as large as counts of an edited plan need.

    Args:
        counts: the units in the cluster, by item.
    """
    case = resolve(inputs)

    def fixed(offers: tuple[OfferT, ...]) -> tuple[OfferT, ...]:
        return tuple(
            replace(offer, low=counts.get(offer.id, 0), high=counts.get(offer.id, 0))
            for offer in offers
            if offer.id in counts or offer.installed > 0
        )

    limits = Limits.from_values({})
    systems, storage = fixed(case.systems), fixed(case.storage)
    larger = replace(case, limits=limits, systems=systems, storage=storage)
    return replace(case, companions=with_companions(inputs, larger).companions)
