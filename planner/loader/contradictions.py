"""Contradictions in a problem by arithmetic, whatever might be bought, and gaps in a local level.

A local level has few defaults: no publication says how failures divide into classes, how long a
restart from either level takes, or what a copy to the hosts costs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.errors import Severity
from planner.inputs import Inputs, weights_gb_per_gpu
from planner.paths import job_path
from planner.schema.catalog import Item
from planner.schema.problem import FixedInterval, Job, OptimalInterval
from planner.schema.running import LocalLevel
from planner.sizing.two_levels import remote_share

Fault = tuple[str, str, str, str | None, *tuple[Severity, ...]]
"""(code, path in the problem file, cause, fix, severity where it is no error)"""

_CODE = "contradiction"
_GPUS = job_path("gpus.max")
_PARALLELISM = job_path("parallelism")
_LOCAL, _STALL = job_path("checkpoint.local"), job_path("checkpoint.stall")


def contradictions(inputs: Inputs) -> Iterator[Fault]:
    """Values of a problem that exclude each other."""
    for check in (_gpus, _goodput, _days, _memory, _domains):
        yield from check(inputs)


def _gpus(inputs: Inputs) -> Iterator[Fault]:
    job, targets = inputs.problem.job, inputs.problem.targets
    most = job.gpus.max
    if most is None:
        return
    allowed = f", and at most {most} may be used"
    smallest = min(job.options, key=lambda option: option.replica_gpus, default=None)
    if smallest is not None and smallest.replica_gpus > most:
        need = smallest.replica_gpus
        spread = f"tensor {smallest.tensor} x pipeline {smallest.pipeline}"
        spread += f" x context {smallest.context}" if smallest.context > 1 else ""
        if smallest.expert_gpus > 1:
            spread += f", experts over {smallest.expert_gpus}"
        message = f"one replica takes {need} GPUs ({spread}){allowed}"
        yield _CODE, _GPUS, message, f"raise it to {need} or more"
    if targets.min_gpus is not None and targets.min_gpus > most:
        message = f"targets.min_gpus asks for {targets.min_gpus} GPUs in use{allowed}"
        yield _CODE, _GPUS, message, f"raise it to {targets.min_gpus}, or ask for fewer"
    useful = targets.min_useful_gpus
    if useful is not None and useful >= most:
        work = f"targets.min_useful_gpus asks for the work of {useful:g} GPUs that never stop"
        yield _CODE, _GPUS, f"{work}{allowed}", "raise it, or ask for less"


def _goodput(inputs: Inputs) -> Iterator[Fault]:
    """A floor on goodput above the share that stalls alone leave."""
    job, floor = inputs.problem.job, inputs.problem.targets.min_goodput
    rule, stall_s, lost = job.checkpoint.interval, job.checkpoint.known_stall_s, job.lost_share
    if floor is None or job.checkpoint.mode != "async":
        return
    if not isinstance(rule, FixedInterval | OptimalInterval):
        return
    longest_s = rule.every_s if isinstance(rule, FixedInterval) else rule.max_s
    left = (1.0 - stall_s / longest_s) * (1.0 - lost)
    if 0.0 < left < floor:
        besides = f" beside {100 * lost:g} % of other lost time" if lost else ""
        message = (
            f"goodput of {100 * floor:g} % cannot be had: a stall of {stall_s:g} s in every "
            f"interval of at most {longest_s / 60:g} min{besides} leaves {100 * left:.4g} %"
        )
        fix = "lower it, shorten the stall, or lengthen the interval"
        fix += f", or set {job_path('lost_time')} to none" if lost else ""
        yield _CODE, "targets.min_goodput", message, fix


def _days(inputs: Inputs) -> Iterator[Fault]:
    """A deadline that the most GPUs miss even without interruptions; 6 FLOP/parameter/token."""
    job, most_days = inputs.problem.job, inputs.problem.targets.max_days_to_train
    tokens, mfu = job.training.tokens, job.training.mfu
    most, path = _most_gpus(job)
    parameters = job.training.active_parameters or job.parameters
    fp8 = job.training.precisions[0] == "fp8"
    figures = (i.gpu.fp8_dense if fp8 else i.gpu.bf16_dense for i in _systems(inputs))
    rates = [figure.value for figure in figures if figure is not None]
    if not (most_days and tokens and mfu and most and parameters and rates):
        return
    days = 6.0 * parameters * tokens / (most * max(rates) * 1e12 * mfu) / 86_400.0
    if days > most_days:
        message = (
            f"{most_days:g} days cannot be met: {most} GPUs of the fastest type take at least "
            f"{days:.4g} days without any interruption"
        )
        yield _CODE, "targets.max_days_to_train", message, f"allow more days, or raise {path}"


def _most_gpus(job: Job) -> tuple[int | None, str]:
    """The most GPUs of a job and the path that limits them."""
    return job.gpus.max, _GPUS


def _memory(inputs: Inputs) -> Iterator[Fault]:
    """Weights larger than the memory of every GPU type; several spreads are checked per item."""
    job = inputs.problem.job
    need_gb = weights_gb_per_gpu(job)
    sizes = [item.gpu.memory for item in _systems(inputs)]
    known_gb = [size.value for size in sizes if size is not None]
    if need_gb is None or job.parallelism is None or not sizes or len(job.options) > 1:
        return
    if len(known_gb) == len(sizes) and need_gb > (most_gb := max(known_gb)):
        gpus = job.parallelism.replica_gpus
        message = (
            f"the weights alone take {need_gb:.4g} GB a GPU where {gpus} hold "
            f"a replica, and no GPU on offer has more than {most_gb:g} GB"
        )
        least = math.ceil(gpus * need_gb / most_gb * (1.0 - 1e-12))
        yield _CODE, _PARALLELISM, message, f"spread a replica over {least:,} GPUs or more"


def _domains(inputs: Inputs) -> Iterator[Fault]:
    """Tensor groups larger than every GPU system."""
    job = inputs.problem.job
    sizes = {item.id: item.provides.gpus.value for item in _systems(inputs) if item.provides.gpus}
    if not job.whole_replicas or job.parallelism is None or not sizes or len(job.options) > 1:
        return
    largest, tensor = max(sizes.values()), job.parallelism.tensor
    most = max(min(size, job.gpus.most_of(name) or size) for name, size in sizes.items())
    if tensor > most:
        why = f"the largest has {largest}" if most == largest else f"the job uses {most} of each"
        message = f"a tensor group of {tensor} GPUs fits into no system on offer: {why}"
        fix = (
            f"give a tensor of {most} or less, or `gpus.whole: systems` to count GPUs all the same"
        )
        yield _CODE, _PARALLELISM, message, fix


def _systems(inputs: Inputs) -> list[Item]:
    """GPU systems that the problem considers by name."""
    chosen = inputs.problem.consider.gpu_systems
    return [
        item
        for item in inputs.items
        if item.category == "gpu_system" and (chosen is None or item.id in chosen)
    ]


def level_faults(inputs: Inputs) -> Iterator[Fault]:
    """Gaps and contradictions of a derived stall, restarts, failure classes and the local level."""
    job = inputs.problem.job
    checkpoint, shares = job.checkpoint, job.failure_shares
    derived, given = checkpoint.stall_s == "derived", checkpoint.stall_overhead_s is not None
    if given and not derived:
        message = "stall_overhead comes on top of a derived stall, and the stall is a time"
        fix = "write stall: derived, or leave it out"
        yield "stall", job_path("checkpoint.stall_overhead"), message, fix
    if derived and not given:
        message = "a derived stall needs what stopping and agreeing takes beside the copy"
        yield "stall", _STALL, message, "add stall_overhead: 0.5 s"
    if derived and checkpoint.mode == "sync":
        message = "a synchronous checkpoint stalls for as long as it is written: nothing is derived"
        yield "stall", _STALL, message, "leave out stall, or mode: sync"
    if job.restart.remote_s is not None and "restart_s" in job.restore.model_fields_set:
        message = "restart.remote is the same as restore.restart"
        yield "restart", job_path("restart.remote"), message, "leave out the one or the other"
    total = math.fsum(shares.values())
    if shares and abs(total - 1.0) > 1e-6:
        message = f"the shares of the classes of failures add up to {100 * total:.6g} %"
        yield "shares", job_path("failures.shares"), message, "let them add up to 100 %"
    if job.levels is not None:
        yield from _local_level(job, job.levels)


def _local_level(job: Job, local: LocalLevel) -> Iterator[Fault]:
    shares = job.failure_shares
    if job.checkpoint.mode == "sync":
        message = "a local level is for checkpoints that drain while GPUs go on"
        yield "local", _LOCAL, message, "write mode: async or open, or leave out local"
    if job.restart.local_s is None:
        message = "a local level needs the time of a restart from it, reading back included"
        yield "local", _LOCAL, message, "add to the job restart: {local: 2 min}"
    if not shares:
        message = "a local level needs the shares of the classes of failures that it recovers from"
        fix = "add to the job failures: {rate: llama3, shares: {software: 22 %, node: 78 %}}"
        yield "local", _LOCAL, message, fix
        return
    wrong = sorted(set(shares) ^ set(local.recovers))
    total = math.fsum(shares.values())
    whole = {name: share / total for name, share in shares.items()}
    if wrong:
        message = f"recovers and failures.shares name different classes: {', '.join(wrong)}"
        fix = f"say yes, peer or no of each of {', '.join(shares)}"
        yield "recovers", f"{_LOCAL}.recovers", message, fix
    elif remote_share(whole, local.recovers, local.copies) <= 0.0:
        message = "a local copy survives every class of failures, so storage would not be needed"
        fix = "name the class of failures that takes all copies, such as rack: no"
        yield "recovers", f"{_LOCAL}.recovers", message, fix
