"""Measured figures of a job as changes of a problem."""

from __future__ import annotations

from collections.abc import Iterator

from planner.figures import FIGURES
from planner.paths import job_path
from planner.schema.job import FixedInterval, Job
from planner.schema.problem import Problem
from planner.schema.telemetry import Calibration, JobFound, Measured, Override
from planner.telemetry.jobs import scaled
from planner.units import DAY_S, HOUR_S

_JOB = job_path()


def calibration(
    found: JobFound,
    problem: Problem,
    name: str,
    gpus: int | None = None,
    write_gb_per_s: float | None = None,
    read_gb_per_s: float | None = None,
) -> Calibration:
    """Measurements of a job as overrides of a problem.

    Args:
        found: the job.
        problem: the problem, ``name`` its file for the record.
        gpus: GPUs that the job ran on.
        write_gb_per_s, read_gb_per_s: nameplate bandwidth of the storage that was measured.
    """
    fractions = problem.storage.delivered_fraction
    made = [
        *_of_checkpoints(found, problem.job),
        _failures(found, gpus),
        _delivered("write", found.write_gb_per_s, write_gb_per_s, fractions.write),
        _delivered("read", found.read_gb_per_s, read_gb_per_s, fractions.read),
        "stall, restart time, slowdown while draining: invisible to storage",
    ]
    return Calibration(
        job=found.name,
        problem=name,
        gpus=gpus,
        overrides=tuple(each for each in made if isinstance(each, Override)),
        not_measured=tuple(each for each in made if isinstance(each, str)),
    )


def _override(
    path: str, label: str, unit: str, measured: Measured, source: str, now: object
) -> Override:
    def text(value: float) -> str:
        return f"{value:.6g} {unit}".rstrip()

    drawn = None
    if measured.low is not None and measured.high is not None and measured.high > measured.low:
        ends = (measured.low, measured.value, measured.high)
        drawn = f"{path}=triangular({', '.join(text(end) for end in ends)})"
    if isinstance(now, int | float):
        now = text(now)
    return Override(
        path=path,
        label=label,
        unit=unit,
        measured=measured,
        setting=f"{path}={text(measured.value)}",
        distribution=drawn,
        now=None if now is None else str(now),
        source=source,
    )


def _of_checkpoints(found: JobFound, job: Job) -> Iterator[Override]:
    source = f"telemetry, {found.checkpoints:,} checkpoints"
    if job.parameters is not None and job.checkpoint.size_gb is None:
        per = scaled(found.size_gb, 1e9 / job.parameters)
        path, now = f"{_JOB}.bytes_per_parameter", str(job.bytes_per_parameter)
        yield _override(path, "bytes per parameter", "", per, source, now)
    else:
        path, label = f"{_JOB}.checkpoint.size", FIGURES["checkpoint_gb"].label
        yield _override(path, label, "GB", found.size_gb, source, job.checkpoint.size_gb)
    if isinstance(job.checkpoint.interval, FixedInterval):  # else it is the planner's to choose
        path, now_s = f"{_JOB}.checkpoint.interval.every", job.checkpoint.interval.every_s
        yield _override(path, "interval", "s", found.interval_s, source, now_s)


def _failures(found: JobFound, gpus: int | None) -> Override | str:
    mtti = found.mtti_s
    if mtti is None:
        return f"failures: none seen in {found.observed_s / HOUR_S:.1f} h"
    if gpus is None:
        return f"failures: one every {mtti.value / HOUR_S:.3g} h, on how many GPUs? say --gpus"
    rate = DAY_S / gpus
    low, high = (None if end is None else rate / end for end in (mtti.high, mtti.low))
    measured = Measured(value=rate / mtti.value, low=low, high=high)
    path, label = f"{_JOB}.failures.per_gpu_day", "failures per GPU and day"
    return _override(path, label, "", measured, f"telemetry, {found.restarts:,} restarts", None)


def _delivered(
    way: str, measured: Measured | None, nameplate: float | None, now: float
) -> Override | str:
    label = f"delivered fraction, {way}"
    if measured is None:
        return f"{label}: no restoring read was seen"
    if nameplate is None:
        return f"{label}: the nameplate of the storage is missing (--nameplate)"
    if measured.high is None:
        least = measured.low or measured.value
        return f"{label}: at least {least / nameplate:.3g}; samples do not resolve the drains"
    share = scaled(measured, 1 / nameplate)
    if share.value > 1:
        return f"{label}: {measured.value:.4g} GB/s was seen, more than the nameplate"
    share = share.model_copy(update={"high": min(1.0, share.high or 1.0)})
    path = f"storage.delivered_fraction.{way}"
    return _override(path, label, "", share, "telemetry, bandwidth of the job's bursts", now)
