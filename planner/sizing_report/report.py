"""The whole report: which GPUs to size for, the checkpoint, laws, rules, a local level, notes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from planner.case import Case, System, resolve
from planner.case.bandwidth import stall_s
from planner.case.bounds import UNLIMITED_UNITS, cap_in_use
from planner.case.figures import it_power_kw
from planner.errors import Finding, InputError
from planner.inputs import Inputs
from planner.schema.problem import Job, Quantity
from planner.schema.running import DEFAULT_FAILURES
from planner.sizing.checkpoint import (
    BYTES_PER_PARAMETER,
    FanOut,
    replicas,
    restore_fan_out,
    writing_systems,
)
from planner.sizing.demand import (
    WEIGHTS_ONLY_BYTES_PER_PARAMETER,
    restore_demand_gb_per_s,
)
from planner.sizing.goodput import FAILURES_PER_GPU_DAY, mtti_s
from planner.sizing_report.appliances import name
from planner.sizing_report.laws import (
    mode_report,
    read_demand,
    reads,
    rule_rows,
)
from planner.sizing_report.model import (
    Checkpoint,
    Cluster,
    GpuType,
    ModeReport,
    RestoreDemand,
    SizeReport,
)


def with_known_stall(case: Case, cluster: Cluster) -> Case:
    """Return the case on one number of GPUs: its stall in seconds, without a local level."""
    job = case.job
    way = next(system for system in case.systems if system.id == cluster.item).way()
    modes = tuple(mode for mode in job.modes if mode != "local") or ("async",)
    known_s = stall_s(job, way, cluster.gpus)
    return replace(case, job=replace(job, stall_s=known_s, derived_stall=False, modes=modes))


_FAN_OUTS: tuple[FanOut, ...] = ("broadcast", "sharded_optimizer", "every_replica")


def size_report(inputs: Inputs, gpus: int | None = None) -> SizeReport:
    """Return what a problem asks of its storage, without solving it.

    Args:
        inputs: a validated problem with its catalogs and prices.
        gpus: GPUs to size for, bought and in use; None for the most that the limits allow.

    Raises:
        InputError: there is no number of GPUs to size for, or it holds no replica.
    """
    case = resolve(inputs)
    types = gpu_types(inputs, case)
    held = cluster_of(inputs, case, types, gpus)
    case = with_known_stall(case, held)
    modes = tuple(mode_report(case, held, mode) for mode in case.job.modes)
    return SizeReport(
        problem=inputs.problem.name,
        gpu_types=types,
        cluster=held,
        checkpoint=checkpoint_report(inputs, case, held.gpus),
        restore=restore_demands(inputs, case, held),
        modes=modes,
        delivered_read_share=case.delivered_read,
        delivered_write_share=case.delivered_write,
        rules=rule_rows(inputs, case, held, modes),
        notes=tuple(_notes(case, held, modes)),
        currency=inputs.problem.shown_in,
    )


def _notes(case: Case, held: Cluster, modes: tuple[ModeReport, ...]) -> Iterator[str]:
    job = case.job
    if held.gpus < job.gpus_min:
        yield f"the problem asks for at least {job.gpus_min:,} GPUs"
    system = next(system for system in case.systems if system.id == held.item)
    most = job.gpus_max_in(system.way())
    if most is not None and held.gpus > most:
        yield f"the problem allows at most {most:,} GPUs in use"
    if read_demand(job, held.gpus) == 0:
        yield (
            "nothing asks for read bandwidth (no restore.max_time, no ingest); for goodput under "
            "the job's law, reading is taken to be as fast as writing"
        )
    yield from _client_notes(case, held, modes)
    for mode in modes:
        runs = mode.rows[0].running
        if runs is None:
            yield f"the stall of {job.stall_s:g} s fills the interval of {mode.interval_s:g} s"
    if not case.storage:
        yield "no storage is on offer; planner check lists why each item is left out"


def _client_notes(case: Case, held: Cluster, modes: tuple[ModeReport, ...]) -> Iterator[str]:
    restore, data = reads(case.job, held.gpus)
    if not case.job.one_replica_reads:  # the same systems read both
        restore, data = max(restore, data), 0.0
    for what, asked, most in (
        ("reading", restore, held.client_read_gb_per_s),
        ("reading training data at", data, held.client_data_gb_per_s),
    ):
        if asked > most:
            yield _beyond_clients(what, asked, most)
    for mode in modes:
        write = mode.rows[0].write_gb_per_s
        if write is not None and write > held.client_write_gb_per_s:
            yield _beyond_clients("writing", write, held.client_write_gb_per_s)


def _beyond_clients(what: str, asked_gb_per_s: float, most_gb_per_s: float) -> str:
    return (
        f"the job's law asks for {what} {asked_gb_per_s:,.0f} GB/s, more than the "
        f"{most_gb_per_s:,.0f} GB/s that its GPU systems can move before any client's factor"
    )


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
    way = system.way()
    gpus = way.most_gpus(most)
    return GpuType(
        item=system.id,
        name=name(inputs, system.id),
        systems=most,
        gpus=gpus,
        peak_pflops=gpus * way.tflops_per_gpu / 1000 if way.tflops_per_gpu else None,
        demanded=inputs.problem.items.get(system.id, Quantity()).least > 0,
        limited=most != UNLIMITED_UNITS,
    )


def cluster_of(
    inputs: Inputs, case: Case, types: tuple[GpuType, ...], asked_gpus: int | None
) -> Cluster:
    """Return the GPUs to size for, their replicas, writers, readers and failures.

    Args:
        types: the GPU types on offer, the reference first.
        asked_gpus: GPUs to size for, or None for the most of the reference type.

    Raises:
        InputError: nothing limits the GPUs, not one system fits, or not even one replica.
    """
    kind = types[0]
    system = next(system for system in case.systems if system.id == kind.item)
    gpus = _most_gpus(case, system, kind) if asked_gpus is None else asked_gpus
    job, way = case.job, system.way()
    replica = way.replica_gpus
    _refuse_less_than_a_replica(gpus, replica, asked_gpus is not None)
    systems = -(-gpus // way.usable_gpus)
    readers = writers = systems
    if replica is not None and job.one_replica_writes:
        writers = writing_systems("one_replica", systems, way.usable_gpus, replica)
    if replica is not None and job.one_replica_reads:
        readers = writing_systems("one_replica", systems, way.usable_gpus, replica)
    return Cluster(
        item=kind.item,
        name=kind.name,
        choice=_choice(types),
        count=_count(asked_gpus, kind),
        gpus=gpus,
        gpus_bought=systems * system.gpus if asked_gpus is None else gpus,
        gpus_per_system=system.gpus,
        systems=systems,
        system_it_power_kw=it_power_kw(inputs.item(kind.item), inputs),
        replica_gpus=replica,
        replicas=replicas(gpus, replica) if replica else None,
        data_parallel=gpus / replica if replica else None,
        writing_systems=writers,
        reading_systems=readers,
        client_write_gb_per_s=writers * system.client_write_gb_per_s,
        client_read_gb_per_s=readers * system.client_read_gb_per_s,
        client_data_gb_per_s=systems * system.client_read_gb_per_s,
        failures_per_gpu_day=way.failures_per_gpu_day,
        failures_reason=_failures_reason(inputs, kind.item),
        mtti_s=mtti_s(way.failures_per_gpu_day, gpus),
    )


def _most_gpus(case: Case, system: System, kind: GpuType) -> int:
    if not kind.limited:
        message = "nothing limits the GPUs, so there is no number to size for"
        fix = "give --gpus N, or a power, space or cost budget"
        raise InputError(Finding("unlimited", message, fix=fix))
    most, step = case.job.gpus_max_in(system.way()), system.way().step_gpus
    gpus = kind.gpus if most is None else min(kind.gpus, most)
    if gpus < step:
        what = "replica" if step == system.way().replica_gpus else "system"
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
    job, figure = inputs.problem.job, inputs.item(sku).gpu.failures_per_day
    given = job.failure_rate
    if given is None and figure is not None:
        return f"the catalog's figure for {name(inputs, sku)}"
    if isinstance(given, float):
        return "given in the problem"
    preset = FAILURES_PER_GPU_DAY[given or DEFAULT_FAILURES]
    default = "default " if given is None else ""
    return f"{default}{preset.name}: {preset.meaning}; {preset.source}"


def checkpoint_report(inputs: Inputs, case: Case, gpus: int) -> Checkpoint:
    """Return the size of a checkpoint, the capacity it needs and the data it is fed."""
    job, numbers = inputs.problem.job, case.job
    archived = 0 if job.in_bulk else 1
    kept = job.checkpoint.keep_last + 1 + archived * job.checkpoint.milestones
    exports = archived * job.checkpoint.exports * (job.parameters or 0.0)
    return Checkpoint(
        size_gb=numbers.checkpoint_gb,
        bytes_per_parameter=numbers.bytes_per_parameter if job.parameters else None,
        trained_share=job.trained_share,
        size_reason=_size_reason(job, numbers.bytes_per_parameter),
        capacity_needed_tb=numbers.capacity_needed_tb,
        dataset_tb=job.dataset_tb,
        checkpoints_tb=numbers.checkpoint_gb * kept / 1e3,
        exports_tb=WEIGHTS_ONLY_BYTES_PER_PARAMETER * exports / 1e12,
        fill_limit_share=inputs.problem.storage.fill_limit,
        ingest_gb_per_s=gpus * numbers.ingest_per_gpu_gb_per_s,
    )


def _size_reason(job: Job, bytes_each: float) -> str:
    if job.parameters is None:
        return "size given in the problem"
    share = "" if job.trained_share == 1 else f", {100 * job.trained_share:g} % of them trained"
    of = f"{job.parameters / 1e9:,.10g} billion parameters{share}"
    if job.checkpoint.size_gb is not None:
        return f"size given in the problem; {of}"
    asked = job.bytes_per_parameter
    if not isinstance(asked, str):
        return f"{of}, {bytes_each:g} bytes each (given in the problem)"
    preset = BYTES_PER_PARAMETER[asked]
    return f"{of}, {bytes_each:g} bytes each ({preset.name}: {preset.meaning}; {preset.source})"


def restore_demands(inputs: Inputs, case: Case, cluster: Cluster) -> tuple[RestoreDemand, ...]:
    """Return what each way of restoring reads, as far as the job's layout is known."""
    known = [kind for kind in _FAN_OUTS if _can_restore(kind, inputs, case, cluster)]
    return tuple(_restore_demand(kind, case, cluster) for kind in known)


def _can_restore(kind: FanOut, inputs: Inputs, case: Case, cluster: Cluster) -> bool:
    if kind == "broadcast":
        return True
    if cluster.data_parallel is None:
        return False
    sized = inputs.problem.job.parameters is not None
    return kind == "every_replica" or (sized and case.job.bytes_per_parameter >= 2.0)


def _restore_demand(kind: FanOut, case: Case, cluster: Cluster) -> RestoreDemand:
    job = case.job
    times = restore_fan_out(kind, job.bytes_per_parameter, cluster.data_parallel or 1.0)
    within = job.max_restore_s
    return RestoreDemand(
        fan_out=kind,
        used=kind == job.fan_out,
        reads_of_checkpoint=times,
        read_gb=times * job.checkpoint_gb,
        max_restore_s=within,
        read_gb_per_s=(
            None if within is None else restore_demand_gb_per_s(job.checkpoint_gb, times, within)
        ),
    )
