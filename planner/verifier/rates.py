"""How a replica is spread over GPUs, and how fast the GPUs of each type in use are."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from planner.schema.catalog import Achieved, Item
from planner.schema.job import ASSUMED_AT_GPUS, Job, Parallelism
from planner.schema.operation import JobPlan, WayPlan
from planner.verifier.basis import Basis, Findings, round_up, value

SAME_CAP = 1e-9
DEGREES = ("tensor", "pipeline", "context", "experts", "expert_tensor", "expert_parameters")


def replica_gpus(option: Parallelism) -> int:
    """Return the GPUs of one replica: whole groups both of experts and of the rest."""
    experts = option.experts * (option.expert_tensor or option.tensor)
    if option.expert_parameters is None:
        experts = 1
    return option.pipeline * math.lcm(option.tensor * option.context, experts)


def parameters_share(job: Job) -> float:
    """Return the share of the parameters that one GPU of a replica holds."""
    option = job.parallelism
    if option is None:
        return 1.0
    inside = (option.expert_parameters or 0.0) / (job.parameters or 1.0)
    over = option.experts * (option.expert_tensor or option.tensor)
    return ((1.0 - inside) / option.tensor + inside / over) / option.pipeline


def whole_replica(job: Job) -> int | None:
    """Return the GPUs of a replica where only whole ones run, else None."""
    option = job.parallelism
    return None if option is None or job.gpus.whole == "systems" else replica_gpus(option)


def tensor_gpus(job: Job) -> int:
    """Return the GPUs that must be in one system: a tensor group, where only whole ones run."""
    option = job.parallelism
    return 1 if option is None or whole_replica(job) is None else option.tensor


def gpus_of(item: Item) -> int:
    """Return the GPUs of one system."""
    return value(item.provides.gpus) or 0


def usable_gpus(job: Job, item: Item) -> int:
    """Return the GPUs of one system that the job can use: whole replicas or tensor groups."""
    asked, most, replica = job.gpus.per_system, gpus_of(item), whole_replica(job)
    asked = asked.get(item.id) if isinstance(asked, dict) else asked
    most = most if asked is None else min(most, asked)
    if replica is None:
        return most
    return most - most % (replica if replica <= most else tensor_gpus(job))


def least_replicas(item: Item, job: Job) -> int | None:
    """Return the fewest replicas whose memory holds their shared state, None where none does."""
    option, memory = job.parallelism, item.gpu.memory
    if option is None or option.memory is None or memory is None or job.parameters is None:
        return 1 if option is None else option.min_replicas
    held, each = option.memory, job.parameters * parameters_share(job) / 1e9
    room_gb = memory.value * held.usable - held.activations_gb - each * held.held
    if room_gb <= 0:
        return None
    return max(option.min_replicas, round_up(each * held.shared / room_gb))


class Pace(NamedTuple):
    """Speed of the GPUs of a type: power and throughput at the set point, peak, share of it used,
    and the number of GPUs that the rate was measured at."""

    power_share: float
    throughput: float
    tflops: float | None
    mfu: float | None
    at: int | None

    def scale(self, job: Job, gpus: int) -> float:
        """Return the share of the rate left in a job of this many GPUs."""
        law = job.training.scale
        if law is None:
            return 1.0
        if law.exponent is not None:
            return float((gpus / (self.at or 1)) ** -law.exponent)
        return _left(job, gpus) / (1.0 if self.at is None else _left(job, self.at))

    def useful_tflops(self, job: Job, gpus: int) -> float | None:
        """Return the useful rate of one GPU, TFLOP/s; None if not known."""
        if self.tflops is None or self.mfu is None:
            return None
        return self.tflops * self.mfu * self.throughput * self.scale(job, gpus)


def _left(job: Job, gpus: float) -> float:
    """Return the share of the rate by a table."""
    law = job.training.scale
    assert law is not None
    rows = [(row.gpus, row.share) for row in law.table or ()]
    if gpus < rows[0][0]:
        return rows[0][1]
    below = max(k for k, row in enumerate(rows[:-1]) if row[0] <= gpus)
    (low, share), (high, less) = rows[below], rows[below + 1]
    slope = math.log(less / share) / math.log(high / low)
    return share * math.exp(slope * math.log(gpus / low))


def peak_tflops(item: Item, precision: str) -> float | None:
    """Return the dense peak rate of one GPU, TFLOP/s; None if not known."""
    figure = getattr(item.gpu, f"{precision}_dense", None)
    return None if figure is None else float(figure.value)


def measured_rate(item: Item, job: Job, precision: str) -> Achieved | None:
    """Return the measured rate that counts: of the most GPUs, of equals the slowest."""
    key = job.training.model, precision
    rows = [row for row in item.achieved if (row.model, row.precision) == key]
    peak, share = peak_tflops(item, precision), job.training.assumed_mfu
    if not rows and peak and share:
        assumed: dict[str, Any] = {"model": key[0] or "", "precision": precision}
        assumed |= {"rate": f"{peak * share!r} TFLOP/s", "gpus": ASSUMED_AT_GPUS}
        rows = [Achieved.model_validate(assumed | {"source": "assumed", "confidence": "low"})]
    row = max(rows, key=lambda row: (row.gpus, -row.rate_tflops), default=None)
    if row is None:
        return None
    return row.model_copy(update={"rate_tflops": row.rate_tflops * job.training.rate_factor})


class SetPoint(NamedTuple):
    """Shares of power and throughput at a cap of the GPUs, and the range of the latter."""

    power: float = 1.0
    middle: float = 1.0
    low: float = 1.0
    high: float = 1.0


def set_point(
    job: Job, item: Item, precision: str, cap: float, rated_kw: float | None
) -> SetPoint | None:
    """Return the set point at a cap, a share of the GPUs' rated power; None without one.

    A type without a curve for training has the problem's.

    Args:
        job: gives the curve of types that have none.
        item: the GPU system.
        precision: points may hold for one alone.
        cap: share of the GPUs' rated power.
        rated_kw: maximum draw of the system, kW.
    """
    if cap >= 1.0:
        return SetPoint()
    published = [
        row
        for row in item.power_points
        if row.of == "training" and row.precision in (None, precision) and row.gpu_cap < 1.0
    ]
    tdp_kw = value(item.gpu.tdp)
    for row in published:
        if abs(row.gpu_cap - cap) >= SAME_CAP:
            continue
        power = row.power
        if power is None:  # all but the GPUs draws as before
            if not tdp_kw or not gpus_of(item) or not rated_kw:
                return None
            gpus_kw = min(tdp_kw * gpus_of(item), rated_kw)
            power = 1.0 - gpus_kw * (1.0 - row.gpu_cap) / rated_kw
        middle = row.throughput
        return SetPoint(power, middle, row.low or middle, row.high or middle)
    return None


def choose_option(found: Findings, basis: Basis, stated: JobPlan) -> Job:
    """Return the job with the option by which the plan spreads a replica, and the GPUs that it
    uses of each system."""
    job = basis.job
    if len(job.options) > 1:
        spread = {_degrees(way) for way in stated.ways}
        option = next((each for each in job.options if spread == {_degrees(each)}), None)
        if option is None:
            found.fail("jobs.ways: no option of the problem spreads a replica like this")
            return job
        job = job.model_copy(update={"parallelisms": option})
    used, repair, item = stated.per_system_gpus, job.repair, basis.items[stated.gpu_type]
    asked = job.gpus.per_system
    given = isinstance(asked, int) or (isinstance(asked, dict) and item.id in asked)
    if used is None or given or repair is None or repair.unit != "tray" or item.spare_unit is None:
        return job
    tray = item.spare_unit.tray.value
    if tray >= gpus_of(item) or tray % tensor_gpus(job) == 0:
        return job
    if not 0 < used <= gpus_of(item):
        found.fail(f"jobs.per_system_gpus: plan says {used!r} of {gpus_of(item)}")
        return job
    each = {**(asked if isinstance(asked, dict) else {}), item.id: used}
    job = job.model_copy(update={"gpus": job.gpus.model_copy(update={"per_system": each})})
    found.expect("jobs.per_system_gpus", used, usable_gpus(job, item))
    return job


def _degrees(of: WayPlan | Parallelism) -> tuple[int | None, ...]:
    plain = of.experts == 1 and (isinstance(of, WayPlan) or of.expert_parameters is None)
    inside = (1, of.tensor) if plain else (of.experts, of.expert_tensor or of.tensor)
    return of.tensor, of.pipeline, of.context, *inside


def check_paces(found: Findings, basis: Basis, job: Job, stated: JobPlan) -> dict[str, Pace]:
    """Check the set point, precision and rate of each type; return the paces."""
    training, paces = job.training, {}
    for sku in stated.gpu_types:
        peak = peak_tflops(basis.items[sku], training.precisions[0])
        paces[sku] = Pace(1.0, 1.0, peak, training.mfu, training.scale_reference)
    chosen = job.power or training.model or training.scale or len(basis.job.options) > 1
    if not chosen and all(option.plain for option in basis.job.options):
        found.expect("jobs.ways", stated.ways, ())
        return paces
    types = stated.gpu_types
    found.expect("jobs.ways", sorted(way.gpu_type for way in stated.ways), sorted(types))
    for way in stated.ways:
        if way.gpu_type in types:
            paces[way.gpu_type] = _check_way(found, basis, job, way)
            least = way.min_replicas * (replica_gpus(job.parallelism) if job.parallelism else 0)
            text = f"jobs.gpus_used: {way.min_replicas} replicas take {least}"
            found.require(stated.gpus_used >= least, text)
    return paces


def _check_way(found: Findings, basis: Basis, job: Job, way: WayPlan) -> Pace:
    item, name, power = basis.items[way.gpu_type], f"jobs.ways.{way.gpu_type}", job.power
    caps, training = (1.0,) if power is None else power.asked, job.training
    known = caps is None or any(abs(way.gpu_cap - cap) < SAME_CAP for cap in caps)
    point = set_point(job, item, way.precision, way.gpu_cap, basis.rated_kw(item))
    found.require(known and point is not None, f"{name}.gpu_cap: {way.gpu_cap:g} is no set point")
    asked = way.precision in training.precisions
    found.require(asked, f"{name}.precision: {way.precision} is not asked for")
    point = point or SetPoint()
    throughput = point.middle
    row, option = measured_rate(item, job, way.precision), job.parallelism
    tdp_kw, peak = value(item.gpu.tdp), peak_tflops(item, way.precision)
    own: dict[str, Any] = {
        "rated_it_power_kw": basis.rated_kw(item),
        "gpu_limit_w": None if tdp_kw is None else tdp_kw * 1000 * way.gpu_cap,
        "power_share": point.power,
        "throughput": throughput,
        "throughput_low": point.low,
        "throughput_high": point.high,
        "rate_tflops": row and row.rate_tflops,
        "rate_low_tflops": row and row.low_tflops,
        "rate_high_tflops": row and row.high_tflops,
        "rate_gpus": row and row.gpus,
        "tensor": None,
    }
    if option is not None:
        own |= {field: getattr(option, field) for field in DEGREES}
        own |= {"option_factor": option.factor, "min_replicas": least_replicas(item, job)}
        throughput *= option.factor
    found.expect(name, way, own)
    if training.model is None:
        return Pace(point.power, throughput, peak, training.mfu, training.scale_reference)
    if row is None:
        return Pace(point.power, throughput, None, 1.0, None)
    share = row.rate_tflops / peak if peak else 1.0
    return Pace(point.power, throughput, peak or row.rate_tflops, share, row.gpus)
