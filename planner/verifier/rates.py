"""How a replica is spread over GPUs, and how fast the GPUs of each type in use are."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from planner.schema.catalog import Achieved, Item
from planner.schema.plan import JobPlan, WayPlan
from planner.schema.problem import Job
from planner.schema.running import ASSUMED_AT_GPUS, Parallelism, Scale
from planner.verifier.basis import Basis
from planner.verifier.ledger import Ledger, round_up

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


def gpus_of(item: Item) -> int:
    """Return the GPUs of one system."""
    return item.provides.gpus.value if item.provides.gpus else 0


def usable_gpus(job: Job, item: Item) -> int:
    """Return the GPUs of one system that the job can use: whole replicas or tensor groups."""
    asked, most, replica = job.gpus.per_system, gpus_of(item), whole_replica(job)
    asked = asked.get(item.id) if isinstance(asked, dict) else asked
    most = most if asked is None else min(most, asked)
    if replica is None or job.parallelism is None:
        return most
    return most - most % (replica if replica <= most else job.parallelism.tensor)


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
    """Speed of the GPUs of a type: peak, share of it used, power and throughput at the set point.

    ``at`` is the number of GPUs that the rate was measured at.
    """

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
        return _left(law, job, gpus) / (1.0 if self.at is None else _left(law, job, self.at))

    def useful_tflops(self, job: Job, gpus: int) -> float | None:
        """Return the useful rate of one GPU, TFLOP/s; None if not known."""
        if self.tflops is None or self.mfu is None:
            return None
        return self.tflops * self.mfu * self.throughput * self.scale(job, gpus)


def _left(law: Scale, job: Job, gpus: float) -> float:
    """Return the share of the rate by a table, or by the bubble of a pipeline."""
    option = job.parallelism
    if law.micro_batches is not None:
        copy_gpus = batch_gpus(option) if option else 1
        each = max(1, law.micro_batches * copy_gpus // int(gpus))
        return each / (each + (option.pipeline if option else 1) - 1)
    rows = [(row.gpus, row.share) for row in law.table or ()]
    if gpus < rows[0][0]:
        return rows[0][1]
    below = max(k for k, row in enumerate(rows[:-1]) if row[0] <= gpus)
    (low, share), (high, less) = rows[below], rows[below + 1]
    slope = math.log(less / share) / math.log(high / low)
    return share * math.exp(slope * math.log(gpus / low))


def batch_gpus(option: Parallelism) -> int:
    """Return the GPUs that a micro-batch passes through."""
    return option.tensor * option.pipeline * option.context


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
        rate = f"{peak * share!r} TFLOP/s"
        said: dict[str, Any] = {"model": key[0] or "", "precision": precision, "rate": rate}
        said |= {"gpus": ASSUMED_AT_GPUS, "source": "assumed", "confidence": "low"}
        rows = [Achieved.model_validate(said)]
    row = max(rows, key=lambda row: (row.gpus, -row.rate_tflops), default=None)
    if row is None:
        return None
    return row.model_copy(update={"rate_tflops": row.rate_tflops * job.training.rate_factor})


class SetPoint(NamedTuple):
    """Shares of power and throughput at a cap of the GPUs, and the range of the latter."""

    power: float
    middle: float
    low: float
    high: float


def set_point(
    job: Job, item: Item, precision: str, cap: float, rated_kw: float | None
) -> SetPoint | None:
    """Return the set point at a cap; None without a point of the type's or the problem's curve.

    Args:
        job: gives the curve of types that have none.
        item: the GPU system.
        precision: points may hold for one alone.
        cap: of the GPUs' rated power, as a share.
        rated_kw: maximum draw of the system, kW.
    """
    if cap >= 1.0:
        return SetPoint(1.0, 1.0, 1.0, 1.0)
    published = [
        row
        for row in item.power_points
        if row.of == "training" and row.precision in (None, precision) and row.gpu_cap < 1.0
    ]
    tdp = item.gpu.tdp
    for row in published or (() if job.power is None else job.power.curve):
        if abs(row.gpu_cap - cap) >= SAME_CAP:
            continue
        power = row.power
        if power is None:  # all but the GPUs draws as before
            if tdp is None or not tdp.value or not gpus_of(item) or not rated_kw:
                return None
            gpus_kw = min(tdp.value * gpus_of(item), rated_kw)
            power = 1.0 - gpus_kw * (1.0 - row.gpu_cap) / rated_kw
        throughput = row.throughput
        return SetPoint(power, throughput, row.low or throughput, row.high or throughput)
    return None


def choose_option(ledger: Ledger, basis: Basis, stated: JobPlan) -> Job:
    """Return the job with the option by which the plan spreads a replica."""
    job = basis.job
    if len(job.options) < 2:
        return _choose_use(ledger, basis, job, stated)
    said = {_degrees(way) for way in stated.ways}
    for option in job.options:
        if said == {_degrees(option)}:
            job = job.model_copy(update={"parallelisms": option})
            return _choose_use(ledger, basis, job, stated)
    ledger.fail("jobs.ways: no option of the problem spreads a replica like this")
    return job


def _choose_use(ledger: Ledger, basis: Basis, job: Job, stated: JobPlan) -> Job:
    """Return the job with the GPUs that the plan uses of each system.

    The plan decides them where spare trays stay in their racks and the problem does not say.
    """
    said, repair, item = stated.per_system_gpus, job.repair, basis.items[stated.gpu_type]
    asked = job.gpus.per_system
    given = isinstance(asked, int) or (isinstance(asked, dict) and item.id in asked)
    if said is None or given or repair is None or repair.unit != "tray" or item.spare_unit is None:
        return job
    tray = item.spare_unit.tray.value
    tensor = job.parallelism.tensor if job.parallelism and whole_replica(job) is not None else 1
    if tray >= gpus_of(item) or tray % tensor == 0:
        return job
    ledger.require(0 < said <= gpus_of(item), f"jobs.per_system_gpus: {said!r}")
    each = {**(asked if isinstance(asked, dict) else {}), item.id: said}
    return job.model_copy(update={"gpus": job.gpus.model_copy(update={"per_system": each})})


def _degrees(of: WayPlan | Parallelism) -> tuple[int | None, ...]:
    plain = of.experts == 1 and (isinstance(of, WayPlan) or of.expert_parameters is None)
    inside = (1, of.tensor) if plain else (of.experts, of.expert_tensor or of.tensor)
    return of.tensor, of.pipeline, of.context, *inside


def check_paces(ledger: Ledger, basis: Basis, job: Job, stated: JobPlan) -> dict[str, Pace]:
    """Check the set point, precision and rate of each type; return the paces."""
    training, paces = job.training, {}
    for sku in stated.gpu_types:
        peak = peak_tflops(basis.items[sku], training.precisions[0])
        paces[sku] = Pace(1.0, 1.0, peak, training.mfu, training.scale_reference)
    chosen = job.power or training.model or training.scale or len(basis.job.options) > 1
    chosen = chosen or not all(option.plain for option in basis.job.options)
    if not chosen:
        ledger.same("jobs.ways", stated.ways, ())
        return paces
    named, types = [way.gpu_type for way in stated.ways], stated.gpu_types
    ledger.same("jobs.ways", sorted(named), sorted(types))
    for way in stated.ways:
        if way.gpu_type in types:
            paces[way.gpu_type] = _check_way(ledger, basis, job, way)
            least = way.min_replicas * (replica_gpus(job.parallelism) if job.parallelism else 0)
            enough = stated.gpus_used >= least
            ledger.require(enough, f"jobs.gpus_used: {way.min_replicas} replicas take {least}")
    return paces


def _check_way(ledger: Ledger, basis: Basis, job: Job, way: WayPlan) -> Pace:
    item, name, power = basis.items[way.gpu_type], f"jobs.ways.{way.gpu_type}", job.power
    caps = (1.0,) if power is None else power.asked
    known = caps is None or any(abs(way.gpu_cap - cap) < SAME_CAP for cap in caps)
    point = set_point(job, item, way.precision, way.gpu_cap, basis.rated_kw(item))
    ledger.require(known and point is not None, f"{name}.gpu_cap: {way.gpu_cap:g} is no set point")
    asked = way.precision in job.training.precisions
    ledger.require(asked, f"{name}.precision: {way.precision} is not asked for")
    point = point or SetPoint(1.0, 1.0, 1.0, 1.0)
    throughput = getattr(point, "middle" if power is None else power.reading)
    row, option, tdp = measured_rate(item, job, way.precision), job.parallelism, item.gpu.tdp
    own: dict[str, Any] = {"rated_it_power_kw": basis.rated_kw(item), "throughput": throughput}
    own |= {"throughput_low": point.low, "throughput_high": point.high, "power_share": point.power}
    own["gpu_limit_w"] = None if tdp is None else tdp.value * 1000 * way.gpu_cap
    own |= {"rate_tflops": row and row.rate_tflops, "rate_gpus": row and row.gpus, "tensor": None}
    own |= {f"rate_{end}_tflops": row and getattr(row, f"{end}_tflops") for end in ("low", "high")}
    if option is not None:
        own |= {field: getattr(option, field) for field in DEGREES}
        own |= {"option_factor": option.factor, "min_replicas": least_replicas(item, job)}
        throughput *= option.factor
    ledger.all_same(name, way, own)
    peak = peak_tflops(item, way.precision)
    if job.training.model is None:
        reference = job.training.scale_reference
        return Pace(point.power, throughput, peak, job.training.mfu, reference)
    if row is None:
        return Pace(point.power, throughput, None, 1.0, None)
    share = row.rate_tflops / peak if peak else 1.0
    return Pace(point.power, throughput, peak or row.rate_tflops, share, row.gpus)
