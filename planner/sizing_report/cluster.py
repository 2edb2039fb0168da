"""Which GPUs to size for: the number asked for, else the most the site can hold."""

from __future__ import annotations

from planner.case import Case, System
from planner.case.caps import UNLIMITED_UNITS, cap_in_use
from planner.case.figures import it_power_kw
from planner.errors import Finding, InputError
from planner.inputs import Inputs
from planner.schema.catalog import Item
from planner.schema.problem import Quantity
from planner.sizing.checkpoint import replicas, writing_systems
from planner.sizing.reliability import FAILURES_PER_GPU_DAY, mtti_s
from planner.sizing_report.model import Cluster, GpuType


def gpu_types(inputs: Inputs, case: Case) -> tuple[GpuType, ...]:
    """Return the GPU types on offer, the reference first: demanded, then most peak FLOP/s.

    Raises:
        InputError: no GPU system is on offer.
    """
    if not case.systems:
        message = "no GPU system is on offer"
        fix = "planner check PROBLEM lists why each one is left out"
        raise InputError(Finding("no-gpu-system", message, fix=fix))

    def rank(kind: GpuType) -> tuple[bool, float, int, str]:
        return not kind.demanded, -(kind.peak_pflops or 0.0), -kind.gpus, kind.item

    return tuple(sorted((_gpu_type(inputs, case, each) for each in case.systems), key=rank))


def _gpu_type(inputs: Inputs, case: Case, system: System) -> GpuType:
    most = cap_in_use(case, system)
    gpus = case.job.most_gpus(system, most)
    return GpuType(
        item=system.id,
        name=name(inputs, system.id),
        systems=most,
        gpus=gpus,
        peak_pflops=gpus * system.tflops_per_gpu / 1000 if system.tflops_per_gpu else None,
        demanded=inputs.problem.items.get(system.id, Quantity()).least > 0,
        limited=most != UNLIMITED_UNITS,
    )


def item_of(inputs: Inputs, sku: str) -> Item:
    """Return the catalog item of an id."""
    return next(item for item in inputs.items if item.id == sku)


def name(inputs: Inputs, sku: str) -> str:
    """Return vendor and model of an item."""
    item = item_of(inputs, sku)
    return f"{item.vendor} {item.model}"


def cluster(
    inputs: Inputs, case: Case, types: tuple[GpuType, ...], asked_gpus: int | None
) -> Cluster:
    """Return the GPUs to size for, their replicas, writers, readers and failures.

    Args:
        inputs: the problem with its catalogs.
        case: the same in numbers.
        types: the GPU types on offer, the reference first.
        asked_gpus: GPUs to size for, or None for the most of the reference type.

    Raises:
        InputError: nothing limits the GPUs, not one system fits, or not even one replica.
    """
    kind = types[0]
    system = next(system for system in case.systems if system.id == kind.item)
    gpus = _most_gpus(case, system, kind) if asked_gpus is None else asked_gpus
    job = case.job
    _refuse_less_than_a_replica(gpus, job.replica_gpus, asked_gpus is not None)
    systems = -(-gpus // system.usable_gpus)
    replica = job.replica_gpus
    readers = writers = systems
    if replica is not None and job.one_replica_writes:
        writers = writing_systems("one_replica", systems, system.usable_gpus, replica)
    if replica is not None and job.one_replica_reads:
        readers = writing_systems("one_replica", systems, system.usable_gpus, replica)
    return Cluster(
        item=kind.item,
        name=kind.name,
        choice=_choice(types),
        count=_count(asked_gpus, kind),
        gpus=gpus,
        gpus_bought=systems * system.gpus if asked_gpus is None else gpus,
        gpus_per_system=system.gpus,
        systems=systems,
        system_it_power_kw=it_power_kw(item_of(inputs, kind.item), inputs),
        replica_gpus=replica,
        replicas=replicas(gpus, replica) if replica else None,
        data_parallel=gpus / replica if replica else None,
        writing_systems=writers,
        reading_systems=readers,
        client_write_gb_per_s=writers * system.client_write_gb_per_s,
        client_read_gb_per_s=readers * system.client_read_gb_per_s,
        failures_per_gpu_day=system.failures_per_gpu_day,
        failures_reason=_failures_reason(inputs, kind.item),
        mtti_s=mtti_s(system.failures_per_gpu_day, gpus),
    )


def _most_gpus(case: Case, system: System, kind: GpuType) -> int:
    if not kind.limited:
        message = "nothing limits the GPUs, so there is no number to size for"
        fix = "give --gpus N, or a power, space or cost budget"
        raise InputError(Finding("unlimited", message, fix=fix))
    job = case.job
    gpus = kind.gpus if job.gpus_max is None else min(kind.gpus, job.gpus_max)
    step = job.step(system)
    if gpus < step:
        what = "replica" if step == job.replica_gpus else "system"
        held = kind.systems * system.gpus
        message = f"the site holds {held:,} GPUs of {kind.name}, and one {what} is {step:,}"
        raise InputError(Finding("no-room", message, fix="raise the budgets, or give --gpus N"))
    return gpus // step * step


def _refuse_less_than_a_replica(gpus: int, replica_gpus: int | None, asked: bool) -> None:
    if replica_gpus is None or gpus >= replica_gpus:
        return
    what = f"--gpus {gpus}" if asked else f"the {gpus:,} GPUs that the site holds"
    message = f"one replica needs {replica_gpus:,} GPUs (tensor x pipeline), more than {what}"
    fix = "give --gpus N" if not asked else f"give at least {replica_gpus}"
    raise InputError(Finding("replica", message, fix=fix))


def _choice(types: tuple[GpuType, ...]) -> str:
    first = types[0]
    if len(types) == 1:
        return "the only type on offer"
    if first.demanded:
        return "the type that the problem demands"
    if first.peak_pflops is None:
        return "the type on offer with the most GPUs"
    return "the type on offer with the most peak FLOP/s"


def _count(asked_gpus: int | None, kind: GpuType) -> str:
    if asked_gpus is None:
        return "the most that power, racks, budgets and counts, each alone, allow"
    if kind.limited and asked_gpus > kind.gpus:
        return f"as asked by --gpus; more than the {kind.gpus:,} that the limits allow"
    return "as asked by --gpus"


def _failures_reason(inputs: Inputs, sku: str) -> str:
    job, figure = inputs.problem.job, item_of(inputs, sku).gpu.failures_per_day
    if "failures" not in job.model_fields_set and figure is not None:
        return f"the catalog's figure for {name(inputs, sku)}"
    if not isinstance(job.failures, str):
        return "given in the problem"
    preset = FAILURES_PER_GPU_DAY[job.failures]
    default = "" if "failures" in job.model_fields_set else "default "
    return f"{default}{preset.name}: {preset.meaning}; {preset.source}"
