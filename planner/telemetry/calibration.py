"""Measured figures as changes of a problem, with their ranges; and what was not measured."""

from __future__ import annotations

from dataclasses import dataclass

from planner.paths import job_path
from planner.schema.problem import FixedInterval, Job, Problem
from planner.schema.telemetry import Calibration, JobFound, Measured, Override
from planner.telemetry.job_log import JobLog
from planner.telemetry.ranges import minus, ratio, scaled
from planner.units import DAY_S, HOUR_S

_JOB = job_path()


@dataclass(frozen=True)
class Known:
    """What telemetry cannot tell.

    Attributes:
        gpus: GPUs that the job ran on.
        write_gb_per_s, read_gb_per_s: nameplate bandwidth of the storage that was measured.
        log: the job's log.
    """

    gpus: int | None = None
    write_gb_per_s: float | None = None
    read_gb_per_s: float | None = None
    log: JobLog | None = None


def calibration(found: JobFound, problem: Problem, name: str, known: Known) -> Calibration:
    """Return the measurements of a job as overrides of a problem.

    Args:
        found: the job.
        problem: the problem.
        name: the problem's file, for the record.
        known: what telemetry cannot tell.
    """
    job = problem.job
    made: list[Override] = []
    left: list[str] = []
    for each in (
        _size(found, job),
        _interval(found, job),
        _stall(job, known.log),
        _restart(found, job, known.log),
        _failures(found, known),
        _delivered("write", found.write_gb_per_s, known.write_gb_per_s, problem),
        _delivered("read", found.read_gb_per_s, known.read_gb_per_s, problem),
    ):
        if isinstance(each, Override):
            made.append(each)
        elif each:
            left.append(each)
    if job.checkpoint.drain_slowdown:
        left.append("slowdown while draining: neither telemetry nor the log tells")
    return Calibration(
        job=found.name,
        problem=name,
        gpus=known.gpus,
        overrides=tuple(made),
        not_measured=tuple(left),
    )


def _override(
    path: str, label: str, unit: str, measured: Measured, source: str, now: str | None
) -> Override:
    def text(value: float) -> str:
        return f"{value:.6g} {unit}".rstrip()

    drawn = None
    if measured.low is not None and measured.high is not None and measured.high > measured.low:
        ends = (measured.low, measured.value, measured.high)
        drawn = f"{path}=triangular({', '.join(text(end) for end in ends)})"
    return Override(
        path=path,
        label=label,
        unit=unit,
        measured=measured,
        setting=f"{path}={text(measured.value)}",
        distribution=drawn,
        now=now,
        source=source,
    )


def _seen(found: JobFound) -> str:
    return f"telemetry, {_many(found.checkpoints, 'checkpoint')}"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _size(found: JobFound, job: Job) -> Override:
    if job.parameters is not None and job.checkpoint.size_gb is None:
        per = scaled(found.size_gb, 1e9 / (job.parameters * job.trained_share))
        now = f"{job.bytes_per_parameter}"
        path = f"{_JOB}.bytes_per_parameter"
        return _override(path, "bytes per parameter", "", per, _seen(found), now)
    path, size = f"{_JOB}.checkpoint.size", job.checkpoint.size_gb
    said = None if size is None else f"{size:g} GB"
    return _override(path, "checkpoint size", "GB", found.size_gb, _seen(found), said)


def _interval(found: JobFound, job: Job) -> Override | None:
    """Return the interval where the problem fixes one; else it is the planner's to choose."""
    if not isinstance(job.checkpoint.interval, FixedInterval):
        return None
    now = f"{job.checkpoint.interval.every_s:g} s"
    path = f"{_JOB}.checkpoint.interval.every"
    return _override(path, "interval", "s", found.interval_s, _seen(found), now)


def _stall(job: Job, log: JobLog | None) -> Override | str:
    if job.checkpoint.mode == "sync":
        return "stall: the problem's job waits for storage, so its stall follows from the drain"
    if log is None or log.stall_s is None:
        return "stall: storage does not see it; a job log does (--log)"
    source = f"job log, {_many(log.checkpoints, 'checkpoint')}"
    now = f"{job.checkpoint.stall_s:g} s"
    return _override(f"{_JOB}.checkpoint.stall", "stall", "s", log.stall_s, source, now)


def _restart(found: JobFound, job: Job, log: JobLog | None) -> Override | str:
    if log is None or log.restart_s is None:
        return "restart time: storage does not see when a job fails; a job log does (--log)"
    source, time = f"job log, {_many(log.failures, 'failure')}", log.restart_s
    if found.restore_s is not None:
        source += ", less the restoring read"
        time = minus(time, found.restore_s)
    now = f"{job.restore.restart_s:g} s"
    return _override(f"{_JOB}.restore.restart", "restart time", "s", time, source, now)


def _failures(found: JobFound, known: Known) -> Override | str:
    log = known.log
    mtti, source = found.mtti_s, f"telemetry, {_many(found.restarts, 'restart')}"
    from_trace = log is None or log.mtti_s is None
    if log is not None and log.mtti_s is not None:
        mtti, source = log.mtti_s, f"job log, {_many(log.failures, 'failure')}"
    if mtti is None:
        return f"failures: none seen in {found.observed_s / HOUR_S:.1f} h"
    if from_trace and found.contested:
        reads = _many(found.contested, "restoring read")
        return f"failures: {reads} may be this job's or another's; a job log tells (--log)"
    if known.gpus is None:
        return f"failures: one every {mtti.value / HOUR_S:.3g} h, on how many GPUs? say --gpus"
    rate = DAY_S / known.gpus
    low, high = mtti.high, mtti.low
    measured = Measured(
        value=rate / mtti.value,
        low=None if low is None else rate / low,
        high=None if high is None else rate / high,
    )
    path, label = f"{_JOB}.failures.per_gpu_day", "failures per GPU and day"
    return _override(path, label, "", measured, source, None)


def _delivered(
    way: str, measured: Measured | None, nameplate: float | None, problem: Problem
) -> Override | str:
    label = f"delivered fraction, {way}"
    if measured is None:
        return f"{label}: no restoring read was seen"
    if nameplate is None:
        return f"{label}: of what? say the nameplate of the storage (--nameplate)"
    if measured.high is None:
        least = measured.low or measured.value
        return f"{label}: at least {least / nameplate:.3g}; samples do not resolve the drains"
    share = ratio(measured, Measured(value=nameplate, low=nameplate, high=nameplate))
    if share.value > 1:
        return f"{label}: {measured.value:.4g} GB/s was seen, more than the nameplate"
    now = f"{getattr(problem.storage.delivered_fraction, way):g}"
    path = f"storage.delivered_fraction.{way}"
    high = None if share.high is None else min(1.0, share.high)
    share = share.model_copy(update={"high": high})
    return _override(path, label, "", share, "telemetry, bandwidth of the job's bursts", now)
