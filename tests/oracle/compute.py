"""Every GPU purchase that can be best, with every number of GPUs in use."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from planner.schema.catalog import Item
from planner.schema.job import Job
from planner.schema.problem import Problem
from planner.verifier.job import failure_rate
from planner.verifier.physics import gpus_of, usable_gpus
from tests.oracle.candidates import Candidate, flops_needed
from tests.oracle.facility import design
from tests.oracle.money import RESOURCES, Array, Market, within
from tests.oracle.ways import (
    Mended,
    Way,
    is_pooled,
    least_replicas,
    mended,
    useful_tflops,
    ways,
)


@dataclass(frozen=True)
class Compute:
    """GPU systems bought, those in use, and what follows for the job."""

    bought: tuple[int, ...]
    gpus_used: int
    gpus_bought: int
    consumed: Array
    units: int
    useful_tflops: float
    mtti_s: float
    client_write_gb_per_s: float
    client_read_gb_per_s: float
    items: tuple[Item, ...]
    mended: Mended


def choices(market: Market, systems: Sequence[Candidate]) -> Iterator[Compute]:
    """Yield every purchase of GPU systems with every use of it."""
    known = [ways(system.item, market.basis) for system in systems]
    if flops_needed(market.problem):
        known = [[way for way in every if way.tflops > 0.0] for every in known]
    for bought, types, used, gpus in _purchases(market, systems):
        if _in_range(gpus, market.problem):
            for chosen in product(*(known[t] for t in types)):
                if not all(_enough(way, market.problem.job, gpus) for way in chosen):
                    continue
                found = _describe(market.problem, systems, bought, types, used, gpus, chosen)
                if found is not None:
                    yield found


_Purchase = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]
"""Systems bought of each kind, the kinds in use, systems in use of each of them, GPUs in use."""


def _purchases(market: Market, systems: Sequence[Candidate]) -> Iterator[_Purchase]:
    limits, job = market.limits(), market.problem.job
    kinds = list(_types(market, systems))
    for bought in product(*(system.counts for system in systems)):
        consumed = sum((s.consumed[n] for s, n in zip(systems, bought, strict=True)), _nothing())
        for system, n in zip(systems, bought, strict=True):
            spared = [table[n] for table in system.spared.values()]
            consumed = consumed - np.maximum.reduce([_nothing(), *spared])
        if not within(consumed, limits):
            continue
        for types in kinds:
            owned = [bought[t] for t in types]
            for used, gpus in _uses(job, [systems[t] for t in types], owned):
                if all(n <= o for n, o in zip(used, owned, strict=True)):
                    yield bought, types, used, gpus


def _types(market: Market, systems: Sequence[Candidate]) -> Iterator[tuple[int, ...]]:
    """Yield the sets of GPU types that a job can use together: those on one fabric."""
    wanted = market.problem.network.compute
    for size in range(1, min(market.problem.job.gpus.max_types, len(systems)) + 1):
        for types in combinations(range(len(systems)), size):
            items = [systems[t].item for t in types]
            if wanted is None:
                yield types
                continue
            designs = {design(item, market.basis) for item in items}
            if {each.switch for each in designs if each} == {wanted.switches[0]}:
                if len(designs) == 1:
                    yield types


def _nothing() -> Array:
    return np.zeros(RESOURCES)


def _uses(
    job: Job, systems: Sequence[Candidate], most: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield systems in use per type and GPUs in use, of at most so many systems."""
    sizes = [usable_gpus(job, system.item) for system in systems]
    if job.parallelism is None or job.gpus.whole == "systems":
        for used in product(*(range(1, count + 1) for count in most)):
            yield used, sum(g * n for g, n in zip(sizes, used, strict=True))
        return
    replica = job.parallelism.replica_gpus
    if 0 in sizes:
        return
    held = [range(1, n * size // replica + 1) for size, n in zip(sizes, most, strict=True)]
    for replicas in product(*held):
        pairs = zip(replicas, sizes, strict=True)
        used = tuple(math.ceil(count * replica / size) for count, size in pairs)
        yield used, sum(replicas) * replica


def uses(job: Job, items: Sequence[Item]) -> list[Job]:
    """Return the job for each number of GPUs of one system that it may use, where it says none.

    Of systems whose trays a tensor group spans: trays that are left over in each are its spares.
    """
    found, given = [job], job.gpus.per_system
    asked = dict(given) if isinstance(given, dict) else {}
    if job.repair is None or job.repair.unit != "tray" or isinstance(given, int):
        return found
    for item in items:
        if item.spare_unit is None or item.id in asked or is_pooled(item, job):
            continue
        known = {usable_gpus(job, item)}
        for most in range(gpus_of(item) - 1, 0, -1):
            gpus = job.gpus.model_copy(update={"per_system": {**asked, item.id: most}})
            one = job.model_copy(update={"gpus": gpus})
            if job.parallelism is None or most < job.parallelism.tensor:
                break
            if usable_gpus(one, item) not in known:
                known.add(usable_gpus(one, item))
                found.append(one)
    return found


def _enough(way: Way, job: Job, gpus: int) -> bool:
    """Return whether so many GPUs hold the least replicas of the way."""
    replica = 1 if job.parallelism is None else job.parallelism.replica_gpus
    return gpus >= replica * (least_replicas(way.item, job) or 1)


def _in_range(gpus: int, problem: Problem) -> bool:
    job = problem.job
    replica = 1 if job.parallelism is None else job.parallelism.replica_gpus
    least = max(replica, job.gpus.min or 1)
    return least <= gpus <= (math.inf if job.gpus.max is None else job.gpus.max)


def _client_gb_per_s(problem: Problem, item: Item, direction: str) -> float:
    """Return what one system writes or reads, before the storage client's factor."""
    given: float | None = getattr(problem.storage.client_limit, direction)
    if given is not None:
        return given
    figure = getattr(item.client, direction)
    return float(gpus_of(item)) if figure is None else float(figure.value)


def _clients_gb_per_s(
    problem: Problem, items: Sequence[Item], used: Sequence[int], what: str
) -> float:
    """Return what the systems write or read."""
    job = problem.job
    rates = [_client_gb_per_s(problem, item, what) for item in items]
    if what == "read" or job.checkpoint.writers == "all":
        return sum(n * rate for n, rate in zip(used, rates, strict=True))
    if job.parallelism is None:
        raise ValueError("one replica needs parallelism")
    replica = job.parallelism.replica_gpus
    pairs = [(usable_gpus(job, item), r) for item, r in zip(items, rates, strict=True)]
    return min(math.ceil(replica / gpus) * rate for gpus, rate in pairs)


def _describe(
    problem: Problem,
    systems: Sequence[Candidate],
    bought: tuple[int, ...],
    types: Sequence[int],
    used: Sequence[int],
    gpus: int,
    chosen: Sequence[Way],
) -> Compute | None:
    items = [systems[t].item for t in types]
    rate = failure_rate(problem.job, items)
    pairs = list(zip(systems, bought, strict=True))
    consumed = sum((system.consumed[n] for system, n in pairs), _nothing())
    for place, way in zip(types, chosen, strict=True):
        if way.power_share != 1.0:
            consumed = consumed - systems[place].spared[way.power_share][bought[place]]
    repairs = mended(problem.job, items[0], bought[types[0]], used[0], gpus, rate)
    if repairs is None:
        return None
    return Compute(
        bought=bought,
        gpus_used=gpus,
        gpus_bought=sum(gpus_of(system.item) * n for system, n in pairs),
        consumed=consumed,
        units=sum(bought),
        useful_tflops=min(useful_tflops(way, problem.job, gpus) for way in chosen),
        mtti_s=86_400.0 / (rate * gpus),
        client_write_gb_per_s=_clients_gb_per_s(problem, items, used, "write"),
        client_read_gb_per_s=_clients_gb_per_s(problem, items, used, "read"),
        items=tuple(items),
        mended=repairs,
    )
