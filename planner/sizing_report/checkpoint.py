"""The checkpoint's size and why, the room it takes, and what restoring it reads."""

from __future__ import annotations

from planner.case import Case
from planner.inputs import Inputs
from planner.schema.problem import Job
from planner.sizing.checkpoint import BYTES_PER_PARAMETER, FanOut, restore_fan_out
from planner.sizing.demand import (
    WEIGHTS_ONLY_BYTES_PER_PARAMETER,
    ingest_gb_per_s,
    restore_demand_gb_per_s,
)
from planner.sizing_report.model import Checkpoint, Cluster, RestoreDemand

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
