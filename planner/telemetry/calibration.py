"""Measured figures of a job as changes of a problem: from telemetry, and from the job's own log.

The log states when the job saves, fails and computes again: a table with the columns ``time``,
``job`` and ``event``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from planner.errors import Finding, InputError, did_you_mean
from planner.figures import FIGURES
from planner.paths import job_path
from planner.schema.job import FixedInterval, Job
from planner.schema.problem import Problem
from planner.schema.telemetry import Calibration, JobFound, Measured, Override
from planner.telemetry.jobs import median_with_range, scaled
from planner.telemetry.restarts import poisson
from planner.telemetry.tables import names_line, read_table, read_times
from planner.units import DAY_S, HOUR_S
from planner.untrusted_files import regular

COLUMNS = ("time", "job", "event")
EVENTS = (
    "start",
    "checkpoint_begin",  # the GPUs stop for it
    "checkpoint_end",  # the GPUs go on, while the checkpoint may still be on its way
    "failure",
    "stop",  # planned
    "resume",  # computing again
    "end",
)
_MOST_BYTES = 64_000_000
_LEAST = 3
"""Least number of stalls or restarts for a figure with a range."""

_JOB = job_path()


@dataclass(frozen=True)
class JobLog:
    """Figures of one job in a log; None where data are too few.

    Attributes:
        stall_s: duration of a stop of the GPUs for a checkpoint.
        restart_s: from a failure until computing goes on, the restoring read included.
        mtti_s: wall-clock time per failure.
        failures, checkpoints: their numbers.
        start_s, end_s: its first and last event, on its own clock.
    """

    stall_s: Measured | None
    restart_s: Measured | None
    mtti_s: Measured | None
    failures: int
    checkpoints: int
    start_s: float
    end_s: float


def read_log(path: Path, job: str | None = None) -> JobLog:
    """Figures of a job in a log.

    Args:
        path: a CSV, Excel, JSON or Parquet file with the columns time, job, event.
        job: the job's name in it; None where there is only one.

    Raises:
        InputError: the file or a row is wrong, or the job is ambiguous.
    """
    rows = _rows(path).sort_values("time", kind="stable")
    names = list(dict.fromkeys(rows["job"]))
    if job is None and len(names) == 1:
        job = names[0]
    if job is None or job not in names:
        message = "the log has several jobs" if job is None else f"the log has no job '{job}'"
        hint = did_you_mean(job, names) if job else None
        fix = hint or f"name one of them with --log-job: {', '.join(names[:9])}"
        raise InputError(Finding("log", message, str(path), fix=fix))
    rows = rows[rows["job"] == job]
    start_s, end_s = float(rows["time"].iloc[0]), float(rows["time"].iloc[-1])
    failures = int((rows["event"] == "failure").sum())
    mtti = None
    if failures and end_s > start_s:
        low, high = ((end_s - start_s) / each for each in reversed(poisson(failures)))
        mtti = Measured(value=(end_s - start_s) / failures, low=low, high=high)
    return JobLog(
        stall_s=_usual_span(rows, "checkpoint_begin", "checkpoint_end"),
        restart_s=_usual_span(rows, "failure", "resume"),
        mtti_s=mtti,
        failures=failures,
        checkpoints=int((rows["event"] == "checkpoint_begin").sum()),
        start_s=start_s,
        end_s=end_s,
    )


def _rows(path: Path) -> pd.DataFrame:
    regular(path, most_bytes=_MOST_BYTES, what="log")
    frame = read_table(path, "log").dropna(how="all")
    for name in COLUMNS:
        if name not in frame:
            fix = f"a log has the columns {', '.join(COLUMNS)}"
            message, line = f"no column '{name}'", names_line(frame)
            raise InputError(Finding("log", message, str(path), line, fix=fix))
    times, _ = read_times(frame["time"], None, str(path))
    rows = frame[["job", "event"]].astype("string").fillna("").apply(lambda each: each.str.strip())
    rows["time"] = times
    wrong = rows["event"][~rows["event"].isin(EVENTS)]
    if len(wrong):
        cell, line = str(wrong.iloc[0])[:40], int(wrong.index[0])
        fix = did_you_mean(cell, EVENTS) or f"one of {', '.join(EVENTS)}"
        raise InputError(Finding("log", f"'{cell}' is no event", str(path), line, "event", fix))
    if not np.isfinite(times).all():
        line = int(frame.index[~np.isfinite(times)][0])
        raise InputError(Finding("log", "a row without a time", str(path), line, "time"))
    return rows


def _usual_span(rows: pd.DataFrame, first: str, last: str) -> Measured | None:
    """Duration from one event to another, s, of several first ones from the last; None for a few.

    A failure, a stop and the end break a span off.
    """
    spans, since = [], None
    for time, event in zip(rows["time"], rows["event"], strict=True):
        if event == last and since is not None:
            spans.append(time - since)
        if event == first:
            since = time
        elif event in (last, "failure", "stop", "end"):
            since = None
    return median_with_range(np.array(spans)) if len(spans) >= _LEAST else None


# Overrides


@dataclass(frozen=True)
class Known:
    """Inputs that telemetry cannot measure.

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
    """Measurements of a job as overrides of a problem.

    Args:
        name: the problem's file, for the record.
        known: inputs that telemetry cannot measure.
    """
    job = problem.job
    made = [*_of_checkpoints(found, job), *_of_log(found, job, known.log), _failures(found, known)]
    fractions = problem.storage.delivered_fraction
    made.append(_delivered("write", found.write_gb_per_s, known.write_gb_per_s, fractions.write))
    made.append(_delivered("read", found.read_gb_per_s, known.read_gb_per_s, fractions.read))
    if job.checkpoint.drain_slowdown:
        made.append("slowdown while draining: in neither telemetry nor a log")
    return Calibration(
        job=found.name,
        problem=name,
        gpus=known.gpus,
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


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _of_checkpoints(found: JobFound, job: Job) -> Iterator[Override]:
    source = f"telemetry, {_many(found.checkpoints, 'checkpoint')}"
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


def _of_log(found: JobFound, job: Job, log: JobLog | None) -> Iterator[Override | str]:
    """Yield stall and restart time."""
    needed = "a job log has it (--log)" if log is None else "too few in the job log"
    stall = None if log is None else log.stall_s
    if job.checkpoint.mode == "sync":
        yield "stall: the problem's job waits for storage, so its stall follows from the drain"
    elif stall is None or log is None:
        yield f"stall: invisible to storage; {needed}"
    elif job.checkpoint.stall_s == "derived":
        yield "stall: the problem derives it from the copy to the hosts"
    else:
        source = f"job log, {_many(log.checkpoints, 'checkpoint')}"
        now_s, path = job.checkpoint.stall_s, f"{_JOB}.checkpoint.stall"
        yield _override(path, "stall", "s", stall, source, now_s)
    if job.levels is not None:
        yield "restart times: by level in the problem, one in a log"
    elif log is None or log.restart_s is None:
        yield f"restart time: invisible to storage; {needed}"
    else:
        source, time = f"job log, {_many(log.failures, 'failure')}", log.restart_s
        if found.restore_s is not None:
            source, time = f"{source}, less the restoring read", _less(time, found.restore_s)
        path, now_s = f"{_JOB}.restore.restart", job.restore.restart_s
        yield _override(path, "restart time", "s", time, source, now_s)


def _less(of: Measured, other: Measured) -> Measured:
    """Difference of times, 0 at least; its ends are those of the worst cases."""
    high = other.value if other.high is None else other.high
    low_s = max(0.0, (of.value if of.low is None else of.low) - high)
    high_s = max(0.0, (of.value if of.high is None else of.high) - (other.low or 0.0))
    return Measured(value=max(0.0, of.value - other.value), low=low_s, high=high_s)


def _failures(found: JobFound, known: Known) -> Override | str:
    mtti, source = found.mtti_s, f"telemetry, {_many(found.restarts, 'restart')}"
    if known.log is not None and known.log.mtti_s is not None:
        mtti, source = known.log.mtti_s, f"job log, {_many(known.log.failures, 'failure')}"
    if mtti is None:
        return f"failures: none seen in {found.observed_s / HOUR_S:.1f} h"
    if known.gpus is None:
        return f"failures: one every {mtti.value / HOUR_S:.3g} h, on how many GPUs? say --gpus"
    rate = DAY_S / known.gpus
    low, high = (None if end is None else rate / end for end in (mtti.high, mtti.low))
    measured = Measured(value=rate / mtti.value, low=low, high=high)
    path, label = f"{_JOB}.failures.per_gpu_day", "failures per GPU and day"
    return _override(path, label, "", measured, source, None)


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
