"""What of a problem contradicts itself, and whether stalls and a local level are asked for in full.

Contradictions are found by arithmetic, before anything is solved, whatever might be bought. Little
of a local level of checkpoints has a default: nothing published says how failures divide into
classes, what a job's restart takes from either level, or what comes with a copy to the hosts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.inputs import Inputs, weights_gb_per_gpu
from planner.paths import job_path
from planner.schema.catalog import Item
from planner.schema.problem import FixedInterval, Job, OptimalInterval
from planner.schema.running import LocalLevel
from planner.sizing.two_levels import remote_share

Contradiction = tuple[str, str, str]
"""(path in the problem file, what is wrong, what would be right)"""

LevelFault = tuple[str, str, str, str]
"""(code, path in the problem file, what is wrong, what would be right)"""

_LOCAL = job_path("checkpoint.local")
_SHARES = job_path("failures.shares")


def contradictions(inputs: Inputs) -> Iterator[Contradiction]:
    """Yield every contradiction between parts of a problem."""
    yield from _gpus(inputs)
    yield from _micro_batches(inputs)
    yield from _goodput(inputs)
    yield from _days(inputs)
    yield from _memory(inputs)
    yield from _domains(inputs)
    yield from _exact_families(inputs)


def _gpus(inputs: Inputs) -> Iterator[Contradiction]:
    job, targets = inputs.problem.job, inputs.problem.targets
    most, path = job.gpus.max, job_path("gpus.max")
    if most is None:
        return
    smallest = min(job.options, key=lambda option: option.replica_gpus, default=None)
    if smallest is not None and smallest.replica_gpus > most:
        tensor, pipeline = smallest.tensor, smallest.pipeline
        need, context = smallest.replica_gpus, smallest.context
        more = f" x context {context}" if context > 1 else ""
        more += f", experts over {smallest.expert_gpus}" if smallest.expert_gpus > 1 else ""
        message = f"one replica takes {need} GPUs (tensor {tensor} x pipeline {pipeline}{more})"
        yield path, f"{message}, and at most {most} may be used", f"raise it to {need} or more"
    if targets.min_gpus is not None and targets.min_gpus > most:
        message = f"targets.min_gpus asks for {targets.min_gpus} GPUs in use"
        fix = f"raise it to {targets.min_gpus}, or ask for fewer"
        yield path, f"{message}, and at most {most} may be used", fix
    if targets.min_useful_gpus is not None and targets.min_useful_gpus >= most:
        message = f"targets.min_useful_gpus asks for the work of {targets.min_useful_gpus:g} GPUs"
        fix = "raise it, or ask for less"
        yield path, f"{message} that never stop, and at most {most} may be used", fix


def _micro_batches(inputs: Inputs) -> Iterator[Contradiction]:
    """Yield fewer micro-batches than the GPUs asked for have copies of the model, in any spread."""
    job, targets = inputs.problem.job, inputs.problem.targets
    given = None if job.training.scale is None else job.training.scale.micro_batches
    useful = math.floor(targets.min_useful_gpus or 0) + 1  # more than do the work are in use
    asked = max(job.gpus.min or 1, targets.min_gpus or 1, useful)
    spreads = [
        (max(asked, option.min_replicas * option.replica_gpus), option.batch_gpus)
        for option in job.options
    ]
    if given is None or not spreads:
        return
    gpus, each = min(spreads, key=lambda spread: -(-spread[0] // spread[1]))
    need = -(-gpus // each)
    if need <= given:
        return
    message = (
        f"{given} micro-batches of a step fill {given * each} GPUs, "
        f"{each} each, and no fewer than {gpus} are asked for"
    )
    path, fix = job_path("training.scale.micro_batches"), f"raise it to {need}, or ask for fewer"
    yield path, message, fix


def _goodput(inputs: Inputs) -> Iterator[Contradiction]:
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
    lost = inputs.problem.job.lost_share
    left = (1.0 - checkpoint.known_stall_s / longest_s) * (1.0 - lost)
    if 0.0 < left < floor:
        besides = f" beside {100 * lost:g} % of other lost time" if lost else ""
        message = (
            f"goodput of {100 * floor:g} % cannot be had: a stall of "
            f"{checkpoint.known_stall_s:g} s in every interval of at most "
            f"{longest_s / 60:g} min{besides} leaves {100 * left:.4g} %"
        )
        fix = "lower it, shorten the stall, or lengthen the interval"
        fix += f", or set {job_path('lost_time')} to none" if lost else ""
        yield "targets.min_goodput", message, fix


def _days(inputs: Inputs) -> Iterator[Contradiction]:
    """Yield a deadline that the most GPUs, never stopping, do not meet."""
    job, most_days = inputs.problem.job, inputs.problem.targets.max_days_to_train
    tokens, mfu = job.training.tokens, job.training.mfu
    most, path = _most_gpus(job)
    parameters = job.training.active_parameters or job.parameters
    if None in (most_days, tokens, mfu, most, parameters):
        return
    assert most_days and tokens and mfu and most and parameters
    fp8 = job.training.precisions[0] == "fp8"
    figures = (i.gpu.fp8_dense if fp8 else i.gpu.bf16_dense for i in _systems(inputs))
    rates = [figure.value for figure in figures if figure is not None]
    if not rates:
        return
    days = 6.0 * parameters * tokens / (most * max(rates) * 1e12 * mfu) / 86_400.0
    if days > most_days:
        message = (
            f"{most_days:g} days cannot be met: {most} GPUs of the fastest type take at least "
            f"{days:.4g} days without any interruption"
        )
        yield (
            "targets.max_days_to_train",
            message,
            f"allow more days, or raise {path}",
        )


def _most_gpus(job: Job) -> tuple[int | None, str]:
    """Return the most GPUs that a job may use, and the path of what says so: its limit, or the
    micro-batches of a step, of which each copy of the model takes one."""
    batches = None if job.training.scale is None else job.training.scale.micro_batches
    each = max((option.batch_gpus for option in job.options), default=0)
    found = [(job.gpus.max, job_path("gpus.max"))] if job.gpus.max is not None else []
    if batches is not None and each:
        found.append((batches * each, job_path("training.scale.micro_batches")))
    return min(found, default=(None, ""))


def _memory(inputs: Inputs) -> Iterator[Contradiction]:
    """Yield a model whose weights fit into no GPU that is on offer."""
    job = inputs.problem.job
    need_gb = weights_gb_per_gpu(job)
    sizes = [item.gpu.memory for item in _systems(inputs)]
    known_gb = [size.value for size in sizes if size is not None]
    if need_gb is None or not sizes or len(known_gb) < len(sizes) or need_gb <= max(known_gb):
        return
    if len(job.options) > 1:  # another spread may take less: the items left out say why
        return
    assert job.parallelism is not None
    message = (
        f"the weights alone take {need_gb:.4g} GB a GPU where {job.parallelism.replica_gpus} hold "
        f"a replica, and no GPU on offer has more than {max(known_gb):g} GB"
    )
    least = math.ceil(job.parallelism.replica_gpus * need_gb / max(known_gb) * (1.0 - 1e-12))
    yield job_path("parallelism"), message, f"spread a replica over {least:,} GPUs or more"


def _domains(inputs: Inputs) -> Iterator[Contradiction]:
    """Yield tensor groups that no GPU system on offer holds within itself."""
    job = inputs.problem.job
    systems = [item for item in _systems(inputs) if item.provides.gpus]
    sizes = [item.provides.gpus.value for item in systems if item.provides.gpus]
    if not job.whole_replicas or job.parallelism is None or not sizes or len(job.options) > 1:
        return
    largest, tensor = max(sizes), job.parallelism.tensor
    used = (job.gpus.most_of(item.id) for item in systems)
    most = max(min(size, each or size) for size, each in zip(sizes, used, strict=True))
    if tensor > most:
        why = f"the largest has {largest}" if most == largest else f"the job uses {most} of each"
        message = f"a tensor group of {tensor} GPUs fits into no system on offer: {why}"
        fix = (
            f"give a tensor of {most} or less, or `gpus.whole: systems` to count GPUs all the same"
        )
        yield job_path("parallelism"), message, fix


def _exact_families(inputs: Inputs) -> Iterator[Contradiction]:
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


def level_faults(inputs: Inputs) -> Iterator[LevelFault]:
    """Yield what is wrong with a derived stall, with restarts, and with the local level."""
    yield from _stall(inputs)
    job = inputs.problem.job
    if job.restart.remote_s is not None and "restart_s" in job.restore.model_fields_set:
        message = "restart.remote is the same as restore.restart"
        yield "restart", job_path("restart.remote"), message, "leave out the one or the other"
    yield from _shares(inputs)
    local = inputs.problem.job.levels
    if local is not None:
        yield from _level(inputs, local)


def _stall(inputs: Inputs) -> Iterator[LevelFault]:
    checkpoint, path = inputs.problem.job.checkpoint, job_path("checkpoint.stall_overhead")
    derived, given = checkpoint.stall_s == "derived", checkpoint.stall_overhead_s is not None
    if given and not derived:
        message = "stall_overhead comes on top of a derived stall, and the stall is a time"
        yield "stall", path, message, "write stall: derived, or leave it out"
    if derived and not given:
        message = "a derived stall needs what stopping and agreeing takes beside the copy"
        yield "stall", job_path("checkpoint.stall"), message, "add stall_overhead: 0.5 s"
    if derived and checkpoint.mode == "sync":
        message = "a synchronous checkpoint stalls for as long as it is written: nothing is derived"
        yield "stall", job_path("checkpoint.stall"), message, "leave out stall, or mode: sync"


def _shares(inputs: Inputs) -> Iterator[LevelFault]:
    shares = inputs.problem.job.failure_shares
    total = math.fsum(shares.values())
    if shares and abs(total - 1.0) > 1e-6:
        message = f"the shares of the classes of failures add up to {100 * total:.6g} %"
        yield "shares", _SHARES, message, "let them add up to 100 %"


def _level(inputs: Inputs, local: LocalLevel) -> Iterator[LevelFault]:
    job = inputs.problem.job
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
    if set(shares) != set(local.recovers):
        wrong = sorted(set(shares) ^ set(local.recovers))
        message = f"recovers and failures.shares name different classes: {', '.join(wrong)}"
        fix = f"say yes, peer or no of each of {', '.join(shares)}"
        yield "recovers", f"{_LOCAL}.recovers", message, fix
    elif remote_share(_whole(shares), local.recovers, local.copies) <= 0.0:
        message = "a local copy survives every class of failures, so storage would not be needed"
        fix = "name the class of failures that takes all copies, such as rack: no"
        yield "recovers", f"{_LOCAL}.recovers", message, fix


def _whole(shares: dict[str, float]) -> dict[str, float]:
    """Return shares that add up to 1; that they do is asked elsewhere."""
    total = math.fsum(shares.values())
    return {name: share / total for name, share in shares.items()}
