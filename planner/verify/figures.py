"""Every figure of the job, re-computed from the decisions."""

from __future__ import annotations

from dataclasses import dataclass

from planner.schema.problem import Job
from planner.sizing.checkpoint import BYTES_PER_PARAMETER
from planner.sizing.reliability import FAILURES_PER_GPU_DAY
from planner.verify import progress
from planner.verify.bandwidth import total_nameplate_gb_per_s
from planner.verify.basis import Basis
from planner.verify.clients import Clients
from planner.verify.decisions import Decisions

SECONDS_PER_DAY = 86400
EXPORT_BYTES_PER_PARAMETER = 2


@dataclass(frozen=True)
class JobFigures:
    """The job's figures as re-computed, under the names the plan gives them."""

    replica_gpus: int | None
    replicas: float | None
    tflops_per_gpu: float
    mfu: float | None
    failures_per_gpu_day: float
    checkpoint_gb: float
    delivered_write_gb_per_s: float
    delivered_read_gb_per_s: float
    client_write_limit_gb_per_s: float
    client_read_limit_gb_per_s: float
    stall_s: float
    drain_s: float
    overlap: float
    blocking: float
    fan_out: float
    restore_s: float
    restart_s: float
    mtti_s: float
    young_s: float
    daly_s: float
    exact_s: float
    goodput: float
    goodput_first_order: float
    goodput_understated: float
    useful_gpus: float
    useful_pflops: float | None
    days_to_train: float | None
    ingest_gb_per_s: float
    capacity_needed_tb: float
    write_volume_tb_per_day: float


@dataclass(frozen=True)
class _Storage:
    """What storage gives the job, and what the job asks of it once per checkpoint."""

    read_gb_per_s: float
    write_gb_per_s: float
    size_gb: float
    fan_out: float


def compute_figures(
    basis: Basis, decisions: Decisions, clients: Clients
) -> tuple[JobFigures, progress.Rhythm]:
    """Return every figure of the job, and the times its goodput follows from.

    Args:
        basis: the problem and the catalogs.
        decisions: what the plan decided.
        clients: what the GPU systems can write and read.
    """
    job, used = basis.problem.job, decisions.gpus_used
    storage = _storage(basis, decisions, clients)
    rate = failures_per_gpu_day(basis, decisions)
    stall_s, rhythm = _rhythm(job, decisions, storage, SECONDS_PER_DAY / (rate * used))
    share = progress.goodput(rhythm)
    tflops = _tflops_per_gpu(basis, decisions)
    pflops = _useful_pflops(job, used * share, tflops)
    replica_gpus = None if job.parallelism is None else _replica_gpus(job)
    figures = JobFigures(
        replica_gpus=replica_gpus,
        replicas=None if replica_gpus is None else used / replica_gpus,
        tflops_per_gpu=tflops or 0.0,
        mfu=job.training.mfu,
        failures_per_gpu_day=rate,
        checkpoint_gb=storage.size_gb,
        delivered_write_gb_per_s=storage.write_gb_per_s,
        delivered_read_gb_per_s=storage.read_gb_per_s,
        client_write_limit_gb_per_s=clients.write_gb_per_s,
        client_read_limit_gb_per_s=clients.read_gb_per_s,
        stall_s=stall_s,
        drain_s=rhythm.drain_s,
        overlap=rhythm.drain_s / decisions.interval_s,
        blocking=stall_s / decisions.interval_s,
        fan_out=storage.fan_out,
        restore_s=rhythm.restore_s,
        restart_s=rhythm.restart_s,
        mtti_s=rhythm.mtti_s,
        young_s=progress.young_s(rhythm.stopped_s, rhythm.mtti_s),
        daly_s=progress.daly_s(rhythm.stopped_s, rhythm.mtti_s),
        exact_s=progress.exact_s(rhythm.stopped_s, rhythm.mtti_s),
        goodput=share,
        goodput_first_order=progress.first_order_goodput(rhythm),
        goodput_understated=progress.understated(
            rhythm, rhythm.stopped_s - stall_s if decisions.mode == "async" else 0.0
        ),
        useful_gpus=used * share,
        useful_pflops=pflops,
        days_to_train=_days_to_train(job, pflops),
        ingest_gb_per_s=used * job.ingest_per_gpu_gb_per_s,
        capacity_needed_tb=_capacity_needed_tb(basis, storage.size_gb),
        write_volume_tb_per_day=storage.size_gb / 1000 * SECONDS_PER_DAY / decisions.interval_s,
    )
    return figures, rhythm


def _storage(basis: Basis, decisions: Decisions, clients: Clients) -> _Storage:
    """Return the delivered bandwidth, the lesser of storage and clients, and the checkpoint."""
    job, share = basis.problem.job, basis.problem.storage.delivered_fraction
    read, write = total_nameplate_gb_per_s(basis, decisions.counts)
    size_gb = checkpoint_gb(job)
    return _Storage(
        read_gb_per_s=min(share.read * read, clients.read_gb_per_s),
        write_gb_per_s=min(share.write * write, clients.write_gb_per_s),
        size_gb=size_gb,
        fan_out=_fan_out(job, decisions.gpus_used, size_gb),
    )


def _rhythm(
    job: Job, decisions: Decisions, storage: _Storage, mtti_s: float
) -> tuple[float, progress.Rhythm]:
    """Return the stall in seconds and the times that goodput follows from."""
    write_s = storage.size_gb / storage.write_gb_per_s
    if decisions.mode == "async":
        stall_s, drain_s = job.checkpoint.stall_s, write_s
        slowed_s = job.checkpoint.drain_slowdown * drain_s
    else:
        stall_s, drain_s, slowed_s = write_s, 0.0, 0.0
    return stall_s, progress.Rhythm(
        interval_s=decisions.interval_s,
        stopped_s=stall_s + slowed_s,
        drain_s=drain_s,
        restart_s=job.restore.restart_s,
        restore_s=storage.fan_out * storage.size_gb / storage.read_gb_per_s,
        mtti_s=mtti_s,
    )


def _useful_pflops(job: Job, useful_gpus: float, tflops: float | None) -> float | None:
    if job.training.mfu is None or tflops is None:
        return None
    return useful_gpus * tflops * job.training.mfu / 1000


def _replica_gpus(job: Job) -> int:
    return 1 if job.parallelism is None else job.parallelism.tensor * job.parallelism.pipeline


def checkpoint_gb(job: Job) -> float:
    """Return the checkpoint size in GB: as given, or parameters times bytes times share."""
    if job.checkpoint.size_gb is not None:
        return job.checkpoint.size_gb
    return (job.parameters or 0.0) * _asked_bytes(job) * job.trained_share / 1e9


def _asked_bytes(job: Job) -> float:
    each = job.bytes_per_parameter
    return BYTES_PER_PARAMETER[each].value if isinstance(each, str) else each


def bytes_per_parameter(job: Job, size_gb: float) -> float:
    """Return the bytes per parameter as asked; where only the size is given, what it implies."""
    size_alone = job.checkpoint.size_gb is not None
    if size_alone and job.parameters and "bytes_per_parameter" not in job.model_fields_set:
        return size_gb * 1e9 / (job.parameters * job.trained_share)
    return _asked_bytes(job)


def failures_per_gpu_day(basis: Basis, decisions: Decisions) -> float:
    """Return the job's failures per GPU and day: the worst type's rate.

    A type's rate is the catalog's, unless the problem states one itself.
    """
    asked = basis.problem.job.failures
    rate = FAILURES_PER_GPU_DAY[asked].value if isinstance(asked, str) else asked.per_gpu_day
    if "failures" in basis.problem.job.model_fields_set:
        return rate
    own = [basis.items[sku].gpu.failures_per_day for sku in decisions.gpu_types]
    return max(rate if figure is None else figure.value for figure in own)


def _tflops_per_gpu(basis: Basis, decisions: Decisions) -> float | None:
    """Return the slowest type's dense rate in TFLOP/s, None where one is not known."""
    precision = basis.problem.job.training.precision
    rates = [getattr(basis.items[sku].gpu, f"{precision}_dense") for sku in decisions.gpu_types]
    if any(figure is None for figure in rates):
        return None
    return min(float(figure.value) for figure in rates)


def _fan_out(job: Job, gpus_used: int, size_gb: float) -> float:
    replicas = gpus_used / _replica_gpus(job)
    match job.restore.fan_out:
        case "broadcast":
            return 1.0
        case "every_replica":
            return replicas
        case "sharded_optimizer":
            each = bytes_per_parameter(job, size_gb)
            return ((each - 2) + 2 * replicas) / each


def _days_to_train(job: Job, pflops: float | None) -> float | None:
    active = job.training.active_parameters or job.parameters
    tokens = job.training.tokens
    if active is None or tokens is None or not pflops:
        return None
    return 6 * active * tokens / (pflops * 1e15) / SECONDS_PER_DAY


def _capacity_needed_tb(basis: Basis, size_gb: float) -> float:
    job, checkpoint = basis.problem.job, basis.problem.job.checkpoint
    checkpoints_gb = size_gb * (checkpoint.keep_last + 1 + checkpoint.milestones)
    export_tb = EXPORT_BYTES_PER_PARAMETER * (job.parameters or 0.0) / 1e12
    held_tb = job.dataset_tb + checkpoints_gb / 1000 + export_tb * checkpoint.exports
    return held_tb / basis.problem.storage.fill_limit
