"""The job's figures, compared one by one."""

from __future__ import annotations

import math
from dataclasses import fields

from planner.schema.plan import JobPlan, Plan
from planner.schema.problem import Job
from planner.verify import progress
from planner.verify.bandwidth import total_nameplate_gb_per_s
from planner.verify.basis import Basis
from planner.verify.clients import Clients, find_clients, replica_gpus, usable_gpus
from planner.verify.decisions import Decisions
from planner.verify.figures import JobFigures, bytes_per_parameter, checkpoint_gb, compute_figures
from planner.verify.ledger import Ledger, close
from planner.verify.policy_limits import hot_spares, systems_by_type


def check_job(ledger: Ledger, basis: Basis, decisions: Decisions, plan: Plan) -> JobFigures | None:
    """Re-compute the job, compare every figure, and return them; None where nothing follows.

    Args:
        ledger: takes the disagreements.
        basis: the problem and the catalogs.
        decisions: what the plan decided.
        plan: the plan to check.
    """
    stated, job = plan.jobs[0], basis.problem.job
    _check_replicas(ledger, basis, decisions, stated)
    clients = find_clients(ledger, basis, decisions, stated)
    read, write = total_nameplate_gb_per_s(basis, decisions.counts)
    if clients is None:
        return None
    figures, rhythm = compute_figures(basis, decisions, clients)
    for field in fields(JobFigures):
        computed = getattr(figures, field.name)
        ledger.same(f"jobs.{field.name}", getattr(stated, field.name), computed)
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
    hot = hot_spares(basis, systems_by_type(decisions, stated))
    ledger.equal("jobs.hot_spare_systems", stated.hot_spare_systems, sum(hot.values()))
    ledger.require(figures.goodput > 0, "jobs.goodput: the job makes no progress")
    return figures


def _check_inputs(ledger: Ledger, job: Job, stated: JobPlan) -> None:
    """What the job asks, as the plan repeats it for those who re-compute the plan."""
    saved, held = job.checkpoint, job.checkpoint.keep_last + 1 + job.checkpoint.milestones
    for field, value in (
        ("fan_out_kind", job.restore.fan_out),
        ("writers", saved.writers),
        ("readers", job.restore.readers),
        ("checkpoints_held", held),
    ):
        ledger.equal(f"jobs.{field}", getattr(stated, field), value)
    exports_tb = saved.exports * 2 * (job.parameters or 0.0) / 1e12
    for field, figure in (
        ("bytes_per_parameter", bytes_per_parameter(job, checkpoint_gb(job))),
        ("other_data_tb", job.dataset_tb + exports_tb),
        ("tokens", job.training.tokens),
        ("active_parameters", job.training.active_parameters or job.parameters),
    ):
        ledger.same(f"jobs.{field}", getattr(stated, field), figure)


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


def _check_losses(ledger: Ledger, stated: JobPlan, rhythm: progress.Rhythm) -> None:
    computed = progress.losses(rhythm)
    for cause, share in computed.items():
        ledger.same(f"jobs.loss.{cause}", getattr(stated.loss, cause), share)
    total = math.fsum(getattr(stated.loss, cause) for cause in computed)
    ledger.same("jobs.loss: the sum of the parts", total, 1 - stated.goodput)


def _check_replicas(ledger: Ledger, basis: Basis, decisions: Decisions, stated: JobPlan) -> None:
    """Whole replicas, what each system can hold of them, and GPUs in use that hold nothing."""
    job, replica = basis.problem.job, replica_gpus(basis.problem.job)
    if replica is not None and decisions.gpus_used % replica:
        ledger.fail("jobs.gpus_used: not a whole multiple of one replica's GPUs")
    ledger.equal("jobs.whole_replicas", stated.whole_replicas, replica is not None)
    tensor = None if job.parallelism is None else job.parallelism.tensor
    ledger.equal("jobs.tensor_gpus", stated.tensor_gpus, tensor)
    ledger.equal("jobs.per_system_gpus", stated.per_system_gpus, job.gpus.per_system)
    sizes = {}
    for sku in decisions.gpu_types:
        provided = basis.items[sku].provides.gpus
        sizes[sku] = 0 if provided is None else provided.value
    usable = {sku: usable_gpus(job, size) for sku, size in sizes.items()}
    ledger.equal("jobs.usable_gpus_by_type", stated.usable_gpus_by_type, usable)
    used = systems_by_type(decisions, stated)
    if len(used) > 1 and not stated.systems_by_type:
        return  # which systems are in use is not told
    idle = sum(sizes[sku] * count for sku, count in used.items()) - decisions.gpus_used
    ledger.equal("jobs.idle_gpus", stated.idle_gpus, idle)
