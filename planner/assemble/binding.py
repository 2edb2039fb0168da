"""Which limits bind: one unit more of what is wanted, or one less of what is bought, breaks it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from planner.case import Case, System
from planner.optimizer import operate, purchase
from planner.optimizer.operate import Operation


def binding(case: Case, operation: Operation) -> frozenset[str]:
    """Return the names of the limits that hold the plan where it is.

    Power, space and money bind where they leave no room for more GPUs of a type in use, if more is
    better: for one more system, or as many as another replica takes. What storage and GPUs must
    reach binds where one unit less of something bought would miss it.
    """
    names = set(_missed(case, operation))
    if case.maximise:
        names |= set(_exceeded(case, operation))
    return frozenset(names)


def _exceeded(case: Case, operation: Operation) -> Iterator[str]:
    for system in case.systems:
        if system.id not in operation.used:
            continue
        count = operation.units[system.id] + systems_of_a_step(case, operation, system)
        if system.high is not None and count > system.high:
            continue
        yield from purchase.broken_rows(case, {**operation.units, system.id: count})


def systems_of_a_step(case: Case, operation: Operation, system: System) -> int:
    """Return how many more systems of a type let the job use more GPUs of it."""
    units = operation.units[system.id]
    now = case.job.most_gpus(system, operate.most_in_use(case, units))
    more = 1
    while case.job.most_gpus(system, operate.most_in_use(case, units + more)) <= now:
        more += 1
    return more


def _missed(case: Case, operation: Operation) -> Iterator[str]:
    loose = _without_limits(case)
    for offer in case.offers():
        count = operation.units[offer.id] - 1
        if count < offer.low or count < 0:
            continue
        units = {**operation.units, offer.id: count}
        used = {key: min(number, units[key]) for key, number in operation.used.items()}
        used = {key: number for key, number in used.items() if number}
        gpus = sum(case.job.most_gpus(s, used.get(s.id, 0)) for s in case.systems)
        yield from purchase.broken_rows(case, units)
        run = operate.operate(loose, operation.mode, units, used, min(gpus, operation.gpus))
        if run is not None:
            yield from _broken(case, run)


def _without_limits(case: Case) -> Case:
    """Return the case without the limits that ``operate`` enforces, so that misses can be seen.

    A free interval adapts to storage, so the overlap it allows stays as it is.
    """
    job = replace(case.job, max_restore_s=None, ingest_per_gpu_gb_per_s=0.0, gpus_min=1)
    if job.interval.policy != "optimal":
        job = replace(job, max_overlap=1.0, max_blocking=0.99)
    return replace(case, job=job)


def _broken(case: Case, run: Operation) -> Iterator[str]:
    job, limits = case.job, case.limits
    transfer_s = job.checkpoint_gb / run.write_gb_per_s
    pflops = run.useful_pflops(job.mfu or 0.0)
    days = case.useful_pflops_floor() if limits.max_days_to_train is not None else None
    floors = (
        ("replica_fits", job.replica_gpus, run.gpus),
        ("min_gpus", limits.min_gpus, run.gpus),
        ("gpus_min", job.gpus_min if job.gpus_min > (job.replica_gpus or 1) else None, run.gpus),
        ("min_goodput", limits.min_goodput, run.goodput),
        ("min_useful_gpus", limits.min_useful_gpus, run.useful_gpus),
        ("min_useful_pflops", limits.min_useful_pflops, pflops),
        ("max_days_to_train", days, pflops),
    )
    yield from (name for name, floor, value in floors if floor is not None and value < floor)
    ceilings = (
        ("restore_time", job.max_restore_s, run.restore_s),
        ("ingest", run.read_gb_per_s, run.gpus * job.ingest_per_gpu_gb_per_s),
        ("overlap", job.max_overlap if run.mode == "async" else None, transfer_s / run.interval_s),
        (
            "blocking",
            job.max_blocking if run.mode == "sync" else None,
            run.stall_s / run.interval_s,
        ),
    )
    over = 1 + operate.TOLERANCE
    yield from (name for name, most, value in ceilings if most is not None and value > most * over)
