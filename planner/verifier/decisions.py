"""What the plan decided, whether the rules allow it, and the storage clients it makes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Literal, NamedTuple

from planner.schema.catalog import Item
from planner.schema.plan import JobPlan, Plan
from planner.schema.problem import Job
from planner.sizing.checkpoint import BYTES_PER_PARAMETER
from planner.verifier.basis import DECIDED, Basis, Ledger
from planner.verifier.links import plug
from planner.verifier.money import owned, purchased
from planner.verifier.racks import place
from planner.verifier.ways import Pace, gpus_of_replica, share_per_gpu

_WEIGHT_BYTES = {"bf16": 2.0, "fp8": 1.0, "nvfp4": 0.5}
# One buffered thread per GPU: 8 GB/s with 8 threads on 8 GPUs (S. Kartik and C. Tartow, VAST Data,
# "A Checkpoint on Checkpoints in LLMs", 2024-01-10).
_DEFAULT_GB_PER_S_PER_GPU = 1.0


@dataclass(frozen=True)
class Decisions:
    """The plan's decisions, from which everything else follows.

    ``counts`` are the GPU systems and storage in the cluster; ``standing`` all that are in place,
    idle owned ones included; ``paces`` how fast the GPUs of each type in use are. ``every`` so
    many-th local checkpoint goes on to storage; 0 without a local level.
    """

    counts: Mapping[str, int]
    standing: Mapping[str, int]
    gpu_types: tuple[str, ...]
    families: tuple[str, ...]
    gpus_used: int
    systems_used: int
    mode: Literal["async", "sync"]
    interval_s: float
    paces: Mapping[str, Pace] = field(default_factory=dict)
    every: int = 0

    @property
    def remote_interval_s(self) -> float:
        """The interval of what goes to storage: each checkpoint, or each so many-th local one."""
        return self.interval_s * (self.every or 1)


def read_decisions(ledger: Ledger, basis: Basis, plan: Plan) -> Decisions | None:
    """Return the decisions, or None where they make no sense and nothing follows from them."""
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
        every=0 if job.local is None else job.local.every,
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
    decided = item.category in DECIDED
    late = decided and item.lifecycle not in basis.problem.consider.lifecycle
    if late and purchased(basis, item, count) > 0:
        return f"its lifecycle is {item.lifecycle}, which the problem does not consider"
    priced = item.id in basis.prices or item.id in basis.parts_of_clusters()
    if not priced and purchased(basis, item, count) > 0:
        return "it has no price"
    return _why_not_usable(basis, item, count) if decided else None


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
    bytes_each = min(_WEIGHT_BYTES[name] for name in job.training.precisions)
    weights_gb = job.parameters * bytes_each / 1e9
    return weights_gb * share_per_gpu(job) <= memory.value * (1.0 + 1e-8)


def _holds_a_tensor_group(basis: Basis, item: Item) -> bool:
    """Say whether a tensor group finds room in one system, where only whole replicas may run."""
    job = basis.problem.job
    if job.parallelism is None or job.gpus.whole == "systems" or item.provides.gpus is None:
        return True
    return job.parallelism.tensor <= _most_gpus(job, item.id, item.provides.gpus.value)


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
    for name in ("gpus_used", "systems_used"):
        value = getattr(job, name)
        if not _is_whole(value) or value == 0:
            ledger.fail(f"jobs.{name}: {value!r} is not a whole number of at least 1")
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


class Clients(NamedTuple):
    """The client limits in GB/s, and how many systems may be said to write and to read.

    Training data reaches all systems in use, ``data_gb_per_s``; a restore its readers.
    """

    write_gb_per_s: float
    read_gb_per_s: float
    data_gb_per_s: float
    writing_systems: frozenset[int]
    reading_systems: frozenset[int]


class _Type(NamedTuple):
    """A GPU type in use: GPUs of a system that the job can use, systems in the plan, client limits
    per system."""

    gpus: int
    systems: int
    write_gb_per_s: float
    read_gb_per_s: float


def find_clients(
    ledger: Ledger, basis: Basis, decisions: Decisions, stated: JobPlan
) -> Clients | None:
    """Return the client limits, or None where no split over the types makes sense.

    Args:
        stated: the plan's job; where it does not say how many systems of each type it runs on,
            any split that fits the GPUs and systems in use is allowed.
    """
    types = [_describe(basis, decisions, sku) for sku in decisions.gpu_types]
    replica = replica_gpus(basis.problem.job)
    if stated.systems_by_type:
        split = tuple(stated.systems_by_type.get(sku, 0) for sku in decisions.gpu_types)
        named = set(stated.systems_by_type) == set(decisions.gpu_types)
        splits = [split] if named and _fits(types, decisions, replica, split) else []
    else:
        splits = list(_splits(types, decisions, replica))
    choices = [_clients(basis, types, split) for split in splits]
    if not choices:
        field = "systems_by_type" if stated.systems_by_type else "systems_used"
        ledger.fail(
            f"jobs.{field}: {decisions.systems_used} systems of the plan do not make "
            f"{decisions.gpus_used} GPUs in use"
        )
        return None
    return min(choices, key=lambda choice: _distance(choice, stated))


def _distance(clients: Clients, stated: JobPlan) -> float:
    write = abs(clients.write_gb_per_s - stated.client_write_limit_gb_per_s)
    data = stated.client_data_limit_gb_per_s
    apart = 0.0 if data is None else abs(clients.data_gb_per_s - data)
    return write + abs(clients.read_gb_per_s - stated.client_read_limit_gb_per_s) + apart


def _describe(basis: Basis, decisions: Decisions, sku: str) -> _Type:
    item = basis.items[sku]
    gpus = 0 if item.provides.gpus is None else item.provides.gpus.value
    given = basis.problem.storage.client_limit
    write = _per_system(given.write, item, "write", gpus)
    read = _per_system(given.read, item, "read", gpus)
    write_factor, read_factor = _client_factors(basis, decisions)
    usable = usable_gpus(basis.problem.job, item.id, gpus)
    return _Type(usable, decisions.counts[sku], write * write_factor, read * read_factor)


def checkpoint_gb(job: Job) -> float:
    """Return the checkpoint size in GB: as given, or parameters times bytes times share."""
    if job.checkpoint.size_gb is not None:
        return job.checkpoint.size_gb
    return (job.parameters or 0.0) * asked_bytes(job) * job.trained_share / 1e9


def asked_bytes(job: Job) -> float:
    """Return the bytes per parameter as asked."""
    each = job.bytes_per_parameter
    return BYTES_PER_PARAMETER[each].value if isinstance(each, str) else each


def replica_gpus(job: Job) -> int | None:
    """Return the GPUs of a replica where only whole replicas may run, else None."""
    if job.parallelism is None or job.gpus.whole == "systems":
        return None
    return gpus_of_replica(job.parallelism)


def _most_gpus(job: Job, sku: str, gpus: int) -> int:
    """Return the most GPUs of a system of so many that may be used."""
    asked = job.gpus.per_system
    if isinstance(asked, dict):
        asked = asked.get(sku)
    return gpus if asked is None else min(gpus, asked)


def usable_gpus(job: Job, sku: str, gpus: int) -> int:
    """Return the GPUs of a system of so many that the job can use.

    Whole replicas where one fits into the system, which is an NVLink domain, else whole tensor
    groups; whole systems where replicas do not matter.
    """
    most = _most_gpus(job, sku, gpus)
    replica = replica_gpus(job)
    if replica is None or job.parallelism is None:
        return most
    return most - most % (replica if replica <= most else job.parallelism.tensor)


def _per_system(given: float | None, item: Item, direction: str, gpus: int) -> float:
    if given is not None:
        return given
    figure = getattr(item.client, direction)
    return gpus * _DEFAULT_GB_PER_S_PER_GPU if figure is None else float(figure.value)


def _client_factors(basis: Basis, decisions: Decisions) -> tuple[float, float]:
    """Return the least (write, read) factor of the families that serve the job."""
    write, read = [], []
    for name in decisions.families:
        family = basis.families.get(name)
        factor = None if family is None else family.client_factor
        write.append(1.0 if factor is None else factor.write.value)
        read.append(1.0 if factor is None else factor.read.value)
    return min(write), min(read)


def _splits(
    types: list[_Type], decisions: Decisions, replica: int | None
) -> Iterator[tuple[int, ...]]:
    """Yield each way to spread the systems in use over the types."""
    for head in product(*(range(1, t.systems + 1) for t in types[:-1])):
        split = (*head, decisions.systems_used - sum(head))
        if _fits(types, decisions, replica, split):
            yield split


def _fits(
    types: list[_Type], decisions: Decisions, replica: int | None, split: tuple[int, ...]
) -> bool:
    """Say whether so many systems of each type make the GPUs and systems in use.

    With whole replicas each type's systems are the fewest that hold its replicas.
    """
    pairs = list(zip(types, split, strict=True))
    if sum(split) != decisions.systems_used:
        return False
    if not all(1 <= used <= t.systems for t, used in pairs):
        return False
    if replica is None:
        return sum(t.gpus * used for t, used in pairs) == decisions.gpus_used
    most = [t.gpus * used // replica for t, used in pairs]
    least = [t.gpus * (used - 1) // replica + 1 for t, used in pairs]
    possible = all(low <= high for low, high in zip(least, most, strict=True))
    return possible and sum(least) * replica <= decisions.gpus_used <= sum(most) * replica


def _clients(basis: Basis, types: list[_Type], split: tuple[int, ...]) -> Clients:
    job = basis.problem.job
    write, writing = _side(
        basis,
        [(t.gpus, used, t.write_gb_per_s) for t, used in zip(types, split, strict=True)],
        job.checkpoint.writers == "one_replica",
    )
    read, reading = _side(
        basis,
        [(t.gpus, used, t.read_gb_per_s) for t, used in zip(types, split, strict=True)],
        job.restore.readers == "one_replica",
    )
    data = math.fsum(used * t.read_gb_per_s for t, used in zip(types, split, strict=True))
    return Clients(write, read, data, writing, reading)


def _side(
    basis: Basis, types: list[tuple[int, int, float]], one_replica: bool
) -> tuple[float, frozenset[int]]:
    """Return the limit in GB/s and the systems at work, for writing or for reading.

    Each type is (GPUs per system, systems in use, GB/s per system). One replica's systems are
    all of one type, and the least favourable type counts.
    """
    parallelism = basis.problem.job.parallelism
    if not one_replica or parallelism is None:
        limit = sum(used * per_system for _, used, per_system in types)
        return limit, frozenset({sum(used for _, used, _ in types)})
    holders = [(-(-parallelism.replica_gpus // gpus), each) for gpus, _, each in types]
    limit = min(systems * each for systems, each in holders)
    noise = limit * (1 + 1e-9)
    return limit, frozenset(systems for systems, each in holders if systems * each <= noise)
