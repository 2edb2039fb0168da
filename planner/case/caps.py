"""How many units of one item the limits allow by themselves: bounds that keep the model tight."""

from __future__ import annotations

import math

from planner.case.goods import SUMS
from planner.case.model import Case, Offer, Storage, System
from planner.case.quantities import ROUNDING

UNLIMITED_UNITS = 20_000
"""At least so many may be bought where no limit holds an item back; more where demands ask."""
GENEROUS = 4.0
"""How many times a demand an item that no limit holds back may cover alone."""


def cap(case: Case, offer: Offer) -> int:
    """Return the most units of ``offer`` that any plan can hold, idle ones included."""
    bounds = [math.inf if offer.high is None else float(offer.high)]
    limits = case.limits
    if limits.racks is not None and offer.rack_use is not None:
        use = offer.rack_use
        bounds.append(limits.racks // use.racks_each * use.per_rack)
    bounds += _by_sums(case, offer)
    if isinstance(offer, Storage):
        bounds += _by_write(case, offer)
    if isinstance(offer, Storage) and offer.segments:
        bounds.append(offer.segments[-1].high)
    least = min(bounds)
    if math.isinf(least):
        return unlimited(case, offer)
    return math.floor(least * (1 + ROUNDING) + ROUNDING)


def cap_in_use(case: Case, system: System) -> int:
    """Return the most systems that any plan needs for the job: those in use and hot spares."""
    most = cap(case, system)
    if case.job.gpus_max is None:
        return most
    needed = math.ceil(case.job.gpus_max / system.usable_gpus)
    return min(most, max(needed + case.job.hot(needed), system.low, system.min_units))


def unlimited(case: Case, offer: Offer) -> int:
    """Return how many units the model allows where no limit holds ``offer`` back.

    Several times what any demand could ask of this item alone. A plan that reaches it is a sign
    that nothing bounds the problem.
    """
    demands = [0.0, float(offer.low), float(offer.min_units)]
    job, limits = case.job, case.limits
    if isinstance(offer, System):
        gpus = [float(job.gpus_min), limits.min_useful_gpus or 0.0]
        if offer.tflops_per_gpu > 0 and job.mfu:
            gpus.append(
                (case.useful_pflops_floor() or 0.0) * 1000.0 / offer.tflops_per_gpu / job.mfu
            )
        demands += [count / offer.usable_gpus for count in gpus]
    if isinstance(offer, Storage):
        demands += _storage_demands(case, offer)
    return max(UNLIMITED_UNITS, math.ceil(GENEROUS * max(demands)))


def _storage_demands(case: Case, offer: Storage) -> list[float]:
    job = case.job
    per_gpus = job.gpus_min / case.rule.per_gpus if case.rule else 0.0
    read = [per_gpus * case.rule.read_gb_per_s if case.rule else 0.0]
    read.append(job.gpus_min * job.ingest_per_gpu_gb_per_s / case.delivered_read)
    if job.max_restore_s is not None:
        a, c = job.fan_out_terms()
        once = job.checkpoint_gb / job.max_restore_s / case.delivered_read
        read.append((a + c * job.gpus_min) * once)
    write = [per_gpus * case.rule.write_gb_per_s if case.rule else 0.0]
    if job.interval.high_s > 0:
        share = min(job.max_overlap, job.max_blocking)
        write.append(job.checkpoint_gb / (share * job.interval.high_s) / case.delivered_write)
    write.append((case.limits.least_write_gb_per_s or 0.0) / case.delivered_write)
    demands = [(job.capacity_needed_tb, offer.usable_tb)]
    demands += [(need, offer.read_gb_per_s) for need in read]
    demands += [(need, offer.write_gb_per_s) for need in write]
    return [need / each for need, each in demands if each > 0]


def _by_write(case: Case, offer: Storage) -> list[float]:
    """Return how many units the most write bandwidth that may be bought allows."""
    most, each = case.limits.most_write_gb_per_s, case.delivered_write * offer.write_gb_per_s
    return [] if most is None or offer.segments or each <= 0 else [most / each]


def _by_sums(case: Case, offer: Offer) -> list[float]:
    """Return how many units each limit on a sum over the bill allows of this item alone.

    What is owned takes nothing of a sum over what is bought.
    """
    bounds = []
    for figure, parts in SUMS.items():
        limit = getattr(case.limits, figure)
        each = sum(part.each(offer, case.rates) or 0.0 for part in parts)
        if limit is not None and each > 0:
            owned = offer.installed if any(part.bought for part in parts) else 0
            bounds.append(owned + limit / each)
    return bounds
