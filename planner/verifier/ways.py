"""The way in which the job runs on each type: set point, precision and rate, looked up again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from planner.schema.catalog import Achieved, Item
from planner.schema.plan import JobPlan, Plan, WayPlan
from planner.schema.problem import Job
from planner.schema.running import Parallelism, Scale
from planner.verifier.basis import Basis, Ledger, at_least

_SAME_CAP = 1e-9


class Pace(NamedTuple):
    """How fast the GPUs of one type are: the rate before anything is lost, and what is left of it.

    ``tflops`` is the peak where it is known, ``mfu`` the share of it; ``holds_at`` the GPUs at
    which that was found, None where the rate is one without the costs of scale.
    """

    power_share: float
    throughput: float
    tflops: float | None
    mfu: float | None
    holds_at: int | None

    def useful_tflops(self, job: Job, gpus: int) -> float | None:
        """Return what a GPU does in a job of so many, TFLOP/s, None where that is not known."""
        if self.tflops is None or self.mfu is None:
            return None
        return self.tflops * self.mfu * self.throughput * self.scale_share(job, gpus)

    def scale_share(self, job: Job, gpus: int) -> float:
        """Return what the law of scale leaves of the rate in a job of so many GPUs."""
        law = job.training.scale
        if law is None:
            return 1.0
        if law.exponent is not None:
            return float((gpus / (self.holds_at or 1)) ** -law.exponent)
        there = 1.0 if self.holds_at is None else _left(law, job, self.holds_at)
        return _left(law, job, gpus) / there


def check_ways(
    ledger: Ledger, basis: Basis, stated: JobPlan, *, open_spread: bool
) -> Mapping[str, Pace]:
    """Return the pace of each type in use by identifier; compare all that the plan says of it.

    Args:
        stated: the job of the plan, whose types are in the catalogs.
        open_spread: whether the problem gives several options to spread a replica.
    """
    job = basis.problem.job
    spread = open_spread or any(option != _degrees(option) for option in job.options)
    levers = (job.power, job.training.model, job.training.scale)
    if not any(levers) and not spread:
        ledger.equal("jobs.ways", stated.ways, ())
        return as_sold(basis, stated.gpu_types)
    ledger.equal("jobs.ways", sorted(w.gpu_type for w in stated.ways), sorted(stated.gpu_types))
    found = {}
    for way in stated.ways:
        item = basis.items.get(way.gpu_type)
        if item is not None and way.gpu_type in stated.gpu_types:
            found[way.gpu_type] = _check_way(ledger, basis, item, way)
    _check_least(ledger, basis, stated)
    return {**as_sold(basis, stated.gpu_types), **found}


def with_option(ledger: Ledger, basis: Basis, plan: Plan) -> Basis:
    """Return what a plan is judged by where its replica is spread as it says."""
    job = basis.problem.job
    if len(job.options) < 2 or not plan.jobs:
        return basis
    said = {_spread_of(way) for way in plan.jobs[0].ways}
    for option in job.options:
        if said == {_spread_of(option)}:
            jobs = (job.model_copy(update={"parallelisms": option}),)
            return replace(basis, problem=basis.problem.model_copy(update={"jobs": jobs}))
    ledger.fail(f"jobs.ways: no option of the problem spreads a replica as {sorted(said, key=str)}")
    return basis


def _spread_of(said: WayPlan | Parallelism) -> tuple[int | None, ...]:
    """Return the degrees of an option, or those that a plan says."""
    inside = said.experts, said.expert_tensor or said.tensor
    if said.experts == 1 and (isinstance(said, WayPlan) or said.expert_parameters is None):
        inside = 1, said.tensor
    return said.tensor, said.pipeline, said.context, *inside


def gpus_of_replica(option: Parallelism) -> int:
    """Return the GPUs of one replica: whole groups that hold what is in experts and what is not."""
    stage = option.tensor * option.context
    group = option.experts * (option.expert_tensor or option.tensor)
    if option.expert_parameters is None:
        group = 1
    return option.pipeline * (stage * group // math.gcd(stage, group))


def share_per_gpu(job: Job) -> float:
    """Return the share of the parameters that one GPU of a replica holds."""
    option = job.parallelism
    if option is None:
        return 1.0
    stages = option.tensor * option.pipeline
    if option.expert_parameters is None or not job.parameters:
        return 1.0 / stages
    inside = option.expert_parameters / job.parameters
    over = option.experts * (option.expert_tensor or option.tensor) * option.pipeline
    return (1.0 - inside) / stages + inside / over


def _degrees(option: Parallelism) -> Parallelism:
    """Return an option that says nothing but degrees."""
    return Parallelism(tensor=option.tensor, pipeline=option.pipeline, context=option.context)


def as_sold(basis: Basis, types: tuple[str, ...]) -> Mapping[str, Pace]:
    """Return the pace of each type at full power, at the peak of the first precision."""
    training = basis.problem.job.training
    peaks = {sku: _peak(basis.items[sku], training.precisions[0]) for sku in types}
    at = training.scale_reference
    return {sku: Pace(1.0, 1.0, peak, training.mfu, at) for sku, peak in peaks.items()}


def _check_way(ledger: Ledger, basis: Basis, item: Item, way: WayPlan) -> Pace:
    name, job = f"jobs.ways.{item.id}", basis.problem.job
    rated_kw = basis.unit_it_power_kw(item)
    ledger.same(f"{name}.rated_it_power_kw", way.rated_it_power_kw, rated_kw)
    tdp = item.gpu.tdp
    limit_w = None if tdp is None else tdp.value * 1000 * way.gpu_cap
    ledger.same(f"{name}.gpu_limit_w", way.gpu_limit_w, limit_w)
    if way.precision not in job.training.precisions:
        ledger.fail(f"{name}.precision: {way.precision} is not asked for")
    share, throughput = _check_point(ledger, basis, item, way)
    throughput *= _check_spread(ledger, basis, item, way)
    row = _slowest_of_most_gpus(item, job, way)
    ledger.same(f"{name}.rate_tflops", way.rate_tflops, None if row is None else row.rate_tflops)
    ledger.same(f"{name}.rate_gpus", way.rate_gpus, None if row is None else row.gpus)
    peak = _peak(item, way.precision)
    if job.training.model is None:
        return Pace(share, throughput, peak, job.training.mfu, job.training.scale_reference)
    if row is None:
        return Pace(share, throughput, None, 1.0, None)
    if peak is None:
        return Pace(share, throughput, row.rate_tflops, 1.0, row.gpus)
    return Pace(share, throughput, peak, row.rate_tflops / peak, row.gpus)


def _check_point(ledger: Ledger, basis: Basis, item: Item, way: WayPlan) -> tuple[float, float]:
    """Return the share of power and of throughput at the cap that the plan states."""
    name, asked = f"jobs.ways.{item.id}", basis.problem.job.power
    caps = (1.0,) if asked is None else asked.asked
    if caps is not None and not any(abs(way.gpu_cap - cap) < _SAME_CAP for cap in caps):
        ledger.fail(f"{name}.gpu_cap: {way.gpu_cap:g} is not asked for")
    share, throughput, low, high = 1.0, 1.0, 1.0, 1.0
    if way.gpu_cap < 1.0:
        found = _on_the_curve(basis, item, way)
        if found is None:
            ledger.fail(f"{name}.gpu_cap: no curve has a point at {way.gpu_cap:g}")
            return way.power_share, way.throughput
        share, throughput, low, high = found
    ledger.same(f"{name}.power_share", way.power_share, share)
    ledger.same(f"{name}.throughput_low", way.throughput_low, low)
    ledger.same(f"{name}.throughput_high", way.throughput_high, high)
    reading = "middle" if asked is None else asked.reading
    read = {"low": low, "middle": throughput, "high": high}[reading]
    ledger.same(f"{name}.throughput", way.throughput, read)
    return share, read


def _check_spread(ledger: Ledger, basis: Basis, item: Item, way: WayPlan) -> float:
    """Return what the spread of a replica leaves of the rate; compare it and the least replicas."""
    name, job = f"jobs.ways.{item.id}", basis.problem.job
    option = job.parallelism
    if option is None:
        ledger.equal(f"{name}.tensor", way.tensor, None)
        return 1.0
    ledger.equal(f"{name}.tensor", way.tensor, option.tensor)
    ledger.equal(f"{name}.pipeline", way.pipeline, option.pipeline)
    ledger.equal(f"{name}.context", way.context, option.context)
    ledger.equal(f"{name}.experts", way.experts, option.experts)
    ledger.equal(f"{name}.expert_tensor", way.expert_tensor, option.expert_tensor)
    ledger.same(f"{name}.expert_parameters", way.expert_parameters, option.expert_parameters)
    ledger.same(f"{name}.option_factor", way.option_factor, option.factor)
    least = least_replicas(item, job, option)
    if least is None:
        ledger.fail(f"{name}: the memory of its GPUs does not hold a replica")
        return option.factor
    ledger.equal(f"{name}.min_replicas", way.min_replicas, least)
    return option.factor


def least_replicas(item: Item, job: Job, option: Parallelism) -> int | None:
    """Return the fewest replicas whose memory holds what they share, None where none does."""
    least, asked, memory = option.min_replicas, option.memory, item.gpu.memory
    if asked is None or memory is None or job.parameters is None:
        return least
    each = job.parameters * share_per_gpu(job.spread(option)) / 1e9
    room_gb = memory.value * asked.usable - asked.activations_gb - each * asked.held
    return None if room_gb <= 0 else max(least, at_least(each * asked.shared / room_gb))


def _check_least(ledger: Ledger, basis: Basis, stated: JobPlan) -> None:
    """Require that as many GPUs are in use as the least replicas take."""
    option = basis.problem.job.parallelism
    for way in stated.ways if option is not None else ():
        assert option is not None
        gpus = gpus_of_replica(option) * way.min_replicas
        if stated.gpus_used < gpus:
            ledger.fail(f"jobs.gpus_used: {way.min_replicas} replicas take {gpus} GPUs")


_Row = tuple[float, float, float, float]
"""Share of power, share of throughput, and the range that this lies in."""


def _on_the_curve(basis: Basis, item: Item, way: WayPlan) -> _Row | None:
    """Return the point of the type's own curve for training, else of the problem's.

    Where nothing is said of power, all but the GPUs draws as before.
    """
    asked, tdp, gpus = basis.problem.job.power, item.gpu.tdp, item.provides.gpus
    published = [
        row
        for row in item.power_points
        if row.of == "training" and row.precision in (None, way.precision) and row.gpu_cap < 1.0
    ]
    own = () if asked is None else asked.curve
    rated_kw = basis.unit_it_power_kw(item)
    for row in published or own:
        if abs(row.gpu_cap - way.gpu_cap) >= _SAME_CAP:
            continue
        power = row.power
        if power is None:
            if tdp is None or gpus is None or not rated_kw:
                return None
            gpus_kw = min(tdp.value * gpus.value, rated_kw)
            power = (rated_kw - gpus_kw + gpus_kw * row.gpu_cap) / rated_kw
        return power, row.throughput, row.low or row.throughput, row.high or row.throughput
    return None


def _slowest_of_most_gpus(item: Item, job: Job, way: WayPlan) -> Achieved | None:
    """Return the measured rate that counts: of the most GPUs, of equals the slowest."""
    found: Achieved | None = None
    for row in item.achieved:
        if (row.model, row.precision) != (job.training.model, way.precision):
            continue
        better = found is None or row.gpus > found.gpus
        if found is not None and row.gpus == found.gpus:
            better = row.rate_tflops < found.rate_tflops
        found = row if better else found
    return found


def _peak(item: Item, precision: str) -> float | None:
    figure = getattr(item.gpu, f"{precision}_dense", None)
    return None if figure is None else float(figure.value)


def _left(law: Scale, job: Job, gpus: float) -> float:
    """Return the share of a table or of a pipeline's bubble at so many GPUs."""
    if law.micro_batches is not None:
        parallel = job.parallelism
        if parallel is None:
            return 1.0
        copy_gpus = parallel.tensor * parallel.pipeline * parallel.context
        each = max(1, law.micro_batches * copy_gpus // int(gpus))
        return each / (each + (parallel.pipeline - 1) / law.interleave)
    rows = [(row.gpus, row.share) for row in law.table or ()]
    if gpus <= rows[0][0]:
        return rows[0][1]
    below = max(place for place, row in enumerate(rows[:-1]) if row[0] <= gpus)
    (low, share), (high, less) = rows[below], rows[below + 1]
    slope = math.log(less / share) / math.log(high / low)
    return share * math.exp(slope * math.log(gpus / low))


def slowest(paces: Mapping[str, Pace], job: Job, gpus: int) -> Pace:
    """Return the pace of the type that all others wait for."""

    def rate(pace: Pace) -> float:
        known = pace.useful_tflops(job, gpus)
        return (pace.tflops or 0.0) * pace.throughput if known is None else known

    return min(paces.values(), key=rate)
