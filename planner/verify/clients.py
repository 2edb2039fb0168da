"""What the GPU systems can write and read as storage clients, and how many of them do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from planner.schema.catalog import Item
from planner.schema.plan import JobPlan
from planner.schema.problem import Job
from planner.verify.basis import Basis
from planner.verify.decisions import Decisions
from planner.verify.ledger import Ledger

# One buffered thread per GPU: 8 GB/s with 8 threads on 8 GPUs (S. Kartik and C. Tartow, VAST Data,
# "A Checkpoint on Checkpoints in LLMs", 2024-01-10).
_DEFAULT_GB_PER_S_PER_GPU = 1.0


@dataclass(frozen=True)
class Clients:
    """The client limits in GB/s, and how many systems may be said to write and to read."""

    write_gb_per_s: float
    read_gb_per_s: float
    writing_systems: frozenset[int]
    reading_systems: frozenset[int]


@dataclass(frozen=True)
class _Type:
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
        ledger: takes the disagreements.
        basis: the problem and the catalogs.
        decisions: what the plan decided.
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
    return write + abs(clients.read_gb_per_s - stated.client_read_limit_gb_per_s)


def _describe(basis: Basis, decisions: Decisions, sku: str) -> _Type:
    item = basis.items[sku]
    gpus = 0 if item.provides.gpus is None else item.provides.gpus.value
    given = basis.problem.storage.client_limit
    write = _per_system(given.write, item, "write", gpus)
    read = _per_system(given.read, item, "read", gpus)
    write_factor, read_factor = _client_factors(basis, decisions)
    usable = usable_gpus(basis.problem.job, gpus)
    return _Type(usable, decisions.counts[sku], write * write_factor, read * read_factor)


def replica_gpus(job: Job) -> int | None:
    """Return the GPUs of a replica where only whole replicas may run, else None."""
    if job.parallelism is None or job.gpus.whole == "systems":
        return None
    return job.parallelism.tensor * job.parallelism.pipeline


def usable_gpus(job: Job, gpus: int) -> int:
    """Return the GPUs of a system of so many that the job can use.

    Whole replicas where one fits into the system, which is an NVLink domain, else whole tensor
    groups; whole systems where replicas do not matter.
    """
    most = gpus if job.gpus.per_system is None else min(gpus, job.gpus.per_system)
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
        basis, [(t.gpus, used, t.write_gb_per_s) for t, used in zip(types, split, strict=True)],
        job.checkpoint.writers == "one_replica",
    )  # fmt: skip
    read, reading = _side(
        basis, [(t.gpus, used, t.read_gb_per_s) for t, used in zip(types, split, strict=True)],
        job.restore.readers == "one_replica",
    )  # fmt: skip
    return Clients(write, read, writing, reading)


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
