"""Every GPU purchase that can be best, with every number of GPUs in use."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from planner.schema.catalog import Item
from planner.schema.problem import FailureRate, Job, Problem
from tests.oracle.candidates import Candidate, gpu_tflops
from tests.oracle.money import Array

LLAMA3_PER_GPU_DAY = 4.74e-4
"""419 interruptions in 54 days on 16,384 GPUs, the default of the problem file."""


@dataclass(frozen=True)
class Compute:
    """GPU systems bought, those in use, and what follows for the job."""

    bought: tuple[int, ...]
    gpus_used: int
    gpus_bought: int
    consumed: Array
    units: int
    tflops_per_gpu: float
    mtti_s: float
    client_write_gb_per_s: float
    client_read_gb_per_s: float


def choices(problem: Problem, systems: Sequence[Candidate]) -> Iterator[Compute]:
    """Yield every purchase and use of GPU systems worth looking at.

    Idle systems only consume (and raise a vendor rule's demand), and every cost, tie-breaker and
    limit grows with the count, so each count is the least allowed one that holds the use.
    """
    most_types = min(problem.job.gpus.max_types, len(systems))
    for size in range(1, most_types + 1):
        for types in combinations(range(len(systems)), size):
            for used, gpus, floor in _uses(problem.job, [systems[t] for t in types]):
                wanted = [0] * len(systems)
                for place, units in zip(types, floor, strict=True):
                    wanted[place] = units
                bought = [c.least(n) for c, n in zip(systems, wanted, strict=True)]
                if all(count is not None for count in bought) and _in_range(gpus, problem):
                    counts = tuple(count or 0 for count in bought)
                    yield _describe(problem, systems, counts, types, used, gpus)


def _gpus(item: Item) -> int:
    return 0 if item.provides.gpus is None else item.provides.gpus.value


def _uses(
    job: Job, systems: Sequence[Candidate]
) -> Iterator[tuple[tuple[int, ...], int, tuple[int, ...]]]:
    """Yield systems in use per type, GPUs in use, and the least systems bought per type."""
    most = [max(system.counts, default=0) for system in systems]
    sizes = [_gpus(system.item) for system in systems]
    if job.gpus.whole == "systems":
        for used in product(*(range(1, count + 1) for count in most)):
            yield used, sum(g * n for g, n in zip(sizes, used, strict=True)), used
        return
    if job.parallelism is None:
        raise ValueError("whole replicas need parallelism")
    replica = job.parallelism.replica_gpus
    # What is bought decides how few systems hold N when types differ in size, so buying more
    # than is used can change the use: enumerate the purchase itself.
    for owned in product(*(range(1, count + 1) for count in most)):
        if len(owned) == 1:
            last = range(max(replica, (owned[0] - 1) * sizes[0] + 1), owned[0] * sizes[0] + 1)
            for gpus in (n for n in last if n % replica == 0):
                yield owned, gpus, owned
            continue
        if any(o not in s.counts for o, s in zip(owned, systems, strict=True)):
            continue
        capacity = sum(g * n for g, n in zip(sizes, owned, strict=True))
        for gpus in range(replica, capacity + 1, replica):
            for used in _fewest(sizes, owned, gpus):
                yield used, gpus, owned


def _fewest(sizes: Sequence[int], owned: Sequence[int], gpus: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to hold ``gpus`` on the fewest systems, each type in use at least once.

    A way that leaves a type idle is a way of the smaller set of types, enumerated there.
    """
    left, fewest = gpus, 0
    for size, count in sorted(zip(sizes, owned, strict=True), reverse=True):
        taken = min(count, math.ceil(left / size))
        left, fewest = left - taken * size, fewest + taken
        if left <= 0:
            break
    for used in product(*(range(1, min(count, fewest) + 1) for count in owned)):
        holds = sum(g * n for g, n in zip(sizes, used, strict=True)) >= gpus
        if sum(used) == fewest and holds:
            yield used


def _in_range(gpus: int, problem: Problem) -> bool:
    job, targets = problem.job, problem.targets
    replica = 1 if job.parallelism is None else job.parallelism.replica_gpus
    least = max(replica, job.gpus.min or 1, targets.min_gpus or 1)
    return least <= gpus <= (math.inf if job.gpus.max is None else job.gpus.max)


def failures_per_gpu_day(item: Item, job: Job) -> float:
    """Return a type's failure rate: the problem's where it gives one, else the catalog's."""
    if isinstance(job.failures, FailureRate):
        return job.failures.per_gpu_day
    if "failures" in job.model_fields_set or item.gpu.failures_per_day is None:
        if job.failures != "llama3":
            raise ValueError("the oracle knows one preset")
        return LLAMA3_PER_GPU_DAY
    return item.gpu.failures_per_day.value


def _client_gb_per_s(problem: Problem, item: Item, direction: str) -> float:
    """Return what one system writes or reads, before the storage client's factor."""
    given: float | None = getattr(problem.storage.client_limit, direction)
    if given is not None:
        return given
    figure = getattr(item.client, direction)
    return float(_gpus(item)) if figure is None else float(figure.value)


def _clients_gb_per_s(
    problem: Problem, items: Sequence[Item], used: Sequence[int], direction: str
) -> float:
    job = problem.job
    who = job.checkpoint.writers if direction == "write" else job.restore.readers
    rates = [_client_gb_per_s(problem, item, direction) for item in items]
    if who == "all":
        return sum(n * rate for n, rate in zip(used, rates, strict=True))
    if job.parallelism is None:
        raise ValueError("one replica needs parallelism")
    replica = job.parallelism.replica_gpus
    pairs = zip(items, rates, strict=True)
    return min(math.ceil(replica / _gpus(item)) * rate for item, rate in pairs)


def _describe(
    problem: Problem,
    systems: Sequence[Candidate],
    bought: tuple[int, ...],
    types: Sequence[int],
    used: Sequence[int],
    gpus: int,
) -> Compute:
    items = [systems[t].item for t in types]
    rate = max(failures_per_gpu_day(item, problem.job) for item in items)
    pairs = list(zip(systems, bought, strict=True))
    consumed = sum((system.consumed[n] for system, n in pairs), np.zeros(5))
    return Compute(
        bought=bought,
        gpus_used=gpus,
        gpus_bought=sum(_gpus(system.item) * n for system, n in pairs),
        consumed=consumed,
        units=sum(bought),
        tflops_per_gpu=min(gpu_tflops(item, problem) or 0.0 for item in items),
        mtti_s=86_400.0 / (rate * gpus),
        client_write_gb_per_s=_clients_gb_per_s(problem, items, used, "write"),
        client_read_gb_per_s=_clients_gb_per_s(problem, items, used, "read"),
    )
