"""Demands that contradict one another whatever is bought: found by arithmetic, before solving."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.loader.inputs import Inputs
from planner.schema.catalog import Item
from planner.schema.problem import FixedInterval, Job, OptimalInterval

Fault = tuple[str, str, str]
"""(path in the problem file, what is wrong, what would be right)"""

WEIGHT_BYTES = {"bf16": 2.0, "fp8": 1.0}
"""Bytes per parameter that the weights alone take in the memory of the GPUs of one replica."""


def contradictions(inputs: Inputs) -> Iterator[Fault]:
    """Yield every contradiction between parts of a problem."""
    yield from _gpus(inputs)
    yield from _goodput(inputs)
    yield from _days(inputs)
    yield from _memory(inputs)
    yield from _domains(inputs)
    yield from _families(inputs)


def weights_gb_per_gpu(job: Job) -> float | None:
    """Return what the weights of one replica take in each of its GPUs, GB; None if not known.

    Gradients, optimizer and activations come on top: a GPU with less memory holds no such replica,
    one with more may.
    """
    if job.parameters is None or job.parallelism is None:
        return None
    each = WEIGHT_BYTES[job.training.precision]
    return each * job.parameters / job.parallelism.replica_gpus / 1e9


def _gpus(inputs: Inputs) -> Iterator[Fault]:
    job, targets = inputs.problem.job, inputs.problem.targets
    most, path = job.gpus.max, "jobs.0.gpus.max"
    if most is None:
        return
    if job.parallelism is not None and job.parallelism.replica_gpus > most:
        tensor, pipeline = job.parallelism.tensor, job.parallelism.pipeline
        need = job.parallelism.replica_gpus
        message = f"one replica takes {need} GPUs (tensor {tensor} x pipeline {pipeline})"
        yield path, f"{message}, and at most {most} may be used", f"raise it to {need} or more"
    if targets.min_gpus is not None and targets.min_gpus > most:
        message = f"targets.min_gpus asks for {targets.min_gpus} GPUs in use"
        fix = f"raise it to {targets.min_gpus}, or ask for fewer"
        yield path, f"{message}, and at most {most} may be used", fix
    if targets.min_useful_gpus is not None and targets.min_useful_gpus >= most:
        message = f"targets.min_useful_gpus asks for the work of {targets.min_useful_gpus:g} GPUs"
        fix = "raise it, or ask for less"
        yield path, f"{message} that never stop, and at most {most} may be used", fix


def _goodput(inputs: Inputs) -> Iterator[Fault]:
    """Yield a floor on goodput that the stalls alone do not leave."""
    checkpoint, floor = inputs.problem.job.checkpoint, inputs.problem.targets.min_goodput
    rule = checkpoint.interval
    if floor is None or checkpoint.mode != "async":
        return
    if isinstance(rule, FixedInterval):
        longest_s = rule.every_s
    elif isinstance(rule, OptimalInterval):
        longest_s = rule.max_s
    else:
        return
    left = 1.0 - checkpoint.stall_s / longest_s
    if 0.0 < left < floor:
        message = (
            f"goodput of {100 * floor:g} % cannot be had: a stall of {checkpoint.stall_s:g} s in "
            f"every interval of at most {longest_s / 60:g} min leaves {100 * left:.4g} %"
        )
        fix = "lower it, shorten the stall, or lengthen the interval"
        yield "targets.min_goodput", message, fix


def _days(inputs: Inputs) -> Iterator[Fault]:
    """Yield a deadline that the most GPUs, never stopping, do not meet."""
    job, most_days = inputs.problem.job, inputs.problem.targets.max_days_to_train
    tokens, mfu, most = job.training.tokens, job.training.mfu, job.gpus.max
    parameters = job.training.active_parameters or job.parameters
    if None in (most_days, tokens, mfu, most, parameters):
        return
    assert most_days and tokens and mfu and most and parameters
    figures = (item.gpu.bf16_dense if job.training.precision == "bf16" else item.gpu.fp8_dense
               for item in _systems(inputs))  # fmt: skip
    rates = [figure.value for figure in figures if figure is not None]
    if not rates:
        return
    days = 6.0 * parameters * tokens / (most * max(rates) * 1e12 * mfu) / 86_400.0
    if days > most_days:
        message = (
            f"{most_days:g} days cannot be met: {most} GPUs of the fastest type take at least "
            f"{days:.4g} days without any interruption"
        )
        yield "targets.max_days_to_train", message, "allow more days, or raise jobs.0.gpus.max"


def _memory(inputs: Inputs) -> Iterator[Fault]:
    """Yield a model whose weights fit into no GPU that is on offer."""
    job = inputs.problem.job
    need_gb = weights_gb_per_gpu(job)
    sizes = [item.gpu.memory for item in _systems(inputs)]
    known_gb = [size.value for size in sizes if size is not None]
    if need_gb is None or not sizes or len(known_gb) < len(sizes) or need_gb <= max(known_gb):
        return
    assert job.parallelism is not None
    message = (
        f"the weights alone take {need_gb:.4g} GB a GPU where {job.parallelism.replica_gpus} hold "
        f"a replica, and no GPU on offer has more than {max(known_gb):g} GB"
    )
    least = math.ceil(job.parallelism.replica_gpus * need_gb / max(known_gb) * (1.0 - 1e-12))
    yield "jobs.0.parallelism", message, f"spread a replica over {least:,} GPUs or more"


def _domains(inputs: Inputs) -> Iterator[Fault]:
    """Yield tensor groups that no GPU system on offer holds within itself."""
    job = inputs.problem.job
    sizes = [item.provides.gpus.value for item in _systems(inputs) if item.provides.gpus]
    if not job.whole_replicas or job.parallelism is None or not sizes:
        return
    largest, tensor = max(sizes), job.parallelism.tensor
    most = min(largest, job.gpus.per_system or largest)
    if tensor > most:
        why = f"the largest has {largest}" if most == largest else f"the job uses {most} of each"
        message = f"a tensor group of {tensor} GPUs fits into no system on offer: {why}"
        fix = (
            f"give a tensor of {most} or less, or `gpus.whole: systems` to count GPUs all the same"
        )
        yield "jobs.0.parallelism", message, fix


def _families(inputs: Inputs) -> Iterator[Fault]:
    exact, consider = inputs.problem.storage.exact_families, inputs.problem.consider
    names = {item.family for item in inputs.items if item.category == "storage"}
    if consider.storage_families is not None:
        names &= set(consider.storage_families)
    if exact is not None and exact > len(names):
        there = "1 is" if len(names) == 1 else f"{len(names)} are"
        message = f"{exact} storage families are asked for, and {there} on offer"
        yield "storage.exact_families", message, "ask for fewer, or add catalogs"


def _systems(inputs: Inputs) -> list[Item]:
    """Return the GPU systems that the problem considers, as far as names tell."""
    chosen = inputs.problem.consider.gpu_systems
    return [
        item
        for item in inputs.items
        if item.category == "gpu_system" and (chosen is None or item.id in chosen)
    ]
