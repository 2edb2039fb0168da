"""What the plan may choose from on one type of GPU system: set points, precisions, their rates.

A choice is left out where its figures are not known; a type none is left of is left out whole, with
the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planner.inputs import weights_gb_per_gpu
from planner.schema.catalog import Achieved, Confidence, Item, PowerPoint, Precision
from planner.schema.problem import Job
from planner.schema.running import ASSUMED_AT_GPUS, CurvePoint, Parallelism
from planner.sizing.throughput import gpu_share_of_draw, provisioned_share

SAME_CAP = 1e-9
ASSUMED = "assumed"
"""Source of a rate that nobody measured: ``training.assumed_mfu`` of the dense peak."""


class Point(NamedTuple):
    """A power set point: the GPUs' cap, what it leaves of power and rate, and who says so.

    ``power`` is a share of the system's rated power, ``throughput`` of the job's rate, and lies
    between ``low`` and ``high``. ``source`` is an id of the catalogs, None for full power and for a
    curve of the problem.
    """

    gpu_cap: float
    power: float
    throughput: float
    low: float
    high: float
    source: str | None
    confidence: Confidence | None
    note: str | None = None


FULL = Point(1.0, 1.0, 1.0, 1.0, 1.0, None, None)


class Choice(NamedTuple):
    """A set point, a precision and how a replica is spread, and the rate before these count.

    ``rate_tflops`` is the peak rate where the job states its MFU, else the one ``measured``; None
    where neither is known.
    """

    point: Point
    precision: Precision
    rate_tflops: float | None
    measured: Achieved | None
    option: Parallelism | None = None

    @property
    def rate_share(self) -> float:
        """What the set point and the spread of a replica leave of the rate."""
        factor = 1.0 if self.option is None else self.option.factor
        return self.point.throughput * factor

    def id_of(self, item: Item, job: Job) -> str:
        """Return the way's id: the item's, with what is chosen where there is something to."""
        parts = [item.id]
        if self.point is not FULL:
            parts.append(f"cap{100.0 * self.point.gpu_cap:.6g}".replace(".", "_"))
        if len(job.training.precisions) > 1:
            parts.append(self.precision)
        if len(job.options) > 1 and self.option is not None:
            parts.append(self.option.name)
        return "__".join(parts)


def choices(item: Item, job: Job, system_kw: float | None, *, rated: bool) -> list[Choice]:
    """Return what may be chosen on a type, the first precision at the highest cap first.

    Args:
        job: the job, a replica of it spread in one way.
        system_kw: what one unit draws at most, kW; None where that is not known.
        rated: whether only what has a known rate counts.
    """
    found = []
    for precision in job.training.precisions:
        row = measured(item, job, precision)
        rate = row.rate_tflops if row is not None else None
        if job.training.model is None:
            rate = peak_tflops(item, precision)
        if (rate is None and rated) or not _holds_weights(item, job, precision):
            continue
        for point in points(item, job, precision, system_kw):
            found.append(Choice(point, precision, rate, row, job.parallelism))
    return found


def why_none(item: Item, job: Job, system_kw: float | None, *, rated: bool) -> str | None:
    """Return which figure leaves a type without a choice, None where there is one."""
    training = job.training
    if choices(item, job, system_kw, rated=rated):
        return None
    names = " or ".join(training.precisions)
    if rated and training.model is not None:
        if all(measured(item, job, each) is None for each in training.precisions):
            return f"a measured rate of {training.model} in {names}"
    if rated and training.model is None:
        if all(peak_tflops(item, each) is None for each in training.precisions):
            return f"dense {names} rate"
    if any(points(item, job, precision, system_kw) for precision in training.precisions):
        return None
    caps = ", ".join(f"{cap:.4g}" for cap in (job.power and job.power.asked) or ())
    return f"a power set point at a cap of {caps}"


def peak_tflops(item: Item, precision: Precision) -> float | None:
    """Return a GPU's dense peak rate in a precision, TFLOP/s; None where it is not known."""
    peaks = {"bf16": item.gpu.bf16_dense, "fp8": item.gpu.fp8_dense}
    figure = peaks.get(precision)
    return figure.value if figure else None


def measured(item: Item, job: Job, precision: Precision) -> Achieved | None:
    """Return the row of a type's measured rates that counts: with the model on the most GPUs.

    Of rows of as many GPUs the slowest counts. A type without a row has the rate that the job
    assumes of it. None where there is neither, or no model is named.
    """
    rows = [
        row
        for row in item.achieved
        if row.model == job.training.model and row.precision == precision
    ]
    row = max(rows, key=lambda row: (row.gpus, -row.rate_tflops), default=None)
    peak, training = peak_tflops(item, precision), job.training
    if row is None and peak is not None and training.assumed_mfu is not None:
        row = Achieved.model_validate(
            {
                "model": training.model or "",
                "precision": precision,
                "gpus": ASSUMED_AT_GPUS,
                "rate": f"{peak * training.assumed_mfu!r} TFLOP/s",
                "source": ASSUMED,
                "confidence": "low",
                "note": f"{100.0 * training.assumed_mfu:g} % of the dense peak: no measurement is "
                "published",
            }
        )
    if row is None or training.rate_factor == 1.0:
        return row
    return row.model_copy(update={"rate_tflops": row.rate_tflops * training.rate_factor})


def points(item: Item, job: Job, precision: Precision, system_kw: float | None) -> list[Point]:
    """Return the power set points that a type may run at, full power first."""
    if job.power is None:
        return [FULL]
    every = [FULL, *curve(item, job, precision, system_kw)]
    asked = job.power.asked
    if asked is None:
        return every
    return [p for p in every if any(abs(p.gpu_cap - cap) < SAME_CAP for cap in asked)]


def curve(item: Item, job: Job, precision: Precision, system_kw: float | None) -> list[Point]:
    """Return the points below full power of a type's curve, the highest cap first.

    The catalog's for training in that precision; where it has none, the problem's own.
    """
    asked = job.power
    if asked is None:
        return []
    published = [
        row
        for row in item.power_points
        if row.of == "training" and row.precision in (None, precision) and row.gpu_cap < 1.0
    ]
    own = [row for row in asked.curve if row.gpu_cap < 1.0]
    rows: Sequence[PowerPoint | CurvePoint] = published or own
    every = (_point(item, row, asked.reading, system_kw) for row in rows)
    found = [point for point in every if point is not None]
    return sorted(found, key=lambda point: -point.gpu_cap)


def _point(
    item: Item, row: PowerPoint | CurvePoint, reading: str, system_kw: float | None
) -> Point | None:
    """Return a row of a curve as a point of a type; None where its power is not known."""
    power, tdp, gpus = row.power, item.gpu.tdp, item.provides.gpus
    if power is None:
        if tdp is None or gpus is None or not system_kw or not tdp.value:
            return None
        share = gpu_share_of_draw(tdp.value, gpus.value, system_kw)
        power = provisioned_share(row.gpu_cap, share)
    low = row.throughput if row.low is None else row.low
    high = row.throughput if row.high is None else row.high
    throughput = _read(reading, row.throughput, row.low, row.high)
    if isinstance(row, CurvePoint):
        return Point(row.gpu_cap, power, throughput, low, high, None, None)
    said = (row.source, row.confidence, row.note)
    return Point(row.gpu_cap, power, throughput, low, high, *said)


def _read(reading: str, middle: float, low: float | None, high: float | None) -> float:
    """Return the end of a range that is asked for, the middle where it has no such end."""
    end = {"low": low, "high": high}.get(reading)
    return middle if end is None else end


def _holds_weights(item: Item, job: Job, precision: Precision) -> bool:
    """Say whether a GPU's memory may hold its part of the weights, where both are known."""
    need_gb, memory = weights_gb_per_gpu(job, precision), item.gpu.memory
    return need_gb is None or memory is None or need_gb <= memory.value * (1.0 + 1e-9)
