"""How a job may run on a type, worked out again: share of rated power, and a GPU's useful rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.schema.catalog import Item, Precision
from planner.schema.problem import Job, Problem
from planner.schema.running import Parallelism
from tests.oracle import facility
from tests.oracle.facility import Catalog


@dataclass(frozen=True)
class Way:
    """A set point and a precision on one type, with a GPU's rate in a small job, TFLOP/s."""

    item: Item
    power_share: float
    tflops: float
    measured_at: float | None


def ways(item: Item, problem: Problem, catalog: Catalog) -> list[Way]:
    """Return every way of a type; none where nothing that is asked for is known of it."""
    job, found = problem.job, []
    for precision in job.training.precisions:
        if not _fits(item, job, precision):
            continue
        for power, throughput in _points(item, job, precision, catalog):
            for tflops, gpus in _rates(item, job, precision):
                left = throughput * (1.0 if job.parallelism is None else job.parallelism.factor)
                found.append(Way(item, power, tflops * left, gpus))
    return found if least_replicas(item, job) is not None else []


def least_replicas(item: Item, job: Job) -> int | None:
    """Return the fewest replicas that hold the job's state, by trying; None where none do."""
    spread = job.parallelism
    if spread is None:
        return 1
    asked, memory = spread.memory, item.gpu.memory
    if asked is None or memory is None or job.parameters is None:
        return spread.min_replicas
    billions = parameters_held(job, spread) / 1e9
    for count in range(spread.min_replicas, 10_000):
        each = asked.held + asked.shared / count
        if each * billions + asked.activations_gb <= asked.usable * memory.value * (1.0 + 1e-12):
            return count
    return None


def parameters_held(job: Job, spread: Parallelism) -> float:
    """Return how many parameters a GPU of a replica holds, those in experts by themselves."""
    experts = spread.expert_parameters or 0.0
    others = (job.parameters or 0.0) - experts
    groups = spread.experts * (spread.expert_tensor or spread.tensor)
    return (others / spread.tensor + experts / groups) / spread.pipeline


def least_share(item: Item, problem: Problem, catalog: Catalog) -> float:
    """Return the least share of its rated power that a type may be provisioned for."""
    return min((way.power_share for way in ways(item, problem, catalog)), default=1.0)


def _points(
    item: Item, job: Job, precision: Precision, catalog: Catalog
) -> list[tuple[float, float]]:
    """Return (share of power, share of throughput) of every set point that is allowed."""
    if job.power is None:
        return [(1.0, 1.0)]
    own = [p for p in item.power_points if p.of == "training" and p.gpu_cap < 1.0]
    own = [p for p in own if p.precision is None or p.precision == precision]
    rows = [(p.gpu_cap, p.power, p.throughput, p.low, p.high) for p in own]
    if not rows:
        given = [p for p in job.power.curve if p.gpu_cap < 1.0]
        rows = [(p.gpu_cap, p.power, p.throughput, p.low, p.high) for p in given]
    rated_kw = facility.power_kw(item, catalog) or 0.0
    gpus = item.provides.gpus.value if item.provides.gpus else 0
    found = [(1.0, 1.0, 1.0)]
    for cap, power, middle, low, high in rows:
        if power is None:
            if item.gpu.tdp is None or rated_kw == 0.0:
                continue
            gpus_kw = min(rated_kw, item.gpu.tdp.value * gpus)
            power = 1.0 - gpus_kw * (1.0 - cap) / rated_kw
        read = {"low": low, "middle": middle, "high": high}[job.power.reading]
        found.append((cap, power, middle if read is None else read))
    asked = job.power.points
    if asked != "open":
        caps: Sequence[float] = asked if isinstance(asked, tuple) else (asked,)
        found = [row for row in found if any(math.isclose(row[0], cap) for cap in caps)]
    return [(power, throughput) for _, power, throughput in found]


def _rates(item: Item, job: Job, precision: Precision) -> list[tuple[float, float | None]]:
    """Return a GPU's rate before the costs of scale and the GPUs it holds at; 0 where unknown."""
    if job.training.model is not None:
        rows = [r for r in item.achieved if r.model == job.training.model]
        rows = sorted(
            (r for r in rows if r.precision == precision), key=lambda r: (-r.gpus, r.rate_tflops)
        )
        return [(r.rate_tflops, float(r.gpus)) for r in rows[:1]] or [(0.0, None)]
    figure = {"bf16": item.gpu.bf16_dense, "fp8": item.gpu.fp8_dense}[precision]
    scale = job.training.scale
    at = None if scale is None or scale.reference is None else float(scale.reference)
    return [(0.0 if figure is None else figure.value * (job.training.mfu or 1.0), at)]


def useful_tflops(way: Way, job: Job, gpus: int) -> float:
    """Return what a GPU does in a job of so many."""
    if job.training.scale is None:
        return way.tflops
    there = 1.0 if way.measured_at is None else _left(job, way.measured_at)
    return way.tflops * _left(job, gpus) / there


def _left(job: Job, gpus: float) -> float:
    law = job.training.scale
    assert law is not None
    if law.exponent is not None:
        return math.exp(-law.exponent * math.log(gpus))
    if law.micro_batches is not None:
        assert job.parallelism is not None
        stages = job.parallelism.pipeline
        copies = Fraction(int(gpus), stages * job.parallelism.tensor * job.parallelism.context)
        each = max(1, math.floor(law.micro_batches / copies))  # all take as many in a step
        return each / (each + (stages - 1) / law.interleave)
    rows = [(math.log(row.gpus), math.log(row.share)) for row in law.table or ()]
    at = math.log(gpus)
    if at <= rows[0][0]:
        return math.exp(rows[0][1])
    for place in range(len(rows) - 1):
        (x, y), (u, v) = rows[place], rows[place + 1]
        if at <= u or place == len(rows) - 2:
            return math.exp(y + (v - y) * (at - x) / (u - x))
    raise AssertionError("a table has two rows")


def _fits(item: Item, job: Job, precision: Precision) -> bool:
    """Return whether a GPU's memory holds its part of the weights."""
    if job.parameters is None or job.parallelism is None or item.gpu.memory is None:
        return True
    each = {"bf16": 2.0, "fp8": 1.0, "nvfp4": 0.5}[precision]
    need_gb = each * parameters_held(job, job.parallelism) / 1e9
    return need_gb <= item.gpu.memory.value * (1.0 + 1e-8)
