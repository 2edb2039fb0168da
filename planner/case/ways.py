"""The ways in which the job may run on a GPU system: what may be chosen, in numbers.

What the problem leaves open nothing of leaves a type with one way: as it is sold.
"""

from __future__ import annotations

from planner.case import figures
from planner.case.choices import Choice
from planner.case.model import Way
from planner.inputs import Inputs
from planner.schema.catalog import Item
from planner.schema.problem import Job
from planner.sizing.throughput import ScaleLaw, pipeline_bubble


def ways_of(item: Item, inputs: Inputs) -> tuple[Way, ...]:
    """Return the ways in which the job may run on a GPU system that can be planned."""
    return tuple(_way(item, inputs.problem.job, each) for each in figures.choices_on(item, inputs))


def _way(item: Item, job: Job, choice: Choice) -> Way:
    assert item.provides.gpus is not None
    name, job = choice.id_of(item, job), job.spread(choice.option)
    usable = figures.usable_gpus(item, job)
    parallel = job.parallelism
    replica = parallel.replica_gpus if parallel else None
    bubble, least = bubble_of(job), figures.least_replicas(item, job) or 1
    return Way(
        id=name,
        usable_gpus=usable,
        step_gpus=replica if job.whole_replicas and replica else usable,
        replica_gpus=replica,
        tflops_per_gpu=_rate_tflops(job, choice, bubble) * choice.left,
        failures_per_gpu_day=figures.failures_per_gpu_day(item, job),
        spare_unit=figures.spare_unit(item, usable, job),
        power_share=choice.point.power,
        min_replicas=least,
        least_running=least,
        bubble=bubble,
        tensor_gpus=parallel.tensor if parallel else None,
        drives=figures.drives(item, job),
        host_copy_gb_per_s=figures.host_copy_gb_per_s(item, job),
    )


def _rate_tflops(job: Job, choice: Choice, bubble: float) -> float:
    """Return a GPU's rate at full power where the law of scale gives 1, TFLOP/s; 0 if not known."""
    law, rate = scale_law(job), choice.rate_tflops or 0.0
    if law is None:
        return rate
    holds_at = choice.measured.gpus if choice.measured else job.training.scale_reference
    return rate if holds_at is None else rate / law.share(holds_at, bubble)


def scale_law(job: Job) -> ScaleLaw | None:
    """Return the law of scale that the job states, None without one."""
    scale = job.training.scale
    if scale is None:
        return None
    rows = tuple((float(row.gpus), row.share) for row in scale.table or ())
    return ScaleLaw(scale.exponent or 0.0, float(scale.reference or 1), rows)


def bubble_of(job: Job) -> float:
    """Return what the pipeline's bubble takes per GPU, 0 where no such law is asked for."""
    scale, parallel = job.training.scale, job.parallelism
    if scale is None or scale.micro_batches is None or parallel is None:
        return 0.0
    each = parallel.batch_gpus
    return pipeline_bubble(parallel.pipeline, each, scale.micro_batches, scale.interleave)
