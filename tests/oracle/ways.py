"""How a job may run on a type, by the verifier's rates: share of rated power, a GPU's rate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.schema.catalog import Item, Precision
from planner.schema.job import Job
from planner.schema.problem import Problem
from planner.verifier.allowed import WEIGHT_BYTES
from planner.verifier.rates import (
    Pace,
    least_replicas,
    measured_rate,
    parameters_share,
    peak_tflops,
    set_point,
)
from tests.oracle import facility
from tests.oracle.facility import Catalog

__all__ = ["Way", "least_replicas", "least_share", "useful_tflops", "ways"]


@dataclass(frozen=True)
class Way:
    """A set point and a precision on one type, with a GPU's rate in a small job, TFLOP/s."""

    item: Item
    power_share: float
    tflops: float
    measured_at: int | None


def ways(item: Item, problem: Problem, catalog: Catalog) -> list[Way]:
    """Return every way of a type; none where nothing that is asked for is known of it."""
    job, found = problem.job, []
    for precision in job.training.precisions:
        if not _fits(item, job, precision):
            continue
        tflops, gpus = _rate(item, job, precision)
        for power, throughput in _points(item, job, precision, catalog):
            left = throughput * (1.0 if job.parallelism is None else job.parallelism.factor)
            found.append(Way(item, power, tflops * left, gpus))
    return found if least_replicas(item, job) is not None else []


def least_share(item: Item, problem: Problem, catalog: Catalog) -> float:
    """Return the least share of its rated power that a type may be provisioned for."""
    return min((way.power_share for way in ways(item, problem, catalog)), default=1.0)


def _points(
    item: Item, job: Job, precision: Precision, catalog: Catalog
) -> Iterator[tuple[float, float]]:
    """Yield (share of power, share of throughput) of every set point that is allowed."""
    caps: tuple[float, ...] = (1.0,)
    if job.power is not None and job.power.asked is not None:
        caps = job.power.asked
    elif job.power is not None:
        caps = (1.0, *{row.gpu_cap for row in item.power_points if row.gpu_cap < 1.0})
    for cap in caps:
        point = set_point(job, item, precision, cap, facility.power_kw(item, catalog))
        if point is not None:
            yield point.power, point.middle


def _rate(item: Item, job: Job, precision: Precision) -> tuple[float, int | None]:
    """Return a GPU's rate before the costs of scale and the GPUs it holds at; 0 where unknown."""
    if job.training.model is not None:
        row = measured_rate(item, job, precision)
        return (0.0, None) if row is None else (row.rate_tflops, row.gpus)
    peak = peak_tflops(item, precision) or 0.0
    return peak * (job.training.mfu or 1.0), job.training.scale_reference


def useful_tflops(way: Way, job: Job, gpus: int) -> float:
    """Return what a GPU does in a job of so many."""
    return way.tflops * Pace(1.0, 1.0, None, None, way.measured_at).scale(job, gpus)


def _fits(item: Item, job: Job, precision: Precision) -> bool:
    """Return whether a GPU's memory holds its part of the weights."""
    if job.parameters is None or job.parallelism is None or item.gpu.memory is None:
        return True
    need_gb = WEIGHT_BYTES[precision] * job.parameters * parameters_share(job) / 1e9
    return need_gb <= item.gpu.memory.value * (1.0 + 1e-8)
