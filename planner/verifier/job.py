"""The job, re-computed from the decisions: every figure, with appliances down, the interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from planner.schema.catalog import Item
from planner.schema.plan import JobPlan, Plan
from planner.schema.problem import Job
from planner.schema.running import DEFAULT_FAILURES
from planner.sizing.goodput import FAILURES_PER_GPU_DAY
from planner.verifier import levels, repair
from planner.verifier.basis import (
    Basis,
    Ledger,
    at_least,
    close,
    nameplate_gb_per_s,
    total_nameplate_gb_per_s,
)
from planner.verifier.decisions import (
    Clients,
    Decisions,
    asked_bytes,
    checkpoint_gb,
    find_clients,
    replica_gpus,
    usable_gpus,
)
from planner.verifier.levels import check_levels, copy_s, find_levels
from planner.verifier.ways import as_sold, gpus_of_replica, slowest

SECONDS_PER_DAY = 86400
EXPORT_BYTES_PER_PARAMETER = 2


@dataclass(frozen=True)
class JobFigures:
    """The job's figures as re-computed, under the names the plan gives them."""

    replica_gpus: int | None
    replicas: float | None
    tflops_per_gpu: float
    mfu: float | None
    scale_share: float
    rate_share: float
    failures_per_gpu_day: float
    checkpoint_gb: float
    delivered_write_gb_per_s: float
    delivered_read_gb_per_s: float
    client_write_limit_gb_per_s: float
    client_read_limit_gb_per_s: float
    client_data_limit_gb_per_s: float | None
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


class _Storage(NamedTuple):
    """What storage gives the job, and what the job asks of it once per checkpoint."""

    read_gb_per_s: float
    write_gb_per_s: float
    size_gb: float
    fan_out: float


def compute_figures(
    basis: Basis, decisions: Decisions, clients: Clients
) -> tuple[JobFigures, levels.ProgressTimes]:
    """Return every figure of the job, and the times its goodput follows from.

    Args:
        clients: what the GPU systems can write and read.
    """
    job, used = basis.problem.job, decisions.gpus_used
    storage = _storage(basis, decisions, clients)
    rate = failures_per_gpu_day(basis, decisions)
    stall_s, rhythm = _rhythm(basis, decisions, storage, SECONDS_PER_DAY / (rate * used))
    units = repair.find_units(basis, decisions, rate)
    rhythm = rhythm if units is None else units.with_repairs(rhythm)
    share = levels.goodput(rhythm)
    paces = decisions.paces or as_sold(basis, decisions.gpu_types)
    pace = slowest(paces, job, used)
    each = pace.useful_tflops(job, used)
    left = 1.0 if each is None else pace.scale_share(job, used)
    pflops = None if each is None else used * share * each / 1000
    replica_gpus = None if job.parallelism is None else _replica_gpus(job)
    figures = JobFigures(
        replica_gpus=replica_gpus,
        replicas=None if replica_gpus is None else used / replica_gpus,
        tflops_per_gpu=pace.tflops or 0.0,
        mfu=pace.mfu,
        scale_share=left,
        rate_share=pace.throughput * left,
        failures_per_gpu_day=rate,
        checkpoint_gb=storage.size_gb,
        delivered_write_gb_per_s=storage.write_gb_per_s,
        delivered_read_gb_per_s=storage.read_gb_per_s,
        client_write_limit_gb_per_s=clients.write_gb_per_s,
        client_read_limit_gb_per_s=clients.read_gb_per_s,
        client_data_limit_gb_per_s=clients.data_gb_per_s if _reads_apart(job) else None,
        stall_s=stall_s,
        drain_s=rhythm.drain_s,
        overlap=rhythm.drain_s / decisions.remote_interval_s,
        blocking=stall_s / decisions.interval_s,
        fan_out=storage.fan_out,
        restore_s=rhythm.restore_s,
        restart_s=rhythm.restart_s,
        mtti_s=rhythm.mtti_s,
        young_s=levels.young_s(rhythm.stopped_s, rhythm.mtti_s),
        daly_s=levels.daly_s(rhythm.stopped_s, rhythm.mtti_s),
        exact_s=levels.exact_s(rhythm.stopped_s, rhythm.mtti_s),
        goodput=share,
        goodput_first_order=levels.first_order_goodput(rhythm),
        goodput_understated=0.0
        if rhythm.levels is not None
        else levels.understated(
            rhythm, rhythm.stopped_s - stall_s if decisions.mode == "async" else 0.0
        ),
        useful_gpus=used * share,
        useful_pflops=pflops,
        days_to_train=_days_to_train(job, pflops),
        ingest_gb_per_s=used * job.ingest_per_gpu_gb_per_s,
        capacity_needed_tb=_capacity_needed_tb(basis, storage.size_gb),
        write_volume_tb_per_day=storage.size_gb
        / 1000
        * SECONDS_PER_DAY
        / decisions.remote_interval_s,
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


def _reads_apart(job: Job) -> bool:
    """Say whether data is read by more systems than read in a restore."""
    return job.restore.readers == "one_replica" and job.ingest_per_gpu_gb_per_s > 0


def _rhythm(
    basis: Basis, decisions: Decisions, storage: _Storage, mtti_s: float
) -> tuple[float, levels.ProgressTimes]:
    """Return the stall in seconds and the times that goodput follows from."""
    job = basis.problem.job
    write_s = storage.size_gb / storage.write_gb_per_s
    if decisions.mode == "async":
        stall_s, drain_s = job.checkpoint.known_stall_s + copy_s(basis, decisions), write_s
        slowed_s = job.checkpoint.drain_slowdown * drain_s / (decisions.every or 1)
    else:
        stall_s, drain_s, slowed_s = write_s, 0.0, 0.0
    return stall_s, levels.ProgressTimes(
        interval_s=decisions.interval_s,
        stopped_s=stall_s + slowed_s,
        drain_s=drain_s,
        restart_s=job.restart_s,
        restore_s=storage.fan_out * storage.size_gb / storage.read_gb_per_s,
        mtti_s=mtti_s,
        levels=find_levels(basis, decisions),
    )


def _replica_gpus(job: Job) -> int:
    return 1 if job.parallelism is None else gpus_of_replica(job.parallelism)


def bytes_per_parameter(job: Job, size_gb: float) -> float:
    """Return the bytes per parameter as asked; where only the size is given, what it implies."""
    size_alone = job.checkpoint.size_gb is not None
    if size_alone and job.parameters and "bytes_per_parameter" not in job.model_fields_set:
        return size_gb * 1e9 / (job.parameters * job.trained_share)
    return asked_bytes(job)


def failures_per_gpu_day(basis: Basis, decisions: Decisions) -> float:
    """Return the job's failures per GPU and day: the worst type's rate.

    A type's rate is the catalog's, unless the problem states one itself.
    """
    asked = basis.problem.job.failure_rate
    given = DEFAULT_FAILURES if asked is None else asked
    rate = FAILURES_PER_GPU_DAY[given].value if isinstance(given, str) else given
    if asked is not None:
        return rate
    own = [basis.items[sku].gpu.failures_per_day for sku in decisions.gpu_types]
    return max(rate if figure is None else figure.value for figure in own)


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


def check_job(ledger: Ledger, basis: Basis, decisions: Decisions, plan: Plan) -> JobFigures | None:
    """Re-compute the job, compare every figure, and return them; None where nothing follows."""
    stated, job = plan.jobs[0], basis.problem.job
    _check_replicas(ledger, basis, decisions, stated)
    clients = find_clients(ledger, basis, decisions, stated)
    read, write = total_nameplate_gb_per_s(basis, decisions.counts)
    if clients is None:
        return None
    figures, rhythm = compute_figures(basis, decisions, clients)
    ledger.all_same("jobs", vars(stated), vars(figures))
    ledger.equal("jobs.name", stated.name, job.name)
    ledger.equal("jobs.interval_policy", stated.interval_policy, job.checkpoint.interval.policy)
    _check_inputs(ledger, job, stated)
    by_demand = basis.problem.storage.rule == "demand"
    overlap = job.checkpoint.max_overlap if by_demand else None
    ledger.same("jobs.max_overlap", stated.max_overlap, overlap)
    ledger.same("jobs.max_blocking", stated.max_blocking, job.checkpoint.max_blocking)
    _check_slowdown(ledger, job, stated)
    _check_bottlenecks(ledger, basis, clients, stated, (read, write))
    _check_losses(ledger, stated, rhythm)
    check_levels(ledger, basis, decisions, stated)
    kept = figures.goodput / (1.0 - rhythm.waits)
    units = repair.find_units(basis, decisions, figures.failures_per_gpu_day)
    repaired = None if units is None else repair.compute(units, kept, rhythm)
    repair.check(ledger, job.repair, stated, repaired, rhythm.mtti_s)
    hot = hot_spares(basis, systems_by_type(decisions, stated))
    ledger.equal("jobs.hot_spare_systems", stated.hot_spare_systems, sum(hot.values()))
    ledger.require(figures.goodput > 0, "jobs.goodput: the job makes no progress")
    return figures


def _check_inputs(ledger: Ledger, job: Job, stated: JobPlan) -> None:
    """What the job asks, as the plan repeats it for those who re-compute the plan."""
    saved = job.checkpoint
    asked = {
        "fan_out_kind": job.restore.fan_out,
        "writers": saved.writers,
        "readers": job.restore.readers,
        "checkpoints_held": saved.keep_last + 1 + saved.milestones,
    }
    exports_tb = saved.exports * 2 * (job.parameters or 0.0) / 1e12
    figures = {
        "bytes_per_parameter": bytes_per_parameter(job, checkpoint_gb(job)),
        "other_data_tb": job.dataset_tb + exports_tb,
        "tokens": job.training.tokens,
        "active_parameters": job.training.active_parameters or job.parameters,
    }
    ledger.all_equal("jobs", vars(stated), asked)
    ledger.all_same("jobs", vars(stated), figures)


def _check_slowdown(ledger: Ledger, job: Job, stated: JobPlan) -> None:
    """Synchronous jobs do not compute while they drain, so the slowdown may read 0 there."""
    asked = job.checkpoint.drain_slowdown
    choices = (asked,) if stated.mode == "async" else (asked, 0.0)
    ledger.one_of("jobs.drain_slowdown", stated.drain_slowdown, choices)


def _check_bottlenecks(
    ledger: Ledger,
    basis: Basis,
    clients: Clients,
    stated: JobPlan,
    nameplate_gb_per_s: tuple[float, float],
) -> None:
    share, (read, write) = basis.problem.storage.delivered_fraction, nameplate_gb_per_s
    sides = (
        ("write_limited_by", write * share.write, clients.write_gb_per_s),
        ("read_limited_by", read * share.read, clients.read_gb_per_s),
    )
    for field, appliances, limit in sides:
        if not close(appliances, limit):
            expected = "appliances" if appliances < limit else "clients"
            ledger.equal(f"jobs.{field}", getattr(stated, field), expected)
    for field in ("writing_systems", "reading_systems"):
        ledger.one_of(f"jobs.{field}", getattr(stated, field), sorted(getattr(clients, field)))


def _check_losses(ledger: Ledger, stated: JobPlan, rhythm: levels.ProgressTimes) -> None:
    computed, said = levels.losses(rhythm), vars(stated.loss)
    ledger.all_same("jobs.loss", said, computed)
    total = math.fsum(said[cause] for cause in computed)
    ledger.same("jobs.loss: the sum of the parts", total, 1 - stated.goodput)


def _check_replicas(ledger: Ledger, basis: Basis, decisions: Decisions, stated: JobPlan) -> None:
    """Whole replicas, what each system can hold of them, and GPUs in use that hold nothing."""
    job, replica = basis.problem.job, replica_gpus(basis.problem.job)
    if replica is not None and decisions.gpus_used % replica:
        ledger.fail("jobs.gpus_used: not a whole multiple of one replica's GPUs")
    ledger.equal("jobs.whole_replicas", stated.whole_replicas, replica is not None)
    tensor = None if job.parallelism is None else job.parallelism.tensor
    ledger.equal("jobs.tensor_gpus", stated.tensor_gpus, tensor)
    asked = job.gpus.per_system
    if isinstance(asked, dict):
        (sku,) = decisions.gpu_types
        asked = asked.get(sku)
    ledger.equal("jobs.per_system_gpus", stated.per_system_gpus, asked)
    sizes = {}
    for sku in decisions.gpu_types:
        provided = basis.items[sku].provides.gpus
        sizes[sku] = 0 if provided is None else provided.value
    usable = {sku: usable_gpus(job, sku, size) for sku, size in sizes.items()}
    ledger.equal("jobs.usable_gpus_by_type", stated.usable_gpus_by_type, usable)
    used = systems_by_type(decisions, stated)
    if len(used) > 1 and not stated.systems_by_type:
        return  # which systems are in use is not told
    idle = sum(sizes[sku] * count for sku, count in used.items()) - decisions.gpus_used
    ledger.equal("jobs.idle_gpus", stated.idle_gpus, idle)


def systems_by_type(decisions: Decisions, stated: JobPlan) -> dict[str, int]:
    """Return the systems of each type in use; one type's are all there are."""
    if len(decisions.gpu_types) == 1:
        return {decisions.gpu_types[0]: decisions.systems_used}
    return {sku: stated.systems_by_type.get(sku, 0) for sku in decisions.gpu_types}


def hot_spares(basis: Basis, used: Mapping[str, int]) -> dict[str, int]:
    """Return the systems of each type that must stand ready."""
    systems, share = basis.problem.job.gpus.hot
    return {sku: max(systems, at_least(share * count)) for sku, count in used.items()}


@dataclass(frozen=True)
class Degraded:
    """Figures under the names the plan gives them after ``degraded_``; None where all are up."""

    write_gb_per_s: float | None = None
    read_gb_per_s: float | None = None
    drain_s: float | None = None
    overlap: float | None = None
    restore_s: float | None = None


def check_degraded(
    ledger: Ledger, basis: Basis, decisions: Decisions, stated: JobPlan, figures: JobFigures
) -> Degraded:
    """Re-compute the job with appliances down, compare it and return it.

    Args:
        figures: the job with everything up, as re-computed.
    """
    down = basis.problem.storage.tolerate_down
    ledger.equal("jobs.tolerate_down", stated.tolerate_down, down)
    degraded = _degrade(basis, decisions, figures, down) if down else Degraded()
    figures_down = {f"degraded_{name}": figure for name, figure in vars(degraded).items()}
    ledger.all_same("jobs", vars(stated), figures_down)
    return degraded


def _degrade(basis: Basis, decisions: Decisions, figures: JobFigures, down: int) -> Degraded:
    share = basis.problem.storage.delivered_fraction
    read, write = total_nameplate_gb_per_s(basis, decisions.counts)
    read_loss, write_loss = _worst_losses(basis, decisions.counts, down)
    left_write = min(share.write * (write - write_loss), figures.client_write_limit_gb_per_s)
    left_read = min(share.read * (read - read_loss), figures.client_read_limit_gb_per_s)
    write_s = figures.checkpoint_gb / left_write if left_write > 0 else float("inf")
    read_gb = figures.fan_out * figures.checkpoint_gb
    return Degraded(
        write_gb_per_s=left_write,
        read_gb_per_s=left_read,
        drain_s=write_s,
        overlap=write_s / decisions.remote_interval_s if decisions.mode == "async" else None,
        restore_s=read_gb / left_read if left_read > 0 else float("inf"),
    )


def _worst_losses(basis: Basis, counts: Mapping[str, int], down: int) -> tuple[float, float]:
    """Return the largest (read, write) bandwidth that one item loses, GB/s."""
    losses = [
        _loss(basis.items[sku], count, down)
        for sku, count in counts.items()
        if count > 0 and basis.items[sku].category == "storage"
    ]
    return max(read for read, _ in losses), max(write for _, write in losses)


def _loss(item: Item, count: int, down: int) -> tuple[float, float]:
    units = down / (1 if item.fail_units is None else item.fail_units.value)
    if item.sizes is None:
        each_read, each_write = nameplate_gb_per_s(item, 1)
        return each_read * units, each_write * units
    before, after = nameplate_gb_per_s(item, count), _below(item, count - units)
    return before[0] - after[0], before[1] - after[1]


def _below(item: Item, count: float) -> tuple[float, float]:
    """Return the bandwidth of part of a published size; below the table as its first row."""
    assert item.sizes is not None
    first = item.sizes.rows[0]
    if count < first.units:
        return first.read * count / first.units, first.write * count / first.units
    return nameplate_gb_per_s(item, count)


def rhythms(
    basis: Basis, decisions: Decisions, figures: JobFigures
) -> Callable[[float], levels.ProgressTimes]:
    """Return the times of the job as re-computed, as a function of another interval in seconds."""
    slowdown = basis.problem.job.checkpoint.drain_slowdown if decisions.mode == "async" else 0.0
    units = repair.find_units(basis, decisions, figures.failures_per_gpu_day)
    found = levels.ProgressTimes(
        interval_s=decisions.interval_s,
        stopped_s=figures.stall_s + slowdown * figures.drain_s / (decisions.every or 1),
        drain_s=figures.drain_s,
        restart_s=figures.restart_s,
        restore_s=figures.restore_s,
        mtti_s=figures.mtti_s,
        levels=find_levels(basis, decisions),
    )

    def at(interval_s: float) -> levels.ProgressTimes:
        rhythm = replace(found, interval_s=interval_s)
        return rhythm if units is None else units.with_repairs(rhythm)

    return at
