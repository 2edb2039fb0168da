"""Configurations of a job on a GPU system: power set point, precision, parallelism, GPUs used.

A choice whose figures are not known is left out; a type without any is left out whole, with the
reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from planner.case.figures import it_power_kw
from planner.case.items import System
from planner.case.job import Drives, SpareUnit, Way
from planner.case.model import Case
from planner.inputs import Inputs, needs, once_for_each, weights_gb_per_gpu
from planner.paths import of_job
from planner.schema.catalog import Achieved, Confidence, Item, PowerPoint, Precision
from planner.schema.job import ASSUMED_AT_GPUS, DEFAULT_FAILURES, Job, Parallelism
from planner.sizing import checkpoint
from planner.sizing.goodput import FAILURES_PER_GPU_DAY
from planner.sizing.placement import ALMOST
from planner.sizing.throughput import (
    MemoryNeed,
    ScaleLaw,
    gpu_share_of_draw,
    provisioned_share,
)

if TYPE_CHECKING:
    from planner.schema.operation import JobPlan
    from planner.schema.plan import Plan

SAME_CAP = 1e-9
ASSUMED = "assumed"
"""Source of a rate without a measurement: ``training.assumed_mfu`` of the dense peak."""


class Point(NamedTuple):
    """A power set point: cap of the GPUs, shares of rated power and of rate, and their source.

    ``source`` is an id of the catalogs, None for full power.
    """

    gpu_cap: float
    power: float
    throughput: float
    source: str | None
    confidence: Confidence | None
    note: str | None = None


FULL = Point(1.0, 1.0, 1.0, None, None)


class Choice(NamedTuple):
    """A set point, a precision and a parallelism, with the rate before these count.

    ``rate_tflops``: the peak rate where the job states its MFU, else the ``measured`` one; None
    where neither is known.
    """

    point: Point
    precision: Precision
    rate_tflops: float | None
    measured: Achieved | None
    option: Parallelism | None = None

    @property
    def rate_share(self) -> float:
        """Share of the rate left by set point and parallelism."""
        factor = 1.0 if self.option is None else self.option.factor
        return self.point.throughput * factor

    def id_of(self, item: Item, job: Job) -> str:
        """Id of the way: the item's, with each choice that is open."""
        parts = [item.id]
        if self.point is not FULL:
            parts.append(f"cap{100.0 * self.point.gpu_cap:.6g}".replace(".", "_"))
        if len(job.training.precisions) > 1:
            parts.append(self.precision)
        if len(job.options) > 1 and self.option is not None:
            parts.append(self.option.name)
        return "__".join(parts)


# Ways of a system.


def ways_of(item: Item, inputs: Inputs) -> tuple[Way, ...]:
    """The ways in which the job may run on a GPU system that can be planned."""
    job = inputs.problem.job
    return tuple(
        _way(item, job, choice, usable)
        for choice in choices_on(item, inputs)
        for usable in uses_of(item, job.spread(choice.option))
    )


def _way(item: Item, job: Job, choice: Choice, usable: int) -> Way:
    name, several, job = choice.id_of(item, job), len(job.options) > 1, job.spread(choice.option)
    parallel = job.parallelism
    replica = parallel.replica_gpus if parallel else None
    least = least_replicas(item, job) or 1
    host_copy = item.local.host_copy if job.checkpoint.stall_s == "derived" else None
    return Way(
        id=f"{name}__{usable}gpus" if len(uses_of(item, job)) > 1 else name,
        choice=name,
        usable_gpus=usable,
        step_gpus=replica if job.whole_replicas and replica else usable,
        replica_gpus=replica,
        tflops_per_gpu=_rate_tflops(job, choice) * choice.rate_share,
        failures_per_gpu_day=_failures_per_gpu_day(item, job),
        spare_unit=spare_unit(item, usable, job),
        power_share=choice.point.power,
        min_replicas=least,
        least_running=least,
        option=choice.option.name if several and choice.option else None,
        tensor_gpus=parallel.tensor if parallel else None,
        drives=_drives(item, job),
        host_copy_gb_per_s=host_copy.value if host_copy else None,
    )


def _rate_tflops(job: Job, choice: Choice) -> float:
    """Rate of a GPU at full power where the law of scale gives 1, TFLOP/s; 0 if not known."""
    law, rate = scale_law(job), choice.rate_tflops or 0.0
    if law is None:
        return rate
    holds_at = choice.measured.gpus if choice.measured else job.training.scale_reference
    return rate if holds_at is None else rate / law.share(holds_at)


def scale_law(job: Job) -> ScaleLaw | None:
    """Law of scale that the job states, None without one."""
    scale = job.training.scale
    if scale is None:
        return None
    rows = tuple((float(row.gpus), row.share) for row in scale.table or ())
    return ScaleLaw(scale.exponent or 0.0, float(scale.reference or 1), rows)


def _failures_per_gpu_day(item: Item, job: Job) -> float:
    """Failure rate: the problem's, else the catalog's, else the default."""
    if job.failure_rate is None and item.gpu.failures_per_day is not None:
        return item.gpu.failures_per_day.value
    rate = job.failure_rate or DEFAULT_FAILURES
    return FAILURES_PER_GPU_DAY[rate].value if isinstance(rate, str) else rate


def _drives(item: Item, job: Job) -> Drives | None:
    """Drives for a local level of checkpoints, None where there is none to plan."""
    local = item.local
    if job.levels is None or local.write is None or local.capacity is None:
        return None
    return Drives(local.write.value, local.capacity.value)


# Choices: set points, precisions and rates.


@once_for_each
def choices_on(item: Item, inputs: Inputs) -> list[Choice]:
    """The choices of the plan on a GPU system, over all parallelisms that fit."""
    job, rated = inputs.problem.job, needs(inputs.problem, "rate")
    system_kw = it_power_kw(item, inputs)
    choices = []
    for option in job.options or (None,):
        spread = job.spread(option)
        if no_spread(item, spread) is None:
            choices += _choices(item, spread, system_kw, rated=rated)
    return choices


def _choices(item: Item, job: Job, system_kw: float | None, *, rated: bool) -> list[Choice]:
    """Choices of a job in one parallelism: the first precision at the highest cap first.

    Args:
        system_kw: maximum draw of one unit, kW; None where not known.
        rated: whether only choices with a known rate count.
    """
    choices = []
    for precision in job.training.precisions:
        row = measured(item, job, precision)
        rate = row.rate_tflops if row is not None else None
        if job.training.model is None:
            rate = peak_tflops(item, precision)
        need_gb, memory = weights_gb_per_gpu(job, precision), item.gpu.memory
        fits = need_gb is None or memory is None or need_gb <= memory.value * ALMOST
        if (rate is None and rated) or not fits:
            continue
        for point in _points(item, job, precision, system_kw):
            choices.append(Choice(point, precision, rate, row, job.parallelism))
    return choices


def why_no_choice(item: Item, inputs: Inputs, job: Job) -> str | None:
    """The figure whose lack leaves a type without a choice, None where there is one."""
    training, rated = job.training, needs(inputs.problem, "rate")
    system_kw = it_power_kw(item, inputs)
    if _choices(item, job, system_kw, rated=rated):
        return None
    names = " or ".join(training.precisions)
    if rated and training.model is not None:
        if all(measured(item, job, each) is None for each in training.precisions):
            return f"a measured rate of {training.model} in {names}"
    if rated and training.model is None:
        if all(peak_tflops(item, each) is None for each in training.precisions):
            return f"dense {names} rate"
    if any(_points(item, job, precision, system_kw) for precision in training.precisions):
        return None
    caps = ", ".join(f"{cap:.4g}" for cap in (job.power and job.power.asked) or ())
    return f"a power set point at a cap of {caps}"


def peak_tflops(item: Item, precision: Precision) -> float | None:
    """Dense peak rate of a GPU in a precision, TFLOP/s; None where not known."""
    peaks = {"bf16": item.gpu.bf16_dense, "fp8": item.gpu.fp8_dense}
    figure = peaks.get(precision)
    return figure.value if figure else None


def measured(item: Item, job: Job, precision: Precision) -> Achieved | None:
    """The measured rate that counts: with the model on the most GPUs, of equals the slowest.

    A type without one has the rate that the job assumes. None where there is neither, or no model
    is named.
    """
    rows = [
        row
        for row in item.achieved
        if row.model == job.training.model and row.precision == precision
    ]
    row = max(rows, key=lambda row: (row.gpus, -row.rate_tflops), default=None)
    peak, training = peak_tflops(item, precision), job.training
    if row is None and peak is not None and training.assumed_mfu is not None:
        share = f"{100.0 * training.assumed_mfu:g} % of the dense peak"
        row = Achieved.model_validate(
            {
                "model": training.model or "",
                "precision": precision,
                "gpus": ASSUMED_AT_GPUS,
                "rate": f"{peak * training.assumed_mfu!r} TFLOP/s",
                "source": ASSUMED,
                "confidence": "low",
                "note": f"{share}: no measurement is published",
            }
        )
    if row is None or training.rate_factor == 1.0:
        return row
    return row.model_copy(update={"rate_tflops": row.rate_tflops * training.rate_factor})


def _points(item: Item, job: Job, precision: Precision, system_kw: float | None) -> list[Point]:
    """Power set points that a type may run at, full power first, then by falling cap."""
    power = job.power
    if power is None:
        return [FULL]
    published = [
        row
        for row in item.power_points
        if row.of == "training" and row.precision in (None, precision) and row.gpu_cap < 1.0
    ]
    capped = (_point(item, row, system_kw) for row in published)
    points = sorted((p for p in capped if p is not None), key=lambda point: -point.gpu_cap)
    return [
        point
        for point in (FULL, *points)
        if power.asked is None or any(abs(point.gpu_cap - cap) < SAME_CAP for cap in power.asked)
    ]


def _point(item: Item, row: PowerPoint, system_kw: float | None) -> Point | None:
    """A row of a curve as a set point of a type; None where its power is not known."""
    tdp, gpus = item.gpu.tdp, item.provides.gpus
    if tdp is None or gpus is None or not system_kw or not tdp.value:
        return None
    power = provisioned_share(row.gpu_cap, gpu_share_of_draw(tdp.value, gpus.value, system_kw))
    return Point(row.gpu_cap, power, row.throughput, row.source, row.confidence, row.note)


# Parallelism: whether a replica fits a type, and how many of its GPUs it can use.


def options_on(item: Item, job: Job) -> tuple[str, ...]:
    """Names of the parallelisms that fit a GPU system, of a job with several."""
    if len(job.options) < 2:
        return ()
    return tuple(one.name for one in job.options if no_spread(item, job.spread(one)) is None)


def usable_gpus(item: Item, job: Job, most: int | None = None) -> int:
    """GPUs of one system that the job can use; 0 where a tensor group does not fit.

    Args:
        most: how many it may use, where that is decided; else the job's limit.
    """
    assert item.provides.gpus is not None
    gpus, most = item.provides.gpus.value, most or job.gpus.most_of(item.id)
    if not job.whole_replicas:
        return min(gpus, most or gpus)
    assert job.parallelism is not None
    tensor, replica = job.parallelism.tensor, job.parallelism.replica_gpus
    return checkpoint.usable_gpus(gpus, tensor, replica, most)


def uses_of(item: Item, job: Job) -> tuple[int, ...]:
    """GPUs of one system that the job may use, falling.

    Where spare trays stay in their racks every usable number is a choice: the rest are its spares.
    """
    assert item.provides.gpus is not None
    whole = usable_gpus(item, job)
    if job.gpus.most_of(item.id) is not None or not spare_unit(item, whole, job).in_rack:
        return (whole,)
    gpus, parallel = item.provides.gpus.value, job.parallelism
    every = set(range(1, gpus + 1))
    if job.whole_replicas and parallel is not None:
        tensor, replica = parallel.tensor, parallel.replica_gpus
        every = {checkpoint.usable_gpus(gpus, tensor, replica, most) for most in every}
    return tuple(sorted(every - {0}, reverse=True))


def spare_unit(item: Item, usable: int, job: Job) -> SpareUnit:
    """Repair unit of a GPU system of which the job uses some GPUs."""
    assert item.provides.gpus is not None
    tray = None
    if job.repair is not None and job.repair.unit == "tray" and item.spare_unit is not None:
        tray = item.spare_unit.tray.value
    tensor = job.parallelism.tensor if job.whole_replicas and job.parallelism else 1
    return SpareUnit.for_system(item.provides.gpus.value, usable, tray, tensor)


def least_replicas(item: Item, job: Job) -> int | None:
    """The fewest replicas whose GPUs' memory holds their state; None where none do."""
    parallel = job.parallelism
    if parallel is None or parallel.memory is None:
        return 1 if parallel is None else parallel.min_replicas
    if item.gpu.memory is None or job.parameters is None:
        return parallel.min_replicas
    memory, per_gpu = parallel.memory, parallel.parameters_per_gpu(job.parameters)
    need = MemoryNeed(memory.held, memory.shared, memory.activations_gb, memory.usable)
    least = need.least_replicas(per_gpu, item.gpu.memory.value)
    return None if least is None else max(parallel.min_replicas, least)


def no_spread(item: Item, job: Job) -> str | None:
    """Why a replica in one parallelism does not fit a type, None where it does."""
    need_gb, memory = weights_gb_per_gpu(job), item.gpu.memory
    if need_gb is not None and memory is not None and need_gb > memory.value * ALMOST:
        return (
            f"its GPUs have {memory.value:g} GB each, less than the {need_gb:.4g} GB of weights "
            f"that {of_job('parallelism', job.name)} puts there"
        )
    if item.provides.gpus is not None and not usable_gpus(item, job):
        assert job.parallelism is not None
        gpus = min(item.provides.gpus.value, job.gpus.most_of(item.id) or item.provides.gpus.value)
        return (
            f"a tensor group of {job.parallelism.tensor} GPUs does not fit into the {gpus} that "
            f"the job uses of one system ({of_job('parallelism', job.name)})"
        )
    reason = _no_spare_pool(item, job)
    if reason is None and least_replicas(item, job) is None:
        return (
            f"what {of_job('parallelism.memory', job.name)} holds in each GPU leaves "
            "none of its memory for what replicas share"
        )
    return reason


def _no_spare_pool(item: Item, job: Job) -> str | None:
    """Why a stated number of spares, or fewer replicas, cannot be planned on a type."""
    repair = job.repair
    if repair is None or item.provides.gpus is None:
        return None
    if repair.spares == "open" and repair.when_short == "wait":
        return None
    unit = spare_unit(item, usable_gpus(item, job), job)
    if not unit.in_rack:
        return None
    if repair.when_short == "shrink":
        return (
            f"its spare trays stay in their racks ({of_job('parallelism', job.name)}), "
            f"where running on with fewer replicas is not planned: say repair.unit: system "
            f"in the job '{job.name}'"
        )
    return (
        f"its spare trays are the {unit.in_each_rack} that {of_job('parallelism', job.name)} "
        f"leaves over in each system, not {repair.spares}: say repair.spares: open in the job "
        f"'{job.name}'"
    )


# Ways of a plan, restored from its report.


def ways_in_plan(case: Case, plan: Plan) -> tuple[str, ...]:
    """Ids of the ways in which the job of a plan runs; none without a job.

    Of several that the plan does not tell apart, the first.
    """
    if not plan.jobs:
        return ()
    ways = (_way_in_plan(case, system, plan, plan.jobs[0]) for system in case.systems)
    return tuple(way.id for way in ways if way is not None)


def _way_in_plan(case: Case, system: System, plan: Plan, job: JobPlan) -> Way | None:
    if system.id not in job.gpu_types:
        return None
    choices = {way.id for way in job.ways if way.gpu_type == system.id}
    ways = [way for way in system.ways if not choices or way.choice in choices]
    built = {
        (report.switch_sku, report.planes, report.oversubscription, report.radix)
        for report in plan.fabrics
        if report.network == "compute" and system.id in report.serves
    }
    numbers = {
        number
        for number in system.fabrics
        for fabric in case.companions.fabrics
        if fabric.prefix == f"compute{number}"
        and (fabric.switch, fabric.planes, fabric.oversubscription, fabric.radix) in built
    }
    ways = [way for way in ways if not numbers or way.fabric in numbers] or ways
    most = job.per_system_gpus
    if most is not None:  # of an edited plan as many as its replicas fill
        ways = [way for way in ways if way.usable_gpus <= most] or ways
    return max(ways, key=lambda way: way.usable_gpus, default=None)
