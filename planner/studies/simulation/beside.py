"""Jobs that run beside a plan's on the same storage: another plan's, or those of a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from planner.errors import Finding, InputError
from planner.loader import yaml12
from planner.loader.job_size import job_size
from planner.loader.market import validated
from planner.loader.yaml12 import Document
from planner.schema.base import Model
from planner.schema.plan import JobPlan, Plan
from planner.schema.problem import FailureRate, FixedInterval, Job, LostWorkInterval
from planner.simulation.world import Appliances, Exponential, JobRun, World, job_run
from planner.sizing.checkpoint import restore_fan_out
from planner.sizing.reliability import FAILURES_PER_GPU_DAY, mtti_s
from planner.studies.compare.sides import read_side

MOST_JOBS = 8
_YAML = (".yaml", ".yml")
_WHAT = "file of jobs"


class JobsFile(Model):
    """A file of jobs in the form of a problem file's."""

    jobs: Annotated[tuple[Job, ...], Field(min_length=1)]


def beside(
    paths: Sequence[Path], plan: Plan, stores: Sequence[Appliances]
) -> tuple[tuple[JobRun, ...], tuple[JobPlan | None, ...]]:
    """Return the jobs of some files, and what their plans say of those that are planned.

    Args:
        paths: plans, or files with a ``jobs`` section.
        plan: whose storage they share; jobs of a file are its clients as its own job is.
        stores: that storage.

    Raises:
        InputError: a file is wrong, or there are too many jobs.
    """
    runs: list[JobRun] = []
    planned: list[JobPlan | None] = []
    for path in paths:
        if path.suffix.lower() in _YAML:
            found = _from_file(path, plan.jobs[0], stores)
            runs += found
            planned += [None] * len(found)
        else:
            job = _planned_job(path)
            runs.append(job_run(job, stores))
            planned.append(job)
    if len(runs) >= MOST_JOBS:
        message = f"{len(runs) + 1} jobs are more than can share storage here"
        raise InputError(Finding("option", message, "--beside", fix=f"at most {MOST_JOBS} in all"))
    return tuple(runs), tuple(planned)


def _planned_job(path: Path) -> JobPlan:
    plan = read_side(path).plan
    if not plan.jobs:
        raise InputError(Finding("plan", "there is no plan in it, so no job", str(path)))
    return plan.jobs[0]


def _from_file(path: Path, first: JobPlan, stores: Sequence[Appliances]) -> list[JobRun]:
    document = yaml12.read(path, _WHAT)
    if "jobs" not in document.data:
        message = "there are no jobs in it"
        fix = "give a plan, or a file that begins with 'jobs:'"
        raise InputError(Finding("missing-key", message, document.file, 1, fix=fix))
    document.data = {"jobs": document.data["jobs"]}
    jobs = validated(JobsFile, document).jobs
    return [_job(job, ("jobs", at), document, first, stores) for at, job in enumerate(jobs)]


def _job(
    job: Job,
    path: yaml12.Path_,
    document: Document,
    first: JobPlan,
    stores: Sequence[Appliances],
) -> JobRun:
    gpus = job.gpus.min
    if gpus is None:
        fix = "write gpus: {min: 512}"
        raise _wrong(document, path, "it does not say how many GPUs it uses", fix)
    rate = job.failures
    per_day = (
        rate.per_gpu_day if isinstance(rate, FailureRate) else FAILURES_PER_GPU_DAY[rate].value
    )
    mean_s = mtti_s(per_day, gpus)
    size_gb, bytes_each = job_size(job)
    interval = job.checkpoint.interval
    if isinstance(interval, FixedInterval):
        interval_s = interval.every_s
    elif isinstance(interval, LostWorkInterval):
        interval_s = interval.kappa * mean_s
    else:
        fix = "write checkpoint: {interval: {policy: fixed, every: 30 min}}"
        raise _wrong(document, path, "its interval is not fixed, and nothing chooses one here", fix)
    share = gpus / first.gpus_used
    write = first.client_write_limit_gb_per_s * share
    sync = job.checkpoint.mode == "sync"
    alone = min(World((), tuple(stores)).write_gb_per_s, write)
    return JobRun(
        name=job.name,
        interval_s=interval_s,
        stall_s=size_gb / alone if sync else job.checkpoint.stall_s,
        checkpoint_gb=size_gb,
        restore_gb=size_gb * _fan_out(job, bytes_each, gpus),
        restart_s=job.restore.restart_s,
        failures=Exponential(mean_s),
        drain_slowdown=0.0 if sync else job.checkpoint.drain_slowdown,
        sync=sync,
        client_write_gb_per_s=write,
        client_read_gb_per_s=first.client_read_limit_gb_per_s * share,
    )


def _fan_out(job: Job, bytes_each: float, gpus: int) -> float:
    kind = job.restore.fan_out
    if kind == "broadcast" or job.parallelism is None:
        return 1.0
    return restore_fan_out(kind, bytes_each, max(1.0, gpus / job.parallelism.replica_gpus))


def _wrong(document: Document, path: yaml12.Path_, message: str, fix: str) -> InputError:
    dotted = ".".join(str(step) for step in path)
    return InputError(Finding("job", message, *document.place(path), dotted, fix))
