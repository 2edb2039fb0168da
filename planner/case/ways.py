"""The ways in which the job may run on a GPU system, of which the plan chooses one.

A way is a power set point, a precision and a parallelism option. What none of them is asked for
leaves a type with one way: as it is sold.
"""

from __future__ import annotations

from planner.case import figures
from planner.case.model import Way
from planner.inputs import Inputs
from planner.schema.catalog import Item


def ways_of(item: Item, inputs: Inputs) -> tuple[Way, ...]:
    """Return the ways in which the job may run on a GPU system that can be planned."""
    assert item.provides.gpus is not None
    job = inputs.problem.job
    usable = figures.usable_gpus(item.provides.gpus.value, job)
    replica = job.parallelism.replica_gpus if job.parallelism else None
    return (
        Way(
            id=item.id,
            usable_gpus=usable,
            step_gpus=replica if job.whole_replicas and replica else usable,
            replica_gpus=replica,
            tflops_per_gpu=figures.tflops_per_gpu(item, job) or 0.0,
            failures_per_gpu_day=figures.failures_per_gpu_day(item, job),
            spare_unit=figures.spare_unit(item, usable, job),
        ),
    )
