"""How a job may run on a type, by the verifier's rates: share of rated power, a GPU's rate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from planner.schema.catalog import Item, Precision
from planner.schema.job import Job
from planner.verifier.basis import Basis
from planner.verifier.physics import (
    DAY_S,
    States,
    least_replicas,
    measured_rate,
    peak_tflops,
    replicas_running,
    scale_share,
    set_point,
    tensor_gpus,
    usable_gpus,
    waiting_share,
)

WEIGHT_BYTES = {"bf16": 2.0, "fp8": 1.0, "nvfp4": 0.5}
__all__ = ["Way", "least_replicas", "useful_tflops", "ways"]


@dataclass(frozen=True)
class Way:
    """A set point and a precision on one type, with a GPU's rate in a small job, TFLOP/s."""

    item: Item
    power_share: float
    tflops: float
    measured_at: int | None


def ways(item: Item, basis: Basis) -> list[Way]:
    """Return every way of a type; none where nothing that is asked for is known of it."""
    job, found = basis.job, []
    for precision in job.training.precisions:
        if not _fits(item, job, precision):
            continue
        tflops, gpus = _rate(item, job, precision)
        for power, throughput in _points(item, precision, basis):
            left = throughput * (1.0 if job.parallelism is None else job.parallelism.factor)
            found.append(Way(item, power, tflops * left, gpus))
    return found if least_replicas(item, job) is not None else []


def _points(item: Item, precision: Precision, basis: Basis) -> Iterator[tuple[float, float]]:
    """Yield (share of power, share of throughput) of every set point that is allowed."""
    caps: tuple[float, ...] = (1.0,)
    job = basis.job
    if job.power is not None and job.power.allowed_caps is not None:
        caps = job.power.allowed_caps
    elif job.power is not None:
        caps = (1.0, *{row.gpu_cap for row in item.power_points if row.gpu_cap < 1.0})
    for cap in caps:
        point = set_point(item, precision, cap, basis.rated_kw(item))
        if point is not None:
            yield point[:2]


def _rate(item: Item, job: Job, precision: Precision) -> tuple[float, int | None]:
    """Return a GPU's rate before the costs of scale and the GPUs it holds at; 0 where unknown."""
    if job.training.model is not None:
        return measured_rate(item, job, precision) or (0.0, None)
    peak = peak_tflops(item, precision) or 0.0
    return peak * (job.training.mfu or 1.0), job.training.scale_reference


def useful_tflops(way: Way, job: Job, gpus: int) -> float:
    """Return what a GPU does in a job of so many."""
    return way.tflops * scale_share(job, gpus, way.measured_at)


def _fits(item: Item, job: Job, precision: Precision) -> bool:
    """Return whether a GPU's memory holds its part of the weights."""
    if job.parameters is None or job.parallelism is None or item.gpu.memory is None:
        return True
    need_gb = WEIGHT_BYTES[precision] * job.parallelism.parameters_per_gpu(job.parameters) / 1e9
    return need_gb <= item.gpu.memory.value * (1.0 + 1e-8)


# Repairs.


def unit_of(item: Item, job: Job) -> int:
    """Return the GPUs of a spare unit."""
    assert item.provides.gpus is not None
    tray = job.repair is not None and job.repair.unit == "tray" and item.spare_unit is not None
    return item.spare_unit.tray.value if tray and item.spare_unit else item.provides.gpus.value


def is_pooled(item: Item, job: Job) -> bool:
    """Return whether any spare unit can take the place of any other."""
    assert item.provides.gpus is not None
    unit = unit_of(item, job)
    return unit == item.provides.gpus.value or unit % tensor_gpus(job) == 0


@dataclass(frozen=True)
class Mended:
    """Share of time waiting for repairs; the states of a job that goes on with fewer replicas."""

    waits: float = 0.0
    states: States | None = None


def mended(job: Job, item: Item, bought: int, used: int, gpus: int, rate: float) -> Mended | None:
    """Return what repairs leave of a job with one GPU type, None where it may not run so.

    Args:
        job: with or without a repair.
        item: the GPU system in use.
        bought: systems in the cluster.
        used: systems in use.
        gpus: GPUs in use.
        rate: interruptions per GPU and day.
    """
    repair = job.repair
    if repair is None:
        return Mended()
    assert item.provides.gpus is not None
    usable, unit = usable_gpus(job, item), unit_of(item, job)
    share, swap_s, each = repair.share, repair.swap_s, item.provides.gpus.value // unit
    load = rate * gpus / DAY_S * share * repair.time_s
    if swap_s > 0.0 and not _provable(share, swap_s * rate * gpus / DAY_S):
        return None
    if not is_pooled(item, job):
        one = waiting_share(each - math.ceil(usable / unit), load * usable / gpus)
        odds = gpus / usable * one / (1.0 - one)
        return Mended(odds / (1.0 + odds))
    left = bought - used if each == 1 else bought * each - math.ceil(gpus / unit)
    if isinstance(repair.spares, int):
        left = repair.spares if left >= repair.spares else -1
    if left < 0:
        return None
    if repair.when_short == "wait":
        return Mended(waiting_share(left, load))
    assert job.parallelism is not None
    holds, size = usable if each == 1 else unit, job.parallelism.replica_gpus
    replicas = (least_replicas(item, job) or 1, gpus // size)
    running = replicas_running(math.ceil(gpus / holds) + left, holds / size, replicas)
    return Mended(0.0, States.balanced(running, load * size * replicas[1] / gpus, repair.time_s))


def _provable(share: float, swaps: float) -> bool:
    """Say whether the logarithm of what swaps keep bends down here, by its second difference."""

    def log_kept(x: float) -> float:
        return math.log(1.0 - share + share * math.exp(-swaps * math.exp(x)))

    step = 1e-3
    return log_kept(step) + log_kept(-step) - 2.0 * log_kept(0.0) <= 1e-12


def spares_can_be_counted(item: Item, job: Job) -> bool:
    """Say whether so many spares as the job asks for, or fewer replicas, mean something of a GPU
    system."""
    repair = job.repair
    if repair is None or (repair.spares == "open" and repair.when_short == "wait"):
        return True
    return is_pooled(item, job)
