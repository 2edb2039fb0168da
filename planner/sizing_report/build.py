"""The whole report, part by part."""

from __future__ import annotations

from collections.abc import Iterator

from planner.case import Case, resolve
from planner.inputs import Inputs
from planner.sizing_report.checkpoint import checkpoint_report, restore_demands
from planner.sizing_report.cluster import cluster, gpu_types
from planner.sizing_report.intervals import mode_report, read_demand
from planner.sizing_report.model import Cluster, ModeReport, SizeReport
from planner.sizing_report.rules import rule_rows


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
