"""The whole report, part by part."""

from __future__ import annotations

from collections.abc import Iterator

from planner.case import Case, resolve
from planner.inputs import Inputs
from planner.schema.problem import Job
from planner.sizing.checkpoint import BYTES_PER_PARAMETER, FanOut, restore_fan_out
from planner.sizing.demand import (
    WEIGHTS_ONLY_BYTES_PER_PARAMETER,
    ingest_gb_per_s,
    restore_demand_gb_per_s,
)
from planner.sizing_report.cluster import cluster, gpu_types
from planner.sizing_report.laws import mode_report, read_demand, rule_rows
from planner.sizing_report.model import Checkpoint, Cluster, ModeReport, RestoreDemand, SizeReport


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
    held = cluster(inputs, case, types, gpus)
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
    )


def _notes(case: Case, held: Cluster, modes: tuple[ModeReport, ...]) -> Iterator[str]:
    job = case.job
    if held.gpus < job.gpus_min:
        yield f"the problem asks for at least {job.gpus_min:,} GPUs"
    if job.gpus_max is not None and held.gpus > job.gpus_max:
        yield f"the problem allows at most {job.gpus_max:,} GPUs in use"
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
        elif not runs.first_order_valid:
            yield (
                "the first-order goodput is not to be trusted here: restart, drain and half an "
                "interval are too large a part of the time between interruptions"
            )
    if not case.storage:
        yield "no storage is on offer; planner check lists why each item is left out"


def _client_notes(case: Case, held: Cluster, modes: tuple[ModeReport, ...]) -> Iterator[str]:
    read = read_demand(case.job, held.gpus)
    if read > held.client_read_gb_per_s:
        yield _beyond_clients("reading", read, held.client_read_gb_per_s)
    for mode in modes:
        write = mode.rows[0].write_gb_per_s
        if write is not None and write > held.client_write_gb_per_s:
            yield _beyond_clients("writing", write, held.client_write_gb_per_s)


def _beyond_clients(what: str, asked_gb_per_s: float, most_gb_per_s: float) -> str:
    return (
        f"the job's law asks for {what} {asked_gb_per_s:,.0f} GB/s, more than the "
        f"{most_gb_per_s:,.0f} GB/s that its GPU systems can move before any client's factor"
    )


_FAN_OUTS: tuple[FanOut, ...] = ("broadcast", "sharded_optimizer", "every_replica")


def checkpoint_report(inputs: Inputs, case: Case, gpus: int) -> Checkpoint:
    """Return the size of a checkpoint, the capacity it needs and the data it is fed.

    Args:
        inputs: the problem with its catalogs.
        case: the same in numbers.
        gpus: GPUs the job uses.
    """
    job, numbers = inputs.problem.job, case.job
    kept = job.checkpoint.keep_last + 1 + job.checkpoint.milestones
    exports = job.checkpoint.exports * (job.parameters or 0.0)
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
        ingest_gb_per_s=ingest_gb_per_s(gpus, numbers.ingest_per_gpu_gb_per_s),
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
