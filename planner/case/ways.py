"""Configurations of a job on a GPU system: power set point, precision, parallelism, GPUs used.

A choice whose figures are not known is left out; a type without any is left out whole, with the
reason.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from planner.case.figures import it_power_kw
from planner.case.job import Drives, SpareUnit, Way
from planner.case.model import Case
from planner.inputs import Inputs, needs, once_for_each, weights_gb_per_gpu
from planner.paths import of_job
from planner.schema.catalog import Achieved, Item, Precision
from planner.schema.job import ASSUMED_AT_GPUS, DEFAULT_FAILURES, Job, Parallelism
from planner.sizing import checkpoint
from planner.sizing.availability import FAILURES_PER_GPU_DAY
from planner.sizing.placement import ALMOST
from planner.sizing.throughput import (
    MemoryNeed,
    ScaleLaw,
    gpu_share_of_draw,
    provisioned_share,
)

if TYPE_CHECKING:
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


FULL = Point(1.0, 1.0, 1.0, None)


class Choice(NamedTuple):
    """A set point, a precision and a parallelism, with the rate before these count.

    ``rate_tflops``: the peak rate where the job states its MFU, else the ``measured`` one.
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

    def way_id(self, item: Item, job: Job) -> str:
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


def list_ways(item: Item, inputs: Inputs) -> tuple[Way, ...]:
    """The ways in which the job may run on a GPU system that can be planned."""
    job, found = inputs.problem.job, list[Way]()
    for choice in list_choices(item, inputs):
        each = list_usable_gpus(item, job.spread(choice.option))
        name = choice.way_id(item, job)
        ids = [f"{name}__{usable}gpus" for usable in each] if len(each) > 1 else [name]
        found += [_way(item, job, choice, *pair) for pair in zip(each, ids, strict=True)]
    return tuple(found)


def _way(item: Item, job: Job, choice: Choice, usable: int, way_id: str) -> Way:
    name, several, job = choice.way_id(item, job), len(job.options) > 1, job.spread(choice.option)
    parallel, local = job.parallelism, item.local
    replica = parallel.replica_gpus if parallel else None
    rate, law = choice.rate_tflops or 0.0, scale_law(job)
    measured_at = choice.measured.gpus if choice.measured else job.training.scale_reference
    if law is not None and measured_at is not None:  # the rate where the law of scale gives 1
        rate /= law.share(measured_at)
    failures = job.failure_rate or DEFAULT_FAILURES
    if job.failure_rate is None and item.gpu.failures_per_day is not None:
        failures = item.gpu.failures_per_day.value
    if isinstance(failures, str):
        failures = FAILURES_PER_GPU_DAY[failures].value
    drives = None
    if job.levels is not None and local.write is not None and local.capacity is not None:
        drives = Drives(local.write.value, local.capacity.value)
    derived = local.host_copy if job.checkpoint.stall_s == "derived" else None
    return Way(
        id=way_id,
        choice=name,
        usable_gpus=usable,
        step_gpus=replica if job.whole_replicas and replica else usable,
        replica_gpus=replica,
        tflops_per_gpu=rate * choice.rate_share,
        failures_per_gpu_day=failures,
        spare_unit=spare_unit(item, usable, job),
        power_share=choice.point.power,
        min_replicas=least_replicas(item, job) or 1,
        option=choice.option.name if several and choice.option else None,
        tensor_gpus=parallel.tensor if parallel else None,
        drives=drives,
        host_copy_gb_per_s=derived.value if derived else None,
    )


def scale_law(job: Job) -> ScaleLaw | None:
    """Law of scale that the job states, None without one."""
    scale = job.training.scale
    if scale is None:
        return None
    rows = tuple((float(row.gpus), row.share) for row in scale.table or ())
    return ScaleLaw(scale.exponent or 0.0, float(scale.reference or 1), rows)


# Choices: set points, precisions and rates.


@once_for_each
def list_choices(item: Item, inputs: Inputs) -> list[Choice]:
    """The choices of the plan on a GPU system, over all parallelisms that fit."""
    job, rated = inputs.problem.job, needs(inputs.problem, "rate")
    system_kw = it_power_kw(item, inputs)
    choices = []
    for option in job.options or (None,):
        spread = job.spread(option)
        if why_no_spread(item, spread) is None:
            choices += _choices(item, spread, system_kw, rated=rated)
    return choices


def _choices(item: Item, job: Job, system_kw: float | None, *, rated: bool) -> list[Choice]:
    """Choices of a job in one parallelism, the first precision at the highest cap first; of those
    with a known rate alone where ``rated``."""
    choices = []
    for precision in job.training.precisions:
        row = measured_rate(item, job, precision)
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
    names, model = " or ".join(training.precisions), training.model
    rows = (measured_rate(item, job, each) for each in training.precisions)
    peaks = (peak_tflops(item, each) for each in training.precisions)
    if rated and all(each is None for each in (peaks if model is None else rows)):
        return f"dense {names} rate" if model is None else f"a measured rate of {model} in {names}"
    if any(_points(item, job, precision, system_kw) for precision in training.precisions):
        return None
    return "a power set point at the caps asked for"


def peak_tflops(item: Item, precision: Precision) -> float | None:
    """Dense peak rate of a GPU in a precision, TFLOP/s; None where not known."""
    peaks = {"bf16": item.gpu.bf16_dense, "fp8": item.gpu.fp8_dense}
    figure = peaks.get(precision)
    return figure.value if figure else None


def measured_rate(item: Item, job: Job, precision: Precision) -> Achieved | None:
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
    power, points = job.power, [FULL]
    tdp, gpus = item.gpu.tdp, item.provides.gpus
    if power is None:
        return points
    if tdp is not None and gpus is not None and system_kw and tdp.value:
        of_gpus = gpu_share_of_draw(tdp.value, gpus.value, system_kw)
        rows = (row for row in item.power_points if row.gpu_cap < 1.0 and row.of == "training")
        points += [
            Point(row.gpu_cap, provisioned_share(row.gpu_cap, of_gpus), row.throughput, row.source)
            for row in sorted(rows, key=lambda row: -row.gpu_cap)
            if row.precision in (None, precision)
        ]
    return [
        point
        for point in points
        if power.allowed_caps is None
        or any(abs(point.gpu_cap - cap) < SAME_CAP for cap in power.allowed_caps)
    ]


# Parallelism: whether a replica fits a type, and how many of its GPUs it can use.


def usable_gpus(item: Item, job: Job, most: int | None = None) -> int:
    """GPUs of one system that the job can use; 0 where a tensor group does not fit."""
    assert item.provides.gpus is not None
    gpus, most = item.provides.gpus.value, most or job.gpus.most_of(item.id)
    if not job.whole_replicas:
        return min(gpus, most or gpus)
    assert job.parallelism is not None
    tensor, replica = job.parallelism.tensor, job.parallelism.replica_gpus
    return checkpoint.usable_gpus(gpus, tensor, replica, most)


def list_usable_gpus(item: Item, job: Job) -> tuple[int, ...]:
    """GPUs of one system that the job may use, falling.

    Where spare trays stay in their racks every usable number is a choice: the rest are its spares.
    """
    assert item.provides.gpus is not None
    whole = usable_gpus(item, job)
    if job.gpus.most_of(item.id) is not None or not spare_unit(item, whole, job).in_rack:
        return (whole,)
    every = {usable_gpus(item, job, most) for most in range(1, item.provides.gpus.value + 1)}
    return tuple(sorted(every - {0}, reverse=True))


def spare_unit(item: Item, usable: int, job: Job) -> SpareUnit:
    """Repair unit of a GPU system of which the job uses some GPUs: a tray, or the system."""
    assert item.provides.gpus is not None
    gpus, tray = item.provides.gpus.value, None
    if job.repair is not None and job.repair.unit == "tray" and item.spare_unit is not None:
        tray = item.spare_unit.tray.value
    if tray is None or tray >= gpus:
        return SpareUnit(gpus, 1, usable, in_rack=False)
    tensor = job.parallelism.tensor if job.whole_replicas and job.parallelism else 1
    # A tensor group stays within one NVLink domain: where it spans trays, spares stay in the rack.
    return SpareUnit(tray, gpus // tray, usable, in_rack=tray % tensor != 0)


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


def why_no_spread(item: Item, job: Job) -> str | None:
    """Why a replica in one parallelism does not fit a type, None where it does."""
    need_gb, memory = weights_gb_per_gpu(job), item.gpu.memory
    place = of_job("parallelism", job.name)
    if need_gb is not None and memory is not None and need_gb > memory.value * ALMOST:
        return (
            f"its GPUs have {memory.value:g} GB each, less than the {need_gb:.4g} GB of weights "
            f"that {place} puts there"
        )
    if item.provides.gpus is None:
        return None
    gpus, repair, usable = item.provides.gpus.value, job.repair, usable_gpus(item, job)
    if not usable:
        assert job.parallelism is not None
        return (
            f"a tensor group of {job.parallelism.tensor} GPUs does not fit into the "
            f"{min(gpus, job.gpus.most_of(item.id) or gpus)} that the job uses of one system "
            f"({place})"
        )
    unit = spare_unit(item, usable, job)
    shrinks = repair is not None and repair.when_short == "shrink"
    if repair is not None and unit.in_rack and (shrinks or repair.spares != "open"):
        setting = "repair.unit: system" if shrinks else "repair.spares: open"
        return (
            f"its spare trays are the {unit.spares_per_rack} that {place} leaves over in each "
            f"rack: say {setting} in the job '{job.name}'"
        )
    if least_replicas(item, job) is None:
        return (
            f"what {of_job('parallelism.memory', job.name)} holds in each GPU leaves "
            "none of its memory for what replicas share"
        )
    return None


# Ways of a plan, restored from its report.


def ways_in_plan(case: Case, plan: Plan) -> tuple[str, ...]:
    """Ids of the ways in which the job of a plan runs; none without a job.

    The first of those nearest to the plan: in its choice and fabric, with no more GPUs of a system
    than its replicas fill, and with the most of these.
    """
    if not plan.jobs:
        return ()
    job, found = plan.jobs[0], []
    fabrics = {
        each.prefix: (each.switch, each.planes, each.oversubscription, each.radix)
        for each in case.companions.fabrics
    }
    for system in (each for each in case.systems if each.id in job.gpu_types):
        choices = {way.id for way in job.ways if way.gpu_type == system.id}
        built = {
            (report.switch_sku, report.planes, report.oversubscription, report.radix)
            for report in plan.fabrics
            if report.network == "compute" and system.id in report.serves
        }
        most = job.per_system_gpus or math.inf
        differences = {
            way.id: (
                way.choice not in choices,
                fabrics.get(f"compute{way.fabric}") not in built,
                way.usable_gpus > most,
                -way.usable_gpus,
            )
            for way in system.ways
        }
        found.append(min(differences, key=lambda name: differences[name]))
    return tuple(found)
