"""What the plan decided, and whether the rules allow it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from planner.schema.catalog import Item
from planner.schema.plan import JobPlan, Plan
from planner.verify.basis import DECIDED, Basis
from planner.verify.compute_fabric import plug
from planner.verify.ledger import Ledger
from planner.verify.purchases import owned, purchased
from planner.verify.racks import place


@dataclass(frozen=True)
class Decisions:
    """The plan's decisions, from which everything else follows.

    ``counts`` are the GPU systems and storage in the cluster; ``standing`` all that are in place,
    idle owned ones included.
    """

    counts: Mapping[str, int]
    standing: Mapping[str, int]
    gpu_types: tuple[str, ...]
    families: tuple[str, ...]
    gpus_used: int
    systems_used: int
    mode: Literal["async", "sync"]
    interval_s: float


def read_decisions(ledger: Ledger, basis: Basis, plan: Plan) -> Decisions | None:
    """Return the decisions, or None where they make no sense and nothing follows from them.

    Args:
        ledger: takes the disagreements.
        basis: the problem and the catalogs.
        plan: the plan to read.
    """
    before = len(ledger.disagreements)
    in_cluster = _read_counts(ledger, basis, plan)
    counts = {sku: n for sku, n in in_cluster.items() if basis.items[sku].category in DECIDED}
    if len(plan.jobs) != 1:
        ledger.fail(f"jobs: expected one job, the plan has {len(plan.jobs)}")
        return None
    job = plan.jobs[0]
    _check_job_decisions(ledger, basis, job, counts)
    _check_families(ledger, basis, job, counts)
    if len(ledger.disagreements) > before:
        return None
    return Decisions(
        counts=counts,
        standing=basis.standing(counts),
        gpu_types=job.gpu_types,
        families=job.storage_families,
        gpus_used=job.gpus_used,
        systems_used=job.systems_used,
        mode=job.mode,
        interval_s=job.interval_s,
    )


def _read_counts(ledger: Ledger, basis: Basis, plan: Plan) -> dict[str, int]:
    counts: dict[str, int] = {}
    left_out = {entry.sku for entry in plan.not_considered}
    for line in plan.lines:
        if line.parent is not None:
            continue
        name = f"lines.{line.sku}"
        item = basis.items.get(line.sku)
        if item is None:
            ledger.fail(f"{name}: no such item in the catalogs")
        elif line.sku in counts:
            ledger.fail(f"{name}: listed twice")
        elif not _is_whole(line.quantity):
            ledger.fail(f"{name}.quantity: {line.quantity!r} is not a whole number of at least 0")
        elif not _is_whole(line.idle) or line.idle > min(line.quantity, owned(basis, item)):
            ledger.fail(f"{name}.idle: {line.idle!r} is not a whole number up to what is owned")
        elif line.idle and line.quantity > owned(basis, item):
            ledger.fail(f"{name}.idle: {line.idle} of those owned stand idle, yet more are bought")
        else:
            counts[line.sku] = line.working
            _check_allowed(ledger, basis, item, counts[line.sku])
            useless = counts[line.sku] == 0 or line.sku not in left_out
            ledger.require(useless, f"{name}: is also listed as not considered")
    return counts


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _check_allowed(ledger: Ledger, basis: Basis, item: Item, count: int) -> None:
    """Require that the rules let so many units of this item into the cluster."""
    if count == 0:
        return
    reason = _why_not(basis, item, count)
    if reason is not None:
        ledger.fail(f"lines.{item.id}: {reason}")


def _why_not(basis: Basis, item: Item, count: int) -> str | None:
    """Return why an item may not be in the cluster so many times, or None."""
    if item.category == "component":
        return "a component is not bought alone"
    if basis.demanded(item.id).exclude:
        return "the problem excludes it"
    if not _considered(basis, item):
        return "the problem does not consider it"
    if item.vendor in basis.problem.policy.forbid_vendors:
        return f"the policy forbids {item.vendor}"
    if purchased(basis, item, count) > 0:
        if item.category in DECIDED and item.lifecycle not in basis.problem.consider.lifecycle:
            return f"its lifecycle is {item.lifecycle}, which the problem does not consider"
        if item.id not in basis.prices and item.id not in basis.parts_of_clusters():
            return "it has no price"
    return _why_not_usable(basis, item, count) if item.category in DECIDED else None


def _why_not_usable(basis: Basis, item: Item, count: int) -> str | None:
    if item.category == "gpu_system" and item.provides.gpus is None:
        return "its GPUs are not known"
    if item.category == "gpu_system" and not _holds_the_weights(basis, item):
        return "the memory of its GPUs does not hold the weights of a replica"
    rated = item.provides.read is not None and item.provides.write is not None
    if item.category == "gpu_system" and not _holds_a_tensor_group(basis, item):
        return "a tensor group does not fit into one system"
    if item.category == "storage" and item.sizes is None and not rated:
        return "its bandwidth is not known"
    placement = place(basis, item)
    if placement is not None and placement.units == 0:
        return "one unit does not fit into a rack"
    if item.sizes is not None:
        first, last = item.sizes.rows[0].units, item.sizes.rows[-1].units
        if not first <= count <= last:
            return f"its sizes go from {first} to {last} units, the plan has {count}"
    return None


def _holds_the_weights(basis: Basis, item: Item) -> bool:
    """Say whether a replica's GPUs could hold its weights, 1 or 2 bytes a parameter."""
    job, memory = basis.problem.job, item.gpu.memory
    if job.parameters is None or job.parallelism is None or memory is None:
        return True
    weights_gb = job.parameters * (1.0 if job.training.precision == "fp8" else 2.0) / 1e9
    gpus = job.parallelism.tensor * job.parallelism.pipeline
    return weights_gb <= memory.value * gpus * (1.0 + 1e-8)


def _holds_a_tensor_group(basis: Basis, item: Item) -> bool:
    """Say whether a tensor group finds room in one system, where only whole replicas may run."""
    job = basis.problem.job
    if job.parallelism is None or job.gpus.whole == "systems" or item.provides.gpus is None:
        return True
    most = min(item.provides.gpus.value, job.gpus.per_system or item.provides.gpus.value)
    return job.parallelism.tensor <= most


def _considered(basis: Basis, item: Item) -> bool:
    consider = basis.problem.consider
    if item.category not in DECIDED:
        return True
    if consider.vendors is not None and item.vendor not in consider.vendors:
        return False
    if item.category == "gpu_system":
        return consider.gpu_systems is None or item.id in consider.gpu_systems
    return consider.storage_families is None or item.family in consider.storage_families


def _check_job_decisions(
    ledger: Ledger, basis: Basis, job: JobPlan, counts: Mapping[str, int]
) -> None:
    asked = basis.problem.job
    max_types = asked.gpus.max_types
    types = job.gpu_types
    if not 1 <= len(set(types)) == len(types) <= max_types:
        ledger.fail(f"jobs.gpu_types: {types!r} is not one to {max_types} different types")
    for sku in types:
        if not counts.get(sku) or basis.items[sku].category != "gpu_system":
            ledger.fail(f"jobs.gpu_types: {sku} is not among the plan's GPU systems")
    _check_one_fabric(ledger, basis, [sku for sku in types if sku in counts])
    ledger.require(job.gpu_type in types, f"jobs.gpu_type: {job.gpu_type} is not in gpu_types")
    for field in ("gpus_used", "systems_used"):
        value = getattr(job, field)
        if not _is_whole(value) or value == 0:
            ledger.fail(f"jobs.{field}: {value!r} is not a whole number of at least 1")
    if not (math.isfinite(job.interval_s) and job.interval_s > 0):
        ledger.fail(f"jobs.interval_s: {job.interval_s!r} is not a positive time")
    modes = ("async", "sync") if asked.checkpoint.mode == "open" else (asked.checkpoint.mode,)
    ledger.require(job.mode in modes, f"jobs.mode: {job.mode} is not what the problem asks")


def _check_one_fabric(ledger: Ledger, basis: Basis, types: list[str]) -> None:
    """Require that a job runs within one compute fabric, where there is any."""
    if basis.problem.network.compute is not None:
        plugs = {plug(basis, basis.items[sku]) for sku in types}
        ledger.require(len(plugs) <= 1, "jobs.gpu_types: they are not in one compute fabric")


def _check_families(ledger: Ledger, basis: Basis, job: JobPlan, counts: Mapping[str, int]) -> None:
    bought = {
        basis.items[sku].family or sku
        for sku, count in counts.items()
        if count > 0 and basis.items[sku].category == "storage"
    }
    ledger.equal("jobs.storage_families", sorted(job.storage_families), sorted(bought))
    ledger.require(
        job.storage_family in job.storage_families,
        f"jobs.storage_family: {job.storage_family} is not in storage_families",
    )
    storage = basis.problem.storage
    max_families = storage.exact_families or storage.max_families
    if not 1 <= len(bought) <= max_families:
        ledger.fail(f"jobs.storage_families: {len(bought)} serve the job, allowed 1-{max_families}")
